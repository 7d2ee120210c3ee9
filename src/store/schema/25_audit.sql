-- The audit records: one for each call of a tool whose credential is known, for each page that a person opens, and for
-- each change by the command line. A record has no content. Its arguments are only a keyed digest.
--
-- The columns with ids are no foreign keys, because a record outlives what it names. Each UTC day has a partition
-- (gateway.prepare_audit), and old days are dropped as a whole.
CREATE TABLE gateway.audit (
  time timestamptz NOT NULL,                           -- the end of the call, in whole milliseconds
  id uuid NOT NULL DEFAULT gen_random_uuid(),
  organization_id text NOT NULL,
  website_id text,
  app_id text, installation_id text, credential_id text,  -- null on the surfaces page and cli
  person_id text,                                      -- who gave the consent, or opened the page
  client_name text, client_version text,               -- as the client told them
  address text,
  surface text NOT NULL CHECK (surface IN ('rest', 'mcp', 'a2a', 'page', 'cli')),
  operation text NOT NULL,
  targets text[] NOT NULL DEFAULT '{}',                -- ids of records that the call names or that answered singly
  count integer,                                       -- the records of a list, or of a loss
  outcome text NOT NULL,                               -- ok, or the code of the failure
  status smallint NOT NULL,
  units integer NOT NULL,
  duration_ms real NOT NULL,
  request_id text, trace_id text,
  input_digest bytea CHECK (length(input_digest) = 32),
  operation_id text,
  replayed boolean NOT NULL DEFAULT false,
  -- The chain of one process and one day. `digest` is the HMAC of `previous` and the record. Null until the process has
  -- sealed a record that was written within the transaction of a write.
  writer uuid, seq bigint, kid text, previous bytea, digest bytea,
  -- Of the record of a write until it is sealed: an HMAC that shows that a process of the gateway has made it.
  mark text,
  CONSTRAINT audit_sealed_check CHECK (num_nulls(writer, seq, kid, previous, digest) IN (0, 5)),
  -- An array with other bounds or dimensions would give the same text to the chain, but `targets[1]` would not find it.
  CONSTRAINT audit_form_check CHECK (time = date_trunc('milliseconds', time, 'UTC') AND (targets = '{}' OR (
    array_ndims(targets) = 1 AND array_lower(targets, 1) = 1 AND array_position(targets, NULL) IS NULL)))
) PARTITION BY RANGE (time);
CREATE INDEX audit_organization ON gateway.audit (organization_id, time DESC, id DESC);
CREATE INDEX audit_credential ON gateway.audit (credential_id, time DESC, id DESC) WHERE credential_id IS NOT NULL;
CREATE INDEX audit_person ON gateway.audit (person_id, time DESC, id DESC) WHERE person_id IS NOT NULL;
-- The first three targets of a record. Each index includes the array: without it, PostgreSQL would read the rows, too.
CREATE INDEX audit_target_1 ON gateway.audit ((targets[1]), credential_id, time DESC, id DESC) INCLUDE (targets, person_id, outcome)
  WHERE targets[1] IS NOT NULL;
CREATE INDEX audit_target_2 ON gateway.audit ((targets[2]), credential_id, time DESC, id DESC) INCLUDE (targets, person_id, outcome)
  WHERE targets[2] IS NOT NULL;
CREATE INDEX audit_target_3 ON gateway.audit ((targets[3]), credential_id, time DESC, id DESC) INCLUDE (targets, person_id, outcome)
  WHERE targets[3] IS NOT NULL;
CREATE INDEX audit_unsealed ON gateway.audit (time) WHERE seq IS NULL;

-- Records of reads that one caller made within one second, as a process sends them: many records cost PostgreSQL little
-- more than one row of gateway.audit. `records` is a literal of gateway.audit_entry[], and the text that the chain covers.
-- Record n of `calls` has the id of the block with its last four digits replaced by n, and the place seq - calls + n.
CREATE TABLE gateway.audit_block (
  time timestamptz NOT NULL CHECK (time = date_trunc('second', time, 'UTC')),
  id uuid NOT NULL,
  calls integer NOT NULL CHECK (calls BETWEEN 1 AND 65535),
  organization_id text NOT NULL, app_id text, installation_id text, credential_id text NOT NULL, person_id text,
  client_name text, client_version text, address text, surface text NOT NULL,
  named integer NOT NULL,                              -- its rows of gateway.audit_target
  records text NOT NULL,
  writer uuid NOT NULL, seq bigint NOT NULL, kid text NOT NULL, previous bytea NOT NULL, digest bytea NOT NULL
) PARTITION BY RANGE (time);
CREATE INDEX audit_block_organization ON gateway.audit_block (organization_id, time DESC);
CREATE INDEX audit_block_credential ON gateway.audit_block (credential_id, time DESC, id);
CREATE INDEX audit_block_person ON gateway.audit_block (person_id, time DESC) WHERE person_id IS NOT NULL;

-- A record of a block without the members that the block has. `ms` is the rest of its time. The type never changes.
CREATE TYPE gateway.audit_entry AS (
  ms smallint, website_id text, operation text, targets text[], count integer, outcome text, status smallint, units integer,
  duration_ms real, request_id text, trace_id text, input_digest bytea
);

-- The targets of a block: how many of its records name one, how many of these failed, and the first and last of them.
CREATE TABLE gateway.audit_target (
  time timestamptz NOT NULL,                           -- of the block
  block uuid NOT NULL,
  target text NOT NULL, credential_id text NOT NULL, person_id text,
  calls integer NOT NULL, failed integer NOT NULL, first_ms smallint NOT NULL, last_ms smallint NOT NULL
) PARTITION BY RANGE (time);
-- Like the indexes of the targets of gateway.audit, it includes what gateway.audit_naming answers.
CREATE INDEX audit_target_named ON gateway.audit_target (target, credential_id, time DESC)
  INCLUDE (block, person_id, calls, failed, first_ms, last_ms);

-- The last record of each chain. A removed end of a chain would not be noticed without it.
CREATE TABLE gateway.audit_chain (
  writer uuid NOT NULL, day date NOT NULL,
  seq bigint NOT NULL, kid text NOT NULL, digest bytea NOT NULL,
  PRIMARY KEY (writer, day)
);

-- Sums of the audit records, for overviews. `buckets` counts durations: element 1 those up to 1 ms, element n those up to
-- 2^((n-1)/2) ms, and the last element (33) all that are longer.
CREATE TABLE gateway.audit_hour (
  organization_id text NOT NULL, hour timestamptz NOT NULL,
  app_id text NOT NULL,                                -- '' for pages and the command line
  surface text NOT NULL, operation text NOT NULL, outcome text NOT NULL,
  calls bigint NOT NULL, units bigint NOT NULL, buckets bigint[] NOT NULL,
  PRIMARY KEY (organization_id, hour, app_id, surface, operation, outcome)
);
-- Without this index, PostgreSQL before version 18 read all sums, of three months by default, to sum an hour or to clear a day.
SELECT gateway.want_index('gateway.audit_hour', 'audit_hour_hour', '(hour)');
UPDATE gateway.wanted_index SET searched = false WHERE name = 'audit_hour_hour';

-- Creates the partitions of a UTC day if they are missing. ATTACH blocks neither readers nor writers of the other days, as
-- CREATE TABLE … PARTITION OF would.
CREATE FUNCTION gateway.prepare_audit_day(p_day date) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  parent text;
  part text;
BEGIN
  FOREACH parent IN ARRAY ARRAY['audit', 'audit_block', 'audit_target'] LOOP
    part := parent || to_char(p_day, '_YYYYMMDD');
    -- A table of this name that is no partition does not count. The statement below then fails.
    CONTINUE WHEN EXISTS (SELECT FROM pg_inherits i WHERE i.inhparent = ('gateway.' || parent)::regclass
                             AND i.inhrelid = to_regclass('gateway.' || part));
    PERFORM pg_advisory_xact_lock(hashtextextended('gateway.audit partitions', 0));
    -- Another process may have created it meanwhile. Only a query is sure to see that, because to_regclass can remember
    -- that there was none.
    CONTINUE WHEN EXISTS (SELECT FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
                           WHERE i.inhparent = ('gateway.' || parent)::regclass AND c.relname = part);
    EXECUTE format('CREATE TABLE gateway.%I (LIKE gateway.%I INCLUDING ALL)', part, parent);
    EXECUTE format('ALTER TABLE gateway.%I ATTACH PARTITION gateway.%I FOR VALUES FROM (%L) TO (%L)',
                   parent, part, p_day::timestamp AT TIME ZONE 'UTC', (p_day + 1)::timestamp AT TIME ZONE 'UTC');
  END LOOP;
END $$;

-- Creates the partitions of today, of the day before and of the next p_ahead days. Returns the time in Unix milliseconds.
CREATE FUNCTION gateway.prepare_audit(p_ahead integer) RETURNS float8 LANGUAGE plpgsql AS $$
DECLARE
  today CONSTANT date := (now() AT TIME ZONE 'UTC')::date;
BEGIN
  FOR i IN -1 .. p_ahead LOOP PERFORM gateway.prepare_audit_day(today + i); END LOOP;
  RETURN extract(epoch FROM clock_timestamp()) * 1000;
END $$;

-- Drops the partitions of the oldest day, if that is over for more than p_days days, and returns 1. Dropping a partition
-- locks the whole table, and all inserts wait behind it. So a later call drops it if the table is in use for longer than
-- 20 ms. A clock that is wrong must not end all records: one call drops one day, and none if the newest chain is
-- more than two days old. Chains and sums are left to gateway.clear_audit, because every write waits for this lock.
CREATE FUNCTION gateway.drop_audit(p_days integer) RETURNS integer LANGUAGE plpgsql SET lock_timeout = '20ms' AS $$
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

-- A record as a process sends it. PostgreSQL reads this form in less than half of the time that JSON takes. The columns
-- of gateway.audit may grow, but this type never changes, so that an older version can serve.
CREATE TYPE gateway.audit_row AS (
  time timestamptz, id uuid, organization_id text, website_id text, app_id text, installation_id text, credential_id text,
  person_id text, client_name text, client_version text, address text, surface text, operation text, targets text[],
  count integer, outcome text, status smallint, units integer, duration_ms real, request_id text, trace_id text,
  input_digest bytea, operation_id text, replayed boolean, writer uuid, seq bigint, kid text, previous bytea, digest bytea
);

-- Appends records and blocks of records with their places in the chains of one process, seals records that writes have
-- inserted, and adds to the sums. p_named has the targets of the blocks, each with the id of its block.
-- A head names the last place before and after. If the head is already there, an earlier attempt has done everything, and
-- its reply was lost. Returns the time in Unix milliseconds.
CREATE FUNCTION gateway.append_audit(
  p_writer uuid, p_heads json, p_records gateway.audit_row[], p_blocks json, p_named json, p_seals json, p_sums json
) RETURNS float8 LANGUAGE plpgsql AS $$
DECLARE
  head record;
  sealed integer;
BEGIN
  FOR head IN
    SELECT * FROM json_to_recordset(p_heads) AS h (day date, before bigint, seq bigint, kid text, digest bytea)
  LOOP
    PERFORM gateway.prepare_audit_day(head.day);
    -- Only the first record of a chain brings the head. A head that is gone is not replaced: a new chain begins.
    IF head.before = 0 THEN
      INSERT INTO gateway.audit_chain (writer, day, seq, kid, digest)
      VALUES (p_writer, head.day, head.seq, head.kid, head.digest) ON CONFLICT (writer, day) DO NOTHING;
    ELSE
      UPDATE gateway.audit_chain c SET seq = head.seq, kid = head.kid, digest = head.digest
       WHERE c.writer = p_writer AND c.day = head.day AND c.seq = head.before;
    END IF;
    IF NOT FOUND THEN
      IF EXISTS (SELECT FROM gateway.audit_chain c
                  WHERE c.writer = p_writer AND c.day = head.day AND c.seq = head.seq AND c.digest = head.digest) THEN
        RETURN extract(epoch FROM clock_timestamp()) * 1000;
      END IF;
      RAISE EXCEPTION 'the chain of this process has another end' USING ERRCODE = 'GW500';
    END IF;
  END LOOP;
  INSERT INTO gateway.audit (
    time, id, organization_id, website_id, app_id, installation_id, credential_id, person_id, client_name, client_version,
    address, surface, operation, targets, count, outcome, status, units, duration_ms, request_id, trace_id, input_digest,
    operation_id, replayed, writer, seq, kid, previous, digest)
  SELECT r.* FROM unnest(p_records) AS r;
  -- The targets are columns in place of rows, because PostgreSQL reads these arrays faster.
  WITH b AS (
    INSERT INTO gateway.audit_block (
      time, id, calls, organization_id, app_id, installation_id, credential_id, person_id, client_name, client_version, address,
      surface, named, records, writer, seq, kid, previous, digest)
    SELECT b.time, b.id, b.calls, b.organization_id, b.app_id, b.installation_id, b.credential_id, b.person_id, b.client_name,
           b.client_version, b.address, b.surface, b.named, b.records, p_writer, b.seq, b.kid, b.previous, b.digest
      FROM json_populate_recordset(NULL::gateway.audit_block, p_blocks) AS b
    RETURNING time, id, credential_id, person_id)
  INSERT INTO gateway.audit_target (time, block, target, credential_id, person_id, calls, failed, first_ms, last_ms)
  SELECT b.time, b.id, n.target, b.credential_id, b.person_id, n.calls, n.failed, n.first_ms, n.last_ms
    FROM json_to_record(p_named) AS c (block uuid[], target text[], calls integer[], failed integer[], first_ms smallint[],
                                       last_ms smallint[])
   CROSS JOIN LATERAL unnest(c.block, c.target, c.calls, c.failed, c.first_ms, c.last_ms)
           AS n (block, target, calls, failed, first_ms, last_ms)
    JOIN b ON b.id = n.block;
  IF json_array_length(p_seals) > 0 THEN
    UPDATE gateway.audit a
       SET writer = p_writer, seq = s.seq, kid = s.kid, previous = s.previous, digest = s.digest, mark = NULL
      FROM json_to_recordset(p_seals) AS s (time timestamptz, id uuid, seq bigint, kid text, previous bytea, digest bytea)
     WHERE a.time = s.time AND a.id = s.id AND a.seq IS NULL;
    GET DIAGNOSTICS sealed = ROW_COUNT;
    IF sealed <> json_array_length(p_seals) THEN
      RAISE EXCEPTION 'another process has sealed a record' USING ERRCODE = 'GW409';
    END IF;
  END IF;
  -- Each process takes the locks of the sums in the same order.
  INSERT INTO gateway.audit_hour AS h (organization_id, hour, app_id, surface, operation, outcome, calls, units, buckets)
  SELECT s.* FROM json_to_recordset(p_sums) AS s (organization_id text, hour timestamptz, app_id text, surface text,
                                                   operation text, outcome text, calls bigint, units bigint, buckets bigint[])
   ORDER BY 1, 2, 3, 4, 5, 6
  ON CONFLICT (organization_id, hour, app_id, surface, operation, outcome) DO UPDATE
     SET calls = h.calls + excluded.calls, units = h.units + excluded.units,
         buckets = ARRAY(SELECT b.kept + b.more FROM unnest(h.buckets, excluded.buckets) WITH ORDINALITY AS b (kept, more, n)
                          ORDER BY b.n);
  RETURN extract(epoch FROM clock_timestamp()) * 1000;
END $$;

-- The records of a block, as rows.
CREATE FUNCTION gateway.audit_expand(b gateway.audit_block) RETURNS SETOF gateway.audit LANGUAGE sql STABLE AS $$
  SELECT b.time + e.ms * interval '1 millisecond', (left(b.id::text, 32) || lpad(to_hex(e.n), 4, '0'))::uuid,
         b.organization_id, e.website_id, b.app_id, b.installation_id, b.credential_id, b.person_id, b.client_name,
         b.client_version, b.address, b.surface, e.operation, e.targets, e.count, e.outcome, e.status, e.units, e.duration_ms,
         e.request_id, e.trace_id, e.input_digest, NULL::text, false, b.writer, b.seq - b.calls + e.n, b.kid, b.previous,
         b.digest, NULL::text
    FROM unnest(b.records::gateway.audit_entry[]) WITH ORDINALITY AS e (
           ms, website_id, operation, targets, count, outcome, status, units, duration_ms, request_id, trace_id, input_digest, n)
$$;

-- All records, for whoever looks at them by hand. The gateway itself reads as 28_audit_reading.sql says.
CREATE VIEW gateway.audit_record AS
SELECT * FROM gateway.audit UNION ALL SELECT e.* FROM gateway.audit_block b CROSS JOIN LATERAL gateway.audit_expand(b) e;

-- Inserts the records of the writes of a statement, within its transaction. A record and the effect commit together or
-- not at all. p_entries are the ledger's answers in the order of p_drafts, which are the records without their end (null:
-- none). A command that another system performs keeps its draft until its outcome is stored. p_again: an earlier attempt
-- of this statement may have committed. If the record cannot be written, the write fails with GW503. The record of a
-- request for an approval has status 202, and the approval (30_approvals.sql) notes how the request came.
--
-- Only a statement with a reserved command looks for the row of this command in the ledger. A connection that
-- planned this search while the ledger was empty reads all of it each time: 0.3 of 0.6 ms of PostgreSQL's execution time a
-- note with 6,000 rows, 0.5 of 1.0 ms with 10,000 (28 November 2026).
CREATE FUNCTION gateway.audit_writes(p_entries json, p_drafts jsonb, p_again boolean) RETURNS json LANGUAGE plpgsql AS $$
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

-- Like settle_operation. Inserts the record of the write, too, if the command has one and is now acknowledged.
CREATE FUNCTION gateway.settle_audited(
  p_id text, p_epoch integer, p_attempt uuid, p_outcome json, p_receipts text[]
) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  draft jsonb;
  settled boolean;
BEGIN
  SELECT audit INTO draft FROM gateway.operation WHERE operation_id = p_id FOR UPDATE;
  settled := gateway.settle_operation(p_id, p_epoch, p_attempt, p_outcome, p_receipts);
  IF settled AND draft IS NOT NULL AND p_outcome IS NOT NULL THEN
    UPDATE gateway.operation SET audit = NULL WHERE operation_id = p_id AND status = 'acknowledged' AND audit IS NOT NULL;
    IF FOUND THEN
      PERFORM gateway.audit_writes(json_build_array(json_build_object('state', 'new', 'outcome', p_outcome)),
                                   jsonb_build_array(draft), false);
    END IF;
  END IF;
  RETURN settled;
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
