-- Writes that a person must approve. A credential can name operations whose writes wait (`approve`). gateway.write_batch
-- then stores the command here under its operation id, and nothing else happens. gateway.decide_approval ends the wait.
ALTER TABLE gateway.credential ADD COLUMN approve text[] NOT NULL DEFAULT '{}';
-- `others`: nobody approves a write of their own agent (gateway.is_own_write).
ALTER TABLE gateway.credential ADD COLUMN approval_by text NOT NULL DEFAULT 'anyone' CHECK (approval_by IN ('anyone', 'others'));

-- `rejected`: a person has rejected the write. `lapsed`: nobody decided in time, or the authority of the write ended first.
-- Neither status changes any more, and neither write has had an effect.
ALTER TABLE gateway.operation DROP CONSTRAINT operation_status_check;
ALTER TABLE gateway.operation ADD CONSTRAINT operation_status_check
  CHECK (status IN ('pending', 'acknowledged', 'outcome_unknown', 'rejected', 'lapsed'));

-- While an approval is pending, its operation has the status `pending`, no lease and the time of the request. A decision
-- sets the time of the operation to its own, so that the outcome is kept for 24 hours from then on.
CREATE TABLE gateway.approval (
  operation_id text PRIMARY KEY REFERENCES gateway.operation ON DELETE CASCADE,
  credential_id text NOT NULL,
  -- Any change of the credential raises its revision and so makes the approval void.
  revision integer NOT NULL,
  -- What the token of the request was narrowed to. The token itself has often expired when a person decides.
  scopes text[], sites bigint[], consent_id text,
  tenant bigint NOT NULL, site bigint NOT NULL,
  operation text NOT NULL,
  record bigint NOT NULL,                              -- native id of the visitor, the conversation or the AI feature
  -- The command with its whole text, while it waits for a decision or for a helpdesk. Then null, because a text must not
  -- outlive its purpose.
  command jsonb,
  -- The interface of the request, and the client as it told. Null without audit records.
  surface text, client_name text, client_version text,
  state text NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'approved', 'rejected', 'lapsed')),
  lapsed_because text CHECK (lapsed_because IN ('time', 'authority', 'erased', 'restored')),
  requested_at timestamptz NOT NULL DEFAULT now(),
  decided_at timestamptz,
  decided_by text,                                     -- the person. Null: the command line, or nobody
  -- The decision. A repeated statement finds its own earlier decision by this UUID.
  attempt uuid,
  CHECK ((state = 'pending') = (decided_at IS NULL)),
  CHECK ((state = 'lapsed') = (lapsed_because IS NOT NULL)),
  CHECK (state <> 'pending' OR command IS NOT NULL)
);
CREATE INDEX approval_credential ON gateway.approval (credential_id) WHERE command IS NOT NULL;
CREATE INDEX approval_record ON gateway.approval (tenant, site, record) WHERE command IS NOT NULL;
CREATE INDEX approval_requested ON gateway.approval (requested_at) WHERE state = 'pending';
-- The order of the console's list: what waits, and then the newest.
CREATE INDEX approval_listed ON gateway.approval
  (tenant, (state = 'pending') DESC, (coalesce(decided_at, requested_at)) DESC, operation_id DESC);

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
            WHERE x.state = 'pending' AND (p_restored OR x.requested_at <= now() - interval '24 hours' OR NOT gateway.approval_stands(x))
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

-- As in 0009. Commands of a credential that needs an approval wait for it. New answers:
-- - asked: the command waits for a person since this call.
-- - waiting: the command waits for a person since an earlier call.
-- - full: too many commands of the credential wait.
-- - rejected, lapsed: how the wait has ended.
CREATE OR REPLACE FUNCTION gateway.write_batch(
  p_tenant bigint, p_site bigint, p_operation text, p_writer regproc, p_authored boolean, p_receipts text[],
  p_lease interval, p_commands gateway.keyed_command[]
) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  keys constant text[] := ARRAY(SELECT k.operation_id FROM unnest(p_commands) WITH ORDINALITY AS k ORDER BY k.ordinality);
  entries text[];
  standing record;
  later record;
  answers text[];
  -- The numbers of the commands that the writer must perform, and the lists for the writer.
  todo integer[];
  -- The numbers of the commands that a person must approve first.
  asks integer[];
  ids text[] := '{}';
  authors platform.operator[] := '{}';
  commands jsonb[] := '{}';
  made integer[] := '{}';
  receipts text[] := '{}';
  capture text := coalesce(current_setting('gateway.capture', true), '');
  known boolean;
  i integer;
  n integer;
BEGIN
  -- Only one batch at a time works on a key. A second batch with this key waits here and then finds the outcome. All
  -- batches take their locks in the same order, so that no deadlock occurs. Effects and journal entries come after all
  -- locks.
  PERFORM pg_advisory_xact_lock(k.lock)
    FROM (SELECT hashtextextended(id, 0) AS lock FROM unnest(keys) AS id ORDER BY 1) k;
  standing := gateway.standing_of(p_tenant, p_site, p_commands, p_authored);
  SELECT array_agg(CASE
      WHEN k.seen IS NULL THEN '{"state": "stale"}'
      -- `seen` is checked before the key is looked up. A caller who may no longer see the record must not get the
      -- stored outcome.
      WHEN NOT k.seen THEN '{"state": "new", "outcome": {"refused": "not_found"}}'
      WHEN NOT standing.holds[k.n] THEN '{"state": "stale"}'
      -- If two commands of the batch have the same key, the second must find the outcome of the first.
      WHEN (k.o).operation_id IS NULL THEN CASE WHEN array_position(keys, k.operation_id) < k.n THEN '{"state": "again"}' END
      -- A repeated call must also have an author. A caller who may not write now must not learn the earlier outcome.
      WHEN p_authored AND (standing.authors[k.n]).id IS NULL THEN '{"state": "new", "outcome": {"refused": "enrollment_unavailable"}}'
      WHEN (k.o).fingerprint IS NULL OR (NOT k.waits AND (k.o).created_at <= now() - interval '24 hours') THEN '{"state": "forgotten"}'
      WHEN (k.o).fingerprint <> k.fingerprint THEN '{"state": "conflict"}'
      WHEN (k.o).status IN ('rejected', 'lapsed') THEN json_build_object('state', (k.o).status)::text
      WHEN k.waits THEN json_build_object('state', CASE
        WHEN (k.o).created_at <= now() - interval '24 hours' THEN 'lapsed'
        WHEN (k.o).attempt = k.attempt THEN 'asked' ELSE 'waiting' END)::text
      WHEN (k.o).status = 'acknowledged' THEN json_build_object(
        'state', CASE WHEN (k.o).attempt = k.attempt THEN 'new' ELSE 'settled' END, 'outcome', (k.o).outcome)::text
      WHEN (k.o).status <> 'pending' THEN '{"state": "unknown"}'
      WHEN (k.o).attempt = k.attempt AND (k.o).epoch = 1 THEN json_build_object(
        'state', 'reserved', 'epoch', 1, 'author', (standing.authors[k.n]).id::text)::text
      ELSE '{"state": "pending"}' END ORDER BY k.n), bool_or((k.o).operation_id IS NOT NULL)
    INTO entries, known
    FROM (SELECT u.operation_id, u.attempt, u.fingerprint, u.seen, u.ordinality AS n,
                 (SELECT o FROM gateway.operation o WHERE o.operation_id = u.operation_id) AS o,
                 EXISTS (SELECT FROM gateway.approval a WHERE a.operation_id = u.operation_id AND a.state = 'pending') AS waits
            FROM unnest(p_commands) WITH ORDINALITY AS u OFFSET 0) k;
  -- After a crash, a primary can hold an outcome that no standby has. So the answer waits for a synchronous standby.
  IF known AND current_setting('synchronous_standby_names') <> '' THEN PERFORM pg_logical_emit_message(true, 'gateway', ''); END IF;
  todo := array_positions(entries, NULL);
  IF cardinality(todo) = 0 THEN RETURN ('[' || array_to_string(entries, ',') || ']')::json; END IF;

  -- In the order of their credentials, whose locks ask_approval takes, so that no deadlock occurs.
  asks := ARRAY(SELECT t.i FROM unnest(todo) AS t (i) JOIN gateway.credential c ON c.id = p_commands[t.i].credential_id
                 WHERE gateway.must_wait(c, p_operation, p_commands[t.i].command) ORDER BY c.id, t.i);
  IF cardinality(asks) > 0 THEN
    FOREACH i IN ARRAY asks LOOP
      entries[i] := CASE WHEN p_authored AND (standing.authors[i]).id IS NULL
        THEN '{"state": "new", "outcome": {"refused": "enrollment_unavailable"}}'
        ELSE gateway.ask_approval(p_tenant, p_site, p_operation, p_commands[i]) END;
    END LOOP;
    todo := array_positions(entries, NULL);
    IF cardinality(todo) = 0 THEN RETURN ('[' || array_to_string(entries, ',') || ']')::json; END IF;
  END IF;

  IF p_lease IS NOT NULL THEN
    FOREACH i IN ARRAY todo LOOP
      IF (standing.authors[i]).id IS NULL THEN
        entries[i] := '{"state": "new", "outcome": {"refused": "enrollment_unavailable"}}';
      ELSE
        INSERT INTO gateway.operation (operation_id, credential_id, revision, tenant, site, operation, status, fingerprint,
                                       lease_until, attempt)
        VALUES (keys[i], p_commands[i].credential_id, p_commands[i].revision, p_tenant, p_site, p_operation, 'pending',
                p_commands[i].fingerprint, now() + p_lease, p_commands[i].attempt);
        entries[i] := json_build_object('state', 'reserved', 'epoch', 1, 'author', (standing.authors[i]).id::text);
      END IF;
    END LOOP;
    RETURN ('[' || array_to_string(entries, ',') || ']')::json;
  END IF;

  FOREACH i IN ARRAY todo LOOP
    ids := ids || keys[i];
    authors := authors || standing.authors[i];
    commands := commands || p_commands[i].command;
  END LOOP;
  -- This function appends the receipts itself, so the triggers must not capture the changes of the writer.
  PERFORM set_config('gateway.capture', 'off', true);
  EXECUTE format('SELECT %s($1, $2, $3, $4, $5)', p_writer) INTO answers
    USING p_tenant, p_site, ids, authors, commands;
  PERFORM set_config('gateway.capture', capture, true);
  -- Without an answer, the effect of a command would stay without its outcome.
  IF cardinality(array_remove(answers, NULL)) IS DISTINCT FROM cardinality(todo) THEN
    RAISE EXCEPTION '% must return one answer for each command', p_writer;
  END IF;
  FOR n IN 1 .. cardinality(todo) LOOP
    entries[todo[n]] := '{"state": "new", "outcome": ' || answers[n] || '}';
    IF answers[n] NOT LIKE '{"refused"%' THEN made := made || n; END IF;
    IF answers[n] LIKE '{"done"%' THEN receipts := receipts || p_receipts; END IF;
  END LOOP;
  IF cardinality(made) > 0 THEN
    INSERT INTO gateway.operation (operation_id, credential_id, revision, tenant, site, operation, status, fingerprint,
                                   outcome, attempt)
    SELECT (c.k).operation_id, (c.k).credential_id, (c.k).revision, p_tenant, p_site, p_operation, 'acknowledged',
           (c.k).fingerprint, answers[c.n]::json, (c.k).attempt
      FROM (SELECT m.n, p_commands[todo[m.n]] AS k FROM unnest(made) AS m (n) OFFSET 0) c;
    -- The receipts come last, because the receipts lock the journal until the commit. Meanwhile, the next write on the
    -- website must wait.
    IF cardinality(receipts) > 0 THEN PERFORM gateway.append_receipts(p_tenant, p_site, receipts); END IF;
    -- The batch may have waited for the journal, so check the authorities again. Only the time from here to the commit
    -- is unchecked.
    later := gateway.standing_of(p_tenant, p_site, p_commands, p_authored);
    FOREACH n IN ARRAY made LOOP
      IF NOT later.holds[todo[n]] OR (later.authors[todo[n]]).id IS DISTINCT FROM (standing.authors[todo[n]]).id THEN
        RAISE EXCEPTION 'stale authority' USING ERRCODE = 'GW401';
      END IF;
    END LOOP;
  END IF;
  RETURN ('[' || array_to_string(entries, ',') || ']')::json;
END $$;

-- As in 0009. A refusal does not free the key of a write that a person has approved.
CREATE OR REPLACE FUNCTION gateway.settle_operation(
  p_id text, p_epoch integer, p_attempt uuid, p_outcome json, p_receipts text[]
) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  o gateway.operation;
  a gateway.approval;
BEGIN
  IF p_outcome ->> 'refused' IS NOT NULL THEN
    IF p_epoch = 1 THEN
      SELECT * INTO a FROM gateway.approval
       WHERE operation_id = p_id AND state = 'approved' AND attempt = p_attempt FOR UPDATE;
      IF FOUND THEN
        -- The command has not begun. It waits for a decision again, and keeps its key. But another process can have taken it
        -- over meanwhile, and if the person was erased, nobody can read it any more.
        UPDATE gateway.operation
           SET lease_until = NULL, attempt = NULL, created_at = CASE WHEN a.command IS NULL THEN now() ELSE a.requested_at END,
               status = CASE WHEN a.command IS NULL THEN 'lapsed' ELSE 'pending' END,
               fingerprint = CASE WHEN a.command IS NOT NULL THEN fingerprint END
         WHERE operation_id = p_id AND epoch = p_epoch AND status = 'pending';
        IF NOT FOUND THEN RETURN false; END IF;
        UPDATE gateway.approval
           SET state = CASE WHEN a.command IS NULL THEN 'lapsed' ELSE 'pending' END,
               lapsed_because = CASE WHEN a.command IS NULL THEN 'erased' END,
               decided_at = CASE WHEN a.command IS NULL THEN now() END, decided_by = NULL, attempt = NULL
         WHERE operation_id = p_id;
        RETURN true;
      END IF;
      -- An earlier attempt of this statement has done so.
      IF EXISTS (SELECT FROM gateway.approval WHERE operation_id = p_id AND state IN ('pending', 'lapsed')) THEN RETURN true; END IF;
      DELETE FROM gateway.operation
       WHERE operation_id = p_id AND epoch = p_epoch AND attempt = p_attempt AND status = 'pending';
      -- Only the attempt that inserted a row deletes the row. If the row of this attempt is gone, an earlier call has
      -- deleted the row.
      RETURN FOUND OR NOT EXISTS (
        SELECT 1 FROM gateway.operation WHERE operation_id = p_id AND coalesce(attempt, p_attempt) = p_attempt);
    END IF;
    p_outcome := NULL;
  END IF;
  UPDATE gateway.operation
     SET status = CASE WHEN p_outcome IS NULL THEN 'outcome_unknown' ELSE 'acknowledged' END,
         -- If the row is already erased, a later outcome is not stored.
         outcome = CASE WHEN fingerprint IS NOT NULL THEN p_outcome END,
         -- If the outcome is unknown, the gateway asks the other system again, at growing intervals.
         lease_until = CASE WHEN p_outcome IS NULL AND fingerprint IS NOT NULL
                            THEN now() + least(epoch, 60) * interval '10 seconds' END
   WHERE operation_id = p_id AND epoch = p_epoch AND status <> 'acknowledged'
  RETURNING * INTO o;
  IF NOT FOUND THEN
    -- Only the caller of this function can store an outcome under this epoch. If an outcome is already stored, an
    -- earlier attempt of the same caller has stored the outcome.
    RETURN EXISTS (SELECT 1 FROM gateway.operation
                    WHERE operation_id = p_id AND epoch = p_epoch AND status = 'acknowledged');
  END IF;
  UPDATE gateway.approval SET command = NULL WHERE operation_id = p_id AND command IS NOT NULL;
  IF p_outcome ->> 'done' IS NOT NULL AND cardinality(p_receipts) > 0 THEN
    PERFORM gateway.append_receipts(o.tenant, o.site, p_receipts);
  END IF;
  RETURN true;
END $$;

-- As in 0009. Erases the record of a write whose outcome nobody knows, too, and the text of one that was approved. A write
-- that waits for a person is no outcome.
CREATE OR REPLACE FUNCTION gateway.erase_outcomes(n integer) RETURNS integer LANGUAGE sql AS $$
  WITH erased AS (
    UPDATE gateway.operation o SET fingerprint = NULL, outcome = NULL, lease_until = NULL, attempt = NULL, audit = NULL,
           status = CASE o.status WHEN 'pending' THEN 'outcome_unknown' ELSE o.status END
     WHERE o.operation_id IN (
       SELECT l.operation_id FROM gateway.operation l
        WHERE l.fingerprint IS NOT NULL AND l.created_at <= now() - interval '24 hours'
          AND NOT EXISTS (SELECT FROM gateway.approval a WHERE a.operation_id = l.operation_id AND a.state = 'pending')
        ORDER BY l.created_at LIMIT n FOR UPDATE SKIP LOCKED)
    RETURNING o.operation_id
  ), texts AS (
    UPDATE gateway.approval a SET command = NULL
      FROM erased e WHERE a.operation_id = e.operation_id AND a.state = 'approved' AND a.command IS NOT NULL)
  SELECT count(*)::integer FROM erased
$$;

-- As in 0013. The events of approvals are no family of the journal, so they have no heartbeats.
CREATE OR REPLACE FUNCTION gateway.watched_families() RETURNS TABLE (tenant bigint, site bigint, family text) LANGUAGE sql STABLE AS $$
  SELECT w.tenant, w.site, f.family
    FROM gateway.subscription s
    JOIN platform.website w ON w.tenant = s.tenant AND w.site = ANY (s.sites)
    CROSS JOIN unnest(gateway.families_of(s.event_types)) AS f (family)
   WHERE gateway.has_reader(s)
  UNION
  SELECT e.tenant, e.site, f.family
    FROM gateway.webhook_endpoint e CROSS JOIN unnest(gateway.families_of(e.event_types)) AS f (family)
   WHERE f.family <> 'approval' AND e.enabled AND gateway.may_be_told(e.credential_id, e.tenant, e.site)
$$;
