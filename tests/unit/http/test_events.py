"""Events: told once to each who listens, to nobody whose key has ended, whatever files are called."""

import asyncio
import os
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.unit.http.served import NOW, Place, serving

from carrel.http import hub as hubs
from carrel.http.access import Access, Door
from carrel.http.hub import Hub
from carrel.records.keys import mint
from carrel.workspace.scope import Scope

OWNER = Access(name="owner", right="admin", scope=Scope.MAIN)
Stream = AsyncGenerator[bytes]


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    with serving(tmp_path) as place:
        yield place


def heard(place: Place, listen: Callable[[Hub], Awaitable[Any]]) -> Any:
    """Return what listeners make of a hub that keys open as they do the server."""

    async def run() -> Any:
        hub = Hub(place.served, Door("t", place.served, lambda: NOW).still_opens)
        hub.start()
        return await asyncio.wait_for(listen(hub), 60)

    return asyncio.run(run())


def note(place: Place, action: str, count: int = 1, target: str = "") -> None:
    for _ in range(count):
        place.workspace.records.audit.note(at=NOW, actor="owner", action=action, target=target)


async def until(stream: Stream, word: bytes) -> list[bytes]:
    frames: list[bytes] = []
    async for frame in stream:
        frames.append(frame)
        if word in frame:
            break
    return frames


def test_one_who_comes_later_takes_no_event_from_who_was_there(place: Place) -> None:
    async def listen(hub: Hub) -> tuple[list[bytes], list[bytes]]:
        first, second = hub.listen("desk", OWNER), hub.listen("desk", OWNER)
        await anext(first)
        note(place, "early")
        await anext(second)  # it reads that the newest is one that nobody was told of yet
        note(place, "late")
        told = await until(first, b"late"), await until(second, b"late")
        await first.aclose()
        await second.aclose()
        return told

    first, second = heard(place, listen)
    assert [b"early" in frame for frame in first] == [True, False]
    assert b"late" in second[-1]


def test_all_that_was_missed_is_told_once_and_in_order(place: Place) -> None:
    note(place, "old")
    last = place.workspace.records.audit.events(limit=1)[0].id
    note(place, "missed", 450)

    async def listen(hub: Hub) -> list[bytes]:
        stream = hub.listen("desk", OWNER, last)
        await anext(stream)
        note(place, "late")
        frames = await until(stream, b"late")
        await stream.aclose()
        return frames

    ids = [int(frame.split(b"id: ")[1].split(b"\n")[0]) for frame in heard(place, listen)]
    assert ids == list(range(last + 1, last + 452))


@pytest.mark.parametrize("is_revoked", [True, False])
def test_a_stream_ends_with_the_key_that_opened_it(place: Place, *, is_revoked: bool) -> None:
    now = NOW
    key, _ = mint(name="k", right="read", scope="main", now=NOW, expires=NOW + timedelta(days=1))
    keys = place.workspace.records.keys
    keys.add(key)
    access = Access(name=f"key:{key.id}", right="read", scope=Scope.MAIN, workspace="desk")

    async def run() -> list[bytes]:
        nonlocal now
        hub = Hub(place.served, Door("t", place.served, lambda: now).still_opens)
        hub.start()
        stream, other = hub.listen("desk", access), hub.listen("desk", OWNER)
        await anext(stream)
        await anext(other)
        if is_revoked:
            keys.revoke(key.id, at=NOW)
        else:
            now += timedelta(days=2)
        note(place, "after the end")
        assert await until(other, b"after the end")
        await other.aclose()
        return [frame async for frame in stream]

    assert asyncio.run(asyncio.wait_for(run(), 60)) == []


def test_what_is_not_unicode_does_not_end_what_is_told(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hubs, "_AGAIN", 0.01)
    odd, plain = place.root / os.fsdecode(b"\xff.md"), place.root / "plain.md"

    async def listen(hub: Hub) -> None:
        stream = hub.listen("desk", OWNER)
        await anext(stream)
        note(place, "odd", target="a\udcff.md")
        await until(stream, b"odd")
        while True:  # until somebody watches, there is nothing to miss
            odd.write_text(os.urandom(4).hex())
            note(place, "turn")
            if b"missed" in b"".join(await until(stream, b"turn")):
                break
            await asyncio.sleep(0.1)
        odd.unlink()
        while True:
            plain.write_text(os.urandom(4).hex())
            note(place, "turn")
            if b"plain.md" in b"".join(await until(stream, b"turn")):
                break
            await asyncio.sleep(0.1)
        await stream.aclose()

    heard(place, listen)


async def told_of(stream: Stream, place: Place, name: str) -> list[bytes]:
    """Write a file until somebody is told of it, and return all that was told."""
    frames: list[bytes] = []
    while name.encode() not in b"".join(frames):
        await asyncio.to_thread((place.root / name).write_text, os.urandom(4).hex())
        await asyncio.sleep(0.1)
        note(place, "turn")
        frames += await until(stream, b"turn")
    return frames


def test_a_file_in_a_folder_that_is_made_meanwhile_is_told_of(place: Place) -> None:
    async def listen(hub: Hub) -> list[bytes]:
        stream = hub.listen("desk", OWNER)
        await anext(stream)
        await told_of(stream, place, "first.md")
        (place.root / "new/deep").mkdir(parents=True)
        frames = await told_of(stream, place, "new/deep/a.md")
        await stream.aclose()
        return frames

    assert b'"new/deep/a.md"' in b"".join(heard(place, listen))


def test_what_happens_behind_a_link_to_elsewhere_is_not_told(place: Place, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (place.root / "link").symlink_to(outside)

    async def listen(hub: Hub) -> list[bytes]:
        stream = hub.listen("desk", OWNER)
        await anext(stream)
        await told_of(stream, place, "first.md")
        (outside / "canary.md").write_text("x")
        frames = await told_of(stream, place, "second.md")
        await stream.aclose()
        return frames

    assert b"canary" not in b"".join(heard(place, listen))


def test_what_is_told_as_missed_is_all_that_is_missed(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    slow = hubs.Watched

    def look(root: Path) -> hubs.Watched:
        time.sleep(0.5)  # there are many folders
        return slow(root)

    monkeypatch.setattr(hubs, "Watched", look)

    async def listen(hub: Hub) -> list[bytes]:
        stream = hub.listen("desk", OWNER)
        await anext(stream)
        await told_of(stream, place, "first.md")
        (place.root / "new").mkdir()
        await until(stream, b"missed")
        await asyncio.to_thread((place.root / "after.md").write_text, "x")
        frames = await until(stream, b"after.md")
        await stream.aclose()
        return frames

    assert b"after.md" in heard(place, listen)[-1]
