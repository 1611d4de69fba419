"""`carrel bench`: what Carrel takes of your time, with your workspace on your machine."""

import os
import platform
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from pydoc_data.topics import topics

import click
from msgspec import to_builtins

from carrel import Workspace, __version__
from carrel.backing import create, restore
from carrel.cli import output
from carrel.cli.bench_measures import Figure, Measured, Subject, measure
from carrel.cli.options import Shared, owner_only, shared_options
from carrel.cli.progress import bar

_WIDTH = 32
_IN_PROMPT = 10
_PAGE = 2_000


@click.command()
@click.option(
    "--files", type=click.IntRange(1, 100_000), help="Measure a made-up workspace of so many files instead."
)
@shared_options
def bench(shared: Shared, files: int | None) -> None:
    r"""Measure the prompt, search, and what a turn costs beside the model.

    It is done to a copy, in a temporary directory that is removed afterwards: your workspace stays as it
    is. The copy is not trusted, so that nothing of it names a model or leaves this machine.

    \b
    Examples:
      carrel -C my-agent bench
      carrel bench --files 1000
      carrel -C my-agent bench --json
    """
    owner_only(shared)
    with tempfile.TemporaryDirectory(prefix="carrel-bench-") as folder:
        root, home = Path(folder) / "workspace", Path(folder) / "home"
        environ = {**os.environ, "CARREL_HOME": str(home)}
        if files is None:
            _copy(shared, root, environ)
            subject = Subject(root, environ, shared.agent, shared.lower)
        else:
            _make(root, files, environ)
            subject = Subject(root, environ)
        measured = measure(subject, bar(shared))
    if shared.as_json:
        output.document({**to_builtins(measured), "machine": _machine()})
    else:
        _show(measured)


def _copy(shared: Shared, root: Path, environ: Mapping[str, str]) -> None:
    """Copy a workspace as it is at one moment, from wherever it lives."""
    bundle = root.with_name("copy.zip")
    create(shared.root, bundle, environ=os.environ)
    restore(bundle, root, environ=environ)


def _make(root: Path, files: int, environ: Mapping[str, str]) -> None:
    """Make a workspace of prose that every Python has: some pages in the prompt, the others as knowledge."""
    Workspace.init(root, environ=environ)
    prose = "\n".join(topics[name] for name in sorted(topics))
    (root / "knowledge").mkdir(exist_ok=True)
    for number in range(files):
        start = number * _PAGE % (len(prose) - _PAGE)
        place = root if number < _IN_PROMPT else root / "knowledge"
        text = f"# Page {number}\n\n{prose[start : start + _PAGE]}\n"
        (place / f"page-{number:05}.md").write_text(text, "utf-8")


def _machine() -> dict[str, object]:
    return {
        "carrel": __version__,
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 2),
    }


def _show(measured: Measured) -> None:
    size, machine = measured.size, _machine()
    found = f"vectors by {size.embedder}" if size.embedder else "words only"
    output.line(
        f"{size.files:,} files · {size.chunks:,} chunks, {found} · {size.tokens:,} tokens in the prompt"
    )
    told = "carrel {carrel} · Python {python} · {system} · {cores} cores, load {load}"
    output.line(output.styled(told.format(**machine), dim=True))
    output.line(output.styled(f"\n{'milliseconds':38}{'median':>9}{'worst':>9}", dim=True))
    for group, figures in groupby(measured.figures, key=lambda each: each.group):
        output.line(output.styled(group, bold=True))
        for text in _rows(list(figures)):
            output.line(text)


def _rows(figures: Sequence[Figure]) -> Iterator[str]:
    most = max(each.median for each in figures) or 1
    for each in figures:
        drawn = output.styled("█" * max(1, round(_WIDTH * each.median / most)), fg="cyan")
        worst = f"{_shown(each.worst):>9}" if each.rounds > 1 else " " * 9
        yield f"  {each.name:36}{_shown(each.median):>9}{worst}  {drawn}"


def _shown(milliseconds: float) -> str:
    return f"{milliseconds:,.0f}" if milliseconds >= 100 else f"{milliseconds:.3g}"  # noqa: PLR2004 - three digits
