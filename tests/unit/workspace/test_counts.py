import os
import shutil
import subprocess
import sys

import apsw
import pytest
from tests.conftest import WITHOUT_PRIVILEGE

from carrel.findings import Finding
from carrel.workspace.counts import NO_PLACE, TokenCounts


class Words:
    """A tokenizer that counts words, and how often it was asked."""

    def __init__(self, name: str = "words") -> None:
        self.name = name
        self.encoded = 0

    def encode(self, text: str) -> list[int]:
        self.encoded += 1
        return [0] * len(text.split())

    def decode(self, ids: list[int]) -> bytes:
        return b" ".join(b"x" for _ in ids)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "cache" / "tokens.db"


def codes(counts: TokenCounts) -> list[str]:
    return [finding.code for finding in counts.findings]


def test_a_text_is_counted_once():
    words = Words()
    counts = TokenCounts(words, None)
    assert [counts.count("one two") for _ in range(3)] == [2, 2, 2]
    assert counts.count("") == 0
    assert words.encoded == 1
    assert counts.findings == ()


def test_a_process_that_counts_ever_new_texts_does_not_grow_with_them(path):
    words = Words()
    counts = TokenCounts(words, path)
    for number in range(20_001):
        counts.count_once(f"new {number}")
        counts.keep_place(f"new {number}", "rule", (0, 1, 1))
    counts.flush()
    assert counts.count("new 20000") == 2
    assert counts.place("new 5", "rule") == (0, 1, 1)
    assert words.encoded == 20_001
    assert counts.count("new 5") == 2
    assert words.encoded == 20_002
    counts.close()


def test_a_second_cache_over_the_same_file_tokenises_nothing(path):
    first = TokenCounts(Words(), path)
    texts = ["one", "one two", "🐙", "a\udcffb"]
    expected = [first.count(text) for text in texts]
    first.close()
    words = Words()
    second = TokenCounts(words, path)
    assert [second.count(text) for text in texts] == expected
    assert words.encoded == 0
    second.close()


def test_what_is_flushed_is_there_for_others_at_once(path):
    first = TokenCounts(Words(), path)
    first.count("one two")
    first.flush()
    words = Words()
    assert TokenCounts(words, path).count("one two") == 2
    assert words.encoded == 0


def test_a_count_belongs_to_one_tokenizer(path):
    first = TokenCounts(Words("words"), path)
    first.count("one two")
    first.close()
    other = Words("other words")
    second = TokenCounts(other, path)
    assert second.count("one two") == 2
    assert other.encoded == 1
    second.close()


def test_a_changed_text_is_counted_anew(path):
    words = Words()
    counts = TokenCounts(words, path)
    assert counts.count("one two") == 2
    assert counts.count("one two three") == 3
    assert words.encoded == 2
    counts.close()


def test_the_place_of_a_cut_is_remembered_by_text_rule_and_tokenizer(path):
    first = TokenCounts(Words(), path)
    assert first.place("text", "rule") is None
    first.keep_place("text", "rule", (0, 3, 1))
    first.keep_place("text", "impossible", NO_PLACE)
    assert first.place("text", "rule") == (0, 3, 1)
    first.close()
    second = TokenCounts(Words(), path)
    assert second.place("text", "rule") == (0, 3, 1)
    assert second.place("text", "impossible") == NO_PLACE
    assert second.place("other", "rule") is None
    assert second.place("text", "other rule") is None
    second.close()
    third = TokenCounts(Words("other"), path)
    assert third.place("text", "rule") is None
    third.close()


def use(counts: TokenCounts) -> None:
    """Everything works, whatever became of the file."""
    assert counts.count("one two") == 2
    counts.keep_place("text", "rule", (0, 3, 1))
    assert counts.place("text", "rule") == (0, 3, 1)
    assert counts.place("text", "other") is None
    counts.flush()
    assert counts.count("one two three") == 3
    counts.close()


def test_a_missing_file_is_made_and_nothing_is_said(path):
    counts = TokenCounts(Words(), path)
    use(counts)
    assert path.exists()
    assert counts.findings == ()


DAMAGE = b"this is no database, though it is long enough to be taken for one. " * 100


def test_a_damaged_file_is_set_aside_and_begun_anew(path):
    path.parent.mkdir()
    path.write_bytes(DAMAGE)
    use(TokenCounts(Words(), path))
    words = Words()
    again = TokenCounts(words, path)
    assert again.count("one two") == 2
    assert words.encoded == 0
    assert path.with_name("tokens.db.damaged").read_bytes() == DAMAGE
    again.close()


def test_a_damaged_file_is_not_replaced_in_silence(path):
    path.parent.mkdir()
    path.write_bytes(DAMAGE)
    counts = TokenCounts(Words(), path)
    use(counts)
    assert codes(counts) == ["cache_damaged"]


def test_a_file_damaged_in_its_middle_costs_only_time(path):
    first = TokenCounts(Words(), path)
    for number in range(2_000):
        first.count(f"text {number}")
    first.close()
    whole = path.read_bytes()
    path.write_bytes(whole[:8192] + os.urandom(len(whole) - 8192))
    counts = TokenCounts(Words(), path)
    assert counts.count("text 7") == 2
    use(counts)


def test_a_file_cut_short_costs_only_time(path):
    first = TokenCounts(Words(), path)
    for number in range(2_000):
        first.count(f"text {number}")
    first.close()
    path.write_bytes(path.read_bytes()[:9000])
    counts = TokenCounts(Words(), path)
    assert counts.count("text 7") == 2
    use(counts)


def test_a_file_of_a_newer_carrel_is_left_alone_and_that_is_said(path):
    path.parent.mkdir()
    connection = apsw.Connection(str(path))
    list(connection.execute("PRAGMA journal_mode = WAL; CREATE TABLE later (x); PRAGMA user_version = 99"))
    connection.close()
    before = path.read_bytes()
    counts = TokenCounts(Words(), path)
    use(counts)
    assert path.read_bytes() == before
    assert codes(counts) == ["cache_unavailable"]
    assert all(isinstance(finding, Finding) and finding.severity == "info" for finding in counts.findings)


@pytest.mark.parametrize("obstacle", ["a file where its folder should be", "a folder where it should be"])
def test_a_place_where_no_file_can_be_is_said_and_costs_only_time(tmp_path, obstacle):
    (tmp_path / "file").write_text("")
    (tmp_path / "folder").mkdir()
    path = tmp_path / ("file/tokens.db" if obstacle.startswith("a file") else "folder")
    counts = TokenCounts(Words(), path)
    use(counts)
    assert codes(counts) == ["cache_unavailable"]


def test_a_damaged_file_that_cannot_be_set_aside_costs_only_time(path):
    path.parent.mkdir()
    path.write_bytes(DAMAGE)
    (path.parent / "tokens.db.damaged" / "in the way").mkdir(parents=True)
    counts = TokenCounts(Words(), path)
    use(counts)
    assert codes(counts) == ["cache_unavailable"]


COUNT = """
import sys
from pathlib import Path
from carrel.tokens import Vocabulary
from carrel.workspace.counts import TokenCounts
counts = TokenCounts(Vocabulary(), Path(sys.argv[1]))
counted = counts.count("one two three")
counts.flush()
assert counts.count("one two three") == counted > 0
counts.close()
print([finding.code for finding in counts.findings])
"""


@pytest.mark.parametrize("closed", ["file", "folder", "both"])
def test_a_file_that_may_not_be_written_costs_only_time(path, closed):
    TokenCounts(Words(), path).close()
    if closed != "folder":
        path.chmod(0o400)
    if closed != "file":
        path.parent.chmod(0o500)
    child = [sys.executable, "-c", WITHOUT_PRIVILEGE, sys.executable, "-c", COUNT, str(path)]
    done = subprocess.run(child, capture_output=True, text=True, timeout=60, check=False)
    path.parent.chmod(0o700)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "['cache_unavailable']\n"


def test_a_folder_that_is_deleted_meanwhile_costs_only_time(path):
    counts = TokenCounts(Words(), path)
    counts.count("one")
    shutil.rmtree(path.parent)
    use(counts)


def test_the_file_does_not_grow_with_every_edit_ever_made(path):
    counts = TokenCounts(Words(), path)
    for number in range(50_100):
        counts.count(f"edit {number}")
    counts.keep_place("text", "rule", (0, 1, 1))
    counts.close()
    connection = apsw.Connection(str(path))
    assert next(connection.execute("SELECT count(*) FROM workspace_files"))[0] == 50_000
    assert next(connection.execute("SELECT count(*) FROM cuts"))[0] == 1
    connection.close()
    words = Words()
    again = TokenCounts(words, path)
    again.count("edit 50099")
    assert words.encoded == 0
    again.count("edit 1")
    assert words.encoded == 1
    again.close()
