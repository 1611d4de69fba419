import re

from hypothesis import example, given, settings
from hypothesis import strategies as st

from carrel.context.render import attribute, escaper, one_line

TAGS = ("document", "knowledge", "skills", "memory", "journal", "recall", "hit", "session")
pieces = st.sampled_from(
    [
        "<",
        "/",
        " ",
        "\n",
        "\t",
        ">",
        "document",
        "DOCUMENT",
        "hit",
        "Session",
        "s",
        "x",
        "-",
        ".",
        "_",
        "&lt;",
        "\u2003",
    ]
)
texts = st.lists(pieces, max_size=30).map("".join) | st.text(max_size=40)
tags = st.lists(st.from_regex(r"[a-z][a-z0-9_.-]{0,8}", fullmatch=True), min_size=1, max_size=4, unique=True)


def delimiter(names) -> re.Pattern[str]:
    """The rule as the spec writes it."""
    return re.compile(rf"<(?=\s*/?\s*({'|'.join(map(re.escape, names))})(?![\w.-]))", re.IGNORECASE)


@given(texts)
@settings(max_examples=120, deadline=None)
@example("<<document>")
@example("</ \n document/>")
def test_no_text_holds_a_delimiter_after_escaping_and_nothing_else_changes(text):
    escaped = escaper(TAGS)(text)
    assert not delimiter(TAGS).search(escaped)
    assert escaped == delimiter(TAGS).sub("&lt;", text)
    assert escaper(TAGS)(escaped) == escaped


@given(tags, st.data())
@settings(max_examples=120, deadline=None)
def test_no_delimiter_of_any_tags_can_be_forged(names, data):
    escape = escaper(tuple(names))
    space = st.sampled_from(["", " ", "\n", "\t \r\n", "\u00a0"])
    forged = "<{}{}{}{}{}".format(
        data.draw(space),
        data.draw(st.sampled_from(["", "/"])),
        data.draw(space),
        data.draw(st.sampled_from(names)).swapcase(),
        data.draw(st.sampled_from([">", " >", "/>", "", "\n", ' path="x">', "<"])),
    )
    text = data.draw(st.text(max_size=10)) + forged + data.draw(st.sampled_from(["", " ", "\n", ">"]))
    assert not delimiter(names).search(escape(text))


@given(texts)
@settings(max_examples=120, deadline=None)
def test_text_without_the_tags_is_unchanged(text):
    if not delimiter(TAGS).search(text):
        assert escaper(TAGS)(text) == text


@given(texts, texts)
@settings(max_examples=120, deadline=None)
def test_two_escaped_texts_on_lines_of_their_own_forge_nothing_together(first, second):
    """As a text stands between its opening and closing lines."""
    whole = (
        f"<document>\n{escaper(TAGS)(first)}\n</document>\n<document>\n{escaper(TAGS)(second)}\n</document>"
    )
    assert len(delimiter(TAGS).findall(whole)) == 4


@given(st.text(max_size=60))
@settings(max_examples=120, deadline=None)
def test_an_attribute_is_one_line_and_cannot_end(text):
    written = attribute(text)
    assert not re.search(r'[<>"\x00-\x1f\x7f-\x9f]', written)
    assert not re.search(r"&(?!amp;|lt;|gt;|quot;|#\d+;)", written)
    written.encode()


@given(st.text(max_size=30), st.text(max_size=30))
@settings(max_examples=120, deadline=None)
def test_two_names_are_two_attributes(first, second):
    assert (attribute(first) == attribute(second)) == (first == second)


@given(st.text(max_size=60))
@settings(max_examples=120, deadline=None)
def test_a_name_has_one_line_and_keeps_its_length(text):
    assert len(one_line(text)) == len(text)
    assert not re.search(r"[\x00-\x1f\x7f-\x9f]", one_line(text))
