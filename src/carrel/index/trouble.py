"""What is wrong with an index: told with every answer until it is mended."""

from collections.abc import Generator, Iterator
from contextlib import contextmanager

from msgspec.structs import replace

from carrel.errors import Unavailable
from carrel.findings import Finding
from carrel.index import Found


class Trouble:
    """Findings by the part that cannot be used; one that works again has none."""

    def __init__(self) -> None:
        self._parts: dict[str, Finding] = {}
        self._mended: dict[str, Finding] = {}

    def __contains__(self, part: str) -> bool:
        """Tell whether a part cannot be used."""
        return part in self._parts

    def __iter__(self) -> Iterator[Finding]:
        """Return what is to be said."""
        return iter(self._parts.values())

    @contextmanager
    def tried(self, part: str) -> Generator[None]:
        """Go on where a part cannot be used, and remember why until it can."""
        try:
            yield
        except Unavailable as error:
            self.note(part, told(error))
        else:
            self.drop(part)

    def note(self, part: str, finding: Finding) -> None:
        """Remember what is wrong with a part."""
        self._parts[part] = finding

    def drop(self, part: str) -> None:
        """Forget what was wrong with a part."""
        self._parts.pop(part, None)

    def mend(self, part: str) -> None:
        """Take note that a part works again: the next answer says what was wrong, and is no poorer for it."""
        if finding := self._parts.pop(part, None):
            self._mended[part] = finding

    def over(self, found: Found) -> Found:
        """Return an answer with what is to be said of it; where something is wrong now, it is a poor one."""
        now, mended = dict.fromkeys((*self, *found.findings)), dict.fromkeys(self._mended.values())
        self._mended.clear()
        return replace(found, degraded=bool(now), findings=tuple(mended | now))


def told(error: Unavailable) -> Finding:
    """Return what an error says as a finding."""
    return Finding(code=error.code, message=error.message, hint=error.hint)
