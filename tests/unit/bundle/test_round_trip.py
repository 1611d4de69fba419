"""Whatever a workspace holds, an export of it comes back as an equal workspace."""

import os
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from carrel.app import Workspace
from carrel.backing import restore
from carrel.exporting import export
from carrel.workspace.ignore import ignore_rules

NAMES = st.text(st.characters(exclude_characters="/\x00"), min_size=1, max_size=12).filter(
    lambda name: name not in (".", "..") and not name.startswith(".") and len(os.fsencode(name)) < 100
)
"""What a person may call a file, and some that only a program would."""

KEPT_OUT = ignore_rules(None)
"""What looks like a credential is in no export."""

PATHS = st.builds(
    lambda folder, name: f"{folder}{name}", st.sampled_from(("", "knowledge/", "memory/")), NAMES
).filter(lambda path: not KEPT_OUT(path))
BYTES = st.binary(max_size=200) | st.text(max_size=100).map(
    lambda text: text.encode("utf-8", "surrogatepass")
)


def put(root: Path, files: dict[str, bytes]) -> None:
    """Write what the disk takes: names that it takes for one are one file."""
    for path, data in files.items():
        place = root / path
        if not place.exists():
            place.write_bytes(data)


def tree(root: Path) -> dict[bytes, bytes]:
    """Every file but for those of Carrel itself."""
    return {
        os.fsencode(path.relative_to(root)): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file() and ".carrel" not in path.parts
    }


def exported(root: Path, form: str, environ: dict[str, str]) -> bytes:
    stream = BytesIO()
    export(root, form, stream, environ=environ)
    return stream.getvalue()


@pytest.mark.parametrize("form", ["zip", "json"])
@given(files=st.dictionaries(PATHS, BYTES, max_size=8), said=st.text(max_size=40))
@settings(max_examples=15, deadline=None)
def test_an_export_of_anything_comes_back_equal(form, files, said):
    with TemporaryDirectory() as name:
        here = Path(name)
        environ = {"CARREL_HOME": str(here / "home")}
        Workspace.init(here / "desk", environ=environ)
        put(here / "desk", files)
        with Workspace.open(here / "desk", environ=environ) as workspace:
            workspace.record(
                "s1", [{"role": "user", "content": said}, {"role": "assistant", "content": "Yes."}]
            )
            workspace.memory.add("The launch is on Friday.")
        bundle = here / f"desk.{form}"
        bundle.write_bytes(exported(here / "desk", form, environ))
        restore(bundle, here / "again", environ=environ)
        assert tree(here / "again") == tree(here / "desk")
        Workspace.trust(here / "again", environ=environ)
        assert exported(here / "again", form, environ) == bundle.read_bytes()
