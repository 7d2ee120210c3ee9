-- What the gateway itself keeps: who may call, what they may spend, what they did, what changed.
CREATE SCHEMA gateway;

CREATE TABLE gateway.app (
  id text PRIMARY KEY CHECK (id ~ '^app_[a-f0-9]{32}$'),
  tenant bigint NOT NULL REFERENCES platform.organization ON DELETE CASCADE,
  name text NOT NULL,
  quota_per_minute integer NOT NULL DEFAULT 600 CHECK (quota_per_minute > 0),
  burst integer NOT NULL DEFAULT 120 CHECK (burst > 0),
  created_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE gateway.installation (
  id text PRIMARY KEY CHECK (id ~ '^ins_[a-f0-9]{32}$'),
  app_id text NOT NULL REFERENCES gateway.app ON DELETE CASCADE,
  created_at timestamptz NOT NULL DEFAULT now()
);

-- Restrictions hold public ids; null means unrestricted in that dimension, an empty array permits nothing.
CREATE TABLE gateway.credential (
  id text PRIMARY KEY CHECK (id ~ '^crd_[a-f0-9]{32}$'),
  installation_id text NOT NULL REFERENCES gateway.installation ON DELETE CASCADE,
  environment text NOT NULL CHECK (environment IN ('live', 'test')),
  secret_digest bytea NOT NULL,
  old_secret_digest bytea,
  old_secret_until timestamptz,
  sites bigint[] NOT NULL,
  scopes text[] NOT NULL,
  data_access text[] NOT NULL DEFAULT '{}',
  channel_ids text[], team_ids text[], subsite_ids text[],
  callbacks text[] NOT NULL DEFAULT '{}',
  origins text[] NOT NULL DEFAULT '{}',
  revision integer NOT NULL DEFAULT 1,
  expires_at timestamptz NOT NULL,
  revoked_at timestamptz,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX credential_installation ON gateway.credential (installation_id);

-- Any change of what a credential may do raises its revision, whatever road the change came by.
CREATE FUNCTION gateway.credential_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.revision := OLD.revision + 1;
  NEW.updated_at := now();
  RETURN NEW;
END $$;
CREATE TRIGGER credential_changed BEFORE UPDATE ON gateway.credential FOR EACH ROW
  WHEN (OLD.* IS DISTINCT FROM NEW.*) EXECUTE FUNCTION gateway.credential_changed();

-- A website that is gone is no longer granted: what remembers the credential learns it by the revision.
CREATE FUNCTION gateway.website_deleted() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE gateway.credential c SET sites = array_remove(c.sites, OLD.site)
    FROM gateway.installation i JOIN gateway.app a ON a.id = i.app_id
   WHERE i.id = c.installation_id AND a.tenant = OLD.tenant AND OLD.site = ANY(c.sites);
  RETURN NULL;
END $$;
CREATE TRIGGER website_deleted AFTER DELETE ON platform.website FOR EACH ROW
  EXECUTE FUNCTION gateway.website_deleted();

-- Bearer tokens, as SHA-256 digests only.
CREATE TABLE gateway.token (
  digest bytea PRIMARY KEY CHECK (length(digest) = 32),
  credential_id text NOT NULL REFERENCES gateway.credential ON DELETE CASCADE,
  kind text NOT NULL CHECK (kind IN ('installation')),
  expires_at timestamptz,                              -- null: with its credential
  revoked_at timestamptz,
  created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX token_credential ON gateway.token (credential_id);

-- The operator in whose name a credential writes on a website.
CREATE TABLE gateway.native_author (
  credential_id text NOT NULL REFERENCES gateway.credential ON DELETE CASCADE,
  tenant bigint NOT NULL, site bigint NOT NULL, operator_id bigint NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (credential_id, tenant, site),
  FOREIGN KEY (tenant, site, operator_id) REFERENCES platform.operator ON DELETE CASCADE
);

-- Token bucket per app (section 21 of the decisions). tokens: units in the bucket at `at`; leased: units that replicas
-- hold in memory until leased_until. tokens + leased never exceed the burst, so no number of replicas overspends.
CREATE TABLE gateway.quota (
  app_id text PRIMARY KEY REFERENCES gateway.app ON DELETE CASCADE,
  tokens double precision NOT NULL,
  leased double precision NOT NULL DEFAULT 0,
  leased_until timestamptz NOT NULL DEFAULT '-infinity',
  at timestamptz NOT NULL
);

-- Takes up to `want` units (at least `need`, or the whole burst where that is less, or none), after giving back `unspent` of a lease of `held` units.
-- Returns what was granted, what is left in the bucket, its rate and burst. An unknown app returns no row.
CREATE FUNCTION gateway.take_quota(p_app text, need integer, want integer, held integer, unspent integer, lease interval)
RETURNS TABLE (granted integer, remaining double precision, per_minute integer, burst integer)
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
  IF q.leased_until < moment THEN q.leased := 0; END IF;
  q.leased := greatest(0, q.leased - held);
  q.tokens := least(a.burst - q.leased, q.tokens + unspent + extract(epoch FROM moment - q.at) * a.quota_per_minute / 60.0);
  granted := CASE WHEN q.tokens >= least(need, a.burst) THEN least(want, floor(q.tokens))::integer ELSE 0 END;
  q.tokens := q.tokens - granted;
  q.leased := q.leased + granted;
  IF granted > 0 THEN q.leased_until := greatest(q.leased_until, moment + lease); END IF;
  -- A refusal changes nothing: the row's tokens and moment say the same as before.
  IF granted > 0 OR held > 0 OR unspent > 0 THEN
    UPDATE gateway.quota SET tokens = q.tokens, leased = q.leased, leased_until = q.leased_until, at = moment
     WHERE app_id = p_app;
  END IF;
  remaining := q.tokens;
  per_minute := a.quota_per_minute;
  burst := a.burst;
  RETURN NEXT;
END $$;

-- Receipts of reviewed writes.
CREATE TABLE gateway.operation (
  operation_id text PRIMARY KEY CHECK (operation_id ~ '^op_[a-f0-9]{64}$'),
  credential_id text NOT NULL REFERENCES gateway.credential ON DELETE CASCADE,
  revision integer NOT NULL,
  tenant bigint NOT NULL, site bigint NOT NULL,
  operation text NOT NULL,
  status text NOT NULL CHECK (status IN ('pending', 'acknowledged', 'outcome_unknown')),
  created_at timestamptz NOT NULL DEFAULT now()
);

-- Payload-free receipts of changes. A counter row per website gives positions that are gapless and in commit order.
CREATE TABLE gateway.journal_head (
  tenant bigint NOT NULL, site bigint NOT NULL, position bigint NOT NULL,
  last_at jsonb NOT NULL DEFAULT '{}',                 -- event family -> Unix milliseconds of its last receipt
  PRIMARY KEY (tenant, site)
);
CREATE TABLE gateway.journal (
  tenant bigint NOT NULL, site bigint NOT NULL, position bigint NOT NULL,
  event_type text NOT NULL,
  occurred_at timestamptz NOT NULL,
  recorded_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (tenant, site, position)
);

CREATE FUNCTION gateway.append_receipts(p_tenant bigint, p_site bigint, event_types text[]) RETURNS void
LANGUAGE sql AS $$
  WITH head AS (
    INSERT INTO gateway.journal_head AS h (tenant, site, position, last_at)
    SELECT p_tenant, p_site, cardinality(event_types),
           jsonb_object_agg(split_part(event_type, '.', 1), floor(extract(epoch FROM now()) * 1000))
      FROM unnest(event_types) AS event_type
    ON CONFLICT (tenant, site) DO UPDATE SET position = h.position + excluded.position, last_at = h.last_at || excluded.last_at
    RETURNING position - cardinality(event_types) AS before
  )
  INSERT INTO gateway.journal (tenant, site, position, event_type, occurred_at)
  SELECT p_tenant, p_site, head.before + e.n, e.event_type, now()
    FROM head, unnest(event_types) WITH ORDINALITY AS e (event_type, n)
$$;
