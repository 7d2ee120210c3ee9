-- One round of the dispatcher, as in 0025 with the changes of 0039 and 0040. Who may get receipts is asked in the loops, where the
-- limits of time work, and no longer in the conditions of the two searches: with thousands of endpoints that have something
-- pending, a search alone took longer than a lease is fresh, and nothing was ever delivered. A limit begins with the first
-- endpoint that its search has found. The order is random, so each endpoint has its turn.
CREATE OR REPLACE FUNCTION gateway.claim_deliveries(
  p_inner bytea, p_outer bytea, p_seats integer, p_reserved integer, p_cap integer, p_attempts integer, p_first interval, p_lease interval,
  p_mcp boolean
) RETURNS TABLE (claims json, more boolean) LANGUAGE plpgsql
-- The settings enable_seqscan and plan_cache_mode make PostgreSQL use the indexes. A plan that was made for an empty
-- queue would later scan the whole queue.
SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  began timestamptz;
  dropped boolean := false;
  e gateway.webhook_endpoint;
  found_here json[] := '{}';
  since timestamptz;
  moved integer;
  progress boolean := false;
  under_way integer;
  seats integer;
  free integer;
BEGIN
  PERFORM set_config('gateway.machine', 'on', true);
  more := false;
  -- Also without p_mcp: else the subscriptions would count among the twenty for ever.
  PERFORM gateway.end_mcp_subscriptions();
  FOR e IN SELECT x.* FROM gateway.webhook_endpoint x
            -- CASE makes PostgreSQL first run the cheap test for pending deliveries. Most endpoints have no pending
            -- deliveries, so the cheap test is enough for most endpoints.
            WHERE x.disabled_because IS DISTINCT FROM 'ended'
              AND CASE WHEN EXISTS (SELECT FROM gateway.webhook_delivery d WHERE d.endpoint_id = x.id AND d.status = 'pending')
                       THEN gateway.lives_here(x.tenant) ELSE false END
            ORDER BY random() LOOP
    began := coalesce(began, clock_timestamp());
    IF NOT gateway.may_deliver(e) THEN
      SELECT * INTO e FROM gateway.webhook_endpoint x WHERE x.id = e.id AND NOT gateway.may_deliver(x) FOR NO KEY UPDATE SKIP LOCKED;
      IF FOUND THEN
        PERFORM gateway.drop_webhook_queue(e, false);
        dropped := true;
      END IF;
    END IF;
    -- A round that has dropped nothing looks at other endpoints next time, and the next regular round is early enough.
    IF clock_timestamp() > began + interval '200 milliseconds' THEN
      more := dropped;
      EXIT;
    END IF;
  END LOOP;
  began := NULL;
  -- Endpoints that fail come last. Endpoints that are far behind come before the endpoints that fail. All other
  -- endpoints come first, in a random order, so that no endpoint is always late when seats or time are short.
  FOR e IN SELECT x.* FROM gateway.webhook_endpoint x
             LEFT JOIN gateway.journal_head h ON h.tenant = x.tenant AND h.site = x.site
            WHERE (x.enabled OR x.disabled_because = 'ended') AND (p_mcp OR x.subscription_id IS NULL)
              AND CASE WHEN h.position > x.position AND x.enabled
               OR EXISTS (SELECT FROM gateway.webhook_delivery d
                           WHERE d.endpoint_id = x.id AND d.status = 'pending' AND d.due_at <= now())
               OR x.gap_since IS NOT NULL AND x.subscription_id IS NOT NULL AND x.enabled AND NOT EXISTS (
                    SELECT FROM gateway.webhook_delivery d
                     WHERE d.endpoint_id = x.id AND d.status = 'pending' AND d.event_type = 'mcp.gap')
                  THEN gateway.lives_here(x.tenant) ELSE false END
            ORDER BY x.failing_since IS NOT NULL, coalesce(h.position - x.position > 50, false), random()
              FOR NO KEY UPDATE OF x SKIP LOCKED LOOP
    began := coalesce(began, clock_timestamp());
    IF clock_timestamp() > began + interval '400 milliseconds' THEN
      more := more OR progress OR cardinality(found_here) > 0;
      EXIT;
    END IF;
    CONTINUE WHEN e.enabled AND NOT gateway.may_deliver(e);
    IF NOT e.enabled THEN
      moved := 0;
    ELSIF clock_timestamp() < began + interval '200 milliseconds' THEN
      moved := gateway.queue_webhooks(e, p_inner, p_outer, p_first, 200);
      progress := progress OR moved > 0;
      more := more OR moved >= 200;
    ELSE
      -- The time for new receipts is over. If this round has moved a position, another round must follow at once.
      -- Otherwise the next regular round is early enough.
      more := more OR progress;
    END IF;
    -- A delivery fails when the process of its last attempt is lost. A test delivery has only one attempt.
    WITH lost AS (
      UPDATE gateway.webhook_delivery d SET status = 'failed', error = 'interrupted', ended_at = now(), lease_until = NULL
       WHERE d.endpoint_id = e.id AND d.status = 'pending' AND d.due_at <= now()
         AND (d.test OR d.attempts - d.attempts_before >= p_attempts) RETURNING d.recorded_at, d.test
    ) SELECT min(recorded_at) INTO since FROM lost WHERE NOT test;
    PERFORM gateway.lose_webhooks(e.id, since);
    IF e.subscription_id IS NULL THEN
      SELECT count(*) INTO under_way FROM gateway.webhook_delivery d
       WHERE d.endpoint_id = e.id AND d.status = 'pending' AND d.due_at > now() AND d.lease_until > now();
    ELSE
      -- The endpoints of an MCP subscription share a receiver, and a client makes up to fifty of them by itself.
      SELECT count(*) INTO under_way FROM gateway.webhook_endpoint y JOIN gateway.webhook_delivery d ON d.endpoint_id = y.id
       WHERE y.subscription_id = e.subscription_id AND d.status = 'pending' AND d.due_at > now() AND d.lease_until > now();
    END IF;
    seats := p_seats - cardinality(found_here);
    free := least(CASE WHEN e.failing_since IS NULL THEN p_cap ELSE 2 END - under_way,
                  greatest(seats - p_reserved, CASE WHEN under_way = 0 AND e.failing_since IS NULL THEN least(seats, 2) END));
    CONTINUE WHEN free <= 0;
    -- Read the row again, because gap_since may have changed.
    SELECT * INTO e FROM gateway.webhook_endpoint x WHERE x.id = e.id;
    -- A webhook tells a loss in a header. An MCP subscription tells it in a message of its own.
    IF e.subscription_id IS NOT NULL AND e.enabled AND e.gap_since IS NOT NULL AND NOT EXISTS (
         SELECT FROM gateway.webhook_delivery d WHERE d.endpoint_id = e.id AND d.status = 'pending' AND d.event_type = 'mcp.gap') THEN
      -- A message that was given up is lost too. Without the pause, the next one would follow at once, for ever.
      PERFORM gateway.queue_mcp_message(e, 'mcp.gap', greatest(now(), (
        SELECT max(d.ended_at) + interval '3 minutes' FROM gateway.webhook_delivery d
         WHERE d.endpoint_id = e.id AND d.created_at > now() - interval '1 hour' AND d.event_type = 'mcp.gap' AND d.status = 'failed')));
    END IF;
    WITH due AS (
      SELECT d.id FROM gateway.webhook_delivery d
       WHERE d.endpoint_id = e.id AND d.status = 'pending' AND d.due_at <= now() AND (d.tenant, d.site) = (e.tenant, e.site)
         AND NOT EXISTS (SELECT FROM gateway.family_hold f
                          WHERE f.tenant = d.tenant AND f.site = d.site AND f.family = split_part(d.event_type, '.', 1))
       ORDER BY d.due_at, d.position LIMIT free FOR UPDATE SKIP LOCKED
    ), claimed AS (
      UPDATE gateway.webhook_delivery d
         SET attempts = d.attempts + 1, attempted_at = now(),
             due_at = clock_timestamp() + p_lease, lease_until = clock_timestamp() + p_lease
        FROM due WHERE d.id = due.id AND (d.event_type = 'mcp.terminated' OR gateway.may_deliver(e))
      RETURNING d.*
    ) SELECT found_here || coalesce(array_agg(gateway.delivery_claim(c, e)), '{}') INTO found_here FROM claimed c;
    EXIT WHEN cardinality(found_here) >= p_seats;
  END LOOP;
  claims := array_to_json(found_here);
  RETURN NEXT;
END $$;

-- As in 0013 with the change of 0040, but a failed test begins no time of failures. A test that was accepted still ends such a
-- time, and status 410 disables the endpoint as always.
CREATE OR REPLACE FUNCTION gateway.settle_webhooks(p_results jsonb, p_patience interval) RETURNS TABLE (taken integer, later text[]) LANGUAGE plpgsql
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

-- As in 0013, but what waits and is of a type that the endpoint no longer asks for is dropped. That is no loss. A receipt that was
-- replayed by its id, although the endpoint did not ask for its type before either, still goes out.
CREATE OR REPLACE FUNCTION gateway.update_webhook(
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

-- As in 0025, but `resumes` says that the client gave a cursor. If the cursor lacks a website whose delivery begins now, its
-- changes since then are lost, and the answer says so.
CREATE OR REPLACE FUNCTION gateway.subscribe_mcp(p_digest bytea, p_revision integer, p_installation text, p_tenant bigint, p_command jsonb)
RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  c record;
  m gateway.mcp_subscription;
  live boolean;
  renewed boolean;
  told json;
  cut boolean;
BEGIN
  SELECT * INTO c FROM jsonb_to_record(p_command) AS x (
    id text, credential text, consent text, url text, name text, arguments jsonb, sites bigint[], event_types text[], secret text,
    secret_tag text, ttl integer, positions jsonb, max_age double precision, resumes boolean, verified boolean);
  -- As for every creation: one at a time for an installation, so that calls at the same moment cannot exceed the twenty.
  PERFORM FROM gateway.installation i WHERE i.id = p_installation FOR NO KEY UPDATE;
  PERFORM FROM gateway.subscription s WHERE s.id = c.id FOR UPDATE;
  SELECT * INTO m FROM gateway.mcp_subscription x WHERE x.id = c.id FOR UPDATE;
  IF NOT gateway.authority_holds(p_digest, p_revision) THEN RAISE EXCEPTION 'stale authority' USING ERRCODE = 'GW401'; END IF;
  live := coalesce(m.ended_at IS NULL AND m.expires_at > now(), false);
  IF NOT live THEN
    IF (SELECT count(*) FROM gateway.subscription x WHERE x.installation_id = p_installation AND x.id <> c.id) >= 20
       AND NOT EXISTS (SELECT FROM gateway.subscription x WHERE x.installation_id = p_installation AND x.id <> c.id AND NOT gateway.has_reader(x)) THEN
      RETURN '{"refused": "inventory_limit"}';
    END IF;
    -- A receiver that has confirmed one subscription of a client has confirmed all of them.
    IF NOT c.verified AND NOT EXISTS (
      SELECT FROM gateway.mcp_subscription x
       WHERE x.credential_id = c.credential AND x.consent_id IS NOT DISTINCT FROM c.consent AND x.url = c.url
         AND x.ended_at IS NULL AND x.expires_at > now()) THEN
      RETURN json_build_object('state', 'unverified', 'at', floor(extract(epoch FROM clock_timestamp()) * 1000));
    END IF;
    -- The row of a subscription that has ended, or that a client has replaced over REST.
    DELETE FROM gateway.subscription x WHERE x.id = c.id;
    told := gateway.create_subscription(p_installation, p_tenant, p_command || '{"start": "now"}');
    IF told ->> 'refused' IS NOT NULL THEN RETURN told; END IF;
    told := NULL;
    INSERT INTO gateway.mcp_subscription (id, credential_id, consent_id, revision, url, name, arguments, secret_tag, expires_at)
    VALUES (c.id, c.credential, c.consent, p_revision, c.url, c.name, c.arguments, decode(c.secret_tag, 'hex'), now());
  ELSE
    told := gateway.mcp_delivery_status(c.id);
    UPDATE gateway.subscription s SET sites = c.sites, revision = s.revision + 1, updated_at = greatest(s.updated_at, now())
     WHERE s.id = c.id AND s.sites <> c.sites;
    DELETE FROM gateway.webhook_endpoint e WHERE e.subscription_id = c.id AND e.site <> ALL (c.sites);
    -- Everything locks endpoints before deliveries.
    PERFORM FROM gateway.webhook_endpoint e WHERE e.subscription_id = c.id ORDER BY e.id FOR NO KEY UPDATE;
  END IF;
  renewed := live AND m.secret_tag <> decode(c.secret_tag, 'hex');
  UPDATE gateway.mcp_subscription x
     SET revision = p_revision, secret_tag = decode(c.secret_tag, 'hex'),
         expires_at = least(now() + make_interval(secs => c.ttl), k.expires_at, n.expires_at)
    FROM gateway.credential k LEFT JOIN gateway.consent n ON n.id = c.consent
   WHERE x.id = c.id AND k.id = c.credential;
  -- An endpoint that was disabled, because everything failed, goes on with what was dropped then. If the client gave its
  -- position, the endpoint also tells again what failed after that.
  WITH begun AS (
    SELECT w.site, (c.positions ->> w.site::text)::bigint AS given,
           gateway.delivery_start(p_tenant, w.site, (c.positions ->> w.site::text)::bigint, make_interval(secs => c.max_age)) AS start
      FROM unnest(c.sites) AS w (site)
     WHERE NOT EXISTS (SELECT FROM gateway.webhook_endpoint e WHERE e.subscription_id = c.id AND e.site = w.site AND e.enabled)
  ), resumed AS (
    UPDATE gateway.webhook_delivery d
       SET status = 'pending', attempts_before = d.attempts, ended_at = NULL, response_status = NULL, error = NULL,
           due_at = greatest(now(), d.lease_until)
      FROM gateway.webhook_endpoint e JOIN begun b ON b.site = e.site
     WHERE e.subscription_id = c.id AND d.endpoint_id = e.id AND d.event_type NOT LIKE 'mcp.%'
       AND CASE WHEN b.given IS NULL THEN d.status = 'dropped' ELSE d.status IN ('dropped', 'failed') AND d.position > b.start END
  ), kept AS (
    UPDATE gateway.webhook_endpoint e
       SET enabled = true, disabled_because = NULL, updated_at = now(),
           failing_since = CASE WHEN e.enabled THEN e.failing_since END, failed_at = CASE WHEN e.enabled THEN e.failed_at END,
           position = greatest(e.position, (SELECT b.start FROM begun b WHERE b.site = e.site AND b.given IS NOT NULL)),
           -- Also the same secret: it is now sealed with the newest of the operator's keys.
           secret = c.secret,
           old_secret = CASE WHEN renewed THEN e.secret ELSE e.old_secret END,
           old_secret_until = CASE WHEN renewed THEN now() + interval '10 minutes' ELSE e.old_secret_until END
     WHERE e.subscription_id = c.id RETURNING e.site
  ), added AS (
    INSERT INTO gateway.webhook_endpoint (id, credential_id, tenant, site, url, event_types, description, secret, position, subscription_id)
    SELECT 'whk_' || replace(gen_random_uuid()::text, '-', ''), c.credential, p_tenant, b.site, c.url, c.event_types,
           'Events over MCP, ' || c.id, c.secret, b.start, c.id
      FROM begun b WHERE b.site NOT IN (SELECT site FROM kept)
  ) SELECT coalesce(bool_or(b.given <> b.start OR b.given IS NULL AND c.resumes), false) INTO cut FROM begun b;
  RETURN (SELECT json_build_object('state', 'done', 'truncated', cut, 'positions', gateway.told_positions(c.id, NULL), 'status', told,
            'expires_at', floor(extract(epoch FROM x.expires_at) * 1000))
            FROM gateway.mcp_subscription x WHERE x.id = c.id);
END $$;
