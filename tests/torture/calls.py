"""Row 2: the Nth call to the system fails, N = 1, 2, … until none is left to fail, for all that changes something.

What was acknowledged is done, and no sync of it has failed; what was refused is done whole or as it was, says why in a typed error, and can be
asked for again. By the seam each change of a file fails once; under `shim.c` each real call does, SQLite's too.
"""

import errno
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from tests.torture import shim
from tests.torture.desk import Child, Desk, Say, share_what_is_loaded
from tests.torture.operations import OPERATIONS, Operation, gone, is_derived, prepare
from tests.torture.rows import Defect, Meter, Row
from tests.torture.shim import Struck

from carrel.cli.main import run
from carrel.errors import CarrelError
from carrel.files import folders, history, local
from carrel.files.paths import TEMPORARY
from carrel.testing import FaultyDisk

FAULTS = {
    "EIO": errno.EIO,
    "ENOSPC": errno.ENOSPC,
    "EINTR": errno.EINTR,
    "EMFILE": errno.EMFILE,
    "short write": 0,
}
PAIRS = tuple((operation, fault) for operation in OPERATIONS for fault in FAULTS)
ROOT = Path(__file__).parents[2]
_AT_ONCE = 2
_NAMES = {"os.rename": (1, 3), "os.link": (1, 3), "os.mkdir": (0, 2), "os.remove": (0, 1)}
"""What Python tells of calls that change a name: where that is among what they are given, and its folder."""

_BEFALLS = {
    errno.ENOSPC: ("open", "write", "fsync", "fsync directory", "fdatasync", "rename", "link", "mkdir"),
    errno.EINTR: ("open", "write", "fsync", "fsync directory", "fdatasync", "lock"),
    errno.EMFILE: ("open",),
    0: ("write",),
}
"""Which changes an error can come from, if not from all; without a number it is a write that is cut short."""

_DATABASE = "records.db"
_GONE = " (deleted)"
"""How Linux tells of a file without a name."""

Arm = Callable[[int, int], Callable[[], Struck | None]]
"""Lets the Nth call of this process fail with an error, and returns how to ask which that was, if it came to that."""

_Armed = Callable[[], Callable[[], Struck | None]]


class Answer(NamedTuple):
    """How a command ended: its exit code, what it printed, and which the Nth call was, if there was one."""

    code: int
    out: str
    err: str
    struck: Struck | None

    @property
    def error(self) -> str:
        """The code of the error that it told of, empty where there is none."""
        try:
            document = json.loads(self.out.splitlines()[-1])
        except (ValueError, LookupError):
            return ""
        found = (each["code"] for each in document.get("findings", ()) if each["severity"] == "error")
        return document["error"]["code"] if "error" in document else next(found, "")


class Sweep:
    """A desk that is put back as it was before each trial, always at the same place: trust is bound to it."""

    def __init__(self, folder: Path, seconds: float) -> None:
        self.folder, self._start = folder / "live", folder / "start"
        self._end = time.monotonic() + seconds
        self.desk, self._before = Desk.at(self.folder), Desk.at(self._start)
        prepared = Child(lambda _: prepare(self.folder) and None)
        prepared.listen()
        assert not prepared.has_failed
        shutil.copytree(self.folder, self._start)
        for name in self._loaded():
            with suppress(ImportError):
                import_module(name)

    def run(self, operation: Operation, fault: str, arm: Arm) -> tuple[int, list[str], bool]:
        """Let each call fail once; return how many did, what was not as promised, and whether that was all."""
        wrong, number, is_whole = list[str](), 0, False
        while not is_whole and time.monotonic() < self._end:
            number += 1
            shutil.rmtree(self.folder)
            shutil.copytree(self._start, self.folder)
            answer = self._ask(operation, lambda number=number: arm(FAULTS[fault], number))
            where = f"{operation.name}, {fault} at call {number}{f', {answer.struck.call}' if answer.struck else ''}"
            wrong += [f"{where}: {told}" for told in self._judged(operation, answer)]
            is_whole = answer.struck is None
        return number - is_whole, wrong, is_whole

    def _judged(self, operation: Operation, answer: Answer) -> list[str]:
        """Return what is wrong; what cannot even be looked at is, and ends no judge."""
        told = list[str]()
        try:
            told.extend(self._wrong(operation, answer))
        except (OSError, ValueError, LookupError, sqlite3.Error, zipfile.BadZipFile) as error:
            told.append(f"what is there cannot be looked at: {type(error).__name__} {error}")
        return told

    def _wrong(self, operation: Operation, answer: Answer) -> Iterator[str]:
        desk = self.desk
        if "Traceback" in answer.err or "Traceback" in answer.out:
            yield "a traceback"
        has_admitted = bool(operation.admits) and operation.admits in answer.out
        if answer.code == 0 and not has_admitted:
            # before the database is looked at, which makes SQLite's log anew
            if answer.struck and is_lost(answer.struck.unsynced):
                yield f"acknowledged, and its sync had failed: {answer.struck.unsynced}"
            if not operation.is_done(desk):
                yield "acknowledged, and not done"
            yield from gone(self._before, desk, operation.takes)
            return
        if answer.error in ("", "internal") and not has_admitted:
            yield f"no typed error: exit {answer.code} {answer.out[-200:]} {answer.err[-300:]}"
        if answer.struck is None:
            yield f"it fails without a fault: {answer.out[-200:]}"
        elif operation.is_done(desk):
            yield from gone(self._before, desk, operation.takes)
            return
        elif not operation.is_undone(desk):
            yield f"neither done nor as it was ({answer.error})"
        yield from gone(self._before, desk, operation.takes if has_admitted else None)
        again = self._ask(operation, None)
        if again.code != 0 or not operation.is_done(desk):
            yield f"after {answer.error} it cannot be asked for again: {again.code} {again.out[-200:]}"
        yield from (f"asked for again: {told}" for told in gone(self._before, desk, operation.takes))

    def _loaded(self) -> list[str]:
        """Return the modules that the operations load, so that no trial has to."""

        def ask_all(say: Say) -> None:
            for operation in OPERATIONS:
                self._act(operation, None, lambda _: None)
            say("\n".join(sys.modules))

        return Child(ask_all).listen()

    def _ask(self, operation: Operation, arm: _Armed | None) -> Answer:
        said = Child(lambda say: self._act(operation, arm, say)).listen()
        if not said:
            return Answer(-1, "", "it died", Struck("after which it died"))
        code, out, err, struck = json.loads(said[0])
        return Answer(code, out, err, Struck(*struck) if struck else None)

    def _act(self, operation: Operation, arm: _Armed | None, say: Say) -> None:
        out, err = self._redirected(operation.given)
        struck = arm() if arm else lambda: None
        code = (
            run([*operation.asked, "--json"]) if isinstance(operation.asked, tuple) else self._call(operation)
        )
        befallen = struck()
        sys.stdout.flush()
        sys.stderr.flush()
        say(json.dumps([code, out.read_text("utf-8"), err.read_text("utf-8"), befallen]))

    def _call(self, operation: Operation) -> int:
        """Do as a program does that uses the library, and print an error as the command line would."""
        assert callable(operation.asked)
        try:
            with self.desk.open() as workspace:
                operation.asked(workspace)
        except CarrelError as error:
            sys.stdout.write(json.dumps({"error": {"code": error.code}}))
            return 1
        return 0

    def _redirected(self, given: str) -> tuple[Path, Path]:
        """Stand where a command stands: in the workspace, with streams and an environment of its own."""
        os.chdir(self.desk.root)
        os.environ.update(self.desk.environ)
        beside = self.folder.with_name("streams")
        beside.mkdir(exist_ok=True)
        (beside / "in").write_text(given)
        sys.stdin = (beside / "in").open(encoding="utf-8")
        sys.stdout, sys.stderr = (
            (beside / "out").open("w", encoding="utf-8"),
            (beside / "err").open("w", encoding="utf-8"),
        )
        return beside / "out", beside / "err"


class _Befallen(FaultyDisk):
    """A disk of which only those calls count that a fault can come from."""

    def __init__(self, error: int, number: int) -> None:
        super().__init__(fail_at=number, error=error, short=not error)
        self._kinds = _BEFALLS.get(error, ())
        self._lost: int | None = None
        self._named = Path()
        sys.addaudithook(self._hear)

    def fsync(self, fd: int) -> None:
        with self._syncing(fd):
            super().fsync(fd)

    def fdatasync(self, fd: int) -> None:
        with self._syncing(fd):
            super().fdatasync(fd)

    def struck(self, number: int) -> Struck | None:
        """Return which call failed, if there were so many."""
        if len(self.calls) < number:
            return None
        unsynced = "" if self._lost is None else _path(self._lost)
        return Struck(
            self.calls[number - 1], str(self._named) if str(self._named.parent) == unsynced else unsynced
        )

    def _hear(self, event: str, about: tuple[Any, ...]) -> None:
        """Remember what is given or loses a name, until a sync fails; what is being written gets another one yet."""
        if event not in _NAMES or self._lost is not None:
            return
        name, folder = (about[place] for place in _NAMES[event])
        path = Path(_path(folder) if folder >= 0 else Path.cwd(), os.fsdecode(name))
        if not path.name.startswith(TEMPORARY):
            self._named = path

    @contextmanager
    def _syncing(self, fd: int) -> Generator[None]:
        """Keep hold of what a sync failed of, whatever its name will be, until one of the same succeeds."""
        try:
            yield
        except OSError:
            self._lost = os.open(f"/proc/self/fd/{fd}", os.O_PATH | os.O_CLOEXEC)
            raise
        if self._lost is not None and os.path.samestat(os.fstat(fd), os.fstat(self._lost)):
            os.close(self._lost)
            self._lost = None

    @contextmanager
    def _call(self, name: str) -> Generator[None]:
        if self._kinds and name not in self._kinds:
            yield
        else:
            with super()._call(name):
                yield


def _path(fd: int) -> str:
    return str(Path(f"/proc/self/fd/{fd}").readlink())


def is_lost(unsynced: str) -> bool:
    """Tell whether a power cut could take from here what only this place holds; an empty folder holds nothing."""
    if not unsynced or unsynced.endswith(_GONE) or is_derived(unsynced):
        return False
    path = Path(unsynced)
    if path.name == _DATABASE:  # what was not taken over from SQLite's log is in there still
        return not path.with_name(f"{_DATABASE}-wal").exists()
    if (
        path / _DATABASE
    ).exists():  # all that SQLite made there is this log, which is gone where all was taken over
        return (path / f"{_DATABASE}-wal").exists()
    return not path.is_dir() or any(path.iterdir())


def by_seam(error: int, number: int) -> Callable[[], Struck | None]:
    """Let the Nth change of a file fail, or be cut short."""
    disk = _Befallen(error, number)
    for module in (local, history, folders):
        module.Disk = lambda: disk  # pyright: ignore[reportAttributeAccessIssue] - for all stores of this process
    return lambda: disk.struck(number)


def turns(seed: int, wanted: int) -> tuple[tuple[Operation, str], ...]:
    """Return all pairs, from where this seed begins: a part of the quick tier tries only its own, which come first."""
    first = (seed - 1) * wanted % len(PAIRS)
    return (*PAIRS[first:], *PAIRS[:first])


def fail_each_call(meter: Meter) -> None:
    """Sweep each operation with each fault by the seam; whoever asks for more has it with real calls too."""
    failed = 0
    sweep = Sweep(meter.folder / "seam", meter.seconds_left)
    for operation, fault in turns(meter.seed, meter.wanted):
        if not meter.goes_on:
            break
        failed += _enter(meter, *sweep.run(operation, fault, by_seam))
    meter.figures["calls failed by the seam"] = f"{failed:,}"
    if meter.goes_on:
        _fail_real_calls(meter)


def _fail_real_calls(meter: Meter) -> None:
    made = shim.build(meter.folder)
    if made is None:
        meter.left_out.append("real calls were not tried here: no gcc")
        return
    failed = 0
    with ExitStack() as stack:
        for process in [stack.enter_context(_shimmed_process(meter, made, own)) for own in range(_AT_ONCE)]:
            assert process.stdout is not None
            for line in process.stdout:
                failed += _enter(meter, *json.loads(line))
            meter.check(process.wait() == 0, f"who lets real calls fail ended with {process.returncode}")
    meter.left_out.append("giving a lock back does not fail here: the kernel gives it back whatever happens")
    meter.figures["real calls failed (LD_PRELOAD)"] = f"{failed:,} of {', '.join(shim.KINDS)}"


def _shimmed_process(meter: Meter, made: Path, own: int) -> "subprocess.Popen[str]":
    """Start one of those who share the pairs: what each prints is little, and waits in its pipe."""
    folder, seconds = meter.folder / f"shim{own}", meter.seconds_left
    return subprocess.Popen(
        [sys.executable, "-m", "tests.torture.calls", str(folder), str(seconds), str(own)],
        env=os.environ | {"LD_PRELOAD": str(made)},
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )


def _enter(meter: Meter, calls: int, wrong: list[str], is_whole: bool) -> int:
    for told in wrong:
        meter.check(is_kept=False, told=told)
    if is_whole:
        meter.tried()
    return calls


def _shimmed(folder: Path, seconds: float, own: int) -> None:
    """In a process with the shim: sweep its part of the pairs, and print what came of each; those with few calls first."""
    share_what_is_loaded()
    sweep, order = Sweep(folder, seconds), list(FAULTS)
    for operation, fault in sorted(PAIRS, key=lambda pair: order.index(pair[1]), reverse=True)[own::_AT_ONCE]:
        found = sweep.run(operation, fault, lambda error, number: shim.arm(sweep.folder, error, number))
        sys.stdout.write(f"{json.dumps(found)}\n")
        sys.stdout.flush()


CALLS = Row(
    number=2,
    promise="the Nth call to the system fails, each N until none is left, for each operation and fault",
    quick=len(PAIRS),
    long=2 * len(PAIRS),
    share=14,
    in_memory=True,
    run=fail_each_call,
    passes="0 false acknowledgements, all errors typed",
    defects=(
        Defect(
            "files/durable.py",
            "            with suppress(OSError):\n                self.disk.truncate(fd, size)\n            raise\n",
            "            pass\n",
            "a line whose write failed is acknowledged",
        ),
        Defect(
            "files/durable.py",
            "            self.disk.fdatasync(fd)\n",
            "            with suppress(OSError):\n                self.disk.fdatasync(fd)\n",
            "a line whose sync failed is acknowledged",
        ),
        Defect(
            "files/durable.py",
            "            self.disk.fsync(fd)\n            yield name\n",
            "            with suppress(OSError):\n                self.disk.fsync(fd)\n            yield name\n",
            "a file whose sync failed takes the place of the old one",
        ),
        Defect(
            "files/durable.py",
            "            if disk.write(fd, data) < len(data):\n",
            "            if disk.write(fd, data) == 0:\n",
            "a write that took only a part of a line is taken for whole",
        ),
        Defect(
            "files/durable.py",
            "                self.disk.truncate(fd, size)\n",
            "                self.disk.truncate(fd, 0)\n",
            "a line whose write failed takes all before it along",
        ),
        Defect(
            "files/disk.py",
            "        raise _typed(path, error) from error\n",
            "        raise\n",
            "what the system says reaches the user without a type",
        ),
    ),
    parts=len(FAULTS),  # which divides the pairs without a rest, so that each is tried, and none twice
)

if __name__ == "__main__":
    _shimmed(Path(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3]))
