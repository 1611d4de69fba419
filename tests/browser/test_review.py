"""What waits for the owner's word, in the browser: looked at, approved, rejected, in other words, many at once."""

import pytest
from playwright.sync_api import Page, expect
from tests.browser.conftest import Studio, follow
from tests.stubs.studio import proposal

from carrel.app import Workspace


def propose(studio: Studio, *texts: str) -> None:
    with Workspace.open(studio.root, agent="kate", environ=studio.environ) as kate:
        said = kate.sessions.page("group", first=1, limit=1).entries[0].entry.message_id
        for text in texts:
            kate.records.proposals.add(proposal(f"- {text}", evidence=(said,)))


def card(page: Page, text: str):
    return page.locator(".proposal").filter(has_text=text)


def memory_of(studio: Studio) -> str:
    return (studio.root / "MEMORY.md").read_text()


def test_a_proposal_is_shown_with_what_it_does_why_it_waits_and_what_was_said(
    own_studio: Studio, own_page: Page
) -> None:
    propose(own_studio, "Ana has a key to the shed.")
    own_page.goto("review")
    expect(own_page.get_by_role("heading", name="From outside")).to_be_visible()
    shown = card(own_page, "key to the shed")
    expect(shown.locator(".diff .add")).to_have_text("+- Ana has a key to the shed.")
    expect(shown).to_contain_text("from external")
    expect(shown.locator("blockquote")).to_contain_text("Ana told me the code is 4711")
    expect(shown.locator("figcaption")).to_contain_text("user stranger")


def test_an_approved_proposal_is_written_and_no_longer_waits(own_studio: Studio, own_page: Page) -> None:
    own_page.goto("review")
    follow(card(own_page, "Ana's code is 4711.").get_by_role("button", name="Approve", exact=True))
    expect(own_page.locator(".empty")).to_contain_text("Nothing waits for you")
    assert "- Ana's code is 4711.\n" in memory_of(own_studio)
    own_page.goto("review?state=approved")
    expect(card(own_page, "4711")).to_contain_text("approved")


def test_a_rejected_proposal_leaves_the_file_as_it_was(own_studio: Studio, own_page: Page) -> None:
    before = memory_of(own_studio)
    own_page.goto("review")
    follow(card(own_page, "4711").get_by_role("button", name="Reject", exact=True))
    assert memory_of(own_studio) == before
    own_page.goto("review?state=rejected")
    expect(card(own_page, "4711")).to_contain_text("rejected")


def test_a_proposal_is_approved_in_other_words(own_studio: Studio, own_page: Page) -> None:
    own_page.goto("review")
    shown = card(own_page, "4711")
    shown.get_by_text("Approve in other words").click()
    shown.get_by_label("What is written instead").fill("- Ana has a code of her own.")
    follow(shown.get_by_role("button", name="Approve these words"))
    assert "- Ana has a code of her own." in memory_of(own_studio)
    assert "4711" not in memory_of(own_studio)


@pytest.mark.parametrize(("key", "is_written"), [("a", True), ("r", False)])
def test_the_first_proposal_is_decided_by_one_key(
    own_studio: Studio, own_page: Page, key: str, is_written: bool
) -> None:
    own_page.goto("review")
    with own_page.expect_navigation():
        own_page.keyboard.press(key)
    expect(own_page.locator(".empty")).to_be_visible()
    assert ("4711" in memory_of(own_studio)) is is_written


@pytest.mark.parametrize("key", ["a", "r"])
def test_a_key_decides_nothing_that_was_not_asked_with_its_words(
    own_studio: Studio, own_page: Page, key: str
) -> None:
    own_page.goto("review")
    own_page.evaluate("window.confirm = (text) => { window.question = text; return false; }")
    own_page.keyboard.press(key)
    assert "Ana's code is 4711." in own_page.evaluate("window.question")
    own_page.reload()
    expect(card(own_page, "4711").get_by_role("button", name="Approve", exact=True)).to_be_visible()
    assert "4711" not in memory_of(own_studio)


def test_what_is_ticked_is_decided_at_once_and_the_rest_still_waits(
    own_studio: Studio, own_page: Page
) -> None:
    propose(own_studio, "The gate is green.", "The roof is red.")
    own_page.goto("review")
    approve = own_page.get_by_role("button", name="Approve chosen")
    expect(approve).to_be_disabled()
    card(own_page, "The gate is green.").get_by_role("checkbox").check()
    card(own_page, "The roof is red.").get_by_role("checkbox").check()
    expect(own_page.locator("#chosen")).to_have_text("2 chosen")
    follow(approve)
    expect(own_page.locator(".proposal")).to_have_count(1)
    assert "The gate is green." in memory_of(own_studio)
    own_page.get_by_label("All on this page").check()
    follow(own_page.get_by_role("button", name="Reject chosen"))
    expect(own_page.locator(".empty")).to_be_visible()
    assert "4711" not in memory_of(own_studio)


def test_a_proposal_that_no_longer_fits_stays_and_says_why(
    own_studio: Studio, own_page: Page, forgiven: set[str]
) -> None:
    forgiven.add("409")
    with Workspace.open(own_studio.root, agent="kate", environ=own_studio.environ) as kate:
        kate.records.proposals.add(
            proposal(
                "- We deploy at noon.\n",
                action="replace",
                section="Decisions",
                old="- Gone long ago.\n",
                why="replaces_owner_text",
            )
        )
    own_page.goto("review")
    card(own_page, "We deploy at noon.").get_by_role("button", name="Approve", exact=True).click()
    expect(own_page.locator(".toast.bad")).to_contain_text("no longer fits")
    assert "noon" not in memory_of(own_studio)


def test_others_see_nothing_of_what_waits(page: Page) -> None:
    page.goto("review?scope=shared")
    expect(page.locator(".empty")).to_contain_text("Others see nothing of this")
    assert "4711" not in page.content()
