"""`carrel files tree | cat | put | mv | rm`."""

import os
import re
import sys
from collections.abc import Iterable, Iterator
from itertools import islice

import click
from msgspec import json, to_builtins

from carrel.cli import complete, output, streams
from carrel.cli.options import Shared, shared_options
from carrel.cli.rehearsal import writes
from carrel.runtime.edit import ABSENT
from carrel.runtime.explorer import Lasts, Node, Totals
from carrel.runtime.view import NoSuchPath, exact_text

SCHEMA_VERSION = 1
_LONGEST_BATCH = 1024
_STATES = {"in": "green", "cut": "yellow", "out": "bright_black", "private": "magenta"}
_DIGEST = re.compile(r"[0-9a-f]{64}")
_THOUSAND = 1000


@click.group()
@shared_options
def files(_: Shared) -> None:
    r"""Browse the files, and change them safely.

    \b
    Examples:
      carrel files tree                       sizes, tokens, and what became of each file in the context
      carrel files tree memory --depth 1      one folder
      carrel files cat AGENTS.md              a file exactly as it is
      carrel files put notes/plan.md < plan   a new file, or a new version of it
      carrel files mv plan.md notes/          another place
      carrel files rm notes/plan.md           removed, and kept in the trash
    """


@files.command()
@click.argument("path", default="", shell_complete=complete.files)
@click.option("--depth", type=click.IntRange(min=1), metavar="N", help="So many levels of folders.")
@click.option("--all", "everything", is_flag=True, help="Open .carrel and .git too.")
@shared_options
def tree(shared: Shared, path: str, depth: int | None, *, everything: bool) -> None:
    r"""Show the files below PATH as a tree, with size, change, tokens and state in the context.

    States: in the context, cut, left out, or private (not for shared scope). A token count with ~ is an
    estimate. With --json, one node a line, as they are found; the last line holds the totals.

    \b
    Examples:
      carrel files tree
      carrel files tree knowledge --depth 2
      carrel files tree --json | head -n 100
      carrel --scope shared files tree            what a group chat may know of
    """
    totals = Totals()
    with shared.open(team=True) as workspace:
        steps = workspace.outline(path, scope=shared.scope, everything=everything, depth=depth)
        if shared.as_json:
            _stream(_json_lines(steps, totals))
        else:
            _stream(_drawn(steps, totals, path or workspace.location.rpartition("/")[2]))


@files.command()
@click.argument("path", shell_complete=complete.files)
@shared_options
def cat(shared: Shared, path: str) -> None:
    r"""Print a file exactly as it is.

    \b
    Examples:
      carrel files cat SOUL.md
      carrel files cat --json SOUL.md     with its digest, for a later `put --expect`
    """
    with shared.open(team=True) as workspace:
        content = workspace.fetch(path, scope=shared.scope)
    if content is None:
        raise NoSuchPath(path)
    text = exact_text(path, content)
    if shared.as_json:
        about = {"path": path, "size": len(content.data), "digest": content.digest}
        output.document({"schema_version": SCHEMA_VERSION, **about, "text": text})
    else:
        output.write(text)


@files.command()
@click.argument("path", shell_complete=complete.files)
@click.option("--expect", metavar="SHA256", help=f"Only over this version; `{ABSENT}`: only a new file.")
@shared_options
@writes
def put(shared: Shared, path: str, expect: str | None) -> None:
    r"""Write standard input to PATH, whole or not at all, and print its digest.

    A new file is made; an old one is replaced if nobody changes it meanwhile. With --expect it must
    have this digest, else nothing is written (exit 5).

    \b
    Examples:
      echo "Be brief." | carrel files put AGENTS.md
      carrel files put --expect 9f86d081…0a08 AGENTS.md < AGENTS.new.md
    """
    if expect is not None and not _DIGEST.fullmatch(expect := expect.lower()) and expect != ABSENT:
        raise click.UsageError(f"--expect takes a SHA-256 of 64 hexadecimal digits, or `{ABSENT}`.")
    data = streams.all_given()
    with shared.open(team=True) as workspace:
        written = workspace.put(path, data, expect=expect, scope=shared.scope)
    if shared.as_json:
        output.document({"schema_version": SCHEMA_VERSION, **to_builtins(written)})
    else:
        output.line(written.digest)


@files.command()
@click.argument("source", shell_complete=complete.files)
@click.argument("target", shell_complete=complete.files)
@shared_options
@writes
def mv(shared: Shared, source: str, target: str) -> None:
    r"""Give a file another path; what exists is never overwritten.

    \b
    Examples:
      carrel files mv plan.md notes/plan.md
      carrel files mv plan.md notes/          the same
    """
    with shared.open(team=True) as workspace:
        moved = workspace.move(source, target, scope=shared.scope)
    if shared.as_json:
        output.document({"schema_version": SCHEMA_VERSION, **to_builtins(moved)})
    else:
        output.line(f"moved {output.printable(moved.path)} to {output.printable(moved.target)}")


@files.command()
@click.argument("path", shell_complete=complete.files)
@shared_options
@writes
def rm(shared: Shared, path: str) -> None:
    r"""Remove a file, after a copy of it is safe in the trash.

    \b
    Examples:
      carrel files rm notes/plan.md
    """
    with shared.open(team=True) as workspace:
        discarded = workspace.discard(path, scope=shared.scope)
    if shared.as_json:
        output.document({"schema_version": SCHEMA_VERSION, **to_builtins(discarded)})
    else:
        output.line(f"removed {output.printable(discarded.path)}")
        output.line(f"kept as {output.printable(discarded.kept)}")


def _stream(lines: Iterator[str]) -> None:
    """Write lines as they come: the first at once, later ones in growing batches."""
    size = 1
    try:
        while batch := list(islice(lines, size)):
            output.write("".join(f"{line}\n" for line in batch))
            size = min(2 * size, _LONGEST_BATCH)
    except BrokenPipeError:
        # Whoever read has seen enough, which is no failure; what is still buffered goes nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _json_lines(steps: Iterable[tuple[Node, Lasts]], totals: Totals) -> Iterator[str]:
    for node, _ in steps:
        totals.add(node)
        yield _encoded(node)
    yield json.encode({"schema_version": SCHEMA_VERSION, "totals": totals}).decode()


def _encoded(node: Node) -> str:
    try:
        return json.encode(node).decode()
    except UnicodeEncodeError:
        # A name that is not Unicode: escaped, so that whoever reads the line can still ask for the file.
        import json as escaping  # noqa: PLC0415 - few directories have such a name

        return escaping.dumps(to_builtins(node), separators=(",", ":"))


def _drawn(steps: Iterable[tuple[Node, Lasts]], totals: Totals, title: str) -> Iterator[str]:
    """Yield the lines of the picture: figures in columns, then the tree."""
    heading = f"{'size':>9}  {'changed':16}  {'tokens':>9}  {'state':7}  {output.printable(title)}"
    yield output.styled(heading, bold=True)
    for node, lasts in steps:
        totals.add(node)
        yield f"{_figures(node)}  {output.styled(_branches(lasts), dim=True)}{_name(node)}"
    yield f"\n{_sum(totals)}"


def _sum(totals: Totals) -> str:
    counts = [f"{totals.files:,} files", f"{totals.directories:,} directories"]
    if totals.other:
        counts.append(f"{totals.other:,} others")
    tokens = f"{'' if totals.tokens_exact else '~'}{totals.tokens:,} tokens"
    return " · ".join((*counts, _size(totals.bytes), tokens))


def _figures(node: Node) -> str:
    size = _size(node.size) if node.kind == "file" else ""
    changed = (node.modified or "").replace("T", " ")[:16]
    sign = "" if node.tokens_exact else "~"
    tokens = "" if node.tokens is None else f"{sign}{node.tokens:,}"
    state = output.styled(f"{node.state or '':7}", fg=_STATES.get(node.state or ""))
    return f"{size:>9}  {changed:16}  {tokens:>9}  {state}"


def _branches(lasts: Lasts) -> str:
    above = "".join("    " if is_last else "│   " for is_last in lasts[:-1])
    return above + ("└── " if lasts[-1] else "├── ")


def _name(node: Node) -> str:
    name = output.printable(node.path.rpartition("/")[2])
    if node.kind == "directory":
        name = output.styled(f"{name}/", bold=True)
    elif node.kind != "file":
        name = f"{name} [{node.kind}]"
    where = f" -> {output.printable(node.target or '.')}" if node.target is not None else ""
    why = output.styled(f" ({node.reason})", dim=True) if node.reason else ""
    return f"{name}{where}{why}"


def _size(count: int) -> str:
    """Return a number of bytes for people."""
    amount, units = float(count), iter(("kB", "MB", "GB"))
    unit = "B"
    while amount >= _THOUSAND and (larger := next(units, None)):
        amount, unit = amount / _THOUSAND, larger
    return f"{amount:,.0f} B" if unit == "B" else f"{amount:,.1f} {unit}"
