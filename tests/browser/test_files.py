"""Files in the browser: found in the tree, read, changed without losing anybody's words, and brought back."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, Route, expect
from tests.browser.conftest import NARROW, Look, Studio, follow, serving
from tests.stubs import studio as stub

from carrel.app import Workspace

THEIRS = "# Stack\n\nWe moved to SQLite.\n"
MINE = "# Stack\n\nWe moved to DuckDB.\n"
ODD = (
    "a b.md", "100%.md", "50%25.md", "%2e%2e.md", "%2F.md", "h#sh.md", "wh?t.md", "a=b&c.md", "plus+.md", "back\\slash.md",
    "new\nline.md", "tab\t.md", " lead.md", "trail .md", "...", "日本語.md", "🐙.md", "rtl\u202egnp.md", "<b>bold.md", "files",
)  # fmt: skip


def row(page: Page, name: str) -> Locator:
    return page.locator("[data-tree] a", has=page.get_by_text(name, exact=True))


def edited(page: Page, path: str, text: str) -> Locator:
    """Open a file's editor and write into it; nothing is saved yet."""
    page.goto(f"files/{path}?tab=edit")
    field = page.locator("#editor-text")
    expect(field).to_be_enabled()
    field.fill(text)
    return field


def saved(page: Page) -> None:
    page.locator("#editor-text").press("Control+s")
    expect(page.locator("[data-status]")).to_have_text("Saved.")


def test_a_file_is_found_in_the_tree_and_shown_beside_it(page: Page) -> None:
    page.goto("files")
    row(page, "memory").click()
    expect(page.locator("h1")).to_have_text("memory/")
    row(page, "entities").click()
    expect(page.locator("h1")).to_have_text("entities/")  # who goes on sooner has never been there
    row(page, "ana.md").click()
    expect(page.locator("h1")).to_have_text("ana.md")
    expect(page.locator("#preview .prose")).to_contain_text("works on")
    expect(page).to_have_url(re.compile(r"files/memory/entities/ana\.md$"))
    expect(row(page, "entities")).to_have_attribute("aria-expanded", "true")
    page.go_back()
    expect(page.locator("h1")).to_have_text("entities/")


def test_a_folder_is_opened_and_closed_by_its_arrow_without_leaving_the_page(page: Page) -> None:
    page.goto("files")
    row(page, "knowledge").click(position={"x": 8, "y": 12})
    expect(row(page, "api.md")).to_be_visible()
    expect(page.locator("h1")).to_have_text("Files")
    row(page, "knowledge").click(position={"x": 8, "y": 12})
    expect(row(page, "api.md")).to_be_hidden()


def test_the_tree_is_walked_by_keys(studio: Studio, look: Look) -> None:
    page = look(studio)
    page.clock.set_fixed_time(stub.NOW)  # two letters are one word, however long the machine takes
    page.goto("files")
    expect(page.locator("[role=tree]")).to_be_visible()
    row(page, "AGENTS.md").focus()
    focused = page.locator(":focus")
    for key, name in (("End", "subagents"), ("Home", ".carrel"), ("k", "knowledge")):
        page.keyboard.press(key)
        expect(focused).to_contain_text(name)
    page.keyboard.press("ArrowRight")
    expect(row(page, "api.md")).to_be_visible()
    for key, name in (
        ("ArrowRight", "KNOWLEDGE.md"), ("ArrowDown", "api.md"), ("ArrowUp", "KNOWLEDGE.md"), ("ArrowLeft", "knowledge"),
    ):  # fmt: skip
        page.keyboard.press(key)
        expect(focused).to_contain_text(name)
    page.keyboard.press("ArrowLeft")
    expect(row(page, "api.md")).to_be_hidden()
    page.keyboard.type("st")
    expect(focused).to_contain_text("stack.md")
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_have_text("stack.md")


def test_each_name_says_what_the_model_is_sent_of_it(page: Page) -> None:
    page.goto("files?agent=kate")
    table = page.locator("main table")
    expect(table.locator("tr", has_text="handbook.md").locator(".chip")).to_have_text("cut")
    expect(table.locator("tr", has_text="stack.md").locator(".chip")).to_have_text("in")
    expect(table.locator("tr", has_text="stack.md").locator(".count")).to_have_attribute("title", "counted")
    expect(table.locator("tr", has_text="carrel.yaml").locator(".count")).to_have_attribute(
        "title", "estimated"
    )
    expect(page.locator(".totals")).to_contain_text("folders")
    page.goto("files?agent=kate&beside=shared")
    expect(table.locator("tr", has_text="salaries.md").locator(".chip")).to_have_text("private")


def test_why_a_file_is_cut_is_told_beside_it(page: Page) -> None:
    page.goto("files/handbook.md")
    expect(page.locator(".side")).to_contain_text("Choose one")
    page.locator(".side").get_by_role("link", name="kate").click()
    expect(page.locator(".side")).to_contain_text("It is cut at")


def test_a_line_of_the_source_has_an_address(page: Page) -> None:
    page.goto("files/stack.md?tab=source#L5")
    line = page.locator("li:target")
    expect(line).to_contain_text("We use Python and PostgreSQL.")
    expect(line).to_be_in_viewport()


def test_json_is_indented_and_front_matter_is_told(page: Page) -> None:
    page.goto("files/data/config.json")
    expect(page.locator("pre.text")).to_contain_text('  "on": true')
    page.goto("files/stack.md")
    expect(page.get_by_label("About this file")).to_contain_text("priority")
    expect(page.locator(".prose")).not_to_contain_text("priority: 10")


def test_what_cannot_be_shown_says_why(own_studio: Studio, own_page: Page, forgiven: set[str]) -> None:
    forgiven.add("404")
    root = own_studio.root
    (root / "picture.bin").write_bytes(b"\0\1\2")
    (root / "latin.txt").write_bytes("Tomorrow, or as they say there: ma\xf1ana.".encode("latin-1"))
    (root / "out.md").symlink_to("/etc/hostname")
    for path, told in (
        ("picture.bin", "Not a text"),
        ("latin.txt", "not UTF-8"),
        ("out.md", "leads out of the workspace"),
        ("notes/empty.md?tab=source", "It is empty"),
        ("nothing.md", "There is no such file"),
    ):
        own_page.goto(f"files/{path}")
        expect(own_page.locator("#preview")).to_contain_text(told)
        expect(own_page.locator("[data-tree]")).to_be_visible()


def test_what_carrel_keeps_for_itself_says_whose_it_is(page: Page) -> None:
    page.goto("files")
    row(page, ".carrel").click()
    expect(page.locator("#preview")).to_contain_text("Carrel keeps this for itself")
    expect(row(page, ".carrel")).to_have_attribute("aria-current", "page")
    expect(row(page, ".carrel")).not_to_have_attribute("aria-expanded", "true")


def test_files_with_any_name_are_found_and_shown(own_studio: Studio, own_page: Page) -> None:
    odd = own_studio.root / "odd"
    (odd / "dir #1?").mkdir(parents=True)
    (odd / "dir #1?/in side.md").write_text("Found.\n")
    for name in ODD:
        (odd / name).write_text(f"It is {name!r}.\n")
    Path(os.fsdecode(os.fsencode(odd) + b"/bytes \xff.md")).write_text("Bytes.\n")
    own_page.goto("files/odd")
    assert own_page.locator("main tbody tr").count() == len(ODD) + 2
    tree, title = own_page.locator("[data-tree] ul a"), own_page.locator("h1")
    for number in reversed(range(tree.count())):
        name = tree.nth(number).locator("span").text_content() or ""
        tree.nth(number).click()
        expect(tree.nth(number)).to_have_attribute("aria-current", "page")
        expect(title).to_have_text(f"{name}/" if name == "dir #1?" else name)
    expect(row(own_page, "in side.md")).to_be_visible()
    for name in own_page.locator("main tbody a").all():
        assert own_page.request.get(name.get_attribute("href") or "").status == 200
    own_page.goto("files/odd/new%0Aline.md")
    with own_page.expect_download() as saved_as:
        own_page.get_by_role("link", name="Download").click()
    assert Path(saved_as.value.path()).read_text() == "It is 'new\\nline.md'.\n"
    own_page.goto("files/odd/bytes%20%FF.md?tab=source")
    expect(own_page.locator(".source")).to_contain_text("Bytes.")
    expect(own_page.get_by_role("link", name="Download")).not_to_be_attached()


def test_a_workspace_and_folders_may_be_called_as_the_pages_are(
    made_studio: Path, tmp_path: Path, look: Look
) -> None:
    root = stub.copy(made_studio, tmp_path / "own").rename(tmp_path / "own/files")
    Workspace.trust(root, environ=stub.environ(tmp_path / "own/home"))
    stub.put(root, {"files/stack.md": "Below.\n", "files/files/stack.md": "Below that.\n"})
    with serving(root) as served:
        page = look(served, path="files")
        row(page, "files").click()
        expect(row(page, "stack.md")).to_have_count(2)
        row(page, "files").nth(1).click()
        expect(row(page, "stack.md")).to_have_count(3)  # the title says the same as before
        row(page, "stack.md").nth(0).click()
        expect(page.locator("#preview")).to_contain_text("Below that.")
        expect(page.locator("[data-tree] [aria-current]")).to_have_count(1)
        expect(row(page, "stack.md").nth(0)).to_have_attribute("aria-current", "page")
        row(page, "stack.md").nth(2).click()
        expect(page.locator("#preview")).to_contain_text("We use Python")
        page.close()  # before its server ends


def test_a_file_that_went_meanwhile_is_told_of_beside_the_tree(
    own_studio: Studio, own_page: Page, forgiven: set[str]
) -> None:
    forgiven.add("404")
    own_page.goto("files")
    (own_studio.root / "stack.md").unlink()
    row(own_page, "stack.md").click()
    expect(own_page.locator("#preview")).to_contain_text("There is no such file")
    (own_studio.root / "data").rename(own_studio.root / "figures")
    row(own_page, "data").click(position={"x": 8, "y": 12})
    expect(own_page.locator(".toast.bad")).to_be_visible()
    expect(own_page.locator("[data-tree]")).to_be_visible()


def test_who_clicks_twice_sees_what_was_clicked_last(own_page: Page) -> None:
    own_page.goto("files")
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    own_page.route("**/files/stack.md", hold)
    row(own_page, "stack.md").click()
    row(own_page, "handbook.md").click()
    expect(own_page.locator("h1")).to_have_text("handbook.md")
    with own_page.expect_response("**/files/stack.md"):
        held[0].continue_()
    own_page.wait_for_timeout(200)
    expect(own_page.locator("h1")).to_have_text("handbook.md")
    expect(own_page).to_have_url(re.compile(r"files/handbook\.md$"))


@pytest.mark.parametrize("name", ["large.md", "large.txt", "line.txt", "large.json"])
def test_a_file_of_two_megabytes_is_shown_in_part(own_studio: Studio, own_page: Page, name: str) -> None:
    texts = {
        "large.md": "# Large\n\n" + "All work and no play. " * 90_000,
        "large.txt": "".join(f"{number} of many\n" for number in range(130_000)),
        "line.txt": "x" * 2_000_000,
        "large.json": "[" + "1234567, " * 220_000 + "0]",
    }
    (own_studio.root / name).write_text(texts[name])
    answer = own_page.goto(f"files/{name}")
    assert answer is not None
    assert answer.status == 200
    assert len(answer.body()) < 90_000
    expect(own_page.locator("#preview")).to_contain_text(" MB")
    own_page.goto(f"files/{name}?tab=edit")
    expect(own_page.locator("#editor-text")).not_to_be_attached()


def test_a_crowded_folder_comes_in_pages(own_studio: Studio, own_page: Page) -> None:
    crowd = own_studio.root / "crowd"
    crowd.mkdir()
    for number in range(700):
        (crowd / f"{number:03}.md").write_text(f"{number}\n")
    own_page.goto("files/crowd")
    follow(own_page.get_by_role("link", name="Later names"))
    expect(own_page.locator("main tbody tr").first).to_contain_text("080.md")
    more = own_page.locator("[data-tree] .more a")
    more.last.click()
    expect(row(own_page, "319.md")).to_be_attached()
    expect(row(own_page, "320.md")).not_to_be_attached()
    own_page.goto("files/crowd/500.md")
    expect(row(own_page, "500.md")).to_have_attribute("aria-current", "page")
    expect(row(own_page, "300.md")).not_to_be_attached()
    more.first.click()
    expect(row(own_page, "300.md")).to_be_attached()
    names = [name for name in own_page.locator("[data-tree] a > span").all_inner_texts() if name[0].isdigit()]
    assert names == sorted(set(names))
    own_page.goto("files/crowd?scope=shared")
    follow(own_page.get_by_role("link", name="Later names"))
    expect(own_page).to_have_url(re.compile(r"after=079\.md"))  # a number would mean to open all before it
    expect(own_page.locator("main tbody tr").first).to_contain_text("080.md")
    more.last.click()
    expect(row(own_page, "319.md")).to_be_attached()


def test_an_edit_is_saved_and_leaves_all_else_as_it_was(own_studio: Studio, own_page: Page) -> None:
    path = own_studio.root / "stack.md"
    path.write_bytes(b"\xef\xbb\xbf# Stack\r\n\r\nOld.\r\n")
    edited(own_page, "stack.md", "# Stack\n\nNew \N{OCTOPUS}.\n".replace("# ", "\ufeff# "))
    saved(own_page)
    assert path.read_bytes() == "\ufeff# Stack\r\n\r\nNew \N{OCTOPUS}.\r\n".encode()


def test_a_new_file_is_made_when_it_is_saved(own_studio: Studio, own_page: Page) -> None:
    own_page.goto("files/notes")
    own_page.get_by_label("Name of a new file").fill("../up.md")
    own_page.get_by_role("button", name="New file").click()
    expect(own_page.locator(".toast.bad")).to_contain_text("in this folder")
    own_page.get_by_label("Name of a new file").fill("plan b.md")
    own_page.get_by_role("button", name="New file").click()
    expect(own_page.locator("#editor-text")).to_be_enabled()
    assert not (own_studio.root / "notes/plan b.md").exists()
    own_page.locator("#editor-text").fill("Sail.\n")
    saved(own_page)
    assert (own_studio.root / "notes/plan b.md").read_text() == "Sail.\n"
    own_page.get_by_role("link", name="Close").click()
    expect(own_page.locator("h1")).to_have_text("plan b.md")


def test_a_new_file_that_somebody_else_made_first_is_not_overwritten(
    own_studio: Studio, own_page: Page, forgiven: set[str]
) -> None:
    forgiven.add("412")
    own_page.goto("files/notes/plan.md?tab=edit")
    own_page.locator("#editor-text").fill("Mine.\n")
    (own_studio.root / "notes/plan.md").write_text("Theirs.\n")
    own_page.locator("#editor-text").press("Control+s")
    expect(own_page.locator("[data-theirs]")).to_contain_text("Theirs.")
    assert own_page.locator("#editor-text").input_value() == "Mine.\n"
    assert (own_studio.root / "notes/plan.md").read_text() == "Theirs.\n"


def test_an_edit_over_somebodys_change_shows_both_and_lets_one_choose(
    own_studio: Studio, own_page: Page, forgiven: set[str]
) -> None:
    forgiven.add("412")
    path, both = own_studio.root / "stack.md", own_page.get_by_role("alertdialog")
    theirs = own_page.locator("[data-theirs]")

    def meet(choice: str) -> Locator:
        field = edited(own_page, "stack.md", MINE)
        path.write_text(THEIRS)
        field.press("Control+s")
        expect(both).to_contain_text("Somebody changed it meanwhile")
        expect(theirs).to_contain_text("We moved to SQLite.")
        assert (field.input_value(), path.read_text()) == (MINE, THEIRS)
        own_page.get_by_role("button", name=choice).click()
        expect(both).to_be_hidden()
        return field

    assert (meet("Take theirs").input_value(), path.read_text()) == (THEIRS, THEIRS)
    own_page.get_by_role("button", name="Bring mine back").click()
    assert own_page.locator("#editor-text").input_value() == MINE
    own_page.locator("#editor-text").fill(THEIRS)
    path.write_text("Older.\n")
    meet("Keep mine")
    expect(own_page.locator("[data-status]")).to_have_text("Saved.")
    assert path.read_text() == MINE
    path.write_text("Older.\n")
    field = meet("Go on editing")
    expect(theirs).to_be_visible()
    assert (field.input_value(), path.read_text()) == (MINE, THEIRS)
    field.fill("Both.\n")
    saved(own_page)
    assert path.read_text() == "Both.\n"


def test_what_is_not_saved_is_not_left_without_a_word(
    own_studio: Studio, own_page: Page, forgiven: set[str]
) -> None:
    forgiven.add("beforeunload")
    field = edited(own_page, "stack.md", MINE)
    with own_page.expect_event("dialog") as asked:
        own_page.get_by_role("link", name="Overview").click(no_wait_after=True)
    assert asked.value.type == "beforeunload"
    assert field.input_value() == MINE
    assert "DuckDB" not in (own_studio.root / "stack.md").read_text()


def test_a_file_is_moved_and_then_deleted_to_the_trash(own_studio: Studio, own_page: Page) -> None:
    root = own_studio.root
    text = (root / "stack.md").read_text()
    own_page.goto("files/stack.md")
    own_page.get_by_text("Rename or move").click()
    own_page.get_by_label("New path").fill("notes/the stack.md")
    follow(own_page.get_by_role("button", name="Move"))
    expect(own_page.locator("h1")).to_have_text("the stack.md")
    assert (root / "notes/the stack.md").read_text() == text
    own_page.locator("summary", has_text="Delete").click()
    own_page.get_by_role("button", name="Delete this file").click()
    expect(own_page.locator("h1")).to_have_text("notes/")
    expect(own_page.locator(".toast")).to_contain_text("kept at")
    assert not (root / "notes/the stack.md").exists()
    assert [kept.read_text() for kept in (root / ".carrel").rglob("the stack.md")] == [text]


def carrel(studio: Studio, *words: str) -> None:
    subprocess.run(
        [sys.executable, "-m", "carrel", "-C", str(studio.root), *words], env=studio.environ, check=True
    )


def test_the_history_of_a_file_shows_each_change_and_takes_it_back(
    own_studio: Studio, own_page: Page
) -> None:
    path = own_studio.root / "MEMORY.md"
    before = path.read_bytes()
    carrel(own_studio, "--agent", "kate", "memory", "append", "MEMORY.md", "People", "- Bo sails.")
    own_page.goto("files/MEMORY.md?tab=history")
    change = own_page.locator("article.change").first
    expect(change.locator(".add")).to_contain_text(["Bo sails."])
    change.get_by_role("button", name="Undo").click()
    expect(own_page.locator("article.change").first).to_contain_text("takes back #")
    assert path.read_bytes() == before


def test_files_are_read_without_scripts_and_on_a_phone(studio: Studio, look: Look) -> None:
    page = look(studio, scripts=False, width=NARROW, path="files")
    page.locator("main table").get_by_role("link", name="knowledge/").click()
    page.locator("main table").get_by_role("link", name="api.md").click()
    expect(page.locator("h1")).to_have_text("api.md")
    expect(page.locator(".prose")).to_contain_text("All calls go through")


def test_others_are_not_shown_that_a_private_file_exists(page: Page, forgiven: set[str]) -> None:
    forgiven.add("404")
    page.goto("files?scope=shared")
    expect(row(page, "stack.md")).to_be_visible()
    expect(row(page, "salaries.md")).not_to_be_attached()
    page.goto("files/salaries.md?scope=shared")
    expect(page.locator("#preview")).to_contain_text("Nothing that others may see")
    expect(page.locator("#preview")).not_to_contain_text("Luis")


def test_a_name_that_comes_or_goes_does_so_in_the_tree_too(own_studio: Studio, own_page: Page):
    own_page.goto("files/notes?agent=kate")
    tree = own_page.get_by_role("tree", name="Files")
    expect(tree.get_by_role("treeitem", name="empty.md")).to_be_visible()
    fresh = tree.get_by_role("treeitem", name="fresh.md")
    while not fresh.count():  # until somebody watches
        (own_studio.root / "notes/fresh.md").write_text("# Fresh\n\nJust now.\n")
        own_page.wait_for_timeout(50)
    (own_studio.root / "notes/new folder").mkdir()
    (own_studio.root / "notes/new folder/deep.md").write_text("Deep.\n")
    (own_studio.root / "first.md").write_text("First.\n")
    expect(fresh).to_be_visible()
    expect(tree.get_by_role("treeitem", name="new folder")).to_have_attribute("aria-expanded", "false")
    expect(tree.get_by_role("treeitem", name="first.md")).to_be_visible()
    expect(own_page.locator("table.names")).to_contain_text("fresh.md")
    names = tree.get_by_role("treeitem").locator("span").all_inner_texts()
    assert names.index("empty.md") < names.index("fresh.md") < names.index("new folder")
    assert len(names) == len({*names})
    fresh.click()
    expect(own_page.get_by_role("heading", level=1)).to_have_text("fresh.md")
    (own_studio.root / "notes/empty.md").unlink()
    expect(tree.get_by_role("treeitem", name="empty.md")).to_have_count(0)
