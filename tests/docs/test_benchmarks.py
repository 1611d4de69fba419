"""The page of benchmarks says what was measured, and a peer that fails or hangs is told and does not stop the others."""

import ast
import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from importlib import import_module, metadata
from pathlib import Path
from types import SimpleNamespace

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from tests.docs.pages import ROOT

FIGURES = ROOT / "docs/benchmarks"
MODULES = ("table", "drawing", "peer", "caching", "kills")


@pytest.fixture(scope="module")
def bench():
    """The modules of bench/peers, which is run as a script."""
    with pytest.MonkeyPatch.context() as patch:
        for place in ("bench", "bench/peers"):
            patch.syspath_prepend(str(ROOT / place))
        before = set(sys.modules)
        yield SimpleNamespace(**{name: import_module(name) for name in MODULES})
        for name in set(sys.modules) - before:
            if getattr(sys.modules[name], "__file__", "").startswith(str(ROOT / "bench")):
                del sys.modules[name]


MACHINE = {
    "date": "2026-04-24", "cores": 2, "processor": "Abacus", "memory": "1 GB", "system": "Linux", "python": "3.11",
    "load": 0.1, "versions": {"other": "2"},
}  # fmt: skip


@pytest.fixture
def table(bench):
    made = bench.table.Table("speed", "Speed <&>", "ms", command="python bench/peers speed", how="Twice.")
    made.add("carrel 1", 2.0, group="5 words", p99=3.0)
    made.add("other 2", 8.0, "vectors", group="5 words", p99=30.0)
    made.leave_out("third", "it is not installed")
    return made


def test_the_page_of_figures_is_what_the_kept_figures_say(bench):
    assert (FIGURES / "results.md").read_text("utf-8") == bench.drawing.page(FIGURES)
    for kept in FIGURES.glob("*.json"):
        table = bench.table.Table.from_json(json.loads(kept.read_text("utf-8")))
        assert kept.with_suffix(".svg").read_text("utf-8") == bench.drawing.to_svg(table)


def test_a_figure_is_shown_with_its_command_its_machine_and_who_is_missing(bench, table, tmp_path):
    bench.drawing.write(tmp_path, [table], MACHINE)
    page = (tmp_path / "results.md").read_text("utf-8")
    for told in (
        "python bench/peers speed",
        "2 cores, Abacus",
        "load 0.1",
        "other 2",
        "third: it is not installed",
        "Twice.",
    ):
        assert told in page
    assert "| 5 words | other 2 | vectors | 8 | 30 |" in page


def test_another_part_keeps_the_figures_of_the_others(bench, table, tmp_path):
    bench.drawing.write(tmp_path, [table], MACHINE)
    more = bench.table.Table("kills", "Kills", "lost", command="python bench/peers kills", how="")
    bench.drawing.write(tmp_path, [more], MACHINE)
    page = (tmp_path / "results.md").read_text("utf-8")
    assert page.index("## Kills") < page.index("## Speed")


def test_a_plot_is_to_scale_says_how_many_times_and_is_made_for_dark_pages_too(bench, table):
    drawn = ET.fromstring(bench.drawing.to_svg(table))
    space = "{http://www.w3.org/2000/svg}"
    bars = {bar.get("class"): float(bar.get("width")) for bar in drawn.iter(f"{space}rect")}
    assert bars["other"] == pytest.approx(4 * bars["own"], rel=0.01)
    assert "4\u00d7" in "".join(drawn.itertext())
    assert "prefers-color-scheme: dark" in "".join(drawn.itertext())


def test_a_provider_that_looks_by_itself_finds_whole_steps_from_its_least_on(bench):
    found, word = bench.caching.found_by_itself, " word"
    assert found([word * 2_000], [word * 2_000 + " new"]) == 1_920
    assert found([word * 1_000], [word * 1_000 + " new"]) == 0
    assert found(["x", word * 2_000], ["y", word * 2_000]) == 0


def test_a_provider_that_looks_at_marks_finds_what_was_marked_before(bench):
    block, found = bench.caching.Block, bench.caching.found_by_marks
    head, talk = block(" word" * 2_000, marked=True), [block(f"turn {n}") for n in range(30)]
    assert found([head, *talk], [head, *talk]) == 2_000
    assert found([head._replace(marked=False), *talk], [head, *talk]) == 0
    end = block("end", marked=True)
    assert found([head], [head._replace(marked=False), *talk, end]) == 0, (
        "more than twenty blocks before a mark"
    )
    assert found([head], [head._replace(marked=False), *talk[:10], end]) == 2_000


def peer_that(bench, monkeypatch, tmp_path, script):
    program = tmp_path / "python"
    program.write_text(f"#!{sys.executable}\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setattr(bench.peer, "python_of", lambda _: program)


@pytest.mark.parametrize(
    "case",
    [
        ("import sys; sys.exit('no such index')", 60, "it ended: no such index"),
        ("import time; time.sleep(600)", 0.2, "it did not answer within 0 s"),
    ],
    ids=["ends", "hangs"],
)
def test_a_peer_that_ends_or_hangs_is_told_and_the_rest_goes_on(bench, monkeypatch, tmp_path, case):
    script, patience, told = case
    peer_that(bench, monkeypatch, tmp_path, script)
    monkeypatch.setattr(bench.peer, "PATIENCE", patience)
    [table] = bench.kills.kills(["chroma", "mem0"], None, tmp_path)
    assert table.left_out == [("chroma", told), ("mem0", told)]


def test_a_peer_that_is_not_installed_says_how_to(bench, monkeypatch, tmp_path):
    monkeypatch.setattr(bench.peer, "python_of", lambda name: tmp_path / name)
    [table] = bench.kills.kills(["mem0"], None, tmp_path)
    assert "python bench/peers --install --peer mem0" in table.to_markdown()


def installed_with(name, extras):
    """The distributions that come with one of ours or of others, as far as they are here."""
    found, waiting = set(), [(name, tuple(sorted(extras)))]
    while waiting:
        one = waiting.pop()
        if one in found:
            continue
        found.add(one)
        try:
            wanted = map(Requirement, metadata.requires(one[0]) or ())
        except metadata.PackageNotFoundError:
            continue
        waiting += [
            (canonicalize_name(each.name), tuple(sorted(each.extras)))
            for each in wanted
            if each.marker is None or any(each.marker.evaluate({"extra": e}) for e in one[1] or ("",))
        ]
    return {name for name, _ in found}


def imported(path):
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (name.name.partition(".")[0] for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module.partition(".")[0]


def test_make_bench_installs_what_every_benchmark_imports():
    rule = (ROOT / "Makefile").read_text("utf-8").partition("$(VENV)/.benched: ")[2]
    extras = re.search(r"--editable '\.\[([a-z,]+)\]'", rule)[1].split(",")
    scripts = sorted((ROOT / "bench").glob("*.py"))
    own = {*sys.stdlib_module_names, *(path.stem for path in scripts), "carrel", "tests"}
    homes, here = metadata.packages_distributions(), installed_with("carrel", extras)
    for path in (*scripts, *sorted((ROOT / "tests/stubs").glob("*.py"))):
        for module in set(imported(path)) - own:
            homes_of = {canonicalize_name(name) for name in homes.get(module, ())}
            assert homes_of & here, f"{path.name} imports {module}"


def test_without_what_it_needs_the_comparison_says_how_to_install_it(tmp_path):
    (tmp_path / "tiktoken.py").write_text("raise ModuleNotFoundError('gone', name='tiktoken')\n")
    env = {**os.environ, "PYTHONPATH": str(tmp_path)}
    command = [sys.executable, str(Path("bench/peers")), "--help"]
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("tiktoken is not installed: `make .venv/.benched`")
    assert "Traceback" not in done.stderr
