"""Namespaces in the browser: who reads them, what the switch would do, and that it does it."""

import re
from pathlib import Path

from playwright.sync_api import Page, expect
from tests.browser.conftest import Look, Studio, follow, serving
from tests.stubs import studio as stub

from carrel.app import Workspace

SQUAD = """\
layout: squad
agents:
  - id: nora
    profile: nora
  - id: otto
    profile: otto
"""


def namespace(studio: Studio, key: str) -> str:
    return next(studio.root.parent.rglob(f"{key}.md")).read_text()


def make_squad(folder: Path) -> Path:
    """A squad: its layout has a place in the prompt for what others learnt."""
    root = folder / "squad"
    environ = stub.environ(folder / "home")
    root.mkdir(parents=True)
    Workspace.init(root, layout="squad", environ=environ)
    (root / "carrel.yaml").write_text(SQUAD)
    Workspace.trust(root, environ=environ)
    with Workspace.open(root, agent="nora", environ=environ) as nora:
        nora.memory.add("Look at the tide table before sailing at night.", layer="experience")
    return root


def test_the_table_says_whose_each_is_and_who_reads_it(page: Page) -> None:
    page.goto("namespaces")
    row = page.get_by_role("row").filter(has_text="Agent Experience: Milo")
    expect(row).to_contain_text("profile milo")
    expect(row).to_contain_text("its own agent")


def test_a_namespace_is_switched_on_and_off_after_a_look_at_the_effect(
    own_studio: Studio, own_page: Page
) -> None:
    page = own_page
    page.goto("namespaces")
    follow(page.get_by_role("link", name="Switch on Agent Experience: Milo"))
    expect(page.get_by_role("heading", name="Switch on: Agent Experience: Milo")).to_be_visible()
    expect(page.get_by_role("row").filter(has_text="kate").first).to_contain_text(
        "no place for what others learnt"
    )
    expect(page.get_by_role("row").filter(has_text="its own: it reads it anyway")).to_contain_text("milo")
    assert "enabled: false" in namespace(own_studio, "profile.milo")  # looking switches nothing
    follow(page.get_by_role("button", name="Switch it on for everyone"))
    expect(page.get_by_role("row").filter(has_text="Agent Experience: Milo")).to_contain_text("every agent")
    assert "enabled: true" in namespace(own_studio, "profile.milo")
    follow(page.get_by_role("link", name="Switch off Agent Experience: Milo"))
    follow(page.get_by_role("button", name="Switch it off"))
    assert "enabled: false" in namespace(own_studio, "profile.milo")


def test_the_effect_is_told_in_tokens_for_each_prompt_and_comes_true(tmp_path: Path, look: Look) -> None:
    with serving(make_squad(tmp_path)) as squad:
        page = look(squad, path="namespaces?look=profile.nora")
        row = page.locator(".ahead tr").filter(has=page.get_by_role("rowheader", name="otto"))
        added = row.locator("strong").inner_text()
        assert re.fullmatch(r"\+[1-9][0-9]*", added)
        expect(
            page.locator(".ahead tr").filter(has=page.get_by_role("rowheader", name="nora"))
        ).to_contain_text("its own")
        before = used(squad)
        follow(page.get_by_role("button", name="Switch it on for everyone"))
        assert used(squad) - before == int(added)
        page.close()  # before its server ends


def used(squad: Studio) -> int:
    with Workspace.open(squad.root, agent="otto", environ=squad.environ) as otto:
        return otto.report().tokens.used


def test_a_namespace_is_renamed_and_keeps_its_key(own_studio: Studio, own_page: Page) -> None:
    own_page.goto("namespaces")
    row = own_page.get_by_role("row").filter(has_text="profile.milo")
    row.get_by_text("Rename, export").click()
    row.get_by_label("Title").fill("What Milo knows")
    follow(row.get_by_role("button", name="Rename"))
    expect(own_page.get_by_role("rowheader", name="What Milo knows profile.milo")).to_be_visible()
    assert "title: What Milo knows" in namespace(own_studio, "profile.milo")


def test_a_namespace_is_exported_as_markdown(page: Page) -> None:
    page.goto("namespaces")
    row = page.get_by_role("row").filter(has_text="profile.milo")
    row.get_by_text("Rename, export").click()
    with page.expect_download() as download:
        row.get_by_role("link", name="Export as Markdown").click()
    assert download.value.suggested_filename == "profile.milo.md"
    assert "- Milo waters the plants." in Path(download.value.path()).read_text()


def test_a_namespace_that_does_not_exist_is_told_on_a_page(page: Page, forgiven: set[str]) -> None:
    forgiven.add("404")
    answer = page.goto("namespaces?look=nobody")
    assert answer is not None
    assert answer.status == 404
    expect(page.get_by_role("heading", level=1)).to_contain_text("There is no namespace")
