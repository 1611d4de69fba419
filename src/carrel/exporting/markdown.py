"""A workspace as one Markdown file: who the agent is, what it remembers, its days, and what was said."""

import re
from collections.abc import Iterator, Sequence

from carrel.exporting.account import Account, Talk, Text
from carrel.markdown.outline import outline
from carrel.sessions.export import export, visible

_DEEPEST = 6
_HASHES = re.compile(r"(#{1,6})(?=\s|$)")
_HEADING = re.compile(r"\A(\n*)(#{1,2} )")


def to_markdown(account: Account) -> Iterator[str]:
    """Yield the account piece by piece."""
    report = account.report
    yield f"# {visible(account.name)}\n\n"
    yield f"- exported: {account.at}, for {account.scope} scope\n- layout: {account.layout}\n"
    yield f"- context: {report.tokens.used:,} of {report.tokens.window:,} tokens\n"
    if account.hidden:
        yield f"- hidden: {account.hidden:,} files that are the owner's alone\n"
    yield from _chapter("Persona", account.persona)
    yield from _chapter("Memory", account.memory)
    yield from _chapter("Journal", account.journal)
    yield from _chapter("Knowledge, skills and other files", account.library)
    if account.talks:
        yield "\n## Sessions\n"
    for talk in account.talks:
        yield from _dialogue(talk, account)


def _chapter(title: str, texts: Sequence[Text]) -> Iterator[str]:
    if not texts:
        return
    yield f"\n## {title}\n"
    for text in texts:
        yield f"\n### {visible(text.name)}\n\n{lowered(visible(text.text), 3).strip()}\n"


def _dialogue(talk: Talk, account: Account) -> Iterator[str]:
    """Yield a session below its own heading; what was said is quoted, so that no heading is in it."""
    yield "\n"
    for piece in export(talk.sessions, talk.row.id, "md"):
        yield _HEADING.sub(r"\1##\2", account.screened(piece))


def lowered(text: str, by: int) -> str:
    """Return a text with its headings some levels further down, those in code as they are."""
    lines = text.split("\n")
    for section in outline(text):
        if section.level and (found := _HASHES.match(lines[section.line - 1].lstrip())):
            deep = "#" * min(_DEEPEST, len(found[1]) + by)
            lines[section.line - 1] = deep + lines[section.line - 1].lstrip()[len(found[1]) :]
    return "\n".join(lines)
