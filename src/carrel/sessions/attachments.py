"""What a message holds beside text: stored once beside the log, named by its digest, and referred to."""

import base64
import binascii
import re
from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256
from typing import Any, cast

from msgspec import Struct
from msgspec.structs import replace

from carrel.files import FileStore, Stale
from carrel.sessions.transcript import Content
from carrel.sessions.turn import ATTACHMENT_LIMIT, BadMessage

_DATA_URL = re.compile(r"data:(?P<type>[\w.+-]+/[\w.+-]+)?(?:;[\w.=+-]+)*;base64,", re.ASCII)
_ENDINGS = {
    "image/png": "png", "image/jpeg": "jpg", "image/gif": "gif", "image/webp": "webp", "image/svg+xml": "svg",
    "application/pdf": "pdf", "audio/wav": "wav", "audio/mpeg": "mp3", "audio/mp3": "mp3",
    "text/plain": "txt", "text/markdown": "md", "text/csv": "csv", "application/json": "json",
}  # fmt: skip


class _Found(Struct, frozen=True):
    """The bytes of one attachment, and what the message calls it."""

    data: bytes
    media_type: str
    name: str = ""


class Attachment(Struct, frozen=True):
    """Bytes that are to be a file beside the log."""

    path: str
    data: bytes

    def store(self, files: FileStore) -> None:
        """Make the file durable; the same bytes have the same name, and are stored once."""
        if files.stamps([self.path]) == [None]:
            with suppress(Stale):  # somebody else has just stored them
                files.write(self.path, self.data, expect=None)


def part_off(
    folder: str, content: Content, screen: Callable[[str], tuple[str, tuple[str, ...]]]
) -> tuple[Content, tuple[Attachment, ...]]:
    """Return a content that refers to files in a folder instead of holding bytes, and those files.

    What is text in them is screened as the content is.
    """
    if isinstance(content, str):
        return content, ()
    parted = [_part_off(folder, part, screen) for part in content]
    return [part for part, _ in parted], tuple(own for _, own in parted if own is not None)


def _part_off(
    folder: str, part: dict[str, Any], screen: Callable[[str], tuple[str, tuple[str, ...]]]
) -> tuple[dict[str, Any], Attachment | None]:
    found = _find(part)
    if found is None:
        return part, None
    if len(found.data) > ATTACHMENT_LIMIT:
        raise BadMessage(f"has an attachment of {len(found.data):,} bytes; {ATTACHMENT_LIMIT:,} is the most")
    with suppress(UnicodeDecodeError):  # what is no text holds no secret that could be found
        found = replace(found, data=screen(found.data.decode())[0].encode())
    digest = sha256(found.data).hexdigest()
    path = f"{folder}/{digest[:32]}.{_ENDINGS.get(found.media_type, 'bin')}"
    kept: dict[str, Any] = {
        "type": "attachment",
        "path": path,
        "media_type": found.media_type,
        "bytes": len(found.data),
        "sha256": digest,
    }
    return kept | ({"name": found.name} if found.name else {}), Attachment(path, found.data)


def _find(part: dict[str, Any]) -> _Found | None:
    """Return the bytes that a part holds, in OpenAI's forms or Anthropic's; a link is left as it is."""
    source = part.get("source")
    if isinstance(source, dict) and cast("dict[str, Any]", source).get("type") == "text":
        return None
    if isinstance(source, dict) and isinstance(data := cast("dict[str, Any]", source).get("data"), str):
        media_type = str(cast("dict[str, Any]", source).get("media_type") or "application/octet-stream")
        return _Found(_bytes(data), media_type, str(part.get("title") or ""))
    for key in ("image_url", "input_audio", "file", "url", "file_data"):
        held = part.get(key)
        inner = cast("dict[str, Any]", held) if isinstance(held, dict) else {"url": held}
        url = inner.get("url") or inner.get("file_data")
        if isinstance(url, str) and (match := _DATA_URL.match(url)):
            name = inner.get("filename") or part.get("filename") or ""
            return _Found(_bytes(url[match.end() :]), match["type"] or "application/octet-stream", str(name))
        if key == "input_audio" and isinstance(data := inner.get("data"), str):
            return _Found(_bytes(data), f"audio/{inner.get('format') or 'wav'}")
    return None


def _bytes(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise BadMessage("has an attachment that is not base64") from None
