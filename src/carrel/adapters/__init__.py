"""Adapters: Carrel inside the frameworks and harnesses that people already run, each behind an extra."""
