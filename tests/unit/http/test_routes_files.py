"""Files over HTTP: changed over what was seen, and for others' ears as if what is private were not there."""

from collections.abc import Iterator

import pytest
from tests.unit.http.served import Place, serving

SECRET = "---\nscope: private\n---\nCANARY\n"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with serving(tmp_path_factory.mktemp("files")) as place:
        (place.root / "plans").mkdir()
        (place.root / "plans" / "merger.md").write_text(SECRET)
        (place.root / "wish.md").write_text(SECRET)
        yield place


def test_a_tag_of_anything_needs_something(place: Place) -> None:
    assert place.refused("PUT", "/files/new.md", b"x", If_Match="*") == (412, "stale")
    assert place.refused("DELETE", "/files/new.md", If_Match="*") == (412, "stale")
    place.told("PUT", "/files/new.md", b"x")
    place.told("PUT", "/files/new.md", b"y", If_Match="*")
    assert place.told("DELETE", "/files/new.md", If_Match="*")


def test_an_empty_tag_is_not_no_tag(place: Place) -> None:
    place.told("PUT", "/files/kept.md", b"x")
    for tag in ("", '""', 'W/""'):
        assert place.refused("DELETE", "/files/kept.md", If_Match=tag) == (412, "stale")
    assert (place.root / "kept.md").exists()


@pytest.mark.parametrize("form", ["{}", "W/{}", '"other", {}'])
def test_a_file_that_one_has_is_not_sent_again(place: Place, form: str) -> None:
    tag = place.ask("GET", "/files/AGENTS.md").headers["etag"]
    assert place.ask("GET", "/files/AGENTS.md", If_None_Match=form.format(tag)).status_code == 304
    assert place.ask("GET", "/files/AGENTS.md", If_None_Match='"other"').status_code == 200


@pytest.mark.parametrize(
    ("address", "there", "nowhere"),
    [
        ("/files/{}", "wish.md", "none.md"),
        ("/files/{}", "plans/merger.md", "plans/none.md"),
        ("/preview/{}", "wish.md", "none.md"),
        ("/memory/sections?file={}", "wish.md", "none.md"),
        ("/memory/section?section=x&file={}", "wish.md", "none.md"),
        ("/tree?path={}", "plans", "none"),
    ],
)
def test_what_is_private_by_its_content_is_as_absent_as_anything(
    place: Place, address: str, there: str, nowhere: str
) -> None:
    key = place.key("read")
    asked = {path: place.ask("GET", address.format(path), key=key) for path in (there, nowhere)}
    told = [(each.status_code, each.text.replace(path, "")) for path, each in asked.items()]
    assert told[0] == told[1]


@pytest.mark.parametrize("name", ["read_file", "memory_get"])
def test_so_it_is_for_the_tools(place: Place, name: str) -> None:
    key = place.key("write")
    told = [
        place.ask("POST", f"/tools/{name}:call", {"arguments": {"path": path}}, key=key).text.replace(
            path, ""
        )
        for path in ("wish.md", "none.md")
    ]
    assert told[0] == told[1]


def test_no_listing_for_others_names_a_folder_of_private_files_or_the_settings(place: Place) -> None:
    key = place.key("write")
    listed = place.ask("GET", "/tree?depth=5", key=key).text
    listed += place.ask("POST", "/tools/list_files:call", {"arguments": {"depth": 5}}, key=key).text
    assert "AGENTS.md" in listed
    assert not [word for word in ("plans", "wish", "carrel.yaml") if word in listed]
    assert place.refused("GET", "/files/carrel.yaml", key=key) == (403, "hidden_by_scope")
    assert place.ask("GET", "/files/carrel.yaml").status_code in (200, 404)
