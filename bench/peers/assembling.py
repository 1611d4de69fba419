"""Assembly beside a loader that reads and counts every file at every call, as most agents have one."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from table import Table

import assemble
from carrel import Workspace
from carrel import __version__ as own_version
from carrel.tokens import Vocabulary
from figures import best

SIZES = ((10, 14_000), (100, 140_000), (1_000, 140_000))
"""Files, and the tokens of all of them; more than 150,000 would be cut."""

LOADER_ROUNDS = 15
HOW = (
    "The next prompt of an unchanged workspace, in one process. The loader lists the folder, reads every "
    "file, counts its tokens to keep within the limit, and joins them; it has the same tokenizer, warm, "
    "and its text is compared with Carrel's, byte by byte. Carrel looks at the stamp of every file, and "
    "its report says what each costs."
)


def assembly(names: Sequence[str], chosen: argparse.Namespace, folder: Path) -> list[Table]:
    del names, chosen
    table = Table(
        "assembly", "The next prompt of an unchanged workspace", "milliseconds, median", how=HOW,
        command="python bench/peers assembly",
    )  # fmt: skip
    vocabulary = Vocabulary()
    for files, tokens in SIZES:
        root = assemble.make_workspace(folder, files, tokens)
        with Workspace.open(root, environ={"CARREL_HOME": str(folder / "home")}) as workspace:
            made = workspace.assemble()
            assert made.messages[0].to_text() == load(root, vocabulary), "the same text"
            group = f"{files:,} files, {made.report.tokens.used:,} tokens"
            table.add(f"carrel {own_version}", best(workspace.assemble), group=group)
        loaded = best(lambda root=root: load(root, vocabulary), rounds=LOADER_ROUNDS)
        table.add("a loader that reads and counts", loaded, group=group)
    return [table]


def load(root: Path, vocabulary: Vocabulary, limit: int = 150_000) -> str:
    """The same prompt, made from the files alone."""
    parts, used = list[str](), 0
    for path in sorted(root.glob("*.md")):
        text = path.read_text("utf-8").rstrip()
        used += len(vocabulary.encode(text))
        if used > limit:
            break
        parts.append(f'<document path="{path.name}">\n{text}\n</document>')
    return "\n".join(parts) + "\n\nYou are main."
