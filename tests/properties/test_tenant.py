"""Any two tenants of one store behave like two dicts that know nothing of each other."""

import hashlib
import re
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from carrel.errors import CarrelError
from carrel.files import FileStore, Stale, walk
from carrel.files.local import LocalFiles
from carrel.files.overlay import OverlayFiles
from carrel.files.paths import fold, new_name
from carrel.files.tenant import FOLDER_BYTES, TENANTS, BadTenant, TenantFiles, tenant_folder
from carrel.testing import EphemeralFiles, VolatileDisk

PATHS = ["a.md", "d/a.md", "d/e.md", "bob/a.md", f"{TENANTS}/bob/a.md"]
paths = st.sampled_from(PATHS)
contents = st.binary(max_size=50)
hostile = st.sampled_from(
    ["bob", "Bob", "../bob", "..", ".", "/", "memory", "a.md", "d", "CON", "con", TENANTS, "=62ob", "é", "e\u0301", "😀", "ﬁ", "fi"]
)  # fmt: skip
ids = hostile | st.text(max_size=40)


def is_id(text: str) -> bool:
    try:
        tenant_folder(text)
    except BadTenant:
        return False
    return True


def sha(data: bytes | None) -> str | None:
    return None if data is None else hashlib.sha256(data).hexdigest()


def decoded(folder: str) -> str:
    spelled = re.sub("=(..)", lambda found: chr(int(found[1], 16)), folder)
    return spelled.encode("latin-1").decode()


def outcome(call: Callable[[str], object], path: str) -> str:
    """Everything that a call lets its caller know."""
    try:
        return repr(call(path))
    except CarrelError as error:
        return repr((str(error), vars(error)))


class TenantMachine(RuleBasedStateMachine):
    """Two tenants of a local, an ephemeral and an overlaid store, and the store's own files."""

    def __init__(self) -> None:
        super().__init__()
        self.home = tempfile.TemporaryDirectory()
        roots = [Path(self.home.name) / name for name in ("shared", "upper", "lower")]
        for root in roots:
            root.mkdir()
        local, upper, lower = (LocalFiles(root, disk=VolatileDisk(root)) for root in roots)
        self.shared: list[FileStore] = [local, EphemeralFiles(), OverlayFiles(upper, lower)]
        self.model: list[dict[str, bytes]] = [{}, {}]

    @initialize(two=st.lists(ids.filter(is_id), min_size=2, max_size=2, unique=True))
    def choose(self, two: list[str]) -> None:
        self.tenants = [[TenantFiles(store, tenant) for store in self.shared] for tenant in two]
        for store in self.shared:
            store.write("a.md", b"ordinary", expect=None)
            store.write("bob/a.md", b"ordinary", expect=None)

    def teardown(self) -> None:
        self.home.cleanup()

    @rule(who=st.sampled_from([0, 1]), path=paths, data=contents)
    def write(self, who: int, path: str, data: bytes) -> None:
        for files in self.tenants[who]:
            assert files.write(path, data, expect=sha(self.model[who].get(path))) == sha(data)
        self.model[who][path] = data

    @rule(who=st.sampled_from([0, 1]), path=paths, data=contents)
    def write_with_a_wrong_expectation(self, who: int, path: str, data: bytes) -> None:
        wrong = None if path in self.model[who] else "0" * 64
        for files in self.tenants[who]:
            with pytest.raises(Stale) as caught:
                files.write(path, data, expect=wrong)
            assert (caught.value.path, caught.value.found) == (path, sha(self.model[who].get(path)))

    @rule(who=st.sampled_from([0, 1]), path=paths, line=contents)
    def append(self, who: int, path: str, line: bytes) -> None:
        for files in self.tenants[who]:
            files.append(path, line + b"\n")
        old = self.model[who].get(path, b"")
        self.model[who][path] = old + (b"\n" if old and not old.endswith(b"\n") else b"") + line + b"\n"

    @rule(who=st.sampled_from([0, 1]), path=paths)
    def remove(self, who: int, path: str) -> None:
        old = self.model[who].pop(path, None)
        for files in self.tenants[who]:
            if old is not None:
                files.remove(path, expect=sha(old))
            else:
                with pytest.raises(Stale):
                    files.remove(path, expect="0" * 64)

    @invariant()
    def each_tenant_sees_its_own_files_and_no_others(self) -> None:
        for stores, model in zip(self.tenants, self.model, strict=True):
            for files in stores:
                walked = list(walk(files, skip=lambda _: False))
                assert sorted(entry.path for entry in walked) == sorted(model)
                assert files.stamps([entry.path for entry in walked]) == [entry.stamp for entry in walked]
                assert all(entry.target == entry.path for entry in walked)
                for path in PATHS:
                    content = files.read(path)
                    assert (content and content.data) == model.get(path)

    @invariant()
    def the_stores_own_files_stay_as_they_were(self) -> None:
        for store in self.shared:
            assert store.read("a.md").data == store.read("bob/a.md").data == b"ordinary"
            assert {entry.path for entry in store.list()} <= {"a.md", "bob", TENANTS}


TestTenants = TenantMachine.TestCase
TestTenants.settings = settings(max_examples=20, stateful_step_count=20, deadline=None)


@settings(max_examples=500)
@given(tenant=ids | st.text(min_size=100, max_size=400))
def test_every_text_is_refused_or_becomes_a_folder_that_names_it_alone(tenant: str) -> None:
    assume(is_id(tenant))
    folder = tenant_folder(tenant)
    new_name(folder, folder)
    assert "/" not in folder
    assert fold(folder) == folder  # so that no system takes two for one
    assert len(folder.encode()) <= FOLDER_BYTES
    assert decoded(folder) == tenant  # so that no two ids share one


@settings(max_examples=200, deadline=None)
@given(tenant=ids.filter(is_id), path=st.text(max_size=60))
def test_no_path_of_one_tenant_reaches_the_file_of_another_or_names_its_folder(
    tenant: str, path: str
) -> None:
    assume(tenant != "alice")
    store = EphemeralFiles({"secret.md": b"canary"})
    TenantFiles(store, "alice").write("secret.md", b"canary", expect=None)
    files, folder = TenantFiles(store, tenant), f"{TENANTS}/{tenant_folder(tenant)}"
    for tried in (path, f"../{path}", f"../alice/{path}", f"{path}/../../alice/secret.md", f"../../{path}"):
        for call in (files.read, files.list, lambda where: files.append(where, b"x\n")):
            told = outcome(call, tried)
            assert "canary" not in told
            assert folder not in told.replace(tried, "")
    assert TenantFiles(store, "alice").read("secret.md").data == b"canary"
