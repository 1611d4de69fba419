"""Watches over the provider's cache: says so when tokens are paid for again, and who is to blame."""

from datetime import timedelta

from carrel.context.compare import recollect
from carrel.context.report import Change, Prefix, describe_prefix
from carrel.files import show
from carrel.findings import Finding
from carrel.records import Payload
from carrel.records.usage import Spent

_MINUTES = {
    "claude": 5,
    "anthropic": 5,
    "gpt-oss": 5,
    "gpt-": 10,
    "chatgpt-": 10,
    "o1": 10,
    "o3": 10,
    "o4": 10,
    "openai": 10,
}
_OTHERS = 5

_CAUSES: dict[str, str] = {
    "changed": "{} changed",
    "added": "{} was added",
    "removed": "{} was removed",
    "moved": "{} moved",
    "scope": "Another scope is listening, and from {} on it reads something else",
}


def watch(
    before: Spent | None, now: Spent, prefix: Prefix | None, *, stood: int | None = None
) -> Finding | None:
    """Say why a call read less than half of what the call before it left in the cache; mostly nothing.

    `prefix` is that of the report on this call, none for a further round of the same turn. `stood` is how
    many tokens the prefix of the call before had: what a turn adds to it is cached for its own rounds, but
    not for the next turn, whose messages do not begin the same.
    """
    if before is None or (before.model, before.purpose) != (now.model, now.purpose):
        return None
    promised = before.cached if stood is None else min(before.cached, stood)
    if now.cached * 2 >= promised:
        return None
    lost = f"{now.cached:,} tokens came from the cache, where {promised:,} did before"
    passed, lasts = now.at - before.at, time_to_live(now.model)
    if prefix is not None and prefix.changed_by is not None:
        return _broken(prefix.changed_by, lost, lapsed=passed > lasts)
    return _lapsed(lost, passed, lasts) if passed > lasts else _missed(lost)


def stood(last_assembly: Payload | None) -> int | None:
    """Return the tokens of the prefix of a session's last call, as `records.last_assembly` kept it.

    It must be asked before the next call is prepared, which takes its place.
    """
    return None if last_assembly is None else describe_prefix(recollect(last_assembly).rows).tokens


def time_to_live(model: str) -> timedelta:
    """Return how long a provider keeps what nobody asks for again."""
    for piece in reversed(model.lower().replace(":", "/").split("/")):
        matches = [name for name in _MINUTES if piece.startswith(name)]
        if matches:
            return timedelta(minutes=_MINUTES[max(matches, key=len)])
    return timedelta(minutes=_OTHERS)


def _broken(change: Change, lost: str, *, lapsed: bool) -> Finding:
    section = show(change.section) or "the beginning"
    also = " The provider's time to live had passed as well." if lapsed else ""
    return Finding(
        code="cache_broken",
        message=f"{_CAUSES[change.cause].format(section)}, which broke the cached prefix: {lost}.{also}",
        severity="info",
        hint="What changes often belongs behind what does not; `carrel context diff` shows the change.",
    )


def _lapsed(lost: str, passed: timedelta, lasts: timedelta) -> Finding:
    minutes = passed // timedelta(minutes=1)
    return Finding(
        code="cache_lapsed",
        message=f"The provider's cache lapsed: {lost}, {minutes:,} minutes ago; "
        f"it keeps things for about {lasts // timedelta(minutes=1)}.",
        severity="info",
        hint="Nothing is wrong: the beginning of the call was the same, and is cached again now.",
    )


def _missed(lost: str) -> Finding:
    return Finding(
        code="cache_missed",
        message=f"The provider did not use its cache: {lost}, and the call began the same.",
        severity="info",
        hint="That is the provider's doing. Should it go on, look for a proxy that spreads calls.",
    )
