-- A webhook endpoint gets the receipts of one website under one credential. Each endpoint has its own position in the
-- journal. Each receipt that the endpoint asks for becomes a delivery. A process attempts a delivery under a lease.
CREATE TABLE gateway.webhook_endpoint (
  id text PRIMARY KEY CHECK (id ~ '^whk_[a-f0-9]{32}$'),
  credential_id text NOT NULL REFERENCES gateway.credential ON DELETE CASCADE,
  tenant bigint NOT NULL, site bigint NOT NULL,
  url text NOT NULL CHECK (length(url) <= 2048),
  event_types text[] NOT NULL CHECK (cardinality(event_types) BETWEEN 1 AND 35),
  description text NOT NULL DEFAULT '' CHECK (length(description) <= 240),
  enabled boolean NOT NULL DEFAULT true,
  disabled_because text CHECK (disabled_because IN ('owner', 'gone', 'failing', 'ended')),
  -- The signing secret. Both secret and old_secret are encrypted with the operator's keys (src/auth/keys.ts).
  secret text NOT NULL,
  old_secret text,
  old_secret_until timestamptz,
  -- Position in the journal. Receipts up to this position have become deliveries.
  position bigint NOT NULL,
  -- The time of the first failed attempt since the last accepted attempt.
  failing_since timestamptz,
  failed_at timestamptz,
  -- Some receipts that were recorded at this time or later are lost, and the receiver does not know about the loss yet.
  -- Null means that nothing is lost.
  gap_since timestamptz,
  -- The number of losses until now. A delivery carries this number. After the receiver has accepted a delivery, the
  -- receiver knows of the losses up to the number in the delivery.
  losses bigint NOT NULL DEFAULT 0,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  -- The MCP subscription to which the endpoint belongs (24_mcp_subscriptions.sql). No foreign key: PostgreSQL checks a foreign key again when a
  -- transaction changes a row twice, and so a round of the dispatcher would wait for a subscription while its deletion
  -- waits for the endpoint.
  subscription_id text,
  CHECK (enabled = (disabled_because IS NULL)),
  CHECK ((old_secret IS NULL) = (old_secret_until IS NULL)),
  FOREIGN KEY (tenant, site) REFERENCES platform.website ON DELETE CASCADE
);
CREATE INDEX webhook_endpoint_credential ON gateway.webhook_endpoint (credential_id);
CREATE INDEX webhook_endpoint_website ON gateway.webhook_endpoint (tenant, site);
CREATE UNIQUE INDEX webhook_endpoint_subscription ON gateway.webhook_endpoint (subscription_id, site) WHERE subscription_id IS NOT NULL;

-- The deliveries and their log. A delivery copies the times of its receipt, because the receipt can be removed from the
-- journal before the last attempt.
CREATE TABLE gateway.webhook_delivery (
  id text PRIMARY KEY DEFAULT 'whd_' || replace(gen_random_uuid()::text, '-', '') CHECK (id ~ '^whd_[a-f0-9]{32}$'),
  endpoint_id text NOT NULL REFERENCES gateway.webhook_endpoint ON DELETE CASCADE,
  event_id text NOT NULL CHECK (event_id ~ '^evt_[a-f0-9]{64}$'),
  tenant bigint NOT NULL, site bigint NOT NULL, position bigint NOT NULL,
  event_type text NOT NULL,
  occurred_at timestamptz NOT NULL,
  recorded_at timestamptz NOT NULL,
  test boolean NOT NULL DEFAULT false,
  status text NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'delivered', 'failed', 'dropped')),
  -- Number of attempts that have started. The outcome of an attempt counts only if the attempt is the latest.
  attempts integer NOT NULL DEFAULT 0,
  -- Number of attempts that no longer count: attempts before the last replay, and attempts that made no request.
  attempts_before integer NOT NULL DEFAULT 0,
  replayed boolean NOT NULL DEFAULT false,
  -- The time of the next attempt. While an attempt is running, the column holds the time when the lease of the attempt
  -- ends.
  due_at timestamptz NOT NULL,
  lease_until timestamptz,
  attempted_at timestamptz,
  response_status integer,
  error text,
  created_at timestamptz NOT NULL DEFAULT now(),
  ended_at timestamptz,
  UNIQUE (endpoint_id, event_id),
  CHECK ((status = 'pending') = (ended_at IS NULL)),
  CHECK (status IN ('pending', 'dropped') OR lease_until IS NULL)
) WITH (fillfactor = 70);
CREATE INDEX webhook_delivery_due ON gateway.webhook_delivery (endpoint_id, due_at) WHERE status = 'pending';
CREATE INDEX webhook_delivery_log ON gateway.webhook_delivery (endpoint_id, created_at);
CREATE INDEX webhook_delivery_ended ON gateway.webhook_delivery (ended_at);
-- For gateway.told_positions. Without it, the oldest waiting delivery is found by reading all waiting deliveries.
CREATE INDEX webhook_delivery_waiting ON gateway.webhook_delivery (endpoint_id, position) WHERE status = 'pending';

-- Returns the event id of a receipt: an HMAC-SHA256 of website and position. The code in src/events/receipts.ts
-- computes the same id. The parameters p_inner and p_outer are the padded keys of the HMAC.
CREATE FUNCTION gateway.event_id(p_inner bytea, p_outer bytea, p_tenant bigint, p_site bigint, p_position bigint) RETURNS text
LANGUAGE sql IMMUTABLE AS $$
  SELECT 'evt_' || encode(sha256(p_outer || sha256(p_inner ||
    convert_to('web_' || p_tenant || '_' || p_site || ' ' || p_position, 'UTF8'))), 'hex')
$$;

-- Returns true if p_types contains p_type or its wildcard.
CREATE FUNCTION gateway.asks_for(p_types text[], p_type text) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
  SELECT p_type = ANY (p_types) OR split_part(p_type, '.', 1) || '.*' = ANY (p_types)
$$;

-- Returns true if the credential may get the website's events. The credential must be active and unrestricted, and must
-- hold the website and the scopes website_read and event_read. Pulled events have the same conditions.
CREATE FUNCTION gateway.may_be_told(p_credential text, p_tenant bigint, p_site bigint) RETURNS boolean LANGUAGE sql STABLE AS $$
  SELECT EXISTS (
    SELECT FROM gateway.credential c
      JOIN gateway.installation i ON i.id = c.installation_id
      JOIN gateway.app a ON a.id = i.app_id
     WHERE c.id = p_credential AND c.revoked_at IS NULL AND c.expires_at > now()
       AND a.tenant = p_tenant AND p_site = ANY (c.sites) AND c.scopes @> '{website_read,event_read}'
       AND c.channel_ids IS NULL AND c.team_ids IS NULL AND c.subsite_ids IS NULL)
$$;

-- Returns each event family that has a reader on a website. A reader is a subscription that an active credential can
-- use, or an enabled endpoint. Only websites that exist are included.
-- The events of approvals are no family of the journal, so they have no heartbeats.
CREATE FUNCTION gateway.watched_families() RETURNS TABLE (tenant bigint, site bigint, family text) LANGUAGE sql STABLE AS $$
  SELECT w.tenant, w.site, f.family
    FROM gateway.subscription s
    JOIN platform.website w ON w.tenant = s.tenant AND w.site = ANY (s.sites)
    CROSS JOIN unnest(gateway.families_of(s.event_types)) AS f (family)
   WHERE gateway.has_reader(s)
  UNION
  SELECT e.tenant, e.site, f.family
    FROM gateway.webhook_endpoint e CROSS JOIN unnest(gateway.families_of(e.event_types)) AS f (family)
   WHERE f.family <> 'approval' AND e.enabled AND gateway.may_be_told(e.credential_id, e.tenant, e.site)
$$;

-- Records that the receiver has lost receipts that were recorded at p_since or later. Does nothing if p_since is null.
-- The caller has locked the endpoint's row.
CREATE FUNCTION gateway.lose_webhooks(p_endpoint text, p_since timestamptz) RETURNS void LANGUAGE sql AS $$
  UPDATE gateway.webhook_endpoint SET gap_since = least(gap_since, p_since), losses = losses + 1
   WHERE id = p_endpoint AND p_since IS NOT NULL
$$;

-- Drops all queued deliveries of an endpoint. If p_rest is true, the receipts after the endpoint's position also count
-- as lost. A running attempt continues, and the outcome of the attempt is stored. The caller has locked the endpoint's
-- row.
CREATE FUNCTION gateway.drop_webhook_queue(e gateway.webhook_endpoint, p_rest boolean) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  since timestamptz;
BEGIN
  WITH dropped AS (
    UPDATE gateway.webhook_delivery d SET status = 'dropped', ended_at = now()
     WHERE d.endpoint_id = e.id AND d.status = 'pending' RETURNING d.recorded_at, d.test
  ) SELECT min(recorded_at) INTO since FROM dropped WHERE NOT test;
  IF p_rest THEN
    since := least(since, (SELECT j.recorded_at FROM gateway.journal j
                            WHERE j.tenant = e.tenant AND j.site = e.site AND j.position > e.position ORDER BY j.position LIMIT 1));
  END IF;
  PERFORM gateway.lose_webhooks(e.id, since);
END $$;

CREATE FUNCTION gateway.disable_webhook(p_endpoint text, p_because text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  e gateway.webhook_endpoint;
BEGIN
  SELECT * INTO e FROM gateway.webhook_endpoint x WHERE x.id = p_endpoint AND x.enabled;
  IF NOT FOUND THEN RETURN; END IF;
  PERFORM gateway.drop_webhook_queue(e, true);
  -- The endpoint also loses all receipts that are recorded from now on.
  PERFORM gateway.lose_webhooks(e.id, now());
  UPDATE gateway.webhook_endpoint SET enabled = false, disabled_because = p_because, updated_at = now() WHERE id = e.id;
END $$;

-- Updates an endpoint. A parameter that is null changes nothing. If the website changes or the endpoint is disabled,
-- the queued deliveries are dropped. An endpoint that becomes enabled gets only later receipts. A new address starts
-- without failures. What waits and is of a type that the endpoint no longer asks for is dropped. That is no loss. A receipt
-- that was replayed by its id, although the endpoint did not ask for its type before either, still goes out.
CREATE FUNCTION gateway.update_webhook(
  p_endpoint text, p_credential text, p_tenant bigint, p_site bigint, p_url text, p_types text[], p_description text, p_enabled boolean
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  e gateway.webhook_endpoint;
  moved boolean;
  begins boolean;
BEGIN
  SELECT * INTO e FROM gateway.webhook_endpoint x WHERE x.id = p_endpoint FOR NO KEY UPDATE;
  IF NOT FOUND THEN RETURN; END IF;
  moved := (p_tenant, p_site) <> (e.tenant, e.site);
  begins := p_enabled AND NOT e.enabled;
  IF moved THEN PERFORM gateway.drop_webhook_queue(e, true); END IF;
  IF NOT p_enabled THEN PERFORM gateway.disable_webhook(e.id, 'owner'); END IF;
  UPDATE gateway.webhook_delivery d SET status = 'dropped', ended_at = now()
   WHERE d.endpoint_id = e.id AND d.status = 'pending' AND NOT d.test
     AND gateway.asks_for(e.event_types, d.event_type) AND NOT gateway.asks_for(p_types, d.event_type);
  UPDATE gateway.webhook_endpoint x
     SET credential_id = coalesce(p_credential, x.credential_id), tenant = coalesce(p_tenant, x.tenant), site = coalesce(p_site, x.site),
         url = coalesce(p_url, x.url), event_types = coalesce(p_types, x.event_types),
         description = coalesce(p_description, x.description), updated_at = now(),
         enabled = x.enabled OR coalesce(p_enabled, false), disabled_because = CASE WHEN p_enabled THEN NULL ELSE x.disabled_because END,
         failing_since = CASE WHEN begins OR p_url <> x.url THEN NULL ELSE x.failing_since END,
         failed_at = CASE WHEN begins OR p_url <> x.url THEN NULL ELSE x.failed_at END,
         position = CASE WHEN moved OR begins
                         THEN coalesce((SELECT h.position FROM gateway.journal_head h
                                         WHERE h.tenant = coalesce(p_tenant, x.tenant) AND h.site = coalesce(p_site, x.site)), 0)
                         ELSE x.position END
   WHERE x.id = e.id;
END $$;

-- Makes deliveries of the receipts after an endpoint's position, and moves the position. Handles at most `n` positions
-- of the journal.
--
-- Queues nothing while 1,000 deliveries wait for their first attempt, or while 10,000 deliveries wait in total.
-- Deliveries with a failed attempt and deliveries of a stopped event family count only for the total. Replays do not
-- count. The remaining receipts stay in the journal.
--
-- The caller has locked the endpoint's row. Returns the number of positions that the endpoint has moved. The result is
-- at most the largest integer, because `gateway restored` moves a journal by 1,000 million positions each time.
CREATE FUNCTION gateway.queue_webhooks(e gateway.webhook_endpoint, p_inner bytea, p_outer bytea, p_first interval, n integer)
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
  ON CONFLICT (endpoint_id, event_id) DO NOTHING; -- a replay has already queued the receipt
  UPDATE gateway.webhook_endpoint SET position = upto WHERE id = e.id;
  -- Old receipts can be removed from the journal before they become deliveries, even during this statement. The
  -- receiver never gets these receipts. Nobody knows the times of lost receipts, but all these times are later than the
  -- creation of the endpoint.
  PERFORM gateway.lose_webhooks(e.id, e.created_at)
     FROM gateway.journal_head x WHERE x.tenant = e.tenant AND x.site = e.site AND x.trimmed > e.position;
  RETURN least(upto - e.position, 2147483647);
END $$;

-- Returns one delivery as JSON for the process that sends it. Times are Unix milliseconds. `at` is the time of
-- PostgreSQL's clock, because the clocks of replicas can differ and receivers compare `at` with their own clock.
CREATE FUNCTION gateway.webhook_claim(d gateway.webhook_delivery, e gateway.webhook_endpoint) RETURNS json LANGUAGE sql VOLATILE AS $$
  SELECT json_build_object(
    'at', floor(extract(epoch FROM clock_timestamp()) * 1000), 'id', d.id, 'attempt', d.attempts, 'number', d.attempts - d.attempts_before, 'endpoint', e.id, 'url', e.url,
    'secret', e.secret, 'oldSecret', CASE WHEN e.old_secret_until > now() THEN e.old_secret END,
    'gapSince', floor(extract(epoch FROM e.gap_since) * 1000), 'losses', e.losses, 'test', d.test,
    'receipt', json_build_object(
      'event_id', d.event_id, 'event_type', d.event_type, 'website_id', 'web_' || d.tenant || '_' || d.site, 'cursor', d.position,
      'occurred_at', floor(extract(epoch FROM d.occurred_at) * 1000), 'recorded_at', floor(extract(epoch FROM d.recorded_at) * 1000)))
$$;

-- Stores the outcomes of attempts. p_results is a list of {id, endpoint, url, attempt, delivered, unused, wait, gone,
-- status, error, losses}. `wait` is the number of seconds until the next attempt. Null means no further attempt.
--
-- Only the outcome of the latest attempt changes a delivery. If the endpoint has a new address, the outcome does not
-- count for the endpoint. `unused` means that the attempt made no request and so does not count.
--
-- The function never waits for a lock. `taken` is the number of stored outcomes. `later` lists the deliveries whose
-- endpoint is locked. The caller sends their outcomes again.
--
-- A failed test begins no time of failures. A test that was accepted ends such a time, and status 410 disables the endpoint
-- as always.
CREATE FUNCTION gateway.settle_webhooks(p_results jsonb, p_patience interval) RETURNS TABLE (taken integer, later text[]) LANGUAGE plpgsql
SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  e record;
  held text[];
  tired boolean;
BEGIN
  PERFORM set_config('gateway.machine', 'on', true);
  -- The commit does not wait for the disk. If a crash loses an outcome, the delivery is attempted again.
  PERFORM set_config('synchronous_commit', 'off', true);
  -- Every statement locks endpoints before deliveries.
  SELECT array_agg(l.id) INTO held FROM (
    SELECT x.id FROM gateway.webhook_endpoint x
     WHERE x.id = ANY (ARRAY(SELECT r ->> 'endpoint' FROM jsonb_array_elements(p_results) AS r)) FOR NO KEY UPDATE SKIP LOCKED) l;
  SELECT coalesce(array_agg(r ->> 'id'), '{}') INTO later FROM jsonb_array_elements(p_results) AS r
    JOIN gateway.webhook_endpoint x ON x.id = r ->> 'endpoint' WHERE (x.id = ANY (held)) IS NOT TRUE;
  taken := 0;
  FOR e IN
    WITH result AS (
      SELECT r.*, d.recorded_at, d.test, r.delivered AND r.url = x.url AS reached,
             NOT r.delivered AND NOT r.unused AND r.url = x.url AS refused,
             -- A replay during this attempt has given the delivery a new set of attempts. The first of the new attempts
             -- is due at once.
             CASE WHEN r.attempt <= d.attempts_before THEN 0 ELSE coalesce(r.wait, 0) END AS pause,
             CASE WHEN r.delivered THEN 'delivered' WHEN d.status = 'dropped' THEN 'dropped'
                  WHEN r.wait IS NOT NULL OR r.attempt <= d.attempts_before THEN 'pending' ELSE 'failed' END AS outcome
        FROM jsonb_to_recordset(p_results) AS r (
          id text, endpoint text, url text, attempt integer, delivered boolean, unused boolean, wait double precision, gone boolean,
          status integer, error text, losses bigint)
        JOIN gateway.webhook_endpoint x ON x.id = r.endpoint
        -- The join must find a delivery by its id. A join by endpoint would read all deliveries of the endpoint.
        JOIN gateway.webhook_delivery d ON d.id = r.id AND d.attempts = r.attempt
       WHERE x.id = ANY (held) AND d.status IN ('pending', 'dropped') AND (NOT r.unused OR d.lease_until IS NOT NULL)
    ), settled AS (
      UPDATE gateway.webhook_delivery d
         SET status = r.outcome, ended_at = CASE WHEN r.outcome <> 'pending' THEN now() END,
             due_at = now() + make_interval(secs => r.pause), lease_until = NULL, response_status = r.status, error = r.error,
             attempts_before = least(d.attempts, d.attempts_before + r.unused::integer)
        FROM result r WHERE d.id = r.id
    )
    SELECT r.endpoint AS id, count(*)::integer AS n, bool_or(r.reached) AS reached, bool_or(r.refused AND NOT r.test) AS failed,
           bool_or(r.refused AND r.gone) AS gone, max(r.losses) FILTER (WHERE r.reached) AS told,
           min(r.recorded_at) FILTER (WHERE r.outcome = 'failed' AND NOT r.test) AS lost
      FROM result r GROUP BY r.endpoint
  LOOP
    taken := taken + e.n;
    PERFORM gateway.lose_webhooks(e.id, e.lost);
    -- An endpoint is not disabled if it had nothing to deliver for three days. So one of two things is also necessary:
    -- an attempt has failed within the last day, or a delivery has failed and gets no further attempt.
    tired := e.failed AND NOT e.reached AND EXISTS (
      SELECT FROM gateway.webhook_endpoint x WHERE x.id = e.id AND x.failing_since <= now() - p_patience
         AND (e.lost IS NOT NULL OR x.failed_at > now() - interval '1 day'));
    -- Updates only rows that change. The row of a healthy endpoint usually does not change.
    UPDATE gateway.webhook_endpoint x
       SET failing_since = CASE WHEN NOT e.reached THEN coalesce(x.failing_since, now()) END,
           failed_at = CASE WHEN NOT e.reached THEN now() END,
           gap_since = CASE WHEN e.told = x.losses THEN NULL ELSE x.gap_since END
     WHERE x.id = e.id AND (CASE WHEN e.reached THEN x.failing_since IS NOT NULL ELSE e.failed END
                            OR (e.told = x.losses AND x.gap_since IS NOT NULL));
    IF e.gone OR tired THEN
      PERFORM gateway.disable_webhook(e.id, CASE WHEN e.gone THEN 'gone' ELSE 'failing' END);
    END IF;
  END LOOP;
  RETURN NEXT;
END $$;

-- Queues receipts again, or for the first time. The caller gives the event id of one receipt, or a span of recording
-- times. For a span, the function takes only receipts that the endpoint asks for and that are at most seven days old.
-- The function takes the oldest n of these receipts. Deliveries that wait or run do not change.
CREATE FUNCTION gateway.replay_webhooks(
  p_endpoint text, p_inner bytea, p_outer bytea, p_event text, p_since timestamptz, p_until timestamptz, n integer
) RETURNS TABLE (refused text, receipts integer, queued integer) LANGUAGE plpgsql AS $$
DECLARE
  e gateway.webhook_endpoint;
  place bigint;
BEGIN
  -- Look the event up before any lock. If the delivery log does not have the event, the whole journal of the website is
  -- searched.
  --
  -- Read the endpoint first, in a separate statement. When one join read the endpoint and the receipts, PostgreSQL
  -- computed the event id of every receipt of all websites.
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
            -- An attempt of a dropped delivery may still be running. So the replay waits until the lease of the attempt
            -- ends.
            due_at = greatest(now(), d.lease_until)
        WHERE d.status <> 'pending'
      RETURNING 1
    ) SELECT (SELECT count(*) FROM receipt), (SELECT count(*) FROM put) INTO receipts, queued;
  END IF;
  RETURN NEXT;
END $$;
