"""Files as objects: what lies in the bucket, who may be quicker, and what a failing store leads to."""

from contextlib import suppress
from itertools import count
from threading import Thread
from typing import Any

import obstore
import pytest
from tests.stubs.objects import BUCKET, S3

from carrel.addresses import Key
from carrel.errors import CarrelError
from carrel.files import Stale
from carrel.files.objects import BadObjectsUrl, ObjectFiles, ObjectsUnavailable
from carrel.files.objects import bucket as bucket_module
from carrel.files.objects import store as store_module
from carrel.files.objects.shapes import gone_head
from carrel.files.paths import BadId

NUMBERS = count(1)


@pytest.fixture
def url() -> str:
    """A store in memory that only this test knows."""
    return f"memory://unit-{next(NUMBERS)}"


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bucket_module, "_PAUSES", (0.0, 0.0, 0.0))


def studio(url: str) -> ObjectFiles:
    return ObjectFiles(url, "acme", "studio")


def held(files: ObjectFiles) -> dict[str, bytes]:
    """All that is in the store, by key."""
    store: Any = files._bucket._store
    keys = [meta["path"] for chunk in obstore.list(store) for meta in chunk]
    return {key: bytes(obstore.get(store, key).bytes()) for key in keys}


def content(files: ObjectFiles, path: str) -> bytes | None:
    found = files.read(path)
    return found and found.data


def test_a_document_is_one_object_with_its_bytes(url: str) -> None:
    studio(f"{url}/a/b").write("notes/plan.md", b"Be kind.\n", expect=None)
    assert held(studio(url)) == {"a/b/acme/studio/notes/plan.md": b"Be kind.\n"}


def test_an_object_that_another_tool_put_there_is_a_file(url: str) -> None:
    files = studio(url)
    obstore.put(files._bucket._store, "acme/studio/Notes/a b?.md", b"x")
    assert content(files, "Notes/a b?.md") == b"x"
    assert [entry.path for entry in files.list("Notes")] == ["Notes/a b?.md"]


def test_an_append_leaves_every_object_as_it_was_but_the_first_time(url: str) -> None:
    files = studio(url)
    files.append("log.jsonl", b"1\n")
    files.append("log.jsonl", b"2\n")
    for line in (b"3\n", b"4\n"):
        before = held(files)
        (studio(url) if line == b"4\n" else files).append("log.jsonl", line)
        after = held(files)
        assert {key: after[key] for key in before} == before
        assert len(after) == len(before) + 1
    assert content(studio(url), "log.jsonl") == b"1\n2\n3\n4\n"


def test_what_was_replaced_or_removed_is_nowhere_in_the_store(url: str) -> None:
    files = studio(url)
    files.append("log.jsonl", b"canary 1\n")
    files.append("log.jsonl", b"canary 2\n")
    files.append("log.jsonl", b"canary 3\n")
    digest = files.write("log.jsonl", b"new\n", expect=files.read("log.jsonl").digest)
    assert not any(b"canary" in data for data in held(files).values())
    files.append("log.jsonl", b"canary 4\n")
    assert files.read("log.jsonl").digest != digest
    files.remove("log.jsonl", expect=files.read("log.jsonl").digest)
    assert not any(held(files).values())
    assert "acme/studio/log.jsonl" not in held(files)


def test_workspaces_and_tenants_have_nothing_in_common(url: str) -> None:
    names = [
        ("acme", "studio"),
        ("acme", "studio/a"),
        ("acme", "studio+log"),
        ("acme", ".trash/studio"),
        ("acme", "studio%2Fa"),
        ("zeta", "studio"),
    ]
    for tenant, workspace in names:
        files = ObjectFiles(url, tenant, workspace)
        files.append("a/x.md", f"{tenant} {workspace}\n".encode())
        files.append("a/x.md", b"more\n")
    for tenant, workspace in names:
        files = ObjectFiles(url, tenant, workspace)
        assert [entry.path for entry in files.list()] == ["a"]
        assert [entry.path for entry in files.list("a")] == ["a/x.md"]
        assert content(files, "a/x.md") == f"{tenant} {workspace}\nmore\n".encode()


@pytest.mark.parametrize(
    ("tenant", "workspace"),
    [("", "studio"), ("..", "studio"), ("a/b", "studio"), ("acme", ""), ("acme", "..")],
)
def test_nobody_is_a_tenant_by_default(url: str, tenant: str, workspace: str) -> None:
    with pytest.raises(BadId):
        ObjectFiles(url, tenant, workspace)


@pytest.mark.parametrize(
    "bad",
    [
        "",
        "bucket",
        "http://host/bucket",
        "file:///tmp",
        "s3://",
        "s3:///x",
        "s3://key:secret@bucket",
        "s3://bucket/../x",
        "s3://b?x=1",
        "s3://[",
        "gs:/b",
    ],
)
def test_what_names_no_object_store_is_refused_without_being_repeated(bad: str) -> None:
    with pytest.raises(BadObjectsUrl) as caught:
        studio(bad)
    assert "secret" not in caught.value.message + caught.value.hint


def test_a_document_that_begins_as_a_log_does_is_still_a_document(url: str) -> None:
    files = studio(url)
    files.append("log", b"1\n")
    files.append("log", b"2\n")
    odd = [held(files)["acme/studio/log"], gone_head(), b"carrel-log short\n", b"carrel-gone \n"]
    for number, data in enumerate(odd):
        digest = files.write(f"{number}.md", data, expect=None)
        assert (content(files, f"{number}.md"), files.read(f"{number}.md").digest) == (data, digest)
        assert files.part(f"{number}.md", 3, 5).data == data[3:8]
        assert files.append(f"{number}.md", b"x\n") == len(data) + 2
    sizes = {entry.path: entry.size for entry in files.list()}
    assert sizes == {"log": 4} | {f"{number}.md": len(data) + 2 for number, data in enumerate(odd)}


def test_who_replaces_a_log_and_who_adds_to_it_see_each_other(url: str) -> None:
    """A seal that nobody followed up stops no one, and its late owner finds that it is too late."""
    files, other = studio(url), studio(url)
    files.append("log", b"1\n")
    files.append("log", b"2\n")
    whole = files._reading.whole("log", 100)
    late = files._bucket.swap
    files._bucket.swap = lambda old, data: False if other.append("log", b"3\n") else late(old, data)  # type: ignore[method-assign]
    with pytest.raises(Stale):
        files.write("log", b"new", expect=files.read("log").digest)
    files._bucket.swap = late  # type: ignore[method-assign]
    assert not late(whole.shape.head, b"new")
    assert content(files, "log") == b"1\n2\n3\n"
    assert files.append("log", b"4\n", at=6) == 8
    assert content(other, "log") == b"1\n2\n3\n4\n"


def test_who_knew_a_log_before_it_ended_adds_to_what_came_after(url: str) -> None:
    files, other = studio(url), studio(url)
    for line in (b"1\n", b"2\n", b"3\n"):
        files.append("log", line)
    other.write("log", b"new\n", expect=other.read("log").digest)
    assert files.append("log", b"4\n") == 6
    assert content(other, "log") == b"new\n4\n"
    with pytest.raises(Stale):
        other.append("log", b"5\n", at=4)


def test_who_was_about_to_take_a_number_of_an_ended_log_finds_it_taken(url: str) -> None:
    files, other = studio(url), studio(url)
    for line in (b"1\n", b"2\n"):
        files.append("log", line)
    other.append("log", b"3\n")
    other.write("log", b"new\n", expect=other.read("log").digest)
    assert files.append("log", b"4\n") == 6
    assert content(other, "log") == b"new\n4\n"


def test_who_reads_while_a_log_ends_reads_the_old_or_the_new(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    files, other = studio(url), studio(url)
    for line in (b"1\n", b"2\n", b"3\n"):
        files.append("log", line)
    for name in ("below", "get"):
        asked, pending = getattr(files._bucket, name), [name]

        def late(*given: Any, asked: Any = asked, pending: list[str] = pending, **more: Any) -> Any:
            if pending and "+log" in given[0]:
                other.write("log", pending.pop().encode(), expect=other.read("log").digest)
            return asked(*given, **more)

        with monkeypatch.context() as patch:
            patch.setattr(files._bucket, name, late)
            assert content(files, "log") == name.encode()
        for line in (b"1\n", b"2\n", b"3\n"):
            other.append("log", line)


def test_a_file_that_is_made_while_one_of_its_name_is_removed_stays(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    files, other = studio(url), studio(url)
    digest = files.write("a.md", b"x", expect=None)
    made: list[str] = []
    delete = files._bucket.delete_once

    def late(key: str) -> None:
        with suppress(ObjectsUnavailable):
            made.append(other.write("a.md", b"y", expect=None))
        delete(key)

    monkeypatch.setattr(store_module, "_WAIT", 0.0)
    monkeypatch.setattr(files._bucket, "delete_once", late)
    files.remove("a.md", expect=digest)
    assert content(files, "a.md") == (b"y" if made else None)
    other.append("a.md", b"z\n")
    assert content(files, "a.md") == (b"y\nz\n" if made else b"z\n")


def test_a_removal_that_was_cut_short_holds_nobody_up_for_long(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = studio(url)
    digest = files.write("d/a.md", b"x", expect=None)
    monkeypatch.setattr(store_module, "_REMOVAL", -1.0)
    files.remove("d/a.md", expect=digest)
    assert content(files, "d/a.md") is None
    assert files.list() == []
    assert files.stamps(["d/a.md", "d"]) == [None, None]
    monkeypatch.setattr(store_module, "_WAIT", 0.0)
    with pytest.raises(ObjectsUnavailable) as caught:
        files.write("d/a.md", b"y", expect=None)
    assert caught.value.reason == "busy"
    monkeypatch.setattr(store_module, "_ABANDONED", 0.0)
    files.write("d/a.md", b"y", expect=None)
    assert content(files, "d/a.md") == b"y"


def test_writers_of_all_kinds_at_once_lose_no_line(url: str) -> None:
    studio(url).append("log", b"start\n")
    failures: list[BaseException] = []

    def append(who: int) -> None:
        files = studio(url)
        for i in range(20):
            files.append("log", f"{who}.{i}\n".encode())

    def rewrite(who: int) -> None:
        files = studio(url)
        done = 0
        while done < 6:
            found = files.read("log")
            try:
                files.write("log", found.data + f"{who}.w{done}\n".encode(), expect=found.digest)
                done += 1
            except Stale:
                continue

    def run(work: Any, who: int) -> None:
        try:
            work(who)
        except BaseException as error:  # noqa: BLE001
            failures.append(error)

    threads = [
        Thread(target=run, args=(work, who)) for who, work in enumerate([append, append, rewrite, rewrite])
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    expected = [
        "start",
        *(f"{who}.{i}" for who in (0, 1) for i in range(20)),
        *(f"{who}.w{i}" for who in (2, 3) for i in range(6)),
    ]
    assert sorted(content(studio(url), "log").decode().splitlines()) == sorted(expected)


def test_a_warm_append_is_one_request_and_stamps_of_a_folder_are_two(objects: str, s3: S3) -> None:
    files = studio(objects)
    for number in range(5):
        files.write(f"d/{number}.md", b"x", expect=None)
    for line in (b"1\n", b"2\n"):
        files.append("log", line)
    s3.requests.clear()
    files.append("log", b"3\n")
    assert [method for method, _ in s3.requests] == ["PUT"]
    s3.requests.clear()
    files.stamps([f"d/{number}.md" for number in range(5)])
    assert len(s3.requests) == 2
    s3.requests.clear()
    assert files.read("d/1.md") is not None
    assert len(s3.requests) == 1


@pytest.mark.usefixtures("impatient")
def test_a_store_that_answers_503_for_a_moment_is_not_noticed(objects: str, s3: S3) -> None:
    files = studio(objects)
    for number, method in enumerate(["PUT", "GET", "HEAD", ""]):
        s3.fail(2, method=method)
        digest = files.write(f"{number}.md", b"x", expect=None)
        files.append("log", b"line\n")
        assert content(files, f"{number}.md") == b"x"
        files.remove(f"{number}.md", expect=digest)
    s3.mend()
    assert content(files, "log") == b"line\n" * 4


@pytest.mark.usefixtures("impatient")
def test_a_store_that_stays_busy_is_said_to_be_so_and_nothing_is_written(objects: str, s3: S3) -> None:
    files = studio(objects)
    digest = files.write("a.md", b"x", expect=None)
    s3.fail(1000)
    for call in (
        lambda: files.read("a.md"),
        files.list,
        lambda: files.stamps(["a.md"]),
        lambda: files.part("a.md", 0, 1),
        lambda: files.write("a.md", b"y", expect=digest),
        lambda: files.append("a.md", b"y\n"),
        lambda: files.remove("a.md", expect=digest),
    ):
        with pytest.raises(ObjectsUnavailable) as caught:
            call()
        assert (caught.value.code, caught.value.reason) == ("objects_unavailable", "busy")
        assert "again" in caught.value.hint
        assert "127.0.0.1" not in caught.value.message + caught.value.hint
    s3.mend()
    assert content(files, "a.md") == b"x"


@pytest.mark.usefixtures("impatient")
def test_a_change_whose_answer_was_lost_is_made_once(objects: str, s3: S3) -> None:
    files = studio(objects)
    for number in range(4):
        s3.fail(1, method="PUT", status="500 Internal Server Error", done=True)
        assert files.append("log", f"{number}\n".encode()) == 2 * number + 2
    assert content(studio(objects), "log") == b"0\n1\n2\n3\n"
    s3.fail(1, method="PUT", status="500 Internal Server Error", done=True)
    digest = files.write("a.md", b"one", expect=None)
    s3.fail(1, method="PUT", status="500 Internal Server Error", done=True)
    digest = files.write("a.md", b"two", expect=digest)
    s3.fail(1, method="PUT", status="500 Internal Server Error", done=True)
    files.remove("a.md", expect=digest)
    assert content(files, "a.md") is None


@pytest.mark.usefixtures("impatient")
def test_a_change_of_which_nobody_can_tell_is_said_to_be_one(objects: str, s3: S3) -> None:
    files = studio(objects)
    digest = files.write("a.md", b"one", expect=None)
    s3.fail(1000, method="PUT", status="500 Internal Server Error", done=True)
    with pytest.raises(ObjectsUnavailable) as caught:
        files.append("b.md", b"x\n")
    assert caught.value.reason == "unknown"
    s3.mend()
    assert content(files, "b.md") == b"x\n"
    assert files.read("a.md").digest == digest


@pytest.mark.usefixtures("impatient")
def test_half_an_answer_is_never_taken_for_the_whole(objects: str, s3: S3) -> None:
    files = studio(objects)
    files.write("a.md", b"0123456789" * 100, expect=None)
    for line in (b"1\n", b"2\n", b"3\n"):
        files.append("log", line)
    for times in (1, 2):
        s3.truncate(times)
        assert content(files, "a.md") == b"0123456789" * 100
        s3.truncate(times)
        assert content(studio(objects), "log") == b"1\n2\n3\n"
        s3.truncate(times)
        assert [entry.size for entry in files.list()] == [1000, 6]
    s3.truncate(1000)
    with pytest.raises(ObjectsUnavailable):
        files.read("a.md")


def test_a_stale_etag_overwrites_nothing(objects: str) -> None:
    files, other = studio(objects), studio(objects)
    first = files.write("a.md", b"one", expect=None)
    whole = files._reading.whole("a.md", 100)
    second = other.write("a.md", b"two", expect=first)
    assert not files._bucket.swap(whole.shape.head, b"three")
    with pytest.raises(Stale) as caught:
        files.write("a.md", b"three", expect=first)
    assert (caught.value.found, content(files, "a.md")) == (second, b"two")


@pytest.mark.usefixtures("impatient", "s3")
def test_a_bucket_that_is_not_there_is_no_empty_workspace() -> None:
    files = studio("s3://no-such-bucket/x")
    for call in (
        lambda: files.read("a.md"),
        files.list,
        lambda: files.write("a.md", b"", expect=None),
    ):
        with pytest.raises(ObjectsUnavailable) as caught:
            call()
        assert caught.value.reason == "missing"


def test_keys_and_endpoint_are_those_that_were_given_and_what_other_tools_read_is_passed_over(
    s3_server: S3,
) -> None:
    variables = {
        "AWS_ENDPOINT_URL": s3_server.endpoint,
        "AWS_ACCESS_KEY_ID": "tests",
        "AWS_SECRET_ACCESS_KEY": "tests",
        "AWS_REGION": "us-east-1",
        "AWS_PAGER": "less",
        "AWS_ALLOW_HTTP": "true",
        "AWS_PROXY_URL": "http://127.0.0.1:9",
        "GOOGLE_CLOUD_PROJECT": "another",
    }
    access = {name: Key(value) for name, value in variables.items()}
    files = ObjectFiles(f"s3://{BUCKET}/given", "acme", "studio", access=access)
    files.write("a.md", b"x", expect=None)
    assert content(files, "a.md") == b"x"


@pytest.mark.usefixtures("impatient", "s3")
def test_a_store_that_is_down_changed_nothing_for_sure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    files = studio("s3://bucket")
    with pytest.raises(ObjectsUnavailable) as caught:
        files._bucket.create("x", b"")
    assert caught.value.reason == "down"
    with pytest.raises(CarrelError):
        files.read("a.md")
