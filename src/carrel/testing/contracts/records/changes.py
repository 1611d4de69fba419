"""What Records promise of changes: both sides of each, byte for byte."""

import random
from typing import Any

import pytest
from msgspec.structs import replace

from carrel.errors import NotFound
from carrel.records import Records
from carrel.records.changes import PAGE_BYTES, SPLICE_BYTES, Splice, UnknownChange
from carrel.records.content import NAME_CHARACTERS, PROSE_CHARACTERS, RecordTooLarge
from carrel.testing.contracts.records.samples import (
    HOSTILE,
    LATER,
    ODD,
    change,
    numbers,
)


class ChangesContract:
    """Changes that are begun, settled and taken back."""

    def test_a_change_comes_back_as_it_was_begun_with_its_number(self, records: Records) -> None:
        given = change(
            id=99, store="namespaces", before="d0", after=None, splice=Splice(2**40, b"old\0\xff", b"", 2**20), agent="kate",
            session="s1", reason="said so", undoes=3, commit="c1",
        )  # fmt: skip
        begun = records.changes.begin(given)
        assert begun == replace(given, id=begun.id)
        assert begun.id != 99
        assert records.changes.get(begun.id) == begun
        assert records.changes.list() == [begun]

    @pytest.mark.parametrize(
        "side", [b"", b"x", bytes(range(256)), b"- one line\n" * 50_000, b"\0" * SPLICE_BYTES]
    )
    def test_both_sides_of_a_splice_come_back_byte_for_byte(self, records: Records, side: bytes) -> None:
        noise = random.Random(7).randbytes(10_000)
        for splice in (Splice(3, side, noise), Splice(0, noise, side)):
            begun = records.changes.begin(change(splice=splice))
            assert begun.splice == splice
            assert records.changes.get(begun.id).splice == splice

    def test_a_change_of_more_than_a_file_may_have_is_refused(self, records: Records) -> None:
        for splice in (Splice(0, b"", b"x" * (SPLICE_BYTES + 1)), Splice(0, b"x" * (SPLICE_BYTES + 1), b"")):
            with pytest.raises(RecordTooLarge) as refusal:
                records.changes.begin(change(splice=splice))
            assert refusal.value.code == "record_too_large"
            assert "bytes" in refusal.value.message
            assert refusal.value.hint
        assert records.changes.list() == []

    def test_a_change_is_settled_and_taken_back(self, records: Records) -> None:
        number = records.changes.begin(change()).id
        for state in ("done", "done", "undone", "done"):
            records.changes.settle(number, state)
            assert records.changes.get(number) == change(id=number, state=state)

    def test_a_change_that_came_to_nothing_is_gone_and_its_number_with_it(self, records: Records) -> None:
        records.changes.begin(change())
        number = records.changes.begin(change()).id
        records.changes.settle(number, None)
        records.changes.settle(number, None)
        with pytest.raises(UnknownChange):
            records.changes.get(number)
        assert len(records.changes.list()) == 1
        assert records.changes.begin(change()).id > number

    @pytest.mark.parametrize("state", ["done", "undone"])
    def test_what_was_settled_before_stays_when_another_says_it_came_to_nothing(
        self, records: Records, state: Any
    ) -> None:
        number = records.changes.begin(change()).id
        records.changes.settle(number, state)
        records.changes.settle(number, None)
        assert records.changes.get(number).state == state

    @pytest.mark.parametrize("number", ODD)
    def test_a_number_that_no_change_has_is_not_found(self, records: Records, number: int) -> None:
        records.changes.begin(change())
        for call in (
            lambda: records.changes.get(number),
            lambda: records.changes.settle(number, "done"),
            lambda: records.changes.keep_commit(number, "c1"),
        ):
            with pytest.raises(UnknownChange) as refusal:
                call()
            assert isinstance(refusal.value, NotFound)
            assert str(number) in refusal.value.message
            assert refusal.value.hint
        records.changes.settle(number, None)
        assert len(records.changes.list()) == 1

    @pytest.mark.parametrize(
        ("wanted", "found"),
        [
            ({}, [4, 3, 2, 1]),
            ({"path": "p"}, [3, 2, 1]),
            ({"path": "p", "store": "workspace"}, [2, 1]),
            ({"path": "p", "state": "done"}, [3, 2]),
            ({"store": "namespaces"}, [3]),
            ({"state": "begun"}, [4, 1]),
            ({"committed": True}, [2]),
            ({"committed": False}, [4, 3, 1]),
            ({"committed": False, "state": "done"}, [3]),
            ({"committed": False, "state": "done", "path": "p"}, [3]),
            ({"path": ""}, []),
        ],
    )
    def test_changes_are_listed_by_all_that_is_asked_the_newest_first(
        self, records: Records, wanted: dict[str, Any], found: list[int]
    ) -> None:
        begun = [
            records.changes.begin(each).id
            for each in (
                change(path="p", at=LATER),
                change(path="p", state="done"),
                change(path="p", state="done", store="namespaces"),
                change(path="q"),
            )
        ]
        records.changes.keep_commit(begun[1], "c1")
        found = [begun[position - 1] for position in found]
        assert numbers(records.changes.list(**wanted)) == found
        assert numbers(records.changes.list(**wanted, limit=1)) == found[:1]
        if found:
            assert numbers(records.changes.list(**wanted, before=found[0])) == found[1:]

    def test_odd_bounds_of_a_page_are_answered(self, records: Records) -> None:
        begun = records.changes.begin(change())
        assert records.changes.list(limit=0) == records.changes.list(limit=-1) == []
        assert records.changes.list(limit=2**70, before=2**70) == [begun]
        assert records.changes.list(before=-(2**70)) == []

    def test_a_page_of_large_changes_is_short_and_the_next_goes_on(self, records: Records) -> None:
        large = Splice(0, b"\0" * SPLICE_BYTES, b"\0" * SPLICE_BYTES)
        begun = [records.changes.begin(change(splice=large)).id for _ in range(5)]
        begun.append(records.changes.begin(change()).id)
        pages: list[list[int]] = []
        while page := records.changes.list(before=pages[-1][-1] if pages else None):
            assert sum(len(each.splice.old + each.splice.new) for each in page[:-1]) <= PAGE_BYTES
            pages.append(numbers(page))
        assert [number for page in pages for number in page] == begun[::-1]
        assert len(pages) > 1

    def test_a_commit_is_kept_with_its_change(self, records: Records) -> None:
        number = records.changes.begin(change()).id
        records.changes.keep_commit(number, "c1")
        assert records.changes.get(number) == change(id=number, commit="c1")

    @pytest.mark.parametrize("text", HOSTILE)
    def test_a_change_may_hold_any_text(self, records: Records, text: str) -> None:
        given = change(
            actor=text, action=text, path=text, before=text, after=text, agent=text, session=text, reason=text
        )
        begun = records.changes.begin(given)
        assert begun == replace(given, id=begun.id)
        assert records.changes.list(path=text) == [begun]
        records.changes.keep_commit(begun.id, text)
        assert records.changes.get(begun.id).commit == text

    @pytest.mark.parametrize(
        "field", ["actor", "action", "path", "before", "after", "agent", "session", "commit"]
    )
    def test_a_change_with_too_long_a_name_is_refused(self, records: Records, field: str) -> None:
        with pytest.raises(RecordTooLarge):
            records.changes.begin(change(**{field: "x" * (NAME_CHARACTERS + 1)}))
        with pytest.raises(RecordTooLarge):
            records.changes.begin(change(reason="x" * (PROSE_CHARACTERS + 1)))
        assert records.changes.list() == []
