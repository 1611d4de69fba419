"""Whom the user trusts: `trust.json` maps a workspace's name to a hash of its sensitive settings.

An ordinary edit of carrel.yaml keeps the trust; a new or changed sensitive setting ends it until it is given
again.
"""

import hashlib
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

from msgspec import Struct, json

from carrel.config.directories import UserDirectories
from carrel.errors import CarrelError, Conflict
from carrel.files import FileStore, Stale, Unreadable
from carrel.files.disk import typed_failures
from carrel.files.folders import make_folders
from carrel.files.local import LocalFiles
from carrel.files.resolve import RootMissing
from carrel.findings import Finding
from carrel.settings import MEANINGS, Given, Settings, spec_at
from carrel.settings.parse import parse_text

WORKSPACE_FILE = "carrel.yaml"
TRUST_FILE = "trust.json"
VERSION = 1
_ATTEMPTS = 20
_SHOWN = 12


class NewerTrustFile(Conflict):
    """The list of trusted workspaces was written by a newer Carrel; this one must not rewrite it."""

    code = "newer_trust_file"

    def __init__(self, path: str) -> None:
        super().__init__(f"{path} has a newer format.", hint="Update Carrel, then trust the workspace again.")


class Approvals(Struct, frozen=True, kw_only=True):
    """Where it stands whether a workspace is trusted: never in the workspace itself.

    `name` is what it is called there, `shown` what a person calls it, and `place` what they call the file.
    """

    name: str
    shown: str
    open: Callable[[], FileStore]
    file: str
    place: str
    prepare: Callable[[], object] = lambda: None
    """Makes what the store needs before it is written to."""


def local_approvals(root: Path, directories: UserDirectories) -> Approvals:
    """Return the user's own list, in which a directory stands by its real path."""
    return approvals_of(_name(root), str(root), directories)


def approvals_of(name: str, shown: str, directories: UserDirectories) -> Approvals:
    """Return the user's own list for a workspace of this name."""
    return Approvals(
        name=name,
        shown=shown,
        open=lambda: LocalFiles(directories.data),
        file=TRUST_FILE,
        place=str(directories.data / TRUST_FILE),
        prepare=lambda: _make(directories.data / TRUST_FILE),
    )


def trust(approvals: Approvals, workspace_text: str | None, *, manifest: Given | None = None) -> None:
    """Approve a workspace with the sensitive settings its own files have now; durable when this returns."""
    given = (manifest or {}) | _parsed(workspace_text)
    _record(approvals, _digest(_sensitive(given)))


def distrust(approvals: Approvals) -> None:
    """Take an approval back."""
    _record(approvals, None)


def is_sensitive(workspace_text: str | None, *, manifest: Given | None = None) -> bool:
    """Tell whether a workspace's own files have a setting that needs trust; a wrong one is an error."""
    return bool(_sensitive((manifest or {}) | _parsed(workspace_text)))


def is_trusted(approvals: Approvals, workspace_text: str | None) -> bool:
    """Tell whether the owner approved this workspace with exactly these sensitive settings."""
    return look_up(approvals, _parsed(workspace_text))[0]


def _parsed(workspace_text: str | None) -> Given:
    # Any layout will do here: what maxContextTokens means changes no sensitive setting.
    return parse_text(workspace_text or "", layout=next(iter(MEANINGS[Settings])), source=WORKSPACE_FILE)


def _sensitive(given: Given) -> Given:
    return {key: value for key, value in given.items() if spec_at(key).about.sensitive}


def without_sensitive(given: Given) -> Given:
    """Leave out what a stranger's file may not decide; a model's name still serves to count tokens."""
    rules = {key: spec_at(key).about for key in given}
    return {key: value for key, value in given.items() if not rules[key].sensitive or rules[key].counts}


def _digest(sensitive: Given) -> str:
    return hashlib.sha256(json.encode(sorted(sensitive.items()))).hexdigest()


def look_up(approvals: Approvals, given: Given) -> tuple[bool, bool, tuple[Finding, ...]]:
    """Tell whether the workspace is trusted as it is, whether it ever was, and what a person should know."""
    recorded, findings = _recorded(approvals)
    approved = recorded.get(approvals.name)
    sensitive = _sensitive(given)
    trusted = approved is not None and approved == _digest(sensitive)
    if sensitive and not trusted:
        findings += (_untrusted(approvals.shown, sensitive, changed=approved is not None),)
    return trusted, approved is not None, findings


def _untrusted(shown: str, sensitive: Given, *, changed: bool) -> Finding:
    from shlex import quote  # noqa: PLC0415

    ignored = [".".join(key) for key in sensitive if not spec_at(key).about.counts]
    counting = [".".join(key) for key in sensitive if spec_at(key).about.counts]
    since = "sensitive settings changed since it was trusted" if changed else "this workspace is not trusted"
    parts = [f"ignored: {_some(ignored)}"] if ignored else []
    parts += [f"used only to count tokens: {_some(counting)}"] if counting else []
    return Finding(
        code="untrusted_setting",
        severity="warning" if ignored else "info",
        path=WORKSPACE_FILE,
        message=f"{since}; {'; '.join(parts)}",
        hint=f"Read its settings, then: carrel trust {quote(shown)}",
    )


def _some(names: list[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more


def _recorded(approvals: Approvals) -> tuple[dict[str, str], tuple[Finding, ...]]:
    """Read whom the user trusts; a file that cannot be read or understood trusts nobody, and says so.

    A failure that may pass is an error instead: trust decides where the state of a workspace is, and what is
    written meanwhile would be looked for in vain afterwards.
    """
    place = approvals.place
    try:
        content = approvals.open().read(approvals.file)
    except RootMissing:
        return {}, ()
    except CarrelError as error:
        if isinstance(error, Unreadable) and error.reason == "io_error":
            raise
        return {}, (_damaged("unreadable_trust_file", place, error.message),)
    recorded, version = _understood(content.data if content else b"")
    if version > VERSION:
        return {}, (_damaged(NewerTrustFile.code, place, "it was written by a newer Carrel"),)
    if recorded is None:
        return {}, (_damaged("corrupt_trust_file", place, "it is damaged"),)
    return recorded, ()


def _damaged(code: str, place: str, why: str) -> Finding:
    message = f"no workspace is trusted, because {place} cannot be used: {why}"
    return Finding(
        code=code, message=message, path=place, hint="Trust your workspaces again: carrel trust DIR"
    )


def _understood(raw: bytes) -> tuple[dict[str, str] | None, int]:
    """Return the recorded hashes (None: not understood) and the version of the format."""
    if not raw:
        return {}, VERSION
    try:
        whole: Any = json.decode(raw)
        version, found = whole["version"], cast("dict[str, object]", whole["workspaces"])
        recorded = {path: value for path, value in found.items() if isinstance(value, str)}
    except (ValueError, RecursionError, LookupError, TypeError, AttributeError):
        return None, 0
    sound = type(version) is int and version > 0 and len(recorded) == len(found)
    return (recorded if sound else None), version if type(version) is int else 0


def _record(approvals: Approvals, digest: str | None) -> None:
    """Compare and swap until nobody else wrote in between, so that two at once both last."""
    approvals.prepare()
    store = approvals.open()
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            _swap(store, approvals, digest)
        except Stale:
            if attempt == _ATTEMPTS:
                raise
        else:
            return


def _make(path: Path) -> None:
    """Make an empty list, for its owner's eyes only."""
    with typed_failures(str(path)), suppress(FileExistsError):
        make_folders(path.parent, mode=0o700)
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))


def _name(root: Path) -> str:
    """Return the real path as text, also where its bytes are not."""
    return os.fsencode(os.path.realpath(root)).decode("utf-8", "backslashreplace")


def _swap(store: FileStore, approvals: Approvals, digest: str | None) -> None:
    file = approvals.file
    content = store.read(file)
    recorded, version = _understood(content.data if content else b"")
    if version > VERSION:
        raise NewerTrustFile(approvals.place)
    if recorded is None and content:
        with suppress(Stale):  # kept aside already
            store.write(f"{file}.damaged-{content.digest[:12]}", content.data, expect=None)
    others = {other: value for other, value in (recorded or {}).items() if other != approvals.name}
    workspaces = others | ({approvals.name: digest} if digest else {})
    data = json.encode({"version": VERSION, "workspaces": workspaces}, order="sorted")
    store.write(file, data + b"\n", expect=content.digest if content else None)
