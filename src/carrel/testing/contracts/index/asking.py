"""What every Index promises of questions."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from msgspec.structs import replace

from carrel.errors import Unavailable
from carrel.index import Filter, Index, Pointer, Pointers, Query
from carrel.index.literal.needles import BadPattern
from carrel.testing.contracts.index.samples import paths
from carrel.testing.shelves import Shelf

MODES = ("hybrid", "lexical", "vector", "literal", "regex")


HOSTILE = [
    "", " ", "?!…", "\0", "a\0b", "\ud800", "x\udfff y", "the of and", '"', '"""', "AND OR NOT", "title:x",
    "+a -b", "(", "[a TO b]", "a*", "~", "é" * 50, "東京", "🐙", "%_\\", "'; DROP TABLE chunks; --",
]  # fmt: skip


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


class AskingContract:
    """Filters, limits, modes, and questions of any kind."""

    @pytest.mark.parametrize("mode", ["hybrid", "lexical", "literal"])
    def test_only_what_the_filter_lets_through_is_found(self, index: Index, shelf: Shelf, mode: str) -> None:
        index.sync(shelf)
        having = set(
            paths(index, "billing", mode="lexical", limit=50)
        )  # vectors are near to anything else, too
        for within, expected in FILTERS:
            found = set(paths(index, "billing", mode=mode, within=within, limit=50)) & having
            assert expected is None or found == expected, within

    @pytest.mark.parametrize("mode", MODES)
    def test_what_is_to_be_left_out_is_not_found_whatever_else_is_asked(
        self, index: Index, shelf: Shelf, mode: str
    ) -> None:
        index.sync(shelf)
        own = "memory/2026-04-20.md"
        for within in (Filter(), Filter(paths=("memory",)), Filter(tiers=("journal",))):
            assert own in paths(index, "billing", mode=mode, within=within)
            assert own not in paths(index, "billing", mode=mode, within=replace(within, without=(own,)))

    @pytest.mark.parametrize("mode", ["literal", "regex"])
    def test_what_stands_further_down_by_now_is_found_there(
        self, index: Index, shelf: Shelf, mode: str
    ) -> None:
        index.sync(shelf)
        before = index.search(Query(text="Revert the tag", mode=mode)).hits[0].chunk
        shelf.documents["docs/deploy.md"] = "\n\n" + shelf.documents["docs/deploy.md"]
        index.sync(shelf)
        after = index.search(Query(text="Revert the tag", mode=mode)).hits[0].chunk
        assert (after.line, after.text) == (before.line + 2, before.text)

    @pytest.mark.parametrize("mode", ["hybrid", "lexical", "literal", "regex"])
    def test_what_follows_a_fence_that_is_never_closed_is_found_in_its_line(
        self, index: Index, mode: str
    ) -> None:
        lines = ["# Setup", "", "```sh", "make all", "", *(f"- Step {number}." for number in range(400))]
        lines[200:200] = ["- The osprey nests on the mast."]
        index.sync(Shelf({"notes.md": "\n".join(lines)}))
        hit = index.search(Query(text="osprey nests", mode=mode)).hits[0].chunk
        assert hit.line <= 201 <= hit.end_line
        assert hit.end_line - hit.line < 100
        assert hit.headings[:1] == ("Setup",)

    def test_a_section_is_a_heading_whatever_its_case(self, index: Index, shelf: Shelf) -> None:
        index.sync(shelf)
        asked = {"mode": "lexical", "within": Filter(sections=("rollback",))}
        hits = index.search(Query(text="deploy tag", **asked)).hits  # type: ignore[arg-type]
        assert [hit.chunk.headings for hit in hits] == [("Deploy", "Rollback")]

    @pytest.mark.parametrize("mode", MODES)
    def test_the_filter_comes_before_the_cut(self, index: Index, mode: str) -> None:
        shelf = Shelf({f"private/{number}.md": "secret plans " * 3 for number in range(300)})
        shelf.places_of = {path: {"private": True} for path in shelf.documents}
        shelf.documents["z-open.md"] = "plans for everybody to read, and a good deal of other text besides"
        index.sync(shelf)
        assert paths(index, "plans", mode=mode, limit=3, within=Filter(shared=True)) == ["z-open.md"]

    def test_facets_count_all_that_match(self, index: Index, shelf: Shelf) -> None:
        index.sync(shelf)
        found = index.search(Query(text="billing", mode="lexical", limit=1, facets=True))
        assert found.facets["tier"] == {"session": 3, "journal": 2, "knowledge": 1}
        assert found.facets["agent"] == {"main": 3, "kate": 1}
        assert found.facets["session"] == {"s1": 3}
        assert index.search(Query(text="billing")).facets == {}

    def test_hits_that_score_the_same_are_in_the_order_of_paths_and_lines(self, index: Index) -> None:
        index.sync(Shelf(dict.fromkeys(("c.md", "a.md", "b.md"), "the same text")))
        assert paths(index, "same text") == ["a.md", "b.md", "c.md"]

    def test_what_a_named_speaker_said_comes_first(self, index: Index) -> None:
        shelf = Shelf()
        shelf.say("s1", "I like hiking in the mountains.", speaker="Ana")
        shelf.say("s2", "I like hiking in the mountains.", speaker="Zoë Miller")
        index.sync(shelf)
        asked = index.search(Query(text="Where does zoe like hiking?", mode="lexical")).hits
        assert [hit.chunk.speaker for hit in asked] == ["Zoë Miller", "Ana"]

    def test_what_others_found_takes_part(self, index: Index, shelf: Shelf) -> None:
        index.sync(shelf)
        graph = Pointers(
            name="graph", hits=(Pointer("docs/deploy.md", 5, 7, 0.9), Pointer("gone.md", 1, 1, 0.5))
        )
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
    def test_any_string_is_a_question(self, index: Index, shelf: Shelf, mode: str) -> None:
        index.sync(shelf)
        for text in HOSTILE:
            try:
                found = index.search(Query(text=text, mode=mode, facets=True))  # type: ignore[arg-type]
            except BadPattern:
                assert mode == "regex"
                continue
            assert not found.degraded
            assert all(
                0 <= start < end <= len(hit.chunk.text) for hit in found.hits for start, end in hit.ranges
            )

    def test_a_megabyte_of_question_is_answered(self, index: Index, shelf: Shelf) -> None:
        index.sync(shelf)
        assert paths(index, "billing " * 130_000)[0] in {
            "sessions/s1.jsonl",
            "memory/2026-04-20.md",
            "knowledge/paper.md",
        }
        assert paths(index, "x" * 1_000_000, mode="lexical") == []

    @pytest.mark.parametrize("limit", [-1, 0, 1, 3, 10**9])
    def test_no_more_is_found_than_is_asked_for(self, index: Index, shelf: Shelf, limit: int) -> None:
        index.sync(shelf)
        assert len(index.search(Query(text="billing migration", limit=limit)).hits) <= max(limit, 0)

    def test_hostile_documents_are_indexed_like_any_other(self, index: Index) -> None:
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

    def test_words_are_found_as_they_stand_with_lines_around(self, index: Index, shelf: Shelf) -> None:
        index.sync(shelf)
        (hit,) = index.search(Query(text="REVERT the", mode="literal", lines=2)).hits
        assert (hit.chunk.path, hit.chunk.line, hit.chunk.end_line) == ("docs/deploy.md", 5, 7)
        assert hit.chunk.text == "## Rollback\n\nRevert the tag."
        assert index.search(Query(text="REVERT the", mode="literal", case=True)).hits == ()
        (said,) = index.search(Query(text=r"mov\w+ the", mode="regex")).hits
        assert (said.chunk.message_id, said.chunk.line) == ("s1-1", 2)

    def test_a_pattern_that_is_none_is_an_error_with_a_hint(self, index: Index) -> None:
        with pytest.raises(BadPattern) as caught:
            index.search(Query(text="(", mode="regex"))
        assert caught.value.hint

    def test_rebuilding_gives_the_same_answers(self, index: Index, shelf: Shelf) -> None:
        index.sync(shelf)
        before = paths(index, "billing migration")
        report = index.rebuild(shelf)
        assert report.chunks == index.status().chunks
        assert paths(index, "billing migration") == before

    def test_an_old_fact_stays_findable_however_new_the_others_are(self, index: Index) -> None:
        shelf = Shelf()
        shelf.say("old", "My dentist is called Doctor Weber.", date="1999-01-01")
        for number in range(30):
            shelf.say(f"new{number}", "I was at the dentist today.", date="2026-04-24")
        index.sync(shelf)
        found = index.search(Query(text="What is the dentist called?", today="2026-04-24"))
        assert "old" in [hit.chunk.session for hit in found.hits]

    def test_diversity_puts_other_texts_before_repetitions(self, index: Index) -> None:
        shelf = Shelf({f"{number}.md": "billing runs at night" for number in range(5)})
        shelf.documents["z.md"] = "no billing on a night when the team is away"
        index.sync(shelf)
        assert "z.md" not in paths(index, "billing night", limit=3, mode="lexical")
        assert "z.md" in paths(index, "billing night", limit=3, mode="lexical", diverse=True)

    def test_threads_may_search_while_one_of_them_syncs(self, index: Index, shelf: Shelf) -> None:
        index.sync(shelf)

        def work(number: int) -> bool:
            if number % 4 == 0:
                shelf.documents[f"n{number}.md"] = f"billing note {number}"
                return not index.sync(shelf, only=[f"n{number}.md"]).findings
            return bool(index.search(Query(text="billing")).hits)

        with ThreadPoolExecutor(4) as pool:
            assert all(pool.map(work, range(24)))
        assert index.status().places == 7 + 6

    def test_closing_twice_and_searching_after_is_no_error(self, index: Index, shelf: Shelf) -> None:
        index.sync(shelf)
        index.close()
        index.close()
        assert not isinstance(index.search(Query(text="billing")), Unavailable)
