"""Two layers as one: what is read from where, what is written, and what is never hidden."""

import os
import time
from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path

import pytest

from carrel.errors import Refused
from carrel.files import READ_LIMIT, Content, Entry, FileStore, Stale, Stamp, Unreadable, is_settled, walk
from carrel.files.local import LocalFiles
from carrel.files.overlay import BLANK_LIMIT, EmptyAcrossTenants, LayersDisagree, OverlayFiles, RemainsBelow
from carrel.files.paths import NameTaken
from carrel.files.tenant import TenantFiles
from carrel.testing import EphemeralFiles

Layers = tuple[FileStore, FileStore]
Make = Callable[[dict[str, str], dict[str, str]], Layers]


@pytest.fixture(params=["ephemeral", "local"])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Make:
    """Make an upper and a lower layer that hold these files."""

    def ephemeral(upper: dict[str, str], lower: dict[str, str]) -> Layers:
        return EphemeralFiles(upper), EphemeralFiles(lower)

    def local(upper: dict[str, str], lower: dict[str, str]) -> Layers:
        return local_files(tmp_path / "upper", upper), local_files(tmp_path / "lower", lower)

    return ephemeral if request.param == "ephemeral" else local


def local_files(root: Path, files: dict[str, str]) -> LocalFiles:
    root.mkdir()
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return LocalFiles(root)


def sha(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def text_of(store: FileStore, path: str) -> str | None:
    content = store.read(path)
    return None if content is None else content.data.decode()


def everything(store: FileStore) -> dict[str, str | None]:
    return {entry.path: text_of(store, entry.path) for entry in walk(store, skip=lambda _: False)}


def kinds(entries: Sequence[Entry]) -> dict[str, str]:
    return {entry.path: entry.kind for entry in entries}


def test_the_upper_layer_is_read_first_and_the_lower_where_it_has_nothing(make: Make) -> None:
    files = OverlayFiles(*make({"AGENTS.md": "mine"}, {"AGENTS.md": "theirs", "SOUL.md": "kind"}))
    assert text_of(files, "AGENTS.md") == "mine"
    assert text_of(files, "SOUL.md") == "kind"
    assert files.read("USER.md") is None


def test_an_empty_file_is_an_answer_unless_it_is_set_to_fall_through(make: Make) -> None:
    upper = {"a.md": "", "b.md": " \n\ufeff\t", "c.md": "\n", "d.md": "text"}
    layers = make(upper, dict.fromkeys(("a.md", "b.md", "d.md"), "below"))
    absent, empty = OverlayFiles(*layers), OverlayFiles(*layers, fallthrough="empty")
    assert [text_of(absent, name) for name in ("a.md", "c.md", "d.md")] == ["", "\n", "text"]
    assert text_of(empty, "a.md") == "below"
    assert text_of(empty, "c.md") == "\n"  # the lower has none to fall through to
    assert text_of(empty, "d.md") == "text"
    assert text_of(empty, "b.md") == " \n\ufeff\t"  # a byte order mark is none in the middle of a text


def test_a_byte_order_mark_and_any_white_space_are_no_text(make: Make) -> None:
    blank = "\ufeff \u3000\u00a0\r\n"
    files = OverlayFiles(*make({"a.md": blank}, {"a.md": "below"}), fallthrough="empty")
    assert text_of(files, "a.md") == "below"
    assert files.read("a.md", limit=5).data == b"below"  # the limit is for what is returned


def test_what_is_not_text_or_is_long_does_not_fall_through() -> None:
    upper = EphemeralFiles({"a": b"\xff", "b": b" " * (BLANK_LIMIT + 1)})
    files = OverlayFiles(upper, EphemeralFiles({"a": "below", "b": "below"}), fallthrough="empty")
    assert files.read("a").data == b"\xff"
    assert len(files.read("b").data) == BLANK_LIMIT + 1


def test_falling_through_is_for_the_layers_of_one_tenant() -> None:
    store, other = EphemeralFiles(), EphemeralFiles()
    bob = TenantFiles(store, "bob")
    for lower in (other, TenantFiles(other, "alice")):
        with pytest.raises(EmptyAcrossTenants):
            OverlayFiles(bob, lower, fallthrough="empty")
        with pytest.raises(EmptyAcrossTenants):
            OverlayFiles(lower, bob, fallthrough="empty")
        OverlayFiles(bob, lower)
    OverlayFiles(bob, TenantFiles(other, "bob"), fallthrough="empty")


def test_an_unreadable_upper_file_raises_and_never_falls_through(tmp_path: Path) -> None:
    lower = dict.fromkeys(("pipe.md", "outside.md", "loop.md", "long.md", "d/x.md"), "below")
    upper, below = local_files(tmp_path / "upper", {"long.md": "12345"}), EphemeralFiles(lower)
    os.mkfifo(tmp_path / "upper" / "pipe.md")
    (tmp_path / "upper" / "outside.md").symlink_to("/etc/passwd")
    (tmp_path / "upper" / "loop.md").symlink_to("loop.md")
    (tmp_path / "upper" / "d").symlink_to("/etc")
    for fallthrough in ("absent", "empty"):
        files = OverlayFiles(upper, below, fallthrough=fallthrough)
        for path, reason in {
            "pipe.md": "special_file",
            "outside.md": "link_outside",
            "loop.md": "link_loop",
            "d/x.md": "link_outside",
            "long.md": "too_large",
        }.items():
            with pytest.raises(Unreadable) as caught:
                files.read(path, limit=4)
            assert caught.value.reason == reason
        for change in (lambda f: f.append("pipe.md", b"x\n"), lambda f: f.write("pipe.md", b"", expect=None)):
            with pytest.raises(Unreadable):
                change(files)
        listed = kinds(files.list())
        assert (listed["pipe.md"], listed["outside.md"], listed["loop.md"]) == ("special", "link", "link")


def test_a_link_that_leads_nowhere_is_absent_and_so_falls_through(tmp_path: Path) -> None:
    upper = local_files(tmp_path / "upper", {})
    (tmp_path / "upper" / "today.md").symlink_to("2026.md")
    files = OverlayFiles(upper, EphemeralFiles({"today.md": "below"}))
    assert text_of(files, "today.md") == "below"
    (entry,) = files.list()
    assert (entry.kind, entry.identity) == ("file", files.read("today.md").identity)
    assert entry.stamp == files.stamps(["today.md"])[0]
    before = files.stamps(["today.md"])
    (tmp_path / "upper" / "2026.md").write_text("above")
    assert text_of(files, "today.md") == "above"
    assert files.stamps(["today.md"]) != before


def test_a_file_is_told_to_be_written_where_the_upper_has_it_whatever_the_lower_links_to(
    tmp_path: Path,
) -> None:
    layers = [local_files(tmp_path / name, {}) for name in ("upper", "lower")]
    (tmp_path / "upper" / "a.md").symlink_to("above.md")
    (tmp_path / "lower" / "a.md").write_text("read")
    (tmp_path / "lower" / "b").symlink_to("below")
    files = OverlayFiles(*layers)
    assert (files.target("a.md"), files.target("b/x.md")) == ("above.md", "b/x.md")
    files.write("a.md", b"written", expect=files.read("a.md").digest)
    files.write("b/x.md", b"written", expect=None)
    assert [(tmp_path / "upper" / path).read_text() for path in ("above.md", "b/x.md")] == ["written"] * 2


def test_an_empty_file_has_nothing_to_fall_through_to_where_the_lower_link_leads_nowhere(
    tmp_path: Path,
) -> None:
    lower = local_files(tmp_path / "lower", {})
    (tmp_path / "lower" / "a.md").symlink_to("nowhere.md")
    files = OverlayFiles(EphemeralFiles({"a.md": ""}), lower, fallthrough="empty")
    (entry,) = files.list()
    assert (entry.kind, entry.identity) == ("file", files.read("a.md").identity)


def test_a_write_replaces_what_was_read_and_leaves_the_lower_alone(make: Make) -> None:
    upper, lower = make({}, {"d/a.md": "below"})
    files = OverlayFiles(upper, lower)
    first = files.write("d/a.md", b"one", expect=files.read("d/a.md").digest)
    files.write("d/a.md", b"two", expect=first)
    assert (text_of(files, "d/a.md"), text_of(upper, "d/a.md"), text_of(lower, "d/a.md")) == (
        "two",
        "two",
        "below",
    )


@pytest.mark.parametrize("expect", [None, sha("other"), sha("")])
def test_a_write_needs_the_digest_of_what_is_seen_in_either_layer(make: Make, expect: str | None) -> None:
    upper, lower = make({"blank.md": ""}, {"a.md": "below", "blank.md": "below"})
    files = OverlayFiles(upper, lower, fallthrough="empty")
    for path in ("a.md", "blank.md"):
        with pytest.raises(Stale) as caught:
            files.write(path, b"x", expect=expect)
        assert (caught.value.path, caught.value.expected, caught.value.found) == (path, expect, sha("below"))
    assert everything(upper) == {"blank.md": ""}


def test_a_file_that_falls_through_can_be_written_and_added_to(make: Make) -> None:
    upper, lower = make({"a.md": " ", "b.md": ""}, {"a.md": "below", "b.md": "below"})
    files = OverlayFiles(upper, lower, fallthrough="empty")
    assert files.write("a.md", b"mine", expect=sha("below")) == sha("mine")
    files.append("b.md", b"line\n")
    assert everything(upper) == {"a.md": "mine", "b.md": "below\nline\n"}


def test_emptying_a_file_shows_the_lower_one_again_only_where_that_is_set(make: Make) -> None:
    layers = make({"a.md": "mine"}, {"a.md": "below"})
    assert OverlayFiles(*layers).write("a.md", b"", expect=sha("mine")) == sha("")
    assert text_of(OverlayFiles(*layers), "a.md") == ""
    assert text_of(OverlayFiles(*layers, fallthrough="empty"), "a.md") == "below"


def test_appending_copies_up_what_only_the_lower_has(make: Make) -> None:
    upper, lower = make({}, {"log.jsonl": "one", "full.jsonl": "one\n", "empty.jsonl": ""})
    files = OverlayFiles(upper, lower)
    for path in ("log.jsonl", "full.jsonl", "empty.jsonl", "new/log.jsonl"):
        files.append(path, b"two\n")
        files.append(path, b"three\n")
    assert everything(upper) == {
        "empty.jsonl": "two\nthree\n",
        "full.jsonl": "one\ntwo\nthree\n",
        "log.jsonl": "one\ntwo\nthree\n",
        "new/log.jsonl": "two\nthree\n",
    }
    assert everything(lower) == {"empty.jsonl": "", "full.jsonl": "one\n", "log.jsonl": "one"}


class Interrupted(EphemeralFiles):
    """A store in which somebody else is quicker, once, just before a write."""

    def __init__(self, quicker: Callable[[EphemeralFiles], object]) -> None:
        super().__init__()
        self._quicker: Callable[[EphemeralFiles], object] | None = quicker

    def write(self, path: str, data: bytes, *, expect: str | None) -> str:
        quicker, self._quicker = self._quicker, None
        if quicker:
            quicker(self)
        return super().write(path, data, expect=expect)


def test_two_that_copy_up_at_once_lose_no_line() -> None:
    lower = EphemeralFiles({"log": "one\n"})
    upper = Interrupted(lambda store: store.write("log", b"one\ntheirs\n", expect=None))
    OverlayFiles(upper, lower).append("log", b"mine\n")
    assert text_of(upper, "log") == "one\ntheirs\nmine\n"


def test_a_write_that_comes_second_is_stale_and_says_what_is_there() -> None:
    upper = Interrupted(lambda store: store.write("a.md", b"theirs", expect=None))
    files = OverlayFiles(upper, EphemeralFiles({"a.md": "below"}))
    with pytest.raises(Stale) as caught:
        files.write("a.md", b"mine", expect=sha("below"))
    assert (caught.value.expected, caught.value.found) == (sha("below"), sha("theirs"))
    assert text_of(files, "a.md") == "theirs"


def test_a_file_that_the_lower_has_too_is_not_removed(make: Make) -> None:
    upper, lower = make({"both.md": "mine", "above.md": "mine"}, {"both.md": "below", "below.md": "below"})
    files = OverlayFiles(upper, lower)
    for path, text in {"both.md": "mine", "below.md": "below"}.items():
        with pytest.raises(Stale):
            files.remove(path, expect=sha("other"))
        with pytest.raises(Refused) as caught:
            files.remove(path, expect=sha(text))
        assert isinstance(caught.value, RemainsBelow)
        assert caught.value.hint
    files.remove("above.md", expect=sha("mine"))
    assert everything(files) == {"below.md": "below", "both.md": "mine"}


def test_a_file_is_not_removed_where_something_unreadable_would_take_its_place(tmp_path: Path) -> None:
    lower = local_files(tmp_path / "lower", {"c.md/x": ""})
    (tmp_path / "lower" / "a.md").symlink_to("/etc/passwd")
    os.mkfifo(tmp_path / "lower" / "b.md")
    files = OverlayFiles(EphemeralFiles({"a.md": "x", "b.md": "x", "c.md": "x"}), lower)
    for path in ("a.md", "b.md", "c.md"):
        with pytest.raises(RemainsBelow):
            files.remove(path, expect=sha("x"))


def test_a_listing_is_the_sorted_union_and_the_upper_wins(make: Make) -> None:
    upper, lower = make({"b.md": "mine!", "d/x": ""}, {"a.md": "1", "b.md": "2", "c.md": "3", "d/y": ""})
    files = OverlayFiles(upper, lower)
    assert [(entry.path, entry.size) for entry in files.list() if entry.kind == "file"] == [
        ("a.md", 1),
        ("b.md", 5),
        ("c.md", 1),
    ]
    assert kinds(files.list("d")) == {"d/x": "file", "d/y": "file"}
    assert sorted(everything(files)) == ["a.md", "b.md", "c.md", "d/x", "d/y"]


@pytest.mark.parametrize("fallthrough", ["absent", "empty"])
def test_read_list_and_stamps_agree_on_every_entry(make: Make, fallthrough: str) -> None:
    layers = make(
        {"blank.md": " ", "d/above": "1", "both": "22"}, {"blank.md": "b", "d/below": "333", "both": ""}
    )
    files = OverlayFiles(*layers, fallthrough=fallthrough)
    for entry in walk(files, skip=lambda _: False):
        content = files.read(entry.path)
        assert (content.identity, content.target, content.links) == (
            entry.identity,
            entry.target,
            entry.links,
        )
        assert len(content.data) == entry.size
        assert entry.stamp == files.stamps([entry.path])[0]
    for folder in files.list():
        assert folder.stamp == files.stamps([folder.path])[0]


def test_layers_that_disagree_on_file_or_directory_say_so_and_nothing_changes(make: Make) -> None:
    upper, lower = make({"a": "file", "b/x": "mine"}, {"a/x": "theirs", "b": "file"})
    files = OverlayFiles(upper, lower)
    assert kinds(files.list()) == {"a": "special", "b": "special"}
    assert kinds(list(walk(files, skip=lambda _: False))) == {"a": "special", "b": "special"}
    for call, reason in (
        (lambda: files.list("a"), "not_directory"),
        (lambda: files.read("a/x"), "not_directory"),
        (lambda: files.write("a/x", b"", expect=None), "not_directory"),
        (lambda: files.append("a/new", b"x\n"), "not_directory"),
        (lambda: files.list("b"), "not_directory"),
        (lambda: files.read("b"), "directory"),
        (lambda: files.write("b", b"", expect=sha("file")), "directory"),
        (lambda: files.append("b", b"x\n"), "directory"),
        (lambda: files.read("b/y"), "not_directory"),
        (lambda: files.write("b/y", b"", expect=None), "not_directory"),
    ):
        with pytest.raises(LayersDisagree) as caught:
            call()
        assert caught.value.reason == reason
        assert caught.value.at in ("a", "b")
        assert "layer" in caught.value.hint
    assert text_of(files, "a") == "file"  # what the upper has as a file is read from there
    assert text_of(files, "b/x") == "mine"
    assert everything(upper) == {"a": "file", "b/x": "mine"}
    assert everything(lower) == {"a/x": "theirs", "b": "file"}


def test_a_file_below_is_no_directory_above(make: Make) -> None:
    upper, lower = make({}, {"memory": "", "knowledge/x": ""})
    files = OverlayFiles(upper, lower)
    for path, reason in {"memory/today.md": "not_directory", "knowledge": "directory"}.items():
        for call in (lambda: files.write(path, b"", expect=None), lambda: files.append(path, b"x\n")):  # noqa: B023
            with pytest.raises(Unreadable) as caught:
                call()
            assert caught.value.reason == reason
    assert upper.list() == []


@pytest.mark.parametrize(
    ("existing", "new"),
    [("MEMORY.md", "memory.md"), ("Notes/a.md", "notes/b.md"), ("d/é.md", "d/e\u0301.md")],
)
def test_a_new_name_may_not_differ_from_one_below_only_by_case_or_accent_form(
    make: Make, existing: str, new: str
) -> None:
    upper, lower = make({}, {existing: "x"})
    files = OverlayFiles(upper, lower)
    for call in (lambda: files.write(new, b"", expect=None), lambda: files.append(new, b"x\n")):
        with pytest.raises(NameTaken):
            call()
    assert upper.list() == []
    files.append(existing, b"y\n")


def test_twins_that_are_there_already_stay_usable() -> None:
    files = OverlayFiles(EphemeralFiles({"notes/a": "", "w:x/a": ""}), EphemeralFiles({"Notes/b": ""}))
    files.write("notes/c", b"", expect=None)
    files.write("w:x/c", b"", expect=None)
    assert sorted(everything(files)) == ["Notes/b", "notes/a", "notes/c", "w:x/a", "w:x/c"]


def test_a_stamp_changes_with_the_upper_and_with_the_lower(make: Make) -> None:
    upper, lower = make({"above": "1", "both": "1"}, {"below": "1", "both": "1"})
    files = OverlayFiles(upper, lower)
    paths = ["above", "below", "both", "absent"]
    first = files.stamps(paths)
    assert files.stamps(paths) == first
    assert [stamp is None for stamp in first] == [False, False, False, True]
    lower.write("below", b"22", expect=sha("1"))
    second = files.stamps(paths)
    assert second[1] != first[1]
    upper.write("below", b"22", expect=None)
    third = files.stamps(paths)
    assert third[1] != second[1]
    upper.append("both", b"2\n")
    assert files.stamps(paths)[2] != third[2]
    lower.write("absent", b"", expect=None)
    assert files.stamps(["absent"]) != [None]


@pytest.mark.parametrize("obstacle", ["pipe", "link outside", "file above", "link above"])
def test_what_has_no_stamp_itself_changes_the_stamp_of_what_it_hides(tmp_path: Path, obstacle: str) -> None:
    root = tmp_path / "upper"
    upper = local_files(root, {"other": ""} if obstacle.endswith("above") else {"d/other": ""})
    files = OverlayFiles(upper, EphemeralFiles({"d/a.md": "below"}))
    before = files.stamps(["d/a.md", "d"])
    assert text_of(files, "d/a.md") == "below"
    time.sleep(0.02)  # a directory changes in steps of the system's clock; is_settled waits much longer
    if obstacle == "pipe":
        os.mkfifo(root / "d" / "a.md")
    elif obstacle == "link outside":
        (root / "d" / "a.md").symlink_to("/etc/passwd")
    elif obstacle == "file above":
        (root / "d").write_text("")
    else:
        (root / "d").symlink_to("/etc")
    with pytest.raises(Unreadable):
        files.read("d/a.md")
    after = files.stamps(["d/a.md", "d"])
    assert after[0] != before[0]
    assert after[1] != before[1]


class Dated(EphemeralFiles):
    """A store whose last change, of anything, was at one time."""

    def __init__(self, files: dict[str, str], changed_ns: int) -> None:
        super().__init__(files)
        self._changed_ns = changed_ns

    def stamps(self, paths: Sequence[str]) -> list[Stamp | None]:
        return [stamp and (*stamp[:3], self._changed_ns) for stamp in super().stamps(paths)]


def test_a_stamp_settles_with_the_later_change_of_the_two_layers() -> None:
    now = time.time_ns()
    old, new = now - 10_000_000_000, now - 1_000_000_000
    for above, below in ((old, new), (new, old)):
        files = OverlayFiles(Dated({"a": "", "u": ""}, above), Dated({"a": "", "l": ""}, below))
        assert not any(is_settled(stamp, now) for stamp in files.stamps(["a", "u", "l", ""]))
    files = OverlayFiles(Dated({"a": ""}, old), Dated({"a": ""}, old))
    assert is_settled(files.stamps(["a"])[0], now)


class Counting(EphemeralFiles):
    """A store that counts what it is asked."""

    def __init__(self, files: dict[str, str]) -> None:
        super().__init__(files)
        self.asked: list[str] = []

    def stamps(self, paths: Sequence[str]) -> list[Stamp | None]:
        self.asked.append("stamps")
        return super().stamps(paths)

    def read(self, path: str, *, limit: int = READ_LIMIT) -> Content | None:
        self.asked.append("read")
        return super().read(path, limit=limit)


def test_stamps_ask_each_layer_once_however_many_paths_there_are() -> None:
    names = [f"d{n % 7}/{n}" for n in range(1500)]
    layers = Counting(dict.fromkeys(names[:100], "")), Counting(dict.fromkeys(names[50:150], ""))
    files = OverlayFiles(*layers)
    for paths in (names[:200], names):
        stamps = files.stamps(paths)
        assert [stamp is not None for stamp in stamps] == [n < 150 for n in range(len(paths))]
    assert [layer.asked for layer in layers] == [["stamps"] * 2] * 2


def test_a_path_of_thousands_of_names_costs_little(tmp_path: Path) -> None:
    files = OverlayFiles(local_files(tmp_path / "upper", {"d/x": ""}), local_files(tmp_path / "lower", {}))
    path = "d/" * 2000 + "x"
    started = time.process_time()
    assert files.stamps([path]) == [None]
    assert files.read(path) is None
    assert files.list(path) == []
    assert time.process_time() - started < 10


def test_far_down_a_stamp_is_the_same_for_all_verbs_and_never_trusted_where_it_cannot_tell() -> None:
    deep, deeper = "d/" * 100, "d/" * 60
    files = OverlayFiles(EphemeralFiles({f"{deep}a": ""}), EphemeralFiles({f"{deep}b": "", f"{deeper}c": ""}))
    assert [entry.stamp for entry in files.list(deep)] == files.stamps([f"{deep}a", f"{deep}b"])
    assert is_settled(files.stamps([f"{deep}a"])[0], time.time_ns())
    below = OverlayFiles(EphemeralFiles({f"{deeper}a": ""}), EphemeralFiles({f"{deep}b": ""}))
    assert [entry.stamp for entry in below.list(deep)] == below.stamps([f"{deep}b"])
    assert not is_settled(below.stamps([f"{deep}b"])[0], time.time_ns())


def test_a_file_above_and_one_below_differ_in_identity_and_links_keep_theirs(tmp_path: Path) -> None:
    lower = local_files(tmp_path / "lower", {"real.md": "x", "other.md": "x"})
    (tmp_path / "lower" / "link.md").symlink_to("real.md")
    os.link(tmp_path / "lower" / "real.md", tmp_path / "lower" / "hard.md")
    for upper in (EphemeralFiles({"a.md": "x"}), local_files(tmp_path / "upper", {"a.md": "x"})):
        files = OverlayFiles(upper, lower)
        seen = {entry.path: entry for entry in files.list()}
        assert seen["link.md"].identity == seen["real.md"].identity == seen["hard.md"].identity
        assert seen["link.md"].target == "real.md"
        assert seen["hard.md"].links == files.read("hard.md").links == 2
        assert len({seen[name].identity for name in ("a.md", "real.md", "other.md")}) == 3
    above, below = EphemeralFiles({"a": "", "x/a": ""}), EphemeralFiles({"a": "", "b": "", "x/a": ""})
    shadowed = OverlayFiles(EphemeralFiles(), below).read("a").identity
    assert OverlayFiles(above, below).read("a").identity != shadowed


@pytest.mark.parametrize("tenant", [False, True])
def test_a_file_that_is_hard_linked_into_both_layers_is_one(tmp_path: Path, tenant: bool) -> None:
    lower = local_files(tmp_path / "lower", {"MEMORY.md": "secret"})
    upper: FileStore = local_files(tmp_path / "upper", {})
    home = tmp_path / "upper"
    if tenant:
        upper = TenantFiles(upper, "bob")
        upper.write("first", b"", expect=None)
        home = tmp_path / "upper" / ".carrel-tenants" / "bob"
    os.link(tmp_path / "lower" / "MEMORY.md", home / "notes.md")
    files = OverlayFiles(upper, lower)
    assert files.read("notes.md").identity == files.read("MEMORY.md").identity
    assert files.read("notes.md").links == 2


def test_three_layers_are_two_overlays(make: Make) -> None:
    upper, middle = make({"a": "1"}, {"a": "2", "b": "2"})
    files = OverlayFiles(upper, OverlayFiles(middle, EphemeralFiles({"a": "3", "b": "3", "c": "3"})))
    assert everything(files) == {"a": "1", "b": "2", "c": "3"}
    assert len({entry.identity for entry in files.list()}) == 3


def test_a_lower_link_is_copied_up_as_a_file_and_what_it_leads_to_stays(tmp_path: Path) -> None:
    lower = local_files(tmp_path / "lower", {"real.md": "x"})
    (tmp_path / "lower" / "link.md").symlink_to("real.md")
    files = OverlayFiles(EphemeralFiles(), lower)
    files.write("link.md", b"mine", expect=sha("x"))
    assert everything(files) == {"link.md": "mine", "real.md": "x"}
    assert files.read("link.md").target == "link.md"
