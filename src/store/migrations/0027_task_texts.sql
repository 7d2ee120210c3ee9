-- Texts of orchestrators (docs/decisions/a2a.md). A task whose messages name no skill waits for one in the state
-- input_required. Such a task has no process and no lease, so it counts among the unexpired tasks, never among the
-- running ones.

ALTER TABLE gateway.task
  ALTER COLUMN skill DROP NOT NULL,
  -- The newest texts of the task's messages, oldest first: [{"id": messageId, "text": text}]. Never data.
  ADD COLUMN history json,
  -- The newest messages after the first one, each as its HMAC with the fingerprint behind it. A repeated message is
  -- found here.
  ADD COLUMN turns bytea[];
ALTER TABLE gateway.task DROP CONSTRAINT task_state_check;
ALTER TABLE gateway.task ADD CONSTRAINT task_state_check
  CHECK (state IN ('submitted', 'working', 'input_required', 'completed', 'failed', 'canceled'));
ALTER TABLE gateway.task ADD CONSTRAINT task_skill_check
  CHECK (skill IS NOT NULL OR state IN ('input_required', 'canceled'));

DROP TRIGGER task_ended ON gateway.task;
CREATE TRIGGER task_ended BEFORE UPDATE ON gateway.task FOR EACH ROW
  WHEN (OLD.lease_until IS NULL AND OLD.state <> 'input_required'
        OR OLD.state = 'working' AND NEW.state IN ('submitted', 'input_required'))
  EXECUTE FUNCTION gateway.task_ended();

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

-- As in 0011. A task that waits for input can be canceled, too.
CREATE OR REPLACE FUNCTION gateway.cancel_task(p_id text, p_credential text, p_digest bytea, p_revision integer)
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
