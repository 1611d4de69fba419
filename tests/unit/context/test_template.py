from contextlib import suppress
from time import process_time

import pytest

from carrel.context.template import BadTemplate, parse_template

VALUES = {
    "name": "Kate",
    "agent": {"id": "kate", "displayName": "Kate"},
    "empty": "",
    "none": None,
    "yes": True,
    "no": False,
    "list": ("a", "b"),
    "nothing": (),
}


def render(source: str, values=VALUES) -> str:
    return parse_template(source).render(values)[0]


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("", ""),
        ("No tag.", "No tag."),
        ("Hi {{name}}!", "Hi Kate!"),
        ("{{ name }}{{name}}", "KateKate"),
        ("{{{name}}}", "Kate"),
        ('{"a": {{name}}}', '{"a": Kate}'),
        ("{{{name}}", "{Kate"),
        ("{{name}}}}", "Kate}}"),
        ("{{{{name}}}}", "{Kate}"),
        ("{{agent.displayName}}", "Kate"),
        ("{{list}}", "a, b"),
        ("{{empty}}{{none}}{{yes}}{{no}}{{agent}}", ""),
        ("{{! a comment }}x", "x"),
        ("a { b } {c} }} {", "a { b } {c} }} {"),
        ("{{name", "{{name"),
        ("{{#if name}}A{{/if}}", "A"),
        ("{{#if empty}}A{{/if}}", ""),
        ("{{#if empty}}A{{else}}B{{/if}}", "B"),
        ("{{#if none}}A{{else}}B{{/if}}", "B"),
        ("{{#if yes}}A{{else}}B{{/if}}", "A"),
        ("{{#if agent.id}}A{{/if}}", "A"),
        ("{{# if name }}A{{/ if }}", "A"),
        ("{{#unless empty}}A{{else}}B{{/unless}}", "A"),
        ("{{#unless name}}A{{else}}B{{/unless}}", "B"),
        ("{{#each list}}[{{this}}]{{/each}}", "[a][b]"),
        ("{{#each nothing}}x{{else}}none{{/each}}", "none"),
        ("{{#each name}}x{{else}}none{{/each}}", "none"),
        ("{{#each agent}}x{{else}}none{{/each}}", "none"),
        ("{{#each list}}{{#if name}}{{name}}{{this}} {{/if}}{{/each}}", "Katea Kateb "),
        ("{{#if name}}{{#if empty}}1{{else}}2{{/if}}{{else}}3{{/if}}", "2"),
    ],
)
def test_every_construct_renders(source, text):
    assert render(source) == text


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("a\n{{#if name}}\nb\n{{/if}}\nc", "a\nb\nc"),
        ("a\n  {{#if name}}  \nb\n\t{{/if}}\nc", "a\nb\nc"),
        ("a\r\n{{#if name}}\r\nb\r\n{{/if}}\r\nc", "a\r\nb\r\nc"),
        ("{{#if name}}\nb\n{{/if}}", "b\n"),
        ("a\n{{#if empty}}\nb\n{{else}}\nd\n{{/if}}\nc", "a\nd\nc"),
        ("a\n{{#if empty}}\nb\n{{/if}}\nc", "a\nc"),
        ("a\n{{! gone }}\nc", "a\nc"),
        ("a {{#if name}}\nb{{/if}}\nc", "a \nb\nc"),
        ("{{#if name}}{{/if}}\nc", "\nc"),
        ("a\n{{#each list}}\n- {{this}}\n{{/each}}\nc", "a\n- a\n- b\nc"),
        ("{{#if name}}\n{{#if yes}}\nx\n{{/if}}\n{{/if}}\ny", "x\ny"),
        ("a\n{{name}}\nc", "a\nKate\nc"),
        ("a\n{{name}} {{#if name}}\nb{{/if}}", "a\nKate \nb"),
        ("a\n{{! x }}{{! y }}\nc", "a\n\nc"),
        ("a\n{{! x }}\n{{! y }}\nc", "a\nc"),
        ("{{! x }} \t", ""),
    ],
)
def test_a_block_tag_alone_on_its_line_disappears_with_the_line(source, text):
    assert render(source) == text


def test_a_brace_after_a_tag_is_not_swallowed():
    """It may be refused, as in Handlebars; a prompt that shows JSON must not lose its end."""
    with suppress(BadTemplate):
        assert render('{"name": {{name}}}') == '{"name": Kate}'


def test_an_unknown_variable_is_empty_and_named_once():
    text, unknown = parse_template("{{nobody}}{{nobody}}{{#if agent.age}}x{{/if}}{{name.x}}").render(VALUES)
    assert text == ""
    assert unknown == ("nobody", "agent.age", "name.x")


def test_a_known_variable_without_a_value_is_not_unknown():
    assert parse_template("{{none}}{{empty}}").render(VALUES) == ("", ())


@pytest.mark.parametrize(
    ("source", "line"),
    [
        ("{{#if x}}", 1),
        ("a\n{{#if x}}\nb", 2),
        ("a\n{{#if x}}{{#each y}}\n{{/each}}\nb", 2),
        ("a\n\n{{/if}}", 3),
        ("{{#if x}}\n{{/each}}", 2),
        ("a\n{{else}}", 2),
        ("{{#if x}}\n{{else}}\n{{else}}\n{{/if}}", 3),
        ("a\n{{#with x}}{{/with}}", 2),
        ("a\n{{#if}}{{/if}}", 2),
        ("a\n{{#if x y}}{{/if}}", 2),
        ("a\n{{#if (eq x 1)}}{{/if}}", 2),
        ("a\n{{x y}}", 2),
        ("a\n{{}}", 2),
        ("a\n{{> partial}}", 2),
        ("a\n{{x[0]}}", 2),
        ("a\n{{../x}}", 2),
        ("a\n{{else if x}}", 2),
    ],
)
def test_a_malformed_template_is_an_error_with_its_line(source, line):
    with pytest.raises(BadTemplate) as error:
        parse_template(source)
    assert error.value.line == line
    assert error.value.code == "bad_template"
    assert f"line {line}" in error.value.message


@pytest.mark.parametrize(
    "value",
    ["{{name}}", "{{#if name}}", "{{/if}}", "{{memory}}", "{% import os %}", "${7*7}", "{0}", "%s", "\\1"],
)
def test_values_are_inserted_literally_and_never_read_again(value):
    assert render("{{x}}|{{#each y}}{{this}}{{/each}}|{{z}}", {"x": value, "y": (value,), "z": (value,)}) == (
        f"{value}|{value}|{value}"
    )


@pytest.mark.parametrize(
    "path",
    [
        "name.__class__",
        "agent.__class__.__mro__",
        "agent.keys",
        "list.0",
        "list.__len__",
        "constructor.constructor",
        "__import__",
        "this",
    ],
)
def test_no_path_reaches_an_attribute(path):
    assert parse_template(f"{{{{{path}}}}}").render(VALUES) == ("", (path,))


def test_nesting_is_bounded():
    parse_template("{{#if a}}" * 32 + "{{/if}}" * 32)
    with pytest.raises(BadTemplate):
        parse_template("{{#if a}}" * 33 + "{{/if}}" * 33)


def test_what_a_template_writes_out_and_what_it_only_asks_about_are_told_apart():
    template = parse_template(
        "{{#if memory}}{{#each list}}{{this}}{{/each}}{{/if}}{{#unless a}}{{b}}{{else}}{{c}}{{/unless}}"
    )
    assert template.inserts == {"this", "b", "c"}
    assert template.uses == {"memory", "list", "a", "this", "b", "c"}


def cost(source: str) -> float:
    def once() -> float:
        parse_template.cache_clear()
        before = process_time()
        with suppress(BadTemplate):
            parse_template(source).render(VALUES)
        return process_time() - before

    return min(once() for _ in range(2))


@pytest.mark.parametrize(
    "piece",
    [
        "{{name}}",
        "{{name}}\n",
        "{{#if name}}{{/if}}",
        "{{#if name}}\n{{/if}}\n",
        "{{! x }} ",
        "{{",
        "}}",
        "{{{",
        "{{ ",
        "{{name",
        "{{#if ",
        "\n",
    ],
)
def test_a_template_takes_time_in_proportion_to_its_length(piece):
    small, large = (piece * (size // len(piece)) for size in (24_000, 96_000))
    assert cost(large) < 0.02 + 9 * cost(small)
