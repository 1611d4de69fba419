"""A workspace is hostile input: each of these is a typed error or an entry in the report, and leaves no trace."""

import os
import shutil
import socket
import stat
import subprocess
import time

import pytest

VERBS = [["context", "report"], ["context", "show"], ["health"], ["config", "show"]]
READING = [["context", "report"], ["context", "show"], ["health"]]
BOMB = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{b}: &{b} [{','.join([f'*{a}'] * 9)}]\n" for a, b in zip("abcdefgh", "bcdefghi", strict=True)
)
SECONDS = 5
"""More processor time than any of these may take, and less than a hang."""

LIMITED = (
    f"import resource, sys; resource.setrlimit(resource.RLIMIT_CPU, ({SECONDS}, {SECONDS}));"
    "from carrel.cli.main import run; sys.exit(run(sys.argv[1:]))"
)
"""The command in a process that the system ends when it takes longer."""


def rows(outcome):
    assert outcome.code == 0, outcome.warnings + outcome.text
    return {row["name"]: row for row in outcome.document["sections"]}


def report(cli, desk, *words):
    return rows(cli("-C", desk, "context", "report", "--json", *words))


def make_special(path, kind):
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "device" and os.geteuid() == 0:
        os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 5))  # /dev/zero: never ends
    else:
        with socket.socket(socket.AF_UNIX) as door:
            door.bind(os.path.relpath(path))


def all_commands(cli, desk):
    """Run every reading command, twice: nothing may crash, take long, or leave a trace."""
    before = desk.snapshot()
    began = time.process_time()
    outcomes = [cli("-C", desk, *verb, "--json") for verb in VERBS]
    outcomes += [cli("-C", desk, *verb) for verb in VERBS]
    outcomes += [cli("-C", desk, "--scope", "shared", "context", "show", "--json")]
    assert time.process_time() - began < SECONDS
    assert desk.snapshot() == before
    for outcome in outcomes:
        assert b"Traceback" not in outcome.err
        assert b"internal" not in outcome.err + outcome.out
    return outcomes[0]


@pytest.mark.parametrize("verb", VERBS, ids=" ".join)
def test_a_missing_directory_is_not_found(cli, tmp_path, verb):
    outcome = cli("-C", tmp_path / "nowhere", *verb, "--json")
    assert (outcome.code, outcome.error["code"]) == (3, "root_missing")
    assert not (tmp_path / "nowhere").exists()
    assert not cli.home.exists()


@pytest.mark.parametrize("verb", VERBS, ids=" ".join)
def test_a_file_in_the_place_of_a_directory_is_a_usage_error(cli, tmp_path, verb):
    (tmp_path / "file").write_text("x")
    outcome = cli("-C", tmp_path / "file", *verb, "--json")
    assert (outcome.code, outcome.error["code"]) == (2, "root_not_directory")


@pytest.mark.parametrize("kind", ["fifo", "socket", "loop", "dangling", "too long", "empty name"])
def test_other_things_in_the_place_of_a_directory_are_typed_errors(cli, tmp_path, kind):
    place = tmp_path / "place"
    if kind == "loop":
        place.symlink_to("place")
    elif kind == "dangling":
        place.symlink_to("nothing")
    elif kind == "too long":
        place = tmp_path / ("x" * 300)
    elif kind == "empty name":
        place = ""
    else:
        make_special(place, kind)
    outcome = cli("-C", place, "context", "report", "--json")
    if kind != "empty name":  # which is the current directory, as everywhere
        assert outcome.code in (1, 2, 3)
        assert outcome.error["code"] in ("root_missing", "root_not_directory", "unreadable")


@pytest.mark.parametrize("layout", ["carrel", "astra", "nexo"])
@pytest.mark.parametrize(
    "kind", ["fifo", "socket", "device", "directory", "loop", "outside", "chain", "dangling"]
)
def test_what_is_no_file_is_reported_and_never_waited_for(cli, desk, tmp_path, layout, kind):
    home = "workspace/" if layout == "astra" else ""
    desk.put({"carrel.yaml": f"layout: {layout}\n", f"{home}IDENTITY.md": "- **Name:** Kate\n"})
    (tmp_path / "secret.md").write_text("Outside.\n")
    path = desk / f"{home}AGENTS.md"
    if kind == "directory":
        path.mkdir()
    elif kind == "loop":
        path.symlink_to("AGENTS.md")
    elif kind == "outside":
        path.symlink_to(tmp_path / "secret.md")
    elif kind == "dangling":
        path.symlink_to("nothing.md")
    elif kind == "chain":
        (desk / "end.txt").write_text("The end.\n")
        (desk / "50").symlink_to("end.txt")
        for number in range(50):
            (desk / f"{number}").symlink_to(f"{number + 1}")
        path.symlink_to(desk / "0")
    else:
        make_special(path, kind)
    outcome = all_commands(cli, desk)
    row = rows(outcome)[f"{home}AGENTS.md"]
    assert row["state"] == ("missing" if kind == "dangling" else "unreadable")
    assert "Outside." not in outcome.text
    if kind != "dangling":
        expected = {
            "directory": "directory",
            "loop": "link_loop",
            "chain": "link_loop",
            "outside": "link_outside",
        }
        assert row["reason"] == expected.get(kind, "special_file")


@pytest.mark.parametrize("kind", ["fifo", "socket", "device", "directory", "loop", "outside"])
def test_settings_that_are_no_file_are_a_typed_error(cli, desk, tmp_path, kind):
    desk.put({"AGENTS.md": "Be brief.\n"})
    path = desk / "carrel.yaml"
    if kind == "directory":
        path.mkdir()
    elif kind == "loop":
        path.symlink_to("carrel.yaml")
    elif kind == "outside":
        (tmp_path / "theirs.yaml").write_text("layout: carrel\n")
        path.symlink_to(tmp_path / "theirs.yaml")
    else:
        make_special(path, kind)
    before = desk.snapshot()
    for verb in (*VERBS, ["config", "validate"]):
        outcome = cli("-C", desk, *verb, "--json")
        assert outcome.code == 1
        assert outcome.error["code"] in ("unreadable", "unreadable_settings")
        assert "carrel.yaml" in outcome.error["message"]
    assert cli("trust", desk, "--json").code in (1, 6)
    assert desk.snapshot() == before
    assert cli("context", "report", "--json", cwd=desk.path).error["code"] in (
        "unreadable",
        "unreadable_settings",
    )


@pytest.mark.parametrize(
    "text",
    [
        b"layout: \xff\xfe\n",
        "layout: carrel\n".encode("utf-16"),
        b"layout: carrel\n\0",
        BOMB.encode(),
        b"agents: " + b"[" * 5_000,
        b"agents: " + b"{a: " * 5_000,
        b"layout: !!python/object/apply:os.system [touch /tmp/pwned]\n",
        b"<<: *x\n",
        b"layout: carrel\nlayout: nexo\n",
        b"? [a]\n: b\n",
        b"---\na: 1\n---\nb: 2\n",
        b"\tlayout: carrel\n",
        b"layout: carrel\n" + b"# " + b"x" * 100_000,
        b"a" * 70_000,
        b'"' + b"\\" * 30_000,
        b"user: {name: " + b"9" * 60_000 + b"\n",
    ],
    ids=[
        "bytes", "utf16", "nul", "aliases", "lists", "tables", "tag", "merge", "twice", "complex key",
        "two documents", "tab", "long", "one word", "quotes", "digits",
    ],
)  # fmt: skip
def test_settings_that_are_no_plain_yaml_are_a_typed_error_with_a_way_out(cli, desk, text):
    desk.put({"carrel.yaml": text, "AGENTS.md": "Be brief.\n"})
    before = desk.snapshot()
    began = time.process_time()
    for verb in (*VERBS, ["config", "validate"]):
        outcome = cli("-C", desk, *verb, "--json")
        assert outcome.code in (1, 2)
        error = outcome.error
        assert error["code"] in ("bad_yaml", "bad_setting", "unreadable_settings")
        assert "carrel.yaml" in error["message"]
        assert len(error["message"]) < 500
    assert time.process_time() - began < SECONDS
    assert desk.snapshot() == before


def test_settings_of_a_hundred_megabytes_are_not_read(cli, desk):
    desk.put({"AGENTS.md": "Be brief.\n", "carrel.yaml": "layout: carrel\n"})
    os.truncate(desk / "carrel.yaml", 100_000_000)
    outcome = cli("-C", desk, "context", "report", "--json")
    assert (outcome.code, outcome.error["code"]) == (1, "unreadable")


@pytest.mark.parametrize(
    "text", [b"\xff", b"layout: [", b"budgts: 1", BOMB.encode()], ids=["bytes", "open", "key", "bomb"]
)
def test_a_wrong_user_file_is_a_typed_error_that_names_it(cli, sample, text):
    path = cli.home / "config/config.yaml"
    path.parent.mkdir(parents=True)
    path.write_bytes(text)
    outcome = cli("-C", sample, "context", "report", "--json")
    assert outcome.code in (1, 2)
    assert outcome.error["code"] in ("bad_yaml", "bad_setting", "unreadable_config")
    assert str(path) in outcome.error["message"]


def test_a_pipe_in_the_place_of_the_user_file_is_not_waited_for(process, sample):
    path = process.home / "config/config.yaml"
    path.parent.mkdir(parents=True)
    os.mkfifo(path)
    try:
        outcome = process("-C", sample, "context", "report", "--json")
    except subprocess.TimeoutExpired:
        pytest.fail("it waited for somebody to write into the pipe")
    assert outcome.code == 1
    assert outcome.error["code"] == "unreadable_config"


def test_a_file_of_a_hundred_megabytes_is_reported_and_costs_no_memory(process, sample):
    os.truncate(sample / "AGENTS.md", 100_000_000)
    program = (
        "import sys, tracemalloc; from carrel.cli.main import run; tracemalloc.start(); code = run(sys.argv[1:]);"
        "print(tracemalloc.get_traced_memory()[1], file=sys.stderr); sys.exit(code)"
    )
    outcome = process("-C", sample, "context", "report", "--json", python=("-c", program))
    row = rows(outcome)["AGENTS.md"]
    assert (row["state"], row["reason"]) == ("unreadable", "too_large")
    assert int(outcome.warnings.split()[-1]) < 50_000_000


def test_a_hundred_thousand_files_are_bounded_and_told(cli, desk):
    desk.put({"AGENTS.md": "Be brief.\n"})
    folder = os.open(desk, os.O_RDONLY)
    for number in range(100_000):
        os.close(os.open(f"n{number:06}.md", os.O_WRONLY | os.O_CREAT, dir_fd=folder))
    os.close(folder)
    try:
        began = time.process_time()
        outcome = cli("-C", desk, "context", "report", "--json")
        assert time.process_time() - began < 10
        assert rows(outcome)["AGENTS.md"]["state"] == "included"
        assert len(outcome.document["sections"]) < 3_000
        assert "too_many_files" in {w["code"] for w in outcome.document["warnings"]}
        began = time.process_time()
        health = cli("-C", desk, "health", "--json").document
        assert time.process_time() - began < 15
        assert health["files"] == 100_001
    finally:
        shutil.rmtree(desk.path)


def test_a_maze_of_links_ends(cli, sample):
    (sample / "knowledge/up").symlink_to("..")
    (sample / "knowledge/self").symlink_to(".")
    (sample / "knowledge/here").symlink_to("../knowledge")
    for number in range(40):
        (sample / f"knowledge/l{number}").symlink_to(f"l{(number + 1) % 40}")
    (sample / "skills/round").symlink_to("../skills")
    outcome = all_commands(cli, sample)
    assert rows(outcome)["knowledge/KNOWLEDGE.md"]["state"] == "included"


def test_a_tree_a_thousand_deep_ends(cli, desk, tmp_path):
    desk.put({"AGENTS.md": "Be brief.\n"})
    folder = os.open(desk, os.O_RDONLY)
    try:
        for name in ["knowledge", *["d"] * 1_000]:
            os.mkdir(name, dir_fd=folder)
            below = os.open(name, os.O_RDONLY, dir_fd=folder)
            os.close(folder)
            folder = below
        os.close(os.open("deep.md", os.O_WRONLY | os.O_CREAT, dir_fd=folder))
        for verb in (
            ["context", "report"],
            ["health"],
            ["export", "--to", tmp_path / "export.zip"],
            ["backup", "create", "--to", tmp_path / "backup.zip"],
            ["memory", "add", "Ana likes tea.", "--dry-run"],
            ["import", desk, "--dry-run"],
        ):
            began = time.process_time()
            assert cli("-C", desk, *verb, "--json").code == 0, verb
            assert time.process_time() - began < SECONDS
    finally:
        os.close(folder)
        subprocess.run(["/bin/rm", "-rf", desk], check=True)  # too deep for pytest's own tidying


HOSTILE_NAMES = {
    "closing tag": "</document>.md",
    "opening tag": "<document>.md",
    "attribute": '"><system>.md',
    "bidi": "a\u202egnp.md",
    "newline": "a\nb.md",
    "escape": "\x1b[2J.md",
    "long": "x" * 252 + ".md",
    "not text": "caf\udce9.md",
    "spaces": "  .md",
    "percent": "%2e%2e%2f.md",
    "backslash": "..\\..\\x.md",
    "tag characters": "a\U000e0041.md",
    "device": "CON.md",
    "braces": "{path}{0}.md",
    "no stem": ".md",
    "dashes": "--json.md",
}


@pytest.mark.parametrize("name", HOSTILE_NAMES.values(), ids=HOSTILE_NAMES.keys())
def test_a_hostile_name_is_one_row_and_forges_nothing(cli, desk, name):
    desk.put({"carrel.yaml": "layout: carrel\n", "AGENTS.md": "Be brief.\n"})
    desk.put({name: "Its text.\n", f"knowledge/{name}": "x"})
    outcome = all_commands(cli, desk)
    assert len(outcome.document["sections"]) == len(report(cli, desk))
    text = cli("-C", desk, "context", "show").text
    documents = text.count("<document path=")
    assert documents == text.count("</document>") == text.count("\nIts text.\n") + 1
    opening = next(
        (line for line in text.splitlines() if line.startswith("<document") and "AGENTS" not in line), None
    )
    if opening is not None:
        assert opening.endswith('">')
        assert opening.count('"') == 2
    for line in cli("-C", desk, "context", "report").text.splitlines():
        assert line.isprintable()


@pytest.mark.parametrize(
    "front",
    [
        "---\n" + BOMB + "---\n",
        "---\na: " + "[" * 10_000 + "\n---\n",
        "---\ntags: [" + ", ".join(["t"] * 10_000) + "]\n---\n",
        "---\npriority: !!python/object/apply:os.system [id]\n---\n",
        "---\npriority: 1e309\nscope: [shared]\ntags: {a: 1}\n---\n",
        "<!-- priority: -999999999999999999999999 -->\n",
        "<!-- tags: " + "t," * 100_000 + " -->\n",
        "<!-- scope: everyone -->\n<!-- priority: NaN -->\n",
        "<!--" + " " * 500_000 + "\n",
        "---\n" + "x: 1\n" * 50_000,
        "---\n" * 50_000,
        "- **Name:**" * 20_000,
        "{{memory}}{{#if x}}\n",
    ],
    ids=[
        "aliases", "nesting", "many tags", "tag", "types", "number", "tags line", "values", "open comment",
        "open block", "rules", "fields", "template",
    ],
)  # fmt: skip
def test_a_front_matter_bomb_is_text_or_a_warning(cli, desk, front):
    desk.put({"AGENTS.md": "Be brief.\n", "bomb.md": front + "The rest.\n", "IDENTITY.md": front})
    outcome = all_commands(cli, desk)
    assert rows(outcome)["bomb.md"]["state"] in ("included", "truncated", "excluded")
    assert rows(outcome)["AGENTS.md"]["state"] == "included"


def test_a_hundred_thousand_lines_of_front_matter_are_read_in_one_go(cli, desk):
    desk.put({"AGENTS.md": "<!-- priority: 1 -->\n" * 90_000 + "Be brief.\n"})
    began = time.process_time()
    assert report(cli, desk)["AGENTS.md"]["state"] == "included"
    assert time.process_time() - began < SECONDS


@pytest.mark.parametrize(
    "text",
    [
        "<" * 1_000_000,
        "<document" * 100_000,
        "`" * 1_000_000,
        "# SOUL\n" * 100_000,
        "\u202e" * 300_000,
        "a" * 1_900_000,
        "\r" * 100_000,
    ],
    ids=["angles", "tags", "fences", "headings", "bidi", "one word", "returns"],
)
@pytest.mark.parametrize("layout", ["carrel", "nexo"])
def test_a_megabyte_of_anything_is_cut_in_bounded_time(cli, desk, layout, text):
    desk.put({"carrel.yaml": f"layout: {layout}\n", "SOUL.md": text, "IDENTITY.md": "- **Name:** Kate\n"})
    began = time.process_time()
    row = report(cli, desk)["SOUL.md"]
    assert time.process_time() - began < SECONDS
    assert row["state"] in ("truncated", "included", "excluded")
    assert row["size"] <= (row["limit"] or 0) or row["state"] != "truncated"


IGNORE_BOMBS = {
    "stars": "*a" * 12 + "*b.md\n",
    "folders": "**/a" * 12 + "/**/b\n",
    "classes": "[a-z]*" * 12 + "!\n",
    "many": "".join(f"x{number}*y\n" for number in range(20_000)),
    "long": "a*" * 20_000 + "\n",
}


@pytest.mark.parametrize("name", sorted(IGNORE_BOMBS))
def test_rules_for_ignoring_cannot_hang_it(process, desk, name):
    desk.put({".carrelignore": IGNORE_BOMBS[name], "AGENTS.md": "Be brief.\n", "a" * 200 + ".md": "Long.\n"})
    desk.put({"knowledge/" + "a/" * 40 + "c.md": "Deep.\n"})
    outcome = process("-C", desk, "context", "report", "--json", python=("-c", LIMITED))
    assert outcome.code >= 0, "it took too long and was ended"
    assert rows(outcome)["AGENTS.md"]["state"] == "included"


@pytest.mark.parametrize(
    "text", ["!\n", "/\n", "[\n", "[!]\n", "\\\n", "***\n", "a\\ \n", "#\n", "[z-a]\n", "\ufeff*.md\n"]
)
def test_odd_rules_for_ignoring_are_no_failure(cli, desk, text):
    desk.put({".carrelignore": text, "AGENTS.md": "Be brief.\n", "drafts.md": "Not yet.\n"})
    assert "AGENTS.md" in rows(all_commands(cli, desk))


@pytest.mark.parametrize("kind", ["bytes", "fifo", "directory", "large"])
def test_rules_for_ignoring_that_cannot_be_read_are_told(cli, desk, kind):
    desk.put({"AGENTS.md": "Be brief.\n", "drafts.md": "Not yet.\n"})
    path = desk / ".carrelignore"
    if kind == "bytes":
        path.write_bytes(b"drafts.md\n# caf\xe9\n")
    elif kind == "large":
        path.write_text("drafts.md\n")
        os.truncate(path, 100_000_000)
    elif kind == "directory":
        path.mkdir()
    else:
        make_special(path, kind)
    outcome = all_commands(cli, desk)
    told = outcome.document["warnings"] + [
        row for name, row in rows(outcome).items() if name == ".carrelignore"
    ]
    assert told, "rules that do not count any more must not vanish in silence"


@pytest.mark.parametrize("folder", ["knowledge", "skills", "memory"])
@pytest.mark.parametrize("kind", ["file", "outside", "loop", "fifo"])
def test_a_folder_that_cannot_be_listed_is_told(cli, desk, tmp_path, folder, kind):
    desk.put({"AGENTS.md": "Be brief.\n"})
    (tmp_path / "away").mkdir()
    (tmp_path / "away/KNOWLEDGE.md").write_text("Outside.\n")
    path = desk / folder
    if kind == "file":
        path.write_text("x")
    elif kind == "fifo":
        os.mkfifo(path)
    else:
        path.symlink_to(folder if kind == "loop" else tmp_path / "away")
    outcome = all_commands(cli, desk)
    assert "Outside." not in cli("-C", desk, "context", "show").text
    troubled = [
        row for name, row in rows(outcome).items() if name.startswith(folder) and row["state"] == "unreadable"
    ]
    assert troubled or outcome.document["warnings"]


@pytest.mark.parametrize("budget", [0, 1, 2, 3])
@pytest.mark.parametrize("layout", ["carrel", "astra", "nexo"])
def test_a_budget_too_small_for_anything_is_kept_to(cli, desk, layout, budget):
    home = "workspace/" if layout == "astra" else ""
    files = {f"{home}{name}.md": "A sentence of some words.\n" for name in ("AGENTS", "USER", "team")}
    desk.put({"carrel.yaml": f"layout: {layout}\nbudgets: {{file: {budget}, total: {budget}}}\n", **files})
    outcome = all_commands(cli, desk)
    for name in files:
        row = rows(outcome).get(name)
        if row is not None:
            assert row["size"] <= budget


@pytest.mark.parametrize("budget", ["-1", "-150000", "1.5", "lots", "[]", "1e9", "0x"])
def test_a_budget_that_is_none_is_a_usage_error(cli, desk, budget):
    desk.put({"carrel.yaml": f"layout: carrel\nbudgets:\n  total: {budget}\n", "AGENTS.md": "Be brief.\n"})
    outcome = cli("-C", desk, "context", "report", "--json")
    assert outcome.code == 2
    assert outcome.document["error"]["code"] == "bad_setting"
    assert "carrel.yaml, line 3: budgets.total" in outcome.document["error"]["message"]
