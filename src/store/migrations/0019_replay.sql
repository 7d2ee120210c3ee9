-- The function of 0014_webhooks.sql that queues receipts again. It looked for a receipt through a join, and a planner that
-- held the journal for small made the event id of each receipt of all websites before it left out those of others: now the
-- website is known before. Unchanged otherwise.

-- Queues receipts again, or for the first time: one by its id, or those recorded in a span of time that the endpoint asks
-- for, the oldest n of the last seven days. What waits already, or is under way, is left to it.
CREATE OR REPLACE FUNCTION gateway.replay_webhooks(
  p_endpoint text, p_inner bytea, p_outer bytea, p_event text, p_since timestamptz, p_until timestamptz, n integer
) RETURNS TABLE (refused text, receipts integer, queued integer) LANGUAGE plpgsql AS $$
DECLARE
  e gateway.webhook_endpoint;
  place bigint;
BEGIN
  -- Before anything is locked: who is not in the log is looked for in all of the journal.
  IF p_event IS NOT NULL THEN
    SELECT d.position INTO place FROM gateway.webhook_delivery d
     WHERE d.endpoint_id = p_endpoint AND d.event_id = p_event AND NOT d.test;
    IF NOT FOUND THEN
      SELECT * INTO e FROM gateway.webhook_endpoint x WHERE x.id = p_endpoint;
      SELECT j.position INTO place FROM gateway.journal j
       WHERE j.tenant = e.tenant AND j.site = e.site
         AND gateway.event_id(p_inner, p_outer, j.tenant, j.site, j.position) = p_event LIMIT 1;
    END IF;
  END IF;
  SELECT * INTO e FROM gateway.webhook_endpoint x WHERE x.id = p_endpoint FOR NO KEY UPDATE;
  refused := CASE WHEN e.id IS NULL THEN 'unknown' WHEN NOT e.enabled THEN 'disabled'
                  WHEN NOT gateway.may_be_told(e.credential_id, e.tenant, e.site) THEN 'not_permitted' END;
  IF refused IS NULL THEN
    WITH receipt AS (
      SELECT j.*, gateway.event_id(p_inner, p_outer, j.tenant, j.site, j.position) AS event_id FROM gateway.journal j
       WHERE j.tenant = e.tenant AND j.site = e.site AND j.recorded_at > now() - interval '7 days'
         AND CASE WHEN p_event IS NULL
                  THEN j.recorded_at >= p_since AND j.recorded_at < coalesce(p_until, 'infinity') AND gateway.asks_for(e.event_types, j.event_type)
                  ELSE j.position = place AND gateway.event_id(p_inner, p_outer, j.tenant, j.site, j.position) = p_event END
       ORDER BY j.position LIMIT n
    ), put AS (
      INSERT INTO gateway.webhook_delivery AS d
        (endpoint_id, event_id, tenant, site, position, event_type, occurred_at, recorded_at, due_at, replayed)
      SELECT e.id, r.event_id, r.tenant, r.site, r.position, r.event_type, r.occurred_at, r.recorded_at, now(), true FROM receipt r
      ON CONFLICT (endpoint_id, event_id) DO UPDATE
        SET status = 'pending', attempts_before = d.attempts, replayed = true, ended_at = NULL, response_status = NULL, error = NULL,
            due_at = greatest(now(), d.lease_until) -- an attempt may be under way that was dropped
        WHERE d.status <> 'pending'
      RETURNING 1
    ) SELECT (SELECT count(*) FROM receipt), (SELECT count(*) FROM put) INTO receipts, queued;
  END IF;
  RETURN NEXT;
END $$;
