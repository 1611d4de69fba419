"""What a model is told of tools, and what becomes of the calls that it makes."""

import json
from typing import Annotated, Literal

import pytest
from anthropic.types import ToolParam
from msgspec import Meta, Struct
from openai.types.chat import ChatCompletionFunctionToolParam
from openai.types.responses import FunctionToolParam
from pydantic import TypeAdapter

from carrel.errors import Refused
from carrel.files.ephemeral import EphemeralFiles
from carrel.tools.access import Access
from carrel.tools.files import file_tools
from carrel.tools.registry import BadArguments, NoArguments, Registry, Tool, UnknownTool, schema_of
from carrel.tools.self_report import WhatDoIKnow
from carrel.tools.session_logs import SessionLogs
from carrel.tools.skills import SkillRead


class Place(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    city: Annotated[str, Meta(description="Where.")]


class Weather(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where and how."""

    place: Annotated[str, Meta(description="A city.", min_length=1)]
    days: Annotated[int, Meta(description="How far ahead.", extra_json_schema={"maximum": 9})] = 1
    unit: Annotated[Literal["celsius", "kelvin"], Meta(description="Of temperatures.")] = "celsius"
    near: Annotated[str | None, Meta(description="A landmark.")] = None
    brief: Annotated[bool, Meta(description="In one word.")] = False


class Trip(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    start: Annotated[Place, Meta(description="From.")]
    end: Annotated[Place | None, Meta(description="To.")] = None
    stops: Annotated[list[Place], Meta(description="Via.")] = []


class Loop(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    inner: "Loop | None" = None


def tool(name="weather", parameters=Weather, run=lambda given: given, **more):
    return Tool(name=name, description=f"Do {name}.", parameters=parameters, run=run, **more)


def call(arguments, **more):
    return Registry([tool(**more)]).call("weather", arguments)


def refused(arguments, **more):
    with pytest.raises(BadArguments) as caught:
        call(arguments, **more)
    return caught.value


def test_the_schema_is_one_plain_object():
    assert schema_of(Weather) == {
        "type": "object",
        "properties": {
            "place": {"description": "A city.", "type": "string", "minLength": 1},
            "days": {"description": "How far ahead.", "type": "integer", "maximum": 9, "default": 1},
            "unit": {
                "description": "Of temperatures.",
                "enum": ["celsius", "kelvin"],
                "default": "celsius",
                "type": "string",
            },
            "near": {"description": "A landmark.", "type": "string"},
            "brief": {"description": "In one word.", "type": "boolean", "default": False},
        },
        "required": ["place"],
        "additionalProperties": False,
    }


def test_a_struct_inside_another_stands_where_it_is_used():
    text = json.dumps(schema_of(Trip))
    assert "$" not in text
    for name, description in (("start", "From."), ("end", "To.")):
        about = schema_of(Trip)["properties"][name]
        assert about["properties"]["city"]["type"] == "string"
        assert about["description"] == description
    assert schema_of(Trip)["properties"]["stops"]["items"]["required"] == ["city"]


def test_a_struct_that_contains_itself_is_refused_when_the_tool_is_described():
    with pytest.raises(ValueError, match="contains itself"):
        schema_of(Loop)


def own_tools():
    own = (("what_do_i_know", WhatDoIKnow), ("session_logs", SessionLogs), ("skill_read", SkillRead))
    return Registry(
        [*file_tools(Access(reach=EphemeralFiles())), *(tool(name, parameters) for name, parameters in own)]
    )


@pytest.mark.parametrize("spec", own_tools().specs(), ids=lambda spec: spec.name)
def test_providers_accept_every_tool_of_ours(spec):
    told = spec.to_json()
    TypeAdapter(ChatCompletionFunctionToolParam).validate_python({"type": "function", "function": told})
    TypeAdapter(FunctionToolParam).validate_python({"type": "function", "strict": False, **told})
    schema = told.pop("parameters")
    TypeAdapter(ToolParam).validate_python({**told, "input_schema": schema})
    assert "$ref" not in json.dumps(schema)
    for name, about in schema["properties"].items():
        assert about["type"] in ("string", "integer", "boolean"), name
        assert about["description"], name


def test_tools_are_listed_by_name_whatever_order_they_came_in():
    registry = Registry([tool("b"), tool("c"), tool("a")])
    assert [spec.name for spec in registry.specs()] == ["a", "b", "c"]
    assert len(registry) == 3


def test_what_a_client_does_to_a_description_changes_nothing():
    registry = Registry([tool()])
    registry.specs()[0].parameters["properties"].clear()
    assert "place" in registry.specs()[0].parameters["properties"]


def test_two_tools_of_one_name_are_a_mistake_of_the_program():
    with pytest.raises(ValueError, match="names of their own"):
        Registry([tool("a"), tool("a")])


def test_a_name_that_no_provider_takes_is_a_mistake_of_the_program():
    with pytest.raises(ValueError, match="providers take"):
        Registry([tool("read file")])


@pytest.mark.parametrize(
    ("patterns", "left"),
    [
        ((), ["my_stats", "read_file", "read_more"]),
        (("*",), ["my_stats", "read_file", "read_more"]),
        (("read_*",), ["read_file", "read_more"]),
        (("read_file",), ["read_file"]),
        (("read",), []),
        (("*file",), []),
        (("my_stats", "read_f*"), ["my_stats", "read_file"]),
        (("Read_*",), []),
    ],
)
def test_patterns_name_tools_exactly_or_by_prefix(patterns, left):
    registry = Registry([tool("read_file"), tool("read_more"), tool("my_stats")])
    assert [each.name for each in registry.allowed(patterns)] == left


def test_an_unknown_tool_is_answered_with_those_there_are():
    with pytest.raises(UnknownTool) as caught:
        Registry([tool("b"), tool("a")]).call("c", {})
    assert "'c'" in caught.value.message
    assert caught.value.hint == "There are: a, b."


def test_a_tool_that_is_not_allowed_does_not_exist():
    registry = Registry([tool("a"), tool("secret")]).allowed(["a"])
    with pytest.raises(UnknownTool) as caught:
        registry.call("secret", {})
    assert caught.value.hint == "There are: a."
    assert "secret" not in registry


@pytest.mark.parametrize("arguments", ['{"place": "Bogotá", "days": 3}', {"place": "Bogotá", "days": 3}])
def test_arguments_come_as_an_object_or_as_its_text(arguments):
    assert call(arguments) == Weather(place="Bogotá", days=3)


@pytest.mark.parametrize("nothing", ["", "{}", {}])
def test_no_arguments_can_be_written_in_several_ways(nothing):
    assert call(nothing, parameters=NoArguments) == NoArguments()


def test_what_can_only_mean_one_thing_is_taken_so():
    assert call({"place": "x", "days": "3", "brief": "true"}) == Weather(place="x", days=3, brief=True)
    assert call({"place": "x", "days": 3.0}) == Weather(place="x", days=3)


def test_null_means_that_an_argument_was_not_given():
    assert call({"place": "x", "days": None, "near": None, "unit": None}) == Weather(place="x")
    assert "`place` must be text, not None" in refused({"place": None}).message


def test_an_argument_may_have_another_name():
    assert call({"town": "x"}, aliases={"town": "place"}) == Weather(place="x")
    assert "town" not in json.dumps(tool(aliases={"town": "place"}).spec.to_json())


def test_raw_line_breaks_and_half_characters_in_json_are_understood():
    assert call('{"place": "a\nb"}') == Weather(place="a\nb")
    assert call('{"place": "\\ud83d"}') == Weather(place="\ud83d")
    assert call('{"place": "\ud83d"}') == Weather(place="\ud83d")


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({}, "weather: `place` is missing."),
        ({"place": 5}, "weather: `place` must be text, not 5."),
        ({"place": ["x"]}, "weather: `place` must be text, not a list."),
        ({"place": "x", "days": "soon"}, "weather: `days` must be a whole number, not 'soon'."),
        ({"place": "x", "days": 1.5}, "weather: `days` must be a whole number, not 1.5."),
        ({"place": "x", "unit": "feet"}, "weather: `unit` must be one of celsius, kelvin, not 'feet'."),
        ({"place": "x", "when": 1}, "weather: `when` is not an argument of it."),
        ({"place": ""}, "weather: `place` must be text of length >= 1."),
        ({"place": 10**5000}, "weather: `place` must be text, not a huge number."),
        ({"place": {}}, "weather: `place` must be text, not an object."),
    ],
)
def test_a_wrong_argument_is_named_with_what_it_should_be(arguments, problem):
    error = refused(arguments)
    assert error.message == problem
    assert "place (text, required); days (a whole number)" in error.hint


def test_a_wrong_value_is_shown_only_as_far_as_it_helps():
    message = refused({"place": "x", "days": "y" * 10_000}).message
    assert len(message) < 200
    assert "yyy…'" in message


KEY = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"


@pytest.mark.parametrize("arguments", [{"place": "x", "days": KEY}, {"place": "x", KEY: 1}])
def test_no_secret_is_quoted_in_what_is_wrong(arguments):
    assert KEY[:20] not in refused(arguments).message


def test_the_name_of_no_tool_is_quoted_without_a_secret():
    with pytest.raises(UnknownTool) as caught:
        Registry().call(KEY, {})
    assert KEY[:20] not in caught.value.message


@pytest.mark.parametrize(
    "text", ["nonsense", "[]", "1", "null", '{"place": ', "[" * 100_000, '{"a":' * 100_000]
)
def test_what_is_not_an_object_is_said_to_be_none(text):
    assert refused(text).message == "weather: the arguments must be one JSON object."


def test_keys_that_are_not_text_are_refused():
    assert "one JSON object" in refused({1: "x"}).message


def test_a_tool_without_arguments_says_so():
    assert refused({"x": 1}, parameters=NoArguments).hint == "It takes no arguments: call it with {}."


def test_an_error_of_the_tool_itself_passes_through():
    def fail(_):
        raise Refused("No.", hint="Ask.")

    with pytest.raises(Refused) as caught:
        call({"place": "x"}, run=fail)
    assert caught.value.hint == "Ask."
