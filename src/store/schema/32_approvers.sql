-- People whom a credential names as its approvers (`--approver`). They decide in the console about the writes of this
-- credential that wait, whatever their role. Each change of the list raises the revision, and so makes these writes void.

-- Returns true if a credential of the person's organization names the person, and is not revoked.
CREATE FUNCTION gateway.is_approver(p gateway.person) RETURNS boolean LANGUAGE sql STABLE AS $$
  SELECT EXISTS (SELECT FROM gateway.credential c
                   JOIN gateway.installation i ON i.id = c.installation_id
                   JOIN gateway.app a ON a.id = i.app_id
                  WHERE c.approvers <> '{}' AND c.approvers @> ARRAY[p.id] AND c.revoked_at IS NULL AND a.tenant = p.tenant)
$$;

-- Returns true if the console lets the person in now. A caller that has waited for the lock of the person asks it again,
-- because a credential can have changed meanwhile: unlike gateway.is_approver, it sees what has committed since.
CREATE FUNCTION gateway.still_enters(p_person text) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  RETURN EXISTS (SELECT FROM gateway.person p WHERE p.id = p_person AND p.disabled_at IS NULL
                    AND (p.role IN ('owner', 'admin') OR gateway.is_approver(p)));
END $$;

-- Ends the sessions and links of people whom a credential no longer names, and whom nothing else lets in. The lock of the
-- person makes sure that a decision comes either before the change or after it.
CREATE FUNCTION gateway.approvers_changed() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  p gateway.person;
BEGIN
  FOR p IN SELECT * FROM gateway.person x WHERE x.id = ANY (OLD.approvers) AND x.role NOT IN ('owner', 'admin')
            ORDER BY x.id FOR NO KEY UPDATE LOOP
    IF NOT gateway.is_approver(p) THEN
      DELETE FROM gateway.session s WHERE s.person_id = p.id;
      DELETE FROM gateway.sign_in_link l WHERE l.person_id = p.id;
    END IF;
  END LOOP;
  RETURN NULL;
END $$;
CREATE TRIGGER approvers_changed AFTER UPDATE ON gateway.credential FOR EACH ROW
  WHEN (OLD.approvers <> '{}' AND (NEW.approvers <> OLD.approvers OR NEW.revoked_at IS NOT NULL))
  EXECUTE FUNCTION gateway.approvers_changed();
CREATE TRIGGER approvers_deleted AFTER DELETE ON gateway.credential FOR EACH ROW
  WHEN (OLD.approvers <> '{}') EXECUTE FUNCTION gateway.approvers_changed();

-- What an approver has opened must not become the session or the link of an owner or admin.
CREATE TRIGGER person_raised AFTER UPDATE ON gateway.person FOR EACH ROW
  WHEN (OLD.role = 'operator' AND NEW.role <> 'operator') EXECUTE FUNCTION gateway.person_password();
CREATE TRIGGER person_raised_links AFTER UPDATE ON gateway.person FOR EACH ROW
  WHEN (OLD.role = 'operator' AND NEW.role <> 'operator') EXECUTE FUNCTION gateway.person_links();
