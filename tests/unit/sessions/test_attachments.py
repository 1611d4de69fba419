"""What a message holds beside text: stored once beside the log, before the entry that refers to it."""

import base64
from collections.abc import Sequence
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

import pytest

from carrel.errors import CarrelError
from carrel.files import READ_LIMIT, Content, FileStore, Part, Stamp
from carrel.files import Entry as FileEntry
from carrel.screen.secrets import redact_value
from carrel.sessions.attachments import part_off
from carrel.sessions.intake import keep_secrets
from carrel.sessions.offsets import Offsets
from carrel.sessions.places import places_of
from carrel.sessions.store import Sessions
from carrel.sessions.transcript import Header, encode
from carrel.sessions.turn import ATTACHMENT_LIMIT, BadMessage
from carrel.settings import AgentSettings
from carrel.testing import EphemeralFiles, FixedClock
from carrel.workspace.layout import load_layout
from carrel.workspace.scope import Scope

LOG = "agents/kate/sessions/s.log.jsonl"
FOLDER = "agents/kate/sessions/s.files"
BYTES = b"\x89PNG\r\n\x1a\n" + bytes(range(256))
CODED = base64.b64encode(BYTES).decode()


class Watched:
    """A store that keeps a diary of what was changed in it, in order."""

    def __init__(self, files: FileStore) -> None:
        self.files = files
        self.changes: list[str] = []

    def read(self, path: str, *, limit: int = READ_LIMIT) -> Content | None:
        return self.files.read(path, limit=limit)

    def part(self, path: str, start: int, size: int) -> Part | None:
        return self.files.part(path, start, size)

    def stamps(self, paths: Sequence[str]) -> list[Stamp | None]:
        return self.files.stamps(paths)

    def list(self, under: str = "") -> list[FileEntry]:
        return self.files.list(under)

    def target(self, path: str) -> str:
        return self.files.target(path)

    def write(self, path: str, data: bytes, *, expect: str | None) -> str:
        self.changes.append(f"write {path}")
        return self.files.write(path, data, expect=expect)

    def append(self, path: str, data: bytes, *, at: int | None = None) -> int:
        self.changes.append(f"append {path}")
        return self.files.append(path, data, at=at)

    def remove(self, path: str, *, expect: str) -> None:
        self.files.remove(path, expect=expect)


@pytest.fixture
def files() -> Watched:
    return Watched(EphemeralFiles())


def open_sessions(files: FileStore) -> Sessions:
    places = places_of(load_layout("carrel"), AgentSettings(id="kate"), files, EphemeralFiles())
    return Sessions(places, Offsets(None), FixedClock(datetime(2026, 4, 24, tzinfo=UTC)), keep_secrets)


def say(files: FileStore, *parts: dict[str, Any], message_id: str = "m1") -> Any:
    """Record a message of these parts and return its content as a fresh reader gets it."""
    message = {"role": "user", "content": list(parts), "message_id": message_id}
    open_sessions(files).record("s", [message], scope=Scope.MAIN)
    return open_sessions(files).page("s").entries[-1].entry.content


def stored(files: FileStore) -> dict[str, bytes]:
    found = {entry.path: files.read(entry.path) for entry in files.list(FOLDER)}
    return {path: content.data for path, content in found.items() if content}


def log_of(files: FileStore) -> bytes:
    content = files.read(LOG)
    return content.data if content else b""


FORMS: dict[str, tuple[dict[str, Any], str | None, str, str]] = {
    "OpenAI image": (
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{CODED}", "detail": "high"}},
        "image/png", "png", "",
    ),
    "OpenAI responses image": (
        {"type": "input_image", "image_url": f"data:image/jpeg;base64,{CODED}"}, "image/jpeg", "jpg", "",
    ),
    "OpenAI audio": ({"type": "input_audio", "input_audio": {"data": CODED, "format": "wav"}}, "audio/wav", "wav", ""),
    "OpenAI audio in mp3": (
        {"type": "input_audio", "input_audio": {"data": CODED, "format": "mp3"}}, None, "mp3", "",
    ),
    "OpenAI file": (
        {"type": "file", "file": {"filename": "plan.pdf", "file_data": f"data:application/pdf;base64,{CODED}"}},
        "application/pdf", "pdf", "plan.pdf",
    ),
    "OpenAI responses file": (
        {"type": "input_file", "filename": "plan.pdf", "file_data": f"data:application/pdf;base64,{CODED}"},
        "application/pdf", "pdf", "plan.pdf",
    ),
    "Anthropic image": (
        {"type": "image", "source": {"type": "base64", "media_type": "image/webp", "data": CODED}},
        "image/webp", "webp", "",
    ),
    "Anthropic document": (
        {"type": "document", "title": "Plan", "source": {"type": "base64", "media_type": "application/pdf", "data": CODED}},
        "application/pdf", "pdf", "Plan",
    ),
    "data URL with a parameter": (
        {"type": "image_url", "image_url": {"url": f"data:text/plain;charset=utf-8;base64,{CODED}"}},
        "text/plain", "txt", "",
    ),
    "data URL without a type": (
        {"type": "image_url", "image_url": {"url": f"data:;base64,{CODED}"}}, "application/octet-stream", "bin", "",
    ),
    "of no known type": (
        {"type": "image", "source": {"type": "base64", "media_type": "../../x", "data": CODED}}, "../../x", "bin", "",
    ),
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_an_attachment_is_a_file_beside_the_log_and_a_reference_in_it(files: Watched, form: str) -> None:
    part, media_type, ending, name = FORMS[form]
    content = say(files, {"type": "text", "text": "See:"}, part)
    digest = sha256(BYTES).hexdigest()
    assert content[0] == {"type": "text", "text": "See:"}
    reference = content[1]
    assert reference["type"] == "attachment"
    assert reference["sha256"] == digest
    assert reference["bytes"] == len(BYTES)
    assert reference["media_type"] == media_type or (media_type is None and reference["media_type"])
    assert reference.get("name", "") == name
    assert stored(files) == {reference["path"]: BYTES}
    assert reference["path"].startswith(f"{FOLDER}/{digest[:32]}")
    assert reference["path"].endswith(f".{ending}")
    assert CODED[:40].encode() not in log_of(files)


def test_nothing_of_a_reference_is_taken_for_a_secret(files: Watched) -> None:
    places = places_of(load_layout("carrel"), AgentSettings(id="kate"), files, EphemeralFiles())
    sessions = Sessions(places, Offsets(None), FixedClock(datetime(2026, 4, 24, tzinfo=UTC)), redact_value)
    for number in range(50):
        data = base64.b64encode(sha256(bytes([number])).digest()).decode()
        image = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data}"}}
        sessions.record("s", [{"role": "user", "content": [image]}], scope=Scope.MAIN)
    contents: list[Any] = [placed.entry.content for placed in sessions.page("s").entries]
    assert {content[0]["path"]: content[0]["sha256"] for content in contents} == {
        path: sha256(data).hexdigest() for path, data in stored(files).items()
    }
    assert len(contents) == 50


def test_the_file_is_durable_before_the_entry_that_refers_to_it(files: Watched) -> None:
    say(files, FORMS["OpenAI image"][0], FORMS["OpenAI file"][0])
    assert [change.split()[0] for change in files.changes] == ["write", "write", "append"]
    assert files.changes[-1] == f"append {LOG}"


def test_the_same_bytes_are_stored_once(files: Watched) -> None:
    image = FORMS["OpenAI image"][0]
    for message_id in ("m1", "m2", "m1"):
        say(files, image, {"type": "text", "text": "and"}, image, message_id=message_id)
    assert len(stored(files)) == 1
    assert [change for change in files.changes if change.startswith("write")] == [
        f"write {next(iter(stored(files)))}"
    ]
    assert open_sessions(files).page("s").total == 2


def test_sessions_do_not_share_their_attachments(files: Watched) -> None:
    message = {"role": "user", "content": [FORMS["OpenAI image"][0]]}
    for session in ("s", "t"):
        open_sessions(files).record(session, [message], scope=Scope.MAIN)
    assert len(files.list(FOLDER)) == len(files.list("agents/kate/sessions/t.files")) == 1


@pytest.mark.parametrize(
    "part",
    [
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,no base64!"}},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,abc"}},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,é"}},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "****"}},
        {"type": "input_audio", "input_audio": {"data": "\ud800", "format": "wav"}},
    ],
)
def test_what_is_not_base64_is_refused_and_nothing_is_written(files: Watched, part: dict[str, Any]) -> None:
    with pytest.raises(BadMessage):
        say(files, part)
    assert files.changes == []


def test_an_attachment_beyond_the_limit_is_refused_and_nothing_is_written(files: Watched) -> None:
    coded = base64.b64encode(bytes(ATTACHMENT_LIMIT + 1)).decode()
    with pytest.raises(BadMessage) as caught:
        say(files, {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{coded}"}})
    assert f"{ATTACHMENT_LIMIT:,}" in caught.value.message
    assert files.changes == []


def test_a_call_that_is_refused_leaves_no_attachment_behind(files: Watched) -> None:
    good = {"role": "user", "content": [FORMS["OpenAI image"][0]]}
    for bad in (
        {"role": "wizard"},
        {"role": "user", "content": [{"type": "image_url", "image_url": "data:image/png;base64,*"}]},
        {"role": "user", "content": "x" * (16 * 1024 * 1024 + 1)},
    ):
        with pytest.raises(CarrelError):
            open_sessions(files).record("s", [good, bad], scope=Scope.MAIN)
    assert files.changes == []


def test_a_session_of_a_newer_carrel_gets_no_attachment_either(files: Watched) -> None:
    files.write(LOG, encode(Header(id="s", version=2)), expect=None)
    files.changes.clear()
    with pytest.raises(CarrelError) as caught:
        open_sessions(files).record(
            "s", [{"role": "user", "content": [FORMS["OpenAI image"][0]]}], scope=Scope.MAIN
        )
    assert caught.value.code == "newer_log"
    assert files.changes == []


@pytest.mark.parametrize(
    "part",
    [
        {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}},
        {"type": "input_image", "image_url": "https://example.org/a.png"},
        {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}},
        {"type": "document", "source": {"type": "file", "file_id": "file_1"}},
        {"type": "file", "file": {"file_id": "file-1"}},
        {"type": "image_url", "image_url": {"url": "data:text/plain,hello"}},
        {"type": "image_url", "image_url": None},
        {"type": "image_url", "image_url": {"url": 7}},
        {"type": "image", "source": "file"},
        {"type": "text", "text": f"data:image/png;base64,{CODED}"},
        {"type": "tool_use", "id": "x", "name": "n", "input": {"data": CODED}},
        {},
    ],
    ids=str,
)
def test_what_holds_no_bytes_stays_as_it_was_given(files: Watched, part: dict[str, Any]) -> None:
    assert say(files, part) == [part]
    assert stored(files) == {}


@pytest.mark.parametrize("words", ["plain words", "abcd", "né 🐙"])
def test_a_document_that_is_text_keeps_its_words(files: Watched, words: str) -> None:
    """Anthropic's source of type "text" has plain text where others have base64."""
    source = {"type": "text", "media_type": "text/plain", "data": words}
    content = say(files, {"type": "document", "source": source})
    assert any(words.encode() in kept for kept in (*stored(files).values(), str(content).encode()))


def test_a_text_is_left_alone() -> None:
    text = f"data:image/png;base64,{CODED}"
    assert part_off(FOLDER, text, keep_secrets) == (text, ())


def test_a_name_from_outside_decides_nothing(files: Watched) -> None:
    part = {
        "type": "file",
        "file": {"filename": "../../../etc/passwd", "file_data": f"data:x/y;base64,{CODED}"},
    }
    reference = say(files, part)[0]
    assert reference["name"] == "../../../etc/passwd"
    assert list(stored(files)) == [reference["path"]]


def test_a_person_and_a_model_read_of_it_where_it_is(files: Watched) -> None:
    say(files, {"type": "text", "text": "See:"}, FORMS["OpenAI image"][0])
    text = open_sessions(files).page("s").entries[0].entry.to_text()
    assert text == f"See:\n[image/png: {next(iter(stored(files)))}, {len(BYTES)} bytes]"
