"""A consolidation before anything is written: what is new, what memory would say, and what would go where."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, time
from difflib import unified_diff
from hashlib import sha256

from msgspec import Struct
from msgspec.structs import replace

from carrel.memory.consolidate.journals import ARCHIVE, Batch, Left
from carrel.memory.consolidate.pieces import Bullet, Material, Piece, Writer, says_all
from carrel.memory.consolidate.region import (
    HEADING,
    Topic,
    composed,
    digest_of,
    outside_of,
    region_of,
    topics_of,
    with_region,
)
from carrel.memory.consolidate.state import Plan, State
from carrel.memory.dream.statements import statements
from carrel.memory.fact import fact_id, key_of
from carrel.memory.judging import INJECTION
from carrel.memory.trust import least
from carrel.records.facts import Fact

_CONTEXT = 3
_SPARE = 40  # tokens for the heading, and for what counting line by line misses


class Ground(Struct, frozen=True, kw_only=True):
    """What a run begins with: memory's text, none where there is no file, and what of it Carrel wrote.

    `mark` is the last change of memory before it.
    """

    agent: str
    target: str
    folder: str
    text: str | None
    ours: Mapping[str, Sequence[Fact]]
    state: State
    now: datetime
    mark: int
    rebuilding: bool = False
    tokens: int
    count: Callable[[str], int]

    @property
    def topics(self) -> tuple[Topic, ...]:
        """The region as it is."""
        own = {line for line, facts in self.ours.items() if not any(fact.pinned for fact in facts)}
        return topics_of(region_of(self.text or ""), own, self.state.topics)


class Draft(Struct, frozen=True, kw_only=True):
    """What a run would do: its plan, memory before and after it, and what becomes of the entries."""

    plan: Plan
    before: str
    after: str
    added: tuple[str, ...]
    removed: tuple[str, ...]
    batch: Batch

    @property
    def left(self) -> Mapping[Left, int]:
        """How many entries are left out, by why."""
        return self.batch.left

    def diff(self) -> str:
        """Return what would change in memory, as a unified diff."""
        lines = unified_diff(
            self.before.splitlines(),
            self.after.splitlines(),
            self.plan.target,
            self.plan.target,
            lineterm="",
            n=_CONTEXT,
        )
        return "\n".join(lines)


def material_of(ground: Ground, batch: Batch) -> Material:
    """Return what may be written of a batch; what stands beside it takes its part of the room."""
    topics, outside = ground.topics, outside_of(ground.text or "")
    kept = [line for topic in topics for line in (topic.heading, *topic.kept) if line]
    used = ground.count(outside) + sum(ground.count(f"{line}\n") for line in kept) + _SPARE
    beside = [each.text for text in (outside, "\n".join(kept)) for each in statements(text)]
    return Material(
        known=tuple(
            _known(ground.ours[line], topic.words) for topic in topics for line in dict.fromkeys(topic.lines)
        ),
        new=batch.pieces,
        kept=tuple(dict.fromkeys(beside)),
        room=max(0, ground.tokens - used),
    )


def draft_of(ground: Ground, batch: Batch, write: Writer) -> Draft:
    """Return what a run would do; where nothing is new to memory, nobody is asked to write."""
    material = material_of(ground, batch)
    known = {piece.form for piece in material.known} | {_form(text) for text in material.kept}
    has_new = any(piece.form not in known for piece in material.new)
    bullets = write(material) if has_new else [_same(piece) for piece in material.known]
    old = ground.text or ""
    region = composed(ground.topics, bullets)
    after = with_region(ground.text, region) or old
    lines = {bullet.line for bullet in bullets}
    gone = [piece for piece in material.known if f"- {piece.text}" not in lines]
    standing = {f"- {piece.text}" for piece in material.known}
    new = [bullet for bullet in bullets if bullet.line not in standing]
    plan = replace(_plan(ground, batch, region, new, gone), topics=_own_topics(ground, bullets))
    return Draft(
        plan=plan,
        before=old,
        after=after,
        added=tuple(bullet.text for bullet in new),
        removed=tuple(piece.text for piece in gone),
        batch=batch,
    )


def _plan(
    ground: Ground,
    batch: Batch,
    region: str,
    new: Sequence[Bullet],
    gone: Sequence[Piece],
) -> Plan:
    before = digest_of(region_of(ground.text or ""))
    own = sha256(
        f"{ground.now.isoformat()}\0{ground.mark}\0{before}\0{region}".encode("utf-8", "surrogatepass")
    )
    number = own.hexdigest()[:12]
    goes_on = ground.rebuilding and bool(batch.days)
    facts = [fact for bullet in new for fact in _facts(bullet, ground, number)]
    said = {fact: _said_by(piece, facts) for piece in gone for fact in piece.facts}
    # A bullet that stood here before, and that its owner has taken out since, is another fact now.
    again = {old.id: fact.id for fact in facts for old in ground.ours.get(fact.line, ())}
    return Plan(
        id=number,
        at=ground.now,
        mark=ground.mark,
        target=ground.target,
        before=before,
        region=region,
        facts=tuple(_replacing(fact, said) for fact in facts),
        gone=said | again,
        archive=f"{ground.folder}/{ARCHIVE}/MEMORY-{ground.now:%Y-%m}.md",
        fallen=tuple(f"- {piece.text}" for piece in gone if not any(said[fact] for fact in piece.facts)),
        waiting=tuple(_waiting(piece, ground) for piece in batch.waiting),
        files={name: taken for name, taken in batch.files.items() if goes_on or "/" not in name},
        rebuilding=goes_on,
    )


def _own_topics(ground: Ground, bullets: Sequence[Bullet]) -> tuple[str, ...]:
    """Return the topics whose headings are Carrel's own."""
    owners = {topic.words for topic in ground.topics if topic.heading and not topic.is_own}
    return tuple(dict.fromkeys(each.topic for each in bullets if each.topic not in owners))


def _known(facts: Sequence[Fact], topic: str) -> Piece:
    """Return a bullet that stands, with all that its facts are known by."""
    evidence = (
        f"{fact.session}/{each}" if fact.session else each for fact in facts for each in fact.evidence
    )
    return Piece(
        text=facts[0].text,
        day=max(fact.at for fact in facts).date().isoformat(),
        topic=topic,
        trust=least(fact.trust for fact in facts),
        evidence=tuple(dict.fromkeys(evidence)),
        facts=tuple(fact.id for fact in facts),
    )


def _same(piece: Piece) -> Bullet:
    return Bullet(text=piece.text, topic=piece.topic, sources=(piece,))


def _form(text: str) -> str:
    return Piece(text=text, day="").form


def _said_by(piece: Piece, facts: Sequence[Fact]) -> str:
    """Return the id of the new bullet that says what another one said, nothing where none does."""
    return next((fact.id for fact in facts if says_all(fact.text, piece)), "")


def _replacing(fact: Fact, said: Mapping[str, str]) -> Fact:
    """Return a fact with the one that it takes the place of, so that an undo brings that back."""
    old = [each for each, by in said.items() if by == fact.id]
    return replace(fact, replaces=old[0]) if len(old) == 1 else fact


def _facts(bullet: Bullet, ground: Ground, number: str) -> Iterator[Fact]:
    """Yield a bullet as facts, one for each session that it comes from, so that each of them finds it.

    Each is trusted as far as the least of what the bullet was made of.
    """
    for session, evidence in _by_session(bullet.evidence).items():
        yield Fact(
            id=fact_id(ground.agent, f"consolidation {number}", (session,), bullet.text),
            agent=ground.agent,
            layer="project",
            kind="note",
            text=bullet.text,
            key=key_of(bullet.text),
            at=_moment(bullet.day, ground.now),
            session=session,
            evidence=evidence,
            trust=bullet.trust,
            state="written",
            reason=f"Consolidation {number}.",
            path=ground.target,
            section=HEADING,
            line=bullet.line,
        )


def _by_session(evidence: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Return the messages of each session, and below none the entries that are of no session."""
    found: dict[str, tuple[str, ...]] = {}
    for each in evidence:
        session, _, message = ("", "", each) if each.startswith("#") else each.partition("/")
        found[session] = (*found.get(session, ()), *filter(None, (message,)))
    return found


def _waiting(piece: Piece, ground: Ground) -> Fact:
    """Return an entry that reads like an order as a fact that waits for its owner's word."""
    session, evidence = next(iter(_by_session(piece.evidence).items()))
    return Fact(
        id=fact_id(ground.agent, "consolidation", piece.evidence, piece.text),
        agent=ground.agent,
        layer="project",
        kind="note",
        text=piece.text,
        key=key_of(piece.text),
        at=_moment(piece.day, ground.now),
        session=session,
        evidence=evidence,
        trust=piece.trust,
        reason=INJECTION,
    )


def _moment(day: str, otherwise: datetime) -> datetime:
    try:
        return datetime.combine(date.fromisoformat(day), time(), UTC)
    except ValueError:
        return otherwise
