"""Backups: a workspace as it is at one moment in one file, and back again."""

from carrel.backing.creating import Created, check, create
from carrel.backing.restoring import Restored, fill, restore

__all__ = ["Created", "Restored", "check", "create", "fill", "restore"]
