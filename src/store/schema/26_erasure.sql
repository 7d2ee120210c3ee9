-- The erasure of people (docs/erasure.md). An erasure runs in many short transactions. Each transaction keeps what it has
-- done, so a killed erasure continues.

-- The key of the digests below, encrypted with the operator's keys (src/auth/keys.ts). No row: nobody was ever erased.
CREATE TABLE gateway.suppression_key (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  sealed text NOT NULL
);

-- The certificates. `subject` is the public id of the person. Rows have no content and no reference to the organization, so
-- they stay when the organization is deleted.
CREATE TABLE gateway.erasure (
  id text PRIMARY KEY CHECK (id ~ '^era_[a-f0-9]{32}$'),
  tenant bigint NOT NULL, site bigint NOT NULL, native bigint NOT NULL,
  organization_id text NOT NULL,
  kind text NOT NULL CHECK (kind IN ('contact', 'visitor')),
  subject text NOT NULL,
  subject_digest text NOT NULL,
  reason text NOT NULL CHECK (length(reason) BETWEEN 1 AND 240),
  counts jsonb NOT NULL DEFAULT '{}',
  created_at timestamptz NOT NULL DEFAULT now(),
  finished_at timestamptz,                             -- null: the erasure has not ended
  visitors bigint[] NOT NULL DEFAULT '{}'              -- whom the person was, also if an import drops the link meanwhile
);
CREATE UNIQUE INDEX erasure_unfinished ON gateway.erasure (tenant, subject) WHERE finished_at IS NULL;

-- What imports and sources must not bring back: keyed digests of external ids, e-mail addresses and telephone numbers. A
-- record that was left out because of an entry gets entries, too, so that the records that depend on it are left out.
CREATE TABLE gateway.suppression (
  tenant bigint NOT NULL REFERENCES platform.organization ON DELETE CASCADE,
  digest text COLLATE "C" NOT NULL,
  PRIMARY KEY (tenant, digest)
);

-- The conversations that an erasure still has to clear: whether they are shells, and up to which message they are cleared.
CREATE TABLE gateway.erasure_work (
  erasure_id text NOT NULL REFERENCES gateway.erasure ON DELETE CASCADE,
  tenant bigint NOT NULL, site bigint NOT NULL, conversation_id bigint NOT NULL,
  shell boolean NOT NULL DEFAULT false,
  done_to bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (erasure_id, conversation_id)
);

-- Finds what a visitor wrote in conversations of others.
SELECT gateway.want_index('platform.message', 'message_visitor', '(tenant, site, author_id) WHERE author_type = ''visitor''');
UPDATE gateway.wanted_index SET searched = false WHERE name = 'message_visitor';

CREATE FUNCTION gateway.import_suppressed(p_slot integer, p_type text, p_step text, n bigint) RETURNS void LANGUAGE sql AS $$
  INSERT INTO gateway.import_tally AS t (slot, type, step, suppressed) SELECT p_slot, p_type, p_step, n WHERE n > 0
  ON CONFLICT (slot, type, step) DO UPDATE SET suppressed = t.suppressed + excluded.suppressed
$$;
CREATE FUNCTION gateway.page_suppressed(n bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM set_config('gateway.page_suppressed', (coalesce(nullif(current_setting('gateway.page_suppressed', true), ''), '0')::bigint + n)::text, true);
END $$;

-- Marks a new run as one whose records have digests. Returns false if the records must have digests and have none.
CREATE FUNCTION gateway.import_checked(p_slot integer, p_epoch bigint, p_checked boolean) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  UPDATE gateway.import_run SET checked = p_checked
   WHERE slot = p_slot AND epoch = p_epoch AND (p_checked OR NOT EXISTS (SELECT FROM gateway.suppression_key));
  RETURN FOUND;
END $$;

-- Like gateway.source_page of 16_sources.sql, for rows with digests. GW005: somebody was erased since the source was
-- opened, and the rows have no digests.
CREATE FUNCTION gateway.source_checked_page(p_source text, p_epoch bigint, p_position jsonb, p_rows json, p_origins text[],
  p_refused jsonb, p_steps text[], p_checked boolean) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  outcome jsonb;
BEGIN
  PERFORM gateway.source_fence(p_source, p_epoch);
  IF NOT p_checked AND EXISTS (SELECT FROM gateway.suppression_key) AND EXISTS (
    SELECT FROM json_to_recordset(p_rows) AS r (type text)
     WHERE r.type IN ('contact', 'visitor', 'conversation', 'message', 'file', 'note', 'ai_result')) THEN
    RAISE EXCEPTION 'an erasure has begun' USING ERRCODE = 'GW005';
  END IF;
  PERFORM set_config('gateway.page_suppressed', '', true);
  -- The first step gives the staged rows their digests. source_page does not know this column.
  outcome := gateway.source_page(p_source, p_epoch, p_position, p_rows, p_origins, p_refused,
    CASE WHEN p_checked THEN ARRAY[format('UPDATE pg_temp.page_stage s SET digests = r.digests
      FROM json_to_recordset(%L::json) AS r (type text, seq bigint, digests text[]) WHERE s.type = r.type AND s.seq = r.seq',
      (SELECT coalesce(json_agg(json_build_object('type', r.type, 'seq', r.seq, 'digests', r.digests)), '[]')
         FROM json_to_recordset(p_rows) AS r (type text, seq bigint, digests json) WHERE r.digests IS NOT NULL))] ELSE '{}' END || p_steps);
  outcome := outcome || jsonb_build_object('suppressed',
    coalesce(nullif(current_setting('gateway.page_suppressed', true), ''), '0')::bigint);
  UPDATE gateway.source SET suppressed = suppressed + (outcome->>'suppressed')::bigint
   WHERE id = p_source AND (outcome->>'suppressed')::bigint > 0;
  RETURN outcome;
END $$;

-- Removes the words that only these texts are known to hold, like platform.forget of 23_spellings.sql, but looks for no
-- other text with them. That search took 8 s for 1,000 messages (27 November 2026). The next text with such a word brings
-- the word back. The arrays have equal length.
CREATE FUNCTION platform.unlearn(p_tenant bigint, p_site bigint, p_kinds text[], p_ids bigint[], p_texts text[]) RETURNS void
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
BEGIN
  -- Each row is looked up by its key. A join could read all words of all websites.
  DELETE FROM platform.spelling d WHERE d.tenant = p_tenant AND d.site = p_site AND d.ctid = ANY (ARRAY(
    SELECT (SELECT s.ctid FROM platform.spelling s WHERE s.tenant = p_tenant AND s.site = p_site AND s.kind = w.kind
               AND s.key = k.key AND s.word = w.word AND s.id = w.id)
      FROM (SELECT r.kind, r.id, w.word FROM unnest(p_kinds, p_ids, p_texts) AS r (kind, id, text)
             CROSS JOIN LATERAL unnest(platform.spelled_words(r.text)) AS w (word)
             WHERE (SELECT true FROM platform.spelling o WHERE o.tenant = p_tenant AND o.site = p_site AND o.kind = r.kind
                       AND o.key = w.word AND o.word = w.word AND o.id = r.id) OFFSET 0) w
     -- The keys of platform.spelling_keys. The call of that function takes 30 µs for a word.
     CROSS JOIN LATERAL (SELECT CASE i WHEN 0 THEN w.word ELSE left(w.word, i - 1) || substr(w.word, i + 1) END AS key
                           FROM generate_series(0, length(w.word)) AS i) k));
END $$;

-- Adds numbers to the counts of an erasure, and locks its row until the transaction ends. So two commands that erase one
-- person take turns.
CREATE FUNCTION gateway.erasure_count(p_erasure text, p_counts jsonb) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  UPDATE gateway.erasure e
     SET counts = e.counts || (SELECT coalesce(jsonb_object_agg(c.key, coalesce((e.counts->>c.key)::bigint, 0) + c.value::bigint), '{}')
                                 FROM jsonb_each_text(p_counts) AS c WHERE c.value::bigint > 0)
   WHERE e.id = p_erasure;
END $$;

-- The visitors of the person: of a contact all that are linked to it.
CREATE FUNCTION gateway.erased_visitors(p_kind text, p_tenant bigint, p_site bigint, p_native bigint) RETURNS bigint[] LANGUAGE sql STABLE AS $$
  SELECT CASE p_kind WHEN 'visitor' THEN ARRAY[p_native]
    ELSE ARRAY(SELECT l.visitor_id FROM platform.visitor_contact l
                WHERE l.tenant = p_tenant AND l.site = p_site AND l.contact_id = p_native ORDER BY 1) END
$$;

-- Notes the person's visitors and conversations: those of the visitors, and those of the contact that have no visitor. What
-- was noted stays noted, because an import can drop the links before the erasure comes to them.
CREATE FUNCTION gateway.erasure_gather(p_erasure text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  e gateway.erasure;
BEGIN
  UPDATE gateway.erasure x
     SET visitors = ARRAY(SELECT unnest(x.visitors) UNION SELECT unnest(gateway.erased_visitors(x.kind, x.tenant, x.site, x.native)))
   WHERE x.id = p_erasure RETURNING * INTO STRICT e;
  INSERT INTO gateway.erasure_work (erasure_id, tenant, site, conversation_id)
  SELECT p_erasure, e.tenant, e.site, c.id FROM platform.conversation c
   WHERE c.tenant = e.tenant AND c.site = e.site AND c.visitor_id = ANY (e.visitors)
  UNION
  SELECT p_erasure, e.tenant, e.site, c.id FROM platform.conversation_contact l
    JOIN platform.conversation c ON c.tenant = l.tenant AND c.site = l.site AND c.id = l.conversation_id AND c.visitor_id IS NULL
   WHERE e.kind = 'contact' AND l.tenant = e.tenant AND l.site = e.site AND l.contact_id = e.native
  ON CONFLICT DO NOTHING;
END $$;

-- The first transaction of an erasure. After it, no reader sees the person's record, and no import or source writes it.
-- Returns the id of the erasure, which is that of an unfinished one of the same person. Safe to call again: an import that was
-- writing can have written the record anew.
CREATE FUNCTION gateway.erasure_begin(
  p_id text, p_kind text, p_tenant bigint, p_site bigint, p_native bigint, p_subject text, p_subject_digest text,
  p_reason text, p_digests text[], p_at timestamptz
) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  mine text;
  noted bigint[];
BEGIN
  -- Without its index, each batch of erased_elsewhere would read all messages.
  PERFORM gateway.built('message');
  INSERT INTO gateway.erasure (id, tenant, site, native, organization_id, kind, subject, subject_digest, reason, created_at)
  SELECT p_id, p_tenant, p_site, p_native, o.public_id, p_kind, p_subject, p_subject_digest, p_reason, coalesce(p_at, now())
    FROM platform.organization o WHERE o.tenant = p_tenant
  ON CONFLICT (tenant, subject) WHERE finished_at IS NULL DO NOTHING;
  SELECT id INTO STRICT mine FROM gateway.erasure WHERE tenant = p_tenant AND subject = p_subject AND finished_at IS NULL FOR UPDATE;
  INSERT INTO gateway.suppression (tenant, digest) SELECT p_tenant, d FROM unnest(p_digests) AS d ON CONFLICT DO NOTHING;
  PERFORM gateway.erasure_gather(mine);
  noted := (SELECT visitors FROM gateway.erasure WHERE id = mine);
  -- A note that went to a helpdesk names the contact there.
  WITH gone AS (
    DELETE FROM gateway.write_back w
     WHERE w.tenant = p_tenant AND w.site = p_site AND w.record = ANY (noted)
       AND EXISTS (SELECT FROM gateway.operation o WHERE o.operation_id = w.operation_id AND o.operation = 'visitor_note_add')
    RETURNING w.operation_id
  )
  UPDATE gateway.operation o SET fingerprint = NULL, outcome = NULL FROM gone g WHERE o.operation_id = g.operation_id AND o.status <> 'pending';
  IF p_kind = 'contact' THEN
    UPDATE platform.contact c
       SET deleted = true, external_id = 'erased:' || gen_random_uuid(), name = NULL, first_name = NULL, last_name = NULL,
           email = NULL, mobile = NULL, mobile_e164 = NULL, phone = NULL, phone_e164 = NULL, company = NULL, language = NULL,
           country = NULL, time_zone = NULL
     WHERE c.tenant = p_tenant AND c.site = p_site AND c.id = p_native;
  END IF;
  UPDATE platform.visitor v SET external_id = 'erased:' || gen_random_uuid(), nickname = NULL
   WHERE v.tenant = p_tenant AND v.site = p_site AND v.id = ANY (noted);
  RETURN mine;
END $$;

-- Waits for the pages that sources are writing, one source at a time. A page locks its source. Call it again with what it
-- returns, until it returns null.
CREATE FUNCTION gateway.erasure_await(p_erasure text, p_after text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  found_id text;
BEGIN
  PERFORM set_config('lock_timeout', '2s', true);
  SELECT s.id INTO found_id FROM gateway.source s JOIN gateway.erasure e ON e.tenant = s.tenant
   WHERE e.id = p_erasure AND s.id > p_after ORDER BY s.id LIMIT 1 FOR UPDATE OF s;
  RETURN found_id;
END $$;

-- Removes the person from the records that imports and sources have read and not yet written. The lock of a run's row waits
-- for its statements. Every later statement sees the entries of gateway.suppression. Call it again with what it returns,
-- which is p_after if the run has more than p_rows such records, until it returns null. The rules are those of
-- src/sources/engine/sift.ts: who is stored stays.
CREATE FUNCTION gateway.erasure_unstage(p_erasure text, p_after integer, p_rows integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  e gateway.erasure;
  r gateway.import_run;
  owner bigint;
  kind text;
  found_rows bigint;
  n bigint;
BEGIN
  SELECT * INTO STRICT e FROM gateway.erasure WHERE id = p_erasure;
  PERFORM set_config('lock_timeout', '2s', true);
  -- Runs of other organizations are not locked, because their statements can take long.
  SELECT x.* INTO r FROM gateway.import_run x LEFT JOIN gateway.source s ON s.id = x.source
   WHERE x.slot > p_after AND coalesce(s.tenant = e.tenant, x.scope = '{}' OR e.tenant = ANY (x.scope)) ORDER BY x.slot LIMIT 1;
  IF NOT FOUND THEN RETURN NULL; END IF;
  SELECT * INTO r FROM gateway.import_run x WHERE x.slot = r.slot FOR UPDATE;
  owner := (SELECT s.tenant FROM gateway.source s WHERE s.id = r.source);
  IF NOT r.unfinished THEN
    -- The report of this run has been given out.
    IF NOT gateway.import_alive(r) THEN EXECUTE format('DELETE FROM gateway.import_reject_%s', r.slot); END IF;
  ELSIF owner <> e.tenant OR (owner IS NULL AND r.scope <> '{}' AND e.tenant <> ALL (r.scope)) THEN
    NULL;                                              -- another organization has taken the slot meanwhile
  ELSIF NOT r.checked OR (owner IS NULL AND r.scope = '{}' AND NOT gateway.import_alive(r)) THEN
    -- The run began before the first erasure of the store, or was killed while it read its files. It starts again.
    PERFORM gateway.import_settle(r.slot), gateway.import_empty(r.slot);
    EXECUTE format('TRUNCATE gateway.import_reject_%s', r.slot);
    UPDATE gateway.import_run x SET unfinished = false, epoch = x.epoch + 1, scope = '{}', names = '{}',
        lease_until = '-infinity', backend = NULL WHERE x.slot = r.slot;
  ELSIF owner IS NOT NULL OR r.scope <> '{}' THEN
    IF e.kind = 'contact' THEN
      EXECUTE format('UPDATE gateway.import_plan_%s SET links = array_remove(links, $3)
        WHERE type IN (''visitor'', ''conversation'') AND tenant = $1 AND site = $2 AND $3 = ANY (links)', r.slot)
        USING e.tenant, e.site, e.native;
    END IF;
    -- What an import still reads needs nothing: its later steps see the entries of gateway.suppression.
    FOREACH kind IN ARRAY ARRAY['contact', 'visitor', 'conversation', 'message', 'file', 'note', 'ai_result'] LOOP
      EXECUTE format('WITH hits AS MATERIALIZED (
          SELECT s.seq, array_agg(d.place) AS places
            FROM gateway.import_stage_%1$s s CROSS JOIN LATERAL unnest(s.digests) WITH ORDINALITY AS d (digest, place)
            JOIN gateway.suppression u ON u.tenant = $2 AND u.digest = d.digest
           WHERE s.type = $1 GROUP BY s.seq
        ), rows AS MATERIALIZED (
          SELECT s.seq, s.digests[1] AS own, s.refs, s.links, h.places, p.seq IS NOT NULL AS planned, p.id, p.site,
                 p.ord > coalesce(t.ord, 0) AS unwritten, coalesce(p.fresh AND p.ord > coalesce(t.ord, 0), false) AS fresh
            FROM hits h JOIN gateway.import_stage_%1$s s ON s.type = $1 AND s.seq = h.seq
            LEFT JOIN gateway.import_plan_%1$s p ON p.type = $1 AND p.seq = h.seq AND p.tenant = $2
            LEFT JOIN gateway.import_step t ON t.slot = %1$s AND t.step = ''write '' || $1 || '' '' || p.lane
           WHERE $3 OR p.seq IS NOT NULL
        ), found AS MATERIALIZED (
          SELECT r.seq, r.own, r.unwritten FROM rows r
           WHERE CASE $1
             WHEN ''contact'' THEN 1 = ANY (r.places) OR r.fresh
             WHEN ''visitor'' THEN 1 = ANY (r.places) OR r.fresh AND cardinality(r.places) = cardinality(r.links)
             WHEN ''conversation'' THEN r.places && ''{1,2}''
               OR r.fresh AND (r.refs[1] IS NULL OR cardinality(r.places) = cardinality(r.links))
               OR r.site = $5 AND EXISTS (SELECT FROM gateway.erasure_work w WHERE w.erasure_id = $4 AND w.conversation_id = r.id)
             ELSE true END
           LIMIT $6
        ), gone AS (
          DELETE FROM gateway.import_stage_%1$s s USING found f WHERE s.type = $1 AND s.seq = f.seq
        ), unplanned AS (
          DELETE FROM gateway.import_plan_%1$s p USING found f WHERE p.type = $1 AND p.seq = f.seq
        ), content AS (
          DELETE FROM gateway.import_chunk_%1$s c USING found f WHERE c.seq = f.seq
        ), learnt AS (
          INSERT INTO gateway.suppression (tenant, digest) SELECT DISTINCT $2, f.own FROM found f ON CONFLICT DO NOTHING
        )
        -- The steps have counted the other records already.
        SELECT count(*), count(*) FILTER (WHERE f.unwritten OR NOT EXISTS (
                 SELECT FROM gateway.import_step s WHERE s.slot = %1$s AND s.step = ''plan '' || $1 AND s.finished))
          FROM found f', r.slot)
        INTO found_rows, n
        USING kind, e.tenant, coalesce(owner, r.scope[1]) = e.tenant AND cardinality(r.scope) < 2, e.id, e.site, p_rows;
      PERFORM gateway.import_suppressed(r.slot, kind, '', n);
      PERFORM gateway.erasure_count(p_erasure, jsonb_build_object('staged_records', n));
      IF found_rows = p_rows THEN RETURN p_after; END IF;
    END LOOP;
  END IF;
  PERFORM gateway.erasure_gather(p_erasure);
  RETURN r.slot;
END $$;

-- Removes up to n notes about the person, and forgets the outcomes of the calls that wrote them.
CREATE FUNCTION gateway.erase_notes(p_erasure text, n integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  e gateway.erasure;
  ids text[];
BEGIN
  SELECT * INTO STRICT e FROM gateway.erasure WHERE id = p_erasure FOR UPDATE;
  WITH gone AS (
    DELETE FROM platform.note t
     WHERE t.tenant = e.tenant AND t.site = e.site AND t.id IN (
       SELECT x.id FROM platform.note x
        WHERE x.tenant = e.tenant AND x.site = e.site AND x.visitor_id = ANY (e.visitors) LIMIT n)
    RETURNING t.external_id
  ) SELECT array_agg(external_id) INTO ids FROM gone;
  UPDATE gateway.operation o SET fingerprint = NULL, outcome = NULL WHERE o.operation_id = ANY (ids) AND o.status <> 'pending';
  PERFORM gateway.erasure_count(p_erasure, jsonb_build_object('notes', coalesce(cardinality(ids), 0)));
  RETURN coalesce(cardinality(ids), 0);
END $$;

-- Makes conversations empty shells. Their messages must follow. p_digests belong to their external_ids.
CREATE FUNCTION gateway.erase_conversations(p_erasure text, p_ids bigint[], p_digests text[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  e gateway.erasure;
  done integer;
BEGIN
  SELECT * INTO STRICT e FROM gateway.erasure WHERE id = p_erasure FOR UPDATE;
  PERFORM set_config('gateway.capture', 'off', true);
  INSERT INTO gateway.suppression (tenant, digest) SELECT e.tenant, d FROM unnest(p_digests) AS d ON CONFLICT DO NOTHING;
  WITH gone AS (
    DELETE FROM gateway.write_back w USING platform.conversation c
     WHERE c.tenant = e.tenant AND c.site = e.site AND c.id = ANY (p_ids) AND w.tenant = c.tenant AND w.target = c.external_id
    RETURNING w.operation_id
  )
  UPDATE gateway.operation o SET fingerprint = NULL, outcome = NULL FROM gone g WHERE o.operation_id = g.operation_id AND o.status <> 'pending';
  UPDATE gateway.erasure_work w SET shell = true WHERE w.erasure_id = p_erasure AND w.conversation_id = ANY (p_ids);
  UPDATE platform.ai_result a SET external_id = 'erased:' || gen_random_uuid(), topics = '{}', resolution = NULL, outcome = NULL
   WHERE a.tenant = e.tenant AND a.site = e.site AND a.conversation_id = ANY (p_ids);
  DELETE FROM platform.conversation_contact l WHERE l.tenant = e.tenant AND l.site = e.site AND l.conversation_id = ANY (p_ids);
  PERFORM set_config('gateway.spelled', 'off', true);
  PERFORM platform.unlearn(e.tenant, e.site, array_agg('subject'::text), array_agg(c.id), array_agg(c.subject))
     FROM platform.conversation c WHERE c.tenant = e.tenant AND c.site = e.site AND c.id = ANY (p_ids) AND c.subject IS NOT NULL;
  UPDATE platform.conversation c
     SET external_id = 'erased:' || gen_random_uuid(), visitor_id = NULL, subject = NULL, language = NULL, disposition = NULL,
         rating_label = NULL, rating_score = NULL
   WHERE c.tenant = e.tenant AND c.site = e.site AND c.id = ANY (p_ids);
  GET DIAGNOSTICS done = ROW_COUNT;
  PERFORM gateway.erasure_count(p_erasure, jsonb_build_object('conversations', done));
  IF done > 0 THEN PERFORM gateway.append_receipts(e.tenant, e.site, ARRAY['conversation.removed']); END IF;
END $$;

-- Removes the texts and files of some messages of a website. With p_erases, also what tells whose messages they were.
CREATE FUNCTION platform.clear_messages(p_tenant bigint, p_site bigint, p_ids bigint[], p_erases boolean, OUT messages bigint, OUT files bigint)
LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM platform.file f WHERE f.tenant = p_tenant AND f.site = p_site AND f.message_id = ANY (p_ids);
  GET DIAGNOSTICS files = ROW_COUNT;
  PERFORM set_config('gateway.spelled', 'off', true);
  PERFORM platform.unlearn(p_tenant, p_site, array_agg(CASE m.visibility WHEN 'internal' THEN 'internal' ELSE 'message' END),
                           array_agg(m.id), array_agg(m.text))
     FROM platform.message m
    WHERE m.tenant = p_tenant AND m.site = p_site AND m.id = ANY (p_ids) AND m.text IS NOT NULL AND NOT m.redacted;
  UPDATE platform.message m
     SET text = NULL, redacted = true,
         external_id = CASE WHEN p_erases THEN 'erased:' || gen_random_uuid() ELSE m.external_id END,
         language = CASE WHEN NOT p_erases THEN m.language END,
         author_id = CASE WHEN NOT p_erases OR m.author_type <> 'visitor' THEN m.author_id END
   WHERE m.tenant = p_tenant AND m.site = p_site AND m.id = ANY (p_ids) AND (p_erases OR m.text IS NOT NULL OR NOT m.redacted);
  GET DIAGNOSTICS messages = ROW_COUNT;
END $$;

-- Clears some messages of the conversations in gateway.erasure_work. p_digests belong to the external_ids of messages with
-- files. p_conversations and p_done_to say how far each conversation is cleared then; null: to its end.
CREATE FUNCTION gateway.erase_messages(p_erasure text, p_ids bigint[], p_digests text[], p_conversations bigint[], p_done_to bigint[])
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  e gateway.erasure;
  cleared record;
BEGIN
  SELECT * INTO STRICT e FROM gateway.erasure WHERE id = p_erasure FOR UPDATE;
  PERFORM set_config('gateway.capture', 'off', true);
  INSERT INTO gateway.suppression (tenant, digest) SELECT e.tenant, d FROM unnest(p_digests) AS d ON CONFLICT DO NOTHING;
  SELECT * INTO cleared FROM platform.clear_messages(e.tenant, e.site, p_ids, true);
  DELETE FROM gateway.erasure_work w USING unnest(p_conversations, p_done_to) AS d (id, done_to)
   WHERE w.erasure_id = p_erasure AND w.conversation_id = d.id AND d.done_to IS NULL;
  UPDATE gateway.erasure_work w SET done_to = d.done_to FROM unnest(p_conversations, p_done_to) AS d (id, done_to)
   WHERE w.erasure_id = p_erasure AND w.conversation_id = d.id AND d.done_to IS NOT NULL;
  PERFORM gateway.erasure_count(p_erasure, jsonb_build_object('messages', cardinality(p_ids), 'files', cleared.files));
  IF cardinality(p_ids) > 0 THEN PERFORM gateway.append_receipts(e.tenant, e.site, ARRAY['conversation.removed']); END IF;
END $$;

-- The next messages that the person wrote in conversations of others.
CREATE FUNCTION gateway.erased_elsewhere(e gateway.erasure, n integer) RETURNS TABLE (id bigint, external_id text, attachments integer)
LANGUAGE sql STABLE AS $$
  SELECT m.id, m.external_id, m.attachment_count FROM platform.message m
   WHERE m.tenant = e.tenant AND m.site = e.site AND m.author_type = 'visitor' AND m.author_id = ANY (e.visitors) LIMIT n
$$;

-- The last transaction of an erasure. Deletes the rows of the person, and the tasks of the organization that have ended: a
-- task lives for 15 minutes, and nobody can tell whose words its artifact and its texts hold.
CREATE FUNCTION gateway.erasure_end(p_erasure text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  e gateway.erasure;
  visitors bigint;
  contacts bigint := 0;
  tasks bigint;
BEGIN
  SELECT * INTO STRICT e FROM gateway.erasure WHERE id = p_erasure FOR UPDATE;
  IF e.finished_at IS NOT NULL THEN RETURN; END IF;
  DELETE FROM gateway.task k USING gateway.installation i, gateway.app a
   WHERE a.tenant = e.tenant AND i.app_id = a.id AND k.installation_id = i.id AND k.lease_until IS NULL;
  GET DIAGNOSTICS tasks = ROW_COUNT;
  DELETE FROM platform.visitor v WHERE v.tenant = e.tenant AND v.site = e.site AND v.id = ANY (e.visitors);
  GET DIAGNOSTICS visitors = ROW_COUNT;
  IF e.kind = 'contact' THEN
    DELETE FROM platform.contact c WHERE c.tenant = e.tenant AND c.site = e.site AND c.id = e.native;
    GET DIAGNOSTICS contacts = ROW_COUNT;
  END IF;
  PERFORM gateway.erasure_count(p_erasure, jsonb_build_object('contacts', contacts, 'visitors', visitors, 'tasks', tasks));
  UPDATE gateway.erasure SET finished_at = now() WHERE id = p_erasure;
END $$;

-- Retention: how far the round of a night has come: the block of rows (platform.said_block) that is next.
CREATE TABLE gateway.retention_round (
  tenant bigint PRIMARY KEY REFERENCES platform.organization ON DELETE CASCADE,
  began_at timestamptz NOT NULL DEFAULT '-infinity', ended_at timestamptz NOT NULL DEFAULT '-infinity',
  site bigint NOT NULL DEFAULT 0, block bigint NOT NULL DEFAULT 0,
  tried_at timestamptz NOT NULL DEFAULT '-infinity'    -- the organization that waits longest comes first
);

-- A round is due at night (UTC), at the latest after 26 hours, and at once where none has ended yet.
CREATE FUNCTION gateway.retention_due(x gateway.retention_round) RETURNS boolean LANGUAGE sql STABLE AS $$
  SELECT x.began_at > x.ended_at OR x.ended_at < now() - interval '26 hours'
      OR x.ended_at < now() - interval '20 hours' AND extract(hour FROM now() AT TIME ZONE 'UTC') BETWEEN 1 AND 4
$$;

-- The organization that is next, or null. Several processes can call this: each gets another organization. The attempt is
-- noted at once, so an organization whose messages cannot be cleared does not stop the others.
CREATE FUNCTION gateway.retention_turn(p_failed bigint[]) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  chosen bigint;
BEGIN
  -- Until all blocks are noted, a block can be missing.
  IF EXISTS (SELECT FROM gateway.unnoted_block u WHERE u.kind = 'message') THEN RETURN NULL; END IF;
  INSERT INTO gateway.retention_round (tenant)
  SELECT o.tenant FROM platform.organization o
   WHERE o.keep_messages_days IS NOT NULL AND o.moved_to IS NULL AND NOT EXISTS (SELECT FROM gateway.retention_round x WHERE x.tenant = o.tenant)
  ON CONFLICT DO NOTHING;
  SELECT x.tenant INTO chosen FROM gateway.retention_round x JOIN platform.organization o ON o.tenant = x.tenant
   WHERE o.keep_messages_days IS NOT NULL AND o.moved_to IS NULL AND gateway.retention_due(x) AND x.tenant <> ALL (p_failed)
   ORDER BY x.tried_at, x.tenant LIMIT 1 FOR UPDATE OF x SKIP LOCKED;
  UPDATE gateway.retention_round x SET tried_at = clock_timestamp() WHERE x.tenant = chosen;
  RETURN chosen;
END $$;

-- Clears up to n messages that are too old, in one block of one organization. They have at most p_files files, or there is
-- one message.
CREATE FUNCTION gateway.clear_old_messages(p_tenant bigint, n integer, p_files integer) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  r record;
  b record;
  ids bigint[];
  more boolean;
BEGIN
  SELECT x.tenant, x.site, x.block, x.began_at > x.ended_at AS runs, now() - make_interval(days => o.keep_messages_days) AS since INTO r
    FROM gateway.retention_round x JOIN platform.organization o ON o.tenant = x.tenant
   WHERE x.tenant = p_tenant AND o.keep_messages_days IS NOT NULL AND gateway.retention_due(x) FOR UPDATE OF x;
  IF NOT FOUND THEN RETURN; END IF;
  IF NOT r.runs THEN r.site := 0; r.block := 0; END IF;
  SELECT s.site, s.block INTO b FROM platform.website w
    JOIN platform.said_block s ON s.tenant = w.tenant AND s.site = w.site
   WHERE w.tenant = r.tenant AND w.site >= r.site AND s.kind = 'message' AND (s.site, s.block) >= (r.site, r.block) AND s.oldest < r.since
   ORDER BY s.site, s.block LIMIT 1;
  IF NOT FOUND THEN
    UPDATE gateway.retention_round x SET ended_at = clock_timestamp(), began_at = '-infinity' WHERE x.tenant = r.tenant;
    RETURN;
  END IF;
  SELECT array_agg(m.id) FILTER (WHERE m.place <= n AND (m.files <= p_files OR m.place = 1)),
         coalesce(bool_or(m.place > n OR m.files > p_files AND m.place > 1), false) INTO ids, more
    FROM (SELECT m.id, row_number() OVER w AS place, sum(m.attachment_count) OVER w AS files FROM platform.message m
           WHERE m.tenant = r.tenant AND m.site = b.site AND m.id >= b.block << 11 AND m.id < (b.block + 1) << 11
             AND m.created_at < r.since AND (m.text IS NOT NULL OR m.attachment_count > 0)
          WINDOW w AS (ORDER BY m.id) ORDER BY m.id LIMIT n + 1) m;
  IF ids IS NOT NULL THEN PERFORM platform.clear_messages(r.tenant, b.site, ids, false); END IF;
  UPDATE gateway.retention_round x
     SET began_at = CASE WHEN r.runs THEN x.began_at ELSE clock_timestamp() END, site = b.site,
         block = b.block + CASE WHEN more THEN 0 ELSE 1 END
   WHERE x.tenant = r.tenant;
END $$;

-- An erased conversation counts as changed. So a consumer that reads conversations in the order of their changes finds it.

CREATE FUNCTION platform.conversation_erased() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.updated_at := platform.next_change(OLD.updated_at);
  RETURN NEW;
END $$;
CREATE TRIGGER conversation_erased BEFORE UPDATE OF external_id ON platform.conversation FOR EACH ROW
  WHEN (NEW.external_id LIKE 'erased:%' AND NEW.external_id <> OLD.external_id) EXECUTE FUNCTION platform.conversation_erased();
