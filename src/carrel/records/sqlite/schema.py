"""The tables, as the steps that lead to them: each takes a file from one format to the next.

Steps are only added. A column of type ANY holds text, and bytes where the text is not Unicode; moments
are microseconds since 1970.
"""

_FORMAT_1 = """
    CREATE TABLE facts_of_workspace (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
    CREATE TABLE assemblies (
        agent TEXT NOT NULL, session TEXT NOT NULL, payload TEXT NOT NULL,
        PRIMARY KEY (agent, session)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE frozen (
        agent TEXT NOT NULL, session TEXT NOT NULL, scope TEXT NOT NULL, payload TEXT NOT NULL,
        PRIMARY KEY (agent, session)
    ) STRICT, WITHOUT ROWID;
    """

# A job is due from the moment in `due`: its time has come, or its lease is over. Null once it is over itself.
_FORMAT_2 = """
    CREATE TABLE jobs (
        id INTEGER PRIMARY KEY AUTOINCREMENT, kind ANY NOT NULL, key ANY NOT NULL, payload TEXT NOT NULL,
        state TEXT NOT NULL, attempts INTEGER NOT NULL, not_before INTEGER NOT NULL, error ANY NOT NULL,
        result TEXT NOT NULL, claim INTEGER NOT NULL, worker ANY NOT NULL, due INTEGER,
        UNIQUE (kind, key)
    ) STRICT;
    CREATE INDEX jobs_open ON jobs (id, due, kind) WHERE due IS NOT NULL;
    CREATE INDEX jobs_by_state ON jobs (state);

    CREATE TABLE usage (
        id INTEGER PRIMARY KEY, agent ANY NOT NULL, session ANY NOT NULL, turn ANY NOT NULL,
        model ANY NOT NULL, at INTEGER NOT NULL, input INTEGER NOT NULL, cached INTEGER NOT NULL,
        output INTEGER NOT NULL, cost REAL, purpose TEXT NOT NULL,
        UNIQUE (agent, session, turn)
    ) STRICT;
    CREATE INDEX usage_by_session ON usage (agent, session);
    CREATE INDEX usage_by_time ON usage (at);

    CREATE TABLE audit (
        id INTEGER PRIMARY KEY, at INTEGER NOT NULL, actor ANY NOT NULL, action ANY NOT NULL,
        target ANY NOT NULL, session ANY NOT NULL, detail TEXT NOT NULL
    ) STRICT;
    CREATE INDEX audit_by_action ON audit (action);
    CREATE INDEX audit_by_target ON audit (target);
    CREATE TRIGGER audit_is_not_changed BEFORE UPDATE ON audit
        BEGIN SELECT RAISE(ABORT, 'the audit is only added to'); END;
    CREATE TRIGGER audit_is_not_removed BEFORE DELETE ON audit
        BEGIN SELECT RAISE(ABORT, 'the audit is only added to'); END;

    CREATE TABLE recalls (
        id INTEGER PRIMARY KEY, agent ANY NOT NULL, session ANY NOT NULL, at INTEGER NOT NULL,
        query ANY NOT NULL, path ANY NOT NULL, line INTEGER NOT NULL, tier ANY NOT NULL,
        rank INTEGER NOT NULL, score REAL NOT NULL, text ANY NOT NULL, who TEXT NOT NULL
    ) STRICT;
    CREATE INDEX recalls_by_time ON recalls (agent, at);
    """

_FORMAT_3 = "ALTER TABLE usage ADD COLUMN counted INTEGER NOT NULL DEFAULT 0;"

MIGRATIONS = (_FORMAT_1, _FORMAT_2, _FORMAT_3)
