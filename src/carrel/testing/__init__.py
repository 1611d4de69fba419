"""Fakes that ship: stores without a disk, clocks that stand still, disks that fail, models with a script.

An index that looks at every chunk, and an embedder without weights, serve tests of what searches.
"""

from carrel.clock import FixedClock
from carrel.files.ephemeral import EphemeralFiles
from carrel.testing.disks import FaultyDisk, VolatileDisk
from carrel.testing.indexes import HashingEmbedder, PlainIndex
from carrel.testing.models import SILENCE, ScriptedModel

__all__ = [
    "SILENCE",
    "EphemeralFiles",
    "FaultyDisk",
    "FixedClock",
    "HashingEmbedder",
    "PlainIndex",
    "ScriptedModel",
    "VolatileDisk",
]
