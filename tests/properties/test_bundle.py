"""Whatever a workspace holds, it comes out of a bundle as it went in, and gives the same bytes again."""

import io
import os
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st

from carrel.app import Workspace
from carrel.backing import create, restore
from carrel.bundle.documents import write_json
from carrel.bundle.lines import from_line, to_line
from carrel.bundle.manifest import Table
from carrel.bundle.reading import open_bundle
from carrel.bundle.zips import write_zip
from carrel.making import approve
from carrel.opening import open_workspace
from carrel.records.facts import Fact
from carrel.records.moving import TABLES
from carrel.records.recalls import RecallEvent

NAMES = st.one_of(
    st.sampled_from(
        ["a.md", "A.md", "con", "x:y.md", "é.md", "é.md", " lead", "tail.", "~home", "100%2e.md"]
    ),
    st.text(st.characters(exclude_characters="/\0", exclude_categories=("Cs",)), min_size=1, max_size=12),
    st.binary(min_size=1, max_size=8).filter(lambda raw: not set(raw) & set(b"/\0")).map(os.fsdecode),
).filter(lambda name: name not in (".", "..") and not name.lower().startswith((".carrel", ".git")))
PATHS = st.lists(NAMES, min_size=1, max_size=3).map("/".join)
FILES = st.dictionaries(PATHS, st.binary(max_size=200), max_size=8)
TEXTS = st.text(st.characters(exclude_characters="\0"), max_size=30)
MOMENT = datetime(2026, 5, 1, 12, tzinfo=UTC)


def put(root: Path, files: dict[str, bytes]) -> dict[str, bytes]:
    """Write what this disk takes: of a file and a folder of one name only the first."""
    written: dict[str, bytes] = {}
    for path, data in files.items():
        place = root / path
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(data)
        except OSError:
            continue
        written[path] = data
    return written


def all_rows(root: Path, environ: dict[str, str]) -> dict[str, list[dict[str, object]]]:
    opened = open_workspace(root, environ=environ)
    with closing(opened.home.rows()) as kept:
        return {table: list(kept.read(table)) for table in TABLES}


@settings(max_examples=25)
@given(FILES, st.lists(st.tuples(TEXTS, TEXTS), max_size=4))
def test_a_workspace_that_was_backed_up_and_restored_is_equal(files, learnt):
    with TemporaryDirectory() as folder:
        base = Path(folder)
        environ = {"CARREL_HOME": str(base / "home")}
        Workspace.init(base / "one", environ=environ)
        written = put(base / "one", files)
        with Workspace.open(base / "one", environ=environ) as workspace:
            for number, (text, path) in enumerate(learnt):
                fact = Fact(
                    id=f"f{number}",
                    agent="main",
                    layer="project",
                    kind="note",
                    text=text,
                    key=text,
                    at=MOMENT,
                )
                workspace.records.facts.add([fact])
                event = RecallEvent(
                    agent="main", path=path, line=1, tier="journal", text=text, session="s",
                    at=MOMENT, query=text, rank=1, score=0.5, who="agent",
                )  # fmt: skip
                workspace.records.recalls.add([event])
        create(base / "one", base / "one.zip", environ=environ)
        restore(base / "one.zip", base / "two", environ=environ)
        approve(base / "two", environ=environ)
        for path, data in written.items():
            assert (base / "two" / path).read_bytes() == data
        assert all_rows(base / "two", environ) == all_rows(base / "one", environ)
        create(base / "two", base / "two.zip", environ=environ)
        assert (base / "two.zip").read_bytes() == (base / "one.zip").read_bytes()
        _same_as_json(base)


def _same_as_json(base: Path) -> None:
    """A bundle is the same in either form."""
    with closing(open_bundle(base / "one.zip")) as zipped:
        with (base / "one.json").open("wb") as stream:
            write_json(zipped, stream)
        with closing(open_bundle(base / "one.json")) as document:
            again = io.BytesIO()
            write_zip(document, again)
    assert again.getvalue() == (base / "one.zip").read_bytes()


VALUES = st.one_of(
    st.none(), st.integers(-(2**63), 2**63 - 1), st.floats(allow_nan=False, allow_infinity=False), st.text()
)
ROWS = st.dictionaries(st.from_regex(r"[a-z_]{1,10}", fullmatch=True), VALUES, max_size=6)


@given(ROWS, st.binary(max_size=50), st.text(st.characters(categories=("Cs", "L"))))
def test_a_row_comes_back_as_it_was_with_its_bytes_and_halves_of_characters(row, blob, odd):
    table = Table(folder="", table="changes", rows=1, size=0, sha256="", entry="records/changes.jsonl")
    whole = row | {"old": blob, "new": b"", "text": odd}
    line = to_line(whole)
    assert from_line(line.removesuffix(b"\n"), table) == whole
    assert line.count(b"\n") == 1
