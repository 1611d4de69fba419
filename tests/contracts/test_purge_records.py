"""What is left to do for whoever purged, which is not the same for a file and for a server."""

from carrel.records import Records
from carrel.records.postgres import PostgresRecords


def test_a_server_asks_its_owner_to_write_its_disk_anew_and_a_file_is_written_anew_at_once(
    records: Records,
) -> None:
    asks = "VACUUM FULL" if isinstance(records, PostgresRecords) else ""
    told = records.scrub()
    assert asks in told
    assert bool(told) == bool(asks)
