"""Which files stay out of prompt and index: `.carrelignore` in git's syntax, after sensible defaults.

A workspace is hostile input, so a rule that makes no sense is skipped and named, never an error, and no rule
can make matching slow: between stars everything has a fixed width, so that the leftmost match is the only one
worth trying, and nothing is ever tried again.
"""

import re
from collections.abc import Callable, Sequence
from functools import lru_cache

from msgspec import Struct

from carrel.workspace.document import Reading

IGNORE_FILE = ".carrelignore"
LONGEST_FILE = 65_536
MOST_RULES = 1_000
LONGEST_RULE = 4_096
DEFAULTS = (
    ".*", "node_modules", "__pycache__", "venv", "*.pem", "*.key", "*.p12", "*.pfx", "id_rsa*", "id_ed25519*",
    "credentials*", "secrets.*", "*.sqlite", "*.db",
)  # fmt: skip
"""Names, of files or folders, that are never meant: hidden ones, dependencies, credentials, databases."""

Ignored = Callable[[str], bool]

_MOST_PROBLEMS = 20
_MOST_FOLDERS = 10_000
_ANY_FOLDERS = re.compile(r"\*\*+")


class Rules:
    """Tells of a path whether it is ignored; `problems` are the lines that do not count, and why."""

    def __init__(self, rules: Sequence["_Rule"], problems: tuple[str, ...] = ()) -> None:
        self._last_first = tuple(reversed(rules))
        self._is_rooted = any(not rule.anywhere for rule in rules)
        names = "|".join(f"(?:{rule.name})" for rule in rules if rule.anywhere)
        self._may_fit = re.compile(names or "(?!)", re.DOTALL).fullmatch
        """Whether a name is one that some rule is about: nearly none is, and this asks all rules at once."""
        self._folders: dict[str, bool] = {"": False}
        self.problems = problems

    def __call__(self, path: str) -> bool:
        """Tell whether a path, or a folder that it lies in, is ignored."""
        folder, _, name = path.rpartition("/")
        if not name:
            return self._is_folder_ignored(folder)
        return self._is_folder_ignored(folder) or self._verdict(path, is_folder=False)

    def _is_folder_ignored(self, path: str) -> bool:
        """Tell it of a folder, each once: what lies in an ignored one cannot be taken back, as in git."""
        if (known := self._folders.get(path)) is not None:
            return known
        ends = [i for i, character in enumerate(path) if character == "/"]
        for end in (*ends, len(path)):
            folder = path[:end]
            known = self._folders.get(folder)
            if known is None:
                if len(self._folders) >= _MOST_FOLDERS:
                    self._folders = {"": False}
                known = self._folders[folder] = self._verdict(folder, is_folder=True)
            if known:
                return True
        return False

    def _verdict(self, path: str, *, is_folder: bool) -> bool:
        """Return what the last rule that matches says."""
        names = path.split("/")
        if not self._is_rooted and not self._may_fit(names[-1]):
            return False
        for rule in self._last_first:
            if (is_folder or not rule.only_folders) and rule.matches(names):
                return rule.ignores
        return False


class _Rule(Struct, frozen=True, kw_only=True):
    """One line: what names look like, from the root or anywhere.

    `runs` are parted by `**`; within a run the names follow each other.
    """

    ignores: bool
    only_folders: bool
    anywhere: bool
    runs: tuple[tuple[Ignored, ...], ...]
    name: str
    """What a name looks like that is ignored anywhere, as a regular expression."""

    def matches(self, names: list[str]) -> bool:
        if self.anywhere:
            return self.runs[0][0](names[-1])
        first, last = self.runs[0], self.runs[-1]
        if len(self.runs) == 1:
            return len(names) == len(first) and _fits(first, names, 0)
        begin, end = len(first), len(names) - len(last)
        if begin > end or not _fits(first, names, 0) or not _fits(last, names, end):
            return False
        for run in self.runs[1:-1]:
            places = range(begin, end - len(run) + 1)
            place = next((i for i in places if _fits(run, names, i)), None)
            if place is None:
                return False
            begin = place + len(run)
        return True


def _fits(run: Sequence[Ignored], names: list[str], place: int) -> bool:
    return all(fits(name) for fits, name in zip(run, names[place : place + len(run)], strict=True))


class _SkippedError(Exception):
    """Why a line does not count."""


def find_rules(reading: Reading) -> Rules:
    """Return the rules of a workspace."""
    document = reading.document(IGNORE_FILE)
    if document is not None and document.problem:
        return Rules(_defaults(), (f"it cannot be read ({document.problem}), so only the defaults count",))
    return ignore_rules(document.verbatim if document else None)


@lru_cache(maxsize=16)
def ignore_rules(text: str | None) -> Rules:
    """Return the test for a path; lines of the file follow the defaults and may take them back with `!`."""
    text = text or ""
    problems: list[str] = []
    if len(text) > LONGEST_FILE:
        text = text[:LONGEST_FILE].rpartition("\n")[0]
        problems.append(f"it is longer than {LONGEST_FILE // 1024} KB, and what lies beyond does not count")
    rules: list[_Rule] = []
    for number, line in enumerate(text.split("\n"), 1):
        try:
            rule = _parse(line.rstrip("\r"))
        except _SkippedError as skipped:
            problems.append(f"line {number} does not count: {skipped}")
            continue
        if rule and len(rules) == MOST_RULES:
            problems.insert(
                0, f"it has more than {MOST_RULES:,} rules; those from line {number} do not count"
            )
            break
        rules.extend(filter(None, [rule]))
    if len(problems) > _MOST_PROBLEMS:
        problems[_MOST_PROBLEMS:] = [f"{len(problems) - _MOST_PROBLEMS} more lines do not count"]
    return Rules((*_defaults(), *rules), tuple(problems))


@lru_cache(maxsize=1)
def _defaults() -> tuple[_Rule, ...]:
    return tuple(rule for rule in map(_parse, DEFAULTS) if rule)


def _parse(line: str) -> _Rule | None:
    """Read one line; none where it is blank or a comment."""
    pattern = _without_trailing_spaces(line)
    if not pattern or pattern.startswith("#"):
        return None
    if len(pattern) > LONGEST_RULE:
        raise _SkippedError("it is too long")
    ignores = not pattern.startswith("!")
    pattern = pattern.removeprefix("!")
    only_folders = pattern.endswith("/")
    pattern = pattern.removesuffix("/")
    anywhere = "/" not in pattern
    pattern = pattern.removeprefix("/")
    if not pattern:
        raise _SkippedError("it names nothing")
    runs: list[list[Ignored]] = [[]]
    for name in pattern.split("/"):
        if not anywhere and _ANY_FOLDERS.fullmatch(name):
            runs.append([])
        else:
            runs[-1].append(_name_test(name))
    if not anywhere and not runs[-1]:  # `a/**` is all that lies in `a`, at least one name deep
        runs[-1].append(_name_test("*"))
    return _Rule(
        ignores=ignores,
        only_folders=only_folders,
        anywhere=anywhere,
        runs=tuple(tuple(run) for run in runs),
        name=_expression(pattern) if anywhere else "",
    )


def _without_trailing_spaces(line: str) -> str:
    plain = line.rstrip(" \t")
    slashes = len(plain) - len(plain.rstrip("\\"))
    if slashes % 2 and plain != line:
        raise _SkippedError("a name cannot end with a space here")
    return plain


def _name_test(pattern: str) -> Ignored:
    """Return the test for one name of a path."""
    if pattern in ("", ".", ".."):
        raise _SkippedError(f"{pattern!r} is no name of a file or folder")
    if not re.search(r"[*?\[\\]", pattern):
        return pattern.__eq__
    expression = re.compile(_expression(pattern), re.DOTALL)
    return lambda name: expression.fullmatch(name) is not None


def _expression(pattern: str) -> str:
    """Return the regular expression of one name."""
    first, *others = _chunks(pattern)
    if others:
        # An atomic group keeps the leftmost place of a chunk and never looks for another.
        first += "".join(f"(?>.*?{chunk})" for chunk in others[:-1] if chunk) + ".*" + others[-1]
    return first


def _chunks(pattern: str) -> list[str]:
    """Return the regular expressions of what stands between stars, each of a fixed width."""
    chunks = [""]
    position = 0
    while position < len(pattern):
        character = pattern[position]
        position += 1
        if character == "*":
            chunks.append("")
        elif character == "?":
            chunks[-1] += "."
        elif character == "[":
            expression, position = _class(pattern, position)
            chunks[-1] += expression
        else:
            if character == "\\":
                character = pattern[position : position + 1]
                position += 1
            chunks[-1] += _literal(character)
    return chunks


def _class(pattern: str, position: int) -> tuple[str, int]:
    """Return the regular expression of `[...]` from behind its bracket, and where it ends."""
    negation = "^" if pattern[position : position + 1] in ("!", "^") else ""
    position += len(negation)
    start = position
    items = ""
    while pattern[position : position + 1] != "]" or position == start:
        if pattern.startswith("[:", position):
            raise _SkippedError("classes with a name, such as [:alpha:], are not known here")
        low, position = _member(pattern, position)
        items += _literal(low)
        if pattern[position : position + 1] == "-" and pattern[position + 1 : position + 2] not in ("]", ""):
            high, position = _member(pattern, position + 1)
            if low > high:
                raise _SkippedError(f"the range {low}-{high} is empty")
            items += f"-{_literal(high)}"
    return f"[{negation}{items}]", position + 1


def _member(pattern: str, position: int) -> tuple[str, int]:
    """Return the next character of a class, and the position behind it."""
    position += pattern.startswith("\\", position)
    if position >= len(pattern):
        raise _SkippedError("a [ is never closed")
    return pattern[position], position + 1


def _literal(character: str) -> str:
    if not character:
        raise _SkippedError("nothing follows the backslash at its end")
    return re.escape(character)
