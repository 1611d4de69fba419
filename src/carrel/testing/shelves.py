"""A source for indexes, in memory: documents and sessions that change at will."""

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from carrel.index import Place, Text, Turn


class Shelf:
    """A source in memory; every text that is read is counted, and one that is an error is raised."""

    def __init__(self, documents: Mapping[str, Any] | None = None) -> None:
        self.documents: dict[str, Any] = dict(documents or {})
        self.sessions: dict[str, list[Turn]] = {}
        self.places_of: dict[str, dict[str, Any]] = {}
        """What is to be said of a path beside its tier."""
        self.begins: dict[str, str] = {}
        self.read: list[str] = []

    def say(
        self,
        session: str,
        *texts: str,
        speaker: str = "Ana",
        date: str = "2026-04-24",
        private: bool = False,
    ) -> None:
        """Let somebody say something in a session."""
        told = self.sessions.setdefault(session, [])
        for text in texts:
            number = len(told) + 1
            told.append(
                Turn(
                    number=number,
                    text=text,
                    line=number + 1,
                    speaker=speaker,
                    date=date,
                    message_id=f"{session}-{number}",
                    private=private,
                )
            )

    def places(self, only: Collection[str] | None = None, stamps: object = None) -> Iterator[Place]:
        """Yield every place, or those asked for; all is told of each, which costs nothing here."""
        del stamps
        for path in self.documents:
            if only is None or path in only:
                told: dict[str, Any] = {"tier": "document", **self.places_of.get(path, {})}
                yield Place(path=path, **told)
        for session, turns in self.sessions.items():
            path = f"sessions/{session}.jsonl"
            if only is None or path in only:
                own: dict[str, Any] = {"agent": "main", **self.places_of.get(path, {})}
                own["begin"] = self.begins.get(session, "first")
                yield Place(path=path, tier="session", session=session, turns=len(turns), **own)

    def text(self, place: Place) -> str | Text:
        """Return the text of a document."""
        self.read.append(place.path)
        found = self.documents[place.path]
        if isinstance(found, Exception):
            raise found
        return found

    def turns(self, place: Place, first: int) -> list[Turn]:
        """Return what was said in a session from a turn on."""
        self.read.append(place.path)
        return [turn for turn in self.sessions[place.session] if turn.number >= first]
