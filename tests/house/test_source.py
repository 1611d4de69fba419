"""The rules of the house for src: layers, sizes, names, exports, and what may be imported when."""

import ast
import json
import re
import subprocess
import sys
import tomllib
from functools import cache
from importlib import metadata
from pathlib import Path

import pytest

import carrel

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src/carrel"
SOURCES = sorted(PACKAGE.rglob("*.py"))
LONGEST_FILE = 400
LONGEST_FUNCTION = 60
BANNED_SUFFIXES = (
    "Manager",
    "Service",
    "Helper",
    "Helpers",
    "Util",
    "Utils",
    "Handler",
    "Base",
    "V2",
    "Impl",
)
BANNED_MODULES = {
    "utils",
    "util",
    "common",
    "types",
    "helpers",
    "helper",
    "misc",
    "base",
    "manager",
    "service",
    "core",
}
HEAVY = (
    "numpy", "pygit2", "pydantic", "asyncio", "fastapi", "starlette", "tantivy", "splintr", "psycopg", "obstore",
)  # fmt: skip


@cache
def trees():
    """All of them parsed, by the one worker that asks."""
    return {path: ast.parse(path.read_text("utf-8")) for path in SOURCES}


def name_of(path):
    return path.relative_to(ROOT / "src").as_posix()


def functions(tree):
    return (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def test_layers_are_kept():
    lint = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run(
        [lint, "--config", ROOT / "pyproject.toml", "--no-cache"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def length(function):
    assert function.end_lineno is not None
    return function.end_lineno - function.lineno + 1


def calls(tree):
    return (node for node in ast.walk(tree) if isinstance(node, ast.Call))


def matching(pattern, *, allowed):
    """The lines of source that match, as `file:line`, outside the places where they are allowed."""
    return [
        f"{name_of(path)}:{number}"
        for path in SOURCES
        if not name_of(path).startswith(allowed)
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        if re.search(pattern, line)
    ]


def test_files_are_short():
    lengths = {name_of(path): len(path.read_text("utf-8").splitlines()) for path in SOURCES}
    assert {name: lines for name, lines in lengths.items() if lines > LONGEST_FILE} == {}


def test_functions_are_short():
    lengths = {
        f"{name_of(path)}: {f.name}": length(f) for path, tree in trees().items() for f in functions(tree)
    }
    assert {name: lines for name, lines in lengths.items() if lines > LONGEST_FUNCTION} == {}


def test_most_functions_are_very_short():
    lengths = sorted(length(f) for tree in trees().values() for f in functions(tree))
    assert lengths[len(lengths) * 9 // 10] <= 35


def test_names_say_what_things_are():
    classes = [
        node.name for tree in trees().values() for node in ast.walk(tree) if isinstance(node, ast.ClassDef)
    ]
    assert [name for name in classes if name.endswith(BANNED_SUFFIXES)] == []
    assert [
        name_of(path) for path in SOURCES if path.stem in BANNED_MODULES or path.parent.name in BANNED_MODULES
    ] == []


def test_every_module_says_what_lives_in_it():
    silent = [path for path, tree in trees().items() if tree.body and not ast.get_docstring(tree)]
    assert [name_of(path) for path in silent] == []


def test_nothing_prints_but_through_one_door():
    found = [
        f"{name_of(path)}:{call.lineno}"
        for path, tree in trees().items()
        for call in calls(tree)
        if ast.unparse(call.func)
        in ("print", "click.echo", "click.secho", "sys.stdout.write", "sys.stderr.write")
    ]
    assert found == []


def test_the_time_of_day_is_an_input():
    """Only the clock reads it; the time of a file's change is compared with the system's, not with the clock's."""
    assert (
        matching(
            r"datetime\.now\(|\.utcnow\(|date\.today\(|time\.time\(\)|localtime\(",
            allowed=("carrel/clock.py",),
        )
        == []
    )


def test_the_environment_is_an_input():
    assert matching(r"os\.environ|os\.getenv", allowed=("carrel/app.py", "carrel/cli/")) == []


def test_nothing_dangerous_is_called():
    banned = {
        "eval",
        "exec",
        "compile",
        "os.system",
        "pickle.loads",
        "yaml.load",
        "yaml.safe_load",
        "yaml.full_load",
    }
    found = [
        f"{name_of(path)}:{call.lineno}"
        for path, tree in trees().items()
        for call in calls(tree)
        if ast.unparse(call.func) in banned
        or ast.unparse(call.func).startswith(("subprocess.", "os.exec", "os.spawn"))
    ]
    # The demo types commands of its own into a shell, in a directory of its own: one call, and no other.
    assert [name.rpartition(":")[0] for name in found] == ["carrel/cli/demo_stage.py"]


def test_every_exported_name_exists():
    for name in carrel.__all__:
        assert getattr(carrel, name) is not None
    assert dir(carrel) == sorted(carrel.__all__)
    with pytest.raises(AttributeError):
        carrel.nothing_of_the_kind  # noqa: B018


def test_every_exported_name_is_known_to_type_checkers():
    tree = trees()[PACKAGE / "__init__.py"]
    typed = {
        alias.asname for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for alias in node.names
    }
    assert typed - {None} == set(carrel.__all__) - {"__version__"}
    assert (PACKAGE / "py.typed").is_file()


def test_the_version_is_the_same_everywhere():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert project.get("version", carrel.__version__) == carrel.__version__
    assert metadata.version("carrel") == carrel.__version__


LOADED = "import json, sys; {0}; print(json.dumps(sorted({{name.partition('.')[0] for name in sys.modules}})), file=sys.stderr)"


def loaded(process, program, *words):
    outcome = process(*words, python=("-c", LOADED.format(program)))
    assert outcome.code == 0
    return set(json.loads(outcome.warnings.splitlines()[-1]))


RUN = "from carrel.cli.main import run; assert run(sys.argv[1:]) == 0"


@pytest.mark.parametrize("trusted", [False, True], ids=["stranger", "trusted"])
@pytest.mark.parametrize("form", [[], ["--json"]], ids=["picture", "json"])
def test_a_look_at_an_unchanged_workspace_loads_nothing_heavy(process, sample, trusted, form):
    if trusted:
        assert process("trust", sample).code == 0
    assert process("-C", sample, "context", "show").code == 0
    modules = loaded(process, RUN, "-C", sample, "context", "report", *form)
    assert modules & set(HEAVY) == set()
    assert (
        modules & {"pathspec", "platformdirs", "rich", "tiktoken", "unittest", "http", "ssl", "email"}
        == set()
    )


def test_a_cut_is_remembered_too(process, sample):
    sample.put({"team.md": "word " * 500, "carrel.yaml": "budgets: {file: 50}\n"})
    assert process("-C", sample, "context", "report").code == 0
    assert "splintr" not in loaded(process, RUN, "-C", sample, "context", "report")


def test_an_edit_loads_the_tokenizer(process, sample):
    """The other way round: shows that the check above can fail."""
    assert process("-C", sample, "context", "report").code == 0
    sample.put({"team.md": "Three people, never counted before.\n"})
    assert "splintr" in loaded(process, RUN, "-C", sample, "context", "report")


def test_the_package_itself_loads_next_to_nothing(process):
    modules = loaded(process, "import carrel")
    assert modules & {*HEAVY, "click", "msgspec", "yaml", "apsw", "pathspec"} == set()


def test_help_loads_no_engine(process):
    modules = loaded(process, "from carrel.cli.main import run; run(['--help'])")
    assert modules & {*HEAVY, "yaml"} == set()
