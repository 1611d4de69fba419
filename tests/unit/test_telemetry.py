"""What OpenTelemetry is told of a turn: figures and names, never content."""

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from carrel import Workspace, telemetry
from carrel.errors import NotFound

CANARY = "the-canary-sings-at-noon"


@pytest.fixture(scope="module")
def kept() -> InMemorySpanExporter:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    return exporter


@pytest.fixture
def spans(kept: InMemorySpanExporter) -> InMemorySpanExporter:
    kept.clear()
    return kept


async def one_turn(workspace: Workspace) -> None:
    async for _ in workspace.turn("s1", f"Remember {CANARY}."):
        pass


def test_a_turn_is_told_as_steps_with_figures_and_without_a_word_of_what_was_said(
    tmp_path: Path, spans: InMemorySpanExporter
) -> None:
    Workspace.init(tmp_path)
    (tmp_path / "SOUL.md").write_text(f"{CANARY}\n")
    with Workspace.open(tmp_path) as workspace:
        asyncio.run(one_turn(workspace))
        workspace.search(CANARY)
        workspace.assemble()
    told = {span.name: dict(span.attributes or {}) for span in spans.get_finished_spans()}
    assert {"invoke_agent main", "chat offline", "search_memory", "carrel.assemble_context"} <= set(told)
    assert told["invoke_agent main"]["gen_ai.conversation.id"] == "s1"
    assert told["carrel.assemble_context"]["carrel.context.used_tokens"] > 0
    assert told["search_memory"]["gen_ai.memory.record.count"] >= 1
    assert CANARY not in "".join(span.to_json() for span in spans.get_finished_spans())


def test_an_error_is_told_by_its_code_and_not_by_its_words(spans: InMemorySpanExporter) -> None:
    with pytest.raises(NotFound), telemetry.span("carrel.step"):
        raise NotFound(f"There is no {CANARY}.")
    (span,) = spans.get_finished_spans()
    assert dict(span.attributes or {}) == {"error.type": "not_found"}
    assert not span.status.is_ok
    assert CANARY not in span.to_json()


def test_steps_inside_a_step_are_parts_of_it(spans: InMemorySpanExporter) -> None:
    with telemetry.span("carrel.outer"), telemetry.span("carrel.inner"):
        pass
    inner, outer = spans.get_finished_spans()
    assert inner.parent is not None
    assert inner.parent.span_id == outer.context.span_id


SET_UP_LATE = """
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from carrel import telemetry

assert not telemetry.listens()
with telemetry.span("carrel.before"):
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
assert telemetry.listens()
with telemetry.span("carrel.after"):
    pass
print(*(span.name for span in exporter.get_finished_spans()))
"""


def test_who_only_has_it_loaded_is_told_nothing_until_it_is_set_up() -> None:
    ran = subprocess.run([sys.executable, "-c", SET_UP_LATE], capture_output=True, text=True, check=False)
    assert (ran.stdout, ran.stderr) == ("carrel.after\n", "")
