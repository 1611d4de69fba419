"""Makes the pages of the reference that the code itself knows best: `python docs/generate.py`.

`--check` changes nothing and names the pages that the code has left behind.
"""

# ruff: noqa: D103, INP001 - a script beside the pages; its functions are named for what they make

import ast
import importlib
import inspect
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import click
import yaml
from fastapi import FastAPI
from msgspec import NODEFAULT, json

from carrel import Workspace
from carrel.cli.main import carrel as program
from carrel.http.app import API
from carrel.http.openapi import describe
from carrel.http.routes import all_routes
from carrel.settings import ALIAS, MEANINGS, Settings, Spec, leaves

DOCS = Path(__file__).parent
ROOT = DOCS.parent
MADE = "<!-- made by docs/generate.py: change the code and run `make docs` -->"
SHARED = {"directory", "lower", "agent", "scope", "as_json", "quiet", "verbose", "log"}
PARTS = (
    ("The workspace", "carrel.app", "Workspace"),
    ("`workspace.memory`", "carrel.remembering", "Memory"),
    ("`workspace.sessions`", "carrel.sessions.store", "Sessions"),
    ("`workspace.dreaming`", "carrel.dreaming", "Dreaming"),
    ("`workspace.forgetting`", "carrel.forgetting", "Forgetting"),
    ("`workspace.callbacks`", "carrel.runtime.callbacks", "Callbacks"),
    ("What is assembled", "carrel.context.assemble", "Assembly"),
    ("", "carrel.context.report", "Report"),
    ("", "carrel.context.report", "Row"),
    ("", "carrel.context.budget", "Budget"),
    ("What is found", "carrel.index", "Found"),
    ("", "carrel.index", "Hit"),
    ("", "carrel.index", "Filter"),
    ("A turn", "carrel.runtime.loop", "Limits"),
    ("", "carrel.runtime.model", "Model"),
    ("What was noticed", "carrel.findings", "Finding"),
    ("", "carrel.errors", "CarrelError"),
)
"""The classes that an application meets, each under the heading before it."""


def pages() -> dict[Path, str]:
    """Return every page that is made, or made in part, with the text that it should have."""
    config = DOCS / "reference/config.md"
    made = {
        DOCS / "reference/commands.md": commands_page(),
        DOCS / "reference/http.md": http_page(),
        DOCS / "reference/python.md": python_page(),
        DOCS / "reference/tools.md": tools_page(),
        config: with_keys(config.read_text("utf-8")),
        DOCS / "decisions/index.md": decisions_page(),
    }
    return {**made, ROOT / "llms.txt": index_for_models(made)}


def table(head: tuple[str, ...], rows: Iterator[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join(f"| {' | '.join(' '.join(cell.split()) for cell in line)} |" for line in lines)


def escaped(cell: str) -> str:
    return cell.replace("|", r"\|")


# The command line


def commands_page() -> str:
    parts = [
        "# Every command",
        MADE,
        "What `--help` says. [Command line](cli.md) has all of it on one page, exit codes and variables.",
        "Every command also takes these, before the verb or after it:",
        options_of(program, set(), only=SHARED),
    ]
    for path, command in commands(program, ("carrel",)):
        parts += [f"{'#' * len(path)} {' '.join(path)}", *about(path, command)]
    return "\n\n".join(part for part in parts if part) + "\n"


def commands(group: click.Group, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        yield (*path, name), command
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name))


def about(path: tuple[str, ...], command: click.Command) -> Iterator[str]:
    told, _, examples = inspect.cleandoc(command.help or "").replace("\b\n", "").partition("Examples:\n")
    usage = " ".join(command.collect_usage_pieces(click.Context(command)))
    yield f"`{' '.join(path)} {usage}`"
    yield re.sub(r"(?m)^ +", "", told.strip())
    yield options_of(command, SHARED)
    if examples:
        yield f"```text\n{inspect.cleandoc(examples)}\n```"


def options_of(command: click.Command, hidden: set[str], only: set[str] | None = None) -> str:
    context = click.Context(command)
    records = (
        parameter.get_help_record(context)
        for parameter in command.get_params(context)
        if parameter.name not in hidden
        and "--help" not in parameter.opts
        and (only is None or parameter.name in only)
    )
    rows = [(f"`{escaped(name)}`", escaped(told)) for name, told in filter(None, records) if told]
    return table(("option", "does"), iter(rows)) if rows else ""


# HTTP


def http_page() -> str:
    app, declared = FastAPI(title="Carrel", version="1"), {}
    for routes in all_routes():
        routes.add_to(app, API)
        declared |= routes.declared
    described = describe(app, declared)
    by_tag: dict[str, list[tuple[str, ...]]] = {}
    for path, operations in described["paths"].items():
        for method, operation in operations.items():
            by_tag.setdefault(operation["tags"][0], []).append(route_row(method, path, operation))
    told = f"""Every route below `{API}`, as `GET /openapi.json` describes it with all schemas. `{{w}}`
is the name of a workspace, or `default`; each route with one also takes `agent` and
`scope`. The [guide](../guides/http.md) says who may ask, and what is refused. Beside
them: `/` (the explorer), `/mcp`, `/openapi.json`, `/healthz`, `/readyz`, `/metrics`."""
    parts = ["# HTTP", MADE, told]
    for tag, rows in by_tag.items():
        parts += [f"## {tag.capitalize()}", table(("route", "does", "takes", "answers"), iter(rows))]
    return "\n\n".join(parts) + "\n"


def route_row(method: str, path: str, operation: dict[str, Any]) -> tuple[str, ...]:
    below = path.removeprefix(API).replace("{workspace}", "{w}")
    asked = [
        f"`{each['name']}`"
        for each in operation.get("parameters", ())
        if each["in"] != "path" and each["name"] not in ("agent", "scope")
    ]
    body = [schema_name(content) for content in operation.get("requestBody", {}).get("content", {}).items()]
    (status, answer), *_ = operation["responses"].items()
    answers = [schema_name(content) for content in answer.get("content", {}).items()]
    takes = ", ".join([*(f"body {name}" for name in body), *asked])
    return (
        f"`{method.upper()} {below}`",
        operation["description"],
        takes,
        f"{status} {', '.join(answers)}".strip(),
    )


def schema_name(content: tuple[str, dict[str, Any]]) -> str:
    media, about_it = content
    schema = about_it.get("schema", {})
    name = schema.get("$ref", "").rpartition("/")[2]
    if media != "application/json":
        return f"`{media}`"
    return f"`{name}`" if name else "an object" if schema.get("type") == "object" else "JSON"


# Python


def python_page() -> str:
    told = """`from carrel import Workspace, Assembly, Budget, CarrelError, Finding, Scope`. What
awaits a model is asynchronous; everything else is a plain function. Errors are
[listed](errors.md) by code."""
    parts = ["# Python", MADE, told]
    for heading, module, name in PARTS:
        if heading:
            parts.append(f"## {heading}")
        parts += described_class(getattr(importlib.import_module(module), name))
    return "\n\n".join(parts) + "\n"


def described_class(kind: type) -> Iterator[str]:
    yield f"### {kind.__name__}"
    yield f"`{kind.__module__}.{kind.__name__}`. {inspect.getdoc(kind) or ''}"
    seen: set[str] = set()
    for each in kind.__mro__:
        if each.__module__.startswith("carrel."):
            yield from described_members(each, seen)


def described_members(kind: type, seen: set[str]) -> Iterator[str]:
    tree = ast.parse(Path(str(sys.modules[kind.__module__].__file__)).read_text("utf-8"))
    node = next(n for n in ast.walk(tree) if isinstance(n, ast.ClassDef) and n.name == kind.__name__)
    fields = [
        (f"`{item.target.id}: {bare(item.annotation)}`", next_docstring(node.body, item))
        for item in node.body
        if isinstance(item, ast.AnnAssign)
        and isinstance(item.target, ast.Name)
        and not item.target.id.startswith("_")
    ]
    if fields:
        yield table(("field", "holds"), ((escaped(name), escaped(told)) for name, told in fields))
    for item in node.body:
        if isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef) and item.name not in seen:
            seen.add(item.name)
            if not item.name.startswith("_"):
                yield f"```py\n{signature(item)}\n```"  # not run, as a ```python block would be
                yield inspect.cleandoc(ast.get_docstring(item) or "")


def next_docstring(body: list[ast.stmt], item: ast.stmt) -> str:
    after = body[body.index(item) + 1 :][:1]
    if after and isinstance(after[0], ast.Expr) and isinstance(after[0].value, ast.Constant):
        return str(after[0].value.value)
    return ""


def bare(annotation: ast.expr | None) -> str:
    """Spell a type without the quotation marks that only put off an import."""
    return "" if annotation is None else ast.unparse(annotation).replace("'", "")


def signature(function: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    marks = {ast.unparse(mark) for mark in function.decorator_list}
    returns = f" -> {bare(function.returns)}" if function.returns else ""
    if marks & {"property", "cached_property"}:
        return f"{function.name}{returns.replace(' -> ', ': ')}"
    function.args.args = function.args.args[0 if "staticmethod" in marks else 1 :]
    start = "async " if isinstance(function, ast.AsyncFunctionDef) else ""
    whole = f"{start}{function.name}({ast.unparse(function.args)}){returns}"
    whole = re.sub(r"(: [^,=()]+)=(?=\S)", r"\1 = ", whole)
    whole = whole if "Literal" in whole else re.sub(r"'([A-Z][\w.\[\], |]*)'", r"\1", whole)
    return folded(whole)


def folded(line: str, width: int = 100) -> str:
    """Break a long signature after its commas."""
    if len(line) <= width:
        return line
    head, _, rest = line.partition("(")
    inner, _, tail = rest.rpartition(")")
    parted = re.split(r", (?![^\[]*\])", inner)
    return f"{head}(\n" + "".join(f"    {each},\n" for each in parted) + f"){tail}"


# Tools


def tools_page() -> str:
    told = """What a model may call, as `carrel tools list` has it for an agent with memory, sessions
and somebody to ask. `allowed_tools` of an agent narrows it; `memory`, the memory tool,
is there only where it is named. [MCP](../guides/mcp.md) offers the same by names that
sort well."""
    parts = ["# Tools", MADE, told]
    with tempfile.TemporaryDirectory() as place:
        for tool in all_tools(Path(place)):
            writes = " **Writes.**" if tool["writes"] else ""
            parts += [f"## {tool['name']}", f"{tool['description']}{writes}", arguments(tool["parameters"])]
    return "\n\n".join(part for part in parts if part) + "\n"


def all_tools(place: Path) -> list[dict[str, Any]]:
    environ = {"CARREL_HOME": str(place / "home")}
    Workspace.init(place / "desk", environ=environ)
    (place / "desk/subagents").mkdir(exist_ok=True)
    (place / "desk/subagents/researcher.md").write_text(
        "---\nname: researcher\ndescription: Looks things up\n---\nBe exact.\n", "utf-8"
    )
    found: dict[str, dict[str, Any]] = {}
    for patterns in ("", "agents: [{id: main, allowed_tools: ['*', memory]}]\n"):
        (place / "desk/carrel.yaml").write_text(f"layout: carrel\n{patterns}", "utf-8")
        with Workspace.open(place / "desk", environ=environ) as workspace:
            workspace.record("s1", [{"role": "user", "content": "Hello."}])
            for tool in workspace.tools(session="s1"):
                found.setdefault(tool.name, {**tool.spec.to_json(), "writes": tool.writes})
    return [found[name] for name in sorted(found)]


def arguments(schema: dict[str, Any]) -> str:
    if not schema["properties"]:
        return "It takes no arguments."
    rows = (
        (f"`{name}`", argument_type(each), "yes" if name in schema["required"] else shown(each), said(each))
        for name, each in schema["properties"].items()
    )
    return table(("argument", "type", "required, or what it is without", "meaning"), rows)


def argument_type(schema: dict[str, Any]) -> str:
    if "enum" in schema:
        return ", ".join(f"`{choice}`" for choice in schema["enum"])
    return str(schema.get("type", "anything"))


def shown(schema: dict[str, Any]) -> str:
    default = schema.get("default")
    return "" if default in (None, "") else f"`{json.encode(default).decode()}`"


def said(schema: dict[str, Any]) -> str:
    return escaped(str(schema.get("description", "")))


# Settings


def with_keys(page: str) -> str:
    """Put the table of keys in its place within the page that explains them."""
    head, _, rest = page.partition("| key | type | default | meaning |\n")
    after = re.sub(r"\A(\|[^\n]*\n)+", "", rest)
    rows = [key_row(".".join(named(key)), spec) for key, spec in leaves().items()]
    for table_kind, meanings in MEANINGS.items():
        key = ALIAS if table_kind is Settings else f"agents[].{ALIAS}"
        told = ", ".join(f"`{'.'.join(means)}` in `{layout}`" for layout, means in meanings.items())
        rows.append((f"`{key}`", "number", "", f"Means {told}."))
    return f"{head}{table(('key', 'type', 'default', 'meaning'), iter(rows))}\n{after}"


def named(key: tuple[str, ...]) -> Iterator[str]:
    return (f"{name}[]" if name == "agents" else name for name in key)


def key_row(key: str, spec: Spec) -> tuple[str, ...]:
    said_of = spec.about
    more = " **Sensitive.**" if said_of.sensitive else ""
    variable = f" Variable: `{said_of.environment}`." if said_of.environment else ""
    return f"`{key}`", kind_of(spec.kind), default_of(spec.default), f"{said_of.text}{more}{variable}"


KINDS: dict[Any, str] = {str: "text", int: "number", float: "number", bool: "true or false"}


def kind_of(kind: Any) -> str:
    if get_origin(kind) is Literal:
        return " or ".join(f"`{choice}`" for choice in get_args(kind))
    if get_origin(kind) is tuple:
        return "list of texts"
    return KINDS.get(kind, "text")


def default_of(default: Any) -> str:
    if default is NODEFAULT:
        return "required"
    if default and isinstance(default, str):
        return f"`{default}`"
    return "" if default is None else f"`{json.encode(default).decode()}`"


# Decisions


def decisions_page() -> str:
    rows = (
        (f"[{path.name[:4]}]({path.name})", path.read_text("utf-8").partition("\n")[0].lstrip("# "))
        for path in sorted((DOCS / "decisions").glob("0*.md"))
    )
    told = "Choices that somebody will question later, each with its reasons and figures."
    return f"# Decisions\n\n{MADE}\n\n{told}\n\n{table(('number', 'decided'), rows)}\n"


# The index for models


def index_for_models(made: dict[Path, str]) -> str:
    """Return llms.txt: every page of the site with the first sentence of it."""
    site = yaml.safe_load((ROOT / "mkdocs.yml").read_text("utf-8"))
    lines = [f"# {site['site_name']}", "", f"> {site['site_description']}", ""]
    for entry in site["nav"]:
        (title, below), *_ = entry.items()
        if isinstance(below, list):
            lines += ["", f"## {title}", "", *(link(each, made) for each in below)]
        else:
            lines.append(link(entry, made))
    return "\n".join(lines) + "\n"


def link(entry: dict[str, str], made: dict[Path, str]) -> str:
    (title, name), *_ = entry.items()
    page = made.get(DOCS / name) or (DOCS / name).read_text("utf-8")
    return f"- [{title}](docs/{name}): {first_sentence(page)}"


def first_sentence(page: str) -> str:
    plain = re.sub(r"(?s)```.*?```|<!--.*?-->", "", page)
    paragraphs = (" ".join(part.split()) for part in re.split(r"\n\s*\n", plain))
    prose = next(part for part in paragraphs if part and part[0] not in "#|-!>")
    sentence = re.match(r".*?\.(?=\s|$)", re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", prose))
    return sentence[0] if sentence else f"{prose.rstrip(':')}."


def main(words: list[str]) -> int:
    wanted = pages()
    stale = [path for path, text in wanted.items() if not path.exists() or path.read_text("utf-8") != text]
    if "--check" in words:
        sys.stdout.writelines(
            f"{path.relative_to(ROOT)} is behind the code: run `make docs`\n" for path in stale
        )
        return 4 if stale else 0
    for path in stale:
        path.write_text(wanted[path], "utf-8")
        sys.stdout.write(f"{path.relative_to(ROOT)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
