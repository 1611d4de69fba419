"""What reading a log has shown so far: how far it was read, and what a list of sessions tells of it."""

from msgspec import Struct, to_builtins
from msgspec.structs import replace

from carrel.sessions.titles import title_from
from carrel.sessions.transcript import (
    VERSION,
    Entry,
    Foreign,
    Header,
    Summary,
    Title,
)


class Known(Struct, frozen=True, kw_only=True):
    """What reading a log has shown so far: how far it was read, and what a list of sessions tells of it."""

    identity: str = ""
    size: int = 0
    """Up to where whole lines were read."""
    ending: str = ""
    """A digest of the last bytes read, by which a log is recognised."""
    modified_ns: int = 0
    """When the file was last changed, as far as that was seen; 0 where what was added here came after."""
    entries: int = 0
    header: dict[str, object] | None = None
    first: str = ""
    last: str = ""
    title: str = ""
    opening: str = ""
    """A title made from what the user said first."""
    summary: str = ""
    source: str = ""
    compacted: tuple[int, int, int] | None = None
    """The last entry that a summary stands for, and where the line with that summary is."""
    damaged: int = 0
    duplicates: int = 0
    foreign: int = 0
    newer: int = 0
    """The version of a header that a later Carrel wrote."""

    def after_entry(self, entry: Entry) -> "Known":
        """Return what is known after one more entry."""
        opening = self.opening
        if not opening and entry.role == "user":
            opening = title_from(entry.to_text())
        return replace(
            self,
            entries=self.entries + 1,
            opening=opening,
            first=self.first or entry.timestamp,
            last=entry.timestamp or self.last,
        )

    def after_compaction(self, through: int, start: int, size: int) -> "Known":
        """Return what is known after a summary; one of entries that are not there is passed over."""
        if 0 < through <= self.entries:
            return replace(self, compacted=(through, start, size))
        return self

    def after_note(self, line: Header | Title | Summary | Foreign) -> "Known":
        """Return what is known after a line that is neither an entry nor a summary of some."""
        if isinstance(line, Title):
            return replace(self, title=line.title)
        if isinstance(line, Summary):
            return replace(self, summary=line.summary)
        if isinstance(line, Foreign) or self.header is not None:
            return replace(self, foreign=self.foreign + 1)
        newer = line.version if line.version > VERSION else 0
        return replace(
            self,
            header=to_builtins(line),
            source=line.source_plugin,
            newer=newer,
            first=self.first or line.timestamp,
        )
