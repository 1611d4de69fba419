"""Skills as a model may use them: their names first, and the text of one when it is needed."""

from collections.abc import Callable
from functools import partial
from itertools import islice
from typing import Annotated, Any

from msgspec import Meta, Struct

from carrel.files.paths import clean
from carrel.tools.access import Access, text_of
from carrel.tools.listing import below, told
from carrel.tools.page import page
from carrel.tools.registry import NoArguments, Tool
from carrel.workspace.skills import SKILL_FILE, Skill, Skills

MOST_FILES = 100
_DEPTH = 3  # levels of folders that are looked through for a skill's files


class SkillRead(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which text of which skill to read."""

    name: Annotated[str, Meta(description="The skill's name, as skill_list gives it.")]
    file: Annotated[
        str | None,
        Meta(description="A file of the skill, relative to its folder; without it, its instructions."),
    ] = None
    offset: Annotated[
        int, Meta(description="The first line to read, from 1.", extra_json_schema={"minimum": 1})
    ] = 1
    column: Annotated[
        int,
        Meta(description="Where to begin in the first line, from 1.", extra_json_schema={"minimum": 1}),
    ] = 1


def skill_tools(skills: Callable[[], Skills], access: Access) -> tuple[Tool, ...]:
    """Return the tools over the skills that are loaded for this scope at the time of a call."""
    return (
        Tool(
            name="skill_list",
            description="List the skills you have, each with what it is for.",
            parameters=NoArguments,
            run=lambda _: skill_list(skills()),
        ),
        Tool(
            name="skill_read",
            description="Read a skill's instructions, or one of its files, before you use it.",
            parameters=SkillRead,
            run=partial(_read, skills, access),
        ),
    )


def skill_list(skills: Skills) -> list[dict[str, str]]:
    """Return names and descriptions, by folder; what is shadowed, ignored or hidden is not among them."""
    return [{"name": skill.name, "description": skill.description} for skill in skills.loaded]


def skill_read(skills: Skills, access: Access, asked: SkillRead) -> dict[str, Any]:
    """Return a page of a skill's instructions with the names of its files, or a page of one of these."""
    skill = skills.named(asked.name)
    file = SKILL_FILE if asked.file is None else clean(asked.file)
    if file == SKILL_FILE:
        found = page(
            "skill_read", skill.document.text, offset=asked.offset, column=asked.column, most=access.page
        )
        return {"name": skill.name, "file": file, **found.to_json(), **_files(access, skill)}
    path = f"{skill.folder}/{file}"
    text = text_of(path, access.read(path))
    found = page("skill_read", text, offset=asked.offset, column=asked.column, most=access.page)
    return {"name": skill.name, "file": file, **found.to_json()}


def _read(skills: Callable[[], Skills], access: Access, asked: SkillRead) -> dict[str, Any]:
    return skill_read(skills(), access, asked)


def _files(access: Access, skill: Skill) -> dict[str, Any]:
    """Return what else a skill's folder holds, and whether that is all."""
    own = skill.document.path
    paths = (e.path for e in below(access, skill.folder, _DEPTH) if e.kind == "file" and e.path != own)
    found = [told(path.removeprefix(f"{skill.folder}/")) for path in islice(paths, MOST_FILES + 1)]
    return {"files": found[:MOST_FILES], "more_files": len(found) > MOST_FILES}
