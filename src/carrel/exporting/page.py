"""A workspace as one page of HTML: it runs nothing, loads nothing, and everything in it is escaped."""

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from importlib.resources import files

from carrel.context.report import Row
from carrel.exporting.account import Account, Learnt, Text
from carrel.exporting.drawing import Drawing
from carrel.exporting.talks import talk_pieces
from carrel.findings import Finding
from carrel.sessions.export import visible

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
_TRUSTS = {
    "owner": "the owner said it",
    "agent": "the agent concluded it",
    "external": "it came from outside",
}
_LONG = 4_000
"""Characters of a text from which on it is folded away."""

_UNITS = ("bytes", "KB", "MB", "GB")
_STATES = ("included", "truncated", "excluded", "unreadable", "blocked")


def to_html(account: Account, drawing: Drawing) -> Iterator[str]:
    """Yield the page piece by piece."""
    numbers = {talk.row.id: number for number, talk in enumerate(account.talks, 1)}
    yield _head(account)
    yield from _overview(account)
    yield from _context(account, drawing)
    yield from _memory(account, drawing, numbers)
    yield from _chapter("persona", "Who it is, and what it is told", account.persona, drawing)
    yield from _chapter("journal", "Journal", account.journal, drawing)
    yield from _chapter("library", "Knowledge, skills and other files", account.library, drawing)
    if account.talks:
        yield _opening("sessions", "What was said", _many(len(account.talks), "session"))
        for talk in account.talks:
            yield from talk_pieces(talk, numbers[talk.row.id], account.screened)
        yield "</section>\n"
    yield from _health(account)
    yield (
        "<footer><p>Made by Carrel. This page runs no script and loads nothing from anywhere.</p></footer>\n"
        "</main>\n</body>\n</html>\n"
    )


def _head(account: Account) -> str:
    style = files("carrel.exporting").joinpath("report.css").read_text(encoding="utf-8")
    title = _shown(account.name)
    links = [("context", "Context"), ("memory", "Memory"), ("persona", "Persona"), ("journal", "Journal")]
    links += [("library", "Library"), ("sessions", "Sessions"), ("health", "Health")]
    there = {
        "memory": bool(account.memory or account.learnt),
        "persona": bool(account.persona),
        "journal": bool(account.journal),
        "library": bool(account.library),
        "sessions": bool(account.talks),
    }
    jumps = "".join(f'<a href="#{name}">{word}</a>' for name, word in links if there.get(name, True))
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="referrer" content="no-referrer">\n'
        f"<title>{title}</title>\n<style>\n{style}</style>\n</head>\n<body>\n<main>\n"
        f'<header>\n<p class="brand">Carrel</p>\n<h1 dir="auto">{title}</h1>\n'
        f'<p class="lead">As it was on {escape(account.at)}, as {_listener(account)} sees it.</p>\n'
        f'<nav aria-label="On this page">{jumps}</nav>\n</header>\n'
    )


def _listener(account: Account) -> str:
    return "its owner" if account.scope == "main" else "anyone but its owner"


def _overview(account: Account) -> Iterator[str]:
    tokens, health = account.report.tokens, account.health
    share = 100 * tokens.used / max(1, tokens.window)
    tiles = [
        (f"{tokens.used:,}", f"tokens of context, {share:.0f} % of {tokens.window:,}"),
        (f"{health.files:,}", f"files, {_size(health.total_bytes)}"),
        (f"{len(account.learnt):,}", "facts with their evidence"),
        (
            f"{len(account.talks):,}",
            f"sessions, {sum(talk.row.entries for talk in account.talks):,} messages",
        ),
        (
            f"{len(health.findings):,}",
            "things to look at" if health.findings else "things to look at: all is well",
        ),
    ]
    if account.scope != "main":
        tiles = [*tiles[:2], (f"{account.hidden:,}", "files are hidden"), tiles[-1]]
    yield '<ul class="tiles">\n'
    for number, words in tiles:
        yield f"<li><b>{escape(number)}</b> <span>{escape(words)}</span></li>\n"
    yield "</ul>\n"


def _context(account: Account, drawing: Drawing) -> Iterator[str]:
    report = account.report
    about = "exact" if report.tokens.exact else "estimated"
    told = f"{report.prefix.tokens:,} tokens stay cached between calls; counts are {about}."
    yield _opening("context", "What the model reads", told)
    yield drawing.context(report)
    rows = [row for row in report.sections if row.state in _STATES]
    yield '<div class="wide"><table>\n<thead><tr><th>Part</th><th>Kind</th><th class="n">Tokens</th>'
    yield '<th aria-hidden="true"></th><th>State</th></tr></thead>\n<tbody>\n'
    most = max((row.tokens for row in rows), default=0)
    for row in rows:
        yield _row(row, most)
    yield "</tbody>\n</table></div>\n"
    if report.hidden:
        yield f'<p class="soft">{report.hidden:,} more parts are hidden in this scope.</p>\n'
    yield "</section>\n"


def _row(row: Row, most: int) -> str:
    share = f'<i style="width:{100 * row.tokens / most:.1f}%"></i>' if most and row.tokens else ""
    reason = f" ({escape(row.reason)})" if row.reason else ""
    return (
        f'<tr><td class="name">{_shown(row.name)}</td><td class="soft">{escape(row.kind)}</td>'
        f'<td class="n">{row.tokens:,}</td><td class="share">{share}</td>'
        f'<td><span class="chip {row.state}">{row.state}</span>{reason}</td></tr>\n'
    )


def _memory(account: Account, drawing: Drawing, numbers: Mapping[str, int]) -> Iterator[str]:
    if not account.memory and not account.learnt:
        return
    yield _opening("memory", "What it remembers", "Each fact names what was said that it came from.")
    if account.learnt:
        yield '<ol class="facts">\n'
        for learnt in account.learnt:
            yield _fact(learnt, numbers, account)
        yield "</ol>\n"
    for text in account.memory:
        yield _sheet(text, drawing)
    yield "</section>\n"


def _fact(learnt: Learnt, numbers: Mapping[str, int], account: Account) -> str:
    fact = learnt.fact
    about = [escape(fact.kind), escape(_TRUSTS.get(fact.trust, f"from {fact.trust}")), f"{fact.at:%Y-%m-%d}"]
    about += ["pinned"] if fact.pinned else []
    if number := numbers.get(fact.session):
        about.append(f'<a href="#t{number}">session {_shown(fact.session)}</a>')
    said = "".join(f'<blockquote dir="auto">{_shown(text)}</blockquote>' for text in learnt.said)
    evidence = f"<details><summary>{_many(len(learnt.said), 'message')} as evidence</summary>{said}</details>"
    return (
        f'<li><p dir="auto">{_shown(account.screened(fact.text))}</p>'
        f'<p class="soft">{" · ".join(about)}</p>{evidence if said else ""}</li>\n'
    )


def _chapter(name: str, title: str, texts: Sequence[Text], drawing: Drawing) -> Iterator[str]:
    if not texts:
        return
    yield _opening(name, title, _many(len(texts), "file"))
    for text in texts:
        yield _sheet(text, drawing)
    yield "</section>\n"


def _sheet(text: Text, drawing: Drawing) -> str:
    body = text.text.strip()
    shown = drawing.markdown(body) if body else '<p class="soft">Empty.</p>'
    name, body = _shown(text.name), f'<div dir="auto">{shown}</div>'
    if len(text.text) <= _LONG:
        return f'<article class="sheet"><h3>{name}</h3>\n{body}</article>\n'
    about = f"<small>{len(text.text):,} characters</small>"
    return f'<article class="sheet"><details><summary>{name} {about}</summary>\n{body}</details></article>\n'


def _health(account: Account) -> Iterator[str]:
    health = account.health
    whole = "The structure is whole." if health.structure_valid else "The structure is broken."
    yield _opening("health", "Health", whole)
    found = (*health.findings, *account.findings)
    if not found:
        yield "<p>Nothing to see to.</p>\n"
    yield '<ul class="findings">\n' + "".join(map(_finding, found)) + "</ul>\n" if found else ""
    yield "</section>\n"


def _finding(finding: Finding) -> str:
    hint = f'<br><span class="soft">{_shown(finding.hint)}</span>' if finding.hint else ""
    chip = f'<span class="chip {finding.severity}">{finding.severity}</span>'
    return f"<li>{chip} <div>{_shown(finding.message)}{hint}</div></li>\n"


def _opening(name: str, title: str, about: str) -> str:
    return f'<section id="{name}">\n<h2>{title}</h2>\n<p class="soft">{escape(about)}</p>\n'


def _shown(text: str) -> str:
    return escape(visible(text))


def _many(count: int, what: str) -> str:
    return f"{count:,} {what}{'s' * (count != 1)}"


def _size(size: int) -> str:
    """Return a number of bytes for people."""
    unit = min(len(_UNITS) - 1, max(0, size.bit_length() - 1) // 10)
    return f"{size / (1 << 10 * unit):,.{min(unit, 1)}f} {_UNITS[unit]}"
