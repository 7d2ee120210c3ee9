-- Defects that a review of 30 November 2026 found.
SELECT set_config('lock_timeout', '400ms', true);

-- A number of a note has 31 bits. The third leap of 1e9 passed the last number, and no note could be stored any more. A leap
-- now takes a sixteenth of the numbers that are left. A counter that is too far goes back, but not to a number in use.
CREATE OR REPLACE FUNCTION gateway.leap_organization(p_tenant bigint, p_leap bigint, p_kinds text[], p_types text[]) RETURNS integer
LANGUAGE plpgsql AS $$
DECLARE
  h record;
  last bigint;
  websites integer := 0;
  notes CONSTANT bigint := 2147483647;
BEGIN
  -- The numbers of the organization come first. So a website that is added meanwhile gets a number that no lost website
  -- had.
  INSERT INTO platform.native_id AS n (tenant, site, kind, last)
  SELECT p_tenant, 0, k, p_leap FROM unnest(ARRAY['operator', 'website']) AS k
  ON CONFLICT (tenant, site, kind) DO UPDATE SET last = n.last + excluded.last;
  INSERT INTO gateway.journal_head (tenant, site, position)
  SELECT w.tenant, w.site, 0 FROM platform.website w
   WHERE w.tenant = p_tenant AND NOT EXISTS (SELECT FROM gateway.journal_head x WHERE x.tenant = w.tenant AND x.site = w.site)
  ON CONFLICT DO NOTHING;
  INSERT INTO platform.native_id AS n (tenant, site, kind, last)
  SELECT w.tenant, w.site, k, CASE k WHEN 'note' THEN least(p_leap, notes / 16) ELSE p_leap END
    FROM gateway.journal_head x JOIN platform.website w ON w.tenant = x.tenant AND w.site = x.site CROSS JOIN unnest(p_kinds) AS k
   WHERE x.tenant = p_tenant
  ON CONFLICT (tenant, site, kind) DO UPDATE SET last = n.last +
    CASE n.kind WHEN 'note' THEN least(p_leap, greatest(notes - n.last, 0) / 16) ELSE p_leap END;
  -- Locks counter rows in the same order as every writer. The counter rows of removed websites are also moved.
  FOR h IN SELECT x.site, w.site IS NOT NULL AS stands
             FROM gateway.journal_head x LEFT JOIN platform.website w ON w.tenant = x.tenant AND w.site = x.site
            WHERE x.tenant = p_tenant ORDER BY x.site LOOP
    UPDATE gateway.journal_head x SET position = x.position + p_leap, trimmed = x.position + p_leap
     WHERE x.tenant = p_tenant AND x.site = h.site RETURNING x.position INTO last;
    DELETE FROM gateway.journal j WHERE j.tenant = p_tenant AND j.site = h.site AND j.position <= last;
    IF h.stands THEN
      PERFORM gateway.append_receipts(p_tenant, h.site, p_types);
      websites := websites + 1;
    END IF;
  END LOOP;
  RETURN websites;
END $$;
SELECT set_config('gateway.machine', 'on', true);
UPDATE platform.native_id n
   SET last = m.most + (2147483647 - m.most) / 16
  FROM (SELECT x.tenant, x.site,
               coalesce((SELECT max(t.id) FROM platform.note t WHERE t.tenant = x.tenant AND t.site = x.site), 0) AS most
          FROM platform.native_id x WHERE x.kind = 'note' AND x.last > 2000000000) m
 WHERE n.tenant = m.tenant AND n.site = m.site AND n.kind = 'note' AND (m.most < 2000000000 OR n.last > 2147483647);
SELECT set_config('gateway.machine', '', true);

-- A disposition moves `updated_at`, as each other change does. Otherwise `if_updated_at` does not see it when the time of the
-- conversation lies ahead.
CREATE OR REPLACE FUNCTION platform.set_dispositions(
  p_tenant bigint, p_site bigint, p_ids text[], p_authors platform.operator[], p_commands jsonb[]
) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
  command jsonb;
  n integer;
  changed timestamptz;
  answers text[] := '{}';
BEGIN
  -- The commands run in the order of their conversation ids, so that two batches do not deadlock.
  FOR command, n IN
    SELECT t.command, t.n FROM unnest(p_commands) WITH ORDINALITY AS t (command, n)
     ORDER BY (t.command ->> 'conversation')::bigint, t.n
  LOOP
    IF (p_authors[n]).id IS NULL THEN
      answers[n] := '{"refused": "enrollment_unavailable"}';
    ELSIF EXISTS (SELECT 1 FROM platform.website w WHERE w.tenant = p_tenant AND w.site = p_site AND w.crm_integrated)
       OR NOT EXISTS (SELECT 1 FROM platform.disposition d WHERE d.tenant = p_tenant AND d.site = p_site
                       AND d.value = command ->> 'disposition' AND d.enabled) THEN
      answers[n] := '{"rejected": "operation_conflict"}';
    ELSE
      UPDATE platform.conversation c
         SET disposition = command ->> 'disposition', updated_at = platform.next_change(c.updated_at)
       WHERE c.tenant = p_tenant AND c.site = p_site AND c.id = (command ->> 'conversation')::bigint
      RETURNING c.updated_at INTO changed;
      answers[n] := CASE WHEN FOUND
        THEN json_build_object('done', json_build_object('updated_at', changed::text))::text
        ELSE '{"refused": "not_found"}' END;
    END IF;
  END LOOP;
  RETURN answers;
END $$;

CREATE OR REPLACE FUNCTION gateway.write_back_disposition(p_id text, p_value text) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  w gateway.write_back;
  capture text := coalesce(current_setting('gateway.capture', true), '');
BEGIN
  SELECT * INTO w FROM gateway.write_back b WHERE b.operation_id = p_id;
  IF NOT FOUND THEN RETURN NULL; END IF;
  PERFORM FROM gateway.source s WHERE s.id = w.source FOR NO KEY UPDATE;
  PERFORM set_config('gateway.capture', 'off', true);
  UPDATE platform.conversation c
     SET disposition = p_value, updated_at = platform.next_change(c.updated_at)
   WHERE c.tenant = w.tenant AND c.site = w.site AND c.id = w.record AND c.disposition IS DISTINCT FROM p_value
     AND EXISTS (SELECT FROM platform.disposition d WHERE d.tenant = w.tenant AND d.site = w.site AND d.value = p_value);
  PERFORM set_config('gateway.capture', capture, true);
  UPDATE gateway.write_back b SET busy_until = NULL WHERE b.operation_id = p_id AND b.busy_until IS NOT NULL;
  RETURN '{}';
END $$;

-- A run can write hours after it has read. Its start tells which changes of the gateway can be newer than its records.
LOCK TABLE gateway.import_run IN SHARE UPDATE EXCLUSIVE MODE;
ALTER TABLE gateway.import_run ADD COLUMN began timestamptz;

-- Appends what this run owes (null: none) and what lost runs have left, in one order of websites. If each slot
-- were settled in turn, another writer that locks the same two journals could end in a deadlock. Returns the number of receipts.
CREATE FUNCTION gateway.settle_imports(p_own integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  slots integer[];
  owed record;
  total integer := 0;
BEGIN
  IF NOT EXISTS (SELECT FROM gateway.import_owed) THEN RETURN 0; END IF;
  slots := ARRAY(SELECT r.slot FROM gateway.import_run r
                  WHERE r.slot IS DISTINCT FROM p_own AND NOT gateway.import_alive(r)
                    AND EXISTS (SELECT FROM gateway.import_owed o WHERE o.slot = r.slot)
                  ORDER BY r.slot FOR UPDATE SKIP LOCKED);
  FOR owed IN
    WITH due AS (
      DELETE FROM gateway.import_owed o WHERE o.slot = p_own OR o.slot = ANY (slots) RETURNING o.tenant, o.site, o.event_type
    )
    SELECT d.tenant, d.site, array_agg(DISTINCT d.event_type ORDER BY d.event_type) AS event_types FROM due d
     WHERE d.event_type NOT LIKE '%.snapshot'
        OR EXISTS (SELECT 1 FROM platform.website w WHERE w.tenant = d.tenant AND w.site = d.site)
     GROUP BY d.tenant, d.site ORDER BY d.tenant, d.site
  LOOP
    PERFORM gateway.append_receipts(owed.tenant, owed.site, owed.event_types);
    total := total + cardinality(owed.event_types);
  END LOOP;
  RETURN total;
END $$;

CREATE OR REPLACE FUNCTION gateway.settle_abandoned_import() RETURNS integer LANGUAGE sql AS $$
  SELECT gateway.settle_imports(NULL)
$$;

CREATE OR REPLACE FUNCTION gateway.import_begin(p_slot integer, p_epoch bigint, p_sources jsonb, p_organization text, p_snapshots boolean)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  filled boolean;
BEGIN
  PERFORM gateway.import_fence(p_slot, p_epoch);
  PERFORM gateway.settle_imports(p_slot);
  -- Skip the TRUNCATE of empty tables. This TRUNCATE would still cost 10 ms (21 November 2026).
  EXECUTE format('SELECT EXISTS (SELECT FROM gateway.import_stage_%1$s) OR EXISTS (SELECT FROM gateway.import_chunk_%1$s)
    OR EXISTS (SELECT FROM gateway.import_plan_%1$s)', p_slot) INTO filled;
  IF filled THEN PERFORM gateway.import_empty(p_slot); END IF;
  EXECUTE format('SELECT EXISTS (SELECT FROM gateway.import_reject_%s)', p_slot) INTO filled;
  IF filled THEN EXECUTE format('TRUNCATE gateway.import_reject_%s', p_slot); END IF;
  DELETE FROM gateway.import_tally WHERE slot = p_slot;
  DELETE FROM gateway.import_step WHERE slot = p_slot;
  UPDATE gateway.import_run
     SET unfinished = true, sources = p_sources, organization = p_organization, snapshots = p_snapshots, staged = false, file = 0,
         byte_offset = 0, line = 0, position = NULL, seq = 0, scope = '{}', names = '{}', spent = '0', waited = '0', answers = 0,
         began = clock_timestamp()
   WHERE slot = p_slot;
END $$;
