"""What search does beside a conversation: what was said is taken in when a turn is over, and vectors are made."""

import asyncio
import os
from contextlib import closing, suppress
from errno import EXDEV
from itertools import count
from threading import Event, Thread

import pytest
from tests.stubs.embeddings import EmbeddingsStub, embedded
from tests.stubs.scripted import HANG

from carrel import Workspace
from carrel.index import Query
from carrel.index.embedded import EmbeddedIndex
from carrel.index.embedded.words import Words
from carrel.runtime.loop import Ended
from carrel.runtime.model import Reply
from carrel.testing import ScriptedModel

LOG = "agents/kate/sessions/s1.log.jsonl"
LONG = 30.0


def say(workspace, message, *script, session="s1"):
    """Hold one turn to its end, and return its events."""
    model = ScriptedModel([*script, Reply(text="Noted, by the walrus.")])

    async def hold():
        return [event async for event in workspace.turn(session, message, model=model)]

    return asyncio.run(hold())


def indexed(workspace, text):
    """Where the index has this text as it is, without bringing it up to date."""
    return [hit.chunk.text for hit in workspace.searching.index.search(Query(text=text, mode="literal")).hits]


@pytest.fixture
def opened(sample, cli):
    return lambda **fields: Workspace.open(sample, environ=dict(os.environ), **fields)


# What was said


def test_what_was_said_is_taken_in_when_the_turn_is_over(opened):
    with opened() as workspace:
        seen = []
        say(workspace, "Where is the pelican?", lambda: seen.append(indexed(workspace, "pelican")))
        workspace.searching.wait()
        assert seen == [[]], "its own message is not waited for before the model is asked"
        assert indexed(workspace, "pelican") == ["Where is the pelican?"]
        assert indexed(workspace, "by the walrus") == ["Noted, by the walrus."]


def test_a_turn_ends_however_long_that_takes(opened, monkeypatch):
    go, written = Event(), Words.write

    def slow(*given):
        assert go.wait(LONG)
        written(*given)

    with opened() as workspace:
        say(workspace, "Hello harbour master!")
        workspace.searching.wait()
        with monkeypatch.context() as patched:
            patched.setattr(Words, "write", slow)
            events = say(workspace, "Where is the pelican?")
            assert isinstance(events[-1], Ended)
            go.set()
            workspace.searching.wait()
        assert indexed(workspace, "pelican") == ["Where is the pelican?"]


def test_a_search_finds_all_that_was_recorded_before_it(opened, cli, sample):
    with opened() as workspace:
        for number in range(3):
            say(workspace, f"Where is pelican number {number}?")
            found = workspace.search(f"pelican number {number}", mode="literal")
            assert [hit.chunk.path for hit in found.hits] == [LOG]
        workspace.record("s2", [{"role": "user", "content": "An ostrich."}])
        assert workspace.search("ostrich").hits[0].chunk.session == "s2"
        tool = workspace.tools(session="s1").call("memory_search", {"query": "pelican number 2", "limit": 1})
        assert tool["hits"][0]["text"] == "Where is pelican number 2?"
    hits = cli("-C", sample, "search", "pelican number 2", "--limit", "1", "--json").document["hits"]
    assert [hit["text"] for hit in hits] == ["Where is pelican number 2?"]


def test_who_closes_right_after_a_turn_loses_nothing(opened):
    for number in range(3):
        with opened() as workspace:
            say(workspace, f"Where is pelican number {number}?")
    with opened() as workspace:
        found = workspace.search("pelican", mode="literal", limit=20)
        assert (len(found.hits), found.degraded) == (3, False)


def test_a_process_that_ends_without_closing_has_taken_in_what_was_said(process, sample):
    assert process("trust", sample).code == 0
    program = (
        "import asyncio, sys, time\n"
        "from carrel import Workspace\n"
        "from carrel.index.embedded.words import Words\n"
        "from carrel.runtime.model import Reply\n"
        "from carrel.testing import ScriptedModel\n"
        "workspace = Workspace.open(sys.argv[1])\n"
        "model = ScriptedModel([Reply(text='Noted.')])\n"
        "async def hold():\n"
        "    return [event async for event in workspace.turn('s1', 'Where is the pelican?', model=model)]\n"
        "workspace.search('anything')\n"
        "write = Words.write\n"
        "Words.write = lambda *given: (time.sleep(0.5), write(*given))\n"
        "asyncio.run(hold())\n"
    )
    outcome = process(sample.path, python=("-c", program))
    assert (outcome.code, outcome.text, outcome.warnings) == (0, "", "")
    with closing(EmbeddedIndex(sample / ".carrel/cache/index")) as index:
        found = index.search(Query(text="pelican", mode="literal"))
    assert [hit.chunk.text for hit in found.hits] == ["Where is the pelican?"]


def test_a_turn_that_is_left_early_is_taken_in_too(opened):
    async def leave(workspace):
        events = workspace.turn(
            "s1", "Where is the pelican?", model=ScriptedModel(["I think", Reply(text="I think so.")])
        )
        async for _ in events:
            break
        await events.aclose()

    with opened() as workspace:
        workspace.search("anything")
        asyncio.run(leave(workspace))
        workspace.searching.wait()
        assert indexed(workspace, "pelican") == ["Where is the pelican?"]


def test_what_left_the_window_is_recalled_although_nobody_took_it_in(opened):
    with opened() as workspace:
        workspace.record("s1", [{"role": "user", "content": "My pelican is called Otto."}])
        workspace.record("s1", [{"role": "assistant", "content": "Noted."}])
        assert (
            "Otto"
            not in workspace.prepare("s1", "What is my pelican called?").to_text().split("<recall>")[1:]
        )
        assert indexed(workspace, "otto") == []
        filler = "The harbour is calm and the boats are many. " * 150
        for number in range(12):
            workspace.record("s1", [{"role": "user", "content": f"{number}: {filler}"}])
            workspace.record("s1", [{"role": "assistant", "content": filler}])
        workspace.compact("s1")
        text = workspace.prepare("s1", "What is my pelican called?").to_text()
    assert "My pelican is called Otto." in text.partition("<recall>")[2]


@pytest.mark.parametrize("settings", ["layout: openclaw\n", "budgets: {recall_tokens: 0}\n"])
def test_where_nothing_is_recalled_a_turn_makes_no_index(opened, sample, cli, settings):
    sample.put({"carrel.yaml": f"{settings}agents: [{{id: kate}}]\n"})
    assert cli("trust", sample).code == 0
    with opened() as workspace:
        say(workspace, "Where is the pelican?")
        workspace.searching.wait()
    assert not (sample / ".carrel/cache/index").exists()


# Vectors of a server


@pytest.fixture
def served(sample, cli, tmp_path):
    """Says in the user's settings that a stub's server embeds; there are more texts than it is asked at once."""
    sample.put({f"attic/{number:03}.md": f"Walrus number {number} sleeps.\n" for number in range(100)})

    def serve(stub):
        (tmp_path / "home/config").mkdir(parents=True, exist_ok=True)
        (tmp_path / "home/config/config.yaml").write_text(
            f"search: {{embedder: ollama, embedder_url: '{stub.origin}', embedder_model: stub}}\n"
        )

    return serve


def test_a_server_that_hangs_costs_a_search_no_more_than_its_patience(opened, served, monkeypatch):
    monkeypatch.setattr("carrel.searching.PATIENCE", 0.05)
    monkeypatch.setattr("carrel.searching.CLOSING", 0.05)
    with EmbeddingsStub(HANG) as stub:
        served(stub)
        with opened() as workspace:
            found = workspace.search("walrus", mode="vector")
            assert len(found.hits) == 10
            assert [finding.code for finding in found.findings] == ["vectors_behind"]


def test_an_embedder_that_was_changed_makes_its_vectors_beside(opened, served, cli, sample, monkeypatch):
    go = Event()

    def slow(asked):
        assert go.wait(LONG)
        return embedded(asked)

    with opened() as workspace:
        assert workspace.search("walrus").hits
    monkeypatch.setattr("carrel.searching.PATIENCE", 0.05)
    with EmbeddingsStub(slow) as stub:
        served(stub)
        with opened() as workspace:
            found = workspace.search("walrus number 7")
            assert found.hits[0].chunk.path == "attic/007.md"
            assert (found.degraded, [each.code for each in found.findings]) == (True, ["vectors_behind"])
            assert found.findings[0].message.startswith("0 of ")
            go.set()
            workspace.searching.wait()
            found = workspace.search("walrus number 7")
            assert (found.degraded, found.findings) == (False, ())
            assert len(set(stub.texts)) == len(stub.texts), "nothing was sent twice"


def test_index_sync_makes_all_of_them_and_tells_it(served, cli, sample):
    with EmbeddingsStub() as stub:
        served(stub)
        report = cli("-C", sample, "index", "sync", "--json").document
        assert (report["waiting"], report["findings"]) == (0, [])
        status = cli("-C", sample, "index", "status", "--json").document
        assert (status["vectors"], status["waiting"], status["embedder"]) == (
            status["chunks"],
            0,
            "ollama:stub",
        )
        assert cli("-C", sample, "search", "walrus", "--json").document["degraded"] is False


def test_an_index_that_cannot_have_another_name_is_dropped_all_the_same(opened, monkeypatch):
    """As in a layer of an image, where the system answers that it is on another device."""

    def refuse(*_):
        raise OSError(EXDEV, "Invalid cross-device link")

    with opened() as workspace:
        workspace.searching.sync()
        assert "index" in workspace.home.indexed()
        monkeypatch.setattr("pathlib.Path.rename", refuse)
        workspace.home.drop_index()
        assert workspace.home.indexed() == []


def test_an_index_is_dropped_whole_while_somebody_adds_to_it(opened):
    """Who writes vectors makes files in the folder by their paths; one that came late kept it from being removed."""
    with opened() as workspace:
        home = workspace.home
    folder, is_over = home.cache / "index", Event()

    def add() -> None:
        for number in count():
            with suppress(OSError):
                (folder / f"vectors-{number % 500}.bin").write_bytes(b"")
            if is_over.is_set():
                return

    adding = Thread(target=add)
    adding.start()
    try:
        for _ in range(30):
            folder.mkdir(parents=True, exist_ok=True)
            while len(list(folder.iterdir())) < 20:
                pass
            home.drop_index()
    finally:
        is_over.set()
        adding.join()
    assert home.indexed() == []
