"""A word in all that is private: no endpoint repeats it to who holds a key for shared ears, or names its file."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from tests.unit.http.served import Place, serving
from tests.unit.http.test_access import DECLARED, TABLE

from carrel.http.routing import Declared

WORD = "heronry"
PUBLIC = "Anybody may read about the harbour.\n"
PRIVATE = {
    "USER.md": f"Ana keeps a {WORD}.\n",
    "MEMORY.md": f"# Memory\n\n- The {WORD} is in the garden.\n",
    "DREAMS.md": f"A {WORD} at night.\n",
    "memory/2026-04-24.md": f"- 10:00 [note] The {WORD} was painted.\n",
    "memory/main.md": f"## Insights\n\n- A {WORD} needs water.\n",
    "memory/entities/ana.md": f"# Ana\n\n- owns [[{WORD}]]\n",
    f"{WORD}.md": f"<!-- scope: private -->\nAbout the {WORD}.\n",
    "skills/bird/SKILL.md": f"---\nscope: private\nname: bird\ndescription: The {WORD}.\n---\nGo.\n",
    f"knowledge/{WORD}.md": f"<!-- tags: private -->\nThe {WORD}.\n",
}
SKIPPED = ("follow_events",)
"""Which never ends; it is the owner's, as the table of access says."""

PATHS = (
    *PRIVATE,
    "agents/main/sessions/s1.jsonl",
    "agents/main/sessions/sessions.json",
    ".carrel/state/records.db",
)


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


def addresses(declared: Declared) -> list[str]:
    """Every address that a curious key may try, as this endpoint takes it."""
    path = declared.path.replace("/w/{workspace}", "")
    values = PATHS if "{path" in path else ("s1",) if "{session}" in path else (WORD, "main", "1")
    for name in ("{path:path}", "{session}", "{name}", "{key}", "{fact}", "{number}", "{run}"):
        if name in path:
            return [f"{path.replace(name, value)}?q={WORD}&query={WORD}&session=s1" for value in values]
    files = [f"{path}?file={file}&section=Insights" for file in PRIVATE] if "section" in path else []
    asked = [
        f"{path}?q={WORD}&query={WORD}&mode={mode}&explain=true&lines=3"
        for mode in ("hybrid", "literal", "regex")
    ]
    return [
        *asked,
        f"{path}?path=memory&depth=9&q={WORD}&session=s1",
        f"{path}?scopes=true&session=s1&q=x",
        *files,
    ]


def bodies(name: str, declared: Declared) -> list[Any]:
    if declared.takes is None:
        return [None]
    if name == "call_tool":
        calls = (
            {"query": WORD},
            {"path": "MEMORY.md"},
            {"path": "memory"},
            {"filter": WORD},
            {"action": "recent"},
            {},
        )
        return [
            {"arguments": arguments, "session": session} for arguments in calls for session in (None, "s1")
        ]
    forms = ("messages", "text", "openai", "responses", "anthropic")
    asks = [
        {"session": session, "query": f"My {WORD}?", "format": form}
        for form in forms
        for session in ("s1", "s2")
    ]
    return [*asks, {"query": "What do you know?"}, {}, {"message": "What do you know of me?"}]


TOOLS = ("who_am_i", "what_do_i_know", "my_stats", "memory_search", "memory_get", "read_file", "list_files",
         "session_logs", "search_files", "load_skill", "list_knowledge", "read_knowledge")  # fmt: skip


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
