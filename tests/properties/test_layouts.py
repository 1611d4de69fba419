"""A layout may be described by a stranger: whatever it says, it is refused, or prompts are made by it."""

from datetime import UTC, datetime

import yaml
from hypothesis import given
from hypothesis import strategies as st

from carrel.context.assemble import Assembler
from carrel.context.build import Ground
from carrel.context.inputs import Inputs
from carrel.errors import CarrelError
from carrel.files.ephemeral import EphemeralFiles
from carrel.settings import AgentSettings, Settings
from carrel.tokens import Vocabulary
from carrel.workspace.counts import TokenCounts
from carrel.workspace.document import Documents
from carrel.workspace.layout import Layout, parse_layout
from carrel.workspace.scope import Scope

NOW = datetime(2026, 4, 24, 12, tzinfo=UTC)
COUNTS = TokenCounts(Vocabulary(), None)
FILES = {
    "a.md": "# A\n\nThe gate closes at nine. " * 20,
    "x/b.md": "<b>bold</b> {name} [cut]",
    "carrel.yaml": "user: {name: canary}",
    "own-layout.yaml": "name: canary",
    "days/2026-04-24.md": "- Ana called.",
    "skills/tea/SKILL.md": "---\nname: tea\ndescription: Make tea.\n---\nBoil.",
}


def assembler(layout: Layout) -> Assembler:
    return Assembler(
        Ground(
            layout=layout,
            settings=Settings(),
            agent=AgentSettings(id="kate"),
            documents=Documents(EphemeralFiles(FILES)),
            namespaces=Documents(EphemeralFiles()),
            counts=COUNTS,
            location="/home/luis/desk",
        )
    )


ODD = [
    "..",
    "/x",
    "{name}",
    "{",
    "a/**",
    "*.md",
    "a.md",
    "<b>",
    "\\",
    "(",
    "[",
    "# x",
    "./",
    "days",
    "b",
    "skills",
    "%s",
    "\0",
]
TEXT = st.one_of(st.sampled_from(ODD), st.text(max_size=8))
LIST = st.lists(TEXT, max_size=3)
WHOLE = {
    **dict.fromkeys(("marker", "home", "journal", "before_marker"), TEXT),
    **dict.fromkeys(("private", "shared_shows", "tags", "requires"), LIST),
    "unit": st.sampled_from(["tokens", "characters", "chars/4"]),
    "overflow": st.sampled_from(["exclude", "truncate", "rest"]),
    "limits": st.fixed_dictionaries({"file": st.integers(-1, 50), "total": st.integers(-1, 90)}),
    "bare_cut": st.booleans(),
}
PART = {
    **dict.fromkeys(("folder", "open", "close", "gap", "line", "entry", "listing", "name"), TEXT),
    **dict.fromkeys(("files", "elsewhere", "without", "first", "pinned", "lead", "lines"), LIST),
    "days": st.integers(-1, 5_000),
    "keep": st.sampled_from(["head", "tail", "both"]),
    "always": st.booleans(),
    "priorities": st.dictionaries(TEXT, st.integers(), max_size=2),
}
KINDS = (
    "documents",
    "journal",
    "knowledge",
    "skills",
    "additional",
    "prompt",
    "recall",
    "session",
    "text",
    "query",
)


def some(fields):
    """One or two of the fields, each as it could be written."""
    name = st.sampled_from(sorted(fields))
    return st.lists(name, max_size=2, unique=True).flatmap(
        lambda names: st.fixed_dictionaries({name: fields[name] for name in names})
    )


@given(whole=some(WHOLE), part=some(PART), kind=st.sampled_from(KINDS))
def test_whatever_a_description_says_it_is_a_layout_or_an_error_that_says_why(whole, part, kind):
    described = {"name": "desk", "marker": "cut", "messages": [{"parts": [{"kind": kind, **part}]}], **whole}
    try:
        layout = parse_layout(yaml.safe_dump(described))
    except CarrelError:
        return  # it says why
    for scope in Scope:
        told = assembler(layout).assemble(Inputs(scope=scope, now=NOW, time_zone="UTC", query="What now?"))
        assert "canary" not in str(told.messages) or scope is Scope.MAIN
