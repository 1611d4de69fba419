"""Carrel over HTTP: the same functions behind addresses, for whoever holds a key."""
