"""What a client raised, as what it means for the user: whose fault it is, and whether to try again."""

from collections.abc import Callable, Iterator
from typing import Any, cast

from msgspec import Struct
from pydantic_ai import exceptions as raised

from carrel.clock import Clock
from carrel.errors import CarrelError
from carrel.files import show
from carrel.runtime.model import ContextTooLong
from carrel.runtime.providers import errors
from carrel.runtime.providers.endpoint import Endpoint
from carrel.runtime.providers.http import Endless
from carrel.runtime.providers.retries import asked_wait
from carrel.runtime.providers.trouble import Trouble
from carrel.screen.secrets import redact

_LONGEST_WORDS = 300
_DEEPEST = 8
_TOO_LONG = (
    "prompt is too long",
    "context length",
    "context_length",
    "context limit",
    "context size",
    "context window",
    "maximum context",
    "input is too long",
    "too many tokens",
    "input token count",
    "reduce the length",
)
"""How servers word it where they send no code for it."""

_BAD_REQUEST, _TIMEOUT, _CONFLICT, _TOO_LARGE, _UNPROCESSABLE, _BROKEN = 400, 408, 409, 413, 422, 500


def explain(error: Exception, endpoint: Endpoint, clock: Clock, *, spoke: bool) -> Trouble:
    """Return what an error means; `spoke` says whether some of the answer had been passed on."""
    if not isinstance(error, raised.ModelAPIError):
        return _garbled(endpoint.name, "what is no answer")
    if any(isinstance(cause, Endless) for cause in _causes(error)):
        return _garbled(endpoint.name, "more than an answer may have")
    case = _Case(error, endpoint, spoke, _wait(error, clock))
    makers = (make for kind, make in _KINDS if isinstance(error, kind))
    trouble = next(makers, _by_status)(case)
    trouble.after = case.after
    if isinstance(error, raised.ModelHTTPError) and error.provider_retry_hint is False:
        trouble.again = False
    return trouble


class _Case(Struct, frozen=True):
    """An error, and where and when it happened."""

    error: raised.ModelAPIError
    endpoint: Endpoint
    spoke: bool
    after: float | None

    @property
    def name(self) -> str:
        return self.endpoint.name

    @property
    def status(self) -> int | None:
        """The status of the answer; where a stream had begun, the one that it would have had otherwise."""
        return self.error.status_code if isinstance(self.error, raised.ModelHTTPError) else None

    def words(self) -> str:
        """Return what the provider said, on one line, without anything secret."""
        said = _inner(self.error.body).get("message")
        text = said if isinstance(said, str) else ""
        if self.endpoint.key:
            text = text.replace(self.endpoint.key.reveal(), "[KEY]")
        text = redact(" ".join(text[: _LONGEST_WORDS * 4].split())).text
        return show(text[:_LONGEST_WORDS]) + "…" * (len(text) > _LONGEST_WORDS)


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield an error and what it was raised from, as far down as clients wrap."""
    cause: BaseException | None = error
    for _ in range(_DEEPEST):
        if cause is None:
            return
        yield cause
        cause = cause.__cause__


def _inner(body: object) -> dict[str, Any]:
    """Return the object that tells of the failure, which some put into another."""
    outer = cast("dict[str, Any]", body) if isinstance(body, dict) else {}
    inner = outer.get("error")
    return cast("dict[str, Any]", inner) if isinstance(inner, dict) else outer


def _wait(error: raised.ModelAPIError, clock: Clock) -> float | None:
    headers = error.headers if isinstance(error, raised.ModelHTTPError) else None
    return asked_wait(headers, clock) if headers else None


def _for_good(error: CarrelError) -> Trouble:
    return Trouble(lambda _: error)


def _too_long(case: _Case) -> Trouble:
    return _for_good(ContextTooLong(case.name))


def _refused_key(case: _Case) -> Trouble:
    return _for_good(errors.KeyRefused(case.name, case.endpoint.variable))


def _not_found(case: _Case) -> Trouble:
    like = case.error.suggested_model_id if isinstance(case.error, raised.ModelHTTPError) else None
    return _for_good(errors.ModelNotFound(case.name, like=like or ""))


def _no_quota(case: _Case) -> Trouble:
    return _for_good(errors.QuotaExceeded(case.name))


def _limited(case: _Case) -> Trouble:
    return Trouble(lambda n: errors.RateLimited(case.name, attempts=n, after=case.after), again=True)


def _timeout(case: _Case) -> Trouble:
    return Trouble(lambda n: errors.ProviderTimeout(case.name, attempts=n), again=True)


def _connection(case: _Case) -> Trouble:
    if case.spoke:
        return _for_good(errors.ReplyBrokenOff(case.name))
    phase = case.error.phase if isinstance(case.error, raised.ModelConnectionError) else None
    return _down(case, "closed the connection" if phase in ("read", "write") else "could not be reached")


def _unavailable(case: _Case) -> Trouble:
    overloaded = isinstance(case.error, raised.ModelOverloadedError)
    return _down(case, "is overloaded" if overloaded else "failed")


_KINDS: tuple[tuple[type[raised.ModelAPIError], Callable[[_Case], Trouble]], ...] = (
    (raised.ModelContextWindowExceededError, _too_long),
    (raised.ModelAuthenticationError, _refused_key),
    (raised.ModelNotFoundError, _not_found),
    (raised.ModelQuotaExceededError, _no_quota),
    (raised.ModelRateLimitError, _limited),
    (raised.ModelTimeoutError, _timeout),
    (raised.ModelRequestTimeout, _timeout),
    (raised.ModelConnectionError, _connection),
    (raised.ModelUnavailableError, _unavailable),
    (raised.ModelServerError, _unavailable),
)


def _by_status(case: _Case) -> Trouble:
    """Tell by the status and the words what has no kind of its own."""
    status, words = case.status, case.words()
    if status == _TOO_LARGE or (status in (_BAD_REQUEST, _UNPROCESSABLE, None) and _says_too_long(words)):
        return _too_long(case)
    if status == _TIMEOUT:
        return _timeout(case)
    if status == _CONFLICT or (status or 0) >= _BROKEN:
        return _unavailable(case)
    if status is not None:
        return _for_good(errors.RequestRefused(case.name, words))
    if case.error.in_stream:
        return _down(case, f"failed in the middle of its answer{f': {words}' if words else ''}")
    return _garbled(case.name, "what cannot be read")


def _says_too_long(words: str) -> bool:
    said = words.lower()
    return any(phrase in said for phrase in _TOO_LONG)


def _down(case: _Case, problem: str) -> Trouble:
    return Trouble(
        lambda n: errors.ProviderDown(case.name, problem, attempts=n, status=case.status), again=True
    )


def _garbled(name: str, how: str) -> Trouble:
    return _for_good(errors.ReplyGarbled(name, how))
