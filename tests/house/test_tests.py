"""The rules of the house for tests: each asserts something, none is switched off, nothing is a mock."""

import ast
from functools import cache
from pathlib import Path

TESTS = Path(__file__).parents[1]
FILES = sorted(TESTS.rglob("*.py"))
SWITCHED_OFF = {"skip", "skipif", "xfail", "importorskip"}
CHECKS = {"raises", "warns", "fail", "expect"}


@cache
def trees():
    """All of them parsed, by the one worker that asks."""
    return {path: ast.parse(path.read_text("utf-8")) for path in FILES}


def name_of(path):
    return path.relative_to(TESTS).as_posix()


def called(node):
    """The plain names of everything that a piece of code calls."""
    for inner in ast.walk(node):
        if isinstance(inner, ast.Call):
            function = inner.func
            yield function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def asserts_itself(function):
    return any(isinstance(node, ast.Assert) for node in ast.walk(function)) or bool(
        set(called(function)) & CHECKS
    )


def test_every_test_asserts_something():
    functions = {}
    for tree in trees().values():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                functions.setdefault(node.name, []).append(node)
    sure = {name for name, nodes in functions.items() if all(asserts_itself(node) for node in nodes)}
    while more := {  # what calls something that asserts, asserts
        name
        for name, nodes in functions.items()
        if name not in sure and all(set(called(n)) & sure for n in nodes)
    }:
        sure |= more
    assert [name for name in functions if name.startswith("test_") and name not in sure] == []


def test_no_test_is_switched_off():
    found = [
        f"{name_of(path)}:{node.lineno}: {ast.unparse(node)}"
        for path, tree in trees().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and node.attr in SWITCHED_OFF and "pytest" in ast.unparse(node)
    ]
    assert found == []


def test_nothing_is_a_mock():
    imported = [
        (name_of(path), name)
        for path, tree in trees().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in (getattr(node, "module", None) or "", *(alias.name for alias in node.names))
    ]
    assert [found for found in imported if "mock" in found[1].lower()] == []


def test_names_of_tests_are_sentences_and_none_hides_another():
    for path, tree in trees().items():
        for scope in (node for node in ast.walk(tree) if isinstance(node, ast.Module | ast.ClassDef)):
            names = [
                f.name for f in scope.body if isinstance(f, ast.FunctionDef) and f.name.startswith("test_")
            ]
            assert [name for name in names if name.count("_") < 3] == [], name_of(path)
            assert len(names) == len(set(names)), name_of(path)


def test_tests_stand_where_they_belong():
    kinds = {
        "browser",
        "contracts",
        "crash",
        "docs",
        "field",
        "golden",
        "house",
        "poison",
        "prefix",
        "privacy",
        "properties",
        "stubs",
        "surfaces",
        "torture",
        "unit",
    }
    assert {path.relative_to(TESTS).parts[0] for path in FILES} <= {"conftest.py", *kinds}
