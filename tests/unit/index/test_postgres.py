"""What the index in PostgreSQL promises beyond its contract: tenants, many servers, segments, graphs."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.stubs.indexed import Meanings, Shelf
from tests.stubs.postgres import NUMBERS
from tests.stubs.proxy import Proxy

from carrel.errors import Unavailable
from carrel.index import Filter, Query
from carrel.index.catalog import FORMAT
from carrel.index.embedded import EmbeddedIndex
from carrel.index.postgres import PostgresIndex, embedding, syncing, vectors
from carrel.index.postgres.segments import FAN
from carrel.postgres import Postgres
from carrel.testing import HashingEmbedder

TABLES = ("state", "places", "chunks", "due", "segments", "words", "vectors")
WORDS = ("tea", "opera", "billing", "osprey", "harbour", "lantern", "violin", "marble")


@pytest.fixture
def index(tenant):
    return PostgresIndex(tenant, "studio")


@pytest.fixture
def shelf():
    made = Shelf({"a.md": "# Tea\n\nAna likes green tea.", "b.md": "The osprey nests on the mast."})
    made.say("s1", "The billing migration is done.", "Who reviews it?", "Ben will.")
    return made


@pytest.fixture
def few(monkeypatch):
    """A workspace is large with a few chunks already."""
    monkeypatch.setattr(vectors, "EXACT", 10)
    monkeypatch.setattr(embedding, "EXACT", 10)
    monkeypatch.setattr(syncing, "EXACT", 10)


@pytest.fixture
def alone(database):
    """A tenant without others: a graph is not exact, and what others have in it is at random."""
    postgres = Postgres(database)
    yield postgres.tenant("alone")
    postgres.close()


def found(index, text, **asked):
    answer = index.search(Query(text=text, **asked))
    assert not answer.degraded, answer.findings
    return [(hit.chunk.path, hit.chunk.line) for hit in answer.hits]


def paths(index, text, **asked):
    return [path for path, _ in found(index, text, **{"mode": "lexical", **asked})]


def rows_of(tenant, table, workspace="studio"):
    sql = f"SELECT * FROM carrel.index_{table} WHERE tenant = %s AND workspace = %s"
    return tenant.rows(sql, (tenant.name, workspace))


# Tenants and workspaces


def test_nothing_of_another_tenant_or_workspace_is_found(shared_postgres):
    names = [f"tenant-{next(NUMBERS)}" for _ in range(3)]
    desks = [(name, workspace) for name in names for workspace in ("studio", "attic")]
    indexes = {
        desk: PostgresIndex(shared_postgres.tenant(desk[0]), desk[1], embedder=HashingEmbedder())
        for desk in desks
    }
    for number, index in enumerate(indexes.values()):
        shelf = Shelf({f"own{number}.md": f"The secret harbour of canary{number}."})
        shelf.say(f"s{number}", "Who knows the harbour?", speaker=f"Speaker{number}")
        index.sync(shelf)
    for number, index in enumerate(indexes.values()):
        for mode in ("hybrid", "lexical", "vector", "literal", "regex"):
            answer = index.search(Query(text="harbour", mode=mode, limit=50, facets=True))
            told = repr(answer)
            assert f"own{number}.md" in told
            assert not any(
                f"canary{other}" in told or f"s{other}'" in told for other in range(6) if other != number
            )
        assert index.status().places == 2


def test_one_tenant_cannot_see_the_rows_of_another_whatever_it_asks_for(tenant, shared_postgres, shelf, few):
    shelf.documents |= {f"n{number}.md": f"note {number} of the harbour" for number in range(12)}
    PostgresIndex(tenant, "studio", embedder=HashingEmbedder()).sync(shelf)
    other = shared_postgres.tenant(f"tenant-{next(NUMBERS)}")
    for table in (*TABLES, "graph_1024"):
        assert table == "due" or tenant.rows(f"SELECT 1 FROM carrel.index_{table} LIMIT 1")
        assert other.rows(f"SELECT 1 FROM carrel.index_{table} LIMIT 1") == []
        assert other.rows(f"SELECT 1 FROM carrel.index_{table} WHERE tenant = %s", (tenant.name,)) == []


def test_what_is_dropped_leaves_no_row_and_is_made_anew(tenant, shelf, few):
    shelf.documents |= {f"n{number}.md": f"note {number} of the harbour" for number in range(12)}
    index = PostgresIndex(tenant, "studio", embedder=HashingEmbedder())
    index.sync(shelf)
    kept = PostgresIndex(tenant, "attic")
    kept.sync(Shelf({"kept.md": "Tea in the attic."}))
    index.drop()
    assert [table for table in (*TABLES[1:], "graph_1024") if rows_of(tenant, table)] == []
    assert index.search(Query(text="tea")).hits == ()
    assert paths(kept, "tea") == ["kept.md"]
    index.sync(shelf)
    assert paths(index, "tea") == ["a.md"]


# Many servers


def test_two_servers_that_sync_at_once_leave_nothing_twice(tenant):
    shelf = Shelf({f"n{number}.md": f"harbour note number{number}" for number in range(20)})
    shelf.say("s1", *(f"turn{number} of the harbour" for number in range(20)))
    with ThreadPoolExecutor(4) as pool:
        servers = [PostgresIndex(tenant, "studio") for _ in range(4)]
        reports = list(pool.map(lambda index: index.sync(shelf), servers))
    assert [report.findings for report in reports] == [()] * 4
    assert servers[0].status().chunks == 40
    assert len(found(servers[1], "harbour", mode="lexical", limit=100)) == 40
    assert len(set(found(servers[2], "harbour", mode="lexical", limit=100))) == 40


def test_what_one_server_wrote_another_finds_at_once(tenant, shelf):
    here, there = PostgresIndex(tenant, "studio"), PostgresIndex(tenant, "studio")
    here.sync(shelf)
    assert paths(there, "osprey") == ["b.md"]
    shelf.documents["b.md"] = "The lantern is lit."
    here.sync(shelf, only=["b.md"])
    assert (paths(there, "osprey"), paths(there, "lantern")) == ([], ["b.md"])
    shelf.say("s1", "Zoe was there too.", speaker="Zoe")
    here.sync(shelf)
    assert there.search(Query(text="Was Zoe there?", mode="lexical")).hits[0].chunk.speaker == "Zoe"


def test_vectors_are_made_once_although_two_servers_make_them(tenant):
    shelf = Shelf({f"n{number}.md": f"harbour note number{number}" for number in range(200)})
    embedders = [Meanings(), Meanings()]
    servers = [PostgresIndex(tenant, "studio", embedder=each) for each in embedders]
    servers[0].sync(shelf, stop=lambda: True)
    with ThreadPoolExecutor(2) as pool:
        reports = list(pool.map(lambda index: index.sync(shelf), servers))
    assert [report.waiting for report in reports] == [0, 0]
    made = [text for each in embedders for text in each.embedded]
    assert sorted(made) == sorted(shelf.documents.values())


def test_a_question_waits_for_the_database_a_few_times_only(tenant, shelf):
    index = PostgresIndex(tenant, "studio", embedder=HashingEmbedder())
    index.sync(shelf)
    index.search(Query(text="Who reviews the migration?"))
    before = tenant.round_trips
    assert index.search(Query(text="Who likes green tea?")).hits
    assert tenant.round_trips - before <= 5
    before = tenant.round_trips
    assert index.sync(shelf).chunks == 0
    assert tenant.round_trips - before <= 2 + 2  # documents without a stamp are looked at in a transaction
    for path in shelf.documents:
        shelf.places_of[path] = {"stamp": "1"}
    index.sync(shelf)
    before = tenant.round_trips
    index.sync(shelf)
    assert tenant.round_trips - before == 2


# Words in segments


def test_few_segments_are_left_of_many_small_changes(tenant, index):
    shelf = Shelf()
    for number in range(40):
        shelf.say("s1", f"turn{number} at the harbour")
        index.sync(shelf)
    assert len(rows_of(tenant, "segments")) < 3 * FAN
    assert len(found(index, "harbour", mode="lexical", limit=100)) == 40
    assert found(index, "turn17", mode="lexical")[0] == ("sessions/s1.jsonl", 19)


def test_a_word_that_is_gone_from_what_is_near_is_not_found(index):
    shelf = Shelf()
    shelf.say("s1", "It rains.", "Bring the umbrella.", "We leave at noon.")
    index.sync(shelf)
    assert len(paths(index, "umbrella")) == 3
    shelf.sessions["s1"] = []
    shelf.begins["s1"] = "again"
    shelf.say("s1", "It rains.", "Bring the violin.", "We leave at noon.")
    index.sync(shelf)
    assert paths(index, "umbrella") == []
    assert len(paths(index, "violin")) == 3


def test_words_that_cannot_be_read_are_told_of_and_made_anew(tenant, index, shelf):
    index.sync(shelf)
    for segment, bucket in tenant.rows("SELECT segment, bucket FROM carrel.index_words"):
        own = (tenant.name, "studio", segment, bucket)
        tenant.rows(
            "DELETE FROM carrel.index_words WHERE (tenant, workspace, segment, bucket) = (%s, %s, %s, %s)",
            own,
        )
        tenant.rows("INSERT INTO carrel.index_words VALUES (%s, %s, %s, %s, 'garbage')", own)
    answer = index.search(Query(text="tea", mode="lexical"))
    assert [finding.code for finding in answer.findings] == ["index_words_damaged"]
    assert index.sync(shelf).findings == ()
    assert paths(index, "tea") == ["a.md"]
    tenant.rows("DELETE FROM carrel.index_segments WHERE tenant = %s", (tenant.name,))
    tenant.rows("INSERT INTO carrel.index_segments VALUES (%s, 'studio', 1, 1, 1, 'garbage')", (tenant.name,))
    assert [finding.code for finding in index.status().findings] == ["index_words_damaged"]
    assert index.rebuild(shelf).findings == ()
    assert paths(index, "tea") == ["a.md"]


def test_names_longer_than_any_index_takes_are_found(index):
    shelf = Shelf({f"{'deep/' * 1_000}a.md": "The harbour is deep."})
    shelf.say("s1", "I know the harbour.", speaker="Ana " + "x" * 5_000)
    assert index.sync(shelf).findings == ()
    assert len(found(index, "harbour", mode="lexical")) == 2
    assert len(found(index, "harbour", mode="lexical", within=Filter(paths=("deep",)))) == 1


texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=12).map(" ".join)
changes = st.lists(
    st.one_of(
        st.tuples(st.just("write"), st.sampled_from(("a.md", "b.md", "c.md")), texts),
        st.tuples(st.just("delete"), st.sampled_from(("a.md", "b.md", "c.md")), st.just("")),
        st.tuples(st.just("say"), st.sampled_from(("s1", "s2")), texts),
    ),
    min_size=1,
    max_size=12,
)


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(changes)
def test_after_any_changes_words_score_as_if_indexed_at_once(shared_postgres, made):
    tenant = shared_postgres.tenant(f"tenant-{next(NUMBERS)}")
    grown, shelf = PostgresIndex(tenant, "grown"), Shelf()
    for kind, name, text in made:
        if kind == "say":
            shelf.say(name, text)
        elif kind == "write":
            shelf.documents[name] = text
        else:
            shelf.documents.pop(name, None)
        grown.sync(shelf)
    grown.rebuild(shelf)
    fresh, beside = PostgresIndex(tenant, "fresh"), EmbeddedIndex(None)
    fresh.sync(shelf)
    beside.sync(shelf)
    for word in WORDS:
        query = Query(text=word, mode="lexical", limit=50)
        at_once = {(hit.chunk.path, hit.chunk.line): hit.score for hit in fresh.search(query).hits}
        assert {
            (hit.chunk.path, hit.chunk.line): hit.score for hit in grown.search(query).hits
        } == pytest.approx(at_once)
        assert set(found(beside, word, mode="lexical", limit=50)) == set(at_once)


# Vectors


def test_a_large_workspace_is_searched_through_a_graph_as_well_as_by_looking_at_all(alone, few, monkeypatch):
    shelf = Shelf(
        {f"{number:02}.md": f"{WORDS[number % 8]} {WORDS[number // 8]} note" for number in range(30)}
    )
    index = PostgresIndex(alone, "studio", embedder=HashingEmbedder())
    assert index.sync(shelf).findings == ()
    assert len(rows_of(alone, "graph_1024")) == 30
    asked = [
        (word, within)
        for word in WORDS
        for within in (Filter(), Filter(tiers=("document",)), Filter(paths=("03.md", "11.md")))
    ]
    by_graph = [found(index, word, mode="vector", within=within) for word, within in asked]
    monkeypatch.setattr(vectors, "EXACT", 1_000)
    assert by_graph == [found(index, word, mode="vector", within=within) for word, within in asked]


def test_a_graph_follows_what_changes(alone, few):
    shelf = Shelf({f"{number:02}.md": f"{WORDS[number % 8]} note {number}" for number in range(20)})
    index = PostgresIndex(alone, "studio", embedder=HashingEmbedder())
    index.sync(shelf)
    del shelf.documents["03.md"]
    shelf.documents["04.md"] = "A xylophone."
    index.sync(shelf)
    assert paths(index, "xylophone", mode="vector", limit=1) == ["04.md"]
    assert "03.md" not in paths(index, "osprey", mode="vector", limit=50)
    assert len(rows_of(alone, "graph_1024")) == 19
    other = PostgresIndex(alone, "studio", embedder=HashingEmbedder(64, name="other"))
    other.sync(shelf)
    assert (len(rows_of(alone, "graph_1024")), len(rows_of(alone, "graph_64"))) == (0, 19)
    assert paths(other, "xylophone", mode="vector", limit=1) == ["04.md"]


def test_vectors_too_long_for_a_graph_are_looked_at_one_by_one(tenant, few):
    shelf = Shelf({f"{number:02}.md": f"{WORDS[number % 8]} note {number}" for number in range(12)})
    index = PostgresIndex(tenant, "studio", embedder=HashingEmbedder(5_000, name="long"))
    assert index.sync(shelf).findings == ()
    assert paths(index, "osprey", mode="vector", limit=1) == ["03.md"]


def test_an_embedder_that_fails_is_told_of_and_asked_again_by_the_next_sync(tenant, shelf):
    broken = Meanings(broken=Unavailable("The embedder is away.", hint="Wait."))
    index = PostgresIndex(tenant, "studio", embedder=broken)
    report = index.sync(shelf)
    assert [finding.message for finding in report.findings] == ["The embedder is away."]
    answer = index.search(Query(text="osprey"))
    assert (answer.degraded, answer.hits[0].chunk.path) == (True, "b.md")
    broken.broken = None
    assert index.sync(shelf).waiting == 0
    assert not index.search(Query(text="osprey")).degraded


def test_vectors_of_another_length_than_those_there_are_refused(tenant, shelf):
    PostgresIndex(tenant, "studio", embedder=HashingEmbedder(64, name="same")).sync(shelf)
    index = PostgresIndex(tenant, "studio", embedder=HashingEmbedder(32, name="same"))
    answer = index.search(Query(text="osprey"))
    assert [finding.code for finding in answer.findings] == ["bad_vectors"]
    assert answer.hits[0].chunk.path == "b.md"


# What goes wrong


def test_vectors_are_made_by_the_next_sync_where_the_link_is_lost_in_the_middle(
    postgres_server, shared_database
):
    proxy = Proxy(postgres_server.home / ".s.PGSQL.5432")
    postgres = Postgres(proxy.url(shared_database))
    embedder = Meanings(name="cutting")
    index = PostgresIndex(postgres.tenant(f"tenant-{next(NUMBERS)}"), "studio", embedder=embedder)
    embed = embedder.embed
    embedder.embed = lambda texts: (proxy.cut(stay_down=True), embed(texts))[1]
    shelf = Shelf({"a.md": "The harbour."})
    assert [finding.code for finding in index.sync(shelf).findings] == ["postgres_unavailable"]
    proxy.mend()
    embedder.embed = embed
    report = index.sync(shelf)
    assert (report.findings, report.waiting, index.status().vectors) == ((), 0, 1)
    postgres.close()
    proxy.close()


def test_a_database_that_cannot_be_used_makes_answers_poorer_and_is_no_error(database, shelf):
    postgres = Postgres(database)
    index = PostgresIndex(postgres.tenant("studio"), "studio")
    index.sync(shelf)
    postgres.close()
    codes = [
        [finding.code for finding in told.findings]
        for told in (index.sync(shelf), index.search(Query(text="tea")), index.status())
    ]
    assert {code for told in codes for code in told} == {"postgres_unavailable"}
    assert all(codes)


@pytest.mark.parametrize(("written", "expected"), [(FORMAT + 1, "newer_format"), (FORMAT - 1, "")])
def test_an_index_of_an_earlier_format_is_made_anew_and_of_a_later_one_left_alone(
    tenant, index, shelf, written, expected
):
    index.sync(shelf)
    tenant.rows("UPDATE carrel.index_state SET format = %s WHERE tenant = %s", (written, tenant.name))
    del shelf.documents["a.md"]
    report = index.sync(shelf)
    assert [finding.code for finding in report.findings] == [expected] * bool(expected)
    answer = index.search(Query(text="osprey", mode="lexical"))
    assert [finding.code for finding in answer.findings] == [expected] * bool(expected)
    assert len(rows_of(tenant, "chunks")) == (5 if expected else 4)


@pytest.mark.parametrize("passed", [300, 4_000, 9_000, 15_000, 30_000])
def test_a_link_that_is_cut_in_the_middle_of_a_sync_leaves_nothing_half_done(
    postgres_server, shared_database, passed
):
    proxy = Proxy(postgres_server.home / ".s.PGSQL.5432")
    postgres = Postgres(proxy.url(shared_database))
    index = PostgresIndex(
        postgres.tenant(f"tenant-{next(NUMBERS)}"), "studio", embedder=HashingEmbedder(64, name="small")
    )
    shelf = Shelf({"first.md": "The first harbour."})
    index.sync(shelf)
    shelf.documents |= {f"{number:02}.md": f"harbour of {WORDS[number % 8]}" for number in range(30)}
    shelf.say("s1", *(f"turn{number} of the harbour" for number in range(10)))
    proxy.cut_after(up=passed)
    index.sync(shelf)
    proxy.mend()
    report = index.sync(shelf)
    assert (report.findings, report.waiting) == ((), 0)
    assert (index.status().chunks, index.status().vectors) == (41, 41)
    hits = found(index, "harbour", mode="lexical", limit=100)
    assert (len(hits), len(set(hits))) == (41, 41)
    postgres.close()
    proxy.close()
