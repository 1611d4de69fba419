"""Packages that extend Carrel, installed for one test: a real one from its wheel, or one made of a few lines."""

import subprocess
import sys
import zipfile
from pathlib import Path

EXAMPLE = Path(__file__).parents[2] / "examples/extension"
_BUILD = "import sys; from hatchling.build import build_wheel; print(build_wheel(sys.argv[1]))"


def build(place: Path, source: Path = EXAMPLE) -> Path:
    """Build the wheel of a package, and unpack it as an installer would."""
    done = subprocess.run(
        [sys.executable, "-c", _BUILD, str(place)], cwd=source, capture_output=True, text=True, check=True
    )
    with zipfile.ZipFile(place / done.stdout.split()[-1]) as wheel:
        wheel.extractall(place / "site")
    return place / "site"


def install(monkeypatch, site: Path) -> None:
    """Let this process and those that it starts find what is installed in a folder."""
    monkeypatch.syspath_prepend(str(site))
    monkeypatch.setenv("PYTHONPATH", str(site))


def make(site: Path, package: str, points: str, **modules: str) -> Path:
    """Put a package with entry points into a folder: `points` as they stand in entry_points.txt."""
    about = site / f"{package.replace('-', '_')}-1.0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(points)
    for name, text in modules.items():
        (site / f"{name}.py").write_text(text)
    return site
