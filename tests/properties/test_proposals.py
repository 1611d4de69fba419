"""Changes that wait are found again where they belong, and a namespace keeps what was learnt whatever it is called."""

from datetime import UTC, datetime

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from carrel.markdown.frontmatter import parse
from carrel.memory.namespaces import BadTitle, Namespaces
from carrel.memory.pen import Pen
from carrel.memory.proposed import OutdatedProposal, diff_of, edit_of, hunk
from carrel.records.proposals import Proposal
from carrel.records.sqlite import SqliteRecords
from carrel.testing import EphemeralFiles, FixedClock

NOW = datetime(2026, 4, 24, tzinfo=UTC)
lines = st.lists(st.sampled_from(["a", "b", "c", "", "a b", "\r", "- a", "\x0b", "\u2028"]), max_size=12)
texts = st.builds(lambda parts, end: "\n".join(parts) + end, lines, st.sampled_from(["", "\n", "\n\n"]))


def proposal(old, new):
    return Proposal(
        key="k",
        at=NOW,
        agent="kate",
        actor="kate",
        action="write",
        why="",
        reason="",
        path="a.md",
        old=old,
        new=new,
    )


@given(texts, texts)
def test_a_write_that_waits_makes_exactly_the_text_that_was_to_be_written(before, after):
    old, new = hunk(before, after)
    assert edit_of(proposal(old, new))(before) == after or before == after == ""


@given(texts, texts, texts)
def test_elsewhere_it_changes_nothing_but_its_own_lines_or_says_that_it_does_not_fit(before, after, other):
    assume(before)
    old, new = hunk(before, after)
    try:
        done = edit_of(proposal(old, new))(other)
    except OutdatedProposal:
        return
    assert done is not None
    at = other.index(old)
    assert done == other[:at] + new + other[at + len(old) :]


@given(texts, texts)
def test_what_is_shown_of_it_names_every_line_that_comes_or_goes(before, after):
    shown = diff_of(proposal(before, after)).split("\n")
    old, new = before.splitlines(), after.splitlines()
    taken = [line[1:] for line in shown if line[:1] == "-"]
    added = [line[1:] for line in shown if line[:1] == "+"]
    assert len(old) - len(taken) == len(new) - len(added)
    assert all(line in old for line in taken)
    assert all(line in new for line in added)


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=300), texts)
def test_a_namespace_of_any_title_keeps_what_was_learnt(title, learnt):
    files, records = (
        EphemeralFiles({"k.md": f"---\ntitle: Kate\nenabled: true\n---\n{learnt}"}),
        SqliteRecords(),
    )
    pen = Pen(stores={"namespaces": files}, changes=lambda: records.changes, clock=FixedClock(NOW))
    spaces = Namespaces(files=files, pen=pen)
    try:
        row = spaces.rename("k", title)
    except BadTitle:
        row = spaces.find("k")
    content = files.read("k.md")
    assert content is not None
    text = content.data.decode()
    assert text.endswith(f"\nenabled: true\n---\n{learnt}")
    assert row.enabled is True
    assert row.title.isprintable()
    assert parse(text.replace("\r\n", "\n")).meta.extra["enabled"] is True
    assert spaces.find(row.title).key == "k"
