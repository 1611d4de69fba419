"""Where a user's own files live, outside every workspace."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

STAGE_VARIABLE = "CARREL_STAGE"
"""Names the directory of a dry run, in which every place has its copy under its own path."""


class UserDirectories(Struct, frozen=True, kw_only=True):
    """Where a user's own files live, outside every workspace."""

    config: Path
    cache: Path
    data: Path
    stage: Path | None = None
    """Where copies stand in for all that would be written, in a dry run."""


def user_directories(environ: Mapping[str, str]) -> UserDirectories:
    """Find the user's directories: below CARREL_HOME if set, else where the platform keeps them.

    In a dry run they are copies, which stand below its stage.
    """
    found = _own_directories(environ)
    if not environ.get(STAGE_VARIABLE):
        return found
    stage = Path(environ[STAGE_VARIABLE])
    real = (Path(os.path.realpath(place)) for place in (found.config, found.cache, found.data))
    config, cache, data = (mirrored(place, stage) for place in real)
    return UserDirectories(config=config, cache=cache, data=data, stage=stage)


def mirrored(place: Path, stage: Path) -> Path:
    """Return where on a stage the copy of a place stands."""
    return stage.joinpath(*place.parts[1:])


def _own_directories(environ: Mapping[str, str]) -> UserDirectories:
    home = environ.get("CARREL_HOME")
    if home:
        root = Path(home).absolute()
        return UserDirectories(config=root / "config", cache=root / "cache", data=root / "data")
    if sys.platform == "linux" and environ.get("HOME"):
        return _xdg_directories(environ)
    import platformdirs  # noqa: PLC0415 - 8 ms, so only where the answer is not four lines

    return UserDirectories(
        config=platformdirs.user_config_path("carrel", appauthor=False),
        cache=platformdirs.user_cache_path("carrel", appauthor=False),
        data=platformdirs.user_data_path("carrel", appauthor=False),
    )


def _xdg_directories(environ: Mapping[str, str]) -> UserDirectories:
    def at(variable: str, default: str) -> Path:
        base = Path(environ.get(variable) or "")
        # The specification has relative values ignored.
        return (base if base.is_absolute() else Path(environ["HOME"], default)) / "carrel"

    return UserDirectories(
        config=at("XDG_CONFIG_HOME", ".config"),
        cache=at("XDG_CACHE_HOME", ".cache"),
        data=at("XDG_DATA_HOME", ".local/share"),
    )
