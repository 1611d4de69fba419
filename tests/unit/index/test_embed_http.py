"""Vectors from a server: what is sent, what is believed, and how long anybody waits."""

import time

import numpy as np
import pytest
from tests.stubs.embeddings import (
    DIMENSIONS,
    EmbeddingsStub,
    as_ollama,
    as_openai,
    embedded,
    raw,
    said,
    vector,
)
from tests.stubs.scripted import DISCONNECT, HANG, RESET, Answer, document

from carrel.errors import Unavailable
from carrel.index.embed import EmbedderChoice
from carrel.index.embed.errors import EmbedderFailed, EmbedderGarbled, EmbedderRefused
from carrel.index.embed.http import LONGEST, HttpEmbedder, Patience
from carrel.index.embed.server import find_server

KEY = "sk-stub-0123456789abcdef0123456789abcdef"
SECRET = "AKIA" + "IOSFODNN7EXAMPLE"


class Hourglass:
    """Time that passes when somebody sleeps, and never by itself."""

    def __init__(self):
        self.waits = []

    def patience(self, **more):
        return Patience(sleep=self.waits.append, elapsed=lambda: sum(self.waits), **more)


@pytest.fixture
def glass():
    return Hourglass()


@pytest.fixture(params=["openai", "ollama"])
def kind(request):
    return request.param


def embedder_at(stub, kind="openai", *, key="", patience=None):
    choice = EmbedderChoice(
        kind=kind,
        model="embed-stub",
        base_url=stub.url if kind == "openai" else stub.origin,
        key_variable="STUB_KEY" if key else "",
    )
    return HttpEmbedder(find_server(choice, {"STUB_KEY": key}), patience=patience or Hourglass().patience())


def unit(text):
    row = np.array(vector(text))
    return row / np.linalg.norm(row)


def test_each_text_gets_its_own_vector_of_length_one(kind):
    texts = ["first", "second", "naïve 日本", "\ud800", "nul \0"]
    with EmbeddingsStub() as stub:
        embedder = embedder_at(stub, kind)
        rows = embedder.embed(texts)
    assert rows.dtype == np.float32
    assert embedder.dimensions == DIMENSIONS
    assert np.allclose(rows, [unit(text) for text in stub.texts], atol=1e-6)
    assert stub.texts[:3] == texts[:3]


def test_each_protocol_is_spoken_as_its_servers_expect(kind):
    with EmbeddingsStub() as stub:
        embedder_at(stub, kind, key=KEY).embed(["hello"])
    (asked,) = stub.asked
    expected = {"model": "embed-stub", "input": ["hello"]}
    if kind == "openai":
        assert (asked.path, asked.body) == ("/v1/embeddings", expected | {"encoding_format": "float"})
    else:
        assert (asked.path, asked.body) == ("/api/embed", expected)
    assert asked.headers["authorization"] == f"Bearer {KEY}"
    assert asked.headers["content-type"] == "application/json"


def test_without_a_key_none_is_sent():
    with EmbeddingsStub() as stub:
        embedder_at(stub).embed(["hello"])
    assert "authorization" not in stub.asked[0].headers


def test_many_texts_go_in_batches_over_one_connection():
    texts = [f"note {number}" for number in range(150)]
    with EmbeddingsStub() as stub:
        rows = embedder_at(stub).embed(texts)
    assert [len(body["input"]) for body in stub.bodies] == [64, 64, 22]
    assert stub.connections == 1
    assert np.allclose(rows, [unit(text) for text in texts], atol=1e-6)


def test_long_texts_are_cut_and_go_in_smaller_batches():
    with EmbeddingsStub() as stub:
        embedder_at(stub).embed(["word " * 10_000] * 40)
    assert {len(text) for text in stub.texts} == {LONGEST}
    assert max(len(body["input"]) for body in stub.bodies) == 25


def test_a_blank_text_is_not_sent_and_all_zeros(kind):
    with EmbeddingsStub() as stub:
        rows = embedder_at(stub, kind).embed(["", "first", " \n"])
    assert stub.texts == ["first"]
    assert np.array_equal(rows.any(axis=1), [False, True, False])


def test_blank_texts_alone_are_as_long_as_others():
    with EmbeddingsStub() as stub:
        embedder = embedder_at(stub)
        assert np.array_equal(embedder.embed([" ", ""]), np.zeros((2, DIMENSIONS)))
        assert np.array_equal(embedder.embed_query(" "), np.zeros(DIMENSIONS))
        assert embedder.embed([]).shape == (0, DIMENSIONS)
    assert len(stub.asked) == 1


@pytest.mark.parametrize("padding", ["", "word " * 1_596])
def test_secrets_do_not_leave(padding):
    with EmbeddingsStub() as stub:
        embedder = embedder_at(stub)
        embedder.embed([f"{padding}my key is {SECRET} ok"])
        embedder.embed_query(f"{padding}what is {SECRET}?")
    assert len(stub.texts) == 2
    assert all("AKIA" not in text for text in stub.texts)


def test_vectors_are_put_in_the_order_of_their_numbers():
    body = as_openai(vector("first"), vector("second"))
    body["data"].reverse()
    with EmbeddingsStub(document(body)) as stub:
        rows = embedder_at(stub).embed(["first", "second"])
    assert np.allclose(rows, [unit("first"), unit("second")], atol=1e-6)


WRONG = {
    "no json": raw("<html>hello</html>"),
    "nothing": raw(""),
    "not utf-8": raw(b'{"data": "\xff\xfe"}'),
    "a list": raw("[]"),
    "no data": document({"object": "list"}),
    "null": raw("null"),
    "deep": raw("[" * 200_000),
    "too few": document(as_openai()),
    "too many": document(as_openai([1.0, 2.0], [1.0, 2.0])),
    "empty": document(as_openai([])),
    "nan": said("NaN, 1.0"),
    "infinity": said("Infinity, 1.0"),
    "overflow": said("1e999, 1.0"),
    "large integer": said("9" * 400 + ", 1"),
    "strings": said('"1.0", "2.0"'),
    "nested": said("[1.0], [2.0]"),
    "nothing in it": said("null, 1.0"),
    "zeros": said("0.0, 0.0, -0.0"),
    "base64": document(as_openai("AACAPwAAAEA=")),
    "no numbers": document({"data": [{"embedding": [1.0, 2.0]}]}),
    "wrong number": document({"data": [{"index": 7, "embedding": [1.0, 2.0]}]}),
    "too long": document(as_openai([0.5] * 8_193)),
    "endless": Answer((b"[" + b"0," * 50_000 for _ in range(1_000_000)), 200),
}


@pytest.mark.parametrize("answer", WRONG.values(), ids=WRONG)
def test_what_is_no_vector_is_an_error_and_not_a_vector(answer):
    with EmbeddingsStub(answer) as stub:
        embedder = embedder_at(stub)
        with pytest.raises(EmbedderGarbled) as caught:
            embedder.embed(["hello"])
    assert caught.value.code == "embedder_garbled"
    assert caught.value.hint
    assert embedder.dimensions == 0


@pytest.mark.parametrize("body", [as_ollama(), as_ollama([1.0], [2.0]), {"error": "no"}, as_openai([1.0])])
def test_what_is_no_vector_of_ollama_is_an_error_too(body):
    with EmbeddingsStub(document(body)) as stub, pytest.raises(EmbedderGarbled):
        embedder_at(stub, "ollama").embed(["hello"])


def test_two_texts_with_one_number_are_an_error():
    body = as_openai([1.0, 0.0], [0.0, 1.0])
    body["data"][1]["index"] = 0
    with EmbeddingsStub(document(body)) as stub, pytest.raises(EmbedderGarbled):
        embedder_at(stub).embed(["first", "second"])


def test_vectors_of_two_lengths_in_one_answer_are_an_error():
    answer = document(as_openai([1.0, 0.0], [0.0, 1.0, 1.0]))
    with EmbeddingsStub(answer) as stub, pytest.raises(EmbedderGarbled, match="3 dimensions, not 2"):
        embedder_at(stub).embed(["first", "second"])


def test_another_length_than_before_is_an_error():
    with EmbeddingsStub(embedded, document(as_openai([1.0, 0.0]))) as stub:
        embedder = embedder_at(stub)
        embedder.embed(["first"])
        with pytest.raises(EmbedderGarbled, match="2 dimensions, not 4"):
            embedder.embed(["second"])
    assert embedder.dimensions == DIMENSIONS


def test_values_of_any_size_are_brought_to_length_one():
    with EmbeddingsStub(said("3e300, 4e300"), said("3e-300, 4e-300"), said("3, 4")) as stub:
        embedder = embedder_at(stub)
        for _ in range(3):
            assert np.allclose(embedder.embed(["hello"]), [[0.6, 0.8]])


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 529])
def test_a_passing_failure_is_tried_again(glass, status):
    with EmbeddingsStub(Answer(status=status), Answer(status=status), embedded) as stub:
        rows = embedder_at(stub, patience=glass.patience()).embed(["hello"])
    assert np.allclose(rows, [unit("hello")], atol=1e-6)
    assert glass.waits == [0.5, 1.0]


def test_a_broken_connection_is_tried_again(glass):
    with EmbeddingsStub(Answer([DISCONNECT]), Answer([b'{"data"', RESET]), embedded) as stub:
        rows = embedder_at(stub, patience=glass.patience()).embed(["hello"])
    assert np.allclose(rows, [unit("hello")], atol=1e-6)
    assert len(stub.asked) == 3


def test_a_failure_that_lasts_is_an_error(glass):
    with EmbeddingsStub(Answer(status=503)) as stub, pytest.raises(EmbedderFailed) as caught:
        embedder_at(stub, patience=glass.patience()).embed(["hello"])
    assert caught.value.message.endswith("answers with status 503 (3 attempts).")
    assert (caught.value.code, len(stub.asked)) == ("embedder_failed", 3)


def test_a_server_is_given_the_time_it_asks_for(glass):
    with EmbeddingsStub(Answer(status=429, headers={"Retry-After": "7"}), embedded) as stub:
        embedder_at(stub, patience=glass.patience()).embed(["hello"])
    assert glass.waits == [7.0]


@pytest.mark.parametrize("told", ["-1", "soon", "", "nan", "²", "1e3", "Wed, 21 Oct 2026 07:28:00 GMT"])
def test_a_wait_that_cannot_be_read_is_our_own(glass, told):
    with EmbeddingsStub(Answer(status=429, headers={"Retry-After": told}), embedded) as stub:
        embedder_at(stub, patience=glass.patience()).embed(["hello"])
    assert glass.waits == [0.5]


def test_a_wait_longer_than_our_patience_is_an_error_at_once(glass):
    answer = Answer(status=429, headers={"Retry-After": "3600"})
    with EmbeddingsStub(answer) as stub, pytest.raises(EmbedderFailed) as caught:
        embedder_at(stub, patience=glass.patience()).embed(["hello"])
    assert (caught.value.after, glass.waits) == (3600.0, [])
    assert "3,600 seconds" in caught.value.hint


def test_a_query_is_asked_once(glass):
    with EmbeddingsStub(Answer(status=503), embedded) as stub:
        embedder = embedder_at(stub, patience=glass.patience())
        with pytest.raises(EmbedderFailed):
            embedder.embed_query("who?")
        assert np.allclose(embedder.embed_query("who?", len), unit("who?"), atol=1e-6)
    assert glass.waits == []


def drip():
    """An answer that never ends, a byte at a time, so that no single wait for a byte is long."""
    while True:
        time.sleep(0.02)
        yield b" "


@pytest.mark.parametrize("steps", [lambda: [HANG], lambda: [b"{", HANG], drip])
def test_a_server_that_takes_too_long_is_an_error(steps):
    with EmbeddingsStub(lambda _: Answer(steps())) as stub:
        embedder = embedder_at(stub, patience=Patience(attempts=1, seconds=0.3, query_seconds=0.2))
        with pytest.raises(EmbedderFailed, match="in time"):
            embedder.embed(["hello"])
        with pytest.raises(EmbedderFailed, match="in time"):
            embedder.embed_query("hello")


def test_a_server_that_is_not_there_is_an_error():
    with EmbeddingsStub() as stub:
        embedder = embedder_at(stub)
    with pytest.raises(EmbedderFailed, match="does not accept connections"):
        embedder.embed(["hello"])


def test_a_redirect_is_not_followed():
    with EmbeddingsStub() as other:
        answer = Answer(status=307, headers={"Location": f"{other.url}/embeddings"})
        with EmbeddingsStub(answer) as stub, pytest.raises(EmbedderRefused, match="elsewhere"):
            embedder_at(stub, key=KEY).embed(["hello"])
    assert other.asked == []


@pytest.mark.parametrize("status", [401, 403])
def test_a_key_that_is_not_accepted_is_an_error_that_does_not_show_it(glass, status):
    answer = document({"error": {"message": f"Incorrect API key provided: {KEY}"}}, status)
    with EmbeddingsStub(answer) as stub, pytest.raises(EmbedderRefused) as caught:
        embedder_at(stub, key=KEY, patience=glass.patience()).embed(["hello"])
    assert "STUB_KEY" in caught.value.hint
    assert KEY not in f"{caught.value.message}{caught.value.hint}"
    assert (len(stub.asked), glass.waits) == (1, [])


@pytest.mark.parametrize(
    "error", [{"error": {"message": "model 'x' not found.\n"}}, {"error": "model 'x' not found"}]
)
def test_what_a_server_says_of_its_refusal_is_told(error):
    with EmbeddingsStub(document(error, 404)) as stub, pytest.raises(EmbedderRefused) as caught:
        embedder_at(stub).embed(["hello"])
    assert caught.value.message.endswith("answers with status 404: model 'x' not found.")


def test_what_a_server_says_is_screened_and_short():
    error = {"error": {"message": f"\x1b[2J {SECRET} " + "no " * 5_000}}
    with EmbeddingsStub(document(error, 400)) as stub, pytest.raises(EmbedderRefused) as caught:
        embedder_at(stub).embed(["hello"])
    assert "AKIA" not in caught.value.message
    assert caught.value.message.isprintable()
    assert len(caught.value.message) < 400


@pytest.mark.parametrize("body", ["", "oops", "[]", '{"error": 7}', '{"error": {"message": null}}'])
def test_a_refusal_without_words_is_told_by_its_status(body):
    with EmbeddingsStub(raw(body, 422)) as stub, pytest.raises(EmbedderRefused, match="status 422") as caught:
        embedder_at(stub).embed(["hello"])
    assert isinstance(caught.value, Unavailable)
