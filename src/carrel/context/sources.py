"""The sources of sections: what each kind of part looks at, and the sections it makes of it."""

from collections.abc import Callable, Iterable, Iterator
from datetime import date
from fnmatch import fnmatchcase

from msgspec.structs import replace

from carrel.context.render import one_line
from carrel.context.section import JOINT, Section
from carrel.context.select import Selection, additional_tags, document_section, wrapped
from carrel.context.template import parse_template
from carrel.files import Entry
from carrel.files.paths import BadPath, clean
from carrel.workspace.layout import Part
from carrel.workspace.namespace import switched_on
from carrel.workspace.scope import Scope
from carrel.workspace.skills import find_skills, nothing_hidden
from carrel.workspace.tiers import day_of, standing_of

MOST_DOCUMENTS = 2_000
MOST_LISTED = 2_000
DEEPEST = 32


def select(selection: Selection, parts: tuple[Part, ...]) -> list[Section]:
    """Return the sections of these parts, in the order of the prompt."""
    found: list[Section] = []
    for number, part in enumerate(parts):
        own = _SOURCES[part.kind](selection, part)
        found.extend(replace(selection.once(section), part=number) for section in own)
    problems = selection.reading.problems.items()
    return [*found, *(_unlisted(selection, folder, reason) for folder, reason in problems)]


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
        section = document_section(selection, part, path, document, is_named=is_named)
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


def _unlisted(selection: Selection, folder: str, reason: str) -> Section:
    """Return the row of a folder that cannot be listed."""
    private = selection.privacy.covers_name(f"{folder}/")
    return Section(name=one_line(folder) or ".", kind="folder", private=private).out("unreadable", reason)


def _journal(selection: Selection, part: Part) -> Iterator[Section]:
    """Yield the files of the last days: within a day the plain one first, then slugged ones."""
    by_day: dict[str, list[str]] = {}
    for entry in selection.reading.list(part.folder):
        if day := day_of(entry.path.rpartition("/")[2]):
            by_day.setdefault(day, []).append(entry.path)
    days = selection.inputs.last_days(part.days)
    for day in days if part.order == "newest" else reversed(days):
        plain = f"{part.folder}/{day.isoformat()}.md"
        yield from _day_sections(selection, part, day, by_day.get(day.isoformat(), [plain]), plain)


def _day_sections(
    selection: Selection, part: Part, day: date, paths: list[str], plain: str
) -> Iterator[Section]:
    paths = sorted(paths, key=lambda path: (path != plain, path))
    for path, document in zip(paths, selection.reading.documents(paths), strict=True):
        section = document_section(selection, part, path, document)
        yield wrapped(section, part, path, day=day.isoformat())


def _project(selection: Selection, part: Part) -> Iterator[Section]:
    """Yield the agent's notebooks in this workspace, which compete for one limit together."""
    found = [_unless_day(selection, _unless_off(selection, each)) for each in _documents(selection, part)]
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


def _unless_day(selection: Selection, section: Section) -> Section:
    """Leave out what would be the notebook of an agent whose id is a date: it is the journal of that day."""
    standing = standing_of(section.name, selection.layout, (selection.agent.id,))
    return section.out("excluded", "journal") if section.kept and standing.tier == "journal" else section


def _experience(selection: Selection, part: Part) -> Iterator[Section]:
    """Yield what the agent learnt elsewhere, from its own namespace outside the workspace."""
    document = selection.namespaces.document(selection.namespace.path)
    title = selection.namespace.title
    if document is not None:
        title = str(document.meta.extra.get("title") or title)
    section = document_section(selection, part, selection.namespace.path, document, is_private=True)
    section = wrapped(replace(section, name=one_line(title)), part, title=title)
    yield _unless_off(selection, section)


def _namespaces(selection: Selection, part: Part) -> Iterator[Section]:
    """Yield the namespaces that are switched on for everyone, by title; the agent's own is not repeated."""
    enabled = [d for d in switched_on(selection.namespaces) if d.path != selection.namespace.path]
    titled = [(str(d.meta.extra.get("title") or d.path), d) for d in enabled]
    for title, document in sorted(titled, key=lambda pair: (pair[0], pair[1].path)):
        section = document_section(selection, part, document.path, document, is_private=True)
        yield wrapped(replace(section, name=one_line(title)), part, title=title)


def _additional(selection: Selection, part: Part) -> Iterator[Section]:
    """Yield the files that the agent's settings add, each in a tag made of its path."""
    for path, tag in zip(selection.agent.additional_context_files, additional_tags(selection), strict=True):
        try:
            plain = clean(path)
        except BadPath:
            yield Section(name=one_line(path), kind="document").out("unreadable", "bad_path")
            continue
        section = document_section(selection, part, plain, selection.reading.document(plain))
        yield wrapped(section, part, plain, tag=tag)


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
    section = document_section(selection, part, path, selection.reading.document(path))
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
        yield wrapped(listed, part)


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
    """Return the files below a folder, sorted by path; each folder is visited once, by its own path first."""
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
        yield wrapped(listed, part)


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
        yield wrapped(prompt, part)


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
