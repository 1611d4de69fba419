"""Where words are found in a text: where the analyzer parts them, whatever stands between."""

from hypothesis import given
from hypothesis import strategies as st

from carrel.index.analysis import PLAIN, analyzer, find_words, fold

SIGNS = "abcXYZ019 -_.'/\n\t\x1c\0\xa0\u00ab\u00bb\u00e9\u2017\u2019\u201c\u201d\u2013\u2014\u2026\u2022\u2044\u2028\u202e\u205e"


@given(
    text=st.text(st.sampled_from(SIGNS), max_size=60)
    | st.lists(st.sampled_from(["running", "The", "w7", "\u2026", "X\u2019s"])).map(" ".join),
    language=st.sampled_from(["english", "german", PLAIN]),
    data=st.data(),
)
def test_a_wanted_word_is_found_where_the_analyzer_finds_it(text, language, data):
    tokens = analyzer(language).pre_tokenize(fold(text)).tokens
    wanted = frozenset(data.draw(st.sets(st.sampled_from([each.text for each in tokens]))) if tokens else ())
    expected = tuple((each.char_offset_from, each.char_offset_to) for each in tokens if each.text in wanted)
    assert find_words(text, wanted, [language]) == expected
