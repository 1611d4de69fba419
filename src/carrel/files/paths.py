"""Which paths and ids are allowed: the one normaliser, and the rules for names that are made new.

Three degrees. `parts` refuses only what could leave the root, for names that a listing showed.
`clean` is for what a person, a program or a model typed. `clean_new` and `new_name` are for names
that Carrel creates, which must work on every machine the workspace may travel to.
"""

import os
import re
import unicodedata
from collections.abc import Iterable
from urllib.parse import unquote

from carrel.errors import UsageError
from carrel.files import show

NAME_BYTES = 255
PATH_BYTES = 4096
TEMPORARY = ".carrel-tmp-"
"""What the name of a file starts with while it is being written; never listed, never a user's."""

OWN_FOLDERS = (".carrel", ".git")
"""What Carrel and git keep for themselves: old versions of private files among it."""

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://|[A-Za-z]:")
_DEVICE = re.compile(r"(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³]|conin\$|conout\$)(\.|$)", re.IGNORECASE)
_UNPORTABLE = frozenset('<>:"|?*')
_INVISIBLE = re.compile("[\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]")


class BadPath(UsageError):
    """The path cannot name a file inside the workspace, or should not."""

    code = "bad_path"

    def __init__(self, path: str, why: str) -> None:
        shown = show(path if len(path) <= NAME_BYTES else f"{path[:NAME_BYTES]}…")
        super().__init__(
            f"The path '{shown}' {why}.", hint="Use a path inside the workspace, like notes/plan.md."
        )
        self.path = path


class NameTaken(UsageError):
    """A new name would differ from an existing one only by case or Unicode form."""

    code = "name_taken"

    def __init__(self, path: str, existing: str) -> None:
        super().__init__(
            f"'{show(path)}' differs from the existing '{show(existing)}' only by case or accents' encoding.",
            hint="Some systems cannot hold both. Use the existing name, or a clearly different one.",
        )
        self.path = path
        self.existing = existing


class BadId(UsageError):
    """An id that becomes part of a path is malformed."""

    code = "bad_id"

    def __init__(self, text: str) -> None:
        super().__init__(
            f"'{show(text[:NAME_BYTES])}' is not a valid id.",
            hint="Use up to 128 letters, digits, '.', '_' and '-', starting with a letter or digit.",
        )
        self.text = text


def parts(path: str) -> list[str]:
    """Return the names along a path, refusing only what could lead out of the root or names nothing."""
    if path.startswith("/"):
        raise BadPath(path, "is absolute")
    if "\0" in path or not _encodable(path):
        raise BadPath(path, "cannot be a file name")
    names = [name for name in path.split("/") if name not in ("", ".")]
    if ".." in names:
        raise BadPath(path, "leads upwards")
    if not names:
        raise BadPath(path, "is empty")
    return names


def clean(path: str) -> str:
    """Return the path in its one spelling, without '.' and doubled slashes.

    Percent signs are ordinary characters, except where decoding (once or more) would reveal a path
    step or a separator: no layer above may turn an accepted path into another one.
    """
    if _SCHEME.match(path):
        raise BadPath(path, "names a drive or a URL")
    if path.startswith("~"):
        raise BadPath(path, "starts with '~'")
    names = parts(path)
    if any(not _is_plain(name) for name in names):
        raise BadPath(path, "contains a backslash, a control character or an encoded path step")
    if any(len(name.encode()) > NAME_BYTES for name in names):
        raise BadPath(path, f"has a name longer than {NAME_BYTES} bytes")
    cleaned = "/".join(names)
    refuse_long(path, cleaned)
    return cleaned


def refuse_long(path: str, target: str) -> None:
    """Refuse a path whose target is longer than any that may be made."""
    if len(target.encode("utf-8", "surrogateescape")) > PATH_BYTES:
        raise BadPath(path, f"is longer than {PATH_BYTES} bytes")


def clean_new(path: str) -> str:
    """Return the cleaned path of something to be created; every name in it must be portable."""
    cleaned = clean(path)
    for name in cleaned.split("/"):
        new_name(path, name)
    return cleaned


def new_name(path: str, name: str, *, beside: Iterable[str] = ()) -> None:
    """Refuse a name, met on the way along `path`, that some system cannot hold next to its neighbours."""
    clean(name)
    if _DEVICE.match(name) or name[-1] in ". " or name[0] == " " or not _UNPORTABLE.isdisjoint(name):
        raise BadPath(path, f"has a name that not every system can hold: '{show(name)}'")
    if _INVISIBLE.search(name):
        raise BadPath(path, f"has a name with invisible characters: '{show(name)}'")
    if name.startswith(TEMPORARY):
        raise BadPath(path, f"starts with '{TEMPORARY}', which Carrel keeps for itself")
    folded = fold(name)
    for existing in beside:
        if fold(existing) == folded and existing != name:
            raise NameTaken(path, existing)


def fold(name: str) -> str:
    """Return what two names share when a system may take them for one."""
    if name.isascii():
        return name.lower()
    return unicodedata.normalize("NFC", unicodedata.normalize("NFD", name).casefold())


def is_own(path: str) -> bool:
    """Tell whether a path is, or is inside, a folder that Carrel or git keeps for itself."""
    # Most paths have no hidden name in them, and this is asked for every file of a tree.
    return "." in path and any(fold(name) in OWN_FOLDERS for name in path.split("/") if name[:1] == ".")


def valid_id(text: str) -> str:
    """Return an id unchanged if it is safe as part of a file name on every system."""
    if not _ID.fullmatch(text) or text.endswith(".") or _DEVICE.match(text):
        raise BadId(text)
    return text


def _encodable(text: str) -> bool:
    try:
        os.fsencode(text)
    except UnicodeEncodeError:
        return False
    return True


def _is_plain(name: str) -> bool:
    if any(unicodedata.category(c) in ("Cc", "Cs") for c in name) or "\\" in name:
        return False
    decoded = name
    while "%" in decoded and (further := unquote(decoded)) != decoded:
        decoded = further
    return decoded not in (".", "..") and not any(c in "/\\" or c < " " for c in decoded)
