-- Leases of an app's units lapse one by one. Before, they lapsed together, once nobody had leased anything for the life of
-- a lease: what replicas held that were killed under steady traffic never came back, and the bucket shrank to nothing.

-- tokens: units in the bucket at `at`; leased, leased_before: units that replicas hold in memory, by the window of time
-- in which they took them: lease_window and the one before it. tokens + leased + leased_before never exceed the burst.
ALTER TABLE gateway.quota
  DROP COLUMN leased_until,
  ADD COLUMN leased_before double precision NOT NULL DEFAULT 0,
  ADD COLUMN lease_window bigint NOT NULL DEFAULT 0;

DROP FUNCTION gateway.take_quota(text, integer, integer, integer, integer, interval);

-- Takes up to `want` units (at least `need`, or the whole burst where that is less, or none), after giving back `unspent`
-- of a lease of `held` units taken in window `held_in`. A lease lasts for one to two windows; one that has lapsed gives
-- nothing back. Returns what was granted and in which window, what is left in the bucket, its rate and burst. An unknown app
-- returns no row.
CREATE FUNCTION gateway.take_quota(p_app text, need integer, want integer, held integer, unspent integer, held_in bigint, width interval)
RETURNS TABLE (granted integer, granted_in bigint, remaining double precision, per_minute integer, burst integer)
LANGUAGE plpgsql AS $$
DECLARE
  q gateway.quota;
  a gateway.app;
  moment timestamptz;
BEGIN
  SELECT * INTO a FROM gateway.app WHERE id = p_app;
  IF NOT FOUND THEN RETURN; END IF;
  SELECT * INTO q FROM gateway.quota WHERE app_id = p_app FOR UPDATE;
  IF NOT FOUND THEN
    INSERT INTO gateway.quota (app_id, tokens, at) VALUES (p_app, a.burst, clock_timestamp()) ON CONFLICT DO NOTHING;
    SELECT * INTO q FROM gateway.quota WHERE app_id = p_app FOR UPDATE;
  END IF;
  -- After the lock: a caller that waited for it must not refill from a moment before the previous caller's.
  moment := greatest(clock_timestamp(), q.at);
  granted_in := floor(extract(epoch FROM moment) / extract(epoch FROM width));
  IF q.lease_window < granted_in THEN
    q.leased_before := CASE WHEN q.lease_window = granted_in - 1 THEN q.leased ELSE 0 END;
    q.leased := 0;
    q.lease_window := granted_in;
  END IF;
  IF held_in = granted_in THEN
    q.leased := greatest(0, q.leased - held);
  ELSIF held_in = granted_in - 1 THEN
    q.leased_before := greatest(0, q.leased_before - held);
  ELSE
    unspent := 0;
  END IF;
  q.tokens := least(a.burst - q.leased - q.leased_before,
                    q.tokens + unspent + extract(epoch FROM moment - q.at) * a.quota_per_minute / 60.0);
  granted := CASE WHEN q.tokens >= least(need, a.burst) THEN least(want, floor(q.tokens))::integer ELSE 0 END;
  q.tokens := q.tokens - granted;
  q.leased := q.leased + granted;
  -- A refusal changes nothing: the row's tokens and moment say the same as before.
  IF granted > 0 OR held > 0 OR unspent > 0 THEN
    UPDATE gateway.quota SET tokens = q.tokens, leased = q.leased, leased_before = q.leased_before,
                             lease_window = q.lease_window, at = moment
     WHERE app_id = p_app;
  END IF;
  remaining := q.tokens;
  per_minute := a.quota_per_minute;
  burst := a.burst;
  RETURN NEXT;
END $$;
