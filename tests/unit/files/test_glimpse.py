"""A glimpse of a store: the same names as the store has, asked for once."""

import pytest

from carrel.files import Unreadable, walk
from carrel.files.ephemeral import EphemeralFiles
from carrel.files.glimpse import glimpse
from carrel.files.postgres import PostgresFiles

PATHS = (
    "a.md",
    "b/c.md",
    "b/d/e.md",
    "b/d/é.md",
    "b-/x.md",
    "b0",
    "memory/2026-04-24.md",
    "zz/ÿ/deep/er/f.txt",
)


@pytest.fixture
def files(tenant):
    store = PostgresFiles(tenant, "studio")
    for path in PATHS:
        store.write(path, path.encode(), expect=None)
    return store


def everything(store) -> list:
    return list(walk(store, skip=lambda _: False))


def test_it_shows_what_the_store_shows_in_one_round_trip(files, tenant):
    wanted = everything(files)
    seen, before = glimpse(files), tenant.round_trips
    assert everything(seen) == wanted
    assert [seen.list(folder) for folder in ("", "b", "b/d", "none", "none/at/all")] == [
        *(files.list(folder) for folder in ("", "b", "b/d")), [], []
    ]  # fmt: skip
    paths = ["a.md", "b", "b/d/e.md", "none"]
    assert seen.stamps(paths) == files.stamps(paths)
    assert tenant.round_trips - before <= 5


def test_nothing_is_asked_before_it_is_needed(files, tenant):
    before = tenant.round_trips
    glimpse(files)
    assert tenant.round_trips == before


def test_what_is_no_directory_is_told_as_the_store_tells_it(files):
    for path in ("a.md", "b/c.md/under"):
        with pytest.raises(Unreadable, match="a file stands where a directory is needed"):
            glimpse(files).list(path)
    assert glimpse(files).list("./b//d/") == files.list("b/d")
    assert glimpse(files).stamps(["", "b/"]) == files.stamps(["", "b"])


def test_bytes_are_always_the_stores_own(files):
    seen = glimpse(files)
    everything(seen)
    digest = files.write("new.md", b"one", expect=None)
    found = seen.read("new.md")
    assert found is not None
    assert found.digest == digest
    assert seen.append("log.jsonl", b"{}\n") == 3
    part = seen.part("log.jsonl", 0, 10)
    assert part is not None
    assert part.data == b"{}\n"
    seen.write("new.md", b"two", expect=digest)
    seen.remove("a.md", expect=(files.read("a.md")).digest)
    assert files.read("a.md") is None
    assert "new.md" not in [entry.path for entry in seen.list()]
    assert "new.md" in [entry.path for entry in glimpse(files).list()]


def test_a_store_that_is_near_at_hand_is_asked_each_time():
    store = EphemeralFiles()
    assert glimpse(store) is store
