"""All rows, in the order of the table."""

from collections.abc import Sequence

from tests.torture.assembly import ASSEMBLY
from tests.torture.calls import CALLS
from tests.torture.corruption import CORRUPTION
from tests.torture.field import FIELD
from tests.torture.kills import KILLS
from tests.torture.malice import MALICE
from tests.torture.mutants import MUTANTS
from tests.torture.paths import PATHS
from tests.torture.poison import POISON
from tests.torture.power import POWER
from tests.torture.privacy import PRIVACY
from tests.torture.rows import Row
from tests.torture.secrets import SECRETS
from tests.torture.soak import SOAK
from tests.torture.writers import WRITERS

ROWS: Sequence[Row] = (
    KILLS,
    CALLS,
    POWER,
    WRITERS,
    CORRUPTION,
    ASSEMBLY,
    PATHS,
    MALICE,
    PRIVACY,
    POISON,
    SECRETS,
    SOAK,
    FIELD,
    MUTANTS,
)
