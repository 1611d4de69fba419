from carrel.context.cache import Lookout, Memo
from carrel.files.ephemeral import EphemeralFiles
from carrel.workspace.document import Documents


class Keeper:
    """A memo over some stores, and where its looks are taken from."""

    def __init__(self, *stores: Documents) -> None:
        self.stores = stores
        self.lookout = Lookout(stores)
        self.memo: Memo[str] = Memo()

    def get(self, key: str) -> str | None:
        return self.memo.get(key, self.lookout.look())

    def keep(self, key: str, result: str, *paths: list[str]) -> None:
        """Keep what was made from these paths, some of each store."""
        readings = tuple(store.reading() for store in self.stores)
        for reading, own in zip(readings, paths, strict=True):
            reading.documents(own)
        self.memo.put(key, result, self.lookout.look().note(readings))


def test_a_result_is_kept_while_what_it_was_made_from_stays():
    files = EphemeralFiles({"a.md": "one"})
    keeper = Keeper(Documents(files))
    assert keeper.get("key") is None
    keeper.keep("key", "result", ["a.md", "absent.md"])
    assert keeper.get("key") == "result"
    assert keeper.get("other") is None
    files.write("b.md", b"not looked at", expect=None)
    assert keeper.get("key") == "result"
    files.write("absent.md", b"now there", expect=None)
    assert keeper.get("key") is None


def test_either_store_can_make_a_result_stale():
    workspace, namespaces = EphemeralFiles({"a.md": "one"}), EphemeralFiles({"n.md": "one"})
    keeper = Keeper(Documents(workspace), Documents(namespaces))
    keeper.keep("key", "one", ["a.md"], ["n.md"])
    assert keeper.get("key") == "one"
    namespaces.append("n.md", b"two")
    assert keeper.get("key") is None


def test_many_results_push_the_oldest_out():
    keeper = Keeper(Documents(EphemeralFiles()))
    names = [str(number) for number in range(1_000)]
    for name in names:
        keeper.keep(name, name, [])
    assert keeper.get("999") == "999"
    assert keeper.get("0") is None
    assert sum(keeper.get(name) is not None for name in names) < 500


def test_results_that_belong_together_are_checked_as_of_one_look():
    files = EphemeralFiles({"a.md": "one", "b.md": "two", "c/d.md": "three"})
    keeper = Keeper(Documents(files))
    for name in ("a.md", "b.md", "c/d.md"):
        keeper.keep(name, f"made of {name}", [name])
    for _ in range(2):  # the first look learns what belongs together, the second one uses that
        look = keeper.lookout.look()
        found = [keeper.memo.get(name, look) for name in ("a.md", "c/d.md")]
        assert found == ["made of a.md", "made of c/d.md"]
        look.end()
    files.append("c/d.md", b"more")
    look = keeper.lookout.look()
    found = [keeper.memo.get(name, look) for name in ("a.md", "b.md", "c/d.md")]
    assert found == ["made of a.md", "made of b.md", None]


def test_a_whole_depends_on_all_that_its_parts_do():
    files = EphemeralFiles({"a.md": "one", "b.md": "two", "other.md": "three"})
    documents = Documents(files)
    keeper = Keeper(documents)
    keeper.keep("kept", "part", ["a.md"])
    look, reading = keeper.lookout.look(), documents.reading()
    assert keeper.memo.get("kept", look) == "part"
    reading.document("b.md")
    look.note((reading,))
    keeper.memo.put("whole", "all of it", look.all_seen())
    files.append("other.md", b"more")
    assert keeper.get("whole") == "all of it"
    files.append("b.md", b"more")
    assert keeper.get("whole") is None


def test_a_whole_whose_parts_saw_a_file_at_two_moments_is_not_kept():
    files = EphemeralFiles({"a.md": "one"})
    documents = Documents(files)
    keeper = Keeper(documents)
    keeper.keep("kept", "part", ["a.md"])
    look = keeper.lookout.look()
    assert keeper.memo.get("kept", look) == "part"
    files.append("a.md", b"more")  # between two parts of one whole
    reading = documents.reading()
    reading.document("a.md")
    look.note((reading,))
    assert look.all_seen() is None
