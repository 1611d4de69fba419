"""The conversation of the demo: `carrel chat` as a process of its own, which is spoken with and killed."""

import asyncio
import sys
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from carrel import plainjson
from carrel.cli import output, picture
from carrel.cli.chat.voice import safe, title_of
from carrel.errors import Unavailable
from carrel.sessions.message import ToolCall

Event = dict[str, Any]
_LINE_LIMIT = 16 * 1024 * 1024


class DemoFailed(Unavailable):
    """The process that the demo talks with ended before it had answered."""

    code = "demo_failed"

    def __init__(self, said: str) -> None:
        super().__init__(f"The conversation of the demo ended early: {said}", hint="Please report this.")


class Partner:
    """A process that answers; it prints what it says as it comes."""

    def __init__(self, process: asyncio.subprocess.Process, opening: Event) -> None:
        self.opening = opening
        self._process = process

    async def ask(self, text: str, *, stop_after: int | None = None) -> None:
        """Say something and print the answer; stop listening after so many pieces of it."""
        assert self._process.stdin is not None
        output.line(f"  {output.styled('you>', bold=True)} {text}")
        self._process.stdin.write(f"{text}\n".encode())
        await self._process.stdin.drain()
        pieces = 0
        while pieces != stop_after:
            event = await next_event(self._process)
            if event["event"] == "piece":
                _print_piece(event["text"], is_first=not pieces)
                pieces += 1
            elif event["event"] == "call":
                call = ToolCall(id=event["id"], name=event["name"], arguments=event["arguments"])
                output.line(f"  {output.styled(f'· {title_of(call)}', dim=True)}")
            elif event["event"] == "ended":
                _print_end(event["context"])
                return

    async def kill(self) -> int:
        """End the process as a crash would, and return what its end was."""
        self._process.kill()
        return await self._process.wait()


@asynccontextmanager
async def speaking(
    root: Path, session: str, environ: Mapping[str, str], *, pace: float = 0
) -> AsyncGenerator[Partner]:
    """Start `carrel chat` in a session; it ends when this does."""
    words = ["-C", str(root), "chat", "--session", session, "--json", "--pace", str(pace)]
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-P", "-m", "carrel"),
        *words,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        env=dict(environ),
        cwd=root,
        limit=_LINE_LIMIT,
    )
    try:
        yield Partner(process, await next_event(process))
        if process.stdin is not None:
            process.stdin.close()
        await process.wait()
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()


async def next_event(process: asyncio.subprocess.Process) -> Event:
    """Return the next line that the process says; one that is no event is its end."""
    assert process.stdout is not None
    line = await process.stdout.readline()
    event: Event = plainjson.loads(line) if line.endswith(b"\n") else {}
    if "event" not in event:
        error: Event = event.get("error", {})
        raise DemoFailed(str(error.get("message", f"exit code {await process.wait()}.")))
    return event


def _print_piece(text: str, *, is_first: bool) -> None:
    name = f"  {output.styled('Kate>', bold=True)} " if is_first else ""
    output.write(name + safe(text).replace("\n", "\n  "))


def _print_end(context: Event) -> None:
    line = picture.turn_line(context["window"], context["used"], context["cached"], context["recalled"])
    output.line(f"\n  {output.styled(line, dim=True)}")
