"""What waits for the owner: looked at, approved, put in other words, rejected; each once, through any kill."""

import pytest
from msgspec.structs import replace
from tests.unit.memory.shelf import NOW, Deadly, Killed, Shelf

from carrel.files import Unreadable
from carrel.memory.pen import BadText, Pen
from carrel.memory.proposed import OutdatedProposal, diff_of, hunk
from carrel.memory.review import NotAllDecided, SecretInText, TextForMany, said_in
from carrel.records.proposals import AlreadyDecided, UnknownProposal
from carrel.sessions.account import Page
from carrel.sessions.placed import Placed
from carrel.sessions.transcript import Entry

PAGE = "# Memory\n\n## People\n\n- Ana uses a Samsung.\n\n## Plans\n\n- Ship on Friday.\n"


@pytest.fixture
def shelf(tmp_path):
    return Shelf(tmp_path)


def approve(shelf, *numbers, text=None):
    return shelf.review.approve(numbers, by="owner", text=text)


def reject(shelf, *numbers):
    return shelf.review.reject(numbers, by="owner")


# ------------------------------------------------------------------------------------------- facts that wait


def test_a_fact_from_outside_waits_and_stands_in_no_file(shelf):
    shelf.learn("The port of the server is 8080.")
    (proposal,) = shelf.review.waiting()
    assert (proposal.action, proposal.why, proposal.state) == ("add", "external_source", "waiting")
    assert shelf.text() == ""


def test_an_approved_fact_is_written_and_keeps_its_trust(shelf):
    shelf.learn("The port of the server is 8080.")
    (proposal,) = shelf.review.waiting()
    (decided,) = approve(shelf, proposal.id)
    assert (decided.state, decided.decided_by, decided.decided_at) == ("approved", "owner", NOW)
    fact = shelf.records.facts.get(proposal.facts[0])
    assert (fact.state, fact.trust) == ("written", "external")
    assert shelf.text().count("- The port of the server is 8080.") == 1
    assert shelf.review.waiting() == []


def test_what_was_approved_can_be_told_from_the_change_that_wrote_it(shelf):
    shelf.learn("The port of the server is 8080.")
    (proposal,) = shelf.review.waiting()
    approve(shelf, proposal.id)
    (change,) = shelf.records.changes.list()
    assert (change.actor, change.session) == ("extraction", "s1")
    assert str(proposal.id) in change.reason


def test_a_rejected_fact_is_refused_and_not_proposed_again(shelf):
    shelf.learn("The port of the server is 8080.")
    (proposal,) = shelf.review.waiting()
    assert [each.state for each in reject(shelf, proposal.id)] == ["rejected"]
    fact = shelf.records.facts.get(proposal.facts[0])
    assert (fact.state, fact.reason) == ("refused", "rejected")
    shelf.learn("The port of the server is 8080.", session="s2", evidence=("m9",))
    assert shelf.review.waiting() == []
    assert shelf.text() == ""


def test_a_fact_is_approved_in_other_words(shelf):
    shelf.learn("The port of the server is 8080.")
    (proposal,) = shelf.review.waiting()
    (decided,) = approve(shelf, proposal.id, text="The server listens on 8443.")
    assert decided.new == "The server listens on 8443."
    assert "- The server listens on 8443.\n" in shelf.text()
    assert "8080" not in shelf.text()
    assert shelf.records.facts.get(proposal.facts[0]).text == "The server listens on 8443."


def test_other_words_with_a_secret_are_refused_and_the_proposal_stays(shelf):
    shelf.learn("The port of the server is 8080.")
    (proposal,) = shelf.review.waiting()
    with pytest.raises(SecretInText, match="github"):
        approve(shelf, proposal.id, text="The key is ghp_x7Kq2vLmN9pRtY4wZ8sB3dF6gH1jC5aE0uIo.")
    assert shelf.text() == ""
    assert len(shelf.review.waiting()) == 1


def test_a_correction_from_outside_strikes_the_old_line_out_when_approved(shelf):
    shelf.learn("The port is 80.", trust="owner")
    (old,) = shelf.records.facts.find(states=("written",))
    shelf.learn("The port is 81.", kind="correction", replaces=old.id, evidence=("m2",))
    (proposal,) = shelf.review.waiting()
    assert (proposal.action, proposal.old) == ("supersede", "- The port is 80.")
    approve(shelf, proposal.id)
    assert "- The port is 81." in shelf.text()
    assert "~~The port is 80.~~" in shelf.text()
    assert shelf.records.facts.get(old.id).state == "superseded"


def test_a_correction_of_a_line_that_changed_meanwhile_is_a_conflict_and_stays(shelf):
    shelf.learn("The port is 80.", trust="owner")
    (old,) = shelf.records.facts.find(states=("written",))
    shelf.learn("The port is 81.", kind="correction", replaces=old.id, evidence=("m2",))
    (proposal,) = shelf.review.waiting()
    mine = shelf.text().replace("- The port is 80.", "- The port is 79, as I say.")
    shelf.put("memory/kate.md", mine)
    with pytest.raises(OutdatedProposal, match="no longer fits"):
        approve(shelf, proposal.id)
    assert shelf.text() == mine
    assert [each.id for each in shelf.review.waiting()] == [proposal.id]


def test_a_removal_that_is_rejected_leaves_the_fact_as_it_is(shelf):
    shelf.learn("The port is 80.", trust="owner")
    (fact,) = shelf.records.facts.find(states=("written",))
    proposal = shelf.propose("remove", path=fact.path, old=fact.line, facts=(fact.id,))
    reject(shelf, proposal.id)
    assert shelf.records.facts.get(fact.id).state == "written"
    assert fact.line in shelf.text()


def test_a_removal_that_is_approved_takes_the_line_out_and_the_fact_is_forgotten(shelf):
    shelf.learn("The port is 80.", trust="owner")
    (fact,) = shelf.records.facts.find(states=("written",))
    proposal = shelf.propose("remove", path=fact.path, old=fact.line, facts=(fact.id,))
    approve(shelf, proposal.id)
    assert fact.line not in shelf.text()
    assert shelf.records.facts.get(fact.id).state == "forgotten"


# -------------------------------------------------------------------------------------------- edits that wait


def test_text_for_a_section_is_appended_when_approved(shelf):
    shelf.put("MEMORY.md", PAGE)
    proposal = shelf.propose("append", section="People", new="- Luis sails.\n- Eva flies.")
    approve(shelf, proposal.id)
    assert "- Ana uses a Samsung.\n- Luis sails.\n- Eva flies.\n" in shelf.text("MEMORY.md")
    assert shelf.text("MEMORY.md").endswith("## Plans\n\n- Ship on Friday.\n")


def test_without_a_section_text_goes_to_the_end_of_the_file(shelf):
    shelf.put("memory/2026-04-24.md", "# 2026-04-24\n\n- 09:00 [note] Began.\n")
    proposal = shelf.propose("append", path="memory/2026-04-24.md", new="- 14:05 [note] Went on.")
    approve(shelf, proposal.id)
    assert (
        shelf.text("memory/2026-04-24.md")
        == "# 2026-04-24\n\n- 09:00 [note] Began.\n- 14:05 [note] Went on.\n"
    )


def test_a_section_is_replaced_when_approved(shelf):
    shelf.put("MEMORY.md", PAGE)
    proposal = shelf.propose("replace", section="Plans", old="\n- Ship on Friday.\n", new="- Ship on Monday.")
    approve(shelf, proposal.id)
    assert "Friday" not in shelf.text("MEMORY.md")
    assert "- Ship on Monday.\n" in shelf.text("MEMORY.md")
    assert "- Ana uses a Samsung.\n" in shelf.text("MEMORY.md")


@pytest.mark.parametrize("now", ["- Ship never.", None])
def test_a_section_that_changed_meanwhile_or_is_gone_is_a_conflict(shelf, now):
    shelf.put("MEMORY.md", PAGE)
    proposal = shelf.propose("replace", section="Plans", old="\n- Ship on Friday.\n", new="- Ship on Monday.")
    mine = PAGE.replace("- Ship on Friday.", now) if now else PAGE[: PAGE.index("## Plans")]
    shelf.put("MEMORY.md", mine)
    with pytest.raises(OutdatedProposal):
        approve(shelf, proposal.id)
    assert shelf.text("MEMORY.md") == mine
    assert shelf.records.proposals.get(proposal.id).state == "waiting"


def test_an_edit_elsewhere_in_the_file_is_no_conflict(shelf):
    shelf.put("MEMORY.md", PAGE)
    proposal = shelf.propose("replace", section="Plans", old="\n- Ship on Friday.\n", new="- Ship on Monday.")
    shelf.put("MEMORY.md", PAGE.replace("Samsung", "Pixel"))
    approve(shelf, proposal.id)
    assert "Pixel" in shelf.text("MEMORY.md")
    assert "Monday" in shelf.text("MEMORY.md")


def test_a_line_that_is_gone_cannot_be_removed(shelf):
    shelf.put("MEMORY.md", PAGE)
    proposal = shelf.propose("remove", old="- Luis sails.")
    with pytest.raises(OutdatedProposal, match="gone"):
        approve(shelf, proposal.id)


def test_a_heading_is_changed_when_approved(shelf):
    shelf.put("MEMORY.md", PAGE)
    proposal = shelf.propose("rename", section="Plans", old="Plans", new="Next steps")
    approve(shelf, proposal.id)
    assert "## Next steps\n" in shelf.text("MEMORY.md")


@pytest.mark.parametrize("before", [None, ""])
def test_a_new_file_is_written_when_approved(shelf, before):
    if before is not None:
        shelf.put("AGENTS.md", before)
    proposal = shelf.propose("write", path="AGENTS.md", new="Be brief.\n")
    approve(shelf, proposal.id)
    assert shelf.text("AGENTS.md") == "Be brief.\n"


def test_a_file_that_somebody_made_meanwhile_is_not_written_over(shelf):
    proposal = shelf.propose("write", path="AGENTS.md", new="Be brief.\n")
    shelf.put("AGENTS.md", "Be kind.\n")
    with pytest.raises(OutdatedProposal, match="exists"):
        approve(shelf, proposal.id)
    assert shelf.text("AGENTS.md") == "Be kind.\n"


def test_lines_are_written_in_the_place_of_others_wherever_these_stand_now(shelf):
    before = "".join(f"line {n}\n" for n in range(30))
    after = before.replace("line 20\n", "line twenty\n")
    old, new = hunk(before, after)
    shelf.put("AGENTS.md", "# New title\n" + before)
    approve(shelf, shelf.propose("write", path="AGENTS.md", old=old, new=new).id)
    assert shelf.text("AGENTS.md") == "# New title\n" + after


def test_lines_that_changed_meanwhile_are_a_conflict(shelf):
    old, new = hunk("a\nb\nc\n", "a\nB\nc\n")
    proposal = shelf.propose("write", path="AGENTS.md", old=old, new=new)
    shelf.put("AGENTS.md", "a\nbb\nc\n")
    with pytest.raises(OutdatedProposal):
        approve(shelf, proposal.id)


def test_lines_are_not_found_in_the_middle_of_others(shelf):
    proposal = shelf.propose("write", path="AGENTS.md", old="be kind", new="be rude")
    shelf.put("AGENTS.md", "always be kind to all\n")
    with pytest.raises(OutdatedProposal):
        approve(shelf, proposal.id)


def test_an_edit_is_approved_in_other_words(shelf):
    shelf.put("MEMORY.md", PAGE)
    proposal = shelf.propose("append", section="People", new="- Luis sails.")
    approve(shelf, proposal.id, text="- Luis rows.")
    assert "- Luis rows.\n" in shelf.text("MEMORY.md")
    assert "sails" not in shelf.text("MEMORY.md")
    assert shelf.records.proposals.get(proposal.id).new == "- Luis rows."


def test_words_that_no_file_can_hold_are_told_and_the_proposal_stays(shelf):
    proposal = shelf.propose("append", section="People", new="- Luis sails.")
    with pytest.raises(BadText):
        approve(shelf, proposal.id, text="- \ud800")
    assert shelf.records.proposals.get(proposal.id).state == "waiting"


def test_a_file_that_is_no_text_is_told_and_the_proposal_stays(shelf):
    shelf.put("MEMORY.md", b"\xff\xfe")
    proposal = shelf.propose("append", section="People", new="- Luis sails.")
    with pytest.raises(Unreadable):
        approve(shelf, proposal.id)
    assert shelf.records.proposals.get(proposal.id).state == "waiting"


# ----------------------------------------------------------------------------------------- once, and in bulk


def test_approving_twice_does_nothing_more(shelf):
    shelf.put("MEMORY.md", PAGE)
    proposal = shelf.propose("append", section="People", new="- Luis sails.")
    approve(shelf, proposal.id)
    shelf.put("MEMORY.md", shelf.text("MEMORY.md").replace("- Luis sails.\n", ""))
    (again,) = approve(shelf, proposal.id, proposal.id)
    assert again.state == "approved"
    assert "Luis" not in shelf.text("MEMORY.md")


def test_rejecting_twice_does_nothing_more(shelf):
    proposal = shelf.propose("append", section="People", new="- Luis sails.")
    reject(shelf, proposal.id)
    assert [each.state for each in reject(shelf, proposal.id)] == ["rejected"]


def test_a_word_that_was_given_stands(shelf):
    first, second = (shelf.propose("append", section="People", new=f"- {n}") for n in "ab")
    approve(shelf, first.id)
    reject(shelf, second.id)
    with pytest.raises(AlreadyDecided):
        reject(shelf, first.id)
    with pytest.raises(AlreadyDecided):
        approve(shelf, second.id)
    with pytest.raises(AlreadyDecided):
        approve(shelf, first.id, text="- c")
    assert "- a\n" in shelf.text("MEMORY.md")
    assert "- b\n" not in shelf.text("MEMORY.md")


def test_many_are_approved_at_once_and_one_that_does_not_fit_keeps_none_back(shelf):
    shelf.put("MEMORY.md", PAGE)
    fitting = [shelf.propose("append", section="People", new=f"- Person {n}.") for n in range(5)]
    odd = shelf.propose("remove", old="- Nobody.")
    numbers = [fitting[0].id, odd.id, *(each.id for each in fitting[1:])]
    with pytest.raises(NotAllDecided, match="5 of 6") as told:
        approve(shelf, *numbers)
    assert [type(problem) for problem in told.value.problems] == [OutdatedProposal]
    assert [each.id for each in told.value.decided] == [each.id for each in fitting]
    assert all(f"- Person {n}.\n" in shelf.text("MEMORY.md") for n in range(5))
    assert [each.id for each in shelf.review.waiting()] == [odd.id]


def test_one_whose_file_cannot_be_read_or_whose_text_fits_nowhere_keeps_none_back(shelf):
    shelf.put("USER.md", b"\xff")
    odd = [
        shelf.propose("append", path="USER.md", section="Learned", new="- x"),
        shelf.propose("append", section="People", new="# Rules\n\n- obey"),
    ]
    fitting = shelf.propose("append", section="People", new="- Luis sails.")
    with pytest.raises(NotAllDecided, match="1 of 3"):
        approve(shelf, *(each.id for each in (*odd, fitting)))
    assert "- Luis sails.\n" in shelf.text("MEMORY.md")
    assert len(shelf.review.waiting()) == 2


def test_facts_whose_lines_give_way_to_other_text_no_longer_stand(shelf):
    shelf.learn("The port is 80.", trust="owner")
    shelf.learn("The host is up.", trust="owner", evidence=("m2",))
    old = "- The port is 80.\n- The host is up.\n"
    approve(
        shelf,
        shelf.propose(
            "replace", path="memory/kate.md", section="Insights", old=old, new="- The host is up."
        ).id,
    )
    assert {fact.text: fact.state for fact in shelf.records.facts.find()} == {
        "The port is 80.": "superseded", "The host is up.": "written",
    }  # fmt: skip


def test_many_are_rejected_at_once(shelf):
    for number in range(5):
        shelf.learn(f"The port of server {number} is {number}.")
    reject(shelf, *(each.id for each in shelf.review.waiting()))
    assert shelf.records.facts.counts()["refused"] == 5
    assert shelf.text() == ""


def test_of_numbers_that_nobody_knows_none_is_decided(shelf):
    proposal = shelf.propose("append", section="People", new="- Luis sails.")
    with pytest.raises(UnknownProposal):
        approve(shelf, proposal.id, 99)
    assert shelf.records.proposals.get(proposal.id).state == "waiting"


def test_one_text_is_for_one_proposal(shelf):
    one, two = (shelf.propose("append", section="People", new=f"- {n}") for n in "ab")
    with pytest.raises(TextForMany):
        approve(shelf, one.id, two.id, text="- c")
    assert len(shelf.review.waiting()) == 2


def test_what_waits_is_paged(shelf):
    numbers = [shelf.propose("append", new=f"- {n}").id for n in range(5)]
    assert [each.id for each in shelf.review.waiting(2)] == numbers[:2]
    assert [each.id for each in shelf.review.waiting(2, numbers[1])] == numbers[2:4]


# ------------------------------------------------------------------------------------------------------ kills


def half_approved(shelf, proposal):
    """Let the process be killed after the file was written, and before anybody said so."""
    with pytest.raises(Killed):
        shelf.review_over(Deadly(shelf.records, verb="decide")).approve([proposal.id], by="owner")
    assert shelf.records.proposals.get(proposal.id).state == "waiting"


def test_what_a_kill_left_between_writing_and_deciding_is_finished_by_approving_again(shelf):
    shelf.put("MEMORY.md", PAGE)
    proposal = shelf.propose("append", section="People", new="- Luis sails.")
    half_approved(shelf, proposal)
    approve(shelf, proposal.id)
    assert shelf.text("MEMORY.md").count("- Luis sails.") == 1
    assert len(shelf.records.changes.list()) == 1


class Unsettled:
    """Changes of which nobody lives to say that they are done."""

    def __init__(self, changes):
        self._changes = changes

    def __getattr__(self, name):
        return getattr(self._changes, name)

    def settle(self, *_):
        raise Killed


@pytest.mark.parametrize("decide", [approve, reject])
def test_a_kill_before_the_change_was_settled_is_told_from_one_before_the_file_was_written(shelf, decide):
    shelf.put("AGENTS.md", "Be kind.\n")
    proposal = shelf.propose("write", path="AGENTS.md", old="Be kind.\n", new="Be brief.\n")
    dying = Pen(
        stores={"workspace": shelf.files}, changes=lambda: Unsettled(shelf.records.changes), clock=shelf.clock
    )
    keeper = replace(shelf.keeper, pen=dying)
    with pytest.raises(Killed):
        replace(shelf.review, keeper=keeper, pen=dying).approve([proposal.id], by="owner")
    assert [change.state for change in shelf.records.changes.list()] == ["begun"]
    decide(shelf, proposal.id)
    assert shelf.text("AGENTS.md") == ("Be brief.\n" if decide is approve else "Be kind.\n")
    assert shelf.review.waiting() == []


def test_what_a_kill_left_of_an_edit_is_not_written_again_over_what_the_owner_did_since(shelf):
    shelf.put("MEMORY.md", PAGE)
    proposal = shelf.propose("replace", section="Plans", old="- Ship on Friday.", new="- Ship on Monday.")
    half_approved(shelf, proposal)
    shelf.put("MEMORY.md", shelf.text("MEMORY.md").replace("Monday", "Tuesday"))
    approve(shelf, proposal.id)
    assert "Tuesday" in shelf.text("MEMORY.md")


def test_what_a_kill_left_is_taken_back_byte_for_byte_by_rejecting_it(shelf):
    shelf.put("MEMORY.md", PAGE)
    proposal = shelf.propose("append", section="People", new="- Luis sails.")
    half_approved(shelf, proposal)
    reject(shelf, proposal.id)
    assert shelf.text("MEMORY.md") == PAGE
    assert shelf.records.proposals.get(proposal.id).state == "rejected"


def test_what_a_kill_left_is_written_anew_where_other_words_are_approved(shelf):
    shelf.put("MEMORY.md", PAGE)
    proposal = shelf.propose("append", section="People", new="- Luis sails.")
    half_approved(shelf, proposal)
    approve(shelf, proposal.id, text="- Luis rows.")
    assert "sails" not in shelf.text("MEMORY.md")
    assert shelf.text("MEMORY.md").count("- Luis rows.") == 1


def test_a_fact_that_a_kill_left_written_is_there_once_when_approved_again(shelf):
    shelf.learn("The port of the server is 8080.")
    (proposal,) = shelf.review.waiting()
    half_approved(shelf, proposal)
    approve(shelf, proposal.id)
    assert shelf.text().count("8080") == 1
    assert shelf.records.facts.get(proposal.facts[0]).state == "written"


def test_a_fact_that_a_kill_left_written_is_gone_when_rejected(shelf):
    shelf.learn("The port of the server is 8080.")
    (proposal,) = shelf.review.waiting()
    half_approved(shelf, proposal)
    reject(shelf, proposal.id)
    assert "8080" not in shelf.text()
    assert shelf.records.facts.get(proposal.facts[0]).state == "refused"


def test_a_correction_that_a_kill_left_written_stands_or_falls_as_a_whole(shelf):
    shelf.learn("The port is 80.", trust="owner")
    before = shelf.text()
    (old,) = shelf.records.facts.find(states=("written",))
    shelf.learn("The port is 81.", kind="correction", replaces=old.id, evidence=("m2",))
    (proposal,) = shelf.review.waiting()
    half_approved(shelf, proposal)
    reject(shelf, proposal.id)
    assert shelf.text() == before
    restored = shelf.records.facts.get(old.id)
    assert (restored.state, restored.superseded_by, restored.valid_until) == ("written", "", "")


def test_a_decision_that_was_kept_before_the_kill_stands(shelf):
    proposal = shelf.propose("append", section="People", new="- Luis sails.")
    with pytest.raises(Killed):
        shelf.review_over(Deadly(shelf.records, verb="decide", after=True)).reject([proposal.id], by="owner")
    # It was undone with its transaction, as a kill inside of one would do.
    assert shelf.records.proposals.get(proposal.id).state == "waiting"
    reject(shelf, proposal.id)
    assert shelf.records.proposals.get(proposal.id).state == "rejected"


class Quicker:
    """Records in which somebody else decides just before we do."""

    def __init__(self, records, verdict):
        self._records, self._verdict = records, verdict

    def __getattr__(self, name):
        return getattr(self._records, name)

    def transaction(self):
        if self._verdict:
            self._records.proposals.decide(1, self._verdict, at=NOW, by="somebody")
            self._verdict = None
        return self._records.transaction()


def test_of_two_who_approve_at_once_each_is_told_that_it_is_approved(shelf):
    proposal = shelf.propose("append", section="People", new="- Luis sails.")
    (decided,) = shelf.review_over(Quicker(shelf.records, "approved")).approve([proposal.id], by="owner")
    assert (decided.state, decided.decided_by) == ("approved", "somebody")
    assert shelf.text("MEMORY.md").count("Luis") == 1


def test_who_approves_while_somebody_rejects_takes_back_what_was_written(shelf):
    shelf.put("MEMORY.md", PAGE)
    proposal = shelf.propose("append", section="People", new="- Luis sails.")
    with pytest.raises(AlreadyDecided):
        shelf.review_over(Quicker(shelf.records, "rejected")).approve([proposal.id], by="owner")
    assert shelf.text("MEMORY.md") == PAGE


# ------------------------------------------------------------------------------------------- as it is looked at


class Sessions:
    """One session with two messages."""

    entries = (
        Entry(role="user", content="Ana uses a Samsung.", message_id="m1"),
        Entry(role="tool", content="x" * 100_000, message_id="m2"),
    )

    def number_of(self, session, message):
        assert session == "s1"
        return next((n for n, entry in enumerate(self.entries, 1) if entry.message_id == message), None)

    def page(self, session, *, first, limit):
        assert (session, limit) == ("s1", 1)
        return Page(session=session, total=2, entries=(Placed(first, self.entries[first - 1]),), header=None)


def test_a_proposal_is_shown_with_what_would_change_and_what_was_said(shelf):
    proposal = shelf.propose(
        "replace", section="Plans", old="a\nb\nc", new="a\nB\nc", evidence=("m1", "m2", "gone")
    )
    review = shelf.review_over(shelf.records)
    shown = type(review)(
        keeper=shelf.keeper, pen=shelf.pen, records=lambda: shelf.records, clock=shelf.clock,
        said=said_in(lambda agent: Sessions() if agent == "kate" else None),
    ).show(proposal.id)  # fmt: skip
    assert shown.diff == " a\n-b\n+B\n c"
    assert shown.evidence["m1"] == "Ana uses a Samsung."
    assert len(shown.evidence["m2"]) == 2_000
    assert "gone" not in shown.evidence


def test_without_sessions_a_proposal_is_shown_all_the_same(shelf):
    proposal = shelf.propose("append", new="- Luis sails.")
    assert shelf.review.show(proposal.id).evidence == {}
    assert diff_of(proposal) == "+- Luis sails."
