"""What Claude Code leaves behind, and a workspace to bring it into."""

import json

import pytest
from tests.unit.importing.desks import write

from carrel.app import Workspace

LINES = [
    {"type": "summary", "summary": "Tea"},
    {"type": "user", "sessionId": "1f0e", "uuid": "u1", "timestamp": "2026-04-20T10:00:00Z", "message": {"role": "user", "content": "Which oolong is the darkest?"}},
    {"type": "assistant", "sessionId": "1f0e", "uuid": "u2", "timestamp": "2026-04-20T10:00:05Z", "message": {"id": "x", "role": "assistant", "content": [{"type": "text", "text": "Dahongpao."}, {"type": "tool_use", "id": "t1", "name": "Read", "input": {"path": "tea.md"}}]}},
    {"type": "user", "uuid": "u3", "message": {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "black"}]}},
]  # fmt: skip


@pytest.fixture
def desk(tmp_path):
    environ = {"CARREL_HOME": str(tmp_path / "home"), "CARREL_NOW": "2026-04-24T12:00:00Z"}
    Workspace.init(tmp_path / "desk", environ=environ)
    with Workspace.open(tmp_path / "desk", environ=environ) as opened:
        yield opened


@pytest.fixture
def project(tmp_path):
    root = tmp_path / "shop"
    write(
        root,
        "CLAUDE.md",
        "# Shop\n\nWe sell tea. See @docs/style.md and @~/mine.md.\n\n## Commands\n\n- `pnpm test`\n\n```\n# no heading, @no/import.md\n```\n",
    )
    write(root, "docs/style.md", "Prefer short names. And @../../outside.md\n")
    write(root, "CLAUDE.local.md", "My sandbox is at port 9000.\n")
    write(root, ".claude/rules/api.md", '---\npaths:\n  - "src/**"\n---\nValidate all input.\n')
    write(root, ".claude/rules/unit-tests.md", "Write them first.\n")
    write(root, ".claude/skills/brew/SKILL.md", "---\nname: brew\ndescription: Brew tea\n---\nBoil.\n")
    write(root, ".claude/agents/taster.md", "---\nname: taster\ndescription: Tastes\n---\nSip.\n")
    write(root, "src/main.py", "print('not memory')\n")
    write(root, "data.jsonl", '{"type":"user","message":{"role":"user","content":"not a talk"}}\n')
    return root  # fmt: skip


@pytest.fixture
def own_folder(tmp_path):
    """What Claude Code keeps of one project in its own folder."""
    root = tmp_path / ".claude/projects/-home-me-shop"
    write(
        root,
        "memory/MEMORY.md",
        "# Index\n\n- [Role](role.md) — sells tea\n- The database is called kettle.\n  It is small.\n\n"
        "- the database is called kettle. It is small\n\n"
        "## Debugging\n\nPort 9000 must be free.\n\n```sh\nkill 9000\n```\n",
    )
    write(root, "memory/role.md", "---\nname: role\ntype: user\n---\nLuis sells oolong.\n")
    write(root, "1f0e.jsonl", "".join(json.dumps(line) + "\n" for line in LINES))
    return root
