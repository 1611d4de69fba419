"""Health: how large a workspace is, whether its structure is whole, and what a person should look at."""

import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from msgspec import Struct, to_builtins

from carrel.context.report import Report, Row
from carrel.files import Entry, FileStore, walk
from carrel.findings import Finding
from carrel.workspace.identity import Identity
from carrel.workspace.layout import Layout

NOT_COUNTED = (".git", ".carrel")
LONG_SOUL = 2_000
LONG_PROMPT = 4_000


class Health(Struct, frozen=True, kw_only=True):
    """The state of a workspace as a whole."""

    total_bytes: int
    files: int
    structure_valid: bool
    findings: tuple[Finding, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the health of the machine-readable contract."""
        return to_builtins(self)


def examine(
    files: FileStore, layout: Layout, report: Report, identity: Identity, known: Iterable[Finding]
) -> Health:
    """Look a workspace over: its files, its structure, and what the last report says of them."""
    missing = missing_files(files, layout)
    total, count, noticed = _look_at_files(files)
    findings = (*missing, *noticed, *_placeholders(layout, identity), *known, *_from_report(report))
    structure = not missing and not any(finding.severity == "error" for finding in findings)
    return Health(
        total_bytes=total, files=count, structure_valid=structure, findings=tuple(dict.fromkeys(findings))
    )


def missing_files(files: FileStore, layout: Layout) -> tuple[Finding, ...]:
    """Return what the layout cannot do without and the directory does not have."""
    paths = [path.rstrip("/") for path in layout.requires]
    absent = (path for path, stamp in zip(paths, files.stamps(paths), strict=True) if stamp is None)
    return tuple(
        Finding(
            code="missing",
            path=path,
            message=f"{path} is missing.",
            hint=f"`carrel init --layout {layout.name}` adds what is missing and overwrites nothing.",
        )
        for path in absent
    )


def _look_at_files(files: FileStore) -> tuple[int, int, list[Finding]]:
    total = count = 0
    noticed: list[Finding] = []
    names: Counter[str] = Counter()
    for entry in walk(files, skip=lambda entry: entry.path in NOT_COUNTED):
        names[unicodedata.normalize("NFC", entry.path).casefold()] += 1
        if entry.kind == "file":
            total += entry.size
            count += 1
        else:
            noticed.append(_odd_entry(entry))
    twins = [name for name, times in names.items() if times > 1]
    noticed.extend(_twin(name) for name in sorted(twins))
    return total, count, noticed


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


def _from_report(report: Report) -> Iterator[Finding]:
    for row in report.sections:
        finding = _from_row(row)
        if finding is not None:
            yield finding
    yield from report.warnings


def _from_row(row: Row) -> Finding | None:
    match row.state, row.reason:
        case "unreadable", reason:
            message = f"{row.name} cannot be read ({reason}) and is not in the context."
            return Finding(code="unreadable", path=row.name, message=message)
        case "truncated", _:
            message = f"{row.name} is cut: {row.size:,} of its {row.raw_tokens:,} tokens are shown."
            return Finding(code="truncated", path=row.name, message=message, hint="Shorten or split it.")
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
