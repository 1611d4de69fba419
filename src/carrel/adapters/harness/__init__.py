"""Coding agents that run hooks: what they are told, what is recorded of them, and how they are set up."""
