-- Sets a person's password, null for none, and ends the person's consents where that is wanted. Returns how many of those that
-- were ended were active (as src/store/consents.ts has it); null: there is no such person. The person's row is changed first:
-- a consent that is being given has been recorded by then, and is ended too, or is never recorded, since its session is gone.
CREATE OR REPLACE FUNCTION gateway.set_password(p_person text, p_password text, p_end_consents boolean) RETURNS integer
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
