"""Search in the browser: one box, hits that lead to their place, and filters that are links."""

import re

from playwright.sync_api import Page, expect
from tests.browser.conftest import Look, Studio, follow


def test_a_hit_in_a_file_leads_to_its_line(page: Page) -> None:
    page.goto("files")
    page.keyboard.press("/")
    page.keyboard.type("PostgreSQL")
    page.keyboard.press("Enter")
    group = page.locator("article.group", has=page.get_by_role("link", name="stack.md", exact=True))
    expect(group.locator("mark").first).to_have_text("PostgreSQL")
    group.locator(".hit-head a").first.click()
    expect(page.locator("h1")).to_have_text("stack.md")
    expect(page.locator("li:target")).to_contain_text("We use Python and PostgreSQL.")
    expect(page.locator("li:target")).to_be_in_viewport()


def test_a_hit_in_a_session_leads_to_its_message(page: Page) -> None:
    page.goto("search?q=Which+phone&tier=session")
    page.locator(".hit-head a").first.click()
    expect(page.locator("article:target")).to_contain_text("phone")
    expect(page.locator("article:target")).to_be_in_viewport()


def test_hits_are_grouped_by_file_and_say_why_they_are_there(page: Page) -> None:
    page.goto("search?q=harbour")
    paths = page.locator("article.group h2 > a").all_inner_texts()
    assert len(paths) > 1
    assert len(set(paths)) == len(paths)
    why = page.locator("details.why").first
    expect(why.locator("li").first).to_be_hidden()
    why.locator("summary").click()
    expect(why.locator("li").first).to_contain_text("score")


def test_a_facet_narrows_and_its_chip_widens_again(page: Page) -> None:
    page.goto("search?q=Ana")
    follow(page.locator(".facets").get_by_role("link", name="journal", exact=True))
    expect(page.locator("article.group h2 .chip").first).to_have_text("journal")
    assert set(page.locator("article.group h2 .chip").all_inner_texts()) == {"journal"}
    page.get_by_role("link", name=re.compile("tier: journal")).click()
    others = page.locator("article.group h2 .chip").filter(has_not_text="journal")
    expect(others.first).to_be_visible()


def test_a_text_is_found_as_it_was_typed_with_the_lines_around_it(page: Page) -> None:
    page.goto("search?q=we+use+python&mode=literal&lines=4")
    expect(page.locator("mark")).to_have_text("We use Python")
    expect(page.locator(".lines")).to_contain_text("# Stack")
    page.get_by_label("Case matters").check()
    page.get_by_role("button", name="Search").click()
    expect(page.locator(".empty")).to_contain_text("Nothing found")
    assert "case=1" in page.url
    page.get_by_role("link", name="Try hybrid").click()
    expect(page.locator("article.group").first).to_be_visible()


def test_a_pattern_that_is_none_is_told_of_where_it_was_typed(page: Page) -> None:
    page.goto("search?q=(&mode=regex")
    expect(page.get_by_role("alert")).to_contain_text("The pattern cannot be used")
    expect(page.locator("#q")).to_have_value("(")
    page.goto("search?q=Ana&since=tomorrow")
    expect(page.get_by_role("alert")).to_contain_text("not a day")


def test_filters_of_an_address_are_in_the_form_and_nothing_found_says_what_to_try(page: Page) -> None:
    page.goto("search?q=Ana&section=Decisions&path=MEMORY.md&since=1999-01-01&until=1999-01-02")
    expect(page.locator(".empty")).to_contain_text("within these filters")
    expect(page.get_by_label("Section")).to_have_value("Decisions")
    expect(page.get_by_label("Since")).to_have_value("1999-01-01")
    page.get_by_role("link", name="Search without filters").click()
    expect(page.locator("article.group").first).to_be_visible()


def test_more_hits_come_with_the_next_page_of_them(page: Page) -> None:
    page.goto("search?q=harbour&mode=literal")
    shown = page.locator("article.group").count()
    page.get_by_role("link", name="More hits").click()
    expect(page).to_have_url(re.compile("limit=40"))
    expect(page.locator("article.group").nth(shown)).to_be_visible()


def test_search_works_without_scripts_and_before_anything_was_asked(studio: Studio, look: Look) -> None:
    page = look(studio, scripts=False, path="search")
    expect(page.locator("main")).to_contain_text("What is searched")
    page.locator("#q").fill("Thursdays")
    page.get_by_role("button", name="Search").click()
    expect(page.locator("mark").first).to_have_text("Thursdays")


def test_others_find_nothing_that_is_private(page: Page) -> None:
    page.goto("search?q=Salaries&scope=shared&mode=literal")
    expect(page.locator(".empty")).to_contain_text("that others may see")
    page.goto("search?q=PostgreSQL&scope=shared")
    expect(page.locator("mark").first).to_have_text("PostgreSQL")
    expect(page.locator("details.why").first).not_to_contain_text("vectors")
