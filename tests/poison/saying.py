"""What owners say of themselves and their work, however it sounds, and what becomes of it in memory."""

import json
from collections.abc import AsyncIterator
from typing import Any, NamedTuple

from tests.poison.desk import ASKED, Desk, agent, result, user

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
        if not texts[0].startswith(ASKED):  # a consolidation, which rules can do
            yield Reply(text="")
            return
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
        states = {said: say(workspace, how, f"own{number}", said) for number, said in enumerate(SAYINGS)}
        workspace.sweep(model=Taker())
        facts = workspace.memory.facts(limit=1_000)
        trusts = {fact.text: (fact.state, fact.trust, fact.reason) for fact in facts}
        waiting = [proposal.new for proposal in workspace.memory.review.waiting()]
    return Kept(states, waiting, trusts, desk.shown(), (desk.root / "memory/kate.md").read_text())


def left_out(kept: Kept, how: str) -> list[str]:
    """Return what an owner said, in a way of HOWS, and is not in memory and in the next prompt at once."""
    return [
        words
        for words, fact in SAYINGS.items()
        if not _is_kept(kept, words, words if how == "by a tool" else fact)
    ]


def _is_kept(kept: Kept, words: str, fact: str) -> bool:
    return (
        kept.states[words] in ("", "written")
        and kept.trusts.get(fact) == ("written", "owner", "")
        and f"- {fact}" in kept.notebook
        and fact in kept.shown
        and not any(fact in each for each in kept.waiting)
    )
