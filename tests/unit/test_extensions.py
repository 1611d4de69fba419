import json
import subprocess
import sys

import pytest
from tests.stubs import extensions as stub

from carrel.errors import NotFound
from carrel.extensions import (
    ExtensionFailed,
    ExtensionTwice,
    UnknownExtension,
    blamed_on,
    every,
    find,
    offers,
    open_extension,
)
from carrel.index.embed import EmbedderChoice, open_embedder
from carrel.tokens import VOCABULARIES, Vocabulary, open_tokenizer

POINTS = "[carrel.tokenizers]\nacme = acme_tokens:open_it\n[carrel.embedders]\nacme = acme_vectors:open_it\n"
TOKENS = """
class Letters:
    name = "letters"
    def encode(self, text): return [ord(c) for c in text]
    def decode(self, ids): raise RuntimeError("half done")
    @property
    def spare(self): raise KeyError("nothing\\nspare")

def open_it(model):
    return Letters()
"""
VECTORS = """
import numpy as np

class Odd:
    name, dimensions, leading = "odd", 2, 0
    made = np.zeros((1, 2), np.float32)
    def embed(self, texts): return self.made
    def embed_query(self, text, weigh=None): return self.made[0]

def open_it(choice, environ):
    return Odd()
"""


@pytest.fixture
def site(tmp_path, monkeypatch):
    """A folder of installed packages, with one in it."""
    made = stub.make(tmp_path / "site", "carrel-acme", POINTS, acme_tokens=TOKENS, acme_vectors=VECTORS)
    stub.install(monkeypatch, made)
    yield made
    for name in [name for name in sys.modules if name.startswith("acme_")]:
        del sys.modules[name]


def test_what_packages_offer_is_listed_and_none_of_their_code_is_run(site):
    (site / "acme_tokens.py").write_text("raise SystemExit('run')")
    assert [str(offer) for offer in offers("tokenizers")] == ["acme (carrel-acme 1.0)"]
    assert every("tokenizers", ("o200k_base",)) == ["o200k_base", "acme (carrel-acme 1.0)"]
    assert offers("stores") == []


def test_an_unknown_name_is_told_all_that_are_known_and_where_they_are_from(site):
    with pytest.raises(UnknownExtension) as caught:
        find("tokenizers", "acne\n", known=("o200k_base",))
    assert "'acne?'" in caught.value.message
    assert "o200k_base, acme (carrel-acme 1.0)" in caught.value.hint


def test_a_name_that_is_built_in_stays_what_it_is(tmp_path, monkeypatch):
    points = "[carrel.tokenizers]\no200k_base = nowhere:it\n[carrel.embedders]\nnone = nowhere:it\n"
    stub.install(monkeypatch, stub.make(tmp_path, "carrel-grab", points))
    assert isinstance(open_tokenizer("o200k_base", None), Vocabulary)
    assert open_embedder(EmbedderChoice(kind="none"), environ={}) is None
    assert "grab" not in " ".join(every("tokenizers", VOCABULARIES))


def test_of_two_packages_with_one_name_neither_is_taken(site, tmp_path, monkeypatch):
    stub.install(monkeypatch, stub.make(tmp_path / "more", "carrel-bolt", POINTS))
    with pytest.raises(ExtensionTwice) as caught:
        find("tokenizers", "acme", known=())
    assert "carrel-acme and carrel-bolt" in caught.value.message


def test_a_package_that_has_a_name_twice_is_to_be_mended_and_half_a_package_is_told(tmp_path, monkeypatch):
    twice = "[carrel.tokenizers]\ntwin = a:b\ntwin = c:d\nhalf = a:b\n"
    stub.install(monkeypatch, stub.make(tmp_path / "twice", "carrel-twice", twice))
    with pytest.raises(ExtensionTwice, match="once: by carrel-twice") as caught:
        find("tokenizers", "twin", known=())
    assert "Update carrel-twice" in caught.value.hint
    (tmp_path / "twice/carrel_twice-1.0.dist-info/METADATA").unlink()
    assert str(find("tokenizers", "half", known=())) == "half (? ?)"


@pytest.mark.parametrize(
    "text",
    [
        "import surely_not_installed",
        "raise RuntimeError('no luck')",
        "raise SystemExit(3)",
        "this is no Python",
        "other = 1",
        "open_it = 'no function'",
        "def open_it(): return 1",
        "def open_it(model): return object()",
    ],
)
def test_one_that_cannot_be_loaded_says_whose_it_is_and_what_to_do(site, text):
    (site / "acme_tokens.py").write_text(text)
    with pytest.raises(ExtensionFailed) as caught:
        open_tokenizer("acme", "gpt-5")
    assert "tokenizer acme of the package carrel-acme 1.0" in caught.value.message
    assert "carrel-acme" in caught.value.hint
    assert "\n" not in caught.value.message


def test_what_goes_wrong_at_work_is_blamed_on_the_package_too(site):
    tokenizer = open_tokenizer("acme", None)
    assert (tokenizer.name, tokenizer.encode("ab")) == ("letters", [97, 98])
    with pytest.raises(ExtensionFailed, match="RuntimeError: half done"):
        tokenizer.decode([1])
    with pytest.raises(ExtensionFailed, match="KeyError"):
        _ = tokenizer.spare
    assert not hasattr(tokenizer, "more")


def test_an_error_of_carrels_own_is_passed_on_as_it_is(site):
    offer = find("tokenizers", "acme", known=())
    with pytest.raises(NotFound, match="not here"), blamed_on(offer):
        raise NotFound("not here")
    with pytest.raises(KeyboardInterrupt), blamed_on(offer):
        raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("made", "is_right"),
    [
        ("np.array([[0.6, 0.8]], np.float32)", True),
        ("np.zeros((1, 2), np.float32)", True),
        ("[[0.6, 0.8]]", True),
        ("np.array([[3.0, 4.0]], np.float32)", False),
        ("np.array([[np.nan, 1.0]], np.float32)", False),
        ("np.array([[1.0]], np.float32)", False),
        ("np.zeros((2, 2), np.float32)", False),
        ("'no vectors'", False),
        ("None", False),
    ],
)
def test_what_are_no_vectors_is_never_kept(site, tmp_path, made, is_right):
    (site / "acme_vectors.py").write_text(VECTORS.replace("np.zeros((1, 2), np.float32)", made))
    cache = tmp_path / "embeddings.db"
    embedder = open_embedder(EmbedderChoice(kind="acme"), environ={}, cache=cache)
    assert embedder is not None
    assert embedder.name == "carrel-acme:odd"
    if is_right:
        assert embedder.embed(["x"]).shape == (1, 2)
    else:
        with pytest.raises(ExtensionFailed):
            embedder.embed(["x"])


def test_nobody_waits_for_packages_who_uses_none(tmp_path):
    code = (
        "import sys, json; from carrel import Workspace\n"
        "Workspace.init('w'); desk = Workspace.open('w'); desk.report()\n"
        "print(json.dumps([name for name in sys.modules if name == 'importlib.metadata']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={"CARREL_HOME": str(tmp_path), "PATH": ""},
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(done.stdout) == []


def test_an_extension_is_given_what_it_is_opened_with(site):
    (site / "acme_tokens.py").write_text(
        TOKENS.replace("return Letters()", "it = Letters(); it.name = model; return it")
    )
    assert open_extension(find("tokenizers", "acme", known=()), "gpt-5").name == "gpt-5"
