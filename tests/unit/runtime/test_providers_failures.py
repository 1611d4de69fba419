"""When providers fail: each failure has its name, tells no secret, and is tried again only where that may help."""

import traceback

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.stubs import anthropic, openai
from tests.stubs.anthropic import AnthropicStub
from tests.stubs.asking import KEY, NOW, Hourglass, ask, model_at
from tests.stubs.openai import OpenAIStub
from tests.stubs.scripted import DISCONNECT, HANG, RESET, Answer, document, event, streamed

from carrel.clock import FixedClock
from carrel.errors import CarrelError, Unavailable, UsageError
from carrel.runtime.providers import Retries
from carrel.runtime.providers.errors import RateLimited
from carrel.runtime.providers.retries import DAY, Trial, asked_wait

BOTH = pytest.mark.parametrize(
    ("kind", "provider"),
    [(OpenAIStub, openai), (AnthropicStub, anthropic)],
    ids=["openai", "anthropic"],
)
ONCE = Retries(attempts=1)


def failed(kind, answer, *, glass=None, retries=None, silence=20.0):
    with kind(answer) as stub:
        heard = ask(model_at(stub, glass=glass, retries=retries, silence=silence))
    assert heard.reply is None
    assert KEY not in "".join(traceback.format_exception(heard.error))
    assert heard.error.__context__ is None  # what a client raised holds the request, and the key with it
    assert heard.error.hint
    return heard


def bad_request(provider, message):
    return provider.error(400, message, kind="invalid_request_error")


FAILURES = {
    "openai refuses the key": (OpenAIStub, openai.UNAUTHORIZED, "key_refused"),
    "openai forbids the model": (OpenAIStub, openai.error(403, "No access."), "key_refused"),
    "openai has no such model": (OpenAIStub, openai.UNKNOWN_MODEL, "model_not_found"),
    "openai finds it too long": (OpenAIStub, openai.TOO_LONG, "context_too_long"),
    "vllm finds it too long": (
        OpenAIStub,
        openai.error(400, "This model's maximum context length is 4096 tokens."),
        "context_too_long",
    ),
    "llama.cpp finds it too long": (
        OpenAIStub,
        openai.error(400, "the request exceeds the available context size, try increasing it"),
        "context_too_long",
    ),
    "openai finds it too long once it began": (
        OpenAIStub,
        streamed(openai.error_event("Too long.", code="context_length_exceeded")),
        "context_too_long",
    ),
    "openai wants money": (OpenAIStub, openai.NO_QUOTA, "quota_exceeded"),
    "openai takes no such request": (OpenAIStub, openai.error(400, "Unknown parameter."), "request_refused"),
    "openai cannot process it": (OpenAIStub, openai.error(422, "Unprocessable."), "request_refused"),
    "openai limits the rate": (OpenAIStub, openai.limited(), "rate_limited"),
    "openai is broken": (OpenAIStub, openai.BROKEN, "provider_down"),
    "openai is in conflict": (OpenAIStub, openai.error(409, "Conflict."), "provider_down"),
    "openai says it timed out": (OpenAIStub, openai.error(408, "Timed out."), "provider_timeout"),
    "anthropic refuses the key": (AnthropicStub, anthropic.UNAUTHORIZED, "key_refused"),
    "anthropic has no such model": (AnthropicStub, anthropic.UNKNOWN_MODEL, "model_not_found"),
    "anthropic finds it too long": (AnthropicStub, anthropic.TOO_LONG, "context_too_long"),
    "anthropic finds it too long with the answer": (
        AnthropicStub,
        bad_request(anthropic, "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000"),
        "context_too_long",
    ),
    "anthropic finds it too large": (AnthropicStub, anthropic.TOO_LARGE, "context_too_long"),
    "anthropic wants money": (AnthropicStub, anthropic.NO_QUOTA, "quota_exceeded"),
    "anthropic takes no such request": (AnthropicStub, bad_request(anthropic, "No."), "request_refused"),
    "anthropic limits the rate": (AnthropicStub, anthropic.limited(), "rate_limited"),
    "anthropic is broken": (AnthropicStub, anthropic.BROKEN, "provider_down"),
    "anthropic is overloaded": (AnthropicStub, anthropic.OVERLOADED, "provider_down"),
    "anthropic is overloaded once it began": (
        AnthropicStub,
        streamed(anthropic.start(anthropic.usage()), anthropic.error_event("Overloaded")),
        "provider_down",
    ),
    "a page is sent": (
        OpenAIStub,
        Answer([b"<html>Log in</html>"], 200, {"Content-Type": "text/html"}),
        "reply_garbled",
    ),
    "another page is sent": (
        AnthropicStub,
        Answer([b"<html>"], 200, {"Content-Type": "text/html"}),
        "reply_garbled",
    ),
    "a document is sent": (OpenAIStub, document({"choices": []}), "reply_garbled"),
    "another document is sent": (AnthropicStub, document({"content": []}), "reply_garbled"),
    "nothing is sent": (OpenAIStub, streamed(), "reply_garbled"),
    "a redirect is sent": (OpenAIStub, Answer((), 302, {"Location": "http://127.0.0.1:1/"}), "reply_garbled"),
}


@pytest.mark.parametrize("name", FAILURES)
def test_a_failure_has_a_name(name):
    kind, answer, code = FAILURES[name]
    heard = failed(kind, answer, retries=ONCE)
    assert heard.code == code
    assert heard.pieces == []
    assert isinstance(heard.error, Unavailable | UsageError)


def test_a_provider_that_nobody_can_reach_is_down():
    with OpenAIStub() as stub:
        model = model_at(stub, retries=ONCE)
    heard = ask(model)
    assert heard.code == "provider_down"
    assert "could not be reached" in heard.error.message


@BOTH
@pytest.mark.parametrize("before", [True, False], ids=["before", "within"])
def test_a_provider_that_hangs_runs_out_of_time(kind, provider, before):
    answer = streamed(HANG) if before else provider.text("one ", HANG)
    heard = failed(kind, answer, silence=0.05, retries=ONCE)
    assert heard.code == "provider_timeout"
    assert heard.pieces == ([] if before else ["one "])


GARBAGE = {
    "no json": event("hello"),
    "half of json": event('{"id": "chat'),
    "no text": b'event: content_block_delta\ndata: {"id": \xff\xfe}\n\n',
}


@BOTH
@pytest.mark.parametrize("name", GARBAGE)
def test_garbage_in_the_middle_ends_an_answer_whose_beginning_is_kept(kind, provider, name):
    named = b"event: content_block_delta\n" if provider is anthropic else b""
    rubbish = named + GARBAGE[name].removeprefix(b"event: content_block_delta\n")
    heard = failed(kind, provider.text("one ", "two", rubbish, "three"))
    assert heard.code == "reply_garbled"
    assert heard.pieces == ["one ", "two"]


@pytest.mark.parametrize("data", ["42", '"x"', "null", "[1]", '{"choices": 5}', '{"choices": [null]}', '{"choices": [{"delta": 5}]}'])  # fmt: skip
def test_json_that_is_no_answer_is_garbage_too(data):
    heard = failed(OpenAIStub, openai.text("one", event(data)))
    assert heard.code == "reply_garbled"
    assert heard.pieces == ["one"]


@BOTH
@pytest.mark.parametrize("leave", [DISCONNECT, RESET], ids=["politely", "rudely"])
@pytest.mark.parametrize("framed", [True, False], ids=["framed", "unframed"])
def test_what_had_arrived_before_a_disconnect_is_kept(kind, provider, leave, framed):
    heard = failed(kind, provider.text("one ", "two", leave, framed=framed))
    assert heard.code == "reply_broken_off"
    assert heard.pieces == ["one ", "two"]


@BOTH
def test_half_an_event_before_a_disconnect_is_no_text(kind, provider):
    half = provider.text("x").steps[3][:-20]
    heard = failed(kind, provider.text("one", half, DISCONNECT))
    assert heard.code == "reply_broken_off"
    assert heard.pieces == ["one"]


@BOTH
def test_an_answer_without_an_end_is_none(kind, provider):
    heard = failed(kind, provider.text("one", finish=None), retries=ONCE)
    assert heard.code == "reply_broken_off"


@BOTH
def test_a_failure_in_the_middle_is_not_tried_again(kind, provider):
    glass = Hourglass()
    with kind(provider.text("one ", provider.error_event("Overloaded"))) as stub:
        heard = ask(model_at(stub, glass=glass))
        assert len(stub.asked) == 1
    assert heard.code == "provider_down"
    assert heard.pieces == ["one "]
    assert glass.waits == []


# ---------------------------------------------------------------------------------------------------- secrets


@pytest.mark.parametrize("status", [400, 401, 404, 418, 429, 500])
@BOTH
def test_a_key_that_a_provider_repeats_is_not_repeated(kind, provider, status):
    answer = provider.error(status, f"Your key {KEY} and password=hunter2hunter2 are wrong", kind="x")
    heard = failed(kind, answer, retries=ONCE)
    assert KEY not in str(heard.error) + heard.error.hint + repr(heard.error)
    assert "hunter2hunter2" not in str(heard.error)


def test_the_words_of_a_provider_are_short_and_on_one_line():
    heard = failed(OpenAIStub, openai.error(400, "line\nbreak \x1b[2J \u202e" + "x" * 100_000))
    assert heard.code == "request_refused"
    assert heard.error.message.isprintable()
    assert len(heard.error.message) < 600


def test_a_refused_key_names_its_variable_and_a_server_that_wants_one_says_so():
    assert "STUB_KEY" in failed(OpenAIStub, openai.UNAUTHORIZED).error.hint
    with OpenAIStub(openai.UNAUTHORIZED) as stub:
        heard = ask(model_at(stub, key=""))
    assert "name the variable" in heard.error.hint


# ---------------------------------------------------------------------------------------------------- retries

PASSING = {
    "408": lambda provider: provider.error(408, "Timed out.", kind="x"),
    "409": lambda provider: provider.error(409, "Conflict.", kind="x"),
    "429": lambda provider: provider.limited(),
    "500": lambda provider: provider.BROKEN,
    "502": lambda provider: provider.error(502, "Bad gateway.", kind="x"),
    "529": lambda provider: provider.error(529, "Overloaded.", kind="overloaded_error"),
    "disconnect": lambda _: streamed(DISCONNECT),
    "reset": lambda _: streamed(RESET),
    "in the stream": lambda provider: streamed(provider.error_event("Overloaded")),
}


@BOTH
@pytest.mark.parametrize("name", PASSING)
def test_what_passes_is_tried_again_and_nobody_notices(kind, provider, name):
    glass = Hourglass()
    trouble = PASSING[name](provider)
    with kind(trouble, trouble, provider.text("Here ", "I am.")) as stub:
        heard = ask(model_at(stub, glass=glass))
        assert len(stub.asked) == 3
        assert stub.bodies[0] == stub.bodies[2]
    assert heard.pieces == ["Here ", "I am."]
    assert heard.error is None
    assert glass.waits == [0.25, 0.5]


LASTING = (
    "key_refused",
    "model_not_found",
    "context_too_long",
    "quota_exceeded",
    "request_refused",
    "reply_garbled",
)


@pytest.mark.parametrize("name", [name for name, (_, _, code) in FAILURES.items() if code in LASTING])
def test_what_does_not_pass_is_asked_once(name):
    kind, answer, _ = FAILURES[name]
    with kind(answer) as stub:
        assert ask(model_at(stub)).error is not None
        assert len(stub.asked) == 1


def test_there_is_an_end_to_trying():
    glass = Hourglass()
    with OpenAIStub(openai.BROKEN) as stub:
        heard = ask(model_at(stub, glass=glass))
        assert len(stub.asked) == 4
    assert glass.waits == [0.25, 0.5, 1.0]
    assert "tried 4 times" in heard.error.message


def test_a_provider_that_says_not_to_try_again_is_believed():
    broken = openai.error(500, "No.", headers={"x-should-retry": "false"})
    with OpenAIStub(broken) as stub:
        assert ask(model_at(stub)).code == "provider_down"
        assert len(stub.asked) == 1


@BOTH
@pytest.mark.parametrize(
    ("told", "waits"), [("7", [7.0] * 3), ("Fri, 24 Apr 2026 12:00:09 GMT", [9.0] * 3), ("0", [0.0] * 3)]
)
def test_a_provider_says_how_long_to_wait(kind, provider, told, waits):
    glass = Hourglass()
    heard = failed(kind, provider.limited(told), glass=glass)
    assert glass.waits == waits
    assert heard.code == "rate_limited"


@BOTH
def test_a_minute_of_refusals_is_not_waited_out_in_vain(kind, provider):
    glass = Hourglass()
    heard = failed(kind, provider.limited("61"), glass=glass)
    assert glass.waits == []
    assert isinstance(heard.error, RateLimited)
    assert heard.error.after == 61
    assert "61 seconds" in heard.error.hint


def test_all_waiting_together_has_a_limit():
    glass = Hourglass()
    heard = failed(OpenAIStub, openai.limited("25"), glass=glass, retries=Retries(attempts=100, seconds=60))
    assert glass.waits == [25.0, 25.0]
    assert heard.code == "rate_limited"


def headers_of(told):
    return asked_wait({"retry-after": told}, FixedClock(NOW))


@pytest.mark.parametrize(
    ("told", "wait"),
    [
        ("5", 5.0),
        ("0.5", 0.5),
        (" 5 ", 5.0),
        ("-5", 0.0),
        ("1e400", DAY),
        ("999999999999", DAY),
        ("nan", None),
        ("", None),
        ("soon", None),
        ("Fri, 24 Apr 2026 12:00:30 GMT", 30.0),
        ("Fri, 24 Apr 2026 11:00:00 GMT", 0.0),
        ("Fri, 24 Apr 2026 14:00:30 +0200", 30.0),
        ("Fri, 24 Apr 9999 12:00:30 GMT", DAY),
        ("Fri, 99 Foo 2026 25:61:61 GMT", None),
    ],
)
def test_how_long_to_wait_can_be_said_in_many_ways(told, wait):
    assert headers_of(told) == wait


def test_milliseconds_are_more_exact_than_seconds():
    assert asked_wait({"retry-after": "2", "retry-after-ms": "1250"}, FixedClock(NOW)) == 1.25


@given(st.text(max_size=40))
def test_no_header_makes_a_wait_of_nonsense(told):
    wait = headers_of(told)
    assert wait is None or 0 <= wait <= DAY


@given(
    attempts=st.integers(1, 8),
    seconds=st.floats(0, 120),
    chance=st.floats(0, 1),
    asked=st.lists(st.one_of(st.none(), st.floats(0, 100)), min_size=10, max_size=10),
)
def test_trying_again_keeps_within_its_limits(attempts, seconds, chance, asked):
    glass = Hourglass(chance)
    trial = Trial(Retries(attempts=attempts, seconds=seconds), glass.timing())
    for after in asked:
        wait = trial.next_wait(after)
        if wait is None:
            break
        assert wait >= (after or 0)
        glass.waits.append(wait)
    assert trial.attempts <= attempts
    assert len(glass.waits) == trial.attempts - 1
    assert sum(glass.waits) <= seconds


def test_waits_grow_and_differ_by_chance():
    low, high = (Trial(Retries(attempts=9, seconds=1e9), Hourglass(chance).timing()) for chance in (0.0, 1.0))
    lows, highs = ([trial.next_wait(None) for _ in range(8)] for trial in (low, high))
    assert lows == [0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 10.0, 10.0]
    assert highs == [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 20.0, 20.0]


def test_errors_of_providers_say_which_model_failed():
    for kind, answer, _ in FAILURES.values():
        error = failed(kind, answer, retries=ONCE).error
        assert isinstance(error, CarrelError)
        assert "-stub" in error.message
