"""A change of memory as pages show it: who did what to which file, and the difference it made."""

from msgspec import Struct

from carrel.app import Workspace
from carrel.http.explorer.deeds import of_change
from carrel.memory.splice import diff
from carrel.records.changes import Change

_DIFF = 6_000
"""Characters of one difference among others."""


class Changed(Struct, frozen=True, kw_only=True):
    """A change in words: what was done, what people know its file by, and as much of it as is shown."""

    row: Change
    said: str
    called: str
    diff: str
    is_cut: bool
    is_open: bool
    """Whether the difference is seen at once."""

    @property
    def can_undo(self) -> bool:
        """Whether it stands and there is a way back."""
        return self.row.state == "done" and not self.row.undoes and not self.row.splice.is_purged


def changed(workspace: Workspace, change: Change, *, is_open: bool, is_whole: bool = False) -> Changed:
    """Return a change as a page shows it, whole or as much as there is room for."""
    text = diff(change)
    return Changed(
        row=change,
        said=of_change(change).said,
        called=workspace.memory.called(change.store, change.path),
        diff=text if is_whole else text[:_DIFF],
        is_cut=not is_whole and len(text) > _DIFF,
        is_open=is_open,
    )
