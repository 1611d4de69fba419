"""A word in all that is private: no endpoint repeats it to who holds a key for shared ears, or names its file."""

import json
from collections.abc import Iterator

import pytest
from tests.privacy.asking_http import PRIVATE, PUBLIC, SKIPPED, TOOLS, WORD, addresses, bodies
from tests.unit.http.served import Place, serving
from tests.unit.http.test_access import DECLARED, TABLE


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with serving(tmp_path_factory.mktemp("canaries")) as place:
        for path, text in PRIVATE.items():
            (place.root / path).parent.mkdir(parents=True, exist_ok=True)
            (place.root / path).write_text(text)
        (place.root / "harbour.md").write_text(PUBLIC)
        said = {"role": "user", "content": f"Tell me of my {WORD}.", "message_id": "m1"}
        place.told("POST", "/sessions/s1/entries", {"messages": [said]})
        place.told("POST", "/facts", {"text": f"Ana's {WORD} has four rooms."})
        place.told("POST", "/context:prepare", {"session": "s1", "query": f"My {WORD}?"})
        yield place


@pytest.mark.parametrize("name", [name for name in TABLE if name not in SKIPPED])
def test_no_endpoint_tells_a_shared_key_what_is_private(place: Place, name: str) -> None:
    declared = DECLARED[name]
    key, seen = place.key("admin"), 0
    paths = addresses(declared)
    if name == "call_tool":
        paths = [f"/tools/{tool}:call" for tool in TOOLS]
    for path in paths:
        for body in bodies(name, declared):
            answer = place.ask(declared.method, path, body, key=key)
            told = json.dumps(answer.json()) if "json" in answer.headers["content-type"] else answer.text
            for asked in (path, json.dumps(body)):
                told = told.replace(asked, "")
            # What the listener said itself may come back; what it could not know may not.
            assert "four rooms" not in told
            assert "painted" not in told
            assert "garden" not in told
            assert "Tell me of my" not in told
            if WORD not in path and WORD not in json.dumps(body):
                assert WORD not in told, (path, body)
            seen += 1
    assert seen


def test_the_owner_sees_all_of_it_so_that_the_test_above_can_fail(place: Place) -> None:
    told = json.dumps(
        [
            place.told("POST", "/context:assemble", {"session": "s1", "query": f"My {WORD}?"}),
            place.told("GET", f"/search?q={WORD}"),
            place.told("GET", "/facts"),
            place.told("GET", "/tree?depth=9"),
            place.told("GET", "/sessions/s1/entries"),
        ]
    )
    for secret in ("four rooms", "garden", "Tell me of my", f"knowledge/{WORD}.md"):
        assert secret in told
