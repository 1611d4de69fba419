"""Entities as people write them, and where a question leads."""

from datetime import date, datetime, timedelta, timezone

import pytest

from carrel.memory.graph import build, named, walk
from carrel.memory.graph.pages import Link, read_page

TODAY = date(2026, 4, 24)
ANA = """<!-- aliases: Anita -->
# Ana Martínez
aliases: Ana, AM

- works_with: [[Luis]] (0.8, 2026-04-24)
- **part of**: [[Team Blue]], [[Harbour#Pier|the harbour]] (2026-04-24, seen twice)
- Moved to Lisbon with [[luis|her brother]] in May.
"""


def page(name, text):
    return read_page(f"memory/entities/{name}.md", text)


def graph_of(**texts):
    return build(page(name, text) for name, text in texts.items())


def reached(graph, query, now=TODAY):
    return {each.name: (each.hops, round(each.score, 3)) for each in walk(graph, query, now).entities}


def test_a_page_is_read_as_people_write_it():
    ana = page("ana-martinez", ANA)
    assert ana.names == ("Ana Martínez", "ana martinez", "Anita", "Ana", "AM")
    assert (ana.line, ana.end_line) == (2, 7)
    assert ana.links == (
        Link(target="Luis", line=5, relation="works_with", weight=0.8, day="2026-04-24"),
        Link(target="Team Blue", line=6, relation="part_of", weight=1.0, day="2026-04-24"),
        Link(target="Harbour", line=6, relation="part_of", weight=1.0, day="2026-04-24"),
        Link(target="luis", line=7, relation="mentions", weight=0.5),
    )


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("---\ntitle: Smith, Zoë\naliases: [Z]\n---\nText", "Smith, Zoë"),
        ("no heading at all", "team blue"),
        ("## [[Deep]] heading ##", "Deep]] heading"),
        ("", "team blue"),
        ("---\ntitle: {a: 1}\naliases: 7\n---\n", "team blue"),
        ("# \x00\ud800", "\x00\ud800"),
    ],
)
def test_an_entity_is_named_by_its_heading_its_title_or_its_file(text, name):
    assert page("team-blue", text).names[0] == name


@pytest.mark.parametrize(
    ("note", "weight", "day"),
    [
        ("(0.8, 2026-04-01)", 0.8, "2026-04-01"),
        ("(2026-04-01,0.8)", 0.8, "2026-04-01"),
        ("(.5)", 0.5, ""),
        ("(1)", 1.0, ""),
        ("(1.7)", 1.0, ""),
        ("(her boss)", 1.0, ""),
        ("(2026-13-45, -3, nan)", 1.0, ""),
        ("", 1.0, ""),
    ],
)
def test_what_stands_in_brackets_is_understood_or_left_alone(note, weight, day):
    (link,) = page("x", f"knows: [[Ana]] {note}").links
    assert (link.weight, link.day) == (weight, day)


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("what does ana do?", ["Ana"]),
        ("What does ANA'S brother do", ["Ana"]),
        ("banana", []),
        ("Señor Nuñez and SENOR NUNEZ", ["Señor Núñez"]),
        ("ana lopez, not ana", ["Ana López", "Ana"]),
        ("昨日東京タワーに行った", ["東京タワー"]),
        ("민수는 어디에", ["민수"]),
        ("is c++ or c# better than c or 京", ["C++"]),
        ("", []),
        ("\x00\ud800", []),
    ],
)
def test_entities_are_found_by_whole_names_whatever_their_case_and_accents(query, names):
    graph = graph_of(
        a="# Ana", b="# Ana López", c="# Señor Núñez", d="# 東京タワー", e="# 민수", f="# C++", g="# 京"
    )
    assert [graph.entities[number].name for number in named(graph, query)] == names


def test_a_walk_goes_two_hops_either_way_and_no_further():
    graph = graph_of(
        a="# A1\n- knows: [[B1]]", b="# B1\n- knows: [[C1]]", c="# C1\n- knows: [[D1]]", d="# D1"
    )
    assert reached(graph, "a1") == {"A1": (0, 1.0), "B1": (1, 0.5), "C1": (2, 0.25)}
    assert reached(graph, "d1") == {"D1": (0, 1.0), "C1": (1, 0.5), "B1": (2, 0.25)}


def test_cycles_and_links_to_oneself_end():
    graph = graph_of(a="# A1\n[[A1]] [[B1]]", b="# B1\nknows: [[A1]]\nknows: [[B1]]")
    assert reached(graph, "a1") == {"A1": (0, 1.0), "B1": (1, 0.5)}


def test_an_edge_loses_half_its_weight_in_ninety_days_and_is_not_walked_below_a_tenth():
    def after(days):
        day = TODAY - timedelta(days=days)
        return reached(graph_of(a=f"# A1\n- knows: [[B1]] ({day})"), "a1").get("B1")

    assert after(0) == (1, 0.5)
    assert after(90) == (1, 0.25)
    assert after(290) is not None
    assert after(300) is None
    assert after(-30) == (1, 0.5)


def test_an_edge_without_a_day_does_not_fade():
    graph = graph_of(a="# A1\n- knows: [[B1]]")
    assert reached(graph, "a1", date(2999, 1, 1))["B1"] == (1, 0.5)


def test_the_time_may_be_given_to_the_minute():
    now = datetime(2026, 4, 24, 23, 59, tzinfo=timezone(timedelta(hours=14)))
    assert reached(graph_of(a=f"# A1\n- knows: [[B1]] ({TODAY})"), "a1", now)["B1"] == (1, 0.5)


def test_leads_are_lines_of_files_with_the_best_first():
    graph = build(
        [
            page("ana", ANA),
            page("luis", "# Luis\nLikes tea.\n"),
            read_page("memory/2026-04-20.md", "x\n- [[Ana]] called", is_entity=False),
        ]
    )
    leads = {
        (lead.path, lead.line, lead.end_line): lead.score for lead in walk(graph, "Ana and Luis", TODAY).leads
    }
    assert list(leads)[:2] == [("memory/entities/ana.md", 2, 2), ("memory/entities/luis.md", 1, 1)]
    assert leads["memory/entities/ana.md", 5, 5] == 0.8
    assert leads["memory/entities/luis.md", 1, 2] == 0.5
    assert leads["memory/2026-04-20.md", 2, 2] == 0.5


def test_what_is_only_linked_to_joins_two_pages():
    graph = graph_of(a="# A1\n- part_of: [[Project X]]", b="# B1\n- part_of: [[project x]]")
    assert reached(graph, "a1")["B1"] == (2, 0.25)
    assert reached(graph, "PROJECT X") == {"Project X": (0, 1.0), "A1": (1, 0.5), "B1": (1, 0.5)}


def test_a_question_that_names_nobody_leads_nowhere():
    found = walk(graph_of(a="# Ana"), "hello there", TODAY)
    assert (found.entities, found.leads) == ((), ())


def test_the_order_of_pages_changes_nothing():
    pages = [
        page("ana", ANA),
        page("luis", "# Luis\n- knows: [[Zoe]]"),
        page("zoe", "# Zoe\n- knows: [[Ana]]"),
    ]
    assert walk(build(pages), "luis", TODAY) == walk(build(reversed(pages)), "luis", TODAY)


def test_ten_thousand_entities_around_one_are_walked_within_bounds():
    pages = [page(f"p{number}", f"# Person {number}\n- knows: [[Hub]]\n") for number in range(10_000)]
    found = walk(build([*pages, page("hub", "# Hub")]), "what of person 77?", TODAY)
    assert [each.name for each in found.entities[:2]] == ["Person 77", "Hub"]
    assert len(found.entities) == len(found.leads) == 200


def test_a_page_of_nothing_but_brackets_is_read():
    assert page("x", "[[" * 100_000).links == ()
    assert len(page("x", "[[a]] (" * 10_000).links) == 10_000
    assert page("x", "a " * 100_000 + ": [[b]]").links[0].relation == "mentions"


@pytest.mark.parametrize(
    ("days", "score"),
    [(0, 0.4), (45, 0.283), (90, 0.2), (180, 0.1), (270, 0.05), (271, None), (3_000, None)],
)
def test_what_is_left_of_an_edge_of_four_fifths(days, score):
    # 0.8 * 2 ** (-days / 90), and half of that for the hop; 270 days leave exactly 0.10 of the edge.
    page = f"# A1\n- knows: [[B1]] (0.8, {TODAY - timedelta(days=days)})"
    found = reached(graph_of(a=page), "a1").get("B1")
    assert found == (None if score is None else (1, score))


def test_an_edge_that_is_hidden_is_kept_and_comes_back_when_it_is_observed_again():
    old = TODAY - timedelta(days=1_000)
    graph = graph_of(a=f"# A1\n- knows: [[B1]] (0.8, {old})")
    assert [edge.target for entity in graph.entities for edge in entity.edges]
    assert "B1" not in reached(graph, "a1")
    assert "B1" in reached(graph, "a1", old + timedelta(days=30))
