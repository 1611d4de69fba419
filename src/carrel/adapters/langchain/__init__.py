"""LangChain and LangGraph over a workspace: middleware for agents, and a store for graphs."""

from carrel.adapters.langchain.middleware import WorkspaceMiddleware
from carrel.adapters.langchain.store import WorkspaceStore

__all__ = ["WorkspaceMiddleware", "WorkspaceStore"]
