"""Hits as every surface shows them."""

import json

from carrel.index import Chunk, Found, Hit
from carrel.index.fuse import Ranking, fuse_scores
from carrel.runtime.hits import found_to_json, hit_to_json, scores_of

KEYS = {"path", "line", "end_line", "tier", "agent", "section", "date", "text", "ranges", "scores"}


def hit(**fields):
    known = {"path": "team.md", "line": 3, "end_line": 4, "text": "Two people.", "tier": "document"}
    chunk = Chunk(**{**known, **fields})
    fused = fuse_scores(
        [Ranking(name="words", hits=[(7, 4.5)]), Ranking(name="vectors", hits=[(9, 0.5), (7, 0.25)])],
        key=lambda own: ("team.md", 3, own),
    )
    return Hit(
        id=7, chunk=chunk, score=0.75, ranges=((0, 3),), fused=next(each for each in fused if each.id == 7)
    )


def test_a_hit_of_a_file_has_every_key_of_the_contract_and_no_other():
    told = hit_to_json(hit(headings=("People", "Here"), date="2026-04-24", agent="kate"))
    assert set(told) == KEYS
    assert told["section"] == "People > Here"
    assert (told["agent"], told["date"], told["ranges"]) == ("kate", "2026-04-24", [[0, 3]])
    assert json.loads(json.dumps(told)) == told


def test_what_a_hit_does_not_have_is_null():
    told = hit_to_json(hit())
    assert [told[name] for name in ("agent", "section", "date")] == [None, None, None]


def test_a_hit_of_a_session_names_it_the_message_and_who_said_it():
    told = hit_to_json(hit(tier="session", session="s1", message_id="m1", speaker="Ana"))
    assert set(told) == KEYS | {"session", "message_id", "speaker"}
    assert (told["session"], told["message_id"], told["speaker"]) == ("s1", "m1", "Ana")


def test_a_message_without_an_id_is_null_and_not_absent():
    assert hit_to_json(hit(tier="session", session="s1"))["message_id"] is None


def test_scores_hold_the_score_and_what_each_list_said():
    assert scores_of(hit()) == {
        "score": 0.75,
        "words": 4.5,
        "words_rank": 1,
        "vectors": 0.25,
        "vectors_rank": 2,
    }


def test_a_hit_of_no_list_has_its_score_alone():
    plain = Hit(id=1, chunk=hit().chunk, score=1.0)
    assert scores_of(plain) == {"score": 1.0}
    assert hit_to_json(plain)["ranges"] == []


def test_a_search_tells_its_hits_facets_and_whether_it_is_degraded():
    told = found_to_json(Found(hits=(hit(),), facets={"tier": {"document": 1}}, degraded=True))
    assert set(told) == {"hits", "facets", "degraded"}
    assert (told["facets"], told["degraded"], len(told["hits"])) == ({"tier": {"document": 1}}, True, 1)
    assert found_to_json(Found()) == {"hits": [], "facets": {}, "degraded": False}
