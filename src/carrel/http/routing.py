"""How an endpoint is declared: its address, what it takes and answers, and who may ask."""

import inspect
from asyncio import get_running_loop
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import wraps
from time import monotonic
from typing import Annotated, Any, TypeVar

from fastapi import Depends, FastAPI, Request
from fastapi.routing import APIRoute
from msgspec import DecodeError, Struct, ValidationError, json
from starlette.responses import Response

from carrel.http.answers import Reply
from carrel.http.errors import BadBody

Endpoint = Callable[..., Any]
Need = Callable[[Request], Awaitable[Any]]
T = TypeVar("T")

_JSON = "application/json"
_PROMPT = 0.01
"""Seconds that what is answered in the loop may usually take: all others wait for it."""

_LAST = 32
"""About how many answers count for what is usual: a busy machine holds up one now and then."""

_REST = 5.0
"""Seconds for which all goes to threads where it takes longer."""


class Declared(Struct, frozen=True, kw_only=True):
    """An endpoint: where it is, what it takes and answers as types; a file as it is has none."""

    method: str
    path: str
    function: Endpoint
    answers: Any
    takes: Any
    status: int
    media: str
    at_once: Endpoint | None = None
    """What answers without a thread where that needs no work; none where it does."""


class Routes:
    """Endpoints that belong together; each says what it answers, so that the description is the truth."""

    def __init__(self, tag: str, prefix: str = "") -> None:
        self.tag = tag
        self.prefix = prefix
        self.declared: dict[str, Declared] = {}
        """By the name of the operation."""

    def get(self, path: str, answers: Any, **more: Any) -> Callable[[Endpoint], Endpoint]:
        """Declare an endpoint that changes nothing."""
        return self._declare("GET", path, answers, **more)

    def post(self, path: str, answers: Any, **more: Any) -> Callable[[Endpoint], Endpoint]:
        """Declare an endpoint that does something."""
        return self._declare("POST", path, answers, **more)

    def put(self, path: str, answers: Any, **more: Any) -> Callable[[Endpoint], Endpoint]:
        """Declare an endpoint that replaces something."""
        return self._declare("PUT", path, answers, **more)

    def patch(self, path: str, answers: Any, **more: Any) -> Callable[[Endpoint], Endpoint]:
        """Declare an endpoint that changes a part of something."""
        return self._declare("PATCH", path, answers, **more)

    def delete(self, path: str, answers: Any, **more: Any) -> Callable[[Endpoint], Endpoint]:
        """Declare an endpoint that removes something."""
        return self._declare("DELETE", path, answers, **more)

    def _declare(
        self,
        method: str,
        path: str,
        answers: Any,
        *,
        takes: Any = None,
        status: int = 200,
        media: str = _JSON,
        at_once: Endpoint | None = None,
    ) -> Callable[[Endpoint], Endpoint]:
        def declare(function: Endpoint) -> Endpoint:
            self.declared[function.__name__] = Declared(
                method=method,
                path=f"{self.prefix}{path}",
                function=function,
                answers=answers,
                takes=takes,
                status=status,
                media=media,
                at_once=at_once,
            )
            return function

        return declare

    def add_to(self, app: FastAPI, prefix: str) -> None:
        """Put the endpoints into an app itself: a router within it would cost every request a detour."""
        for name, each in self.declared.items():
            is_async = inspect.iscoroutinefunction(each.function)
            app.router.add_api_route(
                f"{prefix}{each.path}",
                each.function if is_async else _answering(each),
                methods=[each.method],
                status_code=each.status,
                response_model=None,
                response_class=Response,
                operation_id=name,
                tags=[self.tag],
                route_class_override=APIRoute if is_async else _Direct,
                summary=(each.function.__doc__ or "").partition(".")[0].strip(),
                description=inspect.getdoc(each.function) or "",
            )


_THREADS = ThreadPoolExecutor(64, "carrel-http")
"""Where endpoints work: they read files and records, and the loop must not wait for a disk."""


class _Direct(APIRoute):
    """An endpoint that is given the request itself where it needs nothing else of FastAPI."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return what answers a request."""
        if len(inspect.signature(self.endpoint).parameters) > 1:
            return super().get_route_handler()

        async def handle(request: Request) -> Response:
            return await self.endpoint(carrel_request=request)

        return handle


class Prompt:
    """Answers in the loop what needs no work, and stops for a while where a disk lets it wait."""

    def __init__(self, at_once: Endpoint) -> None:
        self._at_once = at_once
        self._usual = 0.0
        self._rests_until = 0.0

    def __call__(self, named: dict[str, Any]) -> Any:
        """Return an answer if there is one at once."""
        if (began := monotonic()) < self._rests_until:
            return None
        value = self._at_once(**named)
        ended = monotonic()
        self._usual += (ended - began - self._usual) / _LAST
        if self._usual > _PROMPT:
            self._usual, self._rests_until = 0.0, ended + _REST
        return value


def _answering(declared: Declared) -> Endpoint:
    """Let an endpoint work in a thread and return a value: it is made an answer there, too.

    What it needs of the request alone is handed to it here, and FastAPI need not find its way to it.
    """
    function, status = declared.function, declared.status
    prompt = Prompt(declared.at_once) if declared.at_once else None
    signature = inspect.signature(function)
    needs = {name: need for name, each in signature.parameters.items() if (need := _need(each.annotation))}

    def work(named: dict[str, Any]) -> Response:
        value = function(**named)
        return value if isinstance(value, Response) else Reply(value, status)

    @wraps(function)
    async def answer(carrel_request: Request, **named: Any) -> Response:
        for name, need in needs.items():
            named[name] = await need(carrel_request)
        if prompt is not None and (value := prompt(named)) is not None:
            return value if isinstance(value, Response) else Reply(value, status)
        context = copy_context()
        return await get_running_loop().run_in_executor(_THREADS, lambda: context.run(work, named))

    own = inspect.Parameter("carrel_request", inspect.Parameter.KEYWORD_ONLY, annotation=Request)
    left = [
        each.replace(kind=inspect.Parameter.KEYWORD_ONLY)
        for name, each in signature.parameters.items()
        if name not in needs
    ]
    answer.__signature__ = signature.replace(parameters=[own, *left])  # type: ignore[attr-defined]
    return answer


def _need(annotation: Any) -> Need | None:
    """Return what makes a parameter from a request, if it is one that says so, or the request itself."""
    if annotation is Request:
        return _itself
    marks = (getattr(mark, "dependency", None) for mark in getattr(annotation, "__metadata__", ()))
    return next((mark for mark in marks if mark is not None), None)


async def _itself(request: Request) -> Request:
    return request


async def whole_body(request: Request) -> bytes:
    """Return what was sent."""
    return await request.body()


Sent = Annotated[bytes, Depends(whole_body)]
"""What was sent, as it came."""


def sent(kind: type[T]) -> Callable[[Request], Awaitable[T]]:
    """Return what reads a body of this kind; a field nobody knows is refused by the kind itself."""
    decoder = json.Decoder(kind)

    async def read(request: Request) -> T:
        return decoded(decoder, await request.body())

    return read


def decoded(decoder: "json.Decoder[T]", data: bytes) -> T:
    """Return the value of a body, else say what is wrong with it."""
    try:
        return decoder.decode(data or b"{}")
    except ValidationError as error:
        raise BadBody(str(error)) from None
    except (DecodeError, UnicodeDecodeError) as error:
        raise BadBody(f"it is not JSON ({error})") from None
    except RecursionError:
        raise BadBody("it is nested too deep") from None
