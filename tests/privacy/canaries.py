"""What is the owner's in each layout, with a sentence in it that nobody else may hear."""

import json

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
    ["tools", "call", "list_files", "--args", '{"path": "memory"}'],
    ["files", "tree"],
    ["files", "cat", "memory/kate.md"],
    ["agents", "show", "kate"],
    ["config", "show"],
)
"""Commands that tell what is remembered, and of a word that is in it."""
