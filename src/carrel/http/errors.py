"""How an error is told over HTTP: its status, and one shape for all of them."""

from traceback import format_tb

from msgspec import Struct

from carrel.errors import CarrelError, CheckFailed, Conflict, NotFound, Refused, Unavailable, UsageError
from carrel.files import Stale, Unreadable

STATUSES: dict[type[CarrelError], int] = {
    UsageError: 400,
    NotFound: 404,
    CheckFailed: 422,
    Conflict: 409,
    Refused: 403,
    Unavailable: 503,
}
"""By family; an error that knows better says so itself."""

_FAILED = 500
_UNFIT = 422
_UNMET = 412


class Problem(Struct, frozen=True, kw_only=True):
    """What went wrong, for programs, for people, and what to do next."""

    code: str
    message: str
    hint: str = ""


class NeedsKey(Refused):
    """Nobody is let in without a token or a key that is good now."""

    code = "needs_key"
    status = 401

    def __init__(self) -> None:
        super().__init__(
            "This needs a key that is good now.",
            hint="Send `Authorization: Bearer KEY`; `carrel serve` prints a link with one.",
        )


class KeysUnread(Unavailable):
    """Whether a key is good cannot be said, since the records of a workspace cannot be read."""

    code = "keys_unread"

    def __init__(self) -> None:
        super().__init__("Keys cannot be looked up now.", hint="Try again; the server's log may say more.")


class WrongHost(Refused):
    """The request names a host that this server is not, as a page of another site would."""

    code = "wrong_host"

    def __init__(self) -> None:
        super().__init__(
            "This server is not known by that host name.",
            hint="Use the address that `carrel serve` printed; --allow-host names more.",
        )


class WrongOrigin(Refused):
    """A page of another site sent the request."""

    code = "wrong_origin"

    def __init__(self) -> None:
        super().__init__("A page of another site may not ask this.", hint="Open the explorer itself.")


class NeedsCsrf(Refused):
    """A browser's change came without the word that only our own pages know."""

    code = "needs_csrf"

    def __init__(self) -> None:
        super().__init__("The page that asked this is out of date.", hint="Reload the page and try again.")


class Beyond(Refused):
    """The key is good, and does not reach so far."""

    code = "beyond_key"

    def __init__(self, what: str) -> None:
        super().__init__(f"This key may not {what}.", hint="`carrel keys create` makes one that may.")


class BodyTooLarge(UsageError):
    """More was sent than is taken."""

    code = "body_too_large"
    status = 413

    def __init__(self, limit: int) -> None:
        super().__init__(f"A body may have {limit:,} bytes here.", hint="Send less at once.")


class EncodedBody(UsageError):
    """A body that is packed is not unpacked, since it may be any size inside."""

    code = "encoded_body"
    status = 415

    def __init__(self) -> None:
        super().__init__("A body is taken as it is.", hint="Send it without Content-Encoding.")


class TooSlow(UsageError):
    """The body did not come in time."""

    code = "too_slow"
    status = 408

    def __init__(self, seconds: float) -> None:
        super().__init__(f"The body was not here within {seconds:g} seconds.", hint="Send it again.")


class TooMany(Unavailable):
    """More was asked, or guessed, than one may in this time."""

    code = "too_many_requests"
    status = 429

    def __init__(self) -> None:
        super().__init__("Too many requests.", hint="Wait a second and try again.")


class BadBody(UsageError):
    """What was sent is not what is taken here."""

    code = "bad_body"

    def __init__(self, why: str) -> None:
        super().__init__(f"The body cannot be used: {why}.", hint="/openapi.json says what is taken.")


class UnknownWorkspace(NotFound):
    """The server has no workspace of this name."""

    code = "unknown_workspace"

    def __init__(self, name: str) -> None:
        super().__init__(
            f"This server has no workspace {name[:80]!r}.", hint="GET /api/v1/workspaces lists them."
        )


def status_of(error: CarrelError) -> int:
    """Return the status of an error: its own, else that of its family."""
    own = getattr(error, "status", None)
    if isinstance(own, int):
        return own
    if isinstance(error, Stale):
        return _UNMET
    if isinstance(error, Unreadable) and error.reason != "io_error":
        return _UNFIT  # asking again will not help
    return next((status for family, status in STATUSES.items() if isinstance(error, family)), _FAILED)


def problem_of(error: CarrelError) -> Problem:
    """Return what is told of an error."""
    return Problem(code=error.code, message=error.message, hint=error.hint)


def where(error: BaseException) -> str:
    """Return where something broke, for the log: without its message, which may quote what was sent."""
    return "".join(format_tb(error.__traceback__))
