import json
from hashlib import sha256

import pytest

from carrel.context.compare import Remembered, recollect, remember, what_broke
from carrel.context.report import (
    Change,
    Prefix,
    Report,
    Row,
    Tokens,
    describe_prefix,
    leading,
)
from carrel.findings import Finding


def row(name: str, text: str | None = None, *, stable: bool = True, tokens: int = 1) -> Row:
    digest = sha256((text or name).encode()).hexdigest() if text != "" else None
    return Row(
        name=name,
        kind="document",
        raw_tokens=tokens,
        tokens=tokens if digest else 0,
        size=tokens,
        limit=None,
        state="included" if digest else "excluded",
        reason=None if digest else "empty",
        stable=stable,
        sha256=digest,
    )


def test_the_prefix_ends_before_the_first_row_that_is_not_stable():
    rows = [row("a"), row("out", ""), row("b"), row("now", stable=False), row("c")]
    assert [r.name for r in leading(rows)] == ["a", "b"]


def test_a_row_that_the_model_does_not_read_does_not_end_the_prefix():
    assert [r.name for r in leading([row("a"), row("out", "", stable=False), row("b")])] == ["a", "b"]


def test_the_digest_can_be_recomputed_from_the_rows():
    rows = [row("a", tokens=3), row("b", tokens=4), row("now", stable=False, tokens=5)]
    joined = "".join(sha256(name.encode()).hexdigest() for name in ("a", "b"))
    assert describe_prefix(rows) == Prefix(sha256=sha256(joined.encode()).hexdigest(), tokens=7)


def test_an_empty_prefix_has_the_digest_of_nothing():
    assert describe_prefix([]).sha256 == sha256(b"").hexdigest()


def change(old: list[Row], new: list[Row], *, was="main", now="main") -> Change | None:
    return what_broke(recollect(remember(old, was)), new, now)


A, B, C = row("a"), row("b"), row("c")


@pytest.mark.parametrize(
    ("old", "new", "section", "cause"),
    [
        ([A, B], [A, row("b", "other")], "b", "changed"),
        ([A, B], [row("a", "other"), row("b", "other")], "a", "changed"),
        ([A, C], [A, B, C], "b", "added"),
        ([A, B, C], [A, C], "b", "removed"),
        ([A, B], [A], "b", "removed"),
        ([A, B], [B, A], "b", "moved"),
        ([A, B, C], [A, C, B], "c", "moved"),
    ],
)
def test_what_broke_the_prefix_is_named_with_its_cause(old, new, section, cause):
    assert change(old, new) == Change(section=section, cause=cause)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ([A, B], [A, B]),
        ([], [A]),
        ([A], [A, B]),
        ([A, B], [A, row("x", ""), B]),
        ([A, row("now", stable=False)], [A, row("now", "other", stable=False)]),
    ],
)
def test_a_prefix_that_is_the_same_or_only_grew_is_not_broken(old, new):
    assert change(old, new) is None


def test_a_change_of_scope_is_the_cause_of_every_difference():
    assert change([A, B], [A, C], was="main", now="shared") == Change(section="c", cause="scope")
    assert change([A], [A], was="main", now="shared") is None


def test_a_change_of_scope_does_not_name_what_is_now_hidden():
    """The report of shared scope tells how many entries are hidden, and nothing else of them."""
    found = change([A, row("memory/diary.md")], [A], was="main", now="shared")
    assert found is not None
    assert found.cause == "scope"
    assert "diary" not in found.section


def test_what_is_remembered_is_plain_data_and_comes_back_the_same():
    rows = [A, row("now", stable=False)]
    data = remember(rows, "main")
    assert recollect(json.loads(json.dumps(data))) == Remembered(scope="main", rows=tuple(rows))


def test_the_report_has_the_shape_of_the_contract():
    report = Report(
        layout="carrel",
        agent="kate",
        session=None,
        scope="main",
        model=None,
        tokens=Tokens(window=10, used=12, exact=False),
        unit="tokens",
        prefix=describe_prefix([A], Change(section="a", cause="moved")),
        sections=(A,),
        hidden=2,
        recall=({"path": "x"},),
        warnings=(Finding(code="c", message="m", path="not shown"),),
    ).to_json()
    assert list(report) == [
        "schema_version",
        "layout",
        "agent",
        "session",
        "scope",
        "model",
        "tokens",
        "unit",
        "prefix",
        "sections",
        "hidden",
        "recall",
        "forecast",
        "warnings",
    ]
    assert report["tokens"] == {"window": 10, "used": 12, "free": 0, "method": "estimate"}
    assert report["prefix"]["changed_by"] == {"section": "a", "cause": "moved"}
    assert list(report["sections"][0]) == [
        "name",
        "kind",
        "raw_tokens",
        "tokens",
        "size",
        "limit",
        "state",
        "reason",
        "stable",
        "sha256",
    ]
    assert report["warnings"] == [{"code": "c", "message": "m"}]
