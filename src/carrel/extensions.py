"""Extensions: what other packages add to Carrel under the entry points `carrel.embedders` and their like.

    offer = find("embedders", "acme", known=("static", "none"))
    embedder = open_extension(offer, choice, environ)

Installed packages are asked only for a name that is not built in, so that nobody else waits for them; and a
name that is built in is never theirs. Code of a package runs only when its extension is opened. What fails in
there is blamed on the package, with what to do, and not on Carrel.
"""

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Any, Literal

from msgspec import Struct

from carrel.errors import CarrelError, Unavailable, UsageError

Sort = Literal["embedders", "stores", "tokenizers", "importers", "layouts"]
"""What there are extensions of; the entry points of each are in the group `carrel.SORT`."""

_LONGEST = 200
_VERBS: dict[Sort, tuple[str, ...]] = {
    "embedders": ("name", "dimensions", "leading", "embed", "embed_query"),
    "stores": ("read", "part", "stamps", "list", "target", "write", "append", "remove"),
    "tokenizers": ("name", "encode", "decode"),
}


class Offer(Struct, frozen=True, kw_only=True):
    """One extension of an installed package; `target` is where its code is, as `module:name`."""

    sort: Sort
    name: str
    package: str
    version: str
    target: str
    load: Callable[[], Any]

    def __str__(self) -> str:
        return f"{self.name} ({self.package} {self.version})"


class UnknownExtension(UsageError):
    """A name that is neither built in nor an extension's; the hint lists those that are."""

    code = "unknown_extension"

    def __init__(self, sort: Sort, name: str, known: Sequence[str]) -> None:
        super().__init__(
            f"There is no {_one(sort)} {_short(name)!r}.",
            hint=f"Known: {', '.join(every(sort, known)) or 'none'}. Others come with packages: install one.",
        )


class ExtensionFailed(Unavailable):
    """An extension cannot be loaded, or broke down at work; its package is to blame."""

    code = "extension_failed"

    def __init__(self, offer: Offer, problem: str) -> None:
        super().__init__(
            f"The {_one(offer.sort)} {offer.name} of the package {offer.package} {offer.version} {problem}.",
            hint=f"Update {offer.package} or what it needs, or choose another {_one(offer.sort)}.",
        )


class ExtensionTwice(UsageError):
    """The same name is offered twice, and nothing says which is meant."""

    code = "extension_twice"

    def __init__(self, offers: Sequence[Offer]) -> None:
        packages = sorted({offer.package for offer in offers})
        what = f"{_one(offers[0].sort)} {offers[0].name}"
        one_package = f"Update {packages[0]}, or tell its author."
        super().__init__(
            f"The {what} is offered more than once: by {' and '.join(packages)}.",
            hint="Uninstall all but one of them." if packages[1:] else one_package,
        )


def offers(sort: Sort) -> list[Offer]:
    """Return what installed packages offer, by name; none of their code is run."""
    from importlib.metadata import entry_points  # noqa: PLC0415 - only who uses an extension waits for it

    found = [
        Offer(
            sort=sort,
            name=point.name,
            package=(point.dist and point.dist.name) or "?",  # half uninstalled, it has neither
            version=(point.dist and point.dist.version) or "?",
            target=point.value,
            load=point.load,
        )
        for point in entry_points(group=f"carrel.{sort}")
    ]
    return sorted(found, key=lambda offer: (offer.name, offer.package))


def every(sort: Sort, known: Sequence[str]) -> list[str]:
    """Return the names that can be chosen: those built in, and those of packages with where they are from."""
    return [*known, *(str(offer) for offer in offers(sort) if offer.name not in known)]


def offered(sort: Sort, name: str) -> bool:
    """Tell whether a package offers this name."""
    return any(offer.name == name for offer in offers(sort))


def find(sort: Sort, name: str, *, known: Sequence[str]) -> Offer:
    """Return the extension of a name; `known` are the names built in, which an unknown one is told."""
    found = [offer for offer in offers(sort) if offer.name == name]
    if not found:
        raise UnknownExtension(sort, name, known)
    if len(found) > 1:
        raise ExtensionTwice(found)
    return found[0]


def open_extension(offer: Offer, *given: object) -> Any:
    """Call what the extension is with what it is given, and return what that made, guarded.

    The caller says of what type it is: an embedder, a store, a tokenizer.
    """
    with blamed_on(offer):
        made = offer.load()(*given)
        lacking = [verb for verb in _VERBS.get(offer.sort, ()) if not hasattr(made, verb)]
    if lacking:
        raise ExtensionFailed(offer, f"is none: it has no {', '.join(lacking)}")
    return _Guarded(made, offer)


@contextmanager
def blamed_on(offer: Offer, *but: type[Exception]) -> Generator[None]:
    """Turn what an extension raises, but for some, into an error that says whose it is; Carrel's own pass."""
    try:
        yield
    except (CarrelError, *but):
        raise
    except (Exception, SystemExit) as error:
        told = " ".join(f"{type(error).__name__}: {error}".split())
        raise ExtensionFailed(offer, f"failed: {_short(told)}") from error


class _Guarded:
    """An object of an extension: the same verbs, and whatever they raise is blamed on its package."""

    __slots__ = ("_made", "_offer")

    def __init__(self, made: object, offer: Offer) -> None:
        self._made = made
        self._offer = offer

    def __getattr__(self, name: str) -> object:
        with blamed_on(self._offer, AttributeError):  # what it does not have, it does not have
            found = getattr(self._made, name)
        return self._guarded(found) if callable(found) else found

    def _guarded(self, verb: Callable[..., object]) -> Callable[..., object]:
        def guarded(*given: object, **named: object) -> object:
            with blamed_on(self._offer):
                return verb(*given, **named)

        return guarded


def _one(sort: Sort) -> str:
    return sort.removesuffix("s")


def _short(text: str) -> str:
    """Return a text as a person may safely see it: one line, and not too long."""
    shown = "".join(c if c.isprintable() else "?" for c in text[:_LONGEST])
    return shown + "…" * (len(text) > _LONGEST)
