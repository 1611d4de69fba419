"""Answering by words: the buckets that a question's words are in are read, scored here, and then filtered."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from carrel.index import Filter
from carrel.index.analysis import PLAIN, words
from carrel.index.analysis.languages import ENGLISH, STEMMED
from carrel.index.postgres.desk import Desk, text_of
from carrel.index.postgres.filters import condition
from carrel.index.postgres.postings import VERSIONS, hash_of, read_bucket
from carrel.index.postgres.reading import LOOKED_UP
from carrel.index.postgres.scoring import Lists, Scores, Term
from carrel.index.postgres.segments import Listed
from carrel.index.query import MOST_WORDS, Plan
from carrel.index.rescore import Candidates, Standing, candidates_of

_MOST_BUCKETS = 4_096
"""Buckets that are read for a question; a page of text in place of one is looked up in part."""

_CHECKED, _MORE = 1.5, 20
"""Of how many candidates it is asked whether the filter lets them through, for each that is wanted; and how
many times as many the next time."""

_ASKED = (
    f"FROM unnest(%s::bigint[], %s::smallint[]) asked(id, words), {LOOKED_UP} WHERE c.words = asked.words"
)
_FACETS = ("tier", "agent", "session")


class Words:
    """The words of one workspace, for one question."""

    def __init__(self, desk: Desk, segments: Sequence[Listed]) -> None:
        self._desk = desk
        self._segments = segments
        self._read: tuple[Plan, Lists] | None = None

    @property
    def languages(self) -> tuple[str, ...]:
        """The languages that occur."""
        present = {field for each in self._segments for field in each.totals}
        return tuple(each for each in STEMMED if f"context_{each}" in present) or (ENGLISH,)

    def search(self, plan: Plan, within: Filter, limit: int) -> Candidates:
        """Return the chunks with most and rarest of the words; the filter comes before the cut."""
        keys, scores = self._lists(plan).scores(plan)
        found: list[Standing] = []
        begin, size = 0, int(_CHECKED * limit)
        while begin < len(keys) and len(found) < limit:
            end = begin + size
            found += self._standing((keys[begin:end], scores[begin:end]), within)
            begin, size = end, size * _MORE
        return candidates_of(found[:limit])

    def facets(self, plan: Plan, within: Filter) -> Mapping[str, Mapping[str, int]]:
        """Return how many chunks with any of the words there are, by tier, agent and session."""
        keys, _ = self._lists(plan).scores(plan)
        allowed, values = condition(within)
        counted = self._desk.tenant.rows(
            f"SELECT p.tier, p.agent, p.session, count(*) {_ASKED} AND {allowed} GROUP BY 1, 2, 3",
            (*_parted(keys.tolist()), *self._desk.own, *values),
        )
        counts = {name: Counter[str]() for name in _FACETS}
        for *told, count in counted:
            for name, value in zip(_FACETS, told, strict=True):
                if value:
                    counts[name][text_of(value)] += count
        return {
            name: dict(sorted(found.items(), key=lambda pair: (-pair[1], pair[0])))
            for name, found in counts.items()
        }

    def weigh(self, plan: Plan) -> Callable[[str], float]:
        """Return what tells how much a word says, as it is typed: the fewer chunks have it, the more."""
        return self._lists(plan).rarity

    def _standing(self, some: Scores, within: Filter) -> Iterator[Standing]:
        """Yield those of some chunks that count and that the filter lets through, in their order."""
        keys = some[0].tolist()
        allowed, values = condition(within)
        rows = self._desk.tenant.rows(
            f"SELECT c.id, c.place, c.seq, p.tier, c.speaker, c.words {_ASKED} AND {allowed}",
            (*_parted(keys), *self._desk.own, *values),
        )
        found = {row[0]: row[1:] for row in rows}
        for key, score in zip(keys, some[1].tolist(), strict=True):
            # Of several versions of a chunk, only the one that counts was answered; another may stand before.
            if (own := key // VERSIONS) in found and own * VERSIONS + found[own][-1] == key:
                place, seq, tier, speaker, _ = found[own]
                yield own, score, place, seq, text_of(tier), text_of(speaker)

    def _lists(self, plan: Plan) -> Lists:
        if self._read is None or self._read[0] is not plan:
            totals = Counter[str]()
            for each in self._segments:
                totals.update(each.totals)
            entries = sum(each.entries for each in self._segments)
            self._read = plan, Lists(self._fetch(_asked(plan)), entries, totals)
        return self._read[1]

    def _fetch(self, asked: Sequence[str]) -> Mapping[Term, bytes]:
        """Return the records of some words, by field and word."""
        wanted: dict[tuple[int, int], list[str]] = {}
        for word in asked:
            number = hash_of(word)
            for each in self._segments:
                wanted.setdefault((each.segment, number & (each.buckets - 1)), []).append(word)
            if len(wanted) > _MOST_BUCKETS:
                break
        found: dict[Term, bytes] = {}
        for segment, bucket, body in self._bodies(list(wanted)):
            for field, lists in read_bucket(body).items():
                for word in wanted[segment, bucket]:
                    if data := lists.get(word):
                        found[field, word] = found.get((field, word), b"") + data
        return found

    def _bodies(self, wanted: Sequence[tuple[int, int]]) -> Iterable[tuple[int, int, bytes]]:
        if not wanted:
            return ()
        segments, buckets = zip(*wanted, strict=True)
        sql = (
            "SELECT w.segment, w.bucket, w.body "
            "FROM unnest(%s::bigint[], %s::integer[]) asked(segment, bucket) JOIN carrel.index_words w "
            "ON w.segment = asked.segment AND w.bucket = asked.bucket "
            "WHERE w.tenant = %s AND w.workspace = %s ORDER BY w.segment"
        )
        rows = self._desk.tenant.rows(sql, (list(segments), list(buckets), *self._desk.own))
        return [(row[0], row[1], row[2]) for row in rows]


def _asked(plan: Plan) -> list[str]:
    """Return every word that is looked up, those first of which a question is made."""
    most = 2 * MOST_WORDS
    found = dict.fromkeys(word for phrase in plan.phrases for word in phrase)
    for each in (*plan.words.values(), plan.grams, plan.plain):
        found.update(dict.fromkeys(each[:most]))
    found.update(dict.fromkeys(words(plan.meaning, PLAIN)[:most]))
    return list(found)


def _parted(keys: Sequence[int]) -> tuple[list[int], list[int]]:
    return [key // VERSIONS for key in keys], [key % VERSIONS for key in keys]
