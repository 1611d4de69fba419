"""Frames: however a stream is cut into pieces, its lines come out whole, and none is longer than it may be."""

from hypothesis import given
from hypothesis import strategies as st

from carrel.mcp.frames import frames

LINES = st.lists(st.binary(max_size=40).map(lambda line: line.replace(b"\n", b"")), max_size=12)


def reader(data, sizes):
    """A stream that gives so many bytes at a time, whatever is asked for."""
    pieces, at, turn = [], 0, 0
    while at < len(data):
        size = sizes[turn % len(sizes)] if sizes else 7
        pieces.append(data[at : at + size])
        at, turn = at + size, turn + 1
    left = iter([*pieces, b""])
    return lambda _: next(left)


@given(LINES, st.lists(st.integers(1, 50), max_size=6), st.booleans())
def test_lines_come_out_whole_however_they_are_sent(lines, sizes, is_ended):
    data = b"\n".join(lines) + (b"\n" if is_ended else b"")
    found = list(frames(reader(data, sizes), 100))
    assert found == [line.strip() for line in lines if line.strip()]


@given(LINES, st.lists(st.integers(1, 50), max_size=6))
def test_what_is_too_long_is_told_once_and_the_next_line_is_read(lines, sizes):
    data = b"\n".join(b"%d" % place + b"x" * 30 * (place % 2) for place, _ in enumerate(lines)) + b"\n"
    expected = [None if place % 2 else b"%d" % place for place, _ in enumerate(lines)]
    assert list(frames(reader(data, sizes), 20)) == expected


def test_of_a_line_without_an_end_nothing_is_kept():
    left = iter([b"x" * 1_000] * 1_000 + [b""])
    assert list(frames(lambda _: next(left), 5_000)) == [None]
