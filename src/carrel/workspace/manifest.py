"""The squad manifest, `.squad-config.json`: who belongs to a squad, so that its workspace can be restored."""

from datetime import datetime
from typing import Any
from uuid import uuid4

import msgspec
from msgspec import Struct

from carrel.errors import UsageError
from carrel.settings import Given
from carrel.settings.parse import parse

MANIFEST_FILE = ".squad-config.json"
MANIFEST_LIMIT = 1024 * 1024
VERSION = 1
DEFAULT_AGENTS = (("planner", "Planner"), ("developer", "Developer"), ("reviewer", "Reviewer"))


class BadManifest(UsageError):
    """The manifest cannot be understood; nothing was changed."""

    code = "bad_manifest"

    def __init__(self, problem: str, *, hint: str = "Repair it, or restore it from a backup.") -> None:
        super().__init__(f"{MANIFEST_FILE} cannot be used: {problem}.", hint=hint)


class ManifestAgent(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One member of a squad."""

    id: str
    name: str | None = None
    role: str | None = None
    profile: str | None = None
    memory_enabled: bool | None = None
    trigger_interval: int | None = None


class _Roster(Struct, frozen=True, kw_only=True):
    agents: tuple[ManifestAgent, ...] = ()


class Manifest(Struct, frozen=True, kw_only=True, rename="camel"):
    """What a squad says of itself; keys that are not known here are left alone."""

    squad_id: str = ""
    squad_name: str = ""
    initialized_at: str = ""
    app_version: str = ""
    schema_version: int = VERSION
    config: _Roster = _Roster()

    @property
    def agents(self) -> tuple[ManifestAgent, ...]:
        """The members."""
        return self.config.agents

    def settings(self) -> Given:
        """Return the members as settings, which are checked like any other."""
        return parse(
            {"agents": [_as_settings(agent) for agent in self.agents]}, layout=None, source=MANIFEST_FILE
        )


def parse_manifest(data: bytes) -> Manifest:
    """Read a manifest; one that is damaged, or newer than this code, is an error."""
    try:
        manifest = msgspec.json.decode(data, type=Manifest)
    except msgspec.MsgspecError as error:
        raise BadManifest(str(error)) from None
    except (UnicodeDecodeError, RecursionError):
        raise BadManifest("it is not plain JSON text") from None
    if manifest.schema_version > VERSION:
        newer = f"it has the newer format {manifest.schema_version}"
        raise BadManifest(newer, hint="Upgrade Carrel; the file was not touched.")
    manifest.settings()
    return manifest


def new_manifest(name: str, now: datetime, app_version: str) -> bytes:
    """Return the manifest of a new squad, with the three members the scaffold has."""
    manifest = Manifest(
        squad_id=str(uuid4()),
        squad_name=name,
        initialized_at=now.isoformat(timespec="seconds").replace("+00:00", "Z"),
        app_version=app_version,
        config=_Roster(
            agents=tuple(
                ManifestAgent(id=id_, name=title, role=title, memory_enabled=True, trigger_interval=10)
                for id_, title in DEFAULT_AGENTS
            )
        ),
    )
    return msgspec.json.format(msgspec.json.encode(manifest), indent=2) + b"\n"


def _as_settings(agent: ManifestAgent) -> dict[str, Any]:
    given = {
        "id": agent.id,
        "display_name": agent.name,
        "profile": agent.profile,
        "memory_enabled": agent.memory_enabled,
        "trigger_interval": agent.trigger_interval,
    }
    return {key: value for key, value in given.items() if value is not None}
