"""kill -9 while the owner approves: what was approved stands once, and what was not is still asked about."""

import random
import signal
import subprocess
import sys
import time

from tests.unit.memory.shelf import Shelf

RUNS = 6
EACH = 40

APPROVER = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from tests.unit.memory.shelf import Shelf
shelf = Shelf(Path(sys.argv[1]))
shelf.pen.recover()
print("ready", flush=True)
for proposal in shelf.review.waiting(1000):
    verdict = shelf.review.reject if "no." in proposal.new else shelf.review.approve
    (decided,) = verdict([proposal.id], by="owner")
    print(decided.id, decided.state, flush=True)
"""


def plant(shelf):
    """Let facts, texts and edits wait, every fourth of which the owner does not want."""
    shelf.put("AGENTS.md", "".join(f"rule {n}\n" for n in range(EACH)))
    for number in range(EACH):
        word = "no" if number % 4 == 0 else "yes"
        shelf.learn(f"Server {number} says {word}.", evidence=(f"m{number}",))
        shelf.propose("append", section="People", new=f"- Person {number} says {word}.")
        shelf.propose("write", path="AGENTS.md", old=f"rule {number}\n", new=f"rule {number} {word}.\n")


def test_whenever_it_is_killed_each_decision_has_its_effect_once(tmp_path, request):
    shelf = Shelf(tmp_path)
    plant(shelf)
    rng = random.Random(request.node.name)
    decided = {}
    for _ in range(RUNS):
        process = subprocess.Popen(
            [sys.executable, "-c", APPROVER, str(tmp_path), str(request.config.rootpath)],
            stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        time.sleep(rng.uniform(0.0, 0.15))
        process.send_signal(signal.SIGKILL)
        told = [line.split() for line in process.communicate()[0].splitlines() if line.endswith("ed")]
        decided |= {int(number): state for number, state in told}
    shelf.pen.recover()
    assert {number: shelf.records.proposals.get(number).state for number in decided} == decided
    for proposal in shelf.review.waiting(1_000):
        verdict = shelf.review.reject if "no." in proposal.new else shelf.review.approve
        verdict([proposal.id], by="owner")
    for number in range(EACH):
        times = 0 if number % 4 == 0 else 1
        assert shelf.text().count(f"- Server {number} says") == times
        assert shelf.text("MEMORY.md").count(f"- Person {number} says") == times
        assert shelf.text("AGENTS.md").count(f"rule {number} yes.") == times
    assert "no." not in shelf.text() + shelf.text("MEMORY.md") + shelf.text("AGENTS.md")
    states = shelf.records.facts.counts()
    assert (states["written"], states["refused"], states["waiting"]) == (EACH * 3 // 4, EACH // 4, 0)
