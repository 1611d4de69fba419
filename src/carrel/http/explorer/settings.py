"""Settings: what is in force, where each value comes from, and how to change it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated

from fastapi import Query
from msgspec import Struct, json, to_builtins
from msgspec.structs import asdict
from starlette.responses import HTMLResponse

from carrel.config import effective
from carrel.config.trust import WORKSPACE_FILE
from carrel.http.explorer.choosing import hidden_from
from carrel.http.explorer.pages import Looking, page
from carrel.http.explorer.pages import router as pages
from carrel.settings import Settings, Spec, specs

router = pages()

_MOST = 600
"""Characters of one value; carrel.yaml has all of them."""


class Row(Struct, frozen=True, kw_only=True):
    """One setting in force: its value as JSON, where it comes from, and a sentence on it."""

    key: str
    value: str
    origin: str
    about: str
    needs_trust: bool

    @property
    def is_given(self) -> bool:
        """Whether somebody gave it."""
        return self.origin != "default"


class Group(Struct, frozen=True, kw_only=True):
    """Settings that belong together."""

    name: str
    about: str
    rows: tuple[Row, ...]


@router.get("/settings")
def settings(
    viewer: Looking,
    q: Annotated[str, Query(max_length=200)] = "",
    which: Annotated[str, Query(alias="given", max_length=8)] = "",
) -> HTMLResponse:
    """Show the settings in force, all of them or only what somebody gave."""
    given = which == "true"
    if hidden := hidden_from(viewer, title="Settings", here="settings"):
        return hidden
    workspace = viewer.desk.workspace
    config = workspace.config
    rows = [_row(*each) for each in effective(config, workspace.filled_settings())]
    wanted = [row for row in rows if (row.is_given or not given) and _matches(row, q)]
    return page(
        viewer,
        "settings.html",
        title="Settings",
        here="settings",
        groups=list(_groups(wanted)),
        total=len(rows),
        given_count=sum(row.is_given for row in rows),
        q=q,
        given=given,
        trusted=config.trusted,
        known=config.known,
        findings=config.findings,
        budgets=_budgets(rows),
        file=WORKSPACE_FILE,
        has_file=workspace.files.stamps([WORKSPACE_FILE]) != [None],
        model=workspace.model().name,
        directories={name: str(path) for name, path in asdict(config.directories).items()},
    )


def _row(key: str, value: object, origin: str) -> Row:
    about, needs_trust = _about(key)
    told = json.encode(to_builtins(value, enc_hook=str)).decode()
    return Row(
        key=key,
        value=told if len(told) <= _MOST else f"{told[:_MOST]}…",
        origin=origin,
        about=about,
        needs_trust=needs_trust,
    )


def _about(key: str) -> tuple[str, bool]:
    """Return the sentence on a setting, and whether it counts in a trusted workspace only."""
    table: Mapping[str, Spec] = specs(Settings)
    spec: Spec | None = None
    for name in key.split("."):
        if name in table:
            spec = table[name]
            table = specs(spec.table) if spec.table else {}
    return (spec.about.text, spec.about.sensitive) if spec else ("", False)


def _matches(row: Row, q: str) -> bool:
    told = f"{row.key} {row.value} {row.origin} {row.about}".casefold()
    return all(word in told for word in q.casefold().split())


def _groups(rows: Sequence[Row]) -> Iterator[Group]:
    """Yield the settings by the first part of their names, those of each agent apart."""
    tables = specs(Settings)
    named: dict[str, list[Row]] = {}
    for row in rows:
        named.setdefault(_group_of(row.key), []).append(row)
    for name, found in named.items():
        spec = tables.get(name.partition(".")[0])
        about = (spec.table.__doc__ or "").strip() if spec and spec.table else ""
        yield Group(name=name, about=about, rows=tuple(found))


def _group_of(key: str) -> str:
    first, *rest = key.split(".")
    if not rest:
        return "workspace itself"
    return f"{first}.{rest[0]}" if first == "agents" else first


def _budgets(rows: Sequence[Row]) -> Sequence[Row]:
    return [row for row in rows if row.key.startswith("budgets.") or row.key == "model.context_window"]
