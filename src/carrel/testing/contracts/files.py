"""What every FileStore promises."""

import hashlib
import unicodedata
from collections.abc import Callable
from threading import Thread

import pytest

from carrel.errors import CarrelError, UsageError
from carrel.files import Entry, FileStore, Stale, Unreadable, walk
from carrel.files.paths import BadPath, NameTaken

ESCAPES = ["../x", "a/../../x", "a//../../x", "/etc/passwd", "a/..", "..", "a\0b", "\ud800.md"]


UNPORTABLE = [
    "CON", "nul", "aux.md", "com1.txt", "dir/LPT9", "a:b", "trailing.", "trailing ", " leading", "a\\b",
    "what?.md", "new\nline", "tab\t", "\x7f", "a\u202eb", "~/x", "C:x", "x" * 256, "bytes\udcff",
    ".carrel-tmp-1",
]  # fmt: skip


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def never(_: Entry) -> bool:
    return False


def paths_in(store: FileStore, under: str = "") -> list[str]:
    return [entry.path for entry in walk(store, under, skip=never)]


def run_all(work: Callable[[int], None]) -> None:
    failures: list[BaseException] = []

    def guarded(who: int) -> None:
        try:
            work(who)
        except BaseException as error:  # noqa: BLE001  a thread's failure must fail the test
            failures.append(error)

    threads = [Thread(target=guarded, args=(who,)) for who in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


class FileStoreContract:
    """Eight verbs over the files of one root: give a `store` that holds nothing."""

    def test_a_written_file_is_read_back(self, store: FileStore) -> None:
        digest = store.write("notes/plan.md", b"Be kind.\n", expect=None)
        content = store.read("notes/plan.md")
        assert content is not None
        assert content.data == b"Be kind.\n"
        assert content.digest == digest == sha(b"Be kind.\n")
        assert content.target == "notes/plan.md"
        assert content.links == 1

    def test_absent_and_empty_are_two_answers(self, store: FileStore) -> None:
        store.write("empty.md", b"", expect=None)
        content = store.read("empty.md")
        assert content is not None
        assert content.data == b""
        assert store.read("absent.md") is None
        assert store.read("absent/deeper.md") is None

    def test_any_bytes_survive(self, store: FileStore) -> None:
        data = bytes(range(256)) * 5
        store.write("blob", data, expect=None)
        content = store.read("blob")
        assert content is not None
        assert content.data == data

    def test_creating_what_exists_is_stale_and_changes_nothing(self, store: FileStore) -> None:
        first = store.write("a.md", b"first", expect=None)
        with pytest.raises(Stale) as caught:
            store.write("a.md", b"second", expect=None)
        assert (caught.value.path, caught.value.expected, caught.value.found) == ("a.md", None, first)
        assert caught.value.hint
        assert store.read("a.md").data == b"first"

    def test_replacing_needs_the_digest_of_what_is_there(self, store: FileStore) -> None:
        first = store.write("a.md", b"first", expect=None)
        second = store.write("a.md", b"second", expect=first)
        with pytest.raises(Stale) as caught:
            store.write("a.md", b"third", expect=first)
        assert (caught.value.expected, caught.value.found) == (first, second)
        assert store.read("a.md").data == b"second"

    def test_replacing_what_is_gone_is_stale_and_makes_nothing(self, store: FileStore) -> None:
        with pytest.raises(Stale) as caught:
            store.write("gone/a.md", b"x", expect=sha(b"old"))
        assert caught.value.found is None
        assert store.list() == []

    def test_a_removed_file_is_absent_and_can_be_made_again(self, store: FileStore) -> None:
        digest = store.write("a.md", b"x", expect=None)
        store.remove("a.md", expect=digest)
        assert store.read("a.md") is None
        assert paths_in(store) == []
        store.write("a.md", b"y", expect=None)

    def test_removing_needs_the_digest_too(self, store: FileStore) -> None:
        digest = store.write("a.md", b"x", expect=None)
        with pytest.raises(Stale):
            store.remove("a.md", expect=sha(b"other"))
        assert store.read("a.md").digest == digest
        with pytest.raises(Stale):
            store.remove("absent.md", expect=digest)

    def test_appending_creates_the_file_and_keeps_every_line(self, store: FileStore) -> None:
        for line in (b"one\n", b"two\n", b"three\n"):
            store.append("logs/day.jsonl", line)
        assert store.read("logs/day.jsonl").data == b"one\ntwo\nthree\n"

    def test_appending_completes_a_last_line_without_newline(self, store: FileStore) -> None:
        store.write("a.jsonl", b'{"a":1}', expect=None)
        store.append("a.jsonl", b'{"b":2}\n')
        assert store.read("a.jsonl").data == b'{"a":1}\n{"b":2}\n'

    def test_appending_tells_the_size_of_what_is_there_now(self, store: FileStore) -> None:
        assert store.append("log.jsonl", b"one\n") == 4
        assert store.append("log.jsonl", b"two\n") == 8
        store.write("open.jsonl", b"torn", expect=None)
        assert store.append("open.jsonl", b"x\n") == 7

    def test_an_append_at_a_size_is_refused_when_others_were_quicker(self, store: FileStore) -> None:
        assert store.append("log.jsonl", b"one\n", at=0) == 4
        with pytest.raises(Stale):
            store.append("log.jsonl", b"late\n", at=0)
        store.append("log.jsonl", b"two\n", at=4)
        with pytest.raises(Stale):
            store.append("log.jsonl", b"late\n", at=4)
        with pytest.raises(Stale):
            store.append("absent.jsonl", b"late\n", at=4)
        kept = store.read("log.jsonl")
        assert kept is not None
        assert kept.data == b"one\ntwo\n"
        assert store.read("absent.jsonl") is None

    def test_a_part_of_a_file_is_read_without_the_rest(self, store: FileStore) -> None:
        store.write("log.jsonl", b"0123456789", expect=None)
        part = store.part("log.jsonl", 3, 4)
        assert part is not None
        assert (part.data, part.size) == (b"3456", 10)
        whole = store.read("log.jsonl")
        assert whole is not None
        assert (part.target, part.identity, part.links) == (whole.target, whole.identity, whole.links)
        beyond = (
            store.part("log.jsonl", 8, 100),
            store.part("log.jsonl", 10, 5),
            store.part("log.jsonl", 50, 5),
        )
        assert [part and part.data for part in beyond] == [b"89", b"", b""]
        assert store.part("absent", 0, 1) is None

    def test_appending_to_an_empty_file_adds_no_blank_line(self, store: FileStore) -> None:
        store.write("a.jsonl", b"", expect=None)
        store.append("a.jsonl", b"x\n")
        assert store.read("a.jsonl").data == b"x\n"

    def test_a_read_takes_up_to_its_limit_and_refuses_more(self, store: FileStore) -> None:
        store.write("a.md", b"12345", expect=None)
        assert store.read("a.md", limit=5).data == b"12345"
        with pytest.raises(Unreadable) as caught:
            store.read("a.md", limit=4)
        assert caught.value.reason == "too_large"
        assert caught.value.path == "a.md"

    def test_a_directory_is_not_readable_as_a_file(self, store: FileStore) -> None:
        store.write("MEMORY.md/x", b"", expect=None)
        for call in (
            lambda: store.read("MEMORY.md"),
            lambda: store.write("MEMORY.md", b"", expect=None),
            lambda: store.append("MEMORY.md", b"x\n"),
            lambda: store.remove("MEMORY.md", expect=sha(b"")),
        ):
            with pytest.raises(Unreadable) as caught:
                call()
            assert caught.value.reason == "directory"

    def test_a_file_is_not_a_directory(self, store: FileStore) -> None:
        store.write("memory", b"", expect=None)
        for call in (
            lambda: store.list("memory"),
            lambda: store.list("memory/deeper"),
            lambda: store.read("memory/today.md"),
            lambda: store.write("memory/today.md", b"", expect=None),
            lambda: store.append("memory/today.md", b"x\n"),
        ):
            with pytest.raises(Unreadable) as caught:
                call()
            assert caught.value.reason == "not_directory"
            assert caught.value.hint
        assert store.stamps(["memory/today.md"]) == [None]

    def test_a_listing_is_one_directory_in_code_point_order(self, store: FileStore) -> None:
        for path in ("b.md", "B.txt", "a/x.md", "ä.md", "_.md", "a/y/z.md"):
            store.write(path, b"12", expect=None)
        listed = store.list()
        assert [entry.path for entry in listed] == ["B.txt", "_.md", "a", "b.md", "ä.md"]
        assert [entry.kind for entry in listed] == ["file", "file", "directory", "file", "file"]
        assert listed[0].size == 2
        assert all(entry.target == entry.path for entry in listed)
        assert [entry.path for entry in store.list("a")] == ["a/x.md", "a/y"]

    def test_listing_an_absent_directory_is_empty(self, store: FileStore) -> None:
        assert store.list() == []
        assert store.list("nowhere/at/all") == []

    def test_one_spelling_of_a_path_is_as_good_as_another(self, store: FileStore) -> None:
        store.write("./a//b.md", b"x", expect=None)
        assert store.read("a/./b.md").target == "a/b.md"
        assert [entry.path for entry in store.list("./a/")] == ["a/b.md"]
        assert store.stamps(["a//b.md", "./a/b.md"]) == store.stamps(["a/b.md"]) * 2

    def test_a_file_is_told_to_be_where_it_will_be_made(self, store: FileStore) -> None:
        assert store.target("./a//b.md") == "a/b.md"
        store.write("a/b.md", b"x", expect=None)
        assert store.target("a/b.md") == store.read("a/b.md").target

    def test_a_stamp_changes_when_the_file_does_and_only_then(self, store: FileStore) -> None:
        digest = store.write("a.md", b"one", expect=None)
        store.write("b.md", b"other", expect=None)
        first, other = store.stamps(["a.md", "b.md"])
        assert store.stamps(["a.md", "b.md"]) == [first, other]
        store.write("a.md", b"two", expect=digest)
        second, unchanged = store.stamps(["a.md", "b.md"])
        assert second != first
        assert unchanged == other
        store.append("a.md", b"x\n")
        assert store.stamps(["a.md"]) != [second]

    def test_stamps_come_in_the_order_asked_for(self, store: FileStore) -> None:
        for path in ("a/1", "b/1", "a/2", "top"):
            store.write(path, path.encode(), expect=None)
        asked = ["a/1", "top", "b/1", "absent", "a/2", "nowhere/x", "a/1", "a", ""]
        assert store.stamps(asked) == [store.stamps([path])[0] for path in asked]
        assert [stamp is None for stamp in store.stamps(asked)] == [
            False, False, False, True, False, True, False, False, False,
        ]  # fmt: skip
        assert store.stamps([]) == []

    def test_a_directorys_stamp_changes_when_a_name_comes_or_goes(self, store: FileStore) -> None:
        digest = store.write("d/a.md", b"", expect=None)
        before = store.stamps(["d"])
        store.write("d/b.md", b"", expect=None)
        between = store.stamps(["d"])
        assert between != before
        store.remove("d/a.md", expect=digest)
        assert store.stamps(["d"]) != between

    def test_read_list_and_stamps_agree(self, store: FileStore) -> None:
        store.write("d/a.md", b"x", expect=None)
        content, (entry,) = store.read("d/a.md"), store.list("d")
        assert entry.stamp == store.stamps(["d/a.md"])[0]
        assert (content.identity, content.target, content.links) == (
            entry.identity,
            entry.target,
            entry.links,
        )

    def test_two_files_with_equal_bytes_have_two_identities(self, store: FileStore) -> None:
        store.write("a.md", b"same", expect=None)
        store.write("b.md", b"same", expect=None)
        one, two = store.list()
        assert one.identity != two.identity

    @pytest.mark.parametrize("path", ESCAPES)
    def test_no_verb_takes_a_path_that_could_leave_the_root(self, store: FileStore, path: str) -> None:
        for call in (
            lambda: store.read(path),
            lambda: store.stamps([path]),
            lambda: store.list(path),
            lambda: store.target(path),
            lambda: store.write(path, b"x", expect=None),
            lambda: store.append(path, b"x\n"),
            lambda: store.remove(path, expect=sha(b"x")),
        ):
            with pytest.raises(BadPath):
                call()

    @pytest.mark.parametrize("path", UNPORTABLE)
    def test_a_name_that_not_every_system_can_hold_is_not_made(self, store: FileStore, path: str) -> None:
        for call in (lambda: store.write(path, b"x", expect=None), lambda: store.append(path, b"x\n")):
            with pytest.raises(BadPath):
                call()
        assert store.read(path) is None
        assert store.list() == []

    @pytest.mark.parametrize(
        ("existing", "new"),
        [
            ("MEMORY.md", "memory.md"),
            (unicodedata.normalize("NFC", "é.md"), unicodedata.normalize("NFD", "é.md")),
            ("straße.md", "STRASSE.md"),
            ("Notes/a.md", "notes/b.md"),
        ],
    )
    def test_a_name_that_differs_only_by_case_or_accent_form_is_refused(
        self, store: FileStore, existing: str, new: str
    ) -> None:
        store.write(existing, b"x", expect=None)
        for call in (lambda: store.write(new, b"y", expect=None), lambda: store.append(new, b"y\n")):
            with pytest.raises(UsageError) as caught:
                call()
            assert isinstance(caught.value, NameTaken)
        assert paths_in(store) == [existing]

    def test_a_walk_yields_every_file_once_in_order(self, store: FileStore) -> None:
        for path in ("z.md", "a/2.md", "a/1.md", "a/b/c/d.md", "m.md"):
            store.write(path, b"", expect=None)
        assert paths_in(store) == ["a/1.md", "a/2.md", "a/b/c/d.md", "m.md", "z.md"]
        assert paths_in(store, "a/b") == ["a/b/c/d.md"]
        assert paths_in(store, "nowhere") == []

    def test_a_walk_leaves_out_what_it_is_told_to_skip(self, store: FileStore) -> None:
        for path in ("keep.md", "node_modules/x/y.js", "a/skip.tmp", "a/keep.md"):
            store.write(path, b"", expect=None)
        found = walk(store, skip=lambda e: e.path == "node_modules" or e.path.endswith(".tmp"))
        assert [entry.path for entry in found] == ["a/keep.md", "keep.md"]

    def test_threads_that_append_lose_no_line(self, store: FileStore) -> None:
        def work(who: int) -> None:
            for i in range(10):
                store.append("log.jsonl", f"{who}.{i}\n".encode())

        run_all(work)
        lines = store.read("log.jsonl").data.decode().splitlines()
        assert sorted(lines) == sorted(f"{who}.{i}" for who in range(4) for i in range(10))

    def test_threads_that_read_and_replace_lose_no_update(self, store: FileStore) -> None:
        store.write("set.md", b"", expect=None)

        def work(who: int) -> None:
            for i in range(5):
                while True:
                    content = store.read("set.md")
                    try:
                        store.write("set.md", content.data + f"{who}.{i}\n".encode(), expect=content.digest)
                        break
                    except Stale:
                        continue

        run_all(work)
        lines = store.read("set.md").data.decode().splitlines()
        assert sorted(lines) == sorted(f"{who}.{i}" for who in range(4) for i in range(5))

    def test_every_error_of_a_store_has_a_code_and_a_next_step(self, store: FileStore) -> None:
        store.write("a.md", b"", expect=None)
        for call in (
            lambda: store.write("a.md", b"", expect=None),
            lambda: store.read("../a.md"),
            lambda: store.list("a.md"),
            lambda: store.write("A.md", b"", expect=None),
        ):
            with pytest.raises(CarrelError) as caught:
                call()
            assert caught.value.code != "failed"
            assert caught.value.hint
