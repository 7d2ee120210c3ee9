-- As in 0010_oauth.sql and 0039_cells.sql, with one condition more. A client by URL has no secret, so only the verifier
-- proves that the client itself presents a code. A used code can stay in the history of a browser for weeks. Somebody
-- who finds it there does not know the verifier, and so cannot end the consent.
CREATE OR REPLACE FUNCTION gateway.redeem_hosted(
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
