-- Sums of gateway.audit_hour for the overview of the console. audit_hour has a row for each outcome of each operation,
-- and a month of it has a million rows for a busy organization. So hours that are over are summed once: by app, with
-- durations, and by app and operation for each UTC day.
CREATE TABLE gateway.audit_app_hour (
  organization_id text NOT NULL, hour timestamptz NOT NULL, app_id text NOT NULL,
  calls bigint NOT NULL, failures bigint NOT NULL, units bigint NOT NULL,
  buckets integer[] NOT NULL,                          -- as in gateway.audit_hour
  PRIMARY KEY (organization_id, hour, app_id)
);
CREATE TABLE gateway.audit_app_day (
  organization_id text NOT NULL, day date NOT NULL, app_id text NOT NULL, operation text NOT NULL,
  calls bigint NOT NULL, failures bigint NOT NULL, units bigint NOT NULL,
  PRIMARY KEY (organization_id, day, app_id, operation)
);

-- Hours before `until` are in the sums. Later hours are read from gateway.audit_hour.
CREATE TABLE gateway.audit_summed (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  until timestamptz NOT NULL
);
INSERT INTO gateway.audit_summed (until)
VALUES (date_trunc('hour', now(), 'UTC'));

-- Sums at most p_hours hours that ended more than ten minutes ago, and deletes sums of days that no overview shows any
-- more. Returns the number of hours. Processes can call the function at the same time: one of them works.
-- 1,600 sums an hour take some 50 ms.
CREATE FUNCTION gateway.sum_audit(p_hours integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  begun timestamptz;
  ended timestamptz;
BEGIN
  -- Most calls find nothing to do, and then write nothing: a lock of a row is a write.
  IF NOT EXISTS (SELECT FROM gateway.audit_summed WHERE until <= now() - interval '70 minutes') THEN RETURN 0; END IF;
  SELECT until INTO begun FROM gateway.audit_summed FOR UPDATE SKIP LOCKED;
  ended := least(date_trunc('hour', now() - interval '10 minutes', 'UTC'), begun + make_interval(hours => p_hours));
  IF begun IS NULL OR ended <= begun THEN RETURN 0; END IF;
  INSERT INTO gateway.audit_app_hour
  SELECT s.organization_id, s.hour, s.app_id, s.calls, s.failures, s.units, d.buckets
    FROM (SELECT organization_id, hour, app_id, sum(calls) AS calls, sum(units) AS units,
                 coalesce(sum(calls) FILTER (WHERE outcome <> 'ok'), 0) AS failures
            FROM gateway.audit_hour WHERE hour >= begun AND hour < ended GROUP BY 1, 2, 3) s
   CROSS JOIN LATERAL (
     SELECT array_agg(n.calls ORDER BY n.i) AS buckets
       FROM (SELECT b.i, least(sum(b.n), 2147483647)::integer AS calls
               FROM gateway.audit_hour h CROSS JOIN unnest(h.buckets) WITH ORDINALITY AS b (n, i)
              WHERE h.organization_id = s.organization_id AND h.hour = s.hour AND h.app_id = s.app_id GROUP BY b.i) n) d
  ON CONFLICT DO NOTHING;
  INSERT INTO gateway.audit_app_day AS day
  SELECT organization_id, (hour AT TIME ZONE 'UTC')::date, app_id, operation, sum(calls),
         coalesce(sum(calls) FILTER (WHERE outcome <> 'ok'), 0), sum(units)
    FROM gateway.audit_hour WHERE hour >= begun AND hour < ended GROUP BY 1, 2, 3, 4
  ON CONFLICT (organization_id, day, app_id, operation) DO UPDATE
     SET calls = day.calls + excluded.calls, failures = day.failures + excluded.failures, units = day.units + excluded.units;
  DELETE FROM gateway.audit_app_hour WHERE hour < ended - interval '32 days';
  DELETE FROM gateway.audit_app_day WHERE day < (ended AT TIME ZONE 'UTC')::date - 32;
  UPDATE gateway.audit_summed SET until = ended;
  RETURN extract(epoch FROM ended - begun) / 3600;
END $$;

-- A process can write calls late, after their hour was summed. Then the sums begin again with the day of that hour. Rows
-- of hours that nobody can have summed, which are almost all, cost a comparison. FOR SHARE waits for a running
-- sum_audit, which could have read the hour before these rows.
CREATE FUNCTION gateway.resum_audit() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  late timestamptz;
  summed timestamptz;
BEGIN
  SELECT date_trunc('day', min(hour), 'UTC') INTO late FROM added HAVING min(hour) < now() - interval '65 minutes';
  IF late IS NULL THEN RETURN NULL; END IF;
  SELECT until INTO summed FROM gateway.audit_summed FOR SHARE;
  IF NOT EXISTS (SELECT FROM added WHERE hour < summed) THEN RETURN NULL; END IF;
  UPDATE gateway.audit_summed SET until = late WHERE until > late;
  DELETE FROM gateway.audit_app_hour WHERE hour >= late;
  DELETE FROM gateway.audit_app_day WHERE day >= (late AT TIME ZONE 'UTC')::date;
  RETURN NULL;
END $$;
CREATE TRIGGER audit_hour_added AFTER INSERT ON gateway.audit_hour
  REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION gateway.resum_audit();
CREATE TRIGGER audit_hour_changed AFTER UPDATE ON gateway.audit_hour
  REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION gateway.resum_audit();
