"""Who is let in: the door, the keys, the gate before every route and the guard before that, each by itself."""

import asyncio
import json
from collections.abc import Iterable, Sequence
from contextlib import closing
from datetime import timedelta
from typing import Any

import pytest
from tests.unit.http.served import NOW, TOKEN

from carrel.http import gate as gates
from carrel.http.access import Access, Door
from carrel.http.errors import Beyond, NeedsKey, TooSlow
from carrel.http.gate import Gate, Rate
from carrel.http.guard import LOOPBACK, Guard, Limits
from carrel.records.keys import Key, UnknownKey, matches, mint, parted
from carrel.records.sqlite import SqliteRecords
from carrel.workspace.scope import HiddenByScope, Scope, UnknownScope

Header = tuple[bytes, bytes]


class Cupboard:
    """Keys of one workspace, by their id."""

    def __init__(self, *keys: Key) -> None:
        self.keys = {key.id: key for key in keys}

    def find_key(self, key: str) -> tuple[str, Key] | None:
        return ("desk", self.keys[key]) if key in self.keys else None


def made(right: str = "read", scope: str = "shared", expires: timedelta | None = None) -> tuple[Key, str]:
    until = None if expires is None else NOW + expires
    return mint(name="ci", right=right, scope=scope, now=NOW, expires=until)  # type: ignore[arg-type]


def door(*keys: Key, now: timedelta = timedelta()) -> Door:
    return Door(TOKEN, Cupboard(*keys), lambda: NOW + now)


def test_a_key_is_shown_once_and_opens_until_it_expires_or_is_revoked() -> None:
    key, text = made(expires=timedelta(minutes=5))
    assert text == f"carrel_{key.id}_{text.split('_', 2)[2]}"
    assert (key.name, key.right, key.scope, key.created) == ("ci", "read", "shared", NOW)
    assert parted(text) == (key.id, text.split("_", 2)[2])
    assert matches(key, text.split("_", 2)[2])
    assert not matches(key, text)
    assert not matches(key, "\ud800")
    assert key.opens(NOW + timedelta(minutes=4, seconds=59))
    assert not key.opens(NOW + timedelta(minutes=5))
    assert not Key(**{**_fields(key), "revoked": NOW}).opens(NOW)
    assert Key(**{**_fields(key), "expires": None}).opens(NOW + timedelta(days=9_999))


def _fields(key: Key) -> dict[str, Any]:
    return {name: getattr(key, name) for name in key.__struct_fields__}


@pytest.mark.parametrize("text", ["", "carrel", "carrel_", "carrel__x", "carrel_1_", "carrel_1", "other_1_2"])
def test_what_is_no_key_is_not_taken_apart(text: str) -> None:
    assert parted(text) is None


def test_a_secret_may_hold_the_mark_that_parts_a_key() -> None:
    assert parted("carrel_1_a_b") == ("1", "a_b")


def test_the_token_makes_an_owner_and_nothing_else_does() -> None:
    owner = door().owner(TOKEN)
    assert owner is not None
    assert (owner.right, owner.scope, owner.workspace, owner.csrf) == ("admin", Scope.MAIN, None, "")
    for wrong in ("", TOKEN[:-1], TOKEN + "x", "\ud800"):
        assert door().owner(wrong) is None
    assert Door("", Cupboard(), lambda: NOW).owner("") is None


def test_a_browser_shows_a_cookie_that_is_not_the_token_and_must_say_a_word_that_is_not_the_cookie() -> None:
    cookie = door().cookie()
    seen = door().browser(cookie)
    assert seen is not None
    assert (seen.right, seen.scope) == ("admin", Scope.MAIN)
    assert len({cookie, seen.csrf, TOKEN}) == 3
    assert len(seen.csrf) == 64
    for wrong in ("", cookie[:-1], TOKEN, seen.csrf, "\ud800"):
        assert door().browser(wrong) is None
    assert Door(f"{TOKEN}x", Cupboard(), lambda: NOW).browser(cookie) is None


def test_who_holds_a_key_may_what_it_says_where_it_was_found() -> None:
    key, text = made("write", "main")
    access = door(key).holder(text)
    assert access == Access(name=f"key:{key.id}", right="write", scope=Scope.MAIN, workspace="desk")


def test_a_key_that_is_wrong_unknown_or_over_opens_nothing() -> None:
    key, text = made(expires=timedelta(minutes=1))
    other = made()[1].split("_", 2)[2]
    for wrong in (f"carrel_{key.id}_{other}", f"carrel_nobody_{other}", "nonsense", ""):
        with pytest.raises(NeedsKey):
            door(key).holder(wrong)
    with pytest.raises(NeedsKey):
        door(key, now=timedelta(minutes=1)).holder(text)
    assert door(key).holder(text)


def test_who_listens_for_long_is_asked_again_whether_they_may() -> None:
    key, text = made(expires=timedelta(minutes=1))
    access = door(key).holder(text)
    assert door(key).still_opens(access)
    assert not door(key, now=timedelta(minutes=1)).still_opens(access)
    assert not door().still_opens(access)
    owner = door().owner(TOKEN)
    assert owner is not None
    assert door().still_opens(owner)


RIGHTS = ("read", "write", "admin")


@pytest.mark.parametrize("held", RIGHTS)
@pytest.mark.parametrize("asked", RIGHTS)
def test_a_right_holds_those_before_it_and_no_other(held: Any, asked: Any) -> None:
    access = Access(name="x", right=held, scope=Scope.MAIN)
    if RIGHTS.index(held) >= RIGHTS.index(asked):
        access.require(asked, owner=True)
    else:
        with pytest.raises(Beyond):
            access.require(asked, owner=False)


def test_shared_ears_hear_nothing_that_is_the_owners() -> None:
    shared = Access(name="x", right="admin", scope=Scope.SHARED)
    shared.require("admin", owner=False)
    with pytest.raises(HiddenByScope):
        shared.require("read", owner=True)
    assert shared.listening(None) is Scope.SHARED
    assert shared.listening("shared") is Scope.SHARED
    with pytest.raises(HiddenByScope):
        shared.listening("main")
    main = Access(name="x", right="read", scope=Scope.MAIN)
    assert [main.listening(asked) for asked in (None, "main", "shared")] == ["main", "main", "shared"]
    with pytest.raises(UnknownScope):
        main.listening("everybody")


def test_so_many_come_in_at_once_and_then_so_many_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(gates, "monotonic", lambda: now)
    rate = Rate(2.0, 3)
    assert [rate.take("ana") for _ in range(5)] == [True, True, True, False, False]
    assert rate.take("bo")  # whom nobody has kept waiting
    now += 0.4
    assert not rate.take("ana")
    now += 0.5
    assert [rate.take("ana") for _ in range(2)] == [True, False]
    now += 1_000
    assert [rate.take("ana") for _ in range(4)] == [True, True, True, False]


def test_no_crowd_of_strangers_fills_the_memory_of_who_has_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gates, "monotonic", lambda: 0.0)
    rate = Rate(0.0, 1)
    assert rate.take("ana")
    assert rate.take("bo")
    assert not rate.take("ana")  # and so was seen last
    for number in range(4_095):
        rate.take(str(number))
    assert not rate.take("ana")
    assert rate.take("bo")  # who was forgotten
    assert len(rate._left) == 4_096


class Inside:
    """The app behind gate or guard: it notes who came in and what they brought."""

    def __init__(self) -> None:
        self.seen: list[Any] = []
        self.body = b""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.seen.append(scope.get("state", {}).get("access"))
        if scope["type"] == "http":
            more = scope["method"] == "POST"
            while more:
                message = await receive()
                self.body += message.get("body", b"")
                more = message.get("more_body", False)
            await send(
                {"type": "http.response.start", "status": 200, "headers": [(b"x-frame-options", b"SAME")]}
            )
            await send({"type": "http.response.body", "body": b"in"})


def ask(
    app: Any,
    headers: Iterable[Header] = (),
    *,
    path: str = "/api/v1/x",
    method: str = "GET",
    body: Sequence[bytes] = (),
    **more: Any,
) -> tuple[int, dict[bytes, bytes], bytes]:
    """Ask an ASGI app, and return the status, the headers and the body of its answer."""
    sent: list[dict[str, Any]] = []
    parts = [{"type": "http.request", "body": each, "more_body": True} for each in body]
    parts.append({"type": "http.request", "body": b"", "more_body": False})

    async def receive() -> Any:
        return parts.pop(0)

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"type": "http", "method": method, "path": path, "headers": list(headers), **more}
    asyncio.run(app(scope, receive, send))
    return sent[0]["status"], dict(sent[0]["headers"]), b"".join(each.get("body", b"") for each in sent[1:])


def code(answer: tuple[int, dict[bytes, bytes], bytes]) -> tuple[int, str]:
    return answer[0], json.loads(answer[2])["code"]


def gate(*keys: Key, requests: Rate | None = None, guesses: Rate | None = None) -> tuple[Gate, Inside]:
    inside = Inside()
    free = Rate(0.0, 1_000)
    return Gate(inside, door=door(*keys), requests=requests or free, guesses=guesses or free), inside


def bearer(text: str, kind: str = "Bearer") -> list[Header]:
    return [(b"authorization", f"{kind} {text}".encode())]


def cookie(*values: str) -> list[Header]:
    return [(b"cookie", value.encode()) for value in values]


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/login", "/static/page.css"])
def test_what_is_open_is_passed_on_unasked_and_nothing_else_is(path: str) -> None:
    outer, inside = gate()
    assert ask(outer, path=path)[0] == 200
    assert inside.seen == [None]
    assert code(ask(outer, path="/metrics")) == (401, "needs_key")
    assert inside.seen == [None]


def test_the_owner_and_who_holds_a_key_are_handed_on_as_such() -> None:
    key, text = made("write")
    outer, inside = gate(key)
    for kind in ("Bearer", "bearer", "BEARER"):
        assert ask(outer, bearer(TOKEN, kind))[0] == 200
    assert ask(outer, bearer(f" {text} "))[0] == 200
    assert [each.name for each in inside.seen][-1] == f"key:{key.id}"
    assert {each.right for each in inside.seen[:3]} == {"admin"}


def test_other_kinds_of_authorisation_and_two_of_them_open_nothing() -> None:
    outer, inside = gate()
    given = [bearer(TOKEN, "Basic"), bearer(TOKEN) + bearer(TOKEN), bearer("x") + bearer(TOKEN), bearer("")]
    for headers in given:
        assert code(ask(outer, headers)) == (401, "needs_key")
    assert inside.seen == []


def test_who_shows_a_wrong_key_is_not_let_in_by_a_cookie() -> None:
    outer, _ = gate()
    assert code(ask(outer, bearer("x") + cookie(f"carrel={door().cookie()}"))) == (401, "needs_key")


@pytest.mark.parametrize(
    "form", ["carrel={}", "a=b; carrel={}", 'carrel="{}"', "carrel=bad; carrel = {} ; x"]
)
def test_a_browser_looks_by_its_cookie_alone_and_changes_by_the_word_of_our_pages(form: str) -> None:
    outer, inside = gate()
    seen = door().browser(door().cookie())
    assert seen is not None
    headers = cookie(form.format(door().cookie()))
    for method in ("GET", "HEAD", "OPTIONS"):
        assert ask(outer, headers, method=method)[0] == 200
    for method in ("POST", "PUT", "DELETE", "PATCH"):
        assert code(ask(outer, headers, method=method)) == (403, "needs_csrf")
        assert code(ask(outer, [*headers, (b"x-csrf-token", b"0" * 64)], method=method)) == (
            403,
            "needs_csrf",
        )
    assert len(inside.seen) == 3
    assert ask(outer, [*headers, (b"x-csrf-token", seen.csrf.encode())], method="PUT")[0] == 200


def test_a_cookie_of_another_name_is_none_of_ours() -> None:
    outer, _ = gate()
    assert code(ask(outer, cookie(f"carrels={door().cookie()}", f"x{door().cookie()}"))) == (401, "needs_key")
    assert ask(outer, cookie("a=b", f"carrel={door().cookie()}"))[0] == 200


def test_guesses_of_one_address_are_few_and_those_of_another_are_its_own() -> None:
    outer, _ = gate(guesses=Rate(0.0, 2))
    here, there = {"client": ("10.0.0.1", 1)}, {"client": ("10.0.0.2", 1)}
    answers = [ask(outer, bearer("x"), **here)[0] for _ in range(3)]
    assert answers == [401, 401, 429]
    assert ask(outer, bearer("x"), **there)[0] == 401
    assert ask(outer, bearer(TOKEN), **here)[0] == 200
    assert ask(outer, path="/login", **here)[0] == 429
    assert ask(outer, path="/login", **there)[0] == 200
    assert ask(outer, path="/healthz", **here)[0] == 200


def test_who_asks_too_much_is_told_so_whoever_they_are() -> None:
    outer, inside = gate(requests=Rate(0.0, 2))
    assert [ask(outer, bearer(TOKEN))[0] for _ in range(3)] == [200, 200, 429]
    assert len(inside.seen) == 2


def test_a_person_gets_a_page_and_a_program_a_document() -> None:
    outer, _ = gate()
    assert ask(outer)[1][b"content-type"].startswith(b"application/")
    assert ask(outer, [(b"accept", b"text/html,*/*")])[1][b"content-type"].startswith(b"text/html")


def guard(**limits: Any) -> tuple[Guard, Inside]:
    inside = Inside()
    return Guard(
        inside, hosts=(*LOOPBACK, "Desk.example"), limits=Limits(**limits) if limits else None
    ), inside


HOST = (b"host", b"127.0.0.1:8000")


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "localhost:8000", "[::1]:8000", "[::1]", "DESK.example:1", " localhost "]
)
def test_a_server_is_known_by_its_own_names(host: str) -> None:
    assert ask(guard()[0], [(b"host", host.encode())])[0] == 200


@pytest.mark.parametrize(
    "host", ["", "evil.example", "::1", "127.0.0.1:1:2", "[::2]", "localhost.evil.example"]
)
def test_another_name_is_refused_and_so_are_two(host: str) -> None:
    outer, inside = guard()
    assert code(ask(outer, [(b"host", host.encode())])) == (403, "wrong_host")
    assert code(ask(outer, [HOST, HOST])) == (403, "wrong_host")
    assert code(ask(outer, [HOST, (b"content-length", b"1"), (b"content-length", b"2")])) == (
        403,
        "wrong_host",
    )
    assert ask(outer, [HOST, (b"accept", b"a"), (b"accept", b"b")])[0] == 200
    assert len(inside.seen) == 1


@pytest.mark.parametrize(
    ("origin", "is_own"),
    [
        ("http://127.0.0.1:8000", True),
        ("https://127.0.0.1:8000", True),
        ("http://127.0.0.1:8001", False),
        ("http://127.0.0.1", False),
        ("ftp://127.0.0.1:8000", False),
        ("http://127.0.0.1:8000/", False),
        ("http://evil.example", False),
        ("null", False),
        ("", False),
        ("http://[", False),
    ],
)
def test_only_a_page_of_this_server_may_send_a_request(origin: str, *, is_own: bool) -> None:
    answer = ask(guard()[0], [HOST, (b"origin", origin.encode())], scheme="http")
    assert answer[0] == 200 if is_own else code(answer) == (403, "wrong_origin")


def test_a_page_over_a_safe_line_is_asked_over_a_safe_line() -> None:
    given = [HOST, (b"origin", b"http://127.0.0.1:8000")]
    assert code(ask(guard()[0], given, scheme="https")) == (403, "wrong_origin")
    assert ask(guard()[0], given)[0] == 200


@pytest.mark.parametrize(
    ("packed", "status"), [(b"", 200), (b" Identity ", 200), (b"gzip", 415), (b"br", 415)]
)
def test_a_body_comes_as_it_is_or_not_at_all(packed: bytes, status: int) -> None:
    assert ask(guard()[0], [HOST, (b"content-encoding", packed)])[0] == status


@pytest.mark.parametrize(
    ("method", "path", "most"),
    [
        ("POST", "/api/v1/w/x/context", 10),
        ("PUT", "/api/v1/w/x/files/a.md", 20),
        ("POST", "/api/v1/w/x/files/a.md", 10),
        ("PUT", "/api/v1/w/x/sections", 10),
    ],
)
def test_a_body_has_a_size_that_is_minded_before_it_comes_and_while_it_does(
    method: str, path: str, most: int
) -> None:
    def sized(length: bytes) -> int:
        outer = guard(body_bytes=10, file_bytes=20)[0]
        return ask(outer, [HOST, (b"content-length", length)], method=method, path=path)[0]

    assert sized(str(most).encode()) == 200
    assert sized(str(most + 1).encode()) == 413
    assert [sized(wrong) for wrong in (b"-1", b"x", b"", b"9" * 5_000)] == [413] * 4


def test_a_body_is_handed_on_up_to_the_limit_and_breaks_off_beyond() -> None:
    outer, inside = guard(body_bytes=10)
    assert ask(outer, [HOST], method="POST", body=[b"12345", b"67890"])[0] == 200
    assert inside.body == b"1234567890"
    with pytest.raises(Exception, match="10"):
        ask(guard(body_bytes=10)[0], [HOST], method="POST", body=[b"12345", b"678901"])


def test_what_an_app_says_of_itself_is_not_said_twice() -> None:
    headers = ask(guard()[0], [HOST])[1]
    assert headers[b"x-frame-options"] == b"SAME"
    assert headers[b"cache-control"] == b"no-store"
    refused = ask(guard()[0], [(b"host", b"evil.example")])[1]
    assert refused[b"x-frame-options"] == b"DENY"


def test_there_is_no_socket_behind_the_guard() -> None:
    outer, inside = guard()
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    asyncio.run(outer({"type": "websocket", "headers": []}, send, send))
    assert sent == [{"type": "websocket.close", "code": 1008}]
    assert inside.seen == []


def test_a_body_that_does_not_come_in_time_is_not_waited_for() -> None:
    async def never() -> Any:
        await asyncio.Event().wait()

    async def nobody(_: Any) -> None: ...

    scope = {"type": "http", "method": "POST", "path": "/", "headers": [HOST]}
    with pytest.raises(TooSlow):
        asyncio.run(guard(body_seconds=0.01)[0](scope, never, nobody))


def test_only_a_key_that_there_is_can_be_revoked() -> None:
    key, _ = made()
    with closing(SqliteRecords()) as records:
        records.keys.add(key)
        assert records.keys.get(key.id) == key
        assert records.keys.get("nobody") is None
        assert records.keys.revoke(key.id, at=NOW).revoked == NOW
        assert records.keys.revoke(key.id, at=NOW + timedelta(days=1)).revoked == NOW
        with pytest.raises(UnknownKey):
            records.keys.revoke("nobody", at=NOW)


def test_a_start_and_an_end_of_the_server_pass_every_guard() -> None:
    for outer, inside in (guard(), gate()):

        async def nothing(*_: Any) -> Any: ...

        asyncio.run(outer({"type": "lifespan"}, nothing, nothing))
        assert inside.seen == [None]


def test_a_whole_body_is_followed_by_the_end_of_the_connection_however_late() -> None:
    heard: list[str] = []

    async def app(_scope: Any, receive: Any, _send: Any) -> None:
        heard.extend([(await receive())["type"] for _ in range(2)])

    async def receive() -> Any:
        if heard_all.pop():
            return {"type": "http.request", "body": b"x"}
        await asyncio.sleep(0.2)
        return {"type": "http.disconnect"}

    heard_all = [False, True]
    outer = Guard(app, hosts=("h",), limits=Limits(body_seconds=0.05))
    scope = {"type": "http", "method": "POST", "path": "/", "headers": [(b"host", b"h")]}
    asyncio.run(outer(scope, receive, receive))
    assert heard == ["http.request", "http.disconnect"]
