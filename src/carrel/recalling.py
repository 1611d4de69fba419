"""Recall before a call: what the message finds in files and sessions, and the model does not read yet."""

from collections.abc import Sequence
from contextlib import suppress

from msgspec.structs import replace

from carrel.context.inputs import Inputs
from carrel.errors import CarrelError
from carrel.findings import Finding
from carrel.index import Filter, Query
from carrel.index.query import plan
from carrel.records import Payload
from carrel.runtime.recall import MORE, Known, choose, known_from
from carrel.searching import Searching
from carrel.sessions.placed import Placed
from carrel.shelf import Shelf

LEAST = 0.2
"""Of the best score: what is less alike than this only fills the window."""


def with_recall(shelf: Shelf, searching: Searching, inputs: Inputs, shown: Sequence[Placed]) -> Inputs:
    """Return the inputs with what is to be recalled; a search that fails is a warning of the report.

    What is `shown` are the messages in the call as they were said: all from one on, as far as may be seen.
    """
    budgets = shelf.config.settings.budgets
    text = inputs.query or ""
    if not _asks_for_something(text):
        return inputs
    query = Query(
        text=text,
        limit=budgets.recall_hits * MORE,
        within=Filter(agents=("", shelf.agent.id)),
        least=LEAST,
        ranges=False,
    )
    try:
        found = searching.find(
            query,
            scope=inputs.scope,
            session=inputs.session,
            reads_from=shown[0].number if shown else None,
        )
        if not found.hits:
            return replace(inputs, noticed=found.findings)
        known = _known(shelf, inputs, [each.entry.message_id for each in shown])
        # A prompt calls it by its title; of what is in it, nothing is repeated.
        known = replace(known, parts=known.parts | searching.namespaces)
    except CarrelError as error:
        finding = Finding(code=error.code, message=f"Nothing is recalled: {error.message}", hint=error.hint)
        return replace(inputs, noticed=(finding,))
    kept, left_out = choose(
        found, known, shelf.counts.count, tokens=budgets.recall_tokens, hits=budgets.recall_hits
    )
    return replace(inputs, recall=kept, left_out=left_out, noticed=found.findings)


def _asks_for_something(text: str) -> bool:
    """Tell whether a message has a word that tells one text from another: "Where were we?" has none."""
    asked = plan(text)
    return bool(asked.words or asked.grams or asked.phrases)


def _known(shelf: Shelf, inputs: Inputs, shown: Sequence[str]) -> Known:
    """Return what the call has without recall; `shown` are the ids of messages that are in it."""
    frozen = _frozen(shelf, inputs)
    now, *sent = shelf.assembler.standing(inputs, *([frozen] if frozen else []))
    known = known_from(now, inputs.session, shown, sent=sent[0] if sent else now)
    said = (each.to_text() for each in inputs.history if each.role == "system")
    return replace(known, text="\n".join((known.text, *said)))


def _frozen(shelf: Shelf, inputs: Inputs) -> Payload | None:
    """Return the parts that the session keeps from its beginning, if there are any."""
    if inputs.session is None:
        return None
    with suppress(CarrelError):  # the report says that the records cannot be read
        return shelf.records.frozen(shelf.agent.id, inputs.session, inputs.scope)
    return None
