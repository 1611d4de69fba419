"""Commits of one file each: made of objects first, staged next, and only then the branch moves on.

So a kill leaves either nothing that counts, or what will be committed staged already: never a commit that
the owner's next one would take back.
"""

import os
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime

from msgspec import Struct
from msgspec.structs import replace

from carrel.files import show
from carrel.files.git import LeftAlone, told, waiting
from carrel.files.git.folder import Folder
from carrel.files.git.objects import FILE, Commit, Item, Objects, blob_id
from carrel.files.git.refs import Head, head_of, move
from carrel.files.git.staging import staging
from carrel.findings import Finding

_ATTEMPTS = 5
_LOOK_BACK = 50
"""How many commits are looked through for one that was made just before a kill."""

_PLAIN = (FILE, b"100755")
_EMPTY = blob_id(b"")


class Step(Struct, frozen=True):
    """What a file becomes by one commit, and the name of that object; none: it is gone."""

    data: bytes | None
    id: str | None
    author: str
    message: str


class CommitWriter(Struct, frozen=True, kw_only=True):
    """Makes commits in a repository that is held; `owner` and `who` are names with an address."""

    folder: Folder
    objects: Objects
    owner: str
    who: str
    is_ignored: Callable[[str], bool]
    tell: Callable[[Finding | None], object]

    def content(self, path: str) -> bytes | None:
        """Return a file as it was committed last, none where it was not."""
        with told(self.tell):
            head = head_of(self.folder)
            tree = self.objects.commit(head.commit).tree if head.commit else None
            item = self.objects.find(tree, _names(path))
            return self.objects.read("blob", item.id) if item else None
        return None

    def commit(
        self, path: str, data: bytes | None, *, before: bytes | None, message: str, at: datetime
    ) -> str:
        """Commit that a file which was `before` is now `data`, after what its owner did to it."""
        with told(self.tell):
            commit = self._commit(path, data, before, message, f" {max(0, int(at.timestamp()))} +0000")
            self.tell(None)
            return commit
        return ""

    def _commit(self, path: str, data: bytes | None, before: bytes | None, message: str, when: str) -> str:
        ours = Step(data, _id_of(data), self.who + when, message)
        by_hand = Step(before, _id_of(before), self.owner + when, f"By hand: {show(path)}\n")
        for _ in range(_ATTEMPTS):
            head = head_of(self.folder)
            commit = self._made(head, ours) or self._attempt(head, path, [by_hand, ours])
            if commit is not None:
                return commit
        raise waiting("git is being used all the time", "They are committed with the next one.")

    def _attempt(self, head: Head, path: str, steps: list[Step]) -> str | None:
        """Make the commits that these steps need; none where somebody committed or staged meanwhile."""
        names = _names(path)
        tree = self.objects.commit(head.commit).tree if head.commit else None
        item = self.objects.find(tree, names)
        if head.commit and steps[-1].id == (item and item.id):
            return head.commit  # its owner was faster
        with staging(self.folder) as index:
            staged = index.find(path)
            if item is None and staged is None and self.is_ignored(path):
                raise LeftAlone(_ignored(path))
            known = (_EMPTY, item and item.id, *(step.id for step in steps))
            if staged and staged.mode in _PLAIN and staged.id not in known:
                # It would be lost where its owner changed the file again since.
                steps = [replace(steps[0], data=self.objects.read("blob", staged.id), id=staged.id), *steps]
            mode = next((each.mode for each in (staged, item) if each and each.mode in _PLAIN), FILE)
            last, new = self._written(
                head, tree, names, Item(mode, names[-1], item.id if item else ""), steps
            )
            if not last:
                return ""  # there never was such a file
            subject = steps[-1].message.partition("\n")[0]
            is_done = index.put(path, new) and move(self.folder, head, last, steps[-1].author, subject)
        return last if is_done else None

    def _written(
        self, head: Head, tree: str | None, names: list[bytes], item: Item, steps: list[Step]
    ) -> tuple[str, Item | None]:
        """Write the commits that differ from what was before them; return the last, and what it has."""
        last = head.commit
        new: Item | None = item if item.id else None
        for step in steps:
            if step.id == (new and new.id):
                continue
            new = None
            if step.data is not None:
                new = replace(item, id=self.objects.write("blob", step.data, step.id))
            tree = self.objects.edited(tree, names, new)
            last = self._commit_of(tree, last, step, steps[-1])
        self.objects.sync()
        return last or "", new

    def _commit_of(self, tree: str, parent: str | None, step: Step, ours: Step) -> str:
        parents = (parent,) if parent else ()
        return self.objects.write_commit(
            Commit(
                tree=tree, parents=parents, author=step.author, committer=ours.author, message=step.message
            )
        )

    def _made(self, head: Head, step: Step) -> str | None:
        """Return the commit that this step became before a kill; only its owner's can be newer."""
        name = head.commit
        at = int(step.author.split()[-2])
        with suppress(LeftAlone):  # where a clone is shallow, the past is not all there
            for _ in range(_LOOK_BACK):
                if name is None:
                    break
                commit = self.objects.commit(name)
                if commit.message == step.message and commit.author == step.author:
                    return name
                if commit.at < at:
                    break
                name = commit.parents[0] if commit.parents else None
        return None


def _id_of(data: bytes | None) -> str | None:
    return None if data is None else blob_id(data)


def _names(path: str) -> list[bytes]:
    return os.fsencode(path).split(b"/")


def _ignored(path: str) -> Finding:
    return Finding(
        code="git_ignored",
        severity="info",
        message=f"Changes of {show(path)} are not committed: .gitignore says so.",
        path=path,
        hint=f"carrel memory history has them. To commit them too: git add -f {show(path)}",
    )
