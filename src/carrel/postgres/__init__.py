"""One PostgreSQL for many tenants: connections, transactions behind the tenants' wall, and the schema.

Needs the extra `postgres`; only what serves an address in a database may import it.
"""

from carrel.postgres.database import Postgres as Postgres
from carrel.postgres.failures import PostgresNotReady as PostgresNotReady
from carrel.postgres.failures import PostgresUnavailable as PostgresUnavailable
from carrel.postgres.tenant import Tenant as Tenant
