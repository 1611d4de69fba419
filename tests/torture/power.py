"""Row 3: the power is cut right after an acknowledgement; what the disk has then is what there is.

A file system in a file is copied at that moment, with nothing flushed by luck, and the copy is mounted. Where
nothing can be mounted, a disk that keeps what was synced, and nothing else, stands for it. There, and in the long tier,
the order of the real calls of each command is looked at as well. The row says which of these it was.
"""

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.torture import order, verifier
from tests.torture.deeds import AT, DIRECT, FILED, Deeds
from tests.torture.desk import Child, Desk, Say
from tests.torture.operations import OPERATIONS, prepare
from tests.torture.rows import Defect, Meter, Row

from carrel.files import folders, history, local
from carrel.testing import VolatileDisk

_MAKE = {
    "ext4": (["mkfs.ext4", "-q", "-F"], 64, "commit=600"),
    "xfs": (["mkfs.xfs", "-q", "-f"], 320, ""),
    "btrfs": (["mkfs.btrfs", "-q", "-f"], 128, "commit=600"),
}
"""How each is made, of how many megabytes, and mounted so that it keeps all it can to itself."""

_ONE_AT_A_TIME = ("btrfs",)
"""Of two copies of one of these, one is mounted."""

_QUICK = 20
_CUTS_PER_IMAGE = 10
_AMID = 0.03
"""Seconds within which the last cut of an image comes after something was acknowledged."""

_SETTLE, _USUAL, _NEVER = Path("/proc/sys/vm/dirty_writeback_centisecs"), "500", "0"


def cut_the_power(meter: Meter) -> None:
    """Take an image right after each of some acknowledgements, on each file system that can be mounted."""
    wanted = list(_MAKE) if meter.wanted > _QUICK else ["ext4"]
    kinds = [kind for kind in wanted if _can_mount(kind, meter)]
    cuts = dict.fromkeys(kinds or ["seam"], 0)
    warm = Deeds(Desk(meter.folder / "warm", AT))
    meter.check(warm.do_all(), "who did everything, and had power, failed")
    with _nothing_flushed_by_itself(meter):
        while kinds and meter.goes_on:
            for kind in kinds:
                if meter.goes_on:
                    cuts[kind] += _cut_some(meter, kind)
    while not kinds and meter.goes_on:
        cuts["seam"] += _cut_by_the_seam(meter)
    if kinds:
        meter.left_out += verifier.not_looked_at()
    else:
        meter.left_out.append("not tried here: the records, and to open what a power cut left")
    meter.figures["proved by images" if kinds else "proved by a disk that forgets"] = ", ".join(
        f"{kind} {count:,}" for kind, count in cuts.items()
    )
    if not kinds or meter.wanted > _QUICK:
        _prove_by_order(meter)


def _prove_by_order(meter: Meter) -> None:
    """See in what order each command makes its calls; first, that a wrong order is seen."""
    if not order.is_there():
        meter.left_out.append("the order of calls was not looked at here: no strace")
        return
    for told in order.unseen(meter.folder / "order/writers"):
        meter.check(is_kept=False, told=told)
    live, start = meter.folder / "order/live", meter.folder / "order/start"
    prepare(live)
    shutil.copytree(live, start)
    commands, changes = 0, 0
    for operation, is_fresh in [(each, False) for each in OPERATIONS] + [
        (each, True) for each in OPERATIONS[:6]
    ]:
        if isinstance(operation.asked, tuple):
            shutil.rmtree(live)
            desk = Desk(live) if is_fresh else Desk.at(Path(shutil.copytree(start, live)))
            ledger = order.Ledger(live)
            command = [sys.executable, "-m", "carrel", *operation.asked, "--json"]
            lines = order.strace(command, desk.root, desk.environ, operation.given)
            for told in order.wrong_with(ledger, lines):
                meter.check(is_kept=False, told=f"{operation.name}: {told}")
            commands, changes = commands + 1, changes + ledger.changes
    meter.figures["proved by the order of calls"] = f"{commands} commands, {changes:,} changes"


def _cut_some(meter: Meter, kind: str) -> int:
    """Cut the power some times while one works, and look at each image when the file system is gone."""
    folder = meter.folder / f"{kind}-{meter.trials}"
    image, live = folder / "disk", folder / "live"
    _make(kind, image)
    images = list[tuple[Path, dict[str, list[str]]]]()
    with _mounted(image, live, _MAKE[kind][2]):
        deeds = Deeds(Desk(live, AT))
        os.sync()
        for number in _cuts(meter, kind, deeds):
            copy = folder / f"cut{number}"
            subprocess.run(["cp", "--sparse=auto", str(image), str(copy)], check=True)
            images.append((copy, {where: list(all_) for where, all_ in deeds.acknowledged.items()}))
    for copy, acknowledged in images:
        with _mounted(copy, live, ""):  # at the same place: trust is bound to it
            _look(meter, kind, live, acknowledged)
            _open(meter, kind, live)
            _look(meter, f"{kind}, after it was opened", live, acknowledged)
        copy.unlink()
        meter.tried()
    shutil.rmtree(folder, ignore_errors=True)
    return len(images)


def _cuts(meter: Meter, kind: str, deeds: Deeds) -> Iterator[int]:
    """Let somebody work, and yield whenever an image is to be taken: they stand still then.

    They stop by themselves as soon as they have said that something is done, so that nothing they do after it helps. The
    last cut finds them in the middle of something. Every other deed is a turn, whose line is all that is written.
    """
    chance, first = random.Random(meter.trials), meter.trials // 2 % len(DIRECT)
    kinds = [each for kind in (*DIRECT[first:], *DIRECT[:first]) for each in ("log", kind)]
    is_one = kind in _ONE_AT_A_TIME
    wanted = {chance.randrange(_CUTS_PER_IMAGE)} if is_one else set(range(_CUTS_PER_IMAGE))

    def work(say: Say) -> None:
        def stop(said: str) -> None:
            say(said)
            os.kill(os.getpid(), signal.SIGSTOP)

        deeds.work(str(meter.trials), stop, kinds)

    child = Child(work)
    child.wait_for_word()  # that it is ready
    for number in range(_CUTS_PER_IMAGE):
        said = _next_of(child)
        meter.check(said, f"{kind}: who worked failed")
        deeds.heard([said])
        if number + 1 == _CUTS_PER_IMAGE:
            os.kill(child.pid, signal.SIGCONT)
            time.sleep(chance.uniform(0, _AMID))
            os.kill(child.pid, signal.SIGSTOP)
            os.waitid(os.P_PID, child.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
        if number in wanted:
            yield number
    child.kill()


def _next_of(child: Child) -> str:
    """Let somebody who stands still go on, and return what they say next, when they stand still again."""
    os.waitid(os.P_PID, child.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
    os.kill(child.pid, signal.SIGCONT)
    said = child.wait_for_word().decode().strip()
    os.waitid(os.P_PID, child.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
    return said


def _look(
    meter: Meter,
    kind: str,
    folder: Path,
    acknowledged: dict[str, list[str]],
    *,
    is_filed_only: bool = False,
) -> None:
    after = Deeds(Desk.at(folder))
    after.acknowledged = acknowledged
    root = after.desk.root
    empty = [
        f"{path.name} is empty"
        for path in root.rglob("*.md")
        if verifier.TEMPORARY not in path.name and path.stat().st_size == 0
    ]
    for told in (*after.wrong(is_filed_only=is_filed_only), *empty):
        meter.check(is_kept=False, told=f"{kind}: {told}")


def _open(meter: Meter, kind: str, folder: Path) -> None:
    """See that whoever comes next can go on without repairing anything."""
    child = Child(lambda _: Deeds(Desk.at(folder)).settle())
    child.listen()
    meter.check(not child.has_failed, f"{kind}: what a power cut left cannot be opened")


def _cut_by_the_seam(meter: Meter) -> int:
    """Let somebody work on a disk that forgets what was not synced, and look at what is left after each deed."""
    folder = meter.folder / f"seam-{meter.trials}"
    deeds = Deeds(Desk(folder / "live", AT))

    def work(say: Say) -> None:
        disk = VolatileDisk(deeds.desk.root)
        for module in (local, history, folders):
            module.Disk = lambda: disk  # pyright: ignore[reportAttributeAccessIssue]

        def cut(said: str) -> None:
            if said != "ready":
                (folder / said).mkdir(parents=True)
                disk.power_cut(folder / said / "desk")
            say(said)

        deeds.work(str(meter.trials), cut, kinds=FILED, most=_CUTS_PER_IMAGE)

    child = Child(work)
    said = child.listen()[1:]
    meter.check(not child.has_failed, "who worked on such a disk failed")
    for line in said:
        deeds.heard([line])
        _look(meter, "seam", folder / line, deeds.acknowledged, is_filed_only=True)
        meter.tried()
    shutil.rmtree(folder, ignore_errors=True)
    return len(said)


def _make(kind: str, image: Path) -> None:
    command, megabytes, _ = _MAKE[kind]
    image.parent.mkdir(parents=True, exist_ok=True)
    with image.open("wb") as file:
        file.truncate(megabytes << 20)
    subprocess.run([*command, str(image)], check=True, capture_output=True)


def _can_mount(kind: str, meter: Meter) -> bool:
    folder = meter.folder / f"try-{kind}"
    try:
        _make(kind, folder / "disk")
        with _mounted(folder / "disk", folder / "live", ""):
            return True
    except FileNotFoundError:
        meter.left_out.append(f"not tried here: {kind}, no {_MAKE[kind][0][0]}")
    except (OSError, subprocess.CalledProcessError):
        meter.left_out.append(f"not tried here: {kind}, it cannot be mounted")
    return False


@contextmanager
def _mounted(image: Path, at: Path, options: str) -> Iterator[None]:
    at.mkdir(parents=True, exist_ok=True)
    words = ["mount", "-o", f"loop,{options}" if options else "loop", str(image), str(at)]
    subprocess.run(words, check=True, capture_output=True)
    try:
        yield
    finally:
        subprocess.run(["umount", str(at)], check=True, capture_output=True)


@contextmanager
def _nothing_flushed_by_itself(meter: Meter) -> Iterator[None]:
    """Let nothing reach a disk that nobody asked to have there; where that cannot be had, the row says so."""
    try:
        before = _SETTLE.read_text().strip()
        _SETTLE.write_text(_NEVER)
    except OSError:
        meter.left_out.append("the kernel could not be kept from writing back by itself")
        yield
        return
    try:
        yield
        if _SETTLE.read_text().strip() != _NEVER:
            meter.left_out.append("meanwhile somebody else let the kernel write back by itself")
    finally:
        _SETTLE.write_text(before if before != _NEVER else _USUAL)  # another run may be under way


POWER = Row(
    number=3,
    promise="power cut: the disk as it is right after the acknowledgement",
    quick=_QUICK,
    long=1_000,
    share=5,
    run=cut_the_power,
    passes="0 missing, 0 of no length, every image opens",
    defects=(
        Defect(
            "files/durable.py",
            "            write_all(self.disk, fd, data)\n            self.disk.fsync(fd)\n",
            "            write_all(self.disk, fd, data)\n",
            "a new file is not synced before it gets its name",
        ),
        Defect(
            "files/durable.py",
            "        self.disk.rename(temporary, name, directory=self.fd)\n        self.disk.fsync(self.fd)\n",
            "        self.disk.rename(temporary, name, directory=self.fd)\n",
            "the directory is not synced after a file got its name",
        ),
        Defect(
            "files/durable.py",
            "            self.disk.fdatasync(fd)\n",
            "",
            "a line is acknowledged before it is synced",
        ),
        Defect(
            "records/database.py",
            "f\"PRAGMA synchronous = {'FULL' if self._durable else 'NORMAL'}\"",
            '"PRAGMA synchronous = NORMAL"',
            "records are acknowledged before they are synced",
        ),
    ),
)
