-- OAuth clients that nobody registered. The client_id of such a client is the URL of a document that describes the
-- client (a Client ID Metadata Document). When a person approves a client, the gateway makes an app and a credential
-- for this person, this client and the organization. Nobody knows the secret of such a credential.

-- hosted_client is the URL of the client, hosted_host is the host in this URL, and hosted_person gave the approval. All
-- three are null for a credential that was issued on the command line.
ALTER TABLE gateway.credential
  ADD COLUMN hosted_client text,
  ADD COLUMN hosted_host text,
  ADD COLUMN hosted_person text REFERENCES gateway.person ON DELETE CASCADE,
  ADD CONSTRAINT credential_hosted_check CHECK (num_nulls(hosted_client, hosted_host, hosted_person) IN (0, 3));
CREATE UNIQUE INDEX credential_hosted ON gateway.credential (hosted_person, hosted_client)
  WHERE hosted_client IS NOT NULL AND revoked_at IS NULL;
CREATE INDEX credential_hosted_host ON gateway.credential (hosted_host) WHERE hosted_host IS NOT NULL;

-- A consent ends when it is not refreshed for the time `idle`. Null means that the consent is for an issued credential,
-- whose time src/store/sign-in/oauth.ts names.
ALTER TABLE gateway.consent ADD COLUMN idle interval;
-- The consents of hosted clients that have not ended. A sweep ends those whose host is no longer believed.
CREATE INDEX consent_hosted ON gateway.consent (id) WHERE idle IS NOT NULL AND revoked_at IS NULL;

-- Two more reasons for the end of a consent. `replaced`: the person approved the same client again. `host`: the
-- operator removed the client's host from GATEWAY_CLIENT_HOSTS.
ALTER TABLE gateway.consent
  DROP CONSTRAINT consent_revoked_because_check,
  ADD CONSTRAINT consent_revoked_because_check CHECK (revoked_because IN
    ('revoked', 'client', 'code_misused', 'refresh_reused', 'person', 'credential', 'replaced', 'host'));

-- A client that lost the answer to a refresh may repeat the refresh. The gateway derives the new tokens from the old
-- refresh token and from `salt`, so that the repeated answer is the same. The store has only the salt and the digests
-- of the new tokens. The salt is deleted when the new refresh token is used, or after some seconds.
ALTER TABLE gateway.refresh_token
  ADD COLUMN salt bytea,
  ADD COLUMN successor bytea,
  ADD COLUMN successor_access bytea;
CREATE INDEX refresh_token_salt ON gateway.refresh_token (used_at) WHERE salt IS NOT NULL;

-- True when the refresh tokens of an ended consent have been deleted. While a consent lives, its replaced refresh
-- tokens stay, because their further use must end the consent.
ALTER TABLE gateway.consent ADD COLUMN purged boolean NOT NULL DEFAULT false;
CREATE INDEX consent_unpurged ON gateway.consent (least(expires_at, revoked_at)) WHERE NOT purged;

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
  SELECT * INTO c FROM gateway.consent n WHERE n.code_digest = p_code;
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
