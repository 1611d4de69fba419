"""A turn over HTTP: told as it happens in the words of AG-UI, and stopped cleanly when nobody listens."""

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor

import pytest
from tests.unit.http.served import NOW, TOKEN, serving

from carrel.clock import FixedClock
from carrel.http.app import build
from carrel.http.routes import chat
from carrel.runtime.model import ContextTooLong, Reply, Spend
from carrel.sessions.message import ToolCall
from carrel.testing.models import SILENCE, ScriptedModel

LOOK = ToolCall(id="c1", name="list_files", arguments={"path": ""})


def told(text):
    """The events of a stream."""
    frames = [frame for frame in text.split("\n\n") if frame.startswith("data: ")]
    return [json.loads(frame.removeprefix("data: ")) for frame in frames]


def kinds(text):
    return [event["type"] for event in told(text)]


def turn(place, message="Hello", session="s1", **more):
    answer = place.ask("POST", f"/sessions/{session}/chat", {"message": message}, **more)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"].startswith("text/event-stream")
    return answer.text


def entries(place, session="s1"):
    return place.told("GET", f"/sessions/{session}/entries")["items"]


def test_a_turn_with_the_model_that_is_always_there_is_told_and_recorded(tmp_path):
    with serving(tmp_path) as place:
        events = told(turn(place))
        assert [event["type"] for event in events[:3]] == [
            "RUN_STARTED",
            "STATE_SNAPSHOT",
            "TEXT_MESSAGE_START",
        ]
        assert [event["type"] for event in events[-2:]] == ["TEXT_MESSAGE_END", "RUN_FINISHED"]
        said = "".join(event["delta"] for event in events if event["type"] == "TEXT_MESSAGE_CONTENT")
        assert [row["content"] for row in entries(place)] == ["Hello", said]
        assert events[1]["snapshot"]["context"]["session"] == "s1"
        assert place.trail() == ["session.turn"]


def test_the_events_of_a_turn_with_tools_are_those_of_ag_ui(tmp_path):
    model = ScriptedModel(
        ["Let me ", "look.", Reply(text="Let me look.", tool_calls=(LOOK,), spend=Spend(input=10, output=2))],
        ["Done.", Reply(text="Done.", spend=Spend(input=12, cached=10, output=1))],
    )
    with serving(tmp_path, model=model) as place:
        events = told(turn(place))
        assert [event["type"] for event in events] == [
            "RUN_STARTED", "STATE_SNAPSHOT",
            "TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END",
            "TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_END", "TOOL_CALL_RESULT",
            "TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END", "RUN_FINISHED",
        ]  # fmt: skip
        assert {event["threadId"] for event in events if "threadId" in event} == {"s1"}
        assert len({event["runId"] for event in events if "runId" in event}) == 1
        start, arguments, _, result = events[6:10]
        assert (start["toolCallName"], json.loads(arguments["delta"])) == ("list_files", {"path": ""})
        assert result["toolCallId"] == "c1"
        assert result["content"]
        first, second = (event["messageId"] for event in events if event["type"] == "TEXT_MESSAGE_START")
        assert first != second
        assert events[-1]["result"]["spend"] == {"input": 22, "cached": 10, "output": 3}


def test_a_history_that_is_summarised_first_is_a_step(tmp_path):
    run = chat._Run("s1")
    begun = list(run.told(chat.Shortening()))
    done = list(run.told(chat.Prepared(None)))  # type: ignore[arg-type]
    assert [each["type"] for each in (*begun, *done)] == ["STEP_STARTED", "STEP_FINISHED"]


def test_an_error_ends_the_stream_with_its_code_and_hint_and_what_was_said_is_kept(tmp_path):
    model = ScriptedModel(["Half", ContextTooLong("scripted")])
    with serving(tmp_path, model=model) as place:
        last = told(turn(place))[-1]
        assert (last["type"], last["code"]) == ("RUN_ERROR", "context_too_long")
        assert last["hint"]
        assert [(row["content"], row.get("finish")) for row in entries(place)] == [
            ("Hello", None),
            ("Half", "error"),
        ]


def test_what_breaks_unforeseen_is_told_without_how(tmp_path):
    with serving(tmp_path, model=ScriptedModel([ZeroDivisionError("secret detail")])) as place:
        text = turn(place)
        assert told(text)[-1]["type"] == "RUN_ERROR"
        assert "secret detail" not in text


def test_half_a_character_of_a_model_does_not_break_the_stream(tmp_path):
    model = ScriptedModel(["\ud83d", "\n\ndata: x", Reply(text="\ud83d\n\ndata: x")])
    with serving(tmp_path, model=model) as place:
        events = told(turn(place))
        assert [event["delta"] for event in events if "delta" in event] == ["\ud83d", "\n\ndata: x"]
        assert events[-1]["type"] == "RUN_FINISHED"


def test_a_shared_key_speaks_for_itself_and_hears_nothing_private(tmp_path):
    model = ScriptedModel(["Hi.", Reply(text="Hi.")])
    with serving(tmp_path, model=model) as place:
        (place.root / "USER.md").write_text("canary-4711\n")
        turn(place, "canary-0815")
        key = place.key("write", "shared")
        text = turn(place, "My name is Eve.", key=key)
        assert kinds(text)[-1] == "RUN_FINISHED"
        assert "canary" not in text
        assert "canary" not in str(model.requests[-1])
        assert "canary" in str(model.requests[0])
        own, others = entries(place)[0], entries(place, f"{key.split('_')[1]}.s1")[0]
        assert (own.get("scope"), own.get("sender_id")) == (None, None)
        assert others["scope"] == "shared"
        assert others["sender_id"].startswith("key:")
        assert others["source_plugin"] == "http"


def test_who_may_only_read_holds_no_turn_and_nobody_names_a_model(tmp_path):
    with serving(tmp_path) as place:
        asked = {"message": "Hi"}
        assert place.refused("POST", "/sessions/s1/chat", asked, key=place.key("read", "main")) == (
            403,
            "beyond_key",
        )
        assert place.refused("POST", "/sessions/s1/chat", {**asked, "model": "openai:gpt-5"}) == (
            400,
            "bad_body",
        )
        assert place.refused("POST", "/sessions/../chat", asked)[0] in (400, 404, 405)
        assert place.refused("POST", "/sessions/x.jsonl/chat", asked) == (400, "bad_id")
        assert place.refused("POST", "/sessions/s1/chat", {"message": ""}) == (400, "bad_body")
        assert place.refused("POST", "/sessions/s1/chat", b'{"message": "\\ud800"}') == (400, "bad_body")
        assert place.told("GET", "/sessions")["items"] == []


def test_a_nul_in_a_message_does_no_harm(tmp_path):
    with serving(tmp_path) as place:
        assert kinds(turn(place, "a\0b"))[-1] == "RUN_FINISHED"


class Listener:
    """A client that leaves when it is quiet after some text; `spec` is what the server promises of sends."""

    def __init__(self, until: bytes, spec: str) -> None:
        self.until, self.spec = until, spec
        self.read = b""
        self._left = asyncio.Event()
        self._sent = False

    async def receive(self):
        if not self._sent:
            self._sent = True
            return {"type": "http.request", "body": b'{"message": "Hello"}', "more_body": False}
        await self._left.wait()
        return {"type": "http.disconnect"}

    async def send(self, message):
        if self._left.is_set() and self.spec == "2.4":
            raise OSError("nobody there")
        self.read += message.get("body", b"")
        if b": still here" in self.read.partition(self.until)[2]:
            self._left.set()

    async def ask(self, app):
        scope = {
            "type": "http", "asgi": {"version": "3.0", "spec_version": self.spec}, "http_version": "1.1",
            "method": "POST", "scheme": "http", "path": "/api/v1/w/default/sessions/s1/chat",
            "raw_path": b"/api/v1/w/default/sessions/s1/chat", "query_string": b"", "root_path": "",
            "headers": [(b"host", b"testserver"), (b"authorization", f"Bearer {TOKEN}".encode())],
            "client": ("127.0.0.1", 1), "server": ("testserver", 80),
        }  # fmt: skip
        await app(scope, self.receive, self.send)


@pytest.mark.parametrize("spec", ["2.3", "2.4"])
def test_a_client_that_leaves_stops_the_turn_and_what_had_arrived_is_recorded(tmp_path, monkeypatch, spec):
    monkeypatch.setattr(chat, "HEARTBEAT", 0.02)
    model = ScriptedModel(["Half an ", "answer", SILENCE])
    with serving(tmp_path, model=model) as place:
        app = build(place.served, token=TOKEN, clock=FixedClock(NOW), hosts=("testserver",))
        listener = Listener(b"answer", spec)
        asyncio.run(listener.ask(app))
        assert b"Half an " in listener.read
        assert model.closed == 1
        rows = [(row["content"], row.get("finish")) for row in entries(place)]
        assert rows == [("Hello", None), ("Half an answer", "cancelled")]


def test_many_turns_at_once_are_all_told_to_their_end(tmp_path):
    with serving(tmp_path) as place, ThreadPoolExecutor(6) as pool:
        texts = list(pool.map(lambda number: turn(place, session=f"s{number % 3}"), range(12)))
        assert [kinds(text)[-1] for text in texts] == ["RUN_FINISHED"] * 12
        assert sum(len(entries(place, f"s{number}")) for number in range(3)) == 24
