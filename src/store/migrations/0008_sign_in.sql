-- People who may consent, their sessions and their sign-ins. Secrets are SHA-256 digests, passwords scrypt.
CREATE TABLE gateway.person (
  id text PRIMARY KEY CHECK (id ~ '^prs_[a-f0-9]{32}$'),
  tenant bigint NOT NULL REFERENCES platform.organization ON DELETE CASCADE,
  email text NOT NULL CHECK (email = lower(email) AND length(email) <= 320),
  role text NOT NULL CHECK (role IN ('owner', 'admin', 'operator')),
  password text,                                        -- PHC string; null: signs in at the identity provider only
  subject text,                                         -- the identity provider's id of the person, known from the first sign-in on
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

-- A new password ends every session that was opened with the old one.
CREATE FUNCTION gateway.person_password() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM gateway.session s WHERE s.person_id = NEW.id;
  RETURN NULL;
END $$;
CREATE TRIGGER person_password AFTER UPDATE ON gateway.person FOR EACH ROW
  WHEN (NEW.password IS DISTINCT FROM OLD.password) EXECUTE FUNCTION gateway.person_password();

-- Failed sign-ins of the last minutes, by the source and by the digest of the account that they named.
CREATE TABLE gateway.sign_in_failure (
  source text NOT NULL,
  account bytea NOT NULL CHECK (length(account) = 32),
  at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX sign_in_failure_source ON gateway.sign_in_failure (source, at);
CREATE INDEX sign_in_failure_at ON gateway.sign_in_failure (at);
CREATE INDEX sign_in_failure_account ON gateway.sign_in_failure (account, at);

-- Where an account has signed in with its password: SHA-256 of the account's digest and the source, and nothing else.
CREATE TABLE gateway.sign_in_place (
  place bytea PRIMARY KEY CHECK (length(place) = 32),
  seen_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX sign_in_place_seen ON gateway.sign_in_place (seen_at);

CREATE FUNCTION gateway.sign_in_place(p_source text, p_account bytea) RETURNS bytea LANGUAGE sql IMMUTABLE
RETURN sha256(p_account || convert_to(p_source, 'UTF8'));

-- Admits an attempt to sign in and records it as failed until it succeeds, or returns how many seconds to wait.
-- Counts before the password is checked: of fifty attempts at once, no more get through than of fifty in turn. Three
-- windows count: the account at the source, the source, and 50 failures of the account over all sources. A source where
-- the account has signed in within 30 days passes the third window. So nobody can lock a person out of their usual
-- places. `recorded` tells the attempt from the others of its source, because the source's lock admits one at a time.
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
  -- Always one of each, in this order: a transaction that holds an account's lock never waits for a source's lock.
  PERFORM pg_advisory_xact_lock(hashtextextended('sign-in ' || p_source, 0));
  PERFORM pg_advisory_xact_lock(hashtextextended('sign-in account ' || encode(p_account, 'hex'), 0));
  since := clock_timestamp() - p_window;
  known := EXISTS (SELECT FROM gateway.sign_in_place p
                    WHERE p.place = gateway.sign_in_place(p_source, p_account) AND p.seen_at > now() - interval '30 days');
  -- For each full window, the failure whose end makes room again.
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
  -- Each new failure deletes two that no longer count, so that none stays for long.
  DELETE FROM gateway.sign_in_failure WHERE ctid IN (
    SELECT f.ctid FROM gateway.sign_in_failure f WHERE f.at <= since ORDER BY f.at LIMIT 2 FOR UPDATE SKIP LOCKED);
END $$;
