"""Token counts by content: the table `workspace_files`, and the places where texts were cut.

A count belongs to (digest of the text, tokenizer): neither an edit nor a change of model leaves a stale one.
"""

from hashlib import sha256
from pathlib import Path

from carrel.errors import Unavailable
from carrel.findings import Finding
from carrel.records.database import Database
from carrel.tokens import Tokenizer

_KEEP_ROWS = 50_000
_MIGRATIONS = (
    """
    CREATE TABLE workspace_files (
        id INTEGER PRIMARY KEY, sha256 BLOB NOT NULL, tokenizer TEXT NOT NULL, token_count INTEGER NOT NULL,
        UNIQUE (sha256, tokenizer)
    ) STRICT;
    CREATE TABLE cuts (
        id INTEGER PRIMARY KEY, sha256 BLOB NOT NULL, rule TEXT NOT NULL,
        start INTEGER NOT NULL, stop INTEGER NOT NULL, marked INTEGER NOT NULL,
        UNIQUE (sha256, rule)
    ) STRICT;
    """,
)
_KEEP_COUNT = "INSERT OR IGNORE INTO workspace_files (sha256, tokenizer, token_count) VALUES (?, ?, ?)"
_KEEP_CUT = "INSERT OR IGNORE INTO cuts (sha256, rule, start, stop, marked) VALUES (?, ?, ?, ?, ?)"

Place = tuple[int, int, int]
"""Where a text was cut: first and last character kept, and whether a marker says so."""

NO_PLACE: Place = (0, 0, 0)
"""It was tried, and not even a character fits beside the marker."""


class TokenCounts:
    """Counts and cuts, in memory over a cache file; without a usable file it works all the same."""

    def __init__(self, tokenizer: Tokenizer, path: Path | None, *, inside: Path | None = None) -> None:
        self.tokenizer = tokenizer
        self.findings: tuple[Finding, ...] = ()
        self._counts: dict[bytes, int] = {}
        self._cuts: dict[tuple[bytes, str], Place] = {}
        self._new_counts: dict[bytes, int] = {}
        self._new_cuts: dict[tuple[bytes, str], Place] = {}
        self._database = self._open(path, inside)

    def count(self, text: str) -> int:
        """Return the tokens of a text, from the cache when this text was ever counted."""
        if not text:
            return 0
        key = _digest(text)
        known = self._counts.get(key)
        if known is None:
            known = self._stored_count(key)
        if known is None:
            known = self._new_counts[key] = len(self.tokenizer.encode(text))
        self._counts[key] = known
        return known

    def place(self, text: str, rule: str) -> Place | None:
        """Return where this text was cut by this rule before."""
        key = (_digest(text), f"{self.tokenizer.name} {rule}")
        known = self._cuts.get(key)
        if known is None and self._database is not None:
            rows = self._rows("SELECT start, stop, marked FROM cuts WHERE sha256 = ? AND rule = ?", key)
            known = (rows[0][0], rows[0][1], rows[0][2]) if rows else None
        return known

    def keep_place(self, text: str, rule: str, place: Place) -> None:
        """Remember where this text was cut by this rule."""
        key = (_digest(text), f"{self.tokenizer.name} {rule}")
        self._cuts[key] = self._new_cuts[key] = place

    def flush(self) -> None:
        """Write what is new to the cache file, in one transaction; a failure costs only time later."""
        if self._database is None or not (self._new_counts or self._new_cuts):
            return
        name = self.tokenizer.name
        try:
            with self._database.transaction():
                for key, count in self._new_counts.items():
                    self._database.rows(_KEEP_COUNT, (key, name, count))
                for (key, rule), place in self._new_cuts.items():
                    self._database.rows(_KEEP_CUT, (key, rule, *place))
                self._forget_oldest()
        except Unavailable as error:
            self._degrade(error)
        self._new_counts, self._new_cuts = {}, {}

    def close(self) -> None:
        """Write what is new and let go of the file."""
        self.flush()
        if self._database is not None:
            self._database.close()

    def _open(self, path: Path | None, inside: Path | None) -> Database | None:
        if path is None:
            return None
        try:
            database = Database(path, _MIGRATIONS, durable=False, inside=inside)
        except Unavailable as error:
            self._degrade(error)
            return None
        if database.was_damaged:
            message = f"{path.name} was damaged; it was set aside as {path.name}.damaged and begun anew."
            hint = f"Delete {path.name}.damaged when you have no use for it."
            self.findings += (Finding(code="cache_damaged", message=message, severity="info", hint=hint),)
        return database

    def _stored_count(self, key: bytes) -> int | None:
        sql = "SELECT token_count FROM workspace_files WHERE sha256 = ? AND tokenizer = ?"
        rows = self._rows(sql, (key, self.tokenizer.name))
        return int(rows[0][0]) if rows else None

    def _rows(self, sql: str, values: tuple[object, ...]) -> list[tuple[int, ...]]:
        if self._database is None:
            return []
        try:
            return self._database.rows(sql, values)
        except Unavailable as error:
            self._degrade(error)
            return []

    def _forget_oldest(self) -> None:
        """Keep the cache from growing with every edit ever made."""
        assert self._database is not None
        for table in ("workspace_files", "cuts"):
            self._database.rows(
                f"DELETE FROM {table} WHERE id <= (SELECT max(id) FROM {table}) - {_KEEP_ROWS}"  # noqa: S608 - both are constants here
            )

    def _degrade(self, error: Unavailable) -> None:
        """Go on without the file, and say so once."""
        self._database = None
        self.findings += (
            Finding(code="cache_unavailable", message=error.message, severity="info", hint=error.hint),
        )


def _digest(text: str) -> bytes:
    return sha256(text.encode("utf-8", "surrogatepass")).digest()
