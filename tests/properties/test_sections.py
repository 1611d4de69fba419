"""Whatever Markdown holds, its sections tile it, and an edit of one leaves every byte of the others."""

from collections import Counter

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from carrel.errors import UsageError
from carrel.markdown.lines import LineReader, body_start, closed_fences
from carrel.markdown.outline import outline
from carrel.markdown.sections import (
    SectionConflict,
    address_of,
    addresses_of,
    append,
    find,
    merge,
    move,
    read,
    remove_line,
    rename,
    replace,
    replace_line,
    sections,
)

MANY = 150
HEADINGS = ("A", "B", "a", "A B", "", "A/B", "/A", "A#2", "#1", "C#", "\\", "Ü", "x\0y", "\ud800", "A #")
ODD = st.text(st.characters(exclude_characters="\n"), max_size=12)
LINES = st.one_of(
    st.builds(
        "{}{}{}{}{}".format,
        st.sampled_from(["", "", "", "  ", "   ", "     ", "\t", "\x0b"]),
        st.integers(1, 7).map(lambda n: "#" * n),
        st.sampled_from([" ", " ", "\t", "", " \u2028"]),
        st.sampled_from(HEADINGS),
        st.sampled_from(["", "", " ##", " ", "\r"]),
    ),
    st.builds(
        "{}{}{}".format,
        st.sampled_from(["", "", " ", "  ", "    ", "\t"]),
        st.sampled_from(["```", "```", "````", "~~~", "~~~~~"]),
        st.sampled_from(["", "", "", "py", " ", "`"]),
    ),
    st.sampled_from(
        [
            "",
            "",
            " ",
            "\t",
            "- a",
            "- b",
            "  - c",
            "1. d",
            "  e",
            "text",
            "---",
            "* * *",
            "- ```",
            "> q",
            "<!-- tags: a -->",
        ]
    ),
    ODD,
)
FRONTS = st.sampled_from(
    [
        "",
        "",
        "",
        "",
        "\ufeff",
        "---\ntitle: T\n# c\n---\n",
        "<!-- tags: x -->\n",
        "---\r\na: 1\r\n---\r\n\r\n",
    ]
)
NEWLINES = st.sampled_from([["\n"], ["\r\n"], ["\n", "\r\n"], ["\r\n", "\n", "\n"]])


@st.composite
def texts(draw, least=0):
    lines = draw(st.lists(LINES, min_size=least, max_size=25))
    newlines = draw(NEWLINES)
    text = "".join(line + newlines[i % len(newlines)] for i, line in enumerate(lines))
    if draw(st.booleans()):
        text = text.removesuffix("\n").removesuffix("\r")
    return draw(FRONTS) + text


def own(text, part):
    return text[part.body : part.own_end]


@given(texts())
@settings(max_examples=MANY, deadline=None)
def test_parts_tile_the_text(text):
    parts = sections(text)
    assert (
        "".join([text[: parts[0].start if parts else len(text)], *(text[p.start : p.own_end] for p in parts)])
        == text
    )
    for part, following in zip(parts, [*parts[1:], None], strict=False):
        assert part.start < part.body <= part.own_end <= part.end <= len(text)
        assert part.own_end == (following.start if following else len(text))
        assert text.count("\n", 0, part.start) == part.line - 1
        assert part.path[-1] == part.heading
        assert part.end == next(
            (p.start for p in parts if p.start > part.start and p.level <= part.level), len(text)
        )
    assert len({(part.path, part.position) for part in parts}) == len(parts)


@given(texts())
@settings(max_examples=MANY, deadline=None)
def test_sections_are_those_of_the_outline(text):
    assert [(p.heading, p.level, p.line, p.path) for p in sections(text)] == [
        (s.heading, s.level, s.line, s.path) for s in outline(text) if s.level
    ]


@given(texts())
@settings(max_examples=MANY, deadline=None)
def test_a_text_with_many_marks_has_the_same_sections_as_one_with_few(text):
    many = text + "\nwords # of no heading" * 1_100
    found = [(part.heading, part.level, part.start) for part in sections(text + "\n")]
    assert [(part.heading, part.level, part.start) for part in sections(many)] == found


@given(texts())
@settings(max_examples=MANY, deadline=None)
def test_every_section_is_found_by_its_address(text):
    parts = sections(text)
    assert [find(text, address) for address in addresses_of(parts)] == list(parts)
    assert tuple(address_of(part, parts) for part in parts) == addresses_of(parts)


def said(text):
    """A text without the blank lines around it, its newlines LF."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    while lines and not lines[0].strip():
        lines.pop(0)
    while lines and not lines[-1].strip():
        lines.pop()
    return "\n".join(lines)


def names(text):
    return [(part.level, part.heading, part.path) for part in sections(text)]


def indented(text):
    """Whether a heading stands so far in that only a bullet before it makes it one."""
    return any(text[p.start : p.body].expandtabs(4).startswith("    ") for p in sections(text))


@st.composite
def addressed(draw):
    """A text, and the address of one of its sections, or of its own text."""
    text = draw(texts(least=3))
    parts = sections(text)
    return text, draw(st.sampled_from(["", *addresses_of(parts)]))


additions = st.lists(LINES, max_size=4).map("\n".join) | st.sampled_from(
    ["- x", "x", "- x\r\n- y\r\n", "```\n# x\n```"]
)
plain = st.sampled_from(["- x", "x", "- x\n  y", "x\n\ny", "- ~~x~~ _(until 2026-01-01)_"])


@given(addressed(), additions)
@settings(max_examples=MANY, deadline=None)
def test_an_addition_is_the_end_of_its_section_and_nothing_else_changes(where, addition):
    text, address = where
    part = find(text, address)
    try:
        result = append(text, address, addition)
    except UsageError:
        return
    changed = find(result, address)
    assert names(result) == names(text)
    assert result.startswith(text[: part.body])
    assert result.endswith(text[part.own_end :])
    assert said(own(result, changed)).startswith(said(own(text, part)))
    assert said(own(result, changed)).endswith(said(addition))
    if said(addition):
        assert own(result, changed).rstrip(" \t\x0b").endswith("\n")


@given(addressed(), plain)
@settings(max_examples=MANY, deadline=None)
def test_plain_text_can_always_be_added(where, addition):
    text, address = where
    assume(not indented(text))
    assert said(addition) in said(append(text, address, addition))


@given(texts(), plain)
@settings(max_examples=MANY, deadline=None)
def test_a_missing_section_is_made_at_the_end(text, addition):
    assume(not any(part.heading.casefold() == "insights" for part in sections(text)))
    result = append(text, "Insights", addition)
    assert result.startswith(text)
    assert names(result)[:-1] == names(text)
    assert said(read(result, "Insights")) == addition
    assert append(result, "insights", "- more").startswith(result.rstrip("\r\n"))


@given(addressed(), additions)
@settings(max_examples=MANY, deadline=None)
def test_a_replaced_section_says_what_it_was_given_and_nothing_else_changes(where, body):
    text, address = where
    part = find(text, address)
    assert replace(text, address, read(text, address)) == text
    try:
        result = replace(text, address, body)
    except UsageError:
        return
    size = len(text) - part.end
    assert result.startswith(text[: part.body])
    assert result.endswith(text[part.end :])
    assert said(result[part.body : len(result) - size]) == said(body)
    others = [
        (p.level, p.heading, p.path) for p in sections(text) if p.start <= part.start or p.start >= part.end
    ]
    if part.level:
        kept = [p for p in sections(result) if p.start <= part.start or p.start >= len(result) - size]
        assert [(p.level, p.heading, p.path) for p in kept] == others


@given(addressed(), st.sampled_from(HEADINGS) | ODD)
@settings(max_examples=MANY, deadline=None)
def test_a_renamed_section_has_its_new_heading_and_nothing_else_changes(where, heading):
    text, address = where
    assume(address)
    part = find(text, address)
    try:
        result = rename(text, address, heading)
    except UsageError:
        assert not heading.strip() or len(heading.splitlines()) > 1 or heading.rstrip().endswith("#")
        return
    changed = next(p for p in sections(result) if p.start == part.start)
    assert (changed.heading, changed.level) == (heading.strip(), part.level)
    assert result[: changed.start] == text[: part.start]
    assert result[changed.body :] == text[part.body :]
    assert [p.level for p in sections(result)] == [p.level for p in sections(text)]


@given(texts(least=5), st.data())
@settings(max_examples=MANY, deadline=None)
def test_a_moved_section_keeps_its_text_and_so_do_all_others(text, data):
    parts = sections(text)
    assume(parts)
    part = data.draw(st.sampled_from(parts))
    after = data.draw(st.sampled_from(["", *addresses_of(parts)]))
    try:
        result = move(text, address_of(part, parts), after)
    except UsageError:
        return
    pieces = sorted((p.level, p.heading, said(own(text, p))) for p in parts)
    assert sorted((p.level, p.heading, said(own(result, p))) for p in sections(result)) == pieces
    assert sorted(result) == sorted(text)
    others = Counter(p.path for p in parts if not part.start <= p.start < part.end)
    assert others <= Counter(p.path for p in sections(result))
    assert result[: min(part.start, parts[0].start)] == text[: min(part.start, parts[0].start)]


def is_outside(text, line):
    """Whether a whole line of a text is this one, and neither a heading nor in a fence or front matter."""
    start = body_start(text)
    lines = list(enumerate(text[start:].split("\n")))
    fences = closed_fences(reversed(lines))
    reader = LineReader()
    kinds = [(each.removesuffix("\r"), reader.read(each, fences.get(i, ""))) for i, each in lines]
    return (line, "text") in kinds and not line.endswith("\r")


@given(texts(least=3), LINES | st.sampled_from(["- a", "- b"]), plain.filter(lambda line: "\n" not in line))
@settings(max_examples=MANY, deadline=None)
def test_a_line_is_replaced_or_removed_alone(text, line, new):
    lines = text.split("\n")
    at = [i for i, each in enumerate(lines) if each.removeprefix("\ufeff").removesuffix("\r") == line]
    removed = ["".join(each + "\n" for each in lines[:i]) + "\n".join(lines[i + 1 :]) for i in at]
    replaced = ["\n".join([*lines[:i], lines[i].replace(line, new), *lines[i + 1 :]]) for i in at]
    for edit, possible in ((remove_line, removed), (lambda *given: replace_line(*given, new), replaced)):
        try:
            result = edit(text, line)
        except UsageError:
            assert is_outside(text, line)
            continue
        assert (result is not None) == is_outside(text, line)
        assert result is None or result.removeprefix("\ufeff") in [
            each.removeprefix("\ufeff") for each in possible
        ]
        assert result is None or names(result) == names(text)


@given(texts(least=4), st.data(), plain, plain)
@settings(max_examples=MANY, deadline=None)
def test_edits_of_different_sections_merge_to_both(base, data, one, other):
    parts = sections(base)
    assume(parts)
    addresses = ["", "New", *addresses_of(parts)]
    whole = [address for address, part in zip(addresses[2:], parts, strict=True) if part.end == part.own_end]
    first, second = data.draw(st.permutations(addresses))[:2]
    may_replace = [at in whole and "New" not in (first, second) for at in (first, second)]
    edits = [data.draw(st.sampled_from([append, replace] if may else [append])) for may in may_replace]
    try:
        mine, theirs = edits[0](base, first, one), edits[1](base, second, other)
        both = edits[1](mine, second, other)
    except UsageError:
        return
    for merged in (merge(base, mine, theirs), merge(base, theirs, mine)):
        assert merged == both or ("New" in (first, second) and lines_of(merged) == lines_of(both))


def lines_of(text):
    return [line.strip() for line in text.split("\n") if line.strip()]


@st.composite
def versions(draw):
    """A text, and two others that somebody made of it by taking lines out and putting lines in."""
    lines = draw(st.lists(LINES, min_size=2, max_size=12))
    return ["\n".join(lines), *("\n".join(edited(draw, lines)) for _ in range(2))]


def edited(draw, lines):
    lines = list(lines)
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, len(lines)))
        lines[at : at + draw(st.integers(0, 2))] = draw(
            st.lists(LINES | st.sampled_from(["new", "## New"]), max_size=2)
        )
    return lines


def counted(text):
    return Counter(lines_of(text))


@given(versions())
@settings(max_examples=MANY, deadline=None)
def test_a_merge_loses_no_line_or_is_a_conflict(three):
    base, mine, theirs = three
    try:
        merged = counted(merge(base, mine, theirs))
    except SectionConflict:
        return
    base, mine, theirs = map(counted, three)
    for line in base | mine | theirs:
        old, one, other = base[line], mine[line], theirs[line]
        both = one + other - old
        if one > old and other > old:
            assert max(one, other) <= merged[line] <= both
        elif one < old and other < old:
            assert both <= merged[line] <= min(one, other)
        else:
            assert merged[line] == both
