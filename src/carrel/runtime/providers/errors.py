"""What can be wrong with a provider's model: before it is asked, and while it answers.

No message holds a key. What a provider says of a failure is quoted only where it helps, and screened first.
"""

from carrel.errors import Unavailable, UsageError
from carrel.files import show

LONGEST = 80


def short(name: str) -> str:
    """Return a name as a person may safely see it."""
    return show(name[:LONGEST]) + "…" * (len(name) > LONGEST)


class UnknownModel(UsageError):
    """No model that Carrel can speak with has this name."""

    code = "unknown_model"

    def __init__(self, name: str, *, hint: str = "") -> None:
        super().__init__(
            f"There is no model '{short(name)}' to speak with.",
            hint=hint
            or "Write provider:model, such as openai:gpt-4o or anthropic:claude-opus-4-5, or offline, "
            "which needs no network. For a server of your own give its base URL too.",
        )


class PackageMissing(Unavailable):
    """A provider's client is not installed."""

    code = "package_missing"

    def __init__(self, name: str, package: str, *, install: str) -> None:
        super().__init__(
            f"The model '{short(name)}' needs the package {package}, which is not installed.",
            hint=f"Install it: pip install '{install}'",
        )
        self.package = package


class KeyMissing(UsageError):
    """The variable that should hold a provider's key is not set, or holds no key."""

    code = "key_missing"

    def __init__(self, name: str, variable: str, *, problem: str = "is not set") -> None:
        is_key = variable.upper().endswith(("KEY", "TOKEN"))
        super().__init__(
            f"The model '{short(name)}' needs the variable {short(variable)}, which {problem}.",
            hint=f"Set {short(variable)}{' to your key' if is_key else ''} and try again.",
        )
        self.variable = variable


class BadEndpoint(UsageError):
    """A base URL is not one; it is not shown, since it may hold a password."""

    code = "bad_endpoint"

    def __init__(self, problem: str) -> None:
        super().__init__(
            f"The base URL {problem}.",
            hint="Write one such as http://localhost:11434/v1; a key belongs into a variable, not here.",
        )


class KeyRefused(Unavailable):
    """The provider does not accept the key, or does not let it use the model."""

    code = "key_refused"

    def __init__(self, model: str, variable: str) -> None:
        super().__init__(
            f"The provider of {model} did not accept the key{f' in {short(variable)}' if variable else ''}.",
            hint=f"Check {short(variable)}: it may be mistyped, expired, or without access to this model."
            if variable
            else "This server asks for a key: name the variable that holds it.",
        )
        self.variable = variable


class ModelNotFound(UsageError):
    """The provider has no model of this name."""

    code = "model_not_found"

    def __init__(self, model: str, *, like: str = "") -> None:
        super().__init__(
            f"The provider does not know the model {model}.",
            hint=f"Did you mean {short(like)}?"
            if like
            else "Check its name with the provider; where a base URL is set, check that too.",
        )


class RequestRefused(UsageError):
    """The provider does not take the request as it is; the same request will not be taken later."""

    code = "request_refused"

    def __init__(self, model: str, words: str) -> None:
        super().__init__(
            f"The provider of {model} refused the request{f': {words}' if words else '.'}",
            hint="Another model may take it; the session is as it was.",
        )


class QuotaExceeded(Unavailable):
    """The account has no credit left; waiting does not help."""

    code = "quota_exceeded"

    def __init__(self, model: str) -> None:
        super().__init__(
            f"The account for {model} has used up its quota or credit.",
            hint="Look at the provider's billing page, or use another model.",
        )


class RateLimited(Unavailable):
    """The provider asked to wait, again and again, or for longer than may be waited."""

    code = "rate_limited"

    def __init__(self, model: str, *, attempts: int, after: float | None = None) -> None:
        super().__init__(
            f"The provider of {model} takes no more requests for now ({_tried(attempts)}).",
            hint="Ask again later." if after is None else f"Ask again in {after:,.0f} seconds.",
        )
        self.after = after


class ProviderDown(Unavailable):
    """The provider failed or could not be reached."""

    code = "provider_down"

    def __init__(self, model: str, problem: str, *, attempts: int, status: int | None = None) -> None:
        told = "" if status is None else f"status {status}, "
        super().__init__(
            f"The provider of {model} {problem} ({told}{_tried(attempts)}).",
            hint="Ask again later, or another model; the session is as it was.",
        )


class ProviderTimeout(Unavailable):
    """The provider did not answer in time."""

    code = "provider_timeout"

    def __init__(self, model: str, *, attempts: int) -> None:
        super().__init__(
            f"The provider of {model} did not answer in time ({_tried(attempts)}).",
            hint="Ask again; a longer silence can be allowed where the model is opened.",
        )


class ReplyGarbled(Unavailable):
    """The provider sent what is no answer; what had arrived before is kept."""

    code = "reply_garbled"

    def __init__(self, model: str, how: str) -> None:
        super().__init__(
            f"The provider of {model} sent {how}.",
            hint="Ask again; if it happens each time, the server does not speak this provider's protocol.",
        )


class ReplyBrokenOff(Unavailable):
    """The connection ended in the middle of an answer; what had arrived is kept."""

    code = "reply_broken_off"

    def __init__(self, model: str) -> None:
        super().__init__(
            f"The answer of {model} broke off.",
            hint="Ask again, or ask to go on; what had arrived is in the session.",
        )


def _tried(attempts: int) -> str:
    return "tried once" if attempts == 1 else f"tried {attempts} times"
