"""Row 9: a mark in every private file and in all that an owner says, and every surface asked with others' ears.

The quick tier does everything once in three layouts. The long one goes on with deeds and questions at random.
"""

import json
import random
from collections.abc import Callable, Iterator, Sequence

from tests.privacy.asking_http import SKIPPED, TOOLS, addresses, bodies
from tests.privacy.asking_mcp import FILES, SESSIONS, everything, server
from tests.privacy.canaries import FORMS, LAYOUTS, REMEMBERED
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
        *((f"tool {name}", lambda name=name: work.tools(session="g1", **shared).call(name, {})) for name in TOOLS),
    ]  # fmt: skip
    for asked, ask in asks:
        try:
            told = repr(ask())
        except CarrelError as error:
            told = f"{error.message} {error.hint}"
        yield asked, told


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
        paths = [f"/tools/{tool}:call" for tool in TOOLS] if name == "call_tool" else addresses(declared)
        path, body = chance.choice(paths), chance.choice(bodies(name, declared))
        answer = house.place.ask(declared.method, path, body, key=house.key)
        yield f"{declared.method} {path} {body}", answer.text
    for path in _PAGES:
        yield f"page {path}", house.page(path)
        yield f"page {path} with a key", house.page(path, house.key)


def mcp(house: House, _: random.Random) -> Iterator[Said]:
    """Whatever a client of the MCP server can ask for."""

    async def work(client: object) -> list[Said]:
        return [pair async for pair in everything(client)]

    yield from talk(server(house.workspace), work)


SURFACES: Sequence[Callable[[House, random.Random], Iterator[Said]]] = (library, shell, http, mcp)


def keep_to_oneself(meter: Meter) -> None:
    """Let an owner do everything once and ask every surface; then, if there is time, both at random."""
    chance, made, marks = random.Random(meter.seed), 0, 0
    while meter.goes_on:
        is_first = made < len(LAYOUTS)
        layout = sorted(LAYOUTS)[made] if is_first else chance.choice(sorted(LAYOUTS))
        with housed(meter.folder / str(made), layout) as house:
            for deed in DEEDS if is_first else chance.choices(DEEDS, k=12):
                deed(house, chance)
            (_ask_all if is_first else _ask_at_random)(house, chance, meter)
            marks += len(house.places)
        made += 1
    meter.figures["private places"] = f"{marks:,}"


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


def _judge(house: House, meter: Meter, surface: str, asked: str, told: str) -> None:
    leaks = house.leaks(asked, told)
    meter.check(not leaks, f"{surface}, {asked[:160]}: told of {', '.join(leaks[:5])}")
    meter.tried()


PRIVACY = Row(
    number=9,
    promise="what is the owner's, asked for on every surface with others' ears",
    quick=900,
    long=20_000,
    share=2,
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
    ),
)
