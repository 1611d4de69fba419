"""`make scale-demo`: a PostgreSQL, an S3 and two servers; one agent is used through both, and outlives one.

All of it is on this machine, in a directory that is removed again. On a terminal the server that is left
stays up to be looked at until Ctrl-C; in a pipe all ends by itself.
"""

import json
import logging
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from http.client import HTTPConnection
from pathlib import Path
from secrets import token_urlsafe
from urllib.parse import urlsplit

sys.path.insert(0, str(Path(__file__).parent.parent))

from moto.server import ThreadedMotoServer
from tests.stubs.postgres import Server as Postgres

HERE, API = "pg://acme/studio", "/api/v1/w/acme.studio"
BUCKET = "carrel"
IS_COLOURED = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
BOLD, DIM, CYAN, YELLOW, GREEN = "1", "2", "36", "33", "32"
HOLDER = "SELECT min(pid) FROM pg_locks WHERE locktype = 'advisory' AND granted AND classid = 25441"
"""Which connection has the lease of the sweep; its key begins with two letters of ours."""


def paint(text: str, *codes: str) -> str:
    return f"\033[{';'.join(codes)}m{text}\033[0m" if IS_COLOURED else text


def title(text: str) -> None:
    print(f"\n{paint(text, BOLD)}", flush=True)


def tell(who: str, what: str, *codes: str) -> None:
    print(f"  {paint(f'{who:<12}', *codes or (DIM,))} {what}", flush=True)


def run(environ: dict[str, str], *words: str) -> None:
    tell("$", f"carrel {' '.join(words)}")
    done = subprocess.run(
        [sys.executable, "-m", "carrel", *words], env=environ, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(done.stderr)
    lines = done.stdout.strip().splitlines()
    tell("", paint(lines[-1].strip() if lines else "done", DIM))


class Server:
    """One `carrel serve`."""

    def __init__(self, name: str, colour: str, environ: dict[str, str]) -> None:
        self.name, self.colour = name, colour
        self.url = self.link = ""
        command = [sys.executable, "-m", "carrel", "serve", HERE, "--port", "0", "--json"]
        self.process = subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, start_new_session=True)
        self._token = environ["CARREL_TOKEN"]

    def wait(self) -> None:
        """Wait for its one line."""
        assert self.process.stdout is not None
        told = json.loads(self.process.stdout.readline() or "{}")
        if "url" not in told:
            raise SystemExit(f"{self.name} did not start: {told}")
        self.url, self.link = told["url"], told["link"]
        self.tell(self.url)

    def tell(self, what: str) -> None:
        tell(self.name, what, self.colour)

    def ask(self, method: str, path: str, body: object = None) -> dict:
        """Ask for something below the workspace; a server that is still starting is waited for."""
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        for _ in range(300):
            connection = HTTPConnection(urlsplit(self.url).netloc, timeout=600)
            try:
                connection.request(method, API + path, data, {"Authorization": f"Bearer {self._token}"})
                answer = connection.getresponse()
                told = answer.read()
            except ConnectionError:
                time.sleep(0.1)
                continue
            finally:
                connection.close()
            assert answer.status < 300, told
            return json.loads(told) if told.startswith(b"{") else {"bytes": told}
        raise SystemExit(f"{self.name} does not answer")

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


@contextmanager
def objects() -> Iterator[str]:
    """An S3 server with a bucket."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    connection = HTTPConnection(host, port)
    connection.request("PUT", f"/{BUCKET}")
    assert connection.getresponse().status == 200
    connection.close()
    yield f"http://{host}:{port}"
    server.stop()


def main() -> None:
    with ExitStack() as stack:
        home = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        title("1  A database and an object store")
        postgres = Postgres()
        stack.callback(postgres.stop)
        ((version,),) = postgres.execute("SHOW server_version")
        tell("PostgreSQL", f"{version} with pgvector, for records, index and leases")
        endpoint = stack.enter_context(objects())
        tell("S3", f"{endpoint}, for the files of the agent")
        environ = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("CARREL_", "AWS_"))},
            "CARREL_HOME": str(home / "nothing-is-written-here"),
            "CARREL_DATABASE_URL": postgres.url(),
            "CARREL_OBJECTS": f"s3://{BUCKET}/carrel",
            "CARREL_TOKEN": token_urlsafe(32),
            "AWS_ENDPOINT_URL": endpoint,
            "AWS_REGION": "us-east-1",
            "AWS_ACCESS_KEY_ID": "demo",
            "AWS_SECRET_ACCESS_KEY": "demo",
        }
        title("2  Tables, and a workspace of the tenant acme")
        run(environ, "database", "migrate")
        run(environ, "init", HERE)
        title("3  Two servers, one agent")
        both = []
        for name, colour in {"server A": CYAN, "server B": YELLOW}.items():
            both.append(Server(name, colour, environ))
            stack.callback(both[-1].kill)
            both[-1].wait()
        use(*both)
        outlive(*both, postgres)
        written = [path for path in home.rglob("*") if path.is_file()]
        title("5  What is left on this disk")
        tell("files", f"{len(written)} written by Carrel: a server can be thrown away at any moment")
        assert not written
        stay(both[1])


def use(one: Server, other: Server) -> None:
    """Hold a conversation through both servers."""
    said = {"role": "user", "content": "My phone is a Fairphone.", "message_id": "m1"}
    one.ask("POST", "/sessions/s1/entries", {"messages": [said]})
    one.tell(f"heard        {said['content']}")
    call = other.ask("POST", "/context:prepare", {"session": "s1", "query": said["content"]})
    assert said["content"] in json.dumps(call["messages"])
    other.tell(f"assembled    {call['report']['tokens']['used']:,} tokens for the model, with that sentence")
    other.ask("POST", "/sessions/s1/entries", {"messages": [{"role": "assistant", "content": "Noted."}]})
    other.tell("answered     Noted.")
    other.ask("PUT", "/files/knowledge/phones.md", b"A Fairphone can be repaired by its owner.\n")
    other.tell("wrote        knowledge/phones.md")
    hits = one.ask("GET", "/search?q=Which+phone+can+be+repaired")["hits"]
    assert hits[0]["path"] == "knowledge/phones.md"
    one.tell(f"found        {hits[0]['path']}: {hits[0]['text'].strip()}")


def outlive(one: Server, other: Server, postgres: Postgres) -> None:
    """Kill the first server; the other has all, and sweeps."""
    title("4  Server A is killed")
    begin = time.monotonic()
    one.kill()
    entries = other.ask("GET", "/sessions/s1/entries")["items"]
    other.tell(f"has          all {len(entries)} messages of the session")
    assert len(entries) == 2
    while not is_swept(postgres):
        pass
    other.tell(f"sweeps       now, {time.monotonic() - begin:.1f} s after the kill")


def is_swept(postgres: Postgres) -> bool:
    """Whether somebody has the lease of the sweep, and for a while: who was killed lets go of it at once."""
    seen = [postgres.execute(HOLDER)[0][0] for _ in range(2) if not time.sleep(0.25)]
    return seen[0] is not None and seen[0] == seen[1]


def stay(server: Server) -> None:
    """On a terminal, let whoever watches look around."""
    if not sys.stdout.isatty():
        return
    title("Look around")
    server.tell(paint(server.link, GREEN))
    print(f"\n  {paint('Ctrl-C ends all of it.', DIM)}", flush=True)
    server.process.wait()


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that it ends as with Ctrl-C
    with suppress(KeyboardInterrupt):
        main()
    print()
