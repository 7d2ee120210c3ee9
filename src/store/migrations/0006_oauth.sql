-- OAuth (contract, Authentication; decisions, sections 16 and 17): people who may consent, their sessions, what they
-- consented to, and tokens bound to one interface. Secrets are SHA-256 digests, passwords scrypt.
--
-- Whatever ends a consent or its credential marks the tokens in the same transaction, by triggers, so that it holds by
-- whatever road the end came, and the guard of every call looks at the token and its credential alone.

CREATE TABLE gateway.person (
  id text PRIMARY KEY CHECK (id ~ '^prs_[a-f0-9]{32}$'),
  tenant bigint NOT NULL REFERENCES platform.organization ON DELETE CASCADE,
  email text NOT NULL CHECK (email = lower(email) AND length(email) <= 320),
  role text NOT NULL CHECK (role IN ('owner', 'admin', 'operator')),
  password text,                                        -- PHC string; null: signs in at the identity provider only
  subject text,                                         -- the identity provider's name of the person, from the first sign-in on
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

-- Failed sign-ins of the last minutes, by where they came from and whom they named (by digest).
CREATE TABLE gateway.sign_in_failure (
  source text NOT NULL,
  account bytea NOT NULL CHECK (length(account) = 32),
  at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX sign_in_failure_source ON gateway.sign_in_failure (source, at);
CREATE INDEX sign_in_failure_at ON gateway.sign_in_failure (at);

CREATE TABLE gateway.consent (
  id text PRIMARY KEY CHECK (id ~ '^cns_[a-f0-9]{32}$'),
  credential_id text NOT NULL REFERENCES gateway.credential ON DELETE CASCADE,
  person_id text NOT NULL REFERENCES gateway.person ON DELETE CASCADE,
  -- SHA-256 of the authorization request: one answer to a request, however many tabs show it.
  request bytea NOT NULL UNIQUE CHECK (length(request) = 32),
  audience text NOT NULL CHECK (audience IN ('rest', 'mcp', 'a2a')),
  scopes text[] NOT NULL,
  sites bigint[] NOT NULL,
  renewable boolean NOT NULL,
  code_digest bytea NOT NULL UNIQUE CHECK (length(code_digest) = 32),
  code_challenge text NOT NULL,
  code_expires_at timestamptz NOT NULL,
  code_used_at timestamptz,
  redirect_uri text NOT NULL,
  expires_at timestamptz NOT NULL,
  revoked_at timestamptz,
  revoked_because text CHECK (revoked_because IN
    ('revoked', 'client', 'code_misused', 'refresh_reused', 'person', 'credential')),
  created_at timestamptz NOT NULL DEFAULT now(),
  CHECK ((revoked_at IS NULL) = (revoked_because IS NULL))
);
CREATE INDEX consent_credential ON gateway.consent (credential_id);
CREATE INDEX consent_person ON gateway.consent (person_id);
CREATE INDEX consent_expiry ON gateway.consent (expires_at);

CREATE TABLE gateway.refresh_token (
  digest bytea PRIMARY KEY CHECK (length(digest) = 32),
  consent_id text NOT NULL REFERENCES gateway.consent ON DELETE CASCADE,
  expires_at timestamptz NOT NULL,
  used_at timestamptz,                                  -- rotated; whoever shows it again ends the consent
  created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX refresh_token_consent ON gateway.refresh_token (consent_id);

-- An access token narrows its credential: what it may do is what both hold.
ALTER TABLE gateway.token
  DROP CONSTRAINT token_kind_check,
  ADD COLUMN audience text CHECK (audience IN ('rest', 'mcp', 'a2a')),
  ADD COLUMN scopes text[],
  ADD COLUMN sites bigint[],
  ADD COLUMN consent_id text,
  ADD CONSTRAINT token_kind_check CHECK (CASE kind
    WHEN 'installation' THEN audience IS NULL AND scopes IS NULL AND sites IS NULL AND consent_id IS NULL
    WHEN 'access' THEN audience IS NOT NULL AND scopes IS NOT NULL AND sites IS NOT NULL AND expires_at IS NOT NULL
    ELSE false END);
CREATE INDEX token_consent ON gateway.token (consent_id) WHERE consent_id IS NOT NULL;
CREATE INDEX token_expiry ON gateway.token (expires_at) WHERE kind = 'access';
-- The reference would make every token that is issued share-lock its credential's one row.
ALTER TABLE gateway.token DROP CONSTRAINT token_credential_id_fkey;
CREATE FUNCTION gateway.credential_deleted() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM gateway.token t WHERE t.credential_id = OLD.id;
  RETURN NULL;
END $$;
CREATE TRIGGER credential_deleted AFTER DELETE ON gateway.credential FOR EACH ROW
  EXECUTE FUNCTION gateway.credential_deleted();

-- The ends of consent.
CREATE FUNCTION gateway.consent_ended() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE gateway.token t SET revoked_at = now() WHERE t.consent_id = NEW.id AND t.revoked_at IS NULL;
  RETURN NULL;
END $$;
CREATE TRIGGER consent_ended AFTER UPDATE ON gateway.consent FOR EACH ROW
  WHEN (OLD.revoked_at IS NULL AND NEW.revoked_at IS NOT NULL) EXECUTE FUNCTION gateway.consent_ended();

CREATE FUNCTION gateway.consent_deleted() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM gateway.token t WHERE t.consent_id = OLD.id;
  RETURN NULL;
END $$;
CREATE TRIGGER consent_deleted AFTER DELETE ON gateway.consent FOR EACH ROW EXECUTE FUNCTION gateway.consent_deleted();

CREATE FUNCTION gateway.person_ended() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE gateway.consent c SET revoked_at = now(), revoked_because = 'person'
   WHERE c.person_id = NEW.id AND c.revoked_at IS NULL;
  DELETE FROM gateway.session s WHERE s.person_id = NEW.id;
  RETURN NULL;
END $$;
CREATE TRIGGER person_ended AFTER UPDATE ON gateway.person FOR EACH ROW
  WHEN (NEW.disabled_at IS NOT NULL OR NEW.role NOT IN ('owner', 'admin')) EXECUTE FUNCTION gateway.person_ended();
-- Who has changed the password wants everybody out who knew the old one.
CREATE FUNCTION gateway.person_password() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM gateway.session s WHERE s.person_id = NEW.id;
  RETURN NULL;
END $$;
CREATE TRIGGER person_password AFTER UPDATE ON gateway.person FOR EACH ROW
  WHEN (NEW.password IS DISTINCT FROM OLD.password) EXECUTE FUNCTION gateway.person_password();

-- A credential that was revoked, or rotated, with overlap or without, or given more time after its end: what was derived
-- from it ends at once. The overlap is for the installation token and the secret, with which a client has a new token in
-- one request.
CREATE FUNCTION gateway.credential_ended() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE gateway.consent c SET revoked_at = now(), revoked_because = 'credential'
   WHERE c.credential_id = NEW.id AND c.revoked_at IS NULL;
  UPDATE gateway.token t SET revoked_at = now()
   WHERE t.credential_id = NEW.id AND t.kind = 'access' AND t.revoked_at IS NULL;
  RETURN NULL;
END $$;
CREATE TRIGGER credential_ended AFTER UPDATE ON gateway.credential FOR EACH ROW
  WHEN (NEW.secret_digest <> OLD.secret_digest OR OLD.revoked_at IS NULL AND NEW.revoked_at IS NOT NULL
    -- It had expired, and what was derived from it with it: more time does not bring that back.
    OR OLD.expires_at <= now() AND NEW.expires_at > now())
  EXECUTE FUNCTION gateway.credential_ended();

-- Whether a client, proved at a revision by its current secret or by the one before, is still proved. Held until the
-- commit, so that what is made for the client and the end of its credential come one after the other.
CREATE FUNCTION gateway.client_proved(p_credential text, p_revision integer, p_old_secret boolean) RETURNS gateway.credential
LANGUAGE plpgsql AS $$
DECLARE
  c gateway.credential;
BEGIN
  SELECT * INTO c FROM gateway.credential
   WHERE id = p_credential AND revision = p_revision AND revoked_at IS NULL AND expires_at > now()
     AND (NOT p_old_secret OR old_secret_until > now())
     FOR SHARE;
  RETURN c;
END $$;

-- Exchanges a code (RFC 6749, section 4.1.3). Answers {"refused": code} or {"consent": …, "scopes": …, "sites": …,
-- "expires_at": …}; {"refused": "stale"}: the client has to be proved anew. A code that its client has shown is used up,
-- whatever comes of it; another client's attempt leaves it as it is.
CREATE FUNCTION gateway.redeem_code(
  p_credential text, p_revision integer, p_old_secret boolean, p_code bytea, p_redirect_uri text, p_challenge text,
  p_audience text, p_access bytea, p_refresh bytea, p_lifetime interval, p_idle interval
) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  k gateway.credential := gateway.client_proved(p_credential, p_revision, p_old_secret);
  c gateway.consent;
  refused text;
  held text[];
BEGIN
  IF k.id IS NULL THEN RETURN '{"refused": "stale"}'; END IF;
  SELECT * INTO c FROM gateway.consent WHERE code_digest = p_code AND credential_id = p_credential FOR UPDATE;
  IF c.id IS NULL OR c.revoked_at IS NOT NULL THEN RETURN '{"refused": "invalid_grant"}'; END IF;
  refused := CASE
    WHEN c.code_used_at IS NOT NULL OR c.redirect_uri <> p_redirect_uri OR c.code_challenge <> p_challenge THEN 'invalid_grant'
    WHEN c.audience <> p_audience THEN 'invalid_target' END;
  IF refused IS NOT NULL THEN
    UPDATE gateway.consent SET code_used_at = coalesce(code_used_at, now()), revoked_at = now(), revoked_because = 'code_misused'
     WHERE id = c.id;
    RETURN json_build_object('refused', refused);
  END IF;
  UPDATE gateway.consent SET code_used_at = now() WHERE id = c.id;
  IF c.code_expires_at <= now() OR c.expires_at <= now() THEN RETURN '{"refused": "invalid_grant"}'; END IF;
  held := gateway.held_scopes(c, k);
  IF cardinality(held) = 0 THEN RETURN '{"refused": "invalid_scope"}'; END IF;
  RETURN gateway.give_tokens(c, k, held, p_access, CASE WHEN c.renewable THEN p_refresh END, p_lifetime, p_idle);
END $$;

-- Rotates a refresh token (RFC 6749, section 6; RFC 9700, section 4.14.2). One that was rotated already ends the consent
-- and all its tokens before anybody is answered; another client's attempt changes nothing.
CREATE FUNCTION gateway.rotate_refresh(
  p_credential text, p_revision integer, p_old_secret boolean, p_token bytea, p_audience text, p_scopes text[],
  p_access bytea, p_refresh bytea, p_lifetime interval, p_idle interval
) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  k gateway.credential := gateway.client_proved(p_credential, p_revision, p_old_secret);
  c gateway.consent;
  r gateway.refresh_token;
  held text[];
BEGIN
  IF k.id IS NULL THEN RETURN '{"refused": "stale"}'; END IF;
  SELECT o.* INTO c FROM gateway.refresh_token t JOIN gateway.consent o ON o.id = t.consent_id
   WHERE t.digest = p_token AND o.credential_id = p_credential FOR UPDATE OF o;
  IF c.id IS NULL OR c.revoked_at IS NOT NULL OR c.expires_at <= now() THEN RETURN '{"refused": "invalid_grant"}'; END IF;
  -- Under the consent's lock: what another has done with the token meanwhile is seen.
  SELECT * INTO r FROM gateway.refresh_token WHERE digest = p_token;
  IF r.used_at IS NOT NULL THEN
    UPDATE gateway.consent SET revoked_at = now(), revoked_because = 'refresh_reused' WHERE id = c.id;
    RETURN '{"refused": "invalid_grant"}';
  END IF;
  IF r.expires_at <= now() THEN RETURN '{"refused": "invalid_grant"}'; END IF;
  IF c.audience <> p_audience THEN RETURN '{"refused": "invalid_target"}'; END IF;
  held := gateway.held_scopes(c, k);
  IF NOT held @> coalesce(p_scopes, '{}') OR cardinality(held) = 0 THEN RETURN '{"refused": "invalid_scope"}'; END IF;
  UPDATE gateway.refresh_token SET used_at = now() WHERE digest = p_token;
  RETURN gateway.give_tokens(c, k, coalesce(p_scopes, held), p_access, p_refresh, p_lifetime, p_idle);
END $$;

-- What both a consent and its credential hold.
CREATE FUNCTION gateway.held_scopes(c gateway.consent, k gateway.credential) RETURNS text[] LANGUAGE plpgsql AS $$
BEGIN
  RETURN ARRAY(SELECT s FROM unnest(c.scopes) AS s WHERE s = ANY (k.scopes));
END $$;

-- The tokens of a consent, none of which outlives it or its credential.
CREATE FUNCTION gateway.give_tokens(
  c gateway.consent, k gateway.credential, p_scopes text[], p_access bytea, p_refresh bytea, p_lifetime interval,
  p_idle interval
) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  last timestamptz := least(c.expires_at, k.expires_at);
  access_until timestamptz := least(now() + p_lifetime, last);
  refresh_until timestamptz := least(now() + p_idle, last);
BEGIN
  INSERT INTO gateway.token (digest, credential_id, kind, audience, scopes, sites, consent_id, expires_at)
  VALUES (p_access, c.credential_id, 'access', c.audience, p_scopes, c.sites, c.id, access_until);
  IF p_refresh IS NOT NULL THEN
    INSERT INTO gateway.refresh_token (digest, consent_id, expires_at) VALUES (p_refresh, c.id, refresh_until);
  END IF;
  RETURN json_build_object(
    'scopes', p_scopes,
    'expires_in', floor(extract(epoch FROM access_until - now())),
    'refresh_expires_in', CASE WHEN p_refresh IS NOT NULL THEN floor(extract(epoch FROM refresh_until - now())) END);
END $$;
