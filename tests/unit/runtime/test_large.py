"""Results that are too large for a window, and arguments that are too old to be long."""

import json

import pytest

from carrel.files import READ_LIMIT
from carrel.files.local import LocalFiles
from carrel.runtime.large import PAGED, Sizes, clip_old, clip_results, keep_large
from carrel.screen.secrets import redact
from carrel.sessions.message import Message, ToolCall
from carrel.testing import EphemeralFiles
from carrel.tokens import Vocabulary
from carrel.tools.page import page

FOLDER = "agents/kate/sessions/s1.files"
LINES = "".join(f"line {number} of a long result\n" for number in range(1, 8_001))
KEY = "AKIA" + "IOSFODNN7EXAMPLQ"


class Counting:
    """Counts tokens as the real thing does, and how often it was asked."""

    def __init__(self):
        self.asked = 0
        self._vocabulary = Vocabulary()

    def __call__(self, text):
        self.asked += 1
        return len(self._vocabulary.encode(text))


@pytest.fixture
def files():
    return EphemeralFiles()


def keep(files, text, *, count=None, screen=str, sizes=None):
    return keep_large(text, files=files, folder=FOLDER, count=count or Counting(), screen=screen, sizes=sizes)


def stored(files, path):
    content = files.read(path)
    assert content is not None
    return content.data.decode()


# ----------------------------------------------------------------------------------------------------- results


@pytest.mark.parametrize("text", ["", "short", "x" * 20_000, "é" * 10_000])
def test_a_small_result_is_neither_counted_nor_screened(files, text):
    def screen(_):
        raise AssertionError("it was screened")

    count = Counting()
    assert keep(files, text, count=count, screen=screen).text is text
    assert count.asked == 0
    assert files.stamps([FOLDER]) == [None]


def test_a_long_result_of_few_tokens_stays_as_it_is(files):
    text = " " * 40_000
    kept = keep(files, text)
    assert (kept.text, kept.path) == (text, None)


def test_a_large_result_becomes_a_file_and_both_its_ends_are_shown(files):
    kept = keep(files, LINES)
    assert kept.path is not None
    assert kept.path.startswith(f"{FOLDER}/")
    assert kept.path.endswith(".txt")
    assert stored(files, kept.path) == LINES
    assert kept.text.startswith("line 1 of a long result\n")
    assert kept.text.endswith("line 8000 of a long result\n")
    assert 1_500 < Counting()(kept.text) < 2_200


def test_the_gap_says_exactly_what_is_where(files):
    kept = keep(files, LINES)
    head, _, rest = kept.text.partition("\n\n[")
    gap, _, tail = rest.partition("]\n\n")
    missing = len(LINES) - len(head) - len(tail)
    assert gap.startswith(f"{missing:,} characters are left out here; ")
    whole = f"{Counting()(LINES):,} tokens, {len(LINES):,} characters in 8,000 lines, is in {kept.path}."
    assert whole in gap
    first = head.count("\n") + 1
    assert f"read_file: offset={first} and column=1 go on from here" in gap


def test_reading_goes_on_exactly_where_the_head_ends(files):
    text = json.dumps({"text": LINES})  # one line, as results of tools are
    kept = keep(files, text)
    head = kept.text.partition("\n\n[")[0]
    assert f"offset=1 and column={len(head) + 1} " in kept.text
    following = page("read_file", stored(files, kept.path), offset=1, column=len(head) + 1)
    assert text.startswith(head + following.text)


def test_secrets_are_taken_out_before_anything_is_stored_or_shown(files):
    text = f"{KEY}\n{LINES}{KEY}\n{LINES}{KEY}"
    kept = keep(files, text, screen=lambda given: redact(given).text)
    assert KEY not in kept.text
    assert KEY not in stored(files, kept.path)
    assert stored(files, kept.path).count("[REDACTED:") == 3


def test_the_same_result_twice_is_one_file(files):
    first, second = keep(files, LINES), keep(files, LINES)
    assert first == second
    assert len(files.list(FOLDER)) == 1


def test_text_that_is_no_unicode_is_stored_as_text_that_can_be_read(files):
    kept = keep(files, "\ud800" + LINES)
    assert stored(files, kept.path) == "?" + LINES


def test_a_letter_and_its_marks_are_not_parted(files):
    kept = keep(files, "e\u0301" * 30_000)
    head, _, rest = kept.text.partition("\n\n[")
    tail = rest.partition("]\n\n")[2]
    assert head.endswith("e\u0301")
    assert tail.startswith("e\u0301")


def test_a_last_line_that_is_long_is_shown_in_part(files):
    kept = keep(files, "日本語" * 30_000 + "\n", sizes=Sizes(tail=20))
    assert kept.text.endswith("日本語\n")


def test_what_cannot_be_stored_is_shortened_all_the_same_and_says_so(tmp_path):
    (tmp_path / "agents").write_text("a file stands in the way")
    kept = keep(LocalFiles(tmp_path), LINES)
    assert kept.path is None
    assert "could not be stored" in kept.text
    assert FOLDER not in kept.text
    assert kept.text.startswith("line 1 of")
    assert [found.code for found in kept.findings] == ["result_not_stored"]


def test_a_result_beyond_what_can_be_read_back_says_how_much_of_it_the_file_holds(files):
    text = "é" * (READ_LIMIT // 2 + 10)
    kept = keep(files, text, count=lambda given: len(given) // 4)
    assert stored(files, kept.path) == "é" * (READ_LIMIT // 2)
    assert f"the file holds the first {READ_LIMIT // 2:,} characters" in kept.text


def test_a_preview_that_would_save_nothing_is_not_made(files):
    text = "word " * 40
    kept = keep(files, text, sizes=Sizes(limit=10, head=5, tail=5))
    assert (kept.text, kept.path) == (text, None)
    assert files.stamps([FOLDER]) == [None]


def test_reading_back_makes_no_further_file():
    assert "read_file" in PAGED


# --------------------------------------------------------------------------------------------------- arguments


def turn(number, arguments):
    call = ToolCall(id=f"c{number}", name="write_file", arguments=arguments)
    return [
        Message("user", f"question {number}"),
        Message("assistant", "", tool_calls=(call,)),
        Message("tool", "{}", name="write_file", tool_call_id=call.id),
        Message("assistant", f"answer {number}"),
    ]


def history(turns, arguments):
    return [message for number in range(turns) for message in turn(number, arguments)]


def arguments_of(messages):
    return [call.arguments for message in messages for call in message.tool_calls]


LONG = {"path": "a.md", "content": "x" * 2_001, "more": [{"deep": "y" * 5_000}, 7]}
SHORT = {
    "path": "a.md",
    "content": "x" * 200 + "… [2,001 characters, clipped]",
    "more": [{"deep": "y" * 200 + "… [5,000 characters, clipped]"}, 7],
}


def test_long_arguments_of_turns_before_the_last_three_are_clipped():
    assert arguments_of(clip_old(history(5, LONG))) == [SHORT, SHORT, LONG, LONG, LONG]


def test_in_a_short_history_nothing_is_clipped():
    messages = history(3, LONG)
    assert clip_old(messages) == tuple(messages)
    assert clip_old([]) == ()


def test_arguments_that_are_short_enough_are_the_very_same():
    messages = history(9, {"content": "x" * 2_000})
    assert all(new is old for new, old in zip(clip_old(messages), messages, strict=True))


def test_arguments_that_are_the_text_of_an_object_stay_one():
    clipped = arguments_of(clip_old(history(4, json.dumps(LONG))))[0]
    assert isinstance(clipped, str)
    assert json.loads(clipped) == SHORT


@pytest.mark.parametrize(
    "text", ["{" * 9_000, '{"a":' * 9_000, '["' + "x" * 9_000 + '"]', '{"a": "' + "x" * 9_000]
)
def test_arguments_that_are_no_object_are_clipped_as_text(text):
    clipped = arguments_of(clip_old(history(4, text)))[0]
    assert clipped == text[:200] + f"… [{len(text):,} characters, clipped]"


def test_numbers_that_cannot_be_written_back_do_not_keep_arguments_long():
    clipped = arguments_of(clip_old(history(4, '{"n": 1' + "0" * 400 + ', "a": "' + "x" * 9_000 + '"}')))[0]
    assert len(clipped) < 1_000


def test_a_message_is_clipped_once_and_stays_so_as_the_history_grows():
    messages = history(12, LONG)
    for turns in range(1, 12):
        shorter, longer = clip_old(messages[: turns * 4]), clip_old(messages[: turns * 4 + 4])
        differing = [number for number, old in enumerate(shorter) if longer[number] != old]
        assert differing == ([(turns - 3) * 4 + 1] if turns >= 3 else [])


def test_an_argument_is_not_cut_between_a_letter_and_its_marks():
    clipped = arguments_of(clip_old(history(4, {"content": "x" + "e\u0301" * 2_000})))[0]["content"]
    assert clipped.startswith("x" + "e\u0301" * 99 + "… [")


def test_no_turn_at_all_may_be_kept():
    assert arguments_of(clip_old(history(2, LONG), keep_turns=0)) == [SHORT, SHORT]


# ------------------------------------------------------------------------------------------------- a turn under way


def under_way(*sizes):
    """A turn that has called as many tools, each with a result and with arguments of so many characters."""
    return [
        message
        for number, size in enumerate(sizes)
        for message in (
            Message(
                "assistant",
                "",
                tool_calls=(ToolCall(id=f"c{number}", name="put", arguments={"text": "a" * size}),),
            ),
            Message("tool", f"{number} " + "r" * size, tool_call_id=f"c{number}"),
        )
    ]


def characters(messages):
    return sum(len(message.to_text()) + len(str(message.tool_calls)) for message in messages)


def test_results_of_a_turn_that_fits_stay_as_they_are():
    own = under_way(5_000, 5_000)
    assert list(clip_results(own, characters(own), characters)) == own


def test_the_oldest_arguments_and_results_are_clipped_until_the_rest_fits():
    own = under_way(5_000, 5_000, 5_000)
    clipped = clip_results(own, 22_000, characters)
    assert characters(clipped) <= 22_000
    assert "clipped]" in str(clipped[0].tool_calls[0].arguments)
    assert clipped[1].to_text().startswith("0 rr")
    assert "5,002 characters, clipped]" in clipped[1].to_text()
    assert list(clipped[2:]) == own[2:]


def test_a_turn_that_cannot_fit_is_clipped_all_over_and_keeps_its_form():
    own = under_way(5_000, 100, 5_000)
    clipped = clip_results(own, 0, characters)
    assert [message.role for message in clipped] == [message.role for message in own]
    assert [message.tool_call_id for message in clipped] == [message.tool_call_id for message in own]
    assert list(clipped[2:4]) == own[2:4]  # what is short stays
    assert characters(clipped) < 2_500
