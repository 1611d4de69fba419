"""Carrel: the workspace and memory layer for LLM agents.

    from carrel import Workspace

    with Workspace.open("my-agent") as workspace:
        assembly = workspace.assemble(session="s1", query="Where were we?")

Names are imported when first used, so that `import carrel` costs next to nothing.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from carrel.app import Workspace as Workspace
    from carrel.context.assemble import Assembly as Assembly
    from carrel.context.budget import Budget as Budget
    from carrel.errors import CarrelError as CarrelError
    from carrel.findings import Finding as Finding
    from carrel.workspace.scope import Scope as Scope

__version__ = "0.1.0"
__all__ = ["Assembly", "Budget", "CarrelError", "Finding", "Scope", "Workspace", "__version__"]

_HOMES = {
    "Assembly": "carrel.context.assemble",
    "Budget": "carrel.context.budget",
    "CarrelError": "carrel.errors",
    "Finding": "carrel.findings",
    "Scope": "carrel.workspace.scope",
    "Workspace": "carrel.app",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'carrel' has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415 - the point of this function

    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
