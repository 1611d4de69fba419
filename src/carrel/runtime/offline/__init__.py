"""The offline model: answers without a provider, by quoting what it was given.

It reads the request and nothing else: no network, no clock, no chance. The same request gives the same
reply on any machine. It knows words, not meanings, and says so in every answer.
"""

import re
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence

from msgspec import Struct

from carrel.runtime.model import Reply, Request, Spend, ToolSpec
from carrel.runtime.offline import asks as asks
from carrel.runtime.offline.choice import choose
from carrel.runtime.offline.facts import LONGEST_MESSAGE, Extracted, extract_facts, facts_in
from carrel.runtime.offline.results import SEARCHES, Result, read_result
from carrel.runtime.offline.sources import OWN, SAID_BY_USER, Line, last_user, lines_of, parts, shorten
from carrel.runtime.offline.summary import summarise
from carrel.runtime.offline.words import content, fold, keywords
from carrel.sessions.message import Message, ToolCall

__all__ = ["Extracted", "OfflineModel", "answer", "extract_facts", "summarise"]

_MOST_TOLD = 12
_QUERY = 400
_MOST_KEYWORDS = 4  # a search of logs asks for every word
_PIECE = re.compile(r"\S+\s*|\s+")
_KNOWING = "what_do_i_know"
_MEMORY = ("MEMORY.md", "memory/", "notes/", "agent memory")


class OfflineModel:
    """A Model that needs nothing; what it says it spent is an estimate, a token for four characters."""

    name = "offline"

    async def stream(self, request: Request) -> AsyncIterator[str | Reply]:
        """Yield the answer word by word, then the Reply."""
        import asyncio  # noqa: PLC0415 - what only extracts and summarises needs no loop

        reply = await asyncio.to_thread(answer, request)
        for piece in _PIECE.finditer(reply.text):
            yield piece[0]
        yield reply


class _Scene(Struct, frozen=True, kw_only=True):
    """A request as the model sees it; `results` are this turn's, `quotable` is what the prompt answers."""

    question: str
    tools: Mapping[str, ToolSpec]
    lines: Sequence[Line]
    results: Sequence[Result]
    quotable: Sequence[Line]
    ids: frozenset[str]

    @property
    def direct(self) -> list[Result]:
        """What was asked for by name."""
        return [result for result in self.results if result.tool not in SEARCHES]

    @property
    def searched(self) -> list[Line]:
        """What searches found."""
        return [line for result in self.results if result.tool in SEARCHES for line in result.lines]


def answer(request: Request) -> Reply:
    """Return the reply to a request: a call where a tool would know better, else quotations."""
    scene = _look(request)
    call = _next_call(scene)
    if call is not None:
        return Reply(text="", tool_calls=(call,), finish="tools", spend=_estimate(request, call.name))
    text = _say(scene)
    return Reply(text=text, spend=_estimate(request, text))


def _look(request: Request) -> _Scene:
    messages = request.messages
    last = last_user(messages)
    since = messages[last + 1 :] if last is not None else ()
    question = parts(messages[last])[0][:LONGEST_MESSAGE] if last is not None else ""
    lines = lines_of(messages)
    return _Scene(
        question=question,
        tools={tool.name: tool for tool in request.tools if request.may_call},
        lines=lines,
        quotable=_quotable(question, lines),
        results=_results(since),
        ids=frozenset(call.id for message in messages for call in message.tool_calls),
    )


def _results(since: Sequence[Message]) -> list[Result]:
    """Return what each call of this turn gave; one without an answer gave nothing."""
    calls = [call for message in since for call in message.tool_calls]
    told = {message.tool_call_id: message.to_text() for message in since if message.role == "tool"}
    return [read_result(call, told.get(call.id, '{"error": "it gave no result"}')) for call in calls]


def _next_call(scene: _Scene) -> ToolCall | None:
    """Return the call that would help and was not made in this turn; each tool is called once at most."""
    tried = {result.tool for result in scene.results}
    is_wish = asks.is_question(scene.question) or not _facts(scene)
    for ask in asks.asked_for(scene.question) if is_wish else ():
        if ask.tool in scene.tools and ask.tool not in tried:
            return _call(scene, ask.tool, ask.arguments(scene.tools[ask.tool]))
    if any(result.lines for result in scene.direct) or not _is_searched_for(scene):
        return None
    for name in SEARCHES:
        if name in scene.tools and name not in tried:
            query = shorten(scene.question, _QUERY)
            words = " ".join(keywords(query, _MOST_KEYWORDS))
            is_log = name == "session_logs"
            return _call(scene, name, {"action": "search", "query": words} if is_log else {"query": query})
    return None


def _is_searched_for(scene: _Scene) -> bool:
    """Tell whether a search could find what the prompt does not hold."""
    if not asks.is_question(scene.question) or any(r.tool != _KNOWING for r in scene.direct):
        return False
    return bool(content(scene.question)) and not scene.quotable and not choose(scene.question, scene.searched)


def _call(scene: _Scene, name: str, arguments: dict[str, str]) -> ToolCall:
    number = len(scene.ids) + 1
    while f"call_{number}" in scene.ids:
        number += 1
    return ToolCall(id=f"call_{number}", name=name, arguments=arguments)


def _quotable(question: str, lines: Sequence[Line]) -> list[Line]:
    """Return the lines of the prompt that answer; where the agent or its memory is meant, those about it."""
    if asks.asks_who(question):
        return _about_agent(lines)
    topic = asks.topic_of(question)
    if topic is None:
        return choose(question, lines)
    return choose(topic, lines) if topic else _remembered(question, lines)


def _about_agent(lines: Sequence[Line]) -> list[Line]:
    own = [line for line in lines if line.source.endswith(("IDENTITY.md", "SOUL.md"))]
    own = own or [line for line in lines if line.text.startswith("You are ")]
    return sorted(own, key=lambda line: not line.source.endswith("IDENTITY.md"))[:3]


def _remembered(question: str, lines: Sequence[Line]) -> list[Line]:
    """Return the first lines of memory, those about the user first where the user is meant."""
    about_user = [line for line in lines if line.source.endswith("USER.md") or line.rank == SAID_BY_USER]
    kept = [line for line in lines if line.source.startswith(_MEMORY)]
    is_user = re.search(r"\b(?:me|myself|mi|mich)\b", fold(shorten(question, _QUERY)))
    return ((about_user if is_user else []) + kept)[:3]


def _say(scene: _Scene) -> str:
    """Put the answer together: what was understood, what tools told, and quotations."""
    facts = [] if scene.results else _facts(scene)
    is_question = asks.is_question(scene.question)
    if facts and not is_question:
        return _opened(
            "What I understood, which this session's record keeps:", [f"- {fact}" for fact in facts]
        )
    told = [*(f"- Understood: {fact}" for fact in facts), *_errors(scene), *_tell_results(scene)]
    is_told = any(result.lines for result in scene.direct)
    quotes = _quotes(scene)
    if told or quotes:
        opening = "From what I was given:" if quotes or is_told else ""
        return _opened(opening, [*told, *map(_quote, quotes)])
    return _nothing(scene) if is_question else _at_a_loss(scene)


def _facts(scene: _Scene) -> list[str]:
    """Return what the user states, each once."""
    return list(dict.fromkeys(text for _, text in facts_in(scene.question)))[:_MOST_TOLD]


def _quotes(scene: _Scene) -> list[Line]:
    """Return what to quote: from the prompt, then from searches, then whatever comes near.

    Where another tool was asked for than the one over memory, only it can answer.
    """
    if any(result.tool != _KNOWING for result in scene.direct):
        return []
    told = {line.text for result in scene.direct for line in result.lines}
    quotes = [line for line in scene.quotable if line.text not in told] or choose(
        scene.question, scene.searched
    )
    if quotes or told or not asks.is_question(scene.question):
        return quotes
    return choose(scene.question, scene.lines, most=1, loosely=True)


def _opened(opening: str, told: Sequence[str]) -> str:
    return "\n".join([f"{OWN}. {opening}".strip(), "", *told])


def _nothing(scene: _Scene) -> str:
    words = ", ".join(content(shorten(scene.question, _QUERY))[:6])
    about = f" about {words}" if words else ""
    searched = " or ".join(result.tool for result in scene.results)
    found = f" or that {searched} found" if searched else ""
    return (
        f"{OWN}, and nothing that I was given{found} says anything{about}. "
        "It would help to write it into a file of the workspace such as MEMORY.md, to tell me here, "
        "or to ask a model that can think."
    )


def _at_a_loss(scene: _Scene) -> str:
    """Say what could be said instead, to a greeting or to a statement that no rule knows."""
    read = ", and no rule of mine found a fact in that" if content(scene.question) else ""
    return (
        f"{OWN}{read}. Ask about something in the files, name a file to read, or tell me something like "
        "“My name is …”, “We decided to …” or “Remember that …”."
    )


def _errors(scene: _Scene) -> Iterator[str]:
    for result in scene.results:
        if result.error:
            yield f"- {result.tool} could not help: {result.error}"
        elif not result.lines and result.tool not in SEARCHES:
            yield f"- {result.tool} has nothing on that."


def _tell_results(scene: _Scene) -> Iterator[str]:
    for result in scene.direct:
        yield from (_quote(line) for line in result.lines[:_MOST_TOLD])
        left = len(result.lines) - _MOST_TOLD
        if left > 0:
            yield f"- … and {left:,} more from {result.tool}."


def _quote(line: Line) -> str:
    return f"- “{line.text}” — {line.source}"


def _estimate(request: Request, said: str) -> Spend:
    """Guess the tokens of a call: a quarter of the characters, since nothing was counted by anyone."""
    read = sum(len(message.to_text()) for message in request.messages)
    offered = sum(len(tool.name) + len(tool.description) for tool in request.tools)
    return Spend(input=(read + offered) // 4, output=(len(said) + 3) // 4)
