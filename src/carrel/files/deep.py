"""One call to the system that opens a folder far below another and follows no link, where there is one.

It saves a call for each name: whoever gets no answer walks. Nothing outside is reached by it, but it needs
only leave to pass through the folders between, and a walk that to read them.
"""

import ctypes
import os
import sys
from collections.abc import Sequence
from functools import cache

_OPENAT2 = 437
"""Its number on nearly all architectures; on others this is no call, and the answer is an error."""

_NO_LINKS, _BENEATH = 0x04, 0x08
_LONGEST = 4_095
"""Bytes of a path that Linux takes."""


class _How(ctypes.Structure):
    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


def reach(fd: int, names: Sequence[str], flags: int) -> int | None:
    """Open the last of some names below a folder; None where one is a link, or cannot be opened."""
    path = os.fsencode("/".join(names))
    if sys.platform != "linux" or len(path) > _LONGEST or b"\0" in path:
        return None
    how = _How(flags, 0, _NO_LINKS | _BENEATH)
    number, folder, size = ctypes.c_long(_OPENAT2), ctypes.c_long(fd), ctypes.c_size_t(ctypes.sizeof(how))
    found: int = _system().syscall(number, folder, path, ctypes.byref(how), size)
    return None if found < 0 else found


@cache
def _system() -> ctypes.CDLL:
    return ctypes.CDLL(None)
