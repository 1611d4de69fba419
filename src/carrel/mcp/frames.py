"""Lines of a stream as frames of the protocol, whatever is sent: none is longer than it may be."""

from collections.abc import Callable, Iterator

LONGEST = 4 * 1024 * 1024
"""Bytes of one message, over either transport."""

_CHUNK = 65_536


def frames(read: Callable[[int], bytes], longest: int = LONGEST) -> Iterator[bytes | None]:
    """Yield each line without its end, none in place of one that is too long; empty ones are passed over.

    Of a line that is too long nothing is kept: it is told of at once, and read to its end.
    """
    kept = bytearray()
    is_skipping = False
    while chunk := read(_CHUNK):
        *ended, rest = chunk.split(b"\n")
        for piece in ended:
            if not is_skipping:
                yield from _frame(kept, piece, longest)
            kept.clear()
            is_skipping = False
        if is_skipping:
            continue
        kept += rest
        if len(kept) > longest:
            kept.clear()
            is_skipping = True
            yield None
    if not is_skipping:
        yield from _frame(kept, b"", longest)


def _frame(kept: bytearray, piece: bytes, longest: int) -> Iterator[bytes | None]:
    if len(kept) + len(piece) > longest:
        yield None
    elif line := bytes(kept + piece).strip():
        yield line
