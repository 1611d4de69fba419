import pytest

from carrel.context.rulers import CharacterRuler, QuarterRuler, TokenRuler
from carrel.context.truncate import Marker, cut, cut_exactly, cut_middle
from carrel.tokens import Vocabulary
from carrel.workspace.counts import TokenCounts

ASTRA = Marker(pattern="[truncated at {limit} tokens]")
CARREL = Marker(pattern="[truncated: {path}, {kept} of {whole} tokens shown]")
NEXO = Marker(pattern="[truncated]", before="\n\n")
PLAIN = Marker(pattern="[cut]")
COUNTS = TokenCounts(Vocabulary(), None)
TOKENS = TokenRuler(COUNTS)
CHARACTERS = CharacterRuler()


def in_characters(text: str, limit: int, *, keep="head", marker=PLAIN) -> str | None:
    done = cut(text, limit, CHARACTERS, keep=keep, marker=marker, path="a.md")
    return done.text if done else None


def in_tokens(text: str, limit: int, *, keep="head", marker=ASTRA, path="a.md"):
    return cut(text, limit, TOKENS, keep=keep, marker=marker, path=path)


def test_a_head_ends_with_the_marker_on_its_own_line():
    assert in_characters("abcdefghijklmnop", 12) == "abcdef\n[cut]"


def test_a_tail_begins_with_the_marker_on_its_own_line():
    assert in_characters("abcdefghijklmnop", 12, keep="tail") == "[cut]\nklmnop"


def test_nexo_parts_a_head_from_its_marker_by_a_blank_line_and_a_tail_by_one_newline():
    text = "abcdefghijklmnopqrstuvwxyz"
    assert in_characters(text, 20, marker=NEXO) == "abcdefg\n\n[truncated]"
    assert in_characters(text, 20, marker=NEXO, keep="tail") == "[truncated]\nstuvwxyz"


def test_a_limit_that_holds_the_marker_and_one_character_is_enough_and_one_less_is_not():
    assert in_characters("abcdef", 7) == "a\n[cut]"
    assert in_characters("abcdef", 6) is None
    assert in_characters("abcdef", 0) is None
    assert in_characters("abcdef", 7, keep="tail") == "[cut]\nf"
    assert in_characters("abcdef", 6, keep="tail") is None


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("a" * 40 + "\n" + "b" * 200, "a" * 40),  # the cut falls right on the newline: stay
        ("a" * 39 + "\n" + "b" * 200, "a" * 39),  # just past a newline: stay, and trim
        ("a" * 38 + "\nb" + "c" * 200, "a" * 38),  # within two characters
        ("a" * 37 + "\nbb" + "c" * 200, "a" * 37 + "\nbb"),  # three: too far
        ("a" * 38 + " b" + "c" * 200, "a" * 38),
        ("a" * 37 + " bb" + "c" * 200, "a" * 37 + " bb"),
        ("a" * 38 + "\n " + "c" * 200, "a" * 38),  # a newline before nearer white space
        ("a" * 200, "a" * 40),
    ],
)
def test_a_head_ends_at_a_newline_or_white_space_within_five_percent(text, kept):
    assert in_characters(text, 46) == f"{kept}\n[cut]"


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("b" * 200 + "\n" + "a" * 40, "a" * 40),
        ("b" * 200 + "\n" + "a" * 39, "a" * 39),
        ("b" * 200 + "b\n" + "a" * 38, "a" * 38),
        ("b" * 200 + "bb\n" + "a" * 37, "bb\n" + "a" * 37),
        ("b" * 200 + "b " + "a" * 38, " " + "a" * 38),  # leading newlines go, other white space stays
        ("b" * 200 + "bb " + "a" * 37, "bb " + "a" * 37),
        ("b" * 200, "b" * 40),
    ],
)
def test_a_tail_begins_after_a_newline_or_at_white_space_within_five_percent(text, kept):
    assert in_characters(text, 46, keep="tail") == f"[cut]\n{kept}"


def test_a_tail_loses_leading_newlines_only():
    assert in_characters("b" * 200 + "\n\n  indented" + "a" * 28, 46, keep="tail") == (
        "[cut]\n  indented" + "a" * 28
    )


def test_a_head_loses_trailing_white_space_and_keeps_leading():
    assert in_characters("\n\n" + "a" * 36 + " \t" + "b" * 100, 46) == "\n\n" + "a" * 36 + "\n[cut]"


@pytest.mark.parametrize("size", range(40, 45))
def test_an_entity_is_never_split(size):
    head = in_characters("a" * 40 + "&lt;" + "b" * 100, size + 6)
    assert head == ("a" * 40 if size < 44 else "a" * 40 + "&lt;") + "\n[cut]"
    tail = in_characters("b" * 100 + "&lt;" + "a" * 40, size + 6, keep="tail")
    assert tail == "[cut]\n" + ("a" * 40 if size < 44 else "&lt;" + "a" * 40)


@pytest.mark.parametrize(
    ("limit", "written"), [(20_000, "20K"), (1_500, "1500"), (1_000, "1K"), (999, "999")]
)
def test_a_limit_is_written_with_k_where_it_is_whole_thousands(limit, written):
    done = in_tokens("word " * 25_000, limit)
    assert done is not None
    assert done.text.endswith(f"\n[truncated at {written} tokens]")
    assert TOKENS.size(done.text) <= limit
    assert TOKENS.size(done.text) > 0.94 * limit


def test_carrel_says_how_many_of_how_many_tokens_are_shown():
    text = "one two three four five six seven eight nine ten\n" * 200
    done = in_tokens(text, 100, marker=CARREL)
    assert done is not None
    kept, _, marker = done.text.rpartition("\n")
    assert marker == f"[truncated: a.md, {TOKENS.size(kept)} of {TOKENS.size(text)} tokens shown]"
    assert done.spans == ((0, len(kept)),)
    assert text.startswith(kept)
    assert done.marked
    assert TOKENS.size(done.text) <= 100


def test_a_tail_of_carrel_says_it_too():
    text = "one two three four five six seven eight nine ten\n" * 200
    done = in_tokens(text, 100, marker=CARREL, keep="tail")
    assert done is not None
    marker, _, kept = done.text.partition("\n")
    assert marker == f"[truncated: a.md, {TOKENS.size(kept)} of {TOKENS.size(text)} tokens shown]"
    assert text.endswith(kept)


def test_a_cut_between_the_tokens_of_one_character_goes_back_before_it():
    text = "𒀀" * 200  # several tokens each
    for limit in range(10, 20):
        for keep in ("head", "tail"):
            done = in_tokens(text, limit, keep=keep)
            if done is not None:
                ((start, end),) = done.spans
                assert set(text[start:end]) == {"𒀀"}
                assert TOKENS.size(done.text) <= limit


@pytest.mark.parametrize("keep", ["head", "tail"])
@pytest.mark.parametrize("marker", [ASTRA, CARREL, NEXO])
def test_a_remembered_cut_equals_a_fresh_one(tmp_path, keep, marker):
    text = "Some words, and \n more <b>words</b> 🐙 " * 300
    fresh = in_tokens(text, 200, keep=keep, marker=marker)
    first = TokenCounts(Vocabulary(), tmp_path / "tokens.db")
    assert TokenRuler(first).cut(text, 200, keep=keep, marker=marker, path="a.md") == fresh
    first.close()
    vocabulary = Vocabulary()
    second = TokenCounts(vocabulary, tmp_path / "tokens.db")
    ruler = TokenRuler(second)
    assert ruler.cut(text, 200, keep=keep, marker=marker, path="a.md") == fresh
    assert vocabulary.encoded == 0
    assert ruler.cut(text, 200, keep=keep, marker=marker, path="b.md") == in_tokens(
        text, 200, keep=keep, marker=marker, path="b.md"
    )
    assert ruler.cut(text, 201, keep=keep, marker=marker, path="a.md") == in_tokens(
        text, 201, keep=keep, marker=marker
    )
    assert ruler.cut(text, 2, keep=keep, marker=marker, path="a.md") is None
    assert ruler.cut(text, 2, keep=keep, marker=marker, path="a.md") is None
    second.close()


def test_a_path_with_braces_is_written_as_it_is():
    done = in_tokens("word " * 500, 100, marker=CARREL, path="{kept}{0}.md")
    assert done is not None
    assert "[truncated: {kept}{0}.md, " in done.text


TAGS = ("document", "memory_context")


def test_a_word_cut_short_is_no_tag():
    marker = Marker(pattern="[cut]", tags=TAGS)
    text = "aaaa </document9" + "b" * 100
    for limit in range(7, 40):
        done = cut(text, limit, CHARACTERS, keep="head", marker=marker, path="a.md")
        assert done is not None
        assert "</document\n" not in done.text
        assert len(done.text) <= limit
    assert in_characters(text, 21, marker=marker) == "aaaa\n[cut]"
    assert in_characters(text, 21) == "aaaa </document\n[cut]"
    assert in_characters("</document9" + "b" * 100, 16, marker=marker) is None


def test_a_word_cut_short_is_no_tag_where_the_cut_is_exact():
    marker = Marker(pattern="[cut]", tags=TAGS)
    text = "aaaa </memory_context9" + "b" * 100
    assert cut_exactly(text, 27, marker=marker, path="a.md").text == "aaaa \n[cut]"
    assert cut_exactly(text, 28, marker=marker, path="a.md").text == "aaaa </memory_context9\n[cut]"
    assert cut_exactly("<document9" + "b" * 50, 15, marker=marker, path="a.md").text == "[cut]"
    done = QuarterRuler().cut(text + "b", 7, keep="head", marker=marker, path="a.md")
    assert done.text == "aaaa </memory_context9\n[cut]"


def test_a_word_cut_short_is_no_tag_where_both_ends_are_kept():
    marker = Marker(pattern="[{left} left out]", tags=TAGS)
    text = "aaaa </document9" + "b" * 100 + "&lt;document" + "c" * 10
    for limit in range(26, 90):
        done = cut_middle(text, limit, marker=marker, path="a.md")
        assert done is None or ("</document\n" not in done.text and len(done.text) <= limit)
        assert done is None or not done.text.rpartition("\n")[2].startswith(("lt;", "t;", ";"))


def test_both_ends_are_kept_exactly_with_the_true_count_between():
    marker = Marker(pattern="[... {name}: {left} characters left out ...]")
    done = CHARACTERS.cut("abcdefghij" * 20, 90, keep="both", marker=marker, path="x/a.md")
    assert done is not None
    head, line, tail = done.text.split("\n")
    assert line == f"[... a.md: {200 - len(head) - len(tail)} characters left out ...]"
    room = 90 - len("[... a.md: 200 characters left out ...]") - 2
    assert (len(head), len(tail)) == (7 * room // 9, 2 * room // 9)
    assert done.spans == ((0, len(head)), (200 - len(tail), 200))


@pytest.mark.parametrize("keep", ["head", "tail"])
def test_where_the_marker_may_lack_a_text_is_cut_without_it(keep):
    marker = Marker(pattern="[truncated]", may_lack=True)
    done = in_tokens("one two three four five six seven eight", 2, keep=keep, marker=marker)
    assert done is not None
    assert not done.marked
    assert done.text == ("one two" if keep == "head" else " seven eight")
    ruler = TokenRuler(TokenCounts(Vocabulary(), None))
    for _ in range(2):
        assert (
            ruler.cut("one two three four five six seven eight", 2, keep=keep, marker=marker, path="a.md")
            == done
        )


def test_cuts_for_different_tags_are_remembered_apart():
    text = "aaaa </document9" + "b" * 2_000
    ruler = TokenRuler(TokenCounts(Vocabulary(), None))
    for tags in ((), TAGS):
        for limit in range(6, 20):
            marker = Marker(pattern="[cut]", tags=tags)
            fresh = cut(text, limit, TOKENS, keep="head", marker=marker, path="a.md")
            assert ruler.cut(text, limit, keep="head", marker=marker, path="a.md") == fresh


class Swelling(CharacterRuler):
    """A kept text is larger than its parts tell, as with tokens that come apart at a cut."""

    def __init__(self, by: int) -> None:
        self.by = by

    def size(self, text):
        return len(text) + (self.by if "[cut]" not in text or len(text) > len("\n[cut]") else 0)


@pytest.mark.parametrize("keep", ["head", "tail"])
def test_a_cut_that_turns_out_too_large_is_made_shorter_until_it_fits(keep):
    done = cut("abcdefghijklmnop", 12, Swelling(2), keep=keep, marker=PLAIN, path="a.md")
    assert done is not None
    assert done.text == ("abcd\n[cut]" if keep == "head" else "[cut]\nmnop")
    assert done.spans == (((0, 4),) if keep == "head" else ((12, 16),))
    nearly = cut("abcdefghijklmnop", 12, Swelling(1), keep=keep, marker=PLAIN, path="a.md")
    assert nearly is not None
    assert nearly.text == ("abcde\n[cut]" if keep == "head" else "[cut]\nlmnop")
    assert cut("abcdefghijklmnop", 12, Swelling(9), keep=keep, marker=PLAIN, path="a.md") is None


@pytest.mark.parametrize("keep", ["head", "tail"])
def test_without_its_marker_too_a_cut_is_made_shorter_until_it_fits(keep):
    lacking = Marker(pattern="[cut]", may_lack=True)
    done = cut("abcdefgh", 5, Swelling(2), keep=keep, marker=lacking, path="a.md")
    assert done is not None
    assert (done.text, done.marked) == ("abc" if keep == "head" else "fgh", False)
    assert done.spans == (((0, 3),) if keep == "head" else ((5, 8),))
    assert cut("abcdefgh", 5, Swelling(9), keep=keep, marker=lacking, path="a.md") is None
    least = cut("abcdefgh", 1, CHARACTERS, keep=keep, marker=lacking, path="a.md")
    assert least is not None
    assert least.text == ("a" if keep == "head" else "h")
    assert cut("abcdefgh", 0, Swelling(0), keep=keep, marker=lacking, path="a.md") is None


def test_what_would_forge_a_tag_however_short_is_not_kept_without_a_marker():
    marker = Marker(pattern="[cut]", may_lack=True, tags=("doc",))
    assert cut("<doc9> and more", 4, CHARACTERS, keep="head", marker=marker, path="a.md") is None
    assert cut("<doc9> and more", 5, CHARACTERS, keep="head", marker=marker, path="a.md") is not None


def test_the_middle_is_cut_where_both_ends_get_something_and_not_below():
    marker = Marker(pattern="[{left} left]")
    text = "0123456789" * 5
    done = cut_middle(text, 20, marker=marker, path="a.md")
    assert done is not None
    assert done.text == "0123456\n[41 left]\n89"
    assert done.spans == ((0, 7), (48, 50))
    assert cut_middle(text, 19, marker=marker, path="a.md") is None


def test_an_end_that_an_entity_takes_up_is_no_end():
    marker = Marker(pattern="[{left} left]", tags=("document",))
    assert cut_middle("0123456789" * 4 + "&lt;", 20, marker=marker, path="a.md") is None
    done = cut_middle("&lt;" * 20, 40, marker=marker, path="a.md")
    assert done is not None
    assert done.text == "&lt;" * 5 + "\n[56 left]\n&lt;"


def test_a_marker_names_the_file_and_what_was_left_out():
    marker = Marker(pattern="{name} of {path}: {kept}+{left}={whole}, {limit}")
    said = marker.text(path="notes/deep/a.md", kept=3, whole=10, limit=2_000)
    assert said == "a.md of notes/deep/a.md: 3+7=10, 2K"
    assert marker.text(path="a.md", kept=0, whole=1, limit=1_001).startswith("a.md of a.md: 0+1=1, 1001")


def test_where_no_character_fits_beside_the_marker_it_stands_alone():
    marker = Marker(pattern="[cut]")
    assert cut_exactly("abcdef", 7, marker=marker, path="a.md").text == "a\n[cut]"
    alone = cut_exactly("abcdef", 6, marker=marker, path="a.md")
    assert (alone.text, alone.spans) == ("[cut]", ())
