"""A model is asked what of some turns to remember; where there is none, rules answer."""

from collections.abc import Callable, Sequence

from msgspec import Struct

from carrel.clock import Clock
from carrel.memory.claims import Answer, read_answer
from carrel.memory.extract import ROOM, Stretch, question
from carrel.records.facts import Fact
from carrel.records.usage import Spent, Usage
from carrel.runtime.model import OFFLINE, ContextTooLong, Model, Reply, Request
from carrel.runtime.prices import cost_of
from carrel.runtime.remember.learnt import BadExtraction
from carrel.tokens import describe_model

SECONDS = 120.0
"""How long a model may take for one answer."""

_ANSWER = 2_000_000  # characters; a model that says more is not heard out
_LEAST_ROOM = 1_000
_BESIDE = 4_000  # tokens of a window for instructions, what is known, and the answer


def _anything(_: Model) -> None:
    """Let any model be called."""


class Asking(Struct, frozen=True, kw_only=True):
    """Asks a model on behalf of one agent, and keeps the account of what that costs."""

    agent: str
    clock: Clock
    count: Callable[[str], int]
    usage: Callable[[], Usage]
    allow: Callable[[Model], object] = _anything
    """Raises where no more may be spent."""
    seconds: float = SECONDS

    def answer(
        self, stretch: Stretch, known: Sequence[Fact], session: str, model: Model, turn: str
    ) -> Answer:
        """Return what is claimed of a stretch; an answer that is no list of facts is BadExtraction."""
        if not stretch.messages:
            return Answer()
        if model.name == OFFLINE:
            return _by_rules(stretch, known)
        self.allow(model)
        reply = self._hear(stretch, known, model)
        self._account(session, model, reply, turn)
        answer = read_answer(reply.text, is_cut=reply.finish == "length")
        problem = "broke off" if reply.finish in ("error", "cancelled") else answer.problem
        if problem:
            raise BadExtraction(model.name, problem)
        return answer

    def _hear(self, stretch: Stretch, known: Sequence[Fact], model: Model) -> Reply:
        """Hear the answer; a question that is too long is asked again, shorter."""
        room = room_of(model)
        while True:
            request = Request(messages=question(stretch, known, count=self.count, room=room))
            try:
                return hear_out(model, request, self.seconds)
            except ContextTooLong:
                if room <= _LEAST_ROOM:
                    raise
                size = self.count(request.messages[1].to_text())
                room, known = max(_LEAST_ROOM, min(room, size) // 2), ()

    def _account(self, session: str, model: Model, reply: Reply, turn: str) -> None:
        if reply.spend is None:
            return
        spent = Spent(
            agent=self.agent,
            session=session,
            model=model.name,
            at=self.clock.now(),
            input=reply.spend.input,
            cached=reply.spend.cached,
            output=reply.spend.output,
            cost=cost_of(model.name, reply.spend),
            purpose="background",
        )
        self.usage().add(spent, turn=turn)


def hear_out(model: Model, request: Request, seconds: float) -> Reply:
    """Return what a model answers, heard out for so long and no longer; the calling thread waits."""
    import asyncio  # noqa: PLC0415 - a report must not load it
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 - as above

    from carrel.runtime.loop.hearing import Hearing  # noqa: PLC0415 - as above

    async def hear() -> Reply:
        deadline = asyncio.get_running_loop().time() + seconds
        hearing = Hearing(
            model, request, deadline=deadline, timeout=seconds, patience=seconds, length=_ANSWER
        )
        try:
            while await hearing.next():
                pass
        finally:
            await hearing.close()
        assert hearing.reply is not None
        return hearing.reply

    def run() -> Reply:
        with asyncio.Runner() as runner:
            return runner.run(hear())

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return run()
    with ThreadPoolExecutor(1) as threads:
        return threads.submit(run).result()


def _by_rules(stretch: Stretch, known: Sequence[Fact]) -> Answer:
    from carrel.runtime.offline.claims import MOST, claims_of  # noqa: PLC0415 - who has a model needs no rules

    claims = claims_of(stretch, known)
    return Answer(claims=claims[:MOST], cut=max(0, len(claims) - MOST))


def room_of(model: Model) -> int:
    """Return how many tokens of what was said a model is asked about at once."""
    return max(_LEAST_ROOM, min(ROOM, describe_model(model.name).window * 3 // 4 - _BESIDE))
