"""How an endpoint is declared: its address, what it takes and answers, and who may ask."""

import inspect
from asyncio import get_running_loop
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import wraps
from typing import Annotated, Any, TypeVar

from fastapi import Depends, FastAPI, Request
from msgspec import DecodeError, Struct, ValidationError, json
from starlette.responses import Response

from carrel.http.answers import Reply
from carrel.http.errors import BadBody

Endpoint = Callable[..., Any]
Need = Callable[[Request], Awaitable[Any]]
T = TypeVar("T")

_JSON = "application/json"


class Declared(Struct, frozen=True, kw_only=True):
    """An endpoint: where it is, what it takes and answers as types; a file as it is has none."""

    method: str
    path: str
    function: Endpoint
    answers: Any
    takes: Any
    status: int
    media: str


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
            )
            return function

        return declare

    def add_to(self, app: FastAPI, prefix: str) -> None:
        """Put the endpoints into an app itself: a router within it would cost every request a detour."""
        for name, each in self.declared.items():
            is_async = inspect.iscoroutinefunction(each.function)
            app.add_api_route(
                f"{prefix}{each.path}",
                each.function if is_async else _answering(each.function, each.status),
                methods=[each.method],
                status_code=each.status,
                response_model=None,
                response_class=Response,
                operation_id=name,
                tags=[self.tag],
                summary=(each.function.__doc__ or "").partition(".")[0].strip(),
                description=inspect.getdoc(each.function) or "",
            )


_THREADS = ThreadPoolExecutor(64, "carrel-http")
"""Where endpoints work: they read files and records, and the loop must not wait for a disk."""


def _answering(function: Endpoint, status: int) -> Endpoint:
    """Let an endpoint work in a thread and return a value: it is made an answer there, too.

    What it needs of the request alone is handed to it here, and FastAPI need not find its way to it.
    """
    signature = inspect.signature(function)
    needs = {name: need for name, each in signature.parameters.items() if (need := _need(each.annotation))}

    def work(named: dict[str, Any]) -> Response:
        value = function(**named)
        return value if isinstance(value, Response) else Reply(value, status)

    @wraps(function)
    async def answer(carrel_request: Request, **named: Any) -> Response:
        for name, need in needs.items():
            named[name] = await need(carrel_request)
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
