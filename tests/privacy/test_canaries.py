"""A sentence in every private kind of file: nothing that shared scope can reach repeats it, or names the file."""

import json
import os

import pytest
from tests.privacy.canaries import CANARY, FORMS, LAYOUTS, PRIVATE, PUBLIC

from carrel import CarrelError, Workspace
from carrel.workspace.namespace import namespace_of


@pytest.fixture(params=sorted(LAYOUTS))
def layout(request):
    return request.param


@pytest.fixture
def owned(layout, desk, cli):
    public, private = LAYOUTS[layout]
    desk.put({"carrel.yaml": f"layout: {layout}\nagents: [{{id: kate, displayName: Kate}}]\n"})
    desk.put(public)
    desk.put({path: text for path, (text, _) in private.items()})
    if layout == "carrel":  # the only layout of the three that reads what the agent learnt elsewhere
        with Workspace.open(desk) as workspace:
            namespace = namespace_of(workspace.agent, "Kate", str(desk.path))
        folder = cli.home / "data/namespaces"
        folder.mkdir(parents=True)
        (folder / namespace.path).write_text(f"---\ntitle: The heron's title\n---\n{CANARY}\n")
    return desk


def names(layout):
    """What must not be told of private files: their paths, and the names that would give them away."""
    return [path for path in LAYOUTS[layout][1] if path != "other.md"]


# Said to every agent of this layout, whether there is such a file or not.
GUIDANCE = "Memory: MEMORY.md is the curated part."


def assert_says_nothing(text, paths):
    text = text.replace(GUIDANCE, "")
    assert CANARY not in text
    assert "heron" not in text
    for path in paths:
        assert path not in text, path
    for word in ("ledger", "USER", "MEMORY", "DREAMS"):
        assert word not in text, word


@pytest.mark.parametrize("words", FORMS, ids=" ".join)
def test_no_form_of_any_command_tells_shared_scope_of_them(cli, owned, layout, words):
    outcome = cli("-C", owned, "--scope", "shared", *words)
    assert outcome.code == 0
    assert_says_nothing(outcome.text + outcome.warnings, names(layout))
    assert PUBLIC in outcome.text or words[:2] != ["context", "show"]


def test_no_command_tells_shared_scope_of_them_after_the_owner_s_own_call(cli, owned, layout):
    assert CANARY in cli("-C", owned, "context", "show", "--prepare", "--session", "s1").text
    for words in (*FORMS, ["context", "show", "--prepare", "--session", "s1", "--json"]):
        outcome = cli("-C", owned, "--scope", "shared", *words)
        assert_says_nothing(outcome.text + outcome.warnings, names(layout))


def test_what_is_gone_is_not_told_by_what_changed(cli, desk):
    desk.put({"AGENTS.md": PUBLIC, "MEMORY.md": CANARY})
    assert CANARY in cli("-C", desk, "context", "show", "--prepare", "--session", "s1").text
    document = cli("-C", desk, "--scope", "shared", "context", "report", "--session", "s1", "--json").document
    assert document["prefix"]["changed_by"]["cause"] == "scope"
    assert "MEMORY" not in json.dumps(document)


def test_main_scope_shows_them(cli, owned, layout):
    text = cli("-C", owned, "context", "show").text
    shown = [path for path, (_, is_shown) in LAYOUTS[layout][1].items() if is_shown]
    experience = 1 if layout == "carrel" else 0
    assert text.count(CANARY) == len(shown) + experience
    assert cli("-C", owned, "context", "report", "--json").document["hidden"] == 0


def test_the_hidden_are_counted(cli, owned, layout):
    shown = sum(is_shown for _, is_shown in LAYOUTS[layout][1].values())
    # In carrel the listing names knowledge/heron.md, and the agent's experience lies outside the workspace.
    expected = shown + 2 if layout == "carrel" else shown
    document = cli("-C", owned, "--scope", "shared", "context", "report", "--json").document
    assert document["hidden"] == expected
    assert (
        f"{expected} hidden" in cli("-C", owned, "--scope", "shared", "context", "report", "--oneline").text
    )


def test_a_missing_private_file_is_not_told_apart_from_one_that_is_there(cli, desk):
    desk.put({"AGENTS.md": PUBLIC})
    document = cli("-C", desk, "--scope", "shared", "context", "report", "--json").document
    assert document["hidden"] == 0
    assert_says_nothing(json.dumps(document), ["memory/"])


def answer_to_others(workspace, path):
    """Return what shared scope is told of a path: the code of a refusal, or the text."""
    try:
        return workspace.read(path, scope="shared")
    except CarrelError as error:
        return error.code if CANARY not in str(error) + error.hint else CANARY


def test_reading_by_path_is_refused_without_saying_whether_there_is_anything(owned, layout, cli):
    with Workspace.open(owned) as workspace:
        for path in LAYOUTS[layout][1]:
            assert CANARY in (workspace.read(path) or "")
            told = answer_to_others(workspace, path)
            assert told in ("hidden_by_scope", None)
            (owned / path).unlink()
            assert answer_to_others(workspace, path) == told
        for absent in ("MEMORY.md", "memory/1999-01-01.md", "notes/1999-01-01.md"):
            if layout == "nexo" or not absent.startswith("notes"):
                with pytest.raises(CarrelError) as caught:
                    workspace.read(absent, scope="shared")
                assert caught.value.code == "hidden_by_scope"


def test_other_spellings_of_a_private_path_are_refused_too(owned, layout, cli):
    home = "workspace/" if layout == "astra" else ""
    spellings = [
        f"{home}./USER.md",
        f"{home}/USER.md",
        f"./{home}USER.md",
        f"{home}user.md",
        f"{home}User.MD",
    ]
    spellings += [
        f"{home}knowledge/../USER.md",
        f"{home}USER.md/",
        f"{home}USER.md\0",
        "~/USER.md",
    ]
    with Workspace.open(owned) as workspace:
        for spelling in spellings:
            with pytest.raises(CarrelError) as caught:
                workspace.read(spelling, scope="shared")
            assert caught.value.code in ("hidden_by_scope", "bad_path"), spelling


def test_readers_by_name_keep_to_the_scope(owned, layout, cli):
    with Workspace.open(owned) as workspace:
        assert PUBLIC in (workspace.read_agents(scope="shared") or "")
        with pytest.raises(CarrelError) as caught:
            workspace.read_memory(scope="shared")
        assert caught.value.code == "hidden_by_scope"
        with pytest.raises(CarrelError) as caught:
            workspace.read_memory(scope="everyone")
        assert caught.value.code == "unknown_scope"


def test_private_knowledge_is_none_to_others(desk, cli):
    desk.put({"AGENTS.md": PUBLIC, "knowledge/KNOWLEDGE.md": PRIVATE})
    with Workspace.open(desk) as workspace:
        assert CANARY in (workspace.read_knowledge() or "")
        assert workspace.read_knowledge(scope="shared") is None
    assert_says_nothing(cli("-C", desk, "--scope", "shared", "context", "show").text, [])


@pytest.fixture
def nested(desk):
    desk.put({"AGENTS.md": PUBLIC, "pub/a.md": PUBLIC, "pub/lawsuit/p.md": PRIVATE, "pub/x/y/p.md": PRIVATE})
    (desk / "pub/link").symlink_to("lawsuit")
    with Workspace.open(desk) as workspace:
        yield workspace


def test_a_listing_for_others_names_no_folder_of_private_files_and_no_link_to_one(nested):
    assert [entry.path for entry in nested.list("pub", scope="shared")] == ["pub/a.md"]
    for path in ("pub/x", "pub/x/y", "pub/lawsuit", "pub/link", "pub/none", "pub/lawsuit/p.md/x", "memory"):
        assert nested.list(path, scope="shared") == []
    named = ["pub/a.md", "pub/lawsuit", "pub/link", "pub/x"]
    assert [entry.path for entry in nested.list("pub")] == named
    assert nested.list("pub/none") == []


@pytest.mark.parametrize("words", [("files", "tree"), ("files", "cat")], ids=" ".join)
@pytest.mark.parametrize("path", ["lawsuit", "link", "x", "x/y"])
def test_no_command_tells_others_such_a_folder_from_none(cli, desk, nested, words, path):
    told = [cli("-C", desk, "--scope", "shared", *words, f"pub/{each}", "--json") for each in (path, "none")]
    assert {outcome.code for outcome in told} == {3}
    assert told[0].warnings.replace(path, "none") == told[1].warnings


def test_previews_tell_others_no_private_file_from_an_absent_one(nested):
    for path in ("pub/lawsuit/p.md", "pub/lawsuit", "pub/link", "pub/link/p.md", "pub/none"):
        with pytest.raises(CarrelError) as caught:
            nested.preview(path, scope="shared")
        assert caught.value.code == "no_such_path"
    assert CANARY in (nested.preview("pub/lawsuit/p.md").text or "")


def test_lists_of_files_for_others_leave_out_what_is_private(desk):
    desk.put({"knowledge/a.md": PUBLIC, "knowledge/b.md": PRIVATE})
    with Workspace.open(desk) as workspace:
        assert workspace.list_knowledge(scope="shared") == ["knowledge/a.md"]
        assert workspace.list_knowledge() == ["knowledge/a.md", "knowledge/b.md"]


def test_the_workspace_s_own_records_are_not_for_shared_scope(owned, cli):
    cli("trust", owned)
    cli("-C", owned, "context", "show", "--prepare", "--session", "s1")
    with Workspace.open(owned) as workspace:
        for path in (".carrel/state/records.db", ".carrel/cache/tokens.db", ".carrel/.gitignore"):
            with pytest.raises(CarrelError) as caught:
                workspace.read(path, scope="shared")
            assert caught.value.code == "hidden_by_scope"


ALIASES = {
    "symlink": lambda desk, target, alias: (desk / alias).symlink_to(
        os.path.relpath(desk / target, (desk / alias).parent)
    ),
    "absolute symlink": lambda desk, target, alias: (desk / alias).symlink_to(desk / target),
    "hard link": lambda desk, target, alias: (desk / alias).hardlink_to(desk / target),
    "chain": lambda desk, target, alias: (
        (desk / "hop.txt").symlink_to(desk / target),
        (desk / alias).symlink_to(desk / "hop.txt"),
    ),
}


@pytest.mark.parametrize("kind", sorted(ALIASES))
def test_an_alias_of_a_private_file_is_as_private(cli, desk, layout, kind):
    home = "workspace/" if layout == "astra" else ""
    journal = "notes" if layout == "nexo" else "memory"
    public = LAYOUTS[layout][0]
    secrets = [f"{home}USER.md", f"{home}MEMORY.md", f"{journal}/2020-01-01.md"]
    desk.put({"carrel.yaml": f"layout: {layout}\n", **public, **dict.fromkeys(secrets, CANARY)})
    alias = f"{home}open.md" if layout != "nexo" else "SOUL.md"
    for secret in secrets:
        (desk / alias).unlink(missing_ok=True)
        (desk / "hop.txt").unlink(missing_ok=True)
        ALIASES[kind](desk, secret, alias)
        for words in FORMS[:3]:
            outcome = cli("-C", desk, "--scope", "shared", *words)
            assert CANARY not in outcome.text + outcome.warnings, secret
            assert "open.md" not in outcome.text
        assert CANARY in cli("-C", desk, "context", "show").text
        with Workspace.open(desk) as workspace:
            assert answer_to_others(workspace, alias) is None


def test_a_folder_that_leads_to_private_files_is_as_private(cli, desk):
    desk.put({"AGENTS.md": PUBLIC, "memory/2020-01-01.md": CANARY})
    (desk / "knowledge").symlink_to("memory")
    (desk / "skills").symlink_to("memory")
    outcome = cli("-C", desk, "--scope", "shared", "context", "show", "--json")
    assert_says_nothing(outcome.text, ["2020-01-01"])
    with Workspace.open(desk) as workspace:
        assert answer_to_others(workspace, "knowledge/2020-01-01.md") is None


def test_a_private_file_linked_into_knowledge_is_not_even_listed(cli, desk):
    desk.put(
        {"AGENTS.md": PUBLIC, "USER.md": CANARY, "knowledge/KNOWLEDGE.md": PUBLIC, "knowledge/api.md": PUBLIC}
    )
    (desk / "knowledge/soft.md").symlink_to("../USER.md")
    (desk / "knowledge/hard.txt").hardlink_to(desk / "USER.md")
    (desk / "knowledge/user.md").write_text(CANARY)
    text = cli("-C", desk, "--scope", "shared", "context", "show").text
    assert "knowledge/api.md" in text
    for name in ("soft.md", "hard.txt", "user.md"):
        assert name not in text
    assert "soft.md" in cli("-C", desk, "context", "show").text


@pytest.mark.parametrize("twin", ["user.md", "User.md", "memory.md", "dreams.md", "MEMORY.md"])
def test_a_twin_by_case_of_a_private_name_is_as_private(cli, desk, twin):
    desk.put({"AGENTS.md": PUBLIC, twin: CANARY})
    outcome = cli("-C", desk, "--scope", "shared", "context", "report", "--json")
    assert outcome.document["hidden"] == 1
    assert twin not in outcome.text
    assert CANARY not in cli("-C", desk, "--scope", "shared", "context", "show").text
    assert CANARY in cli("-C", desk, "context", "show").text


@pytest.mark.parametrize("folder", ["Memory", "MEMORY", "Agents/kate"])
def test_a_twin_by_case_of_a_private_folder_is_as_private(desk, cli, folder):
    desk.put({"AGENTS.md": PUBLIC, f"{folder}/2026-04-24.md": CANARY})
    with Workspace.open(desk) as workspace, pytest.raises(CarrelError) as caught:
        workspace.read(f"{folder}/2026-04-24.md", scope="shared")
    assert caught.value.code == "hidden_by_scope"


@pytest.mark.parametrize(
    "text",
    [
        b"<!-- scope: private -->\n" + CANARY.encode() + b"\xff",
        b"\xef\xbb\xbf" + PRIVATE.encode(),
        PRIVATE.replace("\n", "\r\n").encode(),
    ],
)
def test_privacy_survives_odd_encodings(cli, desk, text):
    desk.put({"AGENTS.md": PUBLIC, "ledger.md": text})
    assert CANARY not in cli("-C", desk, "--scope", "shared", "context", "show", "--json").text


@pytest.mark.parametrize(
    "scope", ["private", "PRIVATE", "Private ", "main", "owner", "me", "[shared]", "{a: b}", "0", "''"]
)
def test_a_file_that_asks_for_any_narrower_scope_is_hidden(cli, desk, scope):
    desk.put({"AGENTS.md": PUBLIC, "ledger.md": f"---\nscope: {scope}\n---\n{CANARY}\n"})
    assert CANARY not in cli("-C", desk, "--scope", "shared", "context", "show", "--json").text


def test_nothing_in_a_file_widens_what_the_layout_hides(cli, desk):
    desk.put({"AGENTS.md": PUBLIC, "USER.md": f"<!-- scope: shared -->\n<!-- tags: public -->\n{CANARY}\n"})
    assert_says_nothing(cli("-C", desk, "--scope", "shared", "context", "show", "--json").text, [])


WARNED = {
    "carrel": {
        "USER.md": f"<!-- priority: {CANARY} -->\nLuis.\n",
        "memory/2026-04-24.md": f"---\ntags: 3\npriority: {CANARY}\n---\nText.\n",
        "ledger.md": f"<!-- scope: {CANARY} -->\nText.\n",
    },
    "astra": {
        "workspace/USER.md": f"<!-- priority: {CANARY} -->\nLuis.\n",
        "workspace/ledger.md": f"<!-- scope: private -->\n<!-- priority: {CANARY} -->\nText.\n",
    },
    "nexo": {
        "USER.md": "# SOUL\nLuis.\n",
        "MEMORY.md": "# USER\nText.\n",
        "notes/2026-04-24.md": "# SOUL\nText.\n",
    },
}


@pytest.mark.parametrize("words", FORMS, ids=" ".join)
def test_warnings_about_private_files_are_the_owner_s(cli, desk, layout, words):
    desk.put({"carrel.yaml": f"layout: {layout}\n", **LAYOUTS[layout][0], **WARNED[layout]})
    assert len(cli("-C", desk, "context", "report", "--json").document["warnings"]) >= len(WARNED[layout])
    outcome = cli("-C", desk, "--scope", "shared", *words)
    assert "the red ledger" not in outcome.text + outcome.warnings
    assert_says_nothing(outcome.text + outcome.warnings, list(WARNED[layout]))


def test_an_unreadable_private_file_is_not_told_of(cli, desk):
    desk.put({"AGENTS.md": PUBLIC, "USER.md": b"\xff", "MEMORY.md": b"\xff", "memory/2026-04-24.md": b"\xff"})
    for words in FORMS:
        outcome = cli("-C", desk, "--scope", "shared", *words)
        assert_says_nothing(outcome.text + outcome.warnings, ["memory/"])


def test_more_room_in_shared_scope_does_not_tell_how_much_is_hidden(cli, desk):
    desk.put({"carrel.yaml": "budgets: {total: 100}\n", "AGENTS.md": PUBLIC, "a.md": PUBLIC, "b.md": PUBLIC})
    without = cli("-C", desk, "--scope", "shared", "context", "show").text
    desk.put({"USER.md": f"{CANARY} " * 30})
    assert cli("-C", desk, "--scope", "shared", "context", "show").text == without


@pytest.mark.parametrize("scope", ["main", "shared"])
def test_a_folder_that_holds_only_what_is_private_is_as_good_as_absent_to_tools_asked_for_it(
    cli, desk, scope
):
    desk.put({"open/a.md": PUBLIC, "pub/q/p.md": f"---\nscope: private\n---\n{CANARY}\n"})
    (desk / "pub/q/link").symlink_to("../../open")
    told = [
        cli("-C", desk, "--scope", scope, "tools", "call", "list_files", "--args", f'{{"under": "{under}"}}')
        for under in ("pub/q", "pub/none")
    ]
    assert (told[0].code == told[1].code) == (scope == "shared")
    assert (told[0].text.replace("pub/q", "pub/none") == told[1].text) == (scope == "shared")
