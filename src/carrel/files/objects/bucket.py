"""Requests to an object store: each bounded in time, repeated where that helps, and sure of what it did.

The driver repeats nothing by itself: who repeats a condition must know that the first attempt may have
been done, and its answer lost. Its words name hosts and keys, so they stay in the cause of our errors.
"""

import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, Literal, TypeVar
from urllib.parse import urlsplit

import obstore
from msgspec import Struct
from obstore.exceptions import (
    AlreadyExistsError,
    BaseError,
    NotSupportedError,
    PermissionDeniedError,
    PreconditionError,
    UnauthenticatedError,
    UnknownConfigurationKeyError,
)
from obstore.store import MemoryStore, from_url

from carrel.addresses import Key
from carrel.errors import Unavailable, UsageError

if TYPE_CHECKING:  # they exist only for type checkers
    from obstore import ObjectMeta, PutMode
    from obstore.store import ObjectStore

SCHEMES = ("s3", "gs", "az", "memory")
_VARIABLES = {"s3": "AWS_", "gs": "GOOGLE_", "az": "AZURE_"}
"""How the variables of each provider begin."""

_OF_LINKS = re.compile(
    "ALLOW_|HTTP[12]_|POOL_|PROXY_|(CONNECT_|READ_)?TIMEOUT|DEFAULT_CONTENT_TYPE|RANDOMIZE_|USER_AGENT"
)
"""What follows in the names of those that say how a connection is made: we say that; the driver panics."""

Reason = Literal["busy", "down", "slow", "broken", "unknown", "missing", "refused", "unsupported"]
T = TypeVar("T")

_AGAIN = "Try again in a few seconds"
_REASONS: dict[Reason, tuple[str, str]] = {
    "busy": ("it has too much to do", f"{_AGAIN}."),
    "down": ("it cannot be reached", f"{_AGAIN}; if it stays so, check the network and CARREL_OBJECTS."),
    "slow": ("it took too long to answer", f"{_AGAIN}."),
    "broken": ("its answer broke off or makes no sense", f"{_AGAIN}."),
    "unknown": (
        "its answer was lost, and whether the change was made is not known",
        "Look at what is there now, then try again.",
    ),
    "missing": ("the bucket does not exist", "Create the bucket, or name another in CARREL_OBJECTS."),
    "refused": (
        "it refuses these keys",
        "Check the provider's variables (such as AWS_ACCESS_KEY_ID) and what they may do in the bucket.",
    ),
    "unsupported": (
        "it has no conditional writes, so two writers could overwrite each other",
        "Use a store that has If-Match and If-None-Match for PUT.",
    ),
}
_PASSING: tuple[Reason, ...] = ("busy", "down", "slow", "broken")
_NOT_DONE: tuple[Reason, ...] = ("busy", "missing", "refused", "unsupported")
LARGEST = 1 << 30
"""No larger object is taken into memory, whatever for."""

_PAUSES = (0.1, 0.4, 1.2)
_PATIENCE = 20.0
"""After so many seconds nothing is asked again."""

_STATUS = re.compile(r"status code: (\d{3})")
_NO_BUCKET = ("NoSuchBucket", "ContainerNotFound", "specified bucket does not exist")
_NO_LINK = ("tcp connect error", "dns error", "ConnectError")
_STATUSES: dict[str, Reason] = {
    "400": "refused", "401": "refused", "403": "refused", "408": "slow", "429": "busy", "501": "unsupported",
    "503": "busy", "504": "slow",
}  # fmt: skip


class ObjectsUnavailable(Unavailable):
    """The object store did not do what it was asked; `reason` says which of a few ways that went."""

    code = "objects_unavailable"

    def __init__(self, reason: Reason) -> None:
        what, hint = _REASONS[reason]
        super().__init__(f"The object store cannot be used now: {what}.", hint=hint)
        self.reason: Reason = reason


class BadObjectsUrl(UsageError):
    """What names the object store is no URL of one."""

    code = "bad_objects_url"

    def __init__(self) -> None:  # the URL may hold a password
        super().__init__(
            "The URL of the object store names none.",
            hint="Set CARREL_OBJECTS to s3://BUCKET/PREFIX, gs://BUCKET/PREFIX, az://CONTAINER/PREFIX or "
            "memory://NAME; keys are in the provider's own variables, never in the URL.",
        )


class TooMuch(Exception):  # noqa: N818, RUF100
    """An object is larger than may be taken into memory."""

    def __init__(self, size: int) -> None:
        super().__init__(size)
        self.size = size


class Found(Struct, frozen=True, kw_only=True):
    """One object as the store tells of it; `e_tag` and `version` are what a swap compares."""

    key: str
    size: int
    e_tag: str
    version: str | None
    changed: datetime

    @property
    def changed_ns(self) -> int:
        """When it was put there, by the store's clock."""
        return int(self.changed.timestamp() * 1_000_000) * 1000


class Blob(Struct, frozen=True):
    """An object with its bytes."""

    found: Found
    data: bytes


class Bucket:
    """A bucket of an object store, or a container; keys are whole."""

    def __init__(self, url: str, access: Mapping[str, Key]) -> None:
        ours = _VARIABLES.get(urlsplit(url).scheme)
        told = frozenset(item for item in access.items() if ours and _is_told(item[0], ours))
        # A server with thousands of workspaces has one set of connections.
        self._store = _opened(url, told) if ours else _memory(url)

    def get(self, key: str, *, most: int) -> Blob | None:
        """Return an object of at most so many bytes, None when there is none; a larger one is TooMuch."""

        def work() -> Blob | None:
            try:
                answer = obstore.get(self._store, key)
            except FileNotFoundError as error:
                return _none(error)
            found = _found(answer.meta)
            if found.size > most:
                raise TooMuch(found.size)
            return Blob(found, _whole(bytes(answer.bytes()), found.size))

        return _patiently(work)

    def get_part(self, found: Found, start: int, end: int) -> bytes | None:
        """Return these bytes of an object, which has them; None when it is another one by now."""

        def work() -> bytes | None:
            try:
                answer = obstore.get(
                    self._store, found.key, options={"range": (start, end), "if_match": found.e_tag}
                )
                return _whole(bytes(answer.bytes()), end - start)
            except PreconditionError:
                return None
            except FileNotFoundError as error:
                return _none(error)

        return _patiently(work) if end > start else b""

    def look(self, key: str) -> Found | None:
        """Return what the store tells of an object."""

        def work() -> Found | None:
            try:
                return _found(obstore.head(self._store, key))
            except FileNotFoundError as error:
                return _none(error)

        return _patiently(work)

    def below(self, prefix: str) -> list[Found]:
        """Return all that is below a prefix, by key."""

        def work() -> list[Found]:
            chunks = obstore.list(self._store, f"{prefix}/", chunk_size=1000)  # pyright: ignore[reportUnknownMemberType]
            return [_found(meta) for chunk in chunks for meta in chunk]

        return sorted(_patiently(work), key=lambda found: found.key)

    def folder(self, prefix: str) -> tuple[list[Found], list[str]]:
        """Return the objects directly below a prefix, and the names of those that have others below."""

        def work() -> tuple[list[Found], list[str]]:
            answer = obstore.list_with_delimiter(self._store, f"{prefix}/")  # pyright: ignore[reportUnknownMemberType]
            below = [key.rstrip("/").rpartition("/")[2] for key in answer["common_prefixes"]]
            return [_found(meta) for meta in answer["objects"]], below

        return _patiently(work)

    def create(self, key: str, data: bytes, *, once: bool = False) -> bool:
        """Make an object where there is none; False when there is one, which is not of this call.

        What is made `once` is never replaced by other bytes, and no other call makes the same.
        """
        return self._put(key, data, "create", once=once)

    def swap(self, old: Found, data: bytes) -> bool:
        """Replace exactly this object; False when it is another one by now, or gone."""
        mode: PutMode = {"e_tag": old.e_tag}
        if old.version is not None:  # some stores compare this one
            mode["version"] = old.version
        return self._put(old.key, data, mode)

    def empty(self, key: str) -> None:
        """Take an object's bytes away and leave its key taken."""
        _patiently(lambda: obstore.put(self._store, key, b"", use_multipart=False))

    def delete(self, keys: Sequence[str]) -> None:
        """Remove objects that nobody asks for any more."""
        if keys:
            _patiently(lambda: obstore.delete(self._store, keys))

    def delete_once(self, key: str) -> None:
        """Remove an object, in one attempt only: a late second one could meet what came after it."""
        try:
            obstore.delete(self._store, key)
        except (BaseError, OSError) as error:
            raise _failure(error) from error

    def _put(self, key: str, data: bytes, mode: "PutMode", *, once: bool = False) -> bool:
        is_sure = True
        attempt = 0
        started = time.monotonic()
        while True:
            try:
                obstore.put(self._store, key, data, mode=mode, use_multipart=False)
            except (AlreadyExistsError, PreconditionError):
                return not is_sure and self._is_ours(key, data, once=once)
            except (BaseError, OSError) as error:
                failure = _failure(error)
                is_sure = is_sure and (failure.reason in _NOT_DONE or _is_unsent(error))
                if _is_over(failure, attempt, started):
                    raise (failure if is_sure else ObjectsUnavailable("unknown")) from error
            else:
                return True
            time.sleep(_PAUSES[attempt])
            attempt += 1

    def _is_ours(self, key: str, data: bytes, *, once: bool) -> bool:
        """Tell whether what is there was put there by an attempt whose answer was lost."""
        blob = self.get(key, most=LARGEST)
        if blob is not None and blob.data == data:
            return True
        if (
            blob is None or not once or not blob.data
        ):  # ours may have been there, and somebody's turn after it
            raise ObjectsUnavailable("unknown")
        return False


def split_url(url: str) -> tuple[str, list[str]]:
    """Return the URL of the bucket, and the names that lead to the prefix in it."""
    try:
        told = urlsplit(url)
        is_plain = told.scheme in SCHEMES and not (told.query or told.fragment or "@" in told.netloc)
    except ValueError:
        raise BadObjectsUrl from None
    names = [name for name in told.path.split("/") if name]
    if not is_plain or not (told.netloc or told.scheme == "memory") or {".", ".."} & {*names}:
        raise BadObjectsUrl
    return f"{told.scheme}://{told.netloc}", names


@lru_cache(maxsize=32)
def _opened(url: str, access: frozenset[tuple[str, Key]]) -> "ObjectStore":
    config = {name: key.reveal() for name, key in access}
    options: Any = {
        "config": config,
        # A plain connection is only made to an endpoint that the user names as such.
        "client_options": {"allow_http": True, "connect_timeout": "5s", "timeout": "30s"},
        "retry_config": {"max_retries": 0, "retry_timeout": timedelta(seconds=_PATIENCE)},
    }
    while True:
        try:
            return from_url(url, **options)
        except UnknownConfigurationKeyError as error:  # a variable of the provider's other tools
            if not (name := _named(error, config)):
                raise BadObjectsUrl from error
            del config[name]
        except (BaseError, ValueError) as error:
            raise BadObjectsUrl from error


def _is_told(name: str, start: str) -> bool:
    return name.startswith(start) and not _OF_LINKS.match(name.removeprefix(start))


def _named(error: Exception, names: Iterable[str]) -> str | None:
    """Return the name that an error is about; the driver spells it in small letters."""
    return next((name for name in names if f"'{name.lower()}'" in str(error)), None)


@cache
def _memory(_: str) -> "ObjectStore":
    return MemoryStore()


def _patiently(work: Callable[[], T]) -> T:
    """Do what may be done twice, until it is answered or no more use."""
    attempt = 0
    started = time.monotonic()
    while True:
        try:
            return work()
        except (BaseError, OSError) as error:
            failure = _failure(error)
            if _is_over(failure, attempt, started):
                raise failure from error
        time.sleep(_PAUSES[attempt])
        attempt += 1


def _is_over(failure: ObjectsUnavailable, attempt: int, started: float) -> bool:
    is_late = time.monotonic() - started > _PATIENCE
    return failure.reason not in _PASSING or attempt == len(_PAUSES) or is_late


def _failure(error: Exception) -> ObjectsUnavailable:
    if isinstance(error, PermissionDeniedError | UnauthenticatedError):
        return ObjectsUnavailable("refused")
    if isinstance(error, NotSupportedError):
        return ObjectsUnavailable("unsupported")
    text = str(error)
    if _has(text, _NO_BUCKET):
        return ObjectsUnavailable("missing")
    if status := _STATUS.search(text):
        return ObjectsUnavailable(_STATUSES.get(status[1], "broken"))
    if "timed out" in text:
        return ObjectsUnavailable("slow")
    return ObjectsUnavailable("down" if "error sending request" in text else "broken")


def _is_unsent(error: Exception) -> bool:
    return _has(str(error), _NO_LINK)


def _has(text: str, words: Iterable[str]) -> bool:
    return any(word in text for word in words)


def _none(error: FileNotFoundError) -> None:
    """Return that there is no such object, unless it is the bucket that there is not."""
    if _has(str(error), _NO_BUCKET):
        raise error


def _found(meta: "ObjectMeta") -> Found:
    if not (e_tag := meta["e_tag"]):
        raise ObjectsUnavailable("unsupported")
    return Found(
        key=meta["path"],
        size=meta["size"],
        e_tag=e_tag,
        version=meta["version"],
        changed=meta["last_modified"],
    )


def _whole(data: bytes, size: int) -> bytes:
    if len(data) != size:
        raise OSError(f"{len(data)} bytes came of {size}")
    return data
