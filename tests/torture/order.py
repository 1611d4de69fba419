"""The order of calls to the system, as strace tells it: what is not synced at an acknowledgement could be lost then.

A file has its bytes synced before it gets its name, and the folder is synced after that; who prints an answer has
nothing left that is not. No disk is needed that can be mounted, and no code of Carrel looks at the trace.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from tests.torture.verifier import TEMPORARY

_TRACED = (
    "openat,open,write,pwrite64,writev,pwritev,ftruncate,fsync,fdatasync,rename,renameat,renameat2,"
    "link,linkat,unlink,unlinkat,mkdir,mkdirat"
)
_CALL = re.compile(r"^(\d+) +(\w+)\((.*)\) += (-?\d+)")
_BEGUN, _RESUMED = (
    re.compile(r"^(\d+) +(\w+)\((.*) <unfinished"),
    re.compile(r"^(\d+) +<\.\.\. \w+ resumed>(.*)"),
)
_AT = re.compile(r'(?:(?:\w+)<([^<>]*)>, )?"((?:[^"\\]|\\.)*)"')
_FD = re.compile(r"^(\d+)<([^<>]*)>")
_LEFT_TO_LUCK = re.compile(r"/cache(?:/|$)|-shm$")
"""What can be made anew from the rest."""

_MAY_STAY = re.compile(rf"-wal$|/{re.escape(TEMPORARY)}[^/]*$")
"""What does no harm if it is back after a power cut: it is swept, or says nothing any more."""


class Call(NamedTuple):
    """A call that succeeded: its name, the number of the stream it is about, and the paths that it names."""

    name: str
    fd: int
    paths: tuple[str, ...]
    more: str


def strace(command: Sequence[str], folder: Path, environ: Mapping[str, str], given: str = "") -> list[str]:
    """Run a command in a folder, and return what strace wrote of it and of all that it began."""
    trace = folder.parent / "trace"
    words = ["strace", "-f", "-y", "-s", "0", "-o", str(trace), "-e", f"trace={_TRACED}", *command]
    subprocess.run(
        words, cwd=folder, env=dict(environ), input=given, capture_output=True, text=True, check=False
    )
    return trace.read_text(errors="replace").splitlines()


def is_there() -> bool:
    """Tell whether strace can be used here."""
    return (
        shutil.which("strace") is not None
        and not subprocess.run(
            ["strace", "-o", os.devnull, "true"], capture_output=True, check=False
        ).returncode
    )


def calls(lines: Iterable[str]) -> Iterator[Call]:
    """Yield the calls of a trace that succeeded, in the order in which they ended."""
    begun = dict[str, str]()
    for line in lines:
        if found := _BEGUN.match(line):
            begun[found[1]] = f"{found[1]} {found[2]}({found[3]}"
            continue
        if (found := _RESUMED.match(line)) and found[1] in begun:
            line = begun.pop(found[1]) + found[2]  # noqa: PLW2901 - the two halves of one
        if (call := _CALL.match(line)) and int(call[4]) >= 0:
            named = tuple(str(Path(at, name)) for at, name in _AT.findall(call[3]))
            if call[2] in _ON_FD and (own := _FD.match(call[3])):
                yield Call(call[2], int(own[1]), (own[2],), call[3])
            else:
                yield Call(call[2], -1, named, call[3])


class Ledger:
    """What is not synced, of the bytes of files and of the names in folders, as far as below one folder."""

    def __init__(self, folder: Path) -> None:
        self._below = f"{folder}/"
        self._known = {str(path) for path in folder.rglob("*")}
        self._bytes, self._names = set[str](), set[str]()
        self.wrong: list[str] = []
        self.changes = self.answers = 0

    def enter(self, call: Call) -> None:
        """Take down a call."""
        if call.name in ("write", "writev") and call.fd == 1:
            self._answered()
        elif all(self._counts(path) for path in call.paths) and call.paths:
            _DO[call.name](self, call)

    def _counts(self, path: str) -> bool:
        return f"{path}/".startswith(self._below) and not _LEFT_TO_LUCK.search(path)

    def _answered(self) -> None:
        self.answers += 1
        left = sorted(self._bytes | {f"the name {path}" for path in self._names})
        self.wrong += [f"{each.replace(self._below, '')} is not synced at the answer" for each in left]

    def opened(self, call: Call) -> None:
        path = call.paths[0]
        if "O_CREAT" in call.more and path not in self._known:
            self._named(path)

    def written(self, call: Call) -> None:
        self.changes += 1
        self._bytes.add(call.paths[0])

    def synced(self, call: Call) -> None:
        path = call.paths[0]
        self._bytes.discard(path)
        self._names = {each for each in self._names if os.path.dirname(each) != path}  # noqa: PTH120 - texts

    def moved(self, call: Call) -> None:
        old, new = call.paths
        if old in self._bytes:
            self.wrong.append(f"{new.replace(self._below, '')} has its name before its bytes are synced")
        if not call.name.startswith("link"):
            self._names.discard(old)
        self._named(new)

    def removed(self, call: Call) -> None:
        """Take down a name that is gone; what only this trace made need not be gone for good."""
        path = call.paths[0]
        self._bytes.discard(path)
        if path in self._names or _MAY_STAY.search(path):
            self._names.discard(path)
        else:
            self._names.add(path)

    def made(self, call: Call) -> None:
        self._named(call.paths[0])

    def _named(self, path: str) -> None:
        self.changes += 1
        self._known.add(path)
        self._names.add(path)


_DO: dict[str, Callable[[Ledger, Call], None]] = {
    **dict.fromkeys(("open", "openat"), Ledger.opened),
    **dict.fromkeys(("write", "writev", "pwrite64", "pwritev", "ftruncate"), Ledger.written),
    **dict.fromkeys(("fsync", "fdatasync"), Ledger.synced),
    **dict.fromkeys(("rename", "renameat", "renameat2", "link", "linkat"), Ledger.moved),
    **dict.fromkeys(("unlink", "unlinkat"), Ledger.removed),
    **dict.fromkeys(("mkdir", "mkdirat"), Ledger.made),
}
_ON_FD = ("write", "writev", "pwrite64", "pwritev", "ftruncate", "fsync", "fdatasync")

WRITERS: Mapping[str, str] = {
    "sound": "os.fsync(f.fileno()); f.close(); os.rename('t', 'a'); os.fsync(d)",
    "without a sync of the file": "f.close(); os.rename('t', 'a'); os.fsync(d)",
    "without a sync of the folder": "os.fsync(f.fileno()); f.close(); os.rename('t', 'a')",
    "that syncs too late": "f.close(); os.rename('t', 'a'); os.fsync(d); print(1, flush=True); os.sync()",
}
"""Programs of which all but the first are to be seen to be wrong."""


def wrong_with(ledger: Ledger, lines: Iterable[str]) -> list[str]:
    """Return what is wrong with a trace; one that changed nothing or answered nothing proves nothing."""
    for call in calls(lines):
        ledger.enter(call)
    idle = [] if ledger.changes and ledger.answers else ["it changed nothing, or answered nothing"]
    return ledger.wrong + idle


def unseen(folder: Path) -> Iterator[str]:
    """Yield whatever of the wrong writers is not seen to be wrong, and the sound one if it is."""
    for name, ends in WRITERS.items():
        place = folder / name.replace(" ", "-")
        place.mkdir(parents=True)
        program = (
            f"import os; d = os.open('.', 0); f = open('t', 'w'); f.write('x'); f.flush(); {ends}; print(2)"
        )
        ledger = Ledger(place)
        command = [sys.executable, "-S", "-c", program]
        if bool(wrong_with(ledger, strace(command, place, os.environ))) == (name == "sound"):
            yield f"a writer {name} is taken for {'wrong' if name == 'sound' else 'sound'}"
