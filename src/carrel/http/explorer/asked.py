"""What a person asks to see of a context: the query of the address as values, and addresses from values."""

from collections.abc import Mapping
from typing import Literal, cast, get_args

from msgspec import Struct
from msgspec.structs import asdict, replace

from carrel.context.budget import BadBudget, Budget
from carrel.http.explorer import words

Tab = Literal["sections", "text", "json", "compare", "cache"]
Form = Literal["messages", "openai", "responses", "anthropic"]
Against = Literal["scopes", "last", "limits"]

_LONGEST = 4_000
_LONGEST_MODEL = 200
_MOST_DIGITS = 9


class Asked(Struct, frozen=True, kw_only=True):
    """Everything that the page about a context can be asked; nothing of it is kept anywhere else."""

    session: str | None = None
    query: str | None = None
    model: str | None = None
    window: int | None = None
    file: int | None = None
    total: int | None = None
    tab: Tab = "sections"
    form: Form = "messages"
    against: Against | None = None
    whole: bool = False
    """Whether a long text is shown to its end."""
    start: int = 0
    """How many parts the table leaves out."""

    @property
    def budget(self) -> Budget | None:
        """The limits that were asked for, none where those in force apply."""
        return None if self.file is None and self.total is None else Budget(file=self.file, total=self.total)

    def address(self, base: str, **changes: object) -> str:
        """Return the address that asks for the same but what is changed; `base` keeps who looks."""
        fields = asdict(replace(self, **{"whole": False, "start": 0, **changes}))
        standard = asdict(Asked())
        told = {name: str(value) for name, value in fields.items() if value != standard[name]}
        return words.with_query(base, **told)


def read_asked(query: Mapping[str, str]) -> Asked:
    """Return what an address asks for; an empty field of a form is none, and a limit is a whole number."""
    return Asked(
        session=query.get("session") or None,
        query=(query.get("query") or "")[:_LONGEST].strip() or None,
        model=(query.get("model") or "")[:_LONGEST_MODEL].strip() or None,
        window=_number(query, "window") or None,
        file=_number(query, "file"),
        total=_number(query, "total"),
        tab=cast("Tab", _one_of(query.get("tab"), get_args(Tab)) or "sections"),
        form=cast("Form", _one_of(query.get("form"), get_args(Form)) or "messages"),
        against=cast("Against | None", _one_of(query.get("against"), get_args(Against))),
        whole=bool(query.get("whole")),
        start=_number(query, "start") or 0,
    )


def _number(query: Mapping[str, str], name: str) -> int | None:
    text = query.get(name, "").strip().replace(",", "")
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS):
        raise BadBudget(name, text[:40])
    return int(text)


def _one_of(text: str | None, known: tuple[str, ...]) -> str | None:
    return text if text in known else None
