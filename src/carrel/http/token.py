"""The server's own token: made once, kept where only its owner can read it."""

import os
import stat
from collections.abc import Mapping
from pathlib import Path
from secrets import token_urlsafe

from carrel.config import user_directories
from carrel.errors import Refused, UsageError
from carrel.files.disk import typed_failures

VARIABLE = "CARREL_TOKEN"
"""Holds the token of servers that are many, and of one that keeps nothing on its machine."""

_BYTES = 32
_FLAGS = os.O_CLOEXEC | os.O_NOFOLLOW
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


class TokenExposed(Refused):
    """Others could have read the token, so that it says nothing about who holds it."""

    code = "token_exposed"

    def __init__(self, path: Path) -> None:
        super().__init__(
            f"Others than you can read {path}, or it is not a token.",
            hint="Remove it; the next `carrel serve` makes a new one.",
        )


class WeakToken(UsageError):
    """A token that could be guessed is none."""

    code = "weak_token"

    def __init__(self) -> None:
        super().__init__(
            f"{VARIABLE} is shorter than {_BYTES} characters, or has some that no header can hold.",
            hint="python -c 'import secrets; print(secrets.token_urlsafe(32))' makes a good one.",
        )


def find_token(environ: Mapping[str, str], *, keep: bool) -> tuple[str, Path | None]:
    """Return the token and where it is kept: as the environment says, else the one on this machine.

    A server that keeps nothing on its machine makes one that is good until it stops.
    """
    if given := environ.get(VARIABLE, ""):
        if len(given) < _BYTES or not given.isascii() or not given.isprintable() or " " in given:
            raise WeakToken
        return given, None
    path = token_path(environ)
    return (read_or_make(path), path) if keep else (token_urlsafe(_BYTES), None)


def token_path(environ: Mapping[str, str]) -> Path:
    """Return where the token is kept."""
    return user_directories(environ).data / "server.token"


def read_or_make(path: Path) -> str:
    """Return the token, made where there is none; it never is anywhere with another's eyes on it."""
    with typed_failures(str(path)):
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        try:
            made = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _FLAGS, 0o600)
        except FileExistsError:
            return _read(path)
        with os.fdopen(made, "w") as file:
            token = token_urlsafe(_BYTES)
            file.write(token)
            file.flush()
            os.fsync(file.fileno())
        return token


def _read(path: Path) -> str:
    with os.fdopen(os.open(path, os.O_RDONLY | _FLAGS)) as file:
        found = os.fstat(file.fileno())
        token = file.read(200).strip() if stat.S_ISREG(found.st_mode) else ""
    if found.st_mode & _OTHERS or found.st_uid != os.geteuid() or len(token) < _BYTES:
        raise TokenExposed(path)
    return token
