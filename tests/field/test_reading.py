"""What could not be read or looked for: words with signs in them, and pipes that nobody writes to."""

import os
from contextlib import suppress

import pytest

from carrel import CarrelError, Workspace

WORDS = (
    "gpt-4o",
    "memory:safe",
    "C++",
    "don't",
    '"quoted"',
    "user@host",
    "a.b.c",
    "NEAR/2",
    "foo*",
    "--flag",
    "^x",
    "{}",
)


@pytest.mark.parametrize("word", WORDS)
def test_words_with_signs_in_them_find_what_they_stand_in(cli, sample, word):
    sample.put({f"notes/{n}.md": f"Nothing of note, number {n}.\n" for n in range(3)})
    sample.put({"notes/signs.md": f"We settled on {word} for the winter.\n"})
    for mode in ("hybrid", "lexical", "literal"):
        outcome = cli("-C", sample, "search", "--mode", mode, "--json", "--", word)
        assert outcome.code == 0, outcome.text
        found = [hit["path"] for hit in outcome.document["hits"]]
        assert found == [] if word == "{}" and mode != "literal" else "notes/signs.md" in found, mode


PLACES = ("MEMORY.md", "memory/kate.md", "memory/2026-04-24.md", "USER.md", "agents/kate/sessions/s1.log.jsonl",
          "agents/kate/sessions/sessions.json", "agents/kate/sessions/s1.jsonl")  # fmt: skip


@pytest.mark.parametrize("place", PLACES)
def test_a_pipe_in_the_place_of_any_file_that_is_written_is_never_waited_for(cli, sample, place):
    path = sample / place
    path.unlink(missing_ok=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    os.mkfifo(path)
    said = {"role": "user", "content": "Remember that Ana uses a Nokia phone."}
    with Workspace.open(sample) as workspace:
        for write in (
            lambda: workspace.record("s1", [said, {"role": "assistant", "content": "Good."}]),
            lambda: workspace.memory.add("Ana uses a Nokia phone."),
            lambda: workspace.memory.add("Ana bought a phone.", kind="event"),
            lambda: workspace.memory.add("Likes phones.", kind="user"),
            lambda: workspace.memory.notebook("MEMORY.md").append("Notes", "- One."),
            lambda: workspace.put(place, b"text"),
            workspace.sweep,
            workspace.dreaming.run,
            lambda: workspace.prepare("s1", "And now?"),
        ):
            with suppress(CarrelError):  # and no other
                write()
    assert path.is_fifo()
