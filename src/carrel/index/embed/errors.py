"""What can be wrong with an embedder. Search goes on with words alone, and says so.

No message holds a key. What a server says of a failure is screened before it is quoted.
"""

from carrel.errors import Unavailable, UsageError
from carrel.files import show

_LONGEST = 80


def short(name: str) -> str:
    """Return a name as a person may safely see it."""
    return show(name[:_LONGEST]) + "…" * (len(name) > _LONGEST)


class BadEmbedder(UsageError):
    """The choice of an embedder makes no sense; a base URL is not shown, since it may hold a password."""

    code = "bad_embedder"

    def __init__(self, problem: str) -> None:
        super().__init__(
            f"The embedder's {problem}.",
            hint="Name a model and a base URL such as http://localhost:11434; a key belongs into a variable.",
        )


class EmbedderMissing(Unavailable):
    """What an embedder needs is not there: a package, its weights, a key."""

    code = "embedder_missing"

    def __init__(self, name: str, problem: str, *, hint: str) -> None:
        super().__init__(f"The embedder {short(name)} {problem}.", hint=hint)


class EmbedderRefused(Unavailable):
    """The server does not do what it is asked; asking again does not help."""

    code = "embedder_refused"

    def __init__(self, name: str, problem: str, *, hint: str) -> None:
        super().__init__(f"The server of {short(name)} {problem}.", hint=hint)


class EmbedderFailed(Unavailable):
    """The server could not be reached, broke down, or took too long."""

    code = "embedder_failed"

    def __init__(self, name: str, problem: str, *, attempts: int, after: float | None = None) -> None:
        tried = f" ({attempts} attempts)" if attempts > 1 else ""
        super().__init__(
            f"The server of {short(name)} {problem}{tried}.",
            hint="Check that it runs; what is missing is embedded at the next sync."
            if after is None
            else f"It asks to wait for {after:,.0f} seconds; what is missing is embedded at the next sync.",
        )
        self.after = after


class EmbedderGarbled(Unavailable):
    """The server sent what are no vectors, or not those that were asked for; none was kept."""

    code = "embedder_garbled"

    def __init__(self, name: str, how: str) -> None:
        super().__init__(
            f"The server of {short(name)} sent {how}.",
            hint="Check that the model is one for embeddings, and that the server speaks this protocol.",
        )
