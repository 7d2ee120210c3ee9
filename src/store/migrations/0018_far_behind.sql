-- The function of 0014_webhooks.sql that moves an endpoint along the journal. Each `gateway restored` leaps by 1,000 million
-- positions: after three of them an endpoint that had not moved was too far behind for an integer, and no round came to an end.
-- Unchanged otherwise.

-- Makes deliveries of the receipts behind an endpoint's position, and moves the position past them, in one step. No more
-- than `n` receipts, and none while 1,000 deliveries wait for their first attempt, or 10,000 at all: those of held families
-- and those that failed hold nothing back sooner, and replays never do. The rest is in the journal. The endpoint's row is
-- locked by the caller; past how many positions it was moved, as far as an integer can tell.
CREATE OR REPLACE FUNCTION gateway.queue_webhooks(e gateway.webhook_endpoint, p_inner bytea, p_outer bytea, p_first interval, n integer)
RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  h gateway.journal_head;
  after bigint;
  upto bigint;
BEGIN
  SELECT * INTO h FROM gateway.journal_head x WHERE x.tenant = e.tenant AND x.site = e.site;
  IF h.position IS NULL OR h.position <= e.position THEN RETURN 0; END IF;
  IF (SELECT count(*) = 10000 OR count(*) FILTER (WHERE w.attempts = w.attempts_before AND NOT w.held) >= 1000
        FROM (SELECT d.attempts, d.attempts_before, split_part(d.event_type, '.', 1) = ANY (f.families) AS held
                FROM gateway.webhook_delivery d
               CROSS JOIN (SELECT coalesce(array_agg(x.family), '{}') AS families FROM gateway.family_hold x
                            WHERE x.tenant = e.tenant AND x.site = e.site) f
               WHERE d.endpoint_id = e.id AND d.status = 'pending' AND NOT d.replayed LIMIT 10000) w) THEN RETURN 0; END IF;
  after := greatest(e.position, h.trimmed);
  upto := least(h.position, after + n);
  INSERT INTO gateway.webhook_delivery (endpoint_id, event_id, tenant, site, position, event_type, occurred_at, recorded_at, due_at)
  SELECT e.id, gateway.event_id(p_inner, p_outer, j.tenant, j.site, j.position), j.tenant, j.site, j.position, j.event_type,
         j.occurred_at, j.recorded_at, now() + p_first
    FROM gateway.journal j
   WHERE j.tenant = e.tenant AND j.site = e.site AND j.position > after AND j.position <= upto
     AND gateway.asks_for(e.event_types, j.event_type)
  ON CONFLICT (endpoint_id, event_id) DO NOTHING; -- a replay was there before
  UPDATE gateway.webhook_endpoint SET position = upto WHERE id = e.id;
  -- Where retention was faster, maybe just now, what it took is lost to the receiver. It was recorded after the endpoint was made.
  PERFORM gateway.lose_webhooks(e.id, e.created_at)
     FROM gateway.journal_head x WHERE x.tenant = e.tenant AND x.site = e.site AND x.trimmed > e.position;
  RETURN least(upto - e.position, 2147483647);
END $$;
