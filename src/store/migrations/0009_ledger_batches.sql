-- Commands of one operation on one website go into the ledger together: one statement, one transaction, one flush of the
-- WAL and one take of the website's counters for all of them (group commit). Each is decided on by itself.

-- Which attempt has made a row: whoever lost the reply to a statement, and sends it again, knows its own work by it.
ALTER TABLE gateway.operation ADD COLUMN attempt uuid;

DROP FUNCTION gateway.write_once;
DROP FUNCTION platform.add_note;

-- The platform's own writer of notes, for the commands that p_todo numbers; answers in that order.
CREATE FUNCTION platform.add_notes(
  p_tenant bigint, p_site bigint, p_todo integer[], p_ids text[], p_authors platform.operator[], p_commands jsonb[]
) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
  moment timestamptz := date_trunc('milliseconds', now());
  known boolean[];                                       -- whether the visitor has a conversation
  able integer[] := '{}';                                -- where an author is there as well
  note_id bigint;
  answers text[] := '{}';
  i integer;
BEGIN
  -- A look-up each: as a condition it became a join with all conversations of the website.
  known := ARRAY(SELECT (SELECT true FROM platform.conversation c WHERE c.tenant = p_tenant AND c.site = p_site
                            AND c.visitor_id = (p_commands[t.i] ->> 'visitor')::bigint LIMIT 1)
                   FROM unnest(p_todo) WITH ORDINALITY AS t (i, n) ORDER BY t.n);
  FOR n IN 1 .. cardinality(p_todo) LOOP
    IF known[n] AND (p_authors[p_todo[n]]).id IS NOT NULL THEN able := able || p_todo[n]; END IF;
  END LOOP;
  IF cardinality(able) > 0 THEN
    note_id := platform.reserve_ids(p_tenant, p_site, 'note', cardinality(able));
    INSERT INTO platform.note (tenant, site, id, external_id, visitor_id, operator_id, text, created_at)
    SELECT p_tenant, p_site, note_id + a.n, p_ids[a.i], (p_commands[a.i] ->> 'visitor')::bigint, (p_authors[a.i]).id,
           p_commands[a.i] ->> 'text', moment
      FROM unnest(able) WITH ORDINALITY AS a (i, n);
  END IF;
  FOR n IN 1 .. cardinality(p_todo) LOOP
    i := p_todo[n];
    IF known[n] IS NULL THEN
      answers := answers || '{"refused": "not_found"}'::text;
    ELSIF (p_authors[i]).id IS NULL THEN
      answers := answers || '{"refused": "enrollment_unavailable"}'::text;
    ELSE
      note_id := note_id + 1;
      answers := answers || json_build_object('done', json_build_object(
        'note_id', note_id, 'author', (p_authors[i]).name, 'created_at', moment::text))::text;
    END IF;
  END LOOP;
  RETURN answers;
END $$;

-- Whether the authority of each command is still what its statement was built for, at this moment, and who is its author.
CREATE FUNCTION gateway.standing_of(
  p_tenant bigint, p_site bigint, p_credentials text[], p_digests bytea[], p_revisions integer[], p_authored boolean,
  OUT holds boolean[], OUT authors platform.operator[]
) LANGUAGE plpgsql AS $$
BEGIN
  SELECT array_agg(coalesce((
           SELECT t.revoked_at IS NULL AND (t.expires_at IS NULL OR t.expires_at > clock_timestamp())
              AND c.revision = k.revision AND c.revoked_at IS NULL AND c.expires_at > clock_timestamp()
             FROM gateway.token t JOIN gateway.credential c ON c.id = t.credential_id
            WHERE t.digest = k.digest), false) ORDER BY k.n),
         CASE WHEN p_authored THEN array_agg((
           SELECT p FROM gateway.native_author a
             JOIN platform.operator p ON p.tenant = a.tenant AND p.site = a.site AND p.id = a.operator_id AND p.enabled
            WHERE a.credential_id = k.credential AND a.tenant = p_tenant AND a.site = p_site) ORDER BY k.n) END
    INTO holds, authors
    FROM unnest(p_credentials, p_digests, p_revisions) WITH ORDINALITY AS k (credential, digest, revision, n);
END $$;

-- Commands of one operation, each once. Without a lease: effects, journal entries and outcomes in one transaction, so that
-- a crash leaves all of it or nothing and no outcome is ever unknown. With one, the effect is another system's: commands
-- are reserved for whoever called, who has to settle them. p_seen: whether the caller may see what a command is about;
-- null where its authority was gone. Answers a list of {"state": …} in the order of the commands: new or settled (with the
-- outcome), reserved (with epoch and author), pending, unknown, conflict (other input or revision), forgotten (erased),
-- stale, or again (under the key of one before it, which has only now been decided on). Raises GW401, which undoes all of
-- it, where an authority went while the journal was waited for.
CREATE FUNCTION gateway.write_batch(
  p_tenant bigint, p_site bigint, p_operation text, p_authored boolean, p_receipts text[], p_lease interval,
  p_ids text[], p_attempts uuid[], p_credentials text[], p_digests bytea[], p_revisions integer[],
  p_fingerprints bytea[], p_seen boolean[], p_commands jsonb[]
) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  entries text[];
  standing record;
  later record;
  answers text[] := '{}';                                -- of the commands that todo numbers
  todo integer[];
  made integer[] := '{}';
  receipts text[] := '{}';
  i integer;
  n integer;
BEGIN
  -- One at a time under a key: whoever comes second waits here, and finds below what the first has done. In the order of
  -- the locks, so that no two batches wait for each other; effects and journal come after all of them.
  PERFORM pg_advisory_xact_lock(k.lock)
    FROM (SELECT hashtextextended(id, 0) AS lock FROM unnest(p_ids) AS id ORDER BY 1) k;
  standing := gateway.standing_of(p_tenant, p_site, p_credentials, p_digests, p_revisions, p_authored);
  SELECT array_agg(CASE
      WHEN k.seen IS NULL THEN '{"state": "stale"}'
      -- Before the key: what the caller may not see any more is not replayed to it either.
      WHEN NOT k.seen THEN '{"state": "new", "outcome": {"refused": "not_found"}}'
      WHEN NOT standing.holds[k.n] THEN '{"state": "stale"}'
      -- Of two under one key, the second is to find what the first does.
      WHEN (k.o).operation_id IS NULL THEN CASE WHEN array_position(p_ids, k.id) < k.n THEN '{"state": "again"}' END
      -- An author is asked of a replay too: who may not write now is not told what was written.
      WHEN p_authored AND (standing.authors[k.n]).id IS NULL THEN '{"state": "new", "outcome": {"refused": "enrollment_unavailable"}}'
      WHEN (k.o).fingerprint IS NULL OR (k.o).created_at <= now() - interval '24 hours' THEN '{"state": "forgotten"}'
      WHEN (k.o).fingerprint <> k.fingerprint THEN '{"state": "conflict"}'
      WHEN (k.o).status = 'acknowledged' THEN json_build_object(
        'state', CASE WHEN (k.o).attempt = k.attempt THEN 'new' ELSE 'settled' END, 'outcome', (k.o).outcome)::text
      WHEN (k.o).status <> 'pending' THEN '{"state": "unknown"}'
      WHEN (k.o).attempt = k.attempt AND (k.o).epoch = 1 THEN json_build_object(
        'state', 'reserved', 'epoch', 1, 'author', (standing.authors[k.n]).id::text)::text
      ELSE '{"state": "pending"}' END ORDER BY k.n)
    INTO entries
    FROM (SELECT u.*, (SELECT o FROM gateway.operation o WHERE o.operation_id = u.id) AS o
            FROM unnest(p_ids, p_attempts, p_fingerprints, p_seen) WITH ORDINALITY AS u (id, attempt, fingerprint, seen, n)
          OFFSET 0) k;
  todo := array_positions(entries, NULL);
  IF cardinality(todo) = 0 THEN RETURN ('[' || array_to_string(entries, ',') || ']')::json; END IF;

  IF p_lease IS NOT NULL THEN
    FOREACH i IN ARRAY todo LOOP
      IF (standing.authors[i]).id IS NULL THEN
        entries[i] := '{"state": "new", "outcome": {"refused": "enrollment_unavailable"}}';
      ELSE
        INSERT INTO gateway.operation (operation_id, credential_id, revision, tenant, site, operation, status, fingerprint,
                                       lease_until, attempt)
        VALUES (p_ids[i], p_credentials[i], p_revisions[i], p_tenant, p_site, p_operation, 'pending', p_fingerprints[i],
                now() + p_lease, p_attempts[i]);
        entries[i] := json_build_object('state', 'reserved', 'epoch', 1, 'author', (standing.authors[i]).id::text);
      END IF;
    END LOOP;
    RETURN ('[' || array_to_string(entries, ',') || ']')::json;
  END IF;

  IF p_operation = 'visitor_note_add' THEN
    answers := platform.add_notes(p_tenant, p_site, todo, p_ids, standing.authors, p_commands);
  ELSE
    -- Rows in the order of their ids, for the same reason as the locks.
    IF p_operation = 'conversation_disposition_set' THEN
      todo := ARRAY(SELECT t.i FROM unnest(todo) AS t (i) ORDER BY (p_commands[t.i] ->> 'conversation')::bigint, t.i);
    END IF;
    FOREACH i IN ARRAY todo LOOP
      answers := answers || CASE p_operation
        WHEN 'conversation_disposition_set' THEN platform.set_disposition(p_tenant, p_site, standing.authors[i], p_commands[i])
        WHEN 'ai_feature_execute' THEN platform.run_detection(p_tenant, p_site, p_commands[i])
        WHEN 'config_plan' THEN platform.plan_changes(p_tenant, p_site, p_commands[i])
      END::text;
    END LOOP;
  END IF;
  FOR n IN 1 .. cardinality(todo) LOOP
    entries[todo[n]] := '{"state": "new", "outcome": ' || answers[n] || '}';
    IF answers[n] NOT LIKE '{"refused"%' THEN made := made || n; END IF;
    IF answers[n] LIKE '{"done"%' THEN receipts := receipts || p_receipts; END IF;
  END LOOP;
  IF cardinality(made) > 0 THEN
    INSERT INTO gateway.operation (operation_id, credential_id, revision, tenant, site, operation, status, fingerprint,
                                   outcome, attempt)
    SELECT p_ids[todo[m.n]], p_credentials[todo[m.n]], p_revisions[todo[m.n]], p_tenant, p_site, p_operation, 'acknowledged',
           p_fingerprints[todo[m.n]], answers[m.n]::json, p_attempts[todo[m.n]]
      FROM unnest(made) AS m (n);
    -- Last, since the next write on the website waits for this row until the commit.
    IF cardinality(receipts) > 0 THEN PERFORM gateway.append_receipts(p_tenant, p_site, receipts); END IF;
    -- The journal's row may have been waited for. What remains is the moment between here and the commit.
    later := gateway.standing_of(p_tenant, p_site, p_credentials, p_digests, p_revisions, p_authored);
    FOREACH n IN ARRAY made LOOP
      IF NOT later.holds[todo[n]] OR (later.authors[todo[n]]).id IS DISTINCT FROM (standing.authors[todo[n]]).id THEN
        RAISE EXCEPTION 'stale authority' USING ERRCODE = 'GW401';
      END IF;
    END LOOP;
  END IF;
  RETURN ('[' || array_to_string(entries, ',') || ']')::json;
END $$;
DROP FUNCTION gateway.author_of;

-- Ends a command that this epoch works on; false where another has taken it over or ended it. Said twice it is done once,
-- and the second answer is that of the first. A refusal frees the key, but not one that somebody has heard who took the
-- command over: the replica that it was taken from may still perform it. p_attempt: of whoever has reserved it.
DROP FUNCTION gateway.settle_operation;
CREATE FUNCTION gateway.settle_operation(
  p_id text, p_epoch integer, p_attempt uuid, p_outcome json, p_receipts text[]
) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  o gateway.operation;
BEGIN
  IF p_outcome ->> 'refused' IS NOT NULL THEN
    IF p_epoch = 1 THEN
      DELETE FROM gateway.operation
       WHERE operation_id = p_id AND epoch = p_epoch AND attempt = p_attempt AND status = 'pending';
      -- Nobody else deletes it: where it is gone, or anew under another attempt, this one has done so before.
      RETURN FOUND OR NOT EXISTS (
        SELECT 1 FROM gateway.operation WHERE operation_id = p_id AND coalesce(attempt, p_attempt) = p_attempt);
    END IF;
    p_outcome := NULL;
  END IF;
  UPDATE gateway.operation
     SET status = CASE WHEN p_outcome IS NULL THEN 'outcome_unknown' ELSE 'acknowledged' END,
         -- Nothing comes back into a tombstone, however late it is known.
         outcome = CASE WHEN fingerprint IS NOT NULL THEN p_outcome END,
         -- Who looks after unknown outcomes asks again, less and less often.
         lease_until = CASE WHEN p_outcome IS NULL AND fingerprint IS NOT NULL
                            THEN now() + least(epoch, 60) * interval '10 seconds' END
   WHERE operation_id = p_id AND epoch = p_epoch AND status <> 'acknowledged'
  RETURNING * INTO o;
  IF NOT FOUND THEN
    -- Only who holds an epoch acknowledges under it.
    RETURN EXISTS (SELECT 1 FROM gateway.operation
                    WHERE operation_id = p_id AND epoch = p_epoch AND status = 'acknowledged');
  END IF;
  IF p_outcome ->> 'done' IS NOT NULL AND cardinality(p_receipts) > 0 THEN
    PERFORM gateway.append_receipts(o.tenant, o.site, p_receipts);
  END IF;
  RETURN true;
END $$;

-- Erases what has been kept for 24 hours; the row stays. Returns how many were erased.
CREATE OR REPLACE FUNCTION gateway.erase_outcomes(n integer) RETURNS integer LANGUAGE sql AS $$
  WITH erased AS (
    UPDATE gateway.operation o SET fingerprint = NULL, outcome = NULL, lease_until = NULL, attempt = NULL,
           status = CASE o.status WHEN 'pending' THEN 'outcome_unknown' ELSE o.status END
     WHERE o.operation_id IN (
       SELECT l.operation_id FROM gateway.operation l
        WHERE l.fingerprint IS NOT NULL AND l.created_at <= now() - interval '24 hours'
        ORDER BY l.created_at LIMIT n FOR UPDATE SKIP LOCKED)
    RETURNING 1)
  SELECT count(*)::integer FROM erased
$$;
