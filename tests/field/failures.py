"""Twenty-five failures that people reported of other programs like this one, and the tests that each is now.

A failure whose test stands elsewhere already is not tested twice: its row names that test.
"""

from collections.abc import Sequence
from typing import NamedTuple

_CRASH, _SURFACES, _PROPERTIES = "tests/crash/test_", "tests/surfaces/test_", "tests/properties/test_"
_OWN, _UNIT = "tests/field/test_", "tests/unit/"


class Failure(NamedTuple):
    """What happened elsewhere, who told of it, and which tests would tell if it happened here."""

    number: int
    happened: str
    told: str
    tests: tuple[str, ...]


FAILURES: Sequence[Failure] = (
    Failure(
        1,
        "history was cut before what it held was saved, or on a way that never saved",
        "openclaw #3560, #114081, #128016",
        (
            f"{_OWN}compaction.py::test_what_was_decided_is_in_the_journal_before_history_shrinks_on_every_way",
            f"{_OWN}compaction.py::test_a_compaction_over_http_saves_first_too",
            f"{_SURFACES}hooks.py::test_what_the_owner_said_is_in_the_journal_before_history_is_compacted",
        ),
    ),
    Failure(
        2,
        "days of work were gone after a compaction that said nothing",
        "openclaw #5429",
        (
            f"{_OWN}compaction.py::test_after_any_number_of_compactions_one_command_gives_every_word_back",
            f"{_SURFACES}recall.py::test_what_was_compacted_away_is_recalled",
        ),
    ),
    Failure(
        3,
        "an empty skeleton took the place of history",
        "openclaw #122617",
        (
            f"{_OWN}compaction.py::test_an_empty_skeleton_never_stands_in_the_place_of_history",
            f"{_OWN}compaction.py::test_a_session_goes_on_where_no_summary_can_be_made_at_all",
        ),
    ),
    Failure(
        4,
        "a tool call was parted from its result, and the session was refused for ever",
        "openclaw #5128, #30044, #93321",
        (
            f"{_PROPERTIES}window.py::test_any_history_makes_bodies_that_providers_accept",
            f"{_PROPERTIES}window.py::test_any_cut_between_the_turns_of_a_settled_history_leaves_it_settled",
            f"{_UNIT}runtime/test_room.py::test_a_call_and_its_result_go_together",
        ),
    ),
    Failure(
        5,
        "two writers were told of success, and one line was missing",
        "openclaw #117741, claude-code #58736, #85597",
        (
            f"{_SURFACES}memory_cli.py::test_processes_that_append_to_one_section_and_to_others_lose_nothing",
            f"{_CRASH}two_writers.py::test_four_processes_lose_no_update_and_no_line",
        ),
    ),
    Failure(
        6,
        "records of several writers grew together in one line",
        "claude-code #81843",
        (f"{_OWN}writing.py::test_long_lines_of_many_writers_never_grow_together",),
    ),
    Failure(
        7,
        "a hole of NULs after a crash cut the session off, or hid it",
        "claude-code #49876, #76059",
        (f"{_OWN}writing.py::test_a_hole_of_nuls_costs_what_it_fell_on_and_the_session_goes_on",),
    ),
    Failure(
        8,
        "a torn line took the next good one with it",
        "prime-agent #1785, opensre #6356, letta-code #3590",
        (f"{_OWN}writing.py::test_a_tail_torn_at_any_byte_never_swallows_the_next_message",),
    ),
    Failure(
        9,
        "a lock that nobody held froze everything",
        "openclaw #87217, #77783, #73691",
        (
            f"{_OWN}writing.py::test_a_writer_that_was_killed_holds_no_lock_and_leaves_nothing_to_remove",
            f"{_CRASH}two_writers.py::test_nobody_overtakes_a_writer_between_its_check_and_its_rename",
        ),
    ),
    Failure(
        10,
        "memory grew beyond its limits, and then nothing could make it smaller",
        "openclaw #73691, #92050",
        (
            f"{_OWN}memory.py::test_a_memory_that_grew_beyond_everything_stops_nothing_and_can_be_made_smaller",
            f"{_OWN}memory.py::test_a_memory_that_no_prompt_can_hold_is_cut_told_of_and_edited_as_ever",
            f"{_OWN}memory.py::test_however_often_something_was_recalled_a_dream_still_ends_and_promotes",
        ),
    ),
    Failure(
        11,
        "promotion wrote its scratch into memory, and consolidation wrote over it",
        "openclaw #67580, #89444, #67296",
        (
            f"{_OWN}memory.py::test_dreams_and_consolidation_leave_each_other_and_every_byte_of_the_owner_alone",
            f"{_PROPERTIES}dream.py::test_a_promotion_keeps_every_byte_and_is_written_once",
        ),
    ),
    Failure(
        12,
        "what was recalled was learnt again and again, and people were invented",
        "mem0 #4573",
        (
            f"{_OWN}memory.py::test_what_was_recalled_is_not_learnt_again_and_nothing_is_made_up",
            f"{_OWN}memory.py::test_a_models_silence_about_facts_is_not_taken_for_memory",
        ),
    ),
    Failure(
        13,
        "one fact was stored many times",
        "netclaw #379, hermes #54267",
        (
            f"{_SURFACES}memory_cli.py::test_processes_that_remember_the_same_fact_remember_it_once",
            f"{_CRASH}memory_conversation.py::test_each_planted_fact_is_remembered_once_whatever_is_killed",
        ),
    ),
    Failure(
        14,
        "everybody's memory lay under one default name",
        "agentscope-java #1623, openclaw #97455",
        (
            f"{_OWN}access.py::test_workspaces_of_one_home_with_agents_of_one_name_share_nothing",
            f"{_OWN}access.py::test_an_address_without_a_tenant_or_a_name_is_refused_and_nobody_s_is_taken",
            f"{_OWN}access.py::test_an_agent_that_is_not_named_where_there_are_several_is_nobody",
        ),
    ),
    Failure(
        15,
        "memories were deleted without a key",
        "CVE-2026-31241, CVE-2026-31244",
        (
            f"{_UNIT}http/test_access.py::test_each_endpoint_refuses_who_may_not_and_nobody_else",
            f"{_UNIT}http/test_access.py::test_nothing_else_is_served_but_what_is_open_to_all_or_needs_a_key",
        ),
    ),
    Failure(
        16,
        "an id from a request or a file became a path",
        "GHSA-5xfq-5mr7-426q, basic-memory #223, memory-bank-mcp #36, DeepTutor #1485",
        (
            f"{_OWN}access.py::test_an_id_that_could_be_a_path_is_refused_by_the_library_and_makes_no_file",
            f"{_OWN}access.py::test_what_a_log_or_a_catalog_says_of_itself_names_no_path",
            f"{_SURFACES}sessions_cli.py::test_an_id_that_could_not_be_a_file_is_refused_before_anything_is_read",
        ),
    ),
    Failure(
        17,
        "a link, or a folder whose name begins like the root's, led outside; settings of a repository were run",
        "CVE-2025-53109, CVE-2025-53110, CVE-2025-68143, CVE-2026-27735",
        (
            f"{_UNIT}files/test_local_links.py::test_a_link_that_leads_outside_is_not_followed_by_any_verb",
            f"{_UNIT}files/test_local_links.py::test_a_link_swapped_in_between_look_and_open_never_leads_outside",
            f"{_UNIT}files/test_path_rules.py::test_a_path_that_could_lead_elsewhere_is_refused",
            f"{_UNIT}files/test_git_hostile.py::test_nothing_that_settings_name_is_run_or_read",
        ),
    ),
    Failure(
        18,
        "the name of a filter was code to the database, and stored bytes were code to the program",
        "CVE-2025-67644, CVE-2026-28277, CVE-2026-48775",
        (
            f"{_OWN}access.py::test_no_value_or_name_of_a_filter_is_code",
            f"{_OWN}access.py::test_no_name_in_an_address_is_code_either",
            f"{_SURFACES}langgraph_store.py::test_names_and_filters_that_cannot_be_are_refused_as_langgraph_does",
            "tests/house/test_source.py::test_nothing_dangerous_is_called",
        ),
    ),
    Failure(
        19,
        "an ordinary word with a sign in it broke the search",
        "hermes #43435, m3-memory #48",
        (
            f"{_OWN}reading.py::test_words_with_signs_in_them_find_what_they_stand_in",
            f"{_SURFACES}search_cli.py::test_any_text_is_a_query",
        ),
    ),
    Failure(
        20,
        "a pipe in the place of a file was waited for, to read or to write",
        "hermes #82792, openai-agents #4891, claude-remember #653",
        (
            f"{_SURFACES}bad_input.py::test_what_is_no_file_is_reported_and_never_waited_for",
            f"{_SURFACES}memory_cli.py::test_a_directory_a_link_to_outside_and_a_fifo_are_refused",
            f"{_OWN}reading.py::test_a_pipe_in_the_place_of_any_file_that_is_written_is_never_waited_for",
        ),
    ),
    Failure(
        21,
        "transcripts held keys that still worked",
        "claude-code #86707, voitta #54, supermemory #122",
        (
            f"{_SURFACES}sessions_promises.py::test_no_secret_is_stored_wherever_in_a_message_it_is",
            f"{_SURFACES}memory_promises.py::test_a_secret_reaches_no_fact_no_journal_no_history_and_no_record",
        ),
    ),
    Failure(
        22,
        "a key worked on after it was replaced, and a blank one let everybody in",
        "GHSA-xmxx-7p24-h892, GHSA-xh72",
        (
            f"{_UNIT}http/test_access.py::test_a_key_revoked_by_another_process_is_refused_at_the_next_request",
            f"{_SURFACES}mcp_http.py::test_a_key_that_is_taken_back_opens_nothing_at_the_next_request",
            f"{_OWN}access.py::test_a_server_whose_token_is_blank_or_could_be_guessed_does_not_start",
        ),
    ),
    Failure(
        23,
        "a look at the health of a running program spoilt its database",
        "openclaw #101290",
        (f"{_OWN}writing.py::test_health_looked_at_again_and_again_beside_a_writer_spoils_nothing",),
    ),
    Failure(
        24,
        "servers that hung kept others from storing anything, and nobody was told",
        "TrueMemory #401, #402",
        (
            f"{_OWN}writing.py::test_programs_that_hang_with_a_workspace_open_keep_nobody_from_remembering",
            f"{_SURFACES}memory_promises.py::test_a_fact_that_could_not_be_written_is_told_and_written_as_soon_as_it_can_be",
        ),
    ),
    Failure(
        25,
        "sessions were deleted, and the list still had them",
        "claude-code #48782",
        (
            f"{_OWN}writing.py::test_no_care_of_ours_deletes_a_session_and_a_list_tells_of_none_that_is_gone",
            f"{_SURFACES}sessions_cli.py::test_a_deleted_session_is_in_the_trash_and_nowhere_else",
        ),
    ),
)


def page() -> str:
    """Return the failures as a table, each with what its tests say."""
    rows = (
        f"| {each.number} | {each.happened} | {each.told} | {'; '.join(map(_sentence, each.tests))} |"
        for each in FAILURES
    )
    return (
        "| # | what happened elsewhere | told of in | what is tried here |\n|---|---|---|---|\n"
        + "\n".join(rows)
    )


def _sentence(test: str) -> str:
    return test.partition("::test_")[2].replace("_", " ")
