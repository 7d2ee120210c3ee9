CREATE TABLE gateway.app (
  id text PRIMARY KEY CHECK (id ~ '^app_[a-f0-9]{32}$'),
  tenant bigint NOT NULL REFERENCES platform.organization ON DELETE CASCADE,
  name text NOT NULL,
  quota_per_minute integer NOT NULL DEFAULT 600 CHECK (quota_per_minute > 0),
  burst integer NOT NULL DEFAULT 120 CHECK (burst > 0),
  created_at timestamptz NOT NULL DEFAULT now(),
  switched_off text[] NOT NULL DEFAULT '{}'            -- the operations that an owner has switched off for the app
);

CREATE TABLE gateway.installation (
  id text PRIMARY KEY CHECK (id ~ '^ins_[a-f0-9]{32}$'),
  app_id text NOT NULL REFERENCES gateway.app ON DELETE CASCADE,
  created_at timestamptz NOT NULL DEFAULT now()
);

-- The restrictions channel_ids, team_ids and subsite_ids hold public ids. Null means no restriction. An empty array
-- permits nothing.
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
  updated_at timestamptz NOT NULL DEFAULT now(),
  -- hosted_client is the URL of an OAuth client that nobody registered (11_oauth.sql), hosted_host is the host in this URL,
  -- and hosted_person gave the approval. All three are null for a credential that was issued on the command line.
  hosted_client text,
  hosted_host text,
  hosted_person text REFERENCES gateway.person ON DELETE CASCADE,
  -- The ranges of IP addresses from which the credential may be used, in canonical form. An empty list means every address.
  -- A client by URL has no ranges: its calls come from the servers of its maker or from the person's own machine.
  allow_ip text[] NOT NULL DEFAULT '{}',
  -- The operations whose writes wait for a person (30_approvals.sql).
  approve text[] NOT NULL DEFAULT '{}',
  -- `others`: nobody approves a write of their own agent (gateway.is_own_write).
  approval_by text NOT NULL DEFAULT 'anyone' CHECK (approval_by IN ('anyone', 'others')),
  -- Replies, statuses and assignments exist only for credentials that name them here. A public reply waits for a person,
  -- unless it stands in without_approval.
  write text[] NOT NULL DEFAULT '{}',
  without_approval text[] NOT NULL DEFAULT '{}',
  -- People who decide in the console about the writes of this credential that wait, whatever their role. Each change of
  -- the list raises the revision, and so makes these writes void.
  approvers text[] NOT NULL DEFAULT '{}',
  CONSTRAINT credential_allow_ip_check
    CHECK (cardinality(allow_ip) <= 20 AND (hosted_client IS NULL OR cardinality(allow_ip) = 0)),
  CONSTRAINT credential_hosted_check CHECK (num_nulls(hosted_client, hosted_host, hosted_person) IN (0, 3))
);
CREATE INDEX credential_installation ON gateway.credential (installation_id);
CREATE UNIQUE INDEX credential_hosted ON gateway.credential (hosted_person, hosted_client)
  WHERE hosted_client IS NOT NULL AND revoked_at IS NULL;
CREATE INDEX credential_hosted_host ON gateway.credential (hosted_host) WHERE hosted_host IS NOT NULL;
CREATE INDEX credential_approvers ON gateway.credential USING gin (approvers) WHERE approvers <> '{}';

-- Every change of a credential raises its revision, no matter which program makes the change.
CREATE FUNCTION gateway.credential_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.revision := OLD.revision + 1;
  NEW.updated_at := now();
  RETURN NEW;
END $$;
CREATE TRIGGER credential_changed BEFORE UPDATE ON gateway.credential FOR EACH ROW
  WHEN (OLD.* IS DISTINCT FROM NEW.*) EXECUTE FUNCTION gateway.credential_changed();

-- Removes a deleted website from all credentials. Each change raises the revision of a credential, so that no process
-- continues with an old copy of the authority.
CREATE FUNCTION gateway.website_deleted() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE gateway.credential c SET sites = array_remove(c.sites, OLD.site)
    FROM gateway.installation i JOIN gateway.app a ON a.id = i.app_id
   WHERE i.id = c.installation_id AND a.tenant = OLD.tenant AND OLD.site = ANY(c.sites);
  RETURN NULL;
END $$;
CREATE TRIGGER website_deleted AFTER DELETE ON platform.website FOR EACH ROW
  EXECUTE FUNCTION gateway.website_deleted();

-- Bearer tokens are stored only as SHA-256 digests. An access token can have fewer rights than its credential, but
-- never more rights. credential_id is no foreign key. A foreign key would lock the row of the credential (FOR KEY
-- SHARE) at every new token.
CREATE TABLE gateway.token (
  digest bytea PRIMARY KEY CHECK (length(digest) = 32),
  credential_id text NOT NULL,
  kind text NOT NULL,
  expires_at timestamptz,                              -- null: the token ends with its credential
  revoked_at timestamptz,
  created_at timestamptz NOT NULL DEFAULT now(),
  audience text CHECK (audience IN ('rest', 'mcp', 'a2a')),
  scopes text[],
  sites bigint[],
  consent_id text,
  CONSTRAINT token_kind_check CHECK (CASE kind
    WHEN 'installation' THEN audience IS NULL AND scopes IS NULL AND sites IS NULL AND consent_id IS NULL
    WHEN 'access' THEN audience IS NOT NULL AND scopes IS NOT NULL AND sites IS NOT NULL AND expires_at IS NOT NULL
    ELSE false END)
);
CREATE INDEX token_credential ON gateway.token (credential_id);
CREATE INDEX token_consent ON gateway.token (consent_id) WHERE consent_id IS NOT NULL;
CREATE INDEX token_expiry ON gateway.token (expires_at) WHERE kind = 'access';
-- A client without a consent gets at most 60 access tokens a minute (src/store/sign-in/grants.ts). This index makes it
-- fast to count these tokens.
CREATE INDEX token_minted ON gateway.token (credential_id, created_at) WHERE kind = 'access' AND consent_id IS NULL;

-- Deletes the tokens of a deleted credential. A trigger is necessary, because credential_id is no foreign key.
CREATE FUNCTION gateway.credential_deleted() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM gateway.token t WHERE t.credential_id = OLD.id;
  RETURN NULL;
END $$;
CREATE TRIGGER credential_deleted AFTER DELETE ON gateway.credential FOR EACH ROW
  EXECUTE FUNCTION gateway.credential_deleted();

-- The operator in whose name a credential writes on a website.
CREATE TABLE gateway.native_author (
  credential_id text NOT NULL REFERENCES gateway.credential ON DELETE CASCADE,
  tenant bigint NOT NULL, site bigint NOT NULL, operator_id bigint NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (credential_id, tenant, site),
  FOREIGN KEY (tenant, site, operator_id) REFERENCES platform.operator ON DELETE CASCADE
);

-- Returns true if the caller's authority still exists at the same revision. Every statement makes this check when the
-- statement starts (src/store/calls/guard.ts). After a wait for a lock, this function repeats the check, because the
-- snapshot of the statement is old.
CREATE FUNCTION gateway.authority_holds(p_digest bytea, p_revision integer) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  RETURN EXISTS (
    SELECT 1 FROM gateway.token t JOIN gateway.credential c ON c.id = t.credential_id
     WHERE t.digest = p_digest AND t.revoked_at IS NULL AND (t.expires_at IS NULL OR t.expires_at > clock_timestamp())
       AND c.revision = p_revision AND c.revoked_at IS NULL AND c.expires_at > clock_timestamp());
END $$;

-- Returns the reason why the authority of a task's sender has ended, or null if the authority is unchanged. Locks the
-- rows of the token and the credential until the commit. So the authority cannot end between this check and the commit.
CREATE FUNCTION gateway.authority_lost(p_digest bytea, p_revision integer) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  t gateway.token;
  c gateway.credential;
BEGIN
  -- Locks the credential before the token. All statements that end a credential use this order.
  SELECT k.* INTO c FROM gateway.credential k
   WHERE k.id = (SELECT o.credential_id FROM gateway.token o WHERE o.digest = p_digest) FOR SHARE;
  SELECT o.* INTO t FROM gateway.token o WHERE o.digest = p_digest FOR SHARE;
  RETURN CASE
    WHEN c.id IS NULL OR t.digest IS NULL OR c.revoked_at IS NOT NULL OR t.revoked_at IS NOT NULL THEN 'token_revoked'
    WHEN least(c.expires_at, t.expires_at) <= clock_timestamp() THEN 'token_expired'
    WHEN c.revision <> p_revision THEN 'authority_changed' END;
END $$;

-- The quota of each app, as a token bucket. `tokens` is the number of units in the bucket at the time `at`. Replicas
-- take units in advance (a lease) and keep the units in memory. Time is divided into windows. `leased` counts the units
-- that were leased in window lease_window. `leased_before` counts the units that were leased in the previous window.
-- The sum of tokens, leased and leased_before never exceeds the burst. So the replicas together never exceed the quota.
CREATE TABLE gateway.quota (
  app_id text PRIMARY KEY REFERENCES gateway.app ON DELETE CASCADE,
  tokens double precision NOT NULL,
  leased double precision NOT NULL DEFAULT 0,
  at timestamptz NOT NULL,
  leased_before double precision NOT NULL DEFAULT 0,
  lease_window bigint NOT NULL DEFAULT 0
);

-- Leases up to `want` units of an app's quota. Leases nothing if the bucket has fewer than `need` units. But a full
-- bucket is always enough, even if `need` is larger than the burst.
--
-- First the function takes back `unspent` units of an earlier lease. The earlier lease had `held` units and was taken
-- in window `held_in`. A lease expires after one to two windows, and an expired lease returns nothing. Each lease
-- expires separately. Otherwise the units of a killed replica would stay lost while the app has steady traffic.
--
-- Returns the granted units, their window, the units left in the bucket, the rate and the burst. Returns no row for an
-- unknown app.
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
  -- The clock is read after the lock. Otherwise a caller that waited could use an older time than the previous caller.
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
  -- A refusal writes nothing, because the stored tokens and their time are still correct.
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

-- A switch changes what the credentials of the app may do. So it raises their revisions, no matter which program makes
-- the change, and no process continues with an old copy of the authority.
CREATE FUNCTION gateway.app_switched() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE gateway.credential c SET updated_at = clock_timestamp()
    FROM gateway.installation i
   WHERE i.app_id = NEW.id AND c.installation_id = i.id AND c.revoked_at IS NULL;
  RETURN NULL;
END $$;
CREATE TRIGGER app_switched AFTER UPDATE OF switched_off ON gateway.app FOR EACH ROW
  WHEN (OLD.switched_off IS DISTINCT FROM NEW.switched_off) EXECUTE FUNCTION gateway.app_switched();
