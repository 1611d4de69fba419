import os
from pathlib import PurePosixPath
from urllib.parse import unquote

from hypothesis import example, given
from hypothesis import strategies as st

from carrel.files.paths import BadPath, clean, clean_new, fold, parts

pieces = st.sampled_from(
    [
        "..",
        ".",
        "",
        "a",
        "%2e",
        "%2f",
        "%25",
        "\\",
        "~",
        "C:",
        "\0",
        "//",
        "x" * 250,
        "é",
        "e\u0301",
        "\udcff",
        " ",
        ":",
        "con",
    ]
)
hostile = st.one_of(
    st.text(), st.lists(pieces | st.text(max_size=4)).map("/".join), st.lists(pieces).map("".join)
)


def accepted(rule, path: str) -> str | None:
    try:
        return rule(path)
    except BadPath:
        return None


@given(hostile)
@example("..%2f..%2fetc/passwd")
def test_a_clean_path_never_leaves_the_root_however_often_it_is_decoded(path: str) -> None:
    cleaned = accepted(clean, path)
    while cleaned is not None:
        assert not PurePosixPath(cleaned).is_absolute()
        assert ".." not in PurePosixPath(cleaned).parts
        assert os.path.normpath(f"/root/{cleaned}").startswith("/root/")
        assert "\0" not in cleaned
        assert "\\" not in cleaned
        cleaned = None if unquote(cleaned) == cleaned else unquote(cleaned)


@given(hostile)
def test_cleaning_twice_is_cleaning_once(path: str) -> None:
    cleaned = accepted(clean, path)
    if cleaned is not None:
        assert clean(cleaned) == cleaned
        assert "/".join(parts(path)) == cleaned


@given(hostile)
def test_what_is_good_for_a_new_file_is_good_for_an_old_one(path: str) -> None:
    if accepted(clean_new, path) is not None:
        assert clean(path) == clean_new(path)


@given(hostile)
def test_even_the_weakest_check_refuses_every_way_out(path: str) -> None:
    names = accepted(parts, path)
    if names is not None:
        assert names
        assert not {"", ".", ".."} & set(names)
        assert not any("/" in name or "\0" in name for name in names)


@given(st.text())
def test_folding_does_not_depend_on_case_or_form(name: str) -> None:
    assert fold(fold(name)) == fold(name)
