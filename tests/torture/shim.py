"""Real calls to the system that fail: `shim.c`, built where there is a compiler, and loaded before libc."""

import ctypes
import errno
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from carrel.files.paths import TEMPORARY

KINDS = ("open", "make", "write", "sync", "name", "size", "read", "lock", "close", "look", "list")
"""Of calls: those that change what has which name are of one kind, and so are those that look at files."""

_OPEN, _MAKE, _WRITE, _SYNC, _NAME, _SIZE, _READ, _LOCK, _CLOSE, _LOOK, _LIST = (
    1 << place for place in range(len(KINDS))
)
_BEFALLS = {
    errno.EIO: (1 << len(KINDS)) - 1,
    errno.ENOSPC: _MAKE | _WRITE | _SYNC | _NAME | _SIZE,
    errno.EINTR: _OPEN | _WRITE | _SYNC | _READ | _LOCK,
    errno.EMFILE: _OPEN | _LIST,
    0: _WRITE,
}
"""Which calls each error can come from; none at all is a write that is cut short."""


class Struck(NamedTuple):
    """The call that failed, and where it was a sync that no later one made good: what is not durable, by its name now.

    Of a folder it is what was given or lost a name in it last.
    """

    call: str
    unsynced: str = ""


def build(folder: Path, name: str = "shim.c") -> Path | None:
    """Return the shim, or another one, ready to be loaded; nothing where there is no compiler."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        return None
    source = Path(__file__).with_name(name)
    made = (folder / name).with_suffix(".so")
    words = [compiler, "-shared", "-fPIC", "-O1", "-o", str(made), str(source), "-ldl"]
    return made if subprocess.run(words, capture_output=True, check=False).returncode == 0 else None


def arm(folder: Path, error: int, number: int) -> Callable[[], Struck | None]:
    """Let the Nth call below a folder fail in this process, and return how to ask which that was, if it came to it."""
    loaded = ctypes.CDLL(os.environ["LD_PRELOAD"])
    loaded.about.restype = loaded.unsynced.restype = ctypes.c_char_p
    loaded.arm(os.fsencode(folder), TEMPORARY.encode(), error, _BEFALLS[error], number)

    def struck() -> Struck | None:
        if loaded.seen() < number:
            return None
        kind = KINDS[loaded.struck().bit_length() - 1]
        return Struck(f"{kind} {os.fsdecode(loaded.about())}", os.fsdecode(loaded.unsynced()))

    return struck
