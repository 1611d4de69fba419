"""Rows of records in a SQLite file."""

# ruff: noqa: S608 - statements are made of the names of our own tables and columns; values are bound

from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from carrel.records.database import Database
from carrel.records.moving import ADDED_TO, BLOBS, COUNTED, PAGE, TABLES, UNNUMBERED, Row
from carrel.records.recalls import RecallEvent
from carrel.records.rows.columns import to_text
from carrel.records.rows.recalls import PLACE, RECALL, to_recall
from carrel.records.sqlite.columns import from_text
from carrel.records.sqlite.recalls import SqliteRecalls
from carrel.records.sqlite.schema import MIGRATIONS

_COLUMNS = (*PLACE, *RECALL)
_RECALLS = """
    SELECT recalls.agent, path, line, tier, recalled.text, session, at, queries.text, rank, score, who,
        recalls.id
    FROM recalls JOIN queries ON queries.id = query JOIN recalled ON recalled.id = recalled
    WHERE recalls.id > ? ORDER BY recalls.id LIMIT ?
    """

_UNCOUNT = "DELETE FROM sqlite_sequence WHERE name = ?"
_COUNT = "INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)"


class SqliteRows:
    """The rows of one file, which is made where it is missing."""

    def __init__(self, path: Path | None, *, inside: Path | None = None) -> None:
        self._database = Database(path, MIGRATIONS, durable=True, inside=inside)
        self._columns = cache(self._find_columns)

    def read(self, table: str) -> Iterator[Row]:
        """Yield the rows of a table in their order."""
        if table in ("recalls", "counters"):
            yield from self._recalls() if table == "recalls" else self._counters()
            return
        keys, columns = TABLES[table], self._columns(table)
        kept = [name for name in columns if table not in UNNUMBERED or name not in keys]
        after: tuple[object, ...] = ()
        while page := self._page(table, after):
            for row in page:
                whole = dict(zip(columns, row, strict=True))
                yield {name: _neutral(table, name, whole[name]) for name in kept}
            after = tuple(page[-1][columns.index(key)] for key in keys)

    @contextmanager
    def snapshot(self) -> Generator[None]:
        """Read all inside as it was when it began."""
        self._database.rows("BEGIN")
        try:
            self._database.rows("SELECT count(*) FROM facts_of_workspace")  # the first read takes the picture
            yield
        finally:
            self._database.rows("ROLLBACK")

    def replace(self, table: str, rows: Iterable[Row]) -> None:
        """Keep these rows instead of those that are there."""
        with self._database.transaction():
            if table == "recalls":
                self._clear("recalls", "queries", "recalled")
                SqliteRecalls(self._database).add(_event(row) for row in rows)
            elif table == "counters":
                for row in rows:
                    self._database.rows(_UNCOUNT, (row["name"],))
                    self._database.rows(_COUNT, (row["name"], row["value"]))
            else:
                self._clear(*(() if table == ADDED_TO else (table,)))
                for row in rows:
                    self._insert(table, row)

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def _clear(self, *tables: str) -> None:
        for table in tables:
            self._database.rows(f"DELETE FROM {table}")

    def _insert(self, table: str, row: Row) -> None:
        sql = f"INSERT OR IGNORE INTO {table} ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})"
        self._database.rows(sql, [from_text(v) if isinstance(v, str) else v for v in row.values()])

    def _page(self, table: str, after: tuple[object, ...]) -> list[tuple[object, ...]]:
        keys = ", ".join(TABLES[table])
        later = f"WHERE ({keys}) > ({', '.join('?' * len(after))})" if after else ""
        names = ", ".join(self._columns(table))
        sql = f"SELECT {names} FROM {table} {later} ORDER BY {keys} LIMIT {PAGE}"
        return self._database.rows(sql, after)

    def _recalls(self) -> Iterator[Row]:
        last = 0
        while page := self._database.rows(_RECALLS, (last, PAGE)):
            for row in page:
                yield {
                    name: _neutral("recalls", name, value) for name, value in zip(_COLUMNS, row, strict=False)
                }
            last = page[-1][-1]

    def _counters(self) -> Iterator[Row]:
        for name, value in self._database.rows("SELECT name, seq FROM sqlite_sequence ORDER BY name"):
            if name in COUNTED and value:
                yield {"name": name, "value": value}

    def _find_columns(self, table: str) -> list[str]:
        return [row[1] for row in self._database.rows(f"PRAGMA table_info({table})")]


def _event(row: Row) -> RecallEvent:
    return to_recall(tuple(row[name] for name in _COLUMNS))


def _neutral(table: str, name: str, value: object) -> object:
    return to_text(value) if isinstance(value, bytes) and (table, name) not in BLOBS else value
