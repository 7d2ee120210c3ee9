-- The sums of audit records are found by their hour, too. PostgreSQL before version 18 read all sums, of three months by default,
-- to sum an hour or to clear a day. A large table gets its index later (0017_indexes.sql). As in 0047: if the table is not free
-- soon, the migration gives up, and the gateway tries again.
SELECT set_config('lock_timeout', '400ms', true);
SELECT gateway.want_index('gateway.audit_hour', 'audit_hour_hour', '(hour)');
UPDATE gateway.wanted_index SET searched = false WHERE name = 'audit_hour_hour';

-- As in 0028, but it leaves chains and sums to gateway.clear_audit. It deleted them while it held the lock of the partitions,
-- for which every write waits.
CREATE OR REPLACE FUNCTION gateway.drop_audit(p_days integer) RETURNS integer LANGUAGE plpgsql SET lock_timeout = '20ms' AS $$
DECLARE
  today CONSTANT date := (now() AT TIME ZONE 'UTC')::date;
  oldest CONSTANT date := (
    SELECT min(CASE WHEN c.relname ~ '^audit_[0-9]{8}$' THEN to_date(substr(c.relname, 7), 'YYYYMMDD') END)
      FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = 'gateway.audit'::regclass);
BEGIN
  IF oldest IS NULL OR oldest >= today - p_days
     OR NOT EXISTS (SELECT FROM gateway.audit_chain WHERE day BETWEEN today - 2 AND today)
     OR NOT pg_try_advisory_xact_lock(hashtextextended('gateway.audit partitions', 0)) THEN
    RETURN 0;
  END IF;
  -- Another process may have dropped it meanwhile.
  EXECUTE format('DROP TABLE IF EXISTS gateway.%I, gateway.%I, gateway.%I', 'audit_' || to_char(oldest, 'YYYYMMDD'),
                 'audit_block_' || to_char(oldest, 'YYYYMMDD'), 'audit_target_' || to_char(oldest, 'YYYYMMDD'));
  RETURN 1;
EXCEPTION WHEN lock_not_available THEN RETURN 0;
END $$;

-- Deletes the chains of dropped days, and at most n of their sums. Returns the number of these sums. A day is dropped if it is
-- older than p_days days and before all partitions. So a wrong clock alone deletes nothing.
CREATE FUNCTION gateway.clear_audit(p_days integer, n integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  oldest CONSTANT date := (
    SELECT min(CASE WHEN c.relname ~ '^audit_[0-9]{8}$' THEN to_date(substr(c.relname, 7), 'YYYYMMDD') END)
      FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = 'gateway.audit'::regclass);
  kept CONSTANT date := least(oldest, (now() AT TIME ZONE 'UTC')::date - p_days);
  cleared integer;
BEGIN
  IF oldest IS NULL THEN RETURN 0; END IF;
  DELETE FROM gateway.audit_chain WHERE day < kept;
  DELETE FROM gateway.audit_hour WHERE ctid = ANY (ARRAY(
    SELECT h.ctid FROM gateway.audit_hour h WHERE h.hour < kept::timestamp AT TIME ZONE 'UTC' ORDER BY h.hour LIMIT n));
  GET DIAGNOSTICS cleared = ROW_COUNT;
  RETURN cleared;
END $$;
