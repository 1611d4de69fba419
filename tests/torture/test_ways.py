"""That row 7 looks for what it says: in what git and Carrel keep too, and by each address that has a name in it."""

import re
from collections.abc import Iterable, Iterator
from importlib import import_module
from pkgutil import iter_modules

import pytest
from fastapi import APIRouter, FastAPI
from starlette.routing import BaseRoute, Mount, Route
from tests.torture import canaries
from tests.torture.canaries import Lookout
from tests.torture.paths_named import furnish
from tests.torture.paths_surfaces import REQUESTS

from carrel.http import explorer
from carrel.http.app import API
from carrel.http.routes import all_routes
from carrel.http.routes.front import front

_NAME = re.compile(r"\{\w+(:\w+)?\}")
_NUMBER = "it is read as a whole number before anything is done with it"
_RECORD = "it is looked for among the records, of which none has a file"
_NO_WAY = {
    "GET proposals/{}": _NUMBER,
    "POST proposals/{}:approve": _NUMBER,
    "POST proposals/{}:reject": _NUMBER,
    "POST jobs/{}:retry": _NUMBER,
    "GET changes/{}": _NUMBER,
    "POST changes/{}:undo": _NUMBER,
    "GET facts/{}": _RECORD,
    "POST facts/{}:pin": _RECORD,
    "POST facts/{}:unpin": _RECORD,
    "POST dreams/{}:revert": _RECORD,
    "DELETE keys/{}": _RECORD,
    "POST sessions/{}/chat": "a turn wants a model; its session is found as that of sessions/{}/entries is",
}


def _named(routes: Iterable[BaseRoute]) -> Iterator[str]:
    """Yield each method and address with a name in it, but for that of the workspace, written as `{}`."""
    for route in routes:
        if isinstance(route, Mount):
            yield f"GET {route.path}/{{}}"
        elif isinstance(route, Route):
            path = _NAME.sub("{}", route.path.replace("{workspace}", "default"))
            yield from (f"{method} {path}" for method in (route.methods or set()) - {"HEAD"} if "{}" in path)


def _addresses() -> set[str]:
    app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None)
    for routes in all_routes():
        routes.add_to(app, API)
    explorer.add_to(app)
    names = (each.name for each in iter_modules(explorer.__path__, f"{explorer.__name__}."))
    found = (getattr(import_module(name), "router", None) for name in names)
    pages = [route for router in found if isinstance(router, APIRouter) for route in router.routes]
    return set(_named([*app.routes, *front.routes, *pages]))


def test_each_address_with_a_name_in_it_is_a_way_of_row_7_or_says_why_not():
    addresses = _addresses()
    ways = {f"{asked.method} {asked.address.partition('?')[0]}" for asked in REQUESTS.values()}
    excused = {told.replace(" ", f" {API}/w/default/") for told in _NO_WAY}
    assert {"GET /static/{}", "GET /w/default/tree/{}", f"DELETE {API}/w/default/sessions/{{}}"} <= addresses
    assert sorted(addresses - ways - excused) == []
    assert sorted(excused - addresses) == []
    assert sorted(excused & ways) == []


@pytest.fixture
def desk(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # a socket has a short path
    canaries.lay_out(tmp_path)
    (tmp_path / "desk").mkdir()
    (tmp_path / "desk/carrel.yaml").touch()
    furnish(tmp_path / "desk")
    return tmp_path / "desk"


@pytest.mark.parametrize(
    "path",
    [
        ".git/config", ".git/hooks/pre-commit", ".carrel/state/guard.md", ".carrel/state/new.md", "memory/.git/hooks/x",
        ".Git/x", "a/b/.git/x",
    ],
)  # fmt: skip
def test_what_is_written_where_git_or_carrel_keep_something_is_seen_after_a_round(desk, path):
    before = canaries.digest(desk.parent)
    assert canaries.digest(desk.parent) == before
    (desk / path).parent.mkdir(parents=True, exist_ok=True)
    (desk / path).write_text("Written here.\n")
    assert canaries.digest(desk.parent) != before


def test_what_carrel_keeps_for_itself_is_no_change(desk):
    before, lookout = canaries.digest(desk.parent), Lookout.within(desk)
    for name in ("records.db", "trash/2026/carrel.md"):
        (desk / ".carrel/state" / name).parent.mkdir(parents=True, exist_ok=True)
        (desk / ".carrel/state" / name).touch()
    assert canaries.digest(desk.parent) == before
    assert list(lookout.seen()) == []
    lookout.close()


def test_a_hook_that_came_and_went_is_seen(desk):
    lookout = Lookout.within(desk)
    (desk / ".git/hooks/pre-commit").touch()
    (desk / ".git/hooks/pre-commit").unlink()
    assert [told for told in lookout.seen() if "pre-commit was made" in told]
    lookout.close()


def test_settings_that_are_another_are_seen_and_put_back(desk):
    before = canaries.kept(desk)
    (desk / "carrel.yaml").write_text("layout: other\n")
    (desk / "memory/.git").mkdir()
    (desk / "knowledge/Carrel.YAML").touch()
    now = canaries.kept(desk)
    assert {path.name for path in now if now[path] != before.get(path, b"-")} == {
        "carrel.yaml",
        ".git",
        "Carrel.YAML",
    }
    canaries.put_back(desk, before)
    assert canaries.kept(desk) == before
