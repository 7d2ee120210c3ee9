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
