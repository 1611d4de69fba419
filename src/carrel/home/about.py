"""What the table of files tells of a document beside its bytes: its tokens, its priority, its tags."""

from carrel.files.postgres import UNKNOWN, About
from carrel.markdown import frontmatter
from carrel.tokens import Vocabulary

_MOST_BYTES = 256 * 1024
"""A larger document is not looked at: nobody who writes waits for that."""

_TOKENS = Vocabulary()


def describe(path: str, data: bytes) -> About:
    """Return what a Markdown document says of itself, and its tokens in the default vocabulary."""
    if not path.lower().endswith(".md") or len(data) > _MOST_BYTES:
        return UNKNOWN
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return UNKNOWN
    meta = frontmatter.parse(text.replace("\r\n", "\n")).meta
    return About(
        token_count=len(_TOKENS.encode(text)),
        priority=meta.priority,
        tags=tuple(tag for tag in meta.tags if "\0" not in tag),
    )
