"""Which files stay out of prompt and index: `.carrelignore` in git's syntax, after sensible defaults."""

from collections.abc import Callable
from fnmatch import fnmatchcase

from carrel.workspace.document import Reading

IGNORE_FILE = ".carrelignore"
DEFAULTS = (
    ".*", "node_modules", "__pycache__", "venv", "*.pem", "*.key", "*.p12", "*.pfx", "id_rsa*", "id_ed25519*",
    "credentials*", "secrets.*", "*.sqlite", "*.db",
)  # fmt: skip
"""Names, of files or folders, that are never meant: hidden ones, dependencies, credentials, databases."""

Ignored = Callable[[str], bool]


def find_rules(reading: Reading) -> Ignored:
    """Return the rules of a workspace."""
    document = reading.document(IGNORE_FILE)
    return ignore_rules(document.verbatim if document else None)


def ignore_rules(text: str | None) -> Ignored:
    """Return the test for a path; lines of the file follow the defaults and may take them back with `!`."""
    if text is None or not text.strip():
        return _by_default
    from pathspec import GitIgnoreSpec  # noqa: PLC0415 - costs 10 ms, and few workspaces have the file

    return GitIgnoreSpec.from_lines([*DEFAULTS, *text.splitlines()]).match_file


def _by_default(path: str) -> bool:
    return any(fnmatchcase(name, pattern) for name in path.split("/") for pattern in DEFAULTS)
