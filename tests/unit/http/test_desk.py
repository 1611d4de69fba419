"""A workspace before one listener: what they may fetch, whose session they mean, and the trail that they leave."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.unit.http.served import Place, serving

from carrel.files import Content
from carrel.http.access import Access
from carrel.http.desk import Desk
from carrel.runtime.view import NoSuchPath
from carrel.workspace.scope import HiddenByScope, Scope


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    with serving(tmp_path) as place:
        (place.root / "MEMORY.md").write_text("- mine\n")
        (place.root / "open.md").write_text("for all\n")
        yield place


def desk_of(place: Place, scope: Scope, name: str = "key:k1") -> tuple[Desk, list[str]]:
    told: list[str] = []
    access = Access(name=name, right="admin", scope=scope, workspace="desk")
    desk = Desk(
        name="desk", workspace=place.workspace, access=access, scope=scope, agent=None, announce=told.append
    )
    return desk, told


def text_of(content: Content) -> str:
    return content.data.decode()


def test_a_listener_fetches_what_is_for_their_ears(place: Place) -> None:
    owner, _ = desk_of(place, Scope.MAIN)
    assert text_of(owner.fetch("MEMORY.md")) == "- mine\n"
    shared, _ = desk_of(place, Scope.SHARED)
    assert text_of(shared.fetch("open.md")) == "for all\n"
    with pytest.raises((HiddenByScope, NoSuchPath)):
        shared.fetch("MEMORY.md")
    for desk in (owner, shared):
        with pytest.raises(NoSuchPath):
            desk.fetch("nowhere.md")


def test_a_session_of_shared_ears_is_one_of_their_own_key(place: Place) -> None:
    owner, _ = desk_of(place, Scope.MAIN)
    assert owner.session("talk") == "talk"
    one, _ = desk_of(place, Scope.SHARED, "key:k1")
    other, _ = desk_of(place, Scope.SHARED, "key:k2")
    names = {one.session("talk"), other.session("talk"), "talk"}
    assert len(names) == 3
    assert "k1" in one.session("talk")
    looking, _ = desk_of(place, Scope.SHARED, "owner")
    assert looking.session("talk") == "talk"


def test_who_changed_what_is_written_down_and_told(place: Place) -> None:
    desk, told = desk_of(place, Scope.MAIN)
    desk.note("file.put", "a.md", session="s1", change=7)
    event = place.workspace.records.audit.events(limit=1)[0]
    assert (event.actor, event.action, event.target, event.session) == ("key:k1", "file.put", "a.md", "s1")
    assert event.detail == {"change": 7}
    assert told == ["desk"]
    assert desk.own is place.workspace


def test_what_is_the_owners_alone_is_not_asked_for_with_others_ears(place: Place) -> None:
    assert place.refused("GET", "/jobs?scope=shared") == (403, "hidden_by_scope")
    assert place.ask("GET", "/jobs").status_code == 200
    assert place.ask("GET", "/tree?scope=shared").status_code == 200


def test_a_key_does_what_its_right_says_and_no_more(place: Place) -> None:
    reader, writer = place.key("read", "main"), place.key("write", "main")
    note = {"text": "A walk."}
    assert place.ask("GET", "/tree", key=reader).status_code == 200
    assert place.refused("POST", "/journal", note, key=reader)[0] == 403
    assert place.ask("POST", "/journal", note, key=writer).status_code == 200
    assert place.refused("GET", "/keys", key=writer)[0] == 403
