"""How a section is named: by its heading, by the headings that lead to it, or by its position among equals.

    People                 the section with this heading, wherever it is
    Project/Decisions      the one with this heading below that one
    /Project/Decisions     as above, with nothing above Project
    Notes#2                the second of those that `Notes` finds

Exact spelling comes first, any other case after that. A whole heading counts before its parts do, so that
`Either/or` finds the section with that heading. A backslash takes the meaning from `/`, `#` and itself. The
empty address is that of the text itself, whose own text stands before the first heading.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct

from carrel.markdown.lines import heading_of
from carrel.markdown.sections.errors import AmbiguousSection, SectionNotFound
from carrel.markdown.sections.parts import Part, root_of, sections

_TOKEN = re.compile(r"\\([\\/#])|(/)|#([1-9][0-9]{0,8})\Z|[^\\/#]++|(?s:.)")
_SPECIAL = re.compile(r"[\\/]|#(?=[1-9][0-9]{0,8}\Z)")


class Address(Struct, frozen=True):
    """An address as it is read: names of headings, and which of those it finds, from 1; 0: the only one."""

    names: tuple[str, ...]
    is_whole: bool = False
    """Whether nothing stands above the first name."""
    position: int = 0

    def finds(self, parts: Sequence[Part], spelling: Callable[[str], str]) -> list[Part]:
        """Return the parts that this is an address of."""
        names = tuple(spelling(name) for name in self.names)
        depth = len(names)
        found = [
            part
            for part in parts
            if spelling(part.heading) == names[-1]
            and tuple(spelling(name) for name in part.path[-depth:]) == names
            and (len(part.path) == depth or not self.is_whole)
        ]
        return found[self.position - 1 : self.position] if self.position else found


def find(text: str, address: str) -> Part:
    """Return the part with this address; none or several are an error that lists what there is."""
    return find_part(text, sections(text), address)


def find_part(text: str, parts: Sequence[Part], address: str) -> Part:
    """Return the one of a text's parts that has this address."""
    address = address.strip()
    if not address:
        return root_of(text, parts)
    for spelling in (str, str.casefold):
        for reading in readings_of(address):
            found = reading.finds(parts, spelling)
            if len(found) > 1:
                raise _ambiguous(address, found, parts)
            if found:
                return found[0]
    raise SectionNotFound(address, [part.heading for part in parts])


def read(text: str, address: str) -> str:
    """Return a section with what is nested in it, without its heading."""
    part = find(text, address)
    return text[part.body : part.end]


def address_of(part: Part, parts: Sequence[Part]) -> str:
    """Return the shortest address that finds exactly this part, made of headings rather than a position."""
    return _Known(parts).address_of(part)


def addresses_of(parts: Sequence[Part]) -> tuple[str, ...]:
    """Return the address of each part, in one pass; one by one they cost a pass each."""
    known = _Known(parts)
    return tuple(known.address_of(part) for part in parts)


def readings_of(address: str) -> Iterator[Address]:
    """Yield what an address may mean, the likeliest first."""
    whole, taken_apart = Address((address,)), _taken_apart(address)
    yield from (taken_apart, whole) if taken_apart.is_whole else (whole, taken_apart)
    heading = heading_of(address)
    if heading and heading[1]:  # `## People`, as a model may write it
        yield Address((heading[1],))
        yield _taken_apart(heading[1])


def wanted_by(address: str) -> Address:
    """Return what an address means where no section has it."""
    heading = heading_of(address.strip())
    return _taken_apart(heading[1] if heading and heading[1] else address.strip())


def parent_of(parts: Sequence[Part], wanted: Address) -> tuple[Part | None, tuple[str, ...]]:
    """Return the nearest section above a missing one that there is, and the names that are missing below."""
    for n in range(len(wanted.names) - 1, 0, -1):
        above = Address(wanted.names[:n], wanted.is_whole)
        found = above.finds(parts, str) or above.finds(parts, str.casefold)
        if len(found) > 1:
            raise _ambiguous("/".join(above.names), found, parts)
        if found:
            return found[0], wanted.names[n:]
    return None, wanted.names


def _taken_apart(address: str) -> Address:
    is_whole = address.startswith("/")
    names: list[list[str]] = [[]]
    position = 0
    for token in _TOKEN.finditer(address, 1 if is_whole else 0):
        if token[2]:
            names.append([])
        elif token[3]:
            position = int(token[3])
        else:
            names[-1].append(token[1] or token[0])
    return Address(tuple("".join(name).strip() for name in names), is_whole, position)


def _written(names: Sequence[str]) -> str:
    """Write names as an address that is read as just these."""
    return "/".join(_SPECIAL.sub(r"\\\g<0>", name) for name in names)


def _ambiguous(address: str, found: Sequence[Part], parts: Sequence[Part]) -> AmbiguousSection:
    known = _Known(parts)
    return AmbiguousSection(address, [known.address_of(part) for part in found])


class _Known:
    """What it takes to tell whether an address finds one part only."""

    def __init__(self, parts: Sequence[Part]) -> None:
        self._headings = Counter(part.heading for part in parts)
        self._endings = Counter(part.path[-n:] for part in parts for n in range(1, len(part.path) + 1))
        self._paths = Counter(part.path for part in parts)
        seen: dict[str, int] = {}
        self._positions: dict[int, int] = {}
        for part in parts:
            seen[part.heading] = self._positions[part.start] = seen.get(part.heading, 0) + 1

    def address_of(self, part: Part) -> str:
        """Return the first of the addresses of a part, from plain to sure, that finds no other."""
        if self._headings[part.heading] == 1 and part.heading and part.heading[0] != "/":
            return part.heading
        for n in range(2, len(part.path) + 1):
            address = _written(part.path[-n:])
            if self._endings[part.path[-n:]] == 1 and self._is_no_other(address):
                return address
        whole = f"/{_written(part.path)}"
        if self._paths[part.path] == 1:
            return whole
        among = f"{_written([part.heading])}#{self._positions[part.start]}"
        return among if self._is_no_other(among) else f"{whole}#{part.position}"

    def _is_no_other(self, address: str) -> bool:
        """Tell whether an address is no heading by itself, and does not read as one with nothing above."""
        return not self._headings[address] and address[0] != "/"
