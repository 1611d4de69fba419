"""Small workspaces of each layout, typed by hand: every piece has a word of its own by which it is found again."""

import json

AGENT = "kate"

_LOG = "".join(
    json.dumps(line) + "\n"
    for line in (
        {"type": "session", "version": 1, "id": "s1", "timestamp": "2026-04-20T10:00:00.000Z", "agent_id": AGENT},
        {"type": "entry", "timestamp": "2026-04-20T10:00:01.000Z", "role": "user", "content": "Is the quagga extinct?", "message_id": "m1"},
        {"type": "entry", "timestamp": "2026-04-20T10:00:02.000Z", "role": "assistant", "content": "The quagga is.", "message_id": "m2"},
    )
)  # fmt: skip

WORDS = {
    "agents": "albatross", "soul": "sparrow", "identity": "ibis", "user": "umbrellabird", "extra": "egret",
    "memory": "macaw", "own": "ostrich", "day": "dunlin", "slug": "shrike", "entity": "emu",
    "knowledge": "kestrel", "skill": "skua", "subagent": "swift", "session": "quagga", "other": "oriole",
}  # fmt: skip
"""The word of each piece."""

PRIVATE = ("user", "memory", "own", "day", "slug", "entity", "session")
"""Pieces that are for the owner's eyes in every layout that has them."""

_TEXTS = {
    "agents": "Greet the albatross.\n",
    "soul": "Kind as a sparrow.\n",
    "identity": "- **Name:** Kate\n- **Vibe:** like an ibis\n",
    "user": "Luis keeps an umbrellabird.\n",
    "extra": "We use the egret stack.\n",
    "memory": "## People\n\n- Ana has a macaw.\n",
    "own": "## Insights\n\n- The ostrich never flies.\n",
    "day": "- 10:00 [note] saw a dunlin\n",
    "slug": "- 11:00 [note] heard a shrike\n",
    "entity": "# Emu\n\n- lives_in: [[Outback]] (2026-04-01)\n",
    "knowledge": "The kestrel API.\n",
    "skill": "---\nname: deploy\ndescription: Ship with the skua\n---\nDo it.\n",
    "subagent": "---\ndescription: Scouts like a swift\n---\nScout.\n",
    "session": _LOG,
    "other": "The oriole plan.\n",
}

_USUAL = {
    "agents": "AGENTS.md",
    "memory": "MEMORY.md",
    "own": "memory/kate.md",
    "day": "memory/2026-04-20.md",
    "slug": "memory/2026-04-21-birds.md",
    "entity": "memory/entities/emu.md",
    "knowledge": "knowledge/api.md",
    "skill": "skills/deploy/SKILL.md",
    "subagent": "subagents/scout.md",
    "session": "agents/kate/sessions/s1.log.jsonl",
    "other": "plans/q2.md",
}
_PERSONA = {"soul": "SOUL.md", "identity": "IDENTITY.md", "user": "USER.md"}

PLACES = {
    "carrel": {**_USUAL, **_PERSONA, "extra": "stack.md"},
    "openclaw": {**_USUAL, **_PERSONA, "extra": "TOOLS.md"},
    "agentscope": _USUAL,
    "nexo": {
        **_USUAL,
        **_PERSONA,
        "day": "notes/2026-04-20.md",
        "slug": "notes/2026-04-21-birds.md",
        "session": "transcripts/s1.jsonl",
    },
    "astra": {
        **{piece: f"workspace/{path}" for piece, path in {**_USUAL, **_PERSONA}.items()},
        "soul": "SOUL.md",
        "extra": "workspace/stack.md",
        "session": "agents/kate/sessions/s1.log.jsonl",
        "other": "plans/q2.md",
    },
    "squad": {
        "memory": "agents/kate/memory.md",
        "own": "memory/kate.md",
        "entity": "memory/entities/emu.md",
        "session": "logs/sessions/kate/s1.log.jsonl",
        "other": "plans/q2.md",
    },
}
"""Where each layout keeps what it has."""

_MANIFEST = {
    "squadId": "q",
    "squadName": "Birds",
    "schemaVersion": 1,
    "config": {"agents": [{"id": AGENT, "name": "Kate", "memory_enabled": True}]},
}


def furnish(root, layout, *, pieces=None):
    """Write a workspace of a layout, with all pieces that it has a place for, or only some."""
    for piece, path in PLACES[layout].items():
        if pieces is None or piece in pieces:
            write(root, path, _TEXTS[piece])
    if layout == "squad":
        write(root, ".squad-config.json", json.dumps(_MANIFEST))
    else:
        write(root, "carrel.yaml", f"layout: {layout}\nagents:\n  - id: {AGENT}\n")
    return root


def write(root, path, text):
    """Write one file, as text or as bytes."""
    place = root / path
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(text if isinstance(text, bytes) else text.encode())


def rows_of(done):
    """What became of each piece, by where it came from."""
    return {row.source: (row.action, row.target) for row in done.rows}
