import pytest

from carrel.files.ephemeral import EphemeralFiles
from carrel.files.local import LocalFiles
from carrel.workspace.document import DOCUMENT_LIMIT, Documents, decode


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"Text.", "Text."),
        (b"", ""),
        (b" \n\t\n", ""),
        (b"\xef\xbb\xbfText.", "Text."),
        (b"One\r\nTwo\r\n", "One\nTwo"),
        (b"One\rTwo\n", "One\rTwo"),
        ("Text.\u2003\x0b\x1c\n".encode(), "Text."),
        (b"\n\n  Text. \n x \n\n", "\n\n  Text. \n x"),
        (b"<!-- priority: 1 -->\r\n\r\nText.", "Text."),
        ("\ufeff---\r\npriority: 1\r\n---\r\nText.".encode(), "Text."),
        ("nul \0 and e\u0301".encode(), "nul \0 and e\u0301"),
    ],
)
def test_the_text_of_a_document_is_what_the_spec_says(data, text):
    document = decode("a.md", data)
    assert document.text == text
    assert document.problem is None


def test_the_verbatim_text_keeps_the_front_matter():
    document = decode("a.md", b"\xef\xbb\xbf<!-- priority: 1 -->\r\n\r\nText.\r\n")
    assert document.verbatim == "<!-- priority: 1 -->\n\nText."
    assert document.meta.priority == 1


@pytest.mark.parametrize("data", [b"caf\xe9", b"\xff\xfeT\0", b"\xed\xa0\x80", b"ok \xc3"])
def test_what_is_not_utf_8_is_unreadable_and_not_guessed_at(data):
    document = decode("a.md", data)
    assert document.problem == "not_utf8"
    assert document.text == document.verbatim == ""


def test_a_bad_value_comes_with_a_warning():
    assert decode("a.md", b"<!-- priority: high -->\nText.").warnings


def test_a_missing_file_is_no_document_and_a_folder_is_an_unreadable_one():
    reading = Documents(EphemeralFiles({"notes.md/x.md": "x"})).reading()
    missing, folder = reading.documents(["absent.md", "notes.md"])
    assert missing is None
    assert folder is not None
    assert folder.problem == "directory"


def test_a_file_too_large_for_any_prompt_is_unreadable():
    files = EphemeralFiles({"a.md": "x" * (DOCUMENT_LIMIT + 1), "b.md": "x" * DOCUMENT_LIMIT})
    large, small = Documents(files).reading().documents(["a.md", "b.md"])
    assert large is not None
    assert large.problem == "too_large"
    assert small is not None
    assert small.problem is None


class Watched(EphemeralFiles):
    """Files that count how often one is read."""

    reads = 0

    def read(self, path, **options):
        self.reads += 1
        return super().read(path, **options)


def test_an_unchanged_file_is_read_once_and_a_changed_one_again():
    files = Watched({"a.md": "one"})
    documents = Documents(files)
    for _ in range(3):
        document = documents.reading().document("a.md")
        assert document is not None
        assert document.text == "one"
    assert files.reads == 1
    files.write("a.md", b"two", expect=document.digest)
    changed = documents.reading().document("a.md")
    assert changed is not None
    assert changed.text == "two"


def test_a_reading_knows_what_it_depends_on():
    files = EphemeralFiles({"a.md": "one", "d/b.md": "two"})
    documents = Documents(files)
    reading = documents.reading()
    reading.documents(["a.md", "absent.md"])
    reading.list("d")
    assert set(reading.seen) == {"a.md", "absent.md", "d"}
    assert documents.stamps(list(reading.seen)) == reading.seen
    files.write("other.md", b"not looked at", expect=None)
    assert documents.stamps(list(reading.seen)) == reading.seen
    files.write("absent.md", b"now there", expect=None)
    assert documents.stamps(list(reading.seen)) != reading.seen


def test_a_new_file_in_a_folder_is_noticed():
    files = EphemeralFiles({"d/b.md": "two"})
    documents = Documents(files)
    reading = documents.reading()
    assert [entry.path for entry in reading.list("d")] == ["d/b.md"]
    files.write("d/a.md", b"one", expect=None)
    assert documents.stamps(list(reading.seen)) != reading.seen
    assert [entry.path for entry in documents.reading().list("d")] == ["d/a.md", "d/b.md"]


def test_a_folder_that_is_not_there_or_is_a_file_holds_nothing():
    reading = Documents(EphemeralFiles({"a": "file"})).reading()
    assert reading.list("absent") == ()
    assert reading.list("a") == ()


def test_what_stood_in_the_way_of_a_document_is_not_remembered(tmp_path):
    files = LocalFiles(tmp_path)
    (tmp_path / "d").write_text("in the way")
    documents = Documents(files)
    found = documents.reading().document("d/a.md")
    assert found is not None
    assert found.problem == "not_directory"
    documents.reading().list("d/b")
    (tmp_path / "d").unlink()
    assert documents.reading().document("d/a.md") is None
    reading = documents.reading()
    assert reading.list("d/b") == ()
    assert reading.problems == {}


def test_a_link_is_the_document_it_leads_to(tmp_path):
    (tmp_path / "CLAUDE.md").write_text("Be brief.")
    (tmp_path / "AGENTS.md").symlink_to("CLAUDE.md")
    link, file = Documents(LocalFiles(tmp_path)).reading().documents(["AGENTS.md", "CLAUDE.md"])
    assert link is not None
    assert file is not None
    assert (link.path, link.target, link.text) == ("AGENTS.md", "CLAUDE.md", "Be brief.")
    assert link.identity == file.identity


def test_a_link_that_leads_outside_is_unreadable(tmp_path):
    (tmp_path / "outside.md").write_text("not ours")
    (tmp_path / "inside").mkdir()
    (tmp_path / "inside" / "a.md").symlink_to("../outside.md")
    document = Documents(LocalFiles(tmp_path / "inside")).reading().document("a.md")
    assert document is not None
    assert document.problem == "link_outside"
    assert document.text == ""
