"""What a harness is told when a session starts: the workspace's context, cut to its cap, cuts said."""

from collections.abc import Callable, Iterator

from msgspec import Struct, json

from carrel import plainjson
from carrel.adapters.harness.wire import MOST_CHARACTERS, MOST_TOKENS, answer
from carrel.app import Workspace
from carrel.context.assemble import Assembly
from carrel.context.budget import Budget
from carrel.context.report import Report

_ATTEMPTS = 6
_CLOSER = 0.93  # of what would fit by rule of three: the next attempt has to fit
_CHARACTERS = 3  # of a token, or more: the first attempt may be too large, and shows how much
_BYTES = 4
_LARGEST = 3
_EMPTY = 0.6
_NAMED = 6
_CUT = "[cut here to fit]"
_TAG = "carrel-context"


class Brief(Struct, frozen=True, kw_only=True):
    """A text that fits a harness, and what was left out for that, by name."""

    text: str
    cut: tuple[str, ...] = ()


def brief(workspace: Workspace, harness: str, scope: str) -> Brief:
    """Return the context for a harness: what counts least is left out first, by the layout's own rules."""
    size, own = _measure(workspace, harness), workspace.assembler.limits(Budget())

    def share(assembly: Assembly) -> float:
        return size(_framed(workspace, scope, _text(assembly), _cut_in(assembly.report)))

    def within(total: int, largest: int) -> Assembly:
        budget = Budget(file=_least(own.file, total // largest), total=_least(own.total, total))
        return workspace.assemble(scope=scope, budget=budget)

    assembly = whole = workspace.assemble(scope=scope)
    if not _text(whole):
        return Brief(text="")
    characters = workspace.layout.unit == "characters"
    total = MOST_CHARACTERS[harness] // (1 if characters else _CHARACTERS)
    for attempt in range(_ATTEMPTS):
        if (taken := share(assembly)) <= 1:
            break
        total = int(total * _CLOSER / taken) if attempt else total
        # No file takes all of the room: the beginning of three says more than the whole of one.
        assembly = within(total, _LARGEST)
    if assembly is not whole and share(assembly) < _EMPTY:
        wider = within(total, 1)  # there are no three
        wider = wider if share(wider) <= 1 else within(int(total * _CLOSER / share(wider)), 1)
        assembly = wider if share(assembly) < share(wider) <= 1 else assembly
    return _fitting(workspace, scope, assembly, size)


def _fitting(workspace: Workspace, scope: str, assembly: Assembly, size: Callable[[str], float]) -> Brief:
    """Return what fits: what no budget makes smaller is cut at a line, and says so."""
    text, cut = _text(assembly), _cut_in(assembly.report)
    framed = _framed(workspace, scope, text, cut)
    while text and size(framed) > 1:
        shorter = text[: int(len(text) * _CLOSER / max(size(framed), 1))]
        text = shorter[: shorter.rfind("\n") + 1] or shorter  # which may be one line
        framed = _framed(workspace, scope, f"{text}{_CUT}", cut)
    return Brief(text=framed if text else "", cut=cut)


def _least(limit: int | None, other: int) -> int:
    return other if limit is None else min(limit, other)


def _measure(workspace: Workspace, harness: str) -> Callable[[str], float]:
    """Return what tells which part of a harness's caps a text takes, the JSON around it counted."""

    def size(text: str) -> float:
        said = json.encode(plainjson.unicode_only(answer(harness, "session-start", text))).decode()
        # Most harnesses are JavaScript, where an emoji has a length of two.
        share = len(said.encode("utf-16-le")) / 2 / MOST_CHARACTERS[harness]
        most, held = MOST_TOKENS.get(harness), len(said.encode())
        # Whatever a token is, it is no less than a byte.
        if most is None or held <= most:
            return share
        # Codex takes four bytes for a token; a model may take fewer.
        return max(share, held / _BYTES / most, workspace.counts.count(text) / most)

    return size


def _framed(workspace: Workspace, scope: str, text: str, cut: tuple[str, ...]) -> str:
    """Return a text with what it is: files of a workspace, and no message of anybody."""
    name = " ".join(workspace.home.location.rpartition("/")[2].split()) or "workspace"
    told = f"Left out to fit: {_listed(cut)}. `carrel context show` has all of it.\n" if cut else ""
    inner = text.replace(f"</{_TAG}", f"<\\/{_TAG}")  # nothing in it ends it
    return (
        f"Context of agent {workspace.agent.id} from the Carrel workspace {name} ({scope} scope): files, "
        f"not a message of the user.\n<{_TAG}>\n{inner.strip()}\n</{_TAG}>\n{told}"
    ).rstrip()


def _text(assembly: Assembly) -> str:
    return "\n\n".join(text for message in assembly.messages if (text := message.to_text().strip()))


def _cut_in(report: Report) -> tuple[str, ...]:
    return tuple(_cuts(report))


def _cuts(report: Report) -> Iterator[str]:
    for row in report.sections:
        if row.state == "truncated":
            yield f"the rest of {row.name}"
        elif row.state == "excluded" and row.reason != "empty":
            yield row.name


def _listed(names: tuple[str, ...]) -> str:
    more = len(names) - _NAMED
    shown = ", ".join(names[:_NAMED])
    return f"{shown} and {more} more" if more > 0 else shown
