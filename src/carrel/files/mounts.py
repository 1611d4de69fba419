"""Whether files lie where less is promised than on a disk of the machine: locks and syncs over a network."""

import os
import re
from pathlib import Path

from carrel.findings import Finding

TABLE = Path("/proc/self/mountinfo")
"""Where Linux tells what is mounted; elsewhere nothing is known, and nothing said."""

_SHARED = frozenset(
    ("9p", "afs", "beegfs", "ceph", "cifs", "glusterfs", "lustre", "ncpfs", "nfs", "nfs4", "smb3", "smbfs")
)
_LINE = re.compile(r"^\d+ \d+ (?P<device>\d+:\d+) .* - (?P<kind>\S+) ", re.MULTILINE)


def tell_of_network(root: Path | None, table: Path = TABLE) -> tuple[Finding, ...]:
    """Return what should be known of a directory that others write to, or that a program stands for."""
    kind = _kind(root, table) if root is not None else ""
    if kind not in _SHARED and not kind.startswith("fuse."):
        return ()
    message = f"The workspace is on {kind}: locks against others and writes that last are not promised there."
    return (Finding(code="network_files", message=message, hint="Move it to a disk of this machine."),)


def _kind(root: Path, table: Path) -> str:
    try:
        device = root.stat().st_dev
        told = table.read_text("utf-8", "replace")
    except OSError:
        return ""
    wanted = f"{os.major(device)}:{os.minor(device)}"
    return next((line["kind"] for line in _LINE.finditer(told) if line["device"] == wanted), "")
