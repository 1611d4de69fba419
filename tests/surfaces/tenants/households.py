"""Three tenants with the same names on every door: each full of a word of its own that no other may hear."""

import base64
from collections.abc import Iterator
from hashlib import sha256

from msgspec import Struct
from tests.unit.http.served import NOW

from carrel import Workspace
from carrel.records.dreams import Dream, Promotion
from carrel.records.facts import Fact
from carrel.records.keys import Key, mint
from carrel.records.recalls import RecallEvent
from carrel.records.usage import Spent

WORKSPACE = "studio"
AGENT = "main"


class Household(Struct, frozen=True, kw_only=True):
    """One tenant: `word` and `figure` stand in all that it has, and nobody else ever says them.

    `rare` stands in one of its files: others may ask for it.
    """

    name: str
    word: str
    figure: int
    rare: str
    more: int
    """How many more it has of what is numbered, so that some numbers are nobody else's."""

    @property
    def address(self) -> str:
        return f"pg://{self.name}/{WORKSPACE}"

    @property
    def served_as(self) -> str:
        return f"{self.name}.{WORKSPACE}"

    def says(self, about: str) -> str:
        return f"The harbour ledger of {about} says {self.word} {self.figure}."

    def secrets(self) -> Iterator[bytes]:
        """Yield all that gives its word away, in small letters where these tell enough."""
        for secret in (self.word, str(self.figure)):
            data = secret.encode()
            yield from (
                data.lower(),
                data.hex().encode(),
                data[::-1].lower(),
                sha256(data).hexdigest().encode(),
            )
        for start in range(3):
            data = b"\0" * start + self.word.encode()
            whole = (len(data) // 3) * 3
            yield base64.b64encode(data[:whole])[4 if start else 0 :]


HOUSEHOLDS = (
    Household(name="amber", word="Xylorimba7q", figure=771_300_419, rare="quokka", more=1),
    Household(name="birch", word="Vuvuzela3k", figure=882_400_523, rare="axolotl", more=2),
    Household(name="cedar", word="Theremin9w", figure=993_500_617, rare="pangolin", more=3),
)
BY_NAME = {each.name: each for each in HOUSEHOLDS}


def neighbour(household: Household) -> Household:
    """The one whose things a household asks for."""
    return HOUSEHOLDS[(HOUSEHOLDS.index(household) + 1) % len(HOUSEHOLDS)]


def files_of(own: Household) -> dict[str, str]:
    """The same paths for all, and some that only one has."""
    return {
        "carrel.yaml": f"layout: carrel\nworkspace: {{name: {own.word}}}\nuser: {{name: {own.word}}}\n"
        f"agents:\n  - {{id: {AGENT}, displayName: {own.word}, profile: sailor}}\n",
        "USER.md": f"{own.says('the user')}\n",
        "MEMORY.md": f"# Memory\n\n## People\n\n- {own.says('people')}\n\n## {own.name} things\n\n- {own.word}\n",
        "memory/2026-04-23.md": f"- 10:00 [note] {own.says('yesterday')}\n",
        "knowledge/KNOWLEDGE.md": f"{own.says('knowledge')}\n",
        "notes/plan.md": f"{own.says('the plan')}\n",
        f"notes/{own.name}.md": f"<!-- tags: {own.name} -->\n{own.says('the zoo')} There is a {own.rare}.\n",
        "skills/deploy/SKILL.md": f"---\nname: deploy\ndescription: {own.says('ships')}\n---\n{own.word}\n",
        f"skills/{own.name}-skill/SKILL.md": f"---\nname: {own.name}-skill\ndescription: {own.word}\n---\nGo.\n",
        "subagents/mate.md": f"---\nname: mate\ndescription: {own.says('the mate')}\n---\n{own.word}\n",
    }


def furnish(workspace: Workspace, own: Household) -> None:
    """Fill every place that a workspace has."""
    for path, text in files_of(own).items():
        workspace.put(path, text.encode())


def live_in(workspace: Workspace, own: Household) -> dict[str, str]:
    """Let all happen in a workspace that leaves something behind, and return its keys by scope."""
    for session in ("s1", f"{own.name}-talk"):
        said = [
            {"role": "user", "content": own.says(session), "message_id": "m1"},
            {"role": "assistant", "content": f"{own.word}, I see.", "message_id": f"{own.name}-m2"},
        ]
        workspace.record(session, said)
        workspace.update_session_index(session, title=own.says("titles"), summary=own.word)
    for number in range(own.more + 1):
        workspace.memory.add(f"{own.says(f'fact {number}')}")
        shared = workspace.tools(scope="shared")
        shared.call("memory_write", {"text": own.says(f"proposal {number}")})
    workspace.memory.add(own.says("experience"), layer="experience")
    workspace.put("notes/gone.md", own.says("trash").encode())
    workspace.discard("notes/gone.md")
    workspace.searching.sync()
    workspace.prepare("s1", f"What does the harbour ledger say of {own.word}?")
    workspace.prepare(f"{own.name}-talk", f"What of {own.word}?")
    _record(workspace, own)
    return {scope: _key(workspace, own, scope) for scope in ("main", "shared")}


def _record(workspace: Workspace, own: Household) -> None:
    records = workspace.records
    records.remember_layout(own.word)
    for name in ("f1", f"{own.name}-fact"):
        records.facts.add(
            [Fact(id=name, agent=AGENT, layer="project", kind="note", text=own.says(name), key=own.says(name),
                  at=NOW, state="written", session="s1", evidence=("m1",), path="MEMORY.md")]
        )  # fmt: skip
    records.facts.advance(
        AGENT, f"{own.name}-talk", expect=records.facts.cursor(AGENT, f"{own.name}-talk"), to=own.figure
    )
    for number in range(own.more + 1):
        records.queue.put(f"told to {own.word}", {"said": own.word}, key=f"k{number}")
        records.audit.note(at=NOW, actor=own.word, action=f"told.{own.name}", target=own.word, session="s1")
        last = records.dreams.list(agent=AGENT, limit=1)
        promotion = Promotion(key=f"{own.word}{number}", text=own.says("dreams"), score=0.9, hits=3, days=2)
        dream = Dream(agent=AGENT, at=NOW, path="MEMORY.md", diary="DREAMS.md", heading=own.word,
                      promotions=(promotion,), reason=own.word)  # fmt: skip
        records.dreams.plan(dream, after=last[0].id if last else 0)
    records.recalls.add(
        [RecallEvent(agent=AGENT, session="s1", at=NOW, query="What of the harbour?", path="notes/plan.md", line=1,
                     tier="knowledge", rank=1, score=0.9, text="The harbour is old.", who="prepare")]
    )  # fmt: skip
    records.keys.add(Key(id="spare", name=own.word, digest=sha256(own.word.encode()).hexdigest(), right="read",
                         scope="shared", created=NOW))  # fmt: skip
    for session in ("s1", f"{own.name}-talk"):
        spent = Spent(
            agent=AGENT, session=session, model=own.word, at=NOW, input=own.figure, cached=0, output=1
        )
        records.usage.add(spent, turn="t1")


def _key(workspace: Workspace, own: Household, scope: str) -> str:
    key, text = mint(name=own.word, right="admin", scope=scope, now=NOW, expires=None)
    workspace.records.keys.add(key)
    return text
