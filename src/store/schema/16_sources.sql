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
  compare_error text,                                  -- why the last comparison was given up; null after one that has ended
  suppressed bigint NOT NULL DEFAULT 0,                -- records left out, because the person was erased
  -- When somebody asked for the removal of the source with its website, which takes many short statements
  -- (src/store/administration/removal.ts). The time stays until the website is gone, so whoever comes next can finish.
  removing_at timestamptz,
  CHECK (removing_at IS NULL OR paused),
  UNIQUE (tenant, kind, account)
);
CREATE INDEX source_website ON gateway.source (tenant, site);

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
  SELECT set_config('gateway.machine', 'on', true);
  UPDATE gateway.source s SET epoch = s.epoch + 1, holder = p_holder, lease_until = now() + make_interval(secs => p_seconds)
    FROM (SELECT id FROM gateway.source
           WHERE NOT paused AND lease_until < now() AND gateway.lives_here(tenant)
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
  SELECT tenant INTO found_tenant FROM gateway.source WHERE id = p_source AND epoch = p_epoch AND NOT paused AND gateway.lives_here(tenant) FOR NO KEY UPDATE;
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
-- because the helpdesk can forget the changes as soon as the page is written. Returns the counts, and as `refused` the rejects
-- that the steps found.
CREATE FUNCTION gateway.source_page(p_source text, p_epoch bigint, p_position jsonb, p_rows json, p_origins text[],
  p_refused jsonb, p_steps text[]) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  step text;
  outcome jsonb;
  refused jsonb;
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
  SELECT coalesce(jsonb_agg(jsonb_build_object('origin', r.origin, 'pointer', r.pointer, 'code', r.code)), '[]')
    INTO refused FROM pg_temp.page_reject r;
  PERFORM gateway.source_rejects(p_source, p_origins, p_refused || refused);
  SELECT jsonb_build_object('written', coalesce(sum(t.written), 0), 'unchanged', coalesce(sum(t.unchanged), 0),
                            'removed', coalesce(sum(t.removed), 0), 'rejected', coalesce(sum(t.rejected), 0),
                            'refused', refused)
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
