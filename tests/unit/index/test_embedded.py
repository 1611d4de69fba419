"""The index in its folder: what others do to it, what breaks in it, and what it says then."""

import os
import re
import shutil
import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import apsw
import pytest
from tests.stubs.indexed import Meanings, Shelf

from carrel.errors import Unavailable
from carrel.files.disk import Disk
from carrel.index import Filter, Query
from carrel.index.catalog import FORMAT
from carrel.index.embedded import EmbeddedIndex, parts
from carrel.index.embedded.catalog import Catalog
from carrel.index.embedded.words import Words, WordsUnavailable
from carrel.index.sync import take_in

SHELF = {
    f"notes/{number}.md": f"# Note {number}\n\nThe apple of row {number} is ripe." for number in range(12)
}


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "cache/index"


@pytest.fixture
def shelf():
    return Shelf(SHELF)


@pytest.fixture
def opened(folder, shelf):
    """Opens the index as another process would; what was opened is closed at the end."""
    made = []

    def opening(**given):
        index = EmbeddedIndex(folder, **given)
        made.append(index)
        return index

    first = opening()
    first.sync(shelf)
    first.close()
    yield opening
    for index in made:
        index.close()


def count(index, **asked):
    found = index.search(Query(text="apple", limit=50, mode="lexical", **asked))
    return len(found.hits), found.degraded


def words_of(folder):
    (found,) = folder.glob("words-*")
    return found


def codes(findings):
    return [finding.code for finding in findings]


def test_another_process_finds_what_this_one_wrote_and_writes_what_this_one_finds(opened, folder, shelf):
    index = opened()
    assert count(index) == (12, False)
    program = """
import sys
from pathlib import Path
from carrel.index import Query
from carrel.index.embedded import EmbeddedIndex
from tests.stubs.indexed import Shelf
index = EmbeddedIndex(Path(sys.argv[1]))
assert len(index.search(Query(text="apple", limit=50)).hits) == 12
index.sync(Shelf({"new.md": "An apple from elsewhere."}), only=["new.md"])
"""
    root = Path(__file__).parents[3]
    done = subprocess.run(
        [sys.executable, "-c", program, folder],
        cwd=root,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert count(index) == (13, False)


def test_processes_that_write_at_once_lose_nothing(folder):
    program = """
import sys
from pathlib import Path
from carrel.index.embedded import EmbeddedIndex
from tests.stubs.indexed import Shelf
index = EmbeddedIndex(Path(sys.argv[1]))
for number in range(8):
    path = f"{sys.argv[2]}-{number}.md"
    assert not index.sync(Shelf({path: f"apple {path}"}), only=[path]).findings
"""
    root = Path(__file__).parents[3]
    command = [sys.executable, "-c", program, str(folder)]
    running = [subprocess.Popen([*command, name], cwd=root, stderr=subprocess.PIPE) for name in "abc"]
    for process in running:
        _, told = process.communicate(timeout=120)
        assert process.returncode == 0, told
    index = EmbeddedIndex(folder)
    assert count(index) == (24, False)
    index.close()


def test_what_is_due_after_a_crash_is_written_at_the_next_sync(opened, folder, shelf):
    """The catalog was written and nothing else: as if the process had died there."""
    catalog = Catalog(folder / "catalog.db")
    shelf.documents["late.md"] = "One more apple."
    del shelf.documents["notes/0.md"]
    take_in(catalog, shelf)
    assert catalog.waiting("words") == 2
    catalog.close()
    index = opened()
    assert count(index) == (11, False), "what was dropped is not shown, what is due not yet found"
    index.sync(shelf)
    assert count(index) == (12, False)
    assert index.status().waiting == 0


def test_what_was_written_twice_is_found_once(opened, folder, shelf):
    """The words were written and the note was not taken away: as if the process had died there."""
    catalog = Catalog(folder / "catalog.db")
    for own in catalog.ids("1", ()):
        catalog.owe_dropped("words", own)
    catalog.close()
    index = opened()
    index.sync(shelf)
    assert count(index) == (12, False)


@pytest.mark.parametrize("size", [0, 10, 100])
@pytest.mark.parametrize("ending", ["term", "idx", "fast", "fieldnorm", "json"])
def test_damaged_words_are_set_aside_and_made_anew(opened, folder, shelf, ending, size):
    for path in words_of(folder).glob(f"*.{ending}"):
        if not path.name.startswith("."):
            path.write_bytes(path.read_bytes()[:size] + os.urandom(40))
    index = opened()
    found = index.search(Query(text="apple", mode="lexical"))
    assert found.degraded or not found.hits or len(found.hits) == 10
    assert codes(index.sync(shelf).findings) == ["index_damaged"]
    assert count(index) == (12, False)
    assert (folder / "words.damaged").is_dir()


@pytest.mark.parametrize("name", ["*.store", "*.fast", "meta.json", ".tantivy-writer.lock", ""])
@pytest.mark.parametrize("odd", [os.mkfifo, Path.mkdir, lambda path: path.symlink_to("/dev/zero")])
def test_what_is_no_file_among_the_words_is_never_opened(opened, folder, shelf, name, odd):
    path = next(words_of(folder).glob(name)) if name else words_of(folder)
    path.unlink() if name else shutil.rmtree(path)
    odd(path)
    index = opened()
    signal.alarm(10)
    before = index.search(Query(text="apple", mode="lexical"))
    report = index.sync(shelf)
    signal.alarm(0)
    assert codes(before.findings) == ["words_unavailable"]
    assert codes(report.findings) == ["index_damaged"]
    assert count(index) == (12, False)


def test_the_first_answer_after_damage_says_so_once_and_is_no_poorer(opened, folder, shelf):
    next(words_of(folder).glob("*.idx")).write_bytes(b"")
    index = opened()
    index.sync(shelf)
    answers = [index.search(Query(text="apple", limit=50)) for _ in range(2)]
    assert [len(each.hits) for each in answers] == [12, 12]
    assert not any(each.degraded for each in answers)
    assert [codes(each.findings) for each in answers] == [["index_damaged"], []]
    assert index.sync(shelf).findings == ()


def test_damage_that_a_checksum_shows_makes_nobody_panic(opened, folder, shelf, capfd):
    path = next(words_of(folder).glob("*.store"))
    data = bytearray(path.read_bytes())
    data[data.rindex(b'{"version"') - 16] ^= 0x40  # how it is compressed: tantivy panics over an unknown way
    path.write_bytes(data)
    index = opened()
    index.sync(shelf)
    assert count(index) == (12, False)
    assert capfd.readouterr().err == ""


def test_a_flipped_byte_is_noticed(opened, folder, shelf):
    path = next(words_of(folder).glob("*.idx"))
    data = bytearray(path.read_bytes())
    data[len(data) // 3] ^= 0xFF
    path.write_bytes(data)
    index = opened()
    index.sync(shelf)
    assert count(index) == (12, False)
    assert (folder / "words.damaged").is_dir()


def test_words_that_are_gone_are_made_anew(opened, folder, shelf):
    shutil.rmtree(words_of(folder))
    index = opened()
    assert count(index) == (0, True)
    index.sync(shelf)
    assert count(index) == (12, False)


def test_words_of_another_index_are_never_taken_for_its_own(opened, folder, shelf):
    (folder / "catalog.db").unlink()
    for suffix in ("-wal", "-shm"):
        (folder / f"catalog.db{suffix}").unlink(missing_ok=True)
    index = opened()
    assert count(index) == (0, False)
    index.sync(Shelf({"only.md": "One apple."}))
    assert count(index) == (1, False)
    assert len(list(folder.glob("words-*"))) == 1


@pytest.mark.parametrize("data", [b"", b"not a database at all, and long enough to be looked at" * 90])
def test_a_damaged_catalog_is_set_aside_and_the_index_made_anew(opened, folder, shelf, data):
    (folder / "catalog.db").write_bytes(data)
    for suffix in ("-wal", "-shm"):
        (folder / f"catalog.db{suffix}").unlink(missing_ok=True)
    index = opened()
    report = index.sync(shelf)
    assert codes(report.findings) == (["index_damaged"] if data else [])
    assert report.chunks == 12
    assert count(index) == (12, False)


def test_a_catalog_that_is_set_aside_by_who_asks_how_the_index_is_is_told_of_by_the_next_sync(
    opened, folder, shelf
):
    path, index = folder / "catalog.db", opened()
    with closing(apsw.Connection(str(path))) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    with path.open("r+b") as file:
        file.seek(4_096)
        file.write(bytes(path.stat().st_size - 4_096))
    assert index.status().degraded
    assert path.with_name("catalog.db.damaged").exists()
    assert "index_damaged" in codes(index.sync(shelf).findings)
    assert count(index) == (12, False)


def test_an_index_of_a_newer_carrel_is_left_alone_and_the_answer_says_so(opened, folder, shelf):
    connection = apsw.Connection(str(folder / "catalog.db"))
    connection.execute("UPDATE state SET format = ?", (FORMAT + 1,))
    connection.close()
    index = opened()
    index.sync(shelf)
    assert count(index) == (12, True)
    assert codes(index.search(Query(text="apple")).findings) == ["newer_format"]
    index.close()
    connection = apsw.Connection(str(folder / "catalog.db"))
    assert list(connection.execute("SELECT format, (SELECT count(*) FROM chunks) FROM state")) == [
        (FORMAT + 1, 12)
    ]
    connection.close()


def test_an_index_of_an_earlier_format_is_made_anew(opened, folder, shelf):
    connection = apsw.Connection(str(folder / "catalog.db"))
    connection.execute("UPDATE state SET format = 0")
    connection.close()
    index = opened()
    assert count(index) == (0, False)
    assert index.sync(shelf).chunks == 12
    assert count(index) == (12, False)


def test_a_folder_that_cannot_be_made_leaves_the_index_in_memory(tmp_path, shelf):
    (tmp_path / "cache").write_text("a file in the way")
    index = EmbeddedIndex(tmp_path / "cache/index", embedder=Meanings())
    assert codes(index.sync(shelf).findings) == ["index_folder_unusable"]
    found = index.search(Query(text="apple", limit=50))
    assert (len(found.hits), found.degraded, index.status().location) == (12, True, "")
    index.close()


def test_a_link_in_the_way_is_not_followed(tmp_path, shelf):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (tmp_path / "desk").mkdir()
    (tmp_path / "desk/cache").symlink_to(elsewhere)
    index = EmbeddedIndex(tmp_path / "desk/cache/index", inside=tmp_path / "desk")
    index.sync(shelf)
    assert count(index) == (12, True)
    assert list(elsewhere.iterdir()) == []
    index.close()


def test_a_folder_that_is_deleted_meanwhile_is_made_again(opened, folder, shelf):
    index = opened()
    assert count(index) == (12, False)
    shutil.rmtree(folder)
    assert count(index)[0] in (0, 12)
    assert index.sync(shelf).findings == ()
    assert count(index) == (12, False)
    assert (folder / "catalog.db").is_file()


def test_who_cannot_write_now_still_answers_and_says_so(opened, folder, shelf, monkeypatch):
    monkeypatch.setattr(parts, "LOCK_SECONDS", 0.05)
    index = opened()
    assert count(index) == (12, False)
    held = os.open(folder / "lock", os.O_RDWR)
    assert Disk().lock(held)
    shelf.documents["late.md"] = "One more apple."
    assert codes(index.sync(shelf).findings) == ["lock_timeout"]
    assert count(index) == (12, True)
    os.close(held)
    assert index.sync(shelf).findings == ()
    assert count(index) == (13, False)


def test_words_that_cannot_be_written_are_written_later(opened, folder, shelf, monkeypatch):
    index = opened()

    def full(*_):
        raise WordsUnavailable("no room")

    with monkeypatch.context() as patched:
        patched.setattr(Words, "write", full)
        shelf.documents["late.md"] = "One more apple."
        assert codes(index.sync(shelf).findings) == ["words_unavailable"]
        assert count(index) == (12, True)
        assert index.status().waiting == 1
    assert index.sync(shelf).findings == ()
    assert count(index) == (13, False)


def test_an_embedder_that_fails_leaves_words_and_is_asked_again_later(opened, shelf):
    embedder = Meanings(broken=Unavailable("no server", hint="Start it."))
    index = opened(embedder=embedder)
    assert codes(index.sync(shelf).findings) == ["unavailable"]
    found = index.search(Query(text="apple", limit=50))
    assert (len(found.hits), found.degraded) == (12, True)
    embedder.broken = None
    assert index.sync(shelf).findings == ()
    found = index.search(Query(text="apples", limit=50))
    assert (len(found.hits), found.degraded) == (12, False)
    assert {placing.name for placing in found.hits[0].fused.placings} == {"words", "vectors"}


def test_an_embedder_that_fails_at_a_question_leaves_words(opened, shelf):
    embedder = Meanings()
    index = opened(embedder=embedder)
    index.sync(shelf)
    embedder.broken = Unavailable("no server", hint="Start it.")
    for mode in ("hybrid", "vector"):
        found = index.search(Query(text="apple", limit=50, mode=mode))
        assert (len(found.hits), found.degraded, codes(found.findings)) == (12, True, ["unavailable"])
    embedder.broken = None
    assert not index.search(Query(text="apple")).degraded


def test_another_embedder_makes_all_vectors_anew(opened, folder, shelf):
    opened(embedder=Meanings("one")).sync(shelf)
    other = Meanings("two")
    index = opened(embedder=other)
    found = index.search(Query(text="apple", limit=50))
    assert (len(found.hits), codes(found.findings)) == (12, ["vectors_behind"])
    assert index.status().vectors == 0
    index.sync(shelf)
    assert (len(other.embedded), index.status().vectors, index.status().embedder) == (12, 12, "two")
    assert len(list(folder.glob("vectors-*.bin"))) == 1


def test_only_what_changed_is_embedded_again(opened, shelf):
    embedder = Meanings()
    index = opened(embedder=embedder)
    index.sync(shelf)
    assert len(embedder.embedded) == 12
    shelf.documents["notes/3.md"] = "# Note 3\n\nPears."
    index.sync(shelf)
    assert embedder.embedded[12:] == ["Note 3\n# Note 3\n\nPears."]
    assert index.status().vectors == 12


def test_vectors_that_are_gone_are_made_anew(opened, folder, shelf):
    opened(embedder=Meanings()).sync(shelf)
    for path in folder.glob("vectors-*"):
        path.unlink()
    index = opened(embedder=Meanings())
    index.sync(shelf)
    assert index.status().vectors == 12
    assert index.search(Query(text="apple", mode="vector")).hits


def test_searching_leaves_no_trace_but_its_own(opened, folder):
    before = sorted(path.name for path in folder.iterdir())
    index = opened()
    count(index)
    index.close()
    assert sorted(path.name for path in folder.iterdir() if not path.name.endswith(("-wal", "-shm"))) == [
        name for name in before if not name.endswith(("-wal", "-shm"))
    ]


def test_many_changes_leave_nothing_of_what_was(opened, folder, shelf):
    index = opened(embedder=Meanings())
    for number in range(12):
        shelf.documents["notes/3.md"] = f"# Note\n\nVersion {number} of an apple."
        index.sync(shelf, only=["notes/3.md"])
    again = opened(embedder=Meanings())
    again.sync(shelf)
    assert not (folder / "words.damaged").exists(), "the parts agree on what there is"
    assert [hit.chunk.text for hit in again.search(Query(text="version", mode="lexical")).hits] == [
        "# Note\n\nVersion 11 of an apple."
    ]


@pytest.mark.parametrize(
    ("old", "new"), [(b"damagedword", b"\xc8amagedword"), (b'["Headingword"]', b'{"Headingword"]')]
)
def test_a_catalog_that_holds_what_nobody_wrote_is_set_aside_and_made_anew(tmp_path, old, new):
    shelf = Shelf({"a.md": "# Headingword\n\ndamagedword here\n"})
    with closing(EmbeddedIndex(tmp_path / "index")) as index:
        index.sync(shelf)
    path = tmp_path / "index" / "catalog.db"
    data = path.read_bytes()
    assert old in data
    path.write_bytes(data.replace(old, new))
    with closing(EmbeddedIndex(tmp_path / "index")) as index:
        index.sync(shelf)
        found = index.search(Query(text="damagedword", mode="lexical"))
        assert found.degraded
        assert index.sync(shelf).changed == 1
        (hit,) = index.search(Query(text="damagedword", mode="lexical")).hits
    assert "damagedword here" in hit.chunk.text
    assert (tmp_path / "index" / "catalog.db.damaged").exists()


def test_while_it_is_made_anew_by_another_process_an_answer_says_so(tmp_path):
    shelf = Shelf({f"{n}.md": f"apple {n}\n" for n in range(5)})
    with (
        closing(EmbeddedIndex(tmp_path / "index")) as ours,
        closing(EmbeddedIndex(tmp_path / "index")) as theirs,
    ):
        ours.sync(shelf)
        assert len(theirs.search(Query(text="apple", mode="lexical")).hits) == 5
        seen = []

        class Watched:
            def __getattr__(self, name):
                return getattr(shelf, name)

            def text(self, place):
                seen.append(theirs.search(Query(text="apple", mode="lexical")))
                return shelf.text(place)

        ours.rebuild(Watched())
        assert seen
        assert all(found.degraded for found in seen if len(found.hits) < 5)
        after = theirs.search(Query(text="apple", mode="lexical"))
        assert (len(after.hits), after.degraded) == (5, False)


def test_others_are_not_told_by_scores_who_spoke_in_private(tmp_path):
    shelf = Shelf()
    shelf.say("s1", "zebra stripes", speaker="Xaver", private=True)
    shelf.say("s1", "zebra herd", "apple pie")
    with closing(EmbeddedIndex(tmp_path / "index", embedder=Meanings())) as index:
        index.sync(shelf)
        asked = [Query(text=f"{name} zebra", within=Filter(shared=True)) for name in ("Xaver", "Xavez")]
        scores = [[hit.score for hit in index.search(each).hits] for each in asked]
    assert scores[0] == scores[1]


def test_an_index_that_has_lived_answers_like_a_new_one_once_it_is_made_anew(tmp_path):
    """The words of what was replaced count for a while, so that two machines may differ until then."""
    shelf = Shelf(SHELF)
    with (
        closing(EmbeddedIndex(tmp_path / "lived", embedder=Meanings())) as lived,
        closing(EmbeddedIndex(tmp_path / "new", embedder=Meanings())) as new,
    ):
        for number in range(4):
            shelf.say("s1", f"The pear of row {number} is as ripe as the apple{' of them all' * number}.")
            shelf.documents["notes/3.md"] = f"# Note 3\n\nNo apple is left{', nor a pear' * number}."
            lived.sync(shelf)
        lived.rebuild(shelf)
        shelf.documents = dict(reversed(shelf.documents.items()))
        new.sync(shelf)
        for text in ("apple", "ripe pear of row 2", "who is left of them all?"):
            for mode in ("lexical", "hybrid"):
                one, other = (
                    [(hit.chunk.path, hit.chunk.line, hit.score) for hit in index.search(asked).hits]
                    for asked in (Query(text=text, mode=mode, limit=30),)
                    for index in (lived, new)
                )
                assert one == other, (text, mode)


SPOILT = {
    "no format": ("state", "format"),
    "no line": ("chunks", "line"),
    "no text": ("chunks", "text"),
}


@pytest.mark.parametrize("what", SPOILT)
def test_a_catalog_that_holds_nothing_where_something_must_be_is_made_anew(opened, folder, shelf, what):
    table, column = SPOILT[what]
    with closing(apsw.Connection(str(folder / "catalog.db"))) as connection:
        schema = connection.execute("SELECT sql FROM sqlite_schema WHERE name = ?", (table,)).get
        loose = re.sub(rf"({column} \w+) NOT NULL", r"\1", schema)
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute("UPDATE sqlite_schema SET sql = ? WHERE name = ?", (loose, table))
        connection.execute("PRAGMA writable_schema = RESET")
        connection.execute(f"UPDATE {table} SET {column} = NULL")
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute("UPDATE sqlite_schema SET sql = ? WHERE name = ?", (schema, table))
    index = opened()
    told = codes(index.sync(shelf).findings)
    found = index.search(Query(text="apple", limit=50))
    assert found.degraded or len(found.hits) == 12
    assert {"index_damaged", "catalog_damaged"} & {*told, *codes(found.findings)}
    index.sync(shelf)
    assert count(index) == (12, False)
    assert (folder / "catalog.db.damaged").is_file()


def test_an_error_that_does_not_come_of_damage_is_not_taken_for_it(opened, folder, shelf, monkeypatch):
    index = opened()

    def broken(*_):
        raise TypeError("a mistake of ours")

    monkeypatch.setattr(Catalog, "speakers", lambda *_, **__: broken())
    with pytest.raises(TypeError, match="a mistake of ours"):
        index.search(Query(text="apple"))
    assert not (folder / "catalog.db.damaged").exists()
