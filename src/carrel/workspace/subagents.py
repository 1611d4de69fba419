"""Subagents: `subagents/<id>.md` declares an agent that others may ask; nothing here ever runs one.

The file's name is the id, its front matter says what the subagent is for and how it works, its body is the
prompt. A declaration that cannot be relied on is not loaded, and a finding says why.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Annotated, Any, Literal, cast

from msgspec import Meta, Struct, ValidationError, convert
from msgspec.structs import fields

from carrel.errors import NotFound, UsageError
from carrel.files import show
from carrel.files.paths import clean, fold, valid_id
from carrel.findings import Finding
from carrel.settings import AgentSettings
from carrel.workspace.document import Document, Reading
from carrel.workspace.ignore import Ignored
from carrel.workspace.layout import Layout
from carrel.workspace.skills import Hidden, mend, nearest, nothing_hidden

MOST_SUBAGENTS = 2_000
Share = Annotated[float, Meta(ge=0, le=1)]
_SUFFIX = ".md"
_LISTS = ("tools", "skills")
_ALIASES = {"maxIters": "steps", "max_iters": "steps", "topP": "top_p", "exposeToUser": "expose_to_user"}


class UnknownSubagent(NotFound):
    """No agent or subagent that the asker may know of has this id."""

    code = "unknown_subagent"

    def __init__(self, name: str, known: Collection[str]) -> None:
        near = nearest(name, known)
        hint = f"Did you mean {show(near)}?" if near else "`carrel agents list` shows those there are."
        super().__init__(f"There is no agent or subagent '{show(name[:200])}'.", hint=hint)


class Declared(Struct, frozen=True, kw_only=True):
    """What front matter may say of a subagent beside its description."""

    name: str | None = None
    model: str | None = None
    """Counts only in a workspace that its owner trusts; whoever runs the subagent sees to that."""
    variant: str | None = None
    steps: Annotated[int, Meta(ge=1)] = 10
    temperature: Annotated[float, Meta(ge=0)] | None = None
    top_p: Share | None = None
    mode: Literal["primary", "subagent", "all"] = "all"
    hidden: bool = False
    expose_to_user: bool | None = None
    tools: tuple[str, ...] | None = None
    """Those of its caller's tools that it may use; none given means all of them."""
    skills: tuple[str, ...] | None = None
    workspace_mode: Literal["isolated", "shared"] = "isolated"
    workspace_path: str | None = None
    """The directory that defines it, inside the workspace."""


class Subagent(Struct, frozen=True, kw_only=True):
    """One declaration; `extra` keeps the keys that mean nothing here."""

    id: str
    description: str
    prompt: str
    declared: Declared
    extra: Mapping[str, object]
    document: Document


class Subagents(Struct, frozen=True, kw_only=True):
    """The declarations of a folder, sorted by id, and what is wrong with those that are not among them."""

    loaded: tuple[Subagent, ...] = ()
    findings: tuple[Finding, ...] = ()
    withheld: int = 0


class AgentRow(Struct, frozen=True, kw_only=True):
    """An agent or subagent in a list; `tokens` is what its prompt adds to each of its own calls."""

    id: str
    kind: Literal["agent", "subagent"]
    name: str | None
    description: str
    declared: str
    tokens: int


def find_subagents(
    reading: Reading,
    folder: str,
    *,
    ignored: Ignored,
    hidden: Hidden = nothing_hidden,
    taken: Collection[str] = (),
) -> Subagents:
    """Read the declarations of a folder, not those below it; `taken` are ids that agents have already."""
    entries = (entry.path for entry in reading.list(folder) if not ignored(entry.path))
    paths = [path for path in entries if path.endswith(_SUFFIX)]
    considered = reading.documents(paths[:MOST_SUBAGENTS])
    documents = [mend(document) for document in considered if document is not None]
    visible = [pair for pair in documents if not hidden(pair[0])]
    ids = Counter([fold(id_of(document)) for document, _ in visible])
    findings = list(_about_folder(reading, folder, len(paths)))
    loaded: list[Subagent] = []
    for document, trouble in visible:
        problem = _refusal(document, trouble, taken, is_twin=ids[fold(id_of(document))] > 1)
        if problem is None:
            subagent, noticed = _load(document)
            loaded.append(subagent)
            findings.extend((*_unquoted(document, trouble), *noticed))
        elif problem:
            findings.append(problem)
    return Subagents(loaded=tuple(loaded), findings=tuple(findings), withheld=len(documents) - len(visible))


def subagents_folder(layout: Layout) -> str:
    """Return where a layout keeps its declarations."""
    return f"{layout.home}subagents"


def list_agents(
    agents: Collection[AgentSettings],
    origins: Mapping[str, str],
    subagents: Collection[Subagent],
    count: Callable[[str], int],
) -> tuple[AgentRow, ...]:
    """Return the configured agents, then the subagents, each with where it is declared."""
    configured = [
        AgentRow(
            id=agent.id,
            kind="agent",
            name=agent.display_name,
            description=agent.domain or "",
            declared=origins.get(f"agents.{agent.id}.id", "default"),
            tokens=count(agent.system_prompt_template),
        )
        for agent in agents
    ]
    declared = [
        AgentRow(
            id=subagent.id,
            kind="subagent",
            name=subagent.declared.name,
            description=subagent.description,
            declared=subagent.document.path,
            tokens=count(subagent.prompt),
        )
        for subagent in subagents
    ]
    return (*configured, *declared)


def id_of(document: Document) -> str:
    """Return the id that a file's name gives."""
    return document.path.rpartition("/")[2].removesuffix(_SUFFIX)


def _finding(document: Document, code: str, what: str, hint: str) -> Finding:
    path = document.path
    return Finding(code=code, path=path, message=f"{show(path)}: {what}.", hint=hint)


def _about_folder(reading: Reading, folder: str, count: int) -> Iterator[Finding]:
    if count > MOST_SUBAGENTS:
        message = f"{folder}: {count - MOST_SUBAGENTS} of {count} subagents were not considered."
        yield Finding(code="too_many_subagents", path=folder, message=message, hint="Remove some.")
    elif not reading.list(folder):
        file = reading.document(folder)
        if file is not None and file.problem != "directory":
            what = "it is a file, so there are no subagents"
            yield _finding(file, "subagents_not_a_folder", what, "Rename it, and make a folder in its place.")


def _unquoted(document: Document, trouble: str) -> Iterator[Finding]:
    if trouble == "unquoted":
        what = "a value with a colon in it is not in quotes, and was read as if it were"
        yield _finding(document, "subagent_unquoted", what, "Put it in quotes.")


def _refusal(
    document: Document, trouble: str, taken: Collection[str], *, is_twin: bool
) -> Finding | Literal[False] | None:
    """Return why a declaration is not loaded, False for a page that is none, nothing when it is good."""
    name = id_of(document)
    if document.problem:
        what = f"it cannot be read ({document.problem}) and is not loaded"
        return _finding(document, "unreadable", what, "Replace it with a text file, or remove it.")
    if fold(name) == "readme" and trouble == "missing":
        return False
    if not _is_valid(name):
        hint = "Name the file with up to 128 letters, digits, '.', '_' and '-'."
        return _finding(document, "subagent_id", "its name is not a valid id, and it is not loaded", hint)
    if is_twin:
        what = "another subagent's id differs only by case, so neither is loaded"
        return _finding(document, "subagent_twins", what, "Rename one of them.")
    if fold(name) in {fold(each) for each in taken}:
        what = f"an agent called {name} is configured already, so it is not loaded"
        return _finding(document, "subagent_taken", what, "Rename the file.")
    return _unusable(document, trouble)


def _unusable(document: Document, trouble: str) -> Finding | None:
    """Return why the front matter does not make a subagent, or nothing when it does."""
    hint = "Begin the file with `---`, `description: …` and `---`; the prompt follows."
    if trouble in ("missing", "dead"):
        why = "; ".join(document.warnings) or "it has no front matter that could be read"
        return _finding(document, "subagent_front_matter", f"{why}; it is not loaded", hint)
    given = document.meta.extra
    if "id" in given and str(given["id"]) != id_of(document):
        what = "its key `id` says something else than its file name, and it is not loaded"
        return _finding(document, "subagent_id_differs", what, "Remove the key: the file's name is the id.")
    description = given.get("description")
    if not isinstance(description, str) or not description.strip():
        return _finding(document, "subagent_description", "it has no description and is not loaded", hint)
    path = _workspace(given).get("path")
    if path is not None and not _is_inside(path):
        what = "its workspace.path is no path inside the workspace, and it is not loaded"
        hint = "Name a directory of this workspace, like agents/researcher."
        return _finding(document, "subagent_path", what, hint)
    return None


def _is_valid(name: str) -> bool:
    try:
        return valid_id(name) == name
    except UsageError:
        return False


def _is_inside(path: object) -> bool:
    try:
        return isinstance(path, str) and bool(clean(path))
    except UsageError:
        return False


def _workspace(given: Mapping[str, object]) -> dict[str, object]:
    workspace = given.get("workspace")
    return cast("dict[str, object]", workspace) if isinstance(workspace, dict) else {}


def _load(document: Document) -> tuple[Subagent, list[Finding]]:
    """Read a declaration; a value that makes no sense has its default, and is reported."""
    given = {_ALIASES.get(key, key): value for key, value in document.meta.extra.items()}
    workspace = given.pop("workspace", None)
    given |= {f"workspace_{key}": value for key, value in _workspace({"workspace": workspace}).items()}
    description = str(given.pop("description")).strip().replace("\n", " ")
    given.pop("id", None)
    values: dict[str, Any] = {}
    findings = [_finding(document, "front_matter", problem, "") for problem in document.warnings]
    if trouble := _odd_workspace(workspace):
        findings.append(_finding(document, "subagent_value", trouble, "Write `workspace:` with keys below."))
    for field in fields(Declared):
        value = given.pop(field.name, None)
        if value is not None:
            try:
                values[field.name] = convert(_listed(field.name, value), field.type)
            except ValidationError as error:
                key = field.name.replace("workspace_", "workspace.")
                what = f"`{key}` is ignored: {str(error)[:1].lower()}{str(error)[1:]}"
                findings.append(_finding(document, "subagent_value", what, "Correct it, or remove it."))
    subagent = Subagent(
        id=id_of(document),
        description=description,
        prompt=document.text,
        declared=Declared(**values),
        extra=given,
        document=document,
    )
    return subagent, findings


def _odd_workspace(workspace: object) -> str:
    return (
        "" if workspace is None or isinstance(workspace, dict) else "`workspace` is ignored: it is no table"
    )


def _listed(key: str, value: object) -> object:
    """Return a list that may be written with commas as a list."""
    if key in _LISTS and isinstance(value, str):
        return [item.strip() for item in value.split(",") if item.strip()]
    return value
