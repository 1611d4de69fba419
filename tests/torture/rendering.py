"""What a prompt is made of, by the page of the layouts and the files alone: pieces, in their order, with what is around them."""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Literal, NamedTuple

from tests.torture.written import ADDED, Desk, Written

_PROMPT = "You are Kate."
_TAGS = {
    "carrel": ("document", "knowledge", "skills", "memory", "journal", "recall", "hit", "session"),
    "agentscope": ("loaded_context", "agents_context", "memory_context", "domain_knowledge_context", *ADDED),
}
_GUIDANCE = """## Workspace guidance
The blocks below were loaded from your workspace. AGENTS.md holds your persona and rules.
Domain knowledge: start from knowledge/KNOWLEDGE.md and open the other knowledge files with read_file when you need them.
Memory: MEMORY.md is the curated part. Use memory_search before you answer about past work, decisions, dates or people.
Keep what must last with memory_write; each day's entries are in memory/YYYY-MM-DD.md."""
_OPENCLAW = ("AGENTS", "SOUL", "IDENTITY", "USER", "TOOLS", "HEARTBEAT", "BOOTSTRAP", "MEMORY")
_HIDDEN = ("USER.md", "MEMORY.md", "DREAMS.md", "memory/", "notes/2", "agents/", "workspace/memory/")


class Layout(NamedTuple):
    """How texts are limited: the unit, for one and for all; which rule, and what stands where one was cut."""

    unit: Literal["tokens", "characters", "chars/4"]
    file: int | None
    total: int | None
    overflow: Literal["exclude", "truncate", "rest"]
    marker: str
    """A pattern; `{name}` is the piece's own."""
    before: str = "\n"
    headings: tuple[str, ...] = ()


LAYOUTS = {
    "carrel": Layout(
        "tokens", 20_000, 150_000, "exclude", r"\[truncated: {name}, (\d+) of (\d+) tokens shown\]"
    ),
    "astra": Layout("tokens", 20_000, 150_000, "exclude", r"\[truncated at \d+K? tokens\]"),
    "nexo": Layout(
        *("characters", 12_000, 60_000, "truncate", r"\[truncated\]", "\n\n"),
        ("# IDENTITY", "# SOUL", "# USER", "# AGENTS", "# RECENT NOTES", "# MEMORY"),
    ),
    "agentscope": Layout(
        *("chars/4", None, 8_000, "rest"),
        r"\.\.\. \(memory truncated use memory_search for older entries\) \.\.\.",
    ),
    "squad": Layout(
        *("tokens", None, None, "exclude", r"\[truncated\]", "\n"),
        ("## Agent Memory", "### Experience", "### Project"),
    ),
    "openclaw": Layout(
        *("characters", 20_000, 60_000, "truncate", r"\[\.\.\. {name}: \d+ characters left out; read the file for the rest \.\.\.\]"),
        "\n",
        ("# Project Context", *(f"## {name}.md" for name in _OPENCLAW)),
    ),
}  # fmt: skip


class Piece(NamedTuple):
    """A text of a prompt as it is without limits, what stands around it, and how it is limited."""

    name: str
    """As the report has it."""
    text: str
    open: str = ""
    close: str = ""
    after: str = ""
    """Follows the text, and is not limited with it."""
    gap: str = "\n\n"
    """Parts it from what stands before it, if anything does."""
    leads: tuple[str, ...] = ()
    """Stand before the first piece that has them."""
    keep: Literal["head", "tail", "both"] = "head"
    limited: Literal["", "file", "rest", "first share", "second share"] = "file"
    counted: bool = True
    pinned: bool = False
    is_file: bool = False
    is_frame: bool = False
    """Whether it stands there without a text."""
    otherwise: "Piece | None" = None
    """What stands there where this does not."""

    @property
    def last(self) -> str:
        """The last word, which is in no other piece."""
        return self.text.split()[-1] if self.text.split() else ""


Messages = list[list[Piece]]


def pieces(desk: Desk, *, is_shared: bool, session: str) -> Messages:
    """Return the pieces of each system message; in shared scope those that others may read."""
    shown = {name: file for name, file in desk.files.items() if not (is_shared and is_hidden(desk, name))}
    own = {} if is_shared else desk.namespaces
    return _LAYOUTS[desk.layout](desk._replace(files=shown, namespaces=own), session)


def is_hidden(desk: Desk, name: str) -> bool:
    """Tell whether a file is the owner's alone."""
    if desk.layout == "nexo" and name not in ("IDENTITY.md", "SOUL.md", "AGENTS.md"):
        return not name.startswith("knowledge/") or desk.files[name].is_private
    bare = name.removeprefix("workspace/")
    return desk.files[name].is_private or name.startswith(_HIDDEN) or (bare in _HIDDEN)


def escaped(layout: str, text: str) -> str:
    """Return a text in which nothing opens or closes what only the layout may."""
    return text if layout not in _TAGS else forging(layout).sub("&lt;", text)


def forging(layout: str) -> re.Pattern[str]:
    """Return what would open or close a block, where a layout has tags."""
    names = "|".join(map(re.escape, _TAGS[layout]))
    return re.compile(rf"<(?=\s*/?\s*({names})(?![\w.-]))", re.IGNORECASE)


def _plain(desk: Desk, file: Written) -> str:
    """Return the text of a file as a prompt has it: no front matter, no blank end, one kind of newline."""
    body = file.body
    if desk.layout == "nexo":  # it knows of none
        body = file.whole
    elif file.front:
        body = re.sub(r"\A([^\S\n]*\n)+", "", body)
    body = body.replace("\r\n", "\n").rstrip()
    return escaped(desk.layout, body) if body.strip() else ""


def _piece(desk: Desk, name: str, open_: str = "", close: str = "", **more: object) -> Iterator[Piece]:
    """Yield the piece of a file, if it is there."""
    if (file := desk.files.get(name)) is not None:
        yield Piece(escaped(desk.layout, name), _plain(desk, file), open_, close, is_file=True)._replace(
            **more
        )  # type: ignore[arg-type]


def _tagged(tag: str, **attributes: str) -> tuple[str, str]:
    told = "".join(f' {key}="{value}"' for key, value in attributes.items())
    return f"<{tag}{told}>\n", f"\n</{tag}>"


def _ranked(desk: Desk, pinned: Sequence[str], first: str = "") -> list[str]:
    """Return the names of documents by priority, pinned ones first, then by name."""
    names = [name for name in desk.files if re.fullmatch(rf"{desk.home}[^/]*\.md", name)]

    def rank(name: str) -> tuple[bool, int, bool, str]:
        bare, priority = name.removeprefix(desk.home), desk.files[name].priority
        usual = pinned.index(bare) if bare in pinned else 100
        return bare != first, usual if priority is None else priority, bare not in (*pinned, first), name

    return sorted(names, key=rank)


def _listing(desk: Desk, head: str) -> str:
    names = sorted(
        name for name in desk.files if name.startswith("knowledge/") and name != "knowledge/KNOWLEDGE.md"
    )
    return "\n".join([head, *(f"- {escaped(desk.layout, name)}" for name in names)]) if names else ""


def _days(desk: Desk, folder: str) -> dict[str, list[str]]:
    """Return the files of yesterday and today, the plain one first."""
    found = {day: list[str]() for day in ("2026-04-23", "2026-04-24")}
    for name in sorted(desk.files, key=lambda each: (each.removesuffix(".md"), each)):
        day = name.removeprefix(f"{folder}/")[:10]
        if name.startswith(f"{folder}/") and day in found:
            found[day].append(name)
    return found


def _carrel(desk: Desk, session: str) -> Messages:
    del session  # which it tells of at the end
    first, second = list[Piece](), list[Piece]()
    for name in _ranked(desk, ("AGENTS.md", "IDENTITY.md", "USER.md"), "SOUL.md"):
        pinned = name in ("SOUL.md", "AGENTS.md", "IDENTITY.md", "USER.md")
        for each in _piece(desk, name, *_tagged("document", path=name), gap="\n", pinned=pinned):
            line = desk.files[name].line
            text = "" if name in ("README.md", "DREAMS.md") else escaped(desk.layout, line) or each.text
            first += [] if name == "MEMORY.md" else [each._replace(text=text)]
    first += _knowledge(desk, "Files:", *_tagged("knowledge"), gap="\n", counted=False)
    first.append(Piece("prompt", _PROMPT, limited="", counted=False))
    second += _piece(desk, "MEMORY.md", *_tagged("memory", path="MEMORY.md"), gap="\n", counted=False)
    if own := desk.namespaces.get(title := "Agent Experience: Kate"):
        tags = _tagged("memory", layer="experience", title=title)
        second.append(Piece(title, _plain(desk, own), *tags, gap="\n", counted=False))
    for name in ("agents/kate/memory.md", "memory/kate.md"):
        second += _piece(desk, name, *_tagged("memory", layer="project", path=name), gap="\n", counted=False)
    for day, names in _days(desk, "memory").items():
        for name in names:
            tags = _tagged("journal", date=day, path=name)
            second += _piece(desk, name, *tags, gap="\n", counted=False, keep="tail")
    return [first, second]


def _knowledge(desk: Desk, head: str, open_: str, close: str, **more: object) -> Iterator[Piece]:
    listing = _listing(desk, head)
    alone = Piece("knowledge", listing, open_, close, limited="")._replace(**more)  # type: ignore[arg-type]
    found = list(_piece(desk, "knowledge/KNOWLEDGE.md", open_, close, **more))
    for each in found:
        yield each._replace(after=f"\n\n{listing}" if listing else "", otherwise=alone if listing else None)
    if listing and not found:
        yield alone


def _astra(desk: Desk, session: str) -> Messages:
    del session
    pinned = ("AGENTS.md", "USER.md", "IDENTITY.md")
    soul = list(_piece(desk, "SOUL.md", limited="", counted=False))
    others = [
        list(_piece(desk, name, pinned=name.removeprefix(desk.home) in pinned))
        for name in _ranked(desk, pinned)
    ]
    return [soul, *others, [Piece("prompt", _PROMPT, limited="", counted=False)]]


def _nexo(desk: Desk, session: str) -> Messages:
    del session
    found = list[Piece]()
    if identity := desk.files.get("IDENTITY.md"):
        found.append(Piece("IDENTITY.md", identity.line, "# IDENTITY\n"))
    for name in ("SOUL", "USER", "AGENTS"):
        found += _piece(desk, f"{name}.md", f"# {name}\n")
    for names in reversed(_days(desk, "notes").values()):
        for name in names:
            stem = name.removeprefix("notes/").removesuffix(".md")
            found += _piece(desk, name, f"## {stem}\n", leads=("# RECENT NOTES\n\n",), keep="tail")
    found += _piece(desk, "MEMORY.md", "# MEMORY\n")
    return [found, [Piece("prompt", _PROMPT, limited="", counted=False)]]


def _agentscope(desk: Desk, session: str) -> Messages:
    context = ["## Session Context", "Date: 2026-04-24 (Friday)", "OS: Linux", f"Workspace: {desk.root}"]
    context += [f"Session: {session}"] if session else []
    found = [
        Piece("prompt", _PROMPT, limited="", counted=False),
        Piece("session context", "\n".join(context), limited=""),
        Piece("guidance", _GUIDANCE, limited="", counted=False),
    ]
    start = ("\n\n<loaded_context>\n", "\n", "\n")
    names = ("AGENTS.md", "MEMORY.md", "knowledge/KNOWLEDGE.md")
    for name, tag, gap in zip(names, _TAGS["agentscope"][1:], start, strict=False):
        empty = Piece(tag, "", f"<{tag}></{tag}>", gap=gap, limited="", is_frame=True)
        limited = "rest" if name == "MEMORY.md" else ""
        own = list(_piece(desk, name, *_tagged(tag), gap=gap, limited=limited))
        if name.startswith("knowledge/"):
            listing = _listing(desk, "Knowledge files:")
            alone = Piece("knowledge", listing, *_tagged(tag), gap=gap, limited="")
            empty = alone if listing else empty
            told = f"\n\n{listing}" if listing else ""
            own = [each._replace(text=each.text + told) if each.text else each for each in own]
        found += [each._replace(otherwise=empty) for each in own] or [empty]
    for name in ADDED:
        found += _piece(desk, name, *_tagged(name), gap="\n", limited="")
    return [[*found, Piece("end of files", "</loaded_context>", gap="\n", limited="", counted=False)]]


def _squad(desk: Desk, session: str) -> Messages:
    del session
    header = "# Squad: desk\nAgent: Kate (kate)\nWorkspace: desk"
    found = [
        Piece("squad", header, limited="", counted=False),
        Piece("prompt", _PROMPT, limited="", counted=False),
    ]
    lead, others = "## Agent Memory\n\n", list[Piece]()
    for title in sorted(desk.namespaces):
        text = _plain(desk, desk.namespaces[title])
        if title.endswith("Kate"):
            found.append(
                Piece(title, text, "### Experience\n", leads=(lead,), keep="tail", limited="first share")
            )
        else:
            others.append(
                Piece(title, text, f"### {title}\n", leads=("[Supplementary Context]\n\n",), keep="tail")
            )
    for name in ("agents/kate/memory.md", "memory/kate.md"):
        found += _piece(desk, name, leads=(lead, "### Project\n"), keep="tail", limited="second share")
    return [found, others]


def _openclaw(desk: Desk, session: str) -> Messages:
    del session
    found = [Piece("prompt", _PROMPT, limited="", counted=False)]
    for name in (f"{each}.md" for each in _OPENCLAW):
        found += _piece(desk, name, f"## {name}\n\n", leads=("# Project Context\n\n",), keep="both")
    return [found]


_LAYOUTS: dict[str, Callable[[Desk, str], Messages]] = {
    "carrel": _carrel, "astra": _astra, "nexo": _nexo, "agentscope": _agentscope, "squad": _squad, "openclaw": _openclaw,
}  # fmt: skip
