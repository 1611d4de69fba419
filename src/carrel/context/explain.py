"""Explaining one file: why it is in the prompt, cut, out or hidden, with the numbers."""

from collections.abc import Iterator
from typing import Any

from msgspec import Struct, to_builtins
from msgspec.structs import replace

from carrel.context.assemble import Assembler
from carrel.context.budget import Budget
from carrel.context.inputs import Inputs
from carrel.context.report import Report, Row
from carrel.context.section import State
from carrel.workspace.document import Document
from carrel.workspace.ignore import find_rules
from carrel.workspace.layout import Part
from carrel.workspace.scope import Privacy, Scope, privacy_of

_REASONS = {
    "empty": "It has no text.",
    "tag": "The agent's includeTags leave it out: none of its tags is among them.",
    "exclude": "The agent's exclude list names it.",
    "ignored": "An ignore rule keeps it out: .carrelignore or one of the defaults.",
    "not_for_prompt": "The layout keeps this name out of the prompt.",
    "duplicate": "It is the same file as one that is rendered under an earlier name.",
    "no_room": "Not even one character of it fits beside the marker.",
    "total": "The total was used up before it.",
    "memory_off": "The agent's memory is switched off.",
}


class Explanation(Struct, frozen=True, kw_only=True):
    """What became of a file in each scope, and why."""

    path: str
    state: State | None
    """In main scope; none where the layout does not consider the file."""
    shared: State | None
    section: Row | None
    because: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {"schema_version": 1, **to_builtins(self)}


def explain(assembler: Assembler, inputs: Inputs, path: str) -> Explanation:
    """Say what becomes of a file for its owner and for others; this is the owner's to ask."""
    main = assembler.assemble(replace(inputs, scope=Scope.MAIN)).report
    shared = assembler.assemble(replace(inputs, scope=Scope.SHARED)).report
    row, other = _row(main, path), _row(shared, path)
    reading = assembler.ground.documents.reading()
    document = reading.document(path)
    layout = assembler.ground.layout
    privacy = privacy_of(layout, reading)
    because = [*_why(assembler, main, row, path, document)]
    state = other.state if other else None
    if document is not None and privacy.covers_document(document):
        state = "hidden"
        because.append(_why_hidden(document, privacy))
    return Explanation(
        path=path,
        state=row.state if row else None,
        shared=state,
        section=row,
        because=tuple(because),
    )


def _row(report: Report, path: str) -> Row | None:
    return next((row for row in report.sections if row.name == path), None)


def _why(
    assembler: Assembler, report: Report, row: Row | None, path: str, document: Document | None
) -> Iterator[str]:
    if document is None:
        if row is None or row.state == "missing":
            yield "There is no such file."
    elif document.problem and (row is None or row.state == "unreadable"):
        yield f"It cannot be read: {document.problem}."
    if row is None:
        if document is not None:
            yield from _why_not_considered(assembler, path)
        return
    yield from _place(assembler, report, row, document)
    if row.state == "included":
        limit = f" of {row.limit:,} allowed" if row.limit is not None else ""
        yield f"It fits: {row.size:,} {report.unit}{limit}; in the prompt it costs {row.tokens:,} tokens."
    elif row.state == "truncated":
        what = "its own limit" if row.reason == "limit" else "what the total left"
        yield (
            f"It is cut at {what}, {row.limit or 0:,} {report.unit}: {row.size:,} {report.unit} are shown. "
            f"The whole text would take {row.raw_tokens:,} tokens."
        )
    elif row.reason in ("total", "no_room"):
        total = assembler.limits(Budget()).total
        yield f"{_REASONS[row.reason]} The total is {total or 0:,} {report.unit}."
        yield f"Its text would take {row.raw_tokens:,} tokens."
    elif row.reason in _REASONS:
        yield _REASONS[row.reason]


def _place(assembler: Assembler, report: Report, row: Row, document: Document | None) -> Iterator[str]:
    kept = [other.name for other in report.sections if other.sha256]
    if row.name in kept:
        yield f"It stands at place {kept.index(row.name) + 1} of {len(kept)}."
    part = _part_of(assembler, row.name)
    if part is None or document is None or not any("*" in pattern for pattern in part.files):
        return
    name = row.name.rpartition("/")[2]
    own = document.meta.priority
    given = "its front matter" if own is not None else "the layout"
    yield f"Its priority is {own if own is not None else part.priorities.get(name, 100)}, from {given}."
    if name in part.pinned:
        yield "It is pinned: the total never leaves it out."
    if document.meta.tags:
        yield f"Its tags: {', '.join(document.meta.tags)}."


def _part_of(assembler: Assembler, name: str) -> Part | None:
    folder = name.rpartition("/")[0]
    parts = [part for message in assembler.ground.layout.messages for part in message.parts]
    return next(
        (p for p in parts for pattern in p.files if "*" in pattern and pattern.rpartition("/")[0] == folder),
        None,
    )


def _why_not_considered(assembler: Assembler, path: str) -> Iterator[str]:
    layout = assembler.ground.layout
    if find_rules(assembler.ground.documents.reading())(path):
        yield "An ignore rule keeps it out: .carrelignore or one of the defaults."
        return
    parts = [part for message in layout.messages for part in message.parts if part.folder]
    part = next((part for part in parts if path.startswith(f"{part.folder}/")), None)
    if part is None:
        yield f"The layout {layout.name} has no place for it in the prompt."
    elif part.kind == "knowledge":
        yield "Its name is listed with the knowledge; its text is read on demand."
    elif part.kind == "skills":
        yield "It belongs to a skill, of which the prompt holds one line; the rest is read on demand."
    else:
        yield f"The journal shows the last {part.days} days only."


def _why_hidden(document: Document, privacy: Privacy) -> str:
    if document.meta.private:
        return "Shared scope does not see it: its own front matter says so."
    if privacy.covers_name(document.path):
        return "Shared scope does not see it: the layout keeps this name for the owner."
    return "Shared scope does not see it: it is another name of a private file."
