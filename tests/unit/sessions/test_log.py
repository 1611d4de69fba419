"""One session's log: whatever happened to the file, what is whole is served and the session goes on."""

import os
import tracemalloc
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace

from carrel.errors import CarrelError
from carrel.files import FileStore, Part, Unreadable
from carrel.files.local import LocalFiles
from carrel.sessions.log import Log
from carrel.sessions.offsets import Offsets
from carrel.sessions.placed import Added, NewerLog
from carrel.sessions.transcript import Compaction, Entry, Header, Summary, Title, encode
from carrel.testing import EphemeralFiles

PATH = "agents/kate/sessions/s.log.jsonl"
NOW = "2026-04-24T12:00:00.000Z"
HEADER = Header(id="s", timestamp=NOW, agent_id="kate", source_plugin="telegram")
ALL = 10**9


def entry(number: int, text: str = "") -> Entry:
    return Entry(
        timestamp=NOW,
        role="user",
        content=text or f"message {number} né 🐙",
        message_id=f"m{number}",
        sender_id="ana",
    )


def lines(*numbers: int) -> list[bytes]:
    return [encode(HEADER), *(encode(entry(number)) for number in numbers)]


def log_of(files: FileStore, offsets: Offsets | None = None) -> Log:
    return Log(files, PATH, offsets or Offsets(None))


def given(data: bytes | Sequence[bytes]) -> EphemeralFiles:
    return EphemeralFiles({PATH: data if isinstance(data, bytes) else b"".join(data)})


def data_of(files: FileStore) -> bytes:
    content = files.read(PATH, limit=1 << 30)
    assert content is not None
    return content.data


def ids(log: Log) -> list[str]:
    found = list(log.entries(1, ALL))
    assert [each.number for each in found] == list(range(1, len(found) + 1))
    return [each.entry.message_id for each in found]


def counts(log: Log) -> dict[str, int]:
    known = log.look()
    found = {"damaged": known.damaged, "duplicates": known.duplicates, "foreign": known.foreign}
    return {key: count for key, count in (found | {"unfinished": log.unfinished}).items() if count}


def add(log: Log, *numbers: int) -> list[Added]:
    return log.add([entry(number) for number in numbers], HEADER)


# ------------------------------------------------------------------------------------------------ adding


def test_a_new_log_is_a_header_and_the_entries_in_order() -> None:
    files = EphemeralFiles()
    assert add(log_of(files), 1, 2) == [Added(1, is_new=True), Added(2, is_new=True)]
    assert data_of(files) == b"".join(lines(1, 2))
    assert ids(log_of(files)) == ["m1", "m2"]


def test_a_log_that_has_nothing_but_its_header_gets_no_second_one() -> None:
    files = given([encode(HEADER)])
    add(log_of(files), 1)
    assert data_of(files) == b"".join(lines(1))


def test_a_log_that_has_entries_and_no_header_gets_none() -> None:
    files = given([encode(entry(1))])
    add(log_of(files), 2)
    assert data_of(files) == b"".join(lines(1, 2)[1:])


def test_an_id_that_is_there_is_not_added_again() -> None:
    files = EphemeralFiles()
    log = log_of(files)
    assert add(log, 1, 2, 1) == [Added(1, is_new=True), Added(2, is_new=True), Added(1, is_new=False)]
    assert add(log, 2, 3) == [Added(2, is_new=False), Added(3, is_new=True)]
    assert add(log_of(files), 3, 1) == [Added(3, is_new=False), Added(1, is_new=False)]
    assert data_of(files) == b"".join(lines(1, 2, 3))


def test_what_was_said_first_under_an_id_stays() -> None:
    files = EphemeralFiles()
    log = log_of(files)
    add(log, 1)
    log.add([entry(1, "another text")], HEADER)
    assert [each.entry for each in log.entries(1, ALL)] == [entry(1)]


def test_entries_without_an_id_are_all_kept() -> None:
    nameless = replace(entry(1), message_id="")
    files = given(encode(HEADER) + 3 * encode(nameless))
    log = log_of(files)
    add(log, 2)
    assert ids(log) == ids(log_of(files)) == ["", "", "", "m2"]
    assert counts(log) == {}


def test_two_logs_of_one_file_see_what_the_other_added() -> None:
    files = EphemeralFiles()
    one, other = log_of(files), log_of(files)
    add(one, 1)
    assert add(other, 2) == [Added(2, is_new=True)]
    assert add(one, 2, 3) == [Added(2, is_new=False), Added(3, is_new=True)]
    assert add(other, 4) == [Added(4, is_new=True)]
    assert ids(one) == ids(other) == ["m1", "m2", "m3", "m4"]
    assert data_of(files) == b"".join(lines(1, 2, 3, 4))


def test_nothing_to_add_makes_no_file() -> None:
    files = EphemeralFiles()
    assert log_of(files).add([], HEADER) == []
    assert files.list() == []


def test_a_log_by_the_hand_of_the_seed_is_served_and_continued() -> None:
    seed = (
        b'{"type":"session","version":1,"id":"0b7e","timestamp":"2026-04-24T08:00:00Z","agent_id":"kate","source_plugin":"telegram"}\n'
        b'{"type":"entry","timestamp":"2026-04-24T08:00:01Z","role":"user","content":"hello","message_id":"m0","source_plugin":"telegram","sender_id":"user123"}\n'
        b'{"type":"entry","timestamp":"2026-04-24T08:00:02Z","role":"assistant","content":"hello Luis","source_plugin":""}\n'
    )
    files = given(seed)
    log = log_of(files)
    assert [(each.entry.role, each.entry.content) for each in log.entries(1, ALL)] == [
        ("user", "hello"),
        ("assistant", "hello Luis"),
    ]
    assert add(log, 1) == [Added(3, is_new=True)]
    assert data_of(files) == seed + encode(entry(1))
    assert counts(log) == {}
    assert log.look().header is not None
    assert log.look().source == "telegram"


# ------------------------------------------------------------------------------------------------ torn tails


LAST = encode(
    Entry(timestamp=NOW, role="user", content=[{"type": "text", "text": "né 🐙"}], message_id="last")
)


@pytest.mark.parametrize("cut", range(1, len(LAST) - 1))
def test_a_line_torn_at_any_byte_is_reported_and_the_next_one_does_not_merge_with_it(cut: int) -> None:
    before = b"".join(lines(1, 2)) + LAST[:cut]
    files = given(before)
    log = log_of(files)
    assert ids(log) == ["m1", "m2"]
    assert counts(log) == {"unfinished": cut}
    assert add(log, 3) == [Added(3, is_new=True)]
    for each in (log, log_of(files)):
        assert ids(each) == ["m1", "m2", "m3"]
        assert counts(each) == {"damaged": 1}
    assert data_of(files) == before + b"\n" + encode(entry(3))


def test_a_message_whose_line_was_torn_at_any_byte_is_recorded_by_its_repetition_once() -> None:
    last = encode(entry(3))
    for cut in range(len(last)):
        files = given(b"".join(lines(1, 2)) + last[:cut])
        log = log_of(files)
        add(log, 3)
        add(log, 3, 4)
        for each in (log, log_of(files)):
            assert ids(each) == ["m1", "m2", "m3", "m4"], last[:cut]
        assert data_of(files).count(last.rstrip()) == 1, last[:cut]


def test_a_hole_without_end_is_not_read_to_its_end(tmp_path: Path) -> None:
    path = tmp_path / PATH
    path.parent.mkdir(parents=True)
    path.write_bytes(b"".join(lines(1)))
    with path.open("r+b") as file:
        file.truncate(1 << 40)
    log = log_of(LocalFiles(tmp_path))
    for _ in range(2):
        with pytest.raises(Unreadable) as refused:
            log.look()
        assert refused.value.reason == "too_large"
    assert path.stat().st_size == 1 << 40


@pytest.mark.parametrize("size", [100, 5_000_000, 30_000_000])
def test_what_stands_before_and_behind_a_hole_in_a_line_is_served(size: int) -> None:
    hole = b"\0" * size
    a, b, c, d = (encode(entry(number)).rstrip() for number in range(1, 5))
    files = given(b"".join((encode(HEADER), a, hole, b, hole, c, b"\n", d, b"\n")))
    log = log_of(files)
    assert ids(log) == ["m1", "m2", "m3", "m4"]
    assert counts(log) == {"damaged": 1}
    add(log, 5)
    assert ids(log) == ids(log_of(files)) == ["m1", "m2", "m3", "m4", "m5"]


@pytest.mark.parametrize("size", [100, 5_000_000])
def test_a_last_line_whose_newline_fell_to_a_hole_is_served(size: int) -> None:
    files = given(b"".join(lines(1, 2))[:-1] + b"\0" * size)
    log = log_of(files)
    assert ids(log) == ["m1", "m2"]
    add(log, 3)
    assert ids(log) == ids(log_of(files)) == ["m1", "m2", "m3"]


def test_a_hole_at_the_end_of_a_log_costs_little_memory(tmp_path: Path) -> None:
    """The file says that it has a terabyte; making it took no room at all."""
    path = tmp_path / PATH
    path.parent.mkdir(parents=True)
    path.write_bytes(b"".join(lines(1)))
    os.truncate(path, 1 << 40)
    log = log_of(LocalFiles(tmp_path))
    tracemalloc.start()
    with pytest.raises(Unreadable):
        log.look()
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 20_000_000


@pytest.mark.parametrize("before", [b"", b" ", b"\xef\xbb\xbf"])
def test_a_last_line_that_lacks_only_its_newline_is_whole_and_served(before: bytes) -> None:
    """As an editor leaves it that ends no file with a newline."""
    first, last = b"".join(lines(1)), encode(entry(2))
    files = given(first + before + last.rstrip())
    log = log_of(files)
    assert ids(log) == ["m1", "m2"]
    assert "damaged" not in counts(log)
    add(log, 3)
    assert ids(log) == ids(log_of(files)) == ["m1", "m2", "m3"]
    assert data_of(files) == first + before + last + encode(entry(3))


@pytest.mark.parametrize("cut", range(1, len(encode(HEADER))))
def test_a_header_torn_at_any_byte_costs_the_header_alone(cut: int) -> None:
    files = given(encode(HEADER)[:cut])
    log = log_of(files)
    assert add(log, 1) == [Added(1, is_new=True)]
    assert ids(log_of(files)) == ["m1"]
    assert log_of(files).look().header is not None


def test_a_torn_line_that_its_writer_completes_is_served() -> None:
    last = encode(entry(3))
    files = given(b"".join(lines(1, 2)) + last[:30])
    log = log_of(files)
    assert ids(log) == ["m1", "m2"]
    content = files.read(PATH)
    assert content is not None
    files.write(PATH, content.data + last[30:], expect=content.digest)
    assert ids(log) == ["m1", "m2", "m3"]
    assert counts(log) == {}


@pytest.mark.parametrize(
    ("last", "served"),
    [
        (encode(entry(2))[:-1] + encode(entry(3))[:-1], ["m1", "m2", "m3"]),
        (encode(entry(2))[:-1] + b"\x0e", ["m1", "m2"]),
        (b'torn"}' + encode(entry(2))[:-1], ["m1", "m2"]),
    ],
    ids=["grown together", "rubbish for a newline", "behind rubbish"],
)
def test_what_is_whole_in_a_last_line_is_served_though_it_lacks_its_newline(
    last: bytes, served: list[str]
) -> None:
    files = given(b"".join(lines(1)) + last)
    log = log_of(files)
    assert (ids(log), counts(log), log.unfinished) == (served, {"damaged": 1}, 0)
    add(log, 9)
    assert ids(log) == ids(log_of(files)) == [*served, "m9"]
    assert counts(log) == counts(log_of(files)) == {"damaged": 1}


@pytest.mark.parametrize(
    "last",
    [
        encode(entry(2))[:-1] + encode(entry(3))[:40],
        b'{"type":"entry","parts":[' + encode(entry(2))[:-1],
    ],
    ids=["another was begun behind it", "it stands within another"],
)
def test_of_a_last_line_that_may_be_on_its_way_nothing_is_served(last: bytes) -> None:
    log = log_of(given(b"".join(lines(1)) + last))
    assert (ids(log), counts(log)) == (["m1"], {"unfinished": len(last)})


# ------------------------------------------------------------------------------------------------ damage in the middle


A, B, C = (encode(entry(number)) for number in (1, 2, 3))
HEAD = encode(HEADER)
DEEP = b'{"type":"entry","role":"user","content":' + b"[" * 100_000 + b"]" * 100_000 + b"}\n"
DAMAGE: dict[str, tuple[bytes, list[str], dict[str, int]]] = {
    "nothing": (HEAD + A + B, ["m1", "m2"], {}),
    "an empty file": (b"", [], {}),
    "only a newline": (b"\n", [], {}),
    "no header": (A + B, ["m1", "m2"], {}),
    "a header later": (A + HEAD + B, ["m1", "m2"], {}),
    "lines in reverse": (B + A + HEAD, ["m2", "m1"], {}),
    "empty lines": (b"\n" + HEAD + b"\n\n" + A + b"  \n" + B, ["m1", "m2"], {}),
    "CRLF": (b"".join(line[:-1] + b"\r\n" for line in (HEAD, A, B)), ["m1", "m2"], {}),
    "a BOM": (b"\xef\xbb\xbf" + HEAD + A + B, ["m1", "m2"], {}),
    "a torn line in the middle": (HEAD + A[:40] + b"\n" + B, ["m2"], {"damaged": 1}),
    "a line torn inside a character": (HEAD + A[: A.index(b"\xc3") + 1] + b"\n" + B, ["m2"], {"damaged": 1}),
    "a torn line spliced with the next": (HEAD + A[:40] + B + C, ["m2", "m3"], {"damaged": 1}),
    "a line without its newline": (HEAD + A[:-1] + B + C, ["m1", "m2", "m3"], {"damaged": 1}),
    "CR for newlines": ((HEAD + A + B).replace(b"\n", b"\r") + b"\n", ["m1", "m2"], {"damaged": 1}),
    "spliced parts": (HEAD + A[:40] + LAST + B, ["last", "m2"], {"damaged": 1}),
    "NULs for a line": (HEAD + A + b"\0" * 4096 + b"\n" + B, ["m1", "m2"], {"damaged": 1}),
    "NULs before a line": (HEAD + A + b"\0" * 4096 + B + C, ["m1", "m2", "m3"], {"damaged": 1}),
    "NULs inside a line": (HEAD + A[:40] + b"\0" * 512 + A[60:] + B, ["m2"], {"damaged": 1}),
    "NULs over a newline": (HEAD + A[:60] + b"\0" * 90 + B[30:] + C, ["m3"], {"damaged": 1}),
    "NULs at the end": (HEAD + A + b"\0" * 4096, ["m1"], {"unfinished": 4096}),
    "a duplicated line": (HEAD + A + A + B, ["m1", "m2"], {"duplicates": 1}),
    "everything twice": (HEAD + A + B + A + B, ["m1", "m2"], {"duplicates": 2}),
    "an unknown type": (HEAD + b'{"type":"compact_boundary","uuid":"u"}\n' + A, ["m1"], {"foreign": 1}),
    "JSON of another program": (HEAD + b'{"role":"user","content":"x"}\n' + A, ["m1"], {"foreign": 1}),
    "a type that is no text": (HEAD + b'{"type":["entry"]}\n{"type":{}}\n' + A, ["m1"], {"foreign": 2}),
    "plain text": (HEAD + b"what is this?\n" + A, ["m1"], {"damaged": 1}),
    "a conflict of git": (
        HEAD + b"<<<<<<< HEAD\n" + A + b"=======\n" + B + b">>>>>>> main\n", ["m1", "m2"], {"damaged": 3},
    ),
    "a list, a number, a text, null": (HEAD + b'[1]\n5\n"x"\nnull\n' + A, ["m1"], {"damaged": 4}),
    "bytes that are no UTF-8": (HEAD + b"\xff\xfe\x00x\n" + A, ["m1"], {"damaged": 1}),
    "a line of 5 MB of another": (
        HEAD + A + b'{"type":"blob","data":"' + b"x" * 5_000_000 + b'"}\n' + B, ["m1", "m2"], {"foreign": 1},
    ),
    "5 MB of plain text": (HEAD + A + b"x" * 5_000_000 + b"\n" + B, ["m1", "m2"], {"damaged": 1}),
    "an entry of 5 MB": (HEAD + encode(entry(1, "x" * 5_000_000)) + B, ["m1", "m2"], {}),
    "a null message_id": (
        HEAD + b'{"type":"entry","role":"user","content":"x","message_id":null}\n' + A, ["", "m1"], {},
    ),
    "a role that does not exist": (HEAD + A.replace(b'"user"', b'"wizard"') + B, ["m2"], {"damaged": 1}),
    "a content that is a number": (HEAD + b'{"type":"entry","role":"user","content":5}\n' + A, ["m1"], {"damaged": 1}),
    "a message_id that is a number": (
        HEAD + b'{"type":"entry","role":"user","content":"x","message_id":5}\n' + A, ["m1"], {"damaged": 1},
    ),
    "a header of wrong types": (b'{"type":"session","version":"one","id":7}\n' + A, ["m1"], {"damaged": 1}),
    "JSON nested too deep": (HEAD + DEEP + A, ["m1"], {"damaged": 1}),
    "a title without one": (HEAD + b'{"type":"title"}\n' + A, ["m1"], {"damaged": 1}),
    "a compaction of nothing": (HEAD + b'{"type":"compaction","summary":"s","through":99}\n' + A, ["m1"], {}),
    "a lone surrogate": (HEAD + A.replace("né".encode(), b"\\ud800") + B, ["m1", "m2"], {}),
    "surrogates for an id": (HEAD + A.replace(b'"m1"', b'"\\ud800"') + B, ["\ud800", "m2"], {}),
    "surrogates for a title": (HEAD + A + b'{"type":"title","title":"\\ud800"}\n' + B, ["m1", "m2"], {}),
    "surrogates in the header": (HEAD.replace(b"telegram", b"\\udc00") + A + B, ["m1", "m2"], {}),
}  # fmt: skip


@pytest.mark.parametrize("case", DAMAGE)
def test_what_is_whole_is_served_the_rest_is_counted_and_the_session_goes_on(
    case: str, tmp_path: Path
) -> None:
    data, expected, expected_counts = DAMAGE[case]
    files = given(data)
    log = log_of(files)
    assert ids(log) == expected
    assert counts(log) == expected_counts
    assert add(log, 8, 9) == [Added(len(expected) + n, is_new=True) for n in (1, 2)]
    cache = tmp_path / "cache.db"
    for _ in range(3):  # with a cache of its own, then with what that cache kept
        offsets = Offsets(cache)
        again = log_of(files, offsets)
        assert ids(again) == [*expected, "m8", "m9"]
        assert add(again, 8, 9) == [Added(len(expected) + n, is_new=False) for n in (1, 2)]
        again.flush()
        offsets.close()
    assert data_of(files).startswith(data)
    assert data_of(files).endswith(b"".join(lines(8, 9)[1:]))


def test_a_log_that_is_a_directory_or_a_pipe_is_named_and_left_alone(tmp_path: Path) -> None:
    for make, reason in ((Path.mkdir, "directory"), (os.mkfifo, "special_file")):
        root = tmp_path / reason
        (root / PATH).parent.mkdir(parents=True)
        make(root / PATH)
        log = log_of(LocalFiles(root))
        for ask in (log.look, lambda log=log: add(log, 1), lambda log=log: ids(log)):
            with pytest.raises(Unreadable) as caught:
                ask()
            assert caught.value.reason == reason
            assert caught.value.hint


@pytest.mark.parametrize("ending", [b"", b"\n" + A], ids=["at the end", "in the middle"])
def test_a_line_longer_than_any_message_is_passed_over(
    ending: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("stretch", "transcript"):  # the real limit would only take longer
        monkeypatch.setattr(f"carrel.sessions.{module}.LINE_LIMIT", 1024 * 1024)
    files = given(HEAD + B + b"x" * 9_000_000 + ending)
    log = log_of(files)
    expected = ["m2", "m1"] if ending else ["m2"]
    assert ids(log) == expected
    assert counts(log)
    add(log, 3)
    assert ids(log) == ids(log_of(files)) == [*expected, "m3"]


# ------------------------------------------------------------------------------------------------ another file in its place


def replaced(files: FileStore, data: bytes) -> None:
    content = files.read(PATH)
    assert content is not None
    files.write(PATH, data, expect=content.digest)


def in_place(files: FileStore, data: bytes) -> None:
    assert isinstance(files, LocalFiles)
    place = files.root / PATH
    place.write_bytes(data)  # the same inode, as most editors write
    later = place.stat().st_mtime_ns + 1_000_000_000  # nobody is so quick that a clock does not see it
    os.utime(place, ns=(later, later))


CHANGES: dict[str, Callable[[FileStore, bytes], None]] = {"replaced": replaced, "in place": in_place}
EDITS: dict[str, tuple[bytes, list[str]]] = {
    "shorter": (b"".join(lines(1, 2)), ["m1", "m2"]),
    "longer": (b"".join(lines(1, 2, 30, 4, 5, 6, 7)), ["m1", "m2", "m30", "m4", "m5", "m6", "m7"]),
    "another": (b"".join(lines(*range(11, 25))), [f"m{number}" for number in range(11, 25)]),
    "a message taken out": (b"".join(lines(1, 3, 4, 5)), ["m1", "m3", "m4", "m5"]),
    "a message put in": (b"".join(lines(1, 2, 77, 3, 4, 5)), ["m1", "m2", "m77", "m3", "m4", "m5"]),
    "two lines in each other's place": (b"".join(lines(1, 4, 3, 2, 5)), ["m1", "m4", "m3", "m2", "m5"]),
    "empty": (b"", []),
}


@pytest.mark.parametrize("edit", EDITS)
@pytest.mark.parametrize("change", CHANGES)
def test_a_log_that_somebody_edited_while_it_was_open_is_read_anew(
    tmp_path: Path, change: str, edit: str
) -> None:
    files = LocalFiles(tmp_path)
    log = log_of(files)
    add(log, 1, 2, 3, 4, 5)
    assert len(ids(log)) == 5
    data, expected = EDITS[edit]
    CHANGES[change](files, data)
    assert ids(log) == expected
    assert counts(log) == {}
    new = [number for number in (2, 3, 40) if f"m{number}" not in expected]
    add(log, 2, 3, 40)
    assert ids(log) == ids(log_of(files)) == [*expected, *(f"m{number}" for number in new)]


@pytest.mark.parametrize("edit", EDITS)
def test_an_edited_log_is_added_to_even_if_nobody_looked_at_it_first(tmp_path: Path, edit: str) -> None:
    files = LocalFiles(tmp_path)
    log = log_of(files)
    add(log, 1, 2, 3, 4, 5)
    data, expected = EDITS[edit]
    replaced(files, data)
    add(log, 2, 3, 40)
    assert ids(log_of(files)) == [*expected, *(f"m{n}" for n in (2, 3, 40) if f"m{n}" not in expected)]


@pytest.mark.parametrize("edit", EDITS)
def test_nothing_is_called_recorded_that_is_not_there_any_more(tmp_path: Path, edit: str) -> None:
    """A sender who repeats a message must not be told that it is safe because it once was."""
    files = LocalFiles(tmp_path)
    log = log_of(files)
    add(log, 1, 2, 3, 4, 5)
    data, expected = EDITS[edit]
    replaced(files, data)
    assert [added.is_new for added in add(log, 2, 3)] == [name not in expected for name in ("m2", "m3")]
    found = ids(log_of(files))
    assert {"m2", "m3"} <= set(found)
    assert len(found) == len(set(found))


def test_a_store_that_knows_files_by_path_alone_sees_the_edit_too() -> None:
    files = EphemeralFiles()
    log = log_of(files)
    add(log, 1, 2, 3)
    assert len(ids(log)) == 3
    replaced(files, b"".join(lines(*range(11, 25))))
    assert ids(log) == [f"m{number}" for number in range(11, 25)]
    add(log, 1)
    assert ids(log_of(files))[-1] == "m1"


@pytest.mark.parametrize("is_grown", [False, True], ids=["as it was", "grown"])
def test_lines_that_changed_places_behind_a_cache_are_all_served(tmp_path: Path, *, is_grown: bool) -> None:
    """The size is the same, and so is the end; only the middle is not what it was."""
    long, short = encode(entry(2, "a long message " * 20)), encode(entry(3))
    tail = [encode(entry(number)) for number in range(10, 20)]
    files = given([HEAD, A, long, short, *tail])
    offsets = Offsets(tmp_path / "cache.db")
    log = log_of(files, offsets)
    before = ids(log)
    log.flush()
    replaced(files, b"".join([HEAD, A, short, long, *tail]))
    if is_grown:
        add(log_of(files), 99)
        before.append("m99")
    again = log_of(files, offsets)
    assert sorted(ids(again)) == sorted(before)
    assert sorted(ids(again)) == sorted(before)
    offsets.close()


def test_a_log_that_was_deleted_begins_again_with_a_header() -> None:
    files = EphemeralFiles()
    log = log_of(files)
    add(log, 1, 2)
    content = files.read(PATH)
    assert content is not None
    files.remove(PATH, expect=content.digest)
    assert add(log, 2) == [Added(1, is_new=True)]
    assert ids(log) == ["m2"]
    assert data_of(files) == b"".join(lines(2))


def test_a_cache_that_is_emptied_while_a_log_is_read_makes_nothing_up(tmp_path: Path) -> None:
    class Meddled(EphemeralFiles):
        act: Callable[[], object] | None = None

        def part(self, path: str, start: int, size: int) -> Part | None:
            if self.act is not None:
                act, self.act = self.act, None
                act()
            return super().part(path, start, size)

    files, offsets, others = Meddled(), Offsets(tmp_path / "cache.db"), Offsets(tmp_path / "cache.db")
    log = log_of(files, offsets)
    add(log, 1, 2, 3)
    assert len(ids(log)) == 3
    log.flush()
    add(log_of(files), 4, 5)
    files.act = lambda: others.forget(PATH)
    assert ids(log) == ["m1", "m2", "m3", "m4", "m5"]
    assert counts(log) == {}
    assert [added.is_new for added in add(log, 5, 6)] == [False, True]
    assert ids(log) == ids(log_of(files)) == ["m1", "m2", "m3", "m4", "m5", "m6"]
    offsets.close()
    others.close()


# ------------------------------------------------------------------------------------------------ later versions


@pytest.mark.parametrize(
    "header",
    [
        b'{"type":"session","version":2,"id":"s","timestamp":"2027-01-01T00:00:00Z"}\n',
        b'{"type":"session","version":99,"id":"s","timestamp":"t","agent_id":"kate","source_plugin":"","more":{"a":1}}\n',
        b'{"type":"session","version":2,"id":{"uuid":"s"},"timestamp":5}\n',
    ],
    ids=["2", "99", "of another shape"],
)
def test_a_log_of_a_newer_carrel_is_read_and_never_touched(header: bytes) -> None:
    data = header + A + b'{"type":"entry2","x":1}\n' + B
    files = given(data)
    for _ in range(2):
        log = log_of(files)
        assert ids(log) == ["m1", "m2"]
        for line in (entry(3), Title(title="t"), Summary(summary="s"), Compaction(summary="s", through=1)):
            with pytest.raises(NewerLog) as caught:
                log.add([line], HEADER)
            assert caught.value.code == "newer_log"
            assert caught.value.hint
    assert data_of(files) == data


# ------------------------------------------------------------------------------------------------ notes and compactions


def test_the_last_title_and_the_last_summary_count() -> None:
    files = EphemeralFiles()
    log = log_of(files)
    add(log, 1)
    for number in (1, 2):
        log.add([Title(title=f"title {number}"), Summary(summary=f"summary {number}")], HEADER)
    for each in (log, log_of(files)):
        assert (each.look().title, each.look().summary) == ("title 2", "summary 2")
        assert ids(each) == ["m1"]


def test_a_compaction_stands_for_the_entry_that_its_id_names() -> None:
    files = given([*lines(1, 2, 3), encode(Compaction(summary="s", through=1, message_id="m2"))])
    found = log_of(files).compaction()
    assert found is not None
    assert found[0] == 2
    unknown = given([*lines(1, 2, 3), encode(Compaction(summary="s", through=1, message_id="gone"))])
    found = log_of(unknown).compaction()
    assert found is not None
    assert found[0] == 1


@pytest.mark.parametrize("through", [0, -1, 4, 10**9])
def test_a_compaction_of_what_is_not_there_is_passed_over(through: int) -> None:
    good = encode(Compaction(summary="good", through=2))
    files = given([*lines(1, 2, 3), good, encode(Compaction(summary="bad", through=through))])
    found = log_of(files).compaction()
    assert found is not None
    assert (found[0], found[1].summary) == (2, "good")


def test_lines_are_given_as_they_stand_in_the_file() -> None:
    spaced = b'{"type": "entry", "role": "user", "content": "by hand", "extra": 1}\r\n'
    files = given([HEAD, A, spaced, b"\0\0", B, C])
    log = log_of(files)
    assert len(ids(log)) == 4
    assert list(log.lines(1, 4)) == [A, spaced.rstrip() + b"\n", B, C]


# ------------------------------------------------------------------------------------------------ failures of the store


def test_a_store_that_refuses_leaves_the_log_as_it_was() -> None:
    class Refusing(EphemeralFiles):
        refuses = False

        def append(self, path: str, data: bytes, *, at: int | None = None) -> int:
            if self.refuses:
                raise Unreadable(path, "io_error")
            return super().append(path, data, at=at)

    files = Refusing()
    log = log_of(files)
    add(log, 1)
    files.refuses = True
    with pytest.raises(CarrelError):
        add(log, 2)
    files.refuses = False
    assert ids(log) == ["m1"]
    assert add(log, 2) == [Added(2, is_new=True)]
    assert data_of(files) == b"".join(lines(1, 2))
