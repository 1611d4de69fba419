"""A workspace of one layout in another: each piece is at its new place, and is found again."""

from itertools import product

import pytest
from tests.stubs import extensions as stub
from tests.unit.importing.desks import AGENT, PLACES, PRIVATE, WORDS, furnish, rows_of, write

from carrel.app import Workspace
from carrel.backing import create
from carrel.importing import bring_in
from carrel.workspace.layout import LAYOUTS, UnknownLayout

PAIRS = list(product(LAYOUTS, LAYOUTS))

# What the prompt of a layout holds of the pieces that a carrel workspace has.
IN_PROMPT = {
    "carrel": {"agents", "soul", "identity", "user", "extra", "memory", "own", "skill"},
    "astra": {"agents", "soul", "identity", "user", "extra", "memory", "own"},
    "agentscope": {"agents", "memory", "own"},
    "nexo": {"agents", "soul", "identity", "user", "memory", "own"},
    "squad": {"memory", "own"},
    "openclaw": {"agents", "soul", "identity", "user", "memory", "own"},
}


@pytest.fixture
def environ(tmp_path):
    return {"CARREL_HOME": str(tmp_path / "home"), "CARREL_NOW": "2026-04-24T12:00:00Z"}


def opened(root, environ):
    Workspace.trust(root, environ=environ)
    return Workspace.open(root, environ=environ)


def text(desk, path):
    return (desk.root / path).read_text()


@pytest.mark.parametrize(("here", "there"), PAIRS)
def test_every_piece_of_any_layout_is_found_again_in_any_other(tmp_path, environ, here, there):
    source = furnish(tmp_path / "old", here)
    with opened(furnish(tmp_path / "new", there, pieces=()), environ) as desk:
        done = bring_in(desk, source, mine=True)
        assert {row.action for row in done.rows} <= {"new", "merge", "beside"} | {"skipped"}, done.rows
        assert [row.source for row in done.rows if row.action == "skipped"] == []
        for piece in PLACES[here]:
            assert desk.search(WORDS[piece], mode="lexical", limit=3).hits, piece
        prompt = "\n".join(message.to_text() for message in desk.assemble().messages)
        expected = IN_PROMPT[there] & PLACES[here].keys()
        assert {piece for piece in expected if WORDS[piece] not in prompt} == set()
        assert desk.sessions.row("s1").entries == 2
        assert [row.action for row in bring_in(desk, source, mine=True).rows if row.action != "same"] == []


@pytest.mark.parametrize(("here", "there"), PAIRS)
def test_what_was_private_stays_private_in_any_other_layout(tmp_path, environ, here, there):
    source = furnish(tmp_path / "old", here)
    pieces = PLACES[here] if here == "nexo" else PRIVATE
    seen = {"agents", "soul", "identity"} if here == "nexo" else set()
    with opened(furnish(tmp_path / "new", there, pieces=()), environ) as desk:
        bring_in(desk, source, mine=True)
        prompt = "\n".join(message.to_text() for message in desk.assemble(scope="shared").messages)
        for piece in set(pieces) & PLACES[here].keys() - seen:
            assert not desk.search(WORDS[piece], mode="lexical", scope="shared").hits, piece
            assert WORDS[piece] not in prompt


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_directory_is_taken_as_it_is(tmp_path, environ, layout):
    root = furnish(tmp_path / "desk", layout)
    before = {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}
    with Workspace.open(root, environ=environ) as desk:
        done = bring_in(desk, root)
    assert (done.in_place, done.kind, done.layout) == (True, layout, layout)
    assert {row.source for row in done.rows} >= set(PLACES[layout].values())
    assert {path: path.read_bytes() for path in root.rglob("*") if path.is_file()} == before


def test_what_a_layout_has_no_place_for_is_kept_and_told(tmp_path, environ):
    source = furnish(tmp_path / "old", "carrel")
    with opened(furnish(tmp_path / "new", "agentscope", pieces=()), environ) as desk:
        done = bring_in(desk, source, mine=True)
    assert rows_of(done)["SOUL.md"] == ("beside", "memory/imported/carrel/SOUL.md")
    assert rows_of(done)["plans/q2.md"] == ("beside", "memory/imported/carrel/plans/q2.md")
    assert rows_of(done)["carrel.yaml"] == ("beside", "memory/imported/carrel/carrel.yaml.txt")
    assert all(row.reason for row in done.rows if row.action == "beside")


def test_without_the_owners_word_nothing_enters_what_every_prompt_holds(tmp_path, environ):
    source = furnish(tmp_path / "old", "nexo")
    with opened(furnish(tmp_path / "new", "carrel", pieces=()), environ) as desk:
        done = bring_in(desk, source)
        prompt = "\n".join(message.to_text() for message in desk.assemble().messages)
        assert [
            piece for piece in ("agents", "soul", "user", "memory", "own", "skill") if WORDS[piece] in prompt
        ] == []
        rows = rows_of(done)
        assert rows["knowledge/api.md"][0] == "new"
        assert rows["MEMORY.md"] == ("proposal", "MEMORY.md")
        assert desk.records.facts.cursor(AGENT, "s1") == 2
        desk.memory.review.approve(desk.memory.review.all_waiting(), by="owner")
        prompt = "\n".join(message.to_text() for message in desk.assemble().messages)
        assert [piece for piece in ("agents", "soul", "user", "memory") if WORDS[piece] not in prompt] == []
        assert {row.action for row in bring_in(desk, source).rows} == {"same"}


def test_a_sample_that_nobody_changed_gives_way_and_a_changed_one_stays(tmp_path, environ):
    source = furnish(tmp_path / "old", "carrel", pieces=("agents", "soul"))
    Workspace.init(tmp_path / "new", environ=environ)
    write(tmp_path / "new", "SOUL.md", "My own soul.\n")
    with Workspace.open(tmp_path / "new", environ=environ) as desk:
        rows = rows_of(bring_in(desk, source, mine=True))
        assert rows["AGENTS.md"] == ("new", "AGENTS.md")
        assert rows["SOUL.md"] == ("beside", "memory/imported/carrel/SOUL.md")
        assert text(desk, "AGENTS.md") == "Greet the albatross.\n"
        assert text(desk, "SOUL.md") == "My own soul.\n"
        assert desk.memory.undo()[0].path == "AGENTS.md"
        assert "albatross" not in text(desk, "AGENTS.md")


def test_notebooks_are_merged_section_by_section_and_journals_line_by_line(tmp_path, environ):
    source = furnish(tmp_path / "old", "nexo", pieces=("memory", "day"))
    new = furnish(tmp_path / "new", "carrel", pieces=())
    write(new, "MEMORY.md", "# Memory\n\n## People\n\n- Luis has a dog.\n\n## Places\n\n- Bogota.\n")
    write(new, "memory/2026-04-20.md", "- 09:00 [note] woke up\n")
    with opened(new, environ) as desk:
        rows = bring_in(desk, source, mine=True).rows
        assert {row.action for row in rows if row.target in ("MEMORY.md", "memory/2026-04-20.md")} == {
            "merge"
        }
        assert text(desk, "MEMORY.md") == (
            "# Memory\n\n## People\n\n- Luis has a dog.\n- Ana has a macaw.\n\n## Places\n\n- Bogota.\n"
        )
        assert text(desk, "memory/2026-04-20.md") == "- 09:00 [note] woke up\n- 10:00 [note] saw a dunlin\n"


def test_a_session_that_went_on_is_brought_up_to_date_and_another_one_is_kept_beside(tmp_path, environ):
    source = furnish(tmp_path / "old", "nexo", pieces=("session",))
    with opened(furnish(tmp_path / "new", "carrel", pieces=()), environ) as desk:
        assert rows_of(bring_in(desk, source))["transcripts/s1.jsonl"][0] == "new"
        with (source / "transcripts/s1.jsonl").open("a") as log:
            log.write('{"type":"entry","role":"user","content":"And the dodo?","message_id":"m3"}\n')
        assert rows_of(bring_in(desk, source))["transcripts/s1.jsonl"][0] == "merge"
        assert desk.sessions.row("s1").entries == 3
        write(
            source,
            "transcripts/s1.jsonl",
            '{"type":"entry","role":"user","content":"Other.","message_id":"z"}\n',
        )
        assert rows_of(bring_in(desk, source))["transcripts/s1.jsonl"][0] == "beside"
        assert desk.sessions.row("s1").entries == 3


def test_each_of_several_agents_stays_who_it_is(tmp_path, environ):
    source = furnish(tmp_path / "old", "squad")
    write(source, "agents/lou/memory.md", "## Insights\n\n- A lapwing.\n")
    write(source, ".squad-config.json", '{"config":{"agents":[{"id":"kate"},{"id":"lou"}]}}')
    with opened(furnish(tmp_path / "new", "carrel", pieces=()), environ) as desk:
        rows = rows_of(bring_in(desk, source, mine=True))
        assert rows["agents/lou/memory.md"][1] == "agents/lou/memory.md"
        assert rows["agents/kate/memory.md"][1] == "agents/kate/memory.md"
        assert desk.search("lapwing", mode="lexical").hits


def test_an_only_agent_becomes_the_one_that_is_here(tmp_path, environ):
    source = furnish(tmp_path / "old", "carrel", pieces=("own", "session"))
    Workspace.init(tmp_path / "new", environ=environ)
    with Workspace.open(tmp_path / "new", environ=environ) as desk:
        rows = rows_of(bring_in(desk, source, mine=True))
        assert rows["memory/kate.md"][1] == "memory/main.md"
        assert rows["agents/kate/sessions/s1.log.jsonl"][1] == "agents/main/sessions/s1.log.jsonl"
        assert desk.sessions.row("s1").agent_id == "main"


def test_two_files_for_one_place_wait_once(tmp_path, environ):
    source = furnish(tmp_path / "old", "squad", pieces=("memory",))
    write(source, "MEMORY.md", (source / "agents/kate/memory.md").read_text())
    with opened(furnish(tmp_path / "new", "nexo", pieces=()), environ) as desk:
        bring_in(desk, source)
        assert len(desk.memory.review.waiting()) == 1
        assert {row.action for row in bring_in(desk, source).rows} == {"same"}
        assert len(desk.memory.review.waiting()) == 1


DESK = """name: desk
marker: "[cut {name}]"
journal: days
sessions: {log: "logs/{session}.jsonl"}
private: [ABOUT-ME.md]
messages: [{parts: [{kind: documents, files: ["*.md"]}]}]
"""


@pytest.fixture
def of_outside(tmp_path):
    """A workspace whose layout is a file of its own."""
    root = tmp_path / "old"
    write(root, "carrel.yaml", "layout: ./desk-layout.yaml\n")
    write(root, "desk-layout.yaml", DESK)
    write(root, "ABOUT-ME.md", "Luis, in Bogota.\n")
    write(root, "days/2026-04-20.md", "- It rained.\n")
    return root


@pytest.mark.parametrize("packed", [False, True], ids=["a directory", "an export"])
def test_a_layout_from_outside_says_what_is_what_in_its_workspace(tmp_path, environ, of_outside, packed):
    source = of_outside
    if packed:
        source = tmp_path / "old.zip"
        create(of_outside, source, environ=environ)
    with opened(furnish(tmp_path / "new", "carrel", pieces=()), environ) as desk:
        done = bring_in(desk, source, mine=True)
        assert done.kind == "desk"
        assert "It rained" in text(desk, "memory/2026-04-20.md")
        assert desk.read("ABOUT-ME.md")
        assert desk.read("ABOUT-ME.md", scope="shared") is None


def test_a_layout_that_is_not_here_is_missed_and_another_can_be_said(tmp_path, environ, of_outside):
    write(of_outside, "carrel.yaml", "layout: far-desk\n")
    with opened(furnish(tmp_path / "new", "carrel", pieces=()), environ) as desk:
        with pytest.raises(UnknownLayout, match="far-desk"):
            bring_in(desk, of_outside, mine=True)
        assert bring_in(desk, of_outside, kind="carrel", mine=True).kind == "carrel"


def test_a_source_cannot_say_whose_code_reads_it(tmp_path, environ, of_outside, monkeypatch):
    site = stub.make(
        tmp_path / "site", "carrel-far", "[carrel.importers]\nfar = far_reader:read\n", far_reader="1 / 0"
    )
    stub.install(monkeypatch, site)
    write(of_outside, "carrel.yaml", "layout: far\n")
    create(of_outside, tmp_path / "old.zip", environ=environ)
    with opened(furnish(tmp_path / "new", "carrel", pieces=()), environ) as desk:
        for source in (of_outside, tmp_path / "old.zip"):
            with pytest.raises(UnknownLayout):
                bring_in(desk, source)


def test_an_agent_may_stand_twice_in_the_path_of_its_sessions(tmp_path, environ, of_outside):
    log = "logs/{agent}/{agent}-{session}.jsonl"
    write(of_outside, "desk-layout.yaml", DESK.replace("logs/{session}.jsonl", log))
    with opened(furnish(tmp_path / "new", "carrel", pieces=()), environ) as desk:
        assert bring_in(desk, of_outside, mine=True).kind == "desk"
