-- How many tokens a client gets in a minute: 60 of its own (src/store/oauth.ts), and 60 refreshes of each consent.

-- Newest first, of one credential, without those of consents.
CREATE INDEX token_minted ON gateway.token (credential_id, created_at) WHERE kind = 'access' AND consent_id IS NULL;
DROP INDEX gateway.refresh_token_consent;
CREATE INDEX refresh_token_consent ON gateway.refresh_token (consent_id, created_at);

-- As in 0017_ended_consents.sql, with the rate: {"refused": "too_many_tokens", "wait": seconds} changes nothing, and the token
-- that was shown is as good as before.
CREATE OR REPLACE FUNCTION gateway.rotate_refresh(
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
  -- The sixtieth token of the last minute, also under the lock. After the clock was set back, older tokens lie ahead of it:
  -- those that do by more than a minute do not count.
  SELECT greatest(1, ceil(extract(epoch FROM t.created_at + interval '1 minute' - now()))) INTO wait
    FROM gateway.refresh_token t
   WHERE t.consent_id = c.id AND t.created_at > now() - interval '1 minute' AND t.created_at < now() + interval '1 minute'
   ORDER BY t.created_at DESC OFFSET 59 LIMIT 1;
  IF wait IS NOT NULL THEN RETURN json_build_object('refused', 'too_many_tokens', 'wait', wait); END IF;
  UPDATE gateway.refresh_token SET used_at = now() WHERE digest = p_token;
  RETURN gateway.give_tokens(c, k, coalesce(p_scopes, held), p_access, p_refresh, p_lifetime, p_idle);
END $$;
