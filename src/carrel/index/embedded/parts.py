"""The parts of an open index: who finds them, keeps them apart from those of before, and heals them."""

import os
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property, partial
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

from carrel.errors import Unavailable
from carrel.files.disk import Disk, LockTimeout, typed_failures
from carrel.findings import Finding
from carrel.index import Filter
from carrel.index.answer import Parts
from carrel.index.catalog import Part
from carrel.index.embed import Embedder
from carrel.index.embedded.catalog import Catalog, State
from carrel.index.embedded.filters import select_ids
from carrel.index.embedded.soundness import WORDS_FILE, find_unsound
from carrel.index.embedded.words import Words, WordsUnavailable
from carrel.index.lag import Lag
from carrel.index.rescore import Candidates
from carrel.index.trouble import Trouble
from carrel.records.database import find_link

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from carrel.index.embedded.texts import KeptTexts
    from carrel.index.vectors import Vectors

CATALOG_FILE = "catalog.db"
LOCK_FILE = "lock"
LOCK_SECONDS = 10.0
_PAUSE = 0.01
_MOST_MASKS = 16


class FolderUnusable(Unavailable):
    """The index may not be kept where it belongs."""

    code = "index_folder_unusable"

    def __init__(self, problem: str) -> None:
        super().__init__(
            f"The index cannot be kept in its folder: {problem}.",
            hint="It is kept in memory meanwhile; make the folder writable, or move away what is there.",
        )


class OpenIndex:
    """The catalog, and the words and vectors that belong to it; no folder means memory."""

    def __init__(self, folder: Path | None, embedder: Embedder | None, inside: Path | None = None) -> None:
        self.folder = folder
        self.trouble = Trouble()
        self._embedder = embedder
        self._inside = inside
        self._disk = Disk()
        if folder is not None:
            self._claim(folder)
        self.catalog = Catalog(folder / CATALOG_FILE if folder else None, inside=inside)
        self._inode = self._look()
        self._state: State = self.catalog.state()
        self._words: Words | None = None
        self._vectors: Vectors | None = None
        self._borrowed: Path | None = None
        self._speakers: dict[bool, list[str]] = {}
        self._masks: dict[Filter, Sequence[int] | None] = {}
        self._lag: Lag | None = None
        self._is_checked = False

    @property
    def finding(self) -> Finding | None:
        """What to say when a damaged catalog was set aside."""
        return _was_damaged(CATALOG_FILE, f"{CATALOG_FILE}.damaged") if self.catalog.was_damaged else None

    def is_current(self) -> bool:
        """Tell whether the files are still those that were opened: somebody may have deleted the folder."""
        return self.folder is None or self._look() == self._inode

    def refresh(self) -> None:
        """See what others have written."""
        state = self.catalog.state()
        if state == self._state and self._words is not None:
            return
        with self.trouble.tried("words"):
            if self._words is None or state.words != self._state.words:
                self._words = None
                self._words = self._find_words(state)
            else:
                self._words.reload()
        if state.vectors != self._state.vectors:
            self._vectors = None
        self._state = state
        self._lag = None
        self._speakers.clear()
        self._masks.clear()

    def _find_words(self, state: State) -> Words | None:
        """Return the words that were written, none while there are none; only who writes makes them."""
        path = self._words_path(state)
        if path is None or os.path.lexists(path / WORDS_FILE):
            return Words(path)
        if self.catalog.count()[1]:
            raise WordsUnavailable("it is being made" if self.catalog.waiting("words") else "it is gone")
        return None

    @cached_property
    def texts(self) -> "KeptTexts":
        """What is searched as it stands."""
        from carrel.index.embedded.texts import KeptTexts  # noqa: PLC0415 - few ask for it

        return KeptTexts(self.catalog)

    def parts(self, *, with_vectors: bool, shared: bool) -> Parts:
        """Return what can answer; the trouble with what cannot is noted.

        For others than the owner, nothing but what everybody may know of tells who speaks.
        """
        vectors: Vectors | None = None
        self.trouble.drop("lag")
        if with_vectors and self._embedder is not None:
            if finding := self.lag.finding:
                self.trouble.note("lag", finding)
            if self.lag.is_small:
                with self.trouble.tried("vectors"):
                    vectors = self.need_vectors()
        if shared not in self._speakers:
            self._speakers[shared] = self.catalog.speakers(shared=shared)
        return Parts(
            catalog=self.catalog,
            words=self._words,
            near=partial(self._near, vectors) if vectors is not None else None,
            embedder=self._embedder,
            speakers=self._speakers[shared],
        )

    @property
    def lag(self) -> Lag:
        """How many chunks have no vector of the embedder yet."""
        if self._lag is None:
            name, chunks = self._embedder.name if self._embedder else "", self.catalog.count()[1]
            self._lag = Lag(chunks, self.catalog.lag("vectors") if name == self._state.embedder else chunks)
        return self._lag

    @contextmanager
    def writing(self, name: str = LOCK_FILE, *, patience: float | None = None) -> Generator[None]:
        """Keep every other writer away, or all others from what has a lock of another name."""
        if self.folder is None:
            yield
            return
        with typed_failures(name):
            fd = os.open(self.folder / name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            patience = LOCK_SECONDS if patience is None else patience
            until = monotonic() + patience
            while not self._disk.lock(fd):
                if monotonic() > until:
                    raise LockTimeout(name, patience)
                self._disk.pause(_PAUSE)
            yield
        finally:
            os.close(fd)

    def heal(self) -> Finding | None:
        """Have a part begun anew that is damaged, lost, or not the one that belongs to the catalog.

        Looking closely takes a while: it is done once, and again after something went wrong. What to say of
        words that were set aside is returned.
        """
        finding = None
        if not self._is_checked and not self._is_sound():
            finding = self._begin_anew("words")
        self.refresh()
        if self._embedder is not None and not self._fits(self._embedder):
            self._begin_anew("vectors")
        if not self._is_checked:
            self._sweep()
        self._is_checked = True
        return finding

    def doubt(self) -> None:
        """Have the parts looked at closely before they are written to again: one of them failed."""
        self._is_checked = False
        self._words = None

    def renew_words(self) -> None:
        """Have the words begun anew, under a name that nothing of what went wrong has."""
        self._begin_anew("words")

    def need_words(self) -> Words:
        """Return the words, of which others are told as unavailable when they cannot be opened."""
        if self._words is None:
            self._words = Words(self._words_path(self._state))
        return self._words

    def need_vectors(self) -> "Vectors":
        """Return the vectors of the embedder."""
        from carrel.index.vectors import Vectors  # noqa: PLC0415 - numpy

        assert self._embedder is not None
        if self._vectors is None:
            folder = self.folder or self._borrow()
            path = folder / f"vectors-{self._state.vectors}.bin"
            inside = self._inside if self.folder else None
            self._vectors = Vectors(
                path, embedder=self._embedder.name, leading=self._embedder.leading, inside=inside
            )
        return self._vectors

    def count_vectors(self) -> int:
        """Return how many chunks have a vector, 0 where none can be had."""
        if self._embedder is None or self._state.embedder != self._embedder.name:
            return 0
        try:
            return len(self.need_vectors())
        except Unavailable:
            return 0

    def close(self) -> None:
        """Let go of all files, and of what was kept elsewhere."""
        self._words = None
        if self._vectors is not None:
            self._vectors.close()
        self.catalog.close()
        if self._borrowed is not None:
            _remove(self._borrowed)

    def _near(
        self, vectors: "Vectors", direction: "NDArray[np.float32]", within: Filter, limit: int
    ) -> Candidates:
        near = vectors.search(direction, allowed=self._allowed(within), k=limit)
        found = self.catalog.stands([own for own, _ in near])
        there = [(own, score, *found[own]) for own, score in near if own in found]
        return Candidates(*zip(*there, strict=True))

    def _allowed(self, within: Filter) -> Sequence[int] | None:
        if within not in self._masks:
            if len(self._masks) >= _MOST_MASKS:
                self._masks.clear()
            self._masks[within] = select_ids(self.catalog, within)
        return self._masks[within]

    def _claim(self, folder: Path) -> None:
        try:
            if self._inside is not None and (odd := find_link(self._inside, folder / LOCK_FILE)):
                raise FolderUnusable(f"{odd} is a link, or no regular file")
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            if not os.access(folder, os.W_OK | os.X_OK):
                raise FolderUnusable("it may not be written to")
        except OSError as error:
            raise FolderUnusable(error.strerror or str(error)) from error

    def _look(self) -> int:
        if self.folder is None:
            return 0
        try:
            return os.stat(f"{self.folder}/{CATALOG_FILE}").st_ino  # noqa: PTH116 - a Path takes longer, each time
        except OSError:
            return -1

    def _words_path(self, state: State) -> Path | None:
        return self.folder / f"words-{state.words}" if self.folder is not None else None

    def _is_sound(self) -> bool:
        """Tell whether the words are whole, and as many as they should be.

        They are looked at before they are opened: over some damage tantivy panics, for all the world to see.
        """
        path = self._words_path(self.catalog.state())
        if path is not None and find_unsound(path):
            return False
        self.refresh()
        if self._words is None:
            return False
        return bool(self.catalog.waiting("words")) or self._words.count == self.catalog.count()[1]

    def _fits(self, embedder: Embedder) -> bool:
        """Tell whether the vectors are this embedder's, and as many as they should be."""
        if self._state.embedder != embedder.name:
            return False
        if self._is_checked:
            return True
        try:
            vectors = self.need_vectors()
            count = len(vectors)
        except Unavailable:
            return False
        return not vectors.was_damaged and (
            bool(self.catalog.waiting("vectors")) or count == self.catalog.count()[1]
        )

    def _begin_anew(self, part: Part) -> Finding | None:
        """Have a part made from the beginning; return what to say of words that were set aside."""
        path, finding = self._words_path(self._state), None
        if part == "words" and path is not None and self.catalog.count()[1]:
            finding = self._set_aside(path)
        self.catalog.renew(part, self._embedder.name if self._embedder else "")
        self.refresh()
        self.trouble.drop(part)
        return finding

    def _set_aside(self, path: Path) -> Finding | None:
        aside = path.with_name("words.damaged")
        _remove(aside)
        with suppress(OSError):
            path.rename(aside)
            return _was_damaged("The index of words", aside.name)
        return None

    def _sweep(self) -> None:
        """Remove what belongs to no catalog any more."""
        if self.folder is None:
            return
        own = {f"words-{self._state.words}", f"vectors-{self._state.vectors}.bin"}
        with suppress(OSError):
            for path in self.folder.iterdir():
                if path.name.startswith("words-") and path.name not in own:
                    _remove(path)
                elif path.name.startswith("vectors-") and not any(map(path.name.startswith, own)):
                    path.unlink()

    def _borrow(self) -> Path:
        if self._borrowed is None:
            from tempfile import mkdtemp  # noqa: PLC0415 - seldom needed, and slow to load

            with typed_failures("vectors"):
                self._borrowed = Path(mkdtemp(prefix="carrel-"))
        return self._borrowed


def _was_damaged(what: str, aside: str) -> Finding:
    return Finding(
        code="index_damaged",
        message=f"{what} was damaged; it was set aside, and the index is made anew.",
        severity="info",
        hint=f"Delete {aside} when you have no use for it.",
    )


def _remove(folder: Path) -> None:
    """Remove a folder of ours, or what stands in its place, as far as that can be done."""
    import shutil  # noqa: PLC0415 - seldom needed, and slow to load

    with suppress(OSError):
        folder.unlink()
    shutil.rmtree(folder, ignore_errors=True)
