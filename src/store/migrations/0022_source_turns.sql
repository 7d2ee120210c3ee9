-- The helpdesk whose records a website holds. `account` and `installation` are digests of values that never change there.
-- Another helpdesk with the same account number must not take the website over.
CREATE TABLE gateway.source_installation (
  tenant bigint NOT NULL,
  site bigint NOT NULL,
  account text NOT NULL,
  installation text,                                   -- null where the helpdesk's own identifier cannot be read
  PRIMARY KEY (tenant, site),
  FOREIGN KEY (tenant, site) REFERENCES platform.website ON DELETE CASCADE
);

-- Who waits for a slot. `seen_at` is the last attempt: an entry without attempts does not count.
CREATE UNLOGGED TABLE gateway.import_wait (
  subject text PRIMARY KEY,
  tenant bigint,                                       -- of a source; null for files
  loads boolean NOT NULL,
  since timestamptz NOT NULL DEFAULT clock_timestamp(),
  seen_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
-- When an organization last took a slot for a load. The organization whose time is the oldest takes the next slot.
CREATE UNLOGGED TABLE gateway.import_turn (tenant bigint PRIMARY KEY, at timestamptz NOT NULL);
-- While a load waits for its next turn, no other run empties the slot with its staged records.
ALTER TABLE gateway.import_run ADD COLUMN kept_until timestamptz NOT NULL DEFAULT '-infinity';

-- More slots: a load that waits for its next turn keeps its staged records. Still at most three runs work at a time, and one
-- more for the content of files.
DO $$
BEGIN
  FOR slot IN 5..12 LOOP
    EXECUTE format('
      CREATE UNLOGGED TABLE gateway.import_stage_%1$s (LIKE gateway.import_stage_1 INCLUDING ALL);
      CREATE UNLOGGED TABLE gateway.import_plan_%1$s (LIKE gateway.import_plan_1 INCLUDING ALL);
      CREATE UNLOGGED TABLE gateway.import_chunk_%1$s (LIKE gateway.import_chunk_1 INCLUDING ALL);
      CREATE UNLOGGED TABLE gateway.import_reject_%1$s (LIKE gateway.import_reject_1 INCLUDING ALL)', slot);
  END LOOP;
END $$;
INSERT INTO gateway.import_run (slot) SELECT generate_series(5, 12);

-- Takes a slot and its lease, as before (0020_source_bounds.sql). Now loads take turns: the organization whose last turn is
-- the oldest comes first, and a waiting import of files comes before every load. A caller that gets no slot is noted, so that
-- a load whose turn has ended yields. At most eight loads keep their records while they wait, and at most two loads of an
-- organization are under way. A further load waits for them. Until then nobody waits for it, or the loads that it waits for
-- would wait for it too.
CREATE OR REPLACE FUNCTION gateway.import_take(p_subject text, p_source text, p_source_epoch bigint, p_loads boolean)
RETURNS TABLE (slot integer, epoch bigint) LANGUAGE plpgsql AS $$
DECLARE
  mine integer;
  owner bigint := (SELECT s.tenant FROM gateway.source s WHERE s.id = p_source);
  turn timestamptz := coalesce((SELECT t.at FROM gateway.import_turn t WHERE t.tenant = owner), '-infinity');
  waits timestamptz := coalesce((SELECT w.since FROM gateway.import_wait w WHERE w.subject = p_subject), clock_timestamp());
  loading integer;
  working integer;
  loads_ahead integer;
  files_ahead integer;
  room boolean;
  may boolean := true;
BEGIN
  -- Two processes with the same subject must not take two slots.
  PERFORM pg_advisory_xact_lock(hashtextextended('gateway.import_take', 0));
  IF EXISTS (SELECT 1 FROM gateway.import_run r WHERE r.subject = p_subject AND gateway.import_alive(r)) THEN RETURN; END IF;
  SELECT r.slot INTO mine FROM gateway.import_run r WHERE r.unfinished AND r.subject = p_subject;
  IF p_loads OR p_source IS NULL THEN
    SELECT count(*) FILTER (WHERE r.loads), count(*) INTO loading, working
      FROM gateway.import_run r WHERE (r.loads OR r.source IS NULL) AND gateway.import_alive(r);
    WITH run AS MATERIALIZED (
      SELECT r.subject, r.unfinished, s.tenant, r.loads AND alive AS works,
             r.unfinished AND r.kept_until > clock_timestamp() AND NOT alive AS kept
        FROM gateway.import_run r LEFT JOIN gateway.source s ON s.id = r.source, gateway.import_alive(r) alive
    ), asks AS (
      SELECT w.subject, w.loads, w.tenant, (coalesce(t.at, '-infinity'), w.since, w.subject) < (turn, waits, p_subject) AS ahead
        FROM gateway.import_wait w LEFT JOIN gateway.import_turn t USING (tenant)
       WHERE w.subject <> p_subject AND w.seen_at > clock_timestamp() - interval '2 seconds'
      UNION ALL SELECT p_subject, p_loads, owner, NULL
    ), answers AS (
      SELECT a.loads, a.ahead, EXISTS (SELECT FROM run WHERE run.unfinished AND run.subject = a.subject)
             OR (SELECT count(*) FROM run WHERE run.kept) < 8
            AND (SELECT count(*) FROM run WHERE run.tenant = a.tenant AND (run.works OR run.kept)) < 2 AS room
        FROM asks a
    )
    SELECT count(*) FILTER (WHERE a.loads AND a.ahead AND a.room), count(*) FILTER (WHERE NOT a.loads AND a.ahead IS NOT NULL),
           bool_or(a.room) FILTER (WHERE a.ahead IS NULL)
      INTO loads_ahead, files_ahead, room FROM answers a;
    may := CASE WHEN p_loads THEN loading + loads_ahead < 2 AND working + loads_ahead + files_ahead < 3 AND room
                ELSE working < 3 END;
  END IF;
  IF may THEN
    RETURN QUERY WITH free AS (
      SELECT r.slot FROM gateway.import_run r
       WHERE NOT gateway.import_alive(r) AND r.slot = coalesce(mine, r.slot)
         AND (r.slot = mine OR NOT r.unfinished OR r.kept_until <= clock_timestamp())
       ORDER BY r.unfinished, r.lease_until, r.slot LIMIT 1 FOR UPDATE SKIP LOCKED
    )
    UPDATE gateway.import_run r
       SET epoch = r.epoch + 1, lease_until = clock_timestamp() + interval '10 seconds', backend = a.pid, backend_start = a.backend_start,
           unfinished = r.unfinished AND r.subject = p_subject, subject = p_subject, scope = '{}', names = '{}',
           source = p_source, source_epoch = p_source_epoch, loads = p_loads, kept_until = '-infinity'
      FROM free, pg_stat_activity a WHERE r.slot = free.slot AND a.pid = pg_backend_pid()
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

-- True if somebody waits for a slot.
CREATE FUNCTION gateway.import_wanted(p_slot integer) RETURNS boolean LANGUAGE sql AS $$
  SELECT EXISTS (SELECT FROM gateway.import_wait w
    WHERE w.seen_at > clock_timestamp() - interval '2 seconds'
      AND w.subject <> (SELECT r.subject FROM gateway.import_run r WHERE r.slot = p_slot))
$$;
