"""Who listens to a server hears what changes in a workspace, and nothing of what is behind its links."""

import asyncio
import os
from contextlib import aclosing, suppress
from pathlib import Path

from tests.torture.desk import Say

from carrel.http.access import Access
from carrel.http.hub import Hub
from carrel.http.served import Served
from carrel.workspace.scope import Scope

WAY_OUT = "way-out"
"""A link out of the workspace, behind which something changes."""

_OWNER = Access(name="owner", right="admin", scope=Scope.MAIN)
_INSIDE, _OUTSIDE = "inside.md", "heard.md"
_LONGEST = 20.0
_EACH = 0.2
_TIMES = 3
"""How often the change inside is waited for: what changed outside between two of them would have been told by then."""


def listen(root: Path, elsewhere: Path, home: Path, say: Say) -> None:
    """Listen as a server's events do, while files change inside and outside; tell of what should not be heard."""
    os.environ["CARREL_HOME"] = str(home)
    with suppress(FileExistsError):
        (root / WAY_OUT).symlink_to(elsewhere)
    with Served([root]) as served:
        heard = asyncio.run(_heard(served, root, elsewhere))
    for frame in heard:
        if _OUTSIDE.encode() in frame:
            say(f"bad who listens hears {frame[:200]!r}")
    say("heard" if any(_INSIDE.encode() in frame for frame in heard) else "deaf")


async def _heard(served: Served, root: Path, elsewhere: Path) -> list[bytes]:
    """Return all that is told until changes inside are, with one outside between any two of them."""
    hub, frames, inside = Hub(served, lambda _: True), list[bytes](), 0
    hub.start()
    changing = asyncio.create_task(_change(root, elsewhere))
    with suppress(TimeoutError):
        async with asyncio.timeout(_LONGEST), aclosing(hub.listen(served.names[0], _OWNER)) as stream:
            async for frame in stream:
                frames.append(frame)
                inside += _INSIDE.encode() in frame
                if inside == _TIMES:
                    break
    changing.cancel()
    hub.stop()
    return frames


async def _change(root: Path, elsewhere: Path) -> None:
    """Change files until somebody has heard of it: nobody says when the watching has begun."""
    for number in range(int(_LONGEST / _EACH)):
        for folder in (elsewhere, root):
            (folder / (_OUTSIDE if folder is elsewhere else _INSIDE)).write_text(f"{number}")
            await asyncio.sleep(_EACH)
