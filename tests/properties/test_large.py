"""Whatever a tool returns or a model wrote: previews are small and honest, and clipping is done once."""

import json
import re
from collections.abc import Sequence
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from carrel.context.calls import arguments_text
from carrel.runtime.large import Sizes, clip_old, keep_large
from carrel.sessions.message import Message, ToolCall
from carrel.sessions.window import settle, whole_turns
from carrel.testing import EphemeralFiles
from carrel.tools.page import page

QUICK = settings(max_examples=150, deadline=None)
FOLDER = "agents/kate/sessions/s1.files"
GAP = re.compile(r"\n\n\[([\d,]+) characters are left out here; ")
NEXT = re.compile(r"offset=(\d+) and column=(\d+) ")

# ---------------------------------------------------------------------------------------------------------- results

pieces = st.sampled_from(
    ["words and words ", "\n", "\r\n", "\n\n", "🐙", "日本語", "e\u0301", "\u200d", "\ud800", "\0", "x" * 90]
)
results = st.lists(pieces | st.text(max_size=5), max_size=60).map("".join)
repeated = st.tuples(results, st.integers(1, 40)).map(lambda pair: pair[0] * pair[1])


def count(text: str) -> int:
    """A tokenizer of sorts: three bytes are a token."""
    return -(-len(text.encode("utf-8", "replace")) // 3)


@QUICK
@given(text=repeated, limit=st.integers(0, 400), head=st.integers(0, 60), tail=st.integers(0, 60))
@example(text="\n" * 9_000, limit=0, head=0, tail=0)
@example(text="🐙" * 2_000, limit=100, head=1, tail=1)
def test_a_preview_is_smaller_than_the_result_and_leads_to_all_of_it(
    text: str, limit: int, head: int, tail: int
) -> None:
    files = EphemeralFiles()
    sizes = Sizes(limit=limit, head=head, tail=tail)
    kept = keep_large(text, files=files, folder=FOLDER, count=count, screen=str, sizes=sizes)
    again = keep_large(text, files=files, folder=FOLDER, count=count, screen=str, sizes=sizes)
    assert again == kept
    if kept.path is None:
        assert kept.text == text
        return
    assert len(kept.text) < len(text)
    assert kept.path in kept.text
    content = files.read(kept.path)
    assert content is not None
    whole = content.data.decode()
    assert whole == text.encode("utf-8", "replace").decode()
    assert pages(whole) == whole
    check_ends(kept.text, whole)


def check_ends(shown: str, whole: str) -> None:
    """Both ends are the result's own, the gap is counted, and reading goes on where the head ends."""
    gap = next(found for found in GAP.finditer(shown) if NEXT.search(shown, found.end()))
    head, tail = shown[: gap.start()], shown[shown.index("begins.]\n\n", gap.end()) + len("begins.]\n\n") :]
    assert whole.startswith(head)
    assert whole.endswith(tail)
    assert int(gap[1].replace(",", "")) == len(whole) - len(head) - len(tail)
    place = NEXT.search(shown, gap.end())
    assert place is not None
    following = page("read_file", whole, offset=int(place[1]), column=int(place[2]))
    assert whole.startswith(head + following.text)


def pages(text: str) -> str:
    """Read a text as a model does, page by page."""
    read: list[str] = []
    offset: int | None = 1
    column = 1
    while offset is not None:
        one = page("read_file", text, offset=offset, column=column, limit=7)
        read.append(one.text)
        offset, column = one.more, one.more_column
    return "".join(read)


# -------------------------------------------------------------------------------------------------------- arguments

texts = st.text(st.characters(codec=None), max_size=4) | st.integers(0, 700).map(lambda n: "é\u0301" * n)
values = st.recursive(
    texts | st.floats() | st.booleans() | st.none() | st.integers(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=5,
)
objects = st.dictionaries(texts, values, max_size=3)
arguments = st.one_of(
    objects,
    objects.map(json.dumps),
    texts,
    st.sampled_from(
        ['{"a":' * 5_000, '{"a":"' + "\\ud800" * 900 + '"}', '{"a":1e400,"b":"' + "x" * 900 + '"}']
    ),
)
ids = st.sampled_from(["a", "b", "c", ""])
calls = st.builds(ToolCall, id=ids, name=st.just("write_file"), arguments=arguments)
messages = st.builds(
    Message,
    st.sampled_from(["user", "user", "assistant", "assistant", "tool"]),
    st.sampled_from(["", "yes"]),
    tool_calls=st.lists(calls, max_size=3).map(tuple),
    tool_call_id=ids,
)
histories = st.lists(messages, max_size=14)
limits = st.sampled_from([0, 100, 299, 300, 301, 2_000])


def bare(history: Sequence[Message]) -> list[Any]:
    """A history without its arguments."""
    return [
        (m.role, m.content, m.name, m.tool_call_id, [(call.id, call.name) for call in m.tool_calls])
        for m in history
    ]


def same(first: Sequence[Message], second: Sequence[Message]) -> bool:
    """Compare as they are sent: a number that is none is never equal to itself."""
    return repr(first) == repr(second)


@QUICK
@given(history=histories, turns=st.integers(0, 4), limit=limits)
def test_clipping_keeps_ids_and_order_and_is_done_once(
    history: list[Message], turns: int, limit: int
) -> None:
    clipped = clip_old(history, keep_turns=turns, limit=limit)
    assert bare(clipped) == bare(history)
    assert same(clip_old(clipped, keep_turns=turns, limit=limit), clipped)
    assert bare(settle(clipped).messages) == bare(settle(history).messages)
    kept = whole_turns(history)[-turns:] if turns else []
    for turn in kept:
        assert same(clipped[turn], tuple(history[turn]))


@QUICK
@given(history=histories, limit=limits)
def test_what_is_clipped_is_shorter_and_still_an_object(history: list[Message], limit: int) -> None:
    for old, new in zip(history, clip_old(history, keep_turns=0, limit=limit), strict=True):
        for before, after in zip(old.tool_calls, new.tool_calls, strict=True):
            assert type(before.arguments) is type(after.arguments)
            if before is after:
                continue
            assert len(repr(after.arguments)) < len(repr(before.arguments))
            assert isinstance(json.loads(arguments_text(after)), dict)


@QUICK
@given(history=histories, turns=st.integers(0, 3))
def test_a_message_that_was_clipped_stays_as_it_is_when_the_history_grows(
    history: list[Message], turns: int
) -> None:
    settled = settle(history).messages
    for end in range(len(settled)):
        if settled[end].role != "user":
            continue
        before = clip_old(settled[:end], keep_turns=turns)
        after = clip_old(settled, keep_turns=turns)
        for number, message in enumerate(before):
            if message is not settled[number]:
                assert same((after[number],), (message,))
