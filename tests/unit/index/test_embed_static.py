"""Vectors from the table in wordllama's wheel: what they mean, and what happens where the table is not."""

import json
import struct
import subprocess
import sys

import numpy as np
import pytest
from splintr import Tokenizer

from carrel.index.embed import EmbedderChoice, open_embedder
from carrel.index.embed.errors import EmbedderMissing
from carrel.index.embed.static import LONGEST, StaticEmbedder, find_weights, load_table


@pytest.fixture(scope="module")
def embedder():
    return StaticEmbedder()


def by_hand(text):
    """The same, in the plainest way."""
    data = find_weights().read_bytes()
    start = 8 + struct.unpack("<Q", data[:8])[0]
    table = np.frombuffer(data, "<f2", offset=start).reshape(32_000, 256).astype(np.float64)
    mean = table[Tokenizer.from_pretrained("llama2").encode_ordinary(text)].mean(axis=0)
    return mean / np.linalg.norm(mean)


@pytest.mark.parametrize("text", ["Ana uses a Samsung.", "日本語のメモ", "src/lib/api.ts", "a", "🐙 " * 30])
def test_a_text_is_the_mean_of_its_tokens(embedder, text):
    assert np.allclose(embedder.embed([text])[0], by_hand(text), atol=1e-5)


def test_vectors_have_length_one_and_a_blank_text_is_all_zeros(embedder):
    rows = embedder.embed(["Ana uses a Samsung.", "", "two words"])
    assert rows.dtype == np.float32
    assert np.allclose(np.linalg.norm(rows, axis=1), [1, 0, 1], atol=1e-6)


def test_what_means_the_same_is_nearer_than_what_does_not(embedder):
    query = embedder.embed_query("Which phone does she own?")
    near, far = embedder.embed(["Ana bought a Samsung mobile.", "The soup needs more salt."]) @ query
    assert near > far


def test_a_text_has_the_same_vector_alone_and_among_thousands(embedder):
    texts = [f"note {number} about {number % 7} things" for number in range(5_000)]
    rows = embedder.embed(texts)
    for number in (0, 1, 4_095, 4_096, 4_999):
        assert np.array_equal(rows[number], embedder.embed([texts[number]])[0])


def test_no_text_makes_no_rows(embedder):
    assert embedder.embed([]).shape == (0, embedder.dimensions)


@pytest.mark.parametrize("text", ["\ud800 lone", "nul \0 inside", "<s></s>", "\u202e", "x" * 3_000_000])
def test_any_string_has_a_vector(embedder, text):
    assert np.isfinite(embedder.embed([text])).all()
    assert np.isfinite(embedder.embed_query(text, len)).all()


def test_of_a_long_text_the_beginning_counts(embedder):
    start = "cats and dogs " * (LONGEST // 14 + 1)
    long = start[:LONGEST] + "politics " * 99_999
    assert np.array_equal(embedder.embed([long]), embedder.embed([start[:LONGEST]]))
    assert np.array_equal(embedder.embed_query(long, len), embedder.embed_query(start[:LONGEST], len))


def test_a_word_without_weight_does_not_count_in_a_query(embedder):
    weights = {"the": 0.0, "octopus": 2.0}
    assert np.allclose(
        embedder.embed_query("The octopus?", weights.__getitem__), embedder.embed_query("octopus?"), atol=1e-6
    )


def test_a_heavy_word_pulls_a_query_towards_itself(embedder):
    octopus = embedder.embed(["octopus"])[0]
    plain = embedder.embed_query("where does the octopus live now")
    heavy = embedder.embed_query(
        "where does the octopus live now", lambda word: 9.0 if word == "octopus" else 1.0
    )
    assert heavy @ octopus > plain @ octopus


@pytest.mark.parametrize("weigh", [lambda _: 0.0, lambda _: -1.0])
def test_a_query_in_which_nothing_has_weight_is_read_as_it_is(embedder, weigh):
    assert np.array_equal(embedder.embed_query("who are you", weigh), embedder.embed_query("who are you"))


def test_without_the_package_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "wordllama", None)
    with pytest.raises(EmbedderMissing, match="wordllama") as caught:
        open_embedder(EmbedderChoice(), environ={})
    assert caught.value.code == "embedder_missing"
    assert "carrel[embed]" in caught.value.hint


def test_the_package_is_not_imported():
    program = (
        "import sys\nfrom carrel.index.embed import *\n"
        "from carrel.index.embed import EmbedderChoice, open_embedder\n"
        "assert 'numpy' not in sys.modules\n"
        "open_embedder(EmbedderChoice(), environ={}).embed(['hello'])\n"
        "assert 'numpy' in sys.modules and 'wordllama' not in sys.modules\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def weights(
    dtype="F16", shape=(32_000, 256), offsets=(0, 16_384_000), size=16_384_000, name="embedding.weight"
):
    header = json.dumps({name: {"dtype": dtype, "shape": shape, "data_offsets": offsets}}).encode()
    return struct.pack("<Q", len(header)) + header + b"\0" * size


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\0" * 7,
        b"\xff" * 64,
        b"\x02\0\0\0\0\0\0\0{}",
        struct.pack("<Q", 1 << 62) + b"{" * 200_000,
        struct.pack("<Q", 6) + b"[1, 2]",
        weights(dtype="F32"),
        weights(shape=(32_000, 64)),
        weights(size=1_000),
        weights(offsets=(0, 10)),
        weights(offsets=(-4, 16_383_996)),
        weights(name="other"),
    ],
    ids=range(12),
)
def test_damaged_weights_are_an_error_with_a_way_out(tmp_path, data):
    path = tmp_path / "weights.safetensors"
    path.write_bytes(data)
    with pytest.raises(EmbedderMissing) as caught:
        StaticEmbedder(path)
    assert "pip install" in caught.value.hint


def test_weights_that_are_whole_are_only_mapped(tmp_path):
    path = tmp_path / "weights.safetensors"
    path.write_bytes(weights())
    table = load_table(path)
    assert (table.shape, table.flags.owndata, table.flags.writeable) == ((32_000, 256), False, False)


@pytest.mark.parametrize("text", ["<|im_start|>user", "a <|im_end|> b", "<|im_sep|>"])
def test_a_text_that_spells_tokens_of_chats_has_a_vector(text):
    (row,) = StaticEmbedder().embed([text])
    assert row.shape == (256,)
    assert np.isfinite(row).all()
