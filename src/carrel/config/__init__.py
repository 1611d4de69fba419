"""Where settings come from: defaults < user file < workspace file < environment < flags.

Every value remembers its origin. Whoever wrote a workspace's own file may be a stranger, so its sensitive
settings count only after `trust`.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from functools import reduce
from typing import Any, cast

from msgspec import Struct
from msgspec.structs import asdict

from carrel import plainyaml
from carrel.clock import Clock, FixedClock, SystemClock
from carrel.config.directories import UserDirectories, user_directories
from carrel.config.trust import (
    WORKSPACE_FILE,
    Approvals,
    approvals_of,
    distrust,
    is_sensitive,
    is_trusted,
    local_approvals,
    look_up,
    trust,
    without_sensitive,
)
from carrel.config.userfile import UnreadableConfig, read_user_file, without_remote
from carrel.findings import Finding
from carrel.settings import Given, Key, Settings, leaves, specs
from carrel.settings.about import BadSetting
from carrel.settings.parse import build, parse

__all__ = [
    "DETECTED",
    "WORKSPACE_FILE",
    "Approvals",
    "Config",
    "UnreadableConfig",
    "UserDirectories",
    "approvals_of",
    "distrust",
    "dump",
    "effective",
    "is_sensitive",
    "is_trusted",
    "load_config",
    "local_approvals",
    "read_clock",
    "trust",
    "user_directories",
]

SCHEMA_VERSION = 1
DETECTED = "detected"
"""The origin of a layout that nobody named."""

FIRST_YEAR, LAST_YEAR = 1000, 9000
"""Days before and after a moment, in any zone, must still be days of the calendar."""

_MACHINE = SystemClock()
Source = tuple[str, Given]
Filled = tuple[object, str]


class Config(Struct, frozen=True, kw_only=True):
    """The settings in force and the inputs of an assembly that come from outside the workspace.

    `trusted` means that the sensitive settings are the ones its owner approved; `known` that the owner once
    approved this workspace, whatever its settings say now.
    """

    settings: Settings
    origins: Mapping[str, str]
    findings: tuple[Finding, ...]
    trusted: bool
    known: bool
    clock: Clock
    os_name: str
    directories: UserDirectories


def load_config(
    approvals: Approvals,
    workspace_text: str | None,
    *,
    environ: Mapping[str, str],
    directories: UserDirectories,
    clock: Clock = _MACHINE,
    manifest: Source | None = None,
    flags: Mapping[str, object] | None = None,
    detect_layout: Callable[[], str | None] = lambda: None,
) -> Config:
    """Merge every source into the settings in force; `approvals` say whether the workspace's own may count.

    `workspace_text` is the text of the workspace's carrel.yaml, None when there is none: only the file layer
    opens it. `clock` tells the time there unless CARREL_NOW does. `manifest` is what a squad's own file says,
    weaker than carrel.yaml and no more trusted. `flags` maps keys such as `model.name` to values, None
    meaning not given. `detect_layout` is asked when nobody names the layout.
    """
    outer = [*_from_environment(environ), *_from_flags(flags or {})]
    inner = _from_files(workspace_text, directories, outer, detect_layout)
    own = {WORKSPACE_FILE: dict(inner).get(WORKSPACE_FILE, {})}
    if manifest is not None:
        inner.insert(len(inner) - (WORKSPACE_FILE in dict(inner)), manifest)
        own = dict((manifest,)) | own
    trusted, known, findings = look_up(approvals, _merged(own.values()))
    merged: Given = {}
    origins: dict[Key, str] = {}
    for origin, given in [*inner, *outer]:
        held = given if trusted or origin not in own else without_sensitive(given)
        merged |= held
        origins |= dict.fromkeys(held, origin)
    settings = build(merged)
    return Config(
        settings=settings,
        origins={".".join(key): origins.get(key, "default") for key in flatten(settings)},
        findings=findings,
        trusted=trusted,
        known=known,
        clock=read_clock(environ, clock),
        os_name=environ.get("CARREL_OS") or os.uname().sysname,
        directories=directories,
    )


def _merged(sources: Iterable[Given]) -> Given:
    merged: Given = {}
    for given in sources:
        merged |= given
    return merged


def _from_files(
    workspace_text: str | None,
    directories: UserDirectories,
    outer: list[Source],
    detect_layout: Callable[[], str | None],
) -> list[Source]:
    """Read both files under one layout: the strongest source that names it decides, else what is detected."""
    path = directories.config / "config.yaml"
    texts = {f"user file {path}": read_user_file(path), WORKSPACE_FILE: workspace_text}
    given = {origin: text for origin, text in texts.items() if text is not None}
    loaded = {origin: plainyaml.load(text, source=origin) for origin, text in given.items()}
    loaded = {at: data if at == WORKSPACE_FILE else without_remote(data) for at, data in loaded.items()}
    tables = [cast("dict[str, object]", data) for data in loaded.values() if isinstance(data, dict)]
    named = [data.get("layout") for data in tables] + [given.get(("layout",)) for _, given in outer]
    layout = next((name for name in reversed(named) if isinstance(name, str)), None)
    sources: list[Source] = []
    if layout is None and (layout := detect_layout()):
        sources.append((DETECTED, {("layout",): layout}))
    for origin, data in loaded.items():
        sources.append((origin, _parsed(data, given[origin], layout, origin)))
    return sources


def _parsed(data: object, text: str, layout: str | None, origin: str) -> Given:
    """Check what a file says; only when something is wrong it is read again, to name the line."""
    try:
        return parse(data, layout=layout, source=origin)
    except BadSetting:
        _, lines = plainyaml.load_with_lines(text, source=origin)
        return parse(data, layout=layout, source=origin, lines=lines)


def _from_environment(environ: Mapping[str, str]) -> Iterator[Source]:
    for names, leaf in leaves().items():
        variable = leaf.about.environment
        if variable and environ.get(variable):  # set to nothing is not set
            origin = f"environment {variable}"
            yield origin, parse(_nested(names, environ[variable]), layout=None, source=origin)


def _from_flags(flags: Mapping[str, object]) -> Iterator[Source]:
    for name, value in flags.items():
        if value is not None:
            origin = f"flag --{name.replace('.', '-').replace('_', '-')}"
            yield origin, parse(_nested(tuple(name.split(".")), value), layout=None, source=origin)


def _nested(names: Key, value: object) -> object:
    plain = list(cast("tuple[object, ...]", value)) if isinstance(value, tuple) else value
    return reduce(lambda inner, name: {name: inner}, reversed(names), plain)


def read_clock(environ: Mapping[str, str], clock: Clock = _MACHINE) -> Clock:
    """Stand still at CARREL_NOW if it is given, else return this clock; a time without a zone is UTC."""
    text = environ.get("CARREL_NOW", "")
    if not text:
        return clock
    try:
        moment = datetime.fromisoformat(text)
        moment = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        raise _bad_moment(f"is no time: {text[:60]!r}") from None
    if not FIRST_YEAR <= moment.year <= LAST_YEAR:
        raise _bad_moment(f"is not between the years {FIRST_YEAR} and {LAST_YEAR}: {text[:60]!r}")
    return FixedClock(moment)


def _bad_moment(problem: str) -> BadSetting:
    hint = "Give an ISO time, for example 2026-04-24T09:00:00Z."
    return BadSetting("CARREL_NOW", problem, source="environment", hint=hint)


def flatten(settings: Settings) -> Given:
    """List every value by its key, defaults too: the inverse of `build`."""
    return dict(_values(settings, ()))


def _values(table: Struct, key: Key) -> Iterator[tuple[Key, object]]:
    for name, spec in specs(type(table)).items():
        value: Any = getattr(table, name)
        if spec.is_list:
            for entry in value:
                yield from _values(entry, (*key, name, entry.id))
        elif spec.table:
            yield from _values(value, (*key, name))
        else:
            yield (*key, name), value


def effective(config: Config, filled: Mapping[str, Filled] | None = None) -> list[tuple[str, object, str]]:
    """List every setting in force: its key, its value and its origin.

    `filled` says what stands in for a setting that nobody gave, and where that comes from.
    """
    found: list[tuple[str, object, str]] = []
    for names, value in flatten(config.settings).items():
        key = ".".join(names)
        given = (value, config.origins[key])
        found.append((key, *(filled.get(key, given) if filled and value is None else given)))
    return found


def dump(config: Config, filled: Mapping[str, Filled] | None = None) -> dict[str, object]:
    """Say the same as `effective` in data that JSON can hold."""
    return {
        "schema_version": SCHEMA_VERSION,
        "trusted": config.trusted,
        "known": config.known,
        "directories": {name: str(path) for name, path in asdict(config.directories).items() if path},
        "settings": [
            {"key": key, "value": value, "origin": origin} for key, value, origin in effective(config, filled)
        ],
        "findings": [asdict(finding) for finding in config.findings],
    }
