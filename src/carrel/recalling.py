"""Recall before a call: what the message finds in files and sessions, and the model does not read yet."""

from collections.abc import Callable

from msgspec.structs import replace

from carrel.context.inputs import Inputs
from carrel.errors import CarrelError
from carrel.findings import Finding
from carrel.index import Filter, Query
from carrel.runtime.recall import MORE, choose, known_from
from carrel.searching import Searching
from carrel.sessions.store import Sessions
from carrel.shelf import Shelf

LEAST = 0.2
"""Of the best score: what is less alike than this only fills the window."""


def with_recall(
    shelf: Shelf, searching: Searching, inputs: Inputs, sessions: Callable[[], Sessions]
) -> Inputs:
    """Return the inputs with what is to be recalled; a search that fails is a warning of the report."""
    budgets = shelf.config.settings.budgets
    agents = ("", shelf.agent.id)
    try:
        query = Query(
            text=inputs.query or "",
            limit=budgets.recall_hits * MORE,
            within=Filter(agents=agents),
            least=LEAST,
        )
        found = searching.find(query, scope=inputs.scope, session=inputs.session)
        if not found.hits:
            return replace(inputs, noticed=found.findings)
        known = known_from(shelf.assembler.assemble(inputs), inputs.session, _shown(inputs, sessions))
    except CarrelError as error:
        finding = Finding(code=error.code, message=f"Nothing is recalled: {error.message}", hint=error.hint)
        return replace(inputs, noticed=(finding,))
    kept, left_out = choose(
        found, known, shelf.counts.count, tokens=budgets.recall_tokens, hits=budgets.recall_hits
    )
    return replace(inputs, recall=kept, left_out=left_out, noticed=found.findings)


def _shown(inputs: Inputs, sessions: Callable[[], Sessions]) -> list[str]:
    """Return the ids of the messages that are in the call as they were said."""
    if inputs.session is None:
        return []
    _, placed = sessions().seen(inputs.session, scope=inputs.scope)
    return [each.entry.message_id for each in placed]
