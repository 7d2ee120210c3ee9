-- Schema gateway holds what the gateway itself keeps: people and their sign-ins, apps and their credentials, the journal,
-- the ledger of writes, tasks, subscriptions, webhooks and live sources.
CREATE SCHEMA gateway;

-- The people who can give a consent, their sessions and their sign-ins. Session secrets are stored as SHA-256 digests,
-- and passwords as scrypt hashes.
CREATE TABLE gateway.person (
  id text PRIMARY KEY CHECK (id ~ '^prs_[a-f0-9]{32}$'),
  tenant bigint NOT NULL REFERENCES platform.organization ON DELETE CASCADE,
  email text NOT NULL CHECK (email = lower(email) AND length(email) <= 320),
  role text NOT NULL CHECK (role IN ('owner', 'admin', 'operator')),
  -- The hashed password as a PHC string. Null means that the person signs in only at the identity provider.
  password text,
  -- The person's id at the identity provider. Null means that the person has never signed in at the identity provider.
  subject text,
  disabled_at timestamptz,
  created_at timestamptz NOT NULL DEFAULT now(),
  UNIQUE (tenant, email)
);
CREATE UNIQUE INDEX person_subject ON gateway.person (tenant, subject);

CREATE TABLE gateway.session (
  digest bytea PRIMARY KEY CHECK (length(digest) = 32),
  person_id text NOT NULL REFERENCES gateway.person ON DELETE CASCADE,
  expires_at timestamptz NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX session_person ON gateway.session (person_id);
CREATE INDEX session_expiry ON gateway.session (expires_at);

-- A new password ends every session of the person, because these sessions were opened with the old password.
CREATE FUNCTION gateway.person_password() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM gateway.session s WHERE s.person_id = NEW.id;
  RETURN NULL;
END $$;
CREATE TRIGGER person_password AFTER UPDATE ON gateway.person FOR EACH ROW
  WHEN (NEW.password IS DISTINCT FROM OLD.password) EXECUTE FUNCTION gateway.person_password();

-- Failed sign-ins of the last minutes, with their source and a digest of the account name.
CREATE TABLE gateway.sign_in_failure (
  source text NOT NULL,
  account bytea NOT NULL CHECK (length(account) = 32),
  at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX sign_in_failure_source ON gateway.sign_in_failure (source, at);
CREATE INDEX sign_in_failure_at ON gateway.sign_in_failure (at);
CREATE INDEX sign_in_failure_account ON gateway.sign_in_failure (account, at);

-- Sources from which an account has signed in with its password. `place` is the SHA-256 of the account's digest and the
-- source.
CREATE TABLE gateway.sign_in_place (
  place bytea PRIMARY KEY CHECK (length(place) = 32),
  seen_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX sign_in_place_seen ON gateway.sign_in_place (seen_at);

CREATE FUNCTION gateway.sign_in_place(p_source text, p_account bytea) RETURNS bytea LANGUAGE sql IMMUTABLE
RETURN sha256(p_account || convert_to(p_source, 'UTF8'));

-- Admits an attempt to sign in, or returns the number of seconds to wait. An admitted attempt counts as failed until
-- the sign-in succeeds. So simultaneous attempts get no more admissions than the same number of attempts in sequence.
--
-- Three limits apply in the time window. The first limit is for failures of the account from this source. The second
-- limit is for all failures from this source. The third limit is 50 failures of the account from all sources. The third
-- limit does not apply to a source from which the account has signed in during the last 30 days. So nobody can lock a
-- person out at the person's usual places.
--
-- The time `recorded` identifies the attempt among the attempts from its source. The time is unique there, because the
-- lock of the source admits one attempt at a time.
CREATE FUNCTION gateway.begin_sign_in(
  p_source text, p_account bytea, p_window interval, p_per_account integer, p_per_source integer,
  OUT recorded timestamptz, OUT wait integer
) LANGUAGE plpgsql AS $$
DECLARE
  per_account_everywhere CONSTANT integer := 50;
  since timestamptz;
  until timestamptz;
  known boolean;
BEGIN
  -- Lock the source before the account, always in this order, so that no deadlock occurs.
  PERFORM pg_advisory_xact_lock(hashtextextended('sign-in ' || p_source, 0));
  PERFORM pg_advisory_xact_lock(hashtextextended('sign-in account ' || encode(p_account, 'hex'), 0));
  since := clock_timestamp() - p_window;
  known := EXISTS (SELECT FROM gateway.sign_in_place p
                    WHERE p.place = gateway.sign_in_place(p_source, p_account) AND p.seen_at > now() - interval '30 days');
  -- Finds one failure for each limit that is reached. The attempt must wait until the latest of these failures leaves
  -- the time window.
  SELECT max(at) INTO until FROM (
    (SELECT f.at FROM gateway.sign_in_failure f WHERE f.source = p_source AND f.account = p_account AND f.at > since
      ORDER BY f.at DESC OFFSET p_per_account - 1 LIMIT 1)
    UNION ALL
    (SELECT f.at FROM gateway.sign_in_failure f WHERE f.source = p_source AND f.at > since
      ORDER BY f.at DESC OFFSET p_per_source - 1 LIMIT 1)
    UNION ALL
    (SELECT f.at FROM gateway.sign_in_failure f WHERE NOT known AND f.account = p_account AND f.at > since
      ORDER BY f.at DESC OFFSET per_account_everywhere - 1 LIMIT 1)) full_windows;
  IF until IS NOT NULL THEN
    wait := greatest(1, ceil(extract(epoch FROM until - since)));
    RETURN;
  END IF;
  recorded := clock_timestamp();
  INSERT INTO gateway.sign_in_failure (source, account, at) VALUES (p_source, p_account, recorded);
  -- Each attempt deletes up to two failures that are older than the time window.
  DELETE FROM gateway.sign_in_failure WHERE ctid IN (
    SELECT f.ctid FROM gateway.sign_in_failure f WHERE f.at <= since ORDER BY f.at LIMIT 2 FOR UPDATE SKIP LOCKED);
END $$;
