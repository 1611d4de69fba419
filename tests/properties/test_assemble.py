"""Whatever a workspace holds: budgets are kept, nothing private is shared, and the account is true."""

import json
import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from hashlib import sha256

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from carrel.context.assemble import Assembler, Assembly
from carrel.context.budget import Budget
from carrel.context.build import Ground
from carrel.context.inputs import Inputs, Recalled
from carrel.context.render import escaper
from carrel.context.report import describe_prefix
from carrel.files.ephemeral import EphemeralFiles
from carrel.sessions.message import Message
from carrel.settings import AgentSettings, Settings
from carrel.tokens import Vocabulary
from carrel.workspace.counts import TokenCounts
from carrel.workspace.document import Documents
from carrel.workspace.layout import LAYOUTS, load_layout
from carrel.workspace.scope import Scope

COUNTS = TokenCounts(Vocabulary(), None)
NOW = datetime(2026, 4, 24, 12, tzinfo=UTC)
QUICK = settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])

OPEN = {
    "carrel": ["SOUL.md", "AGENTS.md", "IDENTITY.md", "stack.md", "team.md", "knowledge/KNOWLEDGE.md"],
    "astra": [
        "SOUL.md",
        "workspace/AGENTS.md",
        "workspace/IDENTITY.md",
        "workspace/stack.md",
        "workspace/a.md",
    ],
    "nexo": ["SOUL.md", "AGENTS.md", "IDENTITY.md"],
    "agentscope": ["AGENTS.md", "knowledge/KNOWLEDGE.md"],
    "squad": [],
    "openclaw": ["AGENTS.md", "SOUL.md", "IDENTITY.md", "TOOLS.md", "HEARTBEAT.md"],
}
PRIVATE = {
    "carrel": ["USER.md", "MEMORY.md", "memory/kate.md", "memory/2026-04-23.md", "memory/2026-04-24-x.md"],
    "astra": ["workspace/USER.md", "workspace/MEMORY.md", "workspace/DREAMS.md"],
    "nexo": ["USER.md", "MEMORY.md", "notes/2026-04-24.md", "notes/2026-04-23-x.md", "TOOLS.md"],
    "agentscope": ["MEMORY.md"],
    "squad": ["agents/kate/memory.md", "memory/kate.md"],
    "openclaw": ["USER.md", "MEMORY.md"],
}
pieces = st.sampled_from(
    [
        "words and words ",
        "\n",
        "\n\n",
        "🐙",
        "日本語",
        "</document>",
        "<MEMORY>",
        "# MEMORY\n",
        "{{date}}",
        "&lt;",
        "x" * 40,
    ]
)
starts = st.sampled_from(["", "", "", "<!-- priority: 7 -->\n", "---\ntags: [a]\n---\n"])
secret_starts = st.sampled_from(
    ["<!-- scope: private -->\n", "---\nscope: private\n---\n", "<!-- tags: private -->\n"]
)


def canary(path: str) -> str:
    return f"CANARY{sha256(path.encode()).hexdigest()[:10]}"


@st.composite
def workspaces(draw, layout: str) -> tuple[dict[str, str], set[str]]:
    """Files that each begin and end with their own word, and the paths of those that are private."""
    paths = draw(st.sets(st.sampled_from(OPEN[layout] + PRIVATE[layout])))
    private = {path for path in paths if path in PRIVATE[layout]}
    files = {}
    for path in sorted(paths):
        start = draw(starts)
        if path not in private and draw(st.integers(0, 5)) == 0:
            start = draw(secret_starts)
            private.add(path)
        body = "".join(draw(st.lists(pieces, max_size=8)))
        files[path] = f"{start}{canary(path)} {body}\n{canary(path)}end"
    return files, private


def assembler(
    files: EphemeralFiles, layout: str, prompt: str = "You are {{agent.displayName}}."
) -> Assembler:
    return Assembler(
        Ground(
            layout=load_layout(layout),
            settings=Settings(),
            agent=AgentSettings(id="kate", display_name="Kate", system_prompt_template=prompt),
            documents=Documents(files),
            namespaces=Documents(EphemeralFiles()),
            counts=COUNTS,
            location="/home/luis/desk",
        )
    )


def assemble(engine: Assembler, *, file=None, total=None, **inputs) -> Assembly:
    asked = Inputs(**({"scope": Scope.MAIN, "now": NOW, "time_zone": "UTC"} | inputs))
    return engine.assemble(asked, budget=Budget(file=file, total=total))


def in_layout(make):
    """A layout and a workspace for it."""
    return st.sampled_from(LAYOUTS).flatmap(lambda layout: st.tuples(st.just(layout), make(layout)))


limits = st.integers(1, 200)
scopes = st.sampled_from(list(Scope))


@given(in_layout(workspaces), limits, st.integers(0, 400), scopes)
@QUICK
def test_the_budgets_are_kept(given_workspace, file, total, scope):
    layout, (files, _) = given_workspace
    engine = assembler(EphemeralFiles(files), layout)
    assembly = assemble(engine, file=file, total=total, scope=scope)
    rows = [row for row in assembly.report.sections if row.state in ("included", "truncated")]
    # Where there is no room at all, agentscope still says so.
    least = len(load_layout(layout).marker) // 4 if layout == "agentscope" else 0
    assert all(row.size <= max(row.limit, least) for row in rows if row.limit is not None)
    pinned = {name for message in engine.ground.layout.messages for p in message.parts for name in p.pinned}
    counted = {"document"} if layout != "nexo" else {"document", "journal", "notebook"}
    competing = [row for row in rows if row.kind in counted and row.limit is not None]
    held = sum(row.size for row in competing if row.name.rpartition("/")[2] in pinned)
    assert sum(row.size for row in competing) <= max(total, held)


@given(in_layout(workspaces), limits, st.integers(0, 400))
@QUICK
def test_nothing_private_is_ever_shared(given_workspace, file, total):
    layout, (files, private) = given_workspace
    engine = assembler(EphemeralFiles(files), layout)
    shared = assemble(engine, file=file, total=total, scope=Scope.SHARED, query="q", session="s1")
    seen = shared.to_text() + json.dumps(shared.report.to_json())
    for path in private:
        assert canary(path) not in seen
        assert path not in [row.name for row in shared.report.sections]
    main = assemble(engine, file=file, total=total, scope=Scope.MAIN)
    shown = {row.name for row in main.report.sections if row.state in ("included", "truncated")}
    assert shared.report.hidden == len(shown & private)
    assert main.report.hidden == 0


@given(in_layout(workspaces), st.integers(20, 200), st.integers(0, 400), scopes)
@QUICK
def test_all_that_is_not_in_the_text_is_in_the_report(given_workspace, file, total, scope):
    layout, (files, private) = given_workspace
    engine = assembler(EphemeralFiles(files), layout)
    assembly = assemble(engine, file=file, total=total, scope=scope)
    text = assembly.to_text()
    states = {row.name: row.state for row in assembly.report.sections}
    assert len(states) == len(assembly.report.sections)
    for path in files:
        if (layout, path) == ("nexo", "TOOLS.md") or (scope is Scope.SHARED and path in private):
            assert canary(path) not in text
        elif states[path] == "included":
            assert canary(path) in text
            assert f"{canary(path)}end" in text
        elif states[path] == "truncated":
            assert not (f"{canary(path)} " in text and f"{canary(path)}end" in text)
            assert load_layout(layout).marker.split("{")[0] in text
        else:
            assert canary(path) not in text
            assert states[path] in ("excluded", "unreadable")
    assert all(row.reason for row in assembly.report.sections if row.state in ("truncated", "excluded"))


@given(in_layout(workspaces), scopes)
@QUICK
def test_the_rows_give_the_text_and_the_tokens_of_the_whole(given_workspace, scope):
    layout, (files, _) = given_workspace
    history = (Message("user", "Hi."), Message("assistant", "Hello, Luis."))
    recall = (Recalled(path="x.md", line=3, text="Ana has\na <hit>."),)
    assembly = assemble(
        assembler(EphemeralFiles(files), layout),
        scope=scope,
        query="q",
        session="s1",
        history=history,
        recall=recall,
    )
    rows = [row for row in assembly.report.sections if row.sha256]
    whole = sum(COUNTS.count(message.to_text()) for message in assembly.messages)
    assert abs(assembly.report.tokens.used - whole) <= len(rows)
    assert assembly.report.tokens.used == sum(row.tokens for row in assembly.report.sections)
    assert assembly.report.prefix == describe_prefix(assembly.report.sections)
    stable = []
    for row in rows:
        if not row.stable:
            break
        stable.append(row.sha256)
    assert assembly.report.prefix.sha256 == sha256("".join(stable).encode()).hexdigest()


@given(in_layout(workspaces), limits, scopes)
@QUICK
def test_no_file_can_forge_a_delimiter(given_workspace, file, scope):
    layout, (files, _) = given_workspace
    engine = assembler(EphemeralFiles(files), layout, prompt="")
    assembly = assemble(engine, file=file, scope=scope)
    escape = escaper(engine.ground.layout.tags)
    text = assembly.to_text()
    kinds = [row.kind for row in assembly.report.sections if row.sha256 is not None]
    # Each section of carrel has its tag; in agentscope three are always there, inside another.
    blocks = {"carrel": len(kinds), "agentscope": 4}.get(layout, 0)
    assert escape(text).count("&lt;") - text.count("&lt;") == 2 * blocks


@st.composite
def edits(draw, layout: str):
    files, _ = draw(workspaces(layout))
    path = draw(
        st.sampled_from(OPEN[layout] + PRIVATE[layout] + [".carrelignore", "new.md", "knowledge/new.md"])
    )
    text = draw(st.sampled_from([None, "", "Changed.", "*.md\n", "<!-- scope: private -->\nx", "Name: Ada"]))
    return files, path, text


@given(in_layout(edits), limits, scopes)
@settings(parent=QUICK, max_examples=60)
def test_after_any_change_of_a_file_the_next_assembly_is_a_fresh_ones(given_edit, file, scope):
    layout, (texts, path, text) = given_edit
    files = EphemeralFiles(texts)
    engine = assembler(files, layout)
    before = assemble(engine, file=file, scope=scope)
    old = files.read(path)
    if text is None:
        if old is not None:
            files.remove(path, expect=old.digest)
    else:
        files.write(path, text.encode(), expect=old.digest if old else None)
    after = assemble(engine, file=file, scope=scope)
    fresh = assemble(assembler(files, layout), file=file, scope=scope)
    if layout == "astra" and path == "SOUL.md":  # read once per process
        fresh = before
    assert after == fresh


@given(in_layout(workspaces), scopes)
@QUICK
def test_a_frozen_session_sends_the_same_bytes_whatever_becomes_of_its_files(given_workspace, scope):
    layout, (texts, _) = given_workspace
    files = EphemeralFiles(texts)
    engine = assembler(files, layout)
    first = assemble(engine, scope=scope, session="s1")
    frozen = json.loads(json.dumps({number: built.to_json() for number, built in first.frozen.items()}))
    inputs = Inputs(scope=scope, now=NOW, time_zone="UTC", session="s1")
    other = Assembler(replace(engine.ground, documents=Documents(EphemeralFiles()))).assemble(
        inputs, frozen=frozen
    )
    for number, built in first.frozen.items():
        assert other.frozen[number] == built
    again = engine.assemble(inputs, frozen=frozen, before=first.remember())
    assert again.messages == first.messages
    assert again.report.prefix == first.report.prefix


SCRIPT = """
import json, sys
from datetime import UTC, datetime, timedelta
from carrel.context.assemble import Assembler
from carrel.context.build import Ground
from carrel.context.inputs import Inputs, Recalled
from carrel.files.ephemeral import EphemeralFiles
from carrel.settings import AgentSettings, Settings
from carrel.tokens import Vocabulary
from carrel.workspace.counts import TokenCounts
from carrel.workspace.document import Documents
from carrel.workspace.layout import load_layout
from carrel.workspace.scope import Scope

names = ["Z.md", "a.md", "\\u00e9.md", "e\\u0301.md", "I.md", "i.md", "\\u0131.md", "AGENTS.md", "IDENTITY.md", "SOUL.md",
         "USER.md", "MEMORY.md", "memory/2026-04-24.md", "memory/2026-04-23-b.md", "notes/2026-04-24.md",
         "knowledge/KNOWLEDGE.md", "knowledge/z/1.md", "knowledge/a.md", "skills/b/SKILL.md", "skills/A/SKILL.md"]
order = sys.argv[1:] == ["backwards"]
texts = {prefix + name: f"Name: {name}\\nThe I\\u0307stanbul of {name}. " * 40
         for prefix in ("", "workspace/") for name in (reversed(names) if order else names)}
for layout in ("carrel", "astra", "nexo"):
    agent = AgentSettings(id="kate", system_prompt_template="{{agent.displayName}} {{date}} {{memory}}")
    engine = Assembler(Ground(
        layout=load_layout(layout), settings=Settings(), agent=agent, documents=Documents(EphemeralFiles(texts)),
        namespaces=Documents(EphemeralFiles()), counts=TokenCounts(Vocabulary(), None), location="/x/desk"))
    for scope in Scope:
        inputs = Inputs(scope=scope, now=datetime(2026, 4, 24, 23, 59, tzinfo=UTC), time_zone="UTC", session="s1",
                        query="q", recall=(Recalled(path="a", line=1, text="t"),))
        done = engine.assemble(inputs)
        sys.stdout.buffer.write(done.to_text().encode() + json.dumps(done.report.to_json()).encode())
"""


def test_the_same_files_and_inputs_give_the_same_bytes_in_any_process():
    environments = [
        ({"PYTHONHASHSEED": "1", "LC_ALL": "C", "TZ": "UTC"}, "forwards"),
        ({"PYTHONHASHSEED": "2", "LC_ALL": "tr_TR.UTF-8", "TZ": "Pacific/Kiritimati"}, "forwards"),
        ({"PYTHONHASHSEED": "3", "LC_ALL": "C.UTF-8", "TZ": "America/Los_Angeles"}, "backwards"),
    ]
    outputs = [
        subprocess.run(
            [sys.executable, "-c", SCRIPT, order],
            env=os.environ | environment,
            capture_output=True,
            check=True,
        ).stdout
        for environment, order in environments
    ]
    assert b"kate" in outputs[0]
    assert len(set(outputs)) == 1


days = st.sampled_from([NOW, NOW + timedelta(hours=1), NOW + timedelta(days=1)])
rooms = st.sampled_from([{}, {"window": 900}, {"beside": 500}])
asked = st.tuples(scopes, days, st.sampled_from([None, "s1"]), st.sampled_from([None, 40]), rooms)
# Astra reads its soul once per process, so that a fresh engine may read another.
told = st.sampled_from([layout for layout in LAYOUTS if layout != "astra"]).flatmap(
    lambda layout: st.tuples(
        st.just(layout),
        workspaces(layout),
        st.lists(st.tuples(asked, st.none() | st.sampled_from(OPEN[layout] + PRIVATE[layout])), max_size=12),
    )
)


@given(told)
@QUICK
def test_what_is_at_hand_is_what_a_fresh_engine_would_make(given_steps):
    layout, (start, _), steps = given_steps
    files = EphemeralFiles(start)
    engine = assembler(files, layout)
    for (scope, now, session, total, room), changed in steps:
        inputs = Inputs(scope=scope, now=now, time_zone="UTC", session=session, **room)
        budget = Budget(total=total)
        fresh = assembler(files, layout).assemble(inputs, budget=budget)
        assert engine.at_hand(inputs, budget=budget) in (None, fresh)
        assert engine.assemble(inputs, budget=budget) == fresh
        assert engine.at_hand(inputs, budget=budget) == fresh
        if changed is not None and (old := files.read(changed)) is not None:
            files.remove(changed, expect=old.digest)
        elif changed is not None:
            files.append(changed, b"Something new.\n")
