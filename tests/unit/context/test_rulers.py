import pytest

from carrel.context.rulers import CharacterRuler, TokenRuler
from carrel.tokens import Vocabulary
from carrel.workspace.counts import TokenCounts

TEXT = "Hello wörld 日本語 🐙🐙 &lt;b\n"


def test_characters_are_code_points():
    ruler = CharacterRuler()
    assert ruler.size("🐙e\u0301") == 3
    assert ruler.spans(TEXT, "head")(7) == 7
    assert ruler.spans(TEXT, "tail")(7) == 7


@pytest.mark.parametrize("keep", ["head", "tail"])
def test_tokens_cover_whole_characters_and_all_of_them_the_whole_text(keep):
    counts = TokenCounts(Vocabulary(), None)
    ruler = TokenRuler(counts)
    covered = ruler.spans(TEXT, keep)
    steps = [covered(n) for n in range(ruler.size(TEXT) + 1)]
    assert steps == sorted(steps)
    assert (steps[0], steps[-1]) == (0, len(TEXT))


def test_a_text_is_encoded_once_to_be_cut():
    vocabulary = Vocabulary()
    ruler = TokenRuler(TokenCounts(vocabulary, None))
    covered = ruler.spans(TEXT, "head")
    for n in range(10):
        covered(n)
    assert vocabulary.encoded == 1
