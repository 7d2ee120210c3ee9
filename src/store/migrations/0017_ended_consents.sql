-- The functions of 0006_oauth.sql that exchange a code and rotate a refresh token, which now tell of the consent that a misuse
-- has ended: "ended": {"consent": id, "because": as in gateway.consent.revoked_because}. Unchanged otherwise.

-- Exchanges a code (RFC 6749, section 4.1.3). Answers {"refused": code} or {"scopes": …, "expires_in": …,
-- "refresh_expires_in": …}; {"refused": "stale"}: the client has to be proved anew. A code that its client has shown is used up,
-- whatever comes of it; another client's attempt leaves it as it is.
CREATE OR REPLACE FUNCTION gateway.redeem_code(
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

-- Rotates a refresh token (RFC 6749, section 6; RFC 9700, section 4.14.2). One that was rotated already ends the consent
-- and all its tokens before anybody is answered; another client's attempt changes nothing.
CREATE OR REPLACE FUNCTION gateway.rotate_refresh(
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
    RETURN json_build_object('refused', 'invalid_grant', 'ended', json_build_object('consent', c.id, 'because', 'refresh_reused'));
  END IF;
  IF r.expires_at <= now() THEN RETURN '{"refused": "invalid_grant"}'; END IF;
  IF c.audience <> p_audience THEN RETURN '{"refused": "invalid_target"}'; END IF;
  held := gateway.held_scopes(c, k);
  IF NOT held @> coalesce(p_scopes, '{}') OR cardinality(held) = 0 THEN RETURN '{"refused": "invalid_scope"}'; END IF;
  UPDATE gateway.refresh_token SET used_at = now() WHERE digest = p_token;
  RETURN gateway.give_tokens(c, k, coalesce(p_scopes, held), p_access, p_refresh, p_lifetime, p_idle);
END $$;
