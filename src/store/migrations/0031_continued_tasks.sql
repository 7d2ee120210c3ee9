-- As in 0027. In addition, each message sets the expiry of its task anew: 15 minutes after the first message, or
-- earlier if the sender's token or credential ends earlier. The expiry was that of the first sender's token. So a result
-- could outlive the token under which it was made, and a task could end with a token that had no part in its work.
CREATE OR REPLACE FUNCTION gateway.continue_task(
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
         state_at = moment,
         expires_at = (SELECT least(k.created_at + interval '15 minutes', t.expires_at, c.expires_at)
                         FROM gateway.token t JOIN gateway.credential c ON c.id = t.credential_id
                        WHERE t.digest = p_digest)
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
