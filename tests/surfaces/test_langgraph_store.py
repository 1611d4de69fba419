"""LangGraph's store over a workspace, held to LangGraph's own store in memory."""

import asyncio
import operator
import os
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Annotated, Any, TypedDict
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime
from langgraph.store.base import GetOp, ListNamespacesOp, MatchCondition, PutOp, SearchOp
from langgraph.store.memory import InMemoryStore

from carrel import Workspace
from carrel.adapters.langchain import CarrelStore
from carrel.adapters.langchain.items import BadItem, Kept, UnreadableItem, parse, place_of
from carrel.screen.policy import BlockedByPrivacy
from carrel.workspace.layout import LAYOUTS

USER = ("users", "u1")
TEA = {"text": "Luis drinks green tea.", "cups": 3}
HOSTILE = ["..", ".", "", "/", "a/b", "../../../etc/passwd", "\0", "a\nb", "Alice", "alice", "ALICE", "con", "nul.txt",
           "x" * 5_000, "\ud800", "e\u0301", "\u00e9", "%2e%2e%2f", "~", "C:\\temp", "a.md", "a", " ", "main", "=", "*"]  # fmt: skip


@pytest.fixture
def workspace(cli, sample):
    with Workspace.open(sample.path) as opened:
        yield opened


@pytest.fixture
def store(workspace):
    return CarrelStore(workspace, scope="main")


def told(items):
    """Items by what they are and hold, in no order."""
    return sorted((each.namespace, each.key, repr(each.value)) for each in items)


def test_an_item_is_a_page_that_people_can_read(store, sample):
    store.put(USER, "tea", TEA)
    text = (sample / "memory/store/main/users/u1/tea.md").read_text()
    assert '# Value\n\n- text: "Luis drinks green tea."\n- cups: 3\n' in text
    item = store.get(USER, "tea")
    assert (item.namespace, item.key, item.value) == (USER, "tea", TEA)
    assert item.created_at == item.updated_at
    assert item.created_at.tzinfo is not None


def test_what_a_person_writes_into_the_page_is_what_the_graph_reads(store, sample):
    store.put(USER, "tea", TEA)
    page = sample / "memory/store/main/users/u1/tea.md"
    page.write_text(
        page.read_text().replace("green", "black").replace("- cups: 3\n", "- cups:   4\n- hot: true\n")
    )
    assert store.get(USER, "tea").value == {"text": "Luis drinks black tea.", "cups": 4, "hot": True}
    assert [item.key for item in store.search(USER, query="black tea")] == ["tea"]


def test_a_second_put_replaces_the_value_and_keeps_the_day_of_the_first(cli, sample):
    cli.set(CARREL_NOW="2026-04-24T12:00:00Z")
    with Workspace.open(sample.path) as workspace:
        CarrelStore(workspace, scope="main").put(USER, "tea", TEA)
    cli.set(CARREL_NOW="2026-04-25T12:00:00Z")
    with Workspace.open(sample.path) as workspace:
        store = CarrelStore(workspace, scope="main")
        store.put(USER, "tea", {"text": "None."})
        item = store.get(USER, "tea")
    assert item.value == {"text": "None."}
    assert (item.created_at.day, item.updated_at.day) == (24, 25)


def test_every_change_is_in_the_history_of_memory_and_can_be_undone(store, cli, sample):
    store.put(USER, "tea", TEA)
    store.delete(USER, "tea")
    assert store.get(USER, "tea") is None
    assert cli("-C", sample, "memory", "undo", "--json").code == 0
    assert store.get(USER, "tea").value == TEA


def test_a_query_finds_items_by_words_and_by_meaning_within_a_namespace(store):
    store.put(USER, "tea", TEA)
    store.put(USER, "bike", {"text": "Bob's bicycle is green"})
    store.put(("users", "u2"), "tea", {"text": "Ana drinks green tea."})
    store.put(("docs",), "tea", {"text": "Green tea is made from leaves."})
    found = store.search(USER, query="Which colour is the bike?")
    assert [item.key for item in found] == ["bike"]
    assert 0 < found[0].score <= 1
    assert {item.namespace for item in store.search(("users",), query="green tea")} == {USER, ("users", "u2")}
    assert {item.namespace for item in store.search((), query="green tea")} >= {USER, ("docs",)}
    assert store.search(USER, query="green", filter={"cups": {"$gte": 3}})[0].key == "tea"
    assert len(store.search((), query="green", limit=2)) == 2
    assert store.search((), query="green", limit=2, offset=2)
    assert store.search((), query="Quetzalcoatl") == []


def test_names_and_times_of_items_are_not_what_a_query_finds(store):
    store.put(("zeppelins",), "licence", {"text": "Nothing of the kind."})
    assert store.search((), query="zeppelins licence") == []


def test_what_is_kept_for_the_owner_no_shared_store_reaches_and_no_shared_search_finds(workspace, store):
    store.put(USER, "tea", TEA)
    shared = CarrelStore(workspace)
    assert shared.get(USER, "tea") is None
    assert shared.search(()) == shared.search((), query="green tea") == shared.list_namespaces() == []
    shared.put(USER, "tea", {"text": "Eve drinks green tea."})
    assert store.get(USER, "tea").value == TEA
    assert [item.value["text"] for item in shared.search((), query="green tea")] == ["Eve drinks green tea."]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("scope", ["main", "shared"])
def test_in_no_layout_items_are_for_everybodys_eyes(cli, tmp_path, layout, scope):
    Workspace.init(tmp_path / "w", layout=layout)
    with Workspace.open(tmp_path / "w", agent="planner" if layout == "squad" else None) as workspace:
        CarrelStore(workspace, scope=scope).put(USER, "tea", TEA)
        path = f"{workspace.layout.home}memory/store/{scope}/users/u1/tea.md"
        assert "green tea" in workspace.read(path)
        hits = workspace.search("green tea", scope="shared").hits
        assert path not in {hit.chunk.path for hit in hits}
        assert "Luis drinks" not in workspace.assemble("s1", "green tea", "shared").to_text()
        assert workspace.search("green tea").hits[0].chunk.path == path


def test_hostile_names_stay_inside_and_apart(store, sample):
    before = {path for path in sample.path.rglob("*") if "memory/store" not in str(path)}
    places = [((first, second), key) for first in HOSTILE[:9] for second in HOSTILE for key in HOSTILE[::5]]
    store.batch([PutOp(namespace, key, {"n": n}) for n, (namespace, key) in enumerate(places)])
    found = store.batch([GetOp(namespace, key) for namespace, key in places])
    assert [(item.namespace, item.key, item.value["n"]) for item in found] == [
        (namespace, key, n) for n, (namespace, key) in enumerate(places)
    ]
    assert len(store.batch([SearchOp((), limit=10_000)])[0]) == len(places)
    after = {path for path in sample.path.rglob("*") if "memory/store" not in str(path)}
    assert {path for path in after - before if ".carrel" not in path.parts} == set()


@given(first=st.text(), second=st.text(), key=st.text())
def test_no_two_names_share_a_place_and_every_place_is_below_the_root(first, second, key):
    place = place_of("memory/store/main", (first, second), key)
    assert os.path.normpath(place) == place
    assert place.startswith("memory/store/main/")
    assert (place == place_of("memory/store/main", (second, first), key)) == (first == second)
    assert (place == place_of("memory/store/main", (first, second), second)) == (key == second)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(
    namespace=st.lists(st.text(), max_size=3).map(tuple),
    key=st.text(),
    value=st.dictionaries(st.text(), JSON),
)
def test_any_json_comes_back_from_a_page_as_it_was(namespace, key, value):
    moment = datetime(2026, 4, 24, 12, tzinfo=UTC)
    kept = Kept(namespace=namespace, key=key, value=value, created_at=moment, updated_at=moment)
    assert parse("r", place_of("r", namespace, key), kept.to_text().encode()) == kept


@given(st.binary(max_size=300))
def test_no_bytes_in_the_place_of_a_page_are_more_than_no_item(data):
    assert parse("r", "r/x.md", data) is None
    assert parse("r", "r/x.md", b"---\nnamespace: []\nkey: " + data + b"---\n\n# Value\n") is None


@pytest.mark.parametrize(
    "value", [{"a": object()}, {"a": {1: 2}}, {1: 2}, {"a": float("nan")}, {"a": {1, 2}}, {"a": b"x"}, [1]]
)
def test_what_json_cannot_hold_is_refused_and_nothing_is_written(store, sample, value):
    with pytest.raises(BadItem):
        store.put(USER, "tea", value)
    assert not (sample / "memory/store").exists()


def test_of_a_batch_with_one_that_cannot_be_kept_nothing_is_written(store, sample):
    puts = [PutOp(USER, "tea", TEA), PutOp(USER, "bad", {"a": object()})]
    with pytest.raises(BadItem):
        store.batch(puts)
    assert not (sample / "memory/store").exists()


def test_names_and_filters_that_cannot_be_are_refused_as_langgraph_does(store):
    store.put(USER, "tea", TEA)
    deep = ["x"]
    for _ in range(100_000):
        deep = [deep]
    endless: list[Any] = []
    endless.append(endless)
    for op in (
        PutOp(("a",), "k", {"a": endless}),
        PutOp(("a",) * 5_000, "k", {}),
        PutOp((1,), "k", {}),
        PutOp(("a",), 1, {}),
        PutOp(("a",), "k", {"a": deep}),
        SearchOp((), filter={"cups": {"$near": 3}}),
        ListNamespacesOp((MatchCondition("inside", ("users",)),)),
        object(),
    ):
        with pytest.raises(ValueError, match="store cannot do this"):
            store.batch([op])
    assert store.search((), filter={"text": {"$gt": 3}}) == []


@pytest.mark.parametrize("damaged", [b"What was here?\n", b"", b"\xff\xfe", b"---\nkey: 1\n---\n\n# Value\n"])
def test_a_page_that_is_damaged_is_told_of_left_alone_and_in_nobodys_way(store, sample, damaged):
    store.put(USER, "tea", TEA)
    store.put(USER, "milk", {"text": "No milk."})
    page = sample / "memory/store/main/users/u1/tea.md"
    page.write_bytes(damaged)
    for op in (GetOp(USER, "tea"), PutOp(USER, "tea", TEA), PutOp(USER, "tea", None)):
        with pytest.raises(UnreadableItem, match=r"tea\.md"):
            store.batch([op])
    assert page.read_bytes() == damaged
    assert [item.key for item in store.search(USER)] == ["milk"]


def test_a_link_in_the_place_of_a_page_is_not_written_through(store, sample):
    store.put(USER, "tea", TEA)
    page = sample / "memory/store/main/users/u1/tea.md"
    (sample / "tea.md").write_text(page.read_text())
    page.unlink()
    page.symlink_to(sample / "tea.md")
    with pytest.raises(UnreadableItem):
        store.put(USER, "tea", {"text": "None."})
    assert "green" in (sample / "tea.md").read_text()


def test_secrets_are_screened_as_in_all_memory(store, sample, cli):
    key = "AK" + "IAIOSFODNN7EXAMPLQ"
    store.put(USER, "aws", {"text": f"the key is {key}", "n": 1})
    assert store.get(USER, "aws").value == {"text": "the key is [REDACTED:AWS_ACCESS_KEY]", "n": 1}
    with pytest.raises(BlockedByPrivacy):
        store.put(USER, key, TEA)
    sample.put({"carrel.yaml": "agents: [{id: kate}]\nprivacy: {secrets: block}\n"})
    Workspace.trust(sample.path)
    with Workspace.open(sample.path) as workspace, pytest.raises(BlockedByPrivacy):
        CarrelStore(workspace, scope="main").put(USER, "aws", {"text": key})
    assert all(key not in path.read_text() for path in (sample / "memory/store").rglob("*.md"))


def test_ids_that_programs_make_are_no_secrets(store):
    for _ in range(20):
        user, key = uuid4().hex, str(uuid4())
        store.put(("users", user), key, TEA)
        assert store.get(("users", user), key).value == TEA


def test_many_writers_of_one_item_leave_one_of_their_values_whole(workspace):
    stores = [CarrelStore(workspace, scope="main") for _ in range(4)]

    def write(n: int) -> None:
        stores[n % 4].put(USER, "tea", {"n": n, "text": f"{n} " * 200})

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(40)))
    value = stores[0].get(USER, "tea").value
    assert value["text"] == f"{value['n']} " * 200


def test_time_to_live_is_not_promised(store):
    assert store.supports_ttl is False
    with pytest.raises(NotImplementedError):
        store.put(USER, "tea", TEA, ttl=5)


class State(TypedDict):
    text: str
    found: Annotated[list[Any], operator.add]


def graph_with(store):
    def remember(state: State, runtime: Runtime) -> dict[str, Any]:
        runtime.store.put(USER, "said", {"text": state["text"]})
        return {}

    def look(_: State, runtime: Runtime) -> dict[str, Any]:
        return {"found": [item.value["text"] for item in runtime.store.search(USER, query="bicycle colour")]}

    async def aremember(state: State, runtime: Runtime) -> dict[str, Any]:
        await runtime.store.aput(USER, "said", {"text": state["text"]})
        return {}

    async def alook(_: State, runtime: Runtime) -> dict[str, Any]:
        found = await runtime.store.asearch(USER, query="bicycle colour")
        return {"found": [item.value["text"] for item in found]}

    built = []
    for first, second in ((remember, look), (aremember, alook)):
        builder = StateGraph(State)
        builder.add_node("remember", first)
        builder.add_node("look", second)
        builder.add_edge(START, "remember")
        builder.add_edge("remember", "look")
        builder.add_edge("look", END)
        built.append(builder.compile(store=store))
    return built


def test_in_a_graph_one_node_finds_what_another_put(store):
    plain, awaited = graph_with(store)
    asked = {"text": "The bicycle is green.", "found": []}
    assert plain.invoke(asked)["found"] == ["The bicycle is green."]
    asked = {"text": "The bicycle is red.", "found": []}
    assert asyncio.run(awaited.ainvoke(asked))["found"] == ["The bicycle is red."]


LABELS = st.sampled_from(["users", "u1", "U1", "docs", "ä b", "x" * 90])
NAMESPACES = st.lists(LABELS, min_size=1, max_size=3).map(tuple)
KEYS = st.sampled_from(["tea", "Tea", "a.md", "..", "ü"])
VALUES = st.fixed_dictionaries(
    {"n": st.integers(0, 4)},
    optional={"kind": st.sampled_from(["a", "b"]), "tags": st.lists(st.sampled_from("ab"), max_size=2)},
)
NUMBERS = st.tuples(st.sampled_from(["$gt", "$gte", "$lt", "$lte", "$eq", "$ne"]), st.integers(0, 4))
FILTERS = st.none() | st.one_of(
    NUMBERS.map(lambda pair: {"n": dict([pair])}),
    st.sampled_from(
        [{"kind": "a"}, {"kind": {"$ne": "a"}}, {"tags": ["a"]}, {"tags": []}, {"kind": None}, {}]
    ),
)
PATHS = st.lists(LABELS | st.just("*"), max_size=2).map(tuple)
CONDITIONS = st.lists(st.builds(MatchCondition, st.sampled_from(["prefix", "suffix"]), PATHS), max_size=2)
OPS = st.one_of(
    st.builds(PutOp, NAMESPACES, KEYS, VALUES),
    st.builds(PutOp, NAMESPACES, KEYS, st.none()),
    st.builds(GetOp, NAMESPACES, KEYS),
    st.builds(SearchOp, st.lists(LABELS, max_size=2).map(tuple), FILTERS, st.just(1_000)),
    st.builds(
        ListNamespacesOp,
        CONDITIONS.map(tuple),
        st.none() | st.integers(1, 3),
        st.integers(1, 9),
        st.integers(0, 2),
    ),
)


def answered(op, result):
    """What an answer says, without times, and of a search without its order, which nobody promises."""
    if isinstance(op, GetOp):
        return result and (result.namespace, result.key, result.value)
    return told(result) if isinstance(op, SearchOp) else result


def purged(model):
    """LangGraph's store lists namespaces that were only asked for, or are empty by now; a folder is neither."""
    fresh = InMemoryStore()
    fresh.batch([PutOp(item.namespace, item.key, item.value) for item in model.search((), limit=10_000)])
    return fresh


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(batches=st.lists(st.lists(OPS, max_size=6), max_size=5))
def test_the_same_operations_give_the_same_answers_as_langgraphs_own_store(workspace, batches):
    store, model = CarrelStore(workspace, scope="main"), InMemoryStore()
    store.batch(
        [PutOp(item.namespace, item.key, None) for item in store.batch([SearchOp((), limit=10_000)])[0]]
    )
    for batch in batches:
        before = purged(model)
        ours, theirs = store.batch(batch), model.batch(batch)
        theirs = [
            before.batch([op])[0] if isinstance(op, ListNamespacesOp) else result
            for op, result in zip(batch, theirs, strict=True)
        ]
        assert [answered(*pair) for pair in zip(batch, ours, strict=True)] == [
            answered(*pair) for pair in zip(batch, theirs, strict=True)
        ]
    assert told(store.batch([SearchOp((), limit=10_000)])[0]) == told(model.search((), limit=10_000))


def test_pages_of_a_search_are_the_whole_of_it_once_each(store):
    for n in range(25):
        store.put(("n", str(n % 3)), f"k{n}", {"n": n})
    pages = [store.search(("n",), limit=4, offset=offset) for offset in range(0, 28, 4)]
    assert told(item for page in pages for item in page) == told(store.search(("n",), limit=100))
    assert [len(page) for page in pages] == [4] * 6 + [1]
