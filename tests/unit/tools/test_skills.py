"""Skills as a model finds and reads them."""

import pytest

from carrel.files.ephemeral import EphemeralFiles
from carrel.files.paths import BadPath
from carrel.tools.access import NoSuchFile, NotForTools
from carrel.tools.registry import Registry
from carrel.tools.skills import MOST_FILES, skill_tools
from carrel.workspace.document import Documents
from carrel.workspace.skills import UnknownSkill, find_skills

DEPLOY = "---\nname: deploy\ndescription: Ship it safely\n---\nRun the checklist.\nThen ship.\n"
FILES = {
    "skills/deploy/SKILL.md": DEPLOY,
    "skills/deploy/references/list.md": "1. test\n2. ship\n",
    "skills/deploy/run.sh": "echo\n",
    "skills/write/SKILL.md": "---\nname: write\ndescription: Write well\n---\nShort words.\n",
    "notes.md": "not a skill's\n",
}


@pytest.fixture
def skilled(desk):
    def make(files=FILES, **options):
        made = desk(files)
        documents = Documents(made.files if isinstance(files, dict) else files)
        registry = Registry(
            skill_tools(lambda: find_skills(documents.reading(), "skills", **options), made.access)
        )
        return lambda tool, **arguments: registry.call(tool, arguments)

    return make


def test_skills_are_listed_with_what_they_are_for(skilled):
    assert skilled()("skill_list") == [
        {"name": "deploy", "description": "Ship it safely"},
        {"name": "write", "description": "Write well"},
    ]


def test_a_workspace_without_skills_lists_none(skilled):
    assert skilled({})("skill_list") == []


def test_what_is_hidden_ignored_or_shadowed_is_not_there(skilled):
    files = FILES | {"skills/zz/SKILL.md": DEPLOY.replace("Ship it", "Another")}
    call = skilled(
        files, hidden=lambda d: "write" in d.path, ignored=lambda path: path.startswith("skills/deploy/")
    )
    assert call("skill_list") == [{"name": "deploy", "description": "Another safely"}]
    with pytest.raises(UnknownSkill):
        call("skill_read", name="write")


def test_a_skill_is_read_without_its_front_matter_and_with_its_files(skilled):
    found = skilled()("skill_read", name="deploy")
    assert (found["name"], found["file"]) == ("deploy", "SKILL.md")
    assert found["text"] == "Run the checklist.\nThen ship."
    assert found["files"] == ["references/list.md", "run.sh"]
    assert found["more_files"] is False
    assert skilled()("skill_read", name="deploy", file="./SKILL.md") == found


def test_a_long_skill_is_read_in_pages(skilled):
    body = "".join(f"line {n}\n" for n in range(3000))
    call = skilled({"skills/long/SKILL.md": f"---\nname: long\ndescription: d\n---\n{body}"})
    text, offset = "", 1
    while offset:
        page = call("skill_read", name="long", offset=offset)
        text += page["text"]
        offset = page["more"]
    assert text == body.rstrip()


def test_a_file_of_a_skill_is_read_by_its_path_in_the_skill(skilled):
    found = skilled()("skill_read", name="deploy", file="references/list.md", offset=2)
    assert (found["text"], found["file"], found["total_lines"]) == ("2. ship\n", "references/list.md", 2)


def test_no_file_outside_of_the_skill_is_read(skilled):
    with pytest.raises(BadPath):
        skilled()("skill_read", name="deploy", file="../../notes.md")
    with pytest.raises(NoSuchFile):
        skilled()("skill_read", name="deploy", file="notes.md")


def test_a_link_in_a_skill_does_not_lead_to_transcripts(disk):
    made = disk(
        FILES | {"agents/kate/sessions/s.jsonl": "secret\n"},
        {"skills/deploy/said.md": "../../agents/kate/sessions/s.jsonl"},
    )
    registry = Registry(
        skill_tools(lambda: find_skills(Documents(made.files).reading(), "skills"), made.access)
    )
    with pytest.raises(NotForTools):
        registry.call("skill_read", {"name": "deploy", "file": "said.md"})


def test_a_skill_that_came_later_is_there_at_the_next_call(desk):
    made = desk(FILES)
    registry = Registry(
        skill_tools(lambda: find_skills(Documents(made.files).reading(), "skills"), made.access)
    )
    assert len(registry.call("skill_list")) == 2
    made.files.write("skills/new/SKILL.md", DEPLOY.replace("deploy", "new").encode(), expect=None)
    assert len(registry.call("skill_list")) == 3


def test_of_very_many_files_the_first_are_named(skilled):
    files = {f"skills/deploy/{n:04}.md": "" for n in range(MOST_FILES + 1)} | FILES
    found = skilled(EphemeralFiles(files))("skill_read", name="deploy")
    assert len(found["files"]) == MOST_FILES
    assert found["more_files"] is True
