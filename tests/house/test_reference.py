"""What users can meet is documented, and what is documented exists: errors, findings, reasons, settings, commands."""

import ast
import importlib
import pkgutil
import re
import shlex
from pathlib import Path
from typing import get_args

import click
import pytest

import carrel
from carrel.cli.main import carrel as program
from carrel.context.section import State
from carrel.errors import CarrelError
from carrel.files import Reason
from carrel.settings import ALIAS, leaves

ROOT = Path(__file__).parents[2]
REFERENCE = ROOT / "docs/reference"
CODE = re.compile(r"[a-z][a-z0-9_]*")
FAMILIES = {"UsageError": 2, "NotFound": 3, "CheckFailed": 4, "Conflict": 5, "Refused": 6, "Unavailable": 1}


def modules():
    yield carrel
    for found in pkgutil.walk_packages(carrel.__path__, "carrel."):
        yield importlib.import_module(found.name)


MODULES = list(modules())


def error_classes():
    found = {}
    for module in MODULES:
        for item in vars(module).values():
            if isinstance(item, type) and issubclass(item, CarrelError):
                found[item.__qualname__] = item
    return found


ERRORS = error_classes()


def section(page, heading):
    text = (REFERENCE / page).read_text("utf-8")
    return re.split(r"^## ", text.partition(f"\n## {heading}\n")[2], maxsplit=1, flags=re.MULTILINE)[0]


def cells(text, column):
    """The words in backticks of one column of a table."""
    rows = [line.strip().strip("|").split("|") for line in text.splitlines() if line.startswith("|")][2:]
    return [word for row in rows if len(row) > column for word in re.findall(r"`([^`]+)`", row[column])]


def test_every_error_has_a_code_of_its_own_and_says_what_it_is():
    for name, error in ERRORS.items():
        assert "code" in vars(error), f"{name} must not borrow the code of its family"
        assert CODE.fullmatch(error.code), name
        assert error.__doc__, name


def test_codes_are_unique():
    codes = [error.code for error in ERRORS.values()]
    assert sorted(codes) == sorted(set(codes))


def test_every_error_belongs_to_one_family():
    for error in ERRORS.values():
        families = [base.__name__ for base in error.__mro__ if base.__name__ in FAMILIES]
        assert len(families) == (0 if error is CarrelError else 1), error


def test_every_error_is_documented_and_every_documented_one_exists():
    documented = cells(section("errors.md", "Errors"), 0)
    assert len(documented) == len(set(documented))
    assert set(documented) == {error.code for error in ERRORS.values()} | {"internal"}


def test_the_documented_exit_codes_are_the_real_ones():
    by_code = {error.code: error for error in ERRORS.values()}
    for line in section("errors.md", "Errors").splitlines():
        row = line.strip("|").split("|")
        for code in re.findall(r"`([a-z_]+)`", row[0]):
            if code in by_code and by_code[code] is not CarrelError:
                family = next(base.__name__ for base in by_code[code].__mro__ if base.__name__ in FAMILIES)
                assert f"({FAMILIES[family]})" in row[1], code


def constants(*call_names):
    """The `code=` of every call of these names in the source, and the first argument where it is positional."""
    for path in sorted((ROOT / "src/carrel").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            name = isinstance(node, ast.Call) and (
                getattr(node.func, "attr", "") or getattr(node.func, "id", "")
            )
            if name in call_names:
                given = [k.value for k in node.keywords if k.arg == "code"] or node.args[:1]
                yield from (
                    g.value for g in given if isinstance(g, ast.Constant) and isinstance(g.value, str)
                )


def test_every_finding_is_documented_and_every_documented_one_exists():
    documented = set(cells(section("errors.md", "Warnings and findings"), 0))
    real = {*constants("Finding", "warn", "_damaged"), "newer_trust_file"}
    assert documented == real


def test_every_finding_about_skills_and_subagents_is_documented_and_every_documented_one_exists():
    documented = set(cells(section("errors.md", "Findings about skills and subagents"), 0))
    words = set()
    for name in ("skills", "skill_rules", "subagents"):
        tree = ast.parse((ROOT / f"src/carrel/workspace/{name}.py").read_text("utf-8"))
        words |= {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}
    prefixes = ("skill_", "skills_", "subagent_", "subagents_")
    real = {word for word in words if isinstance(word, str) and CODE.fullmatch(word)}
    made_of_a_key = {"skill_description", "skill_compatibility", "skill_license"}
    assert documented == {word for word in real if word.startswith(prefixes)} - {"skill_"} | made_of_a_key


def test_every_state_and_reason_of_a_section_is_documented():
    table = section("errors.md", "States and reasons of a section")
    assert set(get_args(State)) - {"blocked"} <= set(cells(table, 0))
    assert set(get_args(Reason)) <= set(cells(table, 1))


def in_words(key):
    """A key the way the reference writes it, with [] after that of a list."""
    return ".".join(f"{name}[]" if name == "agents" else name for name in key)


def test_every_setting_is_documented_and_every_documented_one_exists():
    documented = cells(section("config.md", "Keys"), 0)
    aliases = {ALIAS, f"agents[].{ALIAS}"}
    assert set(documented) - aliases == {in_words(key) for key in leaves()}
    assert len(documented) == len(set(documented))


def test_every_variable_is_documented():
    text = "".join(path.read_text("utf-8") for path in sorted(REFERENCE.glob("*.md")))
    variables = {leaf.about.environment for leaf in leaves().values() if leaf.about.environment}
    for variable in variables | {"CARREL_HOME", "CARREL_NOW", "CARREL_OS"}:
        assert f"`{variable}`" in text, variable


def commands(group=program, path=()):
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        yield " ".join((*path, name)), command
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name))


COMMANDS = dict(commands())


def test_every_command_is_documented_and_has_help():
    lines = (REFERENCE / "cli.md").read_text("utf-8").splitlines()
    for name, command in COMMANDS.items():
        assert command.help, name
        words = ["carrel", *name.split()]
        assert any(all(re.search(rf"\b{word}\b", line) for word in words) for line in lines), name


def examples(command):
    """The command lines that the help of a command shows, without what stands around them."""
    for line in (command.help or "").partition("Examples:")[2].splitlines():
        shown = re.search(r"(?:^|\| |\$\(|\* )\s*carrel .*", line)
        if shown:
            text = re.split(r" {2,}(?!\|)", shown[0].strip("|$(* ").strip())[0]
            yield shlex.split(re.split(r" [|<>]|\)\"?$", text)[0])[1:]


def understood(words):
    """Read a command line as far as its verbs and the names of its options go; what is unknown raises."""
    command, context = program, click.Context(program)
    while True:
        told = [
            word for word in words if not word.startswith("- ")
        ]  # a text, which some commands take as such
        _, rest, _ = command.make_parser(context).parse_args(told)
        if not isinstance(command, click.Group) or not rest:
            return command
        found = command.get_command(context, rest[0])
        assert found is not None, rest[0]
        command, context, words = found, click.Context(found, parent=context), rest[1:]


@pytest.mark.parametrize("name", COMMANDS)
def test_help_shows_examples_that_the_command_line_understands_and_says_what_each_option_is(name):
    command = COMMANDS[name]
    shown = list(examples(command))
    assert shown, "no example"
    assert any(word in name.split() for words in shown for word in words)
    for words in shown:
        understood(words)
    for parameter in command.params:
        assert not isinstance(parameter, click.Option) or parameter.help or parameter.hidden, parameter.name


def test_links_between_pages_lead_somewhere():
    dead = [
        f"{page.relative_to(ROOT)}: {target}"
        for page in (*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"))
        for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text("utf-8"))
        if not target.startswith(("http://", "https://", "mailto:")) and not (page.parent / target).exists()
    ]
    assert dead == []


def test_the_pages_that_a_repository_needs_are_there():
    for name in (
        "README.md",
        "CHANGELOG.md",
        "CONTRIBUTING.md",
        "SECURITY.md",
        "AGENTS.md",
        "LICENSE",
        "Makefile",
        "constraints.txt",
        ".ci/run",
    ):
        assert (ROOT / name).is_file(), name


def test_every_dependency_is_pinned_by_version_alone():
    lines = [
        line for line in (ROOT / "constraints.txt").read_text("utf-8").splitlines() if line and line[0] != "#"
    ]
    assert [
        line for line in lines if not re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.!+_-]+( *#.*)?", line)
    ] == []
