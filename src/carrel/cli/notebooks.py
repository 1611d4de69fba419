"""`carrel memory sections | show | append | replace | rename | move`."""

from collections.abc import Collection
from hashlib import sha256
from typing import Any

import click
from msgspec import to_builtins

from carrel.cli import complete, output, streams
from carrel.cli.options import Shared, owner_only, shared_options
from carrel.cli.rehearsal import writes
from carrel.markdown.sections import read
from carrel.memory.notebook import digest_of
from carrel.memory.rows import Passage, edited, section_rows
from carrel.records.changes import Change
from carrel.runtime.view import NoSuchPath, exact_text

_TEXT = "\0"  # which no argument of a process can hold


class TextCommand(click.Command):
    """A command that is given texts: one that begins with a dash, as a bullet does, is no option.

    A word with white space in it is a text, unless it is an option with its value, `--name=value`.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the words, with texts marked so that nobody looks for options in them."""
        known = {name for param in self.get_params(ctx) for name in param.opts if name.startswith("--")}
        rest = super().parse_args(ctx, [_TEXT + word if _is_text(word, known) else word for word in args])
        for name, value in ctx.params.items():
            ctx.params[name] = value.removeprefix(_TEXT) if isinstance(value, str) else value
        return rest


def _is_text(word: str, options: Collection[str]) -> bool:
    return len(word.split(maxsplit=1)) > 1 and word.partition("=")[0] not in options


def _text(shared: Shared, file: str) -> tuple[str, Any]:
    """Return a file's text as this listener may read it, and how its tokens are counted."""
    with shared.open(team=True) as workspace:
        content = workspace.fetch(file, scope=shared.scope)
        if content is None:
            raise NoSuchPath(file)
        return exact_text(file, content), workspace.counts.count


@click.command()
@click.argument("file", shell_complete=complete.files)
@shared_options
def sections(shared: Shared, file: str) -> None:
    r"""List the sections of a Markdown file, with their tokens.

    The name that finds a section is shown where its heading alone would not: by the headings above it
    (Project/Decisions), or by its position among equals (Notes#2).

    \b
    Examples:
      carrel memory sections MEMORY.md
      carrel memory sections memory/kate.md --json
    """
    text, count = _text(shared, file)
    rows = section_rows(text, count)
    if shared.as_json:
        output.document({"sections": to_builtins(rows)})
        return
    for row in rows:
        name = "#" * row.level + " " + output.printable(row.heading)
        own = "" if row.address == row.heading else f"  ({output.printable(row.address)})"
        output.line(f"{row.line:>6}  {row.tokens:>7,} tokens  {name}{output.styled(own, dim=True)}")
    if not rows:
        output.line("It has no headings.", to_stderr=True)


@click.command()
@click.argument("file", shell_complete=complete.files)
@click.argument("section", required=False)
@shared_options
def show(shared: Shared, file: str, section: str | None) -> None:
    r"""Print a file, or one section of it with what is nested in it.

    \b
    Examples:
      carrel memory show MEMORY.md
      carrel memory show MEMORY.md People
      carrel memory show --json MEMORY.md People    with its digest, for `memory replace --expect`
    """
    text, _ = _text(shared, file)
    shown = text if section is None else read(text, section)
    if shared.as_json:
        digest = sha256(text.encode()).hexdigest() if section is None else digest_of(shown)
        output.document(to_builtins(Passage(path=file, section=section, text=shown, digest=digest)))
    else:
        output.write(shown if shown.endswith("\n") or not shown else f"{shown}\n")


@click.command(cls=TextCommand)
@click.argument("file", shell_complete=complete.files)
@click.argument("section")
@click.argument("text", required=False)
@shared_options
@writes
def append(shared: Shared, file: str, section: str, text: str | None) -> None:
    r"""Add TEXT, else standard input, to the end of a section; it is made where it is missing.

    \b
    Examples:
      carrel memory append MEMORY.md People "- Ana uses a Samsung."
      git log --oneline -3 | carrel memory append memory/kate.md "Recent work"
    """
    owner_only(shared)
    given = given_text(text)
    with shared.open(team=True) as workspace:
        change = workspace.memory.notebook(file).append(section, given)
    _report(shared, change)


@click.command(cls=TextCommand)
@click.argument("file", shell_complete=complete.files)
@click.argument("section")
@click.argument("text", required=False)
@click.option("--expect", metavar="SHA256", help="Only over this version of the section.")
@shared_options
@writes
def replace(shared: Shared, file: str, section: str, text: str | None, expect: str | None) -> None:
    r"""Put TEXT, else standard input, in place of what a section says; its heading stays.

    Where somebody else changed that section meanwhile, theirs stays and yours waits in
    `carrel memory review` (exit 5).

    \b
    Examples:
      carrel memory replace MEMORY.md "Open questions" "- None."
      carrel memory replace MEMORY.md People < people.md
    """
    owner_only(shared)
    given = given_text(text)
    with shared.open(team=True) as workspace:
        change = workspace.memory.notebook(file).replace(section, given, expect=expect)
    _report(shared, change)


@click.command()
@click.argument("file", shell_complete=complete.files)
@click.argument("section")
@click.argument("heading")
@shared_options
@writes
def rename(shared: Shared, file: str, section: str, heading: str) -> None:
    r"""Give a section another heading.

    \b
    Examples:
      carrel memory rename MEMORY.md People Contacts
      carrel memory rename notes.md "Notes#2" "Later notes"
    """
    owner_only(shared)
    with shared.open(team=True) as workspace:
        change = workspace.memory.notebook(file).rename(section, heading)
    _report(shared, change)


@click.command()
@click.argument("file", shell_complete=complete.files)
@click.argument("section")
@click.option("--after", default="", metavar="SECTION", help="Behind this one; else first.")
@shared_options
@writes
def move(shared: Shared, file: str, section: str, after: str) -> None:
    r"""Put a section, with what is nested in it, behind another one, else first of those beside it.

    \b
    Examples:
      carrel memory move MEMORY.md People
      carrel memory move MEMORY.md People --after "Open questions"
    """
    owner_only(shared)
    with shared.open(team=True) as workspace:
        change = workspace.memory.notebook(file).move(section, after)
    _report(shared, change)


def given_text(text: str | None) -> str:
    """Return the text that was given, else what standard input says."""
    if text is not None:
        return text
    # What holds a NUL is no text to others.
    return streams.all_given().decode("utf-8", "replace").replace("\0", "\ufffd")


def _report(shared: Shared, change: Change | None) -> None:
    """Say what was changed, and how it is taken back."""
    if shared.as_json:
        output.document(to_builtins(edited(change)))
    elif change is None:
        output.line("Nothing changed: it says so already.")
    else:
        path = output.printable(change.path)
        output.line(f"{path} changed (change {change.id}; `carrel memory undo` takes it back).")
