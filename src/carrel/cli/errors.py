"""How an error ends a command: its exit code, and what is printed."""

from carrel.cli import output
from carrel.errors import CarrelError, CheckFailed, Conflict, NotFound, Refused, UsageError

EXIT_CODES: dict[type[CarrelError], int] = {
    UsageError: 2,
    NotFound: 3,
    CheckFailed: 4,
    Conflict: 5,
    Refused: 6,
}
"""By family; what is not here is unavailable or failed, 1."""


def exit_code(error: CarrelError) -> int:
    """Return the exit code of an error's family."""
    return next((code for family, code in EXIT_CODES.items() if isinstance(error, family)), 1)


def show_error(code: str, message: str, hint: str, *, as_json: bool) -> None:
    """Print an error: for machines on standard output, for people on standard error."""
    if as_json:
        output.document({"error": {"code": code, "message": message, "hint": hint}})
        return
    output.line(f"error[{code}]: {output.printable(message)}", is_error=True)
    if hint:
        output.line(f"  hint: {output.printable(hint)}", is_error=True)
