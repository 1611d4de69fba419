"""What Records promise of contexts: the layout, what was sent, and what is frozen."""

import pytest

from carrel.records import Records
from carrel.testing.contracts.records.samples import (
    keep,
)


class CallsContract:
    """What was sent and what is frozen, for each session of each agent."""

    def test_nothing_is_known_at_first(self, records: Records) -> None:
        assert records.layout() is None
        assert records.last_assembly("kate", "s1") is None
        assert records.frozen("kate", "s1", "main") is None

    def test_the_layout_may_be_remembered_anew(self, records: Records) -> None:
        records.remember_layout("nexo")
        records.remember_layout("astra")
        assert records.layout() == "astra"

    def test_the_first_to_freeze_a_session_wins_and_the_last_assembly_is_kept(self, records: Records) -> None:
        keep(records, sent="first", frozen="first")
        keep(records, sent="second", frozen="second")
        assert records.frozen("kate", "s1", "main") == {"1": "first"}
        assert records.last_assembly("kate", "s1") == {"text": "second"}

    def test_what_is_frozen_and_what_was_sent_are_read_together(self, records: Records) -> None:
        assert records.kept("kate", "s1", "main") == (None, None)
        keep(records)
        assert records.kept("kate", "s1", "main") == ({"1": "as it was"}, {"text": "sent"})
        assert records.kept("kate", "s1", "shared") == (None, {"text": "sent"})
        records.thaw("kate", "s1")
        assert records.kept("kate", "s1", "main") == (None, {"text": "sent"})

    def test_a_change_of_scope_replaces_what_is_frozen(self, records: Records) -> None:
        keep(records, scope="main", frozen="for the owner")
        assert records.frozen("kate", "s1", "shared") is None
        keep(records, scope="shared", frozen="for all")
        assert records.frozen("kate", "s1", "shared") == {"1": "for all"}
        assert records.frozen("kate", "s1", "main") is None

    def test_sessions_and_agents_are_kept_apart(self, records: Records) -> None:
        keep(records, session="s1", frozen="one")
        keep(records, session="s2", frozen="two")
        assert records.frozen("kate", "s1", "main") == {"1": "one"}
        assert records.frozen("kate", "s2", "main") == {"1": "two"}
        assert records.frozen("ana", "s1", "main") is None

    def test_thawing_ends_the_freeze_of_one_session_and_keeps_its_last_assembly(
        self, records: Records
    ) -> None:
        keep(records, session="s1")
        keep(records, session="s2")
        records.thaw("kate", "s1")
        assert records.frozen("kate", "s1", "main") is None
        assert records.last_assembly("kate", "s1") is not None
        assert records.frozen("kate", "s2", "main") is not None
        keep(records, session="s1", frozen="read again")
        assert records.frozen("kate", "s1", "main") == {"1": "read again"}

    def test_frozen_text_that_is_not_unicode_survives(self, records: Records) -> None:
        keep(records, frozen="a\udcffb\0c🐙")
        assert records.frozen("kate", "s1", "main") == {"1": "a\udcffb\0c🐙"}

    def test_a_write_that_fails_leaves_neither_half(self, records: Records) -> None:
        with pytest.raises(TypeError):
            records.keep_assembly("kate", "s1", "main", assembly={"text": "sent"}, frozen={"1": object()})
        assert records.last_assembly("kate", "s1") is None
        assert records.frozen("kate", "s1", "main") is None
        keep(records)  # and the next write is not caught in the failed one
        assert records.last_assembly("kate", "s1") == {"text": "sent"}
