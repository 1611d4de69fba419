"""The site is built without a warning and without the network, and its reference is what the code says."""

import re
import runpy
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest
import yaml
from tests.docs.pages import ROOT

import carrel
from carrel.cli.errors import EXIT_CODES
from carrel.errors import CarrelError, Unavailable
from carrel.http.app import API
from carrel.http.errors import STATUSES
from carrel.http.routes import all_routes

REFERENCE = ROOT / "docs/reference"


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    place = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", place],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return place


class Loaded(HTMLParser):
    """What a browser fetches to show a page; where a link leads is the reader's to decide."""

    def __init__(self):
        super().__init__()
        self.addresses = []

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.addresses += [
            given.get("src"),
            given.get("srcset"),
            given.get("href") if tag == "link" else None,
        ]


def test_no_page_loads_anything_from_another_host(site):
    for page in site.rglob("*.html"):
        parser = Loaded()
        parser.feed(page.read_text("utf-8"))
        outside = [each for each in parser.addresses if each and re.match(r"(?:[a-z]+:)?//", each)]
        assert outside == [], page.relative_to(site)
    for sheet in site.rglob("*.css"):
        assert not re.search(r"url\(\s*[\"']?(?:https?:)?//|@import", sheet.read_text("utf-8")), sheet.name


def test_every_page_of_the_docs_is_in_the_site_as_a_page_and_as_markdown(site):
    for page in (ROOT / "docs").rglob("*.md"):
        there = site / page.relative_to(ROOT / "docs")
        assert there.read_bytes() == page.read_bytes()
        assert there.with_suffix(".html").is_file()
    assert not list(site.rglob("*.py"))


def test_the_index_for_models_leads_to_every_page_of_the_menu(site):
    menu = set(
        re.findall(
            r"[\w/-]+\.md", yaml.safe_dump(yaml.safe_load((ROOT / "mkdocs.yml").read_text("utf-8"))["nav"])
        )
    )
    for index, folder, root in ((ROOT / "llms.txt", "docs/", ROOT), (site / "llms.txt", "", site)):
        linked = re.findall(r"\]\(([^)]+)\)", index.read_text("utf-8"))
        assert {link.removeprefix(folder) for link in linked} == menu
        assert all((root / link).is_file() for link in linked)


def test_what_is_made_from_the_code_is_up_to_date():
    pages = runpy.run_path(str(ROOT / "docs/generate.py"))["pages"]()
    behind = [path.name for path, text in pages.items() if path.read_text("utf-8") != text]
    assert behind == [], "run `make docs`"


def test_every_route_is_documented():
    page = (REFERENCE / "http.md").read_text("utf-8")
    routes = [route for group in all_routes() for route in group.declared.values()]
    assert len(routes) > 50
    for route in routes:
        path = re.sub(r"\{(\w+):\w+\}", r"{\1}", route.path).removeprefix(API).replace("{workspace}", "{w}")
        assert f"`{route.method} {path}`" in page


def test_every_tool_is_documented_for_agents_and_for_mcp(sample, tmp_path):
    with carrel.Workspace.open(sample, environ={"CARREL_HOME": str(tmp_path / "home")}) as workspace:
        names = {tool.name for tool in workspace.tools()}
    page = (REFERENCE / "tools.md").read_text("utf-8")
    assert names >= {"memory_search", "memory_write", "read_file", "who_am_i"}
    assert names <= set(re.findall(r"^## (\w+)$", page, re.MULTILINE))


def test_everything_that_the_package_exports_is_documented():
    page = (REFERENCE / "python.md").read_text("utf-8")
    assert [name for name in carrel.__all__ if name != "__version__" and name not in page] == []
    methods = [name for name in dir(carrel.Workspace) if not name.startswith("_")]
    assert [name for name in methods if not re.search(rf"^(async )?{name}[(:]", page, re.MULTILINE)] == []


def statuses_of_their_own(family=CarrelError):
    for leaf in family.__subclasses__():
        if isinstance(vars(leaf).get("status"), int):
            yield f"`{leaf.code}` {vars(leaf)['status']}"
        yield from statuses_of_their_own(leaf)


def test_the_exit_code_and_the_status_of_each_family_are_documented():
    page = (REFERENCE / "errors.md").read_text("utf-8")
    rows = {
        row[0]: row for row in re.findall(r"^\| ([a-z ]+) \| (\d) \| (\d{3}) \| (.*)\|$", page, re.MULTILINE)
    }
    assert len(rows) == len(STATUSES)
    for family, status in STATUSES.items():
        name = re.sub(r"(?<!^)(?=[A-Z])", " ", family.__name__.removesuffix("Error")).lower()
        assert rows[name][1:3] == (str(EXIT_CODES.get(family, 1)), str(status))
    assert EXIT_CODES.keys() | {Unavailable} == STATUSES.keys()
    assert [
        each for each in statuses_of_their_own() if not any(each in row[3] for row in rows.values())
    ] == []


def test_every_figure_of_the_readme_has_the_command_that_makes_it():
    readme = Path(ROOT / "README.md").read_text("utf-8")
    rows = re.findall(r"^\| .* \| `python (bench/\w+\.py)[^`]*` \|$", readme, re.MULTILINE)
    table = readme.partition("| what | figure | command |\n")[2].partition("\n\n")[0].splitlines()[1:]
    assert len(rows) == len(table) > 10
    assert all((ROOT / script).is_file() for script in rows)
