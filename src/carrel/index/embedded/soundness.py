"""Whether the files of words are what was written: each ends with a checksum of the rest."""

import os
import stat
from pathlib import Path
from struct import Struct, error
from zlib import crc32

from msgspec import DecodeError, ValidationError, json
from msgspec import Struct as Value

_TAIL = Struct("<II")  # the size of the footer, and a mark
_LONGEST_FOOTER = 4_096
_WITHOUT = frozenset((".json", ".lock"))


class _Footer(Value):
    crc: int


def find_odd(folder: Path) -> str | None:
    """Return the name of what is no file, if any; who opens a pipe waits, and a link leads elsewhere."""
    try:
        if not stat.S_ISDIR(folder.lstat().st_mode):
            return folder.name
        with os.scandir(folder) as entries:
            return next((each.name for each in entries if not each.is_file(follow_symlinks=False)), None)
    except FileNotFoundError:
        return None


def find_unsound(folder: Path) -> str | None:
    """Return the name of a file that is not what was written, if any; reading them costs a while."""
    if odd := find_odd(folder):
        return odd
    for path in sorted(folder.iterdir()) if folder.exists() else ():
        if path.suffix not in _WITHOUT and not path.name.startswith(".") and not _is_sound(path):
            return path.name
    return None


def _is_sound(path: Path) -> bool:
    try:
        data = path.read_bytes()
        size, _ = _TAIL.unpack(data[-_TAIL.size :])
        if not 0 < size <= _LONGEST_FOOTER:
            return False
        body = len(data) - _TAIL.size - size
        footer = json.decode(data[body : -_TAIL.size], type=_Footer)
        return crc32(memoryview(data)[:body]) == footer.crc
    except (OSError, error, DecodeError, ValidationError):
        return False
