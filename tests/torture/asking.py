"""What is asked of a command or of a server that may be killed meanwhile, and what they acknowledged."""

import json
import re
import subprocess
from collections.abc import Callable, Sequence
from http.client import HTTPConnection, HTTPException
from typing import NamedTuple
from urllib.parse import quote

from tests.torture.desk import Desk, Forked

Process = Forked | subprocess.Popen[bytes]
_MESSAGES = 400
_SUCCESS, _NOT_NOW = (200, 201), 429
_TO_GO = "to be removed\n"


class Command(NamedTuple):
    """A command that changes something, by what of a token is seen afterwards."""

    kind: str
    words: Callable[[str], tuple[str, ...]]
    given: Callable[[str], str] = lambda _: ""
    """What it reads from standard input."""

    def heard(self, token: str, told: Sequence[bytes], *, is_done: bool) -> list[str]:
        """Return what was acknowledged: by whole lines, or by an end without a failure."""
        lines = [line for line in told if line.endswith(b"\n")]
        if self.kind == "log":
            return [f"log {json.loads(line)['message_id']}" for line in lines]
        return [f"{self.kind} {token}"] if lines or is_done else []


class Request(NamedTuple):
    """A request that changes something, by what of a token is seen afterwards."""

    kind: str
    method: str
    path: Callable[[str], str]
    body: Callable[[str], object]


def _messages(token: str) -> str:
    said = (
        {"role": "user", "content": f"<{token}.{n}>", "message_id": f"{token}.{n}"} for n in range(_MESSAGES)
    )
    return "".join(f"{json.dumps(each)}\n" for each in said)


RECORD = Command("log", lambda _: ("sessions", "record", "--session", "log"), _messages)
COMMANDS = (
    RECORD,
    Command("files", lambda token: ("files", "put", f"knowledge/{token}.md"), lambda token: f"<{token}>\n"),
    Command("gone", lambda token: ("files", "rm", f"gone/{token}.md")),
    Command("notebook", lambda token: ("memory", "append", "MEMORY.md", "Notes", f"- <{token}>")),
    Command("fact", lambda token: ("memory", "add", f"The quay {token} is let.")),
    Command("keys", lambda token: ("keys", "create", token)),
)
REQUESTS = (
    Request(
        "log",
        "POST",
        lambda _: "sessions/log/entries",
        lambda token: {"messages": [{"role": "user", "content": f"<{token}>", "message_id": token}]},
    ),
    Request("files", "PUT", lambda token: f"files/knowledge/{token}.md", lambda token: f"<{token}>\n"),
    Request("gone", "DELETE", lambda token: f"files/gone/{token}.md", lambda _: None),
    Request("journal", "POST", lambda _: "journal", lambda token: {"text": f"<{token}>"}),
    Request(
        "notebook",
        "POST",
        lambda _: f"memory/section?file={quote('MEMORY.md')}&section=Notes",
        lambda token: {"text": f"- <{token}>"},
    ),
    Request("fact", "POST", lambda _: "facts", lambda token: {"text": f"The quay {token} is let."}),
    Request("keys", "POST", lambda _: "keys", lambda token: {"name": token, "right": "read"}),
)


def lay_out(desk: Desk, kind: str, token: str) -> None:
    """Put there what is to be removed, as a person would."""
    if kind == "gone":
        path = desk.root / f"gone/{token}.md"
        path.parent.mkdir(exist_ok=True)
        path.write_text(_TO_GO)


class Client:
    """Asks a server for changes, and knows what it was told of them."""

    def __init__(self, port: int, token: str) -> None:
        self._wire = HTTPConnection("127.0.0.1", port, timeout=30)
        self._head = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        self.acknowledged: list[str] = []
        self.refused: list[int] = []

    def ask(self, request: Request, token: str) -> int:
        """Return the status of the answer; 0 where there is none."""
        body = request.body(token)
        data = body if body is None or isinstance(body, str) else json.dumps(body)
        try:
            self._wire.request(request.method, f"/api/v1/w/default/{request.path(token)}", data, self._head)
            answer = self._wire.getresponse()
            answer.read()
        except (OSError, HTTPException):
            self._wire.close()
            return 0
        if answer.status in _SUCCESS:
            self.acknowledged.append(f"{request.kind} {token}")
        elif answer.status != _NOT_NOW:
            self.refused.append(answer.status)
        return answer.status


def find_link(process: Process) -> tuple[int, str] | None:
    """Return the port and the token that a server prints when it is ready; none where it ended before."""
    assert process.stdout is not None
    line = process.stdout.readline().decode()
    found = re.search(r":(\d+)/\S*?token=([\w-]+)", line)
    assert found or not line, line
    return (int(found[1]), found[2]) if found else None
