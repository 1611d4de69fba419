"""What indexes are made from in tests: documents and sessions that change at will, and vectors by rule."""

from zlib import crc32

import numpy as np

from carrel.index import Place, Turn


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

    def places(self, only=None):
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


class Meanings:
    """An embedder for which two words mean the same when they begin alike; it can be made to fail."""

    dimensions = 64
    leading = 0

    def __init__(self, name="meanings", broken=None):
        self.name = name
        self.broken = broken
        self.embedded = []

    def embed(self, texts):
        if self.broken is not None:
            raise self.broken
        self.embedded += texts
        return np.stack([self._vector(text) for text in texts])

    def embed_query(self, text, weigh=None):  # noqa: ARG002 - every word weighs the same here
        if self.broken is not None:
            raise self.broken
        return self._vector(text)

    def _vector(self, text):
        made = np.zeros(self.dimensions, np.float32)
        for word in text.lower().split():
            made[crc32(word[:4].encode("utf-8", "replace")) % self.dimensions] += 1
        length = float(np.linalg.norm(made))
        return made / length if length else made
