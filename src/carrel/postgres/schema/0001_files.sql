-- The role that every statement of a tenant runs as. Roles belong to the whole server, so another database
-- may have made it, even at this moment.
DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'carrel_member') THEN
        CREATE ROLE carrel_member NOLOGIN;
    END IF;
EXCEPTION WHEN duplicate_object OR unique_violation THEN
    NULL;
END $$;

DO $$
BEGIN
    IF NOT pg_has_role(current_user, 'carrel_member', 'SET') THEN
        EXECUTE format('GRANT carrel_member TO %I', current_user);
    END IF;
END $$;

GRANT USAGE ON SCHEMA carrel TO carrel_member;

-- A setting of a transaction that is over leaves an empty one behind: it is as missing as none.
CREATE FUNCTION carrel.tenant() RETURNS text LANGUAGE plpgsql STABLE PARALLEL SAFE AS $$
DECLARE
    name text := current_setting('carrel.tenant', true);
BEGIN
    IF name IS NULL OR name = '' THEN
        RAISE EXCEPTION 'no tenant is set' USING ERRCODE = 'invalid_authorization_specification';
    END IF;
    RETURN name;
END $$;

-- What every table of tenants gets: rows of the tenant that is set, for everybody, its owner included.
CREATE PROCEDURE carrel.wall(walled regclass, rights text) LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY', walled);
    EXECUTE format('ALTER TABLE %s FORCE ROW LEVEL SECURITY', walled);
    EXECUTE format(
        'CREATE POLICY wall ON %s USING (tenant = (SELECT carrel.tenant())) '
        'WITH CHECK (tenant = (SELECT carrel.tenant()))', walled);
    EXECUTE format('GRANT %s ON %s TO carrel_member', rights, walled);
END $$;

CREATE TABLE carrel.workspaces (
    tenant text COLLATE "C" NOT NULL,
    workspace text COLLATE "C" NOT NULL,
    made_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant, workspace)
);
CALL carrel.wall('carrel.workspaces', 'SELECT, INSERT, UPDATE, DELETE');

-- Files, and the folders that hold them: a folder has a row while something is in it, so that a name is one
-- or the other, and two names that some system takes for one never stand in the same folder.
CREATE TABLE carrel.workspace_files (
    tenant text COLLATE "C" NOT NULL,
    workspace text COLLATE "C" NOT NULL,
    path text COLLATE "C" NOT NULL,
    folder text COLLATE "C",            -- of the path; none for the root, which is ''
    folded text COLLATE "C" NOT NULL,   -- the name as a system that folds case and accents takes it
    is_folder boolean NOT NULL DEFAULT false,
    id bigint NOT NULL,                 -- random: a file that is made anew is another one
    mark bigint NOT NULL,               -- random: another one after every change
    version bigint NOT NULL DEFAULT 1,
    size bigint NOT NULL DEFAULT 0,
    sha256 text COLLATE "C",            -- of the whole; unknown after an append until the file is replaced
    content bytea NOT NULL DEFAULT '',  -- what was written as a whole; what was appended is in segments
    is_open boolean NOT NULL DEFAULT false, -- whether the last line lacks its newline
    changed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    token_count bigint,                 -- these three are for reports: of a document that was written as a whole
    priority integer,
    tags text[],
    PRIMARY KEY (tenant, workspace, path)
);
ALTER TABLE carrel.workspace_files ALTER COLUMN content SET STORAGE EXTERNAL; -- a part is read without the rest
-- The folder stands before the workspace, so that nobody takes this index to look up a path.
CREATE UNIQUE INDEX workspace_files_beside ON carrel.workspace_files (tenant, folder, workspace, folded);
CALL carrel.wall('carrel.workspace_files', 'SELECT, INSERT, UPDATE, DELETE');

CREATE TABLE carrel.workspace_segments (
    tenant text COLLATE "C" NOT NULL,
    workspace text COLLATE "C" NOT NULL,
    file bigint NOT NULL,
    start bigint NOT NULL,              -- where its first byte stands in the file
    token bigint NOT NULL,              -- random: an append that is repeated adds nothing
    data bytea NOT NULL,
    PRIMARY KEY (tenant, workspace, file, start)
);
CREATE UNIQUE INDEX workspace_segments_once ON carrel.workspace_segments (tenant, workspace, file, token);
CALL carrel.wall('carrel.workspace_segments', 'SELECT, INSERT, DELETE');

CREATE FUNCTION carrel.file_digest(f carrel.workspace_files) RETURNS text LANGUAGE sql STABLE AS $$
    SELECT coalesce(f.sha256, encode(sha256(f.content || coalesce(
        (SELECT string_agg(s.data, ''::bytea ORDER BY s.start) FROM carrel.workspace_segments s
         WHERE s.tenant = f.tenant AND s.workspace = f.workspace AND s.file = f.id), '')), 'hex'))
$$;

-- Make the folders above a file, the deepest first, up to one that is there; each gets a new mark.
-- Everybody who adds or removes a name locks its folder before the name, so nobody waits in a circle.
CREATE PROCEDURE carrel.make_folders(t text, w text, folders text[], folds text[], new_mark bigint)
LANGUAGE plpgsql AS $$
DECLARE
    was_folder boolean;
BEGIN
    FOR i IN REVERSE array_length(folders, 1)..1 LOOP
        LOOP
            UPDATE carrel.workspace_files SET mark = new_mark, version = version + 1, changed_at = clock_timestamp()
            WHERE tenant = t AND workspace = w AND path = folders[i] AND is_folder;
            IF FOUND THEN
                RETURN;
            END IF;
            INSERT INTO carrel.workspace_files (tenant, workspace, path, folder, folded, is_folder, id, mark)
            VALUES (t, w, folders[i], CASE WHEN i > 1 THEN folders[i - 1] END, folds[i], true, new_mark, new_mark)
            ON CONFLICT (tenant, workspace, path) DO NOTHING;
            EXIT WHEN FOUND;
            SELECT is_folder INTO was_folder FROM carrel.workspace_files
            WHERE tenant = t AND workspace = w AND path = folders[i];
            IF NOT was_folder THEN
                RAISE EXCEPTION 'a file stands where a folder is needed' USING ERRCODE = 'unique_violation';
            END IF;
        END LOOP;
    END LOOP;
END $$;

-- Returns whether the file was made; it was not where one of the names was taken meanwhile. With a token its
-- bytes are its first segment.
CREATE FUNCTION carrel.create_file(
    t text, w text, p text, folders text[], folds text[], new_data bytea, digest text, now_open boolean,
    new_mark bigint, new_token bigint, tokens bigint, rank integer, marks text[]
) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    last int := array_length(folders, 1);
    is_appended boolean := new_token IS NOT NULL AND new_data <> '';
BEGIN
    CALL carrel.make_folders(t, w, folders, folds[:last], new_mark);
    INSERT INTO carrel.workspace_files
        (tenant, workspace, path, folder, folded, id, mark, size, sha256, content, is_open, token_count, priority,
            tags)
    VALUES (t, w, p, folders[last], folds[last + 1], new_mark, new_mark, octet_length(new_data), digest,
            CASE WHEN is_appended THEN '' ELSE new_data END, now_open, tokens, rank, marks);
    IF is_appended THEN
        INSERT INTO carrel.workspace_segments (tenant, workspace, file, start, token, data)
        VALUES (t, w, new_mark, 0, new_token, new_data);
    END IF;
    RETURN true;
EXCEPTION WHEN unique_violation THEN
    RETURN false;
END $$;

-- Returns the digest of what was there, none where nothing was; it was replaced if that is the expected one.
CREATE FUNCTION carrel.replace_file(
    t text, w text, p text, expected text, new_data bytea, digest text, now_open boolean, new_mark bigint,
    tokens bigint, rank integer, marks text[]
) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    held carrel.workspace_files;
    found_digest text;
BEGIN
    SELECT * INTO held FROM carrel.workspace_files
    WHERE tenant = t AND workspace = w AND path = p AND NOT is_folder FOR UPDATE;
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    found_digest := carrel.file_digest(held);
    IF found_digest = expected THEN
        DELETE FROM carrel.workspace_segments WHERE tenant = t AND workspace = w AND file = held.id;
        UPDATE carrel.workspace_files
        SET content = new_data, size = octet_length(new_data), sha256 = digest, is_open = now_open, mark = new_mark,
            version = version + 1, changed_at = clock_timestamp(), token_count = tokens, priority = rank, tags = marks
        WHERE tenant = t AND workspace = w AND path = p;
    END IF;
    RETURN found_digest;
END $$;

-- Returns the size afterwards, or before where that is not the expected one; none where there is no file.
CREATE FUNCTION carrel.append_file(
    t text, w text, p text, expected bigint, new_data bytea, now_open boolean, new_mark bigint,
    OUT is_done boolean, OUT total bigint
) LANGUAGE plpgsql AS $$
DECLARE
    held record;
BEGIN
    SELECT id, size, is_open INTO held FROM carrel.workspace_files
    WHERE tenant = t AND workspace = w AND path = p AND NOT is_folder FOR UPDATE;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    SELECT s.start + octet_length(s.data) INTO total FROM carrel.workspace_segments s
    WHERE s.tenant = t AND s.workspace = w AND s.file = held.id AND s.token = new_mark;
    is_done := FOUND;
    IF is_done THEN
        RETURN;
    END IF;
    total := held.size;
    IF held.size <> expected THEN
        RETURN;
    END IF;
    IF held.is_open THEN
        new_data := '\x0a'::bytea || new_data;
    END IF;
    IF new_data <> '' THEN
        INSERT INTO carrel.workspace_segments (tenant, workspace, file, start, token, data)
        VALUES (t, w, held.id, held.size, new_mark, new_data);
    END IF;
    total := held.size + octet_length(new_data);
    is_done := true;
    UPDATE carrel.workspace_files
    SET size = total, sha256 = NULL, is_open = now_open, mark = new_mark, version = version + 1,
        changed_at = clock_timestamp(), token_count = NULL, priority = NULL, tags = NULL
    WHERE tenant = t AND workspace = w AND path = p;
END $$;

-- Returns the digest of what was there, none where nothing was; it was removed if that is the expected one.
CREATE FUNCTION carrel.remove_file(t text, w text, p text, folders text[], expected text, new_mark bigint)
RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    held carrel.workspace_files;
    found_digest text;
BEGIN
    PERFORM FROM carrel.workspace_files
    WHERE tenant = t AND workspace = w AND path = folders[array_length(folders, 1)] FOR UPDATE;
    SELECT * INTO held FROM carrel.workspace_files
    WHERE tenant = t AND workspace = w AND path = p AND NOT is_folder FOR UPDATE;
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    found_digest := carrel.file_digest(held);
    IF found_digest <> expected THEN
        RETURN found_digest;
    END IF;
    DELETE FROM carrel.workspace_segments WHERE tenant = t AND workspace = w AND file = held.id;
    DELETE FROM carrel.workspace_files WHERE tenant = t AND workspace = w AND path = p;
    FOR i IN REVERSE array_length(folders, 1)..1 LOOP
        UPDATE carrel.workspace_files SET mark = new_mark, version = version + 1, changed_at = clock_timestamp()
        WHERE tenant = t AND workspace = w AND path = folders[i];
        EXIT WHEN folders[i] = '' OR EXISTS (
            SELECT FROM carrel.workspace_files WHERE tenant = t AND workspace = w AND folder = folders[i]);
        DELETE FROM carrel.workspace_files WHERE tenant = t AND workspace = w AND path = folders[i];
    END LOOP;
    RETURN found_digest;
END $$;
