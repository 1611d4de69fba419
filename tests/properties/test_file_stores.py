"""Any sequence of operations leaves a store in the state that a dict would be in."""

import hashlib
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from carrel.files import FileStore, Stale, Unreadable, walk
from carrel.files.local import LocalFiles
from carrel.files.overlay import OverlayFiles
from carrel.files.tenant import TenantFiles
from carrel.testing import EphemeralFiles, VolatileDisk

PATHS = ["a.md", "b.md", "d/a.md", "d/e/f.md", "d/e/g.md", "日記.md"]
paths = st.sampled_from(PATHS)
contents = st.binary(max_size=200)


class StoreMachine(RuleBasedStateMachine):
    """Local files and ephemeral ones, side by side with a model of both."""

    def __init__(self) -> None:
        super().__init__()
        self.home = tempfile.TemporaryDirectory()
        root = Path(self.home.name)
        # The machine is about states, not about durability: a disk that does not wait is enough.
        roots = [root / name for name in ("alone", "upper", "lower", "shared")]
        for folder in roots:
            folder.mkdir()
        alone, upper, lower, shared = (LocalFiles(folder, disk=VolatileDisk(folder)) for folder in roots)
        self.stores: list[FileStore] = [
            alone,
            EphemeralFiles(),
            OverlayFiles(upper, lower),
            OverlayFiles(EphemeralFiles(), EphemeralFiles()),
            TenantFiles(shared, "bob"),
            TenantFiles(EphemeralFiles(), "Bob"),
        ]
        self.model: dict[str, bytes] = {}

    def teardown(self) -> None:
        self.home.cleanup()

    def sha(self, path: str) -> str | None:
        return hashlib.sha256(self.model[path]).hexdigest() if path in self.model else None

    @rule(path=paths, data=contents)
    def write(self, path: str, data: bytes) -> None:
        for store in self.stores:
            assert store.write(path, data, expect=self.sha(path)) == hashlib.sha256(data).hexdigest()
        self.model[path] = data

    @rule(path=paths, data=contents)
    def write_with_a_wrong_expectation(self, path: str, data: bytes) -> None:
        wrong = "0" * 64 if path not in self.model else None
        for store in self.stores:
            with pytest.raises(Stale) as caught:
                store.write(path, data, expect=wrong)
            assert caught.value.found == self.sha(path)

    @rule(path=paths, line=st.binary(max_size=50))
    def append(self, path: str, line: bytes) -> None:
        for store in self.stores:
            store.append(path, line + b"\n")
        old = self.model.get(path, b"")
        self.model[path] = old + (b"\n" if old and not old.endswith(b"\n") else b"") + line + b"\n"

    @precondition(lambda self: self.model)
    @rule(data=st.data())
    def remove(self, data: st.DataObject) -> None:
        path = data.draw(st.sampled_from(sorted(self.model)))
        for store in self.stores:
            store.remove(path, expect=self.sha(path))
        del self.model[path]

    @invariant()
    def stores_hold_what_the_model_holds(self) -> None:
        for store in self.stores:
            walked = list(walk(store, skip=lambda _: False))
            assert sorted(entry.path for entry in walked) == sorted(self.model)
            assert store.stamps([entry.path for entry in walked]) == [entry.stamp for entry in walked]
            for path in PATHS:
                content = store.read(path)
                assert (content and content.data) == self.model.get(path)


TestStores = StoreMachine.TestCase
TestStores.settings = settings(max_examples=25, stateful_step_count=20, deadline=None)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    lines=st.lists(st.binary(max_size=80).map(lambda b: b.replace(b"\n", b"")), max_size=10), start=contents
)
def test_appending_keeps_all_that_was_there_and_every_line(
    tmp_path: Path, lines: list[bytes], start: bytes
) -> None:
    for store in (EphemeralFiles(), LocalFiles(tempfile.mkdtemp(dir=tmp_path), disk=VolatileDisk(tmp_path))):
        store.write("log", start, expect=None)
        for line in lines:
            store.append("log", line + b"\n")
        data = store.read("log").data
        assert data.startswith(start)
        rest = data[len(start) :]
        if lines and start and not start.endswith(b"\n"):
            assert rest.startswith(b"\n")
            rest = rest[1:]
        assert rest == b"".join(line + b"\n" for line in lines)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=contents, limit=st.integers(0, 250))
def test_a_read_returns_everything_or_refuses(tmp_path: Path, data: bytes, limit: int) -> None:
    (tmp_path / "f").write_bytes(data)
    for store in (EphemeralFiles({"f": data}), LocalFiles(tmp_path)):
        if len(data) <= limit:
            assert store.read("f", limit=limit).data == data
        else:
            with pytest.raises(Unreadable, match="larger"):
                store.read("f", limit=limit)
