"""Prompt templates: the Handlebars subset of the seeds, rendered in one pass.

    {{name}}  {{dotted.path}}  {{#if x}}…{{else}}…{{/if}}  {{#unless x}}…{{/unless}}
    {{#each items}}{{this}}{{/each}}

Values are inserted literally and never read again, so data cannot act as a template. A block tag alone on its
line disappears with its line. Nothing is HTML-escaped: this is a prompt.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Literal, cast

from msgspec import Struct

from carrel.errors import UsageError

Value = str | bool | Sequence[str] | Mapping[str, "Value"] | None
Values = Mapping[str, Value]

_TAG = re.compile(r"\{\{(?:\{([^{}]*)\}\}\}|([^{}]*)\}\})")  # a third brace closes only where three opened
_REST_OF_LINE = re.compile(r"[^\S\n]*+(?:\n|\Z)")
_PATH = re.compile(r"[A-Za-z_@][\w.@]*")
_MAX_DEPTH = 32


class BadTemplate(UsageError):
    """A template's blocks do not match, or a tag is not understood."""

    code = "bad_template"

    def __init__(self, line: int, problem: str) -> None:
        super().__init__(
            f"The template is malformed at line {line}: {problem}",
            hint="Tags: {{name}}, {{#if}}, {{else}}, {{#unless}}, {{#each}}, and {{/…}} to close a block.",
        )
        self.line = line


class Variable(Struct, frozen=True):
    """A place for one value."""

    path: str


class Block(Struct, frozen=True):
    """A conditional or repeated stretch of the template."""

    kind: Literal["if", "unless", "each"]
    path: str
    body: "tuple[Node, ...]"
    otherwise: "tuple[Node, ...]"


Node = str | Variable | Block


class Template(Struct, frozen=True, kw_only=True):
    """A parsed template; `inserts` are the variables it writes out, `uses` those it asks about too."""

    nodes: tuple[Node, ...]
    inserts: frozenset[str]
    uses: frozenset[str]

    def render(self, values: Values) -> tuple[str, tuple[str, ...]]:
        """Return the text, and the names of variables that are not known."""
        unknown: dict[str, None] = {}
        text = "".join(_render(self.nodes, values, unknown))
        return text, tuple(unknown)


@lru_cache(maxsize=64)
def parse_template(source: str) -> Template:
    """Read a template; a malformed one is an error with its line."""
    nodes = _Parser(source).parse()
    inserts = frozenset(_paths(nodes, blocks=False))
    return Template(nodes=nodes, inserts=inserts, uses=frozenset(_paths(nodes, blocks=True)))


class _Open(Struct):
    """A block whose end has not been seen."""

    kind: str
    path: str
    line: int
    body: list[Node]
    otherwise: list[Node] | None = None

    def add(self, node: Node) -> None:
        (self.body if self.otherwise is None else self.otherwise).append(node)


class _Parser:
    def __init__(self, source: str) -> None:
        self._source = source
        self._stack = [_Open("", "", 1, [])]
        self._counted = (0, 1)  # lines are counted once: up to this position it is this one

    def parse(self) -> tuple[Node, ...]:
        position = 0
        for match in _TAG.finditer(self._source):
            start, end = match.span()
            tag = (match[1] or match[2] or "").strip()
            if tag.startswith(("#", "/", "!")) or tag == "else":
                start, end = self._standalone(start, end, position)
            self._text(self._source[position:start])
            self._tag(tag, self._line(match.start()))
            position = end
        self._text(self._source[position:])
        if len(self._stack) > 1:
            unclosed = self._stack[-1]
            raise BadTemplate(unclosed.line, f"{{{{#{unclosed.kind}}}}} is never closed")
        return tuple(self._stack[0].body)

    def _standalone(self, start: int, end: int, position: int) -> tuple[int, int]:
        """Widen a block tag that is alone on its line to the whole line; what precedes `position` is done."""
        line_start = self._source.rfind("\n", position, start) + 1
        if not line_start:
            begins_line = position == 0 or self._source[position - 1] == "\n"
            if not begins_line:
                return start, end
            line_start = position
        rest = _REST_OF_LINE.match(self._source, end)
        if rest is None or self._source[line_start:start].strip():
            return start, end
        return line_start, rest.end()

    def _text(self, text: str) -> None:
        if text:
            self._stack[-1].add(text)

    def _tag(self, tag: str, line: int) -> None:
        if tag.startswith("!"):
            return
        if tag == "else":
            self._else(line)
        elif tag.startswith("#"):
            self._begin(tag[1:].split(), line)
        elif tag.startswith("/"):
            self._end(tag[1:].strip(), line)
        elif _PATH.fullmatch(tag):
            self._stack[-1].add(Variable(tag))
        else:
            raise BadTemplate(line, f"{{{{{tag[:40]}}}}} is not understood")

    def _begin(self, words: list[str], line: int) -> None:
        if len(words) != 2 or words[0] not in ("if", "unless", "each") or not _PATH.fullmatch(words[1]):  # noqa: PLR2004 - a block tag is a word and a path
            raise BadTemplate(line, f"{{{{#{' '.join(words)[:40]}}}}} is not understood")
        if len(self._stack) > _MAX_DEPTH:
            raise BadTemplate(line, f"more than {_MAX_DEPTH} blocks inside each other")
        self._stack.append(_Open(words[0], words[1], line, []))

    def _else(self, line: int) -> None:
        block = self._stack[-1]
        if len(self._stack) == 1 or block.otherwise is not None:
            raise BadTemplate(line, "{{else}} outside a block, or twice in one")
        block.otherwise = []

    def _end(self, name: str, line: int) -> None:
        if len(self._stack) == 1 or self._stack[-1].kind != name:
            raise BadTemplate(line, f"{{{{/{name[:40]}}}}} closes nothing that is open")
        block = self._stack.pop()
        kind = cast("Literal['if', 'unless', 'each']", block.kind)
        self._stack[-1].add(Block(kind, block.path, tuple(block.body), tuple(block.otherwise or ())))

    def _line(self, position: int) -> int:
        counted, line = self._counted
        self._counted = (position, line + self._source.count("\n", counted, position))
        return self._counted[1]


def _render(nodes: tuple[Node, ...], values: Values, unknown: dict[str, None]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, str):
            yield node
        elif isinstance(node, Variable):
            yield _text_of(_look_up(node.path, values, unknown))
        elif node.kind == "each":
            yield from _each(node, values, unknown)
        else:
            holds = bool(_look_up(node.path, values, unknown)) == (node.kind == "if")
            yield from _render(node.body if holds else node.otherwise, values, unknown)


def _each(block: Block, values: Values, unknown: dict[str, None]) -> Iterator[str]:
    items = _look_up(block.path, values, unknown)
    if not items or isinstance(items, (str, bool, Mapping)):
        yield from _render(block.otherwise, values, unknown)
        return
    for item in items:
        yield from _render(block.body, {**values, "this": item}, unknown)


def _look_up(path: str, values: Values, unknown: dict[str, None]) -> Value:
    """Follow a dotted path through plain mappings only; what is not there is none, and is named."""
    found: Value = values
    for name in path.split("."):
        if not isinstance(found, Mapping) or name not in found:
            unknown[path] = None
            return None
        found = found[name]
    return found


def _text_of(value: Value) -> str:
    if value is None or isinstance(value, (bool, Mapping)):
        return ""
    return value if isinstance(value, str) else ", ".join(value)


def _paths(nodes: tuple[Node, ...], *, blocks: bool) -> Iterator[str]:
    """Yield the variables of a template, with those that only decide about blocks or without."""
    for node in nodes:
        if isinstance(node, Variable):
            yield node.path
        elif isinstance(node, Block):
            if blocks:
                yield node.path
            yield from _paths((*node.body, *node.otherwise), blocks=blocks)
