"""Skills: `skills/<name>/SKILL.md`, of which the prompt holds a line each and the body comes on demand."""

from collections.abc import Iterator

from msgspec import Struct

from carrel.workspace.document import Document, Reading


class Skill(Struct, frozen=True, kw_only=True):
    """A skill's name and what it is for; a missing description is no reason to hide the skill."""

    name: str
    description: str
    document: Document


def find_skills(reading: Reading, folder: str) -> Iterator[Skill]:
    """Yield the skills of a folder, sorted by folder name; those that cannot be read come with a problem."""
    names = [entry.path for entry in reading.list(folder) if entry.kind == "directory"]
    for path, document in zip(names, reading.documents([f"{n}/SKILL.md" for n in names]), strict=True):
        if document is not None:
            extra = document.meta.extra
            yield Skill(
                name=str(extra.get("name") or path.rpartition("/")[2]),
                description=str(extra.get("description") or "").strip().replace("\n", " "),
                document=document,
            )
