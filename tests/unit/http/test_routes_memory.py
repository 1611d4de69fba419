"""Memory over HTTP: sections, facts, review, changes, namespaces, dreams, and forgetting."""

import json

import pytest
from tests.unit.http.served import NOW, TOKEN, serving

from carrel.records.proposals import Proposal

PEOPLE = "/memory/section?file=MEMORY.md&section=People"


@pytest.fixture
def place(tmp_path):
    with serving(tmp_path) as place:
        yield place


def remember(place, text="All API calls go through src/lib/api.ts."):
    return place.told("POST", "/facts", {"text": text})["written"][0]["id"]


def propose(place, text="- Bob uses a Nokia.", key="1"):
    proposal = Proposal(
        key=key,
        at=NOW,
        agent="main",
        actor="extraction",
        action="append",
        why="external_source",
        reason="A web page said so.",
        path="MEMORY.md",
        section="People",
        new=text,
    )
    return place.workspace.records.proposals.add(proposal).id


# Sections


def test_the_sections_of_a_file_are_listed_with_their_tokens_and_the_tag_of_the_file(place):
    answer = place.ask("GET", "/memory/sections?file=MEMORY.md")
    assert [row["heading"] for row in answer.json()["sections"]] == ["People", "Decisions", "Open questions"]
    assert set(answer.json()["sections"][0]) == {"heading", "level", "line", "tokens", "address"}
    assert answer.headers["etag"] == place.ask("GET", "/files/MEMORY.md").headers["etag"]


def test_a_section_is_appended_to_and_read_and_replaced_over_the_version_that_was_read(place):
    assert place.told("POST", PEOPLE, {"text": "- Ana uses a Samsung."})["change"] == 1
    read = place.ask("GET", PEOPLE)
    assert "Samsung" in read.json()["text"]
    assert read.headers["etag"] == f'"{read.json()["digest"]}"'
    place.told("POST", "/memory/section?file=MEMORY.md&section=Decisions", {"text": "- JWT."})
    assert place.told("PUT", PEOPLE, {"text": "- Ana."}, If_Match=read.headers["etag"])["change"] == 3
    assert "- Ana.\n" in (place.root / "MEMORY.md").read_text()
    assert place.trail() == ["section.append", "section.append", "section.replace"]


def test_what_is_written_over_another_version_waits_among_the_proposals(place):
    old = place.ask("GET", PEOPLE).headers["etag"]
    place.told("PUT", PEOPLE, {"text": "- Ana."})
    assert place.refused("PUT", PEOPLE, {"text": "- Bob."}, If_Match=old) == (412, "section_conflict")
    assert "Bob" not in (place.root / "MEMORY.md").read_text()
    assert [row["new"] for row in place.told("GET", "/proposals")["items"]] == ["- Bob."]


@pytest.mark.parametrize(("method", "body"), [("POST", {"text": "x"}), ("PATCH", {"heading": "Folks"})])
def test_any_change_of_a_section_may_name_the_version_it_is_about(place, method, body):
    before = (place.root / "MEMORY.md").read_text()
    assert place.refused(method, PEOPLE, body, If_Match='"other"') == (412, "section_conflict")
    assert (place.root / "MEMORY.md").read_text() == before
    assert place.ask(method, PEOPLE, body, If_Match="*").status_code == 200


def test_a_section_is_renamed_or_moved_and_never_both(place):
    place.told("PATCH", PEOPLE, {"heading": "Folks"})
    place.told("PATCH", "/memory/section?file=MEMORY.md&section=Folks", {"after": "Decisions"})
    rows = place.told("GET", "/memory/sections?file=MEMORY.md")["sections"]
    assert [row["heading"] for row in rows] == ["Decisions", "Folks", "Open questions"]
    folks = "/memory/section?file=MEMORY.md&section=Folks"
    assert place.refused("PATCH", folks, {}) == (400, "rename_or_move")
    assert place.refused("PATCH", folks, {"heading": "A", "after": ""}) == (400, "rename_or_move")
    assert place.refused("GET", PEOPLE)[0] == 404


def test_shared_scope_reads_sections_of_what_it_may_see_and_changes_none(place):
    key = place.key("write", "shared")
    (place.root / "notes.md").write_text("# Open\n\nhello\n")
    assert place.told("GET", "/memory/sections?file=notes.md", key=key)["sections"][0]["heading"] == "Open"
    assert place.refused("GET", PEOPLE, key=key) == (403, "hidden_by_scope")
    notes = "/memory/section?file=notes.md&section=Open"
    assert place.refused("PUT", notes, {"text": "x"}, key=key) == (403, "hidden_by_scope")
    assert place.refused("PUT", f"{notes}&scope=shared", {"text": "x"}) == (403, "hidden_by_scope")


@pytest.mark.parametrize("file", ["../x.md", "a%00b.md", "/etc/passwd", "carrel.yaml", ""])
@pytest.mark.parametrize("method", ["GET", "PUT", "POST", "PATCH"])
def test_a_file_that_is_none_of_memory_is_never_changed(place, file, method):
    body = None if method == "GET" else {"heading": "x"} if method == "PATCH" else {"text": "x"}
    before = {path: path.read_text() for path in place.root.glob("[!.]*.*")}
    assert place.ask(method, f"/memory/section?file={file}&section=A", body).status_code in (400, 403, 404)
    assert {path: path.read_text() for path in place.root.glob("[!.]*.*")} == before


def test_a_text_with_a_nul_stays_a_text(place):
    place.told("PUT", PEOPLE, {"text": "a\0b"})
    assert "a\ufffdb" in place.told("GET", PEOPLE)["text"]


# Facts


def test_a_fact_is_added_listed_and_shown_with_the_change_that_wrote_it(place):
    fact = remember(place)
    assert [row["id"] for row in place.told("GET", "/facts")["items"]] == [fact]
    shown = place.told("GET", f"/facts/{fact}")
    assert shown["fact"]["trust"] == "owner"
    assert shown["change"]["path"] == shown["fact"]["path"]
    assert place.trail() == ["fact.add"]
    assert "api.ts" not in str(place.workspace.records.audit.events()[0].detail)


def test_facts_that_were_learnt_are_shown_with_what_was_said(place):
    said = [{"role": "user", "content": "My name is Ana.", "message_id": "m1"}]
    said += [{"role": "assistant", "content": "Hello Ana."}]
    place.told("POST", "/sessions/s1/entries", {"messages": said})
    learnt = place.told("POST", "/memory:extract", {"session": "s1"})
    fact = learnt["written"][0]
    assert learnt["turns"] == 1
    assert place.told("GET", f"/facts/{fact['id']}")["said"] == {"m1": "My name is Ana."}
    assert [row["id"] for row in place.told("GET", "/facts?session=s1")["items"]] == [fact["id"]]


def test_facts_come_in_pages_and_by_their_words(place):
    facts = [remember(place, f"The port of server {name} is {port}.") for name, port in (("A", 1), ("B", 2))]
    first = place.told("GET", "/facts?limit=1")
    assert [row["id"] for row in first["items"]] == facts[:1]
    assert first["next_cursor"] == facts[0]
    second = place.told("GET", f"/facts?limit=1&cursor={first['next_cursor']}")
    assert ([row["id"] for row in second["items"]], second["next_cursor"]) == (facts[1:], None)
    assert [row["id"] for row in place.told("GET", "/facts?query=SERVER+b")["items"]] == facts[1:]
    assert place.told("GET", "/facts?state=forgotten&state=refused")["items"] == []


def test_a_fact_is_pinned_and_let_go_of(place):
    fact = remember(place)
    assert place.told("POST", f"/facts/{fact}:pin")["pinned"] is True
    assert place.told("POST", f"/facts/{fact}:unpin")["pinned"] is False
    assert place.trail()[1:] == ["fact.pin", "fact.unpin"]


def test_what_nobody_knows_is_not_found(place):
    assert place.refused("GET", "/facts/none") == (404, "unknown_fact")
    assert place.refused("POST", "/facts/none:pin") == (404, "unknown_fact")
    assert place.refused("GET", "/facts?cursor=none") == (404, "unknown_fact")
    assert place.refused("POST", "/memory:extract", {"session": "none"}) == (404, "unknown_session")
    assert place.refused("GET", "/changes/7") == (404, "unknown_change")
    assert place.refused("POST", "/changes/7:undo") == (404, "unknown_change")
    assert place.refused("POST", "/dreams/7:revert") == (404, "unknown_dream")
    assert place.refused("GET", "/namespaces/none/export") == (404, "unknown_namespace")


def test_memory_tells_how_it_is_doing(place):
    remember(place)
    told = place.told("GET", "/memory/status")
    assert (told["agent"], told["enabled"], told["facts"]["written"], told["waiting"]) == ("main", True, 1, 0)


def test_the_journal_is_noted_in_and_consolidated(place):
    change = place.told("POST", "/journal", {"text": "Chose JWT.", "category": "decision"})["change"]
    assert "[decision] Chose JWT." in (place.root / "memory/2026-04-24.md").read_text()
    assert place.told("POST", "/memory:consolidate", {"dry_run": True})["dry_run"] is True
    assert place.told("POST", "/memory:consolidate", {})["dry_run"] is False
    assert place.told("GET", f"/changes/{change}")["diff"].count("+") >= 1
    assert place.refused("POST", "/journal", {"text": "x", "session": "../up"}) == (400, "bad_id")


# Review


def test_a_proposal_is_shown_and_approved_in_other_words(place):
    number = propose(place)
    shown = place.told("GET", f"/proposals/{number}")
    assert (shown["diff"], shown["proposal"]["why"]) == ("+- Bob uses a Nokia.", "external_source")
    approved = place.told("POST", f"/proposals/{number}:approve", {"text": "- Bob."})
    assert (approved["state"], approved["decided_by"]) == ("approved", "owner")
    assert "- Bob.\n" in (place.root / "MEMORY.md").read_text()
    assert place.refused("POST", f"/proposals/{number}:reject") == (409, "already_decided")
    assert place.trail() == ["proposal.approved"]


def test_several_proposals_are_decided_at_once_and_what_cannot_be_is_told(place):
    numbers = [propose(place, f"- {n}", key=str(n)) for n in range(3)]
    place.told("POST", f"/proposals/{numbers[0]}:approve", {})
    decided = {"numbers": numbers, "verdict": "rejected"}
    assert place.refused("POST", "/proposals:decide", decided) == (409, "not_all_decided")
    assert place.told("GET", "/proposals")["items"] == []
    assert place.trail() == ["proposal.approved", "proposal.rejected", "proposal.rejected"]
    again = {"numbers": numbers[1:], "verdict": "rejected"}
    assert [row["state"] for row in place.told("POST", "/proposals:decide", again)["proposals"]] == [
        "rejected",
        "rejected",
    ]


def test_proposals_come_in_pages_by_their_state(place):
    numbers = [propose(place, f"- {n}", key=str(n)) for n in range(3)]
    place.told("POST", f"/proposals/{numbers[0]}:reject")
    page = place.told("GET", "/proposals?limit=1")
    assert ([row["id"] for row in page["items"]], page["next_cursor"]) == ([numbers[1]], str(numbers[1]))
    assert [row["id"] for row in place.told("GET", "/proposals?state=rejected")["items"]] == numbers[:1]


def test_a_key_that_may_write_decides_nothing(place):
    number, key = propose(place), place.key("write", "main")
    assert place.told("GET", f"/proposals/{number}", key=key)["proposal"]["id"] == number
    assert place.refused("POST", f"/proposals/{number}:approve", {}, key=key) == (403, "beyond_key")
    assert place.refused("POST", "/changes:undo", {}, key=key) == (403, "beyond_key")
    forgetting = {"query": "Bob", "dry_run": False}
    assert place.refused("POST", "/memory:forget", forgetting, key=key) == (403, "beyond_key")


def test_the_trail_says_which_key_decided(place):
    number, key = propose(place), place.key("admin", "main")
    assert place.told("POST", f"/proposals/{number}:approve", {}, key=key)["decided_by"].startswith("key:")
    assert place.workspace.records.audit.events()[0].actor.startswith("key:")


# Changes


def test_changes_are_listed_shown_and_taken_back(place):
    for text in ("- One.", "- Two."):
        place.told("POST", PEOPLE, {"text": text})
    page = place.told("GET", "/changes?limit=1")
    assert [row["id"] for row in page["items"]] == [2]
    older = place.told("GET", f"/changes?limit=1&cursor={page['next_cursor']}")
    assert ([row["id"] for row in older["items"]], older["next_cursor"]) == ([1], None)
    assert "+- Two." in place.told("GET", "/changes/2")["diff"]
    assert [row["undoes"] for row in place.told("POST", "/changes:undo", {"count": 1})["undone"]] == [2]
    assert place.told("POST", "/changes/1:undo")["undone"][0]["undoes"] == 1
    assert "One" not in (place.root / "MEMORY.md").read_text()
    assert place.trail()[2:] == ["change.undo", "change.undo"]


def test_a_change_that_was_edited_over_is_not_taken_back(place):
    place.told("PUT", PEOPLE, {"text": "- One."})
    place.told("PUT", PEOPLE, {"text": "- Two."})
    assert place.refused("POST", "/changes/1:undo") == (409, "undo_conflict")


# Namespaces


def test_a_namespace_is_listed_switched_renamed_and_taken_along(place):
    place.told("POST", "/facts", {"text": "Prefers short replies.", "layer": "experience"})
    (row,) = place.told("GET", "/namespaces")["items"]
    assert (row["enabled"], row["facts"], row["profile"]) == (False, 1, None)
    changed = place.told("PATCH", f"/namespaces/{row['key']}", {"enabled": True, "title": "What I know"})
    assert (changed["enabled"], changed["title"]) == (True, "What I know")
    export = place.ask("GET", f"/namespaces/{row['key']}/export")
    assert "Prefers short replies." in export.text
    assert export.headers["content-type"].startswith("text/plain")
    assert export.headers["content-disposition"].startswith("attachment")
    assert place.trail()[1:] == ["namespace.rename", "namespace.enable"]


def test_a_key_of_one_workspace_does_not_reach_the_namespaces_of_another(place):
    place.told("POST", "/facts", {"text": "Prefers short replies.", "layer": "experience"})
    (own,) = place.told("GET", "/namespaces")["items"]
    folder = next(place.root.parent.rglob(f"{own['key']}.md")).parent
    (folder / "agent.other.kate.md").write_text("---\ntitle: Kate\nworkspace: /elsewhere\n---\n- secret\n")
    (folder / "agent.open.eve.md").write_text("---\ntitle: Eve\nworkspace: /elsewhere\nenabled: true\n---\n")
    key = place.key("admin", "main")
    assert len(place.told("GET", "/namespaces")["items"]) == 3
    seen = {row["key"] for row in place.told("GET", "/namespaces", key=key)["items"]}
    assert seen == {own["key"], "agent.open.eve"}
    other = "/namespaces/agent.other.kate"
    assert place.refused("GET", f"{other}/export", key=key) == (404, "unknown_namespace")
    assert place.refused("PATCH", other, {"enabled": True}, key=key) == (404, "unknown_namespace")
    assert place.refused("PATCH", "/namespaces/agent.open.eve", {"title": "x"}, key=key)[0] == 404


# Dreams


def test_a_dream_is_run_dry_and_for_good_and_taken_back(place):
    assert place.told("POST", "/dreams", {"dry_run": True})["run"] is None
    assert place.told("GET", "/dreams")["items"] == []
    assert place.told("GET", "/dreams/candidates")["candidates"] == []
    run = place.told("POST", "/dreams", {})["run"]
    assert place.told("GET", "/dreams/status")["last"] == run
    assert [row["id"] for row in place.told("GET", "/dreams")["items"]] == [run["id"]]
    assert place.told("POST", f"/dreams/{run['id']}:revert")["state"] == "reverted"
    assert place.trail() == ["dream.run", "dream.revert"]


# Forgetting


def test_forgetting_only_looks_unless_it_is_told_to_do_it(place):
    fact = remember(place, "Ana uses a Samsung.")
    looked = place.told("POST", "/memory:forget", {"facts": [fact]})
    assert (looked["dry_run"], [row["id"] for row in looked["facts"]]) == (True, [fact])
    assert place.told("GET", f"/facts/{fact}")["fact"]["state"] == "written"
    done = place.told("POST", "/memory:forget", {"query": "Samsung", "dry_run": False, "purge": True})
    assert done["dry_run"] is False
    assert "Samsung" not in "".join(path.read_text() for path in place.root.rglob("*.md"))
    event = place.workspace.records.audit.events()[0]
    assert (event.action, event.target) == ("memory.forget", "")
    assert "Samsung" not in json.dumps(event.detail)


def test_what_is_not_named_or_not_there_is_not_forgotten(place):
    assert place.refused("POST", "/memory:forget", {}) == (400, "forget_what")
    assert place.refused("POST", "/memory:forget", {"session": "none"})[0] == 404
    assert place.refused("POST", "/memory:forget", {"file": "../x"}) == (400, "bad_path")


# Who may, and hostile values

GETS = (
    "/facts", "/facts/x", "/memory/status", "/proposals", "/proposals/1", "/changes", "/changes/1",
    "/namespaces", "/namespaces/x/export", "/dreams", "/dreams/candidates", "/dreams/status",
)  # fmt: skip
POSTS = (
    "/facts", "/facts/x:pin", "/facts/x:unpin", "/memory:extract", "/memory:consolidate", "/journal",
    "/proposals/1:approve", "/proposals/1:reject", "/proposals:decide", "/changes/1:undo", "/changes:undo",
    "/dreams", "/dreams/1:revert", "/memory:forget",
)  # fmt: skip
ALL = [("GET", path) for path in GETS] + [("POST", path) for path in POSTS] + [("PATCH", "/namespaces/x")]


@pytest.mark.parametrize(("method", "path"), ALL)
def test_no_key_of_shared_scope_reaches_memory_and_no_reader_changes_it(place, method, path):
    body = None if method == "GET" else {}
    assert place.refused(method, path, body, key=place.key("admin", "shared")) == (403, "hidden_by_scope")
    assert place.refused(method, f"{path}?scope=shared", body) == (403, "hidden_by_scope")
    if method != "GET":
        assert place.refused(method, path, body, key=place.key("read", "main")) == (403, "beyond_key")
    assert place.ask(method, path, body, key="x").status_code == 401
    assert place.trail() == []


BODIES = (
    b"", b"[]", b"nul", b"{", b'{"text": "\\ud800"}', b'{"text": 1}', b'{"text": null, "x": 1}', b"\xff",
    b'{"numbers": [99999999999999999999999], "verdict": "approved"}', b'{"numbers": [-1], "verdict": "x"}',
    b'{"count": 1e400}', b'{"count": 99999999999999999999}', b'{"facts": ["\\u0000"]}', b"[" * 5_000,
    b'{"session": "\\u0000"}', b'{"session": "../../x"}', b'{"kind": "' + b"n" * 100_000 + b'"}',
    b'{"title": "\\u0000\\u202e"}', b'{"file": "\\u0000"}', b'{"query": "\\u0000"}', b'{"sender": "\\u0000"}',
    b'{"text": "\\u0000", "category": "note"}', b'{"text": "   "}', b'{"text": "x", "section": "\\u0000#\\n"}',
    b'{"text": "x", "subject": "../../\\u0000", "kind": "entity"}',
)  # fmt: skip


@pytest.mark.parametrize("body", BODIES)
def test_no_body_breaks_anything(place, body):
    propose(place)
    for method, path in [*ALL, ("PUT", PEOPLE), ("POST", PEOPLE), ("PATCH", PEOPLE)]:
        if method != "GET":
            answer = place.ask(method, path, body)
            assert answer.status_code in (200, 400, 403, 404, 409), (path, answer.text)


@pytest.mark.parametrize(
    "value",
    ["%00", "-1", "0", "9" * 30, "9" * 5_000, "x", "../../etc", "%2e%2e%2f", "%ED%A0%80", "1e400", "'"],
)
def test_no_parameter_breaks_anything(place, value):
    remember(place)
    paths = [f"/facts/{value}", f"/proposals/{value}", f"/changes/{value}", f"/namespaces/{value}/export"]
    for name in ("limit", "cursor", "state", "session", "path", "query", "agent", "scope"):
        for listing in ("/facts", "/proposals", "/changes", "/dreams", "/dreams/candidates", "/namespaces"):
            paths.append(f"{listing}?{name}={value}")  # noqa: PERF401 - plain to read
    for path in paths:
        assert place.ask("GET", path).status_code in (200, 400, 403, 404), path
    for path in (f"/dreams/{value}:revert", f"/changes/{value}:undo", f"/facts/{value}:pin"):
        assert place.ask("POST", path).status_code in (400, 404), path


def test_the_token_is_told_to_nobody(place):
    for method, path in ALL:
        assert TOKEN not in place.ask(method, path, None if method == "GET" else {}).text


@pytest.mark.parametrize("section", ["two\nlines", "/".join("abcdefghij"), "\x85", " \u2028x"])
def test_a_fact_below_what_can_be_no_heading_is_refused_and_not_planned(place, section):
    answer = place.ask("POST", "/facts", {"text": "Ana uses a Samsung.", "section": section})
    assert answer.status_code in (200, 400), answer.text
    assert place.told("GET", "/facts?state=planned")["items"] == []
