-- PostgreSQL reads each CHECK of a table again in every statement that writes to the table, and a regular expression
-- builds its states again for every row. Checks of the columns of gateway.task took a third of PostgreSQL's time for a
-- task. So their rules are one function, which PostgreSQL keeps for a connection. Ids have their length checked, not their
-- characters: the gateway makes the ids of tasks, and checks the context ids of clients.
CREATE FUNCTION gateway.valid_task(
  p_id text, p_message bytea, p_fingerprint bytea, p_grants bytea, p_context text, p_skill text, p_state text,
  p_failure text, p_artifact json, p_lost_as text, p_lease timestamptz
) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  RETURN octet_length(p_id) = 37 AND octet_length(p_context) BETWEEN 1 AND 128
    AND length(p_message) = 32 AND length(p_fingerprint) = 32 AND length(p_grants) = 32
    AND p_lost_as IN ('interrupted', 'outcome_unknown')
    AND (p_failure IS NOT NULL) = (p_state = 'failed')
    AND (p_artifact IS NOT NULL) = (p_state = 'completed')
    AND coalesce(octet_length(p_artifact::text) <= 131072, true)
    AND (p_lease IS NOT NULL) = (p_state IN ('submitted', 'working'))
    AND (p_skill IS NOT NULL OR p_state IN ('input_required', 'canceled'))
    AND p_state IN ('submitted', 'working', 'input_required', 'completed', 'failed', 'canceled');
END $$;

-- The A2A tasks. A task lives for 15 minutes, or until its credential ends. Then the row is deleted.
--
-- The arguments of a task can hold text of customers, so the arguments are not stored. Only the process that accepted
-- the task knows the arguments. That process holds the task under a lease. After the lease has expired, another process
-- can end the task but cannot run the task. So the gateway needs no counter of take-overs (an epoch) to refuse a late
-- result.
CREATE TABLE gateway.task (
  id text PRIMARY KEY,
  installation_id text NOT NULL,
  credential_id text NOT NULL,
  message bytea NOT NULL UNIQUE,                       -- an HMAC of the credential and the messageId
  -- An HMAC of the skill and its arguments.
  fingerprint bytea NOT NULL,
  -- The SHA-256 of the sender's permissions when the task was accepted. A caller with other permissions does not get
  -- the artifact.
  grants bytea NOT NULL,
  context_id text NOT NULL,
  skill text,
  website_id text,
  state text NOT NULL,
  state_at timestamptz NOT NULL,
  failure text,                                        -- an error code, never an error message
  -- The result of the task. Type json keeps the order of the members, as in the answers of REST.
  artifact json,
  owner text NOT NULL,                                 -- the process that knows the task's arguments
  -- The failure code if the process of the task is lost. A task that writes gets outcome_unknown, because it may have
  -- written.
  lost_as text NOT NULL,
  lease_until timestamptz,                             -- null: the task has ended
  created_at timestamptz NOT NULL,
  expires_at timestamptz NOT NULL,
  -- The newest texts of the task's messages, oldest first: [{"id": messageId, "text": text}]. Never data.
  history json,
  -- The newest messages after the first one, each as its HMAC with the fingerprint behind it. A repeated message is
  -- found here.
  turns bytea[],
  CONSTRAINT task_valid CHECK (gateway.valid_task(
    id, message, fingerprint, grants, context_id, skill, state, failure, artifact, lost_as, lease_until))
);
CREATE INDEX task_installation ON gateway.task (installation_id, expires_at);
CREATE INDEX task_expiry ON gateway.task (expires_at);
CREATE INDEX task_lease ON gateway.task (lease_until) WHERE lease_until IS NOT NULL;

-- Raises an error when a statement changes an ended task, or moves a running task back to waiting.
CREATE FUNCTION gateway.task_ended() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'task % is %', OLD.id, OLD.state;
END $$;
CREATE TRIGGER task_ended BEFORE UPDATE ON gateway.task FOR EACH ROW
  WHEN (OLD.lease_until IS NULL AND OLD.state <> 'input_required'
        OR OLD.state = 'working' AND NEW.state IN ('submitted', 'input_required'))
  EXECUTE FUNCTION gateway.task_ended();

-- Lets only one transaction at a time work on the tasks of an installation. So the counts of tasks in this transaction
-- stay correct until the commit.
CREATE FUNCTION gateway.lock_tasks(p_installation text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_advisory_xact_lock(hashtextextended('task ' || p_installation, 0));
END $$;

-- Accepts a task, but only once for each message. The verdict is one of:
-- - new: the task is accepted. A repeated statement with the same task id gets this verdict again.
-- - known: an earlier task has the same message.
-- - conflict: an earlier task has the same message and other arguments.
-- - full: the installation has p_most unexpired tasks. retry_after is the number of seconds until one of
--   these tasks expires.
-- - stale: the caller must prove its authority again.
-- p_start says that the process can run one more task. The task starts at once if the installation also has fewer than
-- p_running tasks that run or wait.
--
-- A task lives for 15 minutes, or until its credential ends, as the contract says, and not only until the token of its
-- sender ends: a client whose token has seconds left reads the result with a new token. The result is published under a
-- valid token, and only the same grants read it.
CREATE FUNCTION gateway.accept_task(
  p_digest bytea, p_revision integer, p_id text, p_installation text, p_credential text, p_message bytea,
  p_fingerprint bytea, p_grants bytea, p_context text, p_skill text, p_website text, p_owner text,
  p_lost_as text, p_lifetime interval, p_lease interval, p_most integer, p_running integer, p_start boolean
) RETURNS TABLE (verdict text, retry_after integer, task gateway.task) LANGUAGE plpgsql AS $$
DECLARE
  moment timestamptz;
  last timestamptz;
  held integer;
  ahead integer;
  next timestamptz;
BEGIN
  -- The commit does not wait for the disk. The result of the task commits later and waits until both commits are on the
  -- disk. If the server crashes earlier, the task is lost before anyone got a result. A repeated message then makes a
  -- new task.
  IF p_start THEN PERFORM set_config('synchronous_commit', 'off', true); END IF;
  PERFORM gateway.lock_tasks(p_installation);
  moment := date_trunc('milliseconds', clock_timestamp());
  SELECT least(moment + p_lifetime, c.expires_at) INTO last
    FROM gateway.token t JOIN gateway.credential c ON c.id = t.credential_id
   WHERE t.digest = p_digest AND t.revoked_at IS NULL AND (t.expires_at > moment) IS NOT FALSE
     AND c.revision = p_revision AND c.revoked_at IS NULL;
  IF last IS NULL OR last <= moment THEN
    verdict := 'stale';
    RETURN NEXT;
    RETURN;
  END IF;
  DELETE FROM gateway.task k WHERE k.message = p_message AND k.expires_at <= moment;
  SELECT * INTO task FROM gateway.task k WHERE k.message = p_message;
  IF task.id IS NOT NULL THEN
    verdict := CASE WHEN task.id = p_id THEN 'new' WHEN task.fingerprint = p_fingerprint THEN 'known'
                    ELSE 'conflict' END;
    RETURN NEXT;
    RETURN;
  END IF;
  -- Waiting tasks start before the new task, if their process still holds a lease.
  SELECT count(*), count(*) FILTER (WHERE k.state = 'working' OR k.state = 'submitted' AND k.lease_until > moment),
         min(k.expires_at)
    INTO held, ahead, next
    FROM gateway.task k WHERE k.installation_id = p_installation AND k.expires_at > moment;
  IF held >= p_most THEN
    verdict := 'full';
    retry_after := greatest(1, ceil(extract(epoch FROM next - moment)));
    RETURN NEXT;
    RETURN;
  END IF;
  -- If the task starts at once, nobody can see the state submitted. So the state submitted is not stored.
  INSERT INTO gateway.task
    (id, installation_id, credential_id, message, fingerprint, grants, context_id, skill, website_id, state, state_at, owner,
     lost_as, lease_until, created_at, expires_at)
  VALUES (p_id, p_installation, p_credential, p_message, p_fingerprint, p_grants, p_context, p_skill, p_website,
          CASE WHEN p_start AND ahead < p_running THEN 'working' ELSE 'submitted' END, moment, p_owner,
          p_lost_as, moment + p_lease, moment, last)
  RETURNING * INTO task;
  verdict := 'new';
  RETURN NEXT;
END $$;

-- Starts up to p_seats waiting tasks of one process. The installation has at most p_running running tasks. The oldest
-- waiting tasks of all replicas come first. Tasks with an expired lease do not count.
CREATE FUNCTION gateway.start_tasks(
  p_installation text, p_owner text, p_lease interval, p_running integer, p_seats integer
) RETURNS SETOF gateway.task LANGUAGE plpgsql AS $$
DECLARE
  moment timestamptz;
BEGIN
  PERFORM gateway.lock_tasks(p_installation);
  moment := date_trunc('milliseconds', clock_timestamp());
  RETURN QUERY
    UPDATE gateway.task k SET state = 'working', state_at = moment, lease_until = moment + p_lease
     WHERE k.state = 'submitted' AND k.id IN (
       SELECT f.id FROM (
         SELECT w.id, w.owner, w.created_at FROM gateway.task w
          WHERE w.installation_id = p_installation AND w.state = 'submitted' AND w.expires_at > moment AND w.lease_until > moment
          ORDER BY w.created_at, w.id
          LIMIT greatest(0, p_running - (SELECT count(*) FROM gateway.task r WHERE r.installation_id = p_installation
                                            AND r.state = 'working' AND r.expires_at > moment))) f
        WHERE f.owner = p_owner ORDER BY f.created_at, f.id LIMIT p_seats)
    RETURNING k.*;
END $$;

-- Ends a task with its artifact or with a failure code. If the sender's authority has ended, the task fails. Returns
-- the task in its new state. A task that has already ended or expired does not change.
CREATE FUNCTION gateway.end_task(p_id text, p_digest bytea, p_revision integer, p_artifact json, p_failure text)
RETURNS gateway.task LANGUAGE plpgsql AS $$
DECLARE
  task gateway.task;
  reason text;
BEGIN
  SELECT * INTO task FROM gateway.task k WHERE k.id = p_id FOR UPDATE;
  IF task.lease_until IS NULL OR task.expires_at <= clock_timestamp() THEN RETURN task; END IF;
  -- The authority is checked after the row is locked, because the statement may have waited for the lock.
  reason := coalesce(gateway.authority_lost(p_digest, p_revision), p_failure);
  UPDATE gateway.task k
     SET state = CASE WHEN reason IS NULL THEN 'completed' ELSE 'failed' END, failure = reason,
         artifact = CASE WHEN reason IS NULL THEN p_artifact END,
         state_at = date_trunc('milliseconds', clock_timestamp()), lease_until = NULL
   WHERE k.id = p_id AND k.state IN ('submitted', 'working')
  RETURNING * INTO task;
  RETURN task;
END $$;

-- accept_tasks and end_tasks handle several tasks at once (group commit). A batch has one statement, one transaction
-- and one flush of the WAL.
--
-- A batch never waits for a lock. The batch leaves out locked tasks and tasks that need a special answer. The functions
-- accept_task and end_task handle these tasks one by one. So a batch causes no deadlock.
--
-- Both functions look rows up by key. PostgreSQL must use the index even if the tables were empty when the plan was
-- made.

-- Accepts several new tasks by the rules of accept_task. If two tasks have the same message, only the first is
-- accepted. Returns only the accepted tasks.
CREATE FUNCTION gateway.accept_tasks(
  p_ids text[], p_digests bytea[], p_revisions integer[], p_installations text[], p_credentials text[],
  p_messages bytea[], p_fingerprints bytea[], p_grants bytea[], p_contexts text[], p_skills text[], p_websites text[],
  p_lost_as text[], p_starts boolean[], p_owner text, p_lifetime interval, p_lease interval, p_most integer,
  p_running integer
) RETURNS SETOF gateway.task LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS $$
DECLARE
  free text[];
  moment timestamptz;
BEGIN
  -- The commit skips the wait for the disk only if all tasks start at once (see accept_task). A caller can see a
  -- waiting task before its result, so a waiting task must not be lost.
  IF true = ALL (p_starts) THEN PERFORM set_config('synchronous_commit', 'off', true); END IF;
  free := ARRAY(SELECT i.id FROM (SELECT DISTINCT u.id FROM unnest(p_installations) AS u (id)) i
                 WHERE pg_try_advisory_xact_lock(hashtextextended('task ' || i.id, 0)));
  moment := date_trunc('milliseconds', clock_timestamp());
  RETURN QUERY
    INSERT INTO gateway.task
      (id, installation_id, credential_id, message, fingerprint, grants, context_id, skill, website_id, state, state_at, owner,
       lost_as, lease_until, created_at, expires_at)
    SELECT g.id, g.installation, g.credential, g.message, g.fingerprint, g.grants, g.context, g.skill, g.website,
           CASE WHEN g.start AND c.ahead + g.nth <= p_running THEN 'working' ELSE 'submitted' END, moment, p_owner,
           g.lost_as, moment + p_lease, moment, g.last
      FROM (SELECT u.*, row_number() OVER (PARTITION BY u.installation ORDER BY u.n) AS nth,
                   -- Each value has a separate look-up. When the look-ups were conditions of a join, PostgreSQL scanned
                   -- all tasks.
                   (SELECT least(moment + p_lifetime, k.expires_at)
                      FROM gateway.token t JOIN gateway.credential k ON k.id = t.credential_id
                     WHERE t.digest = u.digest AND t.revoked_at IS NULL AND (t.expires_at > moment) IS NOT FALSE
                       AND k.revision = u.revision AND k.revoked_at IS NULL) AS last,
                   (SELECT o.id FROM gateway.task o WHERE o.message = u.message) AS other
              FROM unnest(p_ids, p_digests, p_revisions, p_installations, p_credentials, p_messages, p_fingerprints, p_grants,
                          p_contexts, p_skills, p_websites, p_lost_as, p_starts) WITH ORDINALITY
                     AS u (id, digest, revision, installation, credential, message, fingerprint, grants, context, skill,
                           website, lost_as, start, n)
             WHERE u.installation = ANY (free) AND array_position(p_messages, u.message) = u.n) g
     -- PostgreSQL can make the plan while the table is empty. Without IS TRUE, such a plan later scanned all unexpired
     -- tasks.
     CROSS JOIN LATERAL (
       SELECT count(*) AS held,
              count(*) FILTER (WHERE o.state = 'working' OR o.state = 'submitted' AND o.lease_until > moment) AS ahead
         FROM gateway.task o WHERE o.installation_id = g.installation AND (o.expires_at > moment) IS TRUE) c
     -- When the limit is checked, each earlier task of the batch counts as accepted.
     WHERE g.last > moment AND g.other IS NULL AND c.held + g.nth <= p_most
    RETURNING *;
END $$;

-- Ends several tasks by the rules of end_task. Leaves out tasks that have ended and tasks whose sender lost its
-- authority. Returns only the tasks that this call has ended.
CREATE FUNCTION gateway.end_tasks(
  p_ids text[], p_digests bytea[], p_revisions integer[], p_artifacts json, p_failures text[]
) RETURNS TABLE (id text, context_id text, skill text, website_id text, state text, state_at timestamptz,
                 expires_at timestamptz, failure text, grants bytea)
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS $$
#variable_conflict use_column
BEGIN
  RETURN QUERY
    WITH credential AS MATERIALIZED (
      SELECT c.id, c.revision, c.expires_at FROM gateway.credential c
       WHERE c.revoked_at IS NULL
         AND c.id = ANY (ARRAY(SELECT o.credential_id FROM gateway.token o WHERE o.digest = ANY (p_digests)))
         FOR SHARE SKIP LOCKED),
    token AS MATERIALIZED (
      SELECT t.digest, t.credential_id, t.expires_at FROM gateway.token t
       WHERE t.revoked_at IS NULL AND t.digest = ANY (p_digests)
         FOR SHARE SKIP LOCKED),
    task AS MATERIALIZED (
      SELECT k.id FROM gateway.task k
       WHERE k.id = ANY (p_ids) AND k.lease_until IS NOT NULL AND k.expires_at > clock_timestamp()
         FOR UPDATE SKIP LOCKED)
    UPDATE gateway.task k
       SET state = CASE WHEN u.failure IS NULL THEN 'completed' ELSE 'failed' END, failure = u.failure,
           artifact = CASE WHEN u.failure IS NULL THEN u.artifact END,
           state_at = date_trunc('milliseconds', clock_timestamp()), lease_until = NULL
      FROM ROWS FROM (unnest(p_ids), unnest(p_digests), unnest(p_revisions), json_array_elements(p_artifacts),
                      unnest(p_failures)) AS u (id, digest, revision, artifact, failure)
      JOIN task ON task.id = u.id
      JOIN token t ON t.digest = u.digest
      JOIN credential c ON c.id = t.credential_id AND c.revision = u.revision
     WHERE k.id = task.id AND k.state IN ('submitted', 'working') AND least(c.expires_at, t.expires_at) > clock_timestamp()
    RETURNING k.id, k.context_id, k.skill, k.website_id, k.state, k.state_at, k.expires_at, k.failure, k.grants;
END $$;

-- Cancels a task that has not ended, if the caller's authority exists. `task` is null if there is no such task. If the
-- result commits first, the cancellation has no effect. A task that waits for input can be canceled, too.
CREATE FUNCTION gateway.cancel_task(p_id text, p_credential text, p_digest bytea, p_revision integer)
RETURNS TABLE (proved boolean, canceled boolean, task gateway.task) LANGUAGE plpgsql AS $$
BEGIN
  proved := gateway.authority_lost(p_digest, p_revision) IS NULL;
  IF NOT proved THEN
    RETURN NEXT;
    RETURN;
  END IF;
  UPDATE gateway.task k SET state = 'canceled', state_at = date_trunc('milliseconds', clock_timestamp()), lease_until = NULL
   WHERE k.id = p_id AND k.credential_id = p_credential AND k.state IN ('submitted', 'working', 'input_required')
     AND k.expires_at > clock_timestamp()
  RETURNING * INTO task;
  canceled := FOUND;
  IF NOT canceled THEN
    SELECT * INTO task FROM gateway.task k
     WHERE k.id = p_id AND k.credential_id = p_credential AND k.expires_at > clock_timestamp();
  END IF;
  RETURN NEXT;
END $$;

-- Ends tasks whose lease has expired, because their process is lost. Returns the number of ended tasks.
CREATE FUNCTION gateway.interrupt_tasks(n integer) RETURNS integer LANGUAGE sql AS $$
  SELECT set_config('gateway.machine', 'on', true);
  WITH ended AS (
    UPDATE gateway.task k
       SET state = 'failed', failure = k.lost_as, state_at = date_trunc('milliseconds', clock_timestamp()), lease_until = NULL
     WHERE k.state IN ('submitted', 'working') AND k.id IN (
       SELECT l.id FROM gateway.task l WHERE l.lease_until < now() AND gateway.credential_moved_to(l.credential_id) IS NULL ORDER BY l.lease_until LIMIT n FOR UPDATE SKIP LOCKED)
    RETURNING 1)
  SELECT count(*)::integer FROM ended
$$;

CREATE FUNCTION gateway.delete_tasks(n integer) RETURNS integer LANGUAGE sql AS $$
  SELECT set_config('gateway.machine', 'on', true);
  WITH deleted AS (
    DELETE FROM gateway.task k WHERE k.id IN (
      SELECT l.id FROM gateway.task l WHERE l.expires_at <= now() AND gateway.credential_moved_to(l.credential_id) IS NULL ORDER BY l.expires_at LIMIT n FOR UPDATE SKIP LOCKED)
    RETURNING 1)
  SELECT count(*)::integer FROM deleted
$$;

-- Texts of orchestrators (docs/decisions/a2a.md). A task whose messages name no skill waits for one in the state
-- input_required. Such a task has no process and no lease, so it counts among the unexpired tasks, never among the
-- running ones.

-- Adds a text to a history, and keeps the newest 20 texts and at most 64 KiB of them. The newest text always stays.
-- The elements stay json, because PostgreSQL cannot decode a text with NUL.
CREATE FUNCTION gateway.with_text(p_history json, p_text json) RETURNS json LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN p_text IS NULL THEN p_history ELSE (
    SELECT json_agg(s.entry ORDER BY s.n)
      FROM (SELECT x.entry, x.n, row_number() OVER (ORDER BY x.n DESC) AS nth,
                   sum(octet_length(x.entry::text)) OVER (ORDER BY x.n DESC) AS size
              FROM json_array_elements(
                     (coalesce(left(p_history::text, -1) || ',', '[') || p_text::text || ']')::json)
                   WITH ORDINALITY AS x (entry, n)) s
     WHERE s.nth = 1 OR s.nth <= 20 AND s.size <= 65536) END
$$;

-- Accepts a task whose message has a text, by the rules of accept_task. Without a skill, the task waits for one.
CREATE FUNCTION gateway.accept_text(
  p_text json, p_digest bytea, p_revision integer, p_id text, p_installation text, p_credential text, p_message bytea,
  p_fingerprint bytea, p_grants bytea, p_context text, p_skill text, p_website text, p_owner text,
  p_lost_as text, p_lifetime interval, p_lease interval, p_most integer, p_running integer, p_start boolean
) RETURNS TABLE (verdict text, retry_after integer, task gateway.task) LANGUAGE plpgsql AS $$
DECLARE
  accepted record;
BEGIN
  SELECT * INTO accepted FROM gateway.accept_task(
    p_digest, p_revision, p_id, p_installation, p_credential, p_message, p_fingerprint, p_grants, p_context,
    coalesce(p_skill, ''), p_website, p_owner, p_lost_as, p_lifetime, p_lease, p_most, p_running,
    p_start AND p_skill IS NOT NULL);
  verdict := accepted.verdict;
  retry_after := accepted.retry_after;
  task := accepted.task;
  -- A repeated statement finds its own text.
  IF verdict = 'new' AND task.history IS NULL THEN
    UPDATE gateway.task k
       SET history = gateway.with_text(NULL, p_text), skill = p_skill,
           state = CASE WHEN p_skill IS NULL THEN 'input_required' ELSE k.state END,
           lease_until = CASE WHEN p_skill IS NULL THEN NULL ELSE k.lease_until END
     WHERE k.id = p_id
    RETURNING * INTO task;
  END IF;
  RETURN NEXT;
END $$;

-- Takes a further message of a task that waits for one. With a skill, the message sets the task to work, at once or as
-- a waiting task (see accept_task). Without a skill, the task goes on waiting. The verdict is one of:
-- - new: the message is taken. A repeated statement of the same process gets this verdict again.
-- - known: the task has the same message already.
-- - conflict: the task has the same message with another content.
-- - absent: the credential has no such task.
-- - elsewhere: the task has another context.
-- - closed: the task takes no message, because it works or has ended.
-- - stale: the caller must prove its authority again.
CREATE FUNCTION gateway.continue_task(
  p_text json, p_digest bytea, p_revision integer, p_id text, p_installation text, p_credential text, p_message bytea,
  p_fingerprint bytea, p_grants bytea, p_context text, p_skill text, p_website text, p_owner text,
  p_lost_as text, p_lease interval, p_running integer, p_start boolean
) RETURNS TABLE (verdict text, retry_after integer, task gateway.task) LANGUAGE plpgsql AS $$
DECLARE
  moment timestamptz;
  turn bytea := p_message || p_fingerprint;
  same boolean;
  starts boolean;
BEGIN
  PERFORM gateway.lock_tasks(p_installation);
  moment := date_trunc('milliseconds', clock_timestamp());
  SELECT * INTO task FROM gateway.task k
   WHERE k.id = p_id AND k.credential_id = p_credential AND k.expires_at > moment FOR UPDATE;
  -- The authority is checked after both locks, because the statement may have waited for them.
  IF gateway.authority_lost(p_digest, p_revision) IS NOT NULL THEN
    verdict := 'stale';
    task := NULL;
    RETURN NEXT;
    RETURN;
  END IF;
  same := (task.message = p_message AND task.fingerprint = p_fingerprint) OR coalesce(turn = ANY (task.turns), false);
  verdict := CASE
    WHEN task.id IS NULL THEN 'absent'
    WHEN p_context IS NOT NULL AND p_context <> task.context_id THEN 'elsewhere'
    WHEN same AND p_skill IS NOT NULL AND task.owner = p_owner AND task.lease_until IS NOT NULL THEN 'new'
    WHEN same THEN 'known'
    WHEN task.message = p_message
      OR EXISTS (SELECT FROM unnest(task.turns) AS t (turn) WHERE substring(t.turn FROM 1 FOR 32) = p_message) THEN 'conflict'
    WHEN task.state <> 'input_required' THEN 'closed'
    ELSE 'new' END;
  IF verdict <> 'new' OR same THEN
    RETURN NEXT;
    RETURN;
  END IF;
  starts := p_start AND p_running > (
    SELECT count(*) FROM gateway.task k
     WHERE k.installation_id = p_installation AND k.expires_at > moment
       AND (k.state = 'working' OR k.state = 'submitted' AND k.lease_until > moment));
  UPDATE gateway.task k
     SET history = gateway.with_text(k.history, p_text), turns = (array_append(k.turns, turn))[coalesce(cardinality(k.turns), 0) - 18:],
         state_at = moment
   WHERE k.id = p_id
  RETURNING * INTO task;
  IF p_skill IS NOT NULL THEN
    UPDATE gateway.task k
       SET skill = p_skill, website_id = p_website, grants = p_grants, owner = p_owner, lost_as = p_lost_as,
           state = CASE WHEN starts THEN 'working' ELSE 'submitted' END, lease_until = moment + p_lease
     WHERE k.id = p_id
    RETURNING * INTO task;
  END IF;
  RETURN NEXT;
END $$;
