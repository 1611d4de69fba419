"""A session on a page: who said what, with calls of tools folded away."""

from collections.abc import Callable, Iterator
from html import escape

from carrel.exporting.account import Talk
from carrel.sessions.export import WholeLine, arguments_of, moment, remarks_on, visible, whole_lines
from carrel.sessions.transcript import Compaction, Entry

_LONG = 1_200
"""Characters of a tool's result from which on it is folded away."""

Screened = Callable[[str], str]


def talk_pieces(talk: Talk, number: int, screened: Screened) -> Iterator[str]:
    """Yield a session as a part of a page that opens by a click."""
    row = talk.row
    title = " ".join(visible(screened(row.title)).split()) or row.id
    when = moment(row.updated)[:10] if row.updated else ""
    about = " · ".join(filter(None, (when, f"{row.entries:,} messages", row.agent_id)))
    is_open = " open" if number == 1 else ""
    yield f'<details class="talk" id="t{number}"{is_open}>\n<summary><b dir="auto">{escape(title)}</b> '
    yield f'<span class="soft">{escape(visible(about))}</span></summary>\n'
    for each in whole_lines(talk.sessions, row.id):
        yield from _line(each, screened)
    yield "</details>\n"


def _line(each: WholeLine, screened: Screened) -> Iterator[str]:
    line = each.line
    if isinstance(line, Compaction):
        yield f'<div class="said note"><p class="who">Compacted</p>{_text(screened(line.summary))}</div>\n'
    if not isinstance(line, Entry):
        return
    who = " ".join(filter(None, (line.role, line.name, line.sender_id)))
    remarks = "".join(f" · {escape(visible(remark))}" for remark in remarks_on(line))
    yield f'<div class="said {line.role}"><p class="who"><b>{escape(visible(who))}</b> '
    yield f"{escape(moment(line.timestamp) if line.timestamp else '')}{remarks}</p>\n"
    text = screened(line.to_text())
    if line.role == "tool":
        yield _folded("Result", text, is_open=len(text) < _LONG)
    elif text:
        yield _text(text)
    for call in line.tool_calls:
        yield _folded(f"Calls {call.name}", screened(arguments_of(call)), is_open=False)
    yield "</div>\n"


def _text(text: str) -> str:
    return f'<div class="text" dir="auto">{escape(visible(text))}</div>\n'


def _folded(title: str, text: str, *, is_open: bool) -> str:
    opened = " open" if is_open else ""
    # A newline right behind <pre> is not shown, so that one of the text's own must not be the first.
    return (
        f"<details{opened}><summary>{escape(visible(title))}</summary>"
        f'<pre dir="auto">\n{escape(visible(text))}</pre></details>\n'
    )
