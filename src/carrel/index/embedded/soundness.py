"""Whether the files of words are what was written: each ends with a checksum of the rest."""

import os
import stat
from pathlib import Path
from struct import Struct, error
from zlib import crc32

from msgspec import DecodeError, ValidationError, json
from msgspec import Struct as Value

WORDS_FILE = "meta.json"
"""What tantivy writes last, and without which there are no words."""

_TAIL = Struct("<II")  # the size of the footer, and a mark
_LONGEST_FOOTER = 4_096


class _Footer(Value):
    crc: int


class _Field(Value):
    name: str


class _Segment(Value):
    segment_id: str


class _Meta(Value):
    schema: list[_Field]
    segments: list[_Segment]


def find_odd(folder: Path) -> str | None:
    """Return the name of what must not be opened, or cannot be read, if anything.

    Who opens a pipe waits, a link leads elsewhere, and over a field that stands twice tantivy falls.
    """
    try:
        if not stat.S_ISDIR(folder.lstat().st_mode):
            return folder.name
        with os.scandir(folder) as entries:
            odd = next((each.name for each in entries if not each.is_file(follow_symlinks=False)), None)
        return odd or (None if _names_fields_once(folder / WORDS_FILE) else WORDS_FILE)
    except FileNotFoundError:
        return None
    except OSError:
        return folder.name


def _names_fields_once(meta: Path) -> bool:
    try:
        fields = [field.name for field in json.decode(meta.read_bytes(), type=_Meta).schema]
    except (DecodeError, ValidationError):
        return False
    return len(fields) == len(set(fields))


def find_unsound(folder: Path) -> str | None:
    """Return the name of a file that is not what was written, if any; reading them costs a while.

    What a writer left that was killed belongs to no state, and is none of these.
    """
    if odd := find_odd(folder):
        return odd
    try:
        meta = json.decode((folder / WORDS_FILE).read_bytes(), type=_Meta)
    except FileNotFoundError:
        return None
    own = {segment.segment_id.replace("-", "") for segment in meta.segments}
    for path in sorted(folder.iterdir()):
        if path.name.partition(".")[0] in own and not _is_sound(path):
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
