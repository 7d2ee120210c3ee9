-- One-time links that sign a person in to the console. Only the SHA-256 of a link's secret is stored. The statement that
-- uses a link deletes its row, so a link works once.
CREATE TABLE gateway.sign_in_link (
  digest bytea PRIMARY KEY CHECK (length(digest) = 32),
  person_id text NOT NULL REFERENCES gateway.person ON DELETE CASCADE,
  expires_at timestamptz NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX sign_in_link_person ON gateway.sign_in_link (person_id);
CREATE INDEX sign_in_link_expiry ON gateway.sign_in_link (expires_at);

-- What ends the sessions of a person also ends the links: a new password, a lost role, a disabled record.
CREATE FUNCTION gateway.person_links() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM gateway.sign_in_link l WHERE l.person_id = NEW.id;
  RETURN NULL;
END $$;
CREATE TRIGGER person_links AFTER UPDATE ON gateway.person FOR EACH ROW
  WHEN (NEW.password IS DISTINCT FROM OLD.password OR NEW.disabled_at IS NOT NULL OR NEW.role NOT IN ('owner', 'admin'))
  EXECUTE FUNCTION gateway.person_links();
