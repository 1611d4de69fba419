"""What may still be spent, and how far a provider's own figures are believed.

Background work stops first, so that what is left is there for turns. Nothing is counted here: the account of
every call is in `records.usage`.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime, time, timedelta
from typing import Literal

from msgspec import Struct

from carrel.errors import Refused, Unavailable
from carrel.findings import Finding
from carrel.records.usage import Purpose, Spent, Total, Usage

BACKGROUND_SHARE = 0.8
"""The part of a cap at which background work stops."""

DOUBT = 4
"""A provider that reports so many times more tokens than were counted, or less, is not believed."""

DOUBT_FROM = 20_000
"""Tokens that tools may have, which are not counted."""

Span = Literal["day", "session"]

_WORDS: dict[Span, str] = {"day": "today", "session": "in this session"}
_ROUNDING = 1e-9  # dollars; sums of floats miss a round figure by less


class Caps(Struct, frozen=True, kw_only=True):
    """What may be spent, in US dollars, by a whole workspace in a day and by one session ever."""

    per_day: float | None = None
    per_session: float | None = None


class SpendingCap(Refused):
    """A cap on spending is reached; the model is not asked."""

    code = "spending_cap"

    def __init__(
        self, span: Span, cap: float, spent: float, *, resets: datetime | None, unpriced: int = 0
    ) -> None:
        ends = f" It resets at {_moment(resets)}." if resets else ""
        super().__init__(
            f"The spending cap of {_dollars(cap)} a {span} is reached: {_dollars(spent)} was spent "
            f"{_WORDS[span]}.{_not_counted(unpriced)}{ends}",
            hint=f"Wait until then, or raise spending.per_{span}."
            if resets
            else f"Begin a new session, or raise spending.per_{span}.",
        )
        self.span: Span = span
        self.cap = cap
        self.spent = spent
        self.resets = resets


class BackgroundStopped(Unavailable):
    """Background work has spent its share; what waits is done later."""

    code = "background_stopped"

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding.message, hint=finding.hint)


class Allowance(Struct, frozen=True, kw_only=True):
    """Whether work may begin, and what is to be said of it: never false for a turn, which is refused."""

    allowed: bool = True
    findings: tuple[Finding, ...] = ()


class Surplus(Struct, frozen=True, kw_only=True):
    """How many tokens a provider counts beyond Carrel, and what was wrong with its report."""

    tokens: int = 0
    finding: Finding | None = None


class _Account(Struct, frozen=True, kw_only=True):
    """What was spent under one cap."""

    span: Span
    cap: float
    total: Total
    resets: datetime | None = None

    @property
    def spent(self) -> float:
        return self.total.cost or 0.0

    def reaches(self, share: float) -> bool:
        return self.spent >= self.cap * share - _ROUNDING


def check(
    usage: Usage,
    caps: Caps,
    *,
    agent: str,
    session: str | None,
    now: datetime,
    purpose: Purpose,
    others: Sequence[str] = (),
) -> Allowance:
    """Say whether work may begin; a turn over a cap is refused with SpendingCap.

    Days begin at midnight in the zone of `now`. What has no known price counts for nothing, and is said. What
    was spent in `others`, sessions that work for this one, counts for it.
    """
    accounts = list(_accounts(usage, caps, now, agent=agent, session=session, others=others))
    if purpose == "background":
        stopped = tuple(_stopped(account) for account in accounts if account.reaches(BACKGROUND_SHARE))
        if stopped:
            return Allowance(allowed=False, findings=stopped)
    for account in accounts:
        if account.reaches(1.0):
            raise SpendingCap(
                account.span,
                account.cap,
                account.spent,
                resets=account.resets,
                unpriced=account.total.unpriced,
            )
    return Allowance(findings=tuple(_unknown(account) for account in accounts if account.total.unpriced))


def surplus(last: Spent | None, model: str, window: int) -> Surplus | None:
    """Return what a call has beside its sections, by what the provider reported of the session's last one.

    So the next call is counted as that one was, and what was added since. None where there is no report on
    this model to go by; one that cannot be true is left aside, and one that is too low saves nothing.
    """
    if last is None or last.model != model or last.counted <= 0 or last.input <= 0:
        return None
    more = last.input - last.counted
    most = min((DOUBT - 1) * last.counted + DOUBT_FROM, window // 2)
    if more > most or DOUBT * last.input < last.counted:
        return Surplus(finding=_doubtful(last.input, last.counted))
    return Surplus(tokens=max(0, more))


def _accounts(
    usage: Usage, caps: Caps, now: datetime, *, agent: str, session: str | None, others: Sequence[str]
) -> Iterator[_Account]:
    if caps.per_day is not None:
        today = datetime.combine(now.date(), time(), tzinfo=now.tzinfo)
        yield _Account(
            span="day",
            cap=caps.per_day,
            total=usage.total(since=today),
            resets=datetime.combine(now.date() + timedelta(days=1), time(), tzinfo=now.tzinfo),
        )
    if caps.per_session is not None and session is not None:
        total = usage.total(agent=agent, session=session)
        for other in others:
            total = total + usage.total(session=other)
        yield _Account(span="session", cap=caps.per_session, total=total)


def _stopped(account: _Account) -> Finding:
    ends = f" It resets at {_moment(account.resets)}." if account.resets else ""
    return Finding(
        code="background_stopped",
        message=f"Background work is stopped: {_dollars(account.spent)} of the {_dollars(account.cap)} a "
        f"{account.span} was spent {_WORDS[account.span]}, and it stops at {BACKGROUND_SHARE:.0%}."
        f"{_not_counted(account.total.unpriced)}{ends}",
        hint=f"What waits is kept and done later; raise spending.per_{account.span} to have it done now.",
    )


def _unknown(account: _Account) -> Finding:
    return Finding(
        code="spending_unknown",
        message=f"The spending cap of {_dollars(account.cap)} a {account.span} does not see all."
        f"{_not_counted(account.total.unpriced)}",
        severity="info",
        hint="The price of the model is not known; its provider's own limit on spending holds for it too.",
    )


def _not_counted(unpriced: int) -> str:
    if not unpriced:
        return ""
    who = "1 call has" if unpriced == 1 else f"{unpriced:,} calls have"
    return f" {who} no known price and could not be counted."


def _doubtful(reported: int, counted: int) -> Finding:
    return Finding(
        code="usage_doubtful",
        message=f"The provider reported {reported:,} tokens for a call of about {counted:,}; "
        "the report is not believed.",
        hint="Our own count is used instead. Look at the provider's bill, or at what stands before it.",
    )


def _dollars(amount: float) -> str:
    """Write an amount to the cent, and one below that to what can be told from nothing."""
    return f"${amount:,.2f}" if amount >= 0.01 or not amount else f"${amount:.6f}"  # noqa: PLR2004 - a cent


def _moment(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M %Z}".rstrip()
