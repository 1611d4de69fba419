"""What git ignores is what git would ignore: rules of every folder on the way, the nearest last."""

from pathlib import Path

import pytest

from carrel.files.local import LocalFiles
from carrel.memory.ignored import git_ignores
from carrel.testing import EphemeralFiles

PATHS = [
    "MEMORY.md",
    "memory/main.md",
    "memory/#x.md",
    "memory/deep/main.md",
    "memory/deep/er/x.md",
    "a[b]/main.md",
    "ab/main.md",
    ".hidden/main.md",
    "notes/day.md",
    "secrets.md",
]
MEMORY = ["memory/#x.md", "memory/deep/er/x.md", "memory/deep/main.md", "memory/main.md"]

# What `git check-ignore --no-index` said of these paths (libgit2 misses a negation in a deeper folder).
RULES = [
    ({".gitignore": "/memory/\n"}, MEMORY),
    ({".gitignore": "*.md\n!MEMORY.md\n"}, [path for path in PATHS if path != "MEMORY.md"]),
    (
        {".gitignore": "*.md\n", "memory/.gitignore": "!main.md\n"},
        [path for path in PATHS if path not in ("memory/main.md", "memory/deep/main.md")],
    ),
    ({".gitignore": "memory/\n", "memory/.gitignore": "!main.md\n"}, MEMORY),
    ({"memory/.gitignore": "*\n"}, MEMORY),
    ({"memory/.gitignore": "/main.md\r\n# comment\n\n\\#x.md\n"}, ["memory/#x.md", "memory/main.md"]),
    ({"memory/.gitignore": "deep/er/*.md\n"}, ["memory/deep/er/x.md"]),
    ({"memory/.gitignore": "deep/\n"}, ["memory/deep/er/x.md", "memory/deep/main.md"]),
    ({"memory/deep/.gitignore": "er\n!x.md\n", "memory/.gitignore": "x.md\n"}, ["memory/deep/er/x.md"]),
    ({"a[b]/.gitignore": "main.md\n"}, ["a[b]/main.md"]),
    ({".git/info/exclude": "notes/\n", ".gitignore": "!notes/\n*.log\n"}, []),
    ({".git/info/exclude": "main.md\n"}, [path for path in PATHS if path.endswith("/main.md")]),
    ({".gitignore": b"\xff\xfe\n*.md\n"}, PATHS),
]


@pytest.mark.parametrize("number", range(len(RULES)))
def test_rules_say_of_each_path_what_git_says(number: int) -> None:
    files, ignored = RULES[number]
    is_ignored = git_ignores(EphemeralFiles(files))
    assert sorted(path for path in PATHS if is_ignored(path)) == sorted(ignored)


def test_rules_that_cannot_be_read_say_nothing_and_new_ones_count_at_once(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").mkdir()
    is_ignored = git_ignores(LocalFiles(tmp_path))
    assert not is_ignored("main.md")
    (tmp_path / ".gitignore").rmdir()
    (tmp_path / ".gitignore").write_text("*.md\n")
    assert is_ignored("main.md")
