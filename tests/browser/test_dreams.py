"""Dreams in the browser: candidates against the gates, a run, what it promoted, and the way back."""

import re
from datetime import timedelta

from playwright.sync_api import Page, expect
from tests.browser.conftest import Studio, follow
from tests.stubs.studio import NOW, day

from carrel.app import Workspace
from carrel.http.explorer.pictures.dots import Axis, Dot, dot_plot
from carrel.records.recalls import RecallEvent

OFTEN = "- 10:00 [note] Ana was ill."
PATH = f"memory/{day(2)}.md"


def recall(studio: Studio, *, times: int) -> None:
    """Let a model be reminded of a line, once a day."""
    with Workspace.open(studio.root, agent="kate", environ=studio.environ) as kate:
        kate.records.recalls.add(
            RecallEvent(
                agent="kate", session="launch", at=NOW - timedelta(days=back), query=f"how is Ana, {back}", path=PATH,
                line=2, tier="journal", rank=1, score=0.8, text=OFTEN, who="prepare",
            )
            for back in range(times)
        )  # fmt: skip


def memory_of(studio: Studio) -> str:
    return (studio.root / "MEMORY.md").read_text()


def test_each_candidate_is_shown_with_every_gate_and_why_it_is_not_promoted(
    own_studio: Studio, own_page: Page
) -> None:
    recall(own_studio, times=1)
    own_page.goto("dreams?agent=kate")
    row = own_page.get_by_role("row").filter(has_text="Ana was ill.")
    expect(row).to_contain_text("< 2")  # days
    expect(row).to_contain_text("Not yet:")
    expect(own_page.locator(".why-note")).to_contain_text("Nothing would be promoted now.")
    expect(own_page.locator(".why-note")).to_contain_text("candidates")


def test_the_picture_has_the_gates_and_is_drawn_by_what_is_asked_for(
    own_studio: Studio, own_page: Page
) -> None:
    recall(own_studio, times=4)
    own_page.goto("dreams?agent=kate")
    expect(
        own_page.get_by_role("img", name=re.compile("by score and recalls. The gates are at 3 recalls"))
    ).to_be_visible()
    own_page.get_by_role("link", name="by days").click()
    expect(
        own_page.get_by_role("img", name=re.compile("The gates are at 2 days and a score of 0.35"))
    ).to_be_visible()
    assert "across=days" in own_page.url


def test_a_dry_run_tells_what_would_be_promoted_and_writes_nothing(
    own_studio: Studio, own_page: Page
) -> None:
    recall(own_studio, times=4)
    before = memory_of(own_studio)
    own_page.goto("dreams?agent=kate")
    own_page.get_by_role("link", name="Dry run").click()
    expect(own_page.locator("#dry")).to_contain_text("A run now would promote 1 to MEMORY.md")
    expect(own_page.locator("#dry")).to_contain_text("Ana was ill.")
    assert memory_of(own_studio) == before


def test_a_dream_promotes_what_passes_and_is_taken_back(own_studio: Studio, own_page: Page) -> None:
    recall(own_studio, times=4)
    before = memory_of(own_studio)
    own_page.goto("dreams?agent=kate")
    follow(own_page.get_by_role("button", name="Dream now"))
    run = own_page.locator("article").first
    expect(run).to_contain_text("1 promoted")
    expect(run).to_contain_text("Ana was ill.")
    assert "Ana was ill." in memory_of(own_studio)
    follow(run.get_by_role("button", name="Take this run back"))
    expect(own_page.locator("article").first).to_contain_text("reverted")
    assert memory_of(own_studio) == before


def test_a_run_that_promotes_nothing_says_why(own_studio: Studio, own_page: Page) -> None:
    own_page.goto("dreams?agent=kate")
    follow(own_page.get_by_role("button", name="Dream now"))
    run = own_page.locator("article").first
    expect(run).to_contain_text("nothing promoted")
    expect(run).to_contain_text("Why nothing:")


def test_an_agent_of_whom_nothing_was_recalled_is_told_so(page: Page) -> None:
    page.goto("dreams?agent=milo")
    expect(page.locator(".empty")).to_contain_text("Nothing was recalled yet")


def test_the_diary_is_read_as_a_page(page: Page) -> None:
    page.goto("dreams?agent=kate&tab=diary")
    expect(page.locator(".prose h2").first).to_contain_text(re.compile("Sleep|Dream|20"))
    expect(page.get_by_role("link", name="DREAMS.md")).to_be_visible()


def test_others_see_nothing_of_dreams(page: Page) -> None:
    page.goto("dreams?agent=kate&scope=shared")
    expect(page.locator(".empty")).to_contain_text("Others see nothing of this")


def test_dots_are_told_apart_by_their_shape_and_do_not_lie_on_one_another() -> None:
    dots = [
        Dot(number=1, across=4, score=0.8, standing="passes"),
        Dot(number=2, across=4, score=0.8, standing="held"),
        Dot(number=3, across=1, score=0.2, standing="below"),
    ]
    drawn = str(dot_plot(dots, Axis(name="recalls", least=3), 0.35))
    assert drawn.count('class="pip"') == 3
    assert drawn.count("<circle") == 1
    places = re.findall(r'<svg x="([^"]+)" y="([^"]+)" class="pip">', drawn)
    assert len(set(places)) == len(dots)
    assert "1 pass every gate and would be promoted, 1 pass and may not be, 1 do not pass." in drawn
