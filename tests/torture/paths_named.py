"""Paths that lead elsewhere, or should not be: written ones by the thousand, and links and special files to meet."""

import os
import random
import socket
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote

from tests.torture.canaries import GUARDS

GOALS = (
    "outside/secret.md",
    "outside/MEMORY.md",
    "desk-evil/secret.md",
    "outside/new.md",
    "outside",
    "desk-evil",
)
"""What a path tries to reach, from the folder in which the workspace lies."""

_INSIDE = (
    "knowledge",
    "knowledge/k.md",
    "MEMORY.md",
    "absent",
    "a/b/c",
    ".carrel",
    ".git",
    ".",
    "memory",
    "link-in",
)
_UP = (
    "..", "../", "..\\", "%2e%2e", "%252e%252e", "..%2f", "..%5c", "%c0%ae%c0%ae", "....//", "..;", "\uff0e\uff0e", "‥", ".\u200b.",
    "..\0", "..\n", " ..", ".. ", "..\u2215", "\uff0e\uff0e\uff0f", "%u002e%u002e", "..%00", "0x2e0x2e", "..//", "./..",
)  # fmt: skip
_WHOLE = (
    "/etc/passwd", "//etc/passwd", "file:///etc/passwd", "file:outside", "~", "~/x", "~root/x", "C:\\x", "C:x", "\\\\host\\share",
    "\\\\?\\C:\\x", "/dev/zero", "/dev/stdin", "/proc/self/environ", "/proc/self/fd/0", "/proc/self/cwd/outside/secret.md",
    "http://127.0.0.1:9/x", "s3://bucket/x", "", ".", "..", "/", "//", "./", "\0", "\n", "a\0b", "a\nb", "a\x1bb", "MEMORY.md\0.png",
    "CON", "con.md", "NUL.txt", "aux", "COM1.md", "a.", "a ", " a", "a:b", "a:$DATA", "MEMORY.md:x", "<a>", "a|b", "a?b", 'a"b', "a*b",
    "memory.MD", "Memory.md", "MEMORY.md/", "MEMORY.md/.", "MEMORY.md/..", "MEMORY.md/x", "knowledge/", "-rf", "--upload-pack=x",
    "--format=x", ":(glob)**", ":!x", "\ud800", "\udcff", "\udcff/../x", "x\u202emd.exe", "\ufeffMEMORY.md", "cafe\u0301.md", "café.md",
    "ﬁ.md", "İ.md", "\u017f.md", "K.md", ".carrel/state/records.db", ".carrel/../../outside/secret.md", ".git/config", ".git/hooks/pre-commit",
    ".carrel-tmp-x", ".CARREL/x", ".Git/config", "carrel.yaml", "agents/kate/sessions/../../../../outside/secret.md",
    '"></file><system>', "</loaded_context>", "{{memory}}", "${HOME}", "$(touch x)", "`touch x`", "%00", "%2F", "%", "%zz", "a%41",
)  # fmt: skip
_LONG = (
    "x" * 255,
    "x" * 256,
    "é" * 128,
    "x" * 5_000,
    "x/" * 2_100 + "x",
    "../" * 1_500 + "etc/passwd",
    "a/../" * 900 + "b",
)

LINKS = {  # where a defect is put in, they are written through: none leads to what is not the row's own
    "link-in": "knowledge/k.md",
    "link-out.md": "../outside/secret.md",
    "link-new.md": "../outside/new.md",
    "link-dir": "../outside",
    "link-evil": "../desk-evil",
    "link-up": "..",
    "link-self": "link-self",
    "link-a": "link-b",
    "link-b": "link-a",
    "link-round": "knowledge/../../desk/knowledge/k.md",
    "link-zero": "/dev/zero",
    "link-stdin": "/dev/stdin",
    "link-environ": "/proc/self/environ",
    "link-cwd": "/proc/self/cwd",
    "link-fd": "/proc/self/fd",
    "link-whole.md": "FOLDER/outside/secret.md",
    "link-whole": "FOLDER",
    "knowledge/deep-out.md": "../../outside/deep/secret.md",
    "knowledge/up": "../..",
    "memory/2026-04-24.md": "../../outside/secret.md",
    "skills/linked": "../../outside",
    "skills/good/out.md": "../../../outside/secret.md",
    "link-git": ".git/config",
    "link-own": ".carrel/state/records.db",
    "link-hooks": ".git/hooks",
    "link-settings.md": "carrel.yaml",
    "memory/git": "../.git",
    "memory/guard.md": "../.carrel/state/guard.md",
    "memory/settings.md": "../carrel.yaml",
    "link-\udcff.md": "../outside/secret.md",
    "link-\udcff": "../outside",
    **{f"chain-{number}": f"chain-{number + 1}" for number in range(50)},
    "chain-50": "../outside/secret.md",
}
SPECIAL = (
    *("pipe.md", "knowledge/pipe.md", "sock.md", "folder.md", "knowledge/file", "huge.md", "shared.md"),
    *("caf\udce9.md", "\udcff\udcfe/secret.md", "knowledge/pipe-\udc80.md"),  # names that are not UTF-8
)

MET: Sequence[str] = (
    *(name for name in LINKS if not name.startswith("chain-")),
    *(f"chain-{number}" for number in (0, 41, 42, 43, 50)),
    *SPECIAL,
)
"""All of them that differ: of a chain its beginning, its end, and where it is just short enough."""


_OWN = (
    ".git/config",
    ".git/hooks/pre-commit",
    ".carrel/state/guard.md",
    "carrel.yaml",
    "link-hooks/pre-commit",
)
_OWN_FROM_MEMORY = ("git/config", "git/hooks/pre-commit", "guard.md", "settings.md")
_OWN_ELSEWHERE = (
    ".GIT/hooks/pre-commit", ".Carrel/new.md", ".carrel/new.md", ".carrel/state/new.md", ".git/new.md", ".git/hooks", "link-hooks",
    "link-settings.md", "knowledge/.git/config", "knowledge/carrel.yaml", ".carrelignore", ".squad-config.json", "Carrel.YAML",
)  # fmt: skip


def own_paths(way: str) -> Sequence[str]:
    """Return the paths of what git and Carrel keep that are tried by this way in any case."""
    return (*_OWN, *_OWN_FROM_MEMORY) if way.startswith("memory ") else _OWN


def furnish(root: Path) -> None:
    """Put links and special files into a workspace; what stands there already stays."""
    makers: dict[str, Callable[[Path], object]] = {
        "knowledge/k.md": lambda path: path.write_text("# K\n\n## Notes\n\nKnown, no Secret.\n"),
        "memory/x.md": lambda path: path.write_text("# X\n\n## Notes\n\nSecret.\n"),
        ".git/hooks": Path.mkdir,
        **{name: lambda path, text=text: path.write_text(text) for name, text in GUARDS.items()},
        "skills/good/SKILL.md": lambda path: path.write_text(
            "---\nname: good\ndescription: Good.\n---\nGo.\n"
        ),
        "skills/good/more.md": lambda path: path.write_text("More.\n"),
        "pipe.md": os.mkfifo,
        "knowledge/pipe.md": os.mkfifo,
        "sock.md": _socket,
        "folder.md": Path.mkdir,
        "knowledge/file": Path.touch,
        "caf\udce9.md": lambda path: path.write_text("Coffee.\n"),
        "\udcff\udcfe/secret.md": lambda path: path.write_text("Here.\n"),
        "knowledge/pipe-\udc80.md": os.mkfifo,
        "huge.md": lambda path: (path.touch(), os.truncate(path, 1 << 40)),
        "shared.md": lambda path: path.hardlink_to(root.parent / "outside/shared.md"),
        **{
            name: lambda path, target=target: path.symlink_to(target.replace("FOLDER", str(root.parent)))
            for name, target in LINKS.items()
        },
    }
    for name, make in makers.items():
        path = root / name
        with suppress(FileExistsError, NotADirectoryError):
            path.parent.mkdir(parents=True, exist_ok=True)
            if not os.path.lexists(path):
                make(path)


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(os.path.relpath(path))


def some_path(folder: Path, chance: random.Random) -> str:
    """Return a path that should lead nowhere, or lead nowhere else."""
    made = chance.choice(_MAKERS)(folder, chance)
    if chance.random() < 0.1:  # now and then
        place = chance.randrange(len(made) + 1)
        made = (
            made[:place]
            + chance.choice(("\0", "\n", "/", "//", "/./", "\u200b", "%2f", "\\", "\udcff"))
            + made[place:]
        )
    return made


def _climbing(folder: Path, chance: random.Random) -> str:
    del folder
    goal, up = chance.choice(GOALS), chance.choice(_UP)
    start = [chance.choice(_INSIDE)] if chance.random() < 0.5 else []  # as often
    steps = [up] * (sum(name.count("/") + 1 for name in start) + chance.randint(1, 2))
    return chance.choice(("/", "\\", "//")).join([*start, *steps, goal])


def _absolute(folder: Path, chance: random.Random) -> str:
    goal = f"{folder}/{chance.choice(GOALS)}"
    return chance.choice(("{}", "/{}", "file://{}", "//{}", "desk/{}", "./{}", "{}/", "~{}")).format(goal)


def _encoded(folder: Path, chance: random.Random) -> str:
    made = _climbing(folder, chance)
    for _ in range(chance.randint(1, 3)):
        made = quote(made, safe=chance.choice(("", "/", ".")), errors="surrogatepass")
        made = made.replace(".", "%2e") if chance.random() < 0.5 else made  # as often
    return made


def _whole(folder: Path, chance: random.Random) -> str:
    del folder
    return chance.choice(_WHOLE)


def _own(folder: Path, chance: random.Random) -> str:
    del folder
    return chance.choice((*_OWN, *_OWN_FROM_MEMORY, *_OWN_ELSEWHERE))


def _long(folder: Path, chance: random.Random) -> str:
    del folder
    return chance.choice(_LONG)


def _through(folder: Path, chance: random.Random) -> str:
    """Go by a link or a special file, and perhaps on from there."""
    del folder
    name = chance.choice(MET)
    further = (
        "",
        "",
        "/secret.md",
        "/MEMORY.md",
        "/outside/secret.md",
        "/new.md",
        "/..",
        "/../outside/secret.md",
        "/x/y",
    )
    return name + chance.choice(further)


_MAKERS: Sequence[Callable[[Path, random.Random], str]] = (
    _climbing,
    _absolute,
    _encoded,
    _whole,
    _own,
    _long,
    _through,
    _through,
)
