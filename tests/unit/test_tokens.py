import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from carrel.tokens import (
    DEFAULT_WINDOW,
    LONGEST_STRETCH,
    Vocabulary,
    describe_model,
    is_countable,
    stretches,
)

MODELS = ["gpt-4", "gpt-4o", "llama3", "qwen3", "deepseek-v3", "kimi-k2", "glm-4", "phi-4", "gemma-3"]
ODD = "Hello  wörld 日本語 🐙\n\n\t<|im_start|> <|endoftext|> x"


def test_no_name_means_the_default_vocabulary_counted_exactly():
    model = describe_model(None)
    assert (model.vocabulary, model.exact, model.window) == ("o200k_base", True, DEFAULT_WINDOW)
    assert model.known


def test_an_unknown_name_gets_the_default_window_and_is_an_estimate():
    model = describe_model("somebody-elses-model")
    assert (model.vocabulary, model.window) == ("o200k_base", DEFAULT_WINDOW)
    assert not model.exact
    assert not model.known


@pytest.mark.parametrize("name", ["claude-opus-4", "gemini-2.5-pro", "grok-4", "gemma-3-27b", "gemma3:4b"])
def test_makers_without_a_public_vocabulary_are_counted_as_an_estimate(name):
    model = describe_model(name)
    assert model.vocabulary == "o200k_base"
    assert model.known
    assert not model.exact


def test_the_longest_prefix_wins():
    assert describe_model("gpt-4").vocabulary == "cl100k_base"
    assert describe_model("gpt-4-turbo-2024").window == 128_000
    assert describe_model("gpt-4o-mini").vocabulary == "o200k_base"
    assert describe_model("grok-4-fast").window > describe_model("grok-3").window


@pytest.mark.parametrize("name", ["GPT-4O", "openai/gpt-4o", "openai:gpt-4o", "azure/openai/gpt-4o"])
def test_case_and_provider_of_a_name_do_not_matter(name):
    assert describe_model(name) == describe_model("gpt-4o")


@pytest.mark.parametrize(
    ("tagged", "plain"),
    [
        ("qwen3:8b", "qwen3"),
        ("ollama/llama3.1:8b", "llama3"),
        ("gpt-oss:20b", "gpt-oss"),
        ("anthropic/claude-sonnet-4:beta", "claude"),
        ("openrouter/anthropic/claude-x:beta", "claude"),
        ("deepseek/llama-3-70b", "llama3"),
    ],
)
def test_a_tag_after_the_name_does_not_hide_the_model(tagged, plain):
    assert describe_model(tagged) == describe_model(plain)


@pytest.mark.parametrize("name", MODELS)
def test_every_vocabulary_that_a_model_names_decodes_what_it_encoded(name):
    vocabulary = Vocabulary(describe_model(name).vocabulary)
    ids = vocabulary.encode(ODD)
    assert vocabulary.decode(ids).decode() == ODD
    assert all(ODD.encode().startswith(vocabulary.decode(ids[:n])) for n in range(len(ids)))
    assert all(ODD.encode().endswith(vocabulary.decode(ids[n:])) for n in range(len(ids)))


def test_spellings_of_special_tokens_are_ordinary_text():
    assert len(Vocabulary().encode("<|endoftext|>")) > 1


def test_a_lone_surrogate_counts_as_a_replacement_character():
    vocabulary = Vocabulary()
    assert vocabulary.encode("a\ud800b") == vocabulary.encode("a?b")


def test_a_vocabulary_counts_the_texts_it_worked_on():
    vocabulary = Vocabulary()
    assert vocabulary.encoded == 0
    vocabulary.encode("one")
    vocabulary.encode("two")
    assert vocabulary.encoded == 2


@given(st.text(max_size=200))
@settings(max_examples=60, deadline=None)
def test_decoding_gives_back_every_text(text):
    vocabulary = Vocabulary()
    assert vocabulary.decode(vocabulary.encode(text)).decode() == text


LINES = st.lists(
    st.sampled_from(
        [
            "a",
            "Bc",
            "12",
            " ",
            "a b",
            "\n",
            "\n\n",
            "\r\n",
            " \n",
            "\t",
            "/",
            ".",
            "'s",
            "漢",
            "🐙",
            "\u2028",
            "_",
        ]
    ),
    max_size=60,
).map("".join)


@pytest.mark.parametrize("name", MODELS)
@given(text=LINES, longest=st.integers(3, 20))
@settings(max_examples=60)
def test_a_text_that_is_parted_at_its_lines_and_words_has_the_same_tokens_in_every_vocabulary(
    name, text, longest
):
    """Stretches that had to be cut in a line are put together again: the others are what is promised of."""
    vocabulary, joined = Vocabulary(describe_model(name).vocabulary), [""]
    for stretch, is_whole in stretches(text, longest):
        joined[-1] += stretch
        joined += [""] if is_whole else []
    assert "".join(joined) == text
    assert [each for own in joined for each in vocabulary.encode(own)] == vocabulary.encode(text)


def test_a_line_too_long_is_counted_in_pieces_and_said_to_be_an_estimate():
    word, lines = "x" * (2 * LONGEST_STRETCH + 1), "Some words stand here.\n" * 10_000
    assert not is_countable(word)
    assert is_countable(lines)
    assert is_countable("Some words stand here. " * 10_000)
    assert is_countable(word[:LONGEST_STRETCH])
    assert Vocabulary().decode(Vocabulary().encode(word + lines)) == (word + lines).encode()
    assert len(Vocabulary().encode(lines)) == 10_000 * len(Vocabulary().encode("Some words stand here.\n"))
