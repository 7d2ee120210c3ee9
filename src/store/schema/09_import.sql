-- A run stages all records, resolves references, and writes rows in batches. Each statement also records the progress of the
-- run in the same transaction. So a killed run can continue after the last committed batch.
CREATE TABLE gateway.import_step (
  step text NOT NULL,
  ord bigint NOT NULL,                                 -- planned rows up to this number are written
  finished boolean NOT NULL,
  slot integer NOT NULL,
  PRIMARY KEY (slot, step)
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
  slot integer NOT NULL,
  suppressed bigint NOT NULL DEFAULT 0,                -- left out, because the person was erased
  PRIMARY KEY (slot, type, step)
);

-- Receipts for imported data that are not in the journal yet. A statement stores the receipts together with the data,
-- and the end of the import appends them to the journal. If an import is lost, the next import appends these receipts
-- first.
--
-- The table has no unique key, because parallel statements would then wait for each other. Each statement inserts only
-- receipts that are not in the table yet.
CREATE TABLE gateway.import_owed (
  tenant bigint NOT NULL, site bigint NOT NULL, event_type text NOT NULL, slot integer NOT NULL
);

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
  PERFORM gateway.refuse_moved(o.tenant) FROM platform.organization o
    WHERE o.moved_to IS NOT NULL AND o.tenant = ANY (p_scope) AND o.external_id = ANY (p_names);
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

-- Starts a run from zero. Appends the receipts that lost runs have left, and deletes what the last run of this slot has
-- staged. The time that an abandoned load took does not count any more.
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
         byte_offset = 0, line = 0, position = NULL, seq = 0, scope = '{}', names = '{}', spent = '0', waited = '0', answers = 0
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
                             sum(removed) AS removed, sum(rejected) AS rejected, sum(suppressed) AS suppressed
                        FROM gateway.import_tally WHERE slot = %1$s GROUP BY type) t),
    ''rejects'', (SELECT coalesce(jsonb_agg(r), ''[]'')
                  FROM (SELECT * FROM gateway.import_reject_%1$s ORDER BY seq, place LIMIT %2$s) r))', p_slot, reject_limit) INTO outcome;
  RAISE EXCEPTION 'rehearsed' USING ERRCODE = 'GW002';
EXCEPTION WHEN SQLSTATE 'GW002' THEN
  RETURN outcome;
END $$;

-- Lets the list grow to 1 MB in this transaction, if p_bulk is true. The trigger can run before this function or after it.
CREATE FUNCTION gateway.import_bulk(p_bulk boolean) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM set_config('gateway.bulk', CASE WHEN p_bulk THEN 'on' ELSE '' END, true),
          set_config('gin_pending_list_limit', CASE WHEN p_bulk THEN '1024' ELSE '256' END, true);
END $$;
