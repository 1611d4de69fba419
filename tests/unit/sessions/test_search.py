"""Searching sessions: every word, whatever its case and accents, newest first, and where it is."""

import unicodedata
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from carrel.sessions.intake import keep_secrets
from carrel.sessions.offsets import Offsets
from carrel.sessions.places import SessionPlaces
from carrel.sessions.search import MOST_RANGES, EmptyQuery, excerpt, fold, preview, search
from carrel.sessions.store import Sessions, UnknownSession
from carrel.testing import EphemeralFiles, FixedClock
from carrel.workspace.scope import Scope

FOLDER = "agents/kate/sessions"


def opened(files: EphemeralFiles | None = None) -> Sessions:
    places = SessionPlaces(
        files=files or EphemeralFiles(),
        own=EphemeralFiles(),
        agent="kate",
        log_pattern=f"{FOLDER}/{{session}}.log.jsonl",
    )
    return Sessions(places, Offsets(None), FixedClock(datetime(2026, 4, 24, 12, tzinfo=UTC)), keep_secrets)


def said(sessions: Sessions, session: str, *texts: str, at: str = "", role: str = "user") -> None:
    for text in texts:
        message = {"role": role, "content": text} | ({"timestamp": at} if at else {})
        sessions.record(session, [message], scope=Scope.MAIN)


def found(sessions: Sessions, words: str, **how: object) -> list[str]:
    return [match.entry.to_text() for match in search(sessions, words, **how)]


def marked(text: str, words: str) -> list[str]:
    """The parts of a text that a search for these words points at."""
    sessions = opened()
    said(sessions, "s1", text)
    (match,) = search(sessions, words)
    return [text[start:end] for start, end in match.ranges]


def test_every_word_must_occur_in_any_order() -> None:
    sessions = opened()
    said(sessions, "s1", "Ana uses a Samsung", "Ana is well", "The Samsung broke")
    assert found(sessions, "samsung ana") == ["Ana uses a Samsung"]
    assert found(sessions, "samsung ana nokia") == []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Ana uses a SAMSUNG", "samsung"),
        ("Sí, mañana", "si MANANA"),
        ("mañana", unicodedata.normalize("NFD", "mañana")),
        (unicodedata.normalize("NFD", "mañana"), "mañana"),
        ("Die Straße", "strasse"),
        ("STRASSE", "straße"),
        ("Ὀδυσσεύς", "οδυσσευσ"),
        ("İstanbul", "istanbul"),
        ("\uff26\uff35\uff2c\uff2c width", "full"),
        ("東京へ行く", "京へ"),
        ("Is it deployed?", "deployed?"),
        ("Is it (deployed)", "deployed."),
        ("We write C++ and C#", "c++ c#"),
        ("half a pair \ud83d here", "\ud83d"),
        ("nul \0 here", "\0"),
        ("an octopus 🐙", "🐙 octopus"),
    ],
)
def test_case_accents_and_form_do_not_count(text: str, words: str) -> None:
    sessions = opened()
    said(sessions, "s1", text, "something else")
    assert found(sessions, words) == [text]


@pytest.mark.parametrize(("text", "words"), [("かき", "がき"), ("कल", "कुल"), ("résumé", "resumed")])
def test_what_is_another_word_is_not_found(text: str, words: str) -> None:
    sessions = opened()
    said(sessions, "s1", text)
    assert found(sessions, words) == []


def test_a_phrase_in_quotes_is_kept_together() -> None:
    sessions = opened()
    said(sessions, "s1", "see you next week", "next to me, a week ago")
    assert found(sessions, '"next week"') == ["see you next week"]
    assert found(sessions, '"Next Week" you') == ["see you next week"]
    assert len(found(sessions, "next week")) == 2
    assert found(sessions, '"next week') == ["see you next week", "next to me, a week ago"][::-1]


def test_a_query_of_punctuation_is_taken_literally() -> None:
    sessions = opened()
    said(sessions, "s1", "a -> b", "a - b", 'an "" empty text', "what?! no")
    assert found(sessions, "->") == ["a -> b"]
    assert found(sessions, "?!") == ["what?! no"]
    assert found(sessions, '""') == ['an "" empty text']
    assert found(sessions, "a - b") == ["what?! no", 'an "" empty text', "a - b", "a -> b"][2:]


@pytest.mark.parametrize("words", ["", "  ", "\n\t", "\u0301"])
def test_an_empty_query_is_a_typed_error(words: str) -> None:
    with pytest.raises(EmptyQuery) as error:
        search(opened(), words)
    assert error.value.code == "empty_query"


def test_the_newest_come_first_across_sessions() -> None:
    sessions = opened()
    said(sessions, "s1", "word one", at="2026-04-01T10:00:00Z")
    said(sessions, "s2", "word two", at="2026-04-03T10:00:00Z")
    said(sessions, "s1", "word three", at="2026-04-02T10:00:00+02:00")
    said(sessions, "s1", "word four", "word five", at="2026-04-01T10:00:00Z")
    expected = ["word two", "word three", "word five", "word four", "word one"]
    assert found(sessions, "word") == expected
    assert found(sessions, "word", limit=2) == expected[:2]
    assert found(sessions, "word", limit=0) == []
    matches = search(sessions, "word", limit=2)
    assert [(match.session, match.number) for match in matches] == [("s2", 1), ("s1", 2)]


def test_a_search_may_be_narrowed() -> None:
    sessions = opened()
    said(sessions, "s1", "word one", at="2026-04-01T10:00:00Z")
    said(sessions, "s1", "word two", at="2026-04-02T00:00:00Z", role="assistant")
    said(sessions, "s2", "word three", at="2026-04-03T10:00:00Z")
    second, third = datetime(2026, 4, 2, tzinfo=UTC), datetime(2026, 4, 3, 10, tzinfo=UTC)
    assert found(sessions, "word", only="s1") == ["word two", "word one"]
    assert found(sessions, "word", role="assistant") == ["word two"]
    assert found(sessions, "word", since=second) == ["word three", "word two"]
    assert found(sessions, "word", until=second) == ["word one"]
    assert found(sessions, "word", since=second, until=third) == ["word two"]
    with pytest.raises(UnknownSession):
        search(sessions, "word", only="s3")


def test_times_in_other_forms_are_understood_and_an_unknown_one_is_the_oldest() -> None:
    lines = [
        '{"type":"entry","role":"user","content":"word zone","timestamp":"2026-04-02T12:00:00.123456789+02:00"}',
        '{"type":"entry","role":"user","content":"word none","timestamp":"soon"}',
        '{"type":"entry","role":"user","content":"word plain","timestamp":"2026-04-02T11:00:00"}',
        '{"type":"entry","role":"user","content":"word late","timestamp":"0001-01-01T00:00:00+14:00"}',
    ]
    sessions = opened(EphemeralFiles({f"{FOLDER}/s1.log.jsonl": "\n".join(lines) + "\n"}))
    assert found(sessions, "word") == ["word plain", "word zone", "word late", "word none"]
    assert found(sessions, "word", until=datetime(2026, 4, 2, 10, 30, tzinfo=UTC)) == ["word zone"]


def test_damaged_lines_hide_no_others() -> None:
    log = f"{FOLDER}/s1.log.jsonl"
    whole = '{"type":"entry","role":"user","content":"word %d"}\n'
    sessions = opened(EphemeralFiles({log: f"{whole % 1}\0\0\0{whole % 2}not JSON\n{whole % 3}torn"}))
    assert found(sessions, "word") == ["word 3", "word 2", "word 1"]


def test_parts_of_a_message_are_searched_too() -> None:
    sessions = opened()
    parts = [
        {"type": "text", "text": "look at this"},
        {"type": "image_url", "image_url": {"url": "http://x"}},
    ]
    sessions.record("s1", [{"role": "user", "content": parts}], scope=Scope.MAIN)
    assert [match.number for match in search(sessions, "look this")] == [1]


def test_ranges_point_at_the_words() -> None:
    assert marked("Ana uses a Samsung, ana", "ana SAMSUNG") == ["Ana", "Samsung", "ana"]
    assert marked("mañana Mañana", "manana") == ["mañana", "Mañana"]
    decomposed = unicodedata.normalize("NFD", "la mañaná!")
    assert marked(decomposed, "manana") == [unicodedata.normalize("NFD", "mañaná")]
    assert marked("Straße", "ss") == ["ß"]
    assert marked("¼ of it", "1 4") == ["¼"]
    assert marked("aXbX", "a X b") == ["aXbX"]


def test_ranges_are_bounded_in_number() -> None:
    assert len(marked("ab " * 1_000, "a")) == MOST_RANGES


def test_a_hostile_query_is_answered() -> None:
    sessions = opened()
    passage = " ".join(f"w{number}" for number in range(150_000))
    said(sessions, "s1", "short", "a" * 100_000, passage)
    assert found(sessions, "x" * 1_000_000) == []
    assert found(sessions, "a " * 500_000) == ["a" * 100_000]
    assert found(sessions, '"' * 1_000_001) == []
    assert found(sessions, passage) == [passage]
    assert found(sessions, passage[::-1]) == []


def test_a_character_that_stands_for_a_sentence_does_not_blow_a_text_up() -> None:
    assert len(fold("\ufdfa" * 1_000)) <= 4_000
    assert marked("\ufdfa word", "word") == ["word"]


def test_every_character_is_compared_the_same_alone_and_in_a_text() -> None:
    characters = [chr(code) for code in range(0x30000)]
    folded = [fold(char) for char in characters]
    assert "".join(folded) == fold("".join(characters))
    assert [fold(each) for each in folded] == folded


def test_a_preview_shows_the_first_match_with_what_is_around_it() -> None:
    text = "x" * 500 + " needle " + "y" * 500
    shown = preview(text, [(501, 507)], 60)
    assert len(shown) <= 60
    assert "needle" in shown
    assert shown[0] == shown[-1] == "…"
    assert preview("short", [(0, 2)], 60) == "short"
    assert preview("needle " + "y" * 100, [(0, 6)], 20).startswith("needle")
    assert preview("y" * 100 + " needle", [(101, 107)], 20).endswith(" needle")
    assert preview("y" * 100, [], 20) == "y" * 19 + "…"
    assert len(preview("y" * 100, [(5, 90)], 0)) <= 3


def test_a_preview_parts_no_accent_from_its_letter() -> None:
    text = ("e\u0301" * 40) + "needle" + ("a\u0301" * 40)
    for width in range(10, 60):
        shown = preview(text, [(80, 86)], width).strip("…")
        assert not unicodedata.combining(shown[0])
        assert shown.count("e\u0301") * 2 + shown.count("a\u0301") * 2 + 6 == len(shown)


TEXT = st.text(max_size=60)


@settings(deadline=None, max_examples=200)
@given(TEXT, TEXT, TEXT)
def test_what_a_text_holds_is_found_in_it_where_the_ranges_say(before: str, word: str, after: str) -> None:
    text = f"{before}{word}{after}"
    sessions = opened()
    said(sessions, "s1", text)
    phrase = word.replace('"', " ").strip()
    if not fold(phrase):
        return
    (match,) = search(sessions, f'"{phrase}"') if phrase in text else [None]
    if match is None:
        return
    ends = [place for pair in match.ranges for place in pair]
    assert ends == sorted(ends)
    assert ends[-1] <= len(text)
    assert any(fold(phrase) in fold(text[start:end]) for start, end in match.ranges)


@settings(deadline=None, max_examples=200)
@given(st.text(min_size=1, max_size=200), st.integers(0, 250), st.data())
def test_a_preview_is_never_too_long_and_its_ranges_fit(text: str, width: int, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    cut = excerpt(text, [(start, end)], width)
    assert len(cut.text) <= max(3, width)
    assert all(0 <= a < b <= len(cut.text) for a, b in cut.ranges)
    for a, b in cut.ranges:
        assert cut.text[a:b] in text[start:end]
