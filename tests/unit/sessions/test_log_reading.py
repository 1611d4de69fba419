"""A log is read in pieces, by many at once, and never believed blindly: what does not change with how it is read."""

import os
from pathlib import Path

import pytest
from msgspec.structs import replace

from carrel.files import Part, Stale, Unreadable
from carrel.files.local import LocalFiles
from carrel.sessions.log import Log
from carrel.sessions.offsets import Offsets
from carrel.sessions.placed import Added, NewerLog
from carrel.sessions.transcript import Compaction, Entry, Header, Title, encode
from carrel.sessions.turn import BadMessage, MessageTooLarge
from carrel.testing import EphemeralFiles

PATH = "agents/kate/sessions/s.log.jsonl"
HEADER = Header(id="s", timestamp="2026-04-24T12:00:00.000Z", agent_id="kate")
ALL = 10**9


def entry(number: int, text: str = "hi") -> Entry:
    return Entry(timestamp=HEADER.timestamp, role="user", content=text, message_id=f"m{number}")


def log_of(files: EphemeralFiles | LocalFiles, offsets: Offsets | None = None) -> Log:
    return Log(files, PATH, offsets or Offsets(None))


def given(*lines: bytes) -> EphemeralFiles:
    return EphemeralFiles({PATH: b"".join(lines)})


def ids(log: Log) -> list[str]:
    return [placed.entry.message_id for placed in log.entries(1, ALL)]


def in_chunks(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    for module in ("log", "stretch", "placed"):
        monkeypatch.setattr(f"carrel.sessions.{module}.CHUNK", size)


@pytest.mark.parametrize("size", [1, 7, 64, 100, 1_000])
def test_a_log_is_the_same_however_few_bytes_are_read_at_once(
    monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    in_chunks(monkeypatch, size)
    files = given(encode(HEADER), *(encode(entry(n, "x" * n * 9)) for n in range(1, 8)))
    log = log_of(files)
    assert ids(log) == [f"m{n}" for n in range(1, 8)]
    assert (log.known.damaged, log.unfinished) == (0, 0)
    assert [placed.number for placed in log.entries(3, 5)] == [3, 4, 5]
    assert b"".join(log.lines(2, 3)) == encode(entry(2, "x" * 18)) + encode(entry(3, "x" * 27))


@pytest.mark.parametrize("size", [32, 50, 150])
def test_what_stands_around_a_hole_is_served_however_it_is_read(
    monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    in_chunks(monkeypatch, size)
    a, b, c = (encode(entry(n)).rstrip() for n in (1, 2, 3))
    files = given(encode(HEADER), a, b"\0" * 400, b, b"\n", c, b"\n")
    log = log_of(files)
    assert ids(log) == ["m1", "m2", "m3"]
    assert log.known.damaged == 1
    assert log.add([entry(4)], HEADER) == [Added(4, is_new=True)]
    assert ids(log_of(files)) == ["m1", "m2", "m3", "m4"]


def test_the_end_of_a_line_that_is_too_long_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    in_chunks(monkeypatch, 200)
    for module in ("stretch", "transcript"):
        monkeypatch.setattr(f"carrel.sessions.{module}.LINE_LIMIT", 500)
    last = encode(entry(1))
    files = given(encode(HEADER), b"x" * 2_000, last, encode(entry(2)))
    log = log_of(files)
    assert ids(log) == ["m1", "m2"]
    assert log.known.damaged == 1
    assert log_of(given(encode(HEADER), b"x" * 2_000)).look().entries == 0


def test_an_id_that_stands_there_twice_is_one_entry_and_counted() -> None:
    log = log_of(given(encode(HEADER), encode(entry(1)), encode(entry(1, "again")), encode(entry(2))))
    assert [placed.entry.content for placed in log.entries(1, ALL)] == ["hi", "hi"]
    assert log.known.duplicates == 1
    assert log.number_of("m2") == 2
    assert log.number_of("m9") is None
    assert log.number_of("") is None


def test_what_adding_would_refuse_can_be_asked_before(monkeypatch: pytest.MonkeyPatch) -> None:
    files = given(encode(HEADER), encode(entry(1)))
    log = log_of(files)
    log.refuse([entry(1), Title(title="t")])
    with pytest.raises(BadMessage):
        log.refuse([Entry(role="user", content=[{"a": object()}], message_id="m2")])
    monkeypatch.setattr("carrel.sessions.placed.ENTRY_LIMIT", 300)
    log.refuse([entry(2, "x" * 50)])
    with pytest.raises(MessageTooLarge):
        log.refuse([entry(2, "x" * 300)])
    newer = log_of(given(encode(Header(version=99, id="s"))))
    with pytest.raises(NewerLog):
        newer.refuse([])
    assert ids(log) == ["m1"]


def test_every_line_that_a_window_may_have_is_known_as_ours() -> None:
    compaction = Compaction(summary="s", through=1, message_id="m1")
    title = encode(Title(title="t"))
    files = given(encode(HEADER), encode(entry(1)), title, encode(compaction), encode(entry(2)), b"torn {")
    own = log_of(files).own_lines()
    assert own == {encode(HEADER), encode(entry(1)), encode(compaction), encode(entry(2))}
    assert log_of(EphemeralFiles()).own_lines() == set()


def test_without_a_compaction_there_is_none_to_tell_of() -> None:
    assert log_of(given(encode(HEADER), encode(entry(1)))).compaction() is None
    assert log_of(EphemeralFiles()).compaction() is None


def test_a_log_that_others_add_to_without_end_is_told_as_busy() -> None:
    class Busy(EphemeralFiles):
        turns = 0

        def append(self, path: str, data: bytes, *, at: int | None = None) -> int:
            self.turns += 1
            super().append(path, encode(entry(100 + self.turns)))
            return super().append(path, data, at=at)

    files = Busy({PATH: encode(HEADER)})
    with pytest.raises(Stale):
        log_of(files).add([entry(1)], HEADER)
    assert "m1" not in ids(log_of(files))


def test_what_one_process_knew_serves_the_next_unless_it_is_gone(tmp_path: Path) -> None:
    files = LocalFiles(tmp_path)
    cache = tmp_path / "cache.db"
    log = log_of(files, offsets := Offsets(cache))
    log.add([entry(1), entry(2)], HEADER)
    assert log.version == 0
    log.flush()
    kept = log.version
    assert kept > 0
    next_one = log_of(files, other := Offsets(cache))
    assert next_one.look().entries == 2
    assert next_one.version == kept
    assert next_one.number_of("m2") == 2
    other.forget(PATH)
    assert log.look().entries == 2
    assert log.number_of("m1") == 1
    assert ids(log) == ["m1", "m2"]
    for each in (offsets, other):
        each.close()
        each.close()


def test_a_hole_that_is_larger_than_all_that_is_passed_over_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    in_chunks(monkeypatch, 100)
    monkeypatch.setattr("carrel.sessions.stretch.HOLES_LIMIT", 1_000)
    assert log_of(given(encode(HEADER), b"\0" * 900, encode(entry(1)))).look().entries == 1
    with pytest.raises(Unreadable) as caught:
        log_of(given(encode(HEADER), b"\0" * 1_500, encode(entry(1)))).look()
    assert caught.value.reason == "too_large"


def test_of_a_damaged_line_only_what_is_ours_is_served() -> None:
    line = b'torn {"type":"other","a":1} ' + encode(entry(1)).rstrip() + b" torn\n"
    log = log_of(given(encode(HEADER), line, encode(entry(2))))
    assert ids(log) == ["m1", "m2"]
    assert log.known.damaged == 1


def test_a_log_that_nobody_changed_is_not_begun_anew(tmp_path: Path) -> None:
    log = log_of(LocalFiles(tmp_path))
    log.add([entry(1), entry(2)], HEADER)
    assert ids(log) == ["m1", "m2"]
    began = log.began
    assert ids(log) == ["m1", "m2"]
    log.add([entry(3)], HEADER)
    log.look()
    assert ids(log) == ["m1", "m2", "m3"]
    assert log.began == began


def test_an_edit_far_before_a_torn_end_is_noticed_though_no_byte_came_or_went(tmp_path: Path) -> None:
    place = tmp_path / PATH
    place.parent.mkdir(parents=True)
    rest = encode(entry(2, "x" * 2_000)) + b'{"type":"entry","ro'
    place.write_bytes(encode(HEADER) + encode(entry(1)) + rest)
    log = log_of(LocalFiles(tmp_path))
    assert ids(log) == ["m1", "m2"]
    assert log.unfinished > 0
    place.write_bytes(encode(HEADER) + encode(entry(9)) + rest)
    later = place.stat().st_mtime_ns + 1_000_000_000
    os.utime(place, ns=(later, later))
    log.look()
    assert ids(log) == ["m9", "m2"]
    assert log.number_of("m9") == 1
    assert log.number_of("m1") is None


class Counted(EphemeralFiles):
    """Tells how many bytes of files were read in parts."""

    read_bytes = 0

    def part(self, path: str, start: int, size: int) -> Part | None:
        found = super().part(path, start, size)
        self.read_bytes += len(found.data) if found else 0
        return found


def test_a_log_is_read_once_and_what_is_added_here_is_not_read_back() -> None:
    data = b"".join((encode(HEADER), *(encode(entry(n, "x" * 2_000)) for n in range(1, 6))))
    files = Counted({PATH: data})
    log = log_of(files)
    log.look()
    assert files.read_bytes == len(data)
    log.look()
    assert files.read_bytes == len(data)
    log.add([entry(6, "x" * 2_000), entry(7), entry(8)], HEADER)
    assert files.read_bytes == len(data)
    assert [placed.entry for placed in log.entries(6, 8)] == [entry(6, "x" * 2_000), entry(7), entry(8)]
    assert files.read_bytes < 2 * len(data)


@pytest.mark.parametrize("sizes", [(1,), (2_000,), (1, 2_000), (2_000, 1), (1, 1, 1), (500, 500)])
def test_what_another_adds_is_read_on_from_what_was_added_here(sizes: tuple[int, ...]) -> None:
    files = Counted({PATH: encode(HEADER) + encode(entry(100, "x" * 5_000))})
    log, other = log_of(files), log_of(files)
    log.look()
    log.add([entry(n, "x" * size) for n, size in enumerate(sizes)], HEADER)
    other.add([entry(101)], HEADER)
    began, files.read_bytes = log.began, 0
    assert log.look().entries == len(sizes) + 2
    assert log.began == began
    assert files.read_bytes < 2_000


def test_what_another_process_has_read_is_not_read_again(tmp_path: Path) -> None:
    """Its cache was begun anew meanwhile, and is believed as it is now."""
    data = b"".join((encode(HEADER), *(encode(entry(n, "x" * 2_000)) for n in range(1, 6))))
    files, cache = Counted({PATH: data}), tmp_path / "cache.db"
    first, second = log_of(files, mine := Offsets(cache)), log_of(files, theirs := Offsets(cache))
    first.look()
    first.flush()
    theirs.forget(PATH)
    second.look()
    second.flush()
    files.read_bytes = 0
    assert first.look().entries == 5
    assert files.read_bytes < len(data) / 2
    assert first.version == second.version
    mine.close()
    theirs.close()


def test_entries_that_are_kept_and_those_that_are_not_yet_are_one_row(tmp_path: Path) -> None:
    log = log_of(LocalFiles(tmp_path), offsets := Offsets(tmp_path / "cache.db"))
    log.add([entry(n) for n in range(1, 6)], HEADER)
    log.flush()
    log.add([entry(6), entry(7)], HEADER)
    for first, last in ((1, 1), (2, 4), (5, 5), (5, 6), (6, 6), (7, 7), (1, 7), (7, 9), (8, 9)):
        numbers = list(range(first, min(last, 7) + 1))
        assert [placed.number for placed in log.entries(first, last)] == numbers
        assert list(log.lines(first, last)) == [encode(entry(n)) for n in numbers]
    offsets.close()


def test_a_log_that_took_the_place_of_another_is_read_on_from_where_it_ends(tmp_path: Path) -> None:
    place = tmp_path / PATH
    place.parent.mkdir(parents=True)
    place.write_bytes(encode(HEADER) + encode(entry(1, "x" * 2_000)))
    log = log_of(LocalFiles(tmp_path))
    assert ids(log) == ["m1"]
    place.write_bytes(encode(HEADER) + encode(entry(2)))
    assert ids(log) == ["m2"]
    began = log.began
    for number in (3, 4, 5):
        with place.open("ab") as file:
            file.write(encode(entry(number, "x" * 700)))
        assert ids(log) == [f"m{n}" for n in range(2, number + 1)]
    assert log.began == began


@pytest.mark.parametrize("size", [32, 50, 150, 4_000])
def test_where_a_log_with_a_hole_ends_is_known_and_nothing_of_it_is_read_again(
    monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    in_chunks(monkeypatch, size)
    a, b, c = (encode(entry(n)) for n in (1, 2, 3))
    data = encode(HEADER) + a.rstrip() + bytes(400) + b.rstrip() + bytes(300) + b"\n" + c
    files = Counted({PATH: data})
    log = log_of(files)
    assert log.look().size == files.read_bytes == len(data)
    assert list(log.lines(1, 3)) == [a, b, c]
    began, before = log.began, files.read_bytes
    log.look()
    assert (log.began, files.read_bytes) == (began, before)
    log.add([entry(4)], HEADER)
    assert list(log.lines(1, 4)) == [a, b, c, encode(entry(4))]
    assert log.began == began


def test_of_a_hole_no_more_is_read_than_two_of_the_longest_lines_have() -> None:
    class Endless(Counted):
        def part(self, path: str, start: int, size: int) -> Part | None:
            found = super().part(path, min(start, 0), 0)
            self.read_bytes += size
            return replace(found, data=bytes(size), size=1 << 40) if found else None

    files = Endless({PATH: b"x"})
    with pytest.raises(Unreadable):
        log_of(files).look()
    assert 128 << 20 < files.read_bytes < 140 << 20
