"""The explorer: a workspace in the browser. Pages are read here; changes go through the API."""

from importlib import import_module
from importlib.resources import files as resources  # a page of ours is called files, too

from fastapi import FastAPI
from starlette.middleware.gzip import GZipMiddleware
from starlette.staticfiles import StaticFiles

from carrel.http.explorer.pages import template

STATIC = "/static"
_SMALL = 1_000
"""Bytes up to which a file is sent as it is."""

_PAGES = (
    "overview",
    "health",
    "files",
    "search",
    "sessions",
    "context",
    "chat",
    "memory",
    "review",
    "namespaces",
    "dreams",
    "activity",
    "settings",
    "skills",
)
# Now, and not when the app is built: then a sweep imports the same in another thread, and one gets a half.
_ROUTERS = [import_module(f"carrel.http.explorer.{name}").router for name in _PAGES]


def add_to(app: FastAPI) -> None:
    """Put the pages into an app."""
    shipped = _Static(directory=str(resources("carrel.http.explorer") / "static"))
    # Of pages nothing is compressed: what is secret stands beside what strangers wrote, and sizes would tell.
    app.mount(STATIC, GZipMiddleware(shipped, minimum_size=_SMALL))
    for router in _ROUTERS:
        app.include_router(router)
    _await_the_first()


def _await_the_first() -> None:
    """Load now what the first look at the overview would have to wait for: the index, and its templates."""
    for module in ("carrel.index.embedded", "carrel.index.embed.static"):
        import_module(module)
    for name in ("base.html", "macros.html", "deeds.html", "overview.html"):
        template(name)


class _Static(StaticFiles):
    """Styles and scripts: a browser may keep what has its version in its address, else it asks again."""

    def file_response(self, full_path: object, *args: object, **named: object) -> object:  # type: ignore[override]
        """Answer with a file."""
        answer = super().file_response(full_path, *args, **named)  # type: ignore[arg-type]
        is_script = str(full_path).endswith(".js")
        answer.headers["Cache-Control"] = "private, no-cache" if is_script else "private, max-age=86400"
        return answer
