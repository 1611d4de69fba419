"""A process that is killed while it writes the index: the next one finds everything, once."""

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

from tests.stubs.indexed import Meanings, Shelf

from carrel.index import Query
from carrel.index.embedded import EmbeddedIndex

PROGRAM = """
import sys
from pathlib import Path
from carrel.index.embedded import EmbeddedIndex
from tests.stubs.indexed import Meanings, Shelf
index = EmbeddedIndex(Path(sys.argv[1]), embedder=Meanings())
print("ready", flush=True)
for number in range(int(sys.argv[2]), 10_000):
    documents = {f"{at}.md": f"apple {at} as of {number}" for at in range(40)}
    index.sync(Shelf(documents))
    print(number, flush=True)
"""
ROOT = Path(__file__).parents[3]


def test_an_index_whose_writers_are_killed_heals(tmp_path):
    chance = random.Random(5)
    folder = tmp_path / "index"
    for round_ in range(5):
        command = [sys.executable, "-c", PROGRAM, str(folder), str(round_ * 1_000)]
        process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE)
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        time.sleep(chance.uniform(0.05, 0.6))
        process.send_signal(signal.SIGKILL)
        process.communicate()
    index = EmbeddedIndex(folder, embedder=Meanings())
    found = index.search(Query(text="apple", mode="lexical", limit=100))
    assert len({hit.id for hit in found.hits}) == len(found.hits)
    last = Shelf({f"{at}.md": f"apple {at} at the end" for at in range(40)})
    assert index.sync(last).findings == ()
    for mode in ("lexical", "vector"):
        hits = index.search(Query(text="apple", mode=mode, limit=100)).hits
        assert sorted(hit.chunk.path for hit in hits) == sorted(last.documents)
        assert all(hit.chunk.text.endswith("at the end") for hit in hits)
    status = index.status()
    assert (status.chunks, status.vectors, status.waiting, status.degraded) == (40, 40, 0, False)
    index.close()
