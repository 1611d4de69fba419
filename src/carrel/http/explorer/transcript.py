"""What was said, as pages show it: who said it when, what was called, and where memory was written."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime

from markupsafe import Markup
from msgspec import Struct

from carrel.app import Workspace
from carrel.http.explorer.markup import rendered
from carrel.http.explorer.whose import name_of
from carrel.records.facts import Fact
from carrel.sessions.export import arguments_of, remarks_on, whole_lines
from carrel.sessions.message import Role
from carrel.sessions.placed import Placed
from carrel.sessions.store import UnknownSession
from carrel.sessions.transcript import Compaction, Entry
from carrel.workspace.scope import Scope

PAGE = 100
"""Messages on one page, fewer where they are long."""

_ROOM = 32_000
"""Characters of a page, so that it is light: those of its messages, and of what stands around each."""

_AROUND = 260
_MOST = 3_000
"""Characters of one message; a link shows all of it."""

_WHOLE = 200_000
_SCANNED = 10_000
"""Entries up to which a log is looked through for every summary; of a longer one only the last is told."""

_MOST_FACTS = 1_000


class Called(Struct, frozen=True):
    """One call of a tool: its name, and what it was called with."""

    name: str
    arguments: str


class Said(Struct, frozen=True, kw_only=True):
    """One message as a page shows it; `plain` is its text where it is not Markdown."""

    number: int
    id: str
    role: Role
    speaker: str
    at: datetime | None
    text: Markup
    plain: str
    is_cut: bool
    calls: tuple[Called, ...]
    remarks: tuple[str, ...]
    facts: tuple[Fact, ...] = ()
    boundary: Compaction | None = None
    """The summary that stands from here on for all above."""


class Stretch(Struct, frozen=True, kw_only=True):
    """Some messages of a session, in order, and where those before and after begin."""

    said: tuple[Said, ...]
    total: int
    first: int
    last: int

    @property
    def before(self) -> int | None:
        """The number that the earlier messages come before, none at the beginning."""
        return self.first if self.first > 1 else None

    @property
    def after(self) -> int | None:
        """The number of the next message, none at the end."""
        return self.last + 1 if self.last < self.total else None


class Where(Struct, frozen=True, kw_only=True):
    """From which message on somebody reads, or before which; which is shown whole, and how much there is."""

    first: int = 1
    before: int | None = None
    whole: str = ""
    room: int = _ROOM

    def within(self, total: int) -> tuple[int, int]:
        """Return the number of the first message of a page, and how many it has at most."""
        if self.before is None:
            return self.first, PAGE
        end = min(self.before, total + 1)
        first = max(1, end - PAGE)
        return first, end - first


def stretch(seat: Workspace, session: str, where: Where, scope: Scope) -> Stretch:
    """Return some messages of a session as far as this listener was there."""
    numbered, total = _heard(seat, session, where, scope)
    kept = _fitting(numbered, where.room, is_backwards=where.before is not None)
    is_owner = scope is Scope.MAIN
    learnt = _learnt(seat, session) if is_owner else dict[str, Sequence[Fact]]()
    marks = _boundaries(seat, session, total) if is_owner else dict[int, Compaction]()
    names = _Names(agent=name_of(seat))
    said = tuple(
        _said(placed, names, is_whole=placed.entry.message_id == where.whole, learnt=learnt, marks=marks)
        for placed in kept
    )
    first = kept[0].number if kept else min(where.first, total + 1)
    return Stretch(said=said, total=total, first=first, last=kept[-1].number if kept else total)


def moment_of(timestamp: str) -> datetime | None:
    """Return the moment that a log tells, none where it tells none: others write logs, too."""
    try:
        at = datetime.fromisoformat(timestamp)
        return at.astimezone(UTC) if at.tzinfo else at.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        return None


def _heard(seat: Workspace, session: str, where: Where, scope: Scope) -> tuple[Sequence[Placed], int]:
    """Return at most a page of messages, and how many there are; others' are numbered among themselves."""
    sessions = seat.sessions
    if scope is Scope.MAIN:
        total = sessions.measure(session)[0]
        first, limit = where.within(total)
        return sessions.page(session, first=first, limit=limit).entries, total
    heard = [each.entry for each in sessions.entries(session) if each.entry.scope == Scope.SHARED]
    if not heard:  # whether others were never there, or nobody was, is not said
        raise UnknownSession(session)
    first, limit = where.within(len(heard))
    part = heard[first - 1 : first - 1 + limit]
    return [Placed(number, entry) for number, entry in enumerate(part, first)], len(heard)


def _fitting(placed: Sequence[Placed], room: int, *, is_backwards: bool) -> Sequence[Placed]:
    """Return as many of some messages as one page takes, from the end where it is read backwards."""
    kept: list[Placed] = []
    for each in reversed(placed) if is_backwards else placed:
        room -= _AROUND + min(_MOST, _length(each.entry))
        if kept and room < 0:
            break
        kept.append(each)
    return kept[::-1] if is_backwards else kept


def _length(entry: Entry) -> int:
    return len(entry.to_text()) + sum(len(str(call.arguments)) for call in entry.tool_calls)


class _Names(Struct, frozen=True):
    """What those are called who speak."""

    agent: str

    def of(self, entry: Entry) -> str:
        """Return who said something."""
        match entry.role:
            case "user":
                return entry.sender_id or entry.name or "You"
            case "assistant":
                return self.agent
            case "tool":
                return entry.name or "Tool"
            case _:
                return "System"


def _said(
    placed: Placed,
    names: _Names,
    *,
    is_whole: bool,
    learnt: Mapping[str, Sequence[Fact]],
    marks: Mapping[int, Compaction],
) -> Said:
    entry, most = placed.entry, _WHOLE if is_whole else _MOST
    text = entry.to_text()
    is_plain = entry.role in ("tool", "system")
    return Said(
        number=placed.number,
        id=entry.message_id,
        role=entry.role,
        speaker=names.of(entry),
        at=moment_of(entry.timestamp),
        text=Markup("") if is_plain else rendered(text[:most]),
        plain=text[:most] if is_plain else "",
        is_cut=len(text) > most,
        calls=tuple(Called(call.name, arguments_of(call)[:most]) for call in entry.tool_calls),
        remarks=tuple(remarks_on(entry)),
        facts=tuple(learnt.get(entry.message_id, ())),
        boundary=marks.get(placed.number),
    )


def _learnt(seat: Workspace, session: str) -> Mapping[str, Sequence[Fact]]:
    """Return what was learnt in a session, by the ids of the messages that it came from."""
    found: dict[str, list[Fact]] = {}
    facts = seat.records.facts.find(
        agent=seat.agent.id, session=session, states=("written", "waiting", "superseded"), limit=_MOST_FACTS
    )
    for fact in facts:
        for message in fact.evidence:
            found.setdefault(message, []).append(fact)
    return found


def _boundaries(seat: Workspace, session: str, total: int) -> Mapping[int, Compaction]:
    """Return the summaries of a session by the number of the last message that each stands for."""
    sessions = seat.sessions
    if total > _SCANNED:
        last, seen = sessions.seen(session, scope=Scope.MAIN)
        return {} if last is None else {(seen[0].number - 1 if seen else total): last}
    return dict(_summaries(line.line for line in whole_lines(sessions, session)))


def _summaries(lines: Iterable[object]) -> Iterator[tuple[int, Compaction]]:
    for line in lines:
        if isinstance(line, Compaction):
            yield line.through, line
