"""Markdown as a page may show it: made safe twice, and nothing of it is loaded from anywhere."""

from functools import cache
from html import escape
from typing import Any

import nh3
from markdown_it import MarkdownIt
from markupsafe import Markup

_TAGS = {
    "a", "b", "blockquote", "br", "code", "del", "em", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "i", "li",
    "ol", "p", "pre", "s", "span", "strong", "table", "tbody", "td", "th", "thead", "tr", "ul",
}  # fmt: skip
_ATTRIBUTES = {"a": {"href", "title"}, "ol": {"start"}, "td": {"align"}, "th": {"align"}}
_SCHEMES = {"http", "https", "mailto"}


@cache
def _reader() -> MarkdownIt:
    reader = MarkdownIt("commonmark", {"html": False, "linkify": False}).enable(["table", "strikethrough"])
    reader.add_render_rule("image", _image)
    for part in ("heading_open", "heading_close"):
        reader.add_render_rule(part, _heading)
    return reader


def _image(_self: Any, tokens: Any, index: int, *_: Any) -> str:
    """Show that there is an image and where it is: loading it would tell somebody that this was read."""
    token = tokens[index]
    return f"<span>[image: {escape(token.content or '')} {escape(str(token.attrs.get('src', '')))}]</span>"


def _heading(self: Any, tokens: Any, index: int, options: Any, _: Any) -> str:
    """Put headings one level down: the first is the page's own."""
    token = tokens[index]
    token.tag = f"h{min(int(token.tag[1]) + 1, 6)}"
    return str(self.renderToken(tokens, index, options, None))


def rendered(text: str) -> Markup:
    """Return Markdown as HTML that runs nothing and loads nothing; links open without telling from where."""
    html = _reader().render(text.encode("utf-8", "replace").decode())
    safe = nh3.clean(
        html,
        tags=_TAGS,
        attributes=_ATTRIBUTES,
        url_schemes=_SCHEMES,
        link_rel="noopener noreferrer nofollow",
    )
    return Markup(safe)  # noqa: S704 - cleaned by an allow-list just above
