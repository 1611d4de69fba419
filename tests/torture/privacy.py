"""Row 9: a mark in every private file and in all that an owner says, and every surface asked with others' ears.

The quick tier does everything once in three layouts. The long one goes on with deeds and questions at random.
"""

import json
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import takewhile
from pathlib import Path
from typing import Any

from tests.privacy.asking_http import SKIPPED, addresses, bodies
from tests.privacy.asking_mcp import FILES, SESSIONS, everything, server
from tests.privacy.asking_mcp import told as told_by_mcp
from tests.privacy.canaries import (
    FORMS,
    LAYOUTS,
    PRIVATE,
    PUBLIC,
    REMEMBERED,
    TOOL_CALLS,
    names_told,
    words_told,
)
from tests.privacy.house import DEEDS, House, housed
from tests.stubs.clients import talk
from tests.torture.rows import Defect, Meter, Row
from tests.unit.http.test_access import DECLARED, TABLE

from carrel.errors import CarrelError

Said = tuple[str, str]
"""What was asked, and all that was answered."""

_QUERIES = ("heronry", "red ledger", "The heron keeps", "zq")
_MODES = ("hybrid", "lexical", "literal", "regex")
_PAGES = (
    "",
    "/overview",
    "/files",
    "/tree",
    "/context",
    "/context?session=s1",
    "/search?q=heron",
    "/skills",
    "/health",
)
_HOOKS = ("session-start", "prompt", "stop", "pre-compact")
_UNASKED = ("bad_arguments", "unknown_tool")
"""With which a tool refuses what it does not take, and so tells nothing that could be private.

A client of MCP asks some of them by every name that an argument could have.
"""

_YARD = "yard"
_BURIED = (f"{_YARD}/crypt/deed.md", f"{_YARD}/shed/chest/will.md")
_LINKS = {
    f"{_YARD}/stairs": f"{_YARD}/crypt",
    f"{_YARD}/ramp": f"{_YARD}/shed",
    f"{_YARD}/porch/door": f"{_YARD}/crypt",
}
"""What is in a folder of a workspace beside what is public: private files alone, and links to where these are."""

_ROUND = 400
"""Questions to a workspace in the long tier, before a new one is made."""


def library(house: House, _: random.Random) -> Iterator[Said]:
    """The Python interface, where the application names the scope."""
    work, shared = house.workspace, {"scope": "shared"}
    asks: list[tuple[str, Callable[[], object]]] = [
        *((f"assemble {s}", lambda s=s: work.assemble(s, "What of the red book?", **shared).to_text()) for s in SESSIONS),
        *((f"report {s}", lambda s=s: work.assemble(s, None, **shared).report.to_json()) for s in SESSIONS),
        *((f"prepare {s}", lambda s=s: work.prepare(s, "What of it?", **shared).to_text()) for s in SESSIONS),
        *((f"read {path}", lambda path=path: work.read(path, **shared)) for path in FILES),
        *(
            (f"search {query} {mode}", lambda q=query, m=mode: work.search(q, mode=m, limit=50, facets=True, **shared))
            for query in _QUERIES
            for mode in _MODES
        ),
        ("knowledge", lambda: (work.read_knowledge(**shared), work.list_knowledge(**shared))),
        ("sessions", lambda: work.list_session_logs(**shared)),
        ("health", lambda: work.health(**shared)),
        ("compact", lambda: work.compact("s1", **shared)),
        *(
            (f"tool {name} {given}", lambda name=name, given=given: work.tools(session="g1", **shared).call(name, given))
            for name, given in _calls(house)
        ),
    ]  # fmt: skip
    for asked, ask in asks:
        yield asked, _told(ask)


def _told(ask: Callable[[], object]) -> str:
    try:
        return repr(ask())
    except CarrelError as error:
        return f"{error.code}: {error.message} {error.hint}"


def _calls(house: House) -> list[tuple[str, dict[str, Any]]]:
    """Return every tool that there is for others' ears, with all that it is asked."""
    names = [spec.name for spec in house.workspace.tools(session="g1", scope="shared").specs()]
    return [(name, given) for name in names for given in TOOL_CALLS.get(name, ({},))]


def shell(house: House, _: random.Random) -> Iterator[Said]:
    """The command line with --scope shared, exports and hooks among it."""
    lines = [*FORMS, *REMEMBERED, *(["search", query, "--json", "--explain"] for query in _QUERIES)]
    lines += [["export", "--format", form] for form in ("json", "markdown", "html")]
    lines += [["sessions", verb] for verb in ("list",)] + [["sessions", "show", own] for own in SESSIONS]
    for words in lines:
        yield " ".join(words), house.shell("--scope", "shared", *words)
    for event in _HOOKS:
        given = {"session_id": "g1", "prompt": "What does the heron keep?", "cwd": str(house.root)}
        words = ("hook", event, "--harness", "claude")
        yield " ".join(words), house.shell(*words, given=json.dumps(given).encode())


def http(house: House, chance: random.Random) -> Iterator[Said]:
    """Every endpoint with a key for shared ears, and the pages of the explorer."""
    for name in TABLE:
        if name in SKIPPED:
            continue
        declared = DECLARED[name]
        asked = [(chance.choice(addresses(declared)), chance.choice(bodies(name, declared)))]
        if name == "call_tool":
            asked = [_call(tool, given, chance) for tool, given in _calls(house)]
        for path, body in asked:
            answer = house.place.ask(declared.method, path, body, key=house.key)
            yield f"{declared.method} {path} {body}", answer.text
    for path in _PAGES:
        yield f"page {path}", house.page(path)
        yield f"page {path} with a key", house.page(path, house.key)


def _call(tool: str, given: dict[str, Any], chance: random.Random) -> tuple[str, Any]:
    return f"/tools/{tool}:call", {"arguments": given, "session": chance.choice((None, "g1", "s1"))}


def mcp(house: House, _: random.Random) -> Iterator[Said]:
    """Whatever a client of the MCP server can ask for."""

    async def work(client: object) -> list[Said]:
        return [pair async for pair in everything(client)]

    yield from talk(server(house.workspace), work)


SURFACES: Sequence[Callable[[House, random.Random], Iterator[Said]]] = (library, shell, http, mcp)


def keep_to_oneself(meter: Meter) -> None:
    """Let an owner do everything once and ask every surface; then, if there is time, both at random."""
    chance, made, marks, compared = random.Random(meter.seed), 0, 0, 0
    while meter.goes_on or (made < len(LAYOUTS) and meter.seconds_left > 0):
        is_first = made < len(LAYOUTS)
        layout = sorted(LAYOUTS)[made] if is_first else chance.choice(sorted(LAYOUTS))
        with housed(meter.folder / str(made), layout) as house:
            for deed in DEEDS if is_first else chance.choices(DEEDS, k=12):
                deed(house, chance)
            (_ask_all if is_first else _ask_at_random)(house, chance, meter)
            marks += len(house.places)
            if is_first:
                compared += _ask_with_and_without(house, meter)
        made += 1
    meter.figures["private places"] = f"{marks:,}"
    meter.figures["asked with and without what is private, to the same answer"] = f"{compared:,}"


def _ask_all(house: House, chance: random.Random, meter: Meter) -> None:
    for surface in SURFACES:
        for asked, told in surface(house, chance):
            _judge(house, meter, surface.__name__, asked, told)


def _ask_at_random(house: House, chance: random.Random, meter: Meter) -> None:
    """Ask one surface after another, with the owner at work between any two answers."""
    end = meter.trials + _ROUND
    while meter.goes_on and meter.trials < end:
        surface = chance.choice(SURFACES)
        for asked, told in surface(house, chance):
            _judge(house, meter, surface.__name__, asked, told)
            if chance.random() < 0.02:
                chance.choice(DEEDS)(house, chance)
            if not meter.goes_on or chance.random() < 0.01:
                break


def _ask_with_and_without(house: House, meter: Meter) -> int:
    """Ask for each private file by its path, then for the same when none is there: the answers do not differ.

    It is the last that is done in a workspace. How many things are hidden is told to everybody, and not asked here.
    """
    private = [path for path in LAYOUTS[house.workspace.layout.name][1] if (house.root / path).is_file()]
    asks = [*private, *_dig_in(house.root)]
    before = [*_asked_by_path(house, asks)]
    for path in (*private, *_BURIED, *_LINKS):
        (house.root / path).unlink(missing_ok=True)  # where a defect let others remove it
        with suppress(OSError):
            (house.root / path).parent.rmdir()
            (house.root / path).parent.parent.rmdir()
    for (asked, told), (_, then) in zip(before, _asked_by_path(house, asks), strict=True):
        meter.check(told == then, f"{asked}: {_change(told, then)}")
        meter.tried()
    return len(before)


def _dig_in(root: Path) -> list[str]:
    """Make folders that hold nothing for others, and links to them, beside a public file; return all to ask for."""
    for path, text in {f"{_YARD}/gate.md": PUBLIC, **dict.fromkeys(_BURIED, PRIVATE)}.items():
        (root / path).parent.mkdir(parents=True)
        (root / path).write_text(text)
    for path, target in _LINKS.items():
        (root / path).parent.mkdir(exist_ok=True)
        (root / path).symlink_to(root / target)
    paths = (*_BURIED, *_LINKS)
    above = {str(each) for path in paths for each in Path(path).parents[:-1]}
    return [*paths, *sorted(above)]


def _change(told: str, then: str) -> str:
    """Return where two answers begin to differ."""
    same = takewhile(lambda pair: pair[0] == pair[1], zip(told, then, strict=False))
    place = max(0, sum(1 for _ in same) - 40)
    return f"it tells whether it is there: {told[place : place + 160]!r}, {then[place : place + 160]!r} without it"


def _asked_by_path(house: House, private: Sequence[str]) -> Iterator[Said]:
    """Ask for files, and for what would be in a folder of their names, on every surface that takes a path to read."""
    tools = house.workspace.tools(session="g1", scope="shared")
    for path in (*private, *(f"{path}/x" for path in private)):
        yield f"library read {path}", _told(lambda path=path: house.workspace.read(path, scope="shared"))
        yield f"library list {path}", _told(lambda path=path: house.workspace.list(path, scope="shared"))
        yield (
            f"library preview {path}",
            _told(lambda path=path: house.workspace.preview(path, scope="shared")),
        )
        for name, key in (("read_file", "path"), ("memory_get", "path"), ("list_files", "under")):
            yield f"tool {name} {path}", _told(lambda path=path, n=name, k=key: tools.call(n, {k: path}))
        for words in (
            ("files", "cat"),
            ("files", "tree"),
            ("memory", "sections"),
            ("context", "explain"),
            ("files", "rm"),
        ):
            yield " ".join((*words, path)), house.shell("--scope", "shared", *words, path)
        for address in ("files/{}", "preview/{}", "tree?path={}", "memory/sections?file={}"):
            answer = house.place.ask("GET", f"/{address.format(path)}", key=house.key)
            yield f"http {address.format(path)}", answer.text
        yield f"page {path}", house.page(f"/files/{path}")
    yield from talk(server(house.workspace), lambda client: _asked_by_mcp(client, private))


async def _asked_by_mcp(client: Any, private: Sequence[str]) -> list[Said]:
    said = list[Said]()
    for path in (*private, *(f"{path}/x" for path in private)):
        said += [
            (f"mcp read {path}", await told_by_mcp(client.call_tool("file_read", {"path": path}))),
            (f"mcp list {path}", await told_by_mcp(client.call_tool("file_list", {"under": path}))),
            (f"mcp resource {path}", await told_by_mcp(client.read_resource(f"workspace://files/{path}"))),
        ]
    return said


def _judge(house: House, meter: Meter, surface: str, asked: str, told: str) -> None:
    leaks = [
        *house.leaks(asked, told),
        *words_told(asked, told),
        *names_told(house.workspace.layout.name, asked, told),
    ]
    meter.check(not leaks, f"{surface}, {asked[:160]}: told of {', '.join(leaks[:5])}")
    is_asked = surface == mcp.__name__ or not any(code in told for code in _UNASKED)
    meter.check(is_asked, f"{surface}, {asked[:160]}: nothing was asked: {told[:160]}")
    meter.tried()


PRIVACY = Row(
    number=9,
    promise="what is the owner's, asked for on every surface with others' ears",
    quick=900,
    long=20_000,
    share=4,
    run=keep_to_oneself,
    passes="0 private bytes told",
    defects=(
        Defect(
            "workspace/scope.py",
            "        if any(_matches(_folded(name), self._private) for name in (path, target)):\n            return True\n",
            "",
            "files that a layout keeps for its owner are anybody's",
        ),
        Defect(
            "workspace/scope.py",
            "        return document.meta.private or self.covers(",
            "        return self.covers(",
            "a file that calls itself private is anybody's",
        ),
        Defect(
            "runtime/toolbox.py",
            "return is_kept or is_hidden(self.files, entry, self.view)",
            "return is_kept",
            "a tool lists the names of private files",
        ),
        Defect(
            "runtime/explorer.py",
            "        if is_unseen(files, under, view):\n            raise NoSuchPath(under) from None\n",
            "",
            "who takes a private file for a folder is told that it is a file",
        ),
        Defect(
            "runtime/explorer.py",
            "for entry in entries if not is_hidden(files, entry, view)]",
            "for entry in entries if not (view.privacy and view.privacy.covers_name(entry.path))]",
            "the library lists folders that hold only private files",
        ),
        Defect(
            "runtime/view.py",
            "holds_only_private(files, entry.target, view.privacy)",
            "entry.path == entry.target and holds_only_private(files, entry.path, view.privacy)",
            "a link to a folder of private files shows its name",
        ),
        Defect(
            "shelf.py",
            "        with discreet(path, view):\n            return preview_file(",
            "        with suppress():\n            return preview_file(",
            "a preview tells a private file from an absent one",
        ),
    ),
)
