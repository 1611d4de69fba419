"""History within an assembly: settled, counted with its calls, and cheap to count again."""

from msgspec.structs import replace

from carrel.context import assemble as assembling
from carrel.context.assemble import Assembly
from carrel.context.report import Row
from carrel.sessions.message import Message, ToolCall
from carrel.sessions.window import INTERRUPTED
from carrel.tokens import Vocabulary
from carrel.workspace.counts import TokenCounts


def asks(path: str = "a.md", own: str = "c1") -> Message:
    return Message(
        "assistant", "", tool_calls=(ToolCall(id=own, name="read_file", arguments={"path": path}),)
    )


def result(text: str = "Ana moved.", own: str = "c1") -> Message:
    return Message("tool", text, name="read_file", tool_call_id=own)


def history_rows(assembly: Assembly) -> list[Row]:
    return [row for row in assembly.report.sections if row.kind == "history"]


USER = Message("user", "Where is Ana?")


def test_a_history_with_calls_has_a_row_for_each_message(desk):
    history = (USER, asks(), result(), Message("assistant", "In Lima."))
    assembly = desk({"AGENTS.md": "x"}).assemble(query="q", history=history)
    assert assembly.messages[1:5] == history
    assert [row.name for row in history_rows(assembly)] == [f"history {number}" for number in range(1, 5)]
    assert not assembly.report.warnings


def test_the_tokens_of_calls_are_counted(desk):
    short = desk({}).assemble(history=(USER, asks(), result()))
    long = desk({}).assemble(history=(USER, asks("a/very/long/path/" * 20), result()))
    assert history_rows(short)[1].tokens > 0
    assert long.report.tokens.used > short.report.tokens.used + 50


def test_other_arguments_or_another_id_make_another_prefix(desk):
    def prefix(*history: Message) -> str:
        return desk({}).assemble(history=history).report.prefix.sha256

    one = prefix(USER, asks(), result())
    assert prefix(USER, asks(), result()) == one
    assert prefix(USER, asks("b.md"), result()) != one
    assert prefix(USER, asks(own="c2"), result(own="c2")) != one


def test_what_was_repaired_is_in_the_report_and_in_the_messages(desk):
    history = (USER, asks(), Message("user", "Are you there?"), Message("tool", "42", name="add"))
    assembly = desk({}).assemble(history=history)
    assert [message.to_text() for message in assembly.messages if message.role == "tool"] == [INTERRUPTED]
    warnings = [warning for warning in assembly.report.warnings if warning.code == "history_repaired"]
    assert len(warnings) == 2
    assert "read_file" in warnings[0].message
    assert "add" in warnings[1].message
    assert len(history_rows(assembly)) == len(assembly.messages) == 5


def test_a_repaired_history_is_cached_like_any_other(desk):
    engine = desk({"AGENTS.md": "x"})
    first = engine.assemble(history=(USER, asks()), query="And?", session="s1")
    again = engine.assemble(
        history=(USER, asks(), Message("user", "And?"), Message("assistant", "In Lima.")),
        query="Thanks.",
        session="s1",
        before=first.remember(),
    )
    assert again.report.prefix.changed_by is None
    assert again.messages[: len(first.messages) - 1] == first.messages[:-1]


def test_a_message_is_counted_once_wherever_it_stands(desk):
    engine = desk({})
    vocabulary = Vocabulary()
    engine.assembler = type(engine.assembler)(replace(engine.ground, counts=TokenCounts(vocabulary, None)))
    history = (USER, asks(), result(), Message("assistant", "In Lima."))
    first = engine.assemble(history=history)
    counted = vocabulary.encoded
    assert engine.assemble(history=history) == first
    (moved,) = history_rows(engine.assemble(history=history[3:]))
    assert vocabulary.encoded == counted
    assert (moved.name, moved.sha256) == ("history 1", history_rows(first)[3].sha256)


def test_rows_that_are_let_go_are_made_again_the_same(desk, monkeypatch):
    history = tuple(Message("user", f"Message {number}.") for number in range(9))
    expected = desk({}).assemble(history=history).report
    monkeypatch.setattr(assembling, "_MOST_KEPT", 3_000)
    engine = desk({})
    assert engine.assemble(history=history).report == expected
    assert engine.assemble(history=history).report == expected


def test_in_characters_a_row_is_as_long_as_its_text(desk):
    rows = history_rows(desk({}, "nexo").assemble(history=(USER, asks(), result())))
    assert [row.size for row in rows] == [
        len(USER.to_text()),
        len('[call c1] read_file {"path":"a.md"}'),
        len("Ana moved."),
    ]
