"""The pictures of a context hold for any report: to scale, whole, labelled, and nothing in them is run."""

import re
from datetime import UTC, datetime
from math import isclose
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from carrel.context.forecast import COMPACT_PERCENT
from carrel.context.report import Report, Row, Tokens, describe_prefix
from carrel.http.explorer.pictures.bar import bar, legend, segments
from carrel.http.explorer.pictures.parts import Part, parts_of
from carrel.http.explorer.pictures.stack import Turn, classes_of, stack, stack_legend, turns_of
from carrel.http.explorer.pictures.treemap import squarify, treemap
from carrel.records.usage import Spent

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = [
    "<script>alert(1)</script>.md",
    '"><img src=x onerror=alert(1)>.md',
    "'/><svg onload=alert(1)>",
    "a&b]]>--><!--.md",
    "{0}{__class__}%s.md",
    "javascript:alert(1)",
]
KINDS = [
    "document",
    "knowledge",
    "skills",
    "prompt",
    "notebook",
    "layer",
    "journal",
    "history",
    "query",
    "recall",
]
NAMES = st.one_of(
    st.sampled_from(HOSTILE), st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1)
)


def a_row(
    name: str, tokens: int, *, raw: int | None = None, kind: str = "document", stable: bool = True
) -> Row:
    return Row(
        name=name,
        kind=kind,
        raw_tokens=tokens if raw is None else raw,
        tokens=tokens,
        size=tokens,
        limit=None,
        state="included" if tokens else "excluded",
        reason=None if tokens else "total",
        stable=stable,
        sha256="0" * 64 if tokens else None,
    )


def a_report(rows: tuple[Row, ...], window: int = 32_000, *, exact: bool = True) -> Report:
    return Report(
        layout="carrel",
        agent="kate",
        session=None,
        scope="main",
        model=None,
        tokens=Tokens(window=window, used=sum(row.tokens for row in rows), exact=exact, known=True),
        unit="tokens",
        prefix=describe_prefix(rows),
        sections=rows,
        hidden=0,
        recall=(),
        warnings=(),
    )


rows = st.builds(
    lambda name, kind, tokens, raw, stable: a_row(name, tokens, raw=raw, kind=kind, stable=stable),
    NAMES,
    st.sampled_from(KINDS),
    st.integers(0, 50_000),
    st.integers(0, 90_000),
    st.booleans(),
)
reports = st.builds(a_report, st.lists(rows, max_size=40).map(tuple), st.integers(1, 400_000))


def parsed(picture: str) -> ET.Element:
    """Return a picture as the tree it is, or fail: what is not well formed was not escaped."""
    return ET.fromstring(str(picture).replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1))


def numbers(tree: ET.Element, *names: str) -> list[float]:
    return [float(each.get(name, "0")) for each in tree.iter() for name in names]


@given(report=reports, width=st.sampled_from([340, 1000]))
def test_the_widths_of_a_bar_are_to_scale_and_sum_to_what_is_used(report: Report, width: int):
    whole = max(report.tokens.window, report.tokens.used)
    placed = segments([part for part in parts_of(report.sections) if part.tokens], width, whole)
    assert isclose(sum(each.width for each in placed), width * report.tokens.used / whole, abs_tol=0.02)
    assert sum(each.part.tokens for each in placed) == report.tokens.used
    assert all(isclose(each.width, width * each.part.tokens / whole, abs_tol=0.02) for each in placed)


@given(report=reports, width=st.sampled_from([340, 1000]), link=st.sampled_from(["", "#s"]))
def test_a_bar_is_well_formed_has_nothing_negative_and_runs_nothing(report: Report, width: int, link: str):
    tree = parsed(bar(report, width, link=link))
    assert min(numbers(tree, "width", "height", "x", "y")) >= 0
    assert {each.tag.removeprefix(SVG) for each in tree.iter()} <= {
        "svg", "defs", "pattern", "path", "circle", "clipPath", "rect", "g", "a", "title", "text",
    }  # fmt: skip
    assert not any(name.startswith("on") or name == "style" for each in tree.iter() for name in each.attrib)
    assert all(each.get("href", "").startswith("#s") for each in tree.iter(f"{SVG}a"))


@given(report=reports)
def test_every_part_of_a_bar_says_what_it_is_and_leads_to_its_row(report: Report):
    tree = parsed(bar(report, link="#s"))
    told = [each.findtext(f"{SVG}title") for each in tree.iter(f"{SVG}a")]
    assert all(told)
    known = {f"#s{part.number}" for part in parts_of(report.sections)}
    assert {each.get("href") for each in tree.iter(f"{SVG}a")} <= known
    assert tree.get("role") == "group"
    assert f"{report.tokens.used:,}" in (tree.get("aria-label") or "")


def test_a_bar_that_leads_nowhere_is_one_image():
    tree = parsed(bar(a_report((a_row("SOUL.md", 20),))))
    assert tree.get("role") == "img"
    assert not list(tree.iter(f"{SVG}a"))


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_name_is_text_in_every_picture(name: str):
    report = a_report((a_row(name, 9_000, raw=12_000), a_row(f"{name}2", 0, raw=500)))
    parts = parts_of(report.sections)
    turn = Turn(name=name, uses=((name, 10),), cached=4, broken_at=name, link="#t1")
    for picture in (
        bar(report, link="#s"),
        treemap(parts, link=lambda part: f"#s{part.number}"),
        stack([turn]),
    ):
        tree = parsed(picture)
        assert any(name in (each.text or "") for each in tree.iter(f"{SVG}title"))
        assert not {each.tag.removeprefix(SVG) for each in tree.iter()} & {
            "script",
            "img",
            "image",
            "foreignObject",
        }
    assert "<script" not in stack_legend([turn])


@given(report=reports)
def test_a_legend_names_each_group_with_its_tokens_and_what_is_free(report: Report):
    text = re.sub(r"<[^>]+>", " ", legend(report))
    sums: dict[str, int] = {}
    for part in parts_of(report.sections):
        if part.tokens:
            sums[part.group.name] = sums.get(part.group.name, 0) + part.tokens
    assert all(name in text and f"{tokens:,}" in text for name, tokens in sums.items())
    assert f"Free  {report.tokens.free:,}" in text


def test_the_history_of_a_session_is_one_part_and_absent_files_are_none():
    said = tuple(a_row(f"history {n}", 10, kind="history") for n in range(1, 41))
    absent = Row(
        name="x.md", kind="document", raw_tokens=0, tokens=0, size=0, limit=None, state="missing", reason=None,
        stable=True, sha256=None,
    )  # fmt: skip
    parts = parts_of((a_row("SOUL.md", 5), absent, *said, a_row("message", 3, kind="query", stable=False)))
    assert [(part.number, part.name, part.members, part.tokens) for part in parts] == [
        (1, "SOUL.md", 1, 5),
        (2, "history", 40, 400),
        (3, "message", 1, 3),
    ]
    assert [part.is_cached for part in parts] == [True, True, False]


def test_ten_thousand_small_files_make_a_picture_of_bounded_size():
    report = a_report(tuple(a_row(f"notes/{n}.md", 3) for n in range(10_000)), window=100_000)
    assert len(bar(report, link="#s")) < 30_000
    assert len(treemap(parts_of(report.sections))) < 60_000


@given(sizes=st.lists(st.integers(1, 10**6), max_size=60))
def test_the_boxes_of_a_treemap_fill_it_to_scale_and_never_leave_it(sizes: list[int]):
    ordered = sorted(sizes, reverse=True)
    boxes = squarify(ordered, 1000, 360)
    assert len(boxes) == len(ordered)
    for size, box in zip(ordered, boxes, strict=True):
        assert isclose(box.width * box.height, 360_000 * size / sum(ordered), rel_tol=1e-6)
        assert min(box.x, box.y, box.width, box.height) >= 0
        assert box.x + box.width <= 1000 + 1e-6
        assert box.y + box.height <= 360 + 1e-6


@given(report=reports)
def test_a_treemap_is_well_formed_and_says_what_each_area_is(report: Report):
    tree = parsed(treemap(parts_of(report.sections), link=lambda part: f"#s{part.number}"))
    assert min(numbers(tree, "width", "height", "x", "y")) >= 0
    areas = [*tree.iter(f"{SVG}a"), *tree.iter(f"{SVG}g")]
    assert len(areas) == sum(bool(part.whole) for part in parts_of(report.sections))
    assert all(area.findtext(f"{SVG}title") for area in areas)


def test_what_was_cut_from_a_file_is_dashed_and_to_scale():
    cut = Row(
        name="long.md", kind="document", raw_tokens=1_000, tokens=250, size=250, limit=250, state="truncated",
        reason="limit", stable=True, sha256="0" * 64,
    )  # fmt: skip
    tree = parsed(treemap(parts_of((cut,))))
    sent, lost = (
        [each for each in tree.iter() if kind in each.get("class", "").split()] for kind in ("part", "lost")
    )
    areas = [float(each.get("width", "0")) * float(each.get("height", "0")) for each in (*sent, *lost)]
    assert isclose(areas[0] / sum(areas), 0.25, rel_tol=0.01)
    assert "cut from 1,000" in (next(tree.iter(f"{SVG}title")).text or "")


turns = st.builds(
    lambda uses, cached, broken: Turn(
        name="7",
        uses=tuple(zip(("files", "history", "answer"), uses, strict=True)),
        cached=cached,
        broken_at=broken,
    ),
    st.tuples(*[st.integers(0, 10**6)] * 3),
    st.none() | st.integers(0, 10**6),
    st.just("") | NAMES,
)


@given(some=st.lists(turns, min_size=1, max_size=30), window=st.none() | st.integers(1, 10**7))
def test_a_stack_has_a_labelled_column_for_each_turn_and_nothing_negative(
    some: list[Turn], window: int | None
):
    tree = parsed(stack(some, window=window))
    assert min(numbers(tree, "width", "height", "x", "y")) >= 0
    told = [title.text for title in tree.iter(f"{SVG}title")]
    assert all(turn.describe() in told for turn in some)
    assert "turns" in (tree.get("aria-label") or "")


def test_the_mark_of_compaction_is_drawn_where_it_is_in_sight():
    turn = Turn(name="1", uses=(("history", 600),))
    assert f"compact {COMPACT_PERCENT} %" in stack([turn], window=1_000)
    assert "compact" not in stack([turn], window=1_000_000)


def test_five_thousand_turns_make_a_picture_of_bounded_size_that_keeps_the_breaks():
    many = [
        Turn(name=str(n), uses=(("history", n),), broken_at="SOUL.md" if n == 1_234 else "")
        for n in range(5_000)
    ]
    drawn = stack(many)
    assert len(drawn) < 120_000
    assert "the prefix broke at SOUL.md" in drawn


def test_no_turns_are_no_picture():
    assert not stack([])


@given(
    spent=st.lists(st.tuples(*[st.integers(0, 10**6)] * 4), max_size=10),
)
def test_turns_of_an_account_have_all_of_its_tokens_whatever_it_says(spent: list[tuple[int, int, int, int]]):
    account = [
        Spent(
            agent="kate", session="s", model="m", at=datetime(2026, 4, 24, tzinfo=UTC), input=max(all_, cached),
            cached=cached, output=output, counted=counted,
        )
        for all_, cached, output, counted in spent
    ]  # fmt: skip
    turns = turns_of(account)
    assert [turn.total for turn in turns] == [each.input + each.output for each in account]
    assert all(tokens >= 0 for turn in turns for _, tokens in turn.uses)
    assert len(classes_of(turns)) in (0, 4)


def test_a_part_says_that_it_is_estimated():
    part: Part = parts_of((a_row("SOUL.md", 1_000),))[0]
    assert part.describe(exact=False).startswith("1. SOUL.md: about 1,000 tokens")
