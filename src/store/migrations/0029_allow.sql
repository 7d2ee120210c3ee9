-- The ranges of IP addresses from which a credential may be used, in canonical form. An empty list means every address.
-- A client by URL has no ranges: its calls come from the servers of its maker or from the person's own machine.
ALTER TABLE gateway.credential
  ADD COLUMN allow_ip text[] NOT NULL DEFAULT '{}',
  ADD CONSTRAINT credential_allow_ip_check
    CHECK (cardinality(allow_ip) <= 20 AND (hosted_client IS NULL OR cardinality(allow_ip) = 0));

-- The operations that an owner has switched off for an app, by name.
ALTER TABLE gateway.app ADD COLUMN switched_off text[] NOT NULL DEFAULT '{}';

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
