"""What can be wrong with a file that should be a bundle."""

from carrel.errors import CheckFailed, NotFound, Refused, Unavailable, UsageError
from carrel.files import show


class NoSuchBundle(NotFound):
    """There is no such file."""

    code = "no_such_bundle"

    def __init__(self, file: str) -> None:
        super().__init__(f"There is no file {show(file)}.", hint="Check the path.")


class NotABundle(UsageError):
    """The file is something else."""

    code = "not_a_bundle"

    def __init__(self, file: str, why: str) -> None:
        super().__init__(
            f"{show(file)} is not a workspace that Carrel exported: {why}.",
            hint="`carrel export --to x.zip` and `carrel backup create` make one.",
        )


class BundleDamaged(CheckFailed):
    """A part of the bundle is missing, or not what it was."""

    code = "bundle_damaged"

    def __init__(self, what: str, why: str) -> None:
        super().__init__(
            f"The file is damaged: {show(what)} {why}.",
            hint="`carrel backup verify FILE` lists all that is damaged. Use another copy.",
        )
        self.what = what
        self.why = why


class UnsafeBundle(Refused):
    """The bundle asks for what no honest one needs."""

    code = "unsafe_bundle"

    def __init__(self, what: str, why: str) -> None:
        super().__init__(
            f"The file is refused: {show(what)} {why}.",
            hint="Carrel never writes such a file. Ask whoever gave it to you for another.",
        )


class BundleTooLarge(Refused):
    """There is more in the bundle than there may be."""

    code = "bundle_too_large"

    def __init__(self, size: int, limit: int, of: str) -> None:
        super().__init__(
            f"The file holds {size:,} bytes, and {of} is {limit:,}.",
            hint="Make room, or name a place on another disk.",
        )


class NewerBundle(Unavailable):
    """A later Carrel wrote it."""

    code = "newer_bundle"

    def __init__(self, version: object) -> None:
        super().__init__(
            f"The file was written by a newer Carrel (format {version}).",
            hint="Upgrade Carrel, then try again.",
        )
