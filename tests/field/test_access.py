"""Who got what was not theirs: by a name that was missing, that led elsewhere, or that a program believed."""

import json
from contextlib import suppress

import pytest
from tests.field.talk import agent, log_path, long_talk, user
from tests.unit.http.served import serving

from carrel import CarrelError, Workspace
from carrel.files.paths import BadPath
from carrel.index import Filter
from carrel.sessions.places import valid_session

HOSTILE_IDS = (
    "../../evil", "..", ".", "", "/etc/evil", "a/b", "a\\b", "%2e%2e%2fevil", "a\0b", "-rf", "~root", "C:evil",
    "x" * 129, "\u202eevil", "evil.", "con", "a\nb",
)  # fmt: skip


def test_workspaces_of_one_home_with_agents_of_one_name_share_nothing(cli, tmp_path):
    """None is trusted, so that their records and experience all lie in the home of one user."""
    words = {"north": "walrus", "south": "penguin", "east": "camel"}
    for place, word in words.items():
        (tmp_path / place).mkdir()
        (tmp_path / place / "carrel.yaml").write_text("layout: carrel\nagents: [{id: kate}]\n")
        with Workspace.open(tmp_path / place) as workspace:
            workspace.record("s1", [user(f"Remember the {word}."), agent(f"The {word}, yes.")])
            workspace.memory.add(f"The {word} lives here.")
            workspace.memory.add(f"Any {word} is loud.", layer="experience")
            workspace.prepare("s1", f"What of the {word}?")
    for place, word in words.items():
        told = "".join(
            cli("-C", tmp_path / place, *line).text
            for line in (
                ["context", "show", "--session", "s1", "--query", "walrus penguin camel"],
                ["memory", "facts", "--json"], ["memory", "history", "--json"], ["sessions", "list", "--json"],
                ["search", "walrus penguin camel", "--json"], ["dream", "candidates", "--json"],
            )
        )  # fmt: skip
        assert word in told
        told = told.replace("walrus penguin camel", "")
        assert [other for other in words.values() if other != word and other in told] == []


@pytest.mark.parametrize(
    "address", ["pg://", "pg:///desk", "pg://tenant", "pg://tenant/", "pg:// /desk", "pg://../desk"]
)
def test_an_address_without_a_tenant_or_a_name_is_refused_and_nobody_s_is_taken(cli, address):
    cli.set(CARREL_DATABASE="postgresql://127.0.0.1:1/never")
    outcome = cli("-C", address, "memory", "facts", "--json")
    assert outcome.error["code"] != "database_down"
    assert outcome.code in (2, 3)


def test_an_agent_that_is_not_named_where_there_are_several_is_nobody(cli, sample):
    sample.put({"carrel.yaml": "layout: carrel\nagents: [{id: kate}, {id: milo}]\n"})
    before = sample.snapshot()
    outcome = cli("-C", sample, "memory", "add", "The walrus lives here.", "--json")
    assert outcome.error["code"] == "agent_required"
    assert sample.snapshot() == before


@pytest.mark.parametrize("session", HOSTILE_IDS)
def test_an_id_that_could_be_a_path_is_refused_by_the_library_and_makes_no_file(
    cli, sample, tmp_path, session
):
    before = sorted(path for path in tmp_path.rglob("*") if path.is_file())
    with Workspace.open(sample) as workspace:
        for call in (
            lambda: workspace.record(session, [user("Hi.")]),
            lambda: workspace.prepare(session, "Hi."),
            lambda: workspace.compact(session),
            lambda: workspace.update_session_index(session, title="x"),
            lambda: workspace.tools(session=session),
        ):
            with pytest.raises(CarrelError) as caught:
                call()
            assert caught.value.code == "bad_id"
    after = sorted(path for path in tmp_path.rglob("*") if path.is_file())
    assert [path for path in after if path not in before and (cli.home not in path.parents)] == []


def test_what_a_log_or_a_catalog_says_of_itself_names_no_path(cli, sample, tmp_path):
    evil = "../../../../evil"
    with Workspace.open(sample) as workspace:
        long_talk(workspace)
    log = log_path(sample.path)
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    lines[0] |= {"id": evil, "agent_id": "kate", "path": evil, "sessionFile": evil}
    log.write_text("".join(json.dumps(line) + "\n" for line in lines))
    catalog = log.with_name("sessions.json")
    row = {
        "id": evil,
        "title": "x",
        "summary": "",
        "updatedAt": "2026-01-01T00:00:00.000Z",
        "sessionFile": evil,
    }
    catalog.write_text(json.dumps({"version": 1, "sessions": {evil: row, "s1": row}}))
    with Workspace.open(sample) as workspace:
        workspace.record("s1", [user("And now?"), agent("Now.")])
        workspace.compact("s1")
        workspace.update_session_index("s1", title="A title")
    (row,) = cli("-C", sample, "sessions", "list", "--json").document["sessions"]
    assert (row["id"], row["title"]) == ("s1", "A title")
    assert cli("-C", sample, "sessions", "fork", "s1", "--to", "s2").code == 0
    assert cli("-C", sample, "sessions", "delete", "s1", "--yes").code == 0
    assert [path for top in (tmp_path, sample.path.parent) for path in top.rglob("*evil*")] == []
    for path in (sample / "agents/kate/sessions").iterdir():
        valid_session(path.name.split(".", 1)[0])


INJECTIONS = (
    "' OR 1=1 --",
    '"; DROP TABLE facts; --',
    "%",
    "_",
    "\\",
    "x' UNION SELECT text FROM facts --",
    "\0",
    "(",
    "*:*",
)


def test_no_value_or_name_of_a_filter_is_code(cli, sample):
    cli("trust", sample)
    cli("-C", sample, "memory", "add", "The walrus lives here.")
    with Workspace.open(sample) as workspace:
        for text in INJECTIONS:
            for name in ("tiers", "agents", "sections", "tags", "paths", "sessions"):
                for mode in ("hybrid", "lexical", "literal"):
                    within = Filter(**{name: (text,)})
                    with suppress(BadPath):  # of a filter by path
                        assert workspace.search("walrus", mode=mode, within=within).hits == (), (name, text)
            assert workspace.memory.facts(session=text, path=text) == []
        assert workspace.search("walrus").hits
        assert len(workspace.memory.facts()) == 1


def test_no_name_in_an_address_is_code_either(tmp_path):
    with serving(tmp_path) as place:
        place.told("POST", "/facts", {"text": "The walrus lives here."})
        for text in INJECTIONS:
            asked = {
                "q": "walrus",
                text: "1",
                f"filter[{text}]": "1",
                "tier": text,
                "sort": text,
                "order_by": text,
            }
            answer = place.client.get(
                "/api/v1/w/default/search", params=asked, headers={"Authorization": f"Bearer {'t' * 43}"}
            )
            assert answer.status_code < 500
        assert len(place.told("GET", "/facts")["items"]) == 1


@pytest.mark.parametrize("token", ["", " ", " " * 43, "secret", "changeme" * 3])
def test_a_server_whose_token_is_blank_or_could_be_guessed_does_not_start(cli, sample, token):
    kept = cli.home / "data/server.token"
    kept.parent.mkdir(parents=True)
    kept.write_text(token)
    kept.chmod(0o600)
    outcome = cli("-C", sample, "serve", "--port", "0", "--json")
    assert (outcome.code, outcome.error["code"]) == (6, "token_exposed")
    if token:
        cli.set(CARREL_TOKEN=token)
        outcome = cli("-C", sample, "serve", "--port", "0", "--json")
        assert (outcome.code, outcome.error["code"]) == (2, "weak_token")
