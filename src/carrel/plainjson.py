"""JSON for any text: fast where it is Unicode, and lossless where it is not.

A lone surrogate, as in a name or a message in another encoding, must come back as it was; msgspec refuses
it in both directions, the standard library writes it as an escape.
"""

from typing import Any

from msgspec import DecodeError, json


def dumps(value: Any) -> bytes:
    """Return a value as one line of JSON."""
    try:
        return json.encode(value)
    except UnicodeEncodeError:
        import json as escaping  # noqa: PLC0415 - few have such text

        return escaping.dumps(value, separators=(",", ":")).encode()
    except RecursionError as error:
        raise ValueError("nested too deep") from error


def loads(data: bytes | str) -> Any:
    """Return the value that some JSON stands for; what is not JSON raises ValueError."""
    try:
        return json.decode(data)
    except (DecodeError, UnicodeEncodeError, RecursionError):
        import json as escaping  # noqa: PLC0415 - as above

        try:
            return escaping.loads(data)
        except RecursionError as error:
            raise ValueError("nested too deep") from error
