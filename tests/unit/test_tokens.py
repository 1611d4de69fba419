import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from carrel.tokens import DEFAULT_WINDOW, Vocabulary, describe_model

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
