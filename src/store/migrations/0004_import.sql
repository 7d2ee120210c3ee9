-- Import (section 24 of the decisions). Lines are staged, references are resolved set by set, and rows are written in
-- batches; every statement that writes moves the run on in the same transaction, so that a run that was killed
-- continues after the last batch that is there.

-- The one import at a time, and the lease on it. Every statement of a run holds the row (KEY SHARE: several may run side
-- by side) until it ends; a rival takes over only when nobody holds it and the lease has lapsed or the holder's session
-- is gone.
CREATE TABLE gateway.import_run (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  epoch bigint NOT NULL DEFAULT 0,                     -- the holder's fence: raised by each take-over
  lease_until timestamptz NOT NULL DEFAULT '-infinity',
  backend integer, backend_start timestamptz,          -- a session of the holder
  unfinished boolean NOT NULL DEFAULT false,
  sources jsonb,                                       -- what is read: name, size, time and digest of the head
  organization text,                                   -- narrows references
  staged boolean NOT NULL DEFAULT false,               -- every line has been read
  file integer NOT NULL DEFAULT 0,                     -- the position up to which lines are staged
  byte_offset bigint NOT NULL DEFAULT 0,
  line bigint NOT NULL DEFAULT 0,
  seq bigint NOT NULL DEFAULT 0,
  scope bigint[] NOT NULL DEFAULT '{}'                 -- organizations in which references are looked up
);
INSERT INTO gateway.import_run DEFAULT VALUES;

-- The position in the work after staging.
CREATE TABLE gateway.import_step (
  step text PRIMARY KEY,
  ord bigint NOT NULL,                                 -- planned rows up to here are written
  finished boolean NOT NULL
);

-- Counted by step, so that lanes do not wait for each other's counts (0.5 s of 3.1 s, 25,777 records).
CREATE TABLE gateway.import_tally (
  type text NOT NULL,                                  -- '' for lines whose type is not known
  step text NOT NULL,                                  -- '' for lines that were read
  read bigint NOT NULL DEFAULT 0,
  written bigint NOT NULL DEFAULT 0,
  unchanged bigint NOT NULL DEFAULT 0,
  removed bigint NOT NULL DEFAULT 0,
  rejected bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (type, step)
);

-- Receipts that committed data still owes to the journal: written with the data, settled at the end of the run or,
-- when that never comes, at the start of the next one. Not unique: a lane would wait for what another one has not
-- committed. A statement adds what it does not find.
CREATE TABLE gateway.import_owed (tenant bigint NOT NULL, site bigint NOT NULL, event_type text NOT NULL);

-- Staging is UNLOGGED: a crash of PostgreSQL empties it, and the run then begins again with its first line.
CREATE UNLOGGED TABLE gateway.import_stage (
  type text COLLATE "C" NOT NULL,
  seq bigint NOT NULL,                                 -- order of lines over all files
  file integer NOT NULL, line bigint NOT NULL,
  external_id text COLLATE "C" NOT NULL,
  owner text COLLATE "C",                              -- external_id of the record that says where it belongs
  at timestamptz,                                      -- order of native ids
  refs text[], links text[],
  data json NOT NULL,                                  -- columns of the platform table; jsonb takes three times as long
  PRIMARY KEY (type, seq)
);
-- Shares of types and owners are all that plans are made by: 3,000 rows tell them as well as 30,000, in a tenth of 60 ms.
ALTER TABLE gateway.import_stage ALTER type SET STATISTICS 10, ALTER seq SET STATISTICS 10,
  ALTER external_id SET STATISTICS 10, ALTER owner SET STATISTICS 10;
CREATE UNLOGGED TABLE gateway.import_chunk (
  seq bigint NOT NULL, chunk integer NOT NULL, bytes bytea NOT NULL,
  PRIMARY KEY (seq, chunk)
);
ALTER TABLE gateway.import_chunk ALTER COLUMN bytes SET STORAGE EXTERNAL;
CREATE UNLOGGED TABLE gateway.import_plan (
  type text COLLATE "C" NOT NULL,
  lane integer NOT NULL,                               -- lanes are written side by side
  ord bigint NOT NULL,                                 -- order of writing in a lane
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

-- Takes the lease: the new epoch, or null while another import holds it.
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

-- Holds the run to the end of the statement; an importer that has lost its lease fails here and writes nothing. Commits
-- need not wait for the disk: the commit that ends the run does, and so do all before it.
CREATE FUNCTION gateway.import_fence(p_epoch bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM 1 FROM gateway.import_run WHERE epoch = p_epoch FOR KEY SHARE;
  IF NOT FOUND THEN RAISE EXCEPTION 'another import has taken over' USING ERRCODE = 'GW001'; END IF;
  PERFORM set_config('synchronous_commit', 'off', true);
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

-- Ends a statement that stages lines: p_read holds {type, read, rejected} for each type.
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

-- Ends a statement that works on staged lines.
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

-- Sets where references are looked up; an organization that was asked for has to exist by the second time.
CREATE FUNCTION gateway.import_scope(p_epoch bigint, p_step text, p_scope bigint[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM gateway.import_progress(p_epoch, p_step, 0, true, NULL, 0, 0, 0, 0);
  UPDATE gateway.import_run SET scope = p_scope;
END $$;

-- Writes the receipts that are owed, one call a website, in the order in which every writer locks journals.
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

-- Begins a run: what an earlier one left staged is forgotten, what it left owing is settled.
CREATE FUNCTION gateway.import_begin(p_epoch bigint, p_sources jsonb, p_organization text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM gateway.import_fence(p_epoch);
  PERFORM gateway.import_settle();
  -- The end of a run empties what is large; TRUNCATE of what is empty costs 10 ms a table.
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

-- Runs the steps, reports what they did and takes everything back.
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

-- A file that a new import attaches to another message counts there.
CREATE FUNCTION platform.files_moved() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE platform.message m SET attachment_count = (
           SELECT count(*) FROM platform.file f
            WHERE f.tenant = m.tenant AND f.site = m.site AND f.message_id = m.id)
    FROM (SELECT DISTINCT r.tenant, r.site, r.message_id
            FROM old_rows o JOIN new_rows n ON n.tenant = o.tenant AND n.site = o.site AND n.id = o.id AND n.message_id <> o.message_id
            CROSS JOIN LATERAL (VALUES (o.tenant, o.site, o.message_id), (n.tenant, n.site, n.message_id)) AS r (tenant, site, message_id)) t
   WHERE m.tenant = t.tenant AND m.site = t.site AND m.id = t.message_id;
  RETURN NULL;
END $$;
CREATE TRIGGER file_updated AFTER UPDATE ON platform.file REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
  FOR EACH STATEMENT EXECUTE FUNCTION platform.files_moved();
