"""What is done at a desk again and again, each deed with a token of its own, and where it is to be seen afterwards."""

import json
import re
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from datetime import timedelta
from importlib import import_module
from pathlib import Path

from tests.torture import verifier
from tests.torture.desk import FILES, Child, Desk, Say

from carrel.app import Workspace
from carrel.memory.forget.choice import Choice
from carrel.records.keys import mint
from carrel.records.proposals import Proposal
from carrel.records.queue import Job
from carrel.records.recalls import RecallEvent
from carrel.runtime.model import Reply, Request, Spend
from carrel.tokens import open_tokenizer

FILED = ("log", "notebook", "journal", "files", "set", "gone")
"""A turn, a line of a section, a note of the day, a new file, a file replaced, a file removed."""

DIRECT = (*FILED, "fact", "revoked", "usage", "jobs", "reviewed", "dreamt", "forgotten", "prepared")
"""What is to be seen as soon as it is acknowledged: these too in files, in the records, or in both."""

KINDS = (*DIRECT, "facts")
"""And facts that are learnt from what was said: a worker does that later, because it stands in the queue."""

AT = {
    **FILES,
    "carrel.yaml": FILES["carrel.yaml"].replace(
        "display_name: Kate", "display_name: Kate, trigger_interval: 1, workspace_git: {enabled: true}"
    ),
}
"""A desk at which each turn is a job for the worker, and each change of memory a commit."""

_TOKEN = re.compile(r"<([^<>]+)>")
_FACT = re.compile(r"The berth (\S+) of the harbour was given away\.")
_SAID = re.compile(r"The quay (\S+) is let\.")
_DREAMT = re.compile(r"The tide (\S+) comes at noon\.")
_LOADED = ("carrel", "pygit2")
_JOB, _WORKER, _LEASE = "torture", "deeds", timedelta(minutes=1)
_LATER = "2099-01-01T00:00:00Z"
"""When no worker that was killed holds a job any more."""

_IN_RECORDS = {
    "keys": "SELECT name FROM keys",
    "revoked": "SELECT name FROM keys WHERE revoked IS NOT NULL",
    "usage": "SELECT turn FROM usage WHERE session = 'usage'",
    "jobs": f"SELECT key FROM jobs WHERE kind = '{_JOB}'",
    "reviewed": "SELECT key FROM proposals WHERE state = 'approved'",
    "dreamt": "SELECT replace(replace(text, 'The tide ', ''), ' comes at noon.', '') FROM promotions "
    "WHERE state = 'promoted'",
    "prepared": "SELECT session FROM assemblies JOIN frozen USING (agent, session)",
}
"""Where SQLite finds the tokens of what was acknowledged."""


class Deeds:
    """The deeds that were acknowledged at a desk, by where they are to be seen."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self.acknowledged: dict[str, list[str]] = {kind: [] for kind in (*KINDS, "keys")}

    def work(self, run: str, say: Say, kinds: Sequence[str] = KINDS, most: int = 100_000) -> None:
        """Do one deed after another, each said when it is done; somebody ends it."""
        with self.desk.open() as workspace:
            say("ready")
            for number in range(most):
                kind, token = kinds[number % len(kinds)], f"{run}.{number}"
                _DO[kind](workspace, token)
                say(f"{kind} {token}")
                if kind == "facts":
                    workspace.sweep(model=Picking())

    def do_all(self) -> bool:
        """Let somebody do each deed once, and load here what they had to load, for forks; tell whether it went well."""

        def work(say: Say) -> None:
            self.work("first", say, most=len(KINDS))
            with self.desk.open() as workspace:
                workspace.health()
            say(" ".join(name for name in sys.modules if name.startswith(_LOADED)))

        child = Child(work)
        *said, loaded = child.listen() or [""]
        if child.has_failed:
            return False
        self.heard(said)
        for name in loaded.split():
            import_module(name)
        open_tokenizer(None, None).encode("loaded")
        return True

    def heard(self, lines: Sequence[str]) -> None:
        """Take down what was acknowledged."""
        for line in lines:
            kind, _, token = line.partition(" ")
            if token:
                self.acknowledged[kind].append(token)

    def settle(self) -> None:
        """Do what a worker left in the queue, as the next one would, and see that nothing has to be repaired."""
        with self.desk.open(CARREL_NOW=_LATER) as workspace:
            workspace.sweep(model=Picking())
            review, queue = workspace.memory.review, workspace.records.queue
            review.approve(
                review.all_waiting(), by="owner"
            )  # who was killed while they approved does it again
            for job in queue.jobs("failed", kind=_JOB, limit=100_000):
                queue.again(job.id)
            while job := _taken(workspace):
                queue.finish(job)
            left = {state: count for state, count in queue.counts().items() if count}
            assert set(left) <= {"done"}, left
            bad = [each.message for each in workspace.health().findings if each.severity == "error"]
            assert not bad, bad

    def wrong(self, *, is_filed_only: bool = False) -> list[str]:
        """Return everything that is lost, doubled or torn, as the disk has it, its files only or the records too."""
        log = self.desk.log("log")
        entries, wrong = verifier.entries(log) if log.exists() else ([], [])
        found = self._in_files() | {"log": [str(entry["message_id"]) for entry in entries]}
        for kind, tokens in found.items():
            wrong += verifier.told_once(self.acknowledged.get(kind, []), tokens, kind)
        removed = self.acknowledged.get("gone", [])
        wrong += [f"{token} is back" for token in removed if (self.desk.root / f"gone/{token}.md").exists()]
        return wrong if is_filed_only else [*wrong, *self._wrong_in_records()]

    def _in_files(self) -> dict[str, list[str]]:
        root = self.desk.root
        learnt = _text(root / "memory/kate.md")
        return {
            "notebook": _tokens(root / "MEMORY.md"),
            "journal": [each for path in (root / "memory").glob("2*.md") for each in _tokens(path)],
            "files": [each for path in (root / "knowledge").rglob("*.md") for each in _tokens(path)],
            "set": _tokens(root / "set.md"),
            "fact": _SAID.findall(learnt),
            "reviewed": _tokens(root / "reviewed.md"),
            "dreamt": _DREAMT.findall(_text(root / "MEMORY.md")),
            "facts": _FACT.findall(learnt),
        }

    def _wrong_in_records(self) -> Iterator[str]:
        path = self.desk.root / ".carrel/state/records.db"
        if path.exists():
            with verifier.records(path) as database:
                if not verifier.database_is_sound(database):
                    yield "records: SQLite finds damage"
                for kind, sql in _IN_RECORDS.items():
                    found, own = verifier.column(database, sql), self.acknowledged.get(kind, [])
                    yield from verifier.told_once(own, found, f"{kind} in the records")
        if not verifier.repository_is_sound(self.desk.root):
            yield "git finds damage in what is committed"
        places = (path, path.with_name(f"{path.name}-wal"), self.desk.root / "memory/kate.md")
        known = b"".join(place.read_bytes() for place in places if place.exists())
        for token in self.acknowledged.get("forgotten", []):
            if _secret(token).encode() in known:
                yield f"{token} was forgotten, and is there"


class Picking:
    """A model that finds every fact in what it is given to read, and nothing else."""

    name = "picking"

    async def stream(self, request: Request) -> AsyncIterator[Reply]:
        facts = list[dict[str, object]]()
        for line in request.messages[-1].to_text().split("\n"):
            said = json.loads(line) if line.startswith('{"id"') else {}
            facts += [
                {
                    "text": found[0],
                    "kind": "decision",
                    "layer": "project",
                    "evidence": [said["id"]],
                    "subject": found[1],
                }
                for found in _FACT.finditer(said.get("text", ""))
            ]
        yield Reply(text=json.dumps({"facts": facts}), spend=Spend(input=1, output=1))


def _log(workspace: Workspace, token: str) -> None:
    workspace.record("log", [{"role": "user", "content": f"<{token}>", "message_id": token}])


def _notebook(workspace: Workspace, token: str) -> None:
    workspace.memory.notebook("MEMORY.md").append("Notes", f"- <{token}>")


def _journal(workspace: Workspace, token: str) -> None:
    workspace.memory.note(f"<{token}>")


def _files(workspace: Workspace, token: str) -> None:
    """Each run in a folder of its own, which has to be made."""
    workspace.write(f"knowledge/{token.partition('.')[0]}/{token}.md", f"<{token}>\n", expect=None)


def _gone(workspace: Workspace, token: str) -> None:
    digest = workspace.files.write(f"gone/{token}.md", b"to be removed\n", expect=None)
    workspace.files.remove(f"gone/{token}.md", expect=digest)


def _set(workspace: Workspace, token: str) -> None:
    content = workspace.files.read("set.md")
    old = content.data.decode() if content else ""
    workspace.write("set.md", f"{old}<{token}>\n", expect=content and content.digest)


def _facts(workspace: Workspace, token: str) -> None:
    asked = {
        "role": "user",
        "content": f"The berth {token} of the harbour was given away.",
        "message_id": token,
    }
    workspace.record("facts", [asked, {"role": "assistant", "content": "Good.", "message_id": f"a{token}"}])


def _fact(workspace: Workspace, token: str) -> None:
    workspace.memory.add(f"The quay {token} is let.", subject=token)


def _revoked(workspace: Workspace, token: str) -> None:
    """Make a key, and take it back."""
    now, keys = workspace.config.clock.now(), workspace.records.keys
    key, _ = mint(name=token, right="read", scope="shared", now=now, expires=None)
    keys.add(key)
    keys.revoke(key.id, at=now)


def _usage(workspace: Workspace, token: str) -> None:
    said = {"role": "user", "content": "How much?", "message_id": token}
    workspace.record("usage", [said], usage=Spend(input=1, output=1))


def _jobs(workspace: Workspace, token: str) -> None:
    """Put a job, and let everything become of jobs that can."""
    queue = workspace.records.queue
    queue.put(_JOB, {}, key=token)
    if job := _taken(workspace):
        queue.release(queue.extend(job, now=workspace.config.clock.now(), lease=_LEASE))
    if job := _taken(workspace):
        queue.fail(job, "on purpose", retry_at=None)
        queue.again(job.id)
    if job := _taken(workspace):
        queue.finish(job)


def _taken(workspace: Workspace) -> Job | None:
    now = workspace.config.clock.now()
    return workspace.records.queue.take((_JOB,), now=now, lease=_LEASE, worker=_WORKER)


def _reviewed(workspace: Workspace, token: str) -> None:
    made = workspace.records.proposals.add(_proposal(workspace, token, "reviewed.md", f"- <{token}>"))
    workspace.memory.review.approve([made.id], by="owner")


def _proposal(workspace: Workspace, key: str, path: str, new: str) -> Proposal:
    return Proposal(
        key=key,
        at=workspace.config.clock.now(),
        agent="kate",
        actor="kate",
        action="append",
        why="external_source",
        reason="Somebody else said so.",
        path=path,
        section="Notes",
        new=new,
    )


def _dreamt(workspace: Workspace, token: str) -> None:
    """Let a line of an old day be recalled on three days, and dream."""
    line, path, now = (
        f"- The tide {token} comes at noon.",
        "memory/2026-04-20.md",
        workspace.config.clock.now(),
    )
    workspace.append(path, f"{line}\n")
    workspace.records.recalls.add(
        RecallEvent(
            agent="kate",
            session="s1",
            at=now - timedelta(days=day),
            query=f"q{day}",
            path=path,
            line=1,
            tier="journal",
            rank=1,
            score=0.5,
            text=line,
            who="tool",
        )
        for day in range(3)
    )
    workspace.dreaming.run()


def _forgotten(workspace: Workspace, token: str) -> None:
    """Remember something, let somebody propose it too, and have all of it purged."""
    workspace.memory.add(_secret(token), subject=token)
    workspace.records.proposals.add(_proposal(workspace, f"f{token}", "MEMORY.md", f"- {_secret(token)}"))
    workspace.forgetting.forget(Choice(query=_secret(token)), purge=True)


def _secret(token: str) -> str:
    return f"The mooring {token} is sold."


def _prepared(workspace: Workspace, token: str) -> None:
    """Freeze what others may hear: what the owner's own prompt holds, the end of a forgetting that was killed may thaw."""
    workspace.records.remember_layout(workspace.layout.name)  # as the first does who opens a new folder
    workspace.prepare(token, "What of the tide?", scope="shared", reload=True)


_DO: Mapping[str, Callable[[Workspace, str], None]] = {
    "log": _log,
    "notebook": _notebook,
    "journal": _journal,
    "files": _files,
    "set": _set,
    "gone": _gone,
    "fact": _fact,
    "revoked": _revoked,
    "usage": _usage,
    "jobs": _jobs,
    "reviewed": _reviewed,
    "dreamt": _dreamt,
    "forgotten": _forgotten,
    "prepared": _prepared,
    "facts": _facts,
}


def _text(path: Path) -> str:
    return path.read_text("utf-8") if path.exists() else ""


def _tokens(path: Path) -> list[str]:
    return _TOKEN.findall(_text(path))
