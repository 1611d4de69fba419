"""A process that the kernel listens to: whatever code in it starts a process or asks a network, native code too.

Such a call is not made, and is told of by a signal; who has blocked all of them to make it, as `system` does, is ended by it.
That is for listening; a sandbox would have to know more ways.
"""

import ctypes
import errno
import platform
import signal
import sys
from collections.abc import Callable
from typing import NamedTuple

_SET_SECCOMP, _NO_NEW_PRIVILEGES, _FILTER = 22, 38, 2
_LOAD, _IS, _HAS, _RETURN = 0x20, 0x15, 0x45, 0x06
_NUMBER, _FIRST = 0, 16
"""Where the number of a call is, and its first argument."""

_ALLOW, _TELL, _FAIL = 0x7FFF0000, 0x00030000, 0x00050000
_UNIX, _THREAD = 1, 0x10000

_Step = tuple[int, int, int, int]
"""What to do, how many steps to pass over if it holds and if it does not, and with which value."""


class _Calls(NamedTuple):
    """The numbers of calls on a kind of machine."""

    socket: int
    clone: int
    clone3: int
    others: tuple[int, ...]
    """connect, fork, vfork, execve, execveat, and what rings of io have instead."""


_CALLS = {
    "x86_64": _Calls(socket=41, clone=56, clone3=435, others=(42, 57, 58, 59, 322, 425)),
    "aarch64": _Calls(socket=198, clone=220, clone3=435, others=(203, 221, 281, 425)),
}


class _Instruction(ctypes.Structure):
    _fields_ = (
        ("code", ctypes.c_ushort),
        ("yes", ctypes.c_ubyte),
        ("no", ctypes.c_ubyte),
        ("value", ctypes.c_uint32),
    )


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("steps", ctypes.POINTER(_Instruction)))


def seal(tell: Callable[[], object]) -> bool:
    """Have it told from now on when this thread, or one that it starts, makes such a call; return whether that can be."""
    if sys.platform != "linux" or platform.machine() not in _CALLS:
        return False
    steps = _steps(_CALLS[platform.machine()])
    made = (_Instruction * len(steps))(*(_Instruction(*step) for step in steps))
    program, system = _Program(len(steps), made), ctypes.CDLL(None, use_errno=True)
    signal.signal(signal.SIGSYS, lambda *_: tell())
    return (
        system.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0) == 0
        and system.prctl(_SET_SECCOMP, _FILTER, ctypes.byref(program), 0, 0) == 0
    )


def _steps(calls: _Calls) -> list[_Step]:
    """Return what the kernel does with each call, step by step."""
    told = [step for each in calls.others for step in ((_IS, 0, 1, each), (_RETURN, 0, 0, _TELL))]
    return [
        (_LOAD, 0, 0, _NUMBER),
        *told,
        (_IS, 0, 1, calls.clone3),  # its words are in memory; who can't have it takes the older one
        (_RETURN, 0, 0, _FAIL | errno.ENOSYS),
        *_unless((_HAS, 1, 0, _THREAD), calls.clone),
        *_unless((_IS, 1, 0, _UNIX), calls.socket),
        (_RETURN, 0, 0, _ALLOW),
    ]


def _unless(harmless: _Step, call: int) -> list[_Step]:
    """Return the steps that tell of a call unless its first argument is harmless."""
    return [
        (_IS, 0, 4, call),
        (_LOAD, 0, 0, _FIRST),
        harmless,
        (_RETURN, 0, 0, _TELL),
        (_RETURN, 0, 0, _ALLOW),
    ]
