-- Tasks that are accepted, or end, at about the same time go in together: one statement, one transaction and one flush of
-- the WAL for all of them (group commit). A batch waits for nobody: whose rows or lock somebody holds, and who is not
-- simply to be let through, is left to the statement for one task, which knows what to say of it. So no batch has part in
-- a deadlock, and none of it is held up by another's rows. Both functions look up by keys, whatever the tables held when
-- they were planned.

-- Accepts those tasks that are new, as accept_task does; of the same message, the first. Returns them, and them alone.
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
  -- As in accept_task; where one of them may be told of before it has ended, all are flushed.
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
                   -- A look-up each: as conditions of a join they made it scan all tasks.
                   (SELECT least(moment + p_lifetime, t.expires_at, k.expires_at)
                      FROM gateway.token t JOIN gateway.credential k ON k.id = t.credential_id
                     WHERE t.digest = u.digest AND t.revoked_at IS NULL AND k.revision = u.revision AND k.revoked_at IS NULL) AS last,
                   (SELECT o.id FROM gateway.task o WHERE o.message = u.message) AS other
              FROM unnest(p_ids, p_digests, p_revisions, p_installations, p_credentials, p_messages, p_fingerprints, p_grants,
                          p_contexts, p_skills, p_websites, p_lost_as, p_starts) WITH ORDINALITY
                     AS u (id, digest, revision, installation, credential, message, fingerprint, grants, context, skill,
                           website, lost_as, start, n)
             WHERE u.installation = ANY (free) AND array_position(p_messages, u.message) = u.n) g
     -- IS TRUE: without it, a plan made while there was no task looked through all unexpired ones.
     CROSS JOIN LATERAL (
       SELECT count(*) AS held,
              count(*) FILTER (WHERE o.state = 'working' OR o.state = 'submitted' AND o.lease_until > moment) AS ahead
         FROM gateway.task o WHERE o.installation_id = g.installation AND (o.expires_at > moment) IS TRUE) c
     -- Those before it in the batch count as if all of them were let through.
     WHERE g.last > moment AND g.other IS NULL AND c.held + g.nth <= p_most
    RETURNING *;
END $$;

-- Ends those tasks that have not ended and whose senders' authority holds, as end_task does. Returns them, and them alone.
CREATE FUNCTION gateway.end_tasks(
  p_ids text[], p_digests bytea[], p_revisions integer[], p_artifacts json, p_failures text[]
) RETURNS TABLE (id text, context_id text, skill text, website_id text, state text, state_at timestamptz,
                 expires_at timestamptz, failure text, grants bytea)
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS $$
#variable_conflict use_column
BEGIN
  -- Locked, a row is read as it is at that moment, and stays so until the commit.
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
