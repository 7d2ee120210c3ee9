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

-- The audit record of a change by the console, by a command or by `events/subscribe` of MCP. The statement of the change
-- carries the draft of the record in the setting gateway.change, which ends with the transaction. The first row that
-- changes inserts the record at the commit, so record and change are there together or not at all. The setting may be made
-- at any moment of the statement, because the triggers are deferred. Other statements have no draft.
CREATE FUNCTION gateway.record_change() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  draft CONSTANT text := current_setting('gateway.change', true);
BEGIN
  IF coalesce(draft, '') = '' THEN RETURN NULL; END IF;
  PERFORM set_config('gateway.change', '', true);
  PERFORM gateway.audit_writes('[{"state": "new", "outcome": {}}]', jsonb_build_array(draft::jsonb), false);
  RETURN NULL;
END $$;

-- Only columns that a person or a client by MCP changes: the rounds of deliveries and sources change other ones.
DO $do$
DECLARE
  changed record;
BEGIN
  FOR changed IN SELECT * FROM (VALUES
    ('gateway.app', 'INSERT OR DELETE OR UPDATE'),
    ('gateway.credential', 'INSERT OR DELETE OR UPDATE'),
    ('gateway.consent', 'UPDATE OF revoked_at'),
    ('gateway.person', 'INSERT OR DELETE OR UPDATE'),
    ('gateway.sign_in_link', 'INSERT'),
    ('gateway.native_author', 'INSERT OR DELETE OR UPDATE'),
    ('gateway.webhook_endpoint',
     'INSERT OR DELETE OR UPDATE OF credential_id, site, url, event_types, description, secret, enabled'),
    ('gateway.source', 'INSERT OR DELETE OR UPDATE OF paused, compare_asked'),
    ('platform.organization', 'UPDATE OF keep_messages_days')) v (place, events)
  LOOP
    EXECUTE format('CREATE CONSTRAINT TRIGGER record_change AFTER %s ON %s DEFERRABLE INITIALLY DEFERRED
                      FOR EACH ROW EXECUTE FUNCTION gateway.record_change()', changed.events, changed.place);
  END LOOP;
END $do$;
