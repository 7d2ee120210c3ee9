-- Subscriptions of MCP clients (events over MCP) whose receipts are delivered by webhook. Such a subscription is a row of
-- gateway.subscription, so it counts among the twenty and every list shows it. Each of its websites has a webhook
-- endpoint, with the queue, the attempts and the log of all webhooks.
CREATE TABLE gateway.mcp_subscription (
  -- Derived from client, address, event and arguments, so that the same subscription always has the same id.
  id text PRIMARY KEY REFERENCES gateway.subscription ON DELETE CASCADE,
  credential_id text NOT NULL REFERENCES gateway.credential ON DELETE CASCADE,
  -- The consent of a client by URL. No foreign key: a consent that is deleted must end the subscription.
  consent_id text,
  -- The revision of the credential at which somebody last saw that the subscription is permitted.
  revision integer NOT NULL,
  url text NOT NULL CHECK (length(url) <= 2048),
  name text NOT NULL,
  arguments jsonb NOT NULL,
  -- An HMAC of the signing secret. Says whether a refresh brings a new secret.
  secret_tag bytea NOT NULL CHECK (length(secret_tag) = 32),
  expires_at timestamptz NOT NULL,
  -- The time when the rights were found to have ended. The receiver is then told so, and nothing else.
  ended_at timestamptz,
  created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX mcp_subscription_credential ON gateway.mcp_subscription (credential_id);

CREATE FUNCTION gateway.mcp_subscription_deleted() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM gateway.webhook_endpoint WHERE subscription_id = OLD.id;
  RETURN NULL;
END $$;
CREATE TRIGGER mcp_subscription_deleted AFTER DELETE ON gateway.mcp_subscription FOR EACH ROW
  EXECUTE FUNCTION gateway.mcp_subscription_deleted();

-- A replaced subscription is one that is only pulled. gateway.subscribe_mcp never updates event_types.
CREATE FUNCTION gateway.subscription_replaced() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM gateway.mcp_subscription WHERE id = NEW.id;
  RETURN NULL;
END $$;
CREATE TRIGGER subscription_replaced AFTER UPDATE OF event_types ON gateway.subscription FOR EACH ROW
  EXECUTE FUNCTION gateway.subscription_replaced();

-- Returns true if the endpoint may get the receipts of its website: under its credential and, for an MCP subscription,
-- before it expires and while the consent of its client lives. A consent never changes, so its websites need no check.
-- The app of a subscription must also still be able to make subscriptions: when an owner switches subscription_create off
-- for the app, its subscriptions end with one message, as when a right ends. The switch raises the revision of the
-- credential, so the next round of gateway.end_mcp_subscriptions looks at them.
CREATE FUNCTION gateway.may_deliver(e gateway.webhook_endpoint) RETURNS boolean LANGUAGE sql STABLE AS $$
  SELECT gateway.may_be_told(e.credential_id, e.tenant, e.site) AND (e.subscription_id IS NULL OR EXISTS (
    SELECT FROM gateway.mcp_subscription m
     WHERE m.id = e.subscription_id AND m.ended_at IS NULL AND m.expires_at > now()
       AND (m.consent_id IS NULL OR EXISTS (
         SELECT FROM gateway.consent n
          WHERE n.id = m.consent_id AND n.revoked_at IS NULL AND n.expires_at > now()))
       AND NOT EXISTS (
         SELECT FROM gateway.credential c JOIN gateway.installation i ON i.id = c.installation_id
           JOIN gateway.app a ON a.id = i.app_id
          WHERE c.id = e.credential_id AND 'subscription_create' = ANY (a.switched_off))))
$$;

-- Returns for each website of an MCP subscription the position up to which every receipt was accepted or given up. The
-- delivery p_except counts as accepted: its receiver reads the result in the delivery itself.
CREATE FUNCTION gateway.told_positions(p_subscription text, p_except text) RETURNS jsonb LANGUAGE sql STABLE AS $$
  SELECT coalesce(jsonb_object_agg('web_' || e.tenant || '_' || e.site, least(e.position, (
           SELECT d.position - 1 FROM gateway.webhook_delivery d
            WHERE d.endpoint_id = e.id AND d.status = 'pending' AND d.id IS DISTINCT FROM p_except
              AND d.event_type NOT LIKE 'mcp.%'
            ORDER BY d.position LIMIT 1))), '{}')
    FROM gateway.webhook_endpoint e WHERE e.subscription_id = p_subscription
$$;

-- Queues a message of the gateway itself: mcp.gap or mcp.terminated. It has no receipt, so its event id is random.
CREATE FUNCTION gateway.queue_mcp_message(e gateway.webhook_endpoint, p_type text, p_due timestamptz) RETURNS void LANGUAGE sql AS $$
  INSERT INTO gateway.webhook_delivery (endpoint_id, event_id, tenant, site, position, event_type, occurred_at, recorded_at, due_at)
  VALUES (e.id, 'evt_' || replace(gen_random_uuid()::text || gen_random_uuid(), '-', ''), e.tenant, e.site, e.position, p_type,
          now(), now(), p_due)
$$;

-- Ends the MCP subscriptions whose rights have ended: drops what waits, and queues the message mcp.terminated. Deletes
-- the subscriptions that have expired, and those whose last message was accepted or given up. After an hour the message
-- is given up in any case: perhaps no process can send it.
CREATE FUNCTION gateway.end_mcp_subscriptions() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  m gateway.mcp_subscription;
  e gateway.webhook_endpoint;
  running timestamptz;
BEGIN
  -- Everything locks a subscription before its row here, and this row before the endpoints.
  DELETE FROM gateway.subscription s WHERE s.id IN (
    SELECT o.id FROM gateway.subscription o JOIN gateway.mcp_subscription x ON x.id = o.id
     WHERE CASE WHEN x.ended_at IS NULL THEN x.expires_at <= now() ELSE x.ended_at < now() - interval '1 hour' OR NOT EXISTS (
             SELECT FROM gateway.webhook_endpoint w JOIN gateway.webhook_delivery d ON d.endpoint_id = w.id
              WHERE w.subscription_id = x.id AND d.status = 'pending') END
       AND gateway.lives_here(o.tenant)
     LIMIT 100 FOR UPDATE OF o SKIP LOCKED);
  -- Rights change only with a revision or an end of the credential, or with the end of the consent. So few subscriptions
  -- need the exact check.
  FOR m IN SELECT x.* FROM gateway.mcp_subscription x
             JOIN gateway.credential c ON c.id = x.credential_id
             LEFT JOIN gateway.consent n ON n.id = x.consent_id
            WHERE x.ended_at IS NULL AND gateway.credential_moved_to(x.credential_id) IS NULL
              AND (c.revision <> x.revision OR c.revoked_at IS NOT NULL OR c.expires_at <= now()
                   OR x.consent_id IS NOT NULL AND (n.revoked_at IS NOT NULL OR n.expires_at <= now()) IS NOT FALSE)
            LIMIT 100 FOR UPDATE OF x SKIP LOCKED LOOP
    IF EXISTS (SELECT FROM gateway.webhook_endpoint x WHERE x.subscription_id = m.id AND gateway.may_deliver(x)) THEN
      UPDATE gateway.mcp_subscription x SET revision = c.revision
        FROM gateway.credential c WHERE x.id = m.id AND c.id = m.credential_id;
      CONTINUE;
    END IF;
    UPDATE gateway.mcp_subscription x SET ended_at = now() WHERE x.id = m.id;
    FOR e IN SELECT x.* FROM gateway.webhook_endpoint x WHERE x.subscription_id = m.id ORDER BY x.id FOR NO KEY UPDATE LOOP
      PERFORM gateway.drop_webhook_queue(e, false);
    END LOOP;
    UPDATE gateway.webhook_endpoint x SET enabled = false, disabled_because = 'ended', updated_at = now() WHERE x.subscription_id = m.id;
    -- Nothing follows the last message, so it waits for the attempts that run.
    SELECT max(d.lease_until) INTO running FROM gateway.webhook_endpoint x JOIN gateway.webhook_delivery d ON d.endpoint_id = x.id
     WHERE x.subscription_id = m.id AND d.lease_until > now();
    SELECT x.* INTO e FROM gateway.webhook_endpoint x WHERE x.subscription_id = m.id ORDER BY x.site LIMIT 1;
    IF e.id IS NOT NULL THEN
      PERFORM gateway.queue_mcp_message(e, 'mcp.terminated', greatest(now(), running));
    END IF;
  END LOOP;
END $$;

-- Returns one delivery for the process that sends it. For an MCP subscription, `mcp` is {subscription, name, arguments,
-- credential, environment, positions}. Only the message mcp.gap tells the receiver about losses.
CREATE FUNCTION gateway.delivery_claim(d gateway.webhook_delivery, e gateway.webhook_endpoint) RETURNS json LANGUAGE sql VOLATILE AS $$
  SELECT CASE WHEN e.subscription_id IS NULL THEN gateway.webhook_claim(d, e) ELSE (
    SELECT (gateway.webhook_claim(d, e)::jsonb
         || jsonb_build_object('losses', CASE d.event_type WHEN 'mcp.gap' THEN e.losses ELSE -1 END,
              'mcp', jsonb_build_object('subscription', m.id, 'name', m.name, 'arguments', m.arguments, 'credential', m.credential_id,
                'environment', k.environment, 'positions', gateway.told_positions(m.id, d.id))))::json
      FROM gateway.mcp_subscription m JOIN gateway.credential k ON k.id = m.credential_id WHERE m.id = e.subscription_id) END
$$;

-- Performs one round of the webhook dispatcher. Drops deliveries that the credential may no longer get. Queues new
-- receipts. Leases due deliveries to the caller, and counts each attempt before the attempt starts.
--
-- A round leases at most p_seats deliveries (seats). An endpoint has at most p_cap running attempts, and so has an MCP
-- subscription over all its websites. A failing endpoint has at most 2 running attempts. The last p_reserved seats of a
-- round are only for healthy endpoints without a running attempt. Each of these endpoints gets at most two of the reserved
-- seats. So slow endpoints cannot take all seats.
--
-- Endpoints that another replica has locked are skipped. Each part of a round has a time limit. If work is left at the
-- end, `more` is true. Without p_mcp, the endpoints of MCP subscriptions are skipped too.
--
-- Who may get receipts is asked in the loops, where the limits of time work, and not in the conditions of the two searches:
-- with thousands of endpoints that have something pending, a search alone took longer than a lease is fresh, and nothing was
-- ever delivered. A limit begins with the first endpoint that its search has found. The order is random, so each endpoint
-- has its turn.
CREATE FUNCTION gateway.claim_deliveries(
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

-- Returns where delivery to a website starts: after the client's position (null: at the end of the journal), but not
-- before what the journal still has, and not before p_age. A client that asks for an age gets at most 10,000 receipts.
CREATE FUNCTION gateway.delivery_start(p_tenant bigint, p_site bigint, p_after bigint, p_age interval) RETURNS bigint LANGUAGE sql STABLE AS $$
  SELECT CASE WHEN p_after IS NULL OR p_after > h.position THEN h.position
              ELSE greatest(p_after, h.trimmed, CASE WHEN p_age IS NOT NULL THEN coalesce(
                     (SELECT j.position FROM gateway.journal j
                       WHERE j.tenant = p_tenant AND j.site = p_site AND j.position > greatest(p_after, h.position - 10000)
                         AND j.recorded_at < now() - p_age ORDER BY j.position DESC LIMIT 1), h.position - 10000) END) END
    FROM (SELECT coalesce(max(x.position), 0) AS position, coalesce(max(x.trimmed), 0) AS trimmed
            FROM gateway.journal_head x WHERE x.tenant = p_tenant AND x.site = p_site) h
$$;

-- What the endpoints of an MCP subscription say about delivery: `active`, `last_delivery_at` and `failing_since` in Unix
-- milliseconds, and `error` and `status` of the newest failed attempt. Looks at the newest fifty deliveries.
CREATE FUNCTION gateway.mcp_delivery_status(p_subscription text) RETURNS json LANGUAGE sql STABLE AS $$
  SELECT json_build_object(
    'active', bool_and(e.enabled), 'failing_since', floor(extract(epoch FROM min(e.failing_since)) * 1000),
    'last_delivery_at', floor(extract(epoch FROM max(l.delivered_at)) * 1000),
    'error', max(l.error) FILTER (WHERE e.failing_since IS NOT NULL), 'status', max(l.status) FILTER (WHERE e.failing_since IS NOT NULL))
    FROM gateway.webhook_endpoint e
   CROSS JOIN LATERAL (
     SELECT max(d.ended_at) FILTER (WHERE d.status = 'delivered') AS delivered_at,
            (array_agg(d.error ORDER BY d.attempted_at DESC) FILTER (WHERE d.attempted_at IS NOT NULL AND d.status <> 'delivered'))[1] AS error,
            (array_agg(d.response_status ORDER BY d.attempted_at DESC) FILTER (WHERE d.attempted_at IS NOT NULL AND d.status <> 'delivered'))[1] AS status
       FROM (SELECT * FROM gateway.webhook_delivery x WHERE x.endpoint_id = e.id ORDER BY x.created_at DESC LIMIT 50) d) l
   WHERE e.subscription_id = p_subscription
$$;

-- Makes or refreshes an MCP subscription. p_command is {id, credential, consent, url, name, arguments, sites, event_types,
-- secret, secret_tag, ttl, positions, max_age, verified}: ttl and max_age in seconds, positions by site.
--
-- Returns {"state": "unverified", "at": time} if the receiver must first confirm that it wants deliveries. Otherwise {"refused": code}
-- or {"state": "done", truncated, positions, expires_at, status}. `status` is null for a new subscription.
-- `resumes` says that the client gave a cursor. If the cursor lacks a website whose delivery begins now, its changes since
-- then are lost, and the answer says so.
CREATE FUNCTION gateway.subscribe_mcp(p_digest bytea, p_revision integer, p_installation text, p_tenant bigint, p_command jsonb)
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

-- Ends an MCP subscription at the wish of its client. Returns false if there is none.
CREATE FUNCTION gateway.unsubscribe_mcp(p_id text) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM gateway.subscription s
   WHERE s.id = p_id AND EXISTS (SELECT FROM gateway.mcp_subscription m WHERE m.id = s.id AND m.ended_at IS NULL AND m.expires_at > now());
  RETURN FOUND;
END $$;
