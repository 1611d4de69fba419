"""What tests say of a workspace: what its model reads, and what nobody but its owner can reach."""

from collections.abc import Iterator, Sequence
from typing import Protocol

import msgspec

from carrel.app import Workspace
from carrel.context.assemble import Assembly
from carrel.errors import CarrelError
from carrel.exporting.account import open_account
from carrel.exporting.markdown import to_markdown
from carrel.index import Mode

_MODES: tuple[Mode, ...] = ("literal", "hybrid")
_ASKED = "assert-no-leak"
"""A session in which nothing was said."""


class AssertContext(Protocol):
    """Checks what a model would read."""

    def __call__(
        self,
        workspace: Workspace,
        *,
        holds: str | Sequence[str] = (),
        lacks: str | Sequence[str] = (),
        scope: str = "main",
        session: str | None = None,
        query: str | None = None,
        at_most: int | None = None,
    ) -> Assembly:
        """Return the assembly, if it is as it should be."""
        ...


class AssertNoLeak(Protocol):
    """Checks that others cannot reach a text."""

    def __call__(self, workspace: Workspace, *texts: str) -> None:
        """Fail where one of the texts is told in shared scope, and say where."""
        ...


def assert_context(
    workspace: Workspace,
    *,
    holds: str | Sequence[str] = (),
    lacks: str | Sequence[str] = (),
    scope: str = "main",
    session: str | None = None,
    query: str | None = None,
    at_most: int | None = None,
) -> Assembly:
    """Check that a model would read all that `holds` says and nothing of `lacks`, in `at_most` tokens.

    Nothing is recorded. A text that should be there and is not is told with what became of each file.
    """
    assembly = workspace.assemble(session, query, scope)
    text, used = assembly.to_text(), assembly.report.tokens.used
    missing = [each for each in _listed(holds) if each not in text]
    present = [each for each in _listed(lacks) if each in text]
    states = "\n".join(f"  {row.name}: {row.state} {row.reason or ''}" for row in assembly.report.sections)
    assert not missing, f"The {scope} context lacks {missing}. Its sections:\n{states}"
    assert not present, f"The {scope} context holds {present}."
    assert at_most is None or used <= at_most, f"The {scope} context takes {used} tokens, over {at_most}."
    return assembly


def assert_no_leak(workspace: Workspace, *texts: str) -> None:
    """Check that shared scope is told none of the texts: by context, search, files, health or export."""
    found = sorted({place for place, told in _told(workspace, texts) if any(each in told for each in texts)})
    assert not found, f"Others are told what is private, by: {', '.join(found)}."


def _told(workspace: Workspace, texts: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield all that shared scope can be told, each with its place."""
    for query in (None, *texts):
        assembly = workspace.assemble(_ASKED, query, "shared")
        said = assembly.to_text()
        yield "the context", said if query is None else said.replace(query, "", 1)
        yield "its report", _json(assembly.report)
    for text in texts:
        for mode in _MODES:
            yield f"a {mode} search", _json(workspace.search(text, mode=mode, limit=50, scope="shared").hits)
    for path in _paths(workspace):
        yield f"the file {path}", _read(workspace, path)
    yield "health", _json(workspace.health(scope="shared"))
    yield "an export", "".join(to_markdown(open_account(workspace, "shared")))


def _paths(workspace: Workspace, under: str = "") -> Iterator[str]:
    for entry in workspace.list(under):
        if entry.kind == "directory":
            yield from _paths(workspace, entry.path)
        else:
            yield entry.path


def _read(workspace: Workspace, path: str) -> str:
    try:
        return workspace.read(path, scope="shared") or ""
    except CarrelError as error:
        return f"{error} {error.hint}"


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()


def _listed(texts: str | Sequence[str]) -> Sequence[str]:
    return (texts,) if isinstance(texts, str) else texts
