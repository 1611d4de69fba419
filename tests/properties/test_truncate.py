from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from carrel.context.rulers import CharacterRuler, TokenRuler
from carrel.context.truncate import Marker, cut
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


@given(texts, st.integers(0, 120), rulers, keeps, st.tuples(markers, paths))
@settings(max_examples=120, deadline=None)
def test_a_cut_is_never_over_the_limit_and_is_a_part_of_the_text_beside_its_marker(
    text, limit, ruler, keep, marked
):
    marker, path = marked
    whole = ruler.size(text)
    assume(whole > limit)
    done = cut(text, limit, ruler, keep=keep, marker=marker, path=path)
    if done is None:
        return
    kept = text[done.start : done.end]
    line = marker.text(path=path, kept=ruler.size(kept), whole=whole, limit=limit)
    assert kept
    assert done.kept == ruler.size(kept)
    assert ruler.size(done.text) <= limit
    if keep == "head":
        assert done.start == 0
        assert done.text == f"{kept}{marker.before}{line}"
        assert kept == kept.rstrip()
    else:
        assert done.end == len(text)
        assert done.text == f"{line}\n{kept}"
        assert not kept.startswith("\n")


@given(texts, st.integers(0, 120), rulers, keeps, markers)
@settings(max_examples=120, deadline=None)
def test_a_cut_never_splits_an_entity(text, limit, ruler, keep, marker):
    assume(ruler.size(text) > limit)
    done = cut(text, limit, ruler, keep=keep, marker=marker, path="a.md")
    if done is not None:
        edge = done.end if keep == "head" else done.start
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
        white = next((n + 1 for n in near if text[n].isspace()), None)
        start = next((n for n in (newline, white) if n is not None), start)
    kept = text[start:].lstrip("\n")
    return f"{line}\n{kept}" if kept else None


@given(texts, st.integers(0, 150), keeps, st.sampled_from([MARKERS[0], MARKERS[2]]))
@settings(max_examples=120, deadline=None)
@example("a" * 100 + "\n" + "b" * 60, 132, "head", MARKERS[0])
def test_a_cut_in_characters_is_what_the_spec_says(text, limit, keep, marker):
    assume(len(text) > limit)
    line = marker.text(path="a.md", kept=0, whole=0, limit=limit)
    done = cut(text, limit, CHARACTERS, keep=keep, marker=marker, path="a.md")
    assert (done.text if done else None) == by_the_spec(text, limit, keep, marker.before, line)


@given(texts, st.integers(20, 120), keeps, markers)
@settings(max_examples=80, deadline=None)
def test_a_cut_in_tokens_wastes_no_more_than_the_place_rule_asks_for(text, limit, keep, marker):
    """A text that is far longer than the limit is cut to about the limit, not to a fraction of it."""
    text = (text + "\n") * 20
    text = text.rstrip()
    assume(TOKENS.size(text) > 2 * limit)
    done = cut(text, limit, TOKENS, keep=keep, marker=marker, path="a.md")
    assert done is not None or limit < 40
    if done is not None:
        reserve = TOKENS.size(marker.text(path="a.md", kept=9_999, whole=9_999, limit=limit)) + 2
        longest = max(TOKENS.size(piece) for piece in ("𒀀", "x" * 30, "\n" * 20))
        assert done.kept >= 0.9 * (limit - reserve) - longest - 4


@given(texts, st.integers(0, 120), keeps, markers)
@settings(max_examples=60, deadline=None)
def test_a_remembered_cut_equals_a_fresh_one(text, limit, keep, marker):
    assume(TOKENS.size(text) > limit)
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
