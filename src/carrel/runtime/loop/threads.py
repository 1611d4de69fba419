"""Where the turn meets the synchronous core: work in a thread, and work that a cancellation does not tear."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, ParamSpec, TypeVar

_T = TypeVar("_T")
_P = ParamSpec("_P")


async def in_thread(function: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
    """Run a plain function beside the loop, and return or raise as it did."""
    failure: list[BaseException] = []

    def attempt() -> _T | None:
        try:
            return function(*args, **kwargs)
        except BaseException as error:  # noqa: BLE001 - a future that is given StopIteration never ends
            failure.append(error)
            return None

    done: Any = await asyncio.to_thread(attempt)
    if failure:
        raise failure[0]
    return done


async def surely(work: Coroutine[Any, Any, _T]) -> _T:
    """Do this to its end even if the caller is cancelled meanwhile; the cancellation is raised afterwards."""
    task = asyncio.create_task(work)
    stopped: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError as error:
            stopped = error
    if stopped is None:
        return task.result()
    if (failure := task.exception()) is not None:
        stopped.add_note(f"While stopping: {type(failure).__name__}: {failure}")
    raise stopped
