"""A real server of one workspace, in this process, asked by its owner or by who holds a key."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from starlette.testclient import TestClient

from carrel.app import Workspace
from carrel.clock import FixedClock
from carrel.http.app import build
from carrel.http.served import Served
from carrel.records.keys import mint

NOW = datetime(2026, 4, 24, 12, tzinfo=UTC)
TOKEN = "t" * 43


class Place:
    """One workspace that is served: `ask` as somebody, and look at what came of it."""

    def __init__(self, client: TestClient, served: Served, root: Path):
        self.client, self.served, self.root = client, served, root

    @property
    def workspace(self) -> Workspace:
        return self.served.workspace()

    def key(self, right: str = "write", scope: str = "shared") -> str:
        """Make a key and return it."""
        key, text = mint(name="test", right=right, scope=scope, now=NOW, expires=None)  # type: ignore[arg-type]
        self.workspace.records.keys.add(key)
        return text

    def ask(self, method: str, path: str, body: Any = None, *, key: str = TOKEN, **headers: str) -> Any:
        """Send a request below the workspace; no answer may be a failure of ours."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        content = {"content": body} if isinstance(body, bytes) else {} if body is None else {"json": body}
        answer = self.client.request(
            method,
            f"/api/v1/w/default{path}",
            headers={"Authorization": f"Bearer {key}", **named},
            **content,
        )
        assert answer.status_code < 500, answer.text
        if answer.status_code >= 400:
            assert set(answer.json()) == {"schema_version", "code", "message", "hint"}
        return answer

    def told(self, method: str, path: str, body: Any = None, **more: Any) -> Any:
        """Return the document of an answer that must be one."""
        answer = self.ask(method, path, body, **more)
        assert answer.status_code in (200, 201), answer.text
        return answer.json()

    def refused(self, method: str, path: str, body: Any = None, **more: Any) -> tuple[int, str]:
        """Return the status and the code of a refusal."""
        answer = self.ask(method, path, body, **more)
        assert answer.status_code >= 400, answer.text
        return answer.status_code, answer.json()["code"]

    def trail(self) -> list[str]:
        """Return what was noted, the oldest first."""
        return [event.action for event in reversed(self.workspace.records.audit.events(limit=200))]


@contextmanager
def serving(
    folder: Path, *, model: Any = None, settings: str = "", guesses: tuple[float, int] = (0.0, 10_000)
) -> Iterator[Place]:
    """Make a workspace and serve it; `model` answers in the place of the offline one."""
    environ = {"CARREL_HOME": str(folder / "home"), "CARREL_NOW": NOW.isoformat()}
    root = folder / "desk"
    Workspace.init(root, environ=environ)
    if settings:
        (root / "carrel.yaml").write_text(settings)
        Workspace.trust(root, environ=environ)

    def opened(path: Path, agent: str | None) -> Workspace:
        workspace = Workspace.open(path, agent=agent, team=agent is None, environ=environ)
        if model is not None:
            workspace.conversations.model = lambda *_: model  # type: ignore[method-assign]
        return workspace

    served = Served([root], open=opened)
    app = build(served, token=TOKEN, clock=FixedClock(NOW), hosts=("testserver",), guesses=guesses)
    with served, TestClient(app) as client:
        yield Place(client, served, root)
