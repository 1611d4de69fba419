"""What Records promise of proposals: each waits until one word is said."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest
from msgspec.structs import replace

from carrel.errors import Conflict, NotFound
from carrel.records import Records
from carrel.records.content import NAME_CHARACTERS, PROSE_CHARACTERS, RecordTooLarge
from carrel.records.proposals import TEXT_CHARACTERS, AlreadyDecided, UnknownProposal
from carrel.testing.contracts.records.samples import (
    HOSTILE,
    LATER,
    NOW,
    ODD,
    proposal,
)


class ProposalsContract:
    """Proposals that are made once and decided once."""

    def test_a_proposal_comes_back_as_it_was_made_with_its_number(self, records: Records) -> None:
        given = proposal(
            id=99, store="namespaces", section="Insights", old="- Ana uses a Nokia.", trust="tool", session="s1",
            evidence=("m1", "m2"), facts=("f1", "f2"),
        )  # fmt: skip
        made = records.proposals.add(given)
        assert made == replace(given, id=made.id)
        assert made.id != 99
        assert records.proposals.get(made.id) == made
        assert records.proposals.list() == [made]

    def test_the_same_is_proposed_once_even_when_it_was_decided(self, records: Records) -> None:
        made = records.proposals.add(proposal(new="first"))
        assert records.proposals.add(proposal(new="second")) == made
        decided = records.proposals.decide(made.id, "rejected", at=LATER, by="owner")
        assert records.proposals.add(proposal(new="third")) == decided
        assert records.proposals.list(()) == [decided]
        assert records.proposals.add(proposal("k2")).id > made.id

    @pytest.mark.parametrize("state", ["approved", "rejected"])
    def test_a_proposal_is_decided_once(self, records: Records, state: Any) -> None:
        made = records.proposals.add(proposal())
        decided = records.proposals.decide(made.id, state, at=LATER, by="owner")
        assert decided == replace(made, state=state, decided_at=LATER, decided_by="owner")
        for again in ("approved", "rejected"):
            with pytest.raises(AlreadyDecided) as refusal:
                records.proposals.decide(made.id, again, at=NOW, by="another", new="other")
            assert isinstance(refusal.value, Conflict)
            assert state in refusal.value.message
            assert refusal.value.hint
        assert records.proposals.get(made.id) == decided

    @pytest.mark.parametrize("text", HOSTILE)
    def test_a_proposal_may_be_approved_with_another_text(self, records: Records, text: str) -> None:
        made = records.proposals.add(proposal())
        decided = records.proposals.decide(made.id, "approved", at=LATER, by=text, new=text)
        assert (decided.new, decided.decided_by) == (text, text)
        assert records.proposals.get(made.id) == decided

    @pytest.mark.parametrize("number", ODD)
    def test_a_number_that_no_proposal_has_is_not_found(self, records: Records, number: int) -> None:
        made = records.proposals.add(proposal())
        for call in (
            lambda: records.proposals.get(number),
            lambda: records.proposals.decide(number, "approved", at=NOW, by="owner"),
        ):
            with pytest.raises(UnknownProposal) as refusal:
                call()
            assert isinstance(refusal.value, NotFound)
            assert str(number) in refusal.value.message
            assert refusal.value.hint
        assert records.proposals.list() == [made]

    @pytest.mark.parametrize(
        ("states", "agent", "found"),
        [
            (("waiting",), None, "acf"),
            (("approved",), None, "b"),
            (["approved", "rejected"], None, "bde"),
            ({"waiting", "rejected"}, "kate", "ade"),
            (("waiting",), "ana", "cf"),
            (("rejected",), "ana", ""),
            ((), None, "abcdef"),
            ((), "kate", "abde"),
        ],
    )
    def test_proposals_are_listed_by_state_and_agent(
        self, records: Records, states: Any, agent: str | None, found: str
    ) -> None:
        made = [
            records.proposals.add(proposal(key, agent="ana" if key in "cf" else "kate")) for key in "abcdef"
        ]
        records.proposals.decide(made[1].id, "approved", at=NOW, by="owner")
        for each in made[3:5]:
            records.proposals.decide(each.id, "rejected", at=NOW, by="owner")
        listed = records.proposals.list(states, agent=agent)
        assert [each.key for each in listed] == list(found)
        assert records.proposals.list(states, agent=agent, limit=1) == listed[:1]
        if listed:
            assert records.proposals.list(states, agent=agent, after=listed[0].id) == listed[1:]
        assert records.proposals.counts() == {"waiting": 3, "approved": 1, "rejected": 2}

    def test_odd_bounds_of_a_list_are_answered(self, records: Records) -> None:
        assert records.proposals.counts() == {"waiting": 0, "approved": 0, "rejected": 0}
        made = records.proposals.add(proposal())
        assert records.proposals.list(limit=0) == records.proposals.list(limit=-1) == []
        assert records.proposals.list(limit=2**70, after=-(2**70)) == [made]
        assert records.proposals.list(after=2**70) == []

    def test_of_many_that_decide_at_once_one_has_the_word(self, records: Records) -> None:
        made = [records.proposals.add(proposal(str(n))).id for n in range(20)]
        ready = Barrier(4, timeout=30)

        def decide(judge: int) -> list[tuple[int, str]]:
            ready.wait()
            words: list[tuple[int, str]] = []
            for number in made:
                try:
                    records.proposals.decide(number, "approved", at=NOW, by=f"judge {judge}")
                except AlreadyDecided:
                    continue
                words.append((number, f"judge {judge}"))
            return words

        with ThreadPoolExecutor(4) as threads:
            words = [word for each in threads.map(decide, range(4)) for word in each]
        assert sorted(words) == [(each.id, each.decided_by) for each in records.proposals.list(["approved"])]
        assert len(words) == 20

    @pytest.mark.parametrize("text", HOSTILE)
    def test_a_proposal_may_hold_any_text(self, records: Records, text: str) -> None:
        given = proposal(
            text, agent=text, actor=text, why=text, reason=text, path=text, section=text, old=text, new=text,
            session=text, evidence=(text,), facts=(text, text),
        )  # fmt: skip
        made = records.proposals.add(given)
        assert made == replace(given, id=made.id)
        assert records.proposals.add(given) == made
        assert records.proposals.list(agent=text) == [made]

    @pytest.mark.parametrize(
        ("field", "most"),
        [
            ("key", NAME_CHARACTERS),
            ("agent", NAME_CHARACTERS),
            ("actor", NAME_CHARACTERS),
            ("path", NAME_CHARACTERS),
            ("section", NAME_CHARACTERS),
            ("reason", PROSE_CHARACTERS),
            ("old", TEXT_CHARACTERS),
            ("new", TEXT_CHARACTERS),
        ],
    )
    def test_a_proposal_with_too_long_a_text_is_refused_and_not_cut(
        self, records: Records, field: str, most: int
    ) -> None:
        with pytest.raises(RecordTooLarge):
            records.proposals.add(replace(proposal(), **{field: "x" * (most + 1)}))
        assert records.proposals.list() == []
        longest = replace(proposal(), **{field: "x" * most})
        assert records.proposals.add(longest) == replace(longest, id=records.proposals.list()[0].id)

    def test_a_decision_that_is_refused_leaves_the_proposal_waiting(self, records: Records) -> None:
        made = records.proposals.add(proposal())
        with pytest.raises(RecordTooLarge):
            records.proposals.decide(made.id, "approved", at=NOW, by="owner", new="x" * (TEXT_CHARACTERS + 1))
        with pytest.raises(TypeError):
            records.proposals.decide(made.id, "approved", at=NOW.replace(tzinfo=None), by="owner")
        assert records.proposals.list() == [made]
