"""What of the hits is put into a prompt: what the model reads anyway is not, nor what has nothing to do with it."""

from msgspec.structs import replace
from tests.unit.context.conftest import Desk

from carrel.context.assemble import Standing
from carrel.index import Chunk, Found, Hit
from carrel.index.fuse import Fused, Placing
from carrel.runtime.recall import ALIKE, Known, choose, known_from

FILES = {
    "AGENTS.md": "Be brief.\n",
    "MEMORY.md": "- Ana uses a Samsung.\n",
    "long.md": "The first line.\n" + "filler words here\n" * 200 + "The last line.\n",
}


NOTHING = Known()


def hit(path="notes.md", text="Ana lives in Bogota.", score=1.0, placings=None, **fields):
    known = {"path": path, "line": 1, "end_line": 1, "text": text, "tier": "document"}
    chunk = Chunk(**{**known, **fields})
    fused = Fused(id=1, score=score, relevance=score, placings=tuple(placings)) if placings else None
    return Hit(id=hash((path, text)), chunk=chunk, score=score, fused=fused)


def standing(assembly):
    texts = [message.content for message in assembly.messages if message.role == "system"]
    return Standing(assembly.report.sections, tuple(texts))


def kept(*hits, known=NOTHING, tokens=8_000, most=20):
    chosen, left_out = choose(Found(hits=hits), known, lambda text: len(text) // 4, tokens=tokens, hits=most)
    return [each.path for each in chosen], [each.path for each in left_out]


def test_a_file_that_is_in_the_prompt_is_not_repeated():
    own = known_from(standing(Desk(FILES).assemble()), None, ())
    assert {"AGENTS.md", "MEMORY.md"} <= own.paths
    assert kept(hit("MEMORY.md"), hit("notes.md"), known=own) == (["notes.md"], [])


def test_the_rest_of_a_file_that_was_cut_is_found_and_what_is_there_is_not_repeated():
    cut = Desk(FILES).assemble(budget=(60, None))
    assert next(row.state for row in cut.report.sections if row.name == "long.md") == "truncated"
    own = known_from(standing(cut), None, ())
    assert kept(hit("long.md", "The first line."), known=own) == ([], [])
    assert kept(hit("long.md", "The last line."), known=own) == (["long.md"], [])


def test_a_file_that_changed_since_it_was_frozen_is_found_by_what_is_new_in_it():
    frozen = Desk(FILES).assemble()
    now = Desk({**FILES, "MEMORY.md": "- Ana uses a Samsung.\n- Luis has a boat.\n"}).assemble()
    own = known_from(standing(now), "s1", (), sent=standing(frozen))
    assert kept(hit("MEMORY.md", "- Luis has a boat."), known=own) == (["MEMORY.md"], [])
    assert kept(hit("MEMORY.md", "- Ana uses a Samsung."), known=own) == ([], [])
    assert kept(hit("AGENTS.md", "anything"), known=own) == ([], [])


def test_messages_of_the_call_are_not_repeated_and_older_ones_of_the_session_are():
    own = Known(session="s1", messages=frozenset(("m9",)))
    shown = hit("log", "Hello.", tier="session", session="s1", message_id="m9")
    older = replace(shown, chunk=replace(shown.chunk, message_id="m1", path="older", text="Long ago."))
    other = replace(shown, chunk=replace(shown.chunk, session="s2", path="other", text="Elsewhere."))
    assert kept(shown, older, other, known=own) == (["older", "other"], [])


def test_settings_are_not_recalled():
    assert kept(hit("carrel.yaml"), hit("sub/.carrelignore"), hit("team.md")) == (["team.md"], [])


def test_what_only_happens_to_be_nearest_is_not_recalled():
    far = Placing(name="vectors", rank=1, score=ALIKE - 0.01, weight=1.0, part=1.0)
    near = replace(far, score=ALIKE)
    word = replace(far, name="words", score=0.1)
    assert kept(hit("far.md", "a", placings=[far])) == ([], [])
    assert kept(hit("near.md", "b", placings=[near])) == (["near.md"], [])
    assert kept(hit("word.md", "c", placings=[far, word])) == (["word.md"], [])


def test_no_more_hits_than_asked_for_and_the_others_are_told():
    hits = [hit(f"{n}.md", f"Fact number {n}.", score=1 - n / 10) for n in range(5)]
    assert kept(*hits, most=2) == (["0.md", "1.md"], ["2.md", "3.md", "4.md"])


def test_the_budget_is_kept_and_a_shorter_hit_takes_the_room_of_a_longer_one():
    chosen, left_out = kept(hit("long.md", "word " * 400), hit("short.md", "A fact."), tokens=40)
    assert (chosen, left_out) == (["short.md"], ["long.md"])


def test_what_says_the_same_is_taken_once():
    assert kept(hit("a.md", "- Same thing."), hit("b.md", "same  THING.")) == (["a.md"], ["b.md"])


def test_a_hit_keeps_its_place_its_date_and_its_score():
    chosen, _ = choose(
        Found(
            hits=(hit("memory/2026-04-20.md", "A fact.", 0.5, tier="journal", date="2026-04-20", line=12),)
        ),
        Known(),
        len,
        tokens=1_000,
        hits=5,
    )
    (own,) = chosen
    assert (own.path, own.line, own.date, own.tier, own.score) == (
        "memory/2026-04-20.md", 12, "2026-04-20", "journal", 0.5,
    )  # fmt: skip
