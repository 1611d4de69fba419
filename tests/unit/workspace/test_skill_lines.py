from carrel.files.ephemeral import EphemeralFiles
from carrel.workspace.document import Documents
from carrel.workspace.skills import find_skills


def skills(files: dict[str, str | bytes]):
    return list(find_skills(Documents(EphemeralFiles(files)).reading(), "skills"))


def test_a_skill_is_a_folder_with_its_page():
    found = skills(
        {
            "skills/b/SKILL.md": "---\nname: deploy\ndescription: Ship it safely\n---\nHow.",
            "skills/a/SKILL.md": "How.",
            "skills/README.md": "no skill",
            "skills/empty/notes.md": "no skill either",
        }
    )
    assert [(skill.name, skill.description) for skill in found] == [("a", ""), ("deploy", "Ship it safely")]


def test_a_description_is_one_line():
    (skill,) = skills({"skills/a/SKILL.md": "---\ndescription: |\n  One\n  two\n---\nx"})
    assert skill.description == "One two"


def test_a_skill_that_cannot_be_read_comes_with_its_problem():
    (skill,) = skills({"skills/a/SKILL.md": b"\xff"})
    assert skill.document.problem == "not_utf8"


def test_odd_values_become_text():
    (skill,) = skills({"skills/a/SKILL.md": "---\nname: 7\ndescription: [x]\n---\nx"})
    assert skill.name == "7"
    assert isinstance(skill.description, str)


def test_no_folder_no_skills():
    assert skills({"a.md": "x"}) == []
