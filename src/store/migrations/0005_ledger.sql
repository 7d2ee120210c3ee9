-- The ledger of reviewed writes (contract, Common rules 5 and 6; decisions, section 10). One row a command, found by the
-- HMAC of credential, operation and Idempotency-Key. Its outcome is kept 24 hours; then fingerprint and outcome are
-- erased and the row stays for ever as a tombstone without content, so that the key can never cause a second effect.

-- The HMAC key lies in the store and is never exchanged: with another key a retry would not find its first attempt.
CREATE TABLE gateway.ledger_key (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  key bytea NOT NULL CHECK (length(key) = 32)
);
INSERT INTO gateway.ledger_key (key)
VALUES (decode(replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', ''), 'hex'));

ALTER TABLE gateway.operation
  ADD COLUMN fingerprint bytea CHECK (length(fingerprint) = 32), -- SHA-256 of input and revisions; null: erased
  ADD COLUMN outcome json,                                       -- null: pending, unknown or erased
  ADD COLUMN epoch integer NOT NULL DEFAULT 1,                   -- raised by whoever takes a lapsed command over
  ADD COLUMN lease_until timestamptz;                            -- null: nobody works on it
CREATE INDEX operation_kept ON gateway.operation (created_at) WHERE fingerprint IS NOT NULL;
CREATE INDEX operation_unsettled ON gateway.operation (lease_until) WHERE status <> 'acknowledged' AND fingerprint IS NOT NULL;

-- Tombstones outlive their credential; and the reference would make every write share-lock its one row.
ALTER TABLE gateway.operation DROP CONSTRAINT operation_credential_id_fkey;

-- The same as before, with plans that are kept: a function in SQL is planned at each call (52 µs, now 26 µs).
CREATE OR REPLACE FUNCTION gateway.append_receipts(p_tenant bigint, p_site bigint, event_types text[]) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  n integer := cardinality(event_types);
  last bigint;
  moments jsonb := '{}';
  event text;
BEGIN
  FOREACH event IN ARRAY event_types LOOP
    moments := moments || jsonb_build_object(split_part(event, '.', 1), floor(extract(epoch FROM now()) * 1000));
  END LOOP;
  INSERT INTO gateway.journal_head AS h (tenant, site, position, last_at) VALUES (p_tenant, p_site, n, moments)
  ON CONFLICT (tenant, site) DO UPDATE SET position = h.position + n, last_at = h.last_at || moments
  RETURNING position INTO last;
  INSERT INTO gateway.journal (tenant, site, position, event_type, occurred_at)
  SELECT p_tenant, p_site, last - n + e.i, e.event_type, now() FROM unnest(event_types) WITH ORDINALITY AS e (event_type, i);
END $$;
CREATE OR REPLACE FUNCTION platform.reserve_ids(p_tenant bigint, p_site bigint, p_kind text, n bigint) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
  before bigint;
BEGIN
  INSERT INTO platform.native_id AS c (tenant, site, kind, last) VALUES (p_tenant, p_site, p_kind, n)
  ON CONFLICT (tenant, site, kind) DO UPDATE SET last = c.last + excluded.last
  RETURNING c.last - n INTO before;
  RETURN before;
END $$;

-- Ends a command that this epoch works on; false where another has taken it over or ended it. A refusal frees the key, but
-- not one that somebody has heard who took the command over: the replica that it was taken from may still perform it.
CREATE FUNCTION gateway.settle_operation(p_id text, p_epoch integer, p_outcome json, p_receipts text[]) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
  o gateway.operation;
BEGIN
  IF p_outcome ->> 'refused' IS NOT NULL THEN
    IF p_epoch = 1 THEN
      DELETE FROM gateway.operation WHERE operation_id = p_id AND epoch = p_epoch AND status = 'pending';
      RETURN FOUND;
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
  IF NOT FOUND THEN RETURN false; END IF;
  IF p_outcome ->> 'done' IS NOT NULL AND cardinality(p_receipts) > 0 THEN
    PERFORM gateway.append_receipts(o.tenant, o.site, p_receipts);
  END IF;
  RETURN true;
END $$;

-- The enabled operator in whose name a credential writes on a website.
CREATE FUNCTION gateway.author_of(p_credential text, p_tenant bigint, p_site bigint) RETURNS platform.operator
LANGUAGE plpgsql STABLE AS $$
DECLARE
  author platform.operator;
BEGIN
  SELECT p.* INTO author FROM gateway.native_author n
    JOIN platform.operator p ON p.tenant = n.tenant AND p.site = n.site AND p.id = n.operator_id AND p.enabled
   WHERE n.credential_id = p_credential AND n.tenant = p_tenant AND n.site = p_site;
  RETURN author;
END $$;

-- The platform's own writer: one function an operation, each answering {"done": …}, {"rejected": code} or
-- {"refused": code}. They run inside gateway.write_once, so that effect, journal entry and outcome commit together.
CREATE FUNCTION platform.add_note(p_tenant bigint, p_site bigint, p_author platform.operator, p_id text, p_command jsonb)
RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  note platform.note;
BEGIN
  IF NOT EXISTS (SELECT 1 FROM platform.conversation c WHERE c.tenant = p_tenant AND c.site = p_site
                  AND c.visitor_id = (p_command ->> 'visitor')::bigint) THEN
    RETURN '{"refused": "not_found"}';
  END IF;
  IF p_author.id IS NULL THEN RETURN '{"refused": "enrollment_unavailable"}'; END IF;
  INSERT INTO platform.note (tenant, site, id, external_id, visitor_id, operator_id, text, created_at)
  VALUES (p_tenant, p_site, platform.reserve_ids(p_tenant, p_site, 'note', 1) + 1, p_id,
          (p_command ->> 'visitor')::bigint, p_author.id, p_command ->> 'text', date_trunc('milliseconds', now()))
  RETURNING * INTO note;
  RETURN json_build_object('done', json_build_object(
    'note_id', note.id, 'author', p_author.name, 'created_at', note.created_at::text));
END $$;

CREATE FUNCTION platform.set_disposition(p_tenant bigint, p_site bigint, p_author platform.operator, p_command jsonb)
RETURNS json LANGUAGE plpgsql AS $$
BEGIN
  IF p_author.id IS NULL THEN RETURN '{"refused": "enrollment_unavailable"}'; END IF;
  IF EXISTS (SELECT 1 FROM platform.website w WHERE w.tenant = p_tenant AND w.site = p_site AND w.crm_integrated)
     OR NOT EXISTS (SELECT 1 FROM platform.disposition d WHERE d.tenant = p_tenant AND d.site = p_site
                     AND d.value = p_command ->> 'disposition' AND d.enabled) THEN
    RETURN '{"rejected": "operation_conflict"}';
  END IF;
  UPDATE platform.conversation c
     SET disposition = p_command ->> 'disposition', updated_at = greatest(c.updated_at, date_trunc('milliseconds', now()))
   WHERE c.tenant = p_tenant AND c.site = p_site AND c.id = (p_command ->> 'conversation')::bigint;
  IF NOT FOUND THEN RETURN '{"refused": "not_found"}'; END IF;
  RETURN '{"done": {}}';
END $$;

CREATE FUNCTION platform.run_detection(p_tenant bigint, p_site bigint, p_command jsonb) RETURNS json
LANGUAGE plpgsql AS $$
DECLARE
  a platform.ai_feature;
BEGIN
  SELECT * INTO a FROM platform.ai_feature f
   WHERE f.tenant = p_tenant AND f.site = p_site AND f.id = (p_command ->> 'feature')::bigint;
  IF a.active_version IS NULL THEN RETURN '{"refused": "not_found"}'; END IF;
  IF a.type <> 'language_detection' THEN RETURN '{"refused": "adapter_not_available"}'; END IF;
  IF NOT a.enabled OR a.active_version <> (p_command ->> 'expected_version')::integer THEN
    RETURN '{"rejected": "operation_conflict"}';
  END IF;
  RETURN json_build_object('done', json_build_object('version', a.active_version, 'language', p_command ->> 'language'));
END $$;

-- What a change would do. Members that would not change are left out.
CREATE FUNCTION platform.plan_changes(p_tenant bigint, p_site bigint, p_command jsonb) RETURNS json
LANGUAGE plpgsql AS $$
DECLARE
  a platform.ai_feature;
  changes jsonb := p_command -> 'changes';
BEGIN
  SELECT * INTO a FROM platform.ai_feature f
   WHERE f.tenant = p_tenant AND f.site = p_site AND f.id = (p_command ->> 'feature')::bigint;
  IF a.active_version IS NULL THEN RETURN '{"refused": "not_found"}'; END IF;
  IF a.active_version <> (p_command ->> 'expected_version')::integer THEN
    RETURN '{"rejected": "operation_conflict"}';
  END IF;
  RETURN json_build_object('done', json_build_object('version', a.active_version, 'changes', (
    SELECT coalesce(json_agg(json_build_object('field', f.field, 'from', f.before, 'to', changes -> f.field) ORDER BY f.n), '[]')
      FROM (VALUES (1, 'name', to_jsonb(a.name)), (2, 'enabled', to_jsonb(a.enabled))) AS f (n, field, before)
     WHERE changes ? f.field AND changes -> f.field <> f.before)));
END $$;

-- Whether a bearer's authority is still what a statement was built for, at this moment: store/guard.ts asks the same at the
-- snapshot of the statement, which a wait for a lock makes old.
CREATE FUNCTION gateway.authority_holds(p_digest bytea, p_revision integer) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  RETURN EXISTS (
    SELECT 1 FROM gateway.token t JOIN gateway.credential c ON c.id = t.credential_id
     WHERE t.digest = p_digest AND t.revoked_at IS NULL AND (t.expires_at IS NULL OR t.expires_at > clock_timestamp())
       AND c.revision = p_revision AND c.revoked_at IS NULL AND c.expires_at > clock_timestamp());
END $$;

-- One command, once. Without a lease: effect, journal entry and outcome in one transaction, so that a crash leaves all of
-- it or nothing and no outcome is ever unknown. With one, the effect is another system's: the command is reserved for
-- whoever called, who has to settle it. p_found: whether the caller may see what the command is about. Answers
-- {"state": …}: new or settled (with the outcome), reserved (with epoch and author), pending, unknown, conflict (other
-- input or revision) or forgotten (erased). Raises GW401, which undoes all of it, where the authority went meanwhile.
CREATE FUNCTION gateway.write_once(
  p_digest bytea, p_id text, p_credential text, p_revision integer, p_tenant bigint, p_site bigint, p_operation text,
  p_fingerprint bytea, p_found boolean, p_command jsonb, p_receipts text[], p_lease interval
) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  o gateway.operation;
  author platform.operator;
  answer json;
BEGIN
  -- Before the key: what the caller may not see any more is not replayed to it either.
  IF NOT p_found THEN RETURN '{"state": "new", "outcome": {"refused": "not_found"}}'; END IF;
  -- One at a time under a key: whoever comes second waits here, and finds below what the first has done.
  PERFORM pg_advisory_xact_lock(hashtextextended(p_id, 0));
  IF NOT gateway.authority_holds(p_digest, p_revision) THEN RAISE EXCEPTION 'stale authority' USING ERRCODE = 'GW401'; END IF;
  IF p_operation IN ('visitor_note_add', 'conversation_disposition_set') THEN
    author := gateway.author_of(p_credential, p_tenant, p_site);
  END IF;
  SELECT * INTO o FROM gateway.operation WHERE operation_id = p_id;
  IF FOUND THEN
    -- An author is asked of a replay too: who may not write now is not told what was written.
    IF p_operation IN ('visitor_note_add', 'conversation_disposition_set') AND author.id IS NULL THEN
      RETURN '{"state": "new", "outcome": {"refused": "enrollment_unavailable"}}';
    END IF;
    RETURN CASE
      WHEN o.fingerprint IS NULL OR o.created_at <= now() - interval '24 hours' THEN '{"state": "forgotten"}'
      WHEN o.fingerprint <> p_fingerprint THEN '{"state": "conflict"}'
      WHEN o.status = 'acknowledged' THEN json_build_object('state', 'settled', 'outcome', o.outcome)
      WHEN o.status = 'pending' THEN '{"state": "pending"}'
      ELSE '{"state": "unknown"}' END;
  END IF;
  IF p_lease IS NOT NULL THEN
    IF author.id IS NULL THEN RETURN '{"state": "new", "outcome": {"refused": "enrollment_unavailable"}}'; END IF;
    INSERT INTO gateway.operation
      (operation_id, credential_id, revision, tenant, site, operation, status, fingerprint, lease_until)
    VALUES (p_id, p_credential, p_revision, p_tenant, p_site, p_operation, 'pending', p_fingerprint, now() + p_lease);
    RETURN json_build_object('state', 'reserved', 'epoch', 1, 'author', author.id::text);
  END IF;
  answer := CASE p_operation
    WHEN 'visitor_note_add' THEN platform.add_note(p_tenant, p_site, author, p_id, p_command)
    WHEN 'conversation_disposition_set' THEN platform.set_disposition(p_tenant, p_site, author, p_command)
    WHEN 'ai_feature_execute' THEN platform.run_detection(p_tenant, p_site, p_command)
    WHEN 'config_plan' THEN platform.plan_changes(p_tenant, p_site, p_command)
  END;
  IF answer ->> 'refused' IS NULL THEN
    INSERT INTO gateway.operation
      (operation_id, credential_id, revision, tenant, site, operation, status, fingerprint, outcome)
    VALUES (p_id, p_credential, p_revision, p_tenant, p_site, p_operation, 'acknowledged', p_fingerprint, answer);
    -- Last, since the next write on the website waits for this row until the commit.
    IF answer ->> 'done' IS NOT NULL AND cardinality(p_receipts) > 0 THEN
      PERFORM gateway.append_receipts(p_tenant, p_site, p_receipts);
    END IF;
    -- The journal's row may have been waited for. What remains is the moment between here and the commit.
    IF NOT gateway.authority_holds(p_digest, p_revision)
       OR (gateway.author_of(p_credential, p_tenant, p_site)).id IS DISTINCT FROM author.id AND author.id IS NOT NULL THEN
      RAISE EXCEPTION 'stale authority' USING ERRCODE = 'GW401';
    END IF;
  END IF;
  RETURN json_build_object('state', 'new', 'outcome', answer);
END $$;

-- Commands of a remote writer whose lease has lapsed, or whose outcome is to be asked for again, taken over: only the new
-- epoch can still settle them.
CREATE FUNCTION gateway.take_lapsed(p_lease interval, n integer)
RETURNS TABLE (operation_id text, epoch integer, tenant bigint, site bigint, operation text) LANGUAGE sql AS $$
  UPDATE gateway.operation o SET epoch = o.epoch + 1, lease_until = now() + p_lease
   WHERE o.operation_id IN (
     SELECT l.operation_id FROM gateway.operation l
      WHERE l.status <> 'acknowledged' AND l.fingerprint IS NOT NULL AND l.lease_until < now()
      ORDER BY l.lease_until LIMIT n FOR UPDATE SKIP LOCKED)
  RETURNING o.operation_id, o.epoch, o.tenant, o.site, o.operation
$$;

-- Erases what has been kept for 24 hours; the row stays. Returns how many were erased.
CREATE FUNCTION gateway.erase_outcomes(n integer) RETURNS integer LANGUAGE sql AS $$
  WITH erased AS (
    UPDATE gateway.operation o SET fingerprint = NULL, outcome = NULL, lease_until = NULL,
           status = CASE o.status WHEN 'pending' THEN 'outcome_unknown' ELSE o.status END
     WHERE o.operation_id IN (
       SELECT l.operation_id FROM gateway.operation l
        WHERE l.fingerprint IS NOT NULL AND l.created_at <= now() - interval '24 hours'
        ORDER BY l.created_at LIMIT n FOR UPDATE SKIP LOCKED)
    RETURNING 1)
  SELECT count(*)::integer FROM erased
$$;
