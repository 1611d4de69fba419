"""Row 13: the failures that people reported of other programs, each a test of its own (`tests/field/failures.py`)."""

import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

from tests.field.failures import FAILURES
from tests.torture.rows import Defect, Meter, Row

ROOT = Path(__file__).parents[2]
_LONGEST = 900
"""Seconds after which the tests hang; they take less than a minute."""


def run_the_tests(meter: Meter) -> None:
    """Run the tests of every failure, once; the quick tier is these tests themselves."""
    report = meter.folder / "report.xml"
    tests = sorted({test for failure in FAILURES for test in failure.tests})
    words = ("-q", "-p", "no:cacheprovider", f"--basetemp={meter.folder / 'tests'}", f"--junitxml={report}")
    asked = [sys.executable, "-m", "pytest", *words, *tests]
    try:
        subprocess.run(asked, cwd=ROOT, capture_output=True, timeout=_LONGEST, check=False)
    except subprocess.TimeoutExpired:
        meter.check(is_kept=False, told=f"the tests hang: they had not ended after {_LONGEST} seconds")
    passed, failed = _outcomes(report)
    for failure in FAILURES:
        for test in failure.tests:
            name = test.partition("::")[2]
            meter.check(
                name in passed and name not in failed, f"{failure.number}, {failure.happened}: {test}"
            )
        meter.tried()
    meter.figures["tests"] = f"{len(tests)}"


def _outcomes(report: Path) -> tuple[set[str], set[str]]:
    """Return the names of tests of which a case passed, and of which one did not."""
    passed, failed = set[str](), set[str]()
    if report.exists():
        for case in ET.parse(report).iter("testcase"):
            is_bad = any(each.tag in ("failure", "error", "skipped") for each in case)
            (failed if is_bad else passed).add(case.attrib["name"].partition("[")[0])
    return passed, failed


FIELD = Row(
    number=13,
    promise="25 failures that people reported of other programs",
    quick=len(FAILURES),
    long=len(FAILURES),
    share=4,
    run=run_the_tests,
    passes="all tests green",
    parts=0,
    defects=(
        Defect(
            "runtime/edit.py",
            "    found = _found(files, path, view, HASH_LIMIT)",
            "    found = _found(files, path, view)",
            "a memory that grew too large cannot be made smaller",
        ),
        Defect(
            "runtime/compact.py",
            "        self.callbacks.before_compaction(event)\n",
            "        del event\n",
            "history shrinks before what it holds is saved",
        ),
        Defect(
            "runtime/compact.py",
            "        if problem:\n            found = _fallen_back",
            "        if problem and problem.startswith('is no shorter'):\n            found = _fallen_back",
            "whatever a model answers is a summary",
        ),
    ),
)
