"""The workspace that is imported into, as it is and as the steps so far would leave it."""

from collections.abc import Mapping
from functools import cached_property
from hashlib import sha256

from msgspec import Struct

from carrel import plainjson
from carrel.app import Workspace
from carrel.errors import CarrelError
from carrel.files import FileStore
from carrel.files.ephemeral import EphemeralFiles
from carrel.files.paths import fold, new_name
from carrel.importing.piece import Piece
from carrel.importing.places import Spot, is_kept, kept_path, path_of
from carrel.importing.source import FILE_LIMIT
from carrel.importing.undoing import is_taken_back
from carrel.markdown.frontmatter import update
from carrel.records import Records
from carrel.records.proposals import MOST_WAITING
from carrel.workspace.injected import Injected, injected_by
from carrel.workspace.layout import Layout
from carrel.workspace.scaffold import scaffold
from carrel.workspace.scope import Privacy

ACTION = "import"
"""What the audit calls it that a piece was brought in."""

_MARKDOWN = (".md", ".markdown")


class Standing(Struct, frozen=True):
    """What stands at a path, or will; of what will be written and read by nobody only the digest is kept."""

    digest: str
    data: bytes | None = None


class Target:
    """A workspace with the changes that are planned for it; planning reads it and writes nothing."""

    def __init__(self, desk: Workspace, kind: str, *, mine: bool) -> None:
        self.desk = desk
        self.layout: Layout = desk.layout
        self.agent = desk.agent.id
        self.mine = mine
        self.learnt: set[str] = set()
        """The keys of facts that this import brings in."""
        self._kind = kind
        self._files: FileStore = desk.files
        self._planned: dict[str, Standing] = {}
        self._proposed: dict[str, Standing] = {}
        records = self.records
        self._waiting = records.proposals.counts()["waiting"] if records else 0

    @property
    def records(self) -> Records | None:
        """The target's records, none as long as there are none: who only looks makes nothing."""
        return self.desk.records if self.desk.home.has_records() else None

    @cached_property
    def _is_injected(self) -> Injected:
        return injected_by(self.layout, (self.desk.agent, *self.desk.config.settings.agents))

    @cached_property
    def _privacy(self) -> Privacy:
        return Privacy(self.layout, frozenset)

    @cached_property
    def _samples(self) -> EphemeralFiles:
        samples = EphemeralFiles()
        scaffold(samples, self.layout)
        return samples

    def place(self, piece: Piece, agents: Mapping[str, str]) -> str | None:
        """Return the place of a piece, none where the layout has none for it."""
        if piece.role == "other":
            return portable(piece.source) if self._kind == self.layout.name else None
        spot = Spot(
            role=piece.role, name=piece.name, agent=agents.get(piece.agent, piece.agent) or self.agent
        )
        path = path_of(spot, self.layout, self.agent)
        return portable(path) if path else None

    def kept_place(self, piece: Piece, data: bytes) -> str:
        """Return where a piece is kept that has no place; where another one is, beside that."""
        source = f"{piece.source}.txt" if piece.role == "settings" else piece.source
        path = portable(kept_path(self.layout, self._kind, source))
        now = self.now(path)
        return path if now is None or now.digest == digest_of(data) else with_digest(path, data)

    def now(self, path: str) -> Standing | None:
        """Return what stands at a path, or will; none where nothing does."""
        if (planned := self._planned.get(fold(path))) is not None:
            return planned
        content = self._files.read(path, limit=FILE_LIMIT)
        return Standing(content.digest, content.data) if content else None

    def proposed(self, path: str) -> Standing | None:
        """Return what would stand at a path if its owner says yes to what this import proposes."""
        return self._proposed.get(fold(path))

    def plan(self, path: str, data: bytes, *, read: bool = False) -> None:
        """Take note of what a step will leave at a path, and whether later steps read it."""
        self._planned[fold(path)] = Standing(digest_of(data), data if read else None)

    def propose(self, path: str, data: bytes) -> None:
        """Take note of a file that waits."""
        self.expect(path, data)
        self.wait()

    def expect(self, path: str, data: bytes) -> None:
        """Take note of a file that an earlier import proposed."""
        self._proposed[fold(path)] = Standing(digest_of(data))

    def wait(self) -> None:
        """Take note of one more change that waits."""
        self._waiting += 1

    @property
    def is_crowded(self) -> bool:
        """Whether so much waits already that nobody would look through more."""
        return self._waiting >= MOST_WAITING

    def is_injected(self, path: str) -> bool:
        """Tell whether every prompt may hold a file."""
        return self._is_injected(path) and not is_kept(path, self.layout)

    def waits(self, path: str) -> bool:
        """Tell whether what would enter a file has to wait for its owner."""
        return not self.mine and self.is_injected(path)

    def is_sample(self, path: str, data: bytes) -> bool:
        """Tell whether a file is as `carrel init` made it: nobody's words."""
        sample = self._samples.read(path)
        return sample is not None and sample.data == data

    def is_private(self, path: str) -> bool:
        """Tell whether shared scope does not see a path, by its name."""
        return self._privacy.covers_name(path)

    def hidden(self, path: str, data: bytes) -> bytes | None:
        """Return a private text that stays private at a path; none where it would be seen there."""
        if self.is_private(path):
            return data
        if not path.lower().endswith(_MARKDOWN):
            return None
        try:
            return update(data.decode(), {"scope": "private"}).encode()
        except (CarrelError, UnicodeDecodeError):
            return None

    def is_known(self, key: str) -> bool:
        """Tell whether a piece was brought in before.

        One whose file is gone since may come again, and so may one that was taken back, and one that waits
        and is called the owner's now.
        """
        records = self.records
        events = records.audit.events(action=ACTION, target=key, limit=1) if records else []
        if records is None or not events:
            return False
        detail = events[0].detail
        if detail.get("waits"):
            return not self.mine
        if is_taken_back(records.audit, detail.get("run")):
            return False
        return self._files.stamps([str(detail.get("path"))]) != [None]


def digest_of(data: bytes) -> str:
    """Return what bytes are recognised by."""
    return sha256(data).hexdigest()


def key_of(kind: str, piece: Piece, data: bytes) -> str:
    """Return what a piece is known by: where it came from, and what it says."""
    told = (kind, piece.source, piece.role, piece.section, piece.name)
    return f"sha256:{sha256(plainjson.dumps(told) + data).hexdigest()}"


def with_digest(path: str, data: bytes) -> str:
    """Return a path beside another one, for these bytes."""
    folder, slash, name = path.rpartition("/")
    stem, dot, ending = name.partition(".") if not name.startswith(".") else (name, "", "")
    return f"{folder}{slash}{stem[:100]}-{digest_of(data)[:8]}{dot}{ending}"


def portable(path: str) -> str:
    """Return a path whose names every system can hold; one that had to change has a digest in it."""
    return "/".join(_portable_name(name) for name in path.split("/"))


def _portable_name(name: str) -> str:
    try:
        new_name(name, name)
    except CarrelError:
        plain = "".join(c if c.isalnum() or c in "-_. " else "_" for c in name).strip(" .")[:80]
        digest = sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:8]
        stem, dot, ending = plain.rpartition(".")
        return f"{stem or plain or 'name'}-{digest}{f'.{ending}' if dot and stem else ''}"
    return name
