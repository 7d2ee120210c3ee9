-- The journal is the list of all changes. An entry is a receipt, which says that something changed and has no content.
-- Subscriptions, webhooks and realtime sockets read the journal.

-- Each website has one counter row. So the positions of its journal have no gaps and follow the order of commits.
CREATE TABLE gateway.journal_head (
  tenant bigint NOT NULL, site bigint NOT NULL, position bigint NOT NULL,
  -- A JSON object with the time of the last receipt for each event family, in Unix milliseconds.
  last_at jsonb NOT NULL DEFAULT '{}',
  -- All receipts up to this position have been removed because of their age.
  trimmed bigint NOT NULL DEFAULT 0 CHECK (trimmed BETWEEN 0 AND position),
  notified_at timestamptz NOT NULL DEFAULT '-infinity', -- the time of the last notification to listeners
  notified bigint NOT NULL DEFAULT 0,                   -- the position at the time of the last notification
  PRIMARY KEY (tenant, site)
);

CREATE TABLE gateway.journal (
  tenant bigint NOT NULL, site bigint NOT NULL, position bigint NOT NULL,
  event_type text NOT NULL CHECK (event_type ~
    '^(conversation|visitor|operator|queue|website|privacy|capture)\.(changed|removed|snapshot|gap|heartbeat)$'),
  occurred_at timestamptz NOT NULL,
  recorded_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (tenant, site, position)
);

-- A row stops the delivery of an event family on a website. Receipts of this family are still recorded, but no reader
-- gets them until the row is deleted.
CREATE TABLE gateway.family_hold (
  tenant bigint NOT NULL, site bigint NOT NULL,
  family text NOT NULL CHECK (family IN ('conversation', 'visitor', 'operator', 'queue', 'website', 'privacy', 'capture')),
  held_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (tenant, site, family),
  FOREIGN KEY (tenant, site) REFERENCES platform.website ON DELETE CASCADE
);

-- Appends receipts to the journal of a website. The counter row of the website stays locked until the commit. So
-- positions have no gaps and follow the order of commits.
--
-- Listeners on `gateway_journal` get '<tenant> <site>' at most once in 25 ms. NOTIFY takes a lock of the whole server
-- at the commit, so more notifications would cost too much. Listeners also look into the journal at intervals, so they
-- miss nothing.
--
-- The function is in PL/pgSQL, because PostgreSQL plans an SQL function again at each call (26 µs against 52 µs, 21
-- November 2026).
CREATE FUNCTION gateway.append_receipts(p_tenant bigint, p_site bigint, event_types text[]) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  n integer := cardinality(event_types);
  moment timestamptz := clock_timestamp();
  at bigint := floor(extract(epoch FROM moment) * 1000);
  moments jsonb := '{}';
  last bigint;
  tell boolean;
BEGIN
  -- The commit must wait for the disk. If a crash lost a receipt that a reader has seen, another receipt would get the
  -- same position.
  IF current_setting('synchronous_commit') = 'off' THEN PERFORM set_config('synchronous_commit', 'on', true); END IF;
  FOR i IN 1..n LOOP
    moments := moments || jsonb_build_object(split_part(event_types[i], '.', 1), at);
  END LOOP;
  LOOP
    -- notified_at can be a little later than `moment`, if this transaction has waited for the row. If notified_at is
    -- more than a minute later, the clock was set back. In this case, notify at once.
    UPDATE gateway.journal_head h SET
      position = h.position + n,
      last_at = h.last_at || moments,
      notified_at = CASE WHEN h.notified_at BETWEEN moment - interval '25 milliseconds' AND moment + interval '1 minute'
                         THEN h.notified_at ELSE moment END,
      notified = CASE WHEN h.notified_at BETWEEN moment - interval '25 milliseconds' AND moment + interval '1 minute'
                      THEN h.notified ELSE h.position + n END
     WHERE h.tenant = p_tenant AND h.site = p_site
    RETURNING h.position, h.notified = h.position INTO last, tell;
    EXIT WHEN FOUND;
    INSERT INTO gateway.journal_head (tenant, site, position) VALUES (p_tenant, p_site, 0) ON CONFLICT DO NOTHING;
  END LOOP;
  -- Usually there is one receipt. The plan for one receipt is cheaper than the plan for many receipts.
  IF n = 1 THEN
    INSERT INTO gateway.journal (tenant, site, position, event_type, occurred_at)
    VALUES (p_tenant, p_site, last, event_types[1], now());
  ELSE
    INSERT INTO gateway.journal (tenant, site, position, event_type, occurred_at)
    SELECT p_tenant, p_site, last - n + e.i, e.event_type, now() FROM unnest(event_types) WITH ORDINALITY AS e (event_type, i);
  END IF;
  IF tell THEN PERFORM pg_notify('gateway_journal', p_tenant || ' ' || p_site); END IF;
END $$;

-- Removes old receipts from the start of each journal. A receipt is old if it is older than p_age. Removes at most n
-- receipts and returns the number of removed receipts. Only one call works at a time. Any other call returns 0.
CREATE FUNCTION gateway.trim_journals(p_age interval, n integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  h record;
  last bigint;
  removed integer;
  total integer := 0;
BEGIN
  IF NOT pg_try_advisory_xact_lock(hashtextextended('gateway.trim_journals', 0)) THEN RETURN 0; END IF;
  FOR h IN SELECT x.tenant, x.site, x.trimmed FROM gateway.journal_head x
            WHERE EXISTS (SELECT FROM gateway.journal j WHERE j.tenant = x.tenant AND j.site = x.site
                             AND j.position = x.trimmed + 1 AND j.recorded_at < now() - p_age)
              AND gateway.lives_here(x.tenant)
            ORDER BY x.tenant, x.site LOOP
    -- Skip locked rows. If the loop waited for one row, the locks that the loop holds on other rows would block
    -- writers.
    PERFORM FROM gateway.journal_head x WHERE x.tenant = h.tenant AND x.site = h.site FOR NO KEY UPDATE SKIP LOCKED;
    CONTINUE WHEN NOT FOUND;
    -- Stop before the first receipt that is younger than p_age. After the clock was set back, older receipts can follow
    -- a younger one.
    SELECT coalesce(min(j.position) FILTER (WHERE j.recorded_at >= now() - p_age) - 1, max(j.position)) INTO last
      FROM (SELECT e.position, e.recorded_at FROM gateway.journal e
             WHERE e.tenant = h.tenant AND e.site = h.site AND e.position > h.trimmed
             ORDER BY e.position LIMIT n - total) j;
    DELETE FROM gateway.journal j
     WHERE j.tenant = h.tenant AND j.site = h.site AND j.position > h.trimmed AND j.position <= last;
    GET DIAGNOSTICS removed = ROW_COUNT;
    UPDATE gateway.journal_head x SET trimmed = last WHERE x.tenant = h.tenant AND x.site = h.site;
    total := total + removed;
    EXIT WHEN total >= n;
  END LOOP;
  RETURN total;
END $$;

-- Appends a heartbeat for each event family that had no receipt during p_silence. The family must have a reader and no
-- row in gateway.family_hold. Handles at most n websites and returns the number of websites. If the last receipt is in
-- the future, the clock was set back, and the family counts as silent. Only one call works at a time.
CREATE FUNCTION gateway.beat_families(p_silence interval, n integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  moment numeric := floor(extract(epoch FROM now()) * 1000);
  silence numeric := extract(epoch FROM p_silence) * 1000;
  w record;
  total integer := 0;
BEGIN
  IF NOT pg_try_advisory_xact_lock(hashtextextended('gateway.beat_families', 0)) THEN RETURN 0; END IF;
  FOR w IN SELECT f.tenant, f.site, array_agg(DISTINCT f.family || '.heartbeat' ORDER BY f.family || '.heartbeat') AS event_types
             FROM gateway.watched_families() f
             JOIN platform.website x ON x.tenant = f.tenant AND x.site = f.site
             LEFT JOIN gateway.journal_head h ON h.tenant = f.tenant AND h.site = f.site
            WHERE coalesce((h.last_at ->> f.family)::numeric NOT BETWEEN moment - silence AND moment + silence, true)
              AND gateway.lives_here(f.tenant) AND NOT EXISTS (SELECT FROM gateway.family_hold o WHERE o.tenant = f.tenant AND o.site = f.site AND o.family = f.family)
            GROUP BY f.tenant, f.site ORDER BY f.tenant, f.site LIMIT n LOOP
    -- Skip a locked row. The holder of the lock is probably appending a receipt. If not, the next call handles the
    -- website.
    PERFORM FROM gateway.journal_head h WHERE h.tenant = w.tenant AND h.site = w.site FOR NO KEY UPDATE SKIP LOCKED;
    CONTINUE WHEN NOT FOUND AND EXISTS (SELECT FROM gateway.journal_head h WHERE h.tenant = w.tenant AND h.site = w.site);
    PERFORM gateway.append_receipts(w.tenant, w.site, w.event_types);
    total := total + 1;
  END LOOP;
  RETURN total;
END $$;

-- The functions from here to the end serve the command `gateway restored`. A backup lacks the ids that were given out
-- after the backup. After a restore, these ids must not be given out again, because receivers and callers already know
-- them.

-- Moves the counter of organization numbers forward by p_leap. Waits for each transaction that adds an organization.
-- The next new organization gets a number after the leap. The range of a cell, a million numbers, has no room for the leap
-- of a journal. Nobody adds 10,000 organizations between a backup and the loss of the store.
CREATE FUNCTION gateway.leap_tenants(p_leap bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  numbers text := pg_get_serial_sequence('platform.organization', 'tenant');
  most bigint := (SELECT s.seqmax FROM pg_sequence s WHERE s.seqrelid = numbers::regclass);
BEGIN
  LOCK TABLE platform.organization IN SHARE MODE;
  PERFORM setval(numbers, least(most, nextval(numbers) + CASE WHEN most < p_leap * 100 THEN 10000 ELSE p_leap END));
END $$;

-- Moves the native ids and the journals of an organization forward by p_leap. Each website then gets one receipt of
-- each type in p_types. Returns the number of websites. Each step is a separate statement. If a step has waited, the
-- next step sees all changes that committed during the wait.
CREATE FUNCTION gateway.leap_organization(p_tenant bigint, p_leap bigint, p_kinds text[], p_types text[]) RETURNS integer
LANGUAGE plpgsql AS $$
DECLARE
  h record;
  last bigint;
  websites integer := 0;
BEGIN
  -- The numbers of the organization come first. So a website that is added meanwhile gets a number that no lost website
  -- had.
  INSERT INTO platform.native_id AS n (tenant, site, kind, last)
  SELECT p_tenant, 0, k, p_leap FROM unnest(ARRAY['operator', 'website']) AS k
  ON CONFLICT (tenant, site, kind) DO UPDATE SET last = n.last + excluded.last;
  INSERT INTO gateway.journal_head (tenant, site, position)
  SELECT w.tenant, w.site, 0 FROM platform.website w
   WHERE w.tenant = p_tenant AND NOT EXISTS (SELECT FROM gateway.journal_head x WHERE x.tenant = w.tenant AND x.site = w.site)
  ON CONFLICT DO NOTHING;
  INSERT INTO platform.native_id AS n (tenant, site, kind, last)
  SELECT w.tenant, w.site, k, p_leap
    FROM gateway.journal_head x JOIN platform.website w ON w.tenant = x.tenant AND w.site = x.site CROSS JOIN unnest(p_kinds) AS k
   WHERE x.tenant = p_tenant
  ON CONFLICT (tenant, site, kind) DO UPDATE SET last = n.last + excluded.last;
  -- Locks counter rows in the same order as every writer. The counter rows of removed websites are also moved.
  FOR h IN SELECT x.site, w.site IS NOT NULL AS stands
             FROM gateway.journal_head x LEFT JOIN platform.website w ON w.tenant = x.tenant AND w.site = x.site
            WHERE x.tenant = p_tenant ORDER BY x.site LOOP
    UPDATE gateway.journal_head x SET position = x.position + p_leap, trimmed = x.position + p_leap
     WHERE x.tenant = p_tenant AND x.site = h.site RETURNING x.position INTO last;
    DELETE FROM gateway.journal j WHERE j.tenant = p_tenant AND j.site = h.site AND j.position <= last;
    IF h.stands THEN
      PERFORM gateway.append_receipts(p_tenant, h.site, p_types);
      websites := websites + 1;
    END IF;
  END LOOP;
  RETURN websites;
END $$;
