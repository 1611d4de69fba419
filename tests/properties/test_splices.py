"""Whatever a change did, it can be made again, taken back, and taken back from among other edits."""

from contextlib import suppress
from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from carrel.memory.blocks import blocks
from carrel.memory.splice import (
    applied,
    diff,
    digest_of,
    hunks_of,
    lines_of,
    reverted,
    same_around,
    splice_of,
)
from carrel.memory.undo import UndoConflict, taken_back
from carrel.records.changes import Change

LINES = st.sampled_from([b"a\n", b"b\n", b"\n", b"- c\n", b"- cd\n", b"## D\r\n", b"\xff\x00\n", b"\r\n"])
TEXTS = st.builds(lambda lines, tail: b"".join(lines) + tail, st.lists(LINES, max_size=14), st.sampled_from([b"", b"- c", b"z"]))  # fmt: skip


def change_of(old: bytes | None, new: bytes | None) -> Change:
    return Change(
        id=1,
        at=datetime(2026, 4, 24, tzinfo=UTC),
        actor="owner",
        action="edit",
        path="a.md",
        before=digest_of(old),
        after=digest_of(new),
        splice=splice_of(old, new),
    )


@given(st.none() | TEXTS, st.none() | TEXTS)
def test_a_change_is_made_and_taken_back_to_the_byte(old: bytes | None, new: bytes | None) -> None:
    change = change_of(old, new)
    assert applied(change, old) == new
    assert reverted(change, new) == old
    assert taken_back(change, new) == old
    assert diff(change).startswith("---")


@given(TEXTS, TEXTS)
def test_a_splice_consists_of_whole_lines(old: bytes, new: bytes) -> None:
    splice = splice_of(old, new)
    assert splice.start == 0 or old[: splice.start].endswith(b"\n")
    assert splice.line == old.count(b"\n", 0, splice.start) + 1
    for text, part in ((old, splice.old), (new, splice.new)):
        end = splice.start + len(part)
        assert end == len(text) or end == splice.start or part.endswith(b"\n")
    for hunk in hunks_of(splice):
        written = b"".join(hunk.new)
        assert new[hunk.at : hunk.at + len(written)] == written
        assert hunk.above or hunk.at == 0
        assert hunk.below or hunk.at + len(written) == len(new)


@given(TEXTS, TEXTS)
def test_what_is_the_same_around_a_change_is_whole_lines(old: bytes, new: bytes) -> None:
    one, other = (text.decode("latin-1") for text in (old, new))
    start, end = same_around(one, other)
    assert start + end <= min(len(one), len(other))
    assert one[:start] == other[:start]
    assert one[len(one) - end :] == other[len(other) - end :]
    assert not start or one[start - 1] == "\n"
    assert not end or one[-end - 1 : -end] in ("", "\n") or one[len(one) - end - 1] == "\n"
    before, after = one[start : len(one) - end].split("\n"), other[start : len(other) - end].split("\n")
    assert not before[1:] or not after[1:] or before[0] != after[0]


@given(TEXTS, TEXTS)
def test_blocks_and_what_is_between_them_are_both_texts(old: bytes, new: bytes) -> None:
    before, after = lines_of(old), lines_of(new)
    built: list[bytes] = []
    at = 0
    for a, b, c, d in blocks(before, after):
        built += [*before[at:a], *after[c:d]]
        at = b
    assert built + before[at:] == after


EDITS = st.sampled_from(["add", "remove", "replace"])


def edited(lines: list[str], at: int, how: str, word: str) -> None:
    """Change one block of lines that have names of their own; an empty one is gone."""
    block = {"add": f"{lines[at]}{word}\n", "remove": "", "replace": f"{word}\n"}[how]
    lines[at] = block


@given(
    st.lists(st.tuples(st.integers(0, 39), EDITS), min_size=1, max_size=4, unique_by=lambda edit: edit[0]),
    st.lists(st.tuples(st.integers(0, 39), EDITS), min_size=1, max_size=6, unique_by=lambda edit: edit[0]),
)
def test_edits_of_other_lines_stay_when_a_change_is_taken_back(
    ours: list[tuple[int, str]], theirs: list[tuple[int, str]]
) -> None:
    """The same edits by hand, made to the text without the change, are what must be left."""
    near = {at + by for at, _ in ours for by in (-1, 0, 1)}
    theirs = [(at, how) for at, how in theirs if at not in near]
    base = [f"line {number}\n" for number in range(40)]
    new, now, left = list(base), list(base), list(base)
    for number, (at, how) in enumerate(ours):
        edited(new, at, how, f"ours {number}")
        edited(now, at, how, f"ours {number}")
    for number, (at, how) in enumerate(theirs):
        edited(now, at, how, f"theirs {number}")
        edited(left, at, how, f"theirs {number}")
    change = change_of("".join(base).encode(), "".join(new).encode())
    assert taken_back(change, "".join(now).encode()) == "".join(left).encode()


@given(TEXTS, TEXTS, TEXTS)
def test_a_change_is_taken_back_or_refused_whatever_became_of_the_file(
    old: bytes, new: bytes, now: bytes
) -> None:
    change = change_of(old, new)
    with suppress(UndoConflict):
        left = taken_back(change, now)
        assert left is not None
        assert now in (old, left) or len(left) - len(now) == len(old) - len(new)
