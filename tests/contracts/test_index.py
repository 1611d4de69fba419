"""What every Index promises; a new implementation is held to it by one more line in INDEXES."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.stubs.indexed import Shelf

from carrel.errors import Unavailable
from carrel.index import Filter, Index, Pointer, Pointers, Query, Text, Unsearched
from carrel.index.embedded import EmbeddedIndex
from carrel.index.literal.needles import BadPattern
from carrel.index.postgres import PostgresIndex
from carrel.postgres import Tenant
from carrel.testing import HashingEmbedder, PlainIndex

INDEXES: dict[str, Callable[[Path, Callable[[], Tenant]], Index]] = {
    "embedded-memory": lambda _, __: EmbeddedIndex(None),
    "embedded-folder": lambda root, _: EmbeddedIndex(root / "index"),
    "embedded-vectors": lambda root, _: EmbeddedIndex(root / "index", embedder=HashingEmbedder()),
    "embedded-memory-vectors": lambda _, __: EmbeddedIndex(None, embedder=HashingEmbedder()),
    "plain": lambda _, __: PlainIndex(),
    "postgres": lambda _, tenant: PostgresIndex(tenant(), "studio"),
    "postgres-vectors": lambda _, tenant: PostgresIndex(tenant(), "studio", embedder=HashingEmbedder()),
}
MODES = ("hybrid", "lexical", "vector", "literal", "regex")
HOSTILE = [
    "", " ", "?!…", "\0", "a\0b", "\ud800", "x\udfff y", "the of and", '"', '"""', "AND OR NOT", "title:x",
    "+a -b", "(", "[a TO b]", "a*", "~", "é" * 50, "東京", "🐙", "%_\\", "'; DROP TABLE chunks; --",
]  # fmt: skip


@pytest.fixture(params=sorted(INDEXES))
def index(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Index]:
    opened = INDEXES[request.param](tmp_path, lambda: request.getfixturevalue("tenant"))
    yield opened
    opened.close()


@pytest.fixture
def shelf() -> Shelf:
    made = Shelf(
        {
            "USER.md": "# User\n- Prefers tea over coffee\n- Lives in Zürich",
            "docs/deploy.md": "# Deploy\n\nRun the pipeline, then promote the build.\n\n## Rollback\n\nRevert the tag.",
            "docs/models.md": "# Models\n\nThe default is gpt-4o; see src/lib/api.ts for ERR_TIMED_OUT.",
            "memory/2026-04-20.md": "- Shipped the billing migration\n- Ana reviewed it",
            "knowledge/paper.md": "---\ntags: [research, billing]\n---\nA study of billing and of memory.",
        }
    )
    made.places_of = {
        "USER.md": {"tier": "profile", "private": True},
        "memory/2026-04-20.md": {"tier": "journal", "private": True},
        "knowledge/paper.md": {"tier": "knowledge", "agent": "kate"},
    }
    made.say(
        "s1", "We moved the billing service to Frankfurt.", "Good. Who reviews the migration?", speaker="Ana"
    )
    made.say("s1", "I will review it on Thursday.", speaker="Ben", private=True)
    made.say("s2", "The picnic is on Sunday.", date="2026-05-01", speaker="Ana")
    return made


def paths(index: Index, text: str, **asked: object) -> list[str]:
    found = index.search(Query(text=text, **asked))  # type: ignore[arg-type]
    assert not found.degraded, found.findings
    return [hit.chunk.path for hit in found.hits]


def test_an_index_that_holds_nothing_answers_with_nothing(index: Index) -> None:
    found = index.search(Query(text="anything"))
    assert (found.hits, found.degraded) == ((), False)
    assert index.status().chunks == 0


def test_what_was_synced_is_found_by_its_words(index: Index, shelf: Shelf) -> None:
    report = index.sync(shelf)
    assert (report.changed, report.findings) == (7, ())
    assert paths(index, "How do I promote a build?")[0] == "docs/deploy.md"
    assert index.status().chunks == report.chunks
    assert index.status().waiting == 0


def test_a_hit_says_where_it_is_and_who_said_it(index: Index, shelf: Shelf) -> None:
    index.sync(shelf)
    hit = index.search(Query(text="When does Ben review?", mode="lexical")).hits[0]
    chunk = hit.chunk
    assert (chunk.path, chunk.line, chunk.speaker, chunk.session) == ("sessions/s1.jsonl", 4, "Ben", "s1")
    assert (chunk.message_id, chunk.date, chunk.tier, chunk.agent) == (
        "s1-3",
        "2026-04-24",
        "session",
        "main",
    )
    assert [chunk.text[start:end] for start, end in hit.ranges] == ["review"]
    assert hit.fused is not None
    assert [placing.name for placing in hit.fused.placings] == ["words"]


def test_scores_are_from_0_to_1_and_fall(index: Index, shelf: Shelf) -> None:
    index.sync(shelf)
    scores = [hit.score for hit in index.search(Query(text="billing migration review")).hits]
    assert len(scores) > 2
    assert scores == sorted(scores, reverse=True)
    assert 1 >= scores[0] > scores[-1] >= 0
    least = scores[1]
    assert [
        h.score for h in index.search(Query(text="billing migration review", least=least)).hits
    ] == scores[:2]


def test_a_change_is_found_and_what_was_there_is_not(index: Index, shelf: Shelf) -> None:
    index.sync(shelf)
    shelf.documents["docs/deploy.md"] = "# Deploy\n\nPress the green button."
    index.sync(shelf, only=["docs/deploy.md"])
    assert paths(index, "green button", mode="lexical") == ["docs/deploy.md"]
    assert paths(index, "pipeline", mode="lexical") == []


def test_a_new_turn_is_found_and_so_are_its_neighbours_by_it(index: Index, shelf: Shelf) -> None:
    index.sync(shelf)
    shelf.say("s2", "It is cancelled because of thunderstorms.", speaker="Ben")
    index.sync(shelf, only=["sessions/s2.jsonl"])
    found = index.search(Query(text="thunderstorms", mode="lexical")).hits
    assert [hit.chunk.message_id for hit in found] == ["s2-2", "s2-1"]


def test_what_is_gone_is_not_found(index: Index, shelf: Shelf) -> None:
    index.sync(shelf)
    del shelf.documents["USER.md"]
    assert index.sync(shelf).gone == 1
    assert paths(index, "tea coffee", mode="lexical") == []


def test_what_cannot_be_searched_is_told_of_until_it_can(index: Index, shelf: Shelf) -> None:
    shelf.documents |= {"a.png": Text(lack="not_text"), "b.md": Text(text="An octopus.", private=True)}
    shelf.places_of["c.iso"] = {"lack": "too_large"}
    shelf.documents["c.iso"] = "never read"
    report = index.sync(shelf)
    told = {"not_text": Unsearched(1, ("a.png",)), "too_large": Unsearched(1, ("c.iso",))}
    assert (report.unsearched, report.changed, report.waiting) == (told, 8, 0)
    assert index.status().unsearched == told
    assert paths(index, "octopus", mode="lexical") == ["b.md"]
    assert paths(index, "octopus", mode="lexical", within=Filter(shared=True)) == []
    shelf.documents["a.png"] = "It is text after all."
    del shelf.documents["c.iso"]
    assert index.sync(shelf).unsearched == {}


def test_words_are_found_although_vectors_are_left_for_later(index: Index, shelf: Shelf) -> None:
    report = index.sync(shelf, stop=lambda: True)
    found = index.search(Query(text="promote a build"))
    assert found.hits[0].chunk.path == "docs/deploy.md"
    assert found.degraded == bool(report.waiting)
    assert index.sync(shelf).waiting == 0
    assert not index.search(Query(text="promote a build")).degraded


@pytest.mark.parametrize("typed", ["gpt-4o", "src/lib/api.ts", "ERR_TIMED_OUT", '"default is gpt"', "api.ts"])
def test_what_is_typed_with_signs_is_found_as_it_stands(index: Index, shelf: Shelf, typed: str) -> None:
    shelf.documents["other.md"] = "gpt 4 api out timed lib src err o is the default of ts. " * 5
    index.sync(shelf)
    assert paths(index, typed, mode="lexical")[0] == "docs/models.md"


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("Der Server wurde gestern neu gestartet und die Datenbank ist wieder da.", "Datenbanken"),
        ("Los servidores se cayeron y no hay copias de la base de datos.", "servidor"),
        ("Мы вчера перезапустили серверы, и теперь всё работает.", "сервер"),
        ("Zurich is nice.", "Zürich"),
        ("Der Zürcher See ist schön und nicht weit von hier.", "zurcher"),
        ("東京タワーに行きたい", "東京タワー"),
        ("한국어 검색을 시험한다", "검색"),
        ("ฉันชอบกินข้าวผัด", "ข้าวผัด"),
    ],
)
def test_other_languages_and_scripts_are_found(index: Index, text: str, asked: str) -> None:
    shelf = Shelf({"a.md": text, "b.md": "Something quite different, in English."})
    index.sync(shelf)
    hits = index.search(Query(text=asked, mode="lexical")).hits
    assert [hit.chunk.path for hit in hits] == ["a.md"]
    assert hits[0].ranges


LANGUAGES = {
    "de.md": ("Der Server wurde gestern neu gestartet und die Datenbanken sind nicht mehr da.", "Datenbank"),
    "es.md": ("Los servidores se cayeron y no hay copias de la base de datos para ellos.", "servidor"),
    "fr.md": ("Les serveurs ne sont plus dans la salle et nous avons perdu les sauvegardes.", "sauvegarde"),
    "it.md": ("I server sono caduti e non ci sono copie della base di dati per gli utenti.", "copia"),
    "nl.md": (
        "De servers zijn gisteren opnieuw gestart en het is niet de eerste keer dat dit gebeurt.",
        "server",
    ),
    "sv.md": ("Servrarna startades om och det är inte första gången som det händer för oss.", "servrar"),
    "ru.md": ("Мы вчера перезапустили серверы, и теперь всё работает.", "сервер"),
    "en.md": ("The servers were restarted and the backups of our databases are gone.", "backup"),
}


def test_many_languages_in_one_place_are_found_and_shown(index: Index) -> None:
    index.sync(Shelf({path: text for path, (text, _) in LANGUAGES.items()}))
    for path, (_, asked) in LANGUAGES.items():
        found = {hit.chunk.path: hit for hit in index.search(Query(text=asked, mode="lexical")).hits}
        assert path in found
        assert found[path].ranges, path


def test_stop_words_alone_are_found_as_they_are_typed_whatever_languages_there_are(index: Index) -> None:
    index.sync(Shelf({"en.md": "To be or not to be, that is the question.", "x.md": "Nothing of the kind."}))
    assert paths(index, "to be or not to be", mode="lexical") == ["en.md"]
    index.sync(
        Shelf({**{path: text for path, (text, _) in LANGUAGES.items()}, "en.md": "To be or not to be."})
    )
    hits = index.search(Query(text="to be or not to be", mode="lexical")).hits
    assert hits[0].chunk.path == "en.md"
    assert hits[0].ranges


@pytest.mark.parametrize("asked", ["京", "東京", "タ"])
def test_characters_of_scripts_without_words_are_shown_where_they_stand(index: Index, asked: str) -> None:
    index.sync(Shelf({"a.md": "明日は東京タワーに行きたい。", "b.md": "Something else."}))
    (hit,) = index.search(Query(text=asked, mode="lexical")).hits
    assert [hit.chunk.text[start:end] for start, end in hit.ranges] == [asked]


def test_where_nothing_has_to_do_with_a_question_nothing_is_shown(index: Index, shelf: Shelf) -> None:
    index.sync(shelf)
    assert paths(index, "zebra") == []
    assert paths(index, "billing")


FILTERS = [
    (Filter(tiers=("journal",)), {"memory/2026-04-20.md"}),
    (Filter(tiers=("journal", "knowledge")), {"memory/2026-04-20.md", "knowledge/paper.md"}),
    (Filter(agents=("kate",)), {"knowledge/paper.md"}),
    (Filter(tags=("research",)), {"knowledge/paper.md"}),
    (Filter(paths=("memory",)), {"memory/2026-04-20.md"}),
    (Filter(paths=("memory/", "knowledge/paper.md")), {"memory/2026-04-20.md", "knowledge/paper.md"}),
    (Filter(sessions=("s1",)), {"sessions/s1.jsonl"}),
    (Filter(since="2026-04-21"), {"sessions/s1.jsonl"}),
    (Filter(until="2026-04-21"), {"memory/2026-04-20.md"}),
    (Filter(since="2026-04-20", until="2026-04-20"), {"memory/2026-04-20.md"}),
    (Filter(shared=True), {"knowledge/paper.md", "sessions/s1.jsonl"}),
    (Filter(shared=True, tiers=("journal",)), set()),
    (Filter(tiers=("nothing",)), set()),
    (Filter(agents=("\ud800",), tags=("\0",), paths=("\udcff/x",)), set()),
    (Filter(since="soon", until="\ud800"), None),
]


@pytest.mark.parametrize("mode", ["hybrid", "lexical", "literal"])
def test_only_what_the_filter_lets_through_is_found(index: Index, shelf: Shelf, mode: str) -> None:
    index.sync(shelf)
    having = set(paths(index, "billing", mode="lexical", limit=50))  # vectors are near to anything else, too
    for within, expected in FILTERS:
        found = set(paths(index, "billing", mode=mode, within=within, limit=50)) & having
        assert expected is None or found == expected, within


@pytest.mark.parametrize("mode", MODES)
def test_what_is_to_be_left_out_is_not_found_whatever_else_is_asked(
    index: Index, shelf: Shelf, mode: str
) -> None:
    index.sync(shelf)
    own = "memory/2026-04-20.md"
    for within in (Filter(), Filter(paths=("memory",)), Filter(tiers=("journal",))):
        assert own in paths(index, "billing", mode=mode, within=within)
        assert own not in paths(index, "billing", mode=mode, within=replace(within, without=(own,)))


@pytest.mark.parametrize("mode", ["literal", "regex"])
def test_what_stands_further_down_by_now_is_found_there(index: Index, shelf: Shelf, mode: str) -> None:
    index.sync(shelf)
    before = index.search(Query(text="Revert the tag", mode=mode)).hits[0].chunk
    shelf.documents["docs/deploy.md"] = "\n\n" + shelf.documents["docs/deploy.md"]
    index.sync(shelf)
    after = index.search(Query(text="Revert the tag", mode=mode)).hits[0].chunk
    assert (after.line, after.text) == (before.line + 2, before.text)


@pytest.mark.parametrize("mode", ["hybrid", "lexical", "literal", "regex"])
def test_what_follows_a_fence_that_is_never_closed_is_found_in_its_line(index: Index, mode: str) -> None:
    lines = ["# Setup", "", "```sh", "make all", "", *(f"- Step {number}." for number in range(400))]
    lines[200:200] = ["- The osprey nests on the mast."]
    index.sync(Shelf({"notes.md": "\n".join(lines)}))
    hit = index.search(Query(text="osprey nests", mode=mode)).hits[0].chunk
    assert hit.line <= 201 <= hit.end_line
    assert hit.end_line - hit.line < 100
    assert hit.headings[:1] == ("Setup",)


def test_a_section_is_a_heading_whatever_its_case(index: Index, shelf: Shelf) -> None:
    index.sync(shelf)
    asked = {"mode": "lexical", "within": Filter(sections=("rollback",))}
    hits = index.search(Query(text="deploy tag", **asked)).hits  # type: ignore[arg-type]
    assert [hit.chunk.headings for hit in hits] == [("Deploy", "Rollback")]


@pytest.mark.parametrize("mode", MODES)
def test_the_filter_comes_before_the_cut(index: Index, mode: str) -> None:
    shelf = Shelf({f"private/{number}.md": "secret plans " * 3 for number in range(300)})
    shelf.places_of = {path: {"private": True} for path in shelf.documents}
    shelf.documents["z-open.md"] = "plans for everybody to read, and a good deal of other text besides"
    index.sync(shelf)
    assert paths(index, "plans", mode=mode, limit=3, within=Filter(shared=True)) == ["z-open.md"]


def test_facets_count_all_that_match(index: Index, shelf: Shelf) -> None:
    index.sync(shelf)
    found = index.search(Query(text="billing", mode="lexical", limit=1, facets=True))
    assert found.facets["tier"] == {"session": 3, "journal": 2, "knowledge": 1}
    assert found.facets["agent"] == {"main": 3, "kate": 1}
    assert found.facets["session"] == {"s1": 3}
    assert index.search(Query(text="billing")).facets == {}


def test_hits_that_score_the_same_are_in_the_order_of_paths_and_lines(index: Index) -> None:
    index.sync(Shelf(dict.fromkeys(("c.md", "a.md", "b.md"), "the same text")))
    assert paths(index, "same text") == ["a.md", "b.md", "c.md"]


def test_what_a_named_speaker_said_comes_first(index: Index) -> None:
    shelf = Shelf()
    shelf.say("s1", "I like hiking in the mountains.", speaker="Ana")
    shelf.say("s2", "I like hiking in the mountains.", speaker="Zoë Miller")
    index.sync(shelf)
    asked = index.search(Query(text="Where does zoe like hiking?", mode="lexical")).hits
    assert [hit.chunk.speaker for hit in asked] == ["Zoë Miller", "Ana"]


def test_what_others_found_takes_part(index: Index, shelf: Shelf) -> None:
    index.sync(shelf)
    graph = Pointers(name="graph", hits=(Pointer("docs/deploy.md", 5, 7, 0.9), Pointer("gone.md", 1, 1, 0.5)))
    found = index.search(Query(text="picnic", mode="lexical"), [graph])
    assert {hit.chunk.path for hit in found.hits} == {"sessions/s2.jsonl", "docs/deploy.md"}
    assert [h.chunk.line for h in found.hits if h.chunk.path == "docs/deploy.md"] == [5]
    private = Pointers(name="graph", hits=(Pointer("USER.md", 1, 9, 1.0),))
    assert index.search(Query(text="picnic", within=Filter(shared=True), mode="lexical"), [private]).hits
    assert all(
        hit.chunk.path != "USER.md"
        for hit in index.search(Query(text="picnic", within=Filter(shared=True)), [private]).hits
    )


@pytest.mark.parametrize("mode", MODES)
def test_any_string_is_a_question(index: Index, shelf: Shelf, mode: str) -> None:
    index.sync(shelf)
    for text in HOSTILE:
        try:
            found = index.search(Query(text=text, mode=mode, facets=True))  # type: ignore[arg-type]
        except BadPattern:
            assert mode == "regex"
            continue
        assert not found.degraded
        assert all(0 <= start < end <= len(hit.chunk.text) for hit in found.hits for start, end in hit.ranges)


def test_a_megabyte_of_question_is_answered(index: Index, shelf: Shelf) -> None:
    index.sync(shelf)
    assert paths(index, "billing " * 130_000)[0] in {
        "sessions/s1.jsonl",
        "memory/2026-04-20.md",
        "knowledge/paper.md",
    }
    assert paths(index, "x" * 1_000_000, mode="lexical") == []


@pytest.mark.parametrize("limit", [-1, 0, 1, 3, 10**9])
def test_no_more_is_found_than_is_asked_for(index: Index, shelf: Shelf, limit: int) -> None:
    index.sync(shelf)
    assert len(index.search(Query(text="billing migration", limit=limit)).hits) <= max(limit, 0)


def test_hostile_documents_are_indexed_like_any_other(index: Index) -> None:
    shelf = Shelf(
        {
            "bad\udcff.md": "findme \ud800 \0 text",
            "long.txt": "findme " + "x" * 900_000,
            "empty.md": "",
            "nul": "\0",
        }
    )
    shelf.say("s\udcff", "findme \ud800", speaker="\udcff")
    assert index.sync(shelf).findings == ()
    assert set(paths(index, "findme", mode="lexical")) == {
        "bad\udcff.md",
        "long.txt",
        "sessions/s\udcff.jsonl",
    }


def test_words_are_found_as_they_stand_with_lines_around(index: Index, shelf: Shelf) -> None:
    index.sync(shelf)
    (hit,) = index.search(Query(text="REVERT the", mode="literal", lines=2)).hits
    assert (hit.chunk.path, hit.chunk.line, hit.chunk.end_line) == ("docs/deploy.md", 5, 7)
    assert hit.chunk.text == "## Rollback\n\nRevert the tag."
    assert index.search(Query(text="REVERT the", mode="literal", case=True)).hits == ()
    (said,) = index.search(Query(text=r"mov\w+ the", mode="regex")).hits
    assert (said.chunk.message_id, said.chunk.line) == ("s1-1", 2)


def test_a_pattern_that_is_none_is_an_error_with_a_hint(index: Index) -> None:
    with pytest.raises(BadPattern) as caught:
        index.search(Query(text="(", mode="regex"))
    assert caught.value.hint


def test_rebuilding_gives_the_same_answers(index: Index, shelf: Shelf) -> None:
    index.sync(shelf)
    before = paths(index, "billing migration")
    report = index.rebuild(shelf)
    assert report.chunks == index.status().chunks
    assert paths(index, "billing migration") == before


def test_an_old_fact_stays_findable_however_new_the_others_are(index: Index) -> None:
    shelf = Shelf()
    shelf.say("old", "My dentist is called Doctor Weber.", date="1999-01-01")
    for number in range(30):
        shelf.say(f"new{number}", "I was at the dentist today.", date="2026-04-24")
    index.sync(shelf)
    found = index.search(Query(text="What is the dentist called?", today="2026-04-24"))
    assert "old" in [hit.chunk.session for hit in found.hits]


def test_diversity_puts_other_texts_before_repetitions(index: Index) -> None:
    shelf = Shelf({f"{number}.md": "billing runs at night" for number in range(5)})
    shelf.documents["z.md"] = "no billing on a night when the team is away"
    index.sync(shelf)
    assert "z.md" not in paths(index, "billing night", limit=3, mode="lexical")
    assert "z.md" in paths(index, "billing night", limit=3, mode="lexical", diverse=True)


def test_threads_may_search_while_one_of_them_syncs(index: Index, shelf: Shelf) -> None:
    index.sync(shelf)

    def work(number: int) -> bool:
        if number % 4 == 0:
            shelf.documents[f"n{number}.md"] = f"billing note {number}"
            return not index.sync(shelf, only=[f"n{number}.md"]).findings
        return bool(index.search(Query(text="billing")).hits)

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, range(24)))
    assert index.status().places == 7 + 6


def test_closing_twice_and_searching_after_is_no_error(index: Index, shelf: Shelf) -> None:
    index.sync(shelf)
    index.close()
    index.close()
    assert not isinstance(index.search(Query(text="billing")), Unavailable)
