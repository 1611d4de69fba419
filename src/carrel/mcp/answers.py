"""What goes out to a client: results with their structure, and errors by code, message and hint."""

import logging
from pathlib import Path
from typing import Any

from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR, INVALID_PARAMS, CallToolResult, TextContent

from carrel import plainjson
from carrel.errors import CarrelError, Unavailable
from carrel.mcp.offered import in_our_words

_log = logging.getLogger("carrel.mcp")

INTERNAL = {"code": "internal", "message": "Something in the server failed.", "hint": "Its log says more."}


def result_of(value: Any) -> CallToolResult:
    """Return a tool's result, as structure, and as JSON for clients that know no structure."""
    value = plainjson.unicode_only(value)
    text = plainjson.dumps(value).decode()
    return CallToolResult(content=[TextContent(type="text", text=text)], structured_content=value)


def refusal_of(problem: dict[str, str]) -> CallToolResult:
    """Return what a tool could not do; without structure, which would have to be that of a result."""
    text = plainjson.dumps(plainjson.unicode_only({"error": problem})).decode()
    return CallToolResult(content=[TextContent(type="text", text=text)], is_error=True)


def problem_of(error: CarrelError) -> dict[str, str]:
    """Return an error in the shape of every surface, in the words of this one."""
    head, colon, rest = error.message.partition(":")
    return {
        "code": error.code,
        "message": f"{in_our_words(head)}{colon}{rest}" if colon else error.message,
        "hint": in_our_words(error.hint),
    }


def protocol_error(error: CarrelError) -> MCPError:
    """Return an error of what is no tool: of a resource, a prompt, a list."""
    problem = plainjson.unicode_only(problem_of(error))
    code = INTERNAL_ERROR if isinstance(error, Unavailable) else INVALID_PARAMS
    return MCPError(code=code, message=problem["message"], data=problem)


def log_failure(doing: str, error: BaseException) -> None:
    """Write one line about what should not have happened: where it did, and no words of anybody."""
    trace, place = error.__traceback__, "?"
    while trace is not None:
        place = f"{Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}"
        trace = trace.tb_next
    _log.error("error[internal]: %s failed: %s (%s)", doing, type(error).__name__, place)
