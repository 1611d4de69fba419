"""From what a user chose to an embedder: what is wrong with a choice is said before anybody is asked."""

import pytest
from tests.stubs.embeddings import EmbeddingsStub

from carrel.index.embed import EmbedderChoice, batches, open_embedder
from carrel.index.embed.errors import BadEmbedder, EmbedderMissing
from carrel.index.embed.server import find_server


def choose(**more):
    return EmbedderChoice(**({"kind": "openai", "model": "m", "base_url": "http://localhost:1/v1"} | more))


def test_none_is_no_embedder():
    assert open_embedder(EmbedderChoice(kind="none"), environ={}) is None


def test_the_static_one_is_the_default():
    embedder = open_embedder(EmbedderChoice(), environ={})
    assert (embedder.name, embedder.dimensions, embedder.leading) == ("static:l2-supercat-256", 256, 128)


def test_opening_asks_nothing_of_a_server():
    with EmbeddingsStub() as stub:
        embedder = open_embedder(choose(base_url=stub.url), environ={})
        assert (embedder.name, embedder.dimensions, embedder.leading) == ("openai:m", 0, 0)
    assert stub.connections == 0


@pytest.mark.parametrize(
    "url",
    [
        "",
        "localhost:11434",
        "ftp://host",
        "http://",
        "http://user:hunter2@host",
        "http://host:99999999",
        "http://[::1",
        "http://host/v1?key=x",
        "http://host/v1#x",
        "http://ho st/",
        "http://hóst/",
        "http://host/\r\nX: y",
    ],
)
def test_a_base_url_that_is_none_is_an_error_that_does_not_show_it(url):
    with pytest.raises(BadEmbedder) as caught:
        open_embedder(choose(base_url=url), environ={})
    assert "hunter2" not in caught.value.message
    assert "host/" not in caught.value.message
    assert caught.value.code == "bad_embedder"


@pytest.mark.parametrize("model", ["", " m", "a\nb", "x" * 201])
def test_a_model_that_has_no_name_is_an_error(model):
    with pytest.raises(BadEmbedder, match="model"):
        open_embedder(choose(model=model), environ={})


@pytest.mark.parametrize("value", [None, "", "  ", "two words", "naïve", "a\r\nb", "x" * 5_000])
def test_a_key_that_is_none_names_its_variable_and_not_itself(value):
    environ = {} if value is None else {"MY_KEY": value}
    with pytest.raises(EmbedderMissing, match="MY_KEY") as caught:
        open_embedder(choose(key_variable="MY_KEY"), environ=environ)
    assert not (value or "").strip() or value not in caught.value.message
    assert "MY_KEY" in caught.value.hint


def test_a_key_does_not_show_itself():
    server = find_server(choose(key_variable="MY_KEY"), {"MY_KEY": "sk-hidden"})
    assert "sk-hidden" not in repr(server)


@pytest.mark.parametrize(
    ("url", "kind", "path"),
    [
        ("https://host/v1/", "openai", "/v1/embeddings"),
        ("http://host:8080", "ollama", "/api/embed"),
        ("http://[::1]:11434/behind/", "ollama", "/behind/api/embed"),
    ],
)
def test_the_place_of_a_server_is_read_from_its_base_url(url, kind, path):
    assert find_server(choose(base_url=url, kind=kind), {}).path == path


def test_batches_hold_all_texts_in_order_and_are_bounded():
    texts = ["a" * size for size in (1, 2, 30, 1, 1, 1, 1, 50, 2)]
    parts = list(batches(texts, most=3, characters=20))
    assert [text for part in parts for text in part] == texts
    assert all(len(part) <= 3 and (len(part) == 1 or sum(map(len, part)) <= 20) for part in parts)
    assert list(batches([], most=3, characters=20)) == []
