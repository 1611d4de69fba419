"""What a search of the store asks of a value, and a listing of a namespace, as LangGraph has it."""

from collections.abc import Callable, Mapping, Sequence
from operator import ge, gt, le, lt
from typing import Any, cast

from langgraph.store.base import MatchCondition

from carrel.adapters.langchain.items import BadItem

_ORDERS: dict[str, Callable[[float, float], bool]] = {"$gt": gt, "$gte": ge, "$lt": lt, "$lte": le}


def matches(value: Mapping[str, Any], asked: Mapping[str, Any] | None) -> bool:
    """Tell whether a value is as a filter asks: every key of it, by equality or by operators."""
    return all(_is_as(value.get(key), each) for key, each in (asked or {}).items())


def is_among(namespace: tuple[str, ...], conditions: Sequence[MatchCondition] | None) -> bool:
    """Tell whether a namespace begins or ends as all conditions say; `*` stands for any one name."""
    return all(_fits(namespace, each) for each in conditions or ())


def _is_as(value: Any, asked: Any) -> bool:
    if isinstance(asked, Mapping):
        given = cast("Mapping[str, Any]", asked)
        if any(key.startswith("$") for key in given):
            return all(_compares(value, operator, each) for operator, each in given.items())
        if not isinstance(value, Mapping):
            return False
        return matches(cast("Mapping[str, Any]", value), given)
    if isinstance(asked, list | tuple):
        given = cast("Sequence[Any]", asked)
        if not isinstance(value, list | tuple) or len(cast("Sequence[Any]", value)) != len(given):
            return False
        return all(map(_is_as, cast("Sequence[Any]", value), given))
    return value == asked


def _compares(value: Any, operator: str, other: Any) -> bool:
    if operator == "$eq":
        return value == other
    if operator == "$ne":
        return value != other
    if operator not in _ORDERS:
        raise BadItem(f"there is no operator {operator[:40]!r}")
    try:
        return _ORDERS[operator](float(value), float(other))
    except (TypeError, ValueError, OverflowError):  # what is no number is neither more nor less
        return False


def _fits(namespace: tuple[str, ...], condition: MatchCondition) -> bool:
    path = tuple(condition.path)
    if len(namespace) < len(path):
        return False
    if condition.match_type not in ("prefix", "suffix"):
        raise BadItem(f"there is no match by {str(condition.match_type)[:40]!r}")
    begin = 0 if condition.match_type == "prefix" else len(namespace) - len(path)
    part = namespace[begin : begin + len(path)]
    return all(wanted in ("*", name) for name, wanted in zip(part, path, strict=True))
