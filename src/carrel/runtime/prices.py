"""What known models cost: US dollars per million tokens, as their makers published them in early 2026.

A model that is not here has no price, and whoever adds up says so: a wrong price would be worse than none.
What is left out makes a sum somewhat too low: surcharges for writing to a cache, and for very long contexts.
"""

from msgspec import Struct

from carrel.runtime.model import Spend

_MILLION = 1_000_000


class Price(Struct, frozen=True):
    """The price of a million tokens that are read, read from a cache, or written."""

    input: float
    cached: float
    output: float


FREE = Price(0.0, 0.0, 0.0)

_PRICES = {
    "offline": FREE,
    "gpt-3.5-turbo": Price(0.5, 0.5, 1.5),
    "gpt-4": Price(30.0, 30.0, 60.0),
    "gpt-4-turbo": Price(10.0, 10.0, 30.0),
    "gpt-4o": Price(2.5, 1.25, 10.0),
    "gpt-4o-mini": Price(0.15, 0.075, 0.6),
    "gpt-4.1": Price(2.0, 0.5, 8.0),
    "gpt-4.1-mini": Price(0.4, 0.1, 1.6),
    "gpt-4.1-nano": Price(0.1, 0.025, 0.4),
    "gpt-5": Price(1.25, 0.125, 10.0),
    "gpt-5-mini": Price(0.25, 0.025, 2.0),
    "gpt-5-nano": Price(0.05, 0.005, 0.4),
    "gpt-5-pro": Price(15.0, 15.0, 120.0),
    "gpt-5.1": Price(1.25, 0.125, 10.0),
    "gpt-5.1-codex-mini": Price(0.25, 0.025, 2.0),
    "gpt-5.2": Price(1.75, 0.175, 14.0),
    "gpt-5.2-pro": Price(21.0, 21.0, 168.0),
    "gpt-5.4": Price(2.5, 0.25, 15.0),
    "gpt-5.4-mini": Price(0.75, 0.075, 4.5),
    "gpt-5.4-nano": Price(0.2, 0.02, 1.25),
    "gpt-5.4-pro": Price(30.0, 30.0, 180.0),
    "o1": Price(15.0, 7.5, 60.0),
    "o1-mini": Price(1.1, 0.55, 4.4),
    "o1-pro": Price(150.0, 150.0, 600.0),
    "o3": Price(2.0, 0.5, 8.0),
    "o3-mini": Price(1.1, 0.55, 4.4),
    "o3-pro": Price(20.0, 20.0, 80.0),
    "o4-mini": Price(1.1, 0.275, 4.4),
    "claude-3-haiku": Price(0.25, 0.03, 1.25),
    "claude-3-opus": Price(15.0, 1.5, 75.0),
    "claude-3-5-haiku": Price(0.8, 0.08, 4.0),
    "claude-3-5-sonnet": Price(3.0, 0.3, 15.0),
    "claude-3-7-sonnet": Price(3.0, 0.3, 15.0),
    "claude-sonnet-4": Price(3.0, 0.3, 15.0),
    "claude-haiku-4-5": Price(1.0, 0.1, 5.0),
    "claude-opus-4": Price(15.0, 1.5, 75.0),
    "claude-opus-4-5": Price(5.0, 0.5, 25.0),
    "claude-opus-4-6": Price(5.0, 0.5, 25.0),
    "claude-opus-4-7": Price(5.0, 0.5, 25.0),
    "gemini-2.0-flash": Price(0.1, 0.025, 0.4),
    "gemini-2.5-pro": Price(1.25, 0.125, 10.0),
    "gemini-2.5-flash": Price(0.3, 0.03, 2.5),
    "gemini-2.5-flash-lite": Price(0.1, 0.01, 0.4),
    "gemini-3-pro": Price(2.0, 0.2, 12.0),
    "gemini-3-flash": Price(0.5, 0.05, 3.0),
    "grok-3": Price(3.0, 0.75, 15.0),
    "grok-3-mini": Price(0.3, 0.075, 0.5),
    "grok-4": Price(3.0, 0.75, 15.0),
    "grok-4-fast": Price(0.2, 0.05, 0.5),
    "deepseek-chat": Price(0.28, 0.028, 0.42),
    "deepseek-reasoner": Price(0.28, 0.028, 0.42),
    "kimi-k2": Price(0.6, 0.15, 2.5),
}

# What may follow a model's name that is still the same one; `-pro` or `-audio` is another, at another price.
_SAME = frozenset(("latest", "preview", "exp", "chat", "codex", "instruct", "thinking", "non", "reasoning"))

_OWN_SERVERS = frozenset(("ollama", "vllm", "lmstudio", "litellm"))
"""What stands before a model on a server of one's own, where its maker's price says nothing."""


def price_of(model: str) -> Price | None:
    """Return the price of a model by the longest beginning of its name that is known, none where none is.

    A name may have a provider before it and a tag behind it, as in `tokens.describe_model`.
    """
    pieces = model.lower().replace(":", "/").split("/")
    if not _OWN_SERVERS.isdisjoint(pieces):
        return None
    for piece in reversed(pieces):
        name = piece.replace(".", "-") if piece.startswith("claude") else piece
        matches = [known for known in _PRICES if _is_same(known, name)]
        if matches:
            return _PRICES[max(matches, key=len)]
    return None


def cost_of(model: str, spend: Spend) -> float | None:
    """Return what a call cost in dollars, none where the price of the model is not known."""
    price = price_of(model)
    if price is None:
        return None
    read, written = max(0, spend.input), max(0, spend.output)
    cached = min(max(0, spend.cached), read)
    return ((read - cached) * price.input + cached * price.cached + written * price.output) / _MILLION


def _is_same(known: str, name: str) -> bool:
    """Tell whether a name is a known one, with at most a date, a version or the like behind it."""
    if not name.startswith(known) or name[len(known) : len(known) + 1] not in ("", "-", "@"):
        return False
    behind = name[len(known) :].replace("@", "-").split("-")
    return all(word in _SAME or word.removeprefix("v").isdigit() for word in behind if word)
