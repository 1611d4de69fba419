"""What an agent remembers, in the browser: read, added to, changed, forgotten, and taken back."""

import re

from playwright.sync_api import Page, expect
from tests.browser.conftest import NARROW, Look, Studio, follow

from carrel.http.explorer.pictures.share import share_bar
from carrel.http.explorer.sharing import Share, Shares


def line(page: Page, text: str):
    return page.locator(".memo").filter(has_text=text)


def remember(page: Page, text: str, layer: str = "project", section: str = "") -> None:
    page.get_by_label("What", exact=True).fill(text)
    page.get_by_label("Where").select_option(layer)
    page.get_by_label("Section").fill(section)
    follow(page.get_by_role("button", name="Remember"))


def test_with_several_agents_the_page_asks_whose_memory_is_meant(page: Page) -> None:
    page.goto("memory")
    page.get_by_role("main").get_by_role("link", name="kate").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("What Kate remembers")


def test_facts_stand_in_the_layer_and_section_that_they_belong_to(page: Page) -> None:
    page.goto("memory?agent=kate")
    experience, project = (
        page.locator("section", has=page.locator("#layer-A")),
        page.locator("section", has=page.locator("#layer-B")),
    )
    expect(experience).to_contain_text("Ask for the goal before writing code.")
    expect(project).to_contain_text("The staging server is called bruno.")
    expect(project).not_to_contain_text("Ask for the goal")
    expect(line(page, "Ana uses a Samsung")).to_contain_text("written by hand")
    expect(line(page, "The launch is on 12 May.")).to_contain_text("from owner")


def test_the_evidence_of_a_fact_is_what_was_said_and_leads_to_the_message(page: Page) -> None:
    page.goto("memory?agent=kate")
    fact = line(page, "The launch is on 12 May.")
    fact.get_by_text("Evidence", exact=True).click()
    expect(fact.locator("blockquote")).to_have_text("Remember that the launch is on 12 May.")
    expect(fact.get_by_role("link", name="launch", exact=True)).to_have_attribute(
        "href", re.compile(r"/sessions/launch\?agent=kate#m-\w+$")
    )
    fact.get_by_role("link", name="All of its evidence").click()
    expect(page.get_by_role("heading", name="What was said")).to_be_visible()


def test_a_fact_is_added_pinned_and_forgotten_after_a_look_at_what_would_go(
    own_studio: Studio, own_page: Page
) -> None:
    page, file = own_page, own_studio.root / "memory" / "kate.md"
    page.goto("memory?agent=kate")
    remember(page, "The kettle is descaled in June.", section="House")
    assert "## House\n\n- The kettle is descaled in June.\n" in file.read_text()
    fact = line(page, "The kettle is descaled")
    fact.get_by_text("Evidence", exact=True).click()
    follow(fact.get_by_role("button", name="Pin"))
    expect(line(page, "The kettle is descaled")).to_contain_text("pinned")
    line(page, "The kettle is descaled").get_by_text("Evidence", exact=True).click()
    follow(line(page, "The kettle is descaled").get_by_role("link", name="Forget"))
    expect(page.get_by_role("heading", name="Lines that go")).to_be_visible()
    assert "kettle" in file.read_text()  # looking takes nothing away
    follow(page.get_by_role("button", name="Forget it"))
    expect(line(page, "The kettle is descaled")).to_have_count(0)
    assert "kettle" not in file.read_text()


def test_the_last_change_is_undone_by_one_button(own_studio: Studio, own_page: Page) -> None:
    page, file = own_page, own_studio.root / "memory" / "kate.md"
    before = file.read_bytes()
    page.goto("memory?agent=kate")
    remember(page, "This was a slip.")
    assert file.read_bytes() != before
    follow(page.get_by_role("button", name="Undo the last change"))
    expect(line(page, "This was a slip.")).to_have_count(0)
    assert file.read_bytes() == before


def test_an_older_change_is_shown_line_by_line_and_undone_alone(own_studio: Studio, own_page: Page) -> None:
    page, file = own_page, own_studio.root / "memory" / "kate.md"
    page.goto("memory?agent=kate&tab=changes")
    change = page.locator(".change").filter(has_text="+- The staging server is called bruno.")
    change.get_by_text("What it did").click()
    expect(change.locator(".diff .add").last).to_contain_text("The staging server is called bruno.")
    follow(change.get_by_role("button", name="Undo this"))
    assert "bruno" not in file.read_text()
    assert "coffee" in file.read_text()


def test_a_section_is_added_to_and_replaced(own_studio: Studio, own_page: Page) -> None:
    page, file = own_page, own_studio.root / "MEMORY.md"
    page.goto("memory?agent=kate")
    card = page.locator(".section-card").filter(has_text="We deploy on Thursdays.")
    follow(card.get_by_role("link", name="Edit, add"))
    page.get_by_label("Lines to add").fill("- We test on Wednesdays.")
    follow(page.get_by_role("button", name="Add", exact=True))
    assert "- We deploy on Thursdays.\n- We test on Wednesdays.\n" in file.read_text()
    page.get_by_label("Text of the section").fill("- We deploy on Fridays.\n")
    follow(page.get_by_role("button", name="Replace"))
    assert "## Decisions\n\n- We deploy on Fridays.\n\n## " in file.read_text()
    expect(line(page, "We deploy on Fridays.")).to_be_visible()


def test_a_section_that_somebody_else_changed_meanwhile_is_not_overwritten(
    own_studio: Studio, own_page: Page, forgiven: set[str]
) -> None:
    forgiven.add("412")
    page, file = own_page, own_studio.root / "MEMORY.md"
    page.goto("memory/section?agent=kate&layer=project&file=MEMORY.md&section=Decisions")
    file.write_text(file.read_text().replace("Thursdays", "Mondays"))
    page.get_by_label("Text of the section").fill("- We deploy on Fridays.\n")
    page.get_by_role("button", name="Replace").click()
    expect(page.locator(".toast.bad")).to_be_visible()
    assert "Mondays" in file.read_text()
    page.goto("review")
    expect(page.get_by_role("heading", name="Two edits at the same time")).to_be_visible()
    expect(page.get_by_role("main")).to_contain_text("We deploy on Fridays.")


def test_a_long_section_is_shown_in_parts(own_studio: Studio, own_page: Page) -> None:
    page, file = own_page, own_studio.root / "MEMORY.md"
    file.write_text("## Ships\n\n" + "".join(f"- Ship {number} is at sea.\n" for number in range(120)))
    page.goto("memory?agent=kate")
    card = page.locator(".section-card").filter(has=page.get_by_role("heading", name="Ships"))
    expect(card.locator(".memo")).to_have_count(12)
    card.get_by_role("link", name="Show 108 more").click()
    expect(page.get_by_role("main")).to_contain_text("120 lines, of which 1 to 50 are shown")
    follow(page.get_by_role("link", name="More"))
    follow(page.get_by_role("link", name="More"))
    expect(line(page, "Ship 119 is at sea.")).to_be_visible()
    expect(page.get_by_role("link", name="More")).to_have_count(0)


def test_a_note_goes_to_the_journal_of_the_day(own_studio: Studio, own_page: Page) -> None:
    own_page.goto("memory?agent=kate&tab=journal")
    own_page.get_by_label("Note for today").fill("The roof was mended.")
    own_page.locator("[name=category]").select_option("outcome")
    follow(own_page.get_by_role("button", name="Note"))
    expect(own_page.locator(".day").first).to_contain_text("The roof was mended.")
    assert "[outcome] The roof was mended." in (own_studio.root / "memory" / "2026-04-24.md").read_text()


def test_the_page_says_when_facts_are_taken_next_and_why_not_now(page: Page) -> None:
    page.goto("memory?agent=kate&tab=learning")
    row = page.get_by_role("row").filter(has_text="tools")
    expect(row).to_contain_text(re.compile(r"after \d+ more turn"))
    expect(row).to_contain_text("there are too few new turns")


def test_all_facts_are_found_by_their_words_and_their_state(page: Page) -> None:
    page.goto("memory?agent=kate&tab=facts&words=staging")
    expect(page.locator("tbody tr")).to_have_count(1)
    page.goto("memory?agent=kate&tab=facts&state=forgotten")
    expect(page.locator(".empty")).to_contain_text("No fact is like that")


def test_memory_search_leads_to_the_search_of_all_agents_memory(page: Page) -> None:
    page.goto("memory?agent=kate")
    page.get_by_label("Search the memory of all agents").fill("coffee")
    follow(page.get_by_role("search", name="Search in memory").get_by_role("button"))
    assert "/search?q=coffee&tier=journal&tier=profile" in page.url


def test_the_share_of_the_layers_is_a_picture_and_a_table(look: Look, studio: Studio) -> None:
    for width in (NARROW, 1280):
        page = look(studio, width=width, path="memory?agent=kate")
        told = page.get_by_role("img", name=re.compile("Layer A, experience: [0-9,]+ tokens in the prompt"))
        expect(told).to_be_visible()
        expect(page.get_by_role("row", name=re.compile("A: Experience"))).to_contain_text("no limit")


def test_others_are_not_even_told_that_there_is_something(page: Page) -> None:
    page.goto("memory?agent=kate&scope=shared")
    expect(page.locator(".empty")).to_contain_text("Others see nothing of this")
    for path in ("memory/forget?agent=kate&query=coffee&scope=shared", "memory?agent=kate&tab=facts&scope=shared",
                 "memory/section?agent=kate&file=MEMORY.md&section=People&scope=shared"):  # fmt: skip
        page.goto(path)
        assert "Samsung" not in page.content()
        assert "coffee black" not in page.content()


def share(letter: str, size: int, limit: int | None) -> Share:
    return Share(
        letter=letter,
        name="Experience" if letter == "A" else "Project",
        raw=size,
        tokens=size,
        size=size,
        limit=limit,
        state="included",
    )


def test_the_picture_of_the_share_is_sixty_to_forty_and_filled_by_what_is_used() -> None:
    shares = Shares(
        experience=share("A", 120, 240), project=share("B", 160, 160), budget=400, is_limited=True, exact=True
    )
    drawn = str(share_bar(shares))
    assert '<line x1="60%"' in drawn
    assert 'x="0%" y="4" width="30%" height="26" class="k1"' in drawn
    assert 'x="60%" y="4" width="40%" height="26" class="hatched"' in drawn
