"""Which files every prompt holds, told by their names."""

import pytest

from carrel.settings import AgentSettings
from carrel.workspace.injected import injected_by
from carrel.workspace.layout import LAYOUTS, load_layout

AGENTS = (
    AgentSettings(id="kate", additional_context_files=("docs/house.txt", "../x")),
    AgentSettings(id="ada"),
)


def injected(path, layout="carrel"):
    return injected_by(load_layout(layout), AGENTS)(path)


@pytest.mark.parametrize(
    "path",
    [
        "AGENTS.md", "agents.md", "Soul.md", "USER.md", "MEMORY.md", "anything.md", "memory/kate.md", "memory/ada.md",
        "memory/KATE.md", "memory/2026-04-24.md", "memory/2026-04-24-topic.md", "memory/9999-12-31.md",
        "knowledge/KNOWLEDGE.md", "skills/pdf/SKILL.md", "skills/pdf/scripts/run.py", "skills/new.md",
        "subagents/helper.md", "docs/house.txt", "teams/ada/AGENTS.md", "deep/er/MEMORY.md",
    ],
)  # fmt: skip
def test_what_every_prompt_holds_is_told(path):
    assert injected(path)


@pytest.mark.parametrize(
    "path",
    [
        "notes/plan.md", "src/app.py", "knowledge/apis.md", "memory/entities/ana.md", "memory/procedures/release.md",
        "README.md", "DREAMS.md", "docs/readme.md", "data.csv", "memory/notes.md", "skills.txt", "plain",
    ],
)  # fmt: skip
def test_what_no_prompt_holds_by_itself_is_not(path):
    assert not injected(path)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_in_every_layout_the_files_of_its_own_parts_are_among_them(layout):
    described = load_layout(layout)
    for message in described.messages:
        for part in message.parts:
            for pattern in part.files:
                assert injected(pattern.replace("{agent}", "kate").replace("*", "x"), layout), pattern
            if part.kind == "journal":
                assert injected(f"{part.folder}/2026-04-24.md", layout)
    assert injected(f"{described.home}memory/kate.md", layout)
    assert injected(f"{described.home}AGENTS.md", layout)
    assert not injected("some/where/else.txt", layout)


def test_odd_paths_are_answered_too():
    assert not injected("")
    assert not injected("/" * 1_000)
    assert injected("a/" * 500 + "AGENTS.md")
