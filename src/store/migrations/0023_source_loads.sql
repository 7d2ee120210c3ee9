-- The time that a load takes. Waiting for other loads and imports does not count.
ALTER TABLE gateway.import_run
  ADD COLUMN spent interval NOT NULL DEFAULT '0',      -- while the load works, and while its helpdesk answers
  ADD COLUMN spent_at timestamptz NOT NULL DEFAULT clock_timestamp(), -- `spent` counts until here
  -- How long the load has waited for its helpdesk since the last window began, and the answers that came.
  ADD COLUMN waited interval NOT NULL DEFAULT '0',
  ADD COLUMN answers integer NOT NULL DEFAULT 0;

-- Why the last comparison was given up. Null after a comparison that has ended.
ALTER TABLE gateway.source ADD COLUMN compare_error text;

-- Counts the time of a load. Says why the load must stop: `slow` if the helpdesk answered too rarely while the load waited,
-- `long` if the load took too much time. While the load has no place, this extends the time for which nobody empties its slot.
CREATE FUNCTION gateway.import_spend(p_slot integer, p_epoch bigint, p_waited interval, p_answers integer,
  p_window interval, p_fewest integer, p_total interval) RETURNS text LANGUAGE sql AS $$
  UPDATE gateway.import_run r
     SET spent = r.spent + (clock_timestamp() - r.spent_at), spent_at = clock_timestamp(),
         waited = CASE WHEN r.answers + p_answers < p_fewest THEN r.waited + p_waited ELSE '0' END,
         answers = CASE WHEN r.answers + p_answers < p_fewest THEN r.answers + p_answers ELSE 0 END,
         kept_until = CASE WHEN r.backend IS NULL THEN clock_timestamp() + interval '2 minutes' ELSE r.kept_until END
   WHERE r.slot = p_slot AND r.epoch = p_epoch
  RETURNING CASE WHEN spent > p_total THEN 'long' WHEN waited > p_window THEN 'slow' END
$$;

-- Begins a run from zero, as before (0017_sources.sql). The time that an abandoned load took counts no more.
CREATE OR REPLACE FUNCTION gateway.import_begin(p_slot integer, p_epoch bigint, p_sources jsonb, p_organization text, p_snapshots boolean)
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

-- True if another subject can take the slot.
CREATE FUNCTION gateway.import_free(r gateway.import_run) RETURNS boolean LANGUAGE sql STABLE AS $$
  SELECT NOT gateway.import_alive(r) AND (NOT r.unfinished OR r.kept_until <= clock_timestamp())
$$;

-- Adds a slot and its tables. Returns null if the store has the most slots: eight gateways of eight loads that wait.
CREATE FUNCTION gateway.import_add_slot() RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  added integer := (SELECT max(r.slot) + 1 FROM gateway.import_run r);
BEGIN
  IF added > 64 THEN RETURN NULL; END IF;
  EXECUTE format('
    CREATE UNLOGGED TABLE gateway.import_stage_%1$s (LIKE gateway.import_stage_1 INCLUDING ALL);
    CREATE UNLOGGED TABLE gateway.import_plan_%1$s (LIKE gateway.import_plan_1 INCLUDING ALL);
    CREATE UNLOGGED TABLE gateway.import_chunk_%1$s (LIKE gateway.import_chunk_1 INCLUDING ALL);
    CREATE UNLOGGED TABLE gateway.import_reject_%1$s (LIKE gateway.import_reject_1 INCLUDING ALL)', added);
  INSERT INTO gateway.import_run (slot) VALUES (added);
  RETURN added;
END $$;

-- Takes a slot and its lease, as before (0022_source_turns.sql). A place is the right to work: two loads have one, and three
-- loads and imports of files together. A load that waits has no place. Its slot only holds its staged records, and a further
-- slot is added when all are in use. A load that finds no slot holds up nobody: it stands in no queue until a slot is free.
CREATE OR REPLACE FUNCTION gateway.import_take(p_subject text, p_source text, p_source_epoch bigint, p_loads boolean)
RETURNS TABLE (slot integer, epoch bigint) LANGUAGE plpgsql AS $$
DECLARE
  mine integer;
  free integer;
  owner bigint := (SELECT s.tenant FROM gateway.source s WHERE s.id = p_source);
  turn timestamptz := coalesce((SELECT t.at FROM gateway.import_turn t WHERE t.tenant = owner), '-infinity');
  waits timestamptz := coalesce((SELECT w.since FROM gateway.import_wait w WHERE w.subject = p_subject), clock_timestamp());
  loading integer;
  working integer;
  loads_ahead integer;
  files_ahead integer;
  may boolean := true;
BEGIN
  -- Two processes with the same subject must not take two slots.
  PERFORM pg_advisory_xact_lock(hashtextextended('gateway.import_take', 0));
  IF EXISTS (SELECT 1 FROM gateway.import_run r WHERE r.subject = p_subject AND gateway.import_alive(r)) THEN RETURN; END IF;
  SELECT r.slot INTO mine FROM gateway.import_run r WHERE r.unfinished AND r.subject = p_subject;
  IF p_loads OR p_source IS NULL THEN
    SELECT count(*) FILTER (WHERE r.loads), count(*) INTO loading, working
      FROM gateway.import_run r WHERE (r.loads OR r.source IS NULL) AND gateway.import_alive(r);
    SELECT count(*) FILTER (WHERE w.loads AND (coalesce(t.at, '-infinity'), w.since, w.subject) < (turn, waits, p_subject)),
           count(*) FILTER (WHERE NOT w.loads)
      INTO loads_ahead, files_ahead
      FROM gateway.import_wait w LEFT JOIN gateway.import_turn t USING (tenant)
     WHERE w.subject <> p_subject AND w.seen_at > clock_timestamp() - interval '2 seconds';
    may := CASE WHEN p_loads THEN loading + loads_ahead < 2 AND working + loads_ahead + files_ahead < 3 ELSE working < 3 END;
  END IF;
  IF may THEN
    SELECT r.slot INTO free FROM gateway.import_run r
     WHERE CASE WHEN mine IS NULL THEN gateway.import_free(r) ELSE r.slot = mine AND NOT gateway.import_alive(r) END
     ORDER BY r.unfinished, r.lease_until, r.slot LIMIT 1 FOR UPDATE SKIP LOCKED;
    -- A free slot that another transaction has locked is taken by the next look.
    IF free IS NULL AND mine IS NULL AND NOT EXISTS (SELECT FROM gateway.import_run r WHERE gateway.import_free(r)) THEN
      free := gateway.import_add_slot();
      IF free IS NULL THEN
        DELETE FROM gateway.import_wait w WHERE w.subject = p_subject;
        RETURN;
      END IF;
    END IF;
    RETURN QUERY UPDATE gateway.import_run r
       SET epoch = r.epoch + 1, lease_until = clock_timestamp() + interval '10 seconds', backend = a.pid, backend_start = a.backend_start,
           unfinished = r.unfinished AND r.subject = p_subject, subject = p_subject, scope = '{}', names = '{}',
           source = p_source, source_epoch = p_source_epoch, loads = p_loads, kept_until = '-infinity', spent_at = clock_timestamp(),
           spent = CASE WHEN r.slot = mine THEN r.spent ELSE '0' END, waited = CASE WHEN r.slot = mine THEN r.waited ELSE '0' END,
           answers = CASE WHEN r.slot = mine THEN r.answers ELSE 0 END
      FROM pg_stat_activity a WHERE r.slot = free AND a.pid = pg_backend_pid()
    RETURNING r.slot, r.epoch;
    IF FOUND THEN
      DELETE FROM gateway.import_wait w WHERE w.subject = p_subject OR w.seen_at < clock_timestamp() - interval '1 hour';
      IF p_loads THEN
        INSERT INTO gateway.import_turn AS t (tenant, at) VALUES (owner, clock_timestamp())
        ON CONFLICT (tenant) DO UPDATE SET at = excluded.at;
      END IF;
      RETURN;
    END IF;
  END IF;
  UPDATE gateway.import_run r SET kept_until = clock_timestamp() + interval '2 minutes' WHERE r.slot = mine AND r.loads AND p_loads;
  IF p_loads OR p_source IS NULL THEN
    INSERT INTO gateway.import_wait AS w (subject, tenant, loads) VALUES (p_subject, owner, p_loads)
    ON CONFLICT (subject) DO UPDATE SET seen_at = excluded.seen_at,
      since = CASE WHEN w.seen_at < excluded.seen_at - interval '30 seconds' THEN excluded.since ELSE w.since END;
  END IF;
END $$;

-- Renews the lease of a run that works, as before (0017_sources.sql). A run that has given its place back stays without one,
-- although a renewal can come later than that.
CREATE OR REPLACE FUNCTION gateway.import_beat(p_slot integer, p_epoch bigint) RETURNS void LANGUAGE sql AS $$
  UPDATE gateway.import_run r
     SET lease_until = clock_timestamp() + interval '10 seconds', backend = a.pid, backend_start = a.backend_start
    FROM pg_stat_activity a WHERE r.slot = p_slot AND r.epoch = p_epoch AND r.backend IS NOT NULL AND a.pid = pg_backend_pid()
$$;
