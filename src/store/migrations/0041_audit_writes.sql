-- As in 0028. Only a statement with a reserved command looks for the row of this command in the ledger. A connection that
-- planned this search while the ledger was empty reads all of it each time: 0.3 of 0.6 ms of PostgreSQL's execution time a
-- note with 6,000 rows, 0.5 of 1.0 ms with 10,000 (28 November 2026).
CREATE OR REPLACE FUNCTION gateway.audit_writes(p_entries json, p_drafts jsonb, p_again boolean) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  moment CONSTANT timestamptz := date_trunc('milliseconds', clock_timestamp());
  took CONSTANT float8 := extract(epoch FROM moment - statement_timestamp()) * 1000;
BEGIN
  PERFORM gateway.prepare_audit_day((moment AT TIME ZONE 'UTC')::date);
  INSERT INTO gateway.audit
  SELECT r.*
    FROM ROWS FROM (json_array_elements(p_entries), jsonb_array_elements(p_drafts)) AS d (entry, draft)
   CROSS JOIN LATERAL jsonb_populate_record(NULL::gateway.audit, d.draft || jsonb_build_object(
           'time', moment, 'duration_ms', round(((d.draft ->> 'duration_ms')::float8 + greatest(took, 0))::numeric, 1))
           || CASE WHEN d.entry ->> 'state' = 'asked' THEN '{"status": 202}'
                WHEN d.entry -> 'outcome' ->> 'rejected' IS NULL THEN '{}' ELSE jsonb_build_object(
                'outcome', d.entry -> 'outcome' ->> 'rejected', 'status', 409) END) r
   WHERE d.draft <> 'null' AND d.entry ->> 'state' IN ('new', 'asked') AND d.entry -> 'outcome' ->> 'refused' IS NULL
     AND NOT (p_again AND EXISTS (SELECT FROM gateway.audit a WHERE a.seq IS NULL AND a.time > moment - interval '1 minute'
                                     AND a.id = (d.draft ->> 'id')::uuid));
  IF p_entries::text LIKE '%"asked"%' THEN
    UPDATE gateway.approval a
       SET surface = d.draft ->> 'surface', client_name = d.draft ->> 'client_name', client_version = d.draft ->> 'client_version'
      FROM ROWS FROM (json_array_elements(p_entries), jsonb_array_elements(p_drafts)) AS d (entry, draft)
     WHERE d.entry ->> 'state' = 'asked' AND d.draft <> 'null' AND a.operation_id = d.draft ->> 'operation_id';
  END IF;
  IF p_entries::text LIKE '%"reserved"%' THEN
    UPDATE gateway.operation o SET audit = d.draft
      FROM ROWS FROM (json_array_elements(p_entries), jsonb_array_elements(p_drafts)) AS d (entry, draft)
     WHERE d.entry ->> 'state' = 'reserved' AND d.draft <> 'null' AND o.operation_id = d.draft ->> 'operation_id'
       AND o.status = 'pending' AND o.audit IS NULL;
  END IF;
  RETURN p_entries;
EXCEPTION
  -- PostgreSQL has undone the whole statement, so the caller repeats it.
  WHEN deadlock_detected OR serialization_failure THEN RAISE;
  WHEN OTHERS THEN RAISE EXCEPTION 'the audit record could not be written: %', SQLERRM USING ERRCODE = 'GW503';
END $$;
