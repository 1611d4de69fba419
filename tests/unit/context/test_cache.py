from carrel.context.cache import Memo
from carrel.files.ephemeral import EphemeralFiles
from carrel.workspace.document import Documents


def test_a_result_is_kept_while_what_it_was_made_from_stays():
    files = EphemeralFiles({"a.md": "one"})
    documents = Documents(files)
    memo: Memo[str] = Memo((documents,))
    assert memo.look().get("key") is None
    reading = documents.reading()
    reading.documents(["a.md", "absent.md"])
    memo.put("key", "result", (reading,))
    assert memo.look().get("key") == "result"
    assert memo.look().get("other") is None
    files.write("b.md", b"not looked at", expect=None)
    assert memo.look().get("key") == "result"
    files.write("absent.md", b"now there", expect=None)
    assert memo.look().get("key") is None


def test_either_store_can_make_a_result_stale():
    workspace, namespaces = EphemeralFiles({"a.md": "one"}), EphemeralFiles({"n.md": "one"})
    stores = (Documents(workspace), Documents(namespaces))
    memo: Memo[int] = Memo(stores)
    readings = (stores[0].reading(), stores[1].reading())
    readings[0].document("a.md")
    readings[1].document("n.md")
    memo.put("key", 1, readings)
    assert memo.look().get("key") == 1
    namespaces.append("n.md", b"two")
    assert memo.look().get("key") is None


def test_many_results_push_the_oldest_out():
    documents = Documents(EphemeralFiles())
    memo: Memo[int] = Memo((documents,))
    for number in range(1_000):
        memo.put(number, number, (documents.reading(),))
    assert memo.look().get(999) == 999
    assert memo.look().get(0) is None
    assert sum(memo.look().get(number) is not None for number in range(1_000)) < 500


def test_results_that_belong_together_are_checked_as_of_one_look():
    files = EphemeralFiles({"a.md": "one", "b.md": "two", "c/d.md": "three"})
    documents = Documents(files)
    memo: Memo[str] = Memo((documents,))
    for name in ("a.md", "b.md", "c/d.md"):
        reading = documents.reading()
        reading.document(name)
        memo.put(name, f"made of {name}", (reading,))
    for _ in range(2):  # the first look learns what belongs together, the second one uses that
        look = memo.look()
        assert [look.get(name) for name in ("a.md", "c/d.md")] == ["made of a.md", "made of c/d.md"]
        look.end()
    files.append("c/d.md", b"more")
    look = memo.look()
    assert [look.get(name) for name in ("a.md", "b.md", "c/d.md")] == ["made of a.md", "made of b.md", None]
