"""Looking after a workspace: health, activity with the way back, jobs, settings and skills."""

from playwright.sync_api import Page, expect
from tests.browser.conftest import Look, Studio, follow

from carrel.app import Workspace


def test_a_finding_names_its_severity_its_file_and_the_next_step(page: Page) -> None:
    page.goto("health")
    finding = page.locator(".finding", has_text="handbook.md is cut")
    expect(finding).to_contain_text("warning")
    expect(finding).to_contain_text("Shorten or split it.")
    finding.get_by_role("link", name="handbook.md").click()
    expect(page).to_have_url("files/handbook.md")


def test_a_large_workspace_is_looked_over_beside_its_page_or_by_a_link(
    own_studio: Studio, look: Look
) -> None:
    many = own_studio.root / "many"
    many.mkdir()
    for number in range(2_100):
        (many / f"{number}.md").write_text("x")
    plain = look(own_studio, scripts=False, path="health")
    expect(plain.get_by_role("heading", name="Not looked over yet")).to_be_visible()
    plain.get_by_role("link", name="Look now").click()
    expect(plain.locator(".finding", has_text="handbook.md is cut")).to_be_visible()
    (many / "late.md").write_text("x")
    page = look(own_studio, path="overview?agent=milo")  # nobody has looked as Milo yet
    expect(page.get_by_role("link", name="Files 2,")).to_be_visible()
    page.goto("health?agent=milo")
    expect(page.locator("main")).to_contain_text("Looked over now.")
    page.get_by_role("link", name="Look again").click()
    expect(page).to_have_url("health?agent=milo&look=now")


def test_findings_are_chosen_by_severity_in_the_address(page: Page) -> None:
    page.goto("health?severity=error")
    expect(page.locator(".finding[data-severity='warning']")).to_have_count(0)
    page.get_by_label("Severity").select_option("warning")
    page.wait_for_url("**severity=warning**")
    expect(page.locator(".finding[data-severity='warning']")).not_to_have_count(0)


def test_the_index_is_rebuilt_and_that_is_on_the_trail(own_page: Page) -> None:
    own_page.goto("health")
    follow(own_page.get_by_role("button", name="Rebuild it"))
    own_page.goto("activity?action=index.rebuild")
    expect(own_page.locator("tbody tr")).to_have_count(1)
    expect(own_page.locator("tbody tr")).to_contain_text("rebuilt the index")


def test_where_the_trail_is_empty_activity_begins_with_the_changes_of_memory(page: Page) -> None:
    page.goto("activity")
    expect(page.get_by_role("link", name="Memory changes")).to_have_attribute("aria-current", "page")
    expect(page.get_by_role("link", name="Look, undo")).not_to_have_count(0)
    page.get_by_role("link", name="Trail").click()
    expect(page.get_by_role("heading", name="Nothing is on the trail yet")).to_be_visible()


def test_a_change_of_memory_is_looked_at_and_taken_back(own_page: Page) -> None:
    own_page.goto("activity?view=changes&path=memory/kate.md")
    follow(own_page.get_by_role("link", name="Look, undo").first)
    expect(own_page.locator(".diff .add")).not_to_have_count(0)
    said = own_page.locator(".diff .add").last.inner_text().strip().removeprefix("+- ")
    own_page.get_by_role("button", name="Take it back").click()
    expect(own_page.get_by_text("It was taken back already.")).to_be_visible()
    own_page.goto("files/memory/kate.md")
    assert said not in own_page.locator("main").inner_text()


def test_a_job_that_was_given_up_is_tried_again(own_studio: Studio, own_page: Page) -> None:
    with Workspace.open(own_studio.root, agent="kate", environ=own_studio.environ) as kate:
        now = kate.config.clock.now()
        queue = kate.records.queue
        queue.put("unheard_of", {}, key="k")
        taken = queue.take(["unheard_of"], now=now, lease=now - now, worker="test")
        assert taken is not None
        queue.fail(taken, "It broke.", retry_at=None)
    own_page.goto("activity?view=jobs&state=failed")
    expect(own_page.locator("tbody tr")).to_contain_text("It broke.")
    own_page.get_by_role("button", name="Try again").click()
    expect(own_page.get_by_role("heading", name="No job is failed")).to_be_visible()


def test_settings_tell_their_origin_and_are_found_by_a_word(page: Page) -> None:
    page.goto("settings")
    expect(page.locator(".tile", has_text="Trust")).to_contain_text("trusted")
    page.get_by_label("Find", exact=True).fill("context window")
    page.keyboard.press("Enter")
    row = page.locator(".setting", has=page.locator("dt", has_text="model.context_window"))
    expect(row).to_contain_text("32000")
    expect(row).to_contain_text("carrel.yaml")
    expect(page.locator(".setting", has_text="time_zone")).to_have_count(0)


def test_a_skill_is_shown_with_its_cost_and_what_is_wrong_with_it(page: Page) -> None:
    page.goto("skills")
    expect(page.locator(".finding", has_text="skills/broken/SKILL.md").first).to_be_visible()
    page.get_by_role("link", name="deploy", exact=True).click()
    expect(page.get_by_text("Run the checklist.")).to_be_visible()
    expect(page.get_by_text("keeps to the Agent Skills specification")).to_be_visible()


def test_subagents_are_shown_with_how_they_are_set_up(page: Page) -> None:
    page.goto("skills")
    card = page.locator("article.card", has_text="researcher")
    card.locator("summary").click()
    expect(card.locator("pre")).to_contain_text("You are careful.")


def test_others_see_nothing_of_activity_and_settings(page: Page) -> None:
    for path in ("activity", "settings"):
        page.goto(f"{path}?scope=shared")
        assert page.locator("main table, main .setting").count() == 0
