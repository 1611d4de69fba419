"""The opposite failure: what owners say and write themselves is kept, promoted and shown, however it sounds."""

import json
from collections.abc import AsyncIterator
from typing import Any, NamedTuple

import pytest
from tests.poison.desk import ASKED, DAY, NOW, Desk, agent, result, user

from carrel.app import Workspace
from carrel.runtime.model import Reply, Request

SAYINGS = {
    "Never deploy on Friday.": "Never deploy on Friday.",
    "Always answer in Spanish when Ana writes.": "Always answer in Spanish when Ana writes.",
    "Do not touch the billing module.": "Do not touch the billing module.",
    "Use tabs, not spaces.": "Use tabs, not spaces.",
    "You must run the linter before every commit.": "The linter must run before every commit.",
    "Ignore warnings in the vendor folder.": "Ignore warnings in the vendor folder.",
    "Send invoices to billing@acme.com.": "Invoices are to be sent to billing@acme.com.",
    "The staging server is at https://staging.acme.com/login.": "The staging server is at https://staging.acme.com/login.",
    "I prefer short replies without emojis.": "The user prefers short replies without emojis.",
    "Remember that our office closes at 18:00.": "The office closes at 18:00.",
    "We decided to use Postgres 16.": "The team decided to use Postgres 16.",
    "When I say ship it, run the checklist first.": "When the user says ship it, run the checklist first.",
    "Delete the old backups every Monday.": "Delete the old backups every Monday.",
    "Mein Chef heisst Krause.": "Der Chef heisst Krause.",
    "All secrets are kept in the vault, never in git.": "All secrets are kept in the vault, never in git.",
}
PAGE = (
    "Deployment guide. Invoices, billing and the office: see the wiki. Run tests and the linter in the folder of "
    "the module. Servers are deployed to staging before Friday. Replies are short. Use spaces. Postgres is fine."
)
HOWS = ("chat", "with tools", "by a tool")


class Taker:
    """A model that takes for facts what was said, with the message that said it."""

    name = "taker"

    async def stream(self, request: Request) -> AsyncIterator[Reply]:
        texts = [message.to_text() for message in request.messages]
        assert texts[0].startswith(ASKED)
        lines = [json.loads(line) for line in texts[1].splitlines() if line.startswith("{")]
        facts: list[dict[str, Any]] = [
            {"text": fact, "kind": "convention", "layer": "project", "evidence": [line["id"]]}
            for line in lines
            for said, fact in SAYINGS.items()
            if "id" in line and line["role"] == "user" and said in line["text"]
        ]
        yield Reply(text=json.dumps({"facts": facts}))


class Kept(NamedTuple):
    """A workspace after its owner has said everything."""

    states: dict[str, str]
    waiting: list[str]
    trusts: dict[str, tuple[str, str, str]]
    shown: str
    notebook: str


def say(workspace: Workspace, how: str, session: str, said: str) -> str:
    """Let the owner say something, and return what became of it if the model writes it down itself."""
    state = ""
    if how == "chat":
        workspace.record(session, [user(said)])
    else:
        workspace.record(
            session,
            [user(f"Have a look at the guide. {said}"), *result(PAGE, "fetch", url="https://acme.com")],
        )
    if how == "by a tool":
        state = workspace.tools(session=session).call("memory_write", {"action": "add", "text": said})[
            "state"
        ]
    workspace.record(session, [agent("All right.")])
    return state


def kept(desk: Desk, how: str) -> Kept:
    with desk.open() as workspace:
        states = {said: say(workspace, how, f"s{number}", said) for number, said in enumerate(SAYINGS)}
        workspace.sweep(model=Taker())
        facts = workspace.memory.facts(limit=1_000)
        trusts = {fact.text: (fact.state, fact.trust, fact.reason) for fact in facts}
        waiting = [proposal.new for proposal in workspace.memory.review.waiting()]
    return Kept(states, waiting, trusts, desk.shown(), (desk.root / "memory/kate.md").read_text())


@pytest.fixture(scope="module")
def said(tmp_path_factory):
    """Everything is said once in each way, when the first case asks for it."""
    done: dict[str, Kept] = {}

    def saying(how: str) -> Kept:
        if how not in done:
            done[how] = kept(Desk(tmp_path_factory.mktemp("owner")), how)
        return done[how]

    return saying


@pytest.mark.parametrize("words", SAYINGS)
@pytest.mark.parametrize("how", HOWS)
def test_what_an_owner_says_is_written_at_once_and_in_the_next_prompt(said, how, words):
    kept = said(how)
    fact = words if how == "by a tool" else SAYINGS[words]
    if how == "by a tool":
        assert kept.states[words] == "written"
    assert kept.trusts[fact] == ("written", "owner", "")
    assert f"- {fact}" in kept.notebook
    assert fact in kept.shown
    assert [each for each in kept.waiting if fact in each] == []


def test_what_rules_take_from_an_owners_words_waits_for_nobody(tmp_path):
    desk = Desk(tmp_path)
    with desk.open() as workspace:
        for number, words in enumerate(SAYINGS):
            say(workspace, "with tools", f"s{number}", words)
        workspace.sweep()
        facts = workspace.memory.facts(limit=100)
        assert len(facts) >= 4
        assert {(fact.state, fact.trust) for fact in facts} == {("written", "owner")}
        assert workspace.memory.review.waiting() == []


PLACES = {
    "notebook": ("memory/kate.md", "## Insights\n\n{bullets}"),
    "journal": ("memory/2026-04-20.md", "{bullets}"),
    "journal with hours": ("memory/2026-04-21.md", "{entries}"),
    "sessions": ("", ""),
}


def dreamt(desk: Desk, place: str) -> tuple[dict[str, str], str, int]:
    """Let everything be recalled on three days, and dream."""
    path, shape = PLACES[place]
    bullets = "".join(f"- {words}\n" for words in SAYINGS)
    entries = "".join(f"- 09:{number:02} [note] {words}\n" for number, words in enumerate(SAYINGS))
    if path:
        desk.put({path: shape.format(bullets=bullets, entries=entries)})
    else:
        with desk.open(NOW - 4 * DAY) as workspace:
            for number, words in enumerate(SAYINGS):
                workspace.record(f"s{number}", [user(words), agent("All right.")])
    for days in (3, 2, 1):
        with desk.open(NOW - days * DAY) as workspace:
            tools = workspace.tools(session=f"day{days}")
            for words in SAYINGS:
                tools.call("memory_search", {"query": f"{words} {days}", "limit": 3})
    with desk.open() as workspace:
        judged = workspace.dreaming.look().plan.judged
        workspace.dreaming.run()
        waiting = len(workspace.memory.review.waiting())
    states = {each.candidate.text: each.reason or each.state for each in judged}
    return states, (desk.root / "MEMORY.md").read_text(), waiting


@pytest.fixture(scope="module")
def dreams(tmp_path_factory):
    """One dream for each place in which the owner has written or said everything."""
    done: dict[str, tuple[dict[str, str], str, int]] = {}

    def dream(place: str) -> tuple[dict[str, str], str, int]:
        if place not in done:
            desk = Desk(tmp_path_factory.mktemp("dream"), files={"AGENTS.md": "Be brief.\n"})
            done[place] = dreamt(desk, place)
        return done[place]

    return dream


@pytest.mark.parametrize("words", SAYINGS)
@pytest.mark.parametrize("place", PLACES)
def test_what_an_owner_wrote_by_hand_or_said_is_promoted_when_it_is_recalled(dreams, place, words):
    states, memory, waiting = dreams(place)
    assert states[words] == "ready"
    assert f"- {words} _(score=" in memory
    assert waiting == 0


@pytest.mark.parametrize(
    "path", ["MEMORY.md", "USER.md", "AGENTS.md", "memory/kate.md", "memory/2026-04-24.md"]
)
def test_what_an_owner_writes_into_a_file_by_hand_is_in_the_prompt_as_it_is(tmp_path, path):
    desk = Desk(tmp_path)
    lines = "".join(f"- {words}\n" for words in SAYINGS)
    desk.put({path: f"# Mine\n\n{lines}"})
    with desk.open() as workspace:
        workspace.sweep()
    shown = desk.shown()
    assert [words for words in SAYINGS if words not in shown] == []
    assert (desk.root / path).read_text() == f"# Mine\n\n{lines}"
