"""Small faults, made in the tree of a module: one comparison, number, branch or statement is another one.

What no test should hold is left alone: types, docstrings, the wording of messages, and texts but those that
are compared.
"""

import ast
from collections.abc import Iterator
from typing import NamedTuple

_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
_OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv, ast.FloorDiv: ast.Mult, ast.Div: ast.Mult,
    ast.Mod: ast.Mult, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.LShift: ast.RShift, ast.RShift: ast.LShift,
}  # fmt: skip
_NAMES = {"min": "max", "max": "min", "any": "all", "all": "any"}
_COMPARING = frozenset(
    ("startswith", "endswith", "partition", "rpartition", "split", "rsplit", "find", "rfind", "removeprefix")
)
_UNTOUCHED = frozenset(("annotation", "returns", "decorator_list", "bases", "type_params"))
_ORDERED = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)


class Change(NamedTuple):
    """A place in a tree, what is put there instead, and how that reads."""

    owner: ast.AST
    field: str
    at: int | None
    new: ast.AST
    line: int
    says: str

    def make(self) -> None:
        """Change the tree."""
        if self.at is None:
            setattr(self.owner, self.field, self.new)
        else:
            getattr(self.owner, self.field)[self.at] = self.new


def changes(tree: ast.AST) -> list[Change]:
    """Return every small fault that this tree could have, in their order."""
    return list(_below(tree, 0))


def _below(owner: ast.AST, line: int) -> Iterator[Change]:
    """Yield the faults of what a node holds; `line` is where the statement begins that all this belongs to."""
    for field, value in ast.iter_fields(owner):
        if field in _UNTOUCHED or _is_wording(owner):
            continue
        for at, node in enumerate(value) if isinstance(value, list) else ((None, value),):
            if isinstance(node, ast.AST) and not _is_left_alone(node):
                begins = node.lineno if isinstance(node, ast.stmt) else line
                for new, says in _instead(node, owner, field):
                    yield Change(owner, field, at, ast.copy_location(new, node), begins, says)
                yield from _below(node, begins)


def _is_wording(owner: ast.AST) -> bool:
    """Tell whether what is below only says something: a message, the making of an error."""
    return isinstance(owner, ast.JoinedStr | ast.Raise)


def _is_left_alone(node: ast.AST) -> bool:
    if isinstance(node, ast.Expr):
        return not isinstance(node.value, ast.Call | ast.Yield | ast.YieldFrom | ast.Await) or _is_super(
            node.value
        )
    if isinstance(node, ast.Assign):
        return isinstance(node.value, ast.Subscript) and isinstance(node.value.slice, ast.List | ast.Tuple)
    if isinstance(node, ast.keyword):
        return node.arg in ("strict", "hint", "detail", "frozen", "kw_only")
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"


def _is_super(node: ast.AST) -> bool:
    return ast.unparse(node).startswith("super().__init__(")


def _instead(node: ast.AST, owner: ast.AST, field: str) -> Iterator[tuple[ast.AST, str]]:
    """Yield what could stand in the place of a node."""
    if field == "test" or (field == "ifs" and isinstance(owner, ast.comprehension)):
        yield from _test(node)
    match node:
        case ast.cmpop() if type(node) in _COMPARISONS:
            new = _COMPARISONS[type(node)]()
            yield new, f"{_word(node)} is {_word(new)}"
        case ast.operator() if type(node) in _OPERATORS and not _joins_texts(owner):
            new = _OPERATORS[type(node)]()
            yield new, f"{_word(node)} is {_word(new)}"
        case ast.boolop():
            yield (ast.Or() if isinstance(node, ast.And) else ast.And()), "and is or, or or is and"
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield operand, f"no `not` before {_short(operand)}"
        case ast.Constant():
            yield from _constant(node, owner)
        case ast.Name(id=name) if name in _NAMES and isinstance(owner, ast.Call) and field == "func":
            yield ast.Name(_NAMES[name], ast.Load()), f"{name} is {_NAMES[name]}"
        case ast.stmt():
            yield from _statement(node)


def _test(node: ast.AST) -> Iterator[tuple[ast.AST, str]]:
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and not isinstance(node.ops[0], _ORDERED):
        return  # which is turned round where it stands
    if isinstance(node, ast.expr) and not isinstance(node, ast.Constant | ast.UnaryOp):
        yield ast.UnaryOp(ast.Not(), node), f"not {_short(node)}"


def _constant(node: ast.Constant, owner: ast.AST) -> Iterator[tuple[ast.AST, str]]:
    value = node.value
    if isinstance(value, bool):
        yield ast.Constant(not value), f"{value} is {not value}"
    elif isinstance(value, int | float):
        yield ast.Constant(value + 1), f"{value} is {value + 1}"
    elif isinstance(value, str | bytes) and _is_compared(owner):
        other: str | bytes = f"{value}~" if isinstance(value, str) else value + b"~"
        yield ast.Constant(other), f"{value!r} is {other!r}"


def _is_compared(owner: ast.AST) -> bool:
    if isinstance(owner, ast.Call) and isinstance(owner.func, ast.Attribute):
        return owner.func.attr in _COMPARING
    return isinstance(owner, ast.Compare)


def _statement(node: ast.stmt) -> Iterator[tuple[ast.AST, str]]:
    match node:
        case ast.Return(value=ast.expr() as value) if not (
            isinstance(value, ast.Constant) and not value.value
        ):
            yield ast.Return(ast.Constant(None)), f"None is returned, not {_short(value)}"
        case ast.Expr() | ast.Raise() | ast.Break() | ast.Continue() | ast.Delete():
            yield ast.Pass(), f"no {_short(node)}"
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]) | ast.AugAssign():
            yield ast.Pass(), f"no {_short(node)}"


def _joins_texts(owner: ast.AST) -> bool:
    """Tell whether an operator joins texts or types, so that another one would never run."""
    sides = [getattr(owner, side) for side in ("left", "right", "value") if hasattr(owner, side)]
    if any(isinstance(side, ast.JoinedStr) for side in sides):
        return True
    return any(isinstance(side, ast.Constant) and not isinstance(side.value, int | float) for side in sides)


def _word(node: ast.AST) -> str:
    return type(node).__name__


def _short(node: ast.AST) -> str:
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= 60 else f"{text[:60]}…"
