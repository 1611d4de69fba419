"""The nine parts that everything else trusts, the modules they are made of, and the tests that hold them."""

from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

TESTS = Path(__file__).parents[1]
SOURCE = Path((find_spec("carrel") or __spec__).origin or "").parent
"""Of the Carrel that is tried, which may be a copy."""


class Core(NamedTuple):
    """Modules below `carrel`, a folder with all that is in it; tests below `tests`, and which are left out.

    Left out are tests that need a server or much time and run no line which the others do not.
    """

    modules: tuple[str, ...]
    tests: tuple[str, ...]
    without: tuple[str, ...] = ()

    def files(self) -> list[Path]:
        """Return the sources, in their order."""
        found = list[Path]()
        for path in (SOURCE / name for name in self.modules):
            found += sorted(path.rglob("*.py")) if path.is_dir() else [path.with_suffix(".py")]
        return found


CORES = {
    "files": Core(
        modules=(
            "files/__init__",
            "files/local",
            "files/disk",
            "files/durable",
            "files/listing",
            "files/tail",
        ),
        tests=(
            "unit/files/test_disk.py",
            "unit/files/test_local_reading.py",
            "unit/files/test_local_writing.py",
            "unit/files/test_local_links.py",
            "unit/files/test_tail.py",
            "contracts/test_file_store.py",
            "crash/test_failing_disk.py",
            "crash/test_two_writers.py",
        ),
        without=(
            "overlay",
            "tenant",
            "objects",
            "postgres",
            "ephemeral",
            "thousand",
            "real_full",
            "bounded_time",
        ),
    ),
    "paths": Core(
        modules=("files/paths", "files/resolve"),
        tests=(
            "unit/files/test_path_rules.py",
            "unit/files/test_resolve.py",
            "unit/files/test_local_links.py",
            "contracts/test_file_store.py",
        ),
        without=("overlay", "tenant", "objects", "postgres", "ephemeral", "threads", "bounded_time"),
    ),
    "transcript": Core(
        modules=(
            "sessions/log",
            "sessions/stretch",
            "sessions/transcript",
            "sessions/turn",
            "sessions/message",
            "sessions/offsets",
        ),
        tests=(
            "unit/sessions/test_transcript.py",
            "unit/sessions/test_turn.py",
            "unit/sessions/test_log.py",
            "unit/sessions/test_offsets.py",
            "unit/sessions/test_message.py",
            "unit/sessions/test_log_reading.py",
        ),
        without=("is_not_read_to_its_end", "little_memory", "000000", "too_deep", "grows_as"),
    ),
    "notebook": Core(
        modules=("memory/notebook", "markdown/sections", "markdown/structure", "markdown/lines"),
        tests=(
            "unit/memory/test_notebook.py",
            "unit/markdown/test_sections.py",
            "unit/markdown/test_merging.py",
            "unit/markdown/test_outline.py",
        ),
        without=("hostile",),
    ),
    "budget": Core(
        modules=("context/budget", "context/truncate", "context/section"),
        tests=("unit/context/test_budget.py", "unit/context/test_truncate.py"),
    ),
    "scope": Core(modules=("workspace/scope",), tests=("unit/workspace/test_scope.py",)),
    "screen": Core(
        modules=("screen",),
        tests=("unit/screen",),
        without=("test_cost", "test_startup", "too_long", "deeper_than"),
    ),
    "queue": Core(
        modules=(
            "records/queue",
            "records/content",
            "records/rows/queue",
            "records/rows/columns",
            "records/sqlite/queue",
            "records/sqlite/columns",
        ),
        tests=(
            "unit/records/test_queue.py",
            "unit/records/test_damaged_jobs.py",
            "contracts/test_records.py",
            "contracts/test_purge_records.py",
            "unit/records/test_content.py",
        ),
        without=("postgres", "memory", "figure", "threads"),
    ),
    "auth": Core(
        modules=(
            "http/access",
            "http/gate",
            "http/guard",
            "http/token",
            "http/desk",
            "records/keys",
            "records/rows/keys",
            "records/sqlite/keys",
        ),
        tests=(
            "unit/http/test_door.py",
            "unit/http/test_token.py",
            "unit/http/test_desk.py",
            "unit/http/test_access.py",
        ),
        without=("each_endpoint", "nothing_else", "made_up", "looked_for_first", "that_is_gone"),
    ),
}
