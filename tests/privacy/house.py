"""A workspace that is served and has a mark of its own in everything private, so that a leak tells where it came from."""

import io
import os
import random
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.privacy.asking_http import PRIVATE as PAGES
from tests.privacy.canaries import CANARY, LAYOUTS
from tests.unit.http.served import NOW, TOKEN, Place, serving

from carrel.app import Workspace
from carrel.cli.main import run
from carrel.workspace.namespace import namespace_of

MARK = re.compile(r"zq(\d+)qz")
SETTINGS = "layout: {layout}\nagents: [{{id: kate, displayName: Kate, trigger_interval: 1}}]\nsearch: {{embedder: none}}\n"


class House:
    """Who lives here says and does things as its owner; `leaks` tells of a text whose they were."""

    def __init__(self, place: Place, folder: Path) -> None:
        self.place, self.root = place, place.root
        self.environ = {"CARREL_HOME": str(folder / "home"), "CARREL_NOW": NOW.isoformat()}
        self.places: list[str] = []
        self.key = place.key("admin")

    @property
    def workspace(self) -> Workspace:
        return self.place.served.workspace(agent="kate")

    def mark(self, where: str) -> str:
        """Return a word that stands in one place only, in a sentence that is searched for."""
        self.places.append(where)
        return f"{CANARY} zq{len(self.places)}qz, my heronry"

    def leaks(self, asked: str, told: str) -> list[str]:
        """Return the private places of which a text tells, but for what the question said itself."""
        known = set(MARK.findall(asked))
        return sorted({self.places[int(n) - 1] for n in MARK.findall(told) if n not in known})

    def shell(self, *words: str, given: bytes = b"") -> str:
        """Run a command here, and return all that it said."""
        return shell(self.root, self.environ, *words, given=given)

    def page(self, path: str, key: str = TOKEN) -> str:
        """Return a page of the explorer as others would see it."""
        joint = "&" if "?" in path else "?"
        answer = self.place.client.get(
            f"/w/default{path}{joint}scope=shared", headers={"Authorization": f"Bearer {key}"}
        )
        return answer.text


def shell(root: Path, environ: Mapping[str, str], *words: str, given: bytes = b"") -> str:
    """Run a command in this process, and return all that it said."""
    out, err = io.BytesIO(), io.BytesIO()
    with _swapped(environ, *(io.TextIOWrapper(each) for each in (io.BytesIO(given), out, err))):
        run(["-C", str(root), *words])
        return (out.getvalue() + err.getvalue()).decode("utf-8", "replace")


@contextmanager
def _swapped(environ: Mapping[str, str], given: Any, out: Any, err: Any) -> Iterator[None]:
    old, streams = dict(os.environ), (sys.stdin, sys.stdout, sys.stderr)
    own = {name: value for name, value in old.items() if not name.startswith("CARREL_")}
    os.environ.clear()
    os.environ.update(own | environ)
    sys.stdin, sys.stdout, sys.stderr = given, out, err
    try:
        yield
    finally:
        sys.stdin, sys.stdout, sys.stderr = streams
        os.environ.clear()
        os.environ.update(old)


@contextmanager
def housed(folder: Path, layout: str) -> Iterator[House]:
    """Make a workspace of a layout with a mark in every private file, and serve it."""
    folder.mkdir(parents=True)
    with serving(folder, settings=SETTINGS.format(layout=layout)) as place:
        house = House(place, folder)
        public, private = LAYOUTS[layout]
        files = {path: text.replace(CANARY, house.mark(path)) for path, (text, _) in private.items()}
        if layout == "carrel":
            files |= {
                path: f"{text}\n{house.mark(path)}\n" for path, text in PAGES.items() if path not in files
            }
        for path, text in (public | files).items():
            (house.root / path).parent.mkdir(parents=True, exist_ok=True)
            (house.root / path).write_text(text)
        space = (
            folder
            / "home/data/namespaces"
            / namespace_of(house.workspace.agent, "Kate", str(house.root)).path
        )
        space.parent.mkdir(parents=True, exist_ok=True)
        space.write_text(
            f"---\ntitle: {house.mark('the title of a namespace')}\n---\n{house.mark('a namespace')}\n"
        )
        yield house


def record(house: House, chance: random.Random) -> None:
    session = chance.choice(("s0", "s1", "g1", "mcp.s1"))
    said = {"role": "user", "content": house.mark(f"what was said in {session}")}
    house.workspace.record(
        session, [said, {"role": "assistant", "content": house.mark(f"an answer in {session}")}]
    )


def record_in_two_scopes(house: House, _: random.Random) -> None:
    """The owner says something in a session that others are in, before and after them."""
    work = house.workspace.record
    work("g1", [{"role": "user", "content": house.mark("what was said before others came")}])
    work("g1", [{"role": "user", "content": "How is the weather?"}], scope="shared")
    work("g1", [{"role": "assistant", "content": house.mark("what was said when they had left")}])


def remember(house: House, chance: random.Random) -> None:
    kind = chance.choice(("note", "event", "entity", "procedure", "user", "preference"))
    layer = chance.choice(("project", "experience"))
    house.workspace.memory.add(
        f"{house.mark(f'a fact ({kind}, {layer})')}.", kind=kind, layer=layer, subject="Ana"
    )


def write(house: House, chance: random.Random) -> None:
    home = house.workspace.layout.home
    name = chance.choice(("MEMORY.md", "USER.md"))
    house.workspace.memory.notebook(home + name).append("By hand", f"- {house.mark(f'a line of {name}')}")


def propose(house: House, _: random.Random) -> None:
    tools = house.workspace.tools(scope="shared")
    tools.call("memory_write", {"text": f"{house.mark('a proposal')}."})


def compact(house: House, chance: random.Random) -> None:
    session = f"long{chance.randrange(10**9)}"
    for number in range(6):
        said = {"role": "user", "content": f"We decided: {house.mark('a decision')} {number}."}
        house.workspace.record(
            session, [said, {"role": "assistant", "content": "The boats are many. " * 400}]
        )
    house.workspace.compact(session)


def prepare(house: House, chance: random.Random) -> None:
    house.workspace.prepare(chance.choice(("s1", "g1", "mcp.s1")), house.mark("a question"))


def look(house: House, chance: random.Random) -> None:
    house.workspace.search(house.mark("a search"), mode=chance.choice(("hybrid", "lexical", "literal")))  # type: ignore[arg-type]
    house.workspace.tools(session="s1").call("memory_search", {"query": "heron ledger"})


def rest(house: House, _: random.Random) -> None:
    """Whatever is done at night."""
    house.workspace.sweep()
    house.workspace.dreaming.run()
    house.workspace.conversations.learning.consolidate(None)


DEEDS = (record, record_in_two_scopes, remember, write, propose, compact, prepare, look, rest)
"""What an owner does in main scope, each of which leaves something private behind."""
