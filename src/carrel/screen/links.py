"""Passwords in addresses: `postgres://me:secret@host/db`, where only the password is one."""

import re
from collections.abc import Iterator

from carrel.screen.candidate import CERTAIN, Candidate

_SIGN = b"://"
_LOGIN = re.compile(
    r"://[^\s/?#:@\"'<>`\[\\]{0,128}+:(?P<password>[^\s/?\"'<>`\\]{1,256})@(?=[^\s/?#:@\"'<>`\]\\])"
)
_STAND_IN = re.compile(
    r"[$%]?[({\[<].*|&lt;.*|\$\w+|%[A-Z_]+%|([*xX.•-])\1*|[A-Z_]*PASS(?:WORD|WD)?|.*\[REDACTED:.*", re.DOTALL
)
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*\Z")
_DATABASES = frozenset(
    (
        "amqp", "amqps", "bolt", "cassandra", "clickhouse", "cockroachdb", "couchdb", "db2", "elasticsearch",
        "mariadb", "mongodb", "mssql", "mysql", "neo4j", "oracle", "postgis", "postgres", "postgresql",
        "redis", "rediss", "snowflake", "sqlserver",
    )
)  # fmt: skip


def logins(text: str, plain: bytes) -> Iterator[Candidate]:
    """Yield the passwords that stand between a user and a host."""
    start = plain.find(_SIGN)
    while start != -1:
        login = _LOGIN.match(text, start)
        if login and not _STAND_IN.fullmatch(login["password"]):
            kind = "database_password" if _is_database(text[max(0, start - 40) : start]) else "url_password"
            yield Candidate(CERTAIN, *login.span("password"), kind)
        start = plain.find(_SIGN, login.end() if login else start + 1)


def _is_database(before: str) -> bool:
    scheme = _SCHEME.search(before)
    return scheme is not None and scheme[0].lower().partition("+")[0] in _DATABASES
