"""Figures of one worker, in the text that Prometheus reads."""

import os
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from threading import Lock
from time import perf_counter

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from carrel.errors import CarrelError
from carrel.http.served import Served

_METHODS = frozenset(("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"))
_BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)


class Metrics:
    """Counts requests by what was asked, never by who asked or with what."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._requests: Counter[tuple[str, str, int]] = Counter()
        self._buckets: Counter[tuple[str, float]] = Counter()
        self._seconds: dict[str, float] = {}
        self._worker = str(os.getpid())

    def note(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a request."""
        with self._lock:
            self._requests[method, route, status] += 1
            self._seconds[route] = self._seconds.get(route, 0.0) + seconds
            for bound in _BOUNDS:
                if seconds <= bound:
                    self._buckets[route, bound] += 1

    def to_text(self, streams: int, served: Served, only: str | None = None) -> str:
        """Return all figures, or of several workspaces those of one: how busy others are is not told."""
        if only is not None and len(served.names) > 1:
            return "\n".join(_jobs(served, (only,))) + "\n"
        with self._lock:
            lines = [*self._told(), *self._gauges(streams), *_jobs(served, served.names)]
        return "\n".join(lines) + "\n"

    def _told(self) -> Iterator[str]:
        own = f'worker="{self._worker}"'
        yield "# HELP carrel_requests_total Requests answered."
        yield "# TYPE carrel_requests_total counter"
        for (method, route, status), count in sorted(self._requests.items()):
            labels = f'{own},method="{method}",route="{route}",status="{status}"'
            yield f"carrel_requests_total{{{labels}}} {count}"
        yield "# HELP carrel_request_seconds Time until a request was answered."
        yield "# TYPE carrel_request_seconds histogram"
        totals: Counter[str] = Counter()
        for (_, route, _status), count in self._requests.items():
            totals[route] += count
        for route, total in sorted(totals.items()):
            labels = f'{own},route="{route}"'
            for bound in _BOUNDS:
                count = self._buckets[route, bound]
                yield f'carrel_request_seconds_bucket{{{labels},le="{bound:g}"}} {count}'
            yield f'carrel_request_seconds_bucket{{{labels},le="+Inf"}} {total}'
            yield f"carrel_request_seconds_sum{{{labels}}} {self._seconds[route]:.6f}"
            yield f"carrel_request_seconds_count{{{labels}}} {total}"

    def _gauges(self, streams: int) -> Iterator[str]:
        yield "# HELP carrel_streams Event streams held."
        yield "# TYPE carrel_streams gauge"
        yield f'carrel_streams{{worker="{self._worker}"}} {streams}'


def _jobs(served: Served, names: Iterable[str]) -> Iterator[str]:
    yield "# HELP carrel_jobs Jobs of the queue, by state."
    yield "# TYPE carrel_jobs gauge"
    for name in names:
        with suppress(CarrelError):  # a figure that cannot be had now is left out
            for state, count in served.workspace(name).records.queue.counts().items():
                yield f'carrel_jobs{{workspace="{name}",state="{state}"}} {count}'


class Measured:
    """Counts what an app answers, and how long that takes."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and count it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status = perf_counter(), 500

        async def counted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, counted)
        finally:
            route = getattr(scope.get("route"), "path", "") or "other"
            # Strangers make up methods, and each name would be kept.
            method = scope["method"] if scope["method"] in _METHODS else "other"
            self._metrics.note(method, route, status, perf_counter() - began)
