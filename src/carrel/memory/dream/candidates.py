"""Candidates: what was recalled, by what it says, however many places and passages it was recalled from."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from datetime import datetime, timedelta, tzinfo
from functools import cache, partial

from msgspec import Struct

from carrel.memory.dream.gates import Gate, gates_of
from carrel.memory.dream.score import Signals, Signs, score_of, signs_of
from carrel.memory.dream.statements import statements
from carrel.memory.fact import key_of, normalise
from carrel.records.facts import Trust
from carrel.records.recalls import QUARTER, WORTH, Remembered
from carrel.settings import DreamingSettings

TIERS = ("journal", "profile", "session")
"""What may be promoted: what an agent wrote down, and what was said; never documents, knowledge or skills."""

_DIARY = "dreams.md"
_NEVER = frozenset(("memory.md", "user.md"))
"""At the top of a workspace: what dreaming writes, and what every prompt has anyway."""

_EPOCH = datetime.fromisoformat("1970-01-01T00:00:00+00:00")
_DAY = timedelta(days=1)
_FIRST = datetime.fromisoformat("0002-01-01T00:00:00+00:00")  # before it, some zones have no time


class Said(Struct, frozen=True, kw_only=True):
    """One message of a session: its text, how far it may be trusted, and where it stands."""

    text: str
    trust: Trust
    session: str
    message_id: str
    line: int


Messages = Callable[[str, int, int], Iterable[Said]]
"""Returns so many messages of the session whose log this is, from one on; nothing where there are none."""


class Source(Struct, frozen=True, kw_only=True):
    """A place where a candidate was recalled from; `said` is who said it there, in a session."""

    tier: str
    path: str
    line: int
    said: Said | None = None


class Candidate(Struct, frozen=True, kw_only=True):
    """A memory that was recalled: what it says, where it stands, and how it does at the gates."""

    key: str
    text: str
    sources: tuple[Source, ...]
    signals: Signals
    score: float
    settings: DreamingSettings

    @property
    def signs(self) -> Signs:
        """The signs that its score is made of."""
        return signs_of(self.signals, self.settings.half_life_days)

    @property
    def gates(self) -> tuple[Gate, ...]:
        """Each gate with its value and its threshold."""
        return gates_of(self.signals, self.score, self.settings)

    @property
    def passes(self) -> bool:
        """Whether every gate is open."""
        return all(gate.is_open for gate in self.gates)


class Recalled(Struct, frozen=True, kw_only=True):
    """What was recalled, as far as it may be promoted: texts with their recalls, and who knows the messages.

    `target` is the file that is promoted to, which is no source. `again` has the keys of what was taken back,
    with the recalls since then: only these count for it.
    """

    texts: Sequence[Remembered]
    messages: Messages
    home: str
    target: str
    again: Sequence[tuple[Collection[str], Sequence[Remembered]]] = ()


def candidates(
    recalled: Recalled, settings: DreamingSettings, *, now: datetime, zone: tzinfo
) -> list[Candidate]:
    """Return what was recalled, the best first, each with its score and its gates."""
    gathered = _gather(recalled, recalled.texts)
    for keys, texts in recalled.again:
        later = _gather(recalled, texts)
        gathered = {key: group for key, group in gathered.items() if key not in keys}
        gathered |= {key: later[key] for key in keys if key in later}
    weigh = partial(_weighed, settings=settings, now=now, day_of=cache(partial(_day_of, zone=zone)))
    found = [weigh(key, group) for key, group in gathered.items()]
    return sorted(found, key=lambda each: (-each.score, -each.signals.hits, each.key))


def is_source(path: str, home: str, target: str) -> bool:
    """Tell whether what stands in a file may be promoted: what dreaming writes is never what it reads."""
    inner = path.removeprefix(home)
    name = inner.rpartition("/")[2].casefold()
    return path != target and name != _DIARY and ("/" in inner or name not in _NEVER)


class _Group:
    """All recalls of what says the same."""

    def __init__(self) -> None:
        self.hits = 0
        self.worth = 0
        self.last = _EPOCH
        self.queries: set[int] = set()
        self.quarters: set[int] = set()
        self.texts: dict[str, int] = {}
        self.sources: dict[tuple[str, int, str], Source] = {}

    def add(self, row: Remembered, text: str, source: Source) -> None:
        """Take in the recalls of one text from one place."""
        self.hits += row.hits
        self.worth += row.worth
        self.last = max(self.last, row.last)
        self.queries |= row.queries
        self.quarters |= row.quarters
        self.texts[text] = self.texts.get(text, 0) + row.hits
        self.sources.setdefault((source.path, source.line, source.tier), source)


def _gather(recalled: Recalled, rows: Iterable[Remembered]) -> dict[str, _Group]:
    """Return the recalls of everything that was stated, by its key."""
    found: dict[str, _Group] = {}
    keys = cache(key_of)
    for row in rows:
        told: dict[str, tuple[str, Source]] = {}
        for text, source in _stated(recalled, row):
            told.setdefault(keys(text), (text, source))  # one passage may say the same twice
        for key, (text, source) in told.items():
            if (group := found.get(key)) is None:
                group = found[key] = _Group()
            group.add(row, text, source)
    return found


def _stated(recalled: Recalled, row: Remembered) -> Iterator[tuple[str, Source]]:
    """Yield what a text that was recalled states, each with its place."""
    if row.tier not in TIERS or not is_source(row.path, recalled.home, recalled.target):
        return
    if row.tier == "session":
        for said in _spoken(recalled.messages, row):
            if text := normalise(said.text):
                yield text, Source(tier=row.tier, path=row.path, line=said.line, said=said)
    else:
        source = Source(tier=row.tier, path=row.path, line=row.line)
        for statement in statements(row.text, in_journal=row.tier == "journal"):
            if not statement.is_dreamt:
                yield statement.text, source


def _spoken(messages: Messages, row: Remembered) -> Iterator[Said]:
    """Yield the messages of a passage: those that stand in it one after the other, from its first on.

    Each begins a line, so there are no more of them than lines; a long message is recalled in parts.
    """
    passage, at = row.text, 0
    for said in messages(row.path, row.line, 1 + row.text.count("\n")):
        text = said.text.replace("\r\n", "\n").replace("\r", "\n")
        found = passage.find(text, at) if text.strip() else -1
        if found < 0 and (at or passage not in text):
            return
        yield said
        at = found + len(text)


def _weighed(
    key: str, group: _Group, *, settings: DreamingSettings, now: datetime, day_of: Callable[[int], int]
) -> Candidate:
    signals = Signals(
        hits=group.hits,
        queries=len(group.queries),
        days=len({day_of(quarter) for quarter in group.quarters}),
        relevance=group.worth / (WORTH * group.hits),
        age=max((now - group.last) / _DAY, 0.0),
    )
    return Candidate(
        key=key,
        text=min(group.texts, key=lambda text: (-group.texts[text], text)),
        sources=tuple(group.sources[place] for place in sorted(group.sources)),
        signals=signals,
        score=score_of(signs_of(signals, settings.half_life_days), settings.weights),
        settings=settings,
    )


def _day_of(quarter: int, zone: tzinfo) -> int:
    """Return the day on which a quarter of an hour was, as this zone has it."""
    moment = max(_EPOCH + quarter * timedelta(microseconds=QUARTER), _FIRST)
    return moment.astimezone(zone).toordinal()
