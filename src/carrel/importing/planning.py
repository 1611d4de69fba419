"""What becomes of each piece: decided one by one, from the piece, the target and what was decided before.

Nothing is written here, so that a dry run tells exactly what an import does.
"""

from collections.abc import Iterator, Mapping

from msgspec.structs import replace

from carrel.errors import CarrelError
from carrel.importing.blocks import Block, blocks_of
from carrel.importing.learning import plan_fact
from carrel.importing.piece import Piece
from carrel.importing.places import owner_place, rules_place
from carrel.importing.source import Source
from carrel.importing.step import BEFORE, CROWDED, Ask, Edit, Hear, Log, Put, Step, is_fatal, step_of
from carrel.importing.talks import entries_in, is_log, messages_in, owned_log, session_of
from carrel.importing.target import ACTION, Target, digest_of, key_of
from carrel.markdown.sections import AmbiguousSection
from carrel.memory.judging import INJECTION
from carrel.memory.proposed import edit_of, hunk
from carrel.memory.trust import is_suspect
from carrel.records.proposals import TEXT_CHARACTERS, Proposal, ProposalAction
from carrel.screen.policy import BlockedByPrivacy, Screened
from carrel.sessions.places import valid_session
from carrel.shelf import OWNER

_MERGED = ("notebook", "project", "journal", "diary")


class Planner:
    """Decides about the pieces of one source for one target."""

    def __init__(self, source: Source, kind: str, target: Target, agents: Mapping[str, str]) -> None:
        self._source = source
        self._kind = kind
        self._target = target
        self._agents = agents

    def steps(self, piece: Piece) -> Iterator[Step]:
        """Yield what becomes of a piece: one step, or one for each section that is merged."""
        try:
            yield from self._steps(piece)
        except CarrelError as error:
            if is_fatal(error):
                raise
            yield step_of(piece, "", "skipped", error.message)

    def _steps(self, piece: Piece) -> Iterator[Step]:
        if piece.role == "left":
            yield step_of(piece, "", "skipped", piece.reason)
            return
        data = piece.data if piece.data is not None else self._source.read(piece.source)
        if data is None:
            yield step_of(piece, "", "skipped", "it is gone")
        elif piece.role == "fact":
            yield plan_fact(self._target, self._kind, piece, data.decode("utf-8", "replace"))
        elif piece.role == "talk":
            yield self._talk(piece, data)
        elif piece.role == "block":
            yield self._block(piece, self._block_place(piece), data.decode("utf-8", "surrogateescape"))
        elif piece.role == "log":
            yield self._log(piece, data)
        else:
            yield from self._file(piece, data)

    def _file(self, piece: Piece, data: bytes) -> Iterator[Step]:
        path = self._target.place(piece, self._agents)
        if path is None:
            yield self._beside(piece, data, f"the layout {self._target.layout.name} has no place for it")
            return
        hidden = self._target.hidden(path, data) if piece.private else data
        if hidden is None:
            yield self._beside(piece, data, "anyone would see it at its place, and nobody but you did before")
            return
        yield from self._placed(piece, path, hidden)

    def _placed(self, piece: Piece, path: str, data: bytes) -> Iterator[Step]:
        """Yield what becomes of a file that has a place, which may be taken."""
        target, key = self._target, key_of(self._kind, piece, data)
        now = target.now(path)
        standing = now or target.proposed(path)
        if standing is not None and standing.digest == digest_of(data):
            same = step_of(piece, path, "same", "" if now else "it waits for you", key=key)
            yield replace(same, waits=now is None)
        elif target.is_known(key):
            if standing is None:  # what comes after it is decided as it was before
                target.expect(path, data)
            yield step_of(piece, path, "same", BEFORE)
        elif standing is None:
            yield self._put(piece, path, data, key)
        elif now is not None and now.data is not None and target.is_sample(path, now.data):
            yield self._put(piece, path, data, key, over=now.data)
        elif piece.role in _MERGED and (text := _text(data)) is not None:
            yield from self._merged(piece, path, text)
        else:
            yield self._beside(piece, data, f"another {path} is there")

    def _put(self, piece: Piece, path: str, data: bytes, key: str, over: bytes | None = None) -> Step:
        target = self._target
        why = "in place of the sample that nobody changed" if over is not None else ""
        if not target.waits(path):
            target.plan(path, data, read=piece.role in _MERGED)
            digest = None if over is None else digest_of(over)
            deed = Put(path=path, data=data, over=digest, kept=target.is_injected(path))
            return step_of(piece, path, "new", why, deed, key=key)
        text = _text(data)
        if text is None or len(text) > TEXT_CHARACTERS:
            return self._beside(piece, data, "it is no text that could be reviewed")
        if target.is_crowded:
            return step_of(piece, path, "skipped", CROWDED)
        before = _text(over) or ""
        old, new = hunk(before, _screened(target.desk.screen.between(before, text)))
        target.propose(path, data)
        proposal = self._proposal(piece, "write", path, key, old=old, new=new)
        return step_of(piece, path, "proposal", why, Ask(proposal=proposal), key=key)

    def _beside(self, piece: Piece, data: bytes, why: str) -> Step:
        """Keep a piece in the folder of what has no place; nothing that stands there is touched."""
        path, key = self._target.kept_place(piece, data), key_of(self._kind, piece, data)
        now = self._target.now(path)
        if now is not None and now.digest == digest_of(data):
            return step_of(piece, path, "same", why, key=key)
        self._target.plan(path, data)
        return step_of(piece, path, "beside", why, Put(path=path, data=data), key=key)

    def _merged(self, piece: Piece, path: str, text: str) -> Iterator[Step]:
        """Yield a step for each section of a text of which something is missing at its place."""
        now = self._target.now(path)
        standing = set((_text(now.data) or "").splitlines()) if now and now.data else set[str]()
        is_journal = piece.role == "journal"
        found = False
        for block in blocks_of(text):
            missing = "\n".join(line for line in block.text.splitlines() if line not in standing or not line)
            if missing.strip():
                found = True
                own = Block(section="" if is_journal else block.section, text=missing, line=block.line)
                yield self._block(_of_block(piece, own), path, missing.strip("\n"))
        if not found:
            yield step_of(piece, path, "same", key=key_of(self._kind, piece, text.encode()))

    def _block_place(self, piece: Piece) -> str:
        place = owner_place if piece.private else rules_place
        return place(self._target.layout, self._target.agent)

    def _block(self, piece: Piece, path: str, text: str) -> Step:
        """Return what becomes of some text for a section of a file."""
        target, key = self._target, key_of(self._kind, piece, text.encode("utf-8", "surrogatepass"))
        text, now = _screened(target.desk.screen.of(text)), target.now(path)
        standing = None if now is None else _text(now.data or b"")
        proposal = self._proposal(piece, "append", path, key, section=piece.section, new=text)
        try:
            after = edit_of(proposal)(standing)
        except AmbiguousSection as error:
            proposal = self._proposal(piece, "append", path, key, section=error.addresses[0], new=text)
            after = edit_of(proposal)(standing)
        except CarrelError as error:
            return self._beside(piece, text.encode("utf-8", "surrogateescape"), error.message)
        if after is None:
            return step_of(piece, path, "same", key=key)
        if target.is_known(key):
            return step_of(piece, path, "same", BEFORE)
        if not target.waits(path):
            target.plan(path, after.encode("utf-8", "surrogatepass"), read=True)
            return step_of(
                piece, path, "new" if now is None else "merge", "", Edit(proposal=proposal), key=key
            )
        if target.is_crowded:
            return step_of(piece, path, "skipped", CROWDED)
        target.wait()
        return step_of(piece, path, "proposal", "", Ask(proposal=proposal), key=key)

    def _talk(self, piece: Piece, data: bytes) -> Step:
        session = session_of(piece.name)
        messages, bad = messages_in(data, session)
        if not messages:
            return step_of(piece, "", "skipped", "nobody says anything in it that could be recorded")
        sessions = self._target.desk.sessions
        path = sessions.places.log(session)
        is_there = sessions.exists(session)
        new = [
            each for each in messages if not is_there or not sessions.number_of(session, each["message_id"])
        ]
        why = f"{bad:,} lines could not be read" if bad else ""
        if not new:
            return step_of(piece, path, "same", why)
        standing = sessions.row(session).entries if is_there else 0
        unlearnt = 0 if self._target.mine else standing + len(new)
        deed = Hear(session=session, messages=tuple(new), unlearnt=unlearnt)
        return step_of(piece, path, "merge" if is_there else "new", why, deed)

    def _log(self, piece: Piece, data: bytes) -> Step:
        """Return what becomes of a log: it is copied, or what follows the part that is there is added."""
        target = self._target
        agent = self._agents.get(piece.agent, piece.agent) or target.agent
        path = target.place(piece, self._agents)
        valid_session(piece.name)
        if path is None or not is_log(data):
            return self._beside(piece, data, "it is no log of a session that Carrel can read")
        data, now = owned_log(data, agent), target.now(path)
        standing = b"" if now is None else now.data or b""
        if now is not None and standing.startswith(data):
            return step_of(piece, path, "same")
        if not data.startswith(standing):
            return self._beside(piece, data, f"another {path} is there")
        target.plan(path, data)
        unlearnt = 0 if target.mine else entries_in(data)
        rest, at = data[len(standing) :], len(standing)
        deed = Log(path=path, data=rest, at=at, agent=agent, session=piece.name, unlearnt=unlearnt)
        return step_of(piece, path, "new" if now is None else "merge", "", deed)

    def _proposal(
        self,
        piece: Piece,
        action: ProposalAction,
        path: str,
        key: str,
        *,
        section: str = "",
        old: str = "",
        new: str,
    ) -> Proposal:
        why = INJECTION if is_suspect(new, "external") else "external_source"
        mark = " It reads like an instruction to the agent." if why == INJECTION else ""
        where = f"{piece.source}, line {piece.line}" if piece.line else piece.source
        return Proposal(
            key=f"{ACTION}:{path}:{key}",
            at=self._target.desk.config.clock.now(),
            agent=self._target.agent,
            actor=OWNER if self._target.mine else ACTION,
            action=action,
            why=why,
            reason=f"Imported from {self._kind}: {where}.{mark}",
            path=path,
            section=section,
            old=old,
            new=new,
            trust="owner" if self._target.mine else "external",
        )


def _of_block(piece: Piece, block: Block) -> Piece:
    return Piece(source=piece.source, role="block", name=piece.name, line=block.line, section=block.section)


def _screened(screened: Screened) -> str:
    """Return a text as it may be written; one that may not be is refused."""
    if screened.blocked:
        raise BlockedByPrivacy(screened.found)
    return screened.text


def _text(data: bytes | None) -> str | None:
    try:
        return None if data is None else data.decode()
    except UnicodeDecodeError:
        return None
