"""The words themselves: what tantivy is asked, and what is made of its failures."""

import json
import time

import pytest

from carrel.index import Filter
from carrel.index.catalog import Stored
from carrel.index.chunk import Chunk
from carrel.index.embedded import words as module
from carrel.index.embedded.words import Words, WordsUnavailable
from carrel.index.entry import code_of, entry_of, stands_at, vector_text
from carrel.index.query import Plan, plan
from carrel.index.rescore import NEAREST, SPEAKER, Candidates, rescore
from carrel.index.within import passes


def chunk(text, tier="session", **fields):
    return Chunk(path="a", line=1, end_line=1, text=text, tier=tier, **fields)


def stored(*texts, tier="session", **fields):
    return [Stored(number, 1, number, chunk(text, tier, **fields)) for number, text in enumerate(texts, 1)]


def write(words, near, drop=()):
    words.write((entry_of(near, at) for at in range(len(near))), drop)


@pytest.fixture
def words(tmp_path):
    return Words(tmp_path / "words")


def found(words, text, limit=10):
    return list(words.search(plan(text, languages=words.languages), Filter(), limit).ids)


def test_a_turn_is_found_by_what_was_said_near_it(words):
    write(words, stored("Shall we go to the opera?", "Yes!", "When?", "On Friday.", "Fine.", "Bye."))
    assert found(words, "opera")[0] == 1
    assert set(found(words, "opera")) == {1, 2, 3, 4}


def test_a_paragraph_of_a_document_stands_for_itself(words):
    write(words, stored("The opera house.", "Something else.", tier="document"))
    assert found(words, "opera") == [1]


def test_date_speaker_and_headings_are_words_of_a_chunk(words):
    near = stored("Hello.", date="2023-05-08", speaker="Ana", headings=("Guests", "Arrivals"))
    write(words, near)
    for asked in ("8 May 2023", "2023-05-08", "ana", "arrivals"):
        assert found(words, asked) == [1], asked


def test_what_is_written_again_takes_the_place_of_what_was(words):
    write(words, stored("apples"))
    write(words, stored("pears"), drop=[1])
    assert (found(words, "apples"), found(words, "pears"), words.count) == ([], [1], 1)


def test_what_others_write_is_loaded_when_it_is_asked_for_and_not_behind_ones_back(words, tmp_path):
    """Of each state that is loaded something stays in memory, and a server may write for days and not search."""
    write(Words(tmp_path / "words"), stored("apples"))
    time.sleep(1.5)  # tantivy looks every half second where it looks by itself
    assert words._index.searcher().num_docs == 0
    words.reload()
    assert (found(words, "apples"), words.count) == ([1], 1)


def test_words_that_are_opened_anew_now_and_then_answer_on(words, monkeypatch):
    monkeypatch.setattr(module, "_MOST_LOADS", 3)
    opened = list[object]()
    for number in range(7):
        write(words, stored(f"apples {number}"), drop=[1])
        assert found(words, "apples") == [1]
        opened += [words._index] if words._index not in opened else []
    assert len(opened) == 3


def test_what_is_dropped_is_gone(words):
    write(words, stored("apples", "pears", tier="document"))
    words.write((), [1])
    assert (found(words, "apples"), words.count) == ([], 1)


def test_a_reader_sees_what_another_wrote_when_it_looks(tmp_path):
    one, other = Words(tmp_path / "words"), Words(tmp_path / "words")
    write(one, stored("apples"))
    assert found(other, "apples") == []
    other.reload()
    assert found(other, "apples") == [1]


def test_languages_that_occur_are_known(words):
    german = "Wir haben den Server neu gestartet und die Datenbank war danach sehr langsam."
    write(words, stored("The server was restarted and it is fine.", german, tier="document"))
    assert set(words.languages) == {"english", "german"}
    assert found(words, "Datenbanken") == [2]


def test_a_small_word_in_quotes_is_found_as_it_stands(words):
    write(words, stored("To be, or not to be.", "Or to be not so.", tier="document"))
    assert found(words, '"or not to be"')[0] == 1
    assert found(words, "to be or not")[0] in (1, 2)


OWNERS = [("session", "kate"), ("session", "kate"), ("session", ""), ("journal", "kate"), ("session", "max")]


@pytest.mark.parametrize("tiers", [(), ("session",), ("journal",), ("session", "journal"), ("graph",)])
@pytest.mark.parametrize(
    "agents", [(), ("kate",), ("",), ("", "kate"), ("", "kate", "max"), ("eve",), ("kate", "\ud800")]
)
def test_tiers_and_agents_hold_whether_they_let_all_most_few_or_none_through(words, tiers, agents):
    for number, (tier, agent) in enumerate(OWNERS, 1):
        write(words, [Stored(number, number, 1, chunk("apples", tier, agent=agent))])
    within = Filter(tiers=tiers, agents=agents)
    ids = words.search(plan("apples"), within, 10).ids
    expected = [
        number
        for number, (tier, agent) in enumerate(OWNERS, 1)
        if passes(chunk("apples", tier, agent=agent), within)
    ]
    assert sorted(ids) == expected


def test_a_directory_that_is_no_index_is_one_error(tmp_path):
    (tmp_path / "words").mkdir()
    (tmp_path / "words/meta.json").write_text("{")
    with pytest.raises(WordsUnavailable) as caught:
        Words(tmp_path / "words")
    assert caught.value.hint


def test_a_field_that_stands_twice_is_one_error_and_tantivy_prints_nothing_of_it(words, tmp_path, capfd):
    meta = next(tmp_path.rglob("meta.json"))
    told = json.loads(meta.read_text())
    meta.write_text(json.dumps(told | {"schema": told["schema"] + told["schema"][:1]}))
    with pytest.raises(WordsUnavailable):
        Words(meta.parent)
    assert capfd.readouterr().err == ""


def test_a_file_in_the_place_of_the_directory_is_one_error(tmp_path):
    (tmp_path / "words").write_text("x")
    with pytest.raises(WordsUnavailable):
        Words(tmp_path / "words")


NOTED = "- 14:05 [decision] Chose JWT over the session cookie. _(session s1, m12)_"


def test_when_an_entry_was_noted_and_from_where_is_not_what_it_says(words):
    write(words, stored(NOTED, "- 9:30 [note] Tea. _(message m9)_", tier="journal"))
    assert found(words, "session")[:1] == [1]
    assert [found(words, asked) for asked in ("14", "s1", "m12", "m9", "message")] == [[]] * 5
    assert found(words, "decision")
    assert vector_text(chunk(NOTED, "journal")) == "-  [decision] Chose JWT over the session cookie."


@pytest.mark.parametrize(
    "text",
    [
        "- At 14:05 the train left _(session)_",
        "14:05 [decision] no bullet",
        "- 25:00 is no hour",
        "- said \\_(session s1, m2)_",
        "- _(session s1, m2)_ stands first",
    ],
)
def test_what_only_looks_like_it_is_searched_as_it_stands(text):
    assert vector_text(chunk(text, "journal")) == text


@pytest.mark.parametrize("tier", ["document", "session", "profile"])
def test_elsewhere_than_in_a_journal_every_word_is_searched(tier):
    assert vector_text(chunk(NOTED, tier)) == NOTED


def test_what_another_wrote_is_found_after_a_reload(words, tmp_path):
    other = Words(tmp_path / "words")
    for number, word in enumerate(("opera", "tea", "tide"), 1):
        other.write([entry_of([Stored(number, 1, number, chunk(word))], 0)], [number])
        assert not found(words, word)
        words.reload()
        assert found(words, word) == [number]
        words.reload()
        assert found(words, word) == [number]


def test_a_rarer_word_tells_more(words):
    write(words, stored("tea tea", "tea", "opera"))
    weigh = words.weigh(Plan())
    assert weigh("opera") > weigh("tea") > 0
    assert weigh("nobody") > weigh("opera")
    write(words, stored("opera", "opera", "opera"), drop=[1, 2, 3])
    weigh = words.weigh(Plan())
    assert weigh("opera") < weigh("tea")


def test_a_word_of_chunks_that_are_gone_tells_as_much_as_if_they_had_never_been(words, tmp_path):
    near = stored("the tea", "the opera", "the tide", "the tea", tier="document")
    write(words, near)
    words.write((), [2, 3, 4])
    fresh = Words(tmp_path / "fresh")
    write(fresh, near[:1])
    for word in ("the", "tea", "opera", "nobody"):
        assert words.weigh(Plan())(word) == fresh.weigh(Plan())(word) > 0, word


def test_the_vector_of_a_chunk_knows_its_heading_and_no_speaker():
    assert vector_text(chunk("text", headings=("Top", "Own"), speaker="Ana")) == "Own\ntext"


def test_a_neighbour_that_was_found_too_makes_a_chunk_better():
    places = [stands_at(1, seq, "session") for seq in (5, 6, 9)]
    scored = dict(rescore(Candidates([1, 2, 3], [1.0, 1.0, 1.0], places, [0, 0, 0]), ()))
    assert scored == {1: 1 + NEAREST, 2: 1 + NEAREST, 3: 1.0}


def test_chunks_of_documents_are_no_neighbours():
    places = [stands_at(1, seq, "document") for seq in (5, 6)]
    assert dict(rescore(Candidates([1, 2], [1.0, 1.0], places, [0, 0]), ())) == {1: 1.0, 2: 1.0}


def test_who_is_named_is_known_whatever_the_case_and_accents():
    ana = code_of("ÁNA")
    assert ana == code_of("ana")
    scored = rescore(Candidates([1, 2], [1.0, 1.2], [1 << 32, 2 << 32], [ana, 7]), {ana})
    assert scored == [(1, 1 + SPEAKER), (2, 1.2)]


def test_words_that_are_opened_anew_now_and_then_are_written_and_read_as_before(tmp_path, monkeypatch):
    monkeypatch.setattr("carrel.index.embedded.words._MOST_LOADS", 3)
    writer, reader = Words(tmp_path / "words"), Words(tmp_path / "words")
    opened = set()
    for number in range(8):
        write(writer, stored(f"walrus{number} sleeps"), drop=[1])
        reader.reload()
        opened.add(reader._index)
        for words in (writer, reader):
            assert found(words, f"walrus{number} sleeping") == [1]
            assert (found(words, f"walrus{number - 1}"), words.count) == ([], 1)
    assert len(opened) == 4  # else what tantivy keeps of each state would stay
