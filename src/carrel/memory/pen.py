"""How memory's files are written: each change is kept before it is made, and can be taken back.

A change is begun in the records, made by compare-and-swap, settled in the records, and committed where there
is a history. A kill between any two of these leaves what `recover` and `catch_up` finish, once.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import islice

from msgspec import Struct
from msgspec.structs import replace

from carrel.clock import Clock
from carrel.errors import CarrelError, Refused, Unavailable, UsageError
from carrel.files import READ_LIMIT, Content, FileStore, Stale, Unreadable, show
from carrel.files.history import History
from carrel.findings import Finding
from carrel.memory.committing import Version, commit_pending
from carrel.memory.recovery import settle_unfinished, was_made
from carrel.memory.splice import digest_of, same_around, splice_of
from carrel.memory.undo import UndoConflict, effects, taken_back
from carrel.records.changes import Change, Changes, UnknownChange
from carrel.records.facts import Store
from carrel.screen.policy import BlockedByPrivacy, Screen

_ATTEMPTS = 200
"""How often an edit is made again on what somebody else wrote: each time somebody got further."""

_BACKLOG = 16
"""How many changes a new one takes along into commits, where they could not be committed before."""

_MOST = 1_000
"""How many changes are caught up with at once; what git ignores waits for ever, and must cost little."""

MARKDOWN = (".md", ".markdown", ".txt")
"""How names end of files that hold headings and lines of memory."""

Edit = Callable[[str | None], str | None]
"""From a file's text, none where there is no file, to its new text; none means that it stays."""


class Author(Struct, frozen=True, kw_only=True):
    """Who changes memory, what they do and why, in words for people."""

    actor: str
    action: str
    reason: str = ""
    agent: str = ""
    session: str = ""


class BadText(UsageError):
    """A text cannot be written into a file of memory; nothing was written."""

    code = "bad_text"

    def __init__(self, path: str, why: str, *, hint: str) -> None:
        super().__init__(f"Cannot write {show(path)}: {why}.", hint=hint)
        self.path = path


class LeadsElsewhere(Refused):
    """What should be memory is a link to something that a heading or a line would break."""

    code = "leads_elsewhere"

    def __init__(self, path: str, target: str) -> None:
        super().__init__(
            f"{show(path)} is a link to {show(target)}, which is no text in Markdown.",
            hint="Replace the link with a file, and try again.",
        )
        self.path = path


class Pen:
    """Writes memory's files; it owns nothing but the way this is done."""

    def __init__(
        self,
        *,
        stores: Mapping[Store, FileStore],
        changes: Callable[[], Changes],
        clock: Clock,
        history: Callable[[], History | None] = lambda: None,
        written: Callable[[Store, str], object] = lambda _store, _path: None,
        screen: Screen | None = None,
        redacted: Callable[[str, Sequence[str]], object] = lambda _path, _kinds: None,
    ) -> None:
        self._stores = stores
        self._changes = changes
        self._clock = clock
        self._history = history
        self._written = written
        self._screen = screen or Screen()
        self._redacted = redacted

    @property
    def screen(self) -> Screen:
        """What is done with secrets and personal data before they are written."""
        return self._screen

    def edit(self, store: Store, path: str, edit: Edit, author: Author) -> Change | None:
        """Edit a file's text, or again what others made of it meanwhile; none where nothing changes.

        What is new in it is screened: BlockedByPrivacy where it may not be written.
        """
        files = self._stores[store]
        _refuse_other_kinds(files, path)

        def attempt() -> Change | None:
            content = files.read(path)
            text = _text(path, content)
            new = edit(text)
            if new is None or new == text:
                return None
            new = self._screened(path, text or "", new)
            if new == text:
                return None
            return self._replace(store, path, content, _encoded(path, new), author)

        return _persistently(attempt)

    def append(self, store: Store, path: str, line: str, author: Author) -> Change | None:
        """Add a line at the end of a file; none where the same line stands in it already."""
        files = self._stores[store]
        _refuse_other_kinds(files, path)
        added = _encoded(path, self._screened(path, "", " ".join(line.splitlines())))

        def attempt() -> Change | None:
            content = files.read(path)
            _text(path, content)
            old = content.data if content else b""
            if added in old.splitlines():
                return None
            whole = added + (b"\r\n" if old.endswith(b"\r\n") else b"\n")
            new = old + (b"\n" if old and not old.endswith(b"\n") else b"") + whole
            _refuse_large(path, new)
            put = partial(files.append, path, whole, at=len(old))
            return self._make(self._change(store, path, content, new, author), put, new)

        return _persistently(attempt)

    def put(
        self, store: Store, path: str, data: bytes | None, author: Author, *, expect: Content | None
    ) -> Change:
        """Write bytes as they are, none to remove the file; Stale where it is no longer as expected.

        For what only moves: nothing of it is looked at or marked.
        """
        return self._replace(store, path, expect, data, author)

    def undo(self, changes: Sequence[Change], author: Author) -> list[Change]:
        """Take changes back, the newest first, and return the changes that did it.

        All of them are tried out first: with UndoConflict nothing was written.
        """
        newest = sorted({change.id: change for change in changes}.values(), key=lambda c: c.id, reverse=True)
        tried: dict[tuple[Store, str], bytes | None] = {}
        for change in newest:
            state = self._changes().get(change.id).state
            if state != "done":
                raise UndoConflict(
                    change, "it is undone already" if state == "undone" else "it is not done yet"
                )
            place = (change.store, change.path)
            now = tried[place] if place in tried else _data(self._stores[change.store].read(change.path))
            tried[place] = taken_back(change, now)
        made = (_persistently(partial(self._take_back, change, author)) for change in newest)
        return [change for change in made if change is not None]

    def recover(self) -> tuple[Finding, ...]:
        """Settle what a kill left: done where the file shows it, else as if it had not begun."""
        return tuple(settle_unfinished(self._changes(), self._stores, self._say_done, self._clock.now()))

    def catch_up(self) -> tuple[Finding, ...]:
        """Commit what could not be committed when it was written, and tell what is in the way of that."""
        history = self._history()
        paths = _oldest_first(islice(self._uncommitted(), _MOST)) if history else {}
        if history is None or not paths:
            return ()
        self._commit(history, paths)
        return history.findings()

    def _screened(self, path: str, old: str, new: str) -> str:
        start, end = same_around(old, new)
        screened = self._screen.between(old[start : len(old) - end], new[start : len(new) - end])
        if screened.blocked:
            raise BlockedByPrivacy(screened.found)
        if not screened.found:
            return new
        self._redacted(path, screened.found)
        return new[:start] + screened.text + new[len(new) - end :]

    def _take_back(self, change: Change, author: Author) -> Change | None:
        content = self._stores[change.store].read(change.path)
        now = _data(content)
        new = taken_back(change, now)
        if new != now:
            return self._replace(change.store, change.path, content, new, author, undoes=change.id)
        changes = self._changes()
        for number, state in effects(changes, replace(change, undoes=change.id)):
            changes.settle(number, state)
        return None

    def _replace(
        self,
        store: Store,
        path: str,
        content: Content | None,
        new: bytes | None,
        author: Author,
        *,
        undoes: int = 0,
    ) -> Change:
        files = self._stores[store]
        change = replace(self._change(store, path, content, new, author), undoes=undoes)
        if new is not None:
            return self._make(change, partial(files.write, path, new, expect=change.before), new)
        assert change.before is not None
        return self._make(change, partial(files.remove, path, expect=change.before), new)

    def _change(
        self, store: Store, path: str, content: Content | None, new: bytes | None, author: Author
    ) -> Change:
        return Change(
            at=self._clock.now(),
            actor=author.actor,
            action=author.action,
            store=store,
            path=path,
            before=content.digest if content else None,
            after=digest_of(new),
            splice=splice_of(_data(content), new),
            agent=author.agent,
            session=author.session,
            reason=author.reason,
        )

    def _make(self, change: Change, put: Callable[[], object], new: bytes | None) -> Change:
        """Begin a change, make it, and say that it is done; what failed is looked at before it is told."""
        change = self._changes().begin(change)
        try:
            put()
        except Stale:
            self._drop(change)
            raise
        except CarrelError:
            with suppress(CarrelError):
                self._look_again(change)
            raise
        # It is written and will be found: that nobody could say so must not make anybody write it again.
        with suppress(Unavailable):
            change = self._settle(change)
        self._written(change.store, change.path)
        if change.store == "workspace" and (history := self._history()) is not None:
            with suppress(Unavailable):
                waiting = _oldest_first(islice(self._uncommitted(), _BACKLOG))
                held = self._commit(history, waiting | {change.path: Version(new, change.after)})
                change = replace(change, commit=held.get(change.id, ""))
        return change

    def _drop(self, change: Change) -> None:
        """Say that nothing was written, also where somebody who recovers has taken it for done meanwhile."""
        self._changes().settle(change.id, None)
        with suppress(UnknownChange):
            self._changes().settle(change.id, "undone")

    def _look_again(self, change: Change) -> None:
        """Say what became of a change whose writing failed: the last step may be the one that did."""
        content = self._stores[change.store].read(change.path)
        is_made = was_made(change, (), content.digest if content else None)
        if is_made:
            self._settle(change)
        elif is_made is False:
            self._changes().settle(change.id, None)

    def _settle(self, change: Change) -> Change:
        """Say that a change of our own is done."""
        try:
            self._say_done(change)
        except UnknownChange:
            # Somebody who recovers took this process for dead, just before it wrote the file.
            change = self._changes().begin(change)
            self._changes().settle(change.id, "done")
        return replace(change, state="done")

    def _say_done(self, change: Change) -> None:
        """Say that a change is done; what it takes back first, so that a kill leaves it to be found begun."""
        changes = self._changes()
        for number, state in effects(changes, change):
            changes.settle(number, state)
        changes.settle(change.id, "done")

    def _uncommitted(self) -> Iterator[str]:
        """Yield the files of changes that are in no commit, the newest first."""
        before: int | None = None
        while page := self._changes().list(store="workspace", committed=False, before=before, limit=_BACKLOG):
            yield from (change.path for change in page)
            before = page[-1].id

    def _commit(self, history: History, paths: Mapping[str, Version | None]) -> dict[int, str]:
        """Commit what was done to these files; what is in the way of that is the history's to tell."""
        held: dict[int, str] = {}
        files, changes = self._stores["workspace"], self._changes()
        with history.writing() as commits:
            if commits is None:
                return held
            for path, written in paths.items():
                with suppress(Unavailable):
                    held |= commit_pending(
                        path, changes=changes, files=files, commits=commits, written=written
                    )
        return held


def _refuse_other_kinds(files: FileStore, path: str) -> None:
    """Refuse to write memory into settings or a transcript, by a link that somebody has put in its place."""
    target = files.target(path)
    if target != path and not target.lower().endswith(MARKDOWN):
        raise LeadsElsewhere(path, target)


def _oldest_first(paths: Iterable[str]) -> dict[str, Version | None]:
    return dict.fromkeys(reversed(list(paths)))


def _persistently(attempt: Callable[[], Change | None]) -> Change | None:
    """Repeat what somebody else was faster than; in the end it is theirs to know."""
    for _ in range(_ATTEMPTS - 1):
        with suppress(Stale):
            return attempt()
    return attempt()


def _data(content: Content | None) -> bytes | None:
    return content.data if content else None


def _text(path: str, content: Content | None) -> str | None:
    if content is None:
        return None
    try:
        return content.data.decode()
    except UnicodeDecodeError:
        raise Unreadable(path, "not_utf8") from None


def _encoded(path: str, text: str) -> bytes:
    try:
        data = text.encode()
    except UnicodeEncodeError:
        hint = "Leave out the broken character, and try again."
        raise BadText(path, "the text holds half a character, which no file can", hint=hint) from None
    return _refuse_large(path, data)


def _refuse_large(path: str, data: bytes) -> bytes:
    if len(data) > READ_LIMIT:
        hint = "Move a part of it to another file."
        raise BadText(path, f"it would have more than {READ_LIMIT:,} bytes", hint=hint)
    return data
