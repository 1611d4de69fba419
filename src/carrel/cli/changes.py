"""`carrel memory history | diff | undo`."""

import click
from msgspec import to_builtins

from carrel.cli import complete, output
from carrel.cli.diffs import coloured
from carrel.cli.options import Shared, owner_only, shared_options
from carrel.cli.rehearsal import writes
from carrel.memory.rows import change_row
from carrel.memory.splice import diff as diff_of


@click.command()
@click.argument("file", required=False, shell_complete=complete.files)
@click.option("--limit", type=click.IntRange(1, 1000), default=20, show_default=True, help="Most changes.")
@click.option("--before", type=click.IntRange(1), metavar="N", help="Only those before this one.")
@shared_options
def history(shared: Shared, file: str | None, limit: int, before: int | None) -> None:
    r"""List what changed in memory, the newest first: who, when, what and why.

    \b
    Examples:
      carrel memory history
      carrel memory history MEMORY.md --limit 5
    """
    owner_only(shared)
    with shared.open(team=True) as workspace:
        changes = workspace.memory.history(file, limit=limit, before=before)
        files = {(each.store, each.path): workspace.memory.called(each.store, each.path) for each in changes}
    if shared.as_json:
        output.document({"changes": [to_builtins(change_row(change)) for change in changes]})
        return
    for change in changes:
        state = "" if change.state == "done" else f"  [{change.state}]"
        about = "  ".join(each for each in (change.actor, change.reason, change.session) if each)
        when = output.styled(change.at.strftime("%Y-%m-%d %H:%M UTC"), dim=True)
        action = f"{change.action} {change.undoes}" if change.undoes else change.action
        file = output.printable(files[change.store, change.path])
        output.line(f"{change.id:>5}  {when}  {action:<9} {file}{state}")
        output.line(output.styled(f"       {output.printable(about)}", dim=True))
    if not changes:
        output.line("Memory has not changed yet.", to_stderr=True)
    elif len(changes) == limit and changes[-1].id > 1:
        output.line(f"Older ones: --before {changes[-1].id}", to_stderr=True)


@click.command()
@click.argument("number", type=click.IntRange(1), required=False, metavar="[N]")
@shared_options
def diff(shared: Shared, number: int | None) -> None:
    r"""Show what one change did, else the last one.

    \b
    Examples:
      carrel memory diff
      carrel memory diff 12
    """
    owner_only(shared)
    with shared.open(team=True) as workspace:
        change = workspace.memory.change(number)
    if shared.as_json:
        output.document({**to_builtins(change_row(change)), "diff": diff_of(change)})
        return
    for line in diff_of(change).rstrip("\n").split("\n"):
        output.line(coloured(line))


@click.command()
@click.argument("count", type=click.IntRange(1, 1000), default=1, metavar="[N]")
@click.option("--change", "number", type=click.IntRange(1), metavar="N", help="This one, not the last ones.")
@shared_options
@writes
def undo(shared: Shared, count: int, number: int | None) -> None:
    r"""Take back the last change of memory, or the last N of them, byte for byte.

    What was edited by hand since then stays as it is; where both touched the same lines, nothing is
    changed (exit 5). An undo is a change too: --change with its number takes it back.

    \b
    Examples:
      carrel memory undo
      carrel memory undo 3
      carrel memory undo --change 12
    """
    owner_only(shared)
    with shared.open(team=True) as workspace:
        undone = workspace.memory.undo(count) if number is None else workspace.memory.undo_change(number)
        files = [workspace.memory.called(change.store, change.path) for change in undone]
        is_dreamt = any(workspace.memory.change(each.undoes).action == "dream" for each in undone)
    if shared.as_json:
        output.document({"undone": [to_builtins(change_row(change)) for change in undone]})
        return
    for change, file in zip(undone, files, strict=True):
        output.line(f"Change {change.undoes} of {output.printable(file)} is taken back (change {change.id}).")
    if not undone:
        output.line("There is nothing to take back.", to_stderr=True)
    if is_dreamt:
        output.line("That was one file of a dream. All of it: carrel dream revert", to_stderr=True)
