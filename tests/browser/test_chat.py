"""Chat: a turn as it happens with the offline model, what it knew, and what is kept of it or not."""

import re

from playwright.sync_api import Page, expect
from tests.browser.conftest import Look, Studio


def said(page: Page, role: str):
    return page.locator(f".talk .said-{role}:not(.live-said)")


def send(page: Page, text: str) -> None:
    page.get_by_label("Message to Kate").fill(text)
    page.keyboard.press("Enter")


def test_a_message_is_answered_and_the_answer_is_rendered_by_the_server(own_page: Page) -> None:
    own_page.goto("chat?agent=kate")
    send(own_page, "Which phone does Ana use?")
    expect(said(own_page, "assistant").last).to_contain_text("Ana uses a Samsung, not an iPhone.")
    expect(said(own_page, "assistant").last.locator("li")).not_to_have_count(0)
    expect(own_page.locator(".live-said")).to_have_count(0)


def test_the_session_is_in_the_address_after_its_first_message(own_page: Page) -> None:
    own_page.goto("chat?agent=kate")
    transcript = own_page.get_by_role("link", name="Transcript")
    expect(transcript).to_have_count(0)  # there is none yet
    send(own_page, "Which phone does Ana use?")
    expect(said(own_page, "assistant")).not_to_have_count(0)
    expect(own_page).to_have_url(re.compile("session=chat-"))
    expect(transcript).to_be_visible()
    assert own_page.request.get(str(transcript.get_attribute("href"))).ok
    own_page.reload()
    expect(said(own_page, "user").last).to_contain_text("Which phone does Ana use?")


def test_what_the_agent_knew_stands_at_the_side_with_sections_and_recall(own_page: Page) -> None:
    own_page.goto("chat?agent=kate&session=launch")
    send(own_page, "Which phone does Ana use?")
    side = own_page.get_by_role("complementary", name="What the agent knew")
    expect(side).to_contain_text("of 32,000 tokens")
    expect(side.locator(".knew-name", has_text="handbook.md").first).to_be_visible()
    expect(side.locator(".chip", has_text="cut").first).to_be_visible()
    expect(side.get_by_role("heading", name="Recalled")).to_be_visible()
    expect(side.get_by_role("img")).to_be_visible()


def test_shift_and_enter_begin_a_line_and_send_nothing(page: Page) -> None:
    page.goto("chat?agent=kate")
    box = page.get_by_label("Message to Kate")
    box.fill("one")
    box.press("Shift+Enter")
    box.type("two")
    assert box.input_value() == "one\ntwo"
    expect(page.locator(".talk .said")).to_have_count(0)


def test_a_message_is_remembered_in_ones_own_words(own_page: Page) -> None:
    own_page.goto("chat?agent=kate&session=launch")
    said(own_page, "user").first.get_by_role("button", name="Remember this").click()
    dialog = own_page.get_by_role("dialog", name="Remember this")
    dialog.get_by_label("What to remember").fill("The launch party is on a boat.")
    dialog.get_by_role("button", name="Remember").click()
    expect(own_page.locator(".toast")).to_contain_text("Remembered.")
    own_page.goto("activity?view=changes&path=memory/kate.md")
    own_page.get_by_role("link", name="Look, undo").first.click()
    expect(own_page.locator(".diff")).to_contain_text("The launch party is on a boat.")


def test_what_was_learnt_from_a_message_is_forgotten(own_page: Page) -> None:
    own_page.goto("chat?agent=kate&session=launch")
    first = said(own_page, "user").first
    expect(first.locator(".learnt")).to_contain_text("The launch is on 12 May.")
    first.get_by_role("button", name="Forget that").click()
    dialog = own_page.get_by_role("dialog", name="Forget that")
    expect(dialog.locator("li")).to_have_text("The launch is on 12 May.")
    dialog.get_by_role("button", name="Forget").click()
    expect(own_page.locator(".toast")).to_contain_text("Forgotten")
    own_page.reload()
    expect(own_page.locator(".learnt", has_text="The launch is on 12 May.")).to_have_count(0)


def test_markup_in_a_message_stays_text_while_it_streams_and_after(own_page: Page) -> None:
    own_page.goto("chat?agent=kate")
    send(own_page, "Remember that <img src=x onerror=alert(1)> is **bold**.")
    expect(said(own_page, "assistant").last).to_be_visible()
    expect(own_page.locator(".talk img")).to_have_count(0)
    expect(said(own_page, "user").last).to_contain_text("<img src=x onerror=alert(1)>")
    expect(said(own_page, "user").last.locator("strong")).to_have_text("bold")


def test_a_slow_answer_is_stopped_and_what_was_said_is_kept(own_page: Page) -> None:
    own_page.goto("chat?agent=kate&session=launch")
    own_page.route("**/chat?agent=kate", lambda _: None)  # nobody answers
    send(own_page, "Are you there?")
    own_page.get_by_role("button", name="Stop").click()
    expect(own_page.locator(".toast")).to_contain_text("Stopped")
    expect(own_page.get_by_role("button", name="Send")).to_be_enabled()


def test_without_scripts_the_page_says_that_chat_needs_them(studio: Studio, look: Look) -> None:
    page = look(studio, scripts=False, path="chat?agent=kate&session=launch")
    assert "Chat needs JavaScript." in page.content()
    expect(page.get_by_role("button", name="Send")).to_be_hidden()
    expect(page.locator(".said").first).to_contain_text("Remember that the launch is on 12 May.")


def test_others_see_only_what_was_said_before_them(page: Page) -> None:
    page.goto("chat?agent=kate&session=group&scope=shared")
    expect(page.locator(".said")).to_have_count(1)
    page.goto("chat?agent=kate&session=launch&scope=shared")
    expect(page.locator(".said")).to_have_count(0)
    assert "12 May" not in page.locator("[data-talk]").inner_text()
