"""The explorer with the keyboard alone: everything can be reached, seen where one is, and left again."""

import pytest
from playwright.sync_api import Page, expect
from tests.browser.conftest import Look, Studio
from tests.stubs.studio import NOW

from carrel.http.explorer.pages import NAVIGATION

PAGES = [f"{address}?agent=kate" for address, _, _ in NAVIGATION]
FOCUSED = """(() => {
  const now = document.activeElement;
  if (!now || now === document.body) return { told: "", outlined: true, seen: true, again: false };
  const drawn = [...now.querySelectorAll("*")].map(each => getComputedStyle(each));
  const stroked = now.ownerSVGElement && drawn.some(each => each.stroke !== "none" && parseFloat(each.strokeWidth) >= 2);
  const style = getComputedStyle(now), box = now.getBoundingClientRect();
  const again = now.dataset.reached === "yes";
  now.dataset.reached = "yes";
  return {
    again,
    told: now.outerHTML.slice(0, 160),
    outlined: stroked || (style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2),
    seen: box.width > 0 && box.height > 0 && box.bottom > 0 && box.top < innerHeight && box.right > 0 && box.left < innerWidth,
  };
})()"""
LEFT_OUT = """[...document.querySelectorAll("a[href], button, input, select, textarea, summary, [tabindex='0']")]
  .filter(each => each.checkVisibility({ visibilityProperty: true }) && !each.disabled && each.tabIndex >= 0 && !each.dataset.reached)
  .filter(each => each.type !== "radio" || !document.querySelector(`[name="${CSS.escape(each.name)}"][data-reached]`))
  .filter(each => !each.closest("[role='tree']"))
  .map(each => each.outerHTML.slice(0, 160))"""
MOST_STOPS = 150


def at(page: Page) -> str:
    return page.evaluate("document.activeElement.outerHTML.slice(0, 160)")


def test_the_first_stop_leads_past_the_navigation(page: Page) -> None:
    page.goto("overview")
    page.keyboard.press("Tab")
    link = page.get_by_role("link", name="Skip to the page")
    expect(link).to_be_focused()
    expect(link).to_be_in_viewport()
    page.keyboard.press("Enter")
    expect(page.locator("#main")).to_be_focused()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.closest('main') !== null"), at(page)


def test_two_keys_lead_to_each_page(studio: Studio, look: Look) -> None:
    page = look(studio)
    page.clock.set_fixed_time(NOW)  # two keys belong together, however long the machine takes
    for address, name, key in NAVIGATION:
        if key == "/":
            continue
        page.goto("health?agent=kate" if address != "health" else "overview?agent=kate")
        with page.expect_navigation():  # until it is loaded: before that nobody listens to keys
            page.keyboard.type(f"g{key}")
        expect(page).to_have_url(f"{studio.base}{address}?agent=kate")
        expect(page.locator("nav.pages [aria-current='page'] span")).to_have_text(name)


def test_a_slash_searches_from_any_page_and_takes_no_letter_of_what_is_written(page: Page) -> None:
    page.goto("overview?agent=kate")
    page.keyboard.press("/")
    expect(page.locator("#find")).to_be_focused()
    page.keyboard.type("g o/?Ana")
    expect(page.locator("#find")).to_have_value("g o/?Ana")
    expect(page.locator("#keys")).not_to_be_visible()
    page.locator("#find").fill("Ana")
    with page.expect_navigation():
        page.keyboard.press("Enter")
    assert "/search?" in page.url
    assert "agent=kate" in page.url


def test_a_question_mark_tells_the_keys_and_escape_goes_back(page: Page) -> None:
    page.goto("health")
    page.locator("nav.pages a").first.focus()
    page.keyboard.press("?")
    expect(page.locator("#keys")).to_be_visible()
    for _, name, _ in NAVIGATION:
        expect(page.locator("#keys dd", has_text=name).first).to_be_visible()
    page.keyboard.press("?")
    expect(page.locator("#keys")).to_be_visible()
    for _ in range(5):
        page.keyboard.press("Tab")
        assert page.evaluate(
            "document.activeElement === document.body || document.activeElement.closest('dialog') !== null"
        )
    page.keyboard.press("Escape")
    expect(page.locator("#keys")).not_to_be_visible()
    expect(page.locator("nav.pages a").first).to_be_focused()


@pytest.mark.parametrize("path", PAGES)
def test_tab_reaches_every_control_and_shows_where_one_is(page: Page, path: str) -> None:
    page.goto(path)
    unseen: list[str] = []
    for _ in range(MOST_STOPS):
        page.keyboard.press("Tab")
        now = page.evaluate(FOCUSED)
        if now["again"]:  # all the way around
            break
        if not (now["outlined"] and now["seen"]):
            unseen.append(f"{now}")
    else:
        pytest.fail("the page has more stops than anybody would press Tab for")
    assert unseen == []
    assert page.evaluate(LEFT_OUT) == []


def test_the_theme_is_switched_with_a_key_and_stays(studio: Studio, look: Look) -> None:
    page = look(studio, dark=True, path="overview")
    page.locator("[data-theme-switch]").focus()
    page.keyboard.press("Enter")
    assert page.evaluate("document.documentElement.dataset.theme") == "light"
    page.goto("health")
    assert page.evaluate("document.documentElement.dataset.theme") == "light"
    light = page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
    page.locator("[data-theme-switch]").focus()
    page.keyboard.press("Enter")
    assert page.evaluate("getComputedStyle(document.documentElement).backgroundColor") != light


def test_the_tree_is_walked_with_arrows(page: Page) -> None:
    page.goto("files")
    tree = page.get_by_role("tree").first
    items = tree.get_by_role("treeitem")
    page.locator("[role='tree'] [tabindex='0']").first.focus()
    page.keyboard.press("Home")
    expect(items.first).to_be_focused()
    folder = tree.get_by_role("treeitem", name="archive").first
    while "archive" not in at(page):
        page.keyboard.press("ArrowDown")
    expect(folder).to_be_focused()
    before = items.count()
    page.keyboard.press("ArrowRight")
    expect(folder).to_have_attribute("aria-expanded", "true")
    expect(tree.get_by_role("treeitem", name="part-0")).to_be_visible()
    assert items.count() > before
    page.keyboard.press("ArrowRight")
    expect(tree.get_by_role("treeitem", name="part-0")).to_be_focused()
    page.keyboard.press("ArrowLeft")
    expect(folder).to_be_focused()
    page.keyboard.press("ArrowLeft")
    expect(folder).to_have_attribute("aria-expanded", "false")
    page.keyboard.press("End")
    assert page.evaluate("document.activeElement.getAttribute('role')") == "treeitem"
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.closest('[role=tree]') === null"), (
        "one stop for the whole tree"
    )


def test_a_file_is_opened_from_the_tree_with_enter(studio: Studio, look: Look) -> None:
    page = look(studio)
    page.clock.set_fixed_time(NOW)  # letters are one word, however long the machine takes
    page.goto("files")
    page.locator("[role='tree'] [tabindex='0']").first.focus()
    page.keyboard.type("stack")
    page.keyboard.press("Enter")
    expect(page).to_have_title("stack.md · studio")
    expect(page.get_by_text("We use Python and PostgreSQL.").first).to_be_visible()


def test_a_key_that_is_held_down_presses_nothing_twice(own_page: Page) -> None:
    own_page.goto("overview")
    own_page.evaluate(
        "window.pressed = 0; const made = document.createElement('button'); made.dataset.press = 'x';"
        "made.addEventListener('click', () => { window.pressed += 1; }); document.body.append(made)"
    )
    for _ in range(4):
        own_page.keyboard.down("x")
    own_page.keyboard.up("x")
    assert own_page.evaluate("window.pressed") == 1
