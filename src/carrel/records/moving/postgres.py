"""Rows of records in PostgreSQL."""

# ruff: noqa: S608 - statements are made of the names of our own tables and columns; values are bound

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from functools import cache
from itertools import islice
from typing import Any

from carrel.postgres import Tenant
from carrel.records.moving import ADDED_TO, BLOBS, COUNTED, PAGE, TABLES, UNNUMBERED, Row
from carrel.records.postgres import PostgresRecords
from carrel.records.rows.columns import to_text
from carrel.records.rows.recalls import PLACE, RECALL, to_recall

_RECALL = (*PLACE, *RECALL)
_OURS = "tenant = %s AND workspace = %s"
_COLUMNS = (
    "SELECT attname::text, format_type(atttypid, NULL) FROM pg_attribute WHERE attrelid = %s::regclass "
    "AND attnum > 0 AND NOT attisdropped AND attgenerated = '' ORDER BY attnum"
)
_RECALLS = (
    "SELECT e.agent, path, line, tier, r.text, session, at, q.text, rank, score, who, e.id"
    " FROM carrel.recalls AS e"
    " JOIN carrel.queries AS q ON q.tenant = e.tenant AND q.workspace = e.workspace AND q.id = e.query"
    " JOIN carrel.recalled AS r ON r.tenant = e.tenant AND r.workspace = e.workspace AND r.id = e.recalled"
    " WHERE e.tenant = %s AND e.workspace = %s AND e.id > %s ORDER BY e.id LIMIT %s"
)
_COUNTERS = f"SELECT name, value FROM carrel.counters WHERE {_OURS} AND name = ANY(%s) AND value > 0"
_COUNT = (
    "INSERT INTO carrel.counters (tenant, workspace, name, value) VALUES (%s, %s, %s, %s)"
    " ON CONFLICT (tenant, workspace, name) DO UPDATE SET value = excluded.value"
)
_SECONDS = 600
_NUMBERED = {"audit": "id", "facts": "number"}
"""Tables whose next number follows from the rows alone."""

_MOVED = ("facts_of_workspace", "audit", "jobs", "changes", "facts", "assemblies", "usage", "keys")
"""Tables of which a workspace that was ever used has a row."""


class PostgresRows:
    """The rows of one workspace of one tenant."""

    def __init__(self, tenant: Tenant, workspace: str) -> None:
        self._tenant = tenant
        self._workspace = workspace
        self._whose = (tenant.name, workspace)
        self._columns = cache(self._find_columns)

    def read(self, table: str) -> Iterator[Row]:
        """Yield the rows of a table in their order."""
        if table in ("recalls", "counters"):
            yield from self._recalls() if table == "recalls" else self._counters()
            return
        keys, columns = TABLES[table], list(self._columns(table))
        kept = [name for name in columns if table not in UNNUMBERED or name not in keys]
        after: tuple[object, ...] = ()
        while page := self._page(table, after):
            for row in page:
                whole = dict(zip(columns, row, strict=True))
                yield {name: _neutral(table, name, whole[name]) for name in kept}
            after = tuple(page[-1][columns.index(key)] for key in keys)

    def snapshot(self) -> AbstractContextManager[None]:
        """Read all inside as it was when it began; of files in the same database, too."""
        return self._tenant.transaction(seconds=_SECONDS, frozen=True)

    def replace(self, table: str, rows: Iterable[Row]) -> None:
        """Keep these rows instead of those that are there."""
        with self._tenant.transaction(seconds=_SECONDS):
            if table == "recalls":
                self._clear("recalls", "queries", "recalled")
                events = (to_recall(tuple(row[name] for name in _RECALL)) for row in rows)
                while page := list(islice(events, PAGE)):
                    PostgresRecords(self._tenant, self._workspace).recalls.add(page)
            elif table == "counters":
                for row in rows:
                    self._tenant.rows(_COUNT, (*self._whose, row["name"], row["value"]))
            else:
                self._clear(*(() if table == ADDED_TO else (table,)))
                self._insert(table, iter(rows))

    def close(self) -> None:
        """Leave the connections to those who have them."""

    def _clear(self, *tables: str) -> None:
        for table in tables:
            self._tenant.rows(f"DELETE FROM carrel.{table} WHERE {_OURS}", self._whose)

    def _insert(self, table: str, rows: Iterator[Row]) -> None:
        types = self._columns(table)
        last = 0
        while page := list(islice(rows, PAGE)):
            names = list(page[0])
            one = f"(%s, %s, {', '.join(f'%s::{types[name]}' for name in names)})"
            values = [each for row in page for each in (*self._whose, *_taken(row, types))]
            self._tenant.rows(
                f"INSERT INTO carrel.{table} (tenant, workspace, {', '.join(names)})"
                f" VALUES {', '.join([one] * len(page))} ON CONFLICT DO NOTHING",
                values,
            )
            last = max(last, *(row[_NUMBERED[table]] for row in page)) if table in _NUMBERED else 0
        if last:
            self._tenant.rows(_COUNT, (*self._whose, table, last))

    def _page(self, table: str, after: tuple[object, ...]) -> list[tuple[Any, ...]]:
        keys, types = TABLES[table], self._columns(table)
        marks = ", ".join(f"%s::{types[key]}" for key in keys)
        later = f"AND ({', '.join(keys)}) > ({marks})" if after else ""
        return self._tenant.rows(
            f"SELECT {', '.join(types)} FROM carrel.{table} WHERE {_OURS} {later}"
            f" ORDER BY {', '.join(keys)} LIMIT {PAGE}",
            (*self._whose, *after),
        )

    def _recalls(self) -> Iterator[Row]:
        last = 0
        while page := self._tenant.rows(_RECALLS, (*self._whose, last, PAGE)):
            for row in page:
                yield {
                    name: _neutral("recalls", name, value) for name, value in zip(_RECALL, row, strict=False)
                }
            last = page[-1][-1]

    def _counters(self) -> Iterator[Row]:
        for name, value in self._tenant.rows(_COUNTERS, (*self._whose, list(COUNTED))):
            yield {"name": name, "value": value}

    def _find_columns(self, table: str) -> dict[str, str]:
        found = self._tenant.rows(_COLUMNS, (f"carrel.{table}",))
        return {name: kind for name, kind in found if name not in ("tenant", "workspace")}


def names_below(tenant: Tenant, start: str) -> Sequence[str]:
    """Return the workspaces with records whose names begin like this, sorted."""
    found: set[str] = set()
    for table in _MOVED:
        sql = (
            f"SELECT DISTINCT workspace FROM carrel.{table} WHERE tenant = %s AND workspace > %s"
            " AND workspace < %s"
        )
        found |= {name for (name,) in tenant.rows(sql, (tenant.name, start, f"{start[:-1]}0"))}
    return sorted(found)


def _taken(row: Row, types: dict[str, str]) -> Iterator[object]:
    """Yield the values of a row as the columns take them."""
    for name, value in row.items():
        is_bytes = types[name] == "bytea" and isinstance(value, str)
        yield value.encode(errors="surrogatepass") if is_bytes else value


def _neutral(table: str, name: str, value: object) -> object:
    return to_text(value) if isinstance(value, bytes) and (table, name) not in BLOBS else value
