"""What the memory tool answers where it does nothing: it quotes what was given, without the secrets in it."""

from carrel.errors import NotFound, Refused, UsageError
from carrel.files import show
from carrel.screen.secrets import redact

ROOT = "/memories"
"""What the folder of memory is called there."""


class NoSuchMemory(NotFound):
    """The memory tool was asked for a path that is not there, as far as the agent may know."""

    code = "no_such_memory"

    def __init__(self, message: str) -> None:
        super().__init__(redact(message).text, hint=f"View {ROOT} to see what there is.")


class BadMemoryCall(UsageError):
    """A command of the memory tool that cannot be carried out as it was given; nothing was written."""

    code = "bad_memory_call"

    def __init__(self, message: str) -> None:
        super().__init__(redact(message).text, hint="View the path, correct the command and call it again.")


class MemoryKept(Refused):
    """A file of memory is not for the memory tool to change in this way."""

    code = "memory_kept"

    def __init__(self, path: str, why: str) -> None:
        message = f"{show(path)} stays as it is: {why}."
        super().__init__(redact(message).text, hint="Ask the owner, or write another file.")
