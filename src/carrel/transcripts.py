"""The sessions of the agents of one directory: who lists or searches them needs nothing that converses."""

from functools import cached_property

from carrel.files.ephemeral import EphemeralFiles
from carrel.screen.secrets import redact_value
from carrel.sessions.intake import keep_secrets
from carrel.sessions.places import places_of
from carrel.sessions.store import Sessions
from carrel.settings import AgentSettings
from carrel.shelf import Shelf


class Transcripts:
    """The sessions of every agent that is at home in a directory, opened by the first who asks for them."""

    def __init__(self, shelf: Shelf) -> None:
        self._shelf = shelf

    @cached_property
    def own(self) -> Sessions:
        """The sessions of the agent that this directory is open for."""
        return self._open(self._shelf.agent)

    @cached_property
    def everyones(self) -> tuple[Sessions, ...]:
        """The sessions of every agent, this one's first."""
        own = self._shelf.agent
        others = [agent for agent in self._shelf.config.settings.agents if agent.id != own.id]
        return (self.own, *(self._open(agent) for agent in others if agent.workspace == own.workspace))

    def of(self, agent: str) -> Sessions | None:
        """Return the sessions of an agent of this directory."""
        return next((each for each in self.everyones if each.places.agent == agent), None)

    def close(self) -> None:
        """Let go of what was opened."""
        for sessions in vars(self).pop("everyones", ())[1:]:
            sessions.close()
        if (sessions := vars(self).pop("own", None)) is not None:
            sessions.close()

    def _open(self, agent: AgentSettings) -> Sessions:
        shelf = self._shelf
        files = shelf.layout.sessions
        derived = EphemeralFiles() if files.window and files.catalog else shelf.home.derived()
        keeps = shelf.config.settings.transcripts.secrets == "keep"
        return Sessions(
            places_of(shelf.layout, agent, shelf.files, derived),
            shelf.home.offsets(),
            shelf.config.clock,
            keep_secrets if keeps else redact_value,
        )
