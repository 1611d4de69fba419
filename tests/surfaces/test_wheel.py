"""The wheel and the sdist hold the package, all of it and nothing else, and the wheel works where nothing else is."""

import hashlib
import os
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.conftest import clean_environment

import carrel

ROOT = Path(__file__).parents[2]
PATIENCE = 240
BUILD = "import sys; from hatchling import build; print(getattr(build, f'build_{sys.argv[1]}')(sys.argv[2]))"
ABOUT = {"METADATA", "WHEEL", "RECORD", "entry_points.txt", "licenses/LICENSE"}


class Built(NamedTuple):
    wheel: Path
    sdist: Path


def run(*words, cwd, env=None):
    """Run something in an environment without the variables of whoever runs the tests."""
    gone = clean_environment()
    kept = {name: value for name, value in os.environ.items() if name not in gone}
    done = subprocess.run(
        words, cwd=cwd, env=kept | (env or {}), capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def build(kind, source, target):
    target.mkdir(exist_ok=True)
    printed = run(sys.executable, "-c", BUILD, kind, str(target), cwd=source)
    return target / printed.strip().splitlines()[-1]


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    place = tmp_path_factory.mktemp("dist")
    return Built(build("wheel", ROOT, place), build("sdist", ROOT, place))


@pytest.fixture(scope="module")
def python(built, tmp_path_factory):
    """The Python of an environment that has the wheel; what the wheel depends on is lent by this one.

    A path in a .pth file lends modules, but not the editable install of the checkout, which is a .pth itself.
    """
    place = tmp_path_factory.mktemp("clean")
    venv.create(place, with_pip=False, symlinks=True)
    found = place / "bin/python"
    [site] = place.glob("lib/python*/site-packages")
    (site / "lent.pth").write_text(f"{sysconfig.get_path('purelib')}\n")
    pip = (
        sys.executable,
        "-m",
        "pip",
        "--python",
        str(found),
        "install",
        "--quiet",
        "--no-deps",
        "--no-index",
    )
    run(*pip, "--disable-pip-version-check", str(built.wheel), cwd=place)
    return found


def contents(wheel):
    with zipfile.ZipFile(wheel) as archive:
        return {name: hashlib.sha256(archive.read(name)).hexdigest() for name in archive.namelist()}


def test_the_wheel_holds_all_files_of_the_package_and_nothing_else(built):
    held = contents(built.wheel)
    source = {
        path.relative_to(ROOT / "src").as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in (ROOT / "src/carrel").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    about = f"carrel-{carrel.__version__}.dist-info/"
    assert {name: digest for name, digest in held.items() if not name.startswith(about)} == source
    assert {name.removeprefix(about) for name in held if name.startswith(about)} == ABOUT
    suffixes = {Path(name).suffix for name in source} | {Path(name).name for name in source}
    assert {".yaml", ".sql", ".html", ".css", ".js", "py.typed"} <= suffixes


def test_the_sdist_builds_the_same_wheel(built, tmp_path):
    safely = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}  # 3.11 has it from 3.11.4 on
    with tarfile.open(built.sdist) as archive:
        archive.extractall(tmp_path, **safely)
    [source] = tmp_path.iterdir()
    top = {path.name for path in source.iterdir()} - {"PKG-INFO", ".gitignore"}
    assert top == {"src", "pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md"}
    assert contents(build("wheel", source, tmp_path / "again")) == contents(built.wheel)


def test_in_a_clean_environment_the_command_makes_a_workspace_shows_it_and_searches_it(python, tmp_path):
    command, env = str(python.with_name("carrel")), {"CARREL_HOME": str(tmp_path / "home")}
    assert run(command, "--version", cwd=tmp_path, env=env).split()[-1] == carrel.__version__
    run(command, "init", "desk", cwd=tmp_path, env=env)
    (tmp_path / "desk/USER.md").write_text("Luis paints boats in Bogota.\n")
    assert "paints boats" in run(command, "-C", "desk", "context", "show", cwd=tmp_path, env=env)
    assert "USER.md:1" in run(command, "-C", "desk", "search", "Who paints?", cwd=tmp_path, env=env)


def test_in_a_clean_environment_it_is_the_wheel_that_is_imported_the_fakes_too(python, tmp_path):
    code = "import carrel, carrel.testing; print(carrel.__file__); carrel.testing.ScriptedModel"
    assert run(str(python), "-c", code, cwd=tmp_path).startswith(str(python.parents[1]))
