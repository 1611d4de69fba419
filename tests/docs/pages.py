"""Pages as a test reads them: fenced blocks in their order, and what stands in comments for it.

    <!-- run: carrel init . -->           done before what follows, and not shown
    <!-- not run: needs a model key -->   the next block is only looked at
    <!-- installed: examples/extension -->   a package of the repository, as if its wheel had been installed
    ```console                            lines after `$ ` are run; what stands below one is what it prints
    ```sh                                 a script, run as it stands
    ```python                             run in one namespace for the whole page; a ```text block right after it
                                          is what it prints; one that holds tests is run by pytest

In what is printed `…` stands for anything within a line, and alone on a line for any number of lines.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
RUNNABLE = ("console", "python", "sh")

_PIECE = re.compile(
    r"^<!-- (?P<word>run|not run|installed): (?P<told>.*?) -->$|^(?P<fence>`{3,})(?P<kind>[^\n`]*)\n(?P<text>.*?)^(?P=fence)$",
    re.MULTILINE | re.DOTALL,
)


class Step(NamedTuple):
    """One thing to do: a command, a script or Python, with what it prints where the page shows that."""

    line: int
    kind: str
    text: str
    printed: str | None = None


def steps(page: Path) -> Iterator[Step]:
    """Everything that a page does, in its order."""
    text = page.read_text("utf-8")
    pieces = list(_PIECE.finditer(text))
    left_alone = False
    for number, piece in enumerate(pieces):
        line = text.count("\n", 0, piece.start()) + 1
        if piece["word"] == "run":
            yield Step(line, "sh", piece["told"])
        elif piece["word"] == "installed":
            yield Step(line, "installed", piece["told"])
        elif piece["word"]:
            left_alone = True
        elif not left_alone and piece["kind"] in RUNNABLE:
            yield from _parted(line, piece, _printed(text, piece, pieces[number + 1 : number + 2]))
        left_alone = left_alone and bool(piece["word"])


def only_looked_at(page: Path) -> list[str]:
    """Why each block that is not run is not."""
    return [piece["told"] for piece in _PIECE.finditer(page.read_text("utf-8")) if piece["word"] == "not run"]


def _parted(line: int, piece: re.Match[str], printed: str | None) -> Iterator[Step]:
    if piece["kind"] != "console":
        yield Step(line, piece["kind"], piece["text"], printed)
        return
    for one in re.finditer(
        r"^\$ (?P<command>(?:.*\\\n)*.*)\n(?P<printed>(?:(?!\$ ).*\n)*)", piece["text"], re.MULTILINE
    ):
        below = line + 1 + piece["text"].count("\n", 0, one.start())
        yield Step(below, "sh", one["command"], one["printed"] if one["printed"].strip() else None)


def _printed(text: str, piece: re.Match[str], following: list[re.Match[str]]) -> str | None:
    for after in following:
        if after["kind"] == "text" and not text[piece.end() : after.start()].strip():
            return after["text"]
    return None


def matches(printed: str, real: str) -> bool:
    """Whether a page shows what really was printed; white space at the ends of lines does not count."""
    return _fits(_lines(printed), _lines(real))


def _lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.strip("\n").splitlines()]


def _fits(shown: list[str], real: list[str]) -> bool:
    if not shown:
        return not real
    if shown[0] == "…":
        return any(_fits(shown[1:], real[skipped:]) for skipped in range(len(real) + 1))
    pattern = ".*".join(re.escape(part) for part in shown[0].split("…"))
    return bool(real) and re.fullmatch(pattern, real[0]) is not None and _fits(shown[1:], real[1:])
