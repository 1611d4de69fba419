"""A session for somebody else to read: as Markdown, as one page of HTML, or as the lines of its log."""

import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from html import escape
from typing import Literal, get_args

from msgspec import DecodeError, Struct, convert, json

from carrel import plainjson
from carrel.errors import UsageError
from carrel.files import FileStore
from carrel.sessions.message import ToolCall
from carrel.sessions.store import Sessions
from carrel.sessions.transcript import (
    LINE_LIMIT,
    Compaction,
    Entry,
    Foreign,
    Header,
    Line,
    Summary,
    Title,
    decode,
)

Form = Literal["md", "html", "jsonl"]
FORMS: tuple[Form, ...] = get_args(Form)

_CHUNK = 4 * 1024 * 1024
_HIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")
_MARKS = re.compile(r"([\\`*_\[\]<>#|~&!])")
_TICKS = re.compile(r"`+")


class WholeLine(Struct, frozen=True):
    """One whole line of a log as it stands there, what it says, and which entry it is, if it is one."""

    raw: bytes
    line: Line | Foreign
    number: int = 0


def export(sessions: Sessions, session: str, form: str) -> Iterator[str]:
    """Yield a session piece by piece in one of the FORMS; what of its log is damaged is left out.

    `Sessions.findings` says what that was, and pages for people end with it.
    """
    if form not in _EXPORTS:
        raise UsageError(f"There is no form {form!r}.", hint=f"Use one of {', '.join(FORMS)}.")
    sessions.log_path(session)  # one that does not exist is an error now, not when it is read
    return _EXPORTS[form](sessions, session)


def whole_lines(sessions: Sessions, session: str) -> Iterator[WholeLine]:
    """Yield the whole lines of a log as far as it goes now, each message once, numbered as in pages."""
    seen: set[str] = set()
    number = 0
    for raw in _raw_lines(sessions.places.files, sessions.log_path(session)):
        for start, size, line in decode(raw).lines:
            own = raw[start : start + size].strip(b" \t\r\n\xef\xbb\xbf")
            if not isinstance(line, Entry):
                yield WholeLine(own, line)
            elif not line.message_id or line.message_id not in seen:
                seen.add(line.message_id)
                number += 1
                yield WholeLine(own, line, number)


def visible(text: str) -> str:
    """Return a text in which no character moves the cursor, hides others or is none at all."""
    return _HIDDEN.sub(lambda found: f"\\u{ord(found[0]):04x}", text.replace("\r\n", "\n"))


def moment(timestamp: str) -> str:
    """Return a time for people, in UTC; what is no time is shown as it is."""
    try:
        found = datetime.fromisoformat(timestamp)
        aware = found if found.tzinfo else found.replace(tzinfo=UTC)
        return f"{aware.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"
    except (ValueError, OverflowError):
        return visible(timestamp)


def arguments_of(call: ToolCall) -> str:
    """Return what a tool was called with: as JSON on several lines, or whatever the model wrote."""
    if isinstance(call.arguments, str):
        return call.arguments
    compact = plainjson.dumps(call.arguments)
    try:
        return json.format(compact, indent=2).decode()
    except DecodeError:  # half a character in it
        return compact.decode()


def remarks_on(entry: Entry) -> list[str]:
    """Return what a reader should know of an entry beside its text."""
    remarks: list[str] = []
    if entry.finish not in ("stop", "tools"):
        remarks.append(f"ended: {entry.finish}")
    if entry.redacted:
        remarks.append(f"secrets taken out: {', '.join(entry.redacted)}")
    if entry.scope:
        remarks.append(f"{entry.scope} scope")
    return remarks


def _raw_lines(files: FileStore, path: str) -> Iterator[bytes]:
    """Yield the lines of a file that end with a newline, but for those that are too long to be kept."""
    held, is_huge = b"", False
    start, end = 0, None
    while (part := files.part(path, start, _CHUNK)) is not None:
        end = part.size if end is None else end
        data = part.data[: end - start]
        if not data:
            return
        start += len(data)
        *whole, held = (held + data).split(b"\n")
        for line in whole:
            if not is_huge:
                yield line
            is_huge = False
        if len(held) > LINE_LIMIT:
            held, is_huge = b"", True


def _heading(entry: Entry, number: int) -> list[str]:
    """Return what stands above a message: its number, who said it, and when."""
    said = [entry.role, visible(entry.name), visible(entry.sender_id or ""), moment(entry.timestamp)]
    return [str(number), *(each for each in said if each)]


def _facts(sessions: Sessions, session: str) -> dict[str, str]:
    """Return what is known of a session as a whole."""
    row = sessions.row(session)
    header = convert(sessions.page(session, limit=0).header or {"type": "session", "id": row.id}, Header)
    origin = header.forked_from or {}
    facts = {
        "session": row.id,
        "agent": header.agent_id or row.agent_id,
        "source": row.source,
        "forked from": ", message ".join(origin.values()),
        "started": moment(row.started) if row.started else "",
        "last entry": moment(row.updated) if row.updated else "",
        "entries": f"{row.entries:,}",
        "summary": row.summary,
    }
    return {name: " ".join(visible(value).split()) for name, value in facts.items() if value}


def _title(sessions: Sessions, session: str) -> str:
    return " ".join(visible(sessions.row(session).title).split()) or session


def _boundary(line: Compaction) -> str:
    tokens = ""
    if line.tokens_before is not None and line.tokens_after is not None:
        tokens = f", {line.tokens_before:,} tokens before and {line.tokens_after:,} after"
    when = f" · {moment(line.timestamp)}" if line.timestamp else ""
    return f"Compacted through entry {line.through:,}{tokens}{when}"


def _jsonl(sessions: Sessions, session: str) -> Iterator[str]:
    for each in whole_lines(sessions, session):
        try:
            yield f"{each.raw.decode()}\n"
        except UnicodeDecodeError:  # half a character, which JSON can say with an escape
            yield f"{plainjson.dumps(plainjson.loads(each.raw)).decode()}\n"


def _markdown(sessions: Sessions, session: str) -> Iterator[str]:
    yield f"# {_plain(_title(sessions, session))}\n\n"
    for name, value in _facts(sessions, session).items():
        yield f"- {name}: {_plain(value)}\n"
    for each in whole_lines(sessions, session):
        line = each.line
        if isinstance(line, Entry):
            yield from _markdown_entry(line, each.number)
        elif isinstance(line, Compaction):
            yield f"\n---\n\n**{_boundary(line)}**\n\n{_quoted(line.summary)}\n\n---\n"
        elif isinstance(line, Title):
            yield f"\n*Titled:* {_plain(visible(line.title))}\n"
        elif isinstance(line, Summary):
            yield f"\n*Summary:*\n\n{_quoted(line.summary)}\n"
    for finding in sessions.findings(session):
        yield f"\n*{_plain(visible(finding.message))}*\n"


def _markdown_entry(entry: Entry, number: int) -> Iterator[str]:
    yield f"\n## {_plain(' · '.join(_heading(entry, number)))}\n"
    if remarks := remarks_on(entry):
        yield f"\n*{_plain(visible('; '.join(remarks)))}*\n"
    text = entry.to_text()
    if entry.role == "tool":
        answers = f" of {_code(entry.tool_call_id)}" if entry.tool_call_id else ""
        yield f"\nResult{answers}:\n\n{_fenced(text)}\n"
    elif text:
        yield f"\n{_quoted(text)}\n"
    for call in entry.tool_calls:
        kind = "" if isinstance(call.arguments, str) else "json"
        yield f"\nCalls {_code(call.name)} ({_code(call.id)}):\n\n{_fenced(arguments_of(call), kind)}\n"


def _plain(text: str) -> str:
    """Return a line that Markdown shows as it is."""
    return _MARKS.sub(r"\\\1", " ".join(text.split()))


def _quoted(text: str) -> str:
    """Return a text as a quotation: whatever it leaves open, a fence or a list, ends with it."""
    return "\n".join(f"> {line}".rstrip() for line in visible(text).split("\n"))


def _fenced(text: str, kind: str = "") -> str:
    """Return a text as a block of code whose fence is longer than any inside."""
    text = visible(text)
    fence = "`" * max(3, 1 + _longest_ticks(text))
    return f"{fence}{kind}\n{text}\n{fence}"


def _code(text: str) -> str:
    text = " ".join(visible(text).split()) or "-"
    ticks = "`" * (1 + _longest_ticks(text))
    pad = " " if "`" in text else ""
    return f"{ticks}{pad}{text}{pad}{ticks}"


def _longest_ticks(text: str) -> int:
    return max((len(run[0]) for run in _TICKS.finditer(text)), default=0)


def _html(sessions: Sessions, session: str) -> Iterator[str]:
    title = escape(_title(sessions, session))
    yield _HEAD.replace("TITLE", title, 1)
    yield f"<header>\n<h1 dir=auto>{title}</h1>\n<dl>\n"
    for name, value in _facts(sessions, session).items():
        yield f"<dt>{escape(name)}</dt><dd dir=auto>{escape(value)}</dd>\n"
    yield "</dl>\n</header>\n"
    for each in whole_lines(sessions, session):
        line = each.line
        if isinstance(line, Entry):
            yield from _html_entry(line, each.number)
        elif isinstance(line, Compaction):
            yield _note(_boundary(line), line.summary)
        elif isinstance(line, Title):
            yield _note("Titled", line.title)
        elif isinstance(line, Summary):
            yield _note("Summary", line.summary)
    for finding in sessions.findings(session):
        yield f"<p class=finding>{escape(visible(finding.message))}</p>\n"
    yield "</main>\n</body>\n</html>\n"


def _html_entry(entry: Entry, number: int) -> Iterator[str]:
    _, role, *rest = _heading(entry, number)
    more = "".join(f" · {escape(each)}" for each in rest)
    link = f"<a href=#e{number}>{number}</a>"
    yield f"<article class={entry.role} id=e{number}>\n<h2>{link} <b>{escape(role)}</b>{more}</h2>\n"
    for remark in remarks_on(entry):
        yield f"<p class=remark>{escape(visible(remark))}</p>\n"
    text = entry.to_text()
    if entry.role == "tool":
        yield _details(f"Result of {entry.tool_call_id}" if entry.tool_call_id else "Result", text)
    elif text:
        yield _text(text)
    for call in entry.tool_calls:
        yield _details(f"Calls {call.name} ({call.id})", arguments_of(call))
    yield "</article>\n"


def _note(title: str, text: str) -> str:
    return f"<section class=note>\n<h2>{escape(title)}</h2>\n{_text(text)}</section>\n"


def _text(text: str) -> str:
    return f"<div class=text dir=auto>{escape(visible(text))}</div>\n"


def _details(summary: str, text: str) -> str:
    head = f"<details open><summary>{escape(visible(summary))}</summary>"
    # A newline right behind <pre> is not shown, so that one of the text's own must not be the first.
    return f"{head}<pre dir=auto>\n{escape(visible(text))}</pre></details>\n"


_EXPORTS: dict[str, Callable[[Sessions, str], Iterator[str]]] = {
    "md": _markdown,
    "html": _html,
    "jsonl": _jsonl,
}

_HEAD = """\
<!doctype html>
<html lang="">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="referrer" content="no-referrer">
<title>TITLE</title>
<style>
:root {
  color-scheme: light dark;
  --page: #fbfaf8; --card: #ffffff; --ink: #1f2328; --quiet: #59636e; --line: #d9d6d0;
  --user: #0b62b0; --assistant: #2d7d46; --tool: #8a5a00; --system: #6b4fb3;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #16181b; --card: #1f2226; --ink: #e6e6e3; --quiet: #a0a8b0; --line: #383c42;
    --user: #6cb2f2; --assistant: #6fcf8b; --tool: #e0b05c; --system: #b9a3f0;
  }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink); font: 1rem/1.55 system-ui, sans-serif; }
main { max-width: 48rem; margin: 0 auto; padding: 1rem; }
h1 { font-size: 1.5rem; line-height: 1.25; overflow-wrap: anywhere; }
h2 { margin: 0 0 .4rem; font-size: .85rem; font-weight: 400; color: var(--quiet); overflow-wrap: anywhere; }
dl { display: grid; grid-template-columns: auto 1fr; gap: .1rem 1rem; margin: 0 0 1.5rem; font-size: .9rem; }
dt { color: var(--quiet); }
dd { margin: 0; overflow-wrap: anywhere; }
article, section { margin: 0 0 1rem; padding: .8rem 1rem; background: var(--card);
  border: 1px solid var(--line); border-inline-start: .3rem solid var(--line); border-radius: .5rem; }
article.user { border-inline-start-color: var(--user); }
article.user b { color: var(--user); }
article.assistant { border-inline-start-color: var(--assistant); }
article.assistant b { color: var(--assistant); }
article.tool { border-inline-start-color: var(--tool); }
article.tool b { color: var(--tool); }
article.system { border-inline-start-color: var(--system); }
article.system b { color: var(--system); }
section.note { border-style: dashed; }
a { color: inherit; text-decoration: none; }
a:hover, a:focus-visible { text-decoration: underline; }
.text { white-space: pre-wrap; overflow-wrap: anywhere; }
.remark, .finding { margin: 0 0 .4rem; color: var(--quiet); font-style: italic; overflow-wrap: anywhere; }
details { margin-top: .5rem; }
summary { cursor: pointer; color: var(--quiet); font-size: .9rem; overflow-wrap: anywhere; }
pre { margin: .3rem 0 0; font: .85rem/1.45 ui-monospace, monospace; white-space: pre-wrap;
  overflow-wrap: anywhere; }
@media (max-width: 30rem) {
  main { padding: .5rem; }
  article, section { padding: .6rem .7rem; }
}
</style>
</head>
<body>
<main>
"""
