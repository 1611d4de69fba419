"""How far the vectors are behind the chunks, and what an answer says of that."""

from msgspec import Struct

from carrel.findings import Finding


class Lag(Struct, frozen=True):
    """How many chunks there are, and how many of them have no vector yet."""

    chunks: int
    waiting: int

    @property
    def is_small(self) -> bool:
        """Whether vectors may answer: where many are missing, those that are there would come first."""
        return self.waiting * 10 <= self.chunks

    @property
    def finding(self) -> Finding | None:
        """What to say of it."""
        if not self.waiting:
            return None
        alone = "" if self.is_small else "; words alone answer meanwhile"
        return Finding(
            code="vectors_behind",
            message=f"{self.chunks - self.waiting:,} of {self.chunks:,} chunks have their vectors{alone}.",
            severity="info",
            hint="The others are made while searches go on; `carrel index sync` makes all of them now.",
        )
