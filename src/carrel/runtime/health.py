"""Health: how large a workspace is, whether its structure is whole, and what a person should look at."""

import unicodedata
from collections.abc import Callable, Iterator
from typing import Any

from msgspec import Struct, to_builtins

from carrel.context.build import Ground
from carrel.context.report import Report, Row
from carrel.context.select import find_identity
from carrel.files import Entry, FileStore, walk
from carrel.findings import Finding
from carrel.runtime import roster
from carrel.runtime.view import View, is_hidden, look
from carrel.workspace.document import Reading
from carrel.workspace.identity import Identity
from carrel.workspace.layout import Layout
from carrel.workspace.scope import Scope, privacy_of

NOT_COUNTED = (".git", ".carrel")
LONG_SOUL = 2_000
LONG_PROMPT = 4_000
_OF_FILES = ("document", "notebook", "journal", "knowledge")
_WITHOUT_BYTES = ("special_file", "link_outside", "link_loop", "not_directory")
_UNITS = {"chars/4": "tokens of four characters"}

Visible = Callable[[str], bool]


def _anything(path: str) -> bool:
    del path
    return True


_REPAIR = {"squad": "restore"}
"""The command that adds what is missing, where that is not init."""


class Health(Struct, frozen=True, kw_only=True):
    """The state of a workspace as a whole."""

    total_bytes: int
    files: int
    structure_valid: bool
    findings: tuple[Finding, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the health of the machine-readable contract."""
        return to_builtins(self)


def examine(files: FileStore, ground: Ground, report: Report, scope: Scope) -> Health:
    """Look a workspace over: its files, its structure, and what a report for this scope says of them.

    Files that the scope may not see are counted, and nothing is said of them.
    """
    reading = ground.documents.reading()
    privacy, visible = privacy_of(ground.layout, reading), visible_to(ground, scope)
    hidden_by = privacy if scope is Scope.SHARED else None
    total, count, noticed = _look_at_files(files, look(privacy, scope=scope))
    found = (
        *missing_files(files, ground, visible),
        *noticed,
        *_unlisted(ground.layout, reading, visible),
        *_placeholders(ground.layout, find_identity(reading, ground.layout, hidden_by)),
        *roster.notice(ground, reading, scope),
        *_from_report(report, lambda row: _whole(ground, reading, row)),
    )
    is_whole = not missing_files(files, ground)
    structure = is_whole and not any(finding.severity == "error" for finding in found)
    return Health(
        total_bytes=total, files=count, structure_valid=structure, findings=tuple(dict.fromkeys(found))
    )


def visible_to(ground: Ground, scope: Scope) -> Visible:
    """Return the test for what a listener may be told of by name, there or not; a folder's may end with "/".

    `is_private` judges entries. What may say that it is private, and cannot be asked, is not told of.
    """
    if scope is Scope.MAIN:
        return _anything
    reading = ground.documents.reading()
    privacy = privacy_of(ground.layout, reading)

    def is_visible(path: str) -> bool:
        if privacy.covers_name(path):
            return False
        document = reading.document(path.rstrip("/"))
        if document is None or document.problem in _WITHOUT_BYTES:
            return True
        return document.problem is None and not privacy.covers_document(document)

    return is_visible


def missing_files(files: FileStore, ground: Ground, visible: Visible = _anything) -> tuple[Finding, ...]:
    """Return what the layout cannot do without and the directory does not have, for each agent too."""
    layout, agents = ground.layout, [agent.id for agent in ground.settings.agents]
    wanted = [
        path.replace("{agent}", agent)
        for path in layout.requires
        for agent in (agents if "{agent}" in path else ("",))
    ]
    paths = [path.rstrip("/") for path in wanted if visible(path)]
    absent = (path for path, stamp in zip(paths, files.stamps(paths), strict=True) if stamp is None)
    return tuple(
        Finding(
            code="missing",
            path=path,
            message=f"{path} is missing.",
            hint=f"`carrel {_REPAIR.get(layout.name, 'init')}` adds what is missing and overwrites nothing.",
        )
        for path in absent
    )


def _whole(ground: Ground, reading: Reading, row: Row) -> int | None:
    """Return the size of what a section was cut from, in the layout's unit; none where it is no file."""
    document = reading.document(row.name) if row.kind in _OF_FILES else None
    return ground.ruler.size(document.text) if document and document.text else None


def _look_at_files(files: FileStore, view: View) -> tuple[int, int, list[Finding]]:
    total = count = 0
    noticed: list[Finding] = []
    names: dict[str, list[Entry]] = {}
    for entry in walk(files, skip=lambda entry: entry.path in NOT_COUNTED):
        names.setdefault(unicodedata.normalize("NFC", entry.path).casefold(), []).append(entry)
        if entry.kind == "file":
            total += entry.size
            count += 1
        elif not is_hidden(files, entry, view):
            noticed.append(_odd_entry(entry))
    twins = sorted((same for same in names.values() if len(same) > 1), key=lambda same: same[0].path)
    told = (same for same in twins if not any(is_hidden(files, entry, view) for entry in same))
    noticed.extend(_twin(same[0].path) for same in told)
    return total, count, noticed


def _unlisted(layout: Layout, reading: Reading, visible: Visible) -> Iterator[Finding]:
    """Yield the layout's own folders that are something else, whether the prompt needs them or not."""
    needed = [path for path in layout.requires if path.endswith("/")]
    for folder in (*needed, f"{layout.journal.rstrip('/')}/" if layout.journal else ""):
        name = folder.rstrip("/")
        if name and visible(folder) and not reading.list(name) and name in reading.problems:
            yield _unreadable(name, reading.problems[name])


def _unreadable(name: str, reason: str | None) -> Finding:
    message = f"{name} cannot be read ({reason}) and is not in the context."
    return Finding(code="unreadable", path=name, message=message)


def _odd_entry(entry: Entry) -> Finding:
    what = "a link that does not stay inside the workspace" if entry.kind == "link" else "not a regular file"
    return Finding(
        code="not_a_file",
        path=entry.path,
        message=f"{entry.path} is {what}, and is never read.",
        hint="Replace it with a regular file.",
    )


def _twin(name: str) -> Finding:
    return Finding(
        code="name_twins",
        path=name,
        message=f"Several files are called {name} but for case or accents; other systems see one file.",
        hint="Rename all but one.",
    )


def _placeholders(layout: Layout, identity: Identity) -> Iterator[Finding]:
    if identity.placeholders:
        path = f"{layout.home}IDENTITY.md"
        names = ", ".join(identity.placeholders)
        message = f"{path} still has placeholders: {names}."
        yield Finding(
            code="placeholder",
            path=path,
            message=message,
            severity="info",
            hint="Fill them in or delete them.",
        )


def _from_report(report: Report, whole: Callable[[Row], int | None]) -> Iterator[Finding]:
    for row in report.sections:
        finding = _cut(row, report.unit, whole(row)) if row.state == "truncated" else _from_row(row)
        if finding is not None:
            yield finding
    yield from report.warnings


def _cut(row: Row, unit: str, whole: int | None) -> Finding:
    """Say what is left of a section, in the unit of its limit."""
    whole = row.raw_tokens if unit == "tokens" else whole
    named = _UNITS.get(unit, unit)
    share = (
        f"{row.size:,} of {whole:,} {named} are shown" if whole else f"{row.size:,} {named} of it are shown"
    )
    message = f"{row.name} is cut: {share}."
    return Finding(code="truncated", path=row.name, message=message, hint="Shorten or split it.")


def _from_row(row: Row) -> Finding | None:
    match row.state, row.reason:
        case "unreadable", reason:
            return _unreadable(row.name, reason)
        case "excluded", "total" | "no_room":
            message = f"{row.name} does not fit the budget and is not in the context."
            return Finding(code="left_out", path=row.name, message=message, hint="Shorten what comes before.")
        case _:
            return _too_long(row)


def _too_long(row: Row) -> Finding | None:
    if row.name.rpartition("/")[2] == "SOUL.md" and row.raw_tokens > LONG_SOUL:
        message = f"{row.name} has {row.raw_tokens:,} tokens; over {LONG_SOUL:,} it crowds out the rest."
        return Finding(code="long_soul", path=row.name, message=message, severity="info")
    if row.kind == "prompt" and row.raw_tokens > LONG_PROMPT:
        message = f"The prompt has {row.raw_tokens:,} tokens; over {LONG_PROMPT:,} is unusual."
        return Finding(code="long_prompt", message=message, severity="info")
    return None
