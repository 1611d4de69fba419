"""The list of failures is whole: each has tests that exist, and each test here is of one of them."""

import ast
from pathlib import Path

from tests.field.failures import FAILURES, page

ROOT = Path(__file__).parents[2]
HERE = Path(__file__)


def named_in(path: Path) -> set[str]:
    tree = ast.parse(path.read_text("utf-8"))
    return {
        node.name for node in tree.body if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    }


def test_all_twenty_five_failures_have_tests() -> None:
    assert [failure.number for failure in FAILURES] == list(range(1, 26))
    assert [failure.number for failure in FAILURES if not failure.tests] == []
    assert [failure.number for failure in FAILURES if not (failure.happened and failure.told)] == []


def test_each_test_that_is_named_exists() -> None:
    named = [test.partition("::") for failure in FAILURES for test in failure.tests]
    assert [f"{file}::{name}" for file, _, name in named if name not in named_in(ROOT / file)] == []


def test_each_test_that_stands_here_is_named() -> None:
    named = {test for failure in FAILURES for test in failure.tests}
    files = (path for path in HERE.parent.glob("test_*.py") if path != HERE)
    here = {f"{path.relative_to(ROOT).as_posix()}::{name}" for path in files for name in named_in(path)}
    assert here - named == set()


def test_the_page_on_reliability_has_the_list_as_it_is() -> None:
    assert page() in (ROOT / "docs/reliability.md").read_text("utf-8")
