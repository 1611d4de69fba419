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

# A side of a splice is compressed exactly where its column is shorter than its size says. The numbers of
# changes are not used again: one that came to nothing is removed, and a fact may still name it.
_FORMAT_4 = """
    CREATE TABLE facts (
        number INTEGER PRIMARY KEY, id ANY NOT NULL UNIQUE, agent ANY NOT NULL, layer TEXT NOT NULL,
        kind ANY NOT NULL, text ANY NOT NULL, key ANY NOT NULL, at INTEGER NOT NULL, session ANY NOT NULL,
        evidence TEXT NOT NULL, trust TEXT NOT NULL, subject ANY NOT NULL, valid_from ANY NOT NULL,
        valid_until ANY NOT NULL, state TEXT NOT NULL, reason ANY NOT NULL, store TEXT NOT NULL,
        path ANY NOT NULL, section ANY NOT NULL, line ANY NOT NULL, superseded_by ANY NOT NULL,
        replaces ANY NOT NULL, seen INTEGER NOT NULL, pinned INTEGER NOT NULL, change INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX facts_by_key ON facts (key);
    CREATE INDEX facts_by_subject ON facts (subject);
    CREATE INDEX facts_by_session ON facts (session);
    CREATE INDEX facts_by_path ON facts (path);
    CREATE INDEX facts_by_line ON facts (line);
    CREATE INDEX facts_by_change ON facts (change);
    CREATE INDEX facts_by_state ON facts (state);
    CREATE INDEX facts_by_agent ON facts (agent);
    CREATE INDEX facts_by_agent_and_state ON facts (agent, state);
    CREATE TABLE cursors (
        agent ANY NOT NULL, session ANY NOT NULL, entry INTEGER NOT NULL, PRIMARY KEY (agent, session)
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE changes (
        id INTEGER PRIMARY KEY AUTOINCREMENT, at INTEGER NOT NULL, actor ANY NOT NULL, action ANY NOT NULL,
        store TEXT NOT NULL, path ANY NOT NULL, before ANY, after ANY, start INTEGER NOT NULL,
        old BLOB NOT NULL, old_size INTEGER NOT NULL, new BLOB NOT NULL, new_size INTEGER NOT NULL,
        agent ANY NOT NULL, session ANY NOT NULL, reason ANY NOT NULL, state TEXT NOT NULL,
        undoes INTEGER NOT NULL, revision ANY NOT NULL
    ) STRICT;
    CREATE INDEX changes_by_path ON changes (path);
    CREATE INDEX changes_by_state ON changes (state);
    CREATE INDEX changes_uncommitted ON changes (id) WHERE revision = '';

    CREATE TABLE proposals (
        id INTEGER PRIMARY KEY AUTOINCREMENT, key ANY NOT NULL UNIQUE, at INTEGER NOT NULL,
        agent ANY NOT NULL, actor ANY NOT NULL, action TEXT NOT NULL, why ANY NOT NULL, reason ANY NOT NULL,
        store TEXT NOT NULL, path ANY NOT NULL, section ANY NOT NULL, old ANY NOT NULL, new ANY NOT NULL,
        trust TEXT NOT NULL, session ANY NOT NULL, evidence TEXT NOT NULL, facts TEXT NOT NULL,
        state TEXT NOT NULL, decided_at INTEGER, decided_by ANY NOT NULL
    ) STRICT;
    CREATE INDEX proposals_by_state ON proposals (state);
    CREATE INDEX proposals_by_agent ON proposals (agent);
    """

# A text is recalled, and a query repeated, many times: each is kept once, and told apart by its number.
_FORMAT_5 = """
    CREATE TABLE queries (id INTEGER PRIMARY KEY, text ANY NOT NULL UNIQUE) STRICT;
    CREATE TABLE recalled (
        id INTEGER PRIMARY KEY, agent ANY NOT NULL, path ANY NOT NULL, line INTEGER NOT NULL,
        tier ANY NOT NULL, text ANY NOT NULL
    ) STRICT;
    INSERT INTO queries (text) SELECT DISTINCT query FROM recalls;
    INSERT INTO recalled (agent, path, line, tier, text)
        SELECT DISTINCT agent, path, line, tier, text FROM recalls;
    ALTER TABLE recalls RENAME TO recalls_of_format_2;
    DROP INDEX recalls_by_time;
    CREATE TABLE recalls (
        id INTEGER PRIMARY KEY, agent ANY NOT NULL, session ANY NOT NULL, at INTEGER NOT NULL,
        query INTEGER NOT NULL, recalled INTEGER NOT NULL, rank INTEGER NOT NULL, score REAL NOT NULL,
        who TEXT NOT NULL
    ) STRICT;
    INSERT INTO recalls SELECT old.id, old.agent, session, at, queries.id, recalled.id, rank, score, who
        FROM recalls_of_format_2 AS old JOIN queries ON queries.text = old.query JOIN recalled
        USING (agent, path, line, tier, text);
    DROP TABLE recalls_of_format_2;
    CREATE INDEX recalls_by_time ON recalls (agent, at);
    CREATE INDEX recalled_by_place ON recalled (path, line);

    CREATE TABLE dreams (
        id INTEGER PRIMARY KEY AUTOINCREMENT, agent ANY NOT NULL, at INTEGER NOT NULL, path ANY NOT NULL,
        diary ANY NOT NULL, heading ANY NOT NULL, counts TEXT NOT NULL, reason ANY NOT NULL,
        existed INTEGER NOT NULL, mark INTEGER NOT NULL, changes TEXT NOT NULL, problem ANY NOT NULL,
        state TEXT NOT NULL, ended INTEGER
    ) STRICT;
    CREATE INDEX dreams_by_agent ON dreams (agent);
    CREATE TABLE promotions (
        dream INTEGER NOT NULL, place INTEGER NOT NULL, agent ANY NOT NULL, key ANY NOT NULL,
        text ANY NOT NULL, score REAL NOT NULL, hits INTEGER NOT NULL, days INTEGER NOT NULL,
        trust TEXT NOT NULL, kind ANY NOT NULL, subject ANY NOT NULL, session ANY NOT NULL,
        evidence TEXT NOT NULL, source ANY NOT NULL, state TEXT NOT NULL, PRIMARY KEY (dream, place)
    ) STRICT, WITHOUT ROWID;
    CREATE UNIQUE INDEX promotions_once ON promotions (agent, key) WHERE state IN ('planned', 'promoted');
    """

# What a key may do is its reach: `right` is a word of SQL.
_FORMAT_6 = """
    CREATE TABLE keys (
        id TEXT PRIMARY KEY, name ANY NOT NULL, digest TEXT NOT NULL, reach TEXT NOT NULL,
        scope TEXT NOT NULL, created INTEGER NOT NULL, expires INTEGER, revoked INTEGER
    ) STRICT, WITHOUT ROWID;
    """

_FORMAT_7 = """
    ALTER TABLE changes ADD COLUMN line INTEGER NOT NULL DEFAULT 0;
    """

MIGRATIONS = (_FORMAT_1, _FORMAT_2, _FORMAT_3, _FORMAT_4, _FORMAT_5, _FORMAT_6, _FORMAT_7)
