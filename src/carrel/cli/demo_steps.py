"""The story of the demo: ten steps, each with what it shows, what is typed, and what was then observed.

A claim is checked against the workspace itself, through the library and in another process than the one
that was typed; one that does not hold ends the demo with an error.
"""

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timedelta
from signal import SIGKILL
from typing import Any

from msgspec import Struct

from carrel.cli.demo_stage import Ran, Stage
from carrel.records.dreams import Promotion
from carrel.records.facts import Fact

FACT = "The launch is on 12 May."
DATE = "12 May"
"""What of the fact must not be found where it is hidden."""
DECISION = "We decided to use PostgreSQL."
WHO = "What does Luis make?"
WHEN = "When is the launch?"
TOLD, KILLED, ASKED = "kick-off", "stack", "mail"
"""Sessions: where the fact is told, where the process is killed, and where the fact is asked for."""
_DAYS = ("today", "yesterday", "two days ago", "three days ago")
_SLOWLY = 0.2
"""Seconds a word, as a model that thinks: else there is no middle of an answer to be killed in."""


class Seen(Struct, frozen=True, kw_only=True):
    """What a step claims, whether that was observed, and what was observed."""

    claim: str
    holds: bool
    observed: Mapping[str, Any]


class Step(Struct, frozen=True):
    """One step: its title, one sentence of what it shows, and what is done in it."""

    title: str
    shows: str
    act: Callable[["Story"], Seen]


class Told(Struct, frozen=True, kw_only=True):
    """A step that was told: what was typed in it, and what was seen."""

    step: Step
    ran: tuple[Ran, ...]
    seen: Seen

    def to_json(self, number: int) -> dict[str, Any]:
        """Return it as a machine reads it."""
        commands = [
            {"command": ran.command, "code": ran.code, "seconds": ran.seconds, "printed": ran.printed}
            for ran in self.ran
        ]
        return {
            "number": number,
            "title": self.step.title,
            "shows": self.step.shows,
            "commands": commands,
            "claim": self.seen.claim,
            "holds": self.seen.holds,
            "observed": self.seen.observed,
        }


class Story(Struct):
    """A stage, the day on which the story ends, and what MEMORY.md was before the dream."""

    stage: Stage
    today: datetime
    before: bytes = b""

    @property
    def memory(self) -> bytes:
        """MEMORY.md, to the byte."""
        return (self.stage.root / "MEMORY.md").read_bytes()

    def day(self, back: int) -> None:
        """Let it be the morning of today, or of a day before it."""
        morning = (self.today - timedelta(days=back)).replace(hour=9, minute=0, second=0)
        self.stage.at(f"{morning:%Y-%m-%dT%H:%M}", _DAYS[back])

    def fact(self) -> Fact:
        """Return the fact as memory has it now."""
        with self.stage.open() as ada:
            return next(fact for fact in ada.memory.facts() if fact.text == FACT)

    def said(self, session: str) -> list[tuple[str, str, str]]:
        """Return the messages of a session: their ids, who said them, and what."""
        with self.stage.open() as ada:
            entries = [placed.entry for placed in ada.sessions.entries(session)]
        return [(entry.message_id, entry.role, entry.to_text()) for entry in entries]


def tell(story: Story) -> Iterator[Told]:
    """Tell the story, step by step."""
    stage = story.stage
    for number, step in enumerate(STEPS, 1):
        stage.screen.heading(number, len(STEPS), step.title, step.shows)
        begun = len(stage.ran)
        seen = step.act(story)
        stage.screen.holds(seen.claim, is_true=seen.holds)
        yield Told(step=step, ran=tuple(stage.ran[begun:]), seen=seen)


def _appears(story: Story) -> Seen:
    stage = story.stage
    stage.run("carrel init ada")
    stage.run('echo "Luis, in Bogota, makes Harbour, an app for ports." >> ada/USER.md')
    files = sorted(
        path.relative_to(stage.root).as_posix()
        for path in stage.root.rglob("*")
        if path.is_file() and ".carrel" not in path.parts
    )
    size = sum((stage.root / path).stat().st_size for path in files)
    return Seen(
        claim=f"{len(files)} files, {size:,} bytes, no service and no account behind them.",
        holds={"SOUL.md", "AGENTS.md", "USER.md", "MEMORY.md"} <= set(files),
        observed={"files": files, "bytes": size},
    )


def _is_read(story: Story) -> Seen:
    story.stage.run("carrel -C ada context report")
    with story.stage.open() as ada:
        report = ada.assemble().report
        prefixes = {ada.assemble(query=asked).report.prefix.sha256 for asked in ("Hello!", WHEN)}
    rows = {row.name: row.tokens for row in report.sections if row.tokens}
    tokens = report.tokens
    return Seen(
        claim=f"The {len(rows)} sections add up to all {tokens.used:,} tokens; the first "
        f"{report.prefix.tokens:,} of them are the same bytes whatever is asked.",
        holds=sum(rows.values()) == tokens.used and prefixes == {report.prefix.sha256},
        observed={
            "used": tokens.used,
            "window": tokens.window,
            "prefix": report.prefix.tokens,
            "sections": rows,
        },
    )


def _is_talked_to(story: Story) -> Seen:
    story.day(3)
    story.stage.run(f"printf '{WHO}\\n{FACT}\\n' |\n  carrel -C ada chat --session {TOLD}")
    said = story.said(TOLD)
    return Seen(
        claim=f"{len(said)} messages are in the session's file, in the order in which they were said.",
        holds=[role for _, role, _ in said] == ["user", "assistant"] * 2
        and [text for _, role, text in said if role == "user"] == [WHO, FACT],
        observed={"session": TOLD, "messages": [{"role": role, "text": text} for _, role, text in said]},
    )


def _is_learnt(story: Story) -> Seen:
    story.stage.run("carrel -C ada memory extract")
    story.stage.run("carrel -C ada memory facts")
    fact = story.fact()
    source = [text for message, _, text in story.said(TOLD) if message in fact.evidence]
    return Seen(
        claim=f"Its evidence is message {fact.evidence[0][:8]}… of {fact.session}: “{' '.join(source)}”",
        holds=fact.session == TOLD and source == [FACT],
        observed={
            "fact": fact.text,
            "file": fact.path,
            "session": fact.session,
            "messages": list(fact.evidence),
            "said": source,
        },
    )


def _is_found(story: Story) -> Seen:
    story.stage.run(f'carrel -C ada search "{WHEN}" --limit 1 --explain')
    with story.stage.open() as ada:
        first = ada.search(WHEN, limit=1).hits[0].chunk
    fact = story.fact()
    return Seen(
        claim="What is found first is the very message that the fact names.",
        holds=(first.session, (first.message_id,)) == (fact.session, fact.evidence),
        observed={
            "path": first.path,
            "line": first.line,
            "session": first.session,
            "message": first.message_id,
        },
    )


def _survives(story: Story) -> Seen:
    stage = story.stage
    before = story.fact()
    command = f"carrel -C ada chat --session {KILLED} --pace {_SLOWLY}"
    killed = stage.kill(command, said=DECISION, after="understood, which")
    stage.run(f"carrel -C ada chat --session {KILLED} < /dev/null")
    stage.run("carrel -C ada memory facts")
    after = [{"role": role, "text": text} for _, role, text in story.said(KILLED)]
    is_kept, is_same = {"role": "user", "text": DECISION} in after, story.fact() == before
    return Seen(
        claim=f"Signal {-killed.code} ended it in the middle of a sentence; what was said a moment before is "
        "there, and so is the fact.",
        holds=killed.code == -SIGKILL and is_kept and is_same,
        observed={
            "signal": -killed.code,
            "printed_before": killed.printed,
            "messages": after,
            "fact_is_unchanged": is_same,
        },
    )


def _is_recalled(story: Story) -> Seen:
    story.day(2)
    answer = story.stage.run(f'echo "{WHEN}" | carrel -C ada chat --session {ASKED}')
    told = [text for _, role, text in story.said(ASKED) if role == "user"]
    return Seen(
        claim=f"Session {ASKED} was not told it; the answer names the places it is from.",
        holds=told == [WHEN] and f"sessions/{TOLD}.log.jsonl" in answer and "memory/main.md" in answer,
        observed={"session": ASKED, "told": told, "answer": answer},
    )


def _is_hidden(story: Story) -> Seen:
    stage = story.stage
    show = f'context show --query "{WHEN}"'
    counted = f'|\n  grep "{DATE}" | wc -c'
    mine = stage.run(f"carrel -C ada {show} {counted}")
    others = stage.run(f"carrel -C ada --scope shared {show} {counted}")
    stage.run(f'carrel -C ada --scope shared search "{WHEN}"')
    stage.run("carrel -C ada context diff --scopes")
    with stage.open() as ada:
        sent = ada.assemble(query=WHEN, scope="shared").to_text()
        hits = ada.search(WHEN, scope="shared").hits
    return Seen(
        claim=f"Of {len(sent.encode()):,} bytes that the model of a group chat would read, {int(others)} are "
        "of the fact, and a search there finds nothing.",
        holds=int(mine) > 0 == int(others) and DATE not in sent and not hits,
        observed={
            "main_bytes": int(mine),
            "shared_bytes": int(others),
            "shared_context": sent,
            "shared_hits": len(hits),
        },
    )


def _is_promoted(story: Story) -> Seen:
    stage = story.stage
    story.before = story.memory
    story.day(1)
    stage.run('echo "On which day in May is the launch?" |\n  carrel -C ada chat --session plan')
    story.day(0)
    stage.run(f'echo "{WHEN}" | carrel -C ada chat --session today')
    stage.run("carrel -C ada dream run")
    with stage.open() as ada:
        dream, outlook = ada.dreaming.status().last, ada.dreaming.look()
    promoted = [_promoted(each) for each in dream.promotions] if dream else []
    own = [each.candidate.text for each in outlook.plan.judged if each.reason == "agents_words"]
    is_kept = [each["text"] for each in promoted] == [FACT] and FACT in story.memory.decode()
    return Seen(
        claim="MEMORY.md has it: it was recalled often, for more than one question and on more than one day; "
        f"{len(own)} answers of the agent's own were recalled as well, and stay out.",
        holds=is_kept and all(each["days"] > 1 < each["recalls"] for each in promoted) and bool(own),
        observed={"promoted": promoted, "left_out": own, "memory": story.memory.decode()},
    )


def _promoted(each: Promotion) -> dict[str, Any]:
    numbers = {"recalls": each.hits, "days": each.days, "score": each.score}
    return {"text": each.text, **numbers, "session": each.session, "messages": list(each.evidence)}


def _is_undone(story: Story) -> Seen:
    story.stage.run("carrel -C ada dream revert")
    story.stage.run("cat ada/MEMORY.md")
    return Seen(
        claim="MEMORY.md is byte for byte what it was before the dream.",
        holds=story.memory == story.before and FACT not in story.memory.decode(),
        observed={"before": story.before.decode(), "after": story.memory.decode()},
    )


STEPS = (
    Step(
        "A workspace appears",
        "An agent is a directory of Markdown, to read, to edit and to keep in git.",
        _appears,
    ),
    Step(
        "What the model would read",
        "The files become the prompt, in a fixed order and inside budgets.",
        _is_read,
    ),
    Step(
        "A conversation",
        "What is said is on disk before the model (here the offline one) is asked.",
        _is_talked_to,
    ),
    Step(
        "A fact is learnt",
        "A chat does this by itself while you read on; here it is asked for.",
        _is_learnt,
    ),
    Step(
        "It is found, with its evidence",
        "Files, memory and everything that was ever said are searched at once.",
        _is_found,
    ),
    Step(
        "It survives a kill",
        "SIGKILL in the middle of an answer: a process can save nothing on its way out.",
        _survives,
    ),
    Step(
        "It is recalled in another session",
        "A day later, in a new process and a session that was told nothing.",
        _is_recalled,
    ),
    Step(
        "In a group chat it does not exist",
        "In shared scope the owner's files, memory and sessions are left out.",
        _is_hidden,
    ),
    Step(
        "A dream promotes it, and says why",
        "What is asked for again, on other days, in other words, goes to MEMORY.md.",
        _is_promoted,
    ),
    Step(
        "Undo takes it back",
        "A change of memory can be taken back, as if it had not been.",
        _is_undone,
    ),
)
