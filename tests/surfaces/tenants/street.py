"""The street: three tenants behind one server and one database, asked by each in the others' names.

All that an answer gives away is looked for in its status, its headers, its body and in what was logged
meanwhile. What a question names itself may come back; what only a neighbour can know may not.
"""

import logging
import threading
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from msgspec import Struct
from msgspec.structs import replace
from starlette.testclient import TestClient
from tests.surfaces.tenants.households import (
    BY_NAME,
    HOUSEHOLDS,
    Household,
    furnish,
    live_in,
)
from tests.surfaces.tenants.places import Known
from tests.unit.http.served import NOW, TOKEN

from carrel import Workspace
from carrel.clock import FixedClock
from carrel.config import user_directories
from carrel.config.remote import Remote, find_remote
from carrel.home.address import Address
from carrel.home.postgres import PostgresHome, make_remote
from carrel.http.app import build
from carrel.http.served import Served
from carrel.index.postgres import embedding, syncing, vectors
from carrel.runtime.model import Reply, Request
from carrel.testing import HashingEmbedder

TABLES = """
    SELECT relname FROM pg_class WHERE relnamespace = 'carrel'::regnamespace AND relkind IN ('r', 'p')
    AND NOT relispartition AND relname <> 'schema_steps' ORDER BY relname
"""
COLUMNS = """
    SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum) FROM pg_attribute
    WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = ''
"""
DIGESTS = """
    SELECT DISTINCT f.tenant, carrel.file_digest(f) FROM carrel.workspace_files f WHERE NOT f.is_folder
    UNION SELECT tenant, digest FROM carrel.keys
"""
SAME = """
    UPDATE carrel.{table} SET {column} = 4242 WHERE tenant = %s AND workspace = 'studio' AND {column} =
    (SELECT id FROM carrel.workspace_files WHERE tenant = %s AND path = 'agents/main/sessions/s1.log.jsonl')
"""
"""What is numbered by chance gets one number in all three."""

BEHIND = """
    INSERT INTO carrel.index_due (tenant, workspace, part, id, is_fresh)
    SELECT tenant, workspace, 'words', id, false FROM carrel.index_chunks WHERE tenant = %s
"""
"""The index of one of them is behind."""

FEW = 3
"""Chunks above which these workspaces have a graph of vectors: thousands would take long."""


class Listener:
    """A model that has little to say, and tells of all it was given to read."""

    name = "listener"

    def __init__(self, told: list[str]) -> None:
        self._told = told

    async def stream(self, request: Request) -> AsyncIterator[str | Reply]:
        self._told.append(f"model: {request!r}")
        yield "I see."
        yield Reply(text="I see.")


class Question(Struct, frozen=True, kw_only=True, eq=False):
    """One request; `place` is where a foreign id stands in it."""

    method: str
    path: str
    body: Any = None
    query: Mapping[str, Any] = {}
    headers: Mapping[str, str] = {}
    place: str = ""
    scope: str = "main"

    @property
    def said(self) -> bytes:
        """All that whoever asks says themselves, in small letters."""
        return repr((self.path, self.body, self.query, self.headers)).lower().encode()

    def at(self, path: str) -> "Question":
        """The same, asked elsewhere."""
        return replace(self, path=path)

    def with_scope(self, scope: str) -> "Question":
        """The same, asked by who may hear as much."""
        return replace(self, scope=scope)


class _Ear(logging.Handler):
    """Keeps what is logged by whomever, and what a model was given to read."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.heard: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.heard.append(f"{record.name}: {self.format(record)}")

    def take(self) -> bytes:
        heard = "\n".join(self.heard)
        self.heard.clear()
        return heard.encode("utf-8", "replace")


class Street:
    """The three, and what was found to leak."""

    def __init__(self, database: str, environ: Mapping[str, str]) -> None:
        self.database = database
        self.environ = environ
        self.admin: psycopg.Connection
        self.keys: dict[str, dict[str, str]] = {}
        self.leaks: list[str] = []
        self.ear = _Ear()
        self.alone: dict[Question, tuple[int, bytes]] = {}
        """What the first of them was told before it had neighbours."""
        self.known: dict[str, Known] = {}
        self.client: TestClient
        self.served: Served
        self._secrets: dict[str, tuple[bytes, ...]] = dict.fromkeys(BY_NAME, ())
        self._names: dict[str, tuple[bytes, ...]] = dict.fromkeys(BY_NAME, ())
        self._kept: dict[tuple[str, str], str] = {}
        self._said: dict[str, bytes] = dict.fromkeys(BY_NAME, b"")
        """What each has said since all was as it is now: it may find that again among its own."""

    @contextmanager
    def open(self) -> Iterator[None]:
        """Look at all rows, hear what is logged, and have small workspaces searched as large ones are.

        For one test at a time: others of this process have nothing to do with it.
        """
        root = logging.getLogger()
        level = root.level
        with (
            psycopg.connect(self.database, autocommit=True) as self.admin,
            pytest.MonkeyPatch.context() as patch,
        ):
            patch.setattr(PostgresHome, "embedder", _embedder)
            for part in (embedding, syncing, vectors):
                patch.setattr(part, "EXACT", FEW)
            root.addHandler(self.ear)
            root.setLevel(logging.DEBUG)
            try:
                yield
            finally:
                root.removeHandler(self.ear)
                root.setLevel(level)

    def move_in(self, own: Household) -> None:
        Workspace.init(own.address, environ=self.environ)
        with Workspace.open(own.address, environ=self.environ) as workspace:
            furnish(workspace, own)
        Workspace.trust(own.address, environ=self.environ)
        with Workspace.open(own.address, environ=self.environ) as workspace:
            self.keys[own.name] = live_in(workspace, own)
        make_remote(Address(own.name, f"{own.name}-annex"), self.remote)
        for table, column in (("workspace_segments", "file"), ("workspace_files", "id")):
            self.admin.execute(SAME.format(table=table, column=column), [own.name, own.name])
        with Workspace.open(own.address, environ=self.environ) as workspace:
            workspace.home.drop_index()  # so that what is numbered one by one has one number in all three, too
            workspace.searching.sync()

    def settle(self) -> None:
        """Take note of what each has that no other has, and keep a copy of all rows."""
        digests: dict[str, set[str]] = {each.name: set() for each in HOUSEHOLDS}
        for tenant, digest in self.admin.execute(DIGESTS):
            digests[tenant].add(digest)
        for each in HOUSEHOLDS:
            others = set[str]().union(*(digests[name] for name in digests if name != each.name))
            own = [digest.encode() for digest in digests[each.name] - others]
            self._secrets[each.name] = (*each.secrets(), *own)
            names = [key for (key,) in self.admin.execute(
                "SELECT convert_from(id, 'UTF8') FROM carrel.keys WHERE tenant = %s AND id <> 'spare'", [each.name])]  # fmt: skip
            self._names[each.name] = tuple(name.lower().encode() for name in (each.name, each.rare, *names))
        self.admin.execute(BEHIND, [HOUSEHOLDS[-1].name])
        self.admin.execute("CREATE SCHEMA kept")
        for table in self.tables():
            self.admin.execute(f"CREATE TABLE kept.{table} AS SELECT * FROM carrel.{table}")
        self._kept = self.digests()
        self.known = {own.name: self._known(own) for own in HOUSEHOLDS}

    @property
    def remote(self) -> Remote:
        """The database as commands find it."""
        return find_remote(self.environ, user_directories(self.environ))

    @contextmanager
    def serving(self, households: Sequence[Household]) -> Iterator[None]:
        """Serve some of them, in this process."""
        opened = _opening(self.environ, self.ear.heard)
        self.served = Served([own.address for own in households], open=opened)
        app = build(
            self.served, token=TOKEN, clock=FixedClock(NOW), hosts=("testserver",), guesses=(0.0, 100_000),
            rate=(1e6, 1_000_000),
        )  # fmt: skip
        with self.served, TestClient(app) as self.client:
            yield

    def _known(self, own: Household) -> Known:
        """Return what somebody has by names that nobody chose."""
        one = {
            name: [text for (text,) in self.admin.execute(sql, [own.name])]
            for name, sql in {
                "key": "SELECT convert_from(id, 'UTF8') FROM carrel.keys WHERE tenant = %s AND id <> 'spare'",
                "namespace": "SELECT path FROM carrel.workspace_files WHERE tenant = %s "
                "AND workspace = '.namespaces' AND NOT is_folder",
                "digest": "SELECT sha256 FROM carrel.workspace_files WHERE tenant = %s AND path = 'notes/plan.md'",
                "facts": "SELECT convert_from(id, 'UTF8') FROM carrel.facts WHERE tenant = %s ORDER BY number",
            }.items()
        }
        return Known(
            key=one["key"][0],
            namespace=one["namespace"][0].removesuffix(".md"),
            digest=one["digest"][0],
            facts=tuple(one["facts"]),
        )

    def tables(self) -> list[str]:
        return [name for (name,) in self.admin.execute(TABLES)]

    def digests(self) -> dict[tuple[str, str], str]:
        """A digest of all rows by table and tenant, as the owner of the tables sees them."""
        each = (
            f"SELECT '{table}', tenant, md5(string_agg(md5(t::text), '' ORDER BY t::text)) "
            f"FROM carrel.{table} t GROUP BY tenant"
            for table in self.tables()
        )
        return {(table, name): digest for table, name, digest in self.admin.execute(" UNION ALL ".join(each))}

    def restore(self) -> None:
        """Put all rows back as they were."""
        _rest()
        self._said = dict.fromkeys(BY_NAME, b"")
        now = self.digests()
        changed = {table for (table, _), _ in {*now.items()} ^ {*self._kept.items()}}
        with self.admin.transaction():
            # The trail refuses to be changed otherwise.
            self.admin.execute("SET LOCAL session_replication_role = replica")
            for table in sorted(changed):
                columns = self.admin.execute(COLUMNS, [f"carrel.{table}"]).fetchone()[0]  # type: ignore[index]
                self.admin.execute(f"DELETE FROM carrel.{table}")
                self.admin.execute(
                    f"INSERT INTO carrel.{table} ({columns}) OVERRIDING SYSTEM VALUE SELECT {columns} FROM kept.{table}"
                )

    def ask(self, own: Household, question: Question) -> Any:
        """Ask as one of them, and look for the others in all that comes of it."""
        self.ear.take()
        headers = {"Authorization": f"Bearer {self.keys[own.name][question.scope]}", **question.headers}
        content = {} if question.body is None else {"json": question.body}
        if isinstance(question.body, bytes):
            content = {"content": question.body}
        answer = self.client.request(
            question.method, question.path, params=question.query or None, headers=headers,
            follow_redirects=False, **content,
        )  # fmt: skip
        told = (
            f"{answer.status_code} {answer.reason_phrase}\n{[*answer.headers.raw]}\n".encode()
            + answer.content
        )
        where = f"{question.method} {question.path} {question.place}"
        self.look(own, told, question.said, where)
        self.look(own, self.ear.take(), b"", f"{where}, logged")
        return answer

    def told_otherwise(self) -> list[str]:
        """Return what the first of them is told otherwise than when it was alone; by a server that is as new."""
        self.served.close()
        asked = {each: _told(self.ask(HOUSEHOLDS[0], each)) for each in self.alone}
        return [f"{each.path}: {told}" for each, told in asked.items() if told != self.alone[each]]

    def look(self, own: Household, told: bytes, said: bytes, where: str) -> None:
        """Look for what only others can know in what somebody was told, who said this."""
        self._said[own.name] += said
        plain = told.lower()
        for other in HOUSEHOLDS:
            known = (*self._secrets[other.name], *self._names[other.name]) if other is not own else ()
            found = [each for each in known if each in told or each in plain]
            if found := [each.decode() for each in found if each not in self._said[own.name]]:
                self.leaks.append(f"{own.name}, {where}: {found} of {other.name}")

    @contextmanager
    def watching(self, own: Household, what: str) -> Iterator[None]:
        """Look whether anything of others is another when some work of one is done."""
        before = self.digests()
        yield
        _rest()
        after = self.digests()
        for table, name in before.keys() | after.keys():
            if name != own.name and before.get((table, name)) != after.get((table, name)):
                self.leaks.append(f"{own.name}, {what}: changed {table} of {name}")

    def found(self) -> list[str]:
        """Return what was found to leak, once."""
        leaks, self.leaks = self.leaks, []
        return leaks


@contextmanager
def street(
    database: str, home: Path, plain: Callable[[Street, Household], Iterable[Question]]
) -> Iterator[Street]:
    """Have the three move in one after the other, and serve them; the first is asked what is `plain` alone."""
    environ = {"CARREL_HOME": str(home), "CARREL_NOW": NOW.isoformat(), "CARREL_DATABASE_URL": database}
    made, (first, *others) = Street(database, environ), HOUSEHOLDS
    with ExitStack() as stack:
        with made.open():
            made.move_in(first)
            with made.serving(HOUSEHOLDS[:1]):
                made.alone = {each: _told(made.ask(first, each)) for each in plain(made, first)}
            for own in others:
                made.move_in(own)
            stack.enter_context(made.serving(HOUSEHOLDS))
            made.settle()
        yield made


def _told(answer: Any) -> tuple[int, bytes]:
    return answer.status_code, answer.content


def _embedder(home: PostgresHome, *_: object) -> HashingEmbedder:
    """Return what makes vectors, by a name that is the tenant's own."""
    return HashingEmbedder(32, name=f"hashing {BY_NAME[home.address.tenant].word}")


def _opening(environ: Mapping[str, str], told: list[str]) -> Any:
    def opened(path: str, agent: str | None) -> Workspace:
        workspace = Workspace.open(path, agent=agent, team=agent is None, environ=environ)
        workspace.conversations.model = lambda *_: Listener(told)  # type: ignore[method-assign]
        return workspace

    return opened


def _rest() -> None:
    """Wait for what is done beside the answers."""
    for thread in threading.enumerate():
        if thread.name == "carrel-index":
            thread.join()
