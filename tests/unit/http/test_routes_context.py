"""A context over HTTP: what is at hand is answered at once, and says what anything else would."""

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from tests.unit.http.served import Place, serving

from carrel.http import routing
from carrel.http.answers import Encoded
from carrel.http.routing import Prompt

FORMS = ["messages", "text", "openai", "responses", "anthropic"]


@pytest.fixture
def place(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    # All files count as settled, though they were made just now: changes below change their size.
    monkeypatch.setattr("carrel.files.SETTLED_NS", -(10**15))
    with serving(tmp_path) as place:
        yield place


@pytest.mark.parametrize("scope", ["main", "shared"])
@pytest.mark.parametrize("form", FORMS)
def test_what_is_answered_at_once_is_what_a_thread_would_have_answered(
    place: Place, form: str, scope: str
) -> None:
    asked = {"format": form, "total": 500}
    first = place.ask("POST", f"/context:assemble?scope={scope}", asked)
    again = [place.ask("POST", f"/context:assemble?scope={scope}", asked) for _ in range(2)]
    assert {(each.content, each.headers["content-type"]) for each in again} == {
        (first.content, first.headers["content-type"])
    }
    assert first.json()["report"]["scope"] == scope


def test_a_context_at_hand_is_answered_without_a_thread(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    place.told("POST", "/context:assemble", {})
    worked: list[str] = []
    assemble = type(place.workspace).assemble

    def noted(*given: Any, **more: Any) -> Any:
        worked.append(threading.current_thread().name)
        return assemble(*given, **more)

    monkeypatch.setattr(type(place.workspace), "assemble", noted)
    place.told("POST", "/context:assemble", {})
    assert worked == []
    place.told("POST", "/context:assemble", {"session": "s1"})
    assert worked[0].startswith("carrel-http")


def test_a_context_is_told_for_another_model_and_that_is_not_what_is_at_hand(place: Place) -> None:
    own = place.told("POST", "/context:assemble", {})["report"]
    for _ in range(2):
        other = place.told("POST", "/context:assemble", {"model": "gpt-4"})["report"]
        assert (other["model"], other["tokens"]["window"]) == ("gpt-4", 8_192)
    assert place.told("POST", "/context:assemble", {})["report"] == own
    assert place.refused("POST", "/context:assemble", {"model": "x" * 201})[0] == 400


def test_a_file_that_changed_is_in_the_next_answer(place: Place) -> None:
    for words in (["zebra"], ["zebra", "yak"], []):
        (place.root / "notes.md").write_text(" and ".join(words))
        for _ in range(3):
            told = place.told("POST", "/context:assemble", {"format": "text"})["text"]
            assert [word for word in ("zebra", "yak") if word in told] == words
    (place.root / "notes.md").unlink()
    sections = place.told("POST", "/context:assemble", {})["report"]["sections"]
    assert "notes.md" not in [section["name"] for section in sections]


def test_files_over_the_window_are_trimmed_whether_or_not_they_are_at_hand(place: Place) -> None:
    (place.root / "carrel.yaml").write_text("layout: carrel\nmodel: {name: m, context_window: 300}\n")
    place.served.close()  # whose next opening reads the settings
    (place.root / "notes.md").write_text("words and words " * 200)
    told = [place.told("POST", "/context:assemble", {}) for _ in range(3)]
    assert told[0] == told[1] == told[2]
    assert "files_trimmed" in [warning["code"] for warning in told[0]["report"]["warnings"]]


def test_a_disk_that_lets_wait_is_not_waited_for_in_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    passed = [0.0]
    monkeypatch.setattr(routing, "monotonic", lambda: passed[0])

    def look(name: str) -> str:
        asked.append(name)
        if name == "slow":
            passed[0] += 0.4
        return name

    prompt = Prompt(look)
    assert [prompt({"name": name}) for name in ("quick", "slow", "quick")] == ["quick", "slow", None]
    assert asked == ["quick", "slow"]


def test_encoded_answers_take_no_more_room_than_some_megabytes() -> None:
    encoded = Encoded()
    values = [object() for _ in range(6)]
    for value in values:
        encoded.answer(value, "form", lambda _: {"text": "x" * 4_000_000})
    made: list[object] = []

    def make(value: object) -> dict[str, str]:
        made.append(value)
        return {}

    for value in reversed(values):
        encoded.answer(value, "form", make)
    assert made == values[1::-1]
    assert encoded.answer(values[5], "other form", make).body == b'{"schema_version":1}'
