"""Entities in a query: what their pages lead to, kept while the pages are the same."""

from datetime import date

from carrel.files.ephemeral import EphemeralFiles
from carrel.runtime.leads import Leads

TODAY = date(2026, 4, 24)
PAGES = {
    "memory/entities/ana.md": "# Ana\n\n- works_with: [[Luis]] (0.9, 2026-04-01)\n",
    "memory/entities/luis.md": "# Luis\n\nRuns the harbour desk.\n",
    "memory/entities/eve.md": "# Eve\n\nKnows nobody.\n",
}


def stored(pages=PAGES):
    files = EphemeralFiles()
    for path, text in pages.items():
        files.write(path, text.encode(), expect=None)
    return files


def led_to(leads, files, query, shown=bool):
    found = leads.find(files, "", query, TODAY, shown)
    return {pointer.path for pointers in found for pointer in pointers.hits}


def test_a_name_leads_to_its_page_and_to_those_it_has_to_do_with():
    assert led_to(Leads(), stored(), "What does ana do?") == {
        "memory/entities/ana.md",
        "memory/entities/luis.md",
    }


def test_a_query_that_names_nobody_leads_nowhere():
    assert led_to(Leads(), stored(), "What is the weather?") == set()
    assert led_to(Leads(), EphemeralFiles(), "Ana") == set()


def test_a_page_that_changes_is_read_again():
    files, leads = stored(), Leads()
    assert "memory/entities/eve.md" not in led_to(leads, files, "Ana")
    text = b"# Ana\n\n- knows: [[Eve]] (0.9, 2026-04-01)\n"
    content = files.read("memory/entities/ana.md")
    assert content is not None
    files.write("memory/entities/ana.md", text, expect=content.digest)
    assert led_to(leads, files, "Ana") == {"memory/entities/ana.md", "memory/entities/eve.md"}


def test_pages_that_a_listener_may_not_see_lead_nowhere():
    shown = led_to(Leads(), stored(), "Ana", lambda entry: not entry.path.endswith("luis.md"))
    assert shown == {"memory/entities/ana.md"}


def test_a_page_that_is_no_text_is_passed_over():
    files = stored()
    files.write("memory/entities/odd.md", b"\xff\xfe", expect=None)
    assert led_to(Leads(), files, "Ana") == {"memory/entities/ana.md", "memory/entities/luis.md"}
