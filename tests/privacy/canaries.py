"""What is the owner's in each layout, with a sentence in it that nobody else may hear."""

import json
import re
from itertools import product
from typing import Any

CANARY = "The heron keeps the red ledger"
PUBLIC = "Anybody may read this."
PRIVATE = f"<!-- scope: private -->\n{CANARY}\n"
TAGGED = f"<!-- tags: private -->\n{CANARY}\n"
YAML = f"---\nscope: private\n---\n{CANARY}\n"

# For each layout: what everybody may read; what is the owner's, and whether main scope puts it into the prompt.
LAYOUTS = {
    "carrel": (
        {"AGENTS.md": PUBLIC, "SOUL.md": PUBLIC, "team.md": PUBLIC, "knowledge/KNOWLEDGE.md": PUBLIC},
        {
            "USER.md": (CANARY, True),
            "MEMORY.md": (CANARY, True),
            "DREAMS.md": (CANARY, False),
            "memory/2026-04-24.md": (CANARY, True),
            "memory/2026-04-23-heron.md": (CANARY, True),
            "memory/2020-01-01.md": (CANARY, False),
            "memory/kate.md": (CANARY, True),
            "memory/milo.md": (CANARY, False),
            "agents/kate/memory.md": (CANARY, True),
            "agents/kate/sessions/s0.jsonl": (CANARY, False),
            "ledger-comment.md": (PRIVATE, True),
            "ledger-tag.md": (TAGGED, True),
            "ledger-yaml.md": (YAML, True),
            "knowledge/heron.md": (PRIVATE, False),
            "skills/heron/SKILL.md": (
                f"---\nscope: private\nname: heron\ndescription: {CANARY}\n---\n",
                True,
            ),
        },
    ),
    "astra": (
        {"SOUL.md": PUBLIC, "workspace/AGENTS.md": PUBLIC, "workspace/team.md": PUBLIC},
        {
            "workspace/USER.md": (CANARY, True),
            "workspace/MEMORY.md": (CANARY, True),
            "workspace/DREAMS.md": (CANARY, True),
            "USER.md": (CANARY, False),
            "memory/2026-04-24.md": (CANARY, False),
            "agents/kate/sessions/s0.jsonl": (CANARY, False),
            "workspace/ledger-comment.md": (PRIVATE, True),
            "workspace/ledger-tag.md": (TAGGED, True),
        },
    ),
    "nexo": (
        {"SOUL.md": PUBLIC, "AGENTS.md": PUBLIC, "IDENTITY.md": "- **Name:** Kate\n"},
        {
            "USER.md": (CANARY, True),
            "MEMORY.md": (CANARY, True),
            "DREAMS.md": (CANARY, False),
            "notes/2026-04-24.md": (CANARY, True),
            "notes/2026-04-23-heron.md": (CANARY, True),
            "notes/2020-01-01.md": (CANARY, False),
            "transcripts/s0.jsonl": (CANARY, False),
            "other.md": (CANARY, False),
        },
    ),
}
FORMS = [
    ["context", "show"],
    ["context", "show", "--json"],
    ["context", "show", "--format", "messages", "--session", "s1", "--query", "Hello"],
    ["context", "show", "--prepare", "--session", "s1"],
    ["context", "report"],
    ["context", "report", "--session", "s1"],
    ["context", "report", "--oneline"],
    ["context", "report", "--json", "--session", "s1"],
    ["health"],
    ["health", "--json"],
    ["config", "validate"],
    ["config", "validate", "--json"],
]

WORD = "heronry"
REMEMBERED = (
    ["context", "show"],
    ["context", "show", "--json"],
    ["context", "show", "--session", "s2", "--query", f"What of the {WORD}?"],
    ["context", "show", "--prepare", "--session", "s2"],
    ["context", "report"],
    ["context", "report", "--json"],
    ["health"],
    ["health", "--json"],
    ["search", WORD],
    ["search", WORD, "--mode", "literal", "--json"],
    ["memory", "search", WORD],
    ["memory", "search", WORD, "--mode", "regex", "--explain"],
    ["memory", "search", WORD, "--in-agent", "kate", "--section", "Insights", "--lines", "3"],
    ["memory", "facts"],
    ["memory", "facts", "--json"],
    ["memory", "review"],
    ["memory", "review", "--json"],
    ["memory", "review", "approve", "1"],
    ["memory", "review", "reject", "--all"],
    ["memory", "history"],
    ["memory", "history", "--json"],
    ["memory", "diff"],
    ["memory", "diff", "1"],
    ["memory", "undo"],
    ["memory", "extract"],
    ["memory", "sections", "memory/kate.md"],
    ["memory", "show", "memory/kate.md", "Insights"],
    ["memory", "show", "memory/entities/ana.md"],
    ["namespaces", "list"],
    ["namespaces", "export", "Agent Experience: Kate"],
    ["sweep"],
    ["tools", "list"],
    ["tools", "list", "--json"],
    ["tools", "call", "memory_search", "--args", json.dumps({"query": WORD})],
    ["tools", "call", "memory_get", "--args", '{"path": "memory/kate.md"}'],
    ["tools", "call", "what_do_i_know", "--args", "{}"],
    ["tools", "call", "my_stats", "--args", "{}"],
    ["tools", "call", "who_am_i", "--args", "{}"],
    ["tools", "call", "read_file", "--args", '{"path": "memory/kate.md"}'],
    ["tools", "call", "list_files", "--args", '{"under": "memory"}'],
    ["files", "tree"],
    ["files", "cat", "memory/kate.md"],
    ["agents", "show", "kate"],
    ["config", "show"],
)
"""Commands that tell what is remembered, and of a word that is in it."""

SESSIONS = ("s0", "s1", "g1")
PATHS = sorted({path for _, private in LAYOUTS.values() for path in private})
_FOLDERS = (
    "memory",
    "memory/entities",
    "notes",
    "agents",
    "agents/kate",
    "knowledge",
    "skills",
    "skills/heron",
    "transcripts",
)
_LOGS = [{"query": "keeps", "session_id": session} for session in SESSIONS]

TOOL_CALLS: dict[str, list[dict[str, Any]]] = {
    "list_files": [{}, {"depth": 16, "limit": 1_000}, *({"under": path} for path in (*_FOLDERS, *PATHS, "MEMORY.md/x"))],
    "memory_get": [{"path": path} for path in PATHS],
    "memory_search": [
        {"query": query, "limit": 50, **more}
        for query in (WORD, "bird keeps", "What is red?", "zq")
        for more in ({}, {"tier": "session"}, {"tier": "journal"})
    ],
    "memory_write": [{"text": "Somebody keeps something."}],
    "my_stats": [{}],
    "read_file": [{"path": path} for path in (*PATHS, *_FOLDERS, "MEMORY.md/x", "AGENTS.md", ".carrel/state/records.db")],
    "session_logs": [
        {"action": action, **more}
        for action, more in product(("list_sessions", "read_session", "recent", "search"), _LOGS)
    ],
    "skill_list": [{}],
    "skill_read": [{"name": "heron"}, {"name": "bird"}, {"name": "heron", "file": "SKILL.md"}],
    "what_do_i_know": [{}, {"filter": "e"}, {"filter": "Insights"}],
    "who_am_i": [{}],
}  # fmt: skip
"""Every tool that a listener's agent has, asked for what is private in every way that it has."""

_SENTENCE = re.compile(r"heron|ledger", re.IGNORECASE)
"""Of what stands in everything private, the words that stand nowhere else: half a sentence has one of them."""

_COMMON = ("USER.md", "MEMORY.md", "DREAMS.md", "memory.md", "other.md", "SKILL.md")
"""Names that a layout gives, so that everybody knows them."""


def words_told(asked: str, told: str) -> list[str]:
    """Return the words of private sentences that a text has, and the question had not."""
    return sorted(
        {word.lower() for word in _SENTENCE.findall(told)}
        - {word.lower() for word in _SENTENCE.findall(asked)}
    )


def names_told(layout: str, asked: str, told: str) -> list[str]:
    """Return the names of private files that a text has, and the question had not."""
    paths = LAYOUTS[layout][1]
    names = {name for path in paths if (name := path.rpartition("/")[2]) not in _COMMON}
    return sorted(name for name in names if name in told and name not in asked)
