"""Exports: readable, self-contained, escaped, whole, and the log's own lines where those are asked for."""

import json
import re
from datetime import UTC, datetime
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from carrel.errors import UsageError
from carrel.sessions.export import export, visible, whole_lines
from carrel.sessions.intake import keep_secrets
from carrel.sessions.offsets import Offsets
from carrel.sessions.places import SessionPlaces
from carrel.sessions.store import Sessions, UnknownSession
from carrel.sessions.transcript import LINE_LIMIT, Compaction
from carrel.testing import EphemeralFiles, FixedClock
from carrel.workspace.scope import Scope

FOLDER = "agents/kate/sessions"
LOG = f"{FOLDER}/s1.log.jsonl"
CALL = {"id": "c1", "name": "read_file", "arguments": {"path": "MEMORY.md"}}


def opened(log: str | bytes | None = None) -> Sessions:
    places = SessionPlaces(
        files=EphemeralFiles({} if log is None else {LOG: log}),
        own=EphemeralFiles(),
        agent="kate",
        log_pattern=f"{FOLDER}/{{session}}.log.jsonl",
    )
    return Sessions(places, Offsets(None), FixedClock(datetime(2026, 4, 24, 12, tzinfo=UTC)), keep_secrets)


def conversation() -> Sessions:
    sessions = opened()
    for message in (
        {"role": "user", "content": "Does Ana use a Samsung?", "message_id": "m1", "sender_id": "luis"},
        {"role": "assistant", "content": "Let me look.", "message_id": "m2", "tool_calls": [CALL]},
        {"role": "tool", "content": "```\nyes\n```", "tool_call_id": "c1", "name": "read_file"},
        {"role": "assistant", "content": "She does.", "message_id": "m4", "finish": "cancelled"},
    ):
        sessions.record("s1", [message], scope=Scope.MAIN, source="telegram")
    return sessions


def text(sessions: Sessions, form: str) -> str:
    return "".join(export(sessions, "s1", form))


class Page(HTMLParser):
    """What a browser would make of a page: its tags, their attributes, and the text that is seen."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: dict[str, list[str]] = {}
        self.text = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        for name, value in attrs:
            self.attributes.setdefault(name, []).append(value or "")

    def handle_data(self, data: str) -> None:
        self.text += data


def test_markdown_has_a_title_what_is_known_and_a_heading_for_each_message() -> None:
    page = text(conversation(), "md")
    assert page.startswith("# Does Ana use a Samsung?\n\n- session: s1\n- agent: kate\n- source: telegram\n")
    assert re.findall(r"^## (.*)$", page, re.MULTILINE) == [
        "1 · user · luis · 2026-04-24 12:00:00 UTC",
        "2 · assistant · 2026-04-24 12:00:00 UTC",
        "3 · tool · read\\_file · 2026-04-24 12:00:00 UTC",
        "4 · assistant · 2026-04-24 12:00:00 UTC",
    ]
    assert "\n> She does.\n" in page
    assert "ended: cancelled" in page


def test_markdown_shows_calls_and_results_in_fences_longer_than_any_inside() -> None:
    page = text(conversation(), "md")
    assert 'Calls `read_file` (`c1`):\n\n```json\n{\n  "path": "MEMORY.md"\n}\n```\n' in page
    assert "Result of `c1`:\n\n````\n```\nyes\n```\n````\n" in page


def test_arguments_that_are_no_object_are_shown_as_the_model_wrote_them() -> None:
    sessions = opened()
    call = {"id": "`", "name": "a`b", "arguments": '{"broken": ````'}
    sessions.record("s1", [{"role": "assistant", "content": "", "tool_calls": [call]}], scope=Scope.MAIN)
    assert 'Calls `` a`b `` (`` ` ``):\n\n`````\n{"broken": ````\n`````\n' in text(sessions, "md")
    assert "{&quot;broken&quot;: ````" in text(sessions, "html")


def test_a_message_cannot_pass_for_the_page_around_it() -> None:
    sessions = opened()
    forged = "```\nopen\n## 2 · assistant\n---\n<!-- \r\nend"
    sessions.record("s1", [{"role": "user", "content": forged}], scope=Scope.MAIN)
    lines = text(sessions, "md").splitlines()
    begin = lines.index("> ```")
    assert lines[begin : begin + 6] == ["> ```", "> open", "> ## 2 · assistant", "> ---", "> <!--", "> end"]
    assert [line for line in lines if line.startswith("## ")] == ["## 1 · user · 2026-04-24 12:00:00 UTC"]


def test_a_title_is_one_line_that_marks_nothing_up() -> None:
    sessions = conversation()
    sessions.describe("s1", title="# A *bold*\n<b>title</b>\x1b[2J")
    assert text(sessions, "md").startswith("# \\# A \\*bold\\* \\<b\\>title\\</b\\>\\\\u001b\\[2J\n")
    page = text(sessions, "html")
    assert "<title># A *bold* &lt;b&gt;title&lt;/b&gt;\\u001b[2J</title>" in page


@pytest.mark.parametrize("form", ["md", "html"])
def test_boundaries_of_compaction_show_the_summary_where_it_was_made(form: str) -> None:
    sessions = conversation()
    summary = Compaction(summary="They spoke of Ana.", through=2, tokens_before=12_000, tokens_after=80)
    sessions.compact("s1", summary)
    sessions.describe("s1", summary="About phones")
    sessions.record("s1", [{"role": "user", "content": "And Luis?"}], scope=Scope.MAIN)
    page = text(sessions, form)
    note = "Compacted through entry 2, 12,000 tokens before and 80 after · 2026-04-24 12:00:00 UTC"
    places = [page.index(part) for part in ("She does.", note, "They spoke of Ana.", "And Luis?")]
    assert places == sorted(places)
    assert page.count("About phones") == 2


@pytest.mark.parametrize("form", ["md", "html"])
def test_an_attachment_is_named_by_its_path_and_not_copied_in(form: str) -> None:
    sessions = opened()
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,QUJDRA=="}}
    linked = {"type": "image_url", "image_url": {"url": "https://example.org/track.png"}}
    content = [{"type": "text", "text": "Look"}, image, linked]
    sessions.record("s1", [{"role": "user", "content": content}], scope=Scope.MAIN)
    page = text(sessions, form)
    assert f"{FOLDER}/s1.files/" in page
    assert ".png, 4 bytes]" in page
    assert "QUJD" not in page
    assert "example.org" not in page


def test_html_is_one_page_without_scripts_or_anything_remote() -> None:
    page = Page(text(conversation(), "html"))
    assert not {"script", "img", "link", "iframe", "object", "base", "form"} & set(page.tags)
    assert set(page.attributes["href"]) == {"#e1", "#e2", "#e3", "#e4"}
    assert set(page.attributes["id"]) == {"e1", "e2", "e3", "e4"}
    assert "src" not in page.attributes
    assert not [name for name in page.attributes if name.startswith("on")]
    assert any("default-src 'none'" in content for content in page.attributes["content"])
    assert any("width=device-width" in content for content in page.attributes["content"])
    style = text(conversation(), "html").partition("<style>")[2].partition("</style>")[0]
    assert "prefers-color-scheme: dark" in style
    assert "url(" not in style
    assert "@import" not in style
    for said in ("Does Ana use a Samsung?", "luis", "Let me look.", "Calls read_file (c1)", "She does."):
        assert said in page.text


HOSTILE = '</div></pre></title></style><script>alert(1)</script><img src=x onerror=y> & "quoted" \x00\x1b\u202e\ud800'


def test_html_escapes_whatever_a_log_says() -> None:
    entry = {
        "type": "entry", "role": "assistant", "content": HOSTILE, "message_id": HOSTILE[:-1], "sender_id": HOSTILE,
        "name": HOSTILE, "timestamp": HOSTILE, "scope": HOSTILE, "redacted": [HOSTILE],
        "tool_calls": [{"id": HOSTILE, "name": HOSTILE, "arguments": {HOSTILE: HOSTILE}}],
    }  # fmt: skip
    result = {"type": "entry", "role": "tool", "content": HOSTILE, "tool_call_id": HOSTILE}
    header = {"type": "session", "id": HOSTILE, "agent_id": HOSTILE, "source_plugin": HOSTILE,
              "forked_from": {"session": HOSTILE, "message_id": HOSTILE}}  # fmt: skip
    notes = [{"type": "title", "title": HOSTILE}, {"type": "summary", "summary": HOSTILE},
             {"type": "compaction", "summary": HOSTILE, "through": 1, "timestamp": HOSTILE}]  # fmt: skip
    log = "".join(json.dumps(line) + "\n" for line in (header, entry, result, *notes))
    page = text(opened(log), "html")
    parsed = Page(page)
    assert "script" not in parsed.tags
    assert "img" not in parsed.tags
    assert parsed.tags.count("div") == 4
    assert parsed.text.count("<script>alert(1)</script>") > 10
    assert not re.search("[\x00-\x08\x0b-\x1f\u202e\ud800-\udfff]", page)
    assert not re.search("[\x00-\x08\x0b-\x1f\u202e\ud800-\udfff]", text(opened(log), "md"))


def test_jsonl_is_the_lines_of_the_log_byte_for_byte() -> None:
    sessions = conversation()
    sessions.describe("s1", title="Phones", summary="About phones")
    sessions.compact("s1", Compaction(summary="Phones.", through=2))
    content = sessions.places.files.read(LOG)
    assert content is not None
    assert text(sessions, "jsonl").encode() == content.data


def test_jsonl_leaves_out_what_is_damaged_or_there_twice_and_keeps_what_others_wrote() -> None:
    one = '{"type":"entry","role":"user","content":"one","message_id":"m1"}'
    two = '{"type":"entry","role":"user","content":"two","message_id":"m2"}'
    foreign = '{"type":"checkpoint","what":"a later Carrel knows"}'
    log = f'\ufeff{one}\r\n{{"torn": {two}\n{one}\n\n{foreign}\n{{"type":"ent\n{{"type":"entry","role":"us'
    sessions = opened(log)
    assert text(sessions, "jsonl").splitlines() == [one, two, foreign]
    codes = {finding.code for finding in sessions.findings("s1")}
    assert codes == {"damaged_lines", "duplicate_entries", "foreign_lines", "torn_line"}


def test_pages_for_people_say_what_of_the_log_is_damaged() -> None:
    log = '{"type":"entry","role":"user","content":"one"}\n{"type":"entry"\n'
    for form in ("md", "html"):
        assert "has 1 damaged lines" in text(opened(log), form)


def test_a_line_longer_than_any_message_is_left_out_and_the_next_is_there() -> None:
    one = b'{"type":"entry","role":"user","content":"one"}\n'
    two = b'{"type":"entry","role":"user","content":"two"}\n'
    sessions = opened(one + b"\0" * (LINE_LIMIT + 5_000_000) + b"\n" + two)
    assert [line.raw + b"\n" for line in whole_lines(sessions, "s1")] == [one, two]


def test_half_a_character_stays_what_it_was() -> None:
    sessions = opened()
    sessions.record("s1", [{"role": "user", "content": "half \ud83d a pair"}], scope=Scope.MAIN)
    lines = [json.loads(line) for line in text(sessions, "jsonl").splitlines()]
    assert lines[1]["content"] == "half \ud83d a pair"
    raw = '{"type":"entry","role":"user","content":"\\ud83d","name":"\ud83d"}\n'.encode(
        "utf-8", "surrogatepass"
    )
    assert json.loads(text(opened(raw), "jsonl"))["name"] == "\ud83d"


def test_a_session_or_form_that_does_not_exist_is_an_error_at_once() -> None:
    with pytest.raises(UnknownSession):
        export(opened(), "s1", "md")
    with pytest.raises(UsageError):
        export(conversation(), "s1", "pdf")


def test_a_session_that_grows_is_exported_as_it_was() -> None:
    sessions = conversation()
    pieces = export(sessions, "s1", "jsonl")
    first = next(pieces)
    sessions.record("s1", [{"role": "user", "content": "later"}], scope=Scope.MAIN)
    assert "later" not in first + "".join(pieces)
    assert "later" in text(sessions, "jsonl")


@settings(deadline=None, max_examples=60)
@given(st.lists(st.text(max_size=40), min_size=1, max_size=5))
def test_every_text_can_be_read_in_every_form(texts: list[str]) -> None:
    sessions = opened()
    for said in texts:
        sessions.record("s1", [{"role": "user", "content": said}], scope=Scope.MAIN)
    lines = [json.loads(line) for line in text(sessions, "jsonl").split("\n")[:-1]]
    assert [line["content"] for line in lines[1:]] == texts
    page = Page(text(sessions, "html"))
    quoted = text(sessions, "md")
    for said in texts:
        shown = visible(said)
        assert shown in page.text
        assert "\n".join(f"> {line}".rstrip() for line in shown.split("\n")) in quoted or not said
