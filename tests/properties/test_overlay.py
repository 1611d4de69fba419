"""Two layers behave like two dicts, of which the lower is never changed by the overlay."""

import hashlib
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from carrel.files import FileStore, Stale, Stamp, walk
from carrel.files.local import LocalFiles
from carrel.files.overlay import OverlayFiles, RemainsBelow
from carrel.testing import EphemeralFiles, VolatileDisk

PATHS = ["a.md", "b.md", "d/a.md", "d/e/f.md", "d/e/g.md", "日記.md"]
paths = st.sampled_from(PATHS)
contents = st.sampled_from([b"", b" \n", b"\xef\xbb\xbf\n", "\u3000".encode()]) | st.binary(max_size=100)
trees = st.dictionaries(paths, contents)
modes = st.sampled_from(["absent", "empty"])


def sha(data: bytes | None) -> str | None:
    return None if data is None else hashlib.sha256(data).hexdigest()


def is_blank(data: bytes) -> bool:
    try:
        return not data.decode("utf-8-sig").strip()
    except UnicodeDecodeError:
        return False


def appended(old: bytes, line: bytes) -> bytes:
    return old + (b"\n" if old and not old.endswith(b"\n") else b"") + line


def contents_of(store: FileStore) -> dict[str, bytes]:
    return {entry.path: store.read(entry.path).data for entry in walk(store, skip=lambda _: False)}


class OverlayMachine(RuleBasedStateMachine):
    """Overlays of local and of ephemeral layers, whose owners change them too, beside a model of both."""

    def __init__(self) -> None:
        super().__init__()
        self.home = tempfile.TemporaryDirectory()
        roots = [Path(self.home.name) / name for name in ("upper", "lower")]
        for root in roots:
            root.mkdir()
        local = [LocalFiles(root, disk=VolatileDisk(root)) for root in roots]
        self.layers: list[list[FileStore]] = [local, [EphemeralFiles(), EphemeralFiles()]]
        self.model: list[dict[str, bytes]] = [{}, {}]
        self.last: list[dict[str, tuple[Stamp | None, bytes | None]]] = [{}, {}]
        self.is_empty = False

    @initialize(mode=modes)
    def choose(self, mode: str) -> None:
        self.is_empty = mode == "empty"
        self.stores = [OverlayFiles(*layers, fallthrough=mode) for layers in self.layers]

    def teardown(self) -> None:
        self.home.cleanup()

    def seen(self, path: str) -> bytes | None:
        above, below = (layer.get(path) for layer in self.model)
        falls = above is None or (self.is_empty and is_blank(above))
        return below if falls and below is not None else above

    @rule(path=paths, data=contents)
    def write(self, path: str, data: bytes) -> None:
        for store in self.stores:
            assert store.write(path, data, expect=sha(self.seen(path))) == sha(data)
        self.model[0][path] = data

    @rule(path=paths, data=contents)
    def write_with_a_wrong_expectation(self, path: str, data: bytes) -> None:
        wrong = "0" * 64 if self.seen(path) is None else None
        for store in self.stores:
            with pytest.raises(Stale) as caught:
                store.write(path, data, expect=wrong)
            assert caught.value.found == sha(self.seen(path))

    @rule(path=paths, line=st.binary(max_size=50))
    def append(self, path: str, line: bytes) -> None:
        for store in self.stores:
            store.append(path, line + b"\n")
        self.model[0][path] = appended(self.seen(path) or b"", line + b"\n")

    @rule(path=paths)
    def remove(self, path: str) -> None:
        refusal = RemainsBelow if path in self.model[1] else None if path in self.model[0] else Stale
        for store in self.stores:
            if refusal is None:
                store.remove(path, expect=sha(self.seen(path)))
            else:
                with pytest.raises(refusal):
                    store.remove(path, expect=sha(self.seen(path)) or "0" * 64)
        if refusal is None:
            del self.model[0][path]

    @rule(layer=st.sampled_from([0, 1]), path=paths, data=contents)
    def owner_writes(self, layer: int, path: str, data: bytes) -> None:
        for layers in self.layers:
            layers[layer].write(path, data, expect=sha(self.model[layer].get(path)))
        self.model[layer][path] = data

    @rule(layer=st.sampled_from([0, 1]), path=paths)
    def owner_removes(self, layer: int, path: str) -> None:
        old = self.model[layer].pop(path, None)
        if old is not None:
            for layers in self.layers:
                layers[layer].remove(path, expect=sha(old))

    @invariant()
    def each_layer_holds_what_was_put_there(self) -> None:
        for layers in self.layers:
            assert [contents_of(layer) for layer in layers] == self.model

    @invariant()
    def the_overlay_shows_the_union(self) -> None:
        union = sorted({*self.model[0], *self.model[1]})
        for store in self.stores:
            walked = list(walk(store, skip=lambda _: False))
            assert sorted(entry.path for entry in walked) == union
            assert store.stamps([entry.path for entry in walked]) == [entry.stamp for entry in walked]
            assert len({entry.identity for entry in walked}) == len(union)
            for entry in walked:
                content = store.read(entry.path)
                assert content.data == self.seen(entry.path)
                assert (content.identity, len(content.data)) == (entry.identity, entry.size)

    @invariant()
    def a_stamp_changes_with_what_is_read(self) -> None:
        for store, last in zip(self.stores, self.last, strict=True):
            for path, stamp in zip(PATHS, store.stamps(PATHS), strict=True):
                content = store.read(path)
                data = None if content is None else content.data
                if path in last and last[path][1] != data:
                    assert last[path][0] != stamp
                last[path] = (stamp, data)


TestOverlay = OverlayMachine.TestCase
TestOverlay.settings = settings(max_examples=25, stateful_step_count=20, deadline=None)


@settings(max_examples=100, deadline=None)
@given(upper=trees, lower=trees, mode=modes)
def test_every_folder_lists_the_sorted_union_of_its_layers(
    upper: dict[str, bytes], lower: dict[str, bytes], mode: str
) -> None:
    above, below = EphemeralFiles(upper), EphemeralFiles(lower)
    files = OverlayFiles(above, below, fallthrough=mode)
    for folder in ("", "d", "d/e", "absent"):
        union = {entry.path for layer in (above, below) for entry in layer.list(folder)}
        assert [entry.path for entry in files.list(folder)] == sorted(union)


@settings(max_examples=100, deadline=None)
@given(upper=contents, lower=contents)
def test_an_emptied_upper_file_shows_the_lower_ones_text_only_where_that_is_set(
    upper: bytes, lower: bytes
) -> None:
    layers = EphemeralFiles({"a": upper}), EphemeralFiles({"a": lower})
    assert OverlayFiles(*layers).read("a").data == upper
    seen = OverlayFiles(*layers, fallthrough="empty").read("a").data
    assert seen == (lower if is_blank(upper) else upper)
