from carrel.context.cache import Memo
from carrel.files.ephemeral import EphemeralFiles
from carrel.workspace.document import Documents


def test_a_result_is_kept_while_what_it_was_made_from_stays():
    files = EphemeralFiles({"a.md": "one"})
    documents = Documents(files)
    memo: Memo[str] = Memo((documents,))
    assert memo.get("key") is None
    reading = documents.reading()
    reading.documents(["a.md", "absent.md"])
    memo.put("key", "result", (reading,))
    assert memo.get("key") == "result"
    assert memo.get("other") is None
    files.write("b.md", b"not looked at", expect=None)
    assert memo.get("key") == "result"
    files.write("absent.md", b"now there", expect=None)
    assert memo.get("key") is None


def test_either_store_can_make_a_result_stale():
    workspace, namespaces = EphemeralFiles({"a.md": "one"}), EphemeralFiles({"n.md": "one"})
    stores = (Documents(workspace), Documents(namespaces))
    memo: Memo[int] = Memo(stores)
    readings = (stores[0].reading(), stores[1].reading())
    readings[0].document("a.md")
    readings[1].document("n.md")
    memo.put("key", 1, readings)
    assert memo.get("key") == 1
    namespaces.append("n.md", b"two")
    assert memo.get("key") is None


def test_many_results_push_the_oldest_out():
    documents = Documents(EphemeralFiles())
    memo: Memo[int] = Memo((documents,))
    for number in range(1_000):
        memo.put(number, number, (documents.reading(),))
    assert memo.get(999) == 999
    assert memo.get(0) is None
    assert sum(memo.get(number) is not None for number in range(1_000)) < 500
