"""JSON for any text: fast where it is Unicode, and lossless where it is not.

A lone surrogate, as in a name or a message in another encoding, must come back as it was; msgspec refuses
it in both directions, the standard library writes it as an escape.
"""

from collections.abc import Mapping, Sequence
from typing import Any, cast

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


def unicode_only(value: Any) -> Any:
    """Replace what is not Unicode, such as the bytes of a file name in another encoding."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, Mapping):
        return {key: unicode_only(item) for key, item in cast("Mapping[str, Any]", value).items()}
    if isinstance(value, (list, tuple)):
        return [unicode_only(item) for item in cast("Sequence[Any]", value)]
    return value
