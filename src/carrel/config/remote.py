"""Where workspaces live that are in no directory: only the user says so, and never a workspace's own file."""

from collections.abc import Mapping
from typing import cast

from msgspec import Struct

from carrel import plainyaml
from carrel.addresses import Key
from carrel.config.directories import UserDirectories
from carrel.config.userfile import DATABASE, OBJECTS, read_user_file
from carrel.errors import UsageError
from carrel.settings.about import BadSetting

DATABASE_VARIABLE, OBJECTS_VARIABLE = "CARREL_DATABASE_URL", "CARREL_OBJECTS"
_ACCESS = ("AWS_", "AZURE_", "GOOGLE_")


class NoDatabase(UsageError):
    """A workspace at an address is meant, and nobody said where the database is."""

    code = "no_database"

    def __init__(self, directories: UserDirectories) -> None:
        super().__init__(
            "No database is named.",
            hint=f"Set {DATABASE_VARIABLE}, or database.url in {directories.config / 'config.yaml'}.",
        )


class DryRunElsewhere(UsageError):
    """A dry run works on copies on this machine, and what is in a database is not copied to it."""

    code = "dry_run_elsewhere"

    def __init__(self) -> None:
        super().__init__(
            "A workspace in a database cannot be copied for a dry run.",
            hint="`carrel backup create`, then `carrel backup restore`, make a copy to try it on.",
        )


class Remote(Struct, frozen=True, kw_only=True):
    """The URL of the database, which may hold a password, and where files are if they are not in it."""

    database: Key
    objects: str = ""
    access: Mapping[str, Key] = {}
    """The variables in which providers of object stores look for keys, endpoint and region."""


def find_remote(environ: Mapping[str, str], directories: UserDirectories) -> Remote:
    """Return what the environment says, else the user's own file."""
    if directories.stage is not None:
        raise DryRunElsewhere
    own = _from_user_file(directories)
    database = environ.get(DATABASE_VARIABLE) or own.get(DATABASE, "")
    if not database:
        raise NoDatabase(directories)
    objects = environ.get(OBJECTS_VARIABLE) or own.get(OBJECTS, "")
    access = {name: Key(value) for name, value in environ.items() if name.startswith(_ACCESS)}
    return Remote(database=Key(database), objects=objects, access=access if objects else {})


def _from_user_file(directories: UserDirectories) -> dict[str, str]:
    path = directories.config / "config.yaml"
    text = read_user_file(path)
    if text is None:
        return {}
    source = f"user file {path}"
    data = plainyaml.load(text, source=source)
    table = cast("dict[object, object]", data) if isinstance(data, dict) else {}
    return {name: found for name in (DATABASE, OBJECTS) if (found := _url(table, name, source))}


def _url(table: Mapping[object, object], name: str, source: str) -> str:
    """Return a URL that is given as a text, or as the only key of a table."""
    given = table.get(name)
    if isinstance(given, dict) and list(inner := cast("dict[object, object]", given)) == ["url"]:
        given = inner["url"]
    if given is None:
        return ""
    if not isinstance(given, str):  # what it is instead may be half of a password
        raise BadSetting(f"{name}.url", "must be a URL", source=source)
    return given
