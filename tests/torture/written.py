"""Random workspaces of every layout, whose texts are known piece by piece: no two files begin or end alike."""

import random
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import NamedTuple

LAYOUTS = ("carrel", "astra", "nexo", "agentscope", "squad", "openclaw")
ADDED = ("SOUL.md", "notes.md")
"""What agentscope is told to load beside its own."""

_NAMES = (
    *("SOUL", "AGENTS", "IDENTITY", "USER", "MEMORY", "TOOLS", "HEARTBEAT", "BOOTSTRAP", "DREAMS", "README"),
    *("notes", "Zeta", "alpha", "tools", "İstanbul", "\u0131ss\u0131z", "ß"),
)
_DAYS = ("2026-04-21", "2026-04-22", "2026-04-23", "2026-04-24", "2026-04-24-b", "2026-04-24-A")
_HARD = (
    "</document>", '<document path="SOUL.md">', "</Document >", "</loaded_context>", "<\n/MEMORY>", "</memory_context>",
    "<agents_context", "< / skills", "</document9", "</Notes.md>", "<SOUL.md>", "</journal\u00a0>", "<hit>", "<Recall",
    "\n# SOUL\n", "\n# Project Context \n", "\n## Agent Memory\n", "\n### Project\n", "\n## USER.md\n", "\n# MEMORY\n", "&lt;",
    "[truncated at 20K tokens]", "[truncated]", "<|im_start|>system", "\u202ereversed", "\U0001f600", "{{memory}}", "{path}",
    "```", "# Heading", "\r\n", "\u2028", "naïve", "漢字かな", "\u200b", "<!-- priority: -5 -->", "---", "A" * 400,
)  # fmt: skip
_LENGTHS = (*(0, 3, 40, 800) * 10, 2_500)
"""Words of a file; the longest is beyond what nexo and openclaw take of one."""

_FRONTS = ("", "", "", "<!-- priority: 7 -->\n", "---\nscope: private\n---\n", "<!-- tags: a -->\n")


class Model(NamedTuple):
    """What the settings say of a model, and what follows from that: its window, and how well tokens are counted."""

    settings: str
    name: str
    window: int
    method: str
    is_known: bool = True


MODELS = (
    Model("", "", 128_000, "exact"),
    Model("{name: gpt-4.1-mini}", "gpt-4.1-mini", 1_047_576, "exact"),
    Model("{name: anthropic/claude-sonnet-4}", "anthropic/claude-sonnet-4", 200_000, "estimate"),
    Model("{name: nobody-1}", "nobody-1", 128_000, "estimate", is_known=False),
    Model("{name: nobody-1, context_window: 300000}", "nobody-1", 300_000, "estimate"),
)
"""All of them are counted with one vocabulary: their own, or where there is none to be had, that one."""


class Written(NamedTuple):
    """A file: its front matter, what stands behind it, and what it is as the line of an identity."""

    front: str
    body: str
    line: str = ""

    @property
    def whole(self) -> str:
        return self.front + self.body

    @property
    def is_private(self) -> bool:
        return "private" in self.front

    @property
    def priority(self) -> int | None:
        return 7 if "priority" in self.front else None

    @property
    def words(self) -> tuple[str, ...]:
        """The first and the last word, which no other file has; none where there is nothing."""
        found = self.body.split()
        return (found[0], found[-1]) if found else ()


class Desk(NamedTuple):
    """A workspace: its layout, its files, and what its agent learnt elsewhere, by title."""

    root: Path
    layout: str
    files: dict[str, Written]
    namespaces: dict[str, Written]
    model: Model

    @property
    def home(self) -> str:
        return "workspace/" if self.layout == "astra" else ""


def write_workspace(folder: Path, chance: random.Random, homes: Iterator[str]) -> Desk:
    """Make a workspace, and in each home what agents learnt elsewhere."""
    numbers, layout = count(), chance.choice(LAYOUTS)
    desk = Desk(folder / "desk", layout, dict(_files(layout, chance, numbers)), {}, chance.choice(MODELS))
    for title in ("Agent Experience: Kate", "Beta", "Alpha")[: chance.randint(0, 3)]:
        is_own = title.endswith("Kate")
        front = f'---\ntitle: "{title}"\nenabled: {str(not is_own).lower()}\n---\n'
        desk.namespaces[title] = Written(front, text(chance, numbers, is_plain=True).body)
    for name, file in desk.files.items():
        _put(desk.root / name, file.whole)
    _put(desk.root / "carrel.yaml", _settings(layout, desk.model))
    for home in homes:
        for title, file in desk.namespaces.items():
            name = "profile.kate.md" if title.endswith("Kate") else f"{title.lower()}.md"
            _put(folder / home / "data/namespaces" / name, file.whole)
    return desk


def text(chance: random.Random, numbers: Iterator[int], *, is_plain: bool = False) -> Written:
    """Draw a text; a plain one has no front matter of its own."""
    number, front = next(numbers), "" if is_plain else chance.choice(_FRONTS)
    length = chance.choice(_LENGTHS)
    if not length:
        return Written(front, chance.choice(("", " \n")))
    words = (
        chance.choice(_HARD) if chance.random() < 0.2 else f"word{chance.randrange(50)}"
        for _ in range(length)
    )  # one in five
    lead, end = chance.choice(("", "", "\n \n")), chance.choice(("\n", "", " \u2028\n\n"))
    return Written(front, f"{lead}begin{number}. {' '.join(words)} end{number}.{end}")


def _files(layout: str, chance: random.Random, numbers: Iterator[int]) -> Iterator[tuple[str, Written]]:
    home = "workspace/" if layout == "astra" else ""
    for name in chance.sample(_NAMES, chance.randint(1, len(_NAMES))):
        file = text(chance, numbers)
        if name == "IDENTITY" and chance.random() < 0.5:  # as often as not it says who it is
            file = Written("", f"- **Name:** Kate\n- **Vibe:** warm{next(numbers)}.\n")
            file = file._replace(line=f"name=Kate, vibe={file.words[1]}")
        yield f"{home}{name}.md", file
    if home and chance.random() < 0.8:  # of most
        yield "SOUL.md", text(chance, numbers)
    for name in chance.sample(("KNOWLEDGE", "k1", "sub/k2", "<document>"), chance.randint(0, 4)):
        yield f"knowledge/{name}.md", text(chance, numbers)
    days = "notes" if layout == "nexo" else "memory"
    for day in chance.sample(_DAYS, chance.randint(0, len(_DAYS))):
        yield f"{days}/{day}.md", text(chance, numbers)
    for name in chance.sample(("agents/kate/memory.md", "memory/kate.md"), chance.randint(0, 2)):
        yield name, text(chance, numbers)


def _settings(layout: str, model: Model) -> str:
    lines = [f"layout: {layout}", "search: {embedder: none}"]
    lines += [f"model: {model.settings}"] if model.settings else []
    lines += ["agents:"]
    lines += ["  - id: kate", "    display_name: Kate", "    profile: kate"]
    lines += ['    system_prompt_template: "You are {{agent.displayName}}."']
    if layout == "agentscope":
        lines += [f"    additional_context_files: [{', '.join(ADDED)}]"]
    return "\n".join(lines) + "\n"


def _put(path: Path, data: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(data, "utf-8", newline="")
