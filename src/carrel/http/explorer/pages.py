"""How a page is made: a template, what all pages show around it, and what a browser may do with it."""

from collections.abc import Callable
from hashlib import sha256
from importlib.resources import files
from typing import Annotated, Any, cast

from fastapi import APIRouter, Depends, Request
from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from msgspec import Struct
from starlette.convertors import PathConvertor, register_url_convertor
from starlette.responses import HTMLResponse

from carrel import __version__
from carrel.errors import CarrelError
from carrel.http.access import Access
from carrel.http.desk import Desk, Needs
from carrel.http.errors import Problem, problem_of, status_of
from carrel.http.explorer import words

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "font-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
"""A page runs what we ship and loads nothing from anywhere else; a style or script inside it does nothing."""

NAVIGATION = (
    ("overview", "Overview", "o"),
    ("files", "Files", "f"),
    ("search", "Search", "/"),
    ("context", "Context", "c"),
    ("memory", "Memory", "m"),
    ("review", "Review", "r"),
    ("namespaces", "Namespaces", "n"),
    ("dreams", "Dreams", "d"),
    ("sessions", "Sessions", "s"),
    ("chat", "Chat", "t"),
    ("skills", "Skills", "k"),
    ("health", "Health", "h"),
    ("activity", "Activity", "a"),
    ("settings", "Settings", "e"),
)
"""The pages: address, name, and the key that leads there after `g`."""


class _AnyPath(PathConvertor):
    """The rest of an address: a file's name may hold a newline, which the dot of a pattern does not match."""

    regex = "(?s:.*)"


register_url_convertor("path", _AnyPath())  # before any route is made, those of the API too


class Viewer(Struct, frozen=True, kw_only=True):
    """Who looks at a page, and at which workspace: the owner, who may look with others' eyes."""

    desk: Desk
    request: Request

    @property
    def base(self) -> str:
        """The address below which this workspace's pages are."""
        return f"/w/{self.desk.name}"


async def _viewer(request: Request, desk: Annotated[Desk, Depends(Needs("read", eyes=True))]) -> Viewer:
    words.AT.set(desk.workspace.config.clock.now())
    return Viewer(desk=desk, request=request)


Looking = Annotated[Viewer, Depends(_viewer)]
"""What every page takes first."""

View = Callable[..., HTMLResponse]


def router() -> APIRouter:
    """Return where the pages of one kind are declared."""
    return APIRouter(prefix="/w/{workspace}", include_in_schema=False)


def page(viewer: Viewer, name: str, /, *, title: str, here: str, **values: Any) -> HTMLResponse:
    """Return a page: its own template, with what all pages show."""
    return _answer(_shown(viewer, title, here) | values, name)


def fragment(viewer: Viewer, name: str, /, **values: Any) -> HTMLResponse:
    """Return a part of a page, which a script puts into it."""
    return _answer(_shown(viewer, "", "") | values, name)


def template(name: str) -> Template:
    """Return a template, which is compiled the first time."""
    return _TEMPLATES.get_template(name)


def failed(error: CarrelError) -> HTMLResponse:
    """Tell a person what went wrong and what to do next."""
    return told(problem_of(error), status_of(error))


def told(problem: Problem, status: int) -> HTMLResponse:
    """Tell a person of a problem on a page of its own."""
    return _answer(
        {**_PLAIN, "problem": problem, "status": status, "title": "Not here"}, "problem.html", status
    )


def _shown(viewer: Viewer, title: str, here: str) -> dict[str, Any]:
    desk, access = viewer.desk, viewer.desk.access
    settings = desk.workspace.config.settings
    return _PLAIN | {
        "title": title,
        "here": here,
        "base": viewer.base,
        "api": f"/api/v1/w/{desk.name}",
        "workspace": desk.name,
        "layout": desk.workspace.layout.name,
        "agent": desk.agent or "",
        "agents": [agent.id for agent in settings.agents],
        "scope": desk.scope.value,
        "csrf": access.csrf,
        "may_change": _may(access),
        "query": dict(viewer.request.query_params),
        "asked": viewer.request.query_params.multi_items(),
        "keep": words.kept(desk.agent, desk.scope),
    }


def _may(access: Access) -> bool:
    return access.right != "read"


def _answer(values: dict[str, Any], name: str, status: int = 200) -> HTMLResponse:
    text = template(name).render(values)
    data = text.encode("utf-8", "replace")  # what is not Unicode is shown as `?`
    return HTMLResponse(data, status, headers={"Content-Security-Policy": POLICY})


def _static(name: str) -> str:
    """Return the address of a file that we ship, which changes when the file does.

    A script has only one: it is imported by that name too, and under another it would run twice.
    """
    if name.endswith(".js"):
        return f"/static/{name}"
    if name not in _DIGESTS:
        data = (files("carrel.http.explorer") / "static" / name).read_bytes()
        _DIGESTS[name] = sha256(data).hexdigest()[:12]
    return f"/static/{name}?v={_DIGESTS[name]}"


_DIGESTS: dict[str, str] = {}
_TEMPLATES = Environment(
    loader=PackageLoader("carrel.http.explorer"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_GLOBALS: dict[str, Any] = cast("Any", _TEMPLATES).globals
_GLOBALS["static"] = _static
_FILTERS: dict[str, Any] = cast("Any", _TEMPLATES).filters
_FILTERS.update(words.FILTERS)
_PLAIN: dict[str, Any] = {
    "version": __version__,
    "navigation": NAVIGATION,
    "base": "",
    "here": "",
    "keep": "",
}
