"""Token counts by content: the table `workspace_files`, and the places where texts were cut.

A count belongs to (digest of the text, tokenizer): neither an edit nor a change of model leaves a stale one.
"""

from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

from carrel.findings import Finding
from carrel.records.cachefile import CacheFile, Statement
from carrel.tokens import Tokenizer

_KEEP_ROWS = 50_000
_KEEP_HERE = 5_000
"""How many counts are in memory at most, about 1 MB: a server that runs for months counts ever new texts."""

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
        self._counts: dict[bytes, int] = {}
        self._cuts: dict[tuple[bytes, str], Place] = {}
        self._new_counts: dict[bytes, int] = {}
        self._new_cuts: dict[tuple[bytes, str], Place] = {}
        self._cache = CacheFile(path, _MIGRATIONS, inside=inside)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What is wrong with the cache file."""
        return self._cache.findings

    def count(self, text: str) -> int:
        """Return the tokens of a text, from the cache when this text was ever counted."""
        if not text:
            return 0
        key = _digest(text)
        known = self._counts.get(key)
        if known is not None:
            return known
        known = self._stored_count(key)
        if known is None:
            known = self._new_counts[key] = len(self.tokenizer.encode(text))
        return self._keep(key, known)

    def count_once(self, text: str) -> int:
        """Return the tokens of a text that is made for one call: to look it up would take as long."""
        key = _digest(text)
        known = self._counts.get(key)
        return self._keep(key, len(self.tokenizer.encode(text))) if known is None else known

    def place(self, text: str, rule: str) -> Place | None:
        """Return where this text was cut by this rule before."""
        key = (_digest(text), f"{self.tokenizer.name} {rule}")
        known = self._cuts.get(key)
        if known is None:
            rows = self._cache.rows("SELECT start, stop, marked FROM cuts WHERE sha256 = ? AND rule = ?", key)
            known = (rows[0][0], rows[0][1], rows[0][2]) if rows else None
        return known

    def keep_place(self, text: str, rule: str, place: Place) -> None:
        """Remember where this text was cut by this rule."""
        key = (_digest(text), f"{self.tokenizer.name} {rule}")
        if len(self._cuts) >= _KEEP_HERE:
            self._cuts = {}
        self._cuts[key] = self._new_cuts[key] = place

    def flush(self) -> None:
        """Write what is new to the cache file, in one transaction; a failure costs only time later."""
        if not (self._new_counts or self._new_cuts):
            return
        if self._cache.is_usable:
            self._cache.keep(self._statements())
        self._new_counts, self._new_cuts = {}, {}

    def close(self) -> None:
        """Write what is new and let go of the file."""
        self.flush()
        self._cache.close()

    def _keep(self, key: bytes, count: int) -> int:
        """Keep a count; where there are too many, all others go: that is rare, and needs no order of use."""
        if len(self._counts) >= _KEEP_HERE:
            self._counts = {}
        self._counts[key] = count
        return count

    def _stored_count(self, key: bytes) -> int | None:
        sql = "SELECT token_count FROM workspace_files WHERE sha256 = ? AND tokenizer = ?"
        rows = self._cache.rows(sql, (key, self.tokenizer.name))
        return int(rows[0][0]) if rows else None

    def _statements(self) -> Iterator[Statement]:
        """Yield what is new, and then what the cache lets go, so that it does not grow with every edit."""
        for key, count in self._new_counts.items():
            yield _KEEP_COUNT, (key, self.tokenizer.name, count)
        for (key, rule), place in self._new_cuts.items():
            yield _KEEP_CUT, (key, rule, *place)
        for table in ("workspace_files", "cuts"):
            oldest = f"SELECT max(id) FROM {table}"  # noqa: S608 - a constant
            yield f"DELETE FROM {table} WHERE id <= ({oldest}) - {_KEEP_ROWS}", ()  # noqa: S608 - as above


def _digest(text: str) -> bytes:
    return sha256(text.encode("utf-8", "surrogatepass")).digest()
