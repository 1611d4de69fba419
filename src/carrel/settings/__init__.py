"""The settings of a workspace: every key of carrel.yaml as a value.

The structs are the only list of keys. A field's type, its default and what `About` says of it decide how it
is read, checked, trusted and documented; the JSON Schema and the reference page derive from them. To add a
key, add a field. To add a table, add a struct and a field that holds it, or a tuple of it with an `id` each.
"""

import re
from functools import cache
from types import NoneType
from typing import Annotated, Any, Literal, get_args, get_origin

from msgspec import NODEFAULT, Struct
from msgspec.structs import FieldInfo, fields

from carrel.settings.about import About
from carrel.settings.remembering import (
    ConsolidationSettings,
    DreamingSettings,
    PrivacySettings,
    RetentionSettings,
)

Key = tuple[str, ...]
"""A setting's place: `("budgets", "total")`, or `("agents", ID, "model")` since agents merge by their id."""

Given = dict[Key, object]
"""Exactly the settings one source gave, by key. Layers merge by `|`."""

Table = type[Struct]

LARGEST = 2**53 - 1  # the largest whole number that every JSON reader keeps exact
EXTENSION = r"^[a-z][a-z0-9_-]*$"
LAYOUT_FILE = "layout.yaml"
"""How the name of a workspace's own layout ends: by that it is known for what no agent may write."""
LAYOUT = r"^([a-z][a-z0-9_-]*|\./([A-Za-z0-9._-]+/)*[A-Za-z0-9._-]*layout\.yaml)$"
AGENT_ID = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$"


def is_time_zone(name: str) -> bool:
    """Tell whether this is an IANA time zone that this machine knows."""
    if name == "UTC":  # the default must not cost an import
        return True
    from zoneinfo import ZoneInfo  # noqa: PLC0415

    try:
        ZoneInfo(name)
    except (KeyError, ValueError, OSError):  # OSError: the name of a folder of zones, or one too long
        return False
    return True


class WorkspaceSettings(Struct, frozen=True, kw_only=True):
    """What the workspace is called."""

    name: Annotated[str | None, About("`workspace.name` in templates; else the directory's name.")] = None


class UserSettings(Struct, frozen=True, kw_only=True):
    """Whom the agents work for."""

    id: Annotated[str | None, About("`user.id` in templates.")] = None
    name: Annotated[str | None, About("`user.name` in templates.")] = None


class ModelSettings(Struct, frozen=True, kw_only=True):
    """The model that tokens are counted for and, in a trusted workspace, that is called."""

    name: Annotated[
        str | None,
        About("The model to count for and to call.", environment="CARREL_MODEL", sensitive=True, counts=True),
    ] = None
    context_window: Annotated[
        int | None, About("Tokens it takes; else what is known of the model.", least=1)
    ] = None
    base_url: Annotated[
        str | None, About("The server that has it, where that is not its provider's.", sensitive=True)
    ] = None
    key_variable: Annotated[
        str | None, About("The variable that holds its key; else the provider's own.", sensitive=True)
    ] = None
    tokenizer: Annotated[
        str | None,
        About(
            "What counts its tokens, an extension or a vocabulary; else what is known of the model.",
            pattern=EXTENSION,
            sensitive=True,
        ),
    ] = None
    background: Annotated[
        str | None, About("The model for what nobody waits for, as summaries; else the same.", sensitive=True)
    ] = None


class BudgetSettings(Struct, frozen=True, kw_only=True):
    """How much room each part of the context gets; 0 leaves the part out."""

    file: Annotated[
        int | None, About("Limit of one file, in the layout's unit; else the layout's limit.")
    ] = None
    total: Annotated[
        int | None, About("Limit of all files, in the layout's unit; else the layout's limit.")
    ] = None
    memory_tokens: Annotated[int, About("Tokens for MEMORY.md where the layout caps it.")] = 8000
    recall_tokens: Annotated[int, About("Tokens for what recall finds.")] = 8000
    recall_hits: Annotated[int, About("Most hits that recall puts into the context.")] = 20


class SpendingSettings(Struct, frozen=True, kw_only=True):
    """How much models may cost, in US dollars; background work stops at 80 % of a limit."""

    per_day: Annotated[
        float | None,
        About("Most that all agents may spend in a day of `time_zone`; else no limit.", sensitive=True),
    ] = None
    per_session: Annotated[
        float | None, About("Most that one session may spend; else no limit.", sensitive=True)
    ] = None


class SearchSettings(Struct, frozen=True, kw_only=True):
    """How search finds what was written and said."""

    embedder: Annotated[
        str,
        About(
            "What makes vectors: `static`, `openai`, `ollama`, `none` or an extension; "
            "`auto` is `static` where that is installed, else `none`.",
            pattern=EXTENSION,
            sensitive=True,
        ),
    ] = "auto"
    embedder_model: Annotated[str | None, About("The model of a server that embeds.", sensitive=True)] = None
    embedder_url: Annotated[str | None, About("The server that embeds.", sensitive=True)] = None
    embedder_key_variable: Annotated[
        str | None, About("The variable that holds its key.", sensitive=True)
    ] = None
    fusion: Annotated[
        Literal["scores", "ranks"] | None,
        About("How lists of hits become one: by scores, or by ranks as RRF does; else the layout's."),
    ] = None


class OverlaySettings(Struct, frozen=True, kw_only=True):
    """How a file is looked up in two layers."""

    fallthrough: Annotated[
        Literal["absent", "empty"] | None,
        About("Read the lower file when the upper is absent, or also when it is empty; else the layout's."),
    ] = None


class TranscriptSettings(Struct, frozen=True, kw_only=True):
    """What is kept of a conversation."""

    secrets: Annotated[
        Literal["redact", "keep"],
        About("Whether secrets in messages are replaced before they are stored.", sensitive=True),
    ] = "redact"


class WorkspaceFiles(Struct, frozen=True, kw_only=True):
    """Which documents an agent sees."""

    include_tags: Annotated[
        tuple[str, ...], About("Only files with one of these tags, and priority files.")
    ] = ()
    exclude: Annotated[tuple[str, ...], About("Files this agent never sees.")] = ()


class AgentMemory(Struct, frozen=True, kw_only=True):
    """How much of an agent's own memory it reads back."""

    max_tokens: Annotated[int, About("Tokens for both layers of its memory together.")] = 2000


class WorkspaceGit(Struct, frozen=True, kw_only=True):
    """Whether writes to an agent's workspace are committed."""

    enabled: Annotated[bool, About("Commit every write to a git repository.", sensitive=True)] = False
    author_name: Annotated[str | None, About("Author of these commits.", sensitive=True)] = None
    author_email: Annotated[str | None, About("E-mail address of that author.", sensitive=True)] = None


class AgentSettings(Struct, frozen=True, kw_only=True):
    """One agent of the workspace."""

    id: Annotated[str, About("Letters, digits, `.`, `_` and `-`; at most 128.", pattern=AGENT_ID)]
    display_name: Annotated[
        str | None, About("`agent.displayName` in templates; else its identity's name.")
    ] = None
    domain: Annotated[str | None, About("`domain` in templates.")] = None
    model: Annotated[str | None, About("Its model; else `model.name`.", sensitive=True, counts=True)] = None
    context_window: Annotated[
        int | None,
        About("Tokens it takes; else `model.context_window`.", least=1),
    ] = None
    memory_tokens: Annotated[int | None, About("Tokens for MEMORY.md; else `budgets.memory_tokens`.")] = None
    # Workspaces that name the same profile share its memory: a stranger's must not pick one freely.
    profile: Annotated[str | None, About("Profile whose experience it shares.", sensitive=True)] = None
    workspace: Annotated[
        str | None, About("Its own directory, relative to the workspace.", sensitive=True)
    ] = None
    workspace_files: WorkspaceFiles = WorkspaceFiles()
    system_prompt_template: Annotated[str, About("Its prompt; `{{variables}}` are filled in.")] = ""
    additional_context_files: Annotated[tuple[str, ...], About("More files of the workspace, in full.")] = ()
    allowed_delegates: Annotated[
        tuple[str, ...], About("Agents it may ask; `x*` is a prefix; empty: all.")
    ] = ()
    allowed_tools: Annotated[tuple[str, ...], About("Tools it may call; `x*` is a prefix; empty: all.")] = ()
    memory_enabled: Annotated[bool, About("Whether it has a memory of its own.")] = True
    trigger_interval: Annotated[int, About("Turns between two extractions of facts.", least=1)] = 5
    memory: AgentMemory = AgentMemory()
    transcripts_dir: Annotated[
        str | None, About("For its transcripts; else the layout's.", sensitive=True)
    ] = None
    workspace_git: WorkspaceGit = WorkspaceGit()


class Settings(Struct, frozen=True, kw_only=True):
    """All settings, complete: what no source gave has its default."""

    layout: Annotated[
        str | None,
        About(
            "Its name, or a file of the workspace as `./my-layout.yaml`; else detected.",
            environment="CARREL_LAYOUT",
            pattern=LAYOUT,
        ),
    ] = None
    time_zone: Annotated[
        str,
        About(
            "IANA name of the zone in which days begin.",
            environment="CARREL_TZ",
            check=is_time_zone,
            hint="Use an IANA name such as America/Bogota.",
        ),
    ] = "UTC"
    workspace: WorkspaceSettings = WorkspaceSettings()
    user: UserSettings = UserSettings()
    model: Annotated[ModelSettings, About(shorthand="name")] = ModelSettings()
    budgets: BudgetSettings = BudgetSettings()
    spending: SpendingSettings = SpendingSettings()
    search: SearchSettings = SearchSettings()
    overlay: OverlaySettings = OverlaySettings()
    transcripts: TranscriptSettings = TranscriptSettings()
    privacy: PrivacySettings = PrivacySettings()
    dreaming: DreamingSettings = DreamingSettings()
    consolidation: ConsolidationSettings = ConsolidationSettings()
    retention: RetentionSettings = RetentionSettings()
    agents: Annotated[tuple[AgentSettings, ...], About("The agents.")] = ()


# `maxContextTokens` has two meanings in the field: which one is the layout's to say.
ALIAS = "max_context_tokens"
MEANINGS: dict[Table, dict[str, Key]] = {
    Settings: {"astra": ("model", "context_window"), "agentscope": ("budgets", "memory_tokens")},
    AgentSettings: {"astra": ("context_window",), "agentscope": ("memory_tokens",)},
}


class Spec(Struct, frozen=True, kw_only=True):
    """One key of a table, as its field declares it."""

    name: str
    kind: Any
    """Its type without `| None`."""
    table: Table | None
    """The table below it; none for a value."""
    is_list: bool
    """Whether it is a list of such tables, told apart by their `id`."""
    default: Any
    about: About

    @property
    def is_required(self) -> bool:
        """Whether it has no default."""
        return self.default is NODEFAULT


@cache  # and only when something is read: a start that reads nothing takes no annotation apart
def specs(table: Table) -> dict[str, Spec]:
    """List the keys of a table, in their order."""
    return {field.name: _spec(field) for field in fields(table)}


def _spec(field: FieldInfo) -> Spec:
    kind, about = field.type, About()
    if get_origin(kind) is Annotated:
        kind, about = get_args(kind)
    if NoneType in get_args(kind):
        kind = next(option for option in get_args(kind) if option is not NoneType)
    candidates = (kind, *get_args(kind))
    table = next((each for each in candidates if isinstance(each, type) and issubclass(each, Struct)), None)
    return Spec(
        name=field.name,
        kind=kind,
        table=table,
        is_list=table is not None and table is not kind,
        default=field.default,
        about=about,
    )


@cache
def leaves(table: Table = Settings) -> dict[Key, Spec]:
    """List every value there is, by the names that lead to it; an agent's id is no name."""
    return {
        (name, *names): leaf
        for name, spec in specs(table).items()
        for names, leaf in (leaves(spec.table) if spec.table else {(): spec}).items()
    }


def spec_at(key: Key, table: Table = Settings) -> Spec:
    """Return what a given key is, whatever the ids in it."""
    spec = specs(table)[key[0]]
    below = key[2:] if spec.is_list else key[1:]
    return spec_at(below, spec.table) if spec.table else spec


def camel(name: str) -> str:
    """Spell a key the way the files of other systems do: `display_name` is `displayName`."""
    return re.sub("_(.)", lambda letter: letter[1].upper(), name)
