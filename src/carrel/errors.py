"""Every error a user can meet, in families by what they can do about it.

    CarrelError
      UsageError    the call is wrong: change it                      (exit 2)
      NotFound      the thing named does not exist                    (exit 3)
      CheckFailed   a check was asked for and found something         (exit 4)
      Conflict      somebody else changed it meanwhile: look again    (exit 5)
      Refused       scope or policy says no                           (exit 6)
      Unavailable   disk, database, model or network: may pass        (exit 1)

A leaf has a stable `code`, a message built from typed fields, and a `hint` with the next step.
"""

from typing import ClassVar


class CarrelError(Exception):
    """The base of all errors raised on purpose; `code` is part of the public API."""

    code: ClassVar[str] = "failed"

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class UsageError(CarrelError):
    """The caller can fix this by asking differently."""

    code = "usage"


class NotFound(CarrelError):
    """What was named does not exist."""

    code = "not_found"


class CheckFailed(CarrelError):
    """A check ran to its end and did not pass."""

    code = "check_failed"


class Conflict(CarrelError):
    """The world changed between reading and writing; nothing was overwritten."""

    code = "conflict"


class Refused(CarrelError):
    """A scope, a policy or a missing trust forbids it."""

    code = "refused"


class Unavailable(CarrelError):
    """Something below us failed; the same call may work later."""

    code = "unavailable"


class DatabaseUnavailable(Unavailable):
    """A database, be it a file or a server, cannot be opened or used."""

    code = "database_unavailable"
