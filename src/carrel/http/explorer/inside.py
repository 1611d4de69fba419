"""What is in a file, as a tab of its page shows it: rendered, indented, line by line, or why it cannot be."""

from typing import Any, Literal

from markupsafe import Markup
from msgspec import Struct, json
from msgspec.structs import replace

from carrel.app import Workspace
from carrel.files import Unreadable
from carrel.http.explorer.markup import rendered
from carrel.http.explorer.source import Lines, beginning, page_of
from carrel.markdown.frontmatter import Meta, parse
from carrel.runtime.preview import Preview
from carrel.workspace.scope import Scope

Tab = Literal["rendered", "indented", "source", "history", "edit"]

RENDERED = 16_000
INDENTED = 30_000
MORE = 60_000
"""Characters of a text on a page, and of one where somebody asks for more: Markdown takes time to render."""

EDITABLE = 1_000_000
"""Bytes that a text field of a browser still bears."""

_FIRST: dict[str, Tab] = {"markdown": "rendered", "json": "indented"}


class Inside(Struct, frozen=True, kw_only=True):
    """One tab of a file's page; `left_out` says how many characters it does not show.

    `meta` is what a document says of itself, and `flaws` what of that could not be read.
    """

    preview: Preview
    tabs: tuple[Tab, ...]
    tab: Tab
    html: Markup | None = None
    text: str | None = None
    lines: Lines | None = None
    left_out: int = 0
    meta: tuple[tuple[str, str], ...] = ()
    flaws: tuple[str, ...] = ()
    is_editable: bool = False


def look_inside(
    workspace: Workspace, path: str, *, scope: Scope, tab: str = "", line: int = 0, is_whole: bool = False
) -> Inside:
    """Return a tab of a file; one that it has not is the first it has."""
    seen = workspace.preview(path, scope=scope)
    is_text = seen.text is not None
    tabs = _tabs(seen)
    chosen = tab if tab in tabs else tabs[0]
    text = _text(workspace, path, scope) if is_text and chosen != "history" else None
    base = Inside(
        preview=seen,
        tabs=tabs,
        tab=chosen,
        is_editable=is_text and seen.problem is None and seen.size <= EDITABLE,
    )
    if text is None or chosen == "edit":
        return base
    usual = RENDERED if chosen == "rendered" else INDENTED
    return _told(base, text, line, MORE if is_whole else usual)


def _tabs(seen: Preview) -> tuple[Tab, ...]:
    if seen.text is None:
        return ("source", "history")
    first = _FIRST.get(seen.kind or "")
    if first == "indented" and not seen.formatted:
        first = None  # it is not JSON, or too large to be indented here
    return (*((first,) if first else ()), "source", "history", "edit")


def _text(workspace: Workspace, path: str, scope: Scope) -> str | None:
    """Return the whole text; none where it is too large to be read at once, or gone by now."""
    try:
        content = workspace.fetch(path, scope=scope)
    except Unreadable:
        return None
    return None if content is None else content.data.decode("utf-8", "replace").removeprefix("\ufeff")


def _told(base: Inside, text: str, line: int, limit: int) -> Inside:
    if base.tab == "source":
        return replace(base, lines=page_of(text, line), **_meta_of(base.preview, text))
    if base.tab == "indented":
        whole = base.preview.text or ""
        shown = beginning(whole, limit)
        return replace(base, text=shown, left_out=len(whole) - len(shown))
    body = parse(text.replace("\r\n", "\n")).body
    shown = beginning(body, limit)
    html = rendered(shown)
    return replace(base, html=html, left_out=len(body) - len(shown), **_meta_of(base.preview, text))


def _meta_of(seen: Preview, text: str) -> dict[str, Any]:
    if seen.kind != "markdown":
        return {}
    parsed = parse(text.replace("\r\n", "\n"))
    return {"meta": tuple(_rows(parsed.meta)), "flaws": parsed.problems}


def _rows(meta: Meta) -> list[tuple[str, str]]:
    told: dict[str, str] = {}
    if meta.priority is not None:
        told["priority"] = str(meta.priority)
    if meta.tags:
        told["tags"] = ", ".join(meta.tags)
    if meta.private:
        told["scope"] = "private"
    for name, value in meta.extra.items():
        told[name] = value if isinstance(value, str) else _plain(value)
    return [(name, value[:500]) for name, value in told.items()]


def _plain(value: object) -> str:
    try:
        return json.encode(value).decode()
    except (TypeError, ValueError):
        return str(value)
