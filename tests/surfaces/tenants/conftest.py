"""One street for all tests of this folder: it takes seconds to move in."""

from collections.abc import Iterator, Mapping

import pytest
from tests.stubs.postgres import Server
from tests.surfaces.tenants.places import Known
from tests.surfaces.tenants.questions import plain
from tests.surfaces.tenants.street import Street, street


@pytest.fixture(scope="session")
def settled(postgres_server: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Street]:
    home = tmp_path_factory.mktemp("street") / "home"
    with street(postgres_server.database(), home, plain) as made:
        yield made


@pytest.fixture
def tenants(settled: Street) -> Iterator[Street]:
    """The street as it was when all had moved in, and is again afterwards."""
    with settled.open():
        yield settled
        settled.found()
        settled.restore()


@pytest.fixture
def known(tenants: Street) -> Mapping[str, Known]:
    """What each has by names that nobody chose."""
    return tenants.known
