"""Spans for OpenTelemetry: what was done and how much of it, never what was said.

Nothing is loaded here. Where the process has OpenTelemetry already, as under `opentelemetry-instrument`, the
steps of a turn become spans, named as the GenAI conventions name them.
"""

import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, Protocol

from carrel.errors import CarrelError

_API = "opentelemetry.trace"
_NAME = "carrel"

Value = str | int | float | bool


class Span(Protocol):
    """What a step may say of itself while it is done."""

    def set_attribute(self, key: str, value: Value) -> None:
        """Add a figure or a name."""
        ...


class _Nobody:
    def set_attribute(self, key: str, value: Value) -> None:
        """Tell nobody."""


_NOBODY = _Nobody()


def listens() -> bool:
    """Tell whether anybody may want to know."""
    return _API in sys.modules


@contextmanager
def span(name: str, /, **attributes: Value | None) -> Generator[Span]:
    """Tell who listens of a step, which those inside it are parts of; `__` in a name stands for a dot."""
    api: Any = sys.modules.get(_API)
    if api is None:
        yield _NOBODY
        return
    with begun(name, **attributes) as own, api.use_span(own, record_exception=False):
        yield own


@contextmanager
def begun(name: str, /, **attributes: Value | None) -> Generator[Span]:
    """Tell who listens of a step that goes on while others are done, such as one that yields."""
    api: Any = sys.modules.get(_API)
    if api is None:
        yield _NOBODY
        return
    told = {key.replace("__", "."): value for key, value in attributes.items() if value is not None}
    own = api.get_tracer(_NAME).start_span(name, attributes=told)
    try:
        yield own
    except GeneratorExit:  # whoever listened has enough: that is no error
        raise
    except BaseException as error:
        # Its text may quote a file or a message, so that only its kind is told.
        own.set_attribute(
            "error.type", error.code if isinstance(error, CarrelError) else type(error).__name__
        )
        own.set_status(api.StatusCode.ERROR)
        raise
    finally:
        own.end()
