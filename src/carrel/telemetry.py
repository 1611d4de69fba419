"""Spans for OpenTelemetry: what was done and how much of it, never what was said.

Nothing is loaded here. Where the process has set up OpenTelemetry, as under `opentelemetry-instrument`, the
steps of a turn become spans, named as the GenAI conventions name them. Whoever listens in this process, as
the log of a command does, is told of each step when it has ended.
"""

import sys
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, Protocol

from carrel.errors import CarrelError

_API = "opentelemetry.trace"
_NAME = "carrel"

Value = str | int | float | bool


Listener = Callable[[str, float, Mapping[str, Value]], None]
"""Hears the name of a step, how many seconds it took, and what it said of itself."""

_listeners: list[Listener] = []


class Span(Protocol):
    """What a step may say of itself while it is done."""

    def set_attribute(self, key: str, value: Value) -> None:
        """Add a figure or a name."""
        ...


class _Nobody:
    def set_attribute(self, key: str, value: Value) -> None:
        """Tell nobody."""


_NOBODY = _Nobody()
_UNHEARD: AbstractContextManager[Span] = nullcontext(_NOBODY)


class _Heard:
    """A span that whoever listens in this process hears of, too."""

    def __init__(self, own: Span, told: dict[str, Value]) -> None:
        self._own = own
        self.told = told

    def set_attribute(self, key: str, value: Value) -> None:
        """Add a figure or a name."""
        self.told[key] = value
        self._own.set_attribute(key, value)


@contextmanager
def heard_by(listener: Listener) -> Generator[None]:
    """Let somebody in this process hear of steps for as long as this lasts."""
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)


def listens() -> bool:
    """Tell whether anybody may want to know."""
    return _listening() is not None or bool(_listeners)


def span(name: str, /, **attributes: Value | None) -> AbstractContextManager[Span]:
    """Tell who listens of a step, which those inside it are parts of; `__` in a name stands for a dot."""
    return _told(name, attributes, is_around=True)


def begun(name: str, /, **attributes: Value | None) -> AbstractContextManager[Span]:
    """Tell who listens of a step that goes on while others are done, such as one that yields."""
    return _told(name, attributes, is_around=False)


def _told(
    name: str, attributes: Mapping[str, Value | None], *, is_around: bool
) -> AbstractContextManager[Span]:
    api = _listening()
    return _step(api, name, attributes, is_around=is_around) if api or _listeners else _UNHEARD


@contextmanager
def _step(api: Any, name: str, attributes: Mapping[str, Value | None], *, is_around: bool) -> Generator[Span]:
    with (
        _ended(name, attributes) as tell,
        _begun(api, name, attributes) as own,
        api.use_span(own, record_exception=False) if api and is_around else nullcontext(),
    ):
        yield tell(own)


@contextmanager
def _begun(api: Any, name: str, attributes: Mapping[str, Value | None]) -> Generator[Span]:
    """Tell OpenTelemetry of a step, where it listens."""
    if api is None:
        yield _NOBODY
        return
    own = api.get_tracer(_NAME).start_span(name, attributes=_dotted(attributes))
    try:
        yield own
    except GeneratorExit:  # whoever listened has enough: that is no error
        raise
    except BaseException as error:
        # Its text may quote a file or a message, so that only its kind is told.
        own.set_attribute("error.type", kind_of(error))
        own.set_status(api.StatusCode.ERROR)
        raise
    finally:
        own.end()


def _listening() -> Any:
    """Return OpenTelemetry where it is loaded and somebody has set it up, else none.

    Frameworks load it for themselves. Until a provider is set, the one that stands in drops every span.
    """
    api: Any = sys.modules.get(_API)
    if api is None or isinstance(api.get_tracer_provider(), api.ProxyTracerProvider):
        return None
    return api


@contextmanager
def _ended(name: str, attributes: Mapping[str, Value | None]) -> Generator[Callable[[Span], Span]]:
    """Tell those in this process of a step when it has ended."""
    if not _listeners:
        yield lambda own: own
        return
    told, started = _dotted(attributes), time.monotonic()
    try:
        yield lambda own: _Heard(own, told)
    except GeneratorExit:
        raise
    except BaseException as error:
        told["error.type"] = kind_of(error)
        raise
    finally:
        for listener in tuple(_listeners):
            listener(name, time.monotonic() - started, told)


def kind_of(error: BaseException) -> str:
    """Return what is told of an error: its code, else its class."""
    return error.code if isinstance(error, CarrelError) else type(error).__name__


def _dotted(attributes: Mapping[str, Value | None]) -> dict[str, Value]:
    return {key.replace("__", "."): value for key, value in attributes.items() if value is not None}
