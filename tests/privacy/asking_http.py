"""What a curious listener may ask of every endpoint: each address with the names of what is private, each body."""

from typing import Any

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
