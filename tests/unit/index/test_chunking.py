"""Documents and turns in chunks: along headings, bullets and paragraphs, and never too long."""

import pytest

from carrel.index import Place, Turn
from carrel.index.chunking import FULL, LONGEST, chunk_document, chunk_turn


def place(path="notes.md", tier="document", **fields):
    return Place(path=path, tier=tier, **fields)


def texts(chunks):
    return [chunk.text for chunk in chunks]


NOTEBOOK = """# Memory

## People
- Ana reviews the migration
  on Thursdays
- Ben is on leave

## Rules

Ask before a deploy.
"""


def test_a_notebook_is_cut_into_its_bullets_each_below_its_headings():
    chunks = chunk_document(place("MEMORY.md", "profile"), NOTEBOOK)
    assert texts(chunks) == [
        "# Memory",
        "## People\n- Ana reviews the migration\n  on Thursdays",
        "- Ben is on leave",
        "## Rules\n\nAsk before a deploy.",
    ]
    assert [chunk.headings for chunk in chunks] == [
        ("Memory",), ("Memory", "People"), ("Memory", "People"), ("Memory", "Rules"),
    ]  # fmt: skip
    assert [(chunk.line, chunk.end_line) for chunk in chunks] == [(1, 1), (3, 5), (6, 6), (8, 10)]


def test_in_other_documents_what_stands_together_stays_together():
    chunks = chunk_document(place(), NOTEBOOK)
    assert texts(chunks)[1] == "## People\n- Ana reviews the migration\n  on Thursdays\n- Ben is on leave"


def test_a_full_chunk_takes_in_no_more():
    paragraphs = [f"Paragraph {number}: " + "word " * 60 for number in range(12)]
    chunks = chunk_document(place(), "\n\n".join(paragraphs))
    assert len(chunks) > 3
    assert all(len(chunk.text) < FULL + 400 for chunk in chunks)


def test_a_block_of_code_is_neither_heading_nor_bullet_and_stays_whole():
    text = "# Use\n\n```sh\n# not a heading\n\n- not a bullet\n```\nAfter it.\n"
    (chunk,) = chunk_document(place(tier="profile"), text)
    assert chunk.headings == ("Use",)
    assert chunk.text == text.rstrip("\n")


def test_a_longer_fence_is_not_closed_by_a_shorter_one():
    text = "````\n```\n- inside\n```\n````\n- outside"
    assert texts(chunk_document(place(tier="profile"), text)) == [
        "````\n```\n- inside\n```\n````",
        "- outside",
    ]


@pytest.mark.parametrize("fence", ["```", "~~~", "```python", "````"])
def test_a_fence_that_is_never_closed_is_text_like_any_other(fence):
    text = f"- before\n{fence}\n- one\n\n- two\n## Next\n- three"
    chunks = chunk_document(place(tier="profile"), text)
    assert [(chunk.line, chunk.text) for chunk in chunks] == [
        (1, f"- before\n{fence}"),
        (3, "- one"),
        (5, "- two"),
        (6, "## Next\n- three"),
    ]


def test_a_fence_in_one_section_is_not_closed_by_one_in_another():
    text = "# A\n```\n- one\n- two\n# B\n- three\n"
    assert texts(chunk_document(place(tier="profile"), text)) == [
        "# A\n```",
        "- one",
        "- two",
        "# B\n- three",
    ]


@pytest.mark.parametrize("path", ["tool.py", "data.csv", "notes.txt", "Makefile"])
def test_only_markdown_has_headings(path):
    (chunk,) = chunk_document(place(path), "# a comment\nvalue = 1\n")
    assert (chunk.headings, chunk.text) == ((), "# a comment\nvalue = 1")


def test_tags_and_privacy_come_from_the_front_matter():
    text = "---\ntags: [work]\nscope: private\n---\nHidden.\n"
    chunk = chunk_document(place(tags=("given",)), text)[-1]
    assert chunk.tags == ("given", "work")
    assert chunk.private


def test_a_file_named_after_a_day_has_that_date():
    assert chunk_document(place("memory/2026-04-23-topic.md", "journal"), "- x")[0].date == "2026-04-23"
    assert chunk_document(place("memory/2026-13-23.md", "journal"), "- x")[0].date == ""
    assert chunk_document(place("2026-02-31 to 2026-03-02.md"), "- x")[0].date == "2026-03-02"
    assert chunk_document(place("a/2026-04-23.md", date="2020-01-01"), "- x")[0].date == "2020-01-01"


def test_a_very_long_line_is_parted_between_words_and_nothing_is_lost():
    line = "word " * 2_000
    chunks = chunk_document(place(), line)
    assert "".join(texts(chunks)) == line
    assert all(len(chunk.text) <= LONGEST and chunk.text.startswith("word") for chunk in chunks)
    assert {(chunk.line, chunk.end_line) for chunk in chunks} == {(1, 1)}


def test_a_line_without_any_space_is_parted_all_the_same():
    chunks = chunk_document(place("a.txt"), "x" * 10_000)
    assert "".join(texts(chunks)) == "x" * 10_000
    assert max(len(chunk.text) for chunk in chunks) <= LONGEST


@pytest.mark.parametrize("text", ["", "\n\n \n", "\0", "\ud800", "```", "---\nscope: private", "# " * 9_000])
def test_odd_texts_are_cut_like_any_other(text):
    for chunk in chunk_document(place(), text):
        assert chunk.text.strip()
        assert 1 <= chunk.line <= chunk.end_line


def test_lines_count_the_same_however_they_end():
    plain = chunk_document(place(), NOTEBOOK)
    assert chunk_document(place(), NOTEBOOK.replace("\n", "\r\n")) == plain


def test_a_carriage_return_alone_ends_no_line():
    text = "# Log\n\nprogress 10%\rprogress 20%\rdone\n\n## After\r\n\r\nThe end.\r\n"
    assert [(chunk.line, chunk.end_line, chunk.text) for chunk in chunk_document(place(), text)] == [
        (1, 3, "# Log\n\nprogress 10%\rprogress 20%\rdone"),
        (5, 7, "## After\n\nThe end."),
    ]
    (said,) = chunk_turn(place(), Turn(number=1, text="one\rtwo\r\nthree"))
    assert said.text == "one\rtwo\nthree"


def test_a_turn_is_one_chunk_with_speaker_date_and_message():
    turn = Turn(number=3, text="Hello\nthere", line=4, speaker="Ana", date="2026-04-24", message_id="m3")
    session = Place(path="s.jsonl", tier="session", agent="kate", session="s", turns=3)
    (chunk,) = chunk_turn(session, turn)
    assert (chunk.text, chunk.line, chunk.end_line) == ("Hello\nthere", 4, 4)
    assert (chunk.speaker, chunk.date, chunk.session, chunk.message_id) == ("Ana", "2026-04-24", "s", "m3")
    assert (chunk.agent, chunk.tier, chunk.private) == ("kate", "session", False)


def test_a_long_turn_is_several_chunks_of_one_message():
    turn = Turn(number=1, text="\n\n".join("word " * 50 for _ in range(20)), message_id="m")
    chunks = chunk_turn(Place(path="s.jsonl", tier="session", session="s", turns=1), turn)
    assert len(chunks) > 1
    assert {chunk.message_id for chunk in chunks} == {"m"}


def test_a_turn_that_says_nothing_has_no_chunk():
    session = Place(path="s.jsonl", tier="session", session="s", turns=1)
    assert chunk_turn(session, Turn(number=1, text=" \n")) == []
    assert chunk_turn(session, Turn(number=1, text="x", private=True))[0].private


def test_a_file_of_nothing_but_headings_has_few_chunks_and_loses_no_line():
    lines = [f"# Heading {number}" for number in range(20_000)]
    chunks = chunk_document(place("bomb.md"), "\n".join(lines))
    assert len(chunks) < 1_000
    assert [line for chunk in chunks for line in chunk.text.split("\n")] == lines
    few = chunk_document(place("plain.md"), "\n".join(f"{line}\n\nA word.\n" for line in lines[:1_000]))
    assert [chunk.headings for chunk in few] == [(f"Heading {number}",) for number in range(1_000)]


def test_a_journal_of_nothing_but_bullets_has_few_chunks_and_loses_no_line():
    lines = [f"- word {number}" for number in range(20_000)]
    chunks = chunk_document(place("memory/2026-04-01.md", "journal"), "\n".join(lines))
    assert len(chunks) < 1_000
    assert [line for chunk in chunks for line in chunk.text.split("\n")] == lines
    few = chunk_document(place("memory/2026-04-01.md", "journal"), "\n".join(lines[:1_000]))
    assert texts(few) == lines[:1_000]
