"""The part of a call that is new each time: recall, the user's message, the session's date."""

from collections.abc import Iterator, Sequence

from carrel.context.inputs import Inputs, Recalled
from carrel.context.render import Escape, attribute, escaper, one_line, wrap
from carrel.context.section import Section
from carrel.workspace.layout import Layout, Part

VOLATILE = ("query", "recall", "session")


def volatile_sections(
    layout: Layout, parts: Sequence[Part], inputs: Inputs, *, recalled: bool
) -> Iterator[Section]:
    """Yield the sections of a message that is made anew for every call; `recalled` leaves recall out."""
    for part in parts:
        if part.kind == "query":
            text = inputs.query or ""
        elif part.kind == "recall":
            text = "" if recalled else "\n".join(recall_lines(layout, inputs.recall))
        else:
            text = _session_text(part, inputs)
        if text:
            name = "message" if part.kind == "query" else part.kind
            yield Section(
                name=name,
                kind=part.kind,
                text=wrap(text, part.open, part.close),
                unlimited=True,
                stable=False,
            )


def recall_lines(layout: Layout, recall: Sequence[Recalled]) -> list[str]:
    """Return a line per hit, in the layout's form; none where the layout does not recall into the prompt."""
    part = next((p for m in layout.messages for p in m.parts if p.kind == "recall"), None)
    if part is None:
        return []
    escape, place = escaper(layout.tags), attribute if layout.tags else one_line
    return [_line(part, hit, escape, place) for hit in recall]


def _line(part: Part, hit: Recalled, escape: Escape, place: Escape) -> str:
    values = {
        "path": place(hit.path),
        "line": hit.line,
        "date": part.date.format(date=place(hit.date)) if hit.date else "",
        "text": escape(hit.text.replace("\n", " ")),
    }
    return part.line.format_map(values)


def _session_text(part: Part, inputs: Inputs) -> str:
    lines = (line for line in part.lines if inputs.session or "{session}" not in line)
    return "\n".join(line.format_map(inputs.facts()) for line in lines)
