"""What Carrel keeps beside the files of a workspace, in folders of this machine."""

import os
from collections.abc import Hashable, Mapping
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from carrel.clock import Clock, SystemClock
from carrel.config import UserDirectories
from carrel.errors import CarrelError, Refused
from carrel.files import FileStore
from carrel.files.disk import typed_failures
from carrel.files.ephemeral import EphemeralFiles
from carrel.files.folders import make_folders
from carrel.files.local import LinkOutside, LocalFiles
from carrel.records import Records
from carrel.records.database import find_link
from carrel.records.sqlite import SqliteRecords
from carrel.tokens import Tokenizer
from carrel.workspace.counts import TokenCounts

if TYPE_CHECKING:  # a report has no use for them
    from carrel.index import Index
    from carrel.index.embed import Embedder, EmbedderChoice
    from carrel.records.moving import Rows
    from carrel.runtime.edit import Trash
    from carrel.sessions.offsets import Offsets

STATE_FOLDER = ".carrel"
RECORDS_FILE = "records.db"
_DERIVED = ("index", "embeddings.db")
_ASIDE = {"": "*.damaged", "index": "*.damaged", "sessions": "*/*.damaged-*"}
"""Where in the cache that stands which was damaged, and how it is called there."""


class NothingSent(Refused):
    """A dry run sends no text to a server, so that it has no vectors of it."""

    code = "dry_run_sends_nothing"

    def __init__(self) -> None:
        super().__init__(
            "In a dry run no text is sent to be embedded; search goes by words alone.",
            hint="The same command without --dry-run asks the embedder that the settings name.",
        )


class Beside(Struct, frozen=True, kw_only=True):
    """The half of a home that is the same wherever the files are: records, index, trash, what is derived.

    Where these folders are in the workspace itself, `inside` is its directory: nobody's link leads to them.
    """

    directories: UserDirectories
    cache: Path
    state: Path
    inside: Path | None = None

    @property
    def clock(self) -> Clock:
        """The machine's."""
        return SystemClock()

    def has_records(self) -> bool:
        """Tell whether anything was recorded."""
        return os.path.lexists(self._records)

    def records(self) -> Records:
        """Open the file of the records."""
        self._claim()
        return SqliteRecords(self._records, inside=self.inside)

    def rows(self) -> "Rows":
        """Open that file as rows, to be moved."""
        from carrel.records.moving.sqlite import SqliteRows  # noqa: PLC0415 - few workspaces are moved

        self._claim()
        return SqliteRows(self._records, inside=self.inside)

    def counts(self, tokenizer: Tokenizer) -> TokenCounts:
        """Open the token counts of one model."""
        self._claim()
        return TokenCounts(tokenizer, self.cache / "tokens.db", inside=self.inside)

    def cached(self, name: str) -> Path:
        """Return the path of something derived; nobody's link leads to it."""
        self._claim()
        self._refuse_links(self.cache / "any")
        return self.cache / name

    def offsets(self) -> "Offsets":
        """Open what is known of the logs of sessions."""
        from carrel.sessions.offsets import Offsets  # noqa: PLC0415 - for conversations only

        self._claim()
        return Offsets(self.cache / "sessions.db", inside=self.inside)

    def derived(self) -> FileStore:
        """Return the folder of what is derived from sessions."""
        folder = self.cache / "sessions"
        try:
            self._refuse_links(folder / "any")
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            return LocalFiles(folder)
        except (CarrelError, OSError):  # it is derived: then it lasts as long as the process
            return EphemeralFiles()

    def trash(self) -> "Trash":
        """Return the trash, made where it is missing; nobody's link leads to it."""
        from carrel.runtime.edit import open_trash  # noqa: PLC0415 - loaded by who removes something

        self._claim()
        self._refuse_links(self.state / "trash" / "any")
        return open_trash(self.state)

    def find_trash(self) -> LocalFiles | None:
        """Return what was removed, none where nothing was yet."""
        trash = self.state / "trash"
        with typed_failures(str(trash)):
            is_there = trash.is_dir()
        if not is_there:
            return None
        self._refuse_links(trash / "any")
        return LocalFiles(trash)

    def find_namespaces(self) -> LocalFiles | None:
        """Return the user's own folder of namespaces, none before the first is written."""
        with typed_failures(str(self._namespaces)):
            is_there = self._namespaces.is_dir()
        return LocalFiles(self._namespaces) if is_there else None

    def open_namespaces(self) -> FileStore:
        """Return that folder, made where it is missing."""
        with typed_failures(str(self._namespaces)):
            make_folders(self._namespaces, mode=0o700)
        return LocalFiles(self._namespaces)

    def leases(self) -> None:
        """Return none: whoever serves a directory does all there is to do."""

    def bell(self) -> None:
        """Return none: what happens in a directory is seen by looking at it."""

    def foreseeing(self, *work: Hashable) -> AbstractContextManager[None]:
        """Do work as it comes: a disk is near at hand."""
        del work
        return nullcontext()

    def index(self, embedder: "Embedder | None") -> "Index":
        """Open the index, in the cache."""
        from carrel.index.embedded import EmbeddedIndex  # noqa: PLC0415 - for searching only

        self._claim()
        return EmbeddedIndex(self.cache / "index", embedder=embedder, inside=self.inside)

    def embedder(self, choice: "EmbedderChoice", environ: Mapping[str, str]) -> "Embedder | None":
        """Open what makes vectors; what a server made is kept in the cache. In a dry run none is asked."""
        if self.directories.stage is not None and choice.kind not in ("none", "static"):
            raise NothingSent
        from carrel.index.embed import open_embedder  # noqa: PLC0415 - for searching only

        return open_embedder(choice, environ=environ, cache=self.cache / "embeddings.db", inside=self.inside)

    def indexed(self) -> list[str]:
        """Return the names of what is kept of an index and of vectors."""
        return [path.name for path in self._derived()]

    def set_aside(self) -> list[str]:
        """Return the paths of what was damaged and stands aside; behind a link there is nothing of ours."""
        found = list[Path]()
        for folder, names in _ASIDE.items():
            with suppress(CarrelError, OSError):
                self._refuse_links(self.cache / folder / "any")
                found += sorted((self.cache / folder).glob(names))
        return [str(path.relative_to(self.inside) if self.inside else path) for path in found]

    def sweep_files(self) -> None:
        """Remove what killed writers left in the trash and among the namespaces."""
        for store in filter(None, (self.find_trash(), self.find_namespaces())):
            store.sweep()

    def drop_index(self) -> None:
        """Remove that; a folder has another name first, since nobody adds to what they cannot find."""
        from secrets import token_hex  # noqa: PLC0415 - for forgetting only
        from shutil import rmtree  # noqa: PLC0415 - the same

        for path in self._derived():
            self._refuse_links(path.parent / "any")
            with typed_failures(path.name), suppress(FileNotFoundError):  # another forgets, too
                if path.is_dir() and not path.is_symlink():
                    aside = path
                    with suppress(OSError):  # a folder of an image's lower layer has the name it has
                        aside = path.rename(path.with_name(f"{_DERIVED[0]}-dropped-{token_hex(4)}"))
                    rmtree(aside, ignore_errors=True)  # a call that found it before may add one more file
                    if aside.exists():
                        rmtree(aside)  # and says what is wrong
                else:
                    path.unlink()

    @property
    def _records(self) -> Path:
        return self.state / RECORDS_FILE

    @property
    def _namespaces(self) -> Path:
        return self.directories.data / "namespaces"

    def _derived(self) -> list[Path]:
        with typed_failures(str(self.cache)):
            return [path for name in _DERIVED for path in sorted(self.cache.glob(f"{name}*"))]

    def _claim(self) -> None:
        """Keep what Carrel is about to put into a workspace out of git; a failure shows when it is put."""
        if self.inside is None or os.path.lexists(self.inside / STATE_FOLDER / ".gitignore"):
            return
        with suppress(CarrelError, OSError):
            self._refuse_links(self.inside / STATE_FOLDER / ".gitignore")
            LocalFiles(self.inside).write(f"{STATE_FOLDER}/.gitignore", b"*\n", expect=None)

    def _refuse_links(self, path: Path) -> None:
        """Make sure that nobody laid a link on the way to a file of ours."""
        with typed_failures(str(path)):
            odd = find_link(self.inside, path) if self.inside is not None else None
        if odd:
            raise LinkOutside(odd)
