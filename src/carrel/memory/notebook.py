"""A notebook: a Markdown file by its sections, each edited without touching a byte of the others."""

from collections.abc import Callable
from hashlib import sha256

from msgspec import Struct

from carrel.errors import NotFound
from carrel.files import FileStore, Unreadable, show
from carrel.markdown import sections as markdown
from carrel.markdown.sections import Part, SectionConflict, SectionNotFound
from carrel.memory.pen import Author, Pen
from carrel.records.changes import Change


class NoNotebook(NotFound):
    """There is no such file to read a section of."""

    code = "no_notebook"

    def __init__(self, path: str) -> None:
        super().__init__(f"There is no {show(path)}.", hint="carrel memory append makes one.")


class Notebook(Struct, frozen=True, kw_only=True):
    """One Markdown file by its sections; an edit touches no byte of the others."""

    path: str
    pen: Callable[[], Pen]
    """For who changes it: whoever reads needs no records."""

    files: FileStore
    keep_mine: Callable[[SectionConflict, str], object]
    """Keeps what could not be written since somebody else changed the section."""

    @property
    def text(self) -> str:
        """The whole text."""
        text = self._text()
        if text is None:
            raise NoNotebook(self.path)
        return text

    def sections(self) -> tuple[Part, ...]:
        """Return the sections, in their order."""
        return markdown.sections(self.text)

    def read(self, section: str) -> str:
        """Return a section with what is nested in it."""
        return markdown.read(self.text, section)

    def append(
        self, section: str, text: str, author: Author | None = None, *, expect: str | None = None
    ) -> Change | None:
        """Add to the end of a section, which is made where it is missing."""
        edit = _over(section, expect, lambda now: markdown.append(now, section, text))
        return self._edit("append", edit, author)

    def replace(
        self, section: str, text: str, *, expect: str | None = None, author: Author | None = None
    ) -> Change | None:
        """Put a text in place of a section's: over the one with the digest `expect`, else over what is there.

        Where somebody else has changed that section meanwhile, theirs stays, and this one waits in review.
        """
        if expect is None:
            expect = digest_of(_read(self._text() or "", section))

        edit = _over(section, expect, lambda now: markdown.replace(now, section, text), mine=text)
        try:
            return self._edit("replace", edit, author)
        except SectionConflict as conflict:
            self.keep_mine(conflict, self.path)
            raise

    def rename(self, section: str, heading: str, *, expect: str | None = None) -> Change | None:
        """Give a section another heading."""
        edit = _over(section, expect, lambda now: markdown.rename(now, section, heading))
        return self._edit("rename", edit, None)

    def move(self, section: str, after: str, *, expect: str | None = None) -> Change | None:
        """Put a section, with what is nested in it, behind another one; "": first."""
        edit = _over(section, expect, lambda now: markdown.move(now, section, after))
        return self._edit("move", edit, None)

    def _text(self) -> str | None:
        content = self.files.read(self.path)
        try:
            return content.data.decode() if content else None
        except UnicodeDecodeError:
            raise Unreadable(self.path, "not_utf8") from None

    def _edit(self, action: str, edit: Callable[[str], str], author: Author | None) -> Change | None:
        def of_file(now: str | None) -> str | None:
            new = edit(now or "")
            return new if new or now is not None else None  # nothing to write makes no file

        return self.pen().edit(
            "workspace", self.path, of_file, author or Author(actor="owner", action=action)
        )


def digest_of(text: str | None) -> str:
    """Return what a section's text is recognised by; nothing is recognised by nothing.

    Blank lines around it do not count: a section that is added below puts one there.
    """
    return "" if text is None else sha256(text.strip().encode("utf-8", "surrogatepass")).hexdigest()


def _read(text: str, section: str) -> str | None:
    try:
        return markdown.read(text, section)
    except SectionNotFound:
        return None


def _over(
    section: str, expect: str | None, edit: Callable[[str], str], mine: str = ""
) -> Callable[[str], str]:
    """Let an edit happen only over the version of a section that has this digest, where one is given."""

    def checked(now: str) -> str:
        if expect is not None and digest_of(theirs := _read(now, section)) != expect:
            raise SectionConflict(section, mine=mine, theirs=theirs or "")
        return edit(now)

    return checked
