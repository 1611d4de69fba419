"""Overview: how the workspace is, what the model gets, what was learnt, and what needs its owner."""

from playwright.sync_api import Page, expect
from tests.browser.conftest import Look, Studio, follow


def test_the_three_leads_say_what_the_model_gets_what_was_learnt_and_what_waits(page: Page) -> None:
    page.goto("overview")
    gets, learnt, needs = page.locator(".lead-card").all()
    expect(gets).to_contain_text("of 32,000 tokens")
    expect(gets.locator(".glance", has_text="Kate")).to_contain_text("handbook.md")
    expect(learnt).to_contain_text("in memory")
    expect(needs.get_by_role("link", name="1 change of memory to approve or reject")).to_be_visible()


def test_each_lead_goes_where_it_says(page: Page) -> None:
    page.goto("overview?agent=kate")
    page.get_by_role("link", name="See every word of it").click()
    expect(page).to_have_url("context?agent=kate")
    page.go_back()
    page.get_by_role("link", name="Read and correct it").click()
    expect(page).to_have_url("memory?agent=kate")
    page.go_back()
    page.get_by_role("link", name="1 change of memory to approve or reject").click()
    expect(page).to_have_url("review?agent=kate")


def test_the_tiles_tell_size_files_structure_and_issues(page: Page) -> None:
    page.goto("overview")
    for name in (
        "Total size",
        "Files",
        "Structure",
        "Issues",
        "Proposals",
        "Last dream",
        "Sessions",
        "Search index",
    ):
        expect(page.locator(".tile", has_text=name).first).to_be_visible()
    expect(page.locator(".tile", has_text="Structure")).to_contain_text("valid")


def test_the_calendar_has_a_table_of_the_same_days(page: Page) -> None:
    page.goto("overview?agent=kate")
    expect(page.get_by_role("img", name="Activity in 16 weeks")).to_be_visible()
    page.locator("summary", has_text="The same as a table").click()
    expect(page.get_by_role("cell", name="2026-04-24")).to_be_visible()


def test_the_last_change_is_undone_from_the_overview(own_page: Page) -> None:
    own_page.goto("overview")
    follow(own_page.get_by_role("button", name="Undo the last change"))
    expect(own_page.locator(".deeds li").first).to_contain_text("took a change back")
    expect(own_page.locator(".toast")).to_have_text("Done: Undo the last change")
    own_page.reload()
    expect(own_page.locator(".toast")).to_have_count(0)


def test_others_are_told_nothing_of_memory_and_activity(studio: Studio, look: Look) -> None:
    page = look(studio, scripts=False, path="overview?scope=shared")
    told = page.locator("main").inner_text()
    assert "Others see nothing of what your agents learnt." in told
    assert "12 May" not in told
    assert "Undo" not in told
