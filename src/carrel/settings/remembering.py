"""The settings of memory: what is kept out of it, what is promoted, and how journals are consolidated."""

from typing import Annotated, Literal

from msgspec import Struct

from carrel.settings.about import About, BadSetting

SCHEDULE = r"^(?:daily (?:[01][0-9]|2[0-3]):[0-5][0-9]|every [1-9][0-9]{0,3}[hd])$"
"""When something is done by itself: at an hour of each day, or after some time."""


class PrivacySettings(Struct, frozen=True, kw_only=True):
    """What is done with secrets and personal data before memory is written and before texts are embedded."""

    secrets: Annotated[
        Literal["block", "redact", "allow"],
        About(
            "Write nothing, a mark, or all of it; a fact that holds one is refused unless that is allowed.",
            sensitive=True,
        ),
    ] = "redact"
    personal: Annotated[
        Literal["block", "redact", "allow"],
        About("The same for addresses, telephones, accounts and numbers of persons.", sensitive=True),
    ] = "allow"


class DreamWeights(Struct, frozen=True, kw_only=True):
    """How much each sign that a memory matters counts; what adds up to more than 1 is scaled down to it."""

    frequency: Annotated[float, About("How often it was recalled.")] = 0.24
    relevance: Annotated[float, About("How well it answered.")] = 0.30
    recency: Annotated[float, About("How lately it was recalled.")] = 0.15
    diversity: Annotated[float, About("By how many different queries, or on how many days.")] = 0.15
    consolidation: Annotated[float, About("Over how many days.")] = 0.10

    def __post_init__(self) -> None:
        """Refuse weights by which everything is worth nothing."""
        if not any((self.frequency, self.relevance, self.recency, self.diversity, self.consolidation)):
            raise BadSetting("dreaming.weights", "are all 0", hint="Give one of them more than 0.")


class DreamingSettings(Struct, frozen=True, kw_only=True):
    """Which memories dreaming promotes to MEMORY.md, and when; each minimum is a gate."""

    enabled: Annotated[bool, About("Whether anything is promoted, by `carrel dream run` or on time.")] = True
    schedule: Annotated[
        str | None,
        About(
            "`daily 03:00` (in `time_zone`), `every 12h` or `every 2d`; else only when asked.",
            pattern=SCHEDULE,
            hint="Write `daily 03:00`, `every 12h` or `every 2d`.",
        ),
    ] = None
    min_recalls: Annotated[int, About("Times it was recalled.", least=1)] = 3
    min_queries: Annotated[int, About("Different queries that it was recalled by.", least=1)] = 2
    min_days: Annotated[int, About("Different days on which it was recalled.", least=1)] = 2
    min_score: Annotated[float, About("Its score, from 0 to 1.")] = 0.35
    most: Annotated[int, About("Promotions of one run.", least=1)] = 20
    half_life_days: Annotated[int, About("Days after which recency counts half.", least=1)] = 90
    weights: DreamWeights = DreamWeights()

    def __post_init__(self) -> None:
        """Refuse a score that nothing can reach."""
        if self.min_score > 1:
            raise BadSetting("dreaming.min_score", "must be 0 to 1", hint="The default is 0.35.")


class ConsolidationSettings(Struct, frozen=True, kw_only=True):
    """How entries of the journal become a part of MEMORY.md."""

    enabled: Annotated[bool, About("Whether it is done, by `carrel memory consolidate` or on time.")] = True
    automatic: Annotated[
        bool,
        About("Whether it is done when a session ends and by `carrel sweep`, at most twice an hour."),
    ] = False
    schedule: Annotated[
        str | None,
        About(
            "When `carrel sweep` does it: `daily 03:00`, `every 12h`, `every 2d`; else as `automatic` says.",
            pattern=SCHEDULE,
            hint="Write `daily 03:00`, `every 12h` or `every 2d`.",
        ),
    ] = None
    tokens: Annotated[
        int, About("Tokens that MEMORY.md may have; what falls out of it goes to the archive.", least=1)
    ] = 4000
    archive_days: Annotated[
        int, About("Days after which a journal that is consolidated goes to the archive.", least=1)
    ] = 90


class RetentionSettings(Struct, frozen=True, kw_only=True):
    """How long sessions and journals are kept: once a day `carrel sweep` moves what is older to the trash."""

    session_days: Annotated[
        int | None,
        About(
            "Days after which a session goes that nobody went on with; else never.", least=1, sensitive=True
        ),
    ] = None
    journal_days: Annotated[
        int | None,
        About("Days after which the journal of a day goes; else never.", least=1, sensitive=True),
    ] = None
