-- Takes a slot and its lease, as before (0017_sources.sql). Now imports of files and loads of sources leave one slot to the
-- content of files that a followed source brings. Otherwise a source would wait for imports of other organizations.
CREATE OR REPLACE FUNCTION gateway.import_take(p_subject text, p_source text, p_source_epoch bigint, p_loads boolean)
RETURNS TABLE (slot integer, epoch bigint) LANGUAGE plpgsql AS $$
DECLARE
  mine integer;
BEGIN
  -- Two processes with the same subject must not take two slots.
  PERFORM pg_advisory_xact_lock(hashtextextended('gateway.import_take', 0));
  IF EXISTS (SELECT 1 FROM gateway.import_run r WHERE r.subject = p_subject AND gateway.import_alive(r)) THEN RETURN; END IF;
  IF p_loads AND (SELECT count(*) FROM gateway.import_run r WHERE r.loads AND gateway.import_alive(r)) >= 2 THEN RETURN; END IF;
  IF (p_loads OR p_source IS NULL)
     AND (SELECT count(*) FROM gateway.import_run r WHERE (r.loads OR r.source IS NULL) AND gateway.import_alive(r)) >= 3 THEN RETURN; END IF;
  SELECT r.slot INTO mine FROM gateway.import_run r WHERE r.unfinished AND r.subject = p_subject;
  RETURN QUERY WITH free AS (
    SELECT r.slot FROM gateway.import_run r WHERE NOT gateway.import_alive(r) AND r.slot = coalesce(mine, r.slot)
     ORDER BY r.unfinished, r.lease_until, r.slot LIMIT 1 FOR UPDATE SKIP LOCKED
  )
  UPDATE gateway.import_run r
     SET epoch = r.epoch + 1, lease_until = clock_timestamp() + interval '10 seconds', backend = a.pid, backend_start = a.backend_start,
         unfinished = r.unfinished AND r.subject = p_subject, subject = p_subject, scope = '{}', names = '{}',
         source = p_source, source_epoch = p_source_epoch, loads = p_loads
    FROM free, pg_stat_activity a WHERE r.slot = free.slot AND a.pid = pg_backend_pid()
  RETURNING r.slot, r.epoch;
END $$;

-- Writes one page of changes in one transaction: the records, the removals, the rejects and the new position. p_rows has
-- the staged rows. p_refused has the rejects that were found before the page was sent. The commit waits for the disk,
-- because the helpdesk can forget the changes as soon as the page is written. Returns the counts, and as `refused` the rejects
-- that the steps found.
CREATE OR REPLACE FUNCTION gateway.source_page(p_source text, p_epoch bigint, p_position jsonb, p_rows json, p_origins text[],
  p_refused jsonb, p_steps text[]) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  step text;
  outcome jsonb;
  refused jsonb;
BEGIN
  PERFORM gateway.source_fence(p_source, p_epoch);
  IF to_regclass('pg_temp.page_stage') IS NULL THEN
    CREATE TEMPORARY TABLE page_stage (LIKE gateway.import_stage_1 INCLUDING INDEXES) ON COMMIT DELETE ROWS;
    CREATE TEMPORARY TABLE page_plan (LIKE gateway.import_plan_1 INCLUDING INDEXES) ON COMMIT DELETE ROWS;
    CREATE TEMPORARY TABLE page_reject (LIKE gateway.import_reject_1) ON COMMIT DELETE ROWS;
    CREATE TEMPORARY TABLE page_chunk (LIKE gateway.import_chunk_1 INCLUDING INDEXES) ON COMMIT DELETE ROWS;
    CREATE TEMPORARY TABLE page_tally (type text, written bigint, unchanged bigint, removed bigint, rejected bigint) ON COMMIT DELETE ROWS;
  END IF;
  INSERT INTO pg_temp.page_stage (file, type, seq, line, origin, external_id, owner, at, refs, links, data)
  SELECT 0, r.type, r.seq, r.seq, r.origin, r.external_id, r.owner, r.at, r.refs, r.links, r.data
    FROM json_to_recordset(p_rows) AS r (type text, seq bigint, origin text, external_id text, owner text, at timestamptz,
                                         refs text[], links text[], data json);
  FOREACH step IN ARRAY p_steps LOOP
    EXECUTE step;
  END LOOP;
  SELECT coalesce(jsonb_agg(jsonb_build_object('origin', r.origin, 'pointer', r.pointer, 'code', r.code)), '[]')
    INTO refused FROM pg_temp.page_reject r;
  PERFORM gateway.source_rejects(p_source, p_origins, p_refused || refused);
  SELECT jsonb_build_object('written', coalesce(sum(t.written), 0), 'unchanged', coalesce(sum(t.unchanged), 0),
                            'removed', coalesce(sum(t.removed), 0), 'rejected', coalesce(sum(t.rejected), 0),
                            'refused', refused)
    INTO outcome FROM pg_temp.page_tally t;
  UPDATE gateway.source
     SET position = coalesce(p_position, position), written = written + (outcome->>'written')::bigint,
         removed = removed + (outcome->>'removed')::bigint
   WHERE id = p_source;
  RETURN outcome;
END $$;
