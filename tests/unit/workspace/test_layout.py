import pytest

from carrel.errors import UsageError
from carrel.workspace.layout import LAYOUTS, BadLayout, UnknownLayout, load_layout, parse_layout

SMALL = """
name: mine
marker: "[cut]"
messages:
  - parts:
      - kind: documents
        files: ["*.md"]
"""


@pytest.mark.parametrize("name", LAYOUTS)
def test_every_layout_that_ships_is_valid_and_carries_its_name(name):
    layout = load_layout(name)
    assert layout.name == name
    assert layout.summary.endswith(".")
    assert layout.private
    assert sum(message.history for message in layout.messages) == 1


@pytest.mark.parametrize("name", LAYOUTS)
def test_every_layout_bounds_what_its_files_may_take(name):
    """By limits of its own, or part by part by what others leave or a share of the agent's memory."""
    layout = load_layout(name)
    if name in ("agentscope", "squad"):
        parts = [part for message in layout.messages if message.total == "layout" for part in message.parts]
        memory = [part for part in parts if part.kind in ("notebook", "experience", "project")]
        assert memory
        assert all(part.rest or part.share for part in memory)
    else:
        assert layout.limits.file
        assert layout.limits.total


@pytest.mark.parametrize("name", LAYOUTS)
def test_every_layout_keeps_memory_and_the_user_to_the_owner(name):
    assert {"USER.md", "MEMORY.md", "DREAMS.md"} <= set(load_layout(name).private)


@pytest.mark.parametrize("name", LAYOUTS)
def test_every_tag_that_a_layout_writes_is_one_that_it_escapes(name):
    layout = load_layout(name)
    parts = [part for message in layout.messages for part in message.parts]
    texts = [text for part in parts for text in (part.open, part.close, part.line, *part.lines)]
    written = [
        text for text in texts if text.startswith("<") and "{tag}" not in text
    ]  # that one is escaped too
    assert all(any(text.lstrip("</").startswith(tag) for tag in layout.tags) for text in written)
    assert bool(written) == bool(layout.tags)


def test_a_name_that_no_layout_has_is_an_error_that_lists_them():
    with pytest.raises(UnknownLayout) as error:
        load_layout("../etc/passwd")
    assert error.value.code == "unknown_layout"
    assert all(name in error.value.hint for name in LAYOUTS)


def test_what_a_description_does_not_say_has_a_default():
    layout = parse_layout(SMALL)
    assert (layout.unit, layout.overflow, layout.before_marker) == ("tokens", "exclude", "\n")
    assert layout.limits.file is None
    assert layout.front_matter
    assert layout.messages[0].gap == "\n\n"


@pytest.mark.parametrize(
    ("old", "new", "place"),
    [
        ("name: mine", "name: mine\ncolour: red", "colour"),
        ("kind: documents", "kind: documents\n        colour: red", "$.messages[0].parts[0]"),
        ("kind: documents", "kind: novels", "$.messages[0].parts[0].kind"),
        ('files: ["*.md"]', "files: 3", "$.messages[0].parts[0].files"),
        ('files: ["*.md"]', "pinned: [1]", "pinned"),
        ("name: mine", "name: mine\nlimits: {file: many}", "$.limits.file"),
        ("name: mine", "name: mine\nunit: bytes", "$.unit"),
        ("name: mine", "", "name"),
        ('marker: "[cut]"', "", "marker"),
        ('marker: "[cut]"', "marker: ' '", "marker"),
        ("- parts:", "- role: wizard\n    parts:", "$.messages[0].role"),
    ],
)
def test_a_mistake_is_a_typed_error_that_names_its_place(old, new, place):
    with pytest.raises(BadLayout) as error:
        parse_layout(SMALL.replace(old, new))
    assert error.value.code == "bad_layout"
    assert place in error.value.message
    assert error.value.hint


@pytest.mark.parametrize("text", ["", "[]", "layout", "a: [1", "a: &x 1", "\0"])
def test_what_is_no_description_at_all_is_a_usage_error(text):
    with pytest.raises(UsageError):
        parse_layout(text)


def test_a_message_of_nothing_is_refused_before_it_can_fail_later():
    with pytest.raises(BadLayout):
        parse_layout(SMALL + "  - role: system\n")


def test_a_marker_that_cannot_be_filled_in_is_refused_before_a_text_is_cut():
    with pytest.raises(BadLayout):
        parse_layout(SMALL.replace("[cut]", "[cut {nobody}]"))


@pytest.mark.parametrize(
    "bad", ["{nobody}", "{}", "{0}", "{path.x}", "{path[0]}", "{path!r}", "{path:>9}", "{", "}"]
)
@pytest.mark.parametrize("key", ["open", "close", "line", "lead", "lines", "marker"])
def test_a_text_that_cannot_be_filled_in_is_refused_and_its_place_is_named(key, bad):
    if key == "marker":
        text = SMALL.replace("[cut]", f"[cut {bad}]")
    else:
        value = f'["{bad}"]' if key in ("lead", "lines") else f'"{bad}"'
        text = SMALL.replace("kind: documents", f"kind: documents\n        {key}: {value}")
    with pytest.raises(BadLayout) as error:
        parse_layout(text)
    assert key in error.value.message


@pytest.mark.parametrize(
    ("kind", "line"),
    [
        ("documents", 'open: "<d {path} {name} {stem} {title} {date} {tag}>"'),
        ("recall", 'line: "{path} {line} {date} {text}"'),
        ("session", 'lines: ["{date} {weekday} {time_zone} {session}"]'),
        ("text", 'lines: ["{os} {location} {squad} {workspace} {agent} {agent_name} {date}"]'),
        ("documents", 'open: "{{literally}}"'),
    ],
)
def test_what_is_filled_in_may_be_written(kind, line):
    assert parse_layout(SMALL.replace("kind: documents", f"kind: {kind}\n        {line}")).name == "mine"


@pytest.mark.parametrize("line", ['open: "{path}"', 'lines: ["{os}"]'])
def test_what_is_filled_in_elsewhere_only_is_refused(line):
    with pytest.raises(BadLayout):
        parse_layout(SMALL.replace("kind: documents", f"kind: session\n        {line}"))


def test_headings_are_those_that_do_not_depend_on_a_file():
    assert load_layout("nexo").headings() == (
        "# IDENTITY",
        "# SOUL",
        "# USER",
        "# AGENTS",
        "# RECENT NOTES",
        "# MEMORY",
    )
    assert load_layout("carrel").headings() == ()
