"""A change is shown as people know it, and holds whole lines with a little of what stands around them."""

from msgspec.structs import replace
from tests.stubs.pens import NOW

from carrel.memory.blocks import blocks
from carrel.memory.splice import CONTEXT_BYTES, diff, digest_of, splice_of
from carrel.records.changes import Change, Splice


def change(old: str | None, new: str | None, path: str = "memory/main.md") -> Change:
    sides = [None if text is None else text.encode() for text in (old, new)]
    return Change(
        id=7,
        at=NOW.now(),
        actor="owner",
        action="append",
        path=path,
        before=digest_of(sides[0]),
        after=digest_of(sides[1]),
        splice=splice_of(*sides),
    )


NUMBERS = "".join(f"line {number}\n" for number in range(1, 31))


def test_a_change_near_the_top_is_shown_with_the_numbers_of_its_lines() -> None:
    new = NUMBERS.replace("line 3\n", "line three\nline 3.5\n").replace("line 20\n", "")
    assert diff(change(NUMBERS, new)) == (
        "--- a/memory/main.md\n+++ b/memory/main.md\n"
        "@@ -1,6 +1,7 @@\n line 1\n line 2\n-line 3\n+line three\n+line 3.5\n line 4\n line 5\n line 6\n"
        "@@ -17,7 +18,6 @@\n line 17\n line 18\n line 19\n-line 20\n line 21\n line 22\n line 23\n"
    )


def test_a_change_further_down_is_shown_with_the_numbers_of_its_lines() -> None:
    new = NUMBERS.replace("line 15\n", "") + "- new\n"
    assert diff(change(NUMBERS, new)) == (
        "--- a/memory/main.md\n+++ b/memory/main.md\n"
        "@@ -12,7 +12,6 @@\n line 12\n line 13\n line 14\n-line 15\n line 16\n line 17\n line 18\n"
        "@@ -28,3 +27,4 @@\n line 28\n line 29\n line 30\n+- new\n"
    )


def test_a_change_of_which_nobody_counted_the_lines_is_shown_with_its_place_in_bytes() -> None:
    made = change(NUMBERS, NUMBERS + "- new\n")
    assert diff(replace(made, splice=replace(made.splice, line=0))) == (
        "--- a/memory/main.md\n+++ b/memory/main.md\n"
        f"@@ byte {NUMBERS.index('line 28') + 1} @@\n line 28\n line 29\n line 30\n+- new\n"
    )


def test_a_new_file_and_a_removed_one_are_shown_as_such() -> None:
    assert diff(change(None, "a\nb")) == (
        "--- /dev/null\n+++ b/memory/main.md\n@@ -0,0 +1,2 @@\n+a\n+b\n\\ No newline at end of file\n"
    )
    assert diff(change("a\n", None)) == "--- a/memory/main.md\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-a\n"
    assert diff(change(None, "")) == "--- /dev/null\n+++ b/memory/main.md\n"


def test_a_path_that_is_no_text_is_shown_escaped() -> None:
    told = diff(change("a\n", "b\n", path="a\n+++ b/\udcff.md"))
    assert told.splitlines()[:2] == ["--- a/a\\n+++ b/\\udcff.md", "+++ b/a\\n+++ b/\\udcff.md"]


def test_a_splice_holds_the_changed_lines_and_three_around_them() -> None:
    splice = splice_of(NUMBERS.encode(), NUMBERS.replace("line 15\n", "line xv\n").encode())
    assert splice.old == b"".join(b"line %d\n" % number for number in range(12, 19))
    assert splice.new == splice.old.replace(b"line 15", b"line xv")
    assert splice.start == NUMBERS.index("line 12")
    assert splice.line == 12


def test_an_append_to_a_large_file_costs_its_own_size_and_its_neighbours() -> None:
    large = b"- a fact that is known\n" * 50_000
    splice = splice_of(large, large + b"- one more\n")
    assert len(splice.old) + len(splice.new) < 200
    wide = b"x" * 100_000 + b"\n" + b"y" * 1_900 + b"\n"
    assert len(splice_of(wide, wide + b"z\n").old) <= CONTEXT_BYTES


def test_what_begins_and_ends_alike_is_not_cut_in_the_middle_of_a_line() -> None:
    assert splice_of(b"- ab\n- abc\n", b"- ab\n- abb\n- abc\n") == Splice(
        0, b"- ab\n- abc\n", b"- ab\n- abb\n- abc\n", 1
    )
    assert splice_of(b"a", b"ab") == Splice(0, b"a", b"ab", 1)


def test_lines_that_moved_are_found_and_equal_ones_are_never_slow() -> None:
    old = [b"a\n", b"b\n", b"c\n", b"d\n"]
    assert blocks(old, [b"b\n", b"c\n", b"d\n", b"a\n"]) == [(0, 1, 0, 0), (4, 4, 3, 4)]
    many = [b"same\n"] * 100_000
    assert blocks(many, [*many, b"x\n", *many]) == [(100_000, 100_000, 100_000, 200_001)]
    mixed = [b"same\n", b"other\n"] * 50_000
    assert len(blocks(many, mixed)) == 1
    reverse = [b"%d\n" % number for number in range(50_000)]
    assert blocks(reverse, reverse[::-1])
