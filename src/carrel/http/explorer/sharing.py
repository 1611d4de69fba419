"""How an agent's two layers share the prompt: what is in files, what is read of it, and the limits."""

from collections.abc import Sequence

from msgspec import Struct

from carrel.app import Workspace
from carrel.context.budget import Budget, split
from carrel.context.render import one_line
from carrel.context.report import Row
from carrel.http.explorer.layers import project_files


class Share(Struct, frozen=True, kw_only=True):
    """One layer: its letter and name, its tokens in files and in the prompt, and the most that it may have.

    Without a `limit` the layout gives it none of its own. `size` is what counts against the limit.
    """

    letter: str
    name: str
    raw: int
    tokens: int
    size: int
    limit: int | None
    state: str


class Shares(Struct, frozen=True, kw_only=True):
    """Both layers; `budget` is what they have together, which only some layouts hold them to."""

    experience: Share
    project: Share
    budget: int
    is_limited: bool
    exact: bool

    @property
    def both(self) -> tuple[Share, Share]:
        """The two, in the order of the prompt."""
        return self.experience, self.project

    @property
    def used(self) -> int:
        """Tokens of both that the model reads."""
        return self.experience.tokens + self.project.tokens


def shares_of(workspace: Workspace) -> Shares:
    """Return how the two layers of an agent's memory share its prompt now."""
    report, layout = workspace.report(), workspace.layout
    own = _title(workspace)
    files = set(project_files(workspace))
    layers = [row for row in report.sections if row.kind == "layer"]
    budget = workspace.assembler.limits(Budget()).memory or 0
    is_limited = any(part.share for message in layout.messages for part in message.parts)
    first, second = split(budget) if is_limited else (None, None)
    return Shares(
        experience=_share("A", "Experience", [row for row in layers if row.name == own], first),
        project=_share("B", "Project", [row for row in layers if row.name in files], second),
        budget=budget,
        is_limited=is_limited,
        exact=report.tokens.exact,
    )


def _title(workspace: Workspace) -> str:
    own = workspace.memory.namespace
    document = workspace.assembler.ground.namespaces.reading().document(own.path)
    return one_line(str(document.meta.extra.get("title") or own.title) if document else own.title)


def _share(letter: str, name: str, rows: Sequence[Row], limit: int | None) -> Share:
    states = {row.state for row in rows if row.state != "missing"}
    worst = next(
        (state for state in ("truncated", "excluded", "unreadable", "included") if state in states), "missing"
    )
    return Share(
        letter=letter,
        name=name,
        raw=sum(row.raw_tokens for row in rows),
        tokens=sum(row.tokens for row in rows),
        size=sum(row.size for row in rows),
        limit=limit,
        state=worst,
    )
