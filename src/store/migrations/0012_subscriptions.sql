-- Event subscriptions (contract, Event subscriptions and events; decisions, section 12). They belong to an installation; a
-- credential of it finds those of which it is granted every website. Where a reader stands is in its cursor, not here.
CREATE TABLE gateway.subscription (
  id text PRIMARY KEY CHECK (id ~ '^sub_[a-f0-9]{32}$'),
  installation_id text NOT NULL REFERENCES gateway.installation ON DELETE CASCADE,
  tenant bigint NOT NULL,
  sites bigint[] NOT NULL CHECK (cardinality(sites) BETWEEN 1 AND 50),
  event_types text[] NOT NULL CHECK (cardinality(event_types) BETWEEN 1 AND 35),
  start text NOT NULL CHECK (start IN ('beginning', 'retained')),
  revision integer NOT NULL DEFAULT 1,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX subscription_installation ON gateway.subscription (installation_id);

-- Families of event types, exact or with a wildcard.
CREATE FUNCTION gateway.families_of(event_types text[]) RETURNS text[] LANGUAGE sql IMMUTABLE AS $$
  SELECT ARRAY(SELECT DISTINCT split_part(t, '.', 1) FROM unnest(event_types) AS t)
$$;

-- Behind which the oldest receipt stands that is kept for another hour at least: a reader that begins at the very edge of
-- what is retained would find it gone.
CREATE FUNCTION gateway.retained_position(p_tenant bigint, p_site bigint) RETURNS bigint LANGUAGE sql STABLE AS $$
  SELECT coalesce((SELECT j.position - 1 FROM gateway.journal j
                    WHERE j.tenant = p_tenant AND j.site = p_site AND j.recorded_at >= now() - interval '7 days' + interval '1 hour'
                    ORDER BY j.position LIMIT 1),
                  (SELECT h.position FROM gateway.journal_head h WHERE h.tenant = p_tenant AND h.site = p_site), 0)
$$;

-- A subscription as it is told, and the positions that its first pull begins behind if it began now. Paused: pulls are refused
-- because one of its families is held on one of its websites.
CREATE FUNCTION gateway.subscription_state(s gateway.subscription) RETURNS json LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN json_build_object(
    'id', s.id, 'revision', s.revision, 'sites', s.sites::text[], 'event_types', s.event_types, 'start', s.start,
    'created_at', floor(extract(epoch FROM s.created_at) * 1000), 'updated_at', floor(extract(epoch FROM s.updated_at) * 1000),
    'paused', EXISTS (SELECT FROM gateway.family_hold f
                       WHERE f.tenant = s.tenant AND f.site = ANY (s.sites) AND f.family = ANY (gateway.families_of(s.event_types))),
    'positions', (SELECT json_agg(CASE s.start WHEN 'retained' THEN gateway.retained_position(s.tenant, w.site) ELSE 0 END ORDER BY w.n)
                    FROM unnest(s.sites) WITH ORDINALITY AS w (site, n)));
END $$;

-- Whether a live credential may read what it names.
CREATE FUNCTION gateway.has_reader(s gateway.subscription) RETURNS boolean LANGUAGE sql STABLE AS $$
  SELECT EXISTS (SELECT FROM gateway.credential c
    WHERE c.installation_id = s.installation_id AND c.revoked_at IS NULL AND c.expires_at > now() AND c.sites @> s.sites)
$$;

-- One function a write, each answering {"done": …} or {"refused": code}.
CREATE FUNCTION gateway.create_subscription(p_installation text, p_tenant bigint, p_command jsonb) RETURNS json
LANGUAGE plpgsql AS $$
DECLARE
  s gateway.subscription;
BEGIN
  -- One at a time for an installation: twenty is its limit, however many ask at once.
  PERFORM FROM gateway.installation i WHERE i.id = p_installation FOR NO KEY UPDATE;
  -- The id is the call's own: its statement came twice, and the first time it was done.
  SELECT * INTO s FROM gateway.subscription WHERE id = p_command ->> 'id';
  IF s.id IS NULL THEN
    IF (SELECT count(*) FROM gateway.subscription x WHERE x.installation_id = p_installation) >= 20 THEN
      -- The oldest that no credential can find any more, because it names a website that was taken away, gives up its place.
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

-- The subscription locked for a change, or why it is not to be had: {"refused": code} in `refused`.
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

-- A write of a subscription. With p_id, which is made of its Idempotency-Key, once, by the rules of gateway.write_batch;
-- the row of the ledger is of no website (site 0), so that operation_get does not find it. Without, there is no such row.
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
        -- A token of the credential may have been given fewer websites than the one that made the answer.
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
  -- The installation's row may have been waited for.
  IF NOT gateway.authority_holds(p_digest, p_revision) THEN RAISE EXCEPTION 'stale authority' USING ERRCODE = 'GW401'; END IF;
  RETURN json_build_object('state', 'new', 'outcome', answer);
END $$;

-- Of the websites that there are: nobody is told of the others.
CREATE OR REPLACE FUNCTION gateway.watched_families() RETURNS TABLE (tenant bigint, site bigint, family text) LANGUAGE sql STABLE AS $$
  SELECT DISTINCT w.tenant, w.site, f.family
    FROM gateway.subscription s
    JOIN platform.website w ON w.tenant = s.tenant AND w.site = ANY (s.sites)
    CROSS JOIN unnest(gateway.families_of(s.event_types)) AS f (family)
   WHERE gateway.has_reader(s)
$$;
