"""Carrel's hooks in the settings of a harness: put in once, told apart from others, taken out alone."""

import os
import shlex
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, cast

from msgspec import Struct

from carrel.adapters.harness import splice
from carrel.adapters.harness.wire import EVENTS, HARNESSES, is_hook
from carrel.errors import CarrelError, Refused, UsageError
from carrel.files import Unreadable, show
from carrel.files.disk import typed_failures
from carrel.files.local import LocalFiles

Where = Literal["project", "user"]

_HOOKS = "hooks"
_LARGEST = 4 * 1024 * 1024
_ANY_START = "startup|resume|clear|compact"
_SECONDS = {"session-start": 30, "prompt": 10, "pre-compact": 30, "stop": 30}

_EVENTS: dict[str, dict[str, str]] = {
    "claude": {
        "SessionStart": "session-start",
        "UserPromptSubmit": "prompt",
        "PreCompact": "pre-compact",
        "Stop": "stop",
    },
    "cursor": {
        "sessionStart": "session-start",
        "beforeSubmitPrompt": "prompt",
        "preCompact": "pre-compact",
        "afterAgentResponse": "stop",
    },
}
_EVENTS["codex"] = _EVENTS["claude"]
_FILES = {
    "claude": (".claude", "settings.json", "CLAUDE_CONFIG_DIR"),
    "codex": (".codex", "hooks.json", "CODEX_HOME"),
    "cursor": (".cursor", "hooks.json", ""),
}


class UnknownHarness(UsageError):
    """No harness of this name has hooks that Carrel knows of."""

    code = "unknown_harness"

    def __init__(self, name: str) -> None:
        super().__init__(
            f"There is no harness '{show(name[:60])}'.",
            hint=f"There are: {', '.join(HARNESSES)}. Others can use `carrel mcp`.",
        )


class HarnessSettings(Refused):
    """A harness's settings cannot be changed safely; they were left untouched."""

    code = "harness_settings"

    def __init__(
        self, path: Path, problem: str, *, hint: str = "Make it plain JSON without comments"
    ) -> None:
        super().__init__(
            f"{show(str(path))} was left untouched: {problem}.",
            hint=f"{hint}, or add the hooks by hand: docs/guides/claude-code.md.",
        )


class Edit(Struct, frozen=True, kw_only=True):
    """A change of a harness's settings: the file before and after, none where there is none.

    `backup` is where the old content is kept, once the change was made; what `is_kept` needs no copy, since
    nothing stands in it but our hooks and what an earlier copy has.
    """

    path: Path
    before: str | None
    after: str | None
    is_kept: bool = False
    backup: Path | None = None

    @property
    def is_change(self) -> bool:
        """Whether anything would change."""
        return self.before != self.after


class Standing(Struct, frozen=True, kw_only=True):
    """What stands in a harness's settings of Carrel's: the commands, by the harness's own names of events."""

    path: Path
    state: Literal["absent", "none", "partial", "installed", "unreadable"]
    commands: dict[str, str] = {}
    problem: str = ""


def settings_path(harness: str, where: Where, *, project: Path, environ: Mapping[str, str]) -> Path:
    """Return the file of a harness's hooks: that of a project, else the user's own."""
    if harness not in _FILES:
        raise UnknownHarness(harness)
    folder, name, variable = _FILES[harness]
    if where == "project":
        return project / folder / name
    own = environ.get(variable) if variable else None
    return (Path(own) if own else Path(environ.get("HOME") or Path.home()) / folder) / name


def commands_of(harness: str, program: Sequence[str], options: Sequence[str] = ()) -> dict[str, str]:
    """Return the command for each event, by the harness's own names."""
    return {
        theirs: shlex.join([*program, "hook", ours, "--harness", harness, *options])
        for theirs, ours in _EVENTS[harness].items()
    }


def install(path: Path, harness: str, commands: Mapping[str, str]) -> Edit:
    """Return the settings with these hooks, each once; others are kept, also ours that are the same."""
    before, text = _read(path)
    hooks = _hooks(path, text or "{}")
    new = {event: list(entries) for event, entries in hooks.items()}
    for event, command in commands.items():
        wanted = _entry(harness, event, command)
        entries = _entries(path, harness, hooks, event)
        own = [entry for entry in entries if _is_ours(entry, harness)]
        if own == [wanted]:
            continue
        new[event] = [*_without(entries, harness), wanted]
    if new == hooks:
        return Edit(path=path, before=before, after=before)
    after = text or ('{\n  "version": 1\n}\n' if harness == "cursor" else "{}\n")
    own = remove(path, harness)
    return Edit(
        path=path, before=before, after=_like(before, splice.put(after, _HOOKS, new)), is_kept=own.is_kept
    )


def remove(path: Path, harness: str) -> Edit:
    """Return the settings without our hooks; a file that only ever had ours goes."""
    before, text = _read(path)
    if text is None:
        return Edit(path=path, before=None, after=None)
    hooks = _hooks(path, text)
    new: dict[str, Any] = {}
    for event, entries in hooks.items():
        kept = (
            _without(_entries(path, harness, hooks, event), harness)
            if _has_ours(entries, harness)
            else entries
        )
        if kept or not _has_ours(entries, harness):
            new[event] = kept
    if new == hooks:
        return Edit(path=path, before=before, after=before)
    after = splice.put(text, _HOOKS, new) if new else splice.drop(text, _HOOKS)
    kept = _backups(path)
    if splice.parse(after) in ({}, {"version": 1}) and not kept:
        return Edit(path=path, before=before, after=None, is_kept=True)
    was = _as_it_was(after, kept)
    return Edit(path=path, before=before, after=was or _like(before, after), is_kept=was is not None)


def standing(path: Path, harness: str) -> Standing:
    """Return what stands in a harness's settings, and change nothing."""
    try:
        _, text = _read(path)
        hooks = _hooks(path, text or "{}")
    except HarnessSettings as error:
        return Standing(path=path, state="unreadable", problem=error.message)
    if text is None:
        return Standing(path=path, state="absent")
    found = {
        event: command
        for event, entries in hooks.items()
        for command in _commands(entries)
        if is_command(command, harness)
    }
    is_whole = set(found) == set(_EVENTS[harness])
    return Standing(
        path=path, state="installed" if is_whole else "partial" if found else "none", commands=found
    )


def write(edit: Edit) -> Edit:
    """Make a change, after what stood there is durable beside it; somebody else's change is a conflict."""
    if not edit.is_change:
        return edit
    target = Path(os.path.realpath(edit.path))  # the settings of many are a link to where they keep them
    with typed_failures(str(target.parent)):
        target.parent.mkdir(parents=True, exist_ok=True)
    files = LocalFiles(target.parent)
    before, after = _bytes(edit.before), _bytes(edit.after)
    digest = "" if before is None else sha256(before).hexdigest()
    if after is None:
        if before is not None:
            files.remove(target.name, expect=digest)
        return edit
    original = files.read(_backup_of(target, after).name)
    if original is not None:  # it is as it was before us, and needs no copies any more
        files.write(target.name, after, expect=digest or None)
        files.remove(original.target, expect=original.digest)
        return edit
    backup = None if before is None or edit.is_kept else _backup_of(target, before)
    is_new = backup is not None and files.read(backup.name) is None
    if is_new and backup is not None and before is not None:
        files.write(backup.name, before, expect=None)
    try:
        files.write(target.name, after, expect=digest or None)
    except CarrelError:
        if is_new and backup is not None:
            files.remove(backup.name, expect=digest)
        raise
    return Edit(path=edit.path, before=edit.before, after=edit.after, backup=backup)


def is_command(command: str, harness: str) -> bool:
    """Tell whether a command is a hook of Carrel's for this harness, however it was spelled."""
    try:
        words = shlex.split(command)
    except ValueError:
        return False
    after = (words[place + 1 :] for place, word in enumerate(words) if Path(word).name == "carrel")
    told = next(filter(is_hook, after), ())
    return any(event in told for event in EVENTS) and _follows(told, "--harness", harness)


def _follows(words: Sequence[str], name: str, value: str) -> bool:
    return f"{name}={value}" in words or (name, value) in pairwise(words)


def _entry(harness: str, event: str, command: str) -> dict[str, Any]:
    if harness == "cursor":
        return {"command": command}
    ours = _EVENTS[harness][event]
    matcher = {"matcher": _ANY_START} if ours == "session-start" else {}
    return {**matcher, "hooks": [{"type": "command", "command": command, "timeout": _SECONDS[ours]}]}


def _without(entries: Iterable[Any], harness: str) -> list[Any]:
    """Return the entries of an event without our commands; a group of which nothing is left goes."""
    kept: list[Any] = []
    for entry in entries:
        if not _has_ours([entry], harness):
            kept.append(entry)
            continue
        inner = [each for each in entry.get(_HOOKS, ()) if not is_command(_command(each), harness)]
        if inner:
            kept.append({**entry, _HOOKS: inner})
    return kept


def _is_ours(entry: Any, harness: str) -> bool:
    return any(is_command(command, harness) for command in _commands([entry]))


def _has_ours(entries: Any, harness: str) -> bool:
    return isinstance(entries, list) and any(_is_ours(entry, harness) for entry in cast("list[Any]", entries))


def _commands(entries: Any) -> list[str]:
    found: list[str] = []
    for entry in cast("list[Any]", entries) if isinstance(entries, list) else []:
        inner: Any = cast("dict[str, Any]", entry).get(_HOOKS) if isinstance(entry, dict) else None
        within: list[Any] = cast("list[Any]", inner) if isinstance(inner, list) else []
        found += [_command(cast("Any", entry)), *map(_command, within)]
    return [command for command in found if command]


def _command(hook: Any) -> str:
    command = cast("dict[str, Any]", hook).get("command") if isinstance(hook, dict) else None
    return command if isinstance(command, str) else ""


def _hooks(path: Path, text: str) -> dict[str, Any]:
    try:
        found = splice.parse(text).get(_HOOKS, {})
    except splice.NoPlainObject as error:
        raise HarnessSettings(path, f"it is not plain JSON ({error})") from None
    if not isinstance(found, dict):
        raise HarnessSettings(path, "its hooks are no object")
    return cast("dict[str, Any]", found)


def _entries(path: Path, harness: str, hooks: Mapping[str, Any], event: str) -> list[Any]:
    """Return the entries of an event; where they are not as the harness wants them, nothing is done."""
    entries: Any = hooks.get(event, [])
    if not isinstance(entries, list):
        raise HarnessSettings(path, f"its hooks of {event} are no list")
    for entry in cast("list[Any]", entries):
        inner: Any = cast("dict[str, Any]", entry).get(_HOOKS, []) if isinstance(entry, dict) else None
        if not isinstance(inner, list) and not (harness == "cursor" and isinstance(entry, dict)):
            raise HarnessSettings(path, f"its hooks of {event} are not groups of hooks")
    return cast("list[Any]", entries)


def _read(path: Path) -> tuple[str | None, str | None]:
    """Return what a settings file holds, and that without its byte order mark; none where there is none."""
    for link in (path.parent, path):
        if link.is_symlink() and not link.exists():
            problem = f"{show(str(link))} is a link to {show(os.readlink(link))}, where nothing is"  # noqa: PTH115 - as it stands
            raise HarnessSettings(path, problem, hint="Make what it leads to, or remove the link")
    target = Path(os.path.realpath(path))
    if not target.parent.is_dir():
        if os.path.lexists(path.parent) and not path.parent.is_symlink():
            raise HarnessSettings(path, f"{show(str(path.parent))} is no folder")
        return None, None
    try:
        content = LocalFiles(target.parent).read(target.name, limit=_LARGEST)
    except Unreadable as error:
        raise HarnessSettings(path, f"it cannot be read: {error.message.rstrip('.')}") from None
    if content is None:
        return None, None
    try:
        whole = content.data.decode()
    except UnicodeDecodeError:
        raise HarnessSettings(path, "it is not UTF-8") from None
    return whole, whole.removeprefix("\ufeff") if whole.strip("\ufeff \t\r\n") else "{}\n"


def _like(before: str | None, text: str) -> str:
    """Return a text with the byte order mark that the file had."""
    return f"\ufeff{text}" if before is not None and before.startswith("\ufeff") else text


def _backups(path: Path) -> list[Path]:
    target = Path(os.path.realpath(path))
    return sorted(target.parent.glob(f"{target.name}.carrel-*.bak"))


def _backup_of(target: Path, data: bytes) -> Path:
    return target.with_name(f"{target.name}.carrel-{sha256(data).hexdigest()[:12]}.bak")


def _as_it_was(text: str, backups: Sequence[Path]) -> str | None:
    """Return what stood there before us, to the byte, where it says the same as this text."""
    wanted = splice.parse(text)
    for backup in backups:
        with suppress(HarnessSettings, splice.NoPlainObject):
            whole, plain = _read(backup)
            if plain is not None and splice.parse(plain) == wanted:
                return whole
    return None


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else text.encode("utf-8", "surrogateescape")
