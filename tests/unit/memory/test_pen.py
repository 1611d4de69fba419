"""Memory's files are written whole, each change is kept, and what somebody else wrote is never lost."""

from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path

import pytest
from tests.stubs.pens import NOTEBOOK, NOW, OWNER, Desk

from carrel.errors import Conflict, Unavailable
from carrel.files import READ_LIMIT, Content, Stale, Unreadable
from carrel.files.paths import BadPath
from carrel.memory.committing import in_order
from carrel.memory.pen import Author, BadText, LeadsElsewhere, Pen
from carrel.memory.splice import digest_of, splice_of
from carrel.records.changes import Change, Changes
from carrel.records.content import RecordTooLarge
from carrel.records.database import DatabaseUnavailable
from carrel.records.sqlite import SqliteRecords
from carrel.screen.policy import BlockedByPrivacy, Screen
from carrel.testing import EphemeralFiles

LONG_AGO = NOW.now() - timedelta(minutes=1)


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path / "desk")


def test_an_edit_is_written_and_kept_with_who_did_it_and_why(desk: Desk) -> None:
    author = Author(actor="extraction", action="append", reason="told so", agent="kate", session="s1")
    desk.write("- one\n")
    change = desk.add("- two", author=author)
    assert change is not None
    assert desk.read() == b"- one\n- two\n"
    assert change == desk.changes.get(change.id)
    assert (change.actor, change.action, change.reason) == ("extraction", "append", "told so")
    assert (change.agent, change.session, change.state, change.at) == ("kate", "s1", "done", NOW.now())
    assert desk.written == [("workspace", NOTEBOOK)]


def test_an_edit_that_changes_nothing_writes_nothing(desk: Desk) -> None:
    desk.write("- one\n")
    for edit in (lambda text: text, lambda _: None, lambda _: "- one\n"):
        assert desk.pen.edit("workspace", NOTEBOOK, edit, OWNER) is None
    assert desk.pen.edit("workspace", "none.md", lambda text: text, OWNER) is None
    assert desk.changes.list() == []
    assert desk.written == []
    assert not (desk.root / "none.md").exists()


def test_a_file_that_is_not_there_is_none_and_an_empty_one_is_empty(desk: Desk) -> None:
    seen: list[str | None] = []
    desk.write("", "empty.md")
    for path in ("none.md", "empty.md"):
        desk.pen.edit("workspace", path, seen.append, OWNER)
    assert seen == [None, ""]


@pytest.mark.parametrize("text", ["\ufeff# Title\r\n\r\n- one\r\n", "no newline", "a\0b\n", "\u2028\x0c\r"])
def test_what_an_edit_does_not_touch_stays_to_the_byte(desk: Desk, text: str) -> None:
    desk.write(text)
    desk.pen.edit("workspace", NOTEBOOK, lambda now: f"{now}more", OWNER)
    assert desk.read() == f"{text}more".encode()


def test_an_edit_is_made_again_on_what_somebody_else_wrote_meanwhile(desk: Desk) -> None:
    desk.write("- one\n")
    others = iter(["- by hand\n- one\n", "- by hand\n- by hand again\n- one\n"])

    def edit(text: str | None) -> str:
        if (other := next(others, None)) is not None:
            desk.write(other)
        return f"{text}- two\n"

    change = desk.pen.edit("workspace", NOTEBOOK, edit, OWNER)
    assert desk.read() == b"- by hand\n- by hand again\n- one\n- two\n"
    assert change is not None
    assert desk.changes.list() == [change]


def test_a_file_that_never_rests_is_a_conflict_in_the_end(desk: Desk) -> None:
    desk.write("0")
    with pytest.raises(Stale):
        desk.pen.edit(
            "workspace", NOTEBOOK, lambda text: (desk.write(str(int(text or 0) + 1)), f"{text}x")[1], OWNER
        )
    assert desk.changes.list() == []


def test_what_an_edit_raises_is_raised_and_nothing_is_kept(desk: Desk) -> None:
    def edit(text: str | None) -> str:
        raise Conflict("no")

    with pytest.raises(Conflict):
        desk.pen.edit("workspace", NOTEBOOK, edit, OWNER)
    assert desk.changes.list() == []


def test_what_is_not_text_is_neither_read_nor_written(desk: Desk) -> None:
    desk.write(b"\xff\xfe")
    with pytest.raises(Unreadable) as caught:
        desk.add("- one")
    assert caught.value.reason == "not_utf8"
    with pytest.raises(Unreadable):
        desk.pen.append("workspace", NOTEBOOK, "- one", OWNER)
    with pytest.raises(BadText) as half:
        desk.add("half \ud800", "other.md")
    assert half.value.hint
    with pytest.raises(BadText):
        desk.pen.append("workspace", "other.md", "half \ud800", OWNER)
    assert desk.read() == b"\xff\xfe"
    assert desk.changes.list() == []


def test_a_file_that_is_too_large_is_left_as_it_is(desk: Desk) -> None:
    desk.write(b"x" * READ_LIMIT)
    for call in (
        lambda: desk.add("y"),
        lambda: desk.pen.append("workspace", NOTEBOOK, "y", OWNER),
    ):
        with pytest.raises(BadText):
            call()
    desk.write(b"x" * (READ_LIMIT + 1))
    with pytest.raises(Unreadable):
        desk.add("y")
    assert len(desk.read() or b"") == READ_LIMIT + 1
    assert desk.changes.list() == []


def test_what_a_store_or_the_records_refuse_leaves_no_change(desk: Desk) -> None:
    for path in ("../out.md", "con", "a/\n.md"):
        with pytest.raises(BadPath):
            desk.add("- one", path)
    with pytest.raises(RecordTooLarge):
        desk.add("- one", author=Author(actor="x" * 5000, action="append"))
    assert desk.changes.list() == []
    assert list(desk.root.iterdir()) == []


# ----------------------------------------------------------------------------------------------- appending


def test_a_line_is_appended_once(desk: Desk) -> None:
    first = desk.pen.append("workspace", "notes/day.md", "- 14:05 [note] One.", OWNER)
    assert desk.pen.append("workspace", "notes/day.md", "- 14:05 [note] One.", OWNER) is None
    second = desk.pen.append("workspace", "notes/day.md", "- 14:06 [note] Two.", OWNER)
    assert desk.read("notes/day.md") == b"- 14:05 [note] One.\n- 14:06 [note] Two.\n"
    assert desk.changes.list() == [second, first]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"no end", b"no end\n- x\n"),
        (b"a\r\n", b"a\r\n- x\r\n"),
        (b"a\r\n- x", b"a\r\n- x"),
        (b"- xy\n", b"- xy\n- x\n"),
        (b"", b"- x\n"),
    ],
)
def test_an_appended_line_stands_alone_at_the_end(desk: Desk, old: bytes, new: bytes) -> None:
    desk.write(old)
    change = desk.pen.append("workspace", NOTEBOOK, "- x", OWNER)
    assert desk.read() == new
    if change is not None:
        desk.pen.undo([change], OWNER)
    assert desk.read() == old


def test_what_is_appended_is_one_line_whatever_it_holds(desk: Desk) -> None:
    desk.pen.append("workspace", NOTEBOOK, "- a\n# b\r\nc", OWNER)
    assert desk.read() == b"- a # b c\n"
    assert desk.pen.append("workspace", NOTEBOOK, "- a\n# b\r\nc", OWNER) is None


def test_lines_that_others_append_meanwhile_stay(tmp_path: Path) -> None:
    desk = Desk(tmp_path / "desk")
    desk.write("- one\n")
    begin = desk.records.changes.begin
    interrupted: list[bool] = []

    class Interrupted:
        def __getattr__(self, verb: str):
            return getattr(desk.records.changes, verb)

        def begin(self, change: Change) -> Change:
            if not interrupted:
                interrupted.append(True)
                desk.files.append(NOTEBOOK, b"- by another\n")
            return begin(change)

    desk.changes = Interrupted()
    desk.pen.append("workspace", NOTEBOOK, "- two", OWNER)
    assert desk.read() == b"- one\n- by another\n- two\n"
    assert desk.states() == ["done"]


# ------------------------------------------------------------------------------------- records that fail


class Failing:
    """Changes of which one verb fails, once."""

    def __init__(self, changes: Changes, verb: str) -> None:
        self._changes, self._verb = changes, verb

    def __getattr__(self, verb: str):
        if verb == self._verb:
            self._verb = ""
            raise DatabaseUnavailable("full")
        return getattr(self._changes, verb)


def test_a_change_that_cannot_be_kept_is_not_made(desk: Desk) -> None:
    desk.write("- one\n")
    desk.changes = Failing(desk.records.changes, "begin")
    with pytest.raises(Unavailable):
        desk.add("- two")
    assert desk.read() == b"- one\n"
    assert desk.states() == []


def test_a_change_that_cannot_be_settled_is_made_and_settled_later(desk: Desk) -> None:
    desk.changes = Failing(desk.records.changes, "settle")
    change = desk.add("- one")
    assert change is not None
    assert desk.states() == ["begun"]
    assert desk.pen.recover() == ()
    assert desk.states() == ["done"]
    assert desk.read() == b"- one\n"


def test_a_writer_that_somebody_took_for_dead_keeps_its_change(desk: Desk) -> None:
    """Another process recovers between the records and the file: it must not cost the change its record."""

    class Impatient(EphemeralFiles):
        def write(self, path: str, data: bytes, *, expect: str | None) -> str:
            assert pen.recover() == ()
            assert changes.list() == []
            return super().write(path, data, expect=expect)

    files = Impatient()
    changes = SqliteRecords().changes
    pen = Pen(stores={"workspace": files}, changes=lambda: changes, clock=NOW)
    change = pen.edit("workspace", "a.md", lambda _: "one", OWNER)
    assert [change] == changes.list()
    assert pen.undo([change], OWNER)
    assert files.read("a.md") is None


# ------------------------------------------------------------------------------------------------ recovery


def begun(
    desk: Desk, before: str | None, after: str | None, *, at: datetime = LONG_AGO, undoes: int = 0
) -> Change:
    """What a process left that was killed before it could settle a change."""
    sides = [None if text is None else text.encode() for text in (before, after)]
    return desk.changes.begin(
        Change(
            at=at,
            actor="owner",
            action="append",
            path=NOTEBOOK,
            before=digest_of(sides[0]),
            after=digest_of(sides[1]),
            splice=splice_of(*sides),
            undoes=undoes,
        )
    )


@pytest.mark.parametrize(
    ("now", "states", "codes"),
    [
        ("old\n", [], []),
        ("old\nnew\n", ["done"], []),
        ("old\nnew\nby hand\n", ["done"], ["unfinished_change"]),
        (None, ["done"], ["unfinished_change"]),
    ],
)
def test_a_change_that_was_cut_short_is_what_its_file_shows(
    desk: Desk, now: str | None, states: list[str], codes: list[str]
) -> None:
    begun(desk, "old\n", "old\nnew\n")
    if now is not None:
        desk.write(now)
    found = desk.pen.recover()
    assert [finding.code for finding in found] == codes
    assert all(finding.hint and finding.path == NOTEBOOK for finding in found)
    assert desk.states() == states
    assert desk.pen.recover() == ()


def test_a_change_of_which_nobody_can_tell_waits_while_its_writer_may_still_be_at_it(desk: Desk) -> None:
    begun(desk, "old\n", "old\nnew\n")
    young = begun(desk, "older\n", "older\nnew\n", at=NOW.now() - timedelta(seconds=1))
    desk.write("by hand\n")
    assert [finding.code for finding in desk.pen.recover()] == ["unfinished_change"]
    assert desk.changes.get(young.id).state == "begun"


def test_a_change_that_its_writer_gave_up_meanwhile_is_not_begun_again_by_who_recovers() -> None:
    class Slow(EphemeralFiles):
        def read(self, path: str, *, limit: int = READ_LIMIT) -> Content | None:
            for change in changes.list(state="begun"):
                changes.settle(change.id, None)
            return super().read(path, limit=limit)

    changes = SqliteRecords().changes
    pen = Pen(stores={"workspace": Slow({"a.md": b"new"})}, changes=lambda: changes, clock=NOW)
    made = splice_of(None, b"new")
    changes.begin(
        Change(
            at=LONG_AGO,
            actor="owner",
            action="edit",
            path="a.md",
            before=None,
            after=digest_of(b"new"),
            splice=made,
        )
    )
    assert pen.recover() == ()
    assert changes.list() == []


def test_a_later_change_proves_the_one_that_it_began_from(desk: Desk) -> None:
    begun(desk, "old\n", "old\nnew\n")
    desk.write("old\nnew\n")
    desk.add("later")
    assert desk.pen.recover() == ()
    assert desk.states() == ["done", "done"]


def test_of_two_changes_that_began_from_the_same_only_one_was_made(desk: Desk) -> None:
    desk.write("old\n")
    begun(desk, "old\n", "old\nlost\n")
    made = desk.add("made")
    begun(desk, "old\n", "old\nlost too\n")
    desk.write("old\nmade\nby hand\n")
    assert desk.pen.recover() == ()
    assert desk.changes.list() == [made]


def test_two_that_were_cut_short_are_told_apart_by_the_file(desk: Desk) -> None:
    begun(desk, "old\n", "old\na\n")
    begun(desk, "old\n", "old\nb\n")
    desk.write("old\na\n")
    assert desk.pen.recover() == ()
    assert [change.splice.new for change in desk.changes.list()] == [b"old\na\n"]


def test_an_undo_that_was_cut_short_undoes(desk: Desk) -> None:
    change = desk.add("- one")
    assert change is not None
    begun(desk, "- one\n", None, undoes=change.id)
    (desk.root / NOTEBOOK).unlink()
    assert desk.pen.recover() == ()
    assert desk.states() == ["undone", "done"]


def test_what_cannot_be_read_waits_to_be_settled(desk: Desk) -> None:
    begun(desk, None, "new\n")
    (desk.root / NOTEBOOK).mkdir(parents=True)
    assert desk.pen.recover() == ()
    assert desk.states() == ["begun"]
    (desk.root / NOTEBOOK).rmdir()
    assert desk.pen.recover() == ()
    assert desk.states() == []


def test_many_that_were_cut_short_are_all_settled(desk: Desk) -> None:
    for number in range(120):
        begun(desk, None, f"{number}\n")
    desk.write("7\n")
    assert desk.pen.recover() == ()
    assert [change.splice.new for change in desk.changes.list(limit=1000)] == [b"7\n"]


def test_both_stores_are_written_and_told_apart(tmp_path: Path) -> None:
    stores = {"workspace": EphemeralFiles(), "namespaces": EphemeralFiles()}
    changes = SqliteRecords().changes
    pen = Pen(stores=stores, changes=lambda: changes, clock=NOW)
    pen.edit("workspace", "a.md", lambda _: "here\n", OWNER)
    there = pen.edit("namespaces", "a.md", lambda _: "there\n", OWNER)
    assert there is not None
    pen.undo([there], OWNER)
    assert stores["workspace"].read("a.md").data == b"here\n"
    assert stores["namespaces"].read("a.md") is None


def test_a_link_inside_is_written_through_and_one_that_leads_outside_is_not(
    desk: Desk, tmp_path: Path
) -> None:
    desk.write("- one\n", "real.md")
    (tmp_path / "outside.md").write_text("theirs\n")
    (desk.root / "link.md").symlink_to("real.md")
    (desk.root / "out.md").symlink_to(tmp_path / "outside.md")
    desk.add("- two", "link.md")
    assert desk.read("real.md") == b"- one\n- two\n"
    with pytest.raises(Unreadable):
        desk.add("- two", "out.md")
    assert (tmp_path / "outside.md").read_text() == "theirs\n"
    assert desk.states() == ["done"]


@pytest.mark.parametrize("leads", ["carrel.yaml", "agents/kate/sessions/s.log.jsonl", "nope"])
@pytest.mark.parametrize("is_there", [True, False])
def test_memory_is_not_written_into_what_it_would_break(desk: Desk, leads: str, is_there: bool) -> None:
    (desk.root / "link.md").symlink_to(leads)
    if is_there:
        desk.write("a: 1\n", leads)
    for write in (
        lambda: desk.add("- two", "link.md"),
        lambda: desk.pen.append("workspace", "link.md", "two", OWNER),
    ):
        with pytest.raises(LeadsElsewhere) as caught:
            write()
        assert caught.value.hint
    assert desk.states() == []
    assert (desk.read(leads) if is_there else None) == (b"a: 1\n" if is_there else None)


def test_changes_whose_numbers_are_out_of_order_are_put_into_theirs(desk: Desk) -> None:
    texts = ["a\n", "a\nb\n", "a\nb\nc\n", "a\n", "a\nd\n"]
    made = [begun(desk, old, new) for old, new in pairwise([None, *texts])]
    assert in_order(made) == made
    late = [made[0], made[2], made[1]]
    assert in_order(late) == made[:3]
    assert in_order(made[1:]) == made[1:]
    assert in_order([]) == []


def test_what_only_moves_is_written_as_it_is_and_can_be_taken_back(tmp_path):
    desk = Desk(tmp_path / "desk")
    key = "gh" + "p_" + "x7Qk29ZbLmN4pRtVwY6sDfGhJ8aC1eU3oI5q"
    data = f"- My key is {key}.\n\xff".encode("latin-1")
    desk.write(data, "memory/a.md")
    before = desk.files.read("memory/a.md")
    there = desk.pen.put("workspace", "memory/b.md", data, OWNER, expect=None)
    gone = desk.pen.put("workspace", "memory/a.md", None, OWNER, expect=before)
    assert (desk.read("memory/a.md"), desk.read("memory/b.md")) == (None, data)
    desk.pen.undo([there, gone], OWNER)
    assert (desk.read("memory/a.md"), desk.read("memory/b.md")) == (data, None)
    desk.write(b"- Another.\n", "memory/a.md")
    with pytest.raises(Stale):
        desk.pen.put("workspace", "memory/a.md", None, OWNER, expect=before)
    assert desk.states().count("begun") == 0


def test_what_is_kept_out_of_memory_is_marked_or_refused_before_a_change_begins(tmp_path):
    mail = "- Mail tom@example.com."
    desk, told = Desk(tmp_path / "desk"), []
    for policy in ("redact", "block"):
        pen = Pen(
            stores={"workspace": desk.files},
            changes=lambda: desk.changes,
            clock=NOW,
            screen=Screen(personal=policy),
            redacted=lambda path, kinds: told.append((path, kinds)),
        )
        for write in (
            lambda pen: pen.append("workspace", "memory/a.md", mail, OWNER),
            lambda pen: pen.edit("workspace", "memory/b.md", lambda _: f"# B\n\n{mail}\n", OWNER),
        ):
            if policy == "redact":
                assert write(pen) is not None
                assert write(pen) is None
            else:
                with pytest.raises(BlockedByPrivacy):
                    write(pen)
    assert desk.read("memory/a.md") == b"- Mail [REDACTED:EMAIL_ADDRESS].\n"
    assert desk.read("memory/b.md") == b"# B\n\n- Mail [REDACTED:EMAIL_ADDRESS].\n"
    assert {path for path, _ in told} == {"memory/a.md", "memory/b.md"}
    assert desk.states() == ["done", "done"]
