"""Taking walls down: the policy of a table, and one condition of one statement or function of ours."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from tests.surfaces.tenants.street import Street

from carrel.postgres import Tenant

_CONDITION = re.compile(r"\b(?:\w+\.)?tenant = (?P<to>%s|%\(tenant\)s|\w+\.tenant\b|t\b)")
_VALUE = ("%s", "%(tenant)s")


def touches(statement: str, table: str) -> bool:
    return re.search(rf"\bcarrel\.{table}\b", statement) is not None


def without_one(statement: str) -> Iterator[str]:
    """Yield a statement without each of its conditions on the tenant; it takes the same values."""
    for found in _CONDITION.finditer(statement):
        yield f"{statement[: found.start()]}{_nothing(found)}{statement[found.end() :]}"


def without_any(statement: str) -> str:
    """Return a statement without all of them."""
    return _CONDITION.sub(_nothing, statement)


def _nothing(found: "re.Match[str]") -> str:
    return f"{found['to']}::text IS NOT NULL" if found["to"] in _VALUE else "true"


@contextmanager
def policy_down(street: Street, *tables: str) -> Iterator[None]:
    """Let everybody see all rows of some tables."""
    try:
        for table in tables:
            street.admin.execute(f"ALTER TABLE carrel.{table} DISABLE ROW LEVEL SECURITY")
        yield
    finally:
        for table in tables:
            street.admin.execute(f"ALTER TABLE carrel.{table} ENABLE ROW LEVEL SECURITY")


@contextmanager
def listening(heard: list[str]) -> Iterator[None]:
    """Keep the statements of all tenants, each once."""
    with _instead(lambda sql: heard.append(sql) or sql if sql not in heard else sql):
        yield


@contextmanager
def instead_of(statement: str, other: str) -> Iterator[None]:
    """Have one statement be another."""
    with _instead(lambda sql: other if sql == statement else sql):
        yield


@contextmanager
def conditions_down() -> Iterator[None]:
    """Have no statement say whose rows it is about."""
    with _instead(without_any):
        yield


@contextmanager
def _instead(change: Any) -> Iterator[None]:
    rows, send = Tenant.rows, Tenant.send

    def changed_rows(self: Tenant, sql: str, params: Any = (), **more: Any) -> Any:
        return rows(self, change(sql), params, **more)

    def changed_send(self: Tenant, sql: str, params: Any = ()) -> None:
        send(self, change(sql), params)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Tenant, "rows", changed_rows)
        patch.setattr(Tenant, "send", changed_send)
        yield


def functions(street: Street) -> dict[str, str]:
    """Return the functions of the schema that ask for a tenant, with what makes each."""
    rows = street.admin.execute(
        "SELECT proname, pg_get_functiondef(oid) FROM pg_proc WHERE pronamespace = 'carrel'::regnamespace"
    )
    return {name: text for name, text in rows if any(without_one(text))}


@contextmanager
def made_anew(street: Street, was: str, now: str) -> Iterator[None]:
    """Have a function of the schema be another."""
    street.admin.execute(now.encode())
    try:
        yield
    finally:
        street.admin.execute(was.encode())
