from time import process_time

import pytest

from carrel.errors import UsageError
from carrel.markdown.frontmatter import BadMeta, Meta, parse, update


def test_comments_at_the_very_start_are_front_matter():
    parsed = parse("<!-- priority: 10 -->\n<!-- tags: Code,  style -->\n\nText.\n")
    assert parsed.meta == Meta(priority=10, tags=("code", "style"))
    assert parsed.body == "Text.\n"
    assert parsed.problems == ()


def test_a_yaml_mapping_at_the_very_start_is_front_matter():
    parsed = parse("---\npriority: 10\ntags: [code, style]\ntitle: Mine\n---\n\n\nText.")
    assert parsed.meta == Meta(priority=10, tags=("code", "style"), extra={"title": "Mine"})
    assert parsed.body == "Text."


@pytest.mark.parametrize(
    "text",
    [
        "Text.",
        "",
        "\n<!-- priority: 1 -->\nText.",
        " <!-- priority: 1 -->\nText.",
        "<!-- author: me -->\nText.",
        "<!-- priority -->\nText.",
        "<!-- priority: 1 --> and more\nText.",
        "<!-- priority: 1\n-->\nText.",
        "<!-- tags: a --> b -->\nText.",
        "<!--->\nText.",
        "\n---\npriority: 1\n---\nText.",
        "---\n- a\n- b\n---\nText.",
        "---\njust words\n---\nText.",
        "---\n---\nText.",
        "---\npriority: 1\nnever closed",
        "----\npriority: 1\n----\nText.",
    ],
)
def test_anything_else_is_text_and_comes_back_whole(text):
    parsed = parse(text)
    assert parsed.body == text
    assert parsed.meta == Meta()


def test_comments_are_front_matter_only_while_they_follow_each_other():
    parsed = parse("<!-- tags: a -->\n\n<!-- priority: 1 -->\nText.")
    assert parsed.meta == Meta(tags=("a",))
    assert parsed.body == "<!-- priority: 1 -->\nText."
    interrupted = parse("<!-- tags: a -->\n<!-- a note -->\n<!-- priority: 1 -->\nText.")
    assert interrupted.meta == Meta(tags=("a",))
    assert interrupted.body == "<!-- a note -->\n<!-- priority: 1 -->\nText."


def test_a_yaml_block_after_a_comment_is_text():
    parsed = parse("<!-- tags: a -->\n---\npriority: 1\n---\nText.")
    assert parsed.meta == Meta(tags=("a",))
    assert parsed.body == "---\npriority: 1\n---\nText."


def test_a_yaml_block_may_end_with_dots():
    assert parse("---\npriority: 3\n...\nText.").body == "Text."


def test_front_matter_alone_leaves_no_text():
    assert parse("<!-- priority: 1 -->").body == ""
    assert parse("---\npriority: 1\n---").body == ""


@pytest.mark.parametrize("value", ["0", "-5", "+7", "999999999", "007"])
def test_a_priority_is_a_whole_number(value):
    assert parse(f"<!-- priority: {value} -->\nx").meta.priority == int(value)
    assert parse(f"---\npriority: {value}\n---\nx").meta.priority == int(value)


@pytest.mark.parametrize(
    "value", ["high", "1.5", "1e309", "NaN", ".inf", "true", "1_000", "9999999999", "٣", "[1]", "{a: 1}"]
)
def test_a_bad_priority_is_ignored_and_named(value):
    for text in (f"<!-- priority: {value} -->\nx", f"---\npriority: {value}\n---\nx"):
        parsed = parse(text)
        assert parsed.meta.priority is None
        assert parsed.body == "x"
        assert any("priority" in problem for problem in parsed.problems)


@pytest.mark.parametrize(
    ("block", "tags"),
    [
        ("tags: code, style", ("code", "style")),
        ("tags: [Code, code, ' style ']", ("code", "style")),
        ("tags:\n- a\n- b", ("a", "b")),
        ("tags: [1, true]", ("1", "true")),
        ("tags:", ()),
        ("tags: ', ,'", ()),
    ],
)
def test_tags_are_a_list_or_a_line_without_case_and_repetition(block, tags):
    parsed = parse(f"---\n{block}\n---\nx")
    assert parsed.meta.tags == tags
    assert parsed.problems == ()


def test_tags_that_are_no_list_are_ignored_and_named():
    parsed = parse("---\ntags: {a: 1}\n---\nx")
    assert parsed.meta.tags == ()
    assert any("tags" in problem for problem in parsed.problems)


@pytest.mark.parametrize("item", ["1.5", "{a: 1}", "[b]"])
def test_a_tag_that_is_not_understood_does_not_disappear_in_silence(item):
    parsed = parse(f"---\ntags: [good, {item}]\n---\nx")
    assert "good" in parsed.meta.tags
    assert len(parsed.meta.tags) == 2 or any("tag" in problem for problem in parsed.problems)


@pytest.mark.parametrize(
    ("value", "private"), [("private", True), ("main", True), ("PRIVATE ", True), ("shared", False)]
)
def test_scope_makes_a_document_private(value, private):
    for text in (f"<!-- scope: {value} -->\nx", f"---\nscope: {value}\n---\nx"):
        parsed = parse(text)
        assert parsed.meta.private is private
        assert parsed.problems == ()


@pytest.mark.parametrize("value", ["secret", "privat", "[shared]", "0", "''"])
def test_a_scope_that_is_not_understood_is_taken_as_private_and_named(value):
    parsed = parse(f"---\nscope: {value}\n---\nx")
    assert parsed.meta.private
    assert any("scope" in problem for problem in parsed.problems)


def test_the_tag_private_makes_a_document_private():
    assert parse("<!-- tags: work, Private -->\nx").meta.private


@pytest.mark.parametrize(
    "block",
    [
        "a: &x 1\nb: *x",
        "a: !!python/object/apply:os.system [ls]",
        "a: 1\na: 2",
        "a: [1, 2",
        "a:\n" + "".join(f"{' ' * n}- \n" for n in range(1, 40)),
        "a: " + "[" * 5_000,
    ],
)
def test_a_block_that_cannot_be_read_is_text_and_named(block):
    text = f"---\n{block}\n---\nText."
    parsed = parse(text)
    assert parsed.body == text
    assert any("YAML" in problem for problem in parsed.problems)


def test_an_alias_bomb_costs_nothing():
    bomb = "a0: &a0 [x, x]\n" + "".join(
        f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 9)
    )
    before = process_time()
    assert parse(f"---\n{bomb}---\nText.").meta == Meta()
    assert process_time() - before < 10


def test_a_block_beyond_64_kilobytes_is_text():
    short = f"---\npriority: 1\nnote: {'x' * 60_000}\n---\nText."
    long = f"---\npriority: 1\nnote: {'x' * 70_000}\n---\nText."
    assert parse(short).body == "Text."
    assert parse(long).body == long


def cost(text: str) -> float:
    def once() -> float:
        before = process_time()
        parse(text)
        return process_time() - before

    return min(once() for _ in range(2))


@pytest.mark.parametrize(
    "piece",
    ["<!--tags:a-->\n", "<!-- ", "<!---->\n", "---\n", "- ", "\n", "<!--tags:a", "-->\n"],
)
@pytest.mark.parametrize("start", ["<!--tags:a-->\n", "---\n"])
def test_parsing_takes_time_in_proportion_to_the_text(start, piece):
    small, large = (start + piece * (size // len(piece)) for size in (128_000, 512_000))
    assert cost(large) < 0.02 + 9 * cost(small)


def test_update_writes_comments_where_there_is_no_front_matter():
    assert update("Text.\n", {"priority": 5}) == "<!-- priority: 5 -->\nText.\n"
    assert update("", {"tags": ("a", "b")}) == "<!-- tags: a, b -->\n"


def test_update_writes_back_in_the_form_found():
    assert update("<!-- priority: 1 -->\nx", {"priority": 2}) == "<!-- priority: 2 -->\nx"
    assert update("---\npriority: 1\n---\nx", {"priority": 2}) == "---\npriority: 2\n---\nx"


def test_update_adds_after_what_is_there():
    assert update("<!-- tags: a -->\nx", {"priority": 2}) == "<!-- tags: a -->\n<!-- priority: 2 -->\nx"
    assert update("---\ntitle: T\n---\nx", {"priority": 2}) == "---\ntitle: T\npriority: 2\n---\nx"


def test_update_keeps_comments_order_and_other_keys_of_a_yaml_block():
    text = "---\n# mine\ntitle:   'T'\ntags:\n  - a\n  - b\nscope: private  # mine too\n---\nx"
    expected = "---\n# mine\ntitle:   'T'\ntags: [c]\nscope: private  # mine too\n---\nx"
    assert update(text, {"tags": ("c",)}) == expected


def test_update_keeps_the_byte_order_mark_and_the_newlines():
    text = "\ufeff---\r\npriority: 1\r\n---\r\nOne\r\nTwo\r\n"
    assert update(text, {"priority": 2}) == text.replace("1", "2")
    assert update("\ufeffOne\r\nTwo\r\n", {"priority": 2}) == "\ufeff<!-- priority: 2 -->\r\nOne\r\nTwo\r\n"


def test_update_takes_effect_where_newlines_are_mixed():
    text = "<!-- priority: 1 -->\nOne\nTwo\r\nThree\n"
    changed = update(text, {"priority": 2})
    assert parse(changed.replace("\r\n", "\n")).meta.priority == 2
    assert changed.endswith("One\nTwo\r\nThree\n")


def test_update_takes_effect_where_a_key_is_given_twice():
    changed = update("<!-- priority: 1 -->\n<!-- priority: 2 -->\nx", {"priority": 3})
    assert parse(changed).meta.priority == 3


@pytest.mark.parametrize(
    "block",
    [
        '"priority": 1\nscope: private',
        "priority : 1\nscope: private",
        "  priority: 1\n  scope: private",
        "{priority: 1, scope: private}",
        "scope: private\npriority:\n\n  1",
        "tags:\n  - a\n\n  - b\nscope: private",
        "tags:\n  - a\n# more\n  - b\nscope: private",
        "tags: [\n  a\n]\nscope: private",
    ],
)
def test_update_never_makes_a_private_document_public(block):
    text = f"---\n{block}\n---\nText."
    assert parse(text).meta.private
    parsed = parse(update(text, {"priority": 3, "tags": ("c",)}))
    assert parsed.meta.private
    assert parsed.body == "Text."
    assert (parsed.meta.priority, parsed.meta.tags) == (3, ("c",))


@pytest.mark.parametrize("tag", ["a: b", "# c", "[d", "e, f", "'g", "- h", "*i", "!j", "--> k"])
@pytest.mark.parametrize("start", ["", "---\ntitle: T\nscope: private\n---\n", "<!-- priority: 1 -->\n"])
def test_update_keeps_a_document_readable_whatever_a_tag_contains(start, tag):
    """Writing such a tag may be refused; it must not be written so that the rest is lost."""
    text = f"{start}Text."
    try:
        changed = update(text, {"tags": (tag,)})
    except UsageError:
        return
    parsed = parse(changed)
    assert parsed.body == "Text."
    assert parsed.meta.private == parse(text).meta.private


@pytest.mark.parametrize(
    "text",
    [
        "---\na: [1\nscope: private\n---\nText.",
        "---\nscope: private\na: &x 1\n---\nText.",
        '---\n"scope": private\na: 1\na: 2\n---\nText.',
        "---\n  scope: private\n a: 1\n---\nText.",
        "---\n{a: 1, scope: private\n---\nText.",
        "---\nscope:private\n---\nText.",
        "---\nscope: private\nText that was never parted from it.",
        f"---\nscope: private\nnote: {'x' * 70_000}\n---\nText.",
        "<!-- tags: a -->\n" * 5_000 + "<!-- scope: private -->\nText.",
    ],
)
def test_what_cannot_be_read_but_speaks_of_a_scope_is_private(text):
    parsed = parse(text)
    assert parsed.meta.private
    assert text.endswith(parsed.body)
    assert parsed.problems
    if text.startswith("---"):
        assert parsed.body == text


@pytest.mark.parametrize(
    "text",
    [
        "---\na: [1\n---\nscope: private",
        "---\n\nA rule above.\n\nscope: private",
        "Text.\nscope: private",
        "---\na: [1\nmicroscope: 3\n---\nText.",
        "----\nscope: private\n---\nText.",
    ],
)
def test_a_scope_outside_the_front_matter_hides_nothing(text):
    parsed = parse(text)
    assert not parsed.meta.private
    assert parsed.body == text


def test_comments_beyond_64_kilobytes_no_longer_count_and_hide_the_document():
    line = "<!-- tags: a -->\n"
    parsed = parse(line * 5_000 + "<!-- priority: 7 -->\n<!-- scope: shared -->\nText.")
    assert parsed.meta == Meta(tags=("a",), private=True)
    assert parsed.body == "Text."
    assert any("64 KB" in problem for problem in parsed.problems)
    within = 65_536 // len(line)
    assert parse(line * within + "Text.") == parse(f"{line}Text.")
    assert parse("<!-- a long note " + "x" * 70_000 + " -->\nText.").meta == Meta()


def test_a_line_that_the_limit_cuts_short_closes_no_block():
    start = "---\nnote: "
    text = start + "x" * (65_536 - len(start) - 4) + "\n---- not the end\n---\nText."
    assert text[:65_536].endswith("\n---")
    assert parse(text).body == text


def test_many_odd_tags_are_a_few_problems():
    parsed = parse(f"---\ntags: [{', '.join(['1.5'] * 500)}]\n---\nx")
    assert 0 < len(parsed.problems) < 6


@pytest.mark.parametrize(
    ("text", "changes"),
    [
        ("Text.", {"tags": ("a --> b",)}),
        ("Text.", {"tags": ("a\nb",)}),
        ("Text.", {"tags": ("e, f",)}),
        ("Text.", {"title": "T"}),
        ("Text.", {"priority": "high"}),
        ("Text.", {"scope": "secret"}),
        ("---\nscope: private\na: [1\n---\nText.", {"priority": 1}),
        ("---\nscope: private\na: [1\n---\nText.", {"scope": "shared"}),
        (f"---\nnote: {'x' * 65_510}\n---\nText.", {"tags": ("a" * 50,)}),
    ],
)
def test_what_would_not_be_read_back_is_refused(text, changes):
    with pytest.raises(BadMeta) as error:
        update(text, changes)
    assert error.value.code == "bad_meta"
    assert error.value.hint


@pytest.mark.parametrize(
    "value", ["a: b", "# c", "true", "No", "~", "", "007", "1.5", "- d", "'e", '"f', "ü", "\t"]
)
def test_a_value_is_quoted_where_it_could_be_taken_for_something_else(value):
    parsed = parse(update("---\nx: 1\n---\nText.", {"title": value}))
    assert parsed.meta.extra == {"x": 1, "title": value}
    assert parsed.body == "Text."


def test_a_block_that_is_written_anew_keeps_all_that_it_says_and_can_be_updated_again():
    text = (
        "---\r\n{priority: 1, scope: private, more: [1, 2.5, true, ~, {a: 'b c'}], 'a: b': x}\r\n---\r\nText."
    )
    once = update(text, {"priority": 3, "tags": ("c", "d e")})
    parsed = parse(once.replace("\r\n", "\n"))
    assert parsed.meta == Meta(
        priority=3,
        tags=("c", "d e"),
        private=True,
        extra={"more": [1, 2.5, True, None, {"a": "b c"}], "a: b": "x"},
    )
    assert once.count("\n") == once.count("\r\n")
    assert update(once, {"priority": 3, "tags": ("c", "d e")}) == once
    assert update(once, {"priority": 4}) == once.replace("priority: 3", "priority: 4")


def test_a_comment_that_ends_the_text_is_followed_by_another():
    assert update("<!-- priority: 1 -->", {"tags": ("a",)}) == "<!-- priority: 1 -->\n<!-- tags: a -->"
    text = "<!-- priority: 1 -->\r\n<!-- scope: private -->"
    assert update(text, {"tags": ("a",)}) == f"{text}\r\n<!-- tags: a -->"
