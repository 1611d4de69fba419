"""Dreaming: what was recalled often, lately, for different reasons and over days is promoted to MEMORY.md."""
