-- The journal of changes (contract, Events; decisions, sections 12 and 13). Triggers on the platform's tables append
-- receipts in the transaction that changes the data, so that a change has its receipt by whatever road it came (connector,
-- write, SQL) and a rolled-back one has none.

ALTER TABLE gateway.journal_head
  ADD COLUMN trimmed bigint NOT NULL DEFAULT 0 CHECK (trimmed BETWEEN 0 AND position), -- last position that retention removed
  ADD COLUMN notified_at timestamptz NOT NULL DEFAULT '-infinity', -- when listeners were last told,
  ADD COLUMN notified bigint NOT NULL DEFAULT 0;                   -- and of which position

-- Seven families of five types: a receipt of another type is nobody's.
ALTER TABLE gateway.journal ADD CONSTRAINT journal_event_type_check CHECK (event_type ~
  '^(conversation|visitor|operator|queue|website|privacy|capture)\.(changed|removed|snapshot|gap|heartbeat)$');

-- A held family: its receipts are recorded and wait, nobody is given them.
CREATE TABLE gateway.family_hold (
  tenant bigint NOT NULL, site bigint NOT NULL,
  family text NOT NULL CHECK (family IN ('conversation', 'visitor', 'operator', 'queue', 'website', 'privacy', 'capture')),
  held_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (tenant, site, family),
  FOREIGN KEY (tenant, site) REFERENCES platform.website ON DELETE CASCADE
);

-- Appends to a website's journal; its head stays locked until the commit, which is what keeps positions gapless and in
-- the order of commits. Listeners on `gateway_journal` are told '<tenant> <site>' once in 25 ms: a NOTIFY takes a lock of
-- the whole server at its commit. Whoever listens looks again after that time; nothing depends on being told.
CREATE OR REPLACE FUNCTION gateway.append_receipts(p_tenant bigint, p_site bigint, event_types text[]) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  n integer := cardinality(event_types);
  moment timestamptz := clock_timestamp();
  at bigint := floor(extract(epoch FROM moment) * 1000);
  moments jsonb := '{}';
  last bigint;
  tell boolean;
BEGIN
  -- A receipt that was read must not be lost in a crash: its position would be given again, and to another one.
  IF current_setting('synchronous_commit') = 'off' THEN PERFORM set_config('synchronous_commit', 'on', true); END IF;
  FOR i IN 1..n LOOP
    moments := moments || jsonb_build_object(split_part(event_types[i], '.', 1), at);
  END LOOP;
  LOOP
    -- Later than the moment, by a wait for this row, listeners may have been told; by more than a minute, the clock was set
    -- back, and they must not wait until it has caught up.
    UPDATE gateway.journal_head h SET
      position = h.position + n,
      last_at = h.last_at || moments,
      notified_at = CASE WHEN h.notified_at BETWEEN moment - interval '25 milliseconds' AND moment + interval '1 minute'
                         THEN h.notified_at ELSE moment END,
      notified = CASE WHEN h.notified_at BETWEEN moment - interval '25 milliseconds' AND moment + interval '1 minute'
                      THEN h.notified ELSE h.position + n END
     WHERE h.tenant = p_tenant AND h.site = p_site
    RETURNING h.position, h.notified = h.position INTO last, tell;
    EXIT WHEN FOUND;
    INSERT INTO gateway.journal_head (tenant, site, position) VALUES (p_tenant, p_site, 0) ON CONFLICT DO NOTHING;
  END LOOP;
  -- One is the rule, and planned more cheaply by itself.
  IF n = 1 THEN
    INSERT INTO gateway.journal (tenant, site, position, event_type, occurred_at)
    VALUES (p_tenant, p_site, last, event_types[1], now());
  ELSE
    INSERT INTO gateway.journal (tenant, site, position, event_type, occurred_at)
    SELECT p_tenant, p_site, last - n + e.i, e.event_type, now() FROM unnest(event_types) WITH ORDINALITY AS e (event_type, i);
  END IF;
  IF tell THEN PERFORM pg_notify('gateway_journal', p_tenant || ' ' || p_site); END IF;
END $$;

-- Capture. A statement that changes rows notes what it owes; the receipts are appended at the commit, one of a website and
-- type, website by website in the order in which every writer locks heads. So heads are locked for a moment only, however
-- long the transaction, and two transactions that change the same websites in another order do not lock each other out.
-- Both notes are settings of the transaction, which a rolled-back savepoint takes back: gateway.captured holds
-- '<tenant>/<site>/<type> ' of each, and its first gateway.appended characters are in the journal.

-- What is done at the commit is the deferred trigger of a row; a row of each backend's own, so that nobody waits for it.
-- Not logged: it means nothing after its transaction.
CREATE UNLOGGED TABLE gateway.capture_due (backend integer PRIMARY KEY, n bigint NOT NULL) WITH (fillfactor = 50);

CREATE FUNCTION gateway.append_captured() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  noted text := coalesce(current_setting('gateway.captured', true), '');
  due text := rtrim(substr(noted, coalesce(nullif(current_setting('gateway.appended', true), '')::integer, 0) + 1));
  w record;
BEGIN
  IF strpos(due, ' ') = 0 THEN -- one is the rule
    PERFORM gateway.append_receipts(split_part(due, '/', 1)::bigint, split_part(due, '/', 2)::bigint, ARRAY[split_part(due, '/', 3)]);
  ELSE
    FOR w IN SELECT split_part(e, '/', 1)::bigint AS tenant, split_part(e, '/', 2)::bigint AS site,
                    array_agg(split_part(e, '/', 3) ORDER BY split_part(e, '/', 3)) AS event_types
               FROM string_to_table(due, ' ') AS e GROUP BY 1, 2 ORDER BY 1, 2 LOOP
      PERFORM gateway.append_receipts(w.tenant, w.site, w.event_types);
    END LOOP;
  END IF;
  PERFORM set_config('gateway.appended', length(noted)::text, true);
  RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER append_captured AFTER INSERT OR UPDATE ON gateway.capture_due DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW EXECUTE FUNCTION gateway.append_captured();

-- Notes what is not noted yet. p_fresh: null where there is nothing. What an import changes is owed until its end.
CREATE FUNCTION gateway.note_captured(p_noted text, p_fresh text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF p_fresh IS NULL THEN RETURN; END IF;
  IF current_setting('gateway.capture', true) = 'import' THEN
    INSERT INTO gateway.import_owed
    SELECT split_part(e, '/', 1)::bigint, split_part(e, '/', 2)::bigint, split_part(e, '/', 3)
      FROM string_to_table(rtrim(p_fresh), ' ') AS e
    EXCEPT SELECT tenant, site, event_type FROM gateway.import_owed;
    RETURN;
  END IF;
  -- First the note: where constraints are immediate, the trigger reads it within the next statement.
  PERFORM set_config('gateway.captured', p_noted || p_fresh, true);
  IF length(p_noted) = coalesce(nullif(current_setting('gateway.appended', true), '')::integer, 0) THEN
    UPDATE gateway.capture_due d SET n = d.n + 1 WHERE d.backend = pg_backend_pid();
    IF NOT FOUND THEN INSERT INTO gateway.capture_due (backend, n) VALUES (pg_backend_pid(), 1); END IF;
  END IF;
END $$;

-- The trigger of a table whose rows belong to websites. Arguments: the family, and for DELETE the types that a removal
-- brings. gateway.capture, set for a transaction or a part of one, is 'off' where receipts are appended otherwise (a reviewed
-- write does, as its last step), and 'import' where snapshots are owed in place of changes.
CREATE FUNCTION gateway.captured() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  mode text := coalesce(current_setting('gateway.capture', true), '');
  noted text := coalesce(current_setting('gateway.captured', true), '');
  changed text := CASE mode WHEN 'import' THEN '.snapshot' ELSE '.changed' END;
  types text[] := ARRAY[TG_ARGV[0] || changed];
  fresh text;
BEGIN
  IF mode = 'off' THEN RETURN NULL; END IF;
  IF TG_OP = 'DELETE' THEN
    types := string_to_array(replace(TG_ARGV[1], '.changed', changed), ' ');
    SELECT string_agg(k.key, '') INTO fresh
      FROM (SELECT DISTINCT tenant, site FROM old_rows) w CROSS JOIN unnest(types) AS e
     CROSS JOIN LATERAL (SELECT w.tenant || '/' || w.site || '/' || e || ' ') AS k (key) WHERE strpos(noted, k.key) = 0;
  ELSIF TG_OP = 'INSERT' OR mode = 'import' THEN -- an import writes only rows that differ
    SELECT string_agg(k.key, '') INTO fresh
      FROM (SELECT DISTINCT tenant, site FROM new_rows) w CROSS JOIN unnest(types) AS e
     CROSS JOIN LATERAL (SELECT w.tenant || '/' || w.site || '/' || e || ' ') AS k (key) WHERE strpos(noted, k.key) = 0;
  ELSE
    -- Rows that an UPDATE left as they were have not changed.
    SELECT string_agg(k.key, '') INTO fresh
      FROM (SELECT tenant, site FROM (TABLE new_rows EXCEPT TABLE old_rows) a
             UNION SELECT tenant, site FROM (TABLE old_rows EXCEPT TABLE new_rows) b) w CROSS JOIN unnest(types) AS e
     CROSS JOIN LATERAL (SELECT w.tenant || '/' || w.site || '/' || e || ' ') AS k (key) WHERE strpos(noted, k.key) = 0;
  END IF;
  PERFORM gateway.note_captured(noted, fresh);
  RETURN NULL;
END $$;

-- Who serves a conversation: its operator or team.
CREATE FUNCTION gateway.assignment_captured() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  mode text := coalesce(current_setting('gateway.capture', true), '');
  noted text := coalesce(current_setting('gateway.captured', true), '');
  type text := CASE mode WHEN 'import' THEN 'queue.snapshot' ELSE 'queue.changed' END;
  fresh text;
BEGIN
  IF mode = 'off' THEN RETURN NULL; END IF;
  IF TG_OP = 'INSERT' THEN
    SELECT string_agg(k.key, '') INTO fresh
      FROM (SELECT DISTINCT tenant, site FROM new_rows WHERE operator_id IS NOT NULL OR team_id IS NOT NULL) w
     CROSS JOIN LATERAL (SELECT w.tenant || '/' || w.site || '/' || type || ' ') AS k (key) WHERE strpos(noted, k.key) = 0;
  ELSE
    SELECT string_agg(k.key, '') INTO fresh
      FROM (SELECT DISTINCT n.tenant, n.site FROM new_rows n JOIN old_rows o USING (tenant, site, id)
             WHERE (n.operator_id, n.team_id) IS DISTINCT FROM (o.operator_id, o.team_id)) w
     CROSS JOIN LATERAL (SELECT w.tenant || '/' || w.site || '/' || type || ' ') AS k (key) WHERE strpos(noted, k.key) = 0;
  END IF;
  PERFORM gateway.note_captured(noted, fresh);
  RETURN NULL;
END $$;

-- A contact that is kept but never shown any more is removed for everybody who reads.
CREATE FUNCTION gateway.withdrawal_captured() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  noted text := coalesce(current_setting('gateway.captured', true), '');
  fresh text;
BEGIN
  SELECT string_agg(k.key, '') INTO fresh
    FROM (SELECT DISTINCT n.tenant, n.site FROM new_rows n JOIN old_rows o USING (tenant, site, id)
           WHERE n.deleted AND NOT o.deleted) w CROSS JOIN unnest(ARRAY['privacy.removed', 'visitor.removed']) AS e
   CROSS JOIN LATERAL (SELECT w.tenant || '/' || w.site || '/' || e || ' ') AS k (key) WHERE strpos(noted, k.key) = 0;
  PERFORM gateway.note_captured(noted, fresh);
  RETURN NULL;
END $$;

-- What a TRUNCATE took is not known any more: every website has lost its place.
CREATE FUNCTION gateway.truncate_captured() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  noted text := coalesce(current_setting('gateway.captured', true), '');
  fresh text;
BEGIN
  SELECT string_agg(k.key, '') INTO fresh
    -- Where the websites went with it, those that have a journal are still known.
    FROM (SELECT tenant, site FROM platform.website
           UNION ALL SELECT tenant, site FROM gateway.journal_head WHERE NOT EXISTS (SELECT FROM platform.website)) w
   CROSS JOIN unnest(ARRAY['capture', TG_ARGV[0]]) AS family
   CROSS JOIN LATERAL (SELECT w.tenant || '/' || w.site || '/' || family || '.gap ') AS k (key) WHERE strpos(noted, k.key) = 0;
  PERFORM gateway.note_captured(noted, fresh);
  RETURN NULL;
END $$;

DO $$
DECLARE
  t record;
BEGIN
  FOR t IN SELECT * FROM (VALUES
    ('platform.contact', 'visitor', 'visitor.removed privacy.removed'),
    ('platform.visitor', 'visitor', 'visitor.removed privacy.removed'),
    ('platform.visitor_contact', 'visitor', NULL),
    ('platform.note', 'visitor', 'visitor.removed'),
    ('platform.conversation', 'conversation', 'conversation.removed'),
    ('platform.conversation_contact', 'conversation', NULL),
    ('platform.message', 'conversation', 'conversation.removed'),
    ('platform.file', 'conversation', 'conversation.removed'),
    ('platform.ai_result', 'conversation', 'conversation.removed'),
    ('platform.operator', 'operator', 'operator.removed'),
    ('gateway.native_author', 'operator', NULL),
    ('platform.team', 'operator', 'operator.removed'),
    ('platform.channel', 'website', 'website.removed'),
    ('platform.subsite', 'website', 'website.removed'),
    ('platform.website', 'website', 'website.removed'),
    ('platform.disposition', 'website', 'website.removed'),
    ('platform.saved_response', 'website', 'website.removed'),
    ('platform.saved_link', 'website', 'website.removed'),
    ('platform.offer', 'website', 'website.removed'),
    ('platform.ai_feature', 'website', 'website.removed'),
    ('gateway.family_hold', 'capture', NULL)) AS t (name, family, removed) LOOP
    EXECUTE format('CREATE TRIGGER capture_insert AFTER INSERT ON %s REFERENCING NEW TABLE AS new_rows
      FOR EACH STATEMENT EXECUTE FUNCTION gateway.captured(%L)', t.name, t.family);
    EXECUTE format('CREATE TRIGGER capture_update AFTER UPDATE ON %s REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
      FOR EACH STATEMENT EXECUTE FUNCTION gateway.captured(%L)', t.name, t.family);
    EXECUTE format('CREATE TRIGGER capture_delete AFTER DELETE ON %s REFERENCING OLD TABLE AS old_rows
      FOR EACH STATEMENT EXECUTE FUNCTION gateway.captured(%L, %L)', t.name, t.family, coalesce(t.removed, t.family || '.changed'));
    EXECUTE format('CREATE TRIGGER capture_truncate AFTER TRUNCATE ON %s
      FOR EACH STATEMENT EXECUTE FUNCTION gateway.truncate_captured(%L)', t.name, t.family);
  END LOOP;
END $$;
CREATE TRIGGER assignment_insert AFTER INSERT ON platform.conversation REFERENCING NEW TABLE AS new_rows
  FOR EACH STATEMENT EXECUTE FUNCTION gateway.assignment_captured();
CREATE TRIGGER assignment_update AFTER UPDATE ON platform.conversation REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
  FOR EACH STATEMENT EXECUTE FUNCTION gateway.assignment_captured();
CREATE TRIGGER withdrawal_update AFTER UPDATE ON platform.contact REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
  FOR EACH STATEMENT EXECUTE FUNCTION gateway.withdrawal_captured();

-- Consent given or ended changes what may be known of its websites.
CREATE FUNCTION gateway.consent_captured() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  noted text := coalesce(current_setting('gateway.captured', true), '');
  consent gateway.consent := CASE TG_OP WHEN 'DELETE' THEN OLD ELSE NEW END;
  fresh text;
BEGIN
  -- Where the consent goes with its person or its credential, the other one still says whose it was.
  SELECT string_agg(k.key, '') INTO fresh
    FROM (SELECT p.tenant FROM gateway.person p WHERE p.id = consent.person_id
           UNION
          SELECT a.tenant FROM gateway.credential c JOIN gateway.installation i ON i.id = c.installation_id
            JOIN gateway.app a ON a.id = i.app_id WHERE c.id = consent.credential_id) o
   CROSS JOIN (SELECT DISTINCT site FROM unnest(consent.sites) AS site) w
   CROSS JOIN LATERAL (SELECT o.tenant || '/' || w.site || '/privacy.changed ') AS k (key) WHERE strpos(noted, k.key) = 0;
  PERFORM gateway.note_captured(noted, fresh);
  RETURN NULL;
END $$;
CREATE TRIGGER capture_given AFTER INSERT ON gateway.consent FOR EACH ROW EXECUTE FUNCTION gateway.consent_captured();
CREATE TRIGGER capture_ended AFTER UPDATE ON gateway.consent FOR EACH ROW
  WHEN (OLD.revoked_at IS NULL AND NEW.revoked_at IS NOT NULL) EXECUTE FUNCTION gateway.consent_captured();
CREATE TRIGGER capture_deleted AFTER DELETE ON gateway.consent FOR EACH ROW
  WHEN (OLD.revoked_at IS NULL) EXECUTE FUNCTION gateway.consent_captured();

-- Reviewed writes append their own receipts, last (gateway.write_batch). The functions of 0009 and 0005 but for the capture:
-- as a setting of the function, which ends with it, PostgreSQL lets only superusers give one that it does not know.
CREATE OR REPLACE FUNCTION platform.add_notes(
  p_tenant bigint, p_site bigint, p_todo integer[], p_ids text[], p_authors platform.operator[], p_commands jsonb[]
) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
  moment timestamptz := date_trunc('milliseconds', now());
  known boolean[];                                       -- whether the visitor has a conversation
  able integer[] := '{}';                                -- where an author is there as well
  note_id bigint;
  answers text[] := '{}';
  i integer;
  capture text := coalesce(current_setting('gateway.capture', true), '');
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
    PERFORM set_config('gateway.capture', 'off', true);
    INSERT INTO platform.note (tenant, site, id, external_id, visitor_id, operator_id, text, created_at)
    SELECT p_tenant, p_site, note_id + a.n, p_ids[a.i], (p_commands[a.i] ->> 'visitor')::bigint, (p_authors[a.i]).id,
           p_commands[a.i] ->> 'text', moment
      FROM unnest(able) WITH ORDINALITY AS a (i, n);
    PERFORM set_config('gateway.capture', capture, true);
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

CREATE OR REPLACE FUNCTION platform.set_disposition(p_tenant bigint, p_site bigint, p_author platform.operator, p_command jsonb)
RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  capture text := coalesce(current_setting('gateway.capture', true), '');
  done boolean;
BEGIN
  IF p_author.id IS NULL THEN RETURN '{"refused": "enrollment_unavailable"}'; END IF;
  IF EXISTS (SELECT 1 FROM platform.website w WHERE w.tenant = p_tenant AND w.site = p_site AND w.crm_integrated)
     OR NOT EXISTS (SELECT 1 FROM platform.disposition d WHERE d.tenant = p_tenant AND d.site = p_site
                     AND d.value = p_command ->> 'disposition' AND d.enabled) THEN
    RETURN '{"rejected": "operation_conflict"}';
  END IF;
  PERFORM set_config('gateway.capture', 'off', true);
  UPDATE platform.conversation c
     SET disposition = p_command ->> 'disposition', updated_at = greatest(c.updated_at, date_trunc('milliseconds', now()))
   WHERE c.tenant = p_tenant AND c.site = p_site AND c.id = (p_command ->> 'conversation')::bigint;
  done := FOUND;
  PERFORM set_config('gateway.capture', capture, true);
  IF NOT done THEN RETURN '{"refused": "not_found"}'; END IF;
  RETURN '{"done": {}}';
END $$;

-- An import appends one snapshot a website and family, at its end: every statement that writes begins with this.
CREATE OR REPLACE FUNCTION gateway.import_fence(p_epoch bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM 1 FROM gateway.import_run WHERE epoch = p_epoch FOR KEY SHARE;
  IF NOT FOUND THEN RAISE EXCEPTION 'another import has taken over' USING ERRCODE = 'GW001'; END IF;
  PERFORM set_config('synchronous_commit', 'off', true), set_config('gateway.capture', 'import', true);
END $$;

-- What an import that nobody holds any more has left owing: its changes are there to be read. Returns how many receipts.
CREATE FUNCTION gateway.settle_abandoned_import() RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  n integer;
BEGIN
  IF NOT EXISTS (SELECT FROM gateway.import_owed) THEN RETURN 0; END IF;
  PERFORM FROM gateway.import_run r
   WHERE r.lease_until < clock_timestamp() OR NOT EXISTS (
     SELECT FROM pg_stat_activity a WHERE a.pid = r.backend AND a.backend_start = r.backend_start)
     FOR UPDATE SKIP LOCKED;
  IF NOT FOUND THEN RETURN 0; END IF;
  SELECT count(*) INTO n FROM gateway.import_owed;
  PERFORM gateway.import_settle();
  RETURN n;
END $$;

-- Websites and families that somebody waits for. Replaced where subscriptions and webhook endpoints are created.
CREATE FUNCTION gateway.watched_families() RETURNS TABLE (tenant bigint, site bigint, family text) LANGUAGE sql STABLE AS $$
  SELECT NULL::bigint, NULL::bigint, NULL::text WHERE false
$$;

-- Retention. Removes receipts older than the age given, from the beginning of each journal on, at most n; returns how many.
-- One at a time: another replica's call does nothing meanwhile.
CREATE FUNCTION gateway.trim_journals(p_age interval, n integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  h record;
  last bigint;
  removed integer;
  total integer := 0;
BEGIN
  IF NOT pg_try_advisory_xact_lock(hashtextextended('gateway.trim_journals', 0)) THEN RETURN 0; END IF;
  FOR h IN SELECT x.tenant, x.site, x.trimmed FROM gateway.journal_head x
            WHERE EXISTS (SELECT FROM gateway.journal j WHERE j.tenant = x.tenant AND j.site = x.site
                             AND j.position = x.trimmed + 1 AND j.recorded_at < now() - p_age)
            ORDER BY x.tenant, x.site LOOP
    -- Heads that are locked here keep writers waiting until the commit: so this waits for nobody.
    PERFORM FROM gateway.journal_head x WHERE x.tenant = h.tenant AND x.site = h.site FOR NO KEY UPDATE SKIP LOCKED;
    CONTINUE WHEN NOT FOUND;
    -- Up to the first younger one: a clock that was set back may have left older ones behind it.
    SELECT coalesce(min(j.position) FILTER (WHERE j.recorded_at >= now() - p_age) - 1, max(j.position)) INTO last
      FROM (SELECT e.position, e.recorded_at FROM gateway.journal e
             WHERE e.tenant = h.tenant AND e.site = h.site AND e.position > h.trimmed
             ORDER BY e.position LIMIT n - total) j;
    DELETE FROM gateway.journal j
     WHERE j.tenant = h.tenant AND j.site = h.site AND j.position > h.trimmed AND j.position <= last;
    GET DIAGNOSTICS removed = ROW_COUNT;
    UPDATE gateway.journal_head x SET trimmed = last WHERE x.tenant = h.tenant AND x.site = h.site;
    total := total + removed;
    EXIT WHEN total >= n;
  END LOOP;
  RETURN total;
END $$;

-- Appends a heartbeat for families that somebody waits for, that are not held and that were silent for the time given, on
-- at most n websites; returns on how many. A last receipt from the future says that the clock was set back. One at a time.
CREATE FUNCTION gateway.beat_families(p_silence interval, n integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  moment numeric := floor(extract(epoch FROM now()) * 1000);
  silence numeric := extract(epoch FROM p_silence) * 1000;
  w record;
  total integer := 0;
BEGIN
  IF NOT pg_try_advisory_xact_lock(hashtextextended('gateway.beat_families', 0)) THEN RETURN 0; END IF;
  FOR w IN SELECT f.tenant, f.site, array_agg(DISTINCT f.family || '.heartbeat' ORDER BY f.family || '.heartbeat') AS event_types
             FROM gateway.watched_families() f
             JOIN platform.website x ON x.tenant = f.tenant AND x.site = f.site
             LEFT JOIN gateway.journal_head h ON h.tenant = f.tenant AND h.site = f.site
            WHERE coalesce((h.last_at ->> f.family)::numeric NOT BETWEEN moment - silence AND moment + silence, true)
              AND NOT EXISTS (SELECT FROM gateway.family_hold o WHERE o.tenant = f.tenant AND o.site = f.site AND o.family = f.family)
            GROUP BY f.tenant, f.site ORDER BY f.tenant, f.site LIMIT n LOOP
    -- As above. Whoever holds it is about to append, or is waited for in the next round.
    PERFORM FROM gateway.journal_head h WHERE h.tenant = w.tenant AND h.site = w.site FOR NO KEY UPDATE SKIP LOCKED;
    CONTINUE WHEN NOT FOUND AND EXISTS (SELECT FROM gateway.journal_head h WHERE h.tenant = w.tenant AND h.site = w.site);
    PERFORM gateway.append_receipts(w.tenant, w.site, w.event_types);
    total := total + 1;
  END LOOP;
  RETURN total;
END $$;
