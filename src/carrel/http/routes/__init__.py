"""The endpoints, by what they are about; those asked most often are looked for first."""

from collections.abc import Iterator
from importlib import import_module

from carrel.http.routing import Routes

_MODULES = (
    "context",
    "search",
    "front",
    "files",
    "agents",
    "care",
    "keys",
    "sections",
    "facts",
    "review",
    "changes",
    "namespaces",
    "dreams",
    "forget",
    "sessions",
    "chat",
)


def all_routes() -> Iterator[Routes]:
    """Yield the endpoints of every part, in the order of the description."""
    for name in _MODULES:
        yield import_module(f"carrel.http.routes.{name}").routes
