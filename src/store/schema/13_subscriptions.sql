-- A subscription to events belongs to an installation. A credential of the installation sees the subscription if the
-- credential is granted all websites of the subscription. The position of the reader is in a cursor that the reader
-- keeps. So no position is stored here.
CREATE TABLE gateway.subscription (
  id text PRIMARY KEY CHECK (id ~ '^sub_[a-f0-9]{32}$'),
  installation_id text NOT NULL REFERENCES gateway.installation ON DELETE CASCADE,
  tenant bigint NOT NULL,
  sites bigint[] NOT NULL CHECK (cardinality(sites) BETWEEN 1 AND 50),
  event_types text[] NOT NULL CHECK (cardinality(event_types) BETWEEN 1 AND 35),
  start text NOT NULL CHECK (start IN ('beginning', 'retained', 'now')),
  revision integer NOT NULL DEFAULT 1,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX subscription_installation ON gateway.subscription (installation_id);

CREATE FUNCTION gateway.families_of(event_types text[]) RETURNS text[] LANGUAGE sql IMMUTABLE AS $$
  SELECT ARRAY(SELECT DISTINCT split_part(t, '.', 1) FROM unnest(event_types) AS t)
$$;

-- Returns the position before the oldest receipt that will stay in the journal for at least one more hour. An older
-- receipt could disappear before a reader gets the receipt.
CREATE FUNCTION gateway.retained_position(p_tenant bigint, p_site bigint) RETURNS bigint LANGUAGE sql STABLE AS $$
  SELECT coalesce((SELECT j.position - 1 FROM gateway.journal j
                    WHERE j.tenant = p_tenant AND j.site = p_site AND j.recorded_at >= now() - interval '7 days' + interval '1 hour'
                    ORDER BY j.position LIMIT 1),
                  (SELECT h.position FROM gateway.journal_head h WHERE h.tenant = p_tenant AND h.site = p_site), 0)
$$;

-- Returns a subscription as callers see it. `positions` says for each website where a first pull would start now.
-- `paused` is true if one of the event families is stopped on one of the websites. While `paused` is true, pulls are
-- refused.
-- With the start `now`, the first pull begins behind the newest receipt.
CREATE FUNCTION gateway.subscription_state(s gateway.subscription) RETURNS json LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN json_build_object(
    'id', s.id, 'revision', s.revision, 'sites', s.sites::text[], 'event_types', s.event_types, 'start', s.start,
    'created_at', floor(extract(epoch FROM s.created_at) * 1000), 'updated_at', floor(extract(epoch FROM s.updated_at) * 1000),
    'paused', EXISTS (SELECT FROM gateway.family_hold f
                       WHERE f.tenant = s.tenant AND f.site = ANY (s.sites) AND f.family = ANY (gateway.families_of(s.event_types))),
    'positions', (SELECT json_agg(CASE s.start
                      WHEN 'retained' THEN gateway.retained_position(s.tenant, w.site)
                      WHEN 'now' THEN coalesce((SELECT h.position FROM gateway.journal_head h
                                                 WHERE h.tenant = s.tenant AND h.site = w.site), 0)
                      ELSE 0 END ORDER BY w.n)
                    FROM unnest(s.sites) WITH ORDINALITY AS w (site, n)));
END $$;

-- Returns true if an active credential of the installation is granted all websites of the subscription.
CREATE FUNCTION gateway.has_reader(s gateway.subscription) RETURNS boolean LANGUAGE sql STABLE AS $$
  SELECT EXISTS (SELECT FROM gateway.credential c
    WHERE c.installation_id = s.installation_id AND c.revoked_at IS NULL AND c.expires_at > now() AND c.sites @> s.sites)
$$;

-- The next functions are the write operations on subscriptions. Each returns {"done": …} or {"refused": code}.
CREATE FUNCTION gateway.create_subscription(p_installation text, p_tenant bigint, p_command jsonb) RETURNS json
LANGUAGE plpgsql AS $$
DECLARE
  s gateway.subscription;
BEGIN
  -- Only one transaction at a time adds subscriptions to an installation. So calls at the same moment cannot exceed the
  -- limit of twenty.
  PERFORM FROM gateway.installation i WHERE i.id = p_installation FOR NO KEY UPDATE;
  -- Every call has a new id. If the id is already stored, this statement was sent twice and has already done its work.
  SELECT * INTO s FROM gateway.subscription WHERE id = p_command ->> 'id';
  IF s.id IS NULL THEN
    IF (SELECT count(*) FROM gateway.subscription x WHERE x.installation_id = p_installation) >= 20 THEN
      -- The oldest subscription without an active reader is deleted, to make room for the new subscription.
      DELETE FROM gateway.subscription WHERE id = (
        SELECT x.id FROM gateway.subscription x WHERE x.installation_id = p_installation AND NOT gateway.has_reader(x)
         ORDER BY x.updated_at, x.id LIMIT 1);
      IF NOT FOUND THEN RETURN '{"refused": "inventory_limit"}'; END IF;
    END IF;
    INSERT INTO gateway.subscription (id, installation_id, tenant, sites, event_types, start)
    SELECT d.id, p_installation, p_tenant, d.sites, d.event_types, d.start
      FROM jsonb_to_record(p_command) AS d (id text, sites bigint[], event_types text[], start text)
    RETURNING * INTO s;
  END IF;
  RETURN json_build_object('done', gateway.subscription_state(s));
END $$;

-- Locks a subscription for a change. If the change is impossible, `refused` is {"refused": code}.
CREATE FUNCTION gateway.lock_subscription(
  p_installation text, p_granted bigint[], p_command jsonb, OUT s gateway.subscription, OUT refused json
) LANGUAGE plpgsql AS $$
BEGIN
  SELECT * INTO s FROM gateway.subscription x
   WHERE x.id = p_command ->> 'id' AND x.installation_id = p_installation AND x.sites <@ p_granted
     FOR NO KEY UPDATE SKIP LOCKED;
  IF s.id IS NULL THEN
    refused := json_build_object('refused', CASE WHEN EXISTS (
      SELECT FROM gateway.subscription x
       WHERE x.id = p_command ->> 'id' AND x.installation_id = p_installation AND x.sites <@ p_granted
    ) THEN 'concurrent_mutation' ELSE 'not_found' END);
  ELSIF s.revision <> (p_command ->> 'revision')::bigint THEN
    refused := '{"refused": "revision_changed"}';
  END IF;
END $$;

CREATE FUNCTION gateway.replace_subscription(p_installation text, p_granted bigint[], p_command jsonb) RETURNS json
LANGUAGE plpgsql AS $$
DECLARE
  l record;
  s gateway.subscription;
BEGIN
  l := gateway.lock_subscription(p_installation, p_granted, p_command);
  IF l.refused IS NOT NULL THEN RETURN l.refused; END IF;
  UPDATE gateway.subscription x
     SET sites = d.sites, event_types = d.event_types, start = d.start, revision = x.revision + 1,
         updated_at = greatest(x.updated_at, now())
    FROM jsonb_to_record(p_command) AS d (id text, sites bigint[], event_types text[], start text)
   WHERE x.id = d.id
  RETURNING x.* INTO s;
  RETURN json_build_object('done', gateway.subscription_state(s));
END $$;

CREATE FUNCTION gateway.delete_subscription(p_installation text, p_granted bigint[], p_command jsonb) RETURNS json
LANGUAGE plpgsql AS $$
DECLARE
  l record;
BEGIN
  l := gateway.lock_subscription(p_installation, p_granted, p_command);
  IF l.refused IS NOT NULL THEN RETURN l.refused; END IF;
  DELETE FROM gateway.subscription WHERE id = (l.s).id;
  RETURN json_build_object('done', json_build_object('sites', (l.s).sites::text[]));
END $$;

-- Performs one write on a subscription. p_id is an id made from the Idempotency-Key. With p_id, the write happens only
-- once and is stored in the ledger of writes. The ledger row has site 0, so operation_get does not find the row.
-- Without p_id, nothing is stored in the ledger.
CREATE FUNCTION gateway.subscription_once(
  p_digest bytea, p_id text, p_credential text, p_revision integer, p_installation text, p_tenant bigint, p_granted bigint[],
  p_operation text, p_fingerprint bytea, p_command jsonb
) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  o gateway.operation;
  answer json;
BEGIN
  IF p_id IS NOT NULL THEN
    PERFORM pg_advisory_xact_lock(hashtextextended(p_id, 0));
    IF NOT gateway.authority_holds(p_digest, p_revision) THEN RAISE EXCEPTION 'stale authority' USING ERRCODE = 'GW401'; END IF;
    SELECT * INTO o FROM gateway.operation WHERE operation_id = p_id;
    IF FOUND THEN
      RETURN CASE
        WHEN o.fingerprint IS NULL OR o.created_at <= now() - interval '24 hours' THEN '{"state": "forgotten"}'
        WHEN o.fingerprint <> p_fingerprint THEN '{"state": "conflict"}'
        -- A repeated call can use another token. The new token can hold fewer websites than the first token.
        WHEN NOT p_granted @> ARRAY(SELECT json_array_elements_text(o.outcome -> 'done' -> 'sites')::bigint)
          THEN '{"state": "new", "outcome": {"refused": "not_found"}}'
        ELSE json_build_object('state', 'settled', 'outcome', o.outcome) END;
    END IF;
  END IF;
  answer := CASE p_operation
    WHEN 'subscription_create' THEN gateway.create_subscription(p_installation, p_tenant, p_command)
    WHEN 'subscription_replace' THEN gateway.replace_subscription(p_installation, p_granted, p_command)
    WHEN 'subscription_delete' THEN gateway.delete_subscription(p_installation, p_granted, p_command)
  END;
  IF p_id IS NOT NULL AND answer ->> 'refused' IS NULL THEN
    INSERT INTO gateway.operation
      (operation_id, credential_id, revision, tenant, site, operation, status, fingerprint, outcome)
    VALUES (p_id, p_credential, p_revision, p_tenant, 0, p_operation, 'acknowledged', p_fingerprint, answer);
  END IF;
  -- The statement may have waited for the installation's row, so check the authority again.
  IF NOT gateway.authority_holds(p_digest, p_revision) THEN RAISE EXCEPTION 'stale authority' USING ERRCODE = 'GW401'; END IF;
  RETURN json_build_object('state', 'new', 'outcome', answer);
END $$;
