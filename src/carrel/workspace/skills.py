"""Skills: `skills/<name>/SKILL.md`, of which the prompt holds a line each and the body comes on demand.

One list of rules, those of the Agent Skills specification, serves twice: `lint_skills` is strict, while
loading is lenient and makes a warning of what the specification calls an error.
"""

import re
from collections.abc import Callable, Iterable, Iterator

from msgspec import Struct
from msgspec.structs import replace

from carrel.errors import NotFound
from carrel.files import show
from carrel.files.paths import fold
from carrel.findings import Finding
from carrel.markdown.frontmatter import parse
from carrel.workspace.document import Document, Reading
from carrel.workspace.ignore import Ignored
from carrel.workspace.layout import Layout
from carrel.workspace.skill_rules import broken, check_body, check_fields, check_references

SKILL_FILE = "SKILL.md"
MOST_SKILLS = 2_000

Hidden = Callable[[Document], bool]
"""Tells what the one who asks may not know of."""

_BLOCK = re.compile(r"\A---[ \t]*\n(.*?\n)(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
_BLOCK_LIMIT = 65_536
_COLON_INSIDE = re.compile(r"""^([A-Za-z_][\w-]*):[ \t]++(?!["'\[{|>&*!#])(.*:(?:[ \t].*)?)$""", re.MULTILINE)
_ABOUT_THE_PROMPT = (
    "front_matter", "skill_description", "skill_duplicate", "skill_front_matter", "skills_not_a_folder",
    "too_many_skills",
)  # fmt: skip
_HINT_LINE = "Write it as `description: >-` with the text on the next line, or put it in quotes."


class UnknownSkill(NotFound):
    """No skill that the asker may know of has this name."""

    code = "unknown_skill"

    def __init__(self, name: str, known: Iterable[str]) -> None:
        near = nearest(name, known)
        hint = f"Did you mean {show(near)}?" if near else "`carrel skills list` shows those there are."
        super().__init__(f"There is no skill '{show(name[:200])}'.", hint=hint)


class Skill(Struct, frozen=True, kw_only=True):
    """A skill's name and what it is for; a missing description is no reason to hide the skill.

    `findings` are the rules of the specification that its front matter breaks.
    """

    name: str
    description: str
    document: Document
    findings: tuple[Finding, ...] = ()

    @property
    def folder(self) -> str:
        """The path of its folder."""
        return self.document.path.rpartition("/")[0]

    @property
    def line(self) -> str:
        """What the prompt says of it."""
        return f"- {self.name}: {self.description}" if self.description else f"- {self.name}"

    def answers_to(self, name: str) -> bool:
        """Tell whether somebody who says this name may mean it."""
        return name in (self.name, self.folder.rpartition("/")[2])


class Skills(Struct, frozen=True, kw_only=True):
    """The skills of a folder, in its order.

    Of several with one name the first is loaded and the others are `shadowed`; `ignored` are the paths that
    .carrelignore keeps out; `noticed` belongs to none.
    """

    loaded: tuple[Skill, ...] = ()
    shadowed: tuple[Skill, ...] = ()
    unreadable: tuple[Skill, ...] = ()
    ignored: tuple[str, ...] = ()
    withheld: int = 0
    noticed: tuple[Finding, ...] = ()

    def __iter__(self) -> Iterator[Skill]:
        """Every skill, usable or not, by folder."""
        found = (*self.loaded, *self.shadowed, *self.unreadable)
        return iter(sorted(found, key=lambda skill: skill.document.path))

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What a person should know of them; since all was loaded that could be, nothing is an error."""
        found = (*self.noticed, *(finding for skill in self for finding in skill.findings))
        return tuple(replace(f, severity="warning") if f.severity == "error" else f for f in found)

    @property
    def prompt_findings(self) -> tuple[Finding, ...]:
        """Those that change what the prompt says; one that cannot be read has a row of its own there."""
        return tuple(finding for finding in self.findings if finding.code in _ABOUT_THE_PROMPT)

    def named(self, name: str) -> Skill:
        """Return the skill of this name, else of this folder."""
        by_name = (skill for skill in self.loaded if skill.name == name)
        by_folder = (skill for skill in self.loaded if skill.answers_to(name))
        found = next(by_name, None) or next(by_folder, None)
        if found is None:
            raise UnknownSkill(name, (skill.name for skill in self.loaded))
        return found


class SkillCost(Struct, frozen=True, kw_only=True):
    """What a skill costs: its line in every prompt, its body when somebody asks for it."""

    name: str
    description: str
    path: str
    line_tokens: int
    body_tokens: int


def skills_folder(layout: Layout) -> tuple[str, bool]:
    """Return where a layout keeps its skills, and whether their lines are in the prompt."""
    parts = (part for message in layout.messages for part in message.parts if part.kind == "skills")
    listed = next(parts, None)
    return (listed.folder, True) if listed else (f"{layout.home}skills", False)


def nothing_hidden(document: Document) -> bool:
    """Hide nothing, as in main scope."""
    del document
    return False


def find_skills(
    reading: Reading,
    folder: str,
    *,
    ignored: Ignored = lambda _: False,
    hidden: Hidden = nothing_hidden,
) -> Skills:
    """Read the skills of a folder, sorted by folder name; what is hidden neither shows nor takes a name."""
    folders = [entry.path for entry in reading.list(folder) if entry.kind == "directory"]
    paths = [f"{each}/{SKILL_FILE}" for each in folders[:MOST_SKILLS]]
    loaded: dict[str, Skill] = {}
    shadowed: list[Skill] = []
    unreadable: list[Skill] = []
    left_out: list[str] = []
    noticed = list(_about_folder(reading, folder, len(folders)))
    withheld = 0
    for path, document in zip(paths, reading.documents(paths), strict=True):
        skill = _load(document or Document(path=path))
        if hidden(skill.document):
            withheld += document is not None and not ignored(path)
        elif document is None:
            noticed.extend(() if ignored(path) else _no_file(path))
        elif ignored(path):
            left_out.append(path)
        elif document.problem:
            unreadable.append(skill)
        elif (first := loaded.setdefault(fold(skill.name), skill)) is not skill:
            shadowed.append(_shadowed(skill, first))
    return Skills(
        loaded=tuple(loaded.values()),
        shadowed=tuple(shadowed),
        unreadable=tuple(unreadable),
        ignored=tuple(left_out),
        withheld=withheld,
        noticed=tuple(noticed),
    )


def cost_of(skill: Skill, line: str, count: Callable[[str], int]) -> SkillCost:
    """Return what a skill costs; `line` is as the prompt has it, empty where it has none."""
    return SkillCost(
        name=skill.name,
        description=skill.description,
        path=skill.document.path,
        line_tokens=count(f"{line}\n") if line else 0,
        body_tokens=count(skill.document.text),
    )


def lint_skills(
    reading: Reading, skills: Skills, count: Callable[[str], int], name: str | None = None
) -> tuple[Finding, ...]:
    """Hold all skills, or those of one name, to every rule of the specification."""
    chosen = [skill for skill in skills if name is None or skill.answers_to(name)]
    if name is not None and not chosen:
        raise UnknownSkill(name, (skill.name for skill in skills))
    found = [*skills.noticed] if name is None else []
    for skill in chosen:
        found.extend(skill.findings)
        if not skill.document.problem:
            found.extend(check_body(skill.document, count))
            found.extend(check_references(reading, skill.document))
    return tuple(found)


def nearest(name: str, known: Iterable[str]) -> str:
    """Return the known name that is most like this one, or nothing."""
    from difflib import get_close_matches  # noqa: PLC0415 - only for those who mistyped

    folded = {fold(each[:200]): each for each in known}
    close = get_close_matches(fold(name[:200]), folded, n=1)
    return folded[close[0]] if close else ""


def mend(document: Document) -> tuple[Document, str]:
    """Return a document whose front matter is understood if at all possible, and what was wrong with it.

    The usual mistake is a colon inside a value, `description: Use it when: …`, which is read as meant. A
    block that stays dead makes the document private, since it may have said so.
    """
    if document.problem or document.text != document.verbatim:
        return document, ""
    if not document.verbatim.startswith("---"):
        return document, "missing"
    block = _BLOCK.match(document.verbatim[:_BLOCK_LIMIT])
    if block:
        values = _COLON_INSIDE.sub(r"\1: >-\n  \2", block[1])
        mended = parse(f"---\n{values}---\n{document.verbatim[block.end() :]}")
        if mended.meta.extra:
            return replace(document, text=mended.body, meta=mended.meta, warnings=mended.problems), "unquoted"
    return replace(document, meta=replace(document.meta, private=True)), "dead"


def _load(document: Document) -> Skill:
    """Make a skill of whatever is there."""
    path = document.path
    document, trouble = mend(document)
    folder = path.split("/")[-2]
    fields = document.meta.extra
    found: Iterable[Finding]
    if document.problem:
        found = [_unreadable(path, document.problem)]
    elif trouble in ("missing", "dead"):
        found = _front_matter(document, trouble)
    else:
        found = (*_front_matter(document, trouble), *check_fields(path, fields, folder))
    return Skill(
        name=_text(fields.get("name")) or folder,
        description=_text(fields.get("description")).replace("\n", " "),
        document=document,
        findings=tuple(found),
    )


def _text(value: object) -> str:
    return str(value).strip() if isinstance(value, (str, int, float)) else ""


def _unreadable(path: str, problem: str) -> Finding:
    message = f"{path} cannot be read ({problem}) and is not in the context."
    return Finding(code="unreadable", path=path, message=message, severity="error")


def _about_folder(reading: Reading, folder: str, count: int) -> Iterator[Finding]:
    if count > MOST_SKILLS:
        message = f"{folder}: {count - MOST_SKILLS} of {count} skills were not considered."
        yield Finding(code="too_many_skills", path=folder, message=message, hint="Remove some.")
    elif not reading.list(folder):
        file = reading.document(folder)
        if file is not None and file.problem != "directory":
            hint = "Rename it, and make a folder in its place."
            yield broken(folder, "skills_not_a_folder", "it is a file, so there are no skills", hint)


def _no_file(path: str) -> Iterator[Finding]:
    folder = path.rpartition("/")[0]
    if not folder.rpartition("/")[2].startswith("_"):  # where others keep drafts
        hint = f"Name its file exactly {SKILL_FILE}, or move the folder away."
        yield broken(folder, "skill_no_file", f"there is no {SKILL_FILE} in it", hint, "info")


def _shadowed(skill: Skill, first: Skill) -> Skill:
    what = f"its name '{show(skill.name)}' is taken by {show(first.folder)}, so it is not loaded"
    finding = broken(skill.document.path, "skill_duplicate", what, "Give each skill a name of its own.")
    return replace(skill, findings=(*skill.findings, finding))


def _front_matter(document: Document, trouble: str) -> Iterator[Finding]:
    path = document.path
    hint = "Begin the file with `---`, `name: …`, `description: …` and `---`."
    if trouble == "missing":
        yield broken(path, "skill_front_matter", "it has no front matter, so no description", hint)
    elif trouble == "dead":
        why = "; ".join(document.warnings) or "its front matter has no end, or no keys"
        hint = "Correct what stands between the two lines `---`."
        yield broken(path, "front_matter", f"{why}; so there is no description", hint)
    else:
        if trouble == "unquoted":
            yield broken(path, "skill_unquoted", "a value with a colon in it is not in quotes", _HINT_LINE)
        for problem in document.warnings:
            yield broken(path, "front_matter", problem, "", "warning")
