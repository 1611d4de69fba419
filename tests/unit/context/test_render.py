from time import process_time

import pytest

from carrel.context.render import attribute, escaper, is_control, one_line, wrap
from carrel.workspace.layout import load_layout

TAGS = load_layout("carrel").tags
escape = escaper(TAGS)


@pytest.mark.parametrize("tag", TAGS)
@pytest.mark.parametrize(
    "form", ["<{}>", "</{}>", "< {}>", "<\t/\n{} >", "</ {}", '<{} path="x">', "<{}/>", "<{}\n", "<\u2003{}>"]
)
def test_every_way_to_write_one_of_the_layouts_tags_is_escaped(tag, form):
    for name in (tag, tag.upper(), tag.title()):
        text = f"before {form.format(name)} after"
        assert escape(text) == text.replace("<", "&lt;")


@pytest.mark.parametrize(
    "text",
    [
        "a < b",
        "<b>bold</b>",
        "<documents>",
        "<document.md>",
        "<document-x>",
        "<document_x>",
        "<doc ument>",
        "<//document>",
        "document>",
        "&lt;document>",
        "<x document>",
        "<<b>",
        "",
    ],
)
def test_text_without_the_layouts_tags_is_unchanged(text):
    assert escape(text) == text


def test_a_layout_without_tags_escapes_nothing():
    assert escaper(())("<document>") == "<document>"


def test_only_the_bracket_before_the_tag_is_escaped():
    assert escape("<<document>") == "<&lt;document>"


def cost(text: str) -> float:
    def once() -> float:
        before = process_time()
        escape(text)
        return process_time() - before

    return min(once() for _ in range(3))


@pytest.mark.parametrize(
    "piece", ["<", "< ", "</", "</ ", "<\n/\n", "<document", "<s", " ", "<" + " " * 997 + "/ "]
)
@pytest.mark.parametrize("start", ["", "<", "</"])
def test_escaping_takes_time_in_proportion_to_the_text(start, piece):
    small, large = (start + piece * (size // len(piece)) for size in (250_000, 1_000_000))
    assert cost(large) < 0.05 + 9 * cost(small)


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("notes/a.md", "notes/a.md"),
        ('a"b', "a&quot;b"),
        ("a<b>&c", "a&lt;b&gt;&amp;c"),
        ("&quot;", "&amp;quot;"),
        ("a\nb\tc\x7f\x85", "a&#10;b&#9;c&#127;&#133;"),
        ("a\udcffb", "a?b"),
        ("日記 🐙", "日記 🐙"),
    ],
)
def test_an_attribute_cannot_end_itself_or_its_line(text, written):
    assert attribute(text) == written


def test_a_name_outside_an_attribute_is_one_line():
    assert one_line("a\nb\rc\x9b\udcff<d>") == "a?b?c??<d>"


def test_control_characters_are_those_of_both_blocks():
    assert [code for code in range(0x110) if is_control(chr(code))] == [*range(0x20), *range(0x7F, 0xA0)]


def test_wrapping_puts_lines_around_a_text():
    assert wrap("text", "<a>", "</a>") == "<a>\ntext\n</a>"
    assert wrap("text", "# A", "") == "# A\ntext"
    assert wrap("text", "", "") == "text"
