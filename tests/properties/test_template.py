from hypothesis import given, settings
from hypothesis import strategies as st

from carrel.context.template import BadTemplate, parse_template

plain = st.text(st.characters(exclude_characters="{}", exclude_categories=("Cs",)), max_size=12)
names = st.sampled_from(["name", "list", "agent.id", "empty", "nobody", "yes"])
anything = st.text(st.sampled_from("{}#/!abc .\nifeach"), max_size=40)
values = st.fixed_dictionaries(
    {
        "name": anything,
        "list": st.lists(anything, max_size=3).map(tuple),
        "agent": st.fixed_dictionaries({"id": anything}),
        "empty": st.just(""),
        "yes": st.booleans(),
    }
)
variable = names.map(lambda name: f"{{{{{name}}}}}")


def block(inner):
    kinds = st.sampled_from(["if", "unless", "each"])
    return st.builds(
        lambda kind, name, body, other: f"{{{{#{kind} {name}}}}}{body}{other}{{{{/{kind}}}}}",
        kinds,
        names,
        inner,
        st.just("") | inner.map(lambda text: "{{else}}" + text),
    )


templates = st.recursive(
    plain | variable, lambda inner: block(inner) | st.lists(inner, max_size=4).map("".join), max_leaves=12
)


@given(templates, values)
@settings(max_examples=120, deadline=None)
def test_every_well_formed_template_renders_the_same_each_time(source, given_values):
    first = parse_template(source).render(given_values)
    parse_template.cache_clear()
    assert parse_template(source).render(given_values) == first


@given(templates, values)
@settings(max_examples=120, deadline=None)
def test_all_that_is_written_out_comes_from_the_template_or_the_values(source, given_values):
    """Values with and without tags in them lead to the same text, but for those tags."""
    text, unknown = parse_template(source).render(given_values)
    quiet = {
        "name": given_values["name"].replace("{", "(").replace("}", ")"),
        "list": tuple(item.replace("{", "(").replace("}", ")") for item in given_values["list"]),
        "agent": {"id": given_values["agent"]["id"].replace("{", "(").replace("}", ")")},
        "empty": "",
        "yes": given_values["yes"],
    }
    calm, same = parse_template(source).render(quiet)
    assert calm == text.replace("{", "(").replace("}", ")")
    assert same == unknown


@given(plain)
@settings(max_examples=100, deadline=None)
def test_text_without_braces_is_its_own_rendering(source):
    assert parse_template(source).render({}) == (source, ())


@given(st.text(st.sampled_from("{}#/!ab. \nifelseachunlm@_"), max_size=60))
@settings(max_examples=150, deadline=None)
def test_any_text_is_a_template_or_an_error_with_a_line_of_it(source):
    line = 1
    try:
        parse_template(source).render({"a": "x", "b": ("y",)})
    except BadTemplate as error:
        line = error.line
    assert 1 <= line <= source.count("\n") + 1


@given(templates)
@settings(max_examples=100, deadline=None)
def test_the_variables_written_out_are_among_those_used(source):
    template = parse_template(source)
    assert template.inserts <= template.uses
    assert set(template.render({})[1]) <= template.uses
