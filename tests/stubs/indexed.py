"""What indexes are made from in tests: documents and sessions that change at will, and vectors by rule."""

from carrel.index import Place, Turn
from carrel.testing import HashingEmbedder


class Shelf:
    """A source in memory; every text that is read is counted."""

    def __init__(self, documents=None):
        self.documents = dict(documents or {})
        self.sessions = {}
        self.places_of = {}
        self.begins = {}
        self.read = []

    def say(self, session, *texts, speaker="Ana", date="2026-04-24", private=False):
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

    def places(self, only=None, stamps=None):  # noqa: ARG002 - all is told of each, which costs nothing here
        for path in self.documents:
            if only is None or path in only:
                fields = {"tier": "document", **self.places_of.get(path, {})}
                yield Place(path=path, **fields)
        for session, turns in self.sessions.items():
            path = f"sessions/{session}.jsonl"
            if only is None or path in only:
                begin = self.begins.get(session, "first")
                fields = {"agent": "main", **self.places_of.get(path, {})}
                yield Place(
                    path=path, tier="session", session=session, turns=len(turns), begin=begin, **fields
                )

    def text(self, place):
        self.read.append(place.path)
        found = self.documents[place.path]
        if isinstance(found, Exception):
            raise found
        return found

    def turns(self, place, first):
        self.read.append(place.path)
        return [turn for turn in self.sessions[place.session] if turn.number >= first]


class Meanings(HashingEmbedder):
    """An embedder that tells what it was asked for, and can be made to fail."""

    def __init__(self, name="meanings", broken=None):
        super().__init__(name=name)
        self.broken = broken
        self.embedded = []

    def embed(self, texts):
        if self.broken is not None:
            raise self.broken
        self.embedded += texts
        return super().embed(texts)

    def embed_query(self, text, weigh=None):
        if self.broken is not None:
            raise self.broken
        return super().embed_query(text, weigh)
