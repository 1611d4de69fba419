"""What any layer observed and a person should know: the currency of health and warnings."""

from dataclasses import dataclass
from typing import Literal

Severity = Literal["info", "warning", "error"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One observation: a stable code, the place, a sentence, and the next step."""

    code: str
    message: str
    severity: Severity = "warning"
    path: str | None = None
    hint: str = ""
