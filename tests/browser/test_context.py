"""The context in the browser: how full the window is, what was cut and why, and what other limits would do."""

import json
import re

import pytest
from playwright.sync_api import Page, expect
from tests.browser.conftest import NARROW, Look, Studio, follow

KATE = "context?agent=kate"
TALK = f"{KATE}&session=launch&query=Which+phone+does+Ana+use%3F"


def number(text: str) -> int:
    return int(re.sub(r"\D", "", text))


def sent(page: Page) -> dict[str, int]:
    """Return the table of sections: what of each is sent."""
    rows = page.locator("#sections tbody tr")
    names = rows.locator("td:nth-child(2)").all_inner_texts()
    tokens = rows.locator("td:nth-child(5)").all_inner_texts()
    return {name.split("\n")[0]: number(count) for name, count in zip(names, tokens, strict=True)}


def test_the_headline_says_how_full_the_window_is_whether_that_is_counted_and_for_how_long(page: Page):
    page.goto(TALK)
    told = page.locator(".filling")
    expect(told.get_by_role("heading", name=re.compile(r"\d+ % of the window is taken"))).to_be_visible()
    expect(told).to_contain_text("of 32,000 tokens, counted;")
    expect(told).to_contain_text("until history is compacted")
    expect(told.locator(".fell", has_text="cut")).to_contain_text("handbook.md")
    expect(page.locator(".wide svg.map text", has_text=re.compile(r"^[\d,]+ cut$"))).to_be_visible()


def test_the_table_is_the_twin_of_the_bar_and_both_sum_to_what_is_used(page: Page):
    page.goto(TALK)
    used = number(page.locator("#sections tfoot .count").inner_text())
    assert sum(sent(page).values()) == used
    titles = page.locator(".wide svg.bar g[clip-path]").first.locator("a > title").all_text_contents()
    assert sum(number(re.findall(r"([\d,]+) tokens", title)[0]) for title in titles) == used
    widths = (
        page.locator(".wide svg.bar g[clip-path]")
        .first.locator("a > rect.part")
        .evaluate_all("parts => parts.map(part => Number(part.getAttribute('width')))")
    )
    assert abs(sum(widths) - 1000 * used / 32_000) < 0.1


def test_a_part_of_the_bar_leads_to_its_row_by_keyboard_alone(page: Page):
    page.goto(TALK)
    part = page.locator(".wide svg.bar a", has=page.locator("title", has_text="handbook.md")).first
    part.focus()
    page.keyboard.press("Enter")
    row = page.locator("tr:target")
    expect(row).to_contain_text("handbook.md")
    expect(row.locator(".chip")).to_have_text("cut")
    expect(row).to_contain_text("Cut at its own limit")


def test_an_area_of_the_treemap_leads_to_the_file(page: Page):
    page.goto(KATE)
    page.locator(".wide svg.map a", has=page.locator("title", has_text="handbook.md")).first.click()
    expect(page).to_have_url(re.compile(r"/files/handbook\.md\?agent=kate$"))


def test_moving_a_limit_shows_what_would_fall_out_and_keeps_it_in_the_address(page: Page):
    page.goto(KATE)
    before = sent(page)
    slider = page.get_by_role("slider", name="All files")
    slider.focus()
    page.keyboard.press("Home")
    what_if = page.locator("[data-what-if]")
    expect(what_if).to_contain_text("fall out")
    expect(what_if).to_contain_text("handbook.md")
    expect(page.locator("#heard")).to_contain_text("fall out")
    after = sent(page)
    assert after["handbook.md"] == 0 < before["handbook.md"]
    assert after["AGENTS.md"] == before["AGENTS.md"]  # it is always sent
    expect(page).to_have_url(re.compile(r"[?&]total=0\b"))
    page.reload()
    expect(what_if).to_contain_text("handbook.md")
    expect(slider).to_have_value("0")


def test_without_scripts_the_limits_are_a_form(studio: Studio, look: Look):
    page = look(studio, scripts=False, path=KATE)
    expect(page.get_by_role("slider")).to_have_count(0)
    page.get_by_label("One file", exact=True).fill("500")
    page.get_by_role("main").get_by_role("button", name="Show").click()
    expect(page.locator("[data-what-if]")).to_contain_text("handbook.md")
    assert sent(page)["handbook.md"] < 600


def test_a_limit_that_is_no_number_is_told_on_a_page(page: Page, forgiven: set[str]):
    forgiven.add("400")
    page.goto(f"{KATE}&file=many")
    expect(page.get_by_role("heading", level=1)).to_contain_text("'many' is not a whole number")


def test_the_owners_and_others_contexts_are_compared(page: Page):
    page.goto(f"{KATE}&tab=compare&against=scopes")
    gone = page.locator("#differences tbody tr", has_text="gone")
    expect(gone.filter(has_text="MEMORY.md")).to_contain_text("hidden")
    expect(gone.filter(has_text="USER.md")).to_contain_text("hidden")
    expect(page.locator("#differences")).not_to_contain_text("SOUL.md")


def test_others_are_not_told_what_the_owners_context_holds(page: Page):
    page.goto(f"{KATE}&tab=compare&against=scopes&scope=shared")
    expect(page.locator(".empty")).to_be_visible()
    expect(page.locator("main")).not_to_contain_text("MEMORY.md")
    page.goto("context/explain/MEMORY.md?agent=kate&scope=shared")
    expect(page.locator(".empty")).to_contain_text("For the owner only")


def test_a_sessions_last_call_is_compared_with_one_made_now(page: Page):
    page.goto(f"{KATE}&session=launch&tab=compare&against=last")
    expect(page.locator("#differences tbody tr", has_text="message")).to_contain_text("gone")
    page.goto(f"{KATE}&session=long&tab=compare&against=last")
    expect(page.locator(".empty")).to_contain_text("has not made a call yet")


def test_what_broke_the_prefix_is_named(own_studio: Studio, own_page: Page):
    (own_studio.root / "SOUL.md").write_text("# Soul\n\nQuick, and kind.\n")
    own_page.goto(f"{KATE}&session=launch&tab=cache")
    expect(own_page.locator(".tiles")).to_contain_text("SOUL.md has another text now")
    expect(own_page.locator(".broken-row")).to_contain_text("broke here")


def test_the_text_is_exactly_what_the_model_would_read(page: Page):
    page.goto(f"{TALK}&tab=text&file=200")
    text = page.locator("pre.text").inner_text()
    assert text.startswith('=== SYSTEM ===\n<document path="SOUL.md">')
    assert "Which phone does Ana use?" in text
    assert "[truncated: handbook.md, " in text


@pytest.mark.parametrize("form", ["messages", "openai", "responses", "anthropic"])
def test_the_request_is_shown_as_each_provider_takes_it(page: Page, form: str):
    page.goto(f"{TALK}&tab=json&form={form}&file=100&whole=1")
    told = json.loads(page.locator("pre.text").inner_text())
    key = {"openai": "messages", "responses": "input", "anthropic": "system"}.get(form)
    assert told[key] if key else told[0]["role"] == "system"


def test_a_long_text_is_cut_until_all_of_it_is_asked_for(page: Page):
    page.goto(f"{KATE}&tab=text")
    short = len(page.locator("pre.text").inner_text())
    follow(page.get_by_role("link", name="Show all"))
    assert len(page.locator("pre.text").inner_text()) > 2 * short


def test_recall_shows_what_was_found_its_scores_and_whether_it_is_sent(page: Page):
    page.goto(f"{KATE}&query=Which+phone+does+Ana+use%3F")
    recall = page.get_by_role("region", name="Recall")
    expect(recall.locator("tbody tr").first).to_contain_text(re.compile(r"0\.\d{3}"))
    expect(recall).to_contain_text("sent")


def test_in_a_smaller_window_the_call_is_made_to_fit_and_what_was_left_out_is_said(page: Page):
    page.goto(KATE)
    before = sent(page)
    page.goto(f"{KATE}&window=8000")
    expect(page.locator(".filling")).to_contain_text("So it would be in a window of 8,000 tokens")
    expect(page.locator("main")).to_contain_text("more than the window leaves them")
    assert sent(page)["handbook.md"] < before["handbook.md"]
    expect(page.locator(".filling")).to_contain_text("of 8,000 tokens")


def test_for_another_model_its_window_and_its_vocabulary_count_and_every_link_keeps_it(page: Page):
    page.goto(KATE)
    before = sent(page)
    assert page.locator("#models option").count() > 10
    model = page.get_by_label("Model")
    model.fill("gpt-4")
    model.press("Tab")
    filling = page.locator(".filling")
    expect(filling).to_contain_text("of 8,192 tokens, counted")
    expect(filling).to_contain_text("So it would be for gpt-4. The settings name none")
    expect(page).to_have_url(re.compile(r"[?&]model=gpt-4\b"))
    assert sent(page)["handbook.md"] < before["handbook.md"]
    page.get_by_role("slider", name="All files").press("Home")
    expect(page.locator("[data-what-if]")).to_contain_text("falls out")
    expect(filling).to_contain_text("of 8,192 tokens")
    page.get_by_role("link", name="Compare").click()
    page.get_by_role("link", name="The owner's and others'").click()
    expect(page).to_have_url(re.compile(r"[?&]model=gpt-4\b"))
    expect(filling).to_contain_text("of 8,192 tokens")
    expect(page.locator("#differences")).to_contain_text("MEMORY.md")


def test_a_model_that_nobody_knows_is_said_to_be_one(page: Page):
    page.goto(f"{KATE}&model=mystery-9")
    expect(page.locator(".filling")).to_contain_text("assumed, nothing is known of mystery-9")
    expect(page.locator("main")).to_contain_text("The window of 'mystery-9' is not known")


def test_a_file_explains_itself(page: Page):
    page.goto(KATE)
    page.locator("#sections").get_by_role("link", name="handbook.md").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("handbook.md")
    expect(page.locator("main")).to_contain_text("It is cut at its own limit, 20,000 tokens")
    page.get_by_role("link", name="Open the file").click()
    expect(page).to_have_url(re.compile(r"/files/handbook\.md"))


def test_where_several_agents_are_at_home_one_is_chosen_first(page: Page):
    page.goto("context")
    page.get_by_role("main").get_by_role("link", name="kate").click()
    expect(page.locator(".filling")).to_be_visible()


def test_a_phone_has_pictures_of_its_own(studio: Studio, look: Look):
    page = look(studio, width=NARROW, path=KATE)
    expect(page.locator(".narrow svg.bar")).to_be_visible()
    expect(page.locator(".wide svg.bar")).to_be_hidden()
