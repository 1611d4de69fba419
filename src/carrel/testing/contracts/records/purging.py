"""What Records promise of forgetting: what is purged says nothing any more, wherever it stood."""

import pytest
from msgspec.structs import replace

from carrel.records import Records
from carrel.records.changes import UnknownChange
from carrel.records.facts import buried
from carrel.records.proposals import UnknownProposal
from carrel.records.recalls import RecallEvent
from carrel.testing.contracts.records.samples import (
    HOSTILE,
    LEASE,
    NOW,
    TEXT,
    change,
    end,
    fact,
    ids,
    proposal,
    put,
)


class PurgingContract:
    """Facts, changes, proposals, calls and recalls that are forgotten for good."""

    def test_a_key_finds_what_is_left_of_a_fact_that_was_purged(self, records: Records) -> None:
        records.facts.add(
            [fact(key="ana uses a samsung"), fact("f2", key=buried("ana uses a samsung")), fact("f3")]
        )
        assert ids(records.facts.find(key="ana uses a samsung")) == ["f1", "f2"]
        assert ids(records.facts.find(key="ana uses a samsung", agent="kate", limit=1)) == ["f1"]
        assert buried(buried("x")) == buried("x")

    def test_a_purged_change_keeps_who_did_it_when_and_none_of_its_bytes(self, records: Records) -> None:
        number = records.changes.begin(change()).id
        records.changes.settle(number, "done")
        records.changes.purge(number)
        records.changes.purge(number)
        left = records.changes.get(number)
        assert left.splice.is_purged
        assert (left.splice.old, left.splice.new) == (b"", b"")
        assert replace(left, splice=change().splice, id=0, state="begun", commit="") == change()
        assert records.changes.list(committed=False) == []
        with pytest.raises(UnknownChange):
            records.changes.purge(number + 1)

    def test_a_purged_proposal_says_nothing_any_more(self, records: Records) -> None:
        number = records.proposals.add(proposal(old="a", section="People")).id
        records.proposals.purge(number)
        left = records.proposals.get(number)
        assert (left.old, left.new, left.section, left.state) == ("", "", "", "waiting")
        with pytest.raises(UnknownProposal):
            records.proposals.purge(number + 1)

    @pytest.mark.parametrize("text", [text for text in HOSTILE if text.strip()])
    def test_what_was_kept_for_calls_and_holds_a_text_goes(self, records: Records, text: str) -> None:
        said = {"text": f"before {text} after"}
        records.keep_assembly("kate", "s1", "main", assembly=said, frozen=said)
        records.keep_assembly("kate", "s2", "main", assembly={"text": "else"}, frozen={"text": "else"})
        assert records.forget([text, ""]) == 2
        assert records.frozen("kate", "s1", "main") is None
        assert records.last_assembly("kate", "s1") is None
        assert records.frozen("kate", "s2", "main") is not None

    @pytest.mark.parametrize("text", [text for text in HOSTILE if text.strip()])
    def test_recalls_of_a_text_and_by_a_query_that_holds_it_go(self, records: Records, text: str) -> None:
        event = RecallEvent(
            agent="kate", session="s1", at=NOW, query="q", path="p", line=1, tier="journal", rank=1, score=0.5,
            text="else", who="tool",
        )  # fmt: skip
        records.recalls.add([event, replace(event, text=f"<{text}>"), replace(event, query=f"<{text}>")])
        assert records.recalls.forget([text, ""]) == 2
        assert records.recalls.since("kate", NOW) == [event]
        assert records.recalls.forget([text]) == 0


class EmptyingContract:
    """Jobs that are emptied, and files that are written anew."""

    def test_jobs_that_are_over_are_emptied_and_stay_over(self, records: Records) -> None:
        put(records, "asked", task=f"Look: {TEXT}")
        end(records)
        put(records, "answered", task="Look.")
        end(records, ["deep", {"said": TEXT}])
        put(records, "failed", task="Look.")
        end(records, error=f"cannot: {TEXT}")
        put(records, "other", task="Look elsewhere.")
        end(records, "Nothing.")
        assert records.queue.holding([TEXT]) == 3
        assert records.queue.purge([TEXT, "", "unheard of"]) == 3
        assert records.queue.purge([TEXT]) == records.queue.holding([TEXT]) == 0
        jobs = {job.key: job for job in records.queue.jobs()}
        assert [jobs[key].state for key in ("asked", "answered", "failed")] == ["done", "done", "failed"]
        assert all(not jobs[key].payload and not jobs[key].error for key in ("asked", "answered", "failed"))
        assert jobs["other"].result == {"answer": "Nothing."}
        assert put(records, "asked", task="again").state == "done"

    def test_a_job_that_waits_or_is_under_way_keeps_what_it_needs(self, records: Records) -> None:
        put(records, "under way", task=TEXT)
        records.queue.take(("errand",), now=NOW, lease=LEASE, worker="w")
        put(records, "waits", task=TEXT)
        assert records.queue.purge([TEXT]) == 0
        assert records.queue.holding([TEXT]) == 2
        assert {job.payload["task"] for job in records.queue.jobs()} == {TEXT}

    @pytest.mark.parametrize(
        "text", ["a\0b and more", "\udcff not Unicode", "é 🐙 \u202e", "'; DROP TABLE jobs; --", "%_"]
    )
    def test_any_text_can_be_looked_for(self, records: Records, text: str) -> None:
        put(records, "1", task=f"before {text} after")
        end(records, "ok")
        assert records.queue.purge([text]) == 1

    def test_a_text_is_found_beside_one_that_is_not_unicode(self, records: Records) -> None:
        beside = {"task": "Café 🐙 \udcff"}
        put(records, "1", **beside)
        end(records, "ok")
        records.keep_assembly("kate", "s1", "main", assembly=beside, frozen=beside)
        assert records.queue.purge(["Café 🐙"]) == 1
        assert records.forget(["Café 🐙"]) == 2

    def test_nothing_is_lost_where_the_file_is_written_anew(self, records: Records) -> None:
        put(records, "kept", task="Look.")
        event = RecallEvent(
            agent="kate", session="s1", at=NOW, query="q", path="MEMORY.md", line=1, tier="profile", rank=1, score=0.5,
            text=TEXT, who="tool",
        )  # fmt: skip
        records.recalls.add([event])
        records.recalls.forget([TEXT])
        assert records.scrub() == records.scrub()
        assert [job.key for job in records.queue.jobs()] == ["kept"]
        assert records.recalls.count("kate", NOW - LEASE) == 0
