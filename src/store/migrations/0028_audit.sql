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
  targets text[] NOT NULL DEFAULT '{}' CHECK (cardinality(targets) <= 3),  -- ids that the call names or that answered singly
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
  CONSTRAINT audit_sealed_check CHECK (num_nulls(writer, seq, kid, previous, digest) IN (0, 5))
) PARTITION BY RANGE (time);
CREATE INDEX audit_organization ON gateway.audit (organization_id, time DESC, id DESC);
CREATE INDEX audit_credential ON gateway.audit (credential_id, time DESC, id DESC) WHERE credential_id IS NOT NULL;
CREATE INDEX audit_person ON gateway.audit (person_id, time DESC, id DESC) WHERE person_id IS NOT NULL;
-- Each includes its own array. Without the array, PostgreSQL would not answer from an index on an expression alone.
CREATE INDEX audit_target_1 ON gateway.audit ((targets[1]), credential_id, time DESC, id DESC) INCLUDE (targets, person_id, outcome)
  WHERE targets[1] IS NOT NULL;
CREATE INDEX audit_target_2 ON gateway.audit ((targets[2]), credential_id, time DESC, id DESC) INCLUDE (targets, person_id, outcome)
  WHERE targets[2] IS NOT NULL;
CREATE INDEX audit_target_3 ON gateway.audit ((targets[3]), credential_id, time DESC, id DESC) INCLUDE (targets, person_id, outcome)
  WHERE targets[3] IS NOT NULL;
CREATE INDEX audit_unsealed ON gateway.audit (time) WHERE seq IS NULL;

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

-- Creates the partitions of today, of the day before and of the next p_ahead days. Days are those of UTC.
CREATE FUNCTION gateway.prepare_audit(p_ahead integer) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  today CONSTANT date := (now() AT TIME ZONE 'UTC')::date;
BEGIN
  PERFORM pg_advisory_xact_lock(hashtextextended('gateway.audit partitions', 0));
  FOR i IN -1 .. p_ahead LOOP
    IF to_regclass('gateway.audit_' || to_char(today + i, 'YYYYMMDD')) IS NULL THEN
      EXECUTE format('CREATE TABLE gateway.%I PARTITION OF gateway.audit FOR VALUES FROM (%L) TO (%L)',
                     'audit_' || to_char(today + i, 'YYYYMMDD'),
                     (today + i)::timestamp AT TIME ZONE 'UTC', (today + i + 1)::timestamp AT TIME ZONE 'UTC');
    END IF;
  END LOOP;
END $$;

-- Drops the partitions of the days that are over for more than p_days days. Returns their number.
CREATE FUNCTION gateway.drop_audit(p_days integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  today CONSTANT date := (now() AT TIME ZONE 'UTC')::date;
  part record;
  dropped integer := 0;
BEGIN
  PERFORM pg_advisory_xact_lock(hashtextextended('gateway.audit partitions', 0));
  FOR part IN
    SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
     WHERE i.inhparent = 'gateway.audit'::regclass
       AND to_date(substr(c.relname, 7), 'YYYYMMDD') < today - p_days
  LOOP
    EXECUTE format('DROP TABLE gateway.%I', part.relname);
    dropped := dropped + 1;
  END LOOP;
  DELETE FROM gateway.audit_chain WHERE day < today - p_days;
  DELETE FROM gateway.audit_hour WHERE hour < (today - p_days)::timestamp AT TIME ZONE 'UTC';
  RETURN dropped;
END $$;
