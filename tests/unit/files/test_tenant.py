"""Tenants in one store: no id, path, link or error leads from one to another."""

import errno
import os
import time
import unicodedata
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from threading import Event, Thread

import pytest

from carrel.errors import CarrelError, Refused, Unavailable
from carrel.files import FileStore, Stale, Unreadable, walk
from carrel.files.disk import DiskFailed
from carrel.files.local import LocalFiles
from carrel.files.overlay import OverlayFiles
from carrel.files.paths import fold, new_name
from carrel.files.resolve import RootMissing
from carrel.files.tenant import TENANTS, BadTenant, TenantFiles, tenant_folder
from carrel.testing import EphemeralFiles, FaultyDisk, VolatileDisk

SECRET = b"alice's secret"
TWINS = [
    "bob", "Bob", "BOB", "bob.", "b.ob", "bob ~", "=62ob", "=42ob", "../bob", "..", ".", ".bob", "/bob", "bob/x", "bob\\x",
    "memory", "AGENTS.md", "con", "CON", "con.txt", "nul", TENANTS, "-", "_", "😀", "bob@example.com", "auth0|1", "%2e%2e",
    unicodedata.normalize("NFC", "zoé"), unicodedata.normalize("NFD", "zoé"), "straße", "STRASSE", "strasse", "İ", "i̇",
    ".carrel-tmp-1", "~", "C:", "日本", "a" * 128, "a" * 129, "a" * 190,
]  # fmt: skip


@pytest.fixture(params=["ephemeral", "local", "overlay"])
def shared(request: pytest.FixtureRequest, tmp_path: Path) -> FileStore:
    """A store with ordinary files, before any tenant."""
    ordinary = {"MEMORY.md": "ordinary", "memory/x.md": "ordinary", "bob/x.md": "ordinary"}
    for name, text in ordinary.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    match request.param:
        case "ephemeral":
            return EphemeralFiles(ordinary)
        case "local":
            return LocalFiles(tmp_path)
        case _:
            return OverlayFiles(LocalFiles(tmp_path), EphemeralFiles({"SOUL.md": "ordinary"}))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A directory in which alice has a secret, and bob's folder exists."""
    store = LocalFiles(tmp_path)
    TenantFiles(store, "alice").write("MEMORY.md", SECRET, expect=None)
    TenantFiles(store, "alice").write("memory/today.md", SECRET, expect=None)
    TenantFiles(store, "bob").write("own.md", b"bob", expect=None)
    return tmp_path


def folder(root: Path, tenant: str) -> Path:
    return root / TENANTS / tenant


def sha(data: bytes) -> str:
    return sha256(data).hexdigest()


def paths_in(store: FileStore) -> list[str]:
    return [entry.path for entry in walk(store, skip=lambda _: False)]


@pytest.mark.parametrize(
    "tenant",
    ["", " ", "\n", "bob ", " bob", "b\nob", "b\0b", "\ud800", "a" * 300, "😀" * 60, "b\u202eob", None],
)
def test_a_missing_or_impossible_id_is_an_error_and_never_a_default(tenant: str) -> None:
    store = EphemeralFiles()
    with pytest.raises(BadTenant) as caught:
        TenantFiles(store, tenant)
    assert caught.value.hint
    assert ("missing" in caught.value.message) == (not tenant)
    assert store.list() == []


def test_ids_that_look_alike_are_still_tenants_apart(shared: FileStore) -> None:
    ordinary = {entry.path for entry in walk(shared, skip=lambda _: False)}
    for tenant in TWINS:
        files = TenantFiles(shared, tenant)
        assert paths_in(files) == []
        files.write("MEMORY.md", tenant.encode(), expect=None)
    for tenant in TWINS:
        files = TenantFiles(shared, tenant)
        assert files.read("MEMORY.md").data == tenant.encode()
        assert paths_in(files) == ["MEMORY.md"]
    made = {entry.path for entry in walk(shared, skip=lambda _: False)} - ordinary
    assert len(made) == len(TWINS)
    assert {path.split("/")[0] for path in made} == {TENANTS}
    assert shared.read("MEMORY.md").data == shared.read("bob/x.md").data == b"ordinary"


def test_the_folders_of_all_ids_are_portable_and_no_system_takes_two_for_one() -> None:
    folders = [tenant_folder(tenant) for tenant in TWINS]
    assert len({fold(name) for name in folders}) == len(TWINS)
    for name in folders:
        new_name(name, name)


def test_a_plain_id_is_its_own_folder_and_others_can_be_told() -> None:
    assert tenant_folder("acme-2.eu_west") == "acme-2.eu_west"
    assert tenant_folder("Bob") == "=42ob"
    assert tenant_folder("../bob") == "=2e.=2fbob"
    assert tenant_folder("bob@example.com") == "=62ob=40example.com"


def test_reading_leaves_no_trace_of_a_tenant(shared: FileStore) -> None:
    files = TenantFiles(shared, "bob")
    before = paths_in(shared)
    assert files.read("a.md") is None
    assert files.list() == files.list("d") == []
    assert files.stamps(["a.md", "", "d/a.md"]) == [None, None, None]
    with pytest.raises(Stale):
        files.write("a.md", b"", expect=sha(b""))
    with pytest.raises(Stale):
        files.remove("a.md", expect=sha(b""))
    with pytest.raises(CarrelError):
        files.write("CON", b"", expect=None)
    assert paths_in(shared) == before
    assert TENANTS not in {entry.path for entry in shared.list()}


def test_no_word_of_the_prefix_reaches_the_caller(shared: FileStore) -> None:
    files = TenantFiles(shared, "Bob")
    files.write("d/a.md", b"x", expect=None)
    files.write("file", b"x", expect=None)
    told = [repr(files.read("d/a.md")), repr(files.list()), repr(files.list("d")), repr(paths_in(files))]
    for call in (
        lambda: files.read("d"),
        lambda: files.read("file/x"),
        lambda: files.read("d/a.md", limit=0),
        lambda: files.list("file"),
        lambda: files.list("file/x"),
        lambda: files.write("d/a.md", b"", expect=None),
        lambda: files.write("D/a.md", b"", expect=None),
        lambda: files.write("CON", b"", expect=None),
        lambda: files.write("x" * 300, b"", expect=None),
        lambda: files.write("d/" * 2100 + "x", b"", expect=None),
        lambda: files.append("d", b"\n"),
        lambda: files.remove("d/a.md", expect=sha(b"y")),
        lambda: files.remove("gone", expect=sha(b"y")),
        lambda: files.read("../x"),
        lambda: files.stamps(["/x"]),
    ):
        with pytest.raises(CarrelError) as caught:
            call()
        told += [str(caught.value), repr(vars(caught.value)), repr(caught.value)]
    for text in told:
        assert "tenants" not in text
        assert "=42ob" not in text
        assert "Bob" not in text


def test_a_path_that_spells_the_prefix_is_the_tenants_own(shared: FileStore) -> None:
    files = TenantFiles(shared, "bob")
    path = f"{TENANTS}/bob/a.md"
    files.write(path, b"x", expect=None)
    assert paths_in(files) == [path]
    assert files.read(path).target == path
    with pytest.raises(Stale) as caught:
        files.write(path, b"", expect=None)
    assert caught.value.path == path
    assert caught.value.message.startswith(path)


LINKS: dict[str, Callable[[Path], str]] = {
    "relative": lambda _: "../alice/MEMORY.md",
    "absolute": lambda root: f"{folder(root, 'alice')}/MEMORY.md",
    "through the top": lambda _: "../../.carrel-tenants/alice/MEMORY.md",
    "through bob": lambda root: f"{folder(root, 'bob')}/../alice/MEMORY.md",
    "to an ordinary file": lambda _: "../../shared.md",
    "through a link": lambda _: "hop/MEMORY.md",
}


@pytest.mark.parametrize("style", sorted(LINKS))
def test_a_link_into_another_tenants_folder_is_not_followed_by_any_verb(root: Path, style: str) -> None:
    (root / "shared.md").write_bytes(SECRET)
    (folder(root, "bob") / "hop").symlink_to("../alice")
    (folder(root, "bob") / "MEMORY.md").symlink_to(LINKS[style](root))
    for store in (LocalFiles(root), OverlayFiles(LocalFiles(root), EphemeralFiles())):
        files = TenantFiles(store, "bob")
        with pytest.raises(Unreadable) as caught:
            files.read("MEMORY.md")
        assert caught.value.reason == "link_outside"
        assert files.stamps(["MEMORY.md", "hop", "hop/MEMORY.md"]) == [None, None, None]
        assert {entry.path: entry.kind for entry in walk(files, skip=lambda _: False)} == {
            "MEMORY.md": "link",
            "hop": "link",
            "own.md": "file",
        }
        with pytest.raises(Unreadable):
            files.list("hop")
        for call in (
            lambda: files.write("MEMORY.md", b"x", expect=sha(SECRET)),  # noqa: B023
            lambda: files.append("hop/MEMORY.md", b"x\n"),  # noqa: B023
            lambda: files.append("hop/new.md", b"x\n"),  # noqa: B023
            lambda: files.remove("MEMORY.md", expect=sha(SECRET)),  # noqa: B023
        ):
            with pytest.raises((Refused, Unreadable)):
                call()
    alice = TenantFiles(LocalFiles(root), "alice")
    assert alice.read("MEMORY.md").data == SECRET
    assert paths_in(alice) == ["MEMORY.md", "memory/today.md"]


def test_a_link_within_a_tenants_folder_is_followed(root: Path) -> None:
    home = folder(root, "bob")
    (home / "link.md").symlink_to("own.md")
    (home / "absolute.md").symlink_to(home / "own.md")
    files = TenantFiles(LocalFiles(root), "bob")
    for name in ("link.md", "absolute.md"):
        assert files.read(name).target == "own.md"
        assert files.read(name).identity == files.read("own.md").identity
    assert {entry.target for entry in files.list()} == {"own.md"}


@pytest.mark.parametrize("target", ["alice", "../..", "/etc", "nowhere"])
def test_a_link_in_the_place_of_a_tenants_folder_is_not_followed_either(root: Path, target: str) -> None:
    folder(root, "eve").symlink_to(target)
    files = TenantFiles(LocalFiles(root), "eve")
    for call in (lambda: files.read("MEMORY.md"), files.list):
        with pytest.raises(Unreadable) as caught:
            call()
        assert caught.value.reason == "link_outside"
    assert files.stamps(["MEMORY.md", ""]) == [None, None]
    for call in (
        lambda: files.write("MEMORY.md", b"", expect=sha(SECRET)),
        lambda: files.append("new.md", b"x\n"),
        lambda: files.remove("MEMORY.md", expect=sha(SECRET)),
    ):
        with pytest.raises(Refused):
            call()
    assert TenantFiles(LocalFiles(root), "alice").read("MEMORY.md").data == SECRET


def test_a_file_in_the_place_of_a_folder_is_reported(tmp_path: Path) -> None:
    (tmp_path / TENANTS).write_text("")
    for store in (
        LocalFiles(tmp_path),
        EphemeralFiles({TENANTS: ""}),
        EphemeralFiles({f"{TENANTS}/bob": ""}),
    ):
        files = TenantFiles(store, "bob")
        for call in (files.list, lambda: files.read("a"), lambda: files.write("a", b"", expect=None)):  # noqa: B023
            with pytest.raises(Unreadable) as caught:
                call()
            assert caught.value.reason == "not_directory"
            assert TENANTS not in str(vars(caught.value))
        assert files.stamps(["a"]) == [None]


def test_a_link_swapped_in_at_any_moment_leads_to_no_other_tenant(root: Path) -> None:
    home, away = folder(root, "bob"), folder(root, "away")
    (home / "MEMORY.md").write_text("bob")
    stop = Event()

    def swap() -> None:
        while not stop.is_set():
            home.rename(away)
            home.symlink_to("alice")
            home.unlink()
            away.rename(home)

    thread = Thread(target=swap)
    thread.start()
    files, seen = TenantFiles(LocalFiles(root), "bob"), set[bytes]()
    deadline = time.monotonic() + 0.5
    try:
        while time.monotonic() < deadline or b"bob" not in seen:
            assert thread.is_alive()
            try:
                content = files.read("MEMORY.md")
                seen.add(content.data if content else b"")
                seen.update(entry.path.encode() for entry in files.list())
            except CarrelError:
                seen.add(b"refused")
    finally:
        stop.set()
        thread.join()
    assert b"bob" in seen
    assert not seen & {SECRET, b"memory"}


class Following(EphemeralFiles):
    """A store of no known kind that leads a path of one tenant to a file of another."""

    def read(self, path: str, *, limit: int = 100) -> object:
        return super().read(path.replace("/bob/link.md", "/alice/MEMORY.md"), limit=limit)


def test_a_store_that_turns_out_to_follow_links_is_not_believed() -> None:
    store = Following()
    TenantFiles(store, "alice").write("MEMORY.md", SECRET, expect=None)
    with pytest.raises(Unreadable) as caught:
        TenantFiles(store, "bob").read("link.md")
    assert (caught.value.path, caught.value.reason) == ("link.md", "link_outside")


def test_a_tenants_tenants_are_apart_too(root: Path) -> None:
    for store in (LocalFiles(root), EphemeralFiles(), OverlayFiles(LocalFiles(root), EphemeralFiles())):
        outer = TenantFiles(store, "outer")
        one, two = TenantFiles(outer, "one"), TenantFiles(outer, "two")
        if not one.list():
            one.write("a.md", SECRET, expect=None)
            two.write("b.md", b"", expect=None)
        assert (paths_in(one), paths_in(two)) == (["a.md"], ["b.md"])
    inner = folder(root, "outer") / TENANTS
    (inner / "two" / "link.md").symlink_to("../one/a.md")
    assert TenantFiles(TenantFiles(LocalFiles(root), "outer"), "two").stamps(["link.md"]) == [None]


def test_a_shared_store_that_is_gone_is_not_an_empty_tenant(tmp_path: Path) -> None:
    (tmp_path / "store").mkdir()
    files = TenantFiles(LocalFiles(tmp_path / "store"), "bob")
    (tmp_path / "store").rmdir()
    for call in (files.list, lambda: files.read("a"), lambda: files.write("a", b"", expect=None)):
        with pytest.raises(RootMissing):
            call()


@pytest.mark.parametrize("made", ["nothing", "the top folder", "both folders"])
def test_a_first_file_survives_a_power_cut_with_the_folders_it_is_in(tmp_path: Path, made: str) -> None:
    root = tmp_path / "store"
    root.mkdir()
    disk = VolatileDisk(root)
    # Whoever made these died before they were durable.
    if made != "nothing":
        (root / TENANTS).mkdir()
    if made == "both folders":
        disk.fsync(os.open(root, os.O_RDONLY))
        (root / TENANTS / "bob").mkdir()
    TenantFiles(LocalFiles(root, disk=disk), "bob").append("log", b"kept\n")
    disk.power_cut(tmp_path / "after")
    assert (tmp_path / "after" / TENANTS / "bob" / "log").read_text() == "kept\n"


def failure(files: FileStore, path: str) -> Unavailable | None:
    try:
        files.write(path, b"x", expect=None)
    except Unavailable as error:
        return error
    return None


def test_a_first_write_that_fails_anywhere_is_typed_and_can_be_repeated(tmp_path: Path) -> None:
    for failing in range(1, 100):
        root = tmp_path / str(failing)
        root.mkdir()
        disk = FaultyDisk(fail_at=failing, error=errno.EIO)
        files = TenantFiles(LocalFiles(root, disk=disk), "bob")
        failures = [error for error in (failure(files, "d/a.md"),) if error]
        assert len(failures) == disk.fired
        assert all(isinstance(error, DiskFailed) and TENANTS not in str(vars(error)) for error in failures)
        if files.read("d/a.md") is None:
            files.write("d/a.md", b"x", expect=None)
        assert files.read("d/a.md").data == b"x"
        if not disk.fired:
            break
    else:
        pytest.fail("the sweep never reached its end")
    assert failing > 10
