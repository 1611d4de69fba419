"""The tables of the catalog."""

MIGRATIONS = (
    """
    CREATE TABLE state (
        one INTEGER PRIMARY KEY CHECK (one = 1), format INTEGER NOT NULL, generation INTEGER NOT NULL,
        words TEXT NOT NULL, vectors TEXT NOT NULL, embedder TEXT NOT NULL
    ) STRICT;
    CREATE TABLE places (
        id INTEGER PRIMARY KEY AUTOINCREMENT, path BLOB NOT NULL UNIQUE, stamp TEXT NOT NULL,
        digest BLOB NOT NULL, tier TEXT NOT NULL, agent TEXT NOT NULL, session TEXT NOT NULL,
        turns INTEGER NOT NULL, begin TEXT NOT NULL
    ) STRICT;
    CREATE TABLE chunks (
        id INTEGER PRIMARY KEY AUTOINCREMENT, place INTEGER NOT NULL, seq INTEGER NOT NULL,
        digest BLOB NOT NULL, line INTEGER NOT NULL, end_line INTEGER NOT NULL, text TEXT NOT NULL,
        headings TEXT NOT NULL, private INTEGER NOT NULL, date TEXT NOT NULL, speaker TEXT NOT NULL,
        message_id TEXT NOT NULL, tags TEXT NOT NULL
    ) STRICT;
    CREATE INDEX chunks_in_order ON chunks (place, seq);
    CREATE INDEX chunks_by_speaker ON chunks (speaker, private) WHERE speaker != '';
    CREATE TABLE words_due (id INTEGER PRIMARY KEY) STRICT;
    CREATE TABLE vectors_due (id INTEGER PRIMARY KEY) STRICT;
    """,
    """
    ALTER TABLE places ADD COLUMN lack TEXT NOT NULL DEFAULT '';
    CREATE INDEX places_lacking ON places (lack, path) WHERE lack != '';
    """,
    "CREATE INDEX chunks_standing ON chunks (id, place, seq, speaker);",  # without their texts
)
