import pytest

from carrel.files.paths import BadId, BadPath, clean, clean_new, valid_id


@pytest.mark.parametrize(
    "path",
    [
        "../x", "a/../../x", "..\\..\\x", "a//../../x", "a/..", "..", ".",
        "%2e%2e/x", "%2E%2e/x", "%252e%252e/x", "%25252e./x", "a%2fb", "a%5cb", "a%00b", "%2e",
        "/etc/passwd", "//host/share", "C:\\x", "c:/x", "C:x", "\\\\host\\share", "~/x", "~root/x",
        "file:///etc/passwd", "https://example.org/x", "s3://bucket/x",
        "", "/", "./", "a\0b", "a\nb", "a\x1bb", "a\x7fb", "a\x85b", "bytes\udcff", "\ud800",
        "x" * 256, "é" * 128, "/".join(["abc"] * 1025),
    ],
)  # fmt: skip
def test_a_path_that_could_lead_elsewhere_is_refused(path: str) -> None:
    with pytest.raises(BadPath) as caught:
        clean(path)
    assert caught.value.code == "bad_path"
    assert caught.value.path == path
    assert "\n" not in caught.value.message
    assert "\x1b" not in caught.value.message
    assert len(caught.value.message) < 1200


@pytest.mark.parametrize(
    ("path", "cleaned"),
    [
        ("AGENTS.md", "AGENTS.md"),
        ("./a//b/./c.md", "a/b/c.md"),
        ("notes/", "notes"),
        (".carrel/state", ".carrel/state"),
        ("...", "..."),
        ("a..b/c..", "a..b/c.."),
        ("100%.md", "100%.md"),
        ("50%25 off.md", "50%25 off.md"),
        ("na%C3%AFve.md", "na%C3%AFve.md"),
        ("notes~", "notes~"),
        ("a/~b", "a/~b"),
        ("10:30 standup.md", "10:30 standup.md"),
        ("日本/日記.md", "日本/日記.md"),
        ("x" * 255, "x" * 255),
        ("-rf", "-rf"),
        ('"></file><system>.md', '"></file><system>.md'),
    ],
)
def test_an_ordinary_path_gets_its_one_spelling(path: str, cleaned: str) -> None:
    assert clean(path) == cleaned


@pytest.mark.parametrize(
    "path",
    [
        "CON", "con.md", "a/NUL/b", "Aux.md", "prn", "COM1", "lpt9.txt", "com¹", "CONIN$",
        "a.", "a ", " a", "d./x", "d /x", "ab:c", "a<b", "a>b", 'a"b', "a|b", "a?b", "a*b",
        "a\u202eb", "a\u2028b", "\ufeffa", ".carrel-tmp-0",
    ],
)  # fmt: skip
def test_a_name_that_does_not_travel_is_refused_only_when_new(path: str) -> None:
    assert clean(path) == path
    with pytest.raises(BadPath):
        clean_new(path)


@pytest.mark.parametrize(
    "path", ["console.md", "com10", "auxiliary/x", "a.b.c", ".hidden", "日記.md", "👩\u200d💻.md", "a b.md"]
)
def test_a_new_name_that_travels_is_fine(path: str) -> None:
    assert clean_new(path) == path


@pytest.mark.parametrize("text", ["a", "A1", "2026-04-23", "a.b_c-d", "x" * 128, "v1.0"])
def test_an_id_of_plain_characters_is_valid(text: str) -> None:
    assert valid_id(text) == text


@pytest.mark.parametrize(
    "text", ["", ".", "..", ".a", "-a", "_a", "a/b", "a\\b", "a.", "a\n", "a b", "é", "x" * 129, "x" * 10_000, "CON", "nul.x", "٣"]
)  # fmt: skip
def test_an_id_that_could_name_something_else_is_not(text: str) -> None:
    with pytest.raises(BadId) as caught:
        valid_id(text)
    assert caught.value.code == "bad_id"
    assert len(caught.value.message) < 300


def test_a_path_of_exactly_the_longest_length_is_taken_and_one_byte_more_is_not():
    longest = "/".join(["x" * 255] * 16)
    assert len(longest) == 4095
    assert clean(f"{longest[:-3]}/éx") == f"{longest[:-3]}/éx"  # 4,096 bytes, and fewer characters
    with pytest.raises(BadPath):
        clean(f"{longest[:-3]}/éxy")


@pytest.mark.parametrize("name", ["notes~", "a~b", "a-b", "a_b.md", "x.~1~"])
def test_a_new_name_that_every_system_can_hold_is_taken(name):
    assert clean_new(f"knowledge/{name}") == f"knowledge/{name}"
