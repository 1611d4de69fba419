"""The server's own token: made once, and worth nothing where others could have read it."""

import os
from pathlib import Path

import pytest

from carrel.errors import CarrelError
from carrel.http.token import TokenExposed, WeakToken, find_token, read_or_make, token_path

GOOD = "a" * 32


def environ(home: Path, **more: str) -> dict[str, str]:
    return {"CARREL_HOME": str(home), **more}


def test_a_token_is_made_once_where_only_its_owner_can_read_it(tmp_path: Path) -> None:
    given = environ(tmp_path / "home")
    path = token_path(given)
    token, kept = find_token(given, keep=True)
    assert kept == path
    assert len(token) >= 43
    assert path.read_text() == token
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o077 == 0
    assert find_token(given, keep=True) == (token, path)


def test_a_server_that_keeps_nothing_has_another_token_each_time(tmp_path: Path) -> None:
    given = environ(tmp_path / "home")
    one, two = find_token(given, keep=False), find_token(given, keep=False)
    assert one[0] != two[0]
    assert len(one[0]) >= 43
    assert one[1] is two[1] is None
    assert not token_path(given).exists()


def test_the_environment_may_give_one_that_is_long_enough(tmp_path: Path) -> None:
    given = environ(tmp_path / "home", CARREL_TOKEN=GOOD)
    assert find_token(given, keep=True) == (GOOD, None)
    assert not token_path(given).exists()


@pytest.mark.parametrize(
    "token", [GOOD[:-1], "x", "é" * 32, GOOD + " ", GOOD + "\n", "a b" * 20, "\x7f" * 40]
)
def test_a_token_that_could_be_guessed_or_that_no_header_holds_is_refused(tmp_path: Path, token: str) -> None:
    with pytest.raises(WeakToken):
        find_token(environ(tmp_path, CARREL_TOKEN=token), keep=True)


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o602, 0o610, 0o601])
def test_a_token_that_others_could_have_touched_opens_nothing(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "server.token"
    path.write_text(GOOD)
    path.chmod(mode)
    with pytest.raises(TokenExposed, match="server"):
        read_or_make(path)


@pytest.mark.parametrize("text", ["", GOOD[:-1], " " * 100])
def test_a_file_that_holds_no_token_is_none(tmp_path: Path, text: str) -> None:
    path = tmp_path / "server.token"
    path.write_text(text)
    path.chmod(0o600)
    with pytest.raises(TokenExposed):
        read_or_make(path)


def test_a_token_that_an_editor_ended_with_a_newline_is_read(tmp_path: Path) -> None:
    path = tmp_path / "server.token"
    path.write_text(f"{GOOD}\n")
    path.chmod(0o600)
    assert read_or_make(path) == GOOD


def test_a_link_a_folder_and_a_device_are_no_tokens(tmp_path: Path) -> None:
    (tmp_path / "real").write_text(GOOD)
    (tmp_path / "real").chmod(0o600)
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "folder").mkdir()
    for name in ("link", "folder"):
        with pytest.raises(CarrelError):
            read_or_make(tmp_path / name)


def test_a_token_of_somebody_else_is_none_of_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "server.token"
    read_or_make(path)
    monkeypatch.setattr(os, "geteuid", lambda: path.stat().st_uid + 1)
    with pytest.raises(TokenExposed):
        read_or_make(path)
