-- Readers of the audit records, by the index that gives the records in order: gateway.audit_by_{source}_{order}. The
-- filters are tested on each record, and at most 10,000 records are. The last of these comes even without a match, so
-- that the caller can continue behind it. A filter is null if it is not given.
--
-- The settings are why these are functions. PostgreSQL reads an empty day without its index, because that is cheaper by
-- its estimate. Then it would read and sort all records of a target: 0.9 to 24 s among ten million records, in place of
-- 2 to 50 ms (27 November 2026, docs/decisions/audit-reading.md).
DO $do$
DECLARE
  source record;
BEGIN
  FOR source IN
    SELECT s.name, s.conditions, o.name AS way, o.direction, o.behind
      FROM (VALUES
        ('organization', ARRAY['a.organization_id = p_organization']),
        ('credential', ARRAY['a.credential_id = p_credential']),
        ('person', ARRAY['a.person_id = p_person']),
        ('target', ARRAY['a.targets[1] = p_target AND a.credential_id = p_credential',
                         'a.targets[2] = p_target AND a.credential_id = p_credential',
                         'a.targets[3] = p_target AND a.credential_id = p_credential']),
        -- Of pages and of the command line.
        ('bare_target', ARRAY['a.targets[1] = p_target AND a.credential_id IS NULL',
                              'a.targets[2] = p_target AND a.credential_id IS NULL',
                              'a.targets[3] = p_target AND a.credential_id IS NULL'])) s (name, conditions)
     CROSS JOIN (VALUES ('newest', 'DESC', '<'), ('oldest', 'ASC', '>')) o (name, direction, behind)
  LOOP
    EXECUTE format($sql$
      CREATE FUNCTION gateway.audit_by_%1$s_%2$s(
        p_organization text, p_app text, p_credential text, p_person text, p_surface text, p_operation text, p_target text,
        p_outcome text, p_from timestamptz, p_to timestamptz, p_at timestamptz, p_id uuid, p_limit integer
      ) RETURNS TABLE (record gateway.audit, place bigint, matches boolean) LANGUAGE plpgsql STABLE
      SET enable_sort = off SET enable_seqscan = off SET enable_bitmapscan = off
      SET max_parallel_workers_per_gather = 0 SET plan_cache_mode = force_generic_plan AS $$
      #variable_conflict use_column
      BEGIN
        RETURN QUERY
        SELECT m.record, m.place, m.matches FROM (
          SELECT l.record, row_number() OVER (ORDER BY l.time %3$s, l.id %3$s) AS place, coalesce(
                   (p_organization IS NULL OR (l.record).organization_id = p_organization)
                   AND (p_app IS NULL OR (l.record).app_id = p_app)
                   AND (p_credential IS NULL OR (l.record).credential_id = p_credential)
                   AND (p_person IS NULL OR (l.record).person_id = p_person)
                   AND (p_surface IS NULL OR (l.record).surface = p_surface)
                   AND (p_operation IS NULL OR (l.record).operation = p_operation)
                   AND (p_outcome IS NULL OR (l.record).outcome = p_outcome)
                   AND (p_target IS NULL OR p_target = ANY ((l.record).targets)), false) AS matches
            FROM (SELECT u.* FROM (%4$s) u ORDER BY u.time %3$s, u.id %3$s LIMIT 10000) l) m
         WHERE m.matches OR m.place = 10000 ORDER BY m.place LIMIT p_limit;
      END $$ $sql$,
      source.name, source.way, source.direction,
      (SELECT string_agg(format(
         '(SELECT a AS record, a.time, a.id FROM gateway.audit a WHERE %1$s AND a.time >= p_from AND a.time < p_to
             AND a.time %3$s= p_at AND (a.time, a.id) %3$s (p_at, p_id) ORDER BY a.time %2$s, a.id %2$s LIMIT 10000)',
         c, source.direction, source.behind), ' UNION ALL ') FROM unnest(source.conditions) c));
  END LOOP;
END $do$;
