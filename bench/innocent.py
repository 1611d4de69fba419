"""Lines of files that hold no secrets, as far as anybody knows: what is found in them counts as wrong."""

from collections.abc import Iterator, Sequence
from pathlib import Path

LONGEST_LINE = 4_000
LARGEST_FILE = 2_000_000
SORTS = {
    "code": ("*.py", "*.pyi", "*.js", "*.ts"),
    "digests of files (RECORD)": ("RECORD",),
    "prose (METADATA, Markdown, text)": ("METADATA", "*.md", "*.rst", "*.txt"),
    "data (JSON, TOML, YAML, locks if any)": ("*.json", "*.toml", "*.yaml", "*.yml", "*.lock", "go.sum"),
}


def lines(folders: Sequence[Path], patterns: Sequence[str]) -> Iterator[str]:
    """The lines of files by their names, without those that are empty, endless or no text."""
    paths = {
        path for folder in folders for pattern in patterns for path in folder.rglob(pattern) if path.is_file()
    }
    for path in sorted(paths):
        if path.stat().st_size <= LARGEST_FILE:
            text = path.read_bytes().decode("utf-8", "ignore")
            yield from (line for line in text.split("\n") if line.strip() and len(line) <= LONGEST_LINE)
