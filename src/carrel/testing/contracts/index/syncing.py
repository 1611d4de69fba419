"""What every Index promises of what it holds."""

from carrel.index import Filter, Index, Query, Text, Unsearched
from carrel.testing.contracts.index.samples import paths
from carrel.testing.shelves import Shelf


class SyncingContract:
    """What was synced is found, and what is gone is not."""

    def test_an_index_that_holds_nothing_answers_with_nothing(self, index: Index) -> None:
        found = index.search(Query(text="anything"))
        assert (found.hits, found.degraded) == ((), False)
        assert index.status().chunks == 0

    def test_what_was_synced_is_found_by_its_words(self, index: Index, shelf: Shelf) -> None:
        report = index.sync(shelf)
        assert (report.changed, report.findings) == (7, ())
        assert paths(index, "How do I promote a build?")[0] == "docs/deploy.md"
        assert index.status().chunks == report.chunks
        assert index.status().waiting == 0

    def test_a_hit_says_where_it_is_and_who_said_it(self, index: Index, shelf: Shelf) -> None:
        index.sync(shelf)
        hit = index.search(Query(text="When does Ben review?", mode="lexical")).hits[0]
        chunk = hit.chunk
        assert (chunk.path, chunk.line, chunk.speaker, chunk.session) == ("sessions/s1.jsonl", 4, "Ben", "s1")
        assert (chunk.message_id, chunk.date, chunk.tier, chunk.agent) == (
            "s1-3",
            "2026-04-24",
            "session",
            "main",
        )
        assert [chunk.text[start:end] for start, end in hit.ranges] == ["review"]
        assert hit.fused is not None
        assert [placing.name for placing in hit.fused.placings] == ["words"]

    def test_scores_are_from_0_to_1_and_fall(self, index: Index, shelf: Shelf) -> None:
        index.sync(shelf)
        scores = [hit.score for hit in index.search(Query(text="billing migration review")).hits]
        assert len(scores) > 2
        assert scores == sorted(scores, reverse=True)
        assert 1 >= scores[0] > scores[-1] >= 0
        least = scores[1]
        assert [
            h.score for h in index.search(Query(text="billing migration review", least=least)).hits
        ] == scores[:2]

    def test_a_change_is_found_and_what_was_there_is_not(self, index: Index, shelf: Shelf) -> None:
        index.sync(shelf)
        shelf.documents["docs/deploy.md"] = "# Deploy\n\nPress the green button."
        index.sync(shelf, only=["docs/deploy.md"])
        assert paths(index, "green button", mode="lexical") == ["docs/deploy.md"]
        assert paths(index, "pipeline", mode="lexical") == []

    def test_a_new_turn_is_found_and_so_are_its_neighbours_by_it(self, index: Index, shelf: Shelf) -> None:
        index.sync(shelf)
        shelf.say("s2", "It is cancelled because of thunderstorms.", speaker="Ben")
        index.sync(shelf, only=["sessions/s2.jsonl"])
        found = index.search(Query(text="thunderstorms", mode="lexical")).hits
        assert [hit.chunk.message_id for hit in found] == ["s2-2", "s2-1"]

    def test_what_is_gone_is_not_found(self, index: Index, shelf: Shelf) -> None:
        index.sync(shelf)
        del shelf.documents["USER.md"]
        assert index.sync(shelf).gone == 1
        assert paths(index, "tea coffee", mode="lexical") == []

    def test_what_cannot_be_searched_is_told_of_until_it_can(self, index: Index, shelf: Shelf) -> None:
        shelf.documents |= {"a.png": Text(lack="not_text"), "b.md": Text(text="An octopus.", private=True)}
        shelf.places_of["c.iso"] = {"lack": "too_large"}
        shelf.documents["c.iso"] = "never read"
        report = index.sync(shelf)
        told = {"not_text": Unsearched(1, ("a.png",)), "too_large": Unsearched(1, ("c.iso",))}
        assert (report.unsearched, report.changed, report.waiting) == (told, 8, 0)
        assert index.status().unsearched == told
        assert paths(index, "octopus", mode="lexical") == ["b.md"]
        assert paths(index, "octopus", mode="lexical", within=Filter(shared=True)) == []
        shelf.documents["a.png"] = "It is text after all."
        del shelf.documents["c.iso"]
        assert index.sync(shelf).unsearched == {}

    def test_words_are_found_although_vectors_are_left_for_later(self, index: Index, shelf: Shelf) -> None:
        report = index.sync(shelf, stop=lambda: True)
        found = index.search(Query(text="promote a build"))
        assert found.hits[0].chunk.path == "docs/deploy.md"
        assert found.degraded == bool(report.waiting)
        assert index.sync(shelf).waiting == 0
        assert not index.search(Query(text="promote a build")).degraded
