"""Selection: a message's parts become sections, in order, each with a verdict that needs no budget."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import date
from fnmatch import fnmatchcase
from itertools import count

from msgspec import Struct
from msgspec.structs import replace

from carrel.context.inputs import Inputs
from carrel.context.render import attribute, escaper, one_line
from carrel.context.section import JOINT, Section
from carrel.context.template import Values, parse_template
from carrel.files import Entry
from carrel.files.paths import BadPath, clean
from carrel.findings import Finding
from carrel.settings import AgentSettings
from carrel.workspace.document import Document, Reading
from carrel.workspace.identity import Identity, parse_identity
from carrel.workspace.ignore import Ignored
from carrel.workspace.layout import Layout, Part
from carrel.workspace.namespace import Namespace
from carrel.workspace.scope import Privacy, Scope
from carrel.workspace.skills import find_skills, nothing_hidden

MOST_DOCUMENTS = 2_000
MOST_LISTED = 2_000
DEEPEST = 32
_DAY_FILE = re.compile(r"(\d{4}-\d{2}-\d{2})(-.+)?\.md", re.DOTALL)


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

    def sections(self, parts: tuple[Part, ...]) -> list[Section]:
        """Return the sections of these parts, in the order of the prompt."""
        found: list[Section] = []
        for number, part in enumerate(parts):
            own = _SOURCES[part.kind](self, part)
            found.extend(replace(self.once(section), part=number) for section in own)
        unlisted = (_unlisted(self, folder, reason) for folder, reason in self.reading.problems.items())
        return [*found, *unlisted]

    def escape(self, text: str) -> str:
        """Return a text that cannot forge one of the layout's tags."""
        return escaper((*self.layout.tags, *_additional_tags(self)))(text)

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


def _documents(selection: Selection, part: Part) -> Iterator[Section]:
    """Yield the files a part names, in order of priority, then name."""
    paths, named = _paths(selection, part)
    documents = selection.reading.documents(paths)
    ranked: list[tuple[tuple[bool, int, bool, str], Section]] = []
    for path, document in zip(paths, documents, strict=True):
        is_named = path in named
        if document is None and not is_named:
            continue  # gone since the folder was listed
        name = path.rpartition("/")[2]
        section = _document_section(selection, part, path, document, is_named=is_named)
        priority = document.meta.priority if document else None
        rank = priority if priority is not None else part.priorities.get(name, 100)
        ranked.append(((name not in part.first, rank, not section.pinned, path), section))
    if any("*" in pattern for pattern in part.files):
        ranked.sort(key=lambda pair: pair[0])
    yield from (section for _, section in ranked)


def _paths(selection: Selection, part: Part) -> tuple[list[str], set[str]]:
    """Return the paths to consider, and those that the layout names itself."""
    named: dict[str, None] = {}
    matched: dict[str, None] = {}
    for pattern in part.files:
        folder, _, name = pattern.rpartition("/")
        if "*" not in name:
            named[pattern.replace("{agent}", selection.agent.id)] = None
            continue
        prefix = f"{folder}/" if folder else ""
        named.update((prefix + known, None) for known in (*part.first, *part.priorities, *part.pinned))
        names = (entry.path for entry in selection.reading.list(folder))
        elsewhere = {prefix + other for other in part.elsewhere}
        matched.update((p, None) for p in names if fnmatchcase(p[len(prefix) :], name) and p not in elsewhere)
    others = [path for path in matched if path not in named]
    if len(others) > MOST_DOCUMENTS:
        left_out = len(others) - MOST_DOCUMENTS
        selection.warn("too_many_files", f"{left_out} of {len(others)} files were not considered.")
    return [*named, *others[:MOST_DOCUMENTS]], set(named)


def _document_section(
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
    return _wrapped(replace(section, text=selection.escape(text)), part, path)


def _wrapped(
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


def _unlisted(selection: Selection, folder: str, reason: str) -> Section:
    """Return the row of a folder that cannot be listed."""
    private = selection.privacy.covers_name(f"{folder}/")
    return Section(name=one_line(folder) or ".", kind="folder", private=private).out("unreadable", reason)


def _journal(selection: Selection, part: Part) -> Iterator[Section]:
    """Yield the files of the last days: within a day the plain one first, then slugged ones."""
    by_day: dict[str, list[str]] = {}
    for entry in selection.reading.list(part.folder):
        match = _DAY_FILE.fullmatch(entry.path.rpartition("/")[2])
        if match:
            by_day.setdefault(match[1], []).append(entry.path)
    days = selection.inputs.last_days(part.days)
    for day in days if part.order == "newest" else reversed(days):
        plain = f"{part.folder}/{day.isoformat()}.md"
        yield from _day_sections(selection, part, day, by_day.get(day.isoformat(), [plain]), plain)


def _day_sections(
    selection: Selection, part: Part, day: date, paths: list[str], plain: str
) -> Iterator[Section]:
    paths = sorted(paths, key=lambda path: (path != plain, path))
    for path, document in zip(paths, selection.reading.documents(paths), strict=True):
        section = _document_section(selection, part, path, document)
        yield _wrapped(section, part, path, day=day.isoformat())


def _project(selection: Selection, part: Part) -> Iterator[Section]:
    """Yield the agent's notebooks in this workspace, which compete for one limit together."""
    found = [_unless_off(selection, section) for section in _documents(selection, part)]
    if sum(section.kept for section in found) < 2:  # noqa: PLR2004 - one has nobody to compete with
        yield from found
        return
    found = [selection.once(section) for section in found]
    kept = tuple(section for section in found if section.kept)
    yield from (section for section in found if not section.kept)
    text = JOINT.join(section.text for section in kept)
    private = any(section.private for section in kept)
    yield replace(kept[0], text=text, private=private, identity="", members=kept)


def _unless_off(selection: Selection, section: Section) -> Section:
    """Leave out an agent's memory where it is switched off."""
    if section.kept and not selection.agent.memory_enabled:
        return section.out("excluded", "memory_off")
    return section


def _experience(selection: Selection, part: Part) -> Iterator[Section]:
    """Yield what the agent learnt elsewhere, from its own namespace outside the workspace."""
    document = selection.namespaces.document(selection.namespace.path)
    title = selection.namespace.title
    if document is not None:
        title = str(document.meta.extra.get("title") or title)
    section = _document_section(selection, part, selection.namespace.path, document, is_private=True)
    section = _wrapped(replace(section, name=one_line(title)), part, title=title)
    yield _unless_off(selection, section)


def _namespaces(selection: Selection, part: Part) -> Iterator[Section]:
    """Yield the namespaces that are switched on for everyone, by title; the agent's own is not repeated."""
    paths = [e.path for e in selection.namespaces.list("") if e.path != selection.namespace.path]
    documents = selection.namespaces.documents([path for path in paths if path.endswith(".md")])
    enabled = [d for d in documents if d is not None and d.meta.extra.get("enabled") is True]
    titled = [(str(d.meta.extra.get("title") or d.path), d) for d in enabled]
    for title, document in sorted(titled, key=lambda pair: (pair[0], pair[1].path)):
        section = _document_section(selection, part, document.path, document, is_private=True)
        yield _wrapped(replace(section, name=one_line(title)), part, title=title)


def _additional(selection: Selection, part: Part) -> Iterator[Section]:
    """Yield the files that the agent's settings add, each in a tag made of its path."""
    for path, tag in zip(selection.agent.additional_context_files, _additional_tags(selection), strict=True):
        try:
            plain = clean(path)
        except BadPath:
            yield Section(name=one_line(path), kind="document").out("unreadable", "bad_path")
            continue
        section = _document_section(selection, part, plain, selection.reading.document(plain))
        yield _wrapped(section, part, plain, tag=tag)


def _additional_tags(selection: Selection) -> list[str]:
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


def _text_part(selection: Selection, part: Part) -> Iterator[Section]:
    """Yield a text of the layout's own."""
    lines = (line for line in part.lines if selection.inputs.session or "{session}" not in line)
    text = "\n".join(line.format_map(selection.facts) for line in lines)
    if any("{date}" in line or "{session}" in line for line in part.lines):
        selection.warn(
            "volatile_prefix", f"The {part.name} stands before the files and breaks the cache each session."
        )
    yield Section(name=part.name, kind="text", text=text, counted=part.counted, unlimited=True)


def _knowledge(selection: Selection, part: Part) -> Iterator[Section]:
    """Yield the entry page of the knowledge with the list of the other files."""
    path = f"{part.folder}/{part.entry}"
    section = _document_section(selection, part, path, selection.reading.document(path))
    listing = _listing(selection, part, path)
    alone = not section.kept or (section.private and selection.inputs.scope is Scope.SHARED)
    if not alone and part.unlimited:  # the list counts like the text it follows
        yield replace(section, text=f"{section.text}\n\n{listing}" if listing else section.text)
        return
    if not alone:
        yield replace(section, after=f"\n\n{listing}" if listing else "")
        return
    if section.state != "missing" or not listing:
        yield section
    if listing:
        listed = Section(
            name=part.folder, kind="knowledge", text=listing, counted=part.counted, unlimited=True
        )
        yield _wrapped(listed, part)


def _listing(selection: Selection, part: Part, entry_path: str) -> str:
    """Return the sorted list of files in a folder, without those this scope may not know of."""
    entries = [e for e in _walk(selection, part.folder) if e.path != entry_path]
    if selection.inputs.scope is Scope.SHARED:
        entries = list(_visible(selection, entries))
    if not entries:
        return ""
    lines = [f"- {selection.escape(one_line(entry.path))}" for entry in entries[:MOST_LISTED]]
    if len(entries) > MOST_LISTED:
        lines.append(f"- … and {len(entries) - MOST_LISTED} more")
        selection.warn("listing_capped", f"{part.folder}: {MOST_LISTED} of {len(entries)} files are listed.")
    return "\n".join([part.listing, *lines])


def _walk(selection: Selection, folder: str) -> list[Entry]:
    """Return the files below a folder, sorted by path; each folder is visited once, under its own path first."""
    found: list[Entry] = []
    folders, aliases = [folder], list[Entry]()
    visited = {folder}
    while folders or aliases:
        current = folders.pop() if folders else aliases.pop().path
        if current.count("/") > DEEPEST:
            selection.warn("too_deep", f"{folder}: folders below {DEEPEST} levels are not looked into.")
            continue
        for entry in selection.reading.list(current):
            if selection.ignored(entry.path) or (entry.kind == "directory" and entry.target in visited):
                continue
            if entry.kind == "directory" and entry.target != entry.path:
                aliases.append(entry)
            elif entry.kind == "directory":
                visited.add(entry.target)
                folders.append(entry.path)
            elif entry.kind == "file":
                found.append(entry)
            else:
                selection.warn("not_a_file", f"{one_line(entry.path)} is not a regular file, and not listed.")
        aliases = [alias for alias in aliases if alias.target not in visited]
    return sorted(found, key=lambda entry: entry.path)


def _visible(selection: Selection, entries: Iterable[Entry]) -> Iterator[Entry]:
    """Yield the entries that shared scope may know of; a page may be private by its own front matter."""
    entries = list(entries)
    pages = [entry.path for entry in entries if entry.path.lower().endswith((".md", ".markdown"))]
    private = {d.path for d in selection.reading.documents(pages) if d is not None and d.meta.private}
    for entry in entries:
        # A listing does not notice a new hard link elsewhere, so the identity is always compared.
        if entry.path in private or selection.privacy.covers(entry.path, entry.target, entry.identity, 2):
            selection.withheld += 1
        else:
            yield entry


def _skills(selection: Selection, part: Part) -> Iterator[Section]:
    """Yield one line per skill, its name and what it is for."""
    hidden = selection.privacy.covers_document if selection.inputs.scope is Scope.SHARED else nothing_hidden
    found = find_skills(selection.reading, part.folder, ignored=selection.ignored, hidden=hidden)
    selection.withheld += found.withheld
    selection.warnings.extend(found.prompt_findings)
    for path in found.ignored if selection.inputs.scope is Scope.MAIN else ():
        yield Section(name=one_line(path), kind="skills").out("excluded", "ignored")
    for skill in found.unreadable:
        unreadable = Section(name=one_line(skill.document.path), kind="skills")
        yield unreadable.out("unreadable", skill.document.problem or "")
    if found.loaded:
        text = "\n".join(selection.escape(one_line(skill.line)) for skill in found.loaded)
        listed = Section(name=part.folder, kind="skills", text=text, counted=False, unlimited=True)
        yield _wrapped(listed, part)


def _prompt(selection: Selection, part: Part) -> Iterator[Section]:
    """Yield the agent's own prompt, rendered."""
    template = parse_template(selection.agent.system_prompt_template)
    text, unknown = template.render(selection.values)
    for name in unknown:
        selection.warn("unknown_variable", f"The prompt uses {{{{{name}}}}}, which is not known.")
    if "memory" in template.inserts:
        selection.warn("memory_in_prompt", "{{memory}} in the prompt breaks the provider's cache each turn.")
    elif "date" in template.inserts:
        selection.warn("volatile_prompt", "{{date}} in the prompt breaks the provider's cache each day.")
    text = text.rstrip()
    if text:
        stable = "memory" not in template.uses
        prompt = Section(
            name="prompt", kind="prompt", text=text, counted=False, unlimited=True, stable=stable
        )
        yield _wrapped(prompt, part)


_KINDS = {
    "documents": "document", "notebook": "notebook", "project": "layer", "experience": "layer",
    "namespaces": "layer", "additional": "document", "journal": "journal", "knowledge": "knowledge",
}  # fmt: skip

_SOURCES: dict[str, Callable[[Selection, Part], Iterator[Section]]] = {
    "documents": _documents,
    "notebook": _documents,
    "project": _project,
    "experience": _experience,
    "journal": _journal,
    "knowledge": _knowledge,
    "skills": _skills,
    "prompt": _prompt,
    "text": _text_part,
    "additional": _additional,
    "namespaces": _namespaces,
}


def find_identity(reading: Reading, layout: Layout, hidden_by: Privacy | None = None) -> Identity:
    """Return the identity that the workspace's own file gives, without a field where that is not to be seen."""
    document = reading.document(f"{layout.home}IDENTITY.md")
    if document is None or (hidden_by and hidden_by.covers_document(document)):
        return Identity()
    return parse_identity(document.text)
