"""What any layer observed and a person should know: the currency of health and warnings."""

from typing import Literal

from msgspec import Struct

Severity = Literal["info", "warning", "error"]


class Finding(Struct, frozen=True, kw_only=True):
    """One observation: a stable code, the place, a sentence, and the next step."""

    code: str
    message: str
    severity: Severity = "warning"
    path: str | None = None
    hint: str = ""
