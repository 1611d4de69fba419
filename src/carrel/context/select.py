"""Selection: what one pass over a workspace reads, notices and makes of a single file."""

import re
from collections.abc import Mapping
from itertools import count

from msgspec import Struct
from msgspec.structs import replace

from carrel.context.inputs import Inputs
from carrel.context.render import attribute, escaper, one_line
from carrel.context.section import Section
from carrel.context.template import Values
from carrel.findings import Finding
from carrel.settings import AgentSettings
from carrel.workspace.document import Document, Reading
from carrel.workspace.identity import Identity, parse_identity
from carrel.workspace.ignore import Ignored
from carrel.workspace.layout import Layout, Part
from carrel.workspace.namespace import Namespace
from carrel.workspace.scope import Privacy

_KINDS = {
    "documents": "document", "notebook": "notebook", "project": "layer", "experience": "layer",
    "namespaces": "layer", "additional": "document", "journal": "journal", "knowledge": "knowledge",
}  # fmt: skip


class Selection(Struct, kw_only=True):
    """What one pass over a message reads and notices; `rendered` holds the identities rendered so far."""

    layout: Layout
    agent: AgentSettings
    inputs: Inputs
    reading: Reading
    namespaces: Reading
    namespace: Namespace
    privacy: Privacy
    ignored: Ignored
    values: Values
    facts: Mapping[str, str]
    """What the layout's own texts may say: names, the date, the place."""
    rendered: set[str]
    withheld: int = 0
    warnings: list[Finding] = []
    private_warnings: list[Finding] = []
    """What is noticed about files that shared scope may not know of."""

    def escape(self, text: str) -> str:
        """Return a text that cannot forge one of the layout's tags."""
        return escaper((*self.layout.tags, *additional_tags(self)))(text)

    def warn(self, code: str, message: str, about: Section | None = None) -> None:
        """Note something that the report should say, to the owner only where a private file is concerned."""
        finding = Finding(code=code, message=message, path=about.name if about else None)
        (self.private_warnings if about and about.private else self.warnings).append(finding)

    def once(self, section: Section) -> Section:
        """Leave out a file that was rendered under an earlier name."""
        if not section.kept or not section.identity:
            return section
        if section.identity in self.rendered:
            return section.out("excluded", "duplicate")
        self.rendered.add(section.identity)
        return section

    def left_out(self, part: Part, path: str, document: Document, *, is_named: bool) -> str:
        """Return why a document is not for this agent's prompt, or nothing; the layout may name it."""
        name = path.rpartition("/")[2]
        filters = self.agent.workspace_files
        tags = {tag.lower() for tag in filters.include_tags}
        if path in filters.exclude or name in filters.exclude:
            return "exclude"
        if self.ignored(path):
            return "ignored"
        if name in part.without:
            return "not_for_prompt"
        if tags and not is_named and not tags & set(document.meta.tags):
            return "tag"
        return ""


def document_section(
    selection: Selection,
    part: Part,
    path: str,
    document: Document | None,
    *,
    is_named: bool = True,
    is_private: bool = False,
) -> Section:
    """Make the section of one file: its text escaped and wrapped, or the reason why there is none."""
    name = path.rpartition("/")[2]
    section = Section(
        name=one_line(path),
        kind=_KINDS[part.kind],
        keep=part.keep,
        pinned=name in part.pinned,
        counted=part.counted,
        unlimited=part.unlimited,
        rest=part.rest,
        share=part.share,
        private=is_private or selection.privacy.covers_name(path),
    )
    if document is None:
        return section.out("missing", "")
    is_private = is_private or selection.privacy.covers_document(document)
    section = replace(section, private=is_private, identity=document.identity)
    if reason := selection.left_out(part, path, document, is_named=is_named):
        return section.out("excluded", reason)
    if document.problem:
        return section.out("unreadable", document.problem)
    for problem in document.warnings:
        selection.warn("front_matter", f"{section.name}: {problem}.", section)
    text = _text(selection, part, document, section)
    if not text.strip():
        return section.out("excluded", "empty")
    _watch_headings(selection, section, text)
    return wrapped(replace(section, text=selection.escape(text)), part, path)


def wrapped(
    section: Section, part: Part, path: str = "", *, title: str = "", day: str = "", tag: str = ""
) -> Section:
    """Return a section with the part's opening and closing lines."""
    name = one_line(path.rpartition("/")[2])
    values = {"path": attribute(path), "date": attribute(day), "tag": tag}
    # A heading ends with its line, an attribute with its quote: each needs its own kind of care.
    values["title"] = attribute(title) if '"{title}"' in part.open else one_line(title)
    values |= {"name": name, "stem": name.removesuffix(".md")}
    return replace(section, open=part.open.format_map(values), close=part.close.format_map(values))


def _text(selection: Selection, part: Part, document: Document, section: Section) -> str:
    """Return what of a document is shown: its text, or for the identity one line of fields."""
    text = document.text if selection.layout.front_matter else document.verbatim
    rule = part.identity
    if rule is None or document.path.rpartition("/")[2] != rule.file:
        return text
    identity = parse_identity(document.text)
    line = identity.line(rule.fields)
    if not line:
        only_a_template = bool(identity.placeholders) and not identity.prose
        return text if rule.otherwise == "text" and not only_a_template else ""
    if identity.prose:
        selection.warn("identity_prose", f"{section.name}: text beside the fields is not shown.", section)
    return line


def _watch_headings(selection: Selection, section: Section, text: str) -> None:
    """Warn of a document that contains one of the layout's own headings."""
    for heading in selection.layout.headings():
        if re.search(rf"^{re.escape(heading)}[ \t]*$", text, re.MULTILINE):
            message = f"{section.name} contains the heading {heading!r} of the layout."
            selection.warn("forged_heading", message, section)


def additional_tags(selection: Selection) -> list[str]:
    """Return a tag for each additional file; one that is taken gets a number."""
    if not any(part.kind == "additional" for m in selection.layout.messages for part in m.parts):
        return []
    taken = set(selection.layout.tags)
    tags: list[str] = []
    for path in selection.agent.additional_context_files:
        plain = re.sub(r"[^A-Za-z0-9._-]", "_", path)
        numbered = (plain if n == 1 else f"{plain}_{n}" for n in count(1))
        tags.append(next(tag for tag in numbered if tag not in taken))
        taken.add(tags[-1])
    return tags


def find_identity(reading: Reading, layout: Layout, hidden_by: Privacy | None = None) -> Identity:
    """Return the identity that the workspace's own file gives, without a field where it is hidden."""
    document = reading.document(f"{layout.home}IDENTITY.md")
    if document is None or (hidden_by and hidden_by.covers_document(document)):
        return Identity()
    return parse_identity(document.text)
