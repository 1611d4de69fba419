"""What a server embedded once is not sent to it again, and a cache that cannot be used costs only time."""

import apsw
import numpy as np
import pytest
from tests.stubs.embeddings import EmbeddingsStub, as_openai, embedded
from tests.stubs.scripted import Answer, document

from carrel.index.embed import EmbedderChoice, open_embedder
from carrel.index.embed.errors import EmbedderFailed


def open_at(stub, path, model="embed-stub", **more):
    choice = EmbedderChoice(kind="openai", model=model, base_url=stub.url)
    return open_embedder(choice, environ={}, cache=path, **more)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "cache/embeddings.db"


def test_a_text_is_sent_once_whoever_asks(path):
    texts = ["first", "second", "first", "\ud800"]
    with EmbeddingsStub() as stub:
        embedder = open_at(stub, path)
        rows = embedder.embed(texts)
        embedder.close()
        again = open_at(stub, path).embed(texts[::-1])
    assert len(stub.texts) == 3
    assert np.array_equal(rows, again[::-1])
    assert np.array_equal(rows[0], rows[2])


def test_only_what_is_new_is_sent(path):
    with EmbeddingsStub() as stub:
        open_at(stub, path).embed(["first", "second"])
        rows = open_at(stub, path).embed(["second", "third", "first"])
        assert np.allclose(rows, open_at(stub, None).embed(["second", "third", "first"]))
    assert stub.texts[:3] == ["first", "second", "third"]


def test_another_model_has_vectors_of_its_own(path):
    with EmbeddingsStub() as stub:
        open_at(stub, path).embed(["first"])
        open_at(stub, path, model="other").embed(["first"])
    assert stub.texts == ["first", "first"]


def test_a_query_is_not_kept(path):
    with EmbeddingsStub() as stub:
        embedder = open_at(stub, path)
        assert np.array_equal(embedder.embed_query("who?"), embedder.embed_query("who?"))
    assert stub.texts == ["who?", "who?"]


def test_blank_texts_are_zeros_as_long_as_the_others(path):
    with EmbeddingsStub() as stub:
        open_at(stub, path).embed(["first"])
        rows = open_at(stub, path).embed(["", "first", " "])
    assert rows.shape == (3, 4)
    assert np.array_equal(rows.any(axis=1), [False, True, False])


def test_nothing_to_embed_is_nothing(path):
    with EmbeddingsStub() as stub:
        assert len(open_at(stub, path).embed([])) == 0
    assert stub.asked == []


def test_what_was_done_before_a_failure_is_kept(path):
    texts = [f"note {number}" for number in range(300)]
    with EmbeddingsStub(*[embedded] * 4, Answer(status=400)) as stub:
        with pytest.raises(Exception, match="status 400"):
            open_at(stub, path).embed(texts)
        stub.then(embedded)
        stub.asked.clear()
        assert len(open_at(stub, path).embed(texts)) == 300
    assert stub.texts == texts[256:]


def test_a_model_that_changed_behind_its_name_is_asked_for_all_again(path):
    def longer(asked):
        return document(as_openai(*[[1.0, 2.0, 3.0]] * len(asked.body["input"])))

    with EmbeddingsStub() as stub:
        open_at(stub, path).embed(["first", "second"])
        stub.then(longer)
        assert open_at(stub, path).embed(["first", "second", "third"]).shape == (3, 3)
        stub.asked.clear()
        assert open_at(stub, path).embed(["first", "second", "third"]).shape == (3, 3)
    assert stub.asked == []


def test_a_damaged_cache_is_set_aside(path):
    path.parent.mkdir()
    path.write_bytes(b"SQLite format 3\0" + b"rubbish" * 1_000)
    with EmbeddingsStub() as stub:
        embedder = open_at(stub, path)
        assert len(embedder.embed(["first"])) == 1
    assert [finding.code for finding in embedder.findings] == ["cache_damaged"]
    assert path.with_name("embeddings.db.damaged").exists()


@pytest.mark.parametrize("stored", [b"", b"\0", b"abcde", b"\xff" * 16, b"\0" * 4_000])
def test_a_vector_that_is_none_is_asked_for_again(path, stored):
    with EmbeddingsStub() as stub:
        rows = open_at(stub, path).embed(["first", "second"])
        database = apsw.Connection(str(path))
        database.execute("UPDATE embeddings SET vector = ? WHERE id = 1", (stored,))
        database.close()
        assert np.array_equal(open_at(stub, path).embed(["first", "second"]), rows)


def test_a_cache_of_a_newer_version_stays_as_it_is(path):
    path.parent.mkdir()
    database = apsw.Connection(str(path))
    database.execute("CREATE TABLE later (x); PRAGMA user_version = 99")
    database.close()
    before = path.read_bytes()
    with EmbeddingsStub() as stub:
        embedder = open_at(stub, path)
        assert len(embedder.embed(["first"])) == 1
    assert [finding.code for finding in embedder.findings] == ["cache_unavailable"]
    assert path.read_bytes() == before


def test_a_link_to_elsewhere_is_not_followed(tmp_path, path):
    (tmp_path / "elsewhere").mkdir()
    path.parent.symlink_to(tmp_path / "elsewhere")
    with EmbeddingsStub() as stub:
        embedder = open_at(stub, path, inside=tmp_path)
        assert len(embedder.embed(["first"])) == 1
    assert [finding.code for finding in embedder.findings] == ["cache_unavailable"]
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_server_that_is_gone_is_not_missed_where_all_is_known(path):
    with EmbeddingsStub() as stub:
        rows = open_at(stub, path).embed(["first"])
        late = open_at(stub, path)
    assert np.array_equal(late.embed(["first"]), rows)
    with pytest.raises(EmbedderFailed):
        late.embed_query("first")
