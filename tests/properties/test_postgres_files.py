"""Files in PostgreSQL answer as files in a dict do, whatever is asked, errors included."""

from collections.abc import Callable
from itertools import count
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from carrel.errors import CarrelError
from carrel.files import FileStore
from carrel.files.postgres import PostgresFiles
from carrel.postgres import Postgres
from carrel.testing import EphemeralFiles

WORKSPACES = count(1)
PATHS = ["a.md", "A.md", "d", "d/a.md", "d/e", "d/e/f.md", "D/x", "日記/é.md", "日記/e\u0301.md", "bytes\udcff", "", "x" * 300]  # fmt: skip
paths = st.sampled_from(PATHS)
contents = st.one_of(st.sampled_from([b"", b"\n", b"x", b"x\n", b"\0\xff"]), st.binary(max_size=300))
sizes = st.one_of(st.integers(0, 20), st.sampled_from([10**6, 2**40]))

changes = st.one_of(
    st.tuples(st.just("write"), paths, contents, st.sampled_from(["now", "none", "wrong"])),
    st.tuples(st.just("append"), paths, contents, st.sampled_from(["any", "now", "wrong"])),
    st.tuples(st.just("remove"), paths, st.sampled_from(["now", "wrong"])),
)


def outcome(call: Callable[[], Any]) -> Any:
    """What a call answers, be it an error: its kind, and what it says of the file."""
    try:
        return call()
    except CarrelError as error:
        told = (
            getattr(error, "reason", None),
            getattr(error, "expected", None),
            getattr(error, "found", None),
        )
        return type(error), told, error.message


def change(store: FileStore, what: str, path: str, *rest: Any) -> Any:
    now = outcome(lambda: store.read(path))
    digest = getattr(now, "digest", None)
    if what == "write":
        data, expect = rest
        expected = {"now": digest, "none": None, "wrong": "0" * 64}[expect]
        return outcome(lambda: store.write(path, data, expect=expected))
    if what == "append":
        data, at = rest
        size = len(now.data) if digest else 0
        return outcome(lambda: store.append(path, data, at={"any": None, "now": size, "wrong": size + 1}[at]))
    expected = {"now": digest or "0" * 64, "wrong": "1" * 64}[rest[0]]
    return outcome(lambda: store.remove(path, expect=expected))


def state(store: FileStore) -> Any:
    """All that can be known of a store, but for its own stamps and times."""
    lists = [
        outcome(lambda path=path: [(e.path, e.kind, e.size * (e.kind == "file")) for e in store.list(path)])
        for path in PATHS
    ]
    return lists, [outcome(lambda path=path: store.read(path)) for path in PATHS]


@settings(max_examples=40, deadline=None)
@given(done=st.lists(changes, max_size=10))
def test_any_changes_leave_what_they_leave_in_a_dict(shared_postgres: Postgres, done: list[Any]) -> None:
    workspace = f"model-{next(WORKSPACES)}"
    store, model = PostgresFiles(shared_postgres.tenant("model"), workspace), EphemeralFiles()
    for what, path, *rest in done:
        before, old = store.stamps(PATHS), model.stamps(PATHS)
        assert change(store, what, path, *rest) == change(model, what, path, *rest)
        after, new = store.stamps(PATHS), model.stamps(PATHS)
        assert [stamp is None for stamp in after] == [stamp is None for stamp in new]
        assert [was == now for was, now in zip(old, new, strict=True)] == [
            was == now for was, now in zip(before, after, strict=True)
        ]
    assert state(store) == state(model)


@settings(max_examples=40, deadline=None)
@given(written=st.lists(contents, min_size=1, max_size=6), part=st.tuples(sizes, sizes), limit=sizes)
def test_any_part_is_that_part_of_the_whole(
    shared_postgres: Postgres, written: list[bytes], part: tuple[int, int], limit: int
) -> None:
    first, *lines = written
    workspace = f"part-{next(WORKSPACES)}"
    store, model = PostgresFiles(shared_postgres.tenant("model"), workspace), EphemeralFiles()
    for files in (store, model):
        files.write("log", first, expect=None)
    for line in lines:
        assert store.append("log", line) == model.append("log", line)
    one, two = store.part("log", *part), model.part("log", *part)
    assert (one.data, one.size, one.target) == (two.data, two.size, two.target)
    assert outcome(lambda: store.read("log", limit=limit)) == outcome(lambda: model.read("log", limit=limit))
    assert store.write("log", b"new", expect=model.read("log").digest)
    assert store.read("log").data == b"new"
