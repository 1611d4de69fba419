import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from carrel.workspace.identity import FIELDS, Identity, parse_identity

SEED = """\
- **Name:** Kate
- **Creature:** octopus
- **Vibe:** warm but sharp
- **Emoji:** 🐙
- **Avatar:** https://example.org/kate.png
"""


def test_the_five_bullets_of_the_seed_are_read():
    assert parse_identity(SEED) == Identity(
        name="Kate",
        creature="octopus",
        vibe="warm but sharp",
        emoji="🐙",
        avatar="https://example.org/kate.png",
    )


@pytest.mark.parametrize(
    "line",
    [
        "- **Name:** Kate",
        "- **Name**: Kate",
        "- *Name:* Kate",
        "- Name: Kate",
        "* **Name:** Kate",
        "+ Name: Kate",
        "**Name:** Kate",
        "**Name**: Kate",
        "Name: Kate",
        "NAME:Kate",
        "  - __Name__: Kate  ",
        "- **Name:** **Kate**",
        "- **Name:** `Kate`",
        "- **Name:** _Kate_",
        "-**Name:** Kate",
    ],
)
def test_every_shape_that_people_write_is_read(line):
    identity = parse_identity(f"# IDENTITY\n\n{line}\n")
    assert identity.name == "Kate"
    assert not identity.prose


def test_a_value_may_stand_on_the_next_line():
    text = "- **Name:**\n  Kate\n- **Vibe:**\n  warm: but sharp\n- **Emoji:**\n- **Creature:** octopus\n"
    identity = parse_identity(text)
    assert (identity.name, identity.vibe, identity.emoji) == ("Kate", "warm: but sharp", None)
    assert identity.creature == "octopus"


@pytest.mark.parametrize("following", ["# Kate", "- Kate", "* Kate", ""])
def test_a_heading_a_bullet_or_a_blank_line_is_no_value(following):
    assert parse_identity(f"- **Name:**\n{following}\n").name is None


@pytest.mark.parametrize("value", ["(pick one)", "_(pick one)_", "*(pick one)*", "**(pick one)**"])
@pytest.mark.parametrize("break_", [" ", "\n  "])
def test_a_placeholder_in_parentheses_is_skipped_and_listed(value, break_):
    identity = parse_identity(f"- **Name:**{break_}{value}\n- **Vibe:** warm")
    assert identity.name is None
    assert identity.placeholders == ("name",)
    assert identity.vibe == "warm"
    assert not identity.prose


def test_the_first_colon_parts_key_and_value():
    assert parse_identity("- Avatar: https://a.b/c:d").avatar == "https://a.b/c:d"


def test_the_last_of_two_equal_fields_wins():
    assert parse_identity("Name: Kate\nName: Ada").name == "Ada"


def test_a_field_that_was_filled_in_is_no_placeholder():
    assert parse_identity("Name: (pick one)\nName: Kate").placeholders == ()


@pytest.mark.parametrize("text", ["", "\n\n", "# IDENTITY", "Pronouns: she", "Name:", "- **Name:** \n", ":"])
def test_nothing_found_is_no_field_at_all(text):
    identity = parse_identity(text)
    assert [getattr(identity, field) for field in FIELDS] == [None] * 5
    assert identity.line(FIELDS) == ""


def test_a_field_inside_a_code_fence_is_not_read():
    identity = parse_identity("Name: Kate\n```\nName: Ada\n```\n~~~\nVibe: cold\n~~~\nEmoji: 🐙")
    assert (identity.name, identity.vibe, identity.emoji) == ("Kate", None, "🐙")


@pytest.mark.parametrize(
    "extra", ["She likes the sea.", "- likes the sea", "Pronouns: she", "```\nart\n```", "> quoted"]
)
def test_text_beside_the_fields_is_noticed(extra):
    assert parse_identity(f"{SEED}\n{extra}\n").prose


@pytest.mark.parametrize("extra", ["# IDENTITY", "---", "***", "<!-- note -->", ""])
def test_headings_rules_and_comments_are_not_prose(extra):
    assert not parse_identity(f"{extra}\n{SEED}").prose


def test_a_line_has_the_fields_asked_for_in_that_order_and_no_others():
    identity = parse_identity(SEED)
    assert identity.line(("name", "emoji", "vibe")) == "name=Kate, emoji=🐙, vibe=warm but sharp"
    assert parse_identity("Vibe: warm").line(("name", "vibe")) == "vibe=warm"


@given(st.lists(st.sampled_from(["- ", "**", "Name", ":", " Kate", "\n", "(", ")", "```", "vibe", "_", "#"])))
@settings(max_examples=150, deadline=None)
def test_whatever_is_written_a_value_is_one_line_and_never_a_placeholder(pieces):
    identity = parse_identity("".join(pieces))
    for field in FIELDS:
        value = getattr(identity, field)
        assert value is None or (value.strip() and "\n" not in value)
        assert value is None or not (value.startswith("(") and value.endswith(")"))


def test_a_fence_parts_a_field_from_what_follows():
    identity = parse_identity("Name:\n```\nAda\n```\nKate")
    assert identity.name is None
    assert identity.prose


def test_an_empty_fence_is_no_prose_and_another_kind_of_fence_does_not_close_it():
    assert not parse_identity("Name: Kate\n```\n\n```").prose
    assert parse_identity("```\n~~~\nName: Ada\n```\nName: Kate").name == "Kate"


def test_a_placeholder_after_a_value_takes_nothing_away():
    identity = parse_identity("Name: Kate\nName: (pick one)")
    assert (identity.name, identity.placeholders) == ("Kate", ())
