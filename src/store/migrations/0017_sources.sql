-- Several writers of records run side by side: imports of files, and live sources (helpdesks). A writer that stages its
-- records uses one of four slots. A page of changes of a source needs no slot, because one transaction writes the page.
--
-- Every slot has its own staging tables. So the end of one run can truncate its tables without waiting for other runs.

-- Staged lines and the plan are lost here. An interrupted import starts again with its first line.
SELECT gateway.import_settle();
DROP TABLE gateway.import_stage, gateway.import_chunk, gateway.import_plan, gateway.import_reject;
DROP FUNCTION gateway.import_take, gateway.import_fence, gateway.import_beat, gateway.import_count, gateway.import_staged,
  gateway.import_progress, gateway.import_scope, gateway.import_settle, gateway.import_begin, gateway.import_finish,
  gateway.import_rehearse, gateway.settle_abandoned_import;

DELETE FROM gateway.import_tally;
DELETE FROM gateway.import_step;
DELETE FROM gateway.import_run;
-- A run is the work of one writer in its slot. `subject` names what is read: the files, or the source.
ALTER TABLE gateway.import_run
  DROP COLUMN one,
  ADD COLUMN slot integer PRIMARY KEY,
  ADD COLUMN subject text NOT NULL DEFAULT '',
  -- True for files: the end of the run appends one snapshot for each website and event family. False for sources: each
  -- transaction appends its changes.
  ADD COLUMN snapshots boolean NOT NULL DEFAULT true,
  -- The external_ids of the organizations that the run names. With `scope`, they keep a second import of files away.
  ADD COLUMN names text[] NOT NULL DEFAULT '{}',
  -- Where a source continues to load. Files use the columns file, byte_offset and line.
  ADD COLUMN position jsonb,
  -- The source that is read, and the epoch of its lease. Null for files.
  ADD COLUMN source text,
  ADD COLUMN source_epoch bigint,
  -- True for a load or a comparison of a source. Only two of them run at a time, so that imports of files find a slot.
  ADD COLUMN loads boolean NOT NULL DEFAULT false;
ALTER TABLE gateway.import_step ADD COLUMN slot integer NOT NULL, DROP CONSTRAINT import_step_pkey, ADD PRIMARY KEY (slot, step);
ALTER TABLE gateway.import_tally ADD COLUMN slot integer NOT NULL, DROP CONSTRAINT import_tally_pkey, ADD PRIMARY KEY (slot, type, step);
ALTER TABLE gateway.import_owed ADD COLUMN slot integer NOT NULL;
INSERT INTO gateway.import_run (slot) SELECT generate_series(1, 4);

DO $$
BEGIN
  FOR slot IN 1..4 LOOP
    -- A crash of PostgreSQL empties UNLOGGED tables. After such a crash, the run starts again with its first record.
    EXECUTE format('
      CREATE UNLOGGED TABLE gateway.import_stage_%1$s (
        type text COLLATE "C" NOT NULL,
        seq bigint NOT NULL,
        file integer NOT NULL, line bigint NOT NULL,
        origin text,                                   -- the row of a source, for example messages/17
        external_id text COLLATE "C" NOT NULL,
        -- The external_id of the record that this record belongs to. For a deletion, the column holds the type of the
        -- deleted record.
        owner text COLLATE "C",
        at timestamptz,                                -- native ids are given in the order of this time
        refs text[], links text[],
        -- The columns of the platform table as JSON. The type jsonb takes three times as long as json (21 November 2026).
        data json NOT NULL,
        PRIMARY KEY (type, seq)
      );
      -- A sample of 3,000 rows is enough for good plans. A sample of 30,000 rows takes 60 ms, which is ten times as long
      -- (21 November 2026).
      ALTER TABLE gateway.import_stage_%1$s ALTER type SET STATISTICS 10, ALTER seq SET STATISTICS 10,
        ALTER external_id SET STATISTICS 10, ALTER owner SET STATISTICS 10;
      CREATE UNLOGGED TABLE gateway.import_chunk_%1$s (
        seq bigint NOT NULL, chunk integer NOT NULL, bytes bytea NOT NULL,
        PRIMARY KEY (seq, chunk)
      );
      ALTER TABLE gateway.import_chunk_%1$s ALTER COLUMN bytes SET STORAGE EXTERNAL;
      CREATE UNLOGGED TABLE gateway.import_plan_%1$s (
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
      CREATE UNLOGGED TABLE gateway.import_reject_%1$s (
        seq bigint NOT NULL, place integer NOT NULL,
        file integer NOT NULL, line bigint NOT NULL, origin text,
        pointer text NOT NULL, code text NOT NULL,
        PRIMARY KEY (seq, place)
      )', slot);
  END LOOP;
END $$;

-- True while the process of a run is alive and has renewed the lease.
CREATE FUNCTION gateway.import_alive(r gateway.import_run) RETURNS boolean LANGUAGE sql STABLE AS $$
  SELECT r.lease_until >= clock_timestamp() AND EXISTS (
    SELECT 1 FROM pg_stat_activity a WHERE a.pid = r.backend AND a.backend_start = r.backend_start)
$$;

-- Takes a slot and its lease. Returns no row while another process runs the same subject, or while no slot is free. An
-- unfinished run of the same subject keeps its slot, so that this run can continue. A statement of a lost process can
-- still hold the row of its run. Then the function returns no row either.
CREATE FUNCTION gateway.import_take(p_subject text, p_source text, p_source_epoch bigint, p_loads boolean) RETURNS TABLE (slot integer, epoch bigint) LANGUAGE plpgsql AS $$
DECLARE
  mine integer;
BEGIN
  -- Two processes with the same subject must not take two slots.
  PERFORM pg_advisory_xact_lock(hashtextextended('gateway.import_take', 0));
  IF EXISTS (SELECT 1 FROM gateway.import_run r WHERE r.subject = p_subject AND gateway.import_alive(r)) THEN RETURN; END IF;
  IF p_loads AND (SELECT count(*) FROM gateway.import_run r WHERE r.loads AND gateway.import_alive(r)) >= 2 THEN RETURN; END IF;
  SELECT r.slot INTO mine FROM gateway.import_run r WHERE r.unfinished AND r.subject = p_subject;
  RETURN QUERY WITH free AS (
    SELECT r.slot FROM gateway.import_run r WHERE NOT gateway.import_alive(r) AND r.slot = coalesce(mine, r.slot)
     ORDER BY r.unfinished, r.lease_until, r.slot LIMIT 1 FOR UPDATE SKIP LOCKED
  )
  UPDATE gateway.import_run r
     SET epoch = r.epoch + 1, lease_until = clock_timestamp() + interval '10 seconds', backend = a.pid, backend_start = a.backend_start,
         unfinished = r.unfinished AND r.subject = p_subject, subject = p_subject, scope = '{}', names = '{}',
         source = p_source, source_epoch = p_source_epoch, loads = p_loads
    FROM free, pg_stat_activity a WHERE r.slot = free.slot AND a.pid = pg_backend_pid()
  RETURNING r.slot, r.epoch;
END $$;

-- Every statement of a run that writes calls this function first. The function locks the run's row until the
-- transaction ends. If another process has taken the run over, the function fails and nothing is written.
--
-- Commits do not wait for the disk. The last commit of the run waits for all earlier commits.
CREATE FUNCTION gateway.import_fence(p_slot integer, p_epoch bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  run gateway.import_run;
BEGIN
  SELECT * INTO run FROM gateway.import_run WHERE slot = p_slot AND epoch = p_epoch FOR KEY SHARE;
  IF NOT FOUND THEN RAISE EXCEPTION 'another import has taken over' USING ERRCODE = 'GW001'; END IF;
  -- A source can be paused, removed or taken over while its run works.
  IF run.source IS NOT NULL THEN
    PERFORM FROM gateway.source s WHERE s.id = run.source AND s.epoch = run.source_epoch AND NOT s.paused FOR KEY SHARE;
    IF NOT FOUND THEN RAISE EXCEPTION 'the source is gone, paused or taken over' USING ERRCODE = 'GW001'; END IF;
  END IF;
  PERFORM set_config('synchronous_commit', 'off', true);
  IF run.snapshots THEN PERFORM set_config('gateway.capture', 'import', true), set_config('gateway.slot', p_slot::text, true); END IF;
END $$;

CREATE FUNCTION gateway.import_beat(p_slot integer, p_epoch bigint) RETURNS void LANGUAGE sql AS $$
  UPDATE gateway.import_run r
     SET lease_until = clock_timestamp() + interval '10 seconds', backend = a.pid, backend_start = a.backend_start
    FROM pg_stat_activity a WHERE r.slot = p_slot AND r.epoch = p_epoch AND a.pid = pg_backend_pid()
$$;

CREATE FUNCTION gateway.import_count(p_slot integer, p_type text, p_step text, p_read bigint, p_written bigint, p_unchanged bigint,
  p_removed bigint, p_rejected bigint) RETURNS void LANGUAGE sql AS $$
  INSERT INTO gateway.import_tally AS t (slot, type, step, read, written, unchanged, removed, rejected)
  VALUES (p_slot, p_type, p_step, p_read, p_written, p_unchanged, p_removed, p_rejected)
  ON CONFLICT (slot, type, step) DO UPDATE
    SET read = t.read + excluded.read, written = t.written + excluded.written, unchanged = t.unchanged + excluded.unchanged,
        removed = t.removed + excluded.removed, rejected = t.rejected + excluded.rejected
$$;

-- Every statement that stages records ends with this function. p_at is the place after the last record: {file, offset,
-- line} for files, {position} for a source. p_read is a list of {type, read, rejected}, one for each record type.
CREATE FUNCTION gateway.import_staged(p_slot integer, p_epoch bigint, p_at jsonb, p_seq bigint, p_read jsonb)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  UPDATE gateway.import_run
     SET file = coalesce((p_at->>'file')::integer, 0), byte_offset = coalesce((p_at->>'offset')::bigint, 0),
         line = coalesce((p_at->>'line')::bigint, 0), position = p_at->'position', seq = p_seq,
         lease_until = clock_timestamp() + interval '10 seconds'
   WHERE slot = p_slot AND epoch = p_epoch;
  IF NOT FOUND THEN RAISE EXCEPTION 'another import has taken over' USING ERRCODE = 'GW001'; END IF;
  PERFORM gateway.import_count(p_slot, r.type, '', r.read, 0, 0, 0, r.rejected)
     FROM jsonb_to_recordset(p_read) AS r (type text, read bigint, rejected bigint);
END $$;

CREATE FUNCTION gateway.import_progress(
  p_slot integer, p_epoch bigint, p_step text, p_ord bigint, p_finished boolean,
  p_type text, p_written bigint, p_unchanged bigint, p_removed bigint, p_rejected bigint
) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM gateway.import_fence(p_slot, p_epoch);
  INSERT INTO gateway.import_step AS s (slot, step, ord, finished) VALUES (p_slot, p_step, p_ord, p_finished)
  ON CONFLICT (slot, step) DO UPDATE SET ord = excluded.ord, finished = excluded.finished;
  IF p_type IS NOT NULL THEN
    PERFORM gateway.import_count(p_slot, p_type, p_step, 0, p_written, p_unchanged, p_removed, p_rejected);
  END IF;
END $$;

-- Sets the organizations of a run. Only one import of files works in an organization at a time: GW003 tells the second
-- one to wait. A run that names no organization works in all of them.
CREATE FUNCTION gateway.import_scope(p_slot integer, p_epoch bigint, p_step text, p_scope bigint[], p_names text[])
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM gateway.import_progress(p_slot, p_epoch, p_step, 0, true, NULL, 0, 0, 0, 0);
  PERFORM pg_advisory_xact_lock(hashtextextended('gateway.import_scope', 0));
  IF (SELECT snapshots FROM gateway.import_run WHERE slot = p_slot) AND EXISTS (
    SELECT 1 FROM gateway.import_run r
     WHERE r.slot <> p_slot AND r.snapshots AND r.unfinished AND (r.scope && p_scope OR r.names && p_names) AND gateway.import_alive(r)) THEN
    RAISE EXCEPTION 'another import works in the same organization' USING ERRCODE = 'GW003';
  END IF;
  UPDATE gateway.import_run SET scope = p_scope, names = p_names WHERE slot = p_slot;
END $$;

-- Appends the collected receipts of a slot, with one call for each website. The calls lock the journals in the same
-- order as every writer.
CREATE FUNCTION gateway.import_settle(p_slot integer) RETURNS void LANGUAGE sql AS $$
  WITH due AS (
    DELETE FROM gateway.import_owed WHERE slot = p_slot RETURNING tenant, site, event_type
  ), websites AS MATERIALIZED (
    SELECT d.tenant, d.site, array_agg(DISTINCT d.event_type ORDER BY d.event_type) AS event_types FROM due d
     WHERE d.event_type NOT LIKE '%.snapshot'
        OR EXISTS (SELECT 1 FROM platform.website w WHERE w.tenant = d.tenant AND w.site = d.site)
     GROUP BY d.tenant, d.site ORDER BY d.tenant, d.site
  )
  SELECT gateway.append_receipts(tenant, site, event_types) FROM websites
$$;

-- Appends the receipts that lost runs have left, because readers can already see the changes of these runs. Returns the
-- number of receipts.
CREATE FUNCTION gateway.settle_abandoned_import() RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  lost integer;
  n integer;
  total integer := 0;
BEGIN
  IF NOT EXISTS (SELECT FROM gateway.import_owed) THEN RETURN 0; END IF;
  FOR lost IN SELECT r.slot FROM gateway.import_run r
               WHERE NOT gateway.import_alive(r) AND EXISTS (SELECT FROM gateway.import_owed o WHERE o.slot = r.slot)
               ORDER BY r.slot FOR UPDATE SKIP LOCKED LOOP
    SELECT count(*) INTO n FROM gateway.import_owed WHERE slot = lost;
    PERFORM gateway.import_settle(lost);
    total := total + n;
  END LOOP;
  RETURN total;
END $$;

CREATE FUNCTION gateway.import_empty(p_slot integer) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE format('TRUNCATE gateway.import_stage_%1$s, gateway.import_chunk_%1$s, gateway.import_plan_%1$s', p_slot);
END $$;

-- Starts a run. Appends the receipts that lost runs have left, and deletes what the last run of this slot has staged.
CREATE FUNCTION gateway.import_begin(p_slot integer, p_epoch bigint, p_sources jsonb, p_organization text, p_snapshots boolean)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  filled boolean;
BEGIN
  PERFORM gateway.import_fence(p_slot, p_epoch);
  PERFORM gateway.import_settle(p_slot), gateway.settle_abandoned_import();
  -- Skip the TRUNCATE of empty tables. This TRUNCATE would still cost 10 ms (21 November 2026).
  EXECUTE format('SELECT EXISTS (SELECT FROM gateway.import_stage_%1$s) OR EXISTS (SELECT FROM gateway.import_chunk_%1$s)
    OR EXISTS (SELECT FROM gateway.import_plan_%1$s)', p_slot) INTO filled;
  IF filled THEN PERFORM gateway.import_empty(p_slot); END IF;
  EXECUTE format('SELECT EXISTS (SELECT FROM gateway.import_reject_%s)', p_slot) INTO filled;
  IF filled THEN EXECUTE format('TRUNCATE gateway.import_reject_%s', p_slot); END IF;
  DELETE FROM gateway.import_tally WHERE slot = p_slot;
  DELETE FROM gateway.import_step WHERE slot = p_slot;
  UPDATE gateway.import_run
     SET unfinished = true, sources = p_sources, organization = p_organization, snapshots = p_snapshots, staged = false, file = 0,
         byte_offset = 0, line = 0, position = NULL, seq = 0, scope = '{}', names = '{}'
   WHERE slot = p_slot;
END $$;

CREATE FUNCTION gateway.import_finish(p_slot integer, p_epoch bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM gateway.import_fence(p_slot, p_epoch);
  PERFORM gateway.import_settle(p_slot);
  PERFORM gateway.import_empty(p_slot);
  UPDATE gateway.import_run SET unfinished = false, scope = '{}', names = '{}' WHERE slot = p_slot;
  PERFORM set_config('synchronous_commit', 'on', true);
END $$;

-- Runs all steps of an import, returns their counts and rejects, and rolls all changes back. A dry run uses this
-- function.
CREATE FUNCTION gateway.import_rehearse(p_slot integer, steps text[], reject_limit integer) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  step text;
  outcome jsonb;
BEGIN
  FOREACH step IN ARRAY steps LOOP
    EXECUTE step;
  END LOOP;
  EXECUTE format('SELECT jsonb_build_object(
    ''tally'', (SELECT coalesce(jsonb_agg(t), ''[]'')
                FROM (SELECT type, sum(read) AS read, sum(written) AS written, sum(unchanged) AS unchanged,
                             sum(removed) AS removed, sum(rejected) AS rejected
                        FROM gateway.import_tally WHERE slot = %1$s GROUP BY type) t),
    ''rejects'', (SELECT coalesce(jsonb_agg(r), ''[]'')
                  FROM (SELECT * FROM gateway.import_reject_%1$s ORDER BY seq, place LIMIT %2$s) r))', p_slot, reject_limit) INTO outcome;
  RAISE EXCEPTION 'rehearsed' USING ERRCODE = 'GW002';
EXCEPTION WHEN SQLSTATE 'GW002' THEN
  RETURN outcome;
END $$;

-- As in 0005_capture.sql. A run of files collects its receipts under its slot.
CREATE OR REPLACE FUNCTION gateway.note_captured(p_noted text, p_fresh text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  mine integer;
BEGIN
  IF p_fresh IS NULL THEN RETURN; END IF;
  IF current_setting('gateway.capture', true) = 'import' THEN
    mine := current_setting('gateway.slot')::integer;
    INSERT INTO gateway.import_owed (slot, tenant, site, event_type)
    SELECT mine, split_part(e, '/', 1)::bigint, split_part(e, '/', 2)::bigint, split_part(e, '/', 3)
      FROM string_to_table(rtrim(p_fresh), ' ') AS e
    EXCEPT SELECT slot, tenant, site, event_type FROM gateway.import_owed WHERE slot = mine;
    RETURN;
  END IF;
  -- Write the note before the row of gateway.capture_due. If constraints are immediate, the trigger of
  -- gateway.capture_due runs at the next statement and reads the note.
  PERFORM set_config('gateway.captured', p_noted || p_fresh, true);
  IF length(p_noted) = coalesce(nullif(current_setting('gateway.appended', true), '')::integer, 0) THEN
    UPDATE gateway.capture_due d SET n = d.n + 1 WHERE d.backend = pg_backend_pid();
    IF NOT FOUND THEN INSERT INTO gateway.capture_due (backend, n) VALUES (pg_backend_pid(), 1); END IF;
  END IF;
END $$;

-- A live source: a helpdesk whose records the gateway reads again and again.
CREATE TABLE gateway.source (
  id text PRIMARY KEY CHECK (id ~ '^src_[a-f0-9]{32}$'),
  tenant bigint NOT NULL REFERENCES platform.organization ON DELETE CASCADE,
  site bigint,                                         -- the website of the account; null until it is written
  kind text NOT NULL,
  account text NOT NULL,                               -- the account in the helpdesk
  mode text NOT NULL CHECK (mode IN ('poll', 'live')),
  period integer NOT NULL CHECK (period > 0),          -- seconds between two polls
  time_zone text NOT NULL,
  storage text,                                        -- the folder with the content of files, on every gateway
  -- The address of the database and the token of the API are encrypted with the operator's keys (src/auth/keys.ts).
  address text NOT NULL,
  api_url text,
  api_token text,
  paused boolean NOT NULL DEFAULT false,
  created_at timestamptz NOT NULL DEFAULT now(),
  -- The lease of the gateway that runs the source. Each take-over raises the epoch.
  epoch bigint NOT NULL DEFAULT 0,
  holder text,
  lease_until timestamptz NOT NULL DEFAULT '-infinity',
  -- From where the source follows. Null before the first load has begun. `loaded` is true after the first load.
  position jsonb,
  loaded boolean NOT NULL DEFAULT false,
  progress jsonb,                                      -- of a load or a comparison: {phase, done, total}
  compare_began timestamptz,                           -- of the comparison that runs, or of the last one
  compared_at timestamptz,                             -- the start of the last comparison that has ended
  compare_asked timestamptz,                           -- `source check` asks for a comparison
  last_success_at timestamptz,
  last_error text,
  failures integer NOT NULL DEFAULT 0,                 -- failed attempts since the last success
  retry_at timestamptz,
  lag_seconds double precision,
  behind bigint,                                       -- changes that wait; null if nobody can count them
  seen_at timestamptz,                                 -- when lag_seconds and behind were measured
  written bigint NOT NULL DEFAULT 0,
  removed bigint NOT NULL DEFAULT 0,
  unmapped jsonb NOT NULL DEFAULT '{}',
  findings jsonb NOT NULL DEFAULT '[]',                -- of the last check
  UNIQUE (tenant, kind, account)
);
CREATE INDEX source_website ON gateway.source (tenant, site);

-- Rows of a source that the gateway could not take. A row that is taken later is deleted here.
CREATE TABLE gateway.source_reject (
  source text NOT NULL REFERENCES gateway.source ON DELETE CASCADE,
  origin text NOT NULL,                                -- the row of the source, for example messages/17
  pointer text NOT NULL,
  code text NOT NULL,
  at timestamptz NOT NULL DEFAULT now(),
  -- A row that waits for another row is tried again, each time after twice the time, up to an hour.
  tries integer NOT NULL DEFAULT 0,
  retry_at timestamptz NOT NULL DEFAULT now() + interval '1 second',
  PRIMARY KEY (source, origin, pointer, code)
);
CREATE INDEX source_reject_retry ON gateway.source_reject (source, retry_at);

-- Seconds by which the store is behind a source. The measured value grows while nobody reads the source. Null before the
-- first load has ended.
CREATE FUNCTION gateway.source_lag(s gateway.source) RETURNS double precision LANGUAGE sql STABLE AS $$
  SELECT s.lag_seconds + CASE WHEN now() - s.seen_at > make_interval(secs => 3 + CASE s.mode WHEN 'poll' THEN s.period ELSE 0 END)
                              THEN extract(epoch FROM now() - s.seen_at) ELSE 0 END
$$;

CREATE FUNCTION gateway.source_state(s gateway.source) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN s.paused THEN 'paused' WHEN s.last_error IS NOT NULL THEN 'failing' WHEN s.loaded THEN 'following' ELSE 'loading' END
$$;

-- Takes the lease of one source that nobody runs: of p_source, or of any source when it is null. Returns no row when
-- there is none.
CREATE FUNCTION gateway.source_take(p_holder text, p_seconds integer, p_source text) RETURNS SETOF gateway.source LANGUAGE sql AS $$
  UPDATE gateway.source s SET epoch = s.epoch + 1, holder = p_holder, lease_until = now() + make_interval(secs => p_seconds)
    FROM (SELECT id FROM gateway.source
           WHERE NOT paused AND lease_until < now()
             AND CASE WHEN p_source IS NULL THEN coalesce(retry_at, '-infinity') <= now() ELSE id = p_source END
           ORDER BY lease_until, id LIMIT 1 FOR UPDATE SKIP LOCKED) free
   WHERE s.id = free.id
  RETURNING s.*
$$;

-- Locks the row of a source until the transaction ends. Fails if another gateway has taken the source over.
CREATE FUNCTION gateway.source_fence(p_source text, p_epoch bigint) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  found_tenant bigint;
BEGIN
  SELECT tenant INTO found_tenant FROM gateway.source WHERE id = p_source AND epoch = p_epoch AND NOT paused FOR NO KEY UPDATE;
  IF NOT FOUND THEN RAISE EXCEPTION 'another gateway has taken the source over' USING ERRCODE = 'GW001'; END IF;
  RETURN found_tenant;
END $$;

-- Replaces the rejects of some rows. p_origins are all rows that were tried, p_rejects is a list of {origin, pointer, code}.
CREATE FUNCTION gateway.source_rejects(p_source text, p_origins text[], p_rejects jsonb) RETURNS void LANGUAGE sql AS $$
  -- Other rows can wait for a row that was taken now. So they are tried at once.
  WITH solved AS (
    DELETE FROM gateway.source_reject s WHERE s.source = p_source AND s.origin = ANY (p_origins) AND NOT EXISTS (
      SELECT FROM jsonb_to_recordset(p_rejects) AS r (origin text, pointer text, code text)
       WHERE r.origin = s.origin AND r.pointer = s.pointer AND r.code = s.code)
    RETURNING s.origin
  )
  UPDATE gateway.source_reject w SET retry_at = now()
   WHERE w.source = p_source AND w.retry_at > now() AND w.code IN ('unknown_reference', 'reference_elsewhere')
     AND w.origin <> ALL (p_origins) AND EXISTS (SELECT FROM solved);
  INSERT INTO gateway.source_reject AS s (source, origin, pointer, code)
  SELECT DISTINCT p_source, r.origin, r.pointer, r.code FROM jsonb_to_recordset(p_rejects) AS r (origin text, pointer text, code text)
  ON CONFLICT (source, origin, pointer, code) DO UPDATE
    SET tries = s.tries + 1, retry_at = now() + make_interval(secs => least(3600, power(2, least(s.tries + 1, 12))))
$$;

-- Writes one page of changes in one transaction: the records, the removals, the rejects and the new position. p_rows has
-- the staged rows. p_refused has the rejects that were found before the page was sent. The commit waits for the disk,
-- because the helpdesk can forget the changes as soon as the page is written.
CREATE FUNCTION gateway.source_page(p_source text, p_epoch bigint, p_position jsonb, p_rows json, p_origins text[],
  p_refused jsonb, p_steps text[]) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  step text;
  outcome jsonb;
BEGIN
  PERFORM gateway.source_fence(p_source, p_epoch);
  IF to_regclass('pg_temp.page_stage') IS NULL THEN
    CREATE TEMPORARY TABLE page_stage (LIKE gateway.import_stage_1 INCLUDING INDEXES) ON COMMIT DELETE ROWS;
    CREATE TEMPORARY TABLE page_plan (LIKE gateway.import_plan_1 INCLUDING INDEXES) ON COMMIT DELETE ROWS;
    CREATE TEMPORARY TABLE page_reject (LIKE gateway.import_reject_1) ON COMMIT DELETE ROWS;
    CREATE TEMPORARY TABLE page_chunk (LIKE gateway.import_chunk_1 INCLUDING INDEXES) ON COMMIT DELETE ROWS;
    CREATE TEMPORARY TABLE page_tally (type text, written bigint, unchanged bigint, removed bigint, rejected bigint) ON COMMIT DELETE ROWS;
  END IF;
  INSERT INTO pg_temp.page_stage (file, type, seq, line, origin, external_id, owner, at, refs, links, data)
  SELECT 0, r.type, r.seq, r.seq, r.origin, r.external_id, r.owner, r.at, r.refs, r.links, r.data
    FROM json_to_recordset(p_rows) AS r (type text, seq bigint, origin text, external_id text, owner text, at timestamptz,
                                         refs text[], links text[], data json);
  FOREACH step IN ARRAY p_steps LOOP
    EXECUTE step;
  END LOOP;
  PERFORM gateway.source_rejects(p_source, p_origins, p_refused || coalesce((
    SELECT jsonb_agg(jsonb_build_object('origin', r.origin, 'pointer', r.pointer, 'code', r.code)) FROM pg_temp.page_reject r), '[]'));
  SELECT jsonb_build_object('written', coalesce(sum(t.written), 0), 'unchanged', coalesce(sum(t.unchanged), 0),
                            'removed', coalesce(sum(t.removed), 0), 'rejected', coalesce(sum(t.rejected), 0))
    INTO outcome FROM pg_temp.page_tally t;
  UPDATE gateway.source
     SET position = coalesce(p_position, position), written = written + (outcome->>'written')::bigint,
         removed = removed + (outcome->>'removed')::bigint
   WHERE id = p_source;
  RETURN outcome;
END $$;

-- Records the counts of one step of a page.
CREATE FUNCTION gateway.page_count(p_type text, p_written bigint, p_unchanged bigint, p_removed bigint, p_rejected bigint)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO pg_temp.page_tally (type, written, unchanged, removed, rejected)
  VALUES (p_type, p_written, p_unchanged, p_removed, p_rejected);
END $$;

-- Finds the records of one note of a helpdesk: cw:1:note:7:1, cw:1:note:7:2, and so on.
CREATE INDEX note_origin ON platform.note (tenant, external_id text_pattern_ops);

-- Empties the slots in which a lost process read a source that is removed now.
CREATE FUNCTION gateway.source_forget(p_source text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  left_over integer;
BEGIN
  FOR left_over IN SELECT r.slot FROM gateway.import_run r
                    WHERE r.unfinished AND r.subject IN (p_source, p_source || ' files') AND NOT gateway.import_alive(r)
                    FOR UPDATE SKIP LOCKED LOOP
    PERFORM gateway.import_empty(left_over);
    UPDATE gateway.import_run SET unfinished = false WHERE slot = left_over;
  END LOOP;
END $$;
