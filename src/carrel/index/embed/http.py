"""Vectors from a server that speaks as OpenAI or as Ollama does; what it sends is believed only when it fits.

Secrets are taken out of every text before it leaves.
"""

import time
from collections.abc import Callable, Sequence
from typing import Any, cast

import msgspec
import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from carrel.files import show
from carrel.index.embed import Weigh, batches, well_formed
from carrel.index.embed.errors import EmbedderFailed, EmbedderGarbled, EmbedderRefused
from carrel.index.embed.server import Server
from carrel.index.embed.wire import Broken, Line, Reply
from carrel.screen.secrets import redact

LONGEST = 8_000
"""The characters of a text that are sent: what models read, and more than a chunk has."""

_AT_ONCE = 64
_CHARACTERS_AT_ONCE = 200_000
_MOST_BYTES = 12_000_000
_MOST_DIMENSIONS = 8_192
_LONGEST_WORDS = 200
_OK, _MOVED, _BAD_REQUEST, _UNAUTHORIZED, _FORBIDDEN, _NOT_FOUND = 200, 300, 400, 401, 403, 404
_PASSING = frozenset({408, 409, 425, 429, *range(500, 600)})
"""Statuses that may be others a moment later."""


class Patience(Struct, frozen=True, kw_only=True):
    """How long one question may take with all its attempts, and how many of these there are; waits double.

    Somebody waits for the answer to a query: that is asked once, and words alone answer when it takes long.
    """

    seconds: float = 30.0
    attempts: int = 3
    first_wait: float = 0.5
    query_seconds: float = 10.0
    sleep: Callable[[float], None] = time.sleep
    elapsed: Callable[[], float] = time.monotonic


class HttpEmbedder:
    """A model on a server; the first answer decides how long its vectors are."""

    leading = 0

    def __init__(self, server: Server, *, patience: Patience | None = None) -> None:
        self.name = server.name
        self.dimensions = 0
        self._server = server
        self._patience = patience or Patience()

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the server's vector for each text, normalised; a blank one is not sent, and all zeros."""
        sent = [_prepared(text) for text in texts]
        filled = [number for number, text in enumerate(sent) if text]
        rows: list[NDArray[np.float32]] = []
        with Line(self._server) as line:
            for batch in batches(
                [sent[number] for number in filled], most=_AT_ONCE, characters=_CHARACTERS_AT_ONCE
            ):
                rows.append(self._ask(line, batch))  # noqa: PERF401 - each one may fail
            if texts and not self.dimensions:  # all were blank, and must be as long as others will be
                self._ask(line, ["-"])
        made = np.zeros((len(texts), self.dimensions), np.float32)
        if rows:
            made[filled] = np.concatenate(rows)
        return made

    def embed_query(self, text: str, weigh: Weigh | None = None) -> NDArray[np.float32]:
        """Return the vector of a query, asked for once."""
        del weigh  # the server's model weighs words by itself
        sent = _prepared(text)
        if not sent:
            return np.zeros(self.dimensions, np.float32)
        with Line(self._server) as line:
            reply = self._try(line, self._body([sent]), self._patience.query_seconds, attempts=1)
        return self._read(reply, 1)[0]

    def _ask(self, line: Line, texts: Sequence[str]) -> NDArray[np.float32]:
        reply = self._try(line, self._body(texts), self._patience.seconds, attempts=self._patience.attempts)
        return self._read(reply, len(texts))

    def _body(self, texts: Sequence[str]) -> bytes:
        asked: dict[str, Any] = {"model": self._server.model, "input": texts}
        return msgspec.json.encode(asked | {"encoding_format": "float"} if self._is_openai else asked)

    @property
    def _is_openai(self) -> bool:
        return self._server.dialect == "openai"

    def _try(self, line: Line, body: bytes, seconds: float, *, attempts: int) -> Reply:
        """Ask until there is an answer, it is no use, or the time is up."""
        patience = self._patience
        began = patience.elapsed()
        for attempt in range(1, attempts + 1):
            left = seconds - (patience.elapsed() - began)
            after = None
            try:
                reply = line.ask(body, seconds=left, most=_MOST_BYTES)
                if reply.status not in _PASSING:
                    return self._accepted(reply)
                after, problem = reply.after, f"answers with status {reply.status}"
            except Broken as error:
                problem = str(error)
            wait = patience.first_wait * 2 ** (attempt - 1) if after is None else after
            if attempt == attempts or patience.elapsed() - began + wait >= seconds:
                raise EmbedderFailed(self.name, problem, attempts=attempt, after=after)
            patience.sleep(wait)
        raise AssertionError("the last attempt returns or raises")

    def _accepted(self, reply: Reply) -> Reply:
        """Return an answer that may hold vectors; any other is the server's refusal."""
        status, variable = reply.status, self._server.variable
        if status == _OK:
            return reply
        if status in (_UNAUTHORIZED, _FORBIDDEN):
            hint = f"Check the key in {variable}." if variable else "Name the variable that holds its key."
            raise EmbedderRefused(self.name, "did not accept the key", hint=hint)
        if _MOVED <= status < _BAD_REQUEST:
            hint = "Write the address that it leads to as the base URL, if it is yours."
            raise EmbedderRefused(self.name, "leads elsewhere, where nothing is sent", hint=hint)
        hint = (
            "Check the model's name and the base URL." if status == _NOT_FOUND else "Check the model's name."
        )
        raise EmbedderRefused(self.name, f"answers with status {status}{_quoted(reply.body)}", hint=hint)

    def _read(self, reply: Reply, count: int) -> NDArray[np.float32]:
        """Return what a server sent as vectors of length one, if that is what it sent."""
        if len(reply.body) > _MOST_BYTES:
            raise EmbedderGarbled(self.name, "more than an answer may have")
        try:
            told = _openai(reply.body) if self._is_openai else _ollama(reply.body)
        except (msgspec.MsgspecError, UnicodeDecodeError, ValueError, RecursionError):
            raise EmbedderGarbled(self.name, "what is no list of vectors") from None
        if len(told) != count:
            raise EmbedderGarbled(self.name, f"{len(told):,} vectors for {count:,} texts")
        lengths = {len(vector) for vector in told}
        expected = self.dimensions or len(told[0])
        if lengths != {expected} or not 0 < expected <= _MOST_DIMENSIONS:
            raise EmbedderGarbled(self.name, f"vectors of {max(lengths):,} dimensions, not {expected:,}")
        rows = _unit(np.array(told, np.float64))
        if rows is None:
            raise EmbedderGarbled(self.name, "vectors that have no direction")
        self.dimensions = expected
        return rows


def _prepared(text: str) -> str:
    """Return what may leave of a text; secrets go before it is cut, since half of one is not known."""
    return redact(well_formed(text)).text[:LONGEST] if text.strip() else ""


def _unit(rows: NDArray[np.float64]) -> NDArray[np.float32] | None:
    """Return rows of length one, none where one is all zeros; what is no number is no JSON either."""
    largest = np.abs(rows).max(axis=1, keepdims=True)  # the square of a large number is infinite
    if not largest.all():
        return None
    rows = rows / largest
    return (rows / np.sqrt(np.vecdot(rows, rows))[:, None]).astype(np.float32)


class _Numbered(Struct):
    index: int
    embedding: list[float]


class _OpenAI(Struct):
    data: list[_Numbered]


class _Ollama(Struct):
    embeddings: list[list[float]]


def _openai(body: bytes) -> list[list[float]]:
    """Return vectors in the order of the texts; each number must come once."""
    data = sorted(msgspec.json.decode(body, type=_OpenAI).data, key=lambda item: item.index)
    if [item.index for item in data] != list(range(len(data))):
        raise ValueError("some texts have no vector, or two")
    return [item.embedding for item in data]


def _ollama(body: bytes) -> list[list[float]]:
    return msgspec.json.decode(body, type=_Ollama).embeddings


def _quoted(body: bytes) -> str:
    """Return what a server says of its refusal, as far as that can be shown."""
    try:
        error = msgspec.json.decode(body, type=dict[str, Any]).get("error", "")
    except (msgspec.MsgspecError, UnicodeDecodeError, ValueError, RecursionError):
        return ""
    words = cast("dict[str, Any]", error).get("message") if isinstance(error, dict) else error
    if not isinstance(words, str) or not words.strip():
        return ""
    return f": {show(redact(words).text[:_LONGEST_WORDS].strip().rstrip('.'))}"
