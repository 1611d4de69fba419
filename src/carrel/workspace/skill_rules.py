"""The rules of the Agent Skills specification, each as what breaks it."""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import cast
from urllib.parse import unquote

from carrel.files import show
from carrel.files.paths import BadPath, clean
from carrel.findings import Finding, Severity
from carrel.workspace.document import Document, Reading

LONGEST_NAME = 64
LONGEST_DESCRIPTION = 1_024
LONGEST_COMPATIBILITY = 500
MOST_TOKENS = 5_000
MOST_LINES = 500
DEEPEST_REFERENCE = 2  # parts of a path: a folder of the skill, and a file in it
KEYS = ("name", "description", "license", "compatibility", "metadata", "allowed-tools")
"""All that the specification knows; `scope`, `tags` and `priority` are any document's own."""

_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_LINK = re.compile(r"\]\(\s*<?([^)\s<>]+)")
_BARE_PATH = re.compile(r"(?<![\w./-])(?:\./)?(?:scripts|references|assets)/[\w./-]++(?![*<{$\[])")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|//")


def broken(path: str, code: str, what: str, hint: str, severity: Severity = "error") -> Finding:
    """Return the finding that a file breaks a rule."""
    return Finding(code=code, path=path, message=f"{show(path)}: {what}.", hint=hint, severity=severity)


def check_fields(path: str, fields: Mapping[str, object], folder: str) -> Iterator[Finding]:
    """Yield the rules that front matter breaks."""
    yield from _check_name(path, fields.get("name"), folder)
    yield from _check_text(path, fields, "description", LONGEST_DESCRIPTION, required=True)
    yield from _check_text(path, fields, "compatibility", LONGEST_COMPATIBILITY)
    yield from _check_text(path, fields, "license", None)
    yield from _check_metadata(path, fields.get("metadata"))
    yield from _check_tools(path, fields.get("allowed-tools"))
    for key in fields:
        if key not in KEYS:
            what = f"'{show(key[:60])}' is not a key of the Agent Skills specification"
            yield broken(path, "skill_unknown_key", what, "Put it below `metadata`.", "warning")


def _check_name(path: str, name: object, folder: str) -> Iterator[Finding]:
    if name is None or not isinstance(name, str):
        what = "it has no name" if name is None else "its name is not text"
        yield broken(path, "skill_name", what, f"Write `name: {show(folder)}`.")
        return
    if not _NAME.fullmatch(name) or len(name) > LONGEST_NAME:
        hint = f"Use 1 to {LONGEST_NAME} of a-z, 0-9 and single hyphens between them."
        yield broken(path, "skill_name", f"'{show(name[:80])}' is not a valid name", hint)
    if name != folder:
        what = f"its name '{show(name[:80])}' is not that of its folder, '{show(folder)}'"
        yield broken(path, "skill_name_folder", what, "Rename one of them.")


def _check_text(
    path: str, fields: Mapping[str, object], key: str, longest: int | None, *, required: bool = False
) -> Iterator[Finding]:
    value = fields.get(key)
    code = f"skill_{key}"
    if value is None and (required or key in fields):
        yield broken(path, code, f"it has no {key}", f"Say it in a sentence, or remove `{key}`.")
    elif value is not None and not isinstance(value, str):
        yield broken(path, code, f"its {key} is not text", "Put the value in quotes.")
    elif isinstance(value, str) and not value.strip():
        yield broken(path, code, f"its {key} is empty", f"Say it in a sentence, or remove `{key}`.")
    elif isinstance(value, str) and longest is not None and len(value.strip()) > longest:
        what = f"its {key} has {len(value.strip()):,} characters, and {longest:,} are allowed"
        yield broken(path, code, what, "Shorten it, and say the rest in the body.")


def _check_metadata(path: str, metadata: object) -> Iterator[Finding]:
    if metadata is None:
        return
    if not isinstance(metadata, dict):
        yield broken(path, "skill_metadata", "its metadata is not a table", "Write keys and values.")
        return
    for key, value in cast("dict[str, object]", metadata).items():
        if not isinstance(value, str):
            what = f"the value of '{show(key[:60])}' in its metadata is not text"
            yield broken(path, "skill_metadata", what, 'Put it in quotes: `version: "1.0"`.')


def _check_tools(path: str, tools: object) -> Iterator[Finding]:
    hint = "Write them in one line with spaces between: `allowed-tools: Read Bash(git:*)`."
    if tools is None:
        return
    if not isinstance(tools, str):
        yield broken(path, "skill_allowed_tools", "its allowed-tools are not one text", hint)
    elif "," in re.sub(r"\([^()]*\)", "", tools):
        yield broken(path, "skill_allowed_tools", "its allowed-tools are parted by commas", hint)


def check_body(document: Document, count: Callable[[str], int]) -> Iterator[Finding]:
    """Yield what is too much, or too little, in the body."""
    path, body = document.path, document.text
    hint = "Move details into files of their own, and name them in the body."
    if not body.strip():
        yield broken(path, "skill_empty", "it has no body", "Say how to do it.", "warning")
    if (tokens := count(body)) >= MOST_TOKENS:
        what = f"its body has {tokens:,} tokens; fewer than {MOST_TOKENS:,} are advised"
        yield broken(path, "skill_long", what, hint, "warning")
    if (lines := len(body.split("\n"))) >= MOST_LINES:
        what = f"its body has {lines:,} lines; fewer than {MOST_LINES} are advised"
        yield broken(path, "skill_long", what, hint, "warning")


def check_references(reading: Reading, document: Document) -> Iterator[Finding]:
    """Yield the files that a body names where they should not be, or that are not there."""
    path = document.path
    for reference in _references(document.text):
        shown = show(reference[:120])
        try:
            names = clean(reference).split("/")
        except BadPath:
            hint = "Use paths relative to the skill's own folder."
            yield broken(path, "skill_reference_outside", f"{shown} leads out of the skill", hint)
            continue
        if len(names) > DEEPEST_REFERENCE:
            what = f"{shown} is more than one level deep"
            hint = "Keep files directly in a folder of the skill."
            yield broken(path, "skill_reference_deep", what, hint, "warning")
        elif not _exists(reading, path.rpartition("/")[0], names):
            hint = "Add the file, or correct the path."
            yield broken(path, "skill_reference_missing", f"there is no {shown}", hint, "warning")


def _references(body: str) -> list[str]:
    """Return the files that a body names: links outside code, and paths into the skill's usual folders."""
    prose: list[str] = []
    fenced = False
    for line in body.split("\n"):
        if line.lstrip().startswith(("```", "~~~")):
            fenced = not fenced
        elif not fenced:
            prose.append(re.sub(r"`[^`]*`", "", line))
    links = (target for target in _LINK.findall("\n".join(prose)) if not _SCHEME.match(target))
    linked = [unquote(target.partition("#")[0].partition("?")[0]) for target in links]
    bare = [found.rstrip("./-").removeprefix("./") for found in _BARE_PATH.findall(body)]
    return [each for each in dict.fromkeys((*linked, *bare)) if each.strip("./")]


def _exists(reading: Reading, folder: str, names: list[str]) -> bool:
    within = "/".join([folder, *names[:-1]])
    return any(entry.path == f"{within}/{names[-1]}" for entry in reading.list(within))
