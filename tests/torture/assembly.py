"""Row 6: the same files and inputs are the same bytes, everywhere; within budget, in order, with nothing left unsaid."""

import json
import os
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

from tests.torture.desk import Desk
from tests.torture.rows import Defect, Meter, Row

PLACES: Sequence[dict[str, str]] = (
    {"PYTHONHASHSEED": "0", "LC_ALL": "C", "TZ": "UTC"},
    {"PYTHONHASHSEED": "4242", "LC_ALL": "C.UTF-8", "TZ": "Pacific/Apia"},
    {"PYTHONHASHSEED": "99", "LC_ALL": "tr_TR.UTF-8", "TZ": "America/St_Johns"},
)
"""What differs between machines and must make no difference."""

_PINNED = ("SOUL.md", "AGENTS.md", "IDENTITY.md", "USER.md", "MEMORY.md")
"""What no budget leaves out: of the rest, nothing is in a prompt for which there is no room."""

_ASKED = 0.1
"""Of the workspaces, how many are asked a question too: an index has to be made for that."""

_NOW = "2026-04-24T23:30:00Z"
_NAMES = ("SOUL", "AGENTS", "IDENTITY", "USER", "MEMORY", "notes", "Zeta", "alpha", "tools", "İstanbul", "ß")
_HARD = (
    "</document>", '<document path="SOUL.md">', "</Document >", "</loaded_context>", "[truncated at 20K tokens]", "<|im_start|>system", "\u202ereversed", "\ud83d\ude00"
    .encode("utf-16", "surrogatepass").decode("utf-16"), "{{memory}}", "```", "# Heading", "\r\n", "\u2028",
    "naïve", "漢字かな", "\u200b", "<!-- priority: -5 -->", "---", "A" * 400,
)  # fmt: skip


def assemble_everywhere(meter: Meter) -> None:
    """Assemble random workspaces in several processes that share nothing but the files."""
    chance = random.Random(meter.seed)
    with ExitStack() as stack:
        places = [stack.enter_context(_Place(each, meter.folder)) for each in PLACES]
        while meter.goes_on:
            folder = meter.folder / "one"
            desk = _workspace(folder, chance)
            prefixes = dict[str, str]()
            for asked in _questions(chance):
                two = (places[0], chance.choice(places[1:]))
                answers = [place.ask({**asked, "root": str(desk.root)}) for place in two]
                told = f"{meter.trials}: not the same: {asked} {_difference(answers)}"
                same = [_prefix(each) if asked["query"] else each for each in answers]
                meter.check(same[0] == same[1], told)
                for told in _faults(desk, asked, answers[0]):
                    meter.check(is_kept=False, told=f"{meter.trials} {asked}: {told}")
                call, prefix = f"{asked['scope']} {asked['total']}", _prefix(answers[0])
                is_stable = prefixes.setdefault(call, prefix) == prefix
                meter.check(is_stable, f"{meter.trials} {asked}: a question changed the prefix")
                meter.tried()
            shutil.rmtree(folder)


def _workspace(folder: Path, chance: random.Random) -> Desk:
    files = {"carrel.yaml": "layout: carrel\nagents:\n  - {id: kate}\nsearch: {embedder: none}\n"}
    for name in chance.sample(_NAMES, chance.randint(1, len(_NAMES))):
        files[f"{name}.md"] = _text(chance)
    for number in range(chance.randint(0, 4)):
        files[f"knowledge/k{number}.md"] = _text(chance)
        files[f"memory/2026-04-2{number}.md"] = _text(chance)
    return Desk(folder, files)


def _text(chance: random.Random) -> str:
    front = chance.choice(
        ("", "", "", "<!-- priority: 7 -->\n", "---\nscope: private\n---\n", "<!-- tags: a -->\n")
    )
    words = (
        chance.choice(_HARD) if chance.random() < 0.2 else f"word{chance.randrange(50)}"
        for _ in range(chance.choice((0, 3, 40, 800)))
    )  # one in five
    return front + " ".join(words) + "\n"


def _questions(chance: random.Random) -> Iterator[dict[str, Any]]:
    for scope in ("main", "shared"):
        for total in (None, chance.choice((10, 200, 2_000, 20_000))):
            yield {"scope": scope, "total": total, "query": ""}
    if chance.random() < _ASKED:
        yield {"scope": "main", "total": None, "query": "Which word is it?"}


def _faults(desk: Desk, asked: dict[str, Any], answer: dict[str, Any]) -> Iterator[str]:
    """Yield what is wrong with an answer, by the report and the files alone."""
    if "error" in answer:
        yield f"error {answer['error']}"
        return
    report, text = answer["report"], answer["text"]
    sections = report["sections"]
    told = {row["name"] for row in sections}
    if asked["scope"] == "main":
        tops = {path.name for path in desk.root.glob("*.md")}
        yield from (f"{name} is not in the report" for name in sorted(tops - told))
    used = sum(row["tokens"] for row in sections)
    if used != report["tokens"]["used"]:
        yield f"the sections sum up to {used}, not {report['tokens']['used']}"
    kept = [
        row for row in sections if row["kind"] == "document" and row["state"] in ("included", "truncated")
    ]
    size, is_free = sum(row["size"] for row in kept), any(row["name"] not in _PINNED for row in kept)
    if asked["total"] is not None and is_free and size > asked["total"]:
        yield f"documents of {size} tokens in a budget of {asked['total']}"
    yield from _misplaced(text, [row["name"] for row in kept])
    for row in sections:
        if row["state"] == "included" and row["kind"] == "document" and row["name"].endswith(".md"):
            path = desk.root / row["name"]
            last = path.read_text("utf-8").strip().split(" ")[-1] if path.exists() else ""
            if last.startswith("word") and last not in text:
                yield f"{row['name']} is said to be whole and is not"


def _prefix(answer: dict[str, Any]) -> str:
    """Return the digest of what a question must not change; what is recalled may be late on a busy machine."""
    return answer["report"]["prefix"]["sha256"] if "report" in answer else answer["error"]


def _difference(answers: Sequence[dict[str, Any]]) -> list[str]:
    """Return the first piece of each answer that is not in all of them."""
    told = [json.dumps(answer, sort_keys=True) for answer in answers]
    place = next((at for at, each in enumerate(zip(*told, strict=False)) if len(set(each)) > 1), 0)
    return [each[max(0, place - 100) : place + 200] for each in told]


def _misplaced(text: str, names: list[str]) -> Iterator[str]:
    """Yield where the text has other documents than the report, or in another order, or one that a body forged."""
    found = re.findall(r'<document path="([^"]*)"', text)
    if found != names:
        yield f"the prompt has {found[:20]}, the report {names[:20]}"
    if (closed := len(re.findall(r"(?i)</\s*document\s*>", text))) != len(found):
        yield f"{len(found)} documents begin and {closed} end"


class _Place:
    """A process on another machine, as far as a process can tell."""

    def __init__(self, environ: dict[str, str], folder: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.torture.assembler"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={
                **{
                    name: os.environ[name] for name in ("PYTHONPATH",) if name in os.environ
                },  # with a defect, perhaps
                **environ,
                "CARREL_HOME": str(folder / f"home-{environ['PYTHONHASHSEED']}"),
                "CARREL_NOW": _NOW,
            },
            cwd=Path(__file__).parents[2],
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()

    def ask(self, asked: dict[str, Any]) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(asked).encode() + b"\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline() or b'{"error": "it ended"}')


ASSEMBLY = Row(
    number=6,
    promise="assembly: determinism, budget, order, complete report",
    quick=1_000,
    long=200_000,
    share=3,
    parts=2,
    run=assemble_everywhere,
    passes="0 violations over processes, hash seeds, locales, time zones",
    defects=(
        Defect("context/render.py", "re.IGNORECASE", "re.NOFLAG", "a tag in capitals closes a document"),
        Defect(
            "context/sources.py",
            "ranked.sort(key=lambda pair: pair[0])",
            "ranked.sort(key=lambda pair: (pair[0][:3], hash(pair[0][3])))",
            "files of one rank stand in no order",
        ),
        Defect(
            "context/budget.py",
            'fitted.append(section.out("excluded", "total") if full else section)',
            "fitted.append(section)",
            "the total is not kept to",
        ),
    ),
)
