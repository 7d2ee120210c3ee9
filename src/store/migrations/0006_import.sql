-- An import stages all lines, resolves references, and writes rows in batches. Each statement also records the progress
-- of the import in the same transaction. So a killed import can continue after the last committed batch.

-- The only row of this table is the current import with its lease. Every statement of the import locks the row FOR KEY
-- SHARE, so several statements can run at the same time.
--
-- Another process can take the import over only when no statement holds the row. In addition, the lease must have
-- expired, or the connection of the importing process must be gone.
CREATE TABLE gateway.import_run (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  -- Each take-over of the import raises this number. After that, statements of the earlier process fail.
  epoch bigint NOT NULL DEFAULT 0,
  lease_until timestamptz NOT NULL DEFAULT '-infinity',
  backend integer, backend_start timestamptz,          -- one connection of the importing process
  unfinished boolean NOT NULL DEFAULT false,
  -- The sources of the import: name, size, time and a digest of the first bytes of each source.
  sources jsonb,
  -- The organization in which references are looked up, if the caller has named an organization. Otherwise null.
  organization text,
  staged boolean NOT NULL DEFAULT false,
  file integer NOT NULL DEFAULT 0,
  byte_offset bigint NOT NULL DEFAULT 0,
  line bigint NOT NULL DEFAULT 0,
  seq bigint NOT NULL DEFAULT 0,
  -- Numbers of the organizations in which references are looked up.
  scope bigint[] NOT NULL DEFAULT '{}'
);
INSERT INTO gateway.import_run DEFAULT VALUES;

CREATE TABLE gateway.import_step (
  step text PRIMARY KEY,
  ord bigint NOT NULL,                                 -- planned rows up to this number are written
  finished boolean NOT NULL
);

-- Each step has its own counts, so that steps do not wait for each other's rows. In an import of 25,777 records, such
-- waits took 0.5 s of 3.1 s (21 November 2026).
CREATE TABLE gateway.import_tally (
  type text NOT NULL,                                  -- empty for lines of an unknown type
  step text NOT NULL,                                  -- empty in the row that counts the lines read
  read bigint NOT NULL DEFAULT 0,
  written bigint NOT NULL DEFAULT 0,
  unchanged bigint NOT NULL DEFAULT 0,
  removed bigint NOT NULL DEFAULT 0,
  rejected bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (type, step)
);

-- Receipts for imported data that are not in the journal yet. A statement stores the receipts together with the data,
-- and the end of the import appends them to the journal. If an import is lost, the next import appends these receipts
-- first.
--
-- The table has no unique key, because parallel statements would then wait for each other. Each statement inserts only
-- receipts that are not in the table yet.
CREATE TABLE gateway.import_owed (tenant bigint NOT NULL, site bigint NOT NULL, event_type text NOT NULL);

-- A crash of PostgreSQL empties UNLOGGED tables. After such a crash, the import starts again with its first line.
CREATE UNLOGGED TABLE gateway.import_stage (
  type text COLLATE "C" NOT NULL,
  seq bigint NOT NULL,
  file integer NOT NULL, line bigint NOT NULL,
  external_id text COLLATE "C" NOT NULL,
  -- The external_id of the record that this record belongs to. For a deletion, the column holds the type of the deleted
  -- record.
  owner text COLLATE "C",
  at timestamptz,                                      -- native ids are given in the order of this time
  refs text[], links text[],
  -- The columns of the platform table as JSON. The type jsonb takes three times as long as json (21 November 2026).
  data json NOT NULL,
  PRIMARY KEY (type, seq)
);
-- A sample of 3,000 rows is enough for good plans. A sample of 30,000 rows takes 60 ms, which is ten times as long (21
-- November 2026).
ALTER TABLE gateway.import_stage ALTER type SET STATISTICS 10, ALTER seq SET STATISTICS 10,
  ALTER external_id SET STATISTICS 10, ALTER owner SET STATISTICS 10;
CREATE UNLOGGED TABLE gateway.import_chunk (
  seq bigint NOT NULL, chunk integer NOT NULL, bytes bytea NOT NULL,
  PRIMARY KEY (seq, chunk)
);
ALTER TABLE gateway.import_chunk ALTER COLUMN bytes SET STORAGE EXTERNAL;
CREATE UNLOGGED TABLE gateway.import_plan (
  type text COLLATE "C" NOT NULL,
  lane integer NOT NULL,
  ord bigint NOT NULL,
  seq bigint NOT NULL,
  tenant bigint NOT NULL, site bigint NOT NULL, id bigint NOT NULL,
  fresh boolean NOT NULL,
  owner_id bigint, owner_parent bigint,
  refs bigint[], links bigint[],
  PRIMARY KEY (type, lane, ord)
);
CREATE UNLOGGED TABLE gateway.import_reject (
  seq bigint NOT NULL, place integer NOT NULL,
  file integer NOT NULL, line bigint NOT NULL,
  pointer text NOT NULL, code text NOT NULL,
  PRIMARY KEY (seq, place)
);

-- Takes the lease of the import and returns the new epoch (the number of the take-over). Returns null while another
-- process holds the lease.
CREATE FUNCTION gateway.import_take() RETURNS bigint LANGUAGE sql AS $$
  WITH free AS (
    SELECT r.one FROM gateway.import_run r
     WHERE r.lease_until < clock_timestamp() OR NOT EXISTS (
       SELECT 1 FROM pg_stat_activity a WHERE a.pid = r.backend AND a.backend_start = r.backend_start)
       FOR UPDATE SKIP LOCKED
  )
  UPDATE gateway.import_run r
     SET epoch = r.epoch + 1, lease_until = clock_timestamp() + interval '10 seconds', backend = a.pid, backend_start = a.backend_start
    FROM free, pg_stat_activity a WHERE a.pid = pg_backend_pid()
  RETURNING r.epoch
$$;

-- Every statement of the import that writes calls this function first. The function locks the import's row until the
-- transaction ends. If another process has taken the import over, the function fails and nothing is written.
--
-- Commits do not wait for the disk. The last commit of the import waits for all earlier commits. The receipts are
-- collected, and the end of the import appends one snapshot for each website and event family.
CREATE FUNCTION gateway.import_fence(p_epoch bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM 1 FROM gateway.import_run WHERE epoch = p_epoch FOR KEY SHARE;
  IF NOT FOUND THEN RAISE EXCEPTION 'another import has taken over' USING ERRCODE = 'GW001'; END IF;
  PERFORM set_config('synchronous_commit', 'off', true), set_config('gateway.capture', 'import', true);
END $$;

CREATE FUNCTION gateway.import_beat(p_epoch bigint) RETURNS void LANGUAGE sql AS $$
  UPDATE gateway.import_run r
     SET lease_until = clock_timestamp() + interval '10 seconds', backend = a.pid, backend_start = a.backend_start
    FROM pg_stat_activity a WHERE r.epoch = p_epoch AND a.pid = pg_backend_pid()
$$;

CREATE FUNCTION gateway.import_count(p_type text, p_step text, p_read bigint, p_written bigint, p_unchanged bigint, p_removed bigint, p_rejected bigint)
RETURNS void LANGUAGE sql AS $$
  INSERT INTO gateway.import_tally AS t VALUES (p_type, p_step, p_read, p_written, p_unchanged, p_removed, p_rejected)
  ON CONFLICT (type, step) DO UPDATE
    SET read = t.read + excluded.read, written = t.written + excluded.written, unchanged = t.unchanged + excluded.unchanged,
        removed = t.removed + excluded.removed, rejected = t.rejected + excluded.rejected
$$;

-- Every statement that stages lines ends with this function. p_read is a list of {type, read, rejected}, one for each
-- record type.
CREATE FUNCTION gateway.import_staged(p_epoch bigint, p_file integer, p_offset bigint, p_line bigint, p_seq bigint, p_read jsonb)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  UPDATE gateway.import_run
     SET file = p_file, byte_offset = p_offset, line = p_line, seq = p_seq, lease_until = clock_timestamp() + interval '10 seconds'
   WHERE epoch = p_epoch;
  IF NOT FOUND THEN RAISE EXCEPTION 'another import has taken over' USING ERRCODE = 'GW001'; END IF;
  PERFORM gateway.import_count(r.type, '', r.read, 0, 0, 0, r.rejected)
     FROM jsonb_to_recordset(p_read) AS r (type text, read bigint, rejected bigint);
END $$;

CREATE FUNCTION gateway.import_progress(
  p_epoch bigint, p_step text, p_ord bigint, p_finished boolean,
  p_type text, p_written bigint, p_unchanged bigint, p_removed bigint, p_rejected bigint
) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM gateway.import_fence(p_epoch);
  INSERT INTO gateway.import_step AS s VALUES (p_step, p_ord, p_finished)
  ON CONFLICT (step) DO UPDATE SET ord = excluded.ord, finished = excluded.finished;
  IF p_type IS NOT NULL THEN
    PERFORM gateway.import_count(p_type, p_step, 0, p_written, p_unchanged, p_removed, p_rejected);
  END IF;
END $$;

CREATE FUNCTION gateway.import_scope(p_epoch bigint, p_step text, p_scope bigint[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM gateway.import_progress(p_epoch, p_step, 0, true, NULL, 0, 0, 0, 0);
  UPDATE gateway.import_run SET scope = p_scope;
END $$;

-- Appends all collected receipts, with one call for each website. The calls lock the journals in the same order as
-- every writer.
CREATE FUNCTION gateway.import_settle() RETURNS void LANGUAGE sql AS $$
  WITH due AS (
    DELETE FROM gateway.import_owed RETURNING tenant, site, event_type
  ), websites AS MATERIALIZED (
    SELECT d.tenant, d.site, array_agg(DISTINCT d.event_type ORDER BY d.event_type) AS event_types FROM due d
     WHERE d.event_type NOT LIKE '%.snapshot'
        OR EXISTS (SELECT 1 FROM platform.website w WHERE w.tenant = d.tenant AND w.site = d.site)
     GROUP BY d.tenant, d.site ORDER BY d.tenant, d.site
  )
  SELECT gateway.append_receipts(tenant, site, event_types) FROM websites
$$;

-- Starts an import. Appends the receipts that a lost import has left, and deletes the staged lines of the lost import.
CREATE FUNCTION gateway.import_begin(p_epoch bigint, p_sources jsonb, p_organization text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM gateway.import_fence(p_epoch);
  PERFORM gateway.import_settle();
  -- After a finished import, skip the TRUNCATE, because the staging tables are already empty. TRUNCATE of an empty
  -- table still costs 10 ms (21 November 2026).
  IF EXISTS (SELECT 1 FROM gateway.import_run WHERE unfinished) THEN
    TRUNCATE gateway.import_stage, gateway.import_chunk, gateway.import_plan;
  END IF;
  IF EXISTS (SELECT 1 FROM gateway.import_reject) THEN TRUNCATE gateway.import_reject; END IF;
  DELETE FROM gateway.import_tally;
  DELETE FROM gateway.import_step;
  UPDATE gateway.import_run
     SET unfinished = true, sources = p_sources, organization = p_organization, staged = false, file = 0, byte_offset = 0,
         line = 0, seq = 0, scope = '{}';
END $$;

CREATE FUNCTION gateway.import_finish(p_epoch bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM gateway.import_fence(p_epoch);
  PERFORM gateway.import_settle();
  TRUNCATE gateway.import_stage, gateway.import_chunk, gateway.import_plan;
  UPDATE gateway.import_run SET unfinished = false;
  PERFORM set_config('synchronous_commit', 'on', true);
END $$;

-- Runs all steps of an import, returns their counts and rejects, and rolls all changes back. A dry run uses this
-- function.
CREATE FUNCTION gateway.import_rehearse(steps text[], reject_limit integer) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  step text;
  outcome jsonb;
BEGIN
  FOREACH step IN ARRAY steps LOOP
    EXECUTE step;
  END LOOP;
  SELECT jsonb_build_object(
    'tally', (SELECT coalesce(jsonb_agg(t), '[]')
                FROM (SELECT type, sum(read) AS read, sum(written) AS written, sum(unchanged) AS unchanged,
                             sum(removed) AS removed, sum(rejected) AS rejected
                        FROM gateway.import_tally GROUP BY type) t),
    'rejects', (SELECT coalesce(jsonb_agg(r), '[]')
                  FROM (SELECT * FROM gateway.import_reject ORDER BY seq, place LIMIT reject_limit) r)) INTO outcome;
  RAISE EXCEPTION 'rehearsed' USING ERRCODE = 'GW002';
EXCEPTION WHEN SQLSTATE 'GW002' THEN
  RETURN outcome;
END $$;

-- Appends the receipts that a lost import has left, because readers can already see the changes of the lost import.
-- Returns the number of receipts.
CREATE FUNCTION gateway.settle_abandoned_import() RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  n integer;
BEGIN
  IF NOT EXISTS (SELECT FROM gateway.import_owed) THEN RETURN 0; END IF;
  PERFORM FROM gateway.import_run r
   WHERE r.lease_until < clock_timestamp() OR NOT EXISTS (
     SELECT FROM pg_stat_activity a WHERE a.pid = r.backend AND a.backend_start = r.backend_start)
     FOR UPDATE SKIP LOCKED;
  IF NOT FOUND THEN RETURN 0; END IF;
  SELECT count(*) INTO n FROM gateway.import_owed;
  PERFORM gateway.import_settle();
  RETURN n;
END $$;
