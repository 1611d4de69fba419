"""What happens in the workspaces, told to who listens: read off the trail and the disk, whoever did it."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from contextlib import aclosing, suppress
from pathlib import Path

from msgspec import Struct
from starlette.concurrency import run_in_threadpool
from watchfiles import awatch  # pyright: ignore[reportUnknownVariableType]

from carrel.errors import CarrelError
from carrel.http.access import Access
from carrel.http.answers import encoded
from carrel.http.served import Served
from carrel.http.watching import Watched
from carrel.http.wire import Wire
from carrel.records.audit import Event

PERIOD = 0.5
"""Seconds between two looks at the trail; what this process does itself is told at once."""

HEARTBEAT = 15.0
"""Seconds after which a quiet stream says that it is alive."""

_BACKLOG = 1_000
"""Events that a slow listener may be behind; then it is told that it missed some."""

_PAGE = 200
_STEP_MS = 100
_NOTHING_MS = 300
_AGAIN = 5.0
"""Seconds until a folder that could not be watched is tried again."""

_MISSED = b"event: missed\ndata: {}\n\n"


class Told(Struct, frozen=True, kw_only=True):
    """One thing that happened, as far as its listener may know; `id` grows."""

    id: int
    at: str
    actor: str
    action: str
    target: str
    session: str


class _Topic:
    """The listeners of one workspace, and how far they were told."""

    def __init__(self) -> None:
        self.listeners: dict[asyncio.Queue[bytes | None], Access] = {}
        self.last = 0
        self.wake = asyncio.Event()
        self.tasks: tuple[asyncio.Task[None], ...] = ()

    def tell(self, frame: bytes | None) -> None:
        """Give all listeners a frame."""
        for queue in self.listeners:
            _offer(queue, frame)


class Hub:
    """Reads the trail of a workspace once for all who listen to it; a slow one holds up nobody.

    Whoever `still_opens` no longer lets in is told nothing more.
    """

    def __init__(self, served: Served, still_opens: Callable[[Access], bool]) -> None:
        self._served = served
        self._still_opens = still_opens
        self._topics: dict[str, _Topic] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._wire = Wire(served.shared, self._heard, served.workspace) if served.shared else None
        self.is_stopping = False
        """Whether the server is on its way down."""

    def start(self) -> None:
        """Take note of the loop that listeners wait in, and hear what other servers do."""
        self._loop = asyncio.get_running_loop()
        if self._wire is not None:
            self._wire.start()

    @property
    def listening(self) -> int:
        """How many streams are open."""
        return sum(len(topic.listeners) for topic in self._topics.values())

    def announce(self, name: str) -> None:
        """Look at a workspace's trail now, here and in other servers; any thread may say so."""
        self._heard(name)
        if self._wire is not None:
            self._wire.tell(name)

    def _heard(self, name: str) -> None:
        if self._loop is not None and name in self._topics:
            with suppress(RuntimeError):  # the loop is closed: nobody listens any more
                self._loop.call_soon_threadsafe(self._wake, name)

    def stop(self) -> None:
        """End all streams, so that the server can."""
        self.is_stopping = True
        if self._wire is not None:
            self._wire.close()
        for topic in self._topics.values():
            topic.tell(None)

    async def listen(self, name: str, access: Access, after: int | None = None) -> AsyncGenerator[bytes]:
        """Yield what happens in a workspace from now on, or after an event, as server-sent events."""
        topic = self._topics.setdefault(name, _Topic())
        newest = await run_in_threadpool(self._newest, name)
        queue: asyncio.Queue[bytes | None] = asyncio.Queue(_BACKLOG)
        if not topic.listeners:  # else those who are there have not been told of the newest yet
            topic.last = newest
        told = topic.last
        topic.listeners[queue] = access
        if not topic.tasks:
            topic.tasks = tuple(
                map(asyncio.create_task, (self._follow(name, topic), self._watch(name, topic)))
            )
        try:
            yield b": hello\n\n"
            async with aclosing(self._missed(name, told if after is None else after, told)) as missed:
                async for event in missed:
                    yield framed(event)
            async with aclosing(self._queued(queue)) as frames:
                async for frame in frames:
                    yield frame
        finally:
            del topic.listeners[queue]
            self._rest(topic)

    def _rest(self, topic: _Topic) -> None:
        """Look no longer at what nobody listens to."""
        if not topic.listeners:
            for task in topic.tasks:
                task.cancel()
            topic.tasks = ()

    async def _queued(self, queue: "asyncio.Queue[bytes | None]") -> AsyncGenerator[bytes]:
        while not self.is_stopping:
            try:
                frame = await asyncio.wait_for(queue.get(), HEARTBEAT)
            except TimeoutError:
                yield b": still here\n\n"
                continue
            if frame is None:
                return
            yield frame

    async def _follow(self, name: str, topic: _Topic) -> None:
        while True:
            with suppress(TimeoutError):
                await asyncio.wait_for(topic.wake.wait(), PERIOD)
            topic.wake.clear()
            with suppress(CarrelError):  # records that cannot be read now may be later
                await self._part(topic)
                events = await run_in_threadpool(self._since, name, topic.last)
                for event in events:
                    topic.last = event.id
                    topic.tell(framed(event))
                if len(events) == _PAGE:
                    topic.wake.set()

    async def _part(self, topic: _Topic) -> None:
        """End the streams of those whose key was revoked or has expired since they began."""
        held = {access.name: access for access in topic.listeners.values() if access.workspace is not None}
        if not held:
            return
        lapsed = await run_in_threadpool(self._lapsed, held.values())
        for queue, access in topic.listeners.items():
            if access.name in lapsed:
                _offer(queue, None)

    def _lapsed(self, held: Iterable[Access]) -> set[str]:
        return {access.name for access in held if not self._still_opens(access)}

    async def _watch(self, name: str, topic: _Topic) -> None:
        root, before = self._served.workspace(name).root, b""
        while root is not None:
            seconds = 0.0
            try:
                await self._tell_changes(root, topic, before)
            except Exception:  # noqa: BLE001 - in a group: the folder is gone, or a name in it is not Unicode
                topic.tell(_MISSED)
                seconds = _AGAIN
            before = _MISSED
            await asyncio.sleep(seconds)

    async def _tell_changes(self, root: Path, topic: _Topic, before: bytes) -> None:
        """Tell of changed files until there are other folders to watch, and first what was `before` that."""
        watched = await run_in_threadpool(Watched, root)
        async for changes in awatch(
            *watched.folders,
            recursive=False,
            watch_filter=watched.is_theirs,
            step=_STEP_MS,
            rust_timeout=_NOTHING_MS,
            yield_on_timeout=True,
        ):
            if before:
                topic.tell(before)
                before = b""
            for change, path in sorted(changes, key=lambda each: each[1])[:_PAGE]:
                told = {"path": Path(path).relative_to(root).as_posix(), "change": change.name}
                topic.tell(frame(told, event="file.changed"))
            if await run_in_threadpool(watched.are_others, changes):
                return

    def _newest(self, name: str) -> int:
        events = self._served.workspace(name).records.audit.events(limit=1)
        return events[0].id if events else 0

    async def _missed(self, name: str, after: int, through: int) -> AsyncGenerator[Event]:
        """Yield what happened after one event and not after another, a page at a time."""
        while after < through:
            page = await run_in_threadpool(self._since, name, after)
            for event in page:
                if event.id <= through:
                    yield event
            after = page[-1].id if page else through

    def _since(self, name: str, after: int) -> Sequence[Event]:
        page = self._served.workspace(name).records.audit.events(after=after, limit=_PAGE)
        return page[::-1]

    def _wake(self, name: str) -> None:
        self._topics[name].wake.set()


def framed(event: Event) -> bytes:
    """Return an event as a frame of the stream: what happened, not the content of it."""
    told = Told(
        id=event.id,
        at=event.at.isoformat(),
        actor=event.actor,
        action=event.action,
        target=event.target,
        session=event.session,
    )
    return frame(told, event=event.action, number=event.id)


def frame(value: object, *, event: str = "", number: int | None = None) -> bytes:
    """Return a value as one server-sent event."""
    name = "".join(c for c in event if c.isprintable())
    head = (f"event: {name}\n" if name else "") + (f"id: {number}\n" if number is not None else "")
    return head.encode("utf-8", "replace") + b"data: " + encoded(value) + b"\n\n"


def _offer(queue: "asyncio.Queue[bytes | None]", frame: bytes | None) -> None:
    """Give a listener a frame; one that is too far behind loses all it has not taken, and is told so."""
    try:
        queue.put_nowait(frame)
    except asyncio.QueueFull:
        while not queue.empty():
            queue.get_nowait()
        queue.put_nowait(_MISSED)
        queue.put_nowait(frame)
