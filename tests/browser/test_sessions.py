"""Sessions: listed, found, read from end to end, and taken elsewhere."""

from playwright.sync_api import Page, expect
from tests.browser.conftest import Look, Studio
from tests.stubs import studio as stub

from carrel.app import Workspace
from carrel.runtime.model import Spend

MANY = 650


def test_sessions_of_all_agents_are_listed_the_last_used_first(page: Page) -> None:
    page.goto("sessions")
    titles = page.locator("tbody tr td:first-child strong").all_inner_texts()
    assert "Kiln & garden" in titles
    assert len(titles) == 5
    page.get_by_role("link", name="Kiln & garden").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Kiln & garden")


def test_a_word_that_was_said_leads_to_its_message(page: Page) -> None:
    page.goto("sessions?agent=kate")
    page.get_by_label("Find in titles and in what was said").fill("PostgreSQL")
    page.keyboard.press("Enter")
    hit = page.locator("article.card", has=page.locator("mark")).first
    expect(hit.locator("mark").first).to_have_text("PostgreSQL")
    hit.get_by_role("link").first.click()
    expect(page.locator("[data-chosen]")).to_contain_text("PostgreSQL")
    expect(page.locator("[data-chosen]")).to_be_in_viewport()


def test_the_transcript_tells_speakers_and_where_memory_was_written(page: Page) -> None:
    page.goto("sessions/launch?agent=kate")
    first = page.locator(".said").first
    expect(first.locator(".speaker")).to_have_text("You")
    expect(page.locator(".said").nth(1).locator(".speaker")).to_have_text("Kate")
    expect(first.locator(".learnt")).to_contain_text("The launch is on 12 May.")
    first.get_by_role("link", name="diff and undo").click()
    expect(page.locator(".diff")).to_contain_text("The launch is on 12 May.")


def test_calls_of_tools_and_their_results_are_folded(page: Page) -> None:
    page.goto("sessions/tools?agent=kate")
    call = page.locator("details.call")
    expect(call.locator("pre")).to_be_hidden()
    call.locator("summary").click()
    expect(call.locator("pre")).to_contain_text("Ana's phone")
    expect(page.locator(".said-tool pre")).to_be_hidden()


def test_a_compaction_is_a_boundary_with_its_summary(own_studio: Studio, own_page: Page) -> None:
    with Workspace.open(own_studio.root, agent="kate", environ=own_studio.environ) as kate:
        kate.record("deep", [message for n in range(60) for message in turn(n, " and then" * 90)])
        done = kate.compact("deep")
    own_page.goto(f"sessions/deep?agent=kate&before={done.through + 5}")
    boundary = own_page.get_by_role("region", name="History was compacted here")
    expect(boundary).to_be_visible()
    before = own_page.locator(".said:has(+ .boundary) .anchor")
    expect(before).to_have_text(str(done.through))
    boundary.locator("summary").click()
    expect(boundary.locator("pre")).not_to_be_empty()


def turn(number: int, more: str = "") -> list[dict[str, str]]:
    return [
        {"role": "user", "content": f"Question {number}{more}", "message_id": f"q{number}"},
        {"role": "assistant", "content": f"Answer {number}{more}", "message_id": f"a{number}"},
    ]


def test_a_long_session_scrolls_to_its_end_and_pages_without_scripts(own_studio: Studio, look: Look) -> None:
    with Workspace.open(own_studio.root, agent="kate", environ=own_studio.environ) as kate:
        kate.record("deep", [message for n in range(MANY) for message in turn(n)])
    page = look(own_studio, path="sessions/deep?agent=kate")
    expect(page.locator(".said").first).to_contain_text("Question 0")
    while page.locator("[data-more]").count():
        page.mouse.wheel(0, 20_000)
        page.wait_for_timeout(100)
    expect(page.locator(".said")).to_have_count(2 * MANY)
    expect(page.locator(".said").last).to_contain_text(f"Answer {MANY - 1}")
    plain = look(own_studio, scripts=False, path="sessions/deep?agent=kate")
    expect(plain.locator(".said")).to_have_count(100)
    plain.get_by_role("link", name="Later messages").click()
    expect(plain.locator(".said").first).to_contain_text("Question 50")
    plain.get_by_label("Go to message").fill("1201")
    plain.get_by_role("button", name="Go", exact=True).click()
    expect(plain.locator(".said").first).to_contain_text("Question 600")
    plain.get_by_role("link", name="Last", exact=True).click()
    expect(plain.locator(".said").last).to_contain_text(f"Answer {MANY - 1}")
    plain.goto("sessions/deep?agent=kate&m=q300#m-q300")
    expect(plain.locator("[data-chosen]")).to_contain_text("Question 300")


def test_the_window_is_told_with_a_forecast_pictures_and_their_tables(page: Page) -> None:
    page.goto("sessions/launch?agent=kate")
    page.get_by_role("link", name="Window and cost").click()
    expect(page.locator(".tile", has_text="Compacted")).to_be_visible()
    expect(page.locator(".wide svg.bar")).to_be_visible()
    expect(page.locator(".wide svg.stack")).to_have_count(2)
    page.locator("summary", has_text="The same as a table").first.click()
    expect(page.locator("details[open] tbody tr")).to_have_count(6)


def test_what_came_from_the_providers_cache_is_a_line_over_the_calls(
    own_studio: Studio, own_page: Page
) -> None:
    with Workspace.open(own_studio.root, agent="kate", environ=own_studio.environ) as kate:
        for number in range(4):
            said = [{"role": "user", "content": f"And {number}?"}, {"role": "assistant", "content": "Yes."}]
            kate.record("priced", said, Spend(input=1_000 + number, cached=900 * (number != 2), output=9))
    own_page.goto("sessions/priced?agent=kate&view=window")
    expect(own_page.locator(".wide svg.stack .cache-line")).to_have_count(1)
    own_page.locator("summary", has_text="The same as a table").last.click()
    rows = own_page.locator("details[open] tbody tr")
    expect(rows).to_have_count(4)
    expect(rows.nth(1)).to_contain_text("900")
    expect(rows.nth(2)).to_contain_text("1,002")


def test_a_session_is_forked_exported_and_moved_to_the_trash(own_page: Page) -> None:
    own_page.goto("sessions/launch?agent=kate")
    own_page.locator("summary", has_text="Go on, export").click()
    with own_page.expect_download() as saved:
        own_page.get_by_role("link", name="Save as a page").click()
    assert saved.value.suggested_filename == "launch.html"
    own_page.get_by_label("up to message").fill("2")
    own_page.get_by_role("button", name="Fork").click()
    own_page.wait_for_url(lambda url: "sessions/launch?" not in url)
    expect(own_page.locator(".said")).to_have_count(2)
    forked = own_page.url
    own_page.locator("summary", has_text="Go on, export").click()
    own_page.get_by_role("button", name="Move to the trash").click()
    expect(own_page.get_by_role("heading", level=1)).to_have_text("Sessions")
    answer = own_page.request.get(forked)
    assert answer.status == 404


def test_a_log_that_others_wrote_badly_is_shown_all_the_same(own_studio: Studio, own_page: Page) -> None:
    log = own_studio.root / "agents/kate/sessions/odd.log.jsonl"
    log.write_text(
        '{"type":"session","version":1,"id":"odd","timestamp":"never"}\n'
        '{"type":"entry","timestamp":"0001-01-01T00:00:00+14:00","role":"user","content":"Early","message_id":"a\\"b"}\n'
        '{"type":"entry","timestamp":"soon","role":"assistant","content":"\\u0000 \\ud800","message_id":"c"}\n'
    )
    own_page.goto("sessions?agent=kate")
    own_page.goto("sessions/odd?agent=kate")
    expect(own_page.locator(".said")).to_have_count(2)
    expect(own_page.locator(".said").first).to_contain_text("Early")


def test_others_read_what_was_said_before_them_and_no_list(page: Page) -> None:
    page.goto("sessions?scope=shared")
    expect(page.get_by_role("heading", name="Others see no list of sessions")).to_be_visible()
    page.goto("sessions/group?agent=kate&scope=shared")
    expect(page.locator(".said")).to_have_count(1)
    assert stub.DREAMT not in page.content()
    assert page.request.get(page.url.replace("group", "launch")).status == 404
