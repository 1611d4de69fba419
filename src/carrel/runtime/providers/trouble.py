"""What went wrong with one attempt, until it is known whether it was the last."""

from collections.abc import Callable

from carrel.errors import CarrelError


class Trouble(Exception):
    """One attempt failed: `again` says whether another may help, `after` how long the provider asks for."""

    def __init__(
        self, make: Callable[[int], CarrelError], *, again: bool = False, after: float | None = None
    ) -> None:
        super().__init__()
        self.again = again
        self.after = after
        self._make = make

    def error(self, attempts: int) -> CarrelError:
        """Return what the user is told, after so many attempts."""
        return self._make(attempts)
