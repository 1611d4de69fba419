"""Whatever a file holds, reading it ends in settings or in a typed error."""

import json
import tempfile
import time
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from carrel.config import UserDirectories, flatten, is_trusted, load_config, local_approvals, trust
from carrel.errors import CarrelError
from carrel.plainyaml import load
from carrel.settings import camel, leaves
from carrel.settings.parse import build, parse

names = st.sampled_from(sorted({name for key in leaves() for name in key} | {"max_context_tokens", "zzz"}))
scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.just("UTC")
trees = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(names | st.text(max_size=4), inner, max_size=4)
    ),
    max_leaves=12,
)
layouts = st.none() | st.sampled_from(["carrel", "astra", "agentscope", "squad"])

numbers = st.integers(1, 10**6)
texts = st.text(st.characters(codec="utf-8", exclude_categories=["C", "Zl", "Zp"]), max_size=12)
agents = st.lists(
    st.fixed_dictionaries(
        {"id": st.from_regex(r"[a-z][a-z0-9._-]{0,6}", fullmatch=True)},
        optional={
            "display_name": texts,
            "trigger_interval": numbers,
            "memory_enabled": st.booleans(),
            "allowed_tools": st.lists(texts, max_size=2),
            "system_prompt_template": texts,
            "memory": st.fixed_dictionaries({}, optional={"max_tokens": numbers}),
        },
    ),
    max_size=3,
    unique_by=lambda agent: agent["id"],
)
ordinary = st.fixed_dictionaries(
    {},
    optional={
        "time_zone": st.sampled_from(["UTC", "America/Bogota", "Europe/Madrid"]),
        "user": st.fixed_dictionaries({}, optional={"id": texts, "name": texts}),
        "budgets": st.fixed_dictionaries({}, optional={"total": numbers, "recall_hits": numbers}),
        "agents": agents,
    },
)


def in_camel_case(value):
    if isinstance(value, dict):
        return {camel(key): in_camel_case(inner) for key, inner in value.items()}
    return [in_camel_case(inner) for inner in value] if isinstance(value, list) else value


def typed_error(call):
    """Let every other error through."""
    try:
        call()
    except CarrelError as error:
        return error
    return None


@given(trees, layouts)
def test_any_data_is_settings_or_a_typed_error(data, layout) -> None:
    error = typed_error(lambda: build(parse(data, layout=layout, source="carrel.yaml")))
    assert error is None or (error.code == "bad_setting" and error.message.isprintable())


@given(ordinary)
def test_both_spellings_mean_the_same(data) -> None:
    snake = parse(data, layout=None, source="x")
    assert parse(in_camel_case(data), layout=None, source="x") == snake


@given(ordinary)
def test_listing_all_values_loses_nothing(data) -> None:
    values = build(parse(data, layout=None, source="x"))
    assert build(flatten(values)) == values


@settings(deadline=None)  # it touches the disk or measures by itself
@given(
    st.dictionaries(
        st.sampled_from(["user", "workspace", "environment", "flag"]),
        st.sampled_from(["UTC", "Asia/Tokyo", "America/Bogota", "Europe/Madrid"]),
    )
)
def test_the_strongest_source_that_gives_a_value_wins(zones) -> None:
    with tempfile.TemporaryDirectory() as home:
        directories = UserDirectories(config=Path(home), cache=Path(home), data=Path(home))
        if "user" in zones:
            (Path(home) / "config.yaml").write_text(f"time_zone: {zones['user']}")
        config = load_config(
            local_approvals(Path(home), directories),
            f"timeZone: {zones['workspace']}" if "workspace" in zones else None,
            environ={"CARREL_TZ": zones.get("environment", "")},
            flags={"time_zone": zones.get("flag")},
            directories=directories,
        )
    strongest = next((s for s in ("flag", "environment", "workspace", "user") if s in zones), None)
    beginnings = {"flag": "flag --time-zone", "environment": "environment CARREL_TZ", "user": "user file "}
    beginning = beginnings.get(strongest or "", "carrel.yaml" if strongest else "default")
    assert config.settings.time_zone == (zones[strongest] if strongest else "UTC")
    assert config.origins["time_zone"].startswith(beginning)


@settings(deadline=None)  # it touches the disk or measures by itself
@given(ordinary)
def test_trust_survives_every_ordinary_edit(data) -> None:
    with tempfile.TemporaryDirectory() as home:
        directories = UserDirectories(config=Path(home), cache=Path(home), data=Path(home))
        approvals = local_approvals(Path(home), directories)
        trust(approvals, "model: gpt-4o\n")
        edited = json.dumps(data | {"model": "gpt-4o"}, ensure_ascii=False)
        assert is_trusted(approvals, edited)
        assert not is_trusted(approvals, json.dumps({"model": "other"}))


@given(st.text(max_size=200) | st.text("[]{}:,-?&*!|>'\"%@# \n\tab0", max_size=400))
def test_any_text_is_data_or_a_typed_error(text) -> None:
    error = typed_error(lambda: load(text))
    assert error is None or error.code == "bad_yaml"


@settings(deadline=None)  # it touches the disk or measures by itself
@given(
    st.sampled_from(["[", "{a: ", "- ", "? ", "a: &a [*a, ", "!!x ", "'", "|\n ", "-\n", "a:\n"]),
    st.integers(1, 65_536),
)
def test_no_repeated_piece_of_text_is_slow(piece, length) -> None:
    start = time.process_time()
    typed_error(lambda: load((piece * length)[:length]))
    assert time.process_time() - start < 10
