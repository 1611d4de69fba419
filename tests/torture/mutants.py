"""Row 14: the nine parts that everything else trusts are tested branch by branch, and small faults in them are noticed."""

import subprocess
import sys
from collections import Counter
from collections.abc import Iterator

from msgspec import json
from tests.torture.cores import CORES, TESTS
from tests.torture.judging import Verdict, mutants
from tests.torture.measuring import measured
from tests.torture.rows import Defect, Meter, Row

BRANCHES = 95.0
NOTICED = 80.0
"""In percent."""

NOTICED_BY = ("killed", "slow")

_ENOUGH = 30
"""From so many mutants of a core on their share says something."""

_SAMPLED, _FEW, _HALF = "scope", 8, 50.0
"""What the quick tier tries: so many mutants of a core whose tests are quick; of so few, half have to be noticed."""

_EACH = 100
_PARTS = 3
_ROUND = 20
_MOST_TOLD = 20


def notice_faults(meter: Meter) -> None:
    """Measure cores; the long tier then tries some mutants of each, drawn by the seed, round by round.

    In the quick tier a trial is a core that was measured, and each part takes cores of its own.
    """
    names = list(CORES)
    if meter.wanted <= len(names):
        for name in names[meter.seed - 1 :: len(names) // meter.wanted]:
            if name == _SAMPLED:
                _sample(meter, name)
            else:
                meter.figures[name] = f"{_measure(name, meter, 'branches'):.1f} % of branches"
            meter.tried()
        return
    shares = {name: _measure(name, meter) for name in names}
    noticed, judged = Counter[str](), Counter[str]()
    while meter.goes_on:
        before = meter.trials
        for name in names:
            for verdict in _verdicts(name, judged[name], _ROUND, meter):
                meter.tried()
                judged[name] += 1
                noticed[name] += verdict.ended in NOTICED_BY
        if meter.trials == before:
            break  # there are no more
    for name, share in shares.items():
        _judge(meter, name, share, noticed[name], judged[name])
    meter.figures["noticed"] = f"{100 * noticed.total() / max(judged.total(), 1):.1f} %"


def _measure(name: str, meter: Meter, *words: str) -> float:
    found = measured(name, meter.folder, *words)
    meter.check(found.passed, f"{name}: its tests fail")
    told = ", ".join(found.missing[:_MOST_TOLD])
    meter.check(found.share >= BRANCHES, f"{name}: {found.share:.1f} % of its branches, not {told}")
    return found.share


def _sample(meter: Meter, name: str) -> None:
    """Measure a core, and try a few mutants of it, which shows that the long tier can tell."""
    branches = _measure(name, meter)
    ended = [each.ended in NOTICED_BY for each in _verdicts(name, 0, _FEW, meter)]
    meter.figures[name] = _told(name, branches, sum(ended), len(ended))
    is_enough = 100 * sum(ended) >= _HALF * len(ended)
    meter.check(ended and is_enough, f"{name}: only {sum(ended)} of {len(ended)} faults were noticed")


def _told(name: str, branches: float, noticed: int, judged: int) -> str:
    drawn = f"{noticed} of {judged} mutants, drawn of {len(mutants(CORES[name])):,}"
    return f"{branches:.1f} % of branches, {drawn}"


def _judge(meter: Meter, name: str, branches: float, noticed: int, judged: int) -> None:
    share = 100 * noticed / max(judged, 1)
    meter.figures[name] = _told(name, branches, noticed, judged)
    if judged >= _ENOUGH:
        meter.check(share >= NOTICED, f"{name}: only {share:.1f} % of {judged} faults were noticed")
    else:
        meter.left_out.append(f"{name}: too few mutants to judge by")


def _verdicts(name: str, after: int, count: int, meter: Meter) -> Iterator[Verdict]:
    """Yield what became of the next mutants of a core; where time is up, of no more."""
    chosen = [name, str(meter.seed), str(after), str(count), str(meter.folder / f"{name}.json")]
    with subprocess.Popen(
        [sys.executable, "-m", "tests.torture.judging", *chosen],
        cwd=TESTS.parent,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
    ) as judge:
        assert judge.stdout is not None
        for line in judge.stdout:
            if not meter.goes_on:
                return
            yield json.decode(line, type=Verdict)
    meter.check(judge.returncode == 0, f"{name}: its mutants could not be judged")


MUTANTS = Row(
    number=14,
    promise="small faults in what everything trusts are noticed by a test",
    quick=len(CORES),
    long=_EACH * len(CORES),
    share=70,
    run=notice_faults,
    passes="each of nine cores ≥ 95 % of branches; ≥ 80 % of the mutants of each noticed",
    parts=_PARTS,
    defects=(
        Defect(
            "workspace/scope.py",
            "        return links > 1 and identity in self._identities()\n",
            "        if links > 99:\n            return True\n        if links > 999:\n            return False\n"
            "        return links > 1 and identity in self._identities()\n",
            "the scope decides by branches that no test takes",
        ),
        Defect(
            "workspace/scope.py",
            "\n\nclass Scope(",
            f"\n_NUMBERS = ({', '.join(map(str, range(500)))})\n\n\nclass Scope(",
            "most of what could be wrong in the scope is noticed by no test",
        ),
    ),
)
