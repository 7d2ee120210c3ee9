-- The ledger of reviewed writes. Each row is one command. The id of a command is an HMAC of the credential, the
-- operation and the Idempotency-Key. After 24 hours the fingerprint of the input and the outcome are erased. The rest
-- of the row stays for ever, so that a repeated call never has a second effect.

-- The HMAC key is made here. The key must never change. With another key, a repeated call would not find its
-- first attempt.
CREATE TABLE gateway.ledger_key (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  key bytea NOT NULL CHECK (length(key) = 32)
);
INSERT INTO gateway.ledger_key (key)
VALUES (decode(replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', ''), 'hex'));

-- credential_id is no foreign key for two reasons. Rows stay when their credential is deleted. A foreign key would also
-- lock the row of the credential (FOR KEY SHARE) at every write.
--
-- If the reply to a statement is lost, the caller sends the statement again. The column `attempt` then shows that the
-- first statement has inserted the row.
CREATE TABLE gateway.operation (
  operation_id text PRIMARY KEY CHECK (operation_id ~ '^op_[a-f0-9]{64}$'),
  credential_id text NOT NULL,
  revision integer NOT NULL,
  tenant bigint NOT NULL, site bigint NOT NULL,
  operation text NOT NULL,
  -- `rejected`: a person has rejected the write. `lapsed`: nobody decided in time, or the authority of the write ended
  -- first. Neither status changes any more, and neither write has had an effect.
  status text NOT NULL CHECK (status IN ('pending', 'acknowledged', 'outcome_unknown', 'rejected', 'lapsed')),
  created_at timestamptz NOT NULL DEFAULT now(),
  -- The SHA-256 of the input and the expected revisions. Null means that the fingerprint is erased.
  fingerprint bytea CHECK (length(fingerprint) = 32),
  -- The outcome of the command. Null means that the command is running, or that the outcome is unknown or erased.
  outcome json,
  -- Each process that takes the command over raises this number. After that, the outcome from an earlier process does
  -- not count.
  epoch integer NOT NULL DEFAULT 1,
  lease_until timestamptz,                             -- null: no process works on the command
  attempt uuid,
  -- The audit record of a write that another system performs. It is inserted when the outcome is stored. Null: there is
  -- none.
  audit jsonb
);
CREATE INDEX operation_kept ON gateway.operation (created_at) WHERE fingerprint IS NOT NULL;
CREATE INDEX operation_unsettled ON gateway.operation (lease_until) WHERE status <> 'acknowledged' AND fingerprint IS NOT NULL;

-- The writes that wait for a person, and how that ended (30_approvals.sql).
--
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

-- The writers: the functions that make the changes of reviewed writes. gateway.write_batch calls a writer by its name, so
-- that effect, journal entry and outcome commit together. All writers have the same parameters: the website, and three
-- lists with one element for each command. p_ids holds the ids of the commands. p_authors holds the operators in whose
-- name the commands write. An operator is null if the credential has no author, or if the write needs no author.
--
-- A writer returns one answer for each command, in the order of p_commands. The answer is {"done": …}, {"rejected":
-- code} or {"refused": code}.

CREATE FUNCTION platform.add_notes(
  p_tenant bigint, p_site bigint, p_ids text[], p_authors platform.operator[], p_commands jsonb[]
) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
  moment timestamptz := date_trunc('milliseconds', now());
  known boolean[];
  -- Numbers of the commands that can run: the visitor has a conversation, and the credential has an author.
  able integer[] := '{}';
  note_id bigint;
  answers text[] := '{}';
BEGIN
  -- Each command has a separate look-up. When the look-up was a condition of the INSERT, PostgreSQL joined all
  -- conversations of the website.
  known := ARRAY(SELECT (SELECT true FROM platform.conversation c WHERE c.tenant = p_tenant AND c.site = p_site
                            AND c.visitor_id = (t.command ->> 'visitor')::bigint LIMIT 1)
                   FROM unnest(p_commands) WITH ORDINALITY AS t (command, n) ORDER BY t.n);
  FOR n IN 1 .. cardinality(p_commands) LOOP
    IF known[n] AND (p_authors[n]).id IS NOT NULL THEN able := able || n; END IF;
  END LOOP;
  IF cardinality(able) > 0 THEN
    note_id := platform.reserve_ids(p_tenant, p_site, 'note', cardinality(able));
    INSERT INTO platform.note (tenant, site, id, external_id, visitor_id, operator_id, text, created_at)
    SELECT p_tenant, p_site, note_id + a.n, p_ids[a.i], (p_commands[a.i] ->> 'visitor')::bigint, (p_authors[a.i]).id,
           p_commands[a.i] ->> 'text', moment
      FROM unnest(able) WITH ORDINALITY AS a (i, n);
  END IF;
  FOR n IN 1 .. cardinality(p_commands) LOOP
    IF known[n] IS NULL THEN
      answers := answers || '{"refused": "not_found"}'::text;
    ELSIF (p_authors[n]).id IS NULL THEN
      answers := answers || '{"refused": "enrollment_unavailable"}'::text;
    ELSE
      note_id := note_id + 1;
      answers := answers || json_build_object('done', json_build_object(
        'note_id', note_id, 'author', (p_authors[n]).name, 'created_at', moment::text))::text;
    END IF;
  END LOOP;
  RETURN answers;
END $$;

-- Sets dispositions. An answer tells the time of the change.
CREATE FUNCTION platform.set_dispositions(
  p_tenant bigint, p_site bigint, p_ids text[], p_authors platform.operator[], p_commands jsonb[]
) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
  command jsonb;
  n integer;
  changed timestamptz;
  answers text[] := '{}';
BEGIN
  -- The commands run in the order of their conversation ids, so that two batches do not deadlock.
  FOR command, n IN
    SELECT t.command, t.n FROM unnest(p_commands) WITH ORDINALITY AS t (command, n)
     ORDER BY (t.command ->> 'conversation')::bigint, t.n
  LOOP
    IF (p_authors[n]).id IS NULL THEN
      answers[n] := '{"refused": "enrollment_unavailable"}';
    ELSIF EXISTS (SELECT 1 FROM platform.website w WHERE w.tenant = p_tenant AND w.site = p_site AND w.crm_integrated)
       OR NOT EXISTS (SELECT 1 FROM platform.disposition d WHERE d.tenant = p_tenant AND d.site = p_site
                       AND d.value = command ->> 'disposition' AND d.enabled) THEN
      answers[n] := '{"rejected": "operation_conflict"}';
    ELSE
      UPDATE platform.conversation c
         SET disposition = command ->> 'disposition', updated_at = greatest(c.updated_at, date_trunc('milliseconds', now()))
       WHERE c.tenant = p_tenant AND c.site = p_site AND c.id = (command ->> 'conversation')::bigint
      RETURNING c.updated_at INTO changed;
      answers[n] := CASE WHEN FOUND
        THEN json_build_object('done', json_build_object('updated_at', changed::text))::text
        ELSE '{"refused": "not_found"}' END;
    END IF;
  END LOOP;
  RETURN answers;
END $$;

CREATE FUNCTION platform.run_detections(
  p_tenant bigint, p_site bigint, p_ids text[], p_authors platform.operator[], p_commands jsonb[]
) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
  command jsonb;
  a platform.ai_feature;
  answers text[] := '{}';
BEGIN
  FOREACH command IN ARRAY p_commands LOOP
    SELECT * INTO a FROM platform.ai_feature f
     WHERE f.tenant = p_tenant AND f.site = p_site AND f.id = (command ->> 'feature')::bigint;
    answers := answers || CASE
      WHEN a.active_version IS NULL THEN '{"refused": "not_found"}'
      WHEN a.type <> 'language_detection' THEN '{"refused": "adapter_not_available"}'
      WHEN NOT a.enabled OR a.active_version <> (command ->> 'expected_version')::integer
        THEN '{"rejected": "operation_conflict"}'
      ELSE json_build_object('done', json_build_object(
        'version', a.active_version, 'language', command ->> 'language'))::text END;
  END LOOP;
  RETURN answers;
END $$;

-- Returns the effect that each change of an AI feature would have. Leaves out members that would keep their value.
CREATE FUNCTION platform.plan_changes(
  p_tenant bigint, p_site bigint, p_ids text[], p_authors platform.operator[], p_commands jsonb[]
) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
  command jsonb;
  a platform.ai_feature;
  answers text[] := '{}';
BEGIN
  FOREACH command IN ARRAY p_commands LOOP
    SELECT * INTO a FROM platform.ai_feature f
     WHERE f.tenant = p_tenant AND f.site = p_site AND f.id = (command ->> 'feature')::bigint;
    answers := answers || CASE
      WHEN a.active_version IS NULL THEN '{"refused": "not_found"}'
      WHEN a.active_version <> (command ->> 'expected_version')::integer THEN '{"rejected": "operation_conflict"}'
      ELSE json_build_object('done', json_build_object('version', a.active_version, 'changes', (
        SELECT coalesce(json_agg(json_build_object(
                 'field', f.field, 'from', f.before, 'to', command -> 'changes' -> f.field) ORDER BY f.n), '[]')
          FROM (VALUES (1, 'name', to_jsonb(a.name)), (2, 'enabled', to_jsonb(a.enabled))) AS f (n, field, before)
         WHERE command -> 'changes' -> f.field <> f.before)))::text END;
  END LOOP;
  RETURN answers;
END $$;

-- A command with its idempotency key. `attempt` says which call sent the command. `seen` says whether the caller may see the
-- record of the command. Null means that the caller's authority was gone.
CREATE TYPE gateway.keyed_command AS (
  operation_id text, attempt uuid, credential_id text, digest bytea, revision integer, fingerprint bytea, seen boolean, command jsonb
);

-- Returns two lists with one element for each command. `holds` says whether the caller's authority still exists at this
-- moment. `authors` holds the operator in whose name the credential writes.
CREATE FUNCTION gateway.standing_of(
  p_tenant bigint, p_site bigint, p_commands gateway.keyed_command[], p_authored boolean,
  OUT holds boolean[], OUT authors platform.operator[]
) LANGUAGE plpgsql AS $$
BEGIN
  SELECT array_agg(coalesce((
           SELECT t.revoked_at IS NULL AND (t.expires_at IS NULL OR t.expires_at > clock_timestamp())
              AND c.revision = k.revision AND c.revoked_at IS NULL AND c.expires_at > clock_timestamp()
             FROM gateway.token t JOIN gateway.credential c ON c.id = t.credential_id
            WHERE t.digest = k.digest), false) ORDER BY k.ordinality),
         CASE WHEN p_authored THEN array_agg((
           SELECT p FROM gateway.native_author a
             JOIN platform.operator p ON p.tenant = a.tenant AND p.site = a.site AND p.id = a.operator_id AND p.enabled
            WHERE a.credential_id = k.credential_id AND a.tenant = p_tenant AND a.site = p_site) ORDER BY k.ordinality) END
    INTO holds, authors
    FROM unnest(p_commands) WITH ORDINALITY AS k;
END $$;

-- Performs several commands of one operation on one website (group commit). Each command runs once and has a separate
-- outcome. The batch has one statement, one transaction, one flush of the WAL and one lock of the journal.
--
-- p_writer is the writer of the operation. The type regproc accepts only the name of an existing function.
--
-- If p_lease is null, effects, journal entries and outcomes commit together. A crash leaves all of them or none. If
-- p_lease is given, another system performs the commands. Then the function only reserves the commands, and the caller
-- must store each outcome later.
--
-- Returns a list of {"state": …} in the order of the commands:
-- - new: the command has run now. The answer has the outcome.
-- - settled: an earlier call has run the command. The answer has the outcome.
-- - reserved: the caller must perform the command. The answer has epoch and author.
-- - pending: another call works on the command.
-- - unknown: nobody knows whether the command had an effect.
-- - conflict: the key was used with another input or another revision.
-- - forgotten: the outcome is erased.
-- - stale: the caller's authority is gone.
-- - again: an earlier command of the batch has the same key.
-- Commands of a credential that needs an approval wait for it (30_approvals.sql). Their answers:
-- - asked: the command waits for a person since this call.
-- - waiting: the command waits for a person since an earlier call.
-- - full: too many commands of the credential wait.
-- - rejected, lapsed: how the wait has ended.
-- Raises GW401 if an authority ended while the batch waited for the journal. Then the whole batch is rolled back.
CREATE FUNCTION gateway.write_batch(
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

-- Stores the outcome of a command. p_epoch identifies the process that performed the command. Returns false if another
-- process has taken the command over or ended the command. The function can be repeated with the same result.
--
-- A refusal frees the Idempotency-Key, unless the command was taken over or a person has approved it. After a take-over,
-- the earlier process may still perform the command. p_attempt is the attempt that reserved the command.
CREATE FUNCTION gateway.settle_operation(
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

-- Takes over commands that another system performs. A command is taken over in two cases. First, the lease of the
-- command has expired. Second, the outcome is unknown and it is time to ask the other system again. After a take-over,
-- the earlier process can no longer store an outcome.
CREATE FUNCTION gateway.take_lapsed(p_lease interval, n integer)
RETURNS TABLE (operation_id text, epoch integer, tenant bigint, site bigint, operation text) LANGUAGE sql AS $$
  SELECT set_config('gateway.machine', 'on', true);
  UPDATE gateway.operation o SET epoch = o.epoch + 1, lease_until = now() + p_lease
   WHERE o.operation_id IN (
     SELECT l.operation_id FROM gateway.operation l
      WHERE l.status <> 'acknowledged' AND l.fingerprint IS NOT NULL AND l.lease_until < now() AND gateway.lives_here(l.tenant)
      ORDER BY l.lease_until LIMIT n FOR UPDATE SKIP LOCKED)
  RETURNING o.operation_id, o.epoch, o.tenant, o.site, o.operation
$$;

-- Erases fingerprints and outcomes that are older than 24 hours. The rows stay. Returns the number of erased commands.
-- Erases the record of a write whose outcome nobody knows, too, and the text of one that was approved. A write that waits
-- for a person is no outcome.
CREATE FUNCTION gateway.erase_outcomes(n integer) RETURNS integer LANGUAGE sql AS $$
  SELECT set_config('gateway.machine', 'on', true);
  WITH erased AS (
    UPDATE gateway.operation o SET fingerprint = NULL, outcome = NULL, lease_until = NULL, attempt = NULL, audit = NULL,
           status = CASE o.status WHEN 'pending' THEN 'outcome_unknown' ELSE o.status END
     WHERE o.operation_id IN (
       SELECT l.operation_id FROM gateway.operation l
        WHERE l.fingerprint IS NOT NULL AND l.created_at <= now() - interval '24 hours'
          AND gateway.lives_here(l.tenant) AND NOT EXISTS (SELECT FROM gateway.approval a WHERE a.operation_id = l.operation_id AND a.state = 'pending')
        ORDER BY l.created_at LIMIT n FOR UPDATE SKIP LOCKED)
    RETURNING o.operation_id
  ), texts AS (
    UPDATE gateway.approval a SET command = NULL
      FROM erased e WHERE a.operation_id = e.operation_id AND a.state = 'approved' AND a.command IS NOT NULL)
  SELECT count(*)::integer FROM erased
$$;
