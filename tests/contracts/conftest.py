"""The Records that are held to their contract, each once."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from carrel.records import Records
from carrel.records.postgres import PostgresRecords
from carrel.records.sqlite import SqliteRecords

RECORDS: dict[str, Callable[[Path, pytest.FixtureRequest], Records]] = {
    "postgres": lambda _, request: PostgresRecords(request.getfixturevalue("tenant"), "desk"),
    "sqlite-memory": lambda _, __: SqliteRecords(),
    "sqlite-file": lambda root, _: SqliteRecords(root / "state" / "records.db"),
}


@pytest.fixture(params=sorted(RECORDS))
def records(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Records]:
    opened = RECORDS[request.param](tmp_path, request)
    yield opened
    opened.close()
