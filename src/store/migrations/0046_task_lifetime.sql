-- As in 0011 and 0027. A task lives for 15 minutes, or until its credential ends, as the contract says. Before, it also
-- ended with the token of its sender. So the result of a client whose token had seconds left was gone before the client could read it
-- with a new token. The result is published under a valid token, and only the same grants read it.
CREATE OR REPLACE FUNCTION gateway.accept_task(
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

CREATE OR REPLACE FUNCTION gateway.accept_tasks(
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
