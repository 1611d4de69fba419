"""What each tool returns, as JSON Schema: what a client may count on. More may be there."""

from typing import Any

Schema = dict[str, Any]

_TEXT: Schema = {"type": "string"}
_WHOLE: Schema = {"type": "integer"}
_TRUTH: Schema = {"type": "boolean"}
_TEXT_OR_NONE: Schema = {"type": ["string", "null"]}
_WHOLE_OR_NONE: Schema = {"type": ["integer", "null"]}


def _object(required: str, **properties: Schema) -> Schema:
    return {"type": "object", "properties": properties, "required": required.split()}


def _list(of: Schema) -> Schema:
    return {"type": "array", "items": of}


_PAGE = {
    "text": _TEXT,
    "first_line": _WHOLE,
    "last_line": _WHOLE,
    "total_lines": _WHOLE,
    "more": _WHOLE_OR_NONE,
    "more_column": _WHOLE,
    "truncated": _TRUTH,
    "note": _TEXT_OR_NONE,
}
_WAITING = {"state": _TEXT, "why": _TEXT, "proposal": _WHOLE, "note": _TEXT}

CONTEXT = _object(
    "messages report",
    schema_version=_WHOLE,
    messages=_list(_object("role content", role=_TEXT, content={})),
    report=_object(
        "tokens sections hidden",
        tokens=_object("window used free", window=_WHOLE, used=_WHOLE, free=_WHOLE),
        sections=_list(_object("name kind tokens state", name=_TEXT, kind=_TEXT, tokens=_WHOLE, state=_TEXT)),
        hidden=_WHOLE,
    ),
)
LISTING = _object(
    "under count entries more",
    under=_TEXT,
    count=_WHOLE,
    entries=_list(_object("path kind size", path=_TEXT, kind=_TEXT, size=_WHOLE_OR_NONE)),
    more=_TEXT_OR_NONE,
)
FILE = _object("path text digest more", path=_TEXT, digest=_TEXT, **_PAGE)
WRITTEN = _object("path", path=_TEXT, digest=_TEXT, size=_WHOLE, created=_TRUTH, **_WAITING)
HITS = _object(
    "hits degraded",
    hits=_list(_object("path line tier text", path=_TEXT, line=_WHOLE, tier=_TEXT, text=_TEXT)),
    degraded=_TRUTH,
)
LINES = _object("path text more", path=_TEXT, **_PAGE)
SAID = _object("text", text=_TEXT)
KEPT = _object("state", path=_TEXT, section=_TEXT, id=_TEXT_OR_NONE, **_WAITING)
LOGS = _object(
    "ok",
    ok=_TRUTH,
    count=_WHOLE,
    sessions=_list(_object("session_id entry_count", session_id=_TEXT, entry_count=_WHOLE)),
    entries=_list(_object("number role content", number=_WHOLE, role=_TEXT, content=_TEXT)),
    hits=_list(_object("session_id number preview", session_id=_TEXT, number=_WHOLE, preview=_TEXT)),
    more=_WHOLE_OR_NONE,
)
WHO = _object(
    "agent_id model workspace_dir identity soul_excerpt",
    agent_id=_TEXT,
    model=_TEXT_OR_NONE,
    workspace_dir=_TEXT,
    identity={"type": ["object", "null"]},
    soul_excerpt=_TEXT_OR_NONE,
)
KNOWN = _object("sections truncated", sections=_list({"type": "object"}), truncated=_TRUTH)
STATS = _object(
    "sessions_total memories_stored workspace_files_present",
    sessions_total=_WHOLE,
    memories_stored=_WHOLE,
    memories_promoted=_WHOLE,
    last_dream_ts=_TEXT_OR_NONE,
    recall_events_7d=_WHOLE,
    workspace_files_present=_list(_TEXT),
)
SKILLS = _object("skills", skills=_list(_object("name description", name=_TEXT, description=_TEXT)))
SKILL = _object("name file text more", name=_TEXT, file=_TEXT, files=_list(_TEXT), more_files=_TRUTH, **_PAGE)
RECORDED = _object(
    "session messages turn_ended",
    session=_TEXT,
    messages=_list(_object("message_id is_new", message_id=_TEXT, is_new=_TRUTH, differs=_TRUTH)),
    turn_ended=_TRUTH,
    warnings=_list({"type": "object"}),
)
