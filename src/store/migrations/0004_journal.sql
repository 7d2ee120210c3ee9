-- The journal of changes: receipts without content, which subscriptions, webhooks and sockets read.

-- One counter row for each website makes positions gapless and in the order of commits.
CREATE TABLE gateway.journal_head (
  tenant bigint NOT NULL, site bigint NOT NULL, position bigint NOT NULL,
  last_at jsonb NOT NULL DEFAULT '{}',                 -- event family -> Unix milliseconds of its last receipt
  trimmed bigint NOT NULL DEFAULT 0 CHECK (trimmed BETWEEN 0 AND position), -- the last position that retention removed
  notified_at timestamptz NOT NULL DEFAULT '-infinity', -- when listeners were last notified,
  notified bigint NOT NULL DEFAULT 0,                   -- and of which position
  PRIMARY KEY (tenant, site)
);

-- Seven families of five types. No reader asks for another type.
CREATE TABLE gateway.journal (
  tenant bigint NOT NULL, site bigint NOT NULL, position bigint NOT NULL,
  event_type text NOT NULL CHECK (event_type ~
    '^(conversation|visitor|operator|queue|website|privacy|capture)\.(changed|removed|snapshot|gap|heartbeat)$'),
  occurred_at timestamptz NOT NULL,
  recorded_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (tenant, site, position)
);

-- A held family: its receipts are recorded and wait, and no reader gets them.
CREATE TABLE gateway.family_hold (
  tenant bigint NOT NULL, site bigint NOT NULL,
  family text NOT NULL CHECK (family IN ('conversation', 'visitor', 'operator', 'queue', 'website', 'privacy', 'capture')),
  held_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (tenant, site, family),
  FOREIGN KEY (tenant, site) REFERENCES platform.website ON DELETE CASCADE
);

-- Appends to a website's journal. Its head stays locked until the commit, so that positions are gapless and in the
-- order of commits. Listeners on `gateway_journal` are notified of '<tenant> <site>' once in 25 ms, because NOTIFY
-- takes a lock of the whole server at its commit. A listener looks again after that time, so nothing depends on a
-- notification. PL/pgSQL keeps its plans; a function in SQL is planned at each call (26 µs against 52 µs, 21 November
-- 2026).
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
  -- A crash must not lose a receipt that a reader has seen. Another receipt would get its position.
  IF current_setting('synchronous_commit') = 'off' THEN PERFORM set_config('synchronous_commit', 'on', true); END IF;
  FOR i IN 1..n LOOP
    moments := moments || jsonb_build_object(split_part(event_types[i], '.', 1), at);
  END LOOP;
  LOOP
    -- notified_at may lie after the moment, because this transaction has waited for the row. If it lies more than a
    -- minute after the moment, the clock was set back: then listeners are notified now.
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
  -- Usually there is one receipt. A plan for one is cheaper.
  IF n = 1 THEN
    INSERT INTO gateway.journal (tenant, site, position, event_type, occurred_at)
    VALUES (p_tenant, p_site, last, event_types[1], now());
  ELSE
    INSERT INTO gateway.journal (tenant, site, position, event_type, occurred_at)
    SELECT p_tenant, p_site, last - n + e.i, e.event_type, now() FROM unnest(event_types) WITH ORDINALITY AS e (event_type, i);
  END IF;
  IF tell THEN PERFORM pg_notify('gateway_journal', p_tenant || ' ' || p_site); END IF;
END $$;

-- Retention. Removes receipts older than p_age from the start of each journal, at most n. Returns how many. Only one
-- call runs at a time; a call on another replica does nothing meanwhile.
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
            ORDER BY x.tenant, x.site LOOP
    -- Skips locked heads. During a wait, the heads that are locked here would block writers.
    PERFORM FROM gateway.journal_head x WHERE x.tenant = h.tenant AND x.site = h.site FOR NO KEY UPDATE SKIP LOCKED;
    CONTINUE WHEN NOT FOUND;
    -- Up to the first younger receipt. After the clock was set back, older receipts may lie behind it.
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

-- Appends a heartbeat for each family that a reader waits for, that is not held, and that was silent for p_silence.
-- Handles at most n websites and returns how many. A last receipt from the future means that the clock was set back;
-- such a family counts as silent. Only one call runs at a time.
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
              AND NOT EXISTS (SELECT FROM gateway.family_hold o WHERE o.tenant = f.tenant AND o.site = f.site AND o.family = f.family)
            GROUP BY f.tenant, f.site ORDER BY f.tenant, f.site LIMIT n LOOP
    -- Skips a locked head, as gateway.trim_journals does. Its holder is about to append, or the next round comes back
    -- to it.
    PERFORM FROM gateway.journal_head h WHERE h.tenant = w.tenant AND h.site = w.site FOR NO KEY UPDATE SKIP LOCKED;
    CONTINUE WHEN NOT FOUND AND EXISTS (SELECT FROM gateway.journal_head h WHERE h.tenant = w.tenant AND h.site = w.site);
    PERFORM gateway.append_receipts(w.tenant, w.site, w.event_types);
    total := total + 1;
  END LOOP;
  RETURN total;
END $$;

-- For `gateway restored`. What the lost time after the backup has given out must not be given out again. Receivers know
-- receipts by an id that is made of website and position. Callers know records by their numbers.

-- Moves the numbers of organizations. Waits for a transaction that adds one. The next organization's number lies behind
-- the leap.
CREATE FUNCTION gateway.leap_tenants(p_leap bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  numbers text := pg_get_serial_sequence('platform.organization', 'tenant');
BEGIN
  LOCK TABLE platform.organization IN SHARE MODE;
  PERFORM setval(numbers, nextval(numbers) + p_leap);
END $$;

-- Moves the numbers and journals of an organization. Each of its websites then gets a receipt of each of p_types.
-- Returns how many websites it has. Each step is a statement of its own. So it sees what other transactions have
-- committed while the step before waited for them.
CREATE FUNCTION gateway.leap_organization(p_tenant bigint, p_leap bigint, p_kinds text[], p_types text[]) RETURNS integer
LANGUAGE plpgsql AS $$
DECLARE
  h record;
  last bigint;
  websites integer := 0;
BEGIN
  -- The organization's own numbers first. A website that is added from now on gets a number that no lost website had.
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
  -- In the order in which every writer locks heads. A removed website has left its head, and perhaps receipts.
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
