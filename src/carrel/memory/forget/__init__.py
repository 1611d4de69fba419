"""Forgetting: what goes, where it goes from, and what is told of the copies that remain."""
