import re

from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from carrel.markdown.frontmatter import Meta, parse, update
from carrel.workspace.document import decode

LEADING_BLANK_LINES = re.compile(r"\A(?:\s*\n)+")  # those after front matter go with it
words = st.from_regex(r"[a-z][a-z0-9_-]{0,6}", fullmatch=True)
tags = st.lists(words.filter(lambda w: w != "private"), min_size=1, max_size=3, unique=True).map(tuple)
lines = st.text(st.characters(exclude_characters="\n\r\ufeff", exclude_categories=("Cs",)), max_size=12)
bodies = st.lists(lines | st.sampled_from(["# A", "---", "<!-- note -->", "- x", ""]), max_size=5)
changes = st.fixed_dictionaries(
    {},
    optional={
        "priority": st.integers(-999, 999),
        "tags": tags,
        "scope": st.sampled_from(["private", "shared"]),
    },
).filter(bool)


@st.composite
def front_matters(draw) -> list[str]:
    """Nothing, comments or YAML, as people write them."""
    keys = draw(st.permutations(["priority", "tags", "scope"]))[: draw(st.integers(0, 3))]
    given_values = {
        "priority": str(draw(st.integers(-99, 99))),
        "tags": ", ".join(draw(tags)),
        "scope": "private",
    }
    form = draw(st.sampled_from(["none", "comments", "yaml"]))
    if form == "none" or not keys:
        return []
    if form == "comments":
        return [f"<!--{draw(st.sampled_from(['', ' ']))}{key}: {given_values[key]} -->" for key in keys]
    block = [f"{key}: {given_values[key]}" for key in keys]
    extra = draw(st.sampled_from([[], ["title: T"], ["# a comment", "more:", "  - a", "  - b"]]))
    return ["---", *extra, *block, "---"]


def text_of(front: list[str], body: list[str], newlines: list[str], mark: str) -> str:
    pairs = zip([*front, *body], newlines * (len(front) + len(body)), strict=False)
    return mark + "".join(line + newline for line, newline in pairs)


documents = st.builds(
    text_of,
    front_matters(),
    bodies,
    st.sampled_from([["\n"], ["\r\n"], ["\n", "\r\n"], ["\r\n", "\n", "\n"]]),
    st.sampled_from(["", "\ufeff"]),
)


@given(documents, changes)
@settings(max_examples=100, deadline=None)
@example("<!-- priority: 1 -->\nx\r\n", {"priority": 2})
def test_what_is_updated_is_read_back_and_all_else_stays(text, wanted):
    before = decode("a.md", text.encode())
    after = decode("a.md", update(text, wanted).encode())
    for key, value in wanted.items():
        if key == "scope":
            assert after.meta.private == (value == "private")
        else:
            assert getattr(after.meta, key) == value
    if "scope" not in wanted:
        assert after.meta.private == before.meta.private
    for key in ("priority", "tags"):
        if key not in wanted:
            assert getattr(after.meta, key) == getattr(before.meta, key)
    assert after.meta.extra == before.meta.extra
    assert LEADING_BLANK_LINES.sub("", after.text) == LEADING_BLANK_LINES.sub("", before.text)


@given(documents, changes)
@settings(max_examples=80, deadline=None)
def test_an_update_keeps_the_bytes_of_every_line_that_it_does_not_change(text, wanted):
    changed = update(text, wanted)
    assert changed.startswith("\ufeff") == text.startswith("\ufeff")
    old = text.removeprefix("\ufeff").splitlines(keepends=True)
    new = changed.removeprefix("\ufeff").splitlines(keepends=True)
    rest = iter(new)
    kept = [line for line in old if not line.lstrip("<!- ").startswith(tuple(wanted))]
    assert all(line in rest for line in kept)


@given(documents, changes)
@settings(max_examples=60, deadline=None)
def test_an_update_twice_is_an_update_once(text, wanted):
    once = update(text, wanted)
    assert update(once, wanted) == once


@given(st.text(st.sampled_from("<!->-: \npriotyagsce19[]{}&*#'\"\\|"), max_size=60))
@settings(max_examples=100, deadline=None)
def test_any_text_is_parsed_and_its_body_is_a_tail_of_it(text):
    parsed = parse(text)
    assert text.endswith(parsed.body)
    assert isinstance(parsed.meta, Meta)


@given(st.binary(max_size=200))
@settings(max_examples=80, deadline=None)
def test_any_bytes_are_a_document_or_unreadable(data):
    document = decode("a.md", data)
    assert document.problem in (None, "not_utf8")
    assert document.text == document.text.rstrip()


@given(st.lists(lines, min_size=1, max_size=5))
@settings(max_examples=100, deadline=None)
def test_text_without_front_matter_comes_back_whole(body):
    text = "\n".join(body)
    assume(not text.startswith(("<!--", "---")))
    assert parse(text).body == text
