"""Names in a bundle: which paths may come out of one, and what each is called inside."""

from collections.abc import Callable, Iterable
from hashlib import sha256

from carrel.bundle.errors import UnsafeBundle
from carrel.errors import UsageError
from carrel.files.paths import NAME_BYTES, PATH_BYTES, TEMPORARY, clean_new, fold, is_own, parts


def refuse_path(path: str) -> None:
    """Refuse a path that leads out of where it belongs, or into what Carrel and git keep for themselves.

    A name that only some systems cannot hold is allowed: it was a file's where the bundle was made.
    """
    try:
        names = parts(path)
    except UsageError as error:
        raise UnsafeBundle(path[:NAME_BYTES], "is a path that leads elsewhere") from error
    if "/".join(names) != path or len(path.encode(errors="surrogateescape")) > PATH_BYTES:
        raise UnsafeBundle(path[:NAME_BYTES], "is no path as Carrel writes one")
    if is_own(path) or any(name.startswith(TEMPORARY) for name in names):
        raise UnsafeBundle(path, "is not for anybody to bring")


def crowded(paths: Iterable[str], alike: Callable[[str], str] = str) -> str:
    """Return a path that takes another's place, or stands where one has a folder; "" if none does."""
    taken = Taken(alike)
    return next((path for path in paths if not taken.add(path)), "")


class Taken:
    """Places of files, none of which stands where another does, or where another has a folder.

    `alike` says what two paths share that are one place.
    """

    def __init__(self, alike: Callable[[str], str]) -> None:
        self._alike = alike
        self._files: set[str] = set()
        self._folders: set[str] = set()

    def add(self, path: str) -> bool:
        """Take a place; tell whether it was free."""
        own = self._alike(path)
        above = {own[:end] for end, character in enumerate(own) if character == "/"}
        if own in self._files or own in self._folders or not self._files.isdisjoint(above):
            return False
        self._files.add(own)
        self._folders |= above
        return True


class Entries:
    """Gives each path its entry in a ZIP: its own name, where every system can unpack that beside the others.

    Any other is called by a digest, and only the manifest knows its path.
    """

    def __init__(self) -> None:
        self._taken = Taken(fold)

    def name(self, part: str, path: str) -> str:
        """Return the entry of a path, which is asked for once."""
        own = f"{part}/{path}"
        if _is_portable(own) and self._taken.add(own):
            return own
        return f"odd/{sha256(own.encode(errors='surrogatepass')).hexdigest()}"


def _is_portable(path: str) -> bool:
    try:
        clean_new(path)
    except UsageError:
        return False
    return True
