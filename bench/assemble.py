"""Figures of the context engine: `make bench`, or `python bench/assemble.py [--json FILE]`.

Everything is compared within one run, as ratios: the machine's own speed drops out.
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from pydoc_data.topics import topics

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import tiktoken
from splintr import O200K_BASE_PATTERN, Tokenizer

from carrel import Workspace
from carrel.tokens import Vocabulary
from carrel.workspace.layout import LAYOUTS
from figures import best, figure, options, run

FILES = 100
TOKENS = 150_000
CHARACTERS_PER_TOKEN = 4.34
# Real prose that every Python has, so that a tokenizer's cache of words is not flattered.
PROSE = "\n".join(topics[name] for name in sorted(topics))


def main() -> None:
    run((warm, layouts, growth, fresh, start_up), options(__doc__).parse_args().json)


def make_workspace(folder: Path, files: int, tokens: int) -> Path:
    """A carrel workspace of so many documents; written long ago, as far as caches can tell."""
    root = folder / f"workspace-{files}-{tokens}"
    root.mkdir()
    (root / "carrel.yaml").write_text(
        "layout: carrel\nagents: [{id: main, systemPromptTemplate: You are main.}]\n"
    )
    for number in range(files):
        size = int(tokens / files * CHARACTERS_PER_TOKEN)
        begin = number * size % (len(PROSE) - size)
        (root / f"page-{number:03}.md").write_text(PROSE[begin : begin + size])
    time.sleep(2.1)  # a file that changed within 2 s is never trusted by its stamp
    return root


def floor(root: Path) -> Callable[[], object]:
    """The least any engine must do: stat every file, compare, join the cached strings."""
    names = sorted(path.name for path in root.glob("*.md"))
    texts = [(root / name).read_text() for name in names]
    known = [os.stat(root / name) for name in names]  # noqa: PTH116 - the bare call is the floor
    paths = [str(root / name) for name in names]

    def work() -> str:
        for path, before in zip(paths, known, strict=True):
            now = os.stat(path)  # noqa: PTH116 - as above
            if (now.st_ino, now.st_size, now.st_mtime_ns, now.st_ctime_ns) != (
                before.st_ino,
                before.st_size,
                before.st_mtime_ns,
                before.st_ctime_ns,
            ):
                raise AssertionError(path)
        return "".join(texts)

    return work


def warm(folder: Path) -> list[dict]:
    root = make_workspace(folder, FILES, TOKENS)
    texts = [path.read_text() for path in sorted(root.glob("*.md"))]
    splintr = Vocabulary()
    total = sum(len(splintr.encode(text)) for text in texts)
    with Workspace.open(root) as workspace:
        report = workspace.assemble().report
        assert sum(row.state == "included" for row in report.sections) >= FILES, "everything fits"
        assembled = best(workspace.assemble)
    least = best(floor(root))
    counted = best(lambda: [len(splintr.encode(p.read_text())) for p in root.glob("*.md")], rounds=9)
    rows = [
        figure(f"tokens in {FILES} files", total, "tokens"),
        figure("floor: stat, compare, join", least, "ms"),
        figure("warm assembly, prefix digest included", assembled, "ms"),
        figure("  over the floor", assembled / least, "x", 2.5),
        figure("  faster than read + count, warm splintr", counted / assembled, "x", 20, at_least=True),
    ]
    reference = tiktoken_from(splintr)
    slow = best(lambda: [len(reference.encode(p.read_text())) for p in root.glob("*.md")], rounds=5)
    return [
        *rows,
        figure("  faster than read + count, warm tiktoken", slow / assembled, "x", 50, at_least=True),
    ]


def tiktoken_from(vocabulary: Vocabulary) -> tiktoken.Encoding:
    """Tiktoken downloads its ranks; splintr ships the same ones, so no network is needed."""
    shipped = Tokenizer.from_pretrained(vocabulary.name)
    ranks = {shipped.decode_token_bytes(n): n for n in range(199_998)}
    return tiktoken.Encoding("o200k", pat_str=O200K_BASE_PATTERN, mergeable_ranks=ranks, special_tokens={})


def layouts(folder: Path) -> list[dict]:
    """Every layout on the same hundred files, where each looks for them."""
    root = make_workspace(folder, FILES, TOKENS // 2)
    (root / "carrel.yaml").write_text("agents: [{id: main, systemPromptTemplate: You are main.}]\n")
    (root / "workspace").mkdir()
    for page in root.glob("page-*.md"):
        (root / "workspace" / page.name).write_bytes(page.read_bytes())
    for name in ("AGENTS", "SOUL", "IDENTITY", "USER", "MEMORY", "TOOLS"):
        (root / f"{name}.md").write_text(PROSE[:5_000])
    time.sleep(2.1)
    times = {}
    for name in LAYOUTS:
        with Workspace.open(root, layout=name) as workspace:
            workspace.assemble()
            times[name] = best(workspace.assemble)
    others = [name for name in LAYOUTS if name != "carrel"]
    return [
        figure(f"{name} against carrel, warm", times[name] / times["carrel"], "x", 1.5) for name in others
    ]


def growth(folder: Path) -> list[dict]:
    """The cost without the final join follows the number of files, not their size."""
    times = {}
    for files, tokens in ((25, 15_000), (25, 150_000), (100, 60_000)):
        root = make_workspace(folder, files, tokens)
        with Workspace.open(root) as workspace:
            texts = [message.to_text() for message in workspace.assemble().messages]
            joined = best(lambda texts=texts: "".join(text[:-1] for text in texts))
            times[files, tokens] = max(best(workspace.assemble) - joined, 1e-6)
    return [
        figure(
            "10 times the size, same files: cost without join",
            times[25, 150_000] / times[25, 15_000],
            "x",
            1.5,
        ),
        figure("4 times the files: cost without join", times[100, 60_000] / times[25, 15_000], "x"),
    ]


def fresh(folder: Path) -> list[dict]:
    """A new process over a populated cache: how many texts it tokenises, and whether it loads a tokenizer."""
    root = make_workspace(folder, FILES, TOKENS + 40_000)  # more than fits: some are excluded
    code = (
        "import sys; from carrel import Workspace\n"
        f"w = Workspace.open({str(root)!r}); w.assemble()\n"
        "print(w.counts.tokenizer.encoded, int('splintr' in sys.modules))"
    )
    outcomes = [subprocess.check_output([sys.executable, "-c", code], text=True).split() for _ in range(2)]
    return [
        figure("texts tokenised by the first process", float(outcomes[0][0]), "texts"),
        figure("texts tokenised by a fresh process after it", float(outcomes[1][0]), "texts", 0),
        figure("tokenizer loaded by that process", float(outcomes[1][1]), "times", 0),
    ]


def start_up(folder: Path) -> list[dict]:
    """Processes against an empty one, in CPU time, which other jobs on the machine do not blur."""
    root = folder / "new"
    carrel = [sys.executable, "-m", "carrel"]
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    subprocess.run([*carrel, "init", str(root)], check=True, capture_output=True, env=environment)
    commands = {
        "nothing": [sys.executable, "-c", "pass"],
        "import": [sys.executable, "-c", "import carrel"],
        "report": [*carrel, "-C", str(root), "context", "report"],
    }
    times = {name: min(_cpu(command, environment) for _ in range(25)) for name, command in commands.items()}
    return [
        figure("python -c pass", times["nothing"] * 1000, "ms"),
        figure("import carrel", times["import"] / times["nothing"], "x", 3),
        figure("carrel context report", times["report"] / times["nothing"], "x", 10),
    ]


def _cpu(command: list[str], environment: dict[str, str]) -> float:
    quiet = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
    process = os.posix_spawn(command[0], command, environment, file_actions=quiet)
    _, status, used = os.wait4(process, 0)
    assert status == 0, command
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
