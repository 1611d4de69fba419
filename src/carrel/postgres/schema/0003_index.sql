-- The index of each workspace: derived, and made anew at any time. Numbers count per workspace. What texts say
-- is kept as bytes, for a text of PostgreSQL holds no NUL.
CREATE EXTENSION IF NOT EXISTS vector;

-- Held by whoever writes. `generation` tells readers of a change, `taken` tells writers of one by another.
CREATE TABLE carrel.index_state (
    tenant text COLLATE "C" NOT NULL,
    workspace text COLLATE "C" NOT NULL,
    format integer NOT NULL,
    generation bigint NOT NULL DEFAULT 0,
    taken bigint NOT NULL DEFAULT 0,
    last_id bigint NOT NULL DEFAULT 0,
    last_segment bigint NOT NULL DEFAULT 0,
    chunks bigint NOT NULL DEFAULT 0,
    vectors bigint NOT NULL DEFAULT 0,
    embedder bytea NOT NULL DEFAULT '',
    dimensions integer NOT NULL DEFAULT 0,
    is_graphed boolean NOT NULL DEFAULT false,
    PRIMARY KEY (tenant, workspace)
);
CALL carrel.wall('carrel.index_state', 'SELECT, INSERT, UPDATE, DELETE');

-- `key` is a digest of the path, which may be longer than an index takes.
CREATE TABLE carrel.index_places (
    tenant text COLLATE "C" NOT NULL,
    workspace text COLLATE "C" NOT NULL,
    id bigint NOT NULL,
    key bytea NOT NULL,
    path bytea NOT NULL,
    stamp bytea NOT NULL,
    digest bytea NOT NULL,
    tier bytea NOT NULL,
    agent bytea NOT NULL,
    session bytea NOT NULL,
    turns bigint NOT NULL,
    begin bytea NOT NULL,
    lack text NOT NULL,
    PRIMARY KEY (tenant, workspace, id)
);
CREATE UNIQUE INDEX index_places_by_path ON carrel.index_places (tenant, workspace, key);
CREATE INDEX index_places_lacking ON carrel.index_places (tenant, workspace, lack) WHERE lack <> '';
CALL carrel.wall('carrel.index_places', 'SELECT, INSERT, UPDATE, DELETE');

-- `words` says which of the entries in the segments is the one that counts. `labels` are tags and headings as
-- they are compared, `voice` is as much of the speaker as an index takes.
CREATE TABLE carrel.index_chunks (
    tenant text COLLATE "C" NOT NULL,
    workspace text COLLATE "C" NOT NULL,
    id bigint NOT NULL,
    place bigint NOT NULL,
    seq integer NOT NULL,
    words smallint NOT NULL DEFAULT 0,
    line integer NOT NULL,
    end_line integer NOT NULL,
    private boolean NOT NULL,
    digest bytea NOT NULL,
    date bytea NOT NULL,
    voice bytea NOT NULL,
    speaker bytea NOT NULL,
    message_id bytea NOT NULL,
    labels bytea NOT NULL,
    headings bytea NOT NULL,
    tags bytea NOT NULL,
    text bytea NOT NULL,
    PRIMARY KEY (tenant, workspace, id)
);
CREATE INDEX index_chunks_in_order ON carrel.index_chunks (tenant, workspace, place, seq);
CREATE INDEX index_chunks_by_voice ON carrel.index_chunks (tenant, workspace, voice, private) WHERE voice <> '';
CALL carrel.wall('carrel.index_chunks', 'SELECT, INSERT, UPDATE, DELETE');

-- What the words and vectors have yet to take in. A fresh chunk has no entry yet that would have to be outdone.
CREATE TABLE carrel.index_due (
    tenant text COLLATE "C" NOT NULL,
    workspace text COLLATE "C" NOT NULL,
    part text COLLATE "C" NOT NULL,
    id bigint NOT NULL,
    is_fresh boolean NOT NULL,
    claimed_until timestamptz NOT NULL DEFAULT '-infinity',
    PRIMARY KEY (tenant, workspace, part, id)
);
CALL carrel.wall('carrel.index_due', 'SELECT, INSERT, UPDATE, DELETE');

-- The words: segments that are never changed, only merged, each in buckets by a hash of the word. No operator of
-- full text search may be an index condition behind row-level security; a number may.
CREATE TABLE carrel.index_segments (
    tenant text COLLATE "C" NOT NULL,
    workspace text COLLATE "C" NOT NULL,
    segment bigint NOT NULL,
    buckets integer NOT NULL,
    entries integer NOT NULL,
    totals bytea NOT NULL,
    PRIMARY KEY (tenant, workspace, segment)
);
CALL carrel.wall('carrel.index_segments', 'SELECT, INSERT, DELETE');

CREATE TABLE carrel.index_words (
    tenant text COLLATE "C" NOT NULL,
    workspace text COLLATE "C" NOT NULL,
    segment bigint NOT NULL,
    bucket integer NOT NULL,
    body bytea NOT NULL,
    PRIMARY KEY (tenant, workspace, segment, bucket)
);
CALL carrel.wall('carrel.index_words', 'SELECT, INSERT, DELETE');

CREATE TABLE carrel.index_vectors (
    tenant text COLLATE "C" NOT NULL,
    workspace text COLLATE "C" NOT NULL,
    id bigint NOT NULL,
    vector vector NOT NULL,
    PRIMARY KEY (tenant, workspace, id)
);
CALL carrel.wall('carrel.index_vectors', 'SELECT, INSERT, UPDATE, DELETE');

-- The vectors of large workspaces once more, in graphs: one table for each length of vectors, made when the
-- first workspace needs it. A workspace is in one of its parts, so that few others are in the same graph. Who
-- calls this owns nothing and may make nothing else. Vectors that are too long for a graph have none.
CREATE FUNCTION carrel.index_graph(dimensions integer) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    name text := 'index_graph_' || dimensions;
    home text := (SELECT n.nspname FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace
                  WHERE e.extname = 'vector');
    kind text := CASE WHEN dimensions <= 2000 THEN 'vector' ELSE 'halfvec' END;
BEGIN
    IF dimensions NOT BETWEEN 1 AND 4000 THEN
        RETURN false;
    END IF;
    PERFORM pg_advisory_xact_lock(hashtextextended('carrel.' || name, 0));
    IF to_regclass('carrel.' || name) IS NOT NULL THEN
        RETURN true;
    END IF;
    EXECUTE format(
        'CREATE TABLE carrel.%I (tenant text COLLATE "C" NOT NULL, workspace text COLLATE "C" NOT NULL, '
        'id bigint NOT NULL, vector %I.%I(%s) NOT NULL, PRIMARY KEY (tenant, workspace, id)) '
        'PARTITION BY HASH (tenant, workspace)', name, home, kind, dimensions);
    FOR part IN 0..15 LOOP
        EXECUTE format('CREATE TABLE carrel.%I PARTITION OF carrel.%I FOR VALUES WITH (MODULUS 16, REMAINDER %s)',
                       name || '_' || part, name, part);
        EXECUTE format('ALTER TABLE carrel.%I ENABLE ROW LEVEL SECURITY', name || '_' || part);
        EXECUTE format('ALTER TABLE carrel.%I FORCE ROW LEVEL SECURITY', name || '_' || part);
    END LOOP;
    EXECUTE format('CREATE INDEX ON carrel.%I USING hnsw (vector %I.%I)', name, home, kind || '_ip_ops');
    EXECUTE format('CALL carrel.wall(%L, %L)', 'carrel.' || name, 'SELECT, INSERT, UPDATE, DELETE');
    RETURN true;
END $$;
REVOKE ALL ON FUNCTION carrel.index_graph(integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION carrel.index_graph(integer) TO carrel_member;
