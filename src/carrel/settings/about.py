"""What is said of a setting beside its type, and the error for one that cannot be used."""

from collections.abc import Callable

from msgspec import Struct

from carrel import plainyaml
from carrel.errors import UsageError


class About(Struct, frozen=True):
    """A sentence on a setting, and what is special about it; a table's sentence is its docstring."""

    text: str = ""
    least: int = 0
    """The smallest number allowed."""
    pattern: str = ""
    """What the whole text must match."""
    check: Callable[[str], bool] | None = None
    """Accepts or refuses the text."""
    hint: str = ""
    """What to write instead of a refused value."""
    shorthand: str = ""
    """The key of this table that a bare text stands for."""
    environment: str = ""
    """The variable that sets it too."""
    sensitive: bool = False
    """In a workspace's own file it needs its owner's trust."""
    counts: bool = False
    """Used even without trust, since counting tokens calls nobody."""


_MEND = "`carrel config schema` describes every setting."


class BadSetting(UsageError):
    """A setting that cannot be used: `key` names it, `line` is 0 where no line is known."""

    code = "bad_setting"

    def __init__(self, key: str, problem: str, *, source: str = "", line: int = 0, hint: str = "") -> None:
        super().__init__(f"{plainyaml.at_line(source, line)}{key} {problem}", hint=hint or _MEND)
        self.key, self.problem, self.source, self.line = key, problem, source, line
