"""The context of a call: assembled, prepared, accounted for, compared and explained."""

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal

from fastapi import Depends, Query
from msgspec import Meta, Struct
from starlette.responses import Response

from carrel.context.assemble import Assembly
from carrel.context.budget import Budget
from carrel.context.explain import Explanation
from carrel.context.formats import to_anthropic, to_openai, to_responses
from carrel.errors import UsageError
from carrel.http.answers import Encoded
from carrel.http.desk import Desk, OwnerReader, Reader, Writer
from carrel.http.routing import Routes, sent

routes = Routes("context", "/w/{workspace}")

Form = Literal["messages", "text", "openai", "responses", "anthropic"]
Json = dict[str, Any]

_FORMATS: Mapping[str, Callable[[Assembly], Any]] = {
    "openai": to_openai,
    "responses": to_responses,
    "anthropic": to_anthropic,
}

Session = Annotated[str | None, Query(max_length=200, description="The conversation; else none")]
Asked = Annotated[str | None, Query(max_length=100_000, description="The user's message")]


class Ask(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a context is wanted for; `model`, `file` and `total` stand instead of those in force."""

    session: str | None = None
    query: str | None = None
    format: Form = "messages"
    model: Annotated[str, Meta(max_length=200)] | None = None
    file: int | None = None
    total: int | None = None


class Prepare(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The call that will be made: it is remembered, and the session is frozen."""

    session: str
    query: str | None = None
    format: Form = "messages"
    reload: bool = False


class CompareWhat(UsageError):
    """Two contexts are compared, and one of them was not named."""

    code = "compare_what"

    def __init__(self) -> None:
        super().__init__(
            "Say what to compare.", hint="Give a session, scopes=true, or a limit: file=N or total=N."
        )


_ENCODED = Encoded()


def _assembled(desk: Desk, body: Ask) -> Response | None:
    """Answer with an assembly that is at hand, as those who only look at a context mostly ask for."""
    if body.session is not None or body.query or body.model:
        return None
    kept = desk.own.at_hand(desk.scope, _budget(body.file, body.total))
    return kept and _ENCODED.answer(kept, body.format, lambda assembly: _document(assembly, body.format))


@routes.post("/context:assemble", Json, takes=Ask, at_once=_assembled)
def assemble_context(desk: Reader, body: Annotated[Ask, Depends(sent(Ask))]) -> Json:
    """Return what a model would read now, with the account of it. Nothing is recorded."""
    session, budget = _session(desk, body.session), _budget(body.file, body.total)
    assembly = desk.own.assemble(session, body.query, desk.scope, budget, model=body.model)
    return _document(assembly, body.format)


@routes.post("/context:prepare", Json, takes=Prepare)
def prepare_context(desk: Writer, body: Annotated[Prepare, Depends(sent(Prepare))]) -> Json:
    """Return the context for a call that will be made. It is remembered, and recall is recorded."""
    session = desk.session(body.session)
    assembly = desk.own.prepare(session, body.query, desk.scope, reload=body.reload)
    desk.note("context.prepare", session=session, prefix=assembly.report.prefix.sha256)
    return _document(assembly, body.format)


@routes.get("/context/report", Json)
def report_context(desk: Reader, session: Session = None, query: Asked = None) -> Json:
    """Say how full the window is, with what, and what was cut, left out or hidden."""
    return desk.own.assemble(_session(desk, session), query, desk.scope).report.to_json()


@routes.get("/context/diff", Json)
def compare_contexts(  # noqa: PLR0917 - each is a parameter of the address
    desk: Reader,
    session: Session = None,
    query: Asked = None,
    scopes: Annotated[bool, Query(description="Compare main and shared scope")] = False,
    file: Annotated[int | None, Query(ge=0, le=10**9)] = None,
    total: Annotated[int | None, Query(ge=0, le=10**9)] = None,
) -> Json:
    """Compare two contexts. The session's last call with one made now, two scopes, or two budgets."""
    return _compared(desk, _session(desk, session), query, _budget(file, total), scopes=scopes)


@routes.get("/context/explain/{path:path}", Explanation)
def explain_file(desk: OwnerReader, path: str, session: Session = None, query: Asked = None) -> Explanation:
    """Say why a file is in the prompt, cut, out or hidden."""
    return desk.own.explain(path, session, query)


def _compared(
    desk: Desk, session: str | None, query: str | None, budget: Budget | None, *, scopes: bool
) -> Json:
    if scopes:
        desk.access.require("read", owner=True)  # it names what others may not see
        return desk.own.compare_scopes(session, query).to_json()
    if budget is not None:
        return desk.own.compare_budgets(budget, session, query, desk.scope).to_json()
    if session is None:
        raise CompareWhat
    return desk.own.compare_last(session, query, desk.scope).to_json()


def _session(desk: Desk, name: str | None) -> str | None:
    return None if name is None else desk.session(name)


def _budget(file: int | None, total: int | None) -> Budget | None:
    return None if file is None and total is None else Budget(file=file, total=total)


def _document(assembly: Assembly, form: Form) -> Json:
    """Return an assembly in the shape that was asked for, with its report."""
    report = assembly.report.to_json()
    if form in _FORMATS:
        return {"request": _FORMATS[form](assembly), "report": report}
    if form == "text":
        return {"text": assembly.to_text(), "report": report}
    return {"messages": [message.to_json() for message in assembly.messages], "report": report}
