-- Several writers of records run side by side: imports of files, and live sources (helpdesks). A writer that stages its
-- records uses a slot. A page of changes of a source needs no slot, because one transaction writes the page.
--
-- Every slot has its own staging tables. So the end of one run can truncate its tables without waiting for other runs.

-- A run is the work of one writer in its slot. Every statement of the run locks the row FOR KEY SHARE, so several statements
-- can run at the same time. Another process can take the run over only when no statement holds the row. In addition, the
-- lease must have expired, or the connection of the process must be gone.
CREATE TABLE gateway.import_run (
  -- Each take-over of the run raises this number. After that, statements of the earlier process fail.
  epoch bigint NOT NULL DEFAULT 0,
  lease_until timestamptz NOT NULL DEFAULT '-infinity',
  backend integer, backend_start timestamptz,          -- one connection of the process
  unfinished boolean NOT NULL DEFAULT false,
  -- The files of an import: name, size, time and a digest of the first bytes of each file.
  sources jsonb,
  -- The organization in which references are looked up, if the caller has named an organization. Otherwise null.
  organization text,
  staged boolean NOT NULL DEFAULT false,
  file integer NOT NULL DEFAULT 0,
  byte_offset bigint NOT NULL DEFAULT 0,
  line bigint NOT NULL DEFAULT 0,
  seq bigint NOT NULL DEFAULT 0,
  -- Numbers of the organizations in which references are looked up.
  scope bigint[] NOT NULL DEFAULT '{}',
  slot integer PRIMARY KEY,
  subject text NOT NULL DEFAULT '',                    -- what is read: the files, or the source
  -- True for files: the end of the run appends one snapshot for each website and event family. False for sources: each
  -- transaction appends its changes.
  snapshots boolean NOT NULL DEFAULT true,
  -- The external_ids of the organizations that the run names. With `scope`, they keep a second import of files away.
  names text[] NOT NULL DEFAULT '{}',
  -- Where a source continues to load. Files use the columns file, byte_offset and line.
  position jsonb,
  -- The source that is read, and the epoch of its lease. Null for files.
  source text,
  source_epoch bigint,
  -- True for a load or a comparison of a source. Only two of them run at a time, so that imports of files find a slot.
  loads boolean NOT NULL DEFAULT false,
  -- While a load waits for its next turn, no other run empties the slot with its staged records.
  kept_until timestamptz NOT NULL DEFAULT '-infinity',
  -- The time that a load takes. Waiting for other loads and imports does not count.
  spent interval NOT NULL DEFAULT '0',                 -- while the load works, and while its helpdesk answers
  spent_at timestamptz NOT NULL DEFAULT clock_timestamp(), -- `spent` counts until here
  -- How long the load has waited for its helpdesk since the last window began, and the answers that came.
  waited interval NOT NULL DEFAULT '0',
  answers integer NOT NULL DEFAULT 0,
  checked boolean NOT NULL DEFAULT false               -- true if the records have digests (26_erasure.sql)
);

-- The staging tables of the first slot. The tables of the other slots are copies (gateway.import_add_slot). A crash of
-- PostgreSQL empties UNLOGGED tables. After such a crash, the run starts again with its first record.
CREATE UNLOGGED TABLE gateway.import_stage_1 (
  type text COLLATE "C" NOT NULL,
  seq bigint NOT NULL,
  file integer NOT NULL, line bigint NOT NULL,
  origin text,                                         -- the row of a source, for example messages/17
  external_id text COLLATE "C" NOT NULL,
  -- The external_id of the record that this record belongs to. For a deletion, the column holds the type of the deleted
  -- record.
  owner text COLLATE "C",
  at timestamptz,                                      -- native ids are given in the order of this time
  refs text[], links text[],
  -- The columns of the platform table as JSON. The type jsonb takes three times as long as json (21 November 2026).
  data json NOT NULL,
  -- The digest of the record's own external_id first, then of what it names (src/sources/engine/digests.ts).
  digests text[],
  PRIMARY KEY (type, seq)
);
-- A sample of 3,000 rows is enough for good plans. A sample of 30,000 rows takes 60 ms, which is ten times as long (21
-- November 2026).
ALTER TABLE gateway.import_stage_1 ALTER type SET STATISTICS 10, ALTER seq SET STATISTICS 10,
  ALTER external_id SET STATISTICS 10, ALTER owner SET STATISTICS 10;
CREATE UNLOGGED TABLE gateway.import_chunk_1 (
  seq bigint NOT NULL, chunk integer NOT NULL, bytes bytea NOT NULL,
  PRIMARY KEY (seq, chunk)
);
ALTER TABLE gateway.import_chunk_1 ALTER COLUMN bytes SET STORAGE EXTERNAL;
CREATE UNLOGGED TABLE gateway.import_plan_1 (
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
CREATE UNLOGGED TABLE gateway.import_reject_1 (
  seq bigint NOT NULL, place integer NOT NULL,
  file integer NOT NULL, line bigint NOT NULL, origin text,
  pointer text NOT NULL, code text NOT NULL,
  PRIMARY KEY (seq, place)
);
INSERT INTO gateway.import_run (slot) VALUES (1);

-- Adds a slot and its tables. Returns null if the store has the most slots: eight gateways of eight loads that wait.
CREATE FUNCTION gateway.import_add_slot() RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  added integer := (SELECT max(r.slot) + 1 FROM gateway.import_run r);
BEGIN
  IF added > 64 THEN RETURN NULL; END IF;
  -- LIKE does not copy the size of a sample.
  EXECUTE format('
    CREATE UNLOGGED TABLE gateway.import_stage_%1$s (LIKE gateway.import_stage_1 INCLUDING ALL);
    ALTER TABLE gateway.import_stage_%1$s ALTER type SET STATISTICS 10, ALTER seq SET STATISTICS 10,
      ALTER external_id SET STATISTICS 10, ALTER owner SET STATISTICS 10;
    CREATE UNLOGGED TABLE gateway.import_plan_%1$s (LIKE gateway.import_plan_1 INCLUDING ALL);
    CREATE UNLOGGED TABLE gateway.import_chunk_%1$s (LIKE gateway.import_chunk_1 INCLUDING ALL);
    CREATE UNLOGGED TABLE gateway.import_reject_%1$s (LIKE gateway.import_reject_1 INCLUDING ALL)', added);
  INSERT INTO gateway.import_run (slot) VALUES (added);
  RETURN added;
END $$;
-- Twelve slots to begin with: three runs work at a time, one more writes the content of files, and eight loads wait.
SELECT gateway.import_add_slot() FROM generate_series(2, 12);

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

-- True while the process of a run is alive and has renewed the lease.
CREATE FUNCTION gateway.import_alive(r gateway.import_run) RETURNS boolean LANGUAGE sql STABLE AS $$
  SELECT r.lease_until >= clock_timestamp() AND EXISTS (
    SELECT 1 FROM pg_stat_activity a WHERE a.pid = r.backend AND a.backend_start = r.backend_start)
$$;

-- True if another subject can take the slot.
CREATE FUNCTION gateway.import_free(r gateway.import_run) RETURNS boolean LANGUAGE sql STABLE AS $$
  SELECT NOT gateway.import_alive(r) AND (NOT r.unfinished OR r.kept_until <= clock_timestamp())
$$;

-- Takes a slot and its lease. Returns no row while another process runs the same subject, or while the caller must wait. An
-- unfinished run of the same subject keeps its slot, so that this run can continue. A statement of a lost process can still
-- hold the row of its run. Then the function returns no row either.
--
-- A place is the right to work: two loads have one, and three loads and imports of files together. One more run writes the
-- content of files that a followed source brings, because such a source would otherwise wait for imports of other
-- organizations. Loads take turns: the organization whose last turn is the oldest comes first, and a waiting import of files
-- comes before every load. A caller that gets no slot is noted, so that a load whose turn has ended yields.
--
-- A load that waits has no place. Its slot only holds its staged records, and a further slot is added when all are in use. A
-- load that finds no slot holds up nobody: it stands in no queue until a slot is free.
CREATE FUNCTION gateway.import_take(p_subject text, p_source text, p_source_epoch bigint, p_loads boolean)
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

-- True if somebody waits for a slot.
CREATE FUNCTION gateway.import_wanted(p_slot integer) RETURNS boolean LANGUAGE sql AS $$
  SELECT EXISTS (SELECT FROM gateway.import_wait w
    WHERE w.seen_at > clock_timestamp() - interval '2 seconds'
      AND w.subject <> (SELECT r.subject FROM gateway.import_run r WHERE r.slot = p_slot))
$$;

-- Renews the lease of a run that works. A run that has given its place back stays without one, although a renewal can come
-- later than that.
CREATE FUNCTION gateway.import_beat(p_slot integer, p_epoch bigint) RETURNS void LANGUAGE sql AS $$
  UPDATE gateway.import_run r
     SET lease_until = clock_timestamp() + interval '10 seconds', backend = a.pid, backend_start = a.backend_start
    FROM pg_stat_activity a WHERE r.slot = p_slot AND r.epoch = p_epoch AND r.backend IS NOT NULL AND a.pid = pg_backend_pid()
$$;

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
