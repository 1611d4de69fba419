"""Fixtures for tests of what is built on Carrel: pytest finds them where Carrel is installed.

    def test_the_agent_knows_its_user(workspace, assert_context):
        workspace.put("USER.md", b"Luis, in Bogota.")
        assert_context(workspace, holds="Luis, in Bogota.")
        assert_context(workspace, scope="shared", lacks="Luis")

Nothing of Carrel is loaded before a test asks for one of them.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:  # a test run that uses none of these pays for nothing
    from carrel.app import Workspace
    from carrel.clock import FixedClock
    from carrel.runtime.model import Model
    from carrel.testing.assertions import AssertContext, AssertNoLeak


@pytest.fixture
def frozen_clock() -> "FixedClock":
    """A clock that stands still, and the one that `workspace` goes by; override it for another moment."""
    from datetime import UTC, datetime  # noqa: PLC0415

    from carrel.clock import FixedClock  # noqa: PLC0415

    return FixedClock(datetime(2026, 1, 5, 12, tzinfo=UTC))


@pytest.fixture
def workspace(tmp_path: Path, frozen_clock: "FixedClock") -> "Iterator[Workspace]":
    """A new workspace in a folder of the test's own, trusted; nothing of the user's own settings is read."""
    from carrel.app import Workspace  # noqa: PLC0415

    environ = {"CARREL_HOME": str(tmp_path / "home"), "CARREL_NOW": frozen_clock.moment.isoformat()}
    root = tmp_path / "workspace"
    Workspace.init(root, layout="carrel", environ=environ)
    with Workspace.open(root, environ=environ) as opened:
        yield opened


@pytest.fixture
def offline_model() -> "Model":
    """The model that needs no network: it answers by quoting what it was given."""
    from carrel.runtime.offline import OfflineModel  # noqa: PLC0415

    return OfflineModel()


@pytest.fixture
def assert_context() -> "AssertContext":
    """Check what a model would read: `assert_context(workspace, holds="…", lacks="…", scope="shared")`."""
    from carrel.testing.assertions import assert_context  # noqa: PLC0415

    return assert_context


@pytest.fixture
def assert_no_leak() -> "AssertNoLeak":
    """Check that others can reach a text by no way: `assert_no_leak(workspace, "the private words")`."""
    from carrel.testing.assertions import assert_no_leak  # noqa: PLC0415

    return assert_no_leak
