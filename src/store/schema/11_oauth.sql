-- Consents of people, and the tokens that the consents allow. Each consent is for one interface: REST, MCP or A2A. When
-- a consent or its credential ends, triggers revoke the tokens in the same transaction. So a call checks only the token
-- and the credential.

CREATE TABLE gateway.consent (
  id text PRIMARY KEY CHECK (id ~ '^cns_[a-f0-9]{32}$'),
  credential_id text NOT NULL REFERENCES gateway.credential ON DELETE CASCADE,
  person_id text NOT NULL REFERENCES gateway.person ON DELETE CASCADE,
  -- The SHA-256 of the authorization request. The column is unique, so a request gets only one answer, even from
  -- several browser tabs.
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
  -- `replaced`: the person approved the same hosted client again. `host`: the operator removed the client's host from
  -- GATEWAY_CLIENT_HOSTS.
  revoked_because text CHECK (revoked_because IN
    ('revoked', 'client', 'code_misused', 'refresh_reused', 'person', 'credential', 'replaced', 'host')),
  created_at timestamptz NOT NULL DEFAULT now(),
  -- The data-access flags and restrictions that the person saw on the consent page. A token gets only rights that both
  -- the consent and the credential have (src/store/calls/authority.ts). If the credential gets more rights later, the
  -- rights of the consent stay the same.
  data_access text[] NOT NULL,
  channel_ids text[],
  team_ids text[],
  subsite_ids text[],
  -- A consent ends when it is not refreshed for the time `idle`. Null means that the consent is for an installed client,
  -- whose time src/store/sign-in/grants.ts names.
  idle interval,
  -- True when the refresh tokens of an ended consent have been deleted. While a consent lives, its replaced refresh
  -- tokens stay, because their further use must end the consent.
  purged boolean NOT NULL DEFAULT false,
  CHECK ((revoked_at IS NULL) = (revoked_because IS NULL))
);
CREATE INDEX consent_credential ON gateway.consent (credential_id);
CREATE INDEX consent_person ON gateway.consent (person_id);
CREATE INDEX consent_expiry ON gateway.consent (expires_at);
-- The consents of hosted clients that have not ended. A sweep ends those whose host is no longer believed.
CREATE INDEX consent_hosted ON gateway.consent (id) WHERE idle IS NOT NULL AND revoked_at IS NULL;
CREATE INDEX consent_unpurged ON gateway.consent (least(expires_at, revoked_at)) WHERE NOT purged;

-- Copies the flags and restrictions of the credential into a new consent. The statement that inserts the consent has
-- locked the credential at the revision that the consent page showed.
CREATE FUNCTION gateway.consent_given() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  SELECT k.data_access, k.channel_ids, k.team_ids, k.subsite_ids
    INTO NEW.data_access, NEW.channel_ids, NEW.team_ids, NEW.subsite_ids
    FROM gateway.credential k WHERE k.id = NEW.credential_id;
  RETURN NEW;
END $$;
CREATE TRIGGER consent_given BEFORE INSERT ON gateway.consent FOR EACH ROW EXECUTE FUNCTION gateway.consent_given();

CREATE TABLE gateway.refresh_token (
  digest bytea PRIMARY KEY CHECK (length(digest) = 32),
  consent_id text NOT NULL REFERENCES gateway.consent ON DELETE CASCADE,
  expires_at timestamptz NOT NULL,
  -- The time when a new token replaced this token. A further use of the old token ends the consent.
  used_at timestamptz,
  created_at timestamptz NOT NULL DEFAULT now(),
  -- A hosted client that lost the answer to a refresh may repeat the refresh. The gateway derives the new tokens from the
  -- old refresh token and from `salt`, so that the repeated answer is the same. The store has only the salt and the digests
  -- of the new tokens. The salt is deleted when the new refresh token is used, or after some seconds.
  salt bytea,
  successor bytea,
  successor_access bytea
);
-- A consent gets at most 60 refreshes a minute. This index makes it fast to count the refreshes.
CREATE INDEX refresh_token_consent ON gateway.refresh_token (consent_id, created_at);
CREATE INDEX refresh_token_salt ON gateway.refresh_token (used_at) WHERE salt IS NOT NULL;

-- The triggers from here on handle the end of a consent. A consent ends when it is revoked or deleted, or when its
-- person or credential ends.
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

-- The consents and access tokens of a credential end in three cases. The credential is revoked, its secret is rotated,
-- or an expired credential gets more time.
--
-- A rotation ends consents and tokens even if the old secret stays valid for some time. The client can then get a new
-- token in one request, because the old secret still works.
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
    -- When a credential expires, its consents and tokens expire too. If the credential gets more time, the old consents
    -- and tokens must not become valid again.
    OR OLD.expires_at <= now() AND NEW.expires_at > now())
  EXECUTE FUNCTION gateway.credential_ended();

-- Notes a receipt privacy.changed for the websites of a consent that begins or ends. The receipt is necessary, because
-- a consent changes which data a client may see.
CREATE FUNCTION gateway.consent_captured() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  noted text := coalesce(current_setting('gateway.captured', true), '');
  consent gateway.consent := CASE TG_OP WHEN 'DELETE' THEN OLD ELSE NEW END;
  fresh text;
BEGIN
  -- The person or the credential can be deleted together with the consent. If the person is deleted, the organization
  -- is found through the credential. If the credential is deleted, the organization is found through the person.
  SELECT string_agg(k.key, '') INTO fresh
    FROM (SELECT p.tenant FROM gateway.person p WHERE p.id = consent.person_id
           UNION
          SELECT a.tenant FROM gateway.credential c JOIN gateway.installation i ON i.id = c.installation_id
            JOIN gateway.app a ON a.id = i.app_id WHERE c.id = consent.credential_id) o
   CROSS JOIN (SELECT DISTINCT site FROM unnest(consent.sites) AS site) w
   CROSS JOIN LATERAL (SELECT o.tenant || '/' || w.site || '/privacy.changed ') AS k (key) WHERE strpos(noted, k.key) = 0;
  PERFORM gateway.note_captured(noted, fresh);
  RETURN NULL;
END $$;
CREATE TRIGGER capture_given AFTER INSERT ON gateway.consent FOR EACH ROW EXECUTE FUNCTION gateway.consent_captured();
CREATE TRIGGER capture_ended AFTER UPDATE ON gateway.consent FOR EACH ROW
  WHEN (OLD.revoked_at IS NULL AND NEW.revoked_at IS NOT NULL) EXECUTE FUNCTION gateway.consent_captured();
CREATE TRIGGER capture_deleted AFTER DELETE ON gateway.consent FOR EACH ROW
  WHEN (OLD.revoked_at IS NULL) EXECUTE FUNCTION gateway.consent_captured();

-- Returns the credential of an OAuth client that has proved its identity at the given revision. The proof used the
-- current or the previous secret. Returns null if the proof is no longer valid. Locks the row until the commit, so that
-- the credential cannot end while tokens are made.
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

-- Exchanges an authorization code for tokens (RFC 6749, section 4.1.3). Returns {"refused": code} or {"scopes": …,
-- "expires_in": …, "refresh_expires_in": …}. After {"refused": "stale"}, the caller must prove the client again.
--
-- If a misuse of the code has ended a consent, "ended" is {"consent": id, "because": …}. "because" is a value of
-- gateway.consent.revoked_because. A code works only once. When the client of the code presents the code, the code is
-- used up, even if the answer is a refusal. An attempt by another client changes nothing.
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
    RETURN json_build_object('refused', refused, 'ended', json_build_object('consent', c.id, 'because', 'code_misused'));
  END IF;
  UPDATE gateway.consent SET code_used_at = now() WHERE id = c.id;
  IF c.code_expires_at <= now() OR c.expires_at <= now() THEN RETURN '{"refused": "invalid_grant"}'; END IF;
  held := gateway.held_scopes(c, k);
  IF cardinality(held) = 0 THEN RETURN '{"refused": "invalid_scope"}'; END IF;
  RETURN gateway.give_tokens(c, k, held, p_access, CASE WHEN c.renewable THEN p_refresh END, p_lifetime, p_idle);
END $$;

-- Replaces a refresh token by a new one (RFC 6749, section 6; RFC 9700, section 4.14.2). Returns the same answers as
-- gateway.redeem_code. If the token was already replaced, the function refuses and ends the consent with all its
-- tokens. An attempt by another client changes nothing. {"refused": "too_many_tokens", "wait": seconds} changes nothing
-- either, and the refresh token stays valid.
CREATE FUNCTION gateway.rotate_refresh(
  p_credential text, p_revision integer, p_old_secret boolean, p_token bytea, p_audience text, p_scopes text[],
  p_access bytea, p_refresh bytea, p_lifetime interval, p_idle interval
) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  k gateway.credential := gateway.client_proved(p_credential, p_revision, p_old_secret);
  c gateway.consent;
  r gateway.refresh_token;
  held text[];
  wait integer;
BEGIN
  IF k.id IS NULL THEN RETURN '{"refused": "stale"}'; END IF;
  SELECT o.* INTO c FROM gateway.refresh_token t JOIN gateway.consent o ON o.id = t.consent_id
   WHERE t.digest = p_token AND o.credential_id = p_credential FOR UPDATE OF o;
  IF c.id IS NULL OR c.revoked_at IS NOT NULL OR c.expires_at <= now() THEN RETURN '{"refused": "invalid_grant"}'; END IF;
  -- Read the token after the consent is locked. If another call has just replaced the token, this call then sees the
  -- new state.
  SELECT * INTO r FROM gateway.refresh_token WHERE digest = p_token;
  IF r.used_at IS NOT NULL THEN
    UPDATE gateway.consent SET revoked_at = now(), revoked_because = 'refresh_reused' WHERE id = c.id;
    RETURN json_build_object('refused', 'invalid_grant', 'ended', json_build_object('consent', c.id, 'because', 'refresh_reused'));
  END IF;
  IF r.expires_at <= now() THEN RETURN '{"refused": "invalid_grant"}'; END IF;
  IF c.audience <> p_audience THEN RETURN '{"refused": "invalid_target"}'; END IF;
  held := gateway.held_scopes(c, k);
  IF NOT held @> coalesce(p_scopes, '{}') OR cardinality(held) = 0 THEN RETURN '{"refused": "invalid_scope"}'; END IF;
  -- If there are sixty refresh tokens in the last minute, wait until the oldest of them is a minute old. A token from
  -- more than a minute in the future does not count, because such a token was made before the clock was set back.
  SELECT greatest(1, ceil(extract(epoch FROM t.created_at + interval '1 minute' - now()))) INTO wait
    FROM gateway.refresh_token t
   WHERE t.consent_id = c.id AND t.created_at > now() - interval '1 minute' AND t.created_at < now() + interval '1 minute'
   ORDER BY t.created_at DESC OFFSET 59 LIMIT 1;
  IF wait IS NOT NULL THEN RETURN json_build_object('refused', 'too_many_tokens', 'wait', wait); END IF;
  UPDATE gateway.refresh_token SET used_at = now() WHERE digest = p_token;
  RETURN gateway.give_tokens(c, k, coalesce(p_scopes, held), p_access, p_refresh, p_lifetime, p_idle);
END $$;

CREATE FUNCTION gateway.held_scopes(c gateway.consent, k gateway.credential) RETURNS text[] LANGUAGE plpgsql AS $$
BEGIN
  RETURN ARRAY(SELECT s FROM unnest(c.scopes) AS s WHERE s = ANY (k.scopes));
END $$;

-- Makes the tokens of a consent. No token lives longer than the consent or its credential.
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

-- Sets the password of a person. Null removes the password. If p_end_consents is true, the person's consents also end.
-- Returns how many of these consents were active (src/store/administration/consents.ts), or null if the person does not
-- exist.
--
-- The person's row is changed first, because another call can be storing a consent at this moment. If the consent
-- commits first, the consent ends here. Otherwise the consent is never stored, because the session of the person is
-- gone.
CREATE FUNCTION gateway.set_password(p_person text, p_password text, p_end_consents boolean) RETURNS integer
LANGUAGE plpgsql AS $$
DECLARE
  active integer := 0;
BEGIN
  UPDATE gateway.person SET password = p_password WHERE id = p_person;
  IF NOT FOUND THEN RETURN NULL; END IF;
  IF p_end_consents THEN
    WITH ended AS (
      UPDATE gateway.consent c SET revoked_at = now(), revoked_because = 'revoked'
       WHERE c.person_id = p_person AND c.revoked_at IS NULL AND c.expires_at > now() RETURNING c.*
    )
    SELECT count(*) INTO active FROM ended c JOIN gateway.credential k ON k.id = c.credential_id
     WHERE k.expires_at > now()
       AND CASE WHEN c.code_used_at IS NULL THEN c.code_expires_at > now()
                ELSE EXISTS (SELECT FROM gateway.token t
                              WHERE t.consent_id = c.id AND t.revoked_at IS NULL AND t.expires_at > now())
                  OR EXISTS (SELECT FROM gateway.refresh_token r
                              WHERE r.consent_id = c.id AND r.used_at IS NULL AND r.expires_at > now()) END;
  END IF;
  RETURN active;
END $$;
-- The functions from here to the end serve clients by URL, OAuth clients that nobody registered. SQL calls them hosted. The
-- client_id of such a client is the URL of a document that describes the client (a Client ID Metadata Document). When a
-- person approves a client, the gateway makes an app and a credential for this person, this client and the organization.
-- Nobody knows the secret of such a credential.

-- Stores the approval of a client: its app and credential, and a consent with an authorization code. Returns false and
-- stores nothing in four cases: the session has ended, the person may no longer consent, the request was already
-- answered, or a website does not belong to the person's organization.
--
-- The lock on the person serializes the approvals of one person. A second approval of a client ends the first. Both use
-- the same credential, so that the operators for whom the client writes stay mapped.
CREATE FUNCTION gateway.approve_hosted(
  p_consent text, p_app text, p_installation text, p_credential text, p_secret bytea, p_client text, p_host text,
  p_name text, p_session bytea, p_request bytea, p_audience text, p_scopes text[], p_sites bigint[],
  p_data_access text[], p_lasts interval, p_idle interval, p_code bytea, p_code_lasts interval, p_challenge text,
  p_redirect_uri text
) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  p gateway.person;
  k gateway.credential;
  place text;
BEGIN
  SELECT o.* INTO p FROM gateway.session s JOIN gateway.person o ON o.id = s.person_id
   WHERE s.digest = p_session AND s.expires_at > now() AND o.disabled_at IS NULL AND o.role IN ('owner', 'admin')
     FOR SHARE OF s FOR NO KEY UPDATE OF o;
  IF p.id IS NULL OR EXISTS (SELECT FROM gateway.consent c WHERE c.request = p_request) THEN RETURN false; END IF;
  IF EXISTS (SELECT FROM unnest(p_sites) AS s (site) WHERE NOT EXISTS (
               SELECT FROM platform.website w WHERE w.tenant = p.tenant AND w.site = s.site)) THEN
    RETURN false;
  END IF;
  SELECT c.* INTO k FROM gateway.credential c
   WHERE c.hosted_person = p.id AND c.hosted_client = p_client AND c.revoked_at IS NULL FOR UPDATE;
  IF k.id IS NULL THEN
    -- If an operator has revoked the earlier credential, its app stays.
    SELECT c.installation_id INTO place FROM gateway.credential c
     WHERE c.hosted_person = p.id AND c.hosted_client = p_client ORDER BY c.created_at DESC LIMIT 1;
    IF place IS NULL THEN
      INSERT INTO gateway.app (id, tenant, name) VALUES (p_app, p.tenant, p_name);
      INSERT INTO gateway.installation (id, app_id) VALUES (p_installation, p_app);
      place := p_installation;
    END IF;
    INSERT INTO gateway.credential (id, installation_id, environment, secret_digest, sites, scopes, data_access,
                                    expires_at, hosted_client, hosted_host, hosted_person)
    VALUES (p_credential, place, 'live', p_secret, p_sites, p_scopes, p_data_access, now() + p_lasts, p_client, p_host,
            p.id)
    RETURNING * INTO k;
  ELSE
    UPDATE gateway.consent c SET revoked_at = now(), revoked_because = 'replaced'
     WHERE c.credential_id = k.id AND c.revoked_at IS NULL;
    UPDATE gateway.credential c SET sites = p_sites, scopes = p_scopes, data_access = p_data_access,
                                    expires_at = now() + p_lasts
     WHERE c.id = k.id;
  END IF;
  INSERT INTO gateway.consent (id, credential_id, person_id, request, audience, scopes, sites, renewable, idle,
                               code_digest, code_challenge, code_expires_at, redirect_uri, expires_at)
  VALUES (p_consent, k.id, p.id, p_request, p_audience, p_scopes, p_sites, true, p_idle, p_code, p_challenge,
          now() + p_code_lasts, p_redirect_uri, now() + p_lasts);
  RETURN true;
END $$;

-- Exchanges the authorization code of a hosted client. The answers are those of gateway.redeem_code, with the members
-- "credential" and "consent" if the code belongs to the client. Only the client in whose name the code was issued can
-- use the code.
--
-- A client by URL has no secret, so only the verifier proves that the client itself presents a code. A used code can stay
-- in the history of a browser for weeks. Somebody who finds it there does not know the verifier, and so cannot end the
-- consent. If the organization has moved, only what would get tokens learns where to, here and in gateway.rotate_hosted.
CREATE FUNCTION gateway.redeem_hosted(
  p_client text, p_code bytea, p_redirect_uri text, p_challenge text, p_audience text, p_access bytea, p_refresh bytea,
  p_lifetime interval
) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  k gateway.credential;
  c gateway.consent;
  answer json;
BEGIN
  PERFORM FROM gateway.consent n WHERE n.code_digest = p_code;
  IF NOT FOUND THEN RETURN '{"refused": "invalid_grant"}'; END IF;
  -- Locks the credential before the consent, in the same order as gateway.redeem_code.
  SELECT o.* INTO k FROM gateway.consent n JOIN gateway.credential o ON o.id = n.credential_id
   WHERE n.code_digest = p_code AND o.hosted_client = p_client AND o.revoked_at IS NULL AND o.expires_at > now()
     FOR SHARE OF o;
  IF k.id IS NULL THEN RETURN '{"refused": "invalid_grant"}'; END IF;
  -- The lock waits for an exchange of the same code that runs now.
  SELECT * INTO c FROM gateway.consent n WHERE n.code_digest = p_code FOR UPDATE;
  IF gateway.credential_moved_to(k.id) IS NOT NULL THEN
    IF c.revoked_at IS NOT NULL OR c.code_used_at IS NOT NULL OR least(c.code_expires_at, c.expires_at) <= now()
       OR c.redirect_uri <> p_redirect_uri OR c.code_challenge <> p_challenge THEN RETURN '{"refused": "invalid_grant"}'; END IF;
    RETURN json_build_object('refused', 'organization_moved', 'to', gateway.credential_moved_to(k.id), 'credential', k.id);
  END IF;
  IF c.code_used_at IS NOT NULL AND c.code_challenge <> p_challenge THEN
    RETURN json_build_object('refused', 'invalid_grant', 'credential', k.id, 'consent', c.id);
  END IF;
  answer := gateway.redeem_code(k.id, k.revision, false, p_code, p_redirect_uri, p_challenge, p_audience, p_access,
                                p_refresh, p_lifetime, c.idle);
  RETURN (answer::jsonb || jsonb_build_object('credential', k.id, 'consent', c.id))::json;
END $$;

-- Replaces the refresh token of a hosted client. The answers are those of gateway.rotate_refresh, with the salt from
-- which the new tokens are derived, and with the members "credential" and "consent" if the token belongs to the client.
--
-- If the token was replaced less than 10 seconds ago and its successor is not used yet, the function gives the first
-- answer again. Such a request is a repetition, because its first answer was lost. A later use of the old token ends
-- the consent.
--
-- A consent gets at most 60 refreshes an hour. A repetition does not count. Without this rate, a consent of 90 days
-- could leave 7.8 million replaced tokens.
CREATE FUNCTION gateway.rotate_hosted(
  p_client text, p_token bytea, p_audience text, p_scopes text[], p_access bytea, p_refresh bytea, p_salt bytea,
  p_lifetime interval
) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  k gateway.credential;
  c gateway.consent;
  answer json;
  wait integer;
  known jsonb;
BEGIN
  -- An unknown token ends here, because a look-up by key costs a third of the join.
  PERFORM FROM gateway.refresh_token t WHERE t.digest = p_token;
  IF NOT FOUND THEN RETURN '{"refused": "invalid_grant"}'; END IF;
  SELECT o.* INTO k
    FROM gateway.refresh_token t JOIN gateway.consent n ON n.id = t.consent_id JOIN gateway.credential o ON o.id = n.credential_id
   WHERE t.digest = p_token AND o.hosted_client = p_client AND o.revoked_at IS NULL AND o.expires_at > now()
     FOR SHARE OF o;
  IF k.id IS NULL THEN RETURN '{"refused": "invalid_grant"}'; END IF;
  SELECT n.* INTO c FROM gateway.refresh_token t JOIN gateway.consent n ON n.id = t.consent_id
   WHERE t.digest = p_token FOR UPDATE OF n;
  IF gateway.credential_moved_to(k.id) IS NOT NULL THEN
    IF c.revoked_at IS NOT NULL OR c.expires_at <= now() OR NOT EXISTS (
         SELECT FROM gateway.refresh_token r WHERE r.digest = p_token AND r.used_at IS NULL AND r.expires_at > now())
    THEN RETURN '{"refused": "invalid_grant"}'; END IF;
    RETURN json_build_object('refused', 'organization_moved', 'to', gateway.credential_moved_to(k.id), 'credential', k.id);
  END IF;
  known := jsonb_build_object('credential', k.id, 'consent', c.id);
  IF c.revoked_at IS NULL AND c.expires_at > now() AND c.audience = p_audience THEN
    SELECT json_build_object(
             'scopes', a.scopes, 'salt', encode(r.salt, 'hex'),
             'expires_in', floor(extract(epoch FROM a.expires_at - a.created_at)),
             'refresh_expires_in', floor(extract(epoch FROM s.expires_at - s.created_at)))
      INTO answer
      FROM gateway.refresh_token r
      JOIN gateway.refresh_token s ON s.digest = r.successor
      JOIN gateway.token a ON a.digest = r.successor_access
     WHERE r.digest = p_token AND r.salt IS NOT NULL AND r.used_at > now() - interval '10 seconds' AND s.used_at IS NULL
       AND (p_scopes IS NULL OR p_scopes @> a.scopes AND p_scopes <@ a.scopes);
    IF answer IS NOT NULL THEN RETURN (answer::jsonb || known)::json; END IF;
    -- The rate holds only for a token that is not replaced yet. A replaced token ends the consent at any rate.
    SELECT greatest(1, ceil(extract(epoch FROM t.created_at + interval '1 hour' - now()))) INTO wait
      FROM gateway.refresh_token t
     WHERE t.consent_id = c.id AND t.created_at > now() - interval '1 hour' AND t.created_at < now() + interval '1 minute'
       AND EXISTS (SELECT FROM gateway.refresh_token r WHERE r.digest = p_token AND r.used_at IS NULL AND r.expires_at > now())
     ORDER BY t.created_at DESC OFFSET 59 LIMIT 1;
    IF wait IS NOT NULL THEN
      RETURN (jsonb_build_object('refused', 'too_many_tokens', 'wait', wait) || known)::json;
    END IF;
  END IF;
  answer := gateway.rotate_refresh(k.id, k.revision, false, p_token, p_audience, p_scopes, p_access, p_refresh,
                                   p_lifetime, c.idle);
  IF answer ->> 'refused' IS NULL THEN
    UPDATE gateway.refresh_token t SET salt = NULL WHERE t.consent_id = c.id AND t.salt IS NOT NULL;
    UPDATE gateway.refresh_token t SET salt = p_salt, successor = p_refresh, successor_access = p_access
     WHERE t.digest = p_token;
    known := known || jsonb_build_object('salt', encode(p_salt, 'hex'));
  END IF;
  RETURN (answer::jsonb || known)::json;
END $$;
