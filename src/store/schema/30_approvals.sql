-- Writes that a person must approve. A credential can name operations whose writes wait (`approve`). gateway.write_batch
-- then stores the command here under its operation id, and nothing else happens. gateway.decide_approval ends the wait.

-- Returns true if the authority of the request still exists, with the same rights: the credential at its revision, and the
-- consent of the token. The clock is read now, because callers have waited for locks. A function in SQL took four times
-- as long.
CREATE FUNCTION gateway.approval_stands(a gateway.approval) RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN EXISTS (SELECT FROM gateway.credential c
                  WHERE c.id = a.credential_id AND c.revision = a.revision AND c.revoked_at IS NULL AND c.expires_at > clock_timestamp())
     AND (a.consent_id IS NULL OR EXISTS (
       SELECT FROM gateway.consent n WHERE n.id = a.consent_id AND n.revoked_at IS NULL AND n.expires_at > clock_timestamp()));
END $$;

-- Returns true if the person may not approve the write, because it is one of the person's own agent: the person has given
-- the consent of the request, or has connected the client by URL, and the credential wants somebody else.
CREATE FUNCTION gateway.is_own_write(a gateway.approval, p_person text) RETURNS boolean LANGUAGE sql STABLE AS $$
  SELECT EXISTS (SELECT FROM gateway.credential c
                  WHERE c.id = a.credential_id AND c.approval_by = 'others'
                    AND (c.hosted_person = p_person OR EXISTS (
                      SELECT FROM gateway.consent n WHERE n.id = a.consent_id AND n.person_id = p_person)))
$$;

-- Locks the record of a command against erasure until the commit. Returns false if the record is erased or gone. AI features
-- are not erased.
CREATE FUNCTION gateway.hold_record(p_tenant bigint, p_site bigint, p_command jsonb) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  IF p_command ? 'visitor' THEN
    PERFORM FROM platform.visitor v WHERE v.tenant = p_tenant AND v.site = p_site AND v.id = (p_command ->> 'visitor')::bigint
                                      AND v.external_id NOT LIKE 'erased:%' FOR KEY SHARE;
    RETURN FOUND;
  END IF;
  IF p_command ? 'conversation' THEN
    PERFORM FROM platform.conversation c
      WHERE c.tenant = p_tenant AND c.site = p_site AND c.id = (p_command ->> 'conversation')::bigint
        AND c.external_id NOT LIKE 'erased:%' FOR KEY SHARE;
    RETURN FOUND;
  END IF;
  RETURN true;
END $$;

-- Stores a command that a person must approve, and tells the webhooks that asked for it. Returns {"state": "asked"},
-- {"state": "full"} if 100 commands of the credential wait, or an outcome if the record has just been erased. The caller
-- holds the lock of the key.
CREATE FUNCTION gateway.ask_approval(
  p_tenant bigint, p_site bigint, p_operation text, k gateway.keyed_command
) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  -- Only one process at a time counts the commands of a credential.
  PERFORM pg_advisory_xact_lock(hashtextextended('approvals ' || k.credential_id, 0));
  -- A command that a helpdesk performs now counts too, because it waits again if the helpdesk refuses it.
  IF (SELECT count(*) >= 100 FROM gateway.approval a
       WHERE a.credential_id = k.credential_id AND a.command IS NOT NULL AND a.revision = k.revision
         AND a.requested_at > now() - interval '24 hours') THEN
    RETURN '{"state": "full"}';
  END IF;
  IF NOT gateway.hold_record(p_tenant, p_site, k.command) THEN RETURN '{"state": "new", "outcome": {"refused": "not_found"}}'; END IF;
  INSERT INTO gateway.operation (operation_id, credential_id, revision, tenant, site, operation, status, fingerprint, attempt)
  VALUES (k.operation_id, k.credential_id, k.revision, p_tenant, p_site, p_operation, 'pending', k.fingerprint, k.attempt);
  INSERT INTO gateway.approval (operation_id, credential_id, revision, scopes, sites, consent_id, tenant, site, operation, record, command)
  SELECT k.operation_id, k.credential_id, k.revision, t.scopes, t.sites, t.consent_id, p_tenant, p_site, p_operation,
         coalesce(k.command ->> 'visitor', k.command ->> 'conversation', k.command ->> 'feature')::bigint, k.command
    FROM gateway.token t WHERE t.digest = k.digest;
  IF NOT FOUND THEN RAISE EXCEPTION 'stale authority' USING ERRCODE = 'GW401'; END IF;
  -- The event is not in the journal, because it is no change of a record. Its id tells nothing about the operation.
  INSERT INTO gateway.webhook_delivery (endpoint_id, event_id, tenant, site, position, event_type, occurred_at, recorded_at, due_at)
  SELECT e.id, 'evt_' || encode(sha256(convert_to('approval ' || k.operation_id, 'UTF8')), 'hex'), p_tenant, p_site,
         coalesce((SELECT h.position FROM gateway.journal_head h WHERE h.tenant = p_tenant AND h.site = p_site), 0),
         'approval.requested', now(), now(), now()
    FROM gateway.webhook_endpoint e
   WHERE e.tenant = p_tenant AND e.site = p_site AND e.enabled AND 'approval.requested' = ANY (e.event_types)
     AND gateway.may_deliver(e)
  ON CONFLICT (endpoint_id, event_id) DO NOTHING;
  RETURN '{"state": "asked"}';
END $$;

-- Ends the wait of an approval without an effect. Does nothing if a decision was faster.
CREATE FUNCTION gateway.end_approval(p_id text, p_state text, p_because text, p_by text, p_attempt uuid) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  UPDATE gateway.approval SET state = p_state, lapsed_because = p_because, decided_at = now(), decided_by = p_by,
                              attempt = p_attempt, command = NULL
   WHERE operation_id = p_id AND state = 'pending';
  IF FOUND THEN
    UPDATE gateway.operation SET status = p_state, created_at = now(), attempt = p_attempt WHERE operation_id = p_id;
  END IF;
END $$;

-- Lapses approvals that have waited for 24 hours, or whose authority has ended. Returns their number. After the restore of a
-- backup (p_restored), all lapse: somebody may have approved them later, and a helpdesk may have performed them.
CREATE FUNCTION gateway.lapse_approvals(n integer, p_restored boolean) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  a gateway.approval;
  lapsed integer := 0;
BEGIN
  FOR a IN SELECT * FROM gateway.approval x
            WHERE x.state = 'pending' AND gateway.lives_here(x.tenant) AND (p_restored OR x.requested_at <= now() - interval '24 hours' OR NOT gateway.approval_stands(x))
            ORDER BY x.requested_at LIMIT n FOR UPDATE SKIP LOCKED LOOP
    PERFORM gateway.end_approval(a.operation_id, 'lapsed',
      CASE WHEN p_restored THEN 'restored' WHEN gateway.approval_stands(a) THEN 'time' ELSE 'authority' END, NULL, NULL);
    lapsed := lapsed + 1;
  END LOOP;
  RETURN lapsed;
END $$;

-- Decides about a pending write. One decision wins: the row of the approval is locked until the commit. An approval performs
-- the write in the same transaction, under the authority of this moment: the rights of the request must still exist, the
-- record must be visible under them (p_seen), and the credential must have its author.
--
-- With p_lease, another system performs the write. Then the function reserves the command, and the caller must store the
-- outcome. p_draft is the audit record of the decision. p_again: an earlier attempt of this statement may have committed.
--
-- Returns {"state": …}:
-- - gone: there is no such approval.
-- - decided: somebody has decided before. The answer has `approval`, which is approved, rejected or lapsed.
-- - lapsed: the write can no longer be approved, because of its age or its authority. It has now lapsed.
-- - rejected: this decision has rejected the write.
-- - own: the credential wants another person to approve the write. It still waits.
-- - refused: the write cannot begin now, and still waits. The answer has `outcome`, with the reason.
-- - new: this decision has approved and performed the write. The answer has `outcome`.
-- - reserved: the caller must perform the write. The answer has `epoch`, `author` and `command`.
-- Raises GW401 if the authority ended while the function waited for the journal. Then nothing has changed.
CREATE FUNCTION gateway.decide_approval(
  p_id text, p_approve boolean, p_by text, p_attempt uuid, p_writer regproc, p_authored boolean, p_receipts text[],
  p_lease interval, p_seen boolean, p_draft jsonb, p_again boolean
) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  a gateway.approval;
  author platform.operator;
  answers text[];
  capture text := coalesce(current_setting('gateway.capture', true), '');
BEGIN
  -- A call with the same key waits here, or finds the decision.
  PERFORM pg_advisory_xact_lock(hashtextextended(p_id, 0));
  -- Two decisions about writes to one conversation take turns here. The writer locks the conversation more strongly than
  -- hold_record, and neither of two transactions that share its lock would get that.
  PERFORM FROM gateway.approval x
    JOIN platform.conversation c ON c.tenant = x.tenant AND c.site = x.site AND c.id = (x.command ->> 'conversation')::bigint
   WHERE x.operation_id = p_id AND p_lease IS NULL FOR NO KEY UPDATE OF c;
  -- An erasure locks the record before the approval, so this function does, too.
  PERFORM gateway.hold_record(x.tenant, x.site, x.command) FROM gateway.approval x WHERE x.operation_id = p_id AND x.command IS NOT NULL;
  SELECT * INTO a FROM gateway.approval x WHERE x.operation_id = p_id FOR UPDATE;
  IF NOT FOUND THEN RETURN '{"state": "gone"}'; END IF;
  IF a.state <> 'pending' THEN
    IF a.attempt = p_attempt THEN
      RETURN CASE a.state WHEN 'approved' THEN (
        SELECT CASE WHEN o.outcome IS NOT NULL THEN json_build_object('state', 'new', 'outcome', o.outcome) ELSE json_build_object(
                 'state', 'reserved', 'epoch', o.epoch, 'command', a.command, 'author', (
                   SELECT n.operator_id::text FROM gateway.native_author n
                    WHERE n.credential_id = a.credential_id AND n.tenant = a.tenant AND n.site = a.site)) END
          FROM gateway.operation o WHERE o.operation_id = p_id)
        ELSE json_build_object('state', a.state) END;
    END IF;
    RETURN json_build_object('state', 'decided', 'approval', a.state);
  END IF;
  IF a.requested_at <= now() - interval '24 hours' OR NOT gateway.approval_stands(a) THEN
    PERFORM gateway.end_approval(p_id, 'lapsed',
      CASE WHEN gateway.approval_stands(a) THEN 'time' ELSE 'authority' END, NULL, p_attempt);
    RETURN '{"state": "lapsed"}';
  END IF;
  IF NOT p_approve THEN
    PERFORM gateway.end_approval(p_id, 'rejected', NULL, p_by, p_attempt);
    PERFORM gateway.audit_writes('[{"state": "new"}]', jsonb_build_array(p_draft), p_again);
    RETURN '{"state": "rejected"}';
  END IF;
  IF gateway.is_own_write(a, p_by) THEN RETURN '{"state": "own"}'; END IF;
  IF NOT p_seen THEN RETURN '{"state": "refused", "outcome": {"refused": "not_found"}}'; END IF;
  IF p_authored THEN
    SELECT p.* INTO author FROM gateway.native_author n
      JOIN platform.operator p ON p.tenant = n.tenant AND p.site = n.site AND p.id = n.operator_id AND p.enabled
     WHERE n.credential_id = a.credential_id AND n.tenant = a.tenant AND n.site = a.site;
    IF NOT FOUND THEN RETURN '{"state": "refused", "outcome": {"refused": "enrollment_unavailable"}}'; END IF;
  END IF;

  IF p_lease IS NOT NULL THEN
    UPDATE gateway.approval SET state = 'approved', decided_at = now(), decided_by = p_by, attempt = p_attempt WHERE operation_id = p_id;
    UPDATE gateway.operation SET created_at = now(), lease_until = now() + p_lease, attempt = p_attempt WHERE operation_id = p_id;
    PERFORM gateway.audit_writes('[{"state": "new"}]', jsonb_build_array(p_draft), p_again);
    RETURN json_build_object('state', 'reserved', 'epoch', 1, 'author', author.id::text, 'command', a.command);
  END IF;

  -- As in gateway.write_batch: this function appends the receipts itself.
  PERFORM set_config('gateway.capture', 'off', true);
  EXECUTE format('SELECT %s($1, $2, $3, $4, $5)', p_writer) INTO answers
    USING a.tenant, a.site, ARRAY[p_id], ARRAY[author], ARRAY[a.command];
  PERFORM set_config('gateway.capture', capture, true);
  IF cardinality(array_remove(answers, NULL)) IS DISTINCT FROM 1 THEN
    RAISE EXCEPTION '% must return one answer for each command', p_writer;
  END IF;
  IF answers[1] LIKE '{"refused"%' THEN RETURN ('{"state": "refused", "outcome": ' || answers[1] || '}')::json; END IF;
  UPDATE gateway.approval SET state = 'approved', decided_at = now(), decided_by = p_by, attempt = p_attempt, command = NULL
   WHERE operation_id = p_id;
  UPDATE gateway.operation SET status = 'acknowledged', outcome = answers[1]::json, created_at = now(), attempt = p_attempt
   WHERE operation_id = p_id;
  PERFORM gateway.audit_writes(('[{"state": "new", "outcome": ' || answers[1] || '}]')::json, jsonb_build_array(p_draft), p_again);
  -- The receipts come last, because they lock the journal of the website until the commit.
  IF answers[1] LIKE '{"done"%' AND cardinality(p_receipts) > 0 THEN
    PERFORM gateway.append_receipts(a.tenant, a.site, p_receipts);
  END IF;
  -- The function may have waited for the journal.
  IF NOT gateway.approval_stands(a) OR (p_authored AND NOT EXISTS (
       SELECT FROM gateway.native_author n
         JOIN platform.operator p ON p.tenant = n.tenant AND p.site = n.site AND p.id = n.operator_id AND p.enabled
        WHERE n.credential_id = a.credential_id AND n.tenant = a.tenant AND n.site = a.site AND p.id = author.id)) THEN
    RAISE EXCEPTION 'stale authority' USING ERRCODE = 'GW401';
  END IF;
  RETURN ('{"state": "new", "outcome": ' || answers[1] || '}')::json;
END $$;

-- A person who is erased must not be in the text of a write. So a write that waits lapses in the transaction of the erasure.
-- A write that a helpdesk performs now loses its text here, and cannot wait again.
CREATE FUNCTION gateway.approval_erased() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  a gateway.approval;
BEGIN
  FOR a IN SELECT * FROM gateway.approval x
            WHERE x.tenant = NEW.tenant AND x.site = NEW.site AND x.record = NEW.id AND x.command ? TG_ARGV[0] AND x.command IS NOT NULL
            ORDER BY x.operation_id FOR UPDATE LOOP
    IF a.state = 'pending' THEN
      PERFORM gateway.end_approval(a.operation_id, 'lapsed', 'erased', NULL, NULL);
      -- As for a note about the person, not even a digest of the text stays.
      UPDATE gateway.operation SET fingerprint = NULL, attempt = NULL WHERE operation_id = a.operation_id AND status = 'lapsed';
    ELSE
      UPDATE gateway.approval SET command = NULL WHERE operation_id = a.operation_id;
    END IF;
  END LOOP;
  RETURN NULL;
END $$;
CREATE TRIGGER approval_erased AFTER UPDATE OF external_id ON platform.visitor FOR EACH ROW
  WHEN (NEW.external_id LIKE 'erased:%' AND NEW.external_id <> OLD.external_id) EXECUTE FUNCTION gateway.approval_erased('visitor');
CREATE TRIGGER approval_erased AFTER UPDATE OF external_id ON platform.conversation FOR EACH ROW
  WHEN (NEW.external_id LIKE 'erased:%' AND NEW.external_id <> OLD.external_id) EXECUTE FUNCTION gateway.approval_erased('conversation');
