"""LangChain and LangGraph over a workspace: middleware for agents, and a store for graphs."""

from carrel.adapters.langchain.middleware import CarrelMiddleware
from carrel.adapters.langchain.store import CarrelStore

__all__ = ["CarrelMiddleware", "CarrelStore"]
