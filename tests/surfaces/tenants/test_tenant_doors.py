"""The other ways in: no command at an address, and nothing in Python, tells of a neighbour or touches one."""

import io
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import click
import pytest
from tests.conftest import Cli
from tests.surfaces.tenants.households import AGENT, HOUSEHOLDS, WORKSPACE, Household, neighbour
from tests.surfaces.tenants.places import BASE, Known, ids
from tests.surfaces.tenants.questions import in_turns
from tests.surfaces.tenants.street import Question, Street

from carrel import Workspace
from carrel.cli.main import carrel
from carrel.errors import CarrelError

ELSEWHERE = {
    "backup create": "is looked into below",
    "backup restore": "names files of this machine",
    "backup verify": "names files of this machine",
    "bench": "measures a copy on this machine",
    "completion": "prints a script",
    "database migrate": "the operator's",
    "database workspaces": "names a tenant, and is the operator's",
    "demo": "has a workspace of its own",
    "export": "is looked into below",
    "hook": "speaks to a coding agent on this machine",
    "import": "names files of this machine",
    "init": "names a workspace, and is its owner's",
    "integrate": "changes files of this machine",
    "mcp": "is asked in test_tenant_tools",
    "migrate": "names two workspaces, and is their owner's",
    "restore": "names a workspace, and is its owner's",
    "serve": "is asked in test_tenant_routes",
    "trust": "names a workspace, and is its owner's",
}
"""Commands that are not asked here, and why."""

SHARED = ("C", "json", "lower", "scope", "agent", "quiet", "verbose", "log")
NUMERIC = ("integer", "integer range")


def commands(
    group: click.Command = carrel, words: tuple[str, ...] = ()
) -> Iterator[tuple[str, click.Command]]:
    """Yield every command by its words."""
    if not isinstance(group, click.Group):
        yield " ".join(words), group
        return
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        yield from commands(command, (*words, name))


def name_of(parameter: click.Parameter) -> str:
    return max(parameter.opts, key=len).lstrip("-").replace("-", "_")


def written(values: Mapping[str, Any], command: click.Command) -> list[str]:
    """Return the words of a command line in which some parameters have values."""
    options, arguments = list[str](), list[str]()
    for parameter in command.params:
        name = name_of(parameter)
        if name in values:
            value = str(values[name])
            if isinstance(parameter, click.Argument):
                arguments.append(value)
            else:
                options += [max(parameter.opts, key=len), value]
    return [*options, "--", *arguments]


def lines(words: str, command: click.Command, other: Household, known: Known) -> Iterator[list[str]]:
    """Yield a command as it is, and with an id of a neighbour in each place that it has."""
    base = {name_of(each): BASE[name_of(each)] for each in command.params if each.required}
    yield [*words.split(), *written(base, command)]
    for each in command.params:
        name, kind = name_of(each), each.type.name
        if name in SHARED or kind not in ("text", *NUMERIC):
            continue
        types = {"integer"} if kind in NUMERIC else {"string"}
        for value in ids(name, types, other, known)[:2]:
            yield [*words.split(), *written({**base, name: value}, command)]


def test_no_command_at_an_address_tells_of_a_neighbour(
    tenants: Street, known: Mapping[str, Known], cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    cli.set(CARREL_DATABASE_URL=tenants.database)
    every = dict(commands())
    assert {*ELSEWHERE} <= {*every}
    codes: dict[str, list[int]] = {}
    for own in HOUSEHOLDS:
        other = neighbour(own)
        with tenants.watching(own, "commands"):
            for words, command in every.items():
                if words in ELSEWHERE:
                    continue
                for _, line in in_turns(own, lines(words, command, other, known[other.name])):
                    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b""), encoding="utf-8"))
                    done = cli("-C", own.address, *line)
                    said = " ".join(line).lower().encode()
                    tenants.look(own, done.out + done.err, said, " ".join(line))
                    assert b"Traceback" not in done.err
                    codes.setdefault(words, []).append(done.code)
    assert tenants.found() == []
    assert sum(0 in seen for seen in codes.values()) > len(codes) * 0.6, codes


@pytest.mark.parametrize(
    "words",
    ["export --to own.zip", "export --to own.json", "export --to own.md", "backup create --to own.zip"],
)
def test_no_copy_of_a_workspace_holds_anything_of_a_neighbour(
    tenants: Street, cli: Cli, tmp_path: Path, words: str
) -> None:
    cli.set(CARREL_DATABASE_URL=tenants.database)
    for own in HOUSEHOLDS:
        done = cli("-C", own.address, *words.split())
        assert done.code == 0, done.warnings
        (made,) = tmp_path.glob("own.*")
        held = made.read_bytes()
        if made.suffix == ".zip":
            with ZipFile(made) as whole:
                held = b"".join(name.encode() + whole.read(name) for name in whole.namelist())
        tenants.look(own, held + done.out + done.err, b"", words)
        assert own.word.encode() in held
        made.unlink()
    assert tenants.found() == []


def in_python(own: Household, other: Household, known: Known) -> dict[str, Callable[[Workspace], Any]]:
    """What a program may ask of its own workspace, in the names of a neighbour."""
    talk, path, up = (
        f"{other.name}-talk",
        f"notes/{other.name}.md",
        f"../../{other.name}/{WORKSPACE}/MEMORY.md",
    )
    return {
        "read": lambda w: [w.fetch(path), w.fetch("MEMORY.md")],
        "read above": lambda w: w.fetch(up),
        "read at an address": lambda w: w.fetch(f"{other.address}/MEMORY.md"),
        "list": lambda w: [*w.files.list(""), *w.files.list("notes")],
        "stamps": lambda w: w.files.stamps([path, "MEMORY.md"]),
        "assemble": lambda w: w.assemble(talk, other.rare).to_text(),
        "prepare": lambda w: w.prepare(talk, other.rare).to_text(),
        "search": lambda w: [w.search(words).hits for words in (other.rare, "harbour")],
        "sessions": lambda w: [w.sessions.rows(limit=99), w.sessions.exists(talk)],
        "entries": lambda w: [*w.sessions.entries(talk)],
        "fact": lambda w: w.records.facts.get(f"{other.name}-fact"),
        "facts": lambda w: [w.memory.facts(session=talk), w.memory.facts(), w.memory.facts(path=path)],
        "history": lambda w: [w.memory.history(path), w.memory.history()],
        "change": lambda w: w.memory.change(13 + other.more),
        "proposal": lambda w: w.memory.review.show(other.more + 1),
        "jobs": lambda w: [w.records.queue.jobs(), w.records.queue.get(other.more + 1)],
        "dream": lambda w: [w.records.dreams.list(), w.records.dreams.get(other.more + 1)],
        "key": lambda w: w.records.keys.get(known.key),
        "keys": lambda w: w.records.keys.all(),
        "revoke": lambda w: w.records.keys.revoke(known.key, at=w.config.clock.now()),
        "namespaces": lambda w: [w.memory.namespaces.list(), w.memory.namespaces.export(known.namespace)],
        "frozen": lambda w: w.records.kept(AGENT, talk, "main"),
        "usage": lambda w: w.records.usage.total(session=talk),
        "trash": lambda w: [*w.home.find_trash().list("")],  # type: ignore[union-attr]
        "moved": lambda w: [*w.home.moved_to(f"{other.name}/{WORKSPACE}").files.list("")],
        "moved above": lambda w: [*w.home.moved_to(f"../../{other.name}/{WORKSPACE}").files.list("")],
        "forget": lambda w: w.records.recalls.forget([other.rare]),
        "sweep": lambda w: w.sweep(),
    }


def test_nothing_in_python_tells_of_a_neighbour_or_touches_one(
    tenants: Street, known: Mapping[str, Known]
) -> None:
    for own in HOUSEHOLDS:
        other = neighbour(own)
        with (
            tenants.watching(own, "Python"),
            Workspace.open(own.address, environ=tenants.environ) as workspace,
        ):
            for name, ask in in_python(own, other, known[other.name]).items():
                try:
                    told = repr(ask(workspace))
                except CarrelError as error:
                    told = f"{error} {error.hint}"
                said = f"{other.name} {other.rare} {known[other.name].key}".encode()
                tenants.look(own, told.encode("utf-8", "replace"), said, name)
    assert tenants.found() == []


PLACES = (
    "../../{name}/studio", "../{name}.studio", "pg://{name}/studio", "/{name}/studio", "../.namespaces", "..",
    "agents/../../../{name}",
)  # fmt: skip


@pytest.mark.parametrize("place", PLACES)
def test_no_setting_of_a_workspace_leads_to_a_neighbour(tenants: Street, place: str) -> None:
    own = HOUSEHOLDS[0]
    other = neighbour(own)
    told = place.format(name=other.name)
    here = f"/api/v1/w/{own.served_as}"
    settings = f"agents:\n  - {{id: spy, workspace: '{told}', profile: sailor}}\n".encode()
    with tenants.watching(own, place):
        with Workspace.open(own.address, environ=tenants.environ) as workspace:
            workspace.put("carrel.yaml", settings)
        for trusted in (False, True):
            if trusted:
                Workspace.trust(own.address, environ=tenants.environ)
            for method, path, body in (
                ("GET", "/tree", None),
                ("GET", "/files/MEMORY.md", None),
                ("GET", "/search?q=harbour&agent=spy", None),
                ("GET", "/facts?agent=spy", None),
                ("POST", "/context:assemble?agent=spy", {}),
                ("PUT", "/files/notes/spy.md?agent=spy", b"I was here.\n"),
                ("POST", "/facts?agent=spy", {"text": "I was here."}),
            ):
                answer = ask_anew(
                    tenants, own, Question(method=method, path=here + path, body=body, place=told)
                )
                assert answer.status_code != 500, (path, answer.text)
    assert tenants.found() == []


def ask_anew(street: Street, own: Household, question: Question) -> Any:
    """Ask a server that has nothing open yet: settings are read when a workspace is opened."""
    street.served.close()
    return street.ask(own, question)
