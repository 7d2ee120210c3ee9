-- The tasks of A2A (contract, A2A task states and Limits; decisions, section 20). One row a task, for 15 minutes or until
-- its sender's token or credential ends, and then deleted. Arguments may hold customer text and are not kept: the
-- process that accepted a task has them in memory and holds the task under a lease. A task whose lease lapses cannot be
-- taken over by another process, only ended; so its state is fence enough, and there is no epoch.
CREATE TABLE gateway.task (
  id text PRIMARY KEY CHECK (id ~ '^task_[a-f0-9]{32}$'),
  installation_id text NOT NULL,
  credential_id text NOT NULL,
  message bytea NOT NULL UNIQUE CHECK (length(message) = 32), -- HMAC of credential and messageId
  fingerprint bytea NOT NULL CHECK (length(fingerprint) = 32), -- HMAC of skill and arguments
  -- SHA-256 of what the sender might see and do: the artifact is for nobody who holds anything else.
  grants bytea NOT NULL CHECK (length(grants) = 32),
  context_id text NOT NULL CHECK (context_id ~ '^[ -~]{1,128}$'),
  skill text NOT NULL,
  website_id text,
  state text NOT NULL CHECK (state IN ('submitted', 'working', 'completed', 'failed', 'canceled')),
  state_at timestamptz NOT NULL,
  failure text,                                        -- a code, never a message
  artifact json CHECK (octet_length(artifact::text) <= 131072), -- json keeps the members' order, as REST gives it
  owner text NOT NULL,                                 -- the process that has the arguments
  -- The failure of a task whose process is lost: one that writes may have done so.
  lost_as text NOT NULL CHECK (lost_as IN ('interrupted', 'outcome_unknown')),
  lease_until timestamptz,                             -- null: ended
  created_at timestamptz NOT NULL,
  expires_at timestamptz NOT NULL,
  CHECK ((failure IS NOT NULL) = (state = 'failed')),
  CHECK ((artifact IS NOT NULL) = (state = 'completed')),
  CHECK ((lease_until IS NOT NULL) = (state IN ('submitted', 'working')))
);
CREATE INDEX task_installation ON gateway.task (installation_id, expires_at);
CREATE INDEX task_expiry ON gateway.task (expires_at);
CREATE INDEX task_lease ON gateway.task (lease_until) WHERE lease_until IS NOT NULL;

-- Whatever road a change comes by: an end is an end, and what runs is not put back into the line.
CREATE FUNCTION gateway.task_ended() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'task % is %', OLD.id, OLD.state;
END $$;
CREATE TRIGGER task_ended BEFORE UPDATE ON gateway.task FOR EACH ROW
  WHEN (OLD.lease_until IS NULL OR OLD.state = 'working' AND NEW.state = 'submitted')
  EXECUTE FUNCTION gateway.task_ended();

-- One at a time for an installation, over all replicas: what is counted under it stays so until the commit.
CREATE FUNCTION gateway.lock_tasks(p_installation text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_advisory_xact_lock(hashtextextended('task ' || p_installation, 0));
END $$;

-- Accepts a task, once for each message. Verdicts: new (also where this very id was accepted before), known (the same
-- message), conflict (the same message with other arguments), full (p_most unexpired ones; retry_after: seconds to the
-- next expiry) or stale (the authority has to be proved anew). It starts at once where p_start says that its process can
-- and no other task of the installation has to go first.
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
  -- A caller who waits hears of no result before end_task has committed, which is flushed, and with it all that was written
  -- before. A crash of the store in between loses a task without a result, and its message makes another.
  IF p_start THEN PERFORM set_config('synchronous_commit', 'off', true); END IF;
  PERFORM gateway.lock_tasks(p_installation);
  moment := date_trunc('milliseconds', clock_timestamp());
  SELECT least(moment + p_lifetime, t.expires_at, c.expires_at) INTO last
    FROM gateway.token t JOIN gateway.credential c ON c.id = t.credential_id
   WHERE t.digest = p_digest AND t.revoked_at IS NULL AND c.revision = p_revision AND c.revoked_at IS NULL;
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
  -- Who waits and is still looked after goes first.
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
  -- Accepted and started in one statement it has been submitted all the same; nobody could have seen it.
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

-- Starts waiting tasks of one process, at most p_seats, as far as the installation's places go: the oldest of all replicas
-- first, but for those whose replica has let them lapse.
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

-- Why a bearer's authority is not what a task was accepted under; null: it is. The rows are held until the commit: what
-- ends or changes the authority comes before the proof, or after all that was done on it.
CREATE FUNCTION gateway.authority_lost(p_digest bytea, p_revision integer) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  t gateway.token;
  c gateway.credential;
BEGIN
  -- The credential first, as what ends it does.
  SELECT k.* INTO c FROM gateway.credential k
   WHERE k.id = (SELECT o.credential_id FROM gateway.token o WHERE o.digest = p_digest) FOR SHARE;
  SELECT o.* INTO t FROM gateway.token o WHERE o.digest = p_digest FOR SHARE;
  RETURN CASE
    WHEN c.id IS NULL OR t.digest IS NULL OR c.revoked_at IS NOT NULL OR t.revoked_at IS NOT NULL THEN 'token_revoked'
    WHEN least(c.expires_at, t.expires_at) <= clock_timestamp() THEN 'token_expired'
    WHEN c.revision <> p_revision THEN 'authority_changed' END;
END $$;

-- Publishes the artifact of a task, or ends it with a failure's code, under the authority of this moment. Returns the task
-- as it is then: where it had ended before, or has expired, nothing is changed.
CREATE FUNCTION gateway.end_task(p_id text, p_digest bytea, p_revision integer, p_artifact json, p_failure text)
RETURNS gateway.task LANGUAGE plpgsql AS $$
DECLARE
  task gateway.task;
  reason text;
BEGIN
  SELECT * INTO task FROM gateway.task k WHERE k.id = p_id FOR UPDATE;
  IF task.lease_until IS NULL OR task.expires_at <= clock_timestamp() THEN RETURN task; END IF;
  -- After the row, which may have been waited for.
  reason := coalesce(gateway.authority_lost(p_digest, p_revision), p_failure);
  UPDATE gateway.task k
     SET state = CASE WHEN reason IS NULL THEN 'completed' ELSE 'failed' END, failure = reason,
         artifact = CASE WHEN reason IS NULL THEN p_artifact END,
         state_at = date_trunc('milliseconds', clock_timestamp()), lease_until = NULL
   WHERE k.id = p_id AND k.state IN ('submitted', 'working')
  RETURNING * INTO task;
  RETURN task;
END $$;

-- Cancels a task that has not ended, under an authority that holds; task: null where there is none. Wins only if it commits
-- before what publishes the result.
CREATE FUNCTION gateway.cancel_task(p_id text, p_credential text, p_digest bytea, p_revision integer)
RETURNS TABLE (proved boolean, canceled boolean, task gateway.task) LANGUAGE plpgsql AS $$
BEGIN
  proved := gateway.authority_lost(p_digest, p_revision) IS NULL;
  IF NOT proved THEN
    RETURN NEXT;
    RETURN;
  END IF;
  UPDATE gateway.task k SET state = 'canceled', state_at = date_trunc('milliseconds', clock_timestamp()), lease_until = NULL
   WHERE k.id = p_id AND k.credential_id = p_credential AND k.state IN ('submitted', 'working')
     AND k.expires_at > clock_timestamp()
  RETURNING * INTO task;
  canceled := FOUND;
  IF NOT canceled THEN
    SELECT * INTO task FROM gateway.task k
     WHERE k.id = p_id AND k.credential_id = p_credential AND k.expires_at > clock_timestamp();
  END IF;
  RETURN NEXT;
END $$;

-- Ends what its process no longer holds. Returns how many.
CREATE FUNCTION gateway.interrupt_tasks(n integer) RETURNS integer LANGUAGE sql AS $$
  WITH ended AS (
    UPDATE gateway.task k
       SET state = 'failed', failure = k.lost_as, state_at = date_trunc('milliseconds', clock_timestamp()), lease_until = NULL
     WHERE k.state IN ('submitted', 'working') AND k.id IN (
       SELECT l.id FROM gateway.task l WHERE l.lease_until < now() ORDER BY l.lease_until LIMIT n FOR UPDATE SKIP LOCKED)
    RETURNING 1)
  SELECT count(*)::integer FROM ended
$$;

-- Deletes what has expired. Returns how many.
CREATE FUNCTION gateway.delete_tasks(n integer) RETURNS integer LANGUAGE sql AS $$
  WITH deleted AS (
    DELETE FROM gateway.task k WHERE k.id IN (
      SELECT l.id FROM gateway.task l WHERE l.expires_at <= now() ORDER BY l.expires_at LIMIT n FOR UPDATE SKIP LOCKED)
    RETURNING 1)
  SELECT count(*)::integer FROM deleted
$$;
