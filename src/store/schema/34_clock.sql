-- Times come from PostgreSQL's clock. After a failover to a server whose clock is behind, and after a step of the clock, what
-- was stored lies in the future: a lease of ten seconds would hold for an hour, and nobody could take over from a process
-- that died. Each process calls this function every few seconds (src/gateway/upkeep.ts). What lies further ahead than its
-- longest duration is moved to where a process would store it now. A process that lives renews its leases anyway.
--
-- Two things tell that the clock went back. A bucket of the quota keeps the latest time at which it was used. And a new
-- primary knows when, by the clock of its predecessor, the last transaction that it got was committed. p_mended is the time
-- that the caller has already dealt with. Returns it, or null if it does not lie ahead.
--
-- Rows that a transaction has locked are left out: it is about to write times of its own. So are those of an organization
-- that moves here: the other cell still writes them.
CREATE FUNCTION gateway.mend_clock(p_mended timestamptz) RETURNS timestamptz LANGUAGE plpgsql AS $$
DECLARE
  moment CONSTANT timestamptz := clock_timestamp();
  ahead CONSTANT timestamptz := moment + interval '10 seconds';
  far CONSTANT timestamptz := moment + interval '1 minute';
  replayed CONSTANT timestamptz := CASE WHEN pg_last_xact_replay_timestamp() > ahead THEN pg_last_xact_replay_timestamp() END;
BEGIN
  IF coalesce(replayed = p_mended, replayed IS NULL) AND NOT EXISTS (SELECT FROM gateway.quota q WHERE q.at > ahead) THEN
    RETURN replayed;
  END IF;
  -- One process does it. The others find nothing left.
  IF NOT pg_try_advisory_xact_lock(hashtextextended('gateway.mend_clock', 0)) THEN RETURN p_mended; END IF;
  PERFORM set_config('gateway.machine', 'on', true);
  UPDATE gateway.source s
     SET lease_until = least(s.lease_until, ahead), seen_at = CASE WHEN s.seen_at > moment THEN moment ELSE s.seen_at END,
         retry_at = CASE WHEN s.retry_at < 'infinity' THEN least(s.retry_at, ahead) ELSE s.retry_at END
   WHERE s.id IN (SELECT o.id FROM gateway.source o
                   WHERE (o.lease_until > far OR o.seen_at > ahead OR o.retry_at > far AND o.retry_at < 'infinity') AND gateway.lives_here(o.tenant)
                     FOR NO KEY UPDATE SKIP LOCKED);
  UPDATE gateway.import_run r SET kept_until = least(r.kept_until, moment + interval '2 minutes')
   WHERE r.slot IN (SELECT o.slot FROM gateway.import_run o WHERE o.kept_until > moment + interval '3 minutes'
                       FOR NO KEY UPDATE SKIP LOCKED);
  DELETE FROM gateway.import_wait w
   WHERE w.ctid IN (SELECT o.ctid FROM gateway.import_wait o WHERE o.seen_at > ahead FOR UPDATE SKIP LOCKED);
  UPDATE gateway.task k SET lease_until = ahead
   WHERE k.id IN (SELECT o.id FROM gateway.task o WHERE o.lease_until > far FOR NO KEY UPDATE SKIP LOCKED);
  -- An unknown outcome is looked up every ten minutes at most.
  UPDATE gateway.operation o SET lease_until = ahead
   WHERE o.operation_id IN (SELECT l.operation_id FROM gateway.operation l
                             WHERE l.status <> 'acknowledged' AND l.fingerprint IS NOT NULL AND gateway.lives_here(l.tenant)
                               AND l.lease_until > CASE WHEN l.status = 'pending' THEN far ELSE moment + interval '11 minutes' END
                               FOR NO KEY UPDATE SKIP LOCKED);
  UPDATE gateway.write_back b SET busy_until = ahead
   WHERE b.operation_id IN (SELECT o.operation_id FROM gateway.write_back o WHERE o.busy_until > far AND gateway.lives_here(o.tenant) FOR NO KEY UPDATE SKIP LOCKED);
  -- An attempt that runs, or whose process died, gets a lease from now. A pause is as long as before, and begins now.
  UPDATE gateway.webhook_delivery d
     SET due_at = moment + CASE WHEN d.lease_until IS NOT NULL THEN interval '15 seconds' WHEN d.attempted_at > ahead THEN d.due_at - d.attempted_at
                                WHEN d.created_at > ahead THEN d.due_at - d.created_at ELSE '0' END,
         lease_until = CASE WHEN d.lease_until IS NOT NULL THEN moment + interval '15 seconds' END,
         attempted_at = CASE WHEN d.attempted_at > moment THEN moment ELSE d.attempted_at END, created_at = least(d.created_at, moment)
   WHERE d.id IN (SELECT o.id FROM gateway.webhook_delivery o
                   WHERE o.status = 'pending' AND o.due_at > ahead AND gateway.lives_here(o.tenant)
                     AND (o.lease_until > far OR o.attempted_at > ahead OR o.created_at > ahead
                          OR o.replayed AND o.attempts = o.attempts_before AND o.lease_until IS NULL AND o.due_at > far)
                     FOR NO KEY UPDATE SKIP LOCKED);
  UPDATE gateway.realtime_session s SET held_until = least(s.held_until, far), ticket_expires_at = least(s.ticket_expires_at, far)
   WHERE s.id IN (SELECT o.id FROM gateway.realtime_session o WHERE o.held_until > far OR o.ticket_expires_at > far
                     FOR NO KEY UPDATE SKIP LOCKED);
  UPDATE gateway.sign_in_failure f SET at = moment
   WHERE f.ctid IN (SELECT o.ctid FROM gateway.sign_in_failure o WHERE o.at > ahead FOR NO KEY UPDATE SKIP LOCKED);
  -- Last, because these rows tell that the clock went back. A bucket would get no units until its time has come again.
  UPDATE gateway.quota q SET at = moment, lease_window = 0
   WHERE q.app_id IN (SELECT o.app_id FROM gateway.quota o WHERE o.at > ahead FOR NO KEY UPDATE SKIP LOCKED);
  RETURN replayed;
END $$;
