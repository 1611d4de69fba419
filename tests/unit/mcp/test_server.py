"""The server in this process, with the SDK's client: what only odd workspaces and odd moments show."""

import asyncio
import json

import pytest
from tests.stubs.clients import MODES, call, refused, talk

from carrel import CarrelError, Workspace
from carrel.mcp import resources
from carrel.mcp.seat import Seat
from carrel.mcp.server import build
from carrel.workspace.scope import HiddenByScope, Scope


@pytest.fixture
def workspace(cli, sample):
    with Workspace.open(sample.path) as opened:
        yield opened


def server(workspace, scope=Scope.MAIN):
    return build(lambda _: Seat(workspace=workspace, scope=scope, may_write=True))


@pytest.mark.parametrize("mode", MODES)
def test_names_and_texts_that_are_no_unicode_break_no_answer(workspace, sample, mode):
    (sample.path / b"caf\xe9.txt".decode("utf-8", "surrogateescape")).write_text("coffee\n")
    sample.put({"SOUL.md": b"Kind \xff soul.\n", "notes/zero.txt": "a\0b\n"})

    async def work(client):
        listed = (await call(client, "file_list")).value
        read = await call(client, "file_read", path="SOUL.md")
        zero = await call(client, "file_read", path="notes/zero.txt")
        tree = (await client.read_resource("workspace://tree")).contents[0].text
        return listed, read, zero, tree

    listed, read, zero, tree = talk(server(workspace), work, mode)
    assert any(entry["path"].startswith("caf") for entry in listed["entries"])
    assert read.error["code"] == "unreadable"
    assert zero.value["text"] == "a\0b\n"
    assert json.loads(tree)["count"] > 3


def test_a_large_file_is_read_as_one_resource_and_a_larger_one_page_by_page(workspace, sample):
    text = "".join(f"line {number} é\n" for number in range(20_000))
    sample.put({"notes/long.txt": text, "notes/longer.txt": "word " * 250_000})

    async def work(client):
        read = (await client.read_resource("workspace://files/notes/long.txt")).contents[0]
        error = await refused(client.read_resource("workspace://files/notes/longer.txt"))
        return read, error

    read, error = talk(server(workspace), work)
    assert read.text == text
    assert read.mime_type == "text/plain"
    assert error.data["code"] == "too_large_to_send"


def test_a_file_that_changes_while_it_is_read_is_not_made_of_two(workspace, sample, monkeypatch):
    sample.put({"notes/long.txt": "a line\n" * 20_000})
    seat = Seat(workspace=workspace, scope=Scope.MAIN)
    found = resources.offered(seat)["file_read"]
    real = found.tool.run

    def read_then_change(asked):
        page = real(asked)
        sample.put({"notes/long.txt": f"another line {asked.offset}\n" * 20_000})
        return page

    changing = type(found)(
        found.offer, type(found.tool)(**{**as_fields(found.tool), "run": read_then_change})
    )
    monkeypatch.setattr(resources, "offered", lambda *_: {"file_read": changing})
    with pytest.raises(CarrelError) as caught:
        resources.read(seat, "workspace://files/notes/long.txt")
    assert caught.value.code == "stale"


def as_fields(struct):
    return {name: getattr(struct, name) for name in struct.__struct_fields__}


def test_who_is_asked_for_a_seat_may_refuse_it(workspace):
    def nobody(_):
        raise HiddenByScope("this workspace")

    async def work(client):
        answer = await call(client, "who_am_i")
        return (
            answer.error,
            await refused(client.list_tools()),
            await refused(client.read_resource("workspace://tree")),
        )

    error, listing, reading = talk(build(nobody), work)
    assert error["code"] == listing.data["code"] == reading.data["code"] == "hidden_by_scope"


def test_a_failure_of_the_disk_is_the_server_s_fault_and_told_as_such(workspace, caplog):
    def broken(_):
        raise ZeroDivisionError("private words")

    async def work(client):
        return await call(client, "who_am_i"), await refused(client.list_resources())

    answer, error = talk(build(broken), work)
    assert answer.error["code"] == error.data["code"] == "internal"
    assert error.code == -32603
    assert "private" not in answer.text + repr(error.data)
    assert [record.message.split(" failed")[0] for record in caplog.records] == [
        "error[internal]: who_am_i",
        "error[internal]: resources/list",
    ]


def test_many_calls_at_once_are_all_answered(workspace):
    async def work(client):
        said = [
            call(
                client,
                "turn_record",
                session=f"s{number % 4}",
                messages=[
                    {"role": "user", "content": f"Word {number}."},
                    {"role": "assistant", "content": "Yes."},
                ],
            )
            for number in range(24)
        ]
        looked = [call(client, "memory_search", query=f"Word {number}", session="s1") for number in range(8)]
        shown = [call(client, "context_get", query="Ana", session="s2") for _ in range(8)]
        return await asyncio.gather(*said, *looked, *shown)

    answers = talk(server(workspace), work)
    assert not [answer.text for answer in answers if answer.is_error]
    counts = [workspace.sessions.measure(f"s{number}")[0] for number in range(4)]
    assert counts == [12, 12, 12, 12]


def test_what_it_tells_models_of_itself_names_only_tools_that_exist(workspace):
    from carrel.mcp.offered import OFFERS  # noqa: PLC0415 - for this alone
    from carrel.mcp.server import INSTRUCTIONS  # noqa: PLC0415 - as above

    words = {word.strip(".,;`") for word in INSTRUCTIONS.split() if "_" in word}
    assert words <= {offer.name for offer in OFFERS}
    assert words
