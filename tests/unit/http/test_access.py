"""Who may do what: each endpoint held to a table written by hand, and keys from birth to revocation."""

import typing
from datetime import timedelta
from pathlib import Path

import pytest
from starlette.testclient import TestClient
from tests.unit.http.served import NOW, TOKEN, Place, serving

from carrel import Workspace
from carrel.clock import FixedClock
from carrel.http.app import build
from carrel.http.desk import Needs
from carrel.http.routes import all_routes
from carrel.http.routing import Declared
from carrel.http.served import Served
from carrel.records.keys import mint
from carrel.runtime.view import NoSuchPath

ANYBODY = ("list_workspaces",)
"""What needs a key, and no workspace."""

READ_SHARED = [
    "assemble_context",
    "report_context",
    "compare_contexts",
    "search",
    "tree",
    "read_file",
    "preview_file",
    "list_agents",
    "self_report",
    "list_skills",
    "show_skill",
    "lint_skills",
    "list_knowledge",
    "list_tools",
    "show_health",
    "list_sections",
    "read_section",
    "list_entries",
]
READ_OWNER = [
    "explain_file",
    "index_status",
    "show_config",
    "show_usage",
    "list_jobs",
    "follow_events",
    "list_facts",
    "show_fact",
    "show_memory_status",
    "list_proposals",
    "show_proposal",
    "list_changes",
    "show_change",
    "list_namespaces",
    "export_namespace",
    "list_dreams",
    "list_candidates",
    "show_dream_status",
    "list_sessions",
    "show_session",
    "forecast_session",
    "export_session",
]
WRITE_SHARED = ["prepare_context", "call_tool", "record_messages", "chat"]
WRITE_OWNER = [
    "write_file",
    "remove_file",
    "move_file",
    "replace_section",
    "append_to_section",
    "rearrange_section",
    "add_fact",
    "pin_fact",
    "unpin_fact",
    "extract_facts",
    "consolidate_memory",
    "note_in_journal",
    "run_dream",
    "describe_session",
    "compact_session",
    "fork_session",
    "remove_session",
]
ADMIN = [
    "sync_index",
    "rebuild_index",
    "retry_job",
    "sweep_jobs",
    "list_audit",
    "list_keys",
    "create_key",
    "revoke_key",
    "approve_proposal",
    "reject_proposal",
    "decide_proposals",
    "undo_change",
    "undo_last_changes",
    "change_namespace",
    "revert_dream",
    "forget",
]

TABLE = {
    **dict.fromkeys(READ_SHARED, ("read", False)),
    **dict.fromkeys(READ_OWNER, ("read", True)),
    **dict.fromkeys(WRITE_SHARED, ("write", False)),
    **dict.fromkeys(WRITE_OWNER, ("write", True)),
    **dict.fromkeys(ADMIN, ("admin", True)),
}
DECLARED: dict[str, Declared] = {
    name: each for routes in all_routes() for name, each in routes.declared.items()
}
RIGHTS = ("read", "write", "admin")
HOLDERS = [(right, scope) for right in RIGHTS for scope in ("main", "shared")]


def needs_of(declared: Declared) -> tuple[str, bool] | None:
    hints = typing.get_type_hints(declared.function, include_extras=True).values()
    marks = (mark for hint in hints for mark in getattr(hint, "__metadata__", ()))
    found = [mark.dependency for mark in marks if isinstance(getattr(mark, "dependency", None), Needs)]
    return (found[0].right, found[0].owner) if found else None


def address(declared: Declared) -> str:
    path = declared.path.replace("/w/{workspace}", "").replace("{path:path}", "AGENTS.md")
    for name in ("number", "run"):
        path = path.replace(f"{{{name}}}", "1")
    for name in ("name", "key", "fact", "session"):
        path = path.replace(f"{{{name}}}", "nothing")
    return f"{path}?q=x&section=x" + ("&file=AGENTS.md" if "section" in path else "")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> typing.Iterator[Place]:
    with serving(tmp_path_factory.mktemp("access")) as place:
        yield place


def test_every_endpoint_is_in_the_table_and_asks_for_what_the_table_says() -> None:
    assert {name: needs_of(each) for name, each in DECLARED.items() if name not in ANYBODY} == TABLE


def test_nothing_else_is_served_but_what_is_open_to_all_or_needs_a_key(place: Place) -> None:
    app = place.client.app._app._app._app._app  # type: ignore[attr-defined] - guard, measure, gate, then FastAPI
    known = {f"/api/v1{each.path}" for each in DECLARED.values()}
    described = set(app.openapi()["paths"])
    assert described == {path.replace(":path}", "}") for path in known}
    for path in ("/metrics", "/openapi.json", "/docs", "/redoc", "/nothing", "/api/v1/workspaces"):
        assert place.client.get(path).status_code == 401
    for path in ("/healthz", "/readyz"):
        answer = place.client.get(path)
        assert (answer.status_code, set(answer.json())) == (200, {"schema_version", "status"})


@pytest.mark.parametrize("name", TABLE)
def test_each_endpoint_refuses_who_may_not_and_nobody_else(place: Place, name: str) -> None:
    declared = DECLARED[name]
    right, owner = TABLE[name]
    for held, scope in HOLDERS:
        may = RIGHTS.index(held) >= RIGHTS.index(right) and (scope == "main" or not owner)
        if may and name in ("follow_events", "chat", "sweep_jobs", "rebuild_index", "remove_file", "forget"):
            continue  # which would do it; their own tests do
        key = place.key(held, scope)
        answer = place.ask(declared.method, address(declared), {} if declared.takes else None, key=key)
        code = answer.json()["code"] if answer.status_code == 403 else ""
        refused = code in ("beyond_key", "hidden_by_scope")
        assert refused is not may or (may and code == "hidden_by_scope"), (held, scope, answer.text)
    assert place.ask(declared.method, address(declared), key="").status_code == 401


@pytest.mark.parametrize("name", [name for name, (_, owner) in TABLE.items() if not owner])
def test_a_key_for_shared_ears_cannot_ask_as_the_owner(place: Place, name: str) -> None:
    declared = DECLARED[name]
    asked = f"{address(declared)}&scope=main"
    answer = place.ask(declared.method, asked, {} if declared.takes else None, key=place.key("admin"))
    assert (answer.status_code, answer.json()["code"]) == (403, "hidden_by_scope")


def test_a_revoked_key_is_refused_at_the_next_request(place: Place) -> None:
    made = place.told("POST", "/keys", {"name": "ci", "right": "read"})
    assert place.told("GET", "/tree", key=made["key"])["items"]
    place.told("DELETE", f"/keys/{made['id']}")
    assert place.refused("GET", "/tree", key=made["key"]) == (401, "needs_key")
    listed = {each["id"]: each for each in place.told("GET", "/keys")["items"]}
    assert listed[made["id"]]["revoked"]
    assert listed[made["id"]]["key"] is None


def test_a_key_revoked_by_another_process_is_refused_at_the_next_request(place: Place) -> None:
    key = place.key("read")
    assert place.told("GET", "/tree", key=key)["items"]
    other = place.served._open(place.root, None)
    with other:
        other.records.keys.revoke(key.split("_")[1], at=NOW)
    assert place.refused("GET", "/tree", key=key) == (401, "needs_key")


def test_an_expired_key_opens_nothing(place: Place) -> None:
    key, text = mint(name="old", right="admin", scope="main", now=NOW, expires=NOW)
    place.workspace.records.keys.add(key)
    assert place.refused("GET", "/tree", key=text) == (401, "needs_key")
    key, text = mint(name="new", right="read", scope="main", now=NOW, expires=NOW + timedelta(days=1))
    place.workspace.records.keys.add(key)
    assert place.told("GET", "/tree", key=text)["items"]


def test_what_is_kept_of_a_key_does_not_open_and_is_not_told(place: Place) -> None:
    made = place.told("POST", "/keys", {"name": "ci"})
    (kept,) = [key for key in place.workspace.records.keys.all() if key.id == made["id"]]
    secret = made["key"].split("_", 2)[2]
    assert len(secret) >= 43  # 256 bits
    assert secret not in repr(kept)
    assert kept.digest not in place.ask("GET", "/keys").text
    assert place.refused("GET", "/tree", key=f"carrel_{kept.id}_{kept.digest}") == (401, "needs_key")


@pytest.mark.parametrize(
    "key",
    [
        "",
        "x",
        TOKEN[:-1],
        TOKEN + "x",
        "carrel__",
        "carrel_1_",
        "carrel_1_2",
        "_1_2",
        "é" * 43,
        "carrel_" * 99,
    ],
)
def test_what_is_no_key_opens_nothing(place: Place, key: str) -> None:
    headers = {"Authorization": b"Bearer " + key.encode()}
    assert place.client.get("/api/v1/w/default/tree", headers=headers).status_code == 401


@pytest.mark.parametrize("header", ["Basic dDp0", "bearer", "Bearer", f"Token {TOKEN}", TOKEN])
def test_another_kind_of_authorisation_opens_nothing(place: Place, header: str) -> None:
    answer = place.client.get("/api/v1/w/default/tree", headers={"Authorization": header})
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"] == "Bearer"


def test_a_key_of_one_workspace_neither_opens_another_nor_tells_that_there_is_one(tmp_path: Path) -> None:
    environ = {"CARREL_HOME": str(tmp_path / "home")}
    for name in ("one", "two"):
        Workspace.init(tmp_path / name, environ=environ)
    served = Served(
        [tmp_path / "one", tmp_path / "two"],
        open=lambda path, agent: Workspace.open(path, agent=agent, team=agent is None, environ=environ),
    )
    key, text = mint(name="k", right="admin", scope="main", now=NOW, expires=None)
    with (
        served,
        TestClient(build(served, token=TOKEN, clock=FixedClock(NOW), hosts=("testserver",))) as client,
    ):
        served.workspace("two").records.keys.add(key)
        client.headers["Authorization"] = f"Bearer {text}"
        assert client.get("/api/v1/w/two/tree").status_code == 200
        refused = {name: client.get(f"/api/v1/w/{name}/tree") for name in ("one", "default", "three")}
        assert {each.status_code for each in refused.values()} == {404}
        assert len({each.text.replace(f"'{name}'", "") for name, each in refused.items()}) == 1
        assert [each["name"] for each in client.get("/api/v1/workspaces").json()["items"]] == ["two"]
        assert refused["three"].json()["code"] == "unknown_workspace"


def test_guesses_are_slowed_down_and_a_good_key_is_not(tmp_path: Path) -> None:
    with serving(tmp_path, guesses=(0.0, 5)) as place:
        answers = [place.client.get("/api/v1/workspaces").status_code for _ in range(8)]
        assert answers == [401] * 5 + [429] * 3
        assert place.told("GET", "/tree")["items"]


def test_a_browser_is_let_in_by_the_link_and_its_changes_need_the_word_of_our_own_pages(place: Place) -> None:
    assert place.client.get("/login?token=wrong", follow_redirects=False).status_code == 401
    answer = place.client.get(f"/login?token={TOKEN}", follow_redirects=False)
    cookie = answer.headers["set-cookie"]
    assert answer.status_code == 303
    assert "HttpOnly" in cookie
    assert "samesite=strict" in cookie.lower()
    assert TOKEN not in cookie
    (shown,) = place.client.get("/api/v1/workspaces").json()["items"]
    path, body = "/api/v1/w/default/files/a.md", b"hello"
    assert place.client.put(path, content=body).json()["code"] == "needs_csrf"
    assert place.client.put(path, content=body, headers={"X-CSRF-Token": "0" * 64}).status_code == 403
    assert place.client.put(path, content=body, headers={"X-CSRF-Token": shown["csrf"]}).status_code == 200
    place.client.cookies.clear()
    place.client.cookies.set("carrel", "0" * 64)
    assert place.client.get("/api/v1/workspaces").status_code == 401
    place.client.cookies.clear()


def test_a_file_put_over_http_is_a_change_of_its_key_that_can_be_undone(place: Place) -> None:
    key = place.key("write", "main")
    place.told("PUT", "/files/plan.md", b"one\n", key=key)
    put = place.told("PUT", "/files/plan.md", b"two\n", key=key)
    change = place.told("GET", f"/changes/{put['change']}")
    assert change["actor"] == f"key:{key.split('_')[1]}"
    assert "-one" in change["diff"]
    assert "+two" in change["diff"]
    event = place.workspace.records.audit.events(limit=1)[0]
    assert (event.action, event.target, event.detail["change"]) == ("file.put", "plan.md", put["change"])
    place.told("POST", f"/changes/{put['change']}:undo")
    assert (place.root / "plan.md").read_bytes() == b"one\n"


def test_the_link_is_guessed_no_faster_than_a_key(tmp_path: Path) -> None:
    with serving(tmp_path, guesses=(0.0, 5)) as place:
        answers = [place.client.get(f"/login?token={number}").status_code for number in range(8)]
        assert answers == [401] * 5 + [429] * 3


@pytest.mark.parametrize(
    "cookies", ["carrel=bad; {}", "{}; carrel=bad", "odd=a=b; q@; {}", "x=[]{{}}; {}", '{}; "', "a=;;{};;"]
)
def test_cookies_of_others_on_this_machine_lock_no_browser_out(place: Place, cookies: str) -> None:
    good = place.client.get(f"/login?token={TOKEN}", follow_redirects=False).cookies["carrel"]
    place.client.cookies.clear()
    answer = place.client.get("/api/v1/workspaces", headers={"Cookie": cookies.format(f"carrel={good}")})
    assert answer.status_code == 200
    place.client.cookies.clear()


def test_made_up_methods_are_counted_as_one(place: Place) -> None:
    for number in range(50):
        place.client.request(f"M{number}", "/healthz")
    told = place.client.get("/metrics", headers={"Authorization": f"Bearer {TOKEN}"}).text
    assert 'method="other"' in told
    assert 'method="M' not in told


def test_a_workspace_that_cannot_be_opened_locks_nobody_out_of_another(tmp_path: Path) -> None:
    with serving(tmp_path) as place:
        opened = place.served._open

        def fails(path: Path, agent: str | None) -> Workspace:
            if path.name == "gone":
                raise NoSuchPath("gone/secret-name")
            return opened(path, agent)

        both = Served([tmp_path / "gone", place.root], open=fails)
        app = build(both, token=TOKEN, clock=FixedClock(NOW), hosts=("testserver",))
        with both, TestClient(app) as client:
            asked = {"Authorization": f"Bearer {place.key('read')}"}
            assert client.get("/api/v1/w/desk/tree", headers=asked).status_code == 200
            stranger = client.get("/api/v1/w/desk/tree", headers={"Authorization": "Bearer carrel_1_2"})
            assert (stranger.status_code, stranger.json()["code"]) == (503, "keys_unread")
            assert stranger.headers["retry-after"] == "1"
            assert "secret-name" not in stranger.text


def test_a_key_is_looked_for_first_where_it_was_found_before(tmp_path: Path) -> None:
    with serving(tmp_path) as place:
        opened, asked = place.served._open, []

        def noting(path: Path, agent: str | None) -> Workspace:
            asked.append(path.name)
            if path.name == "gone":
                raise NoSuchPath("gone")
            return opened(path, agent)

        app = build(
            both := Served([tmp_path / "gone", place.root], open=noting),
            token=TOKEN,
            clock=FixedClock(NOW),
            hosts=("testserver",),
        )
        with both, TestClient(app) as client:
            key = place.key("read")
            answers = [
                client.get("/api/v1/w/desk/tree", headers={"Authorization": f"Bearer {key}"}).status_code
                for _ in range(3)
            ]
            place.workspace.records.keys.revoke(key.split("_")[1], at=NOW)
            answers.append(
                client.get("/api/v1/w/desk/tree", headers={"Authorization": f"Bearer {key}"}).status_code
            )
    assert answers == [200, 200, 200, 401]
    assert asked == ["gone", "desk"]


def test_a_workspace_that_is_gone_makes_a_server_not_ready_though_alive(tmp_path: Path) -> None:
    with serving(tmp_path) as place:
        asked = [place.client.get(path).status_code for path in ("/healthz", "/readyz")]
        place.root.rename(tmp_path / "elsewhere")
        gone = place.client.get("/readyz")
        assert place.client.get("/healthz").status_code == 200
        (tmp_path / "elsewhere").rename(place.root)
        back = place.client.get("/readyz").status_code
    assert (asked, back) == ([200, 200], 200)
    assert (gone.status_code, gone.json()["status"]) == (503, "unavailable")
    assert str(tmp_path) not in gone.text


def test_what_broke_is_logged_by_its_kind_and_place_and_neither_told_nor_quoted(
    place: Place, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    word = "marmalade"

    def breaks(*_: object, **__: object) -> None:
        raise ValueError(word)

    monkeypatch.setattr(Workspace, "search", breaks)
    asked = {"Authorization": f"Bearer {TOKEN}"}
    answer = place.client.get(f"/api/v1/w/default/search?q=x{word}", headers=asked)
    assert (answer.status_code, answer.json()["code"]) == (500, "internal")
    assert "ValueError" in caplog.text
    assert "/api/v1/w/{workspace}/search" in caplog.text
    assert word not in caplog.text + answer.text
