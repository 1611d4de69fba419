"""What holds for any Markdown and any transcript: limits are kept, and nothing is left out in silence."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime

from hypothesis import example, given, settings
from hypothesis import strategies as st

from carrel.files.ephemeral import EphemeralFiles
from carrel.markdown.outline import outline
from carrel.memory.concepts import LONGEST_TAG, MOST_TAGS, concept_tags
from carrel.tools.access import Access
from carrel.tools.excerpt import around, clip, words_of
from carrel.tools.files import file_tools
from carrel.tools.page import MOST_CHARACTERS
from carrel.tools.registry import Registry
from carrel.tools.self_report import Sources, looking, self_report_tools
from carrel.tools.session_logs import LoggedEntry, LogHit, LogPage, SessionRow, session_log_tools
from carrel.workspace.document import Documents
from carrel.workspace.layout import load_layout
from carrel.workspace.scope import Scope

LIMIT = 6_144
SOUL = 2_048

words = st.text(st.characters(exclude_categories=("Cs",)), max_size=30)
marks = st.sampled_from(
    ["- ", "* ", "1. ", "  - ", "# ", "## ", "### ", "```", "~~~", "", "  ", "> ", "---", "\t"]
)
lines = st.builds(
    lambda mark, text, times: mark + text * times, marks, words, st.sampled_from([1, 1, 1, 1, 40, 4000])
)
markdown = st.lists(lines, max_size=60).map("\n".join) | st.text(st.characters(exclude_categories=("Cs",)))


def agent(files):
    look = looking(Documents(EphemeralFiles(files)), load_layout("nexo"), Scope.MAIN)
    now = datetime(2026, 4, 24, tzinfo=UTC)
    return Registry(
        self_report_tools(
            Sources(
                agent_id="k", model=None, workspace_dir="/w", look=look, now=lambda: now, scope=Scope.MAIN
            )
        )
    )


def as_read(text):
    """The text of a document: without its byte order mark, trailing white space and front matter."""
    document = Documents(EphemeralFiles({"a.md": text})).reading().document("a.md")
    return document.text


@given(markdown, st.none() | words)
@settings(max_examples=200, deadline=None)
@example("## A\n- " + "\x01" * 9000, None)
@example("#" * 5 + " \n" * 900 + "- x\n" * 30, None)
@example("\n".join(f"# {n}" for n in range(2000)), None)
def test_knowledge_keeps_to_its_limits_and_never_drops_silently(text, wanted):
    told = agent({"MEMORY.md": text}).call("what_do_i_know", {"filter": wanted})
    assert len(json.dumps(told, ensure_ascii=False, separators=(",", ":")).encode()) <= LIMIT
    assert all(len(section["bullets"]) <= 10 for section in told["sections"])
    key = (wanted or "").strip().casefold()
    known = [s for s in outline(as_read(text)) if any(key in name.casefold() for name in s.path) or not key]
    whole = [{"heading": section.heading, "bullets": list(section.bullets)} for section in known]
    assert told["truncated"] == (told["sections"] != whole)
    for section, original in zip(told["sections"], whole, strict=False):
        for bullet, said in zip(section["bullets"], original["bullets"], strict=False):
            assert bullet == said or (bullet.endswith("…") and said.startswith(bullet[:-1]))


@given(markdown)
@settings(max_examples=100, deadline=None)
@example("e\u0301" * 3000)
@example("👩\u200d" * 3000)
def test_a_soul_is_quoted_within_its_limit(text):
    excerpt = agent({"SOUL.md": text}).call("who_am_i")["soul_excerpt"]
    soul = as_read(text)
    assert len(excerpt) <= SOUL
    assert excerpt == soul if len(soul) <= SOUL else soul.startswith(excerpt[:-1])
    assert len(soul) <= SOUL or (excerpt.endswith("…") and len(excerpt) > SOUL - 20)


@given(st.text())
@settings(max_examples=200, deadline=None)
def test_an_outline_never_fails_and_makes_nothing_up(text):
    sections = outline(text)
    pieces = [piece for s in sections for piece in (s.heading, *s.bullets)]
    squeezed = "".join(text.split())
    assert all("".join(piece.split()) in squeezed for piece in pieces)
    assert [s.line for s in sections] == sorted(s.line for s in sections)
    assert all(s.path[-1:] == ((s.heading,) if s.level else ()) for s in sections)


@given(
    st.lists(
        st.text(st.characters(exclude_characters="`~#\n", exclude_categories=("Cs", "Z", "C")), min_size=1)
    )
)
@settings(max_examples=100, deadline=None)
def test_every_bullet_of_a_plain_list_is_found(texts):
    texts = ["x" + text for text in texts]
    (section,) = outline("## A\n" + "".join(f"- {text}\n" for text in texts))
    assert list(section.bullets) == texts


@given(st.text())
@settings(max_examples=200, deadline=None)
def test_tags_are_few_small_and_always_the_same(text):
    tags = concept_tags(text)
    assert tags == concept_tags(text)
    assert len(tags) <= MOST_TAGS
    assert len(set(tags)) == len(tags)
    assert all(tag == tag.lower() and 0 < len(tag) <= LONGEST_TAG for tag in tags)
    assert not any(tag.isdecimal() for tag in tags)


class Transcript:
    """One session of so many entries."""

    def __init__(self, total: int) -> None:
        self.total = total
        self.current = "s"

    def sessions(self, *, limit: int, offset: int) -> tuple[Sequence[SessionRow], int]:
        rows = [SessionRow(id=f"s{n}") for n in range(self.total)]
        return rows[offset : offset + limit], self.total

    def page(self, session: str, *, first: int, limit: int) -> LogPage | None:
        numbers = range(first, min(self.total, first + limit - 1) + 1)
        entries = [LoggedEntry(number=n, timestamp="", role="user", content=str(n)) for n in numbers]
        return LogPage(header=None, total=self.total, entries=entries) if session == "s" else None

    def search(self, words: str, *, limit: int) -> Sequence[LogHit]:
        raise AssertionError(f"nobody searches for {words}, {limit} times")


def visited(total, limit, rows, key, cursor, **asked):
    tools = Registry(session_log_tools(Transcript(total)))
    more, found = None, []
    while True:
        page = tools.call("session_logs", {**asked, "limit": limit, cursor: more})
        assert len(page[rows]) <= max(1, min(limit, 500))
        found.append([row[key] for row in page[rows]])
        more = page["more"]
        if more is None:
            return found


totals = st.integers(0, 1200)
limits = st.integers(-1, 700)


@given(totals, limits)
@settings(max_examples=60, deadline=None)
@example(1000, 500)
@example(1001, 500)
@example(0, 50)
def test_paging_forward_visits_every_entry_once(total, limit):
    pages = visited(total, limit, "entries", "number", "offset", action="read_session", session_id="s")
    assert [number for page in pages for number in page] == list(range(1, total + 1))


@given(totals, limits)
@settings(max_examples=60, deadline=None)
@example(1000, 500)
def test_paging_back_visits_every_entry_once(total, limit):
    pages = visited(total, limit, "entries", "number", "before", action="recent")
    assert [number for page in reversed(pages) for number in page] == list(range(1, total + 1))


@given(totals, limits)
@settings(max_examples=60, deadline=None)
def test_paging_over_sessions_visits_each_once(total, limit):
    pages = visited(total, limit, "sessions", "session_id", "offset", action="list_sessions")
    assert [session for page in pages for session in page] == [f"s{n}" for n in range(total)]


texts = st.lists(
    st.sampled_from(
        [
            "a\n",
            "\n",
            "é\r\n",
            "x" * 31_999 + "\n",
            "x" * 32_000,
            "e\u0301" * 20_000,
            "\u2028",
            "long " * 9000,
        ]
    ),
    max_size=12,
).map("".join)


@given(texts, st.integers(-1, 9))
@settings(max_examples=60, deadline=None)
def test_the_pages_of_a_file_are_the_file(text, limit):
    tools = Registry(file_tools(Access(reach=EphemeralFiles({"a.md": text}))))
    read, place = "", {"offset": 1, "column": 1}
    while place["offset"] is not None:
        page = tools.call("read_file", {"path": "a.md", "limit": limit, **place})
        assert len(page["text"]) <= MOST_CHARACTERS
        assert page["text"] or not text
        assert page["truncated"] == (page["note"] is not None)
        read += page["text"]
        place = {"offset": page["more"], "column": page["more_column"]}
    assert read == text


@given(st.text(max_size=400), st.text(max_size=6), st.integers(20, 60))
@settings(max_examples=200, deadline=None)
@example("ẞ" * 100 + "İx", "x", 20)
@example("\u0301" * 300, "a", 20)
def test_excerpts_keep_to_their_limit_and_are_of_the_text(text, query, limit):
    cut, is_cut = clip(text, limit)
    assert len(cut) <= limit
    assert text.startswith(cut.removesuffix("…") if is_cut else cut)
    preview = around(text, words_of(query), limit)
    assert len(preview) <= limit
    assert preview.strip("…") in text
