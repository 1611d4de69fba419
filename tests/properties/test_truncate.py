from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from carrel.context.render import escaper
from carrel.context.rulers import CharacterRuler, TokenRuler
from carrel.context.truncate import Marker, cut, cut_exactly, cut_middle
from carrel.tokens import Vocabulary
from carrel.workspace.counts import TokenCounts

TOKENS = TokenRuler(TokenCounts(Vocabulary(), None))
CHARACTERS = CharacterRuler()
MARKERS = [
    Marker(pattern="[truncated at {limit} tokens]"),
    Marker(pattern="[truncated: {path}, {kept} of {whole} tokens shown]"),
    Marker(pattern="[truncated]", before="\n\n"),
]

pieces = st.sampled_from(
    [
        "word ",
        "a",
        "\n",
        "\n\n",
        " ",
        "&lt;",
        "&",
        "é",
        "日本",
        "🐙",
        "𒀀",
        "e\u0301",
        "....",
        "x" * 30,
        "\r",
        "0",
    ]
)
texts = st.lists(pieces, min_size=1, max_size=40).map("".join).map(str.rstrip).filter(bool)
rulers = st.sampled_from([TOKENS, CHARACTERS])
keeps = st.sampled_from(["head", "tail"])
markers = st.sampled_from(MARKERS)
paths = st.sampled_from(["a.md", "日記/🐙.md", "{kept}.md"])
shares = st.integers(0, 99)
"""Percent of a text's size that is the limit."""


@given(texts, shares, rulers, keeps, st.tuples(markers, paths))
@settings(max_examples=120, deadline=None)
def test_a_cut_is_never_over_the_limit_and_is_a_part_of_the_text_beside_its_marker(
    text, share, ruler, keep, marked
):
    marker, path = marked
    whole = ruler.size(text)
    limit = whole * share // 100
    done = cut(text, limit, ruler, keep=keep, marker=marker, path=path)
    if done is None:
        return
    ((start, end),) = done.spans
    kept = text[start:end]
    line = marker.text(path=path, kept=ruler.size(kept), whole=whole, limit=limit)
    assert kept
    assert done.marked
    assert ruler.size(done.text) <= limit
    if keep == "head":
        assert start == 0
        assert done.text == f"{kept}{marker.before}{line}"
        assert kept == kept.rstrip()
    else:
        assert end == len(text)
        assert done.text == f"{line}\n{kept}"
        assert not kept.startswith("\n")


@given(texts, shares, rulers, keeps, markers)
@settings(max_examples=120, deadline=None)
def test_a_cut_never_splits_an_entity(text, share, ruler, keep, marker):
    limit = ruler.size(text) * share // 100
    done = cut(text, limit, ruler, keep=keep, marker=marker, path="a.md")
    if done is not None:
        edge = done.spans[0][1] if keep == "head" else done.spans[0][0]
        assert not any(text[edge - n : edge - n + 4] == "&lt;" for n in (1, 2, 3) if edge >= n)


def by_the_spec(text: str, limit: int, keep: str, before: str, line: str) -> str | None:
    """The rule of the spec for characters, written as slowly and plainly as it reads."""
    room = limit - len((before if keep == "head" else "\n") + line)
    if room <= 0:
        return None
    window = -(-room // 20)
    if keep == "head":
        end = room
        while any(text[end - n : end - n + 4] == "&lt;" for n in (1, 2, 3) if end >= n):
            end -= 1
        if "\n" not in text[max(0, end - 1) : end + 1]:
            near = range(end - 1, max(-1, end - 1 - window), -1)
            newline = next((n for n in near if text[n] == "\n"), None)
            white = next((n for n in near if text[n].isspace()), None)
            end = next((n for n in (newline, white) if n is not None), end)
        kept = text[:end].rstrip()
        return f"{kept}{before}{line}" if kept else None
    start = len(text) - room
    while any(text[start - n : start - n + 4] == "&lt;" for n in (1, 2, 3) if start >= n):
        start += 1
    if "\n" not in text[max(0, start - 1) : start + 1]:
        near = range(start, min(len(text), start + window))
        newline = next((n for n in near if text[n] == "\n"), None)
        white = next((n for n in near if text[n].isspace()), None)
        start = next((n for n in (newline, white) if n is not None), start)
    kept = text[start:].lstrip("\n")
    return f"{line}\n{kept}" if kept else None


@given(texts, shares, keeps, st.sampled_from([MARKERS[0], MARKERS[2]]))
@settings(max_examples=120, deadline=None)
@example("a" * 100 + "\n" + "b" * 60, 82, "head", MARKERS[0])
def test_a_cut_in_characters_is_what_the_spec_says(text, share, keep, marker):
    limit = len(text) * share // 100
    line = marker.text(path="a.md", kept=0, whole=0, limit=limit)
    done = cut(text, limit, CHARACTERS, keep=keep, marker=marker, path="a.md")
    assert (done.text if done else None) == by_the_spec(text, limit, keep, marker.before, line)


@given(texts, st.integers(20, 120), keeps, markers)
@settings(max_examples=80, deadline=None)
def test_a_cut_in_tokens_wastes_no_more_than_the_place_rule_asks_for(text, limit, keep, marker):
    """A text that is far longer than the limit is cut to about the limit, not to a fraction of it."""
    text = (text + "\n") * 20
    text = text.rstrip()
    text += ("\n" + text) * (2 * limit // TOKENS.size(text))
    assume(TOKENS.size(text) > 2 * limit)
    done = cut(text, limit, TOKENS, keep=keep, marker=marker, path="a.md")
    assert done is not None or limit < 40
    if done is not None:
        reserve = TOKENS.size(marker.text(path="a.md", kept=9_999, whole=9_999, limit=limit)) + 2
        longest = max(TOKENS.size(piece) for piece in ("𒀀", "x" * 30, "\n" * 20))
        ((start, end),) = done.spans
        assert TOKENS.size(text[start:end]) >= 0.9 * (limit - reserve) - longest - 4


@given(texts, shares, keeps, markers)
@settings(max_examples=60, deadline=None)
def test_a_remembered_cut_equals_a_fresh_one(text, share, keep, marker):
    limit = TOKENS.size(text) * share // 100
    ruler = TokenRuler(TokenCounts(Vocabulary(), None))
    first = ruler.cut(text, limit, keep=keep, marker=marker, path="a.md")
    again = ruler.cut(text, limit, keep=keep, marker=marker, path="a.md")
    assert first == again == cut(text, limit, TOKENS, keep=keep, marker=marker, path="a.md")


@given(texts, keeps)
@settings(max_examples=60, deadline=None)
def test_more_tokens_cover_more_whole_characters(text, keep):
    covered = TOKENS.spans(text, keep)
    steps = [covered(n) for n in range(TOKENS.size(text) + 1)]
    assert steps == sorted(steps)
    assert (steps[0], steps[-1]) == (0, len(text))


TAGS = ("document", "hit", "memory.md")
LENGTHENED = st.sampled_from(["9", "-x", ".", "s", "_"])
near_tags = st.builds(
    lambda opening, tag, more: f"{opening}{tag}{more}",
    st.sampled_from(["<", "</", "< / ", "<\n", "</ ", "<<"]),
    st.sampled_from(["document", "DOCUMENT", "hit", "memory.md", "memory"]),
    LENGTHENED | st.sampled_from([">", " ", ""]),
)
hostile = (
    st.lists(near_tags | pieces, min_size=1, max_size=30).map("".join).map(escaper(TAGS)).map(str.rstrip)
)


@given(hostile.filter(bool), shares, st.sampled_from(["cut", "exactly", "middle", "bare"]), keeps)
@settings(max_examples=300, deadline=None)
@example("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa </document9" + "b" * 40, 61, "cut", "head")
@example("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa </document9" + "b" * 40, 61, "exactly", "head")
def test_no_cut_forges_a_tag_that_the_text_did_not_hold(text, share, how, keep):
    limit = len(text) * share // 100
    marker = Marker(pattern="[cut]", tags=TAGS, may_lack=how == "bare")
    if how == "exactly":
        done = cut_exactly(text, limit, marker=marker, path="a.md")
    elif how == "middle":
        done = cut_middle(text, limit, marker=marker, path="a.md")
    else:
        ruler = CHARACTERS if how == "cut" else TOKENS
        limit = ruler.size(text) * share // 100
        done = cut(text, limit, ruler, keep=keep, marker=marker, path="a.md")
        assert done is None or ruler.size(done.text) <= limit
    if done is not None:
        assert len(done.text) <= max(limit, len("[cut]")) or how in ("cut", "bare")
        wrapped = f"{done.text}\n</document>"
        assert escaper(TAGS)(wrapped) == f"{done.text}\n&lt;/document>"
