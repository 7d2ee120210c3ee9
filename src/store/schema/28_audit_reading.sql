-- Readers of the audit records, by the index that gives the records in order: gateway.audit_by_{source}_{order}. The
-- filters are tested on each record, and at most 10,000 records are, or those of one second. The last of these comes even
-- without a match, so that the caller can continue behind it: it has the place 10000 if there may be more. A filter is
-- null if it is not given. The target of a list without a target of its own is its website.
--
-- Records come from gateway.audit and from blocks, each of which has the records of one second. Blocks are read second by
-- second until there are enough records, and records of seconds that were not read are left for the next page. Most pages
-- are full after 500 records, so these are tried first.
--
-- The settings are why these are functions. PostgreSQL reads an empty day without its index, because that is cheaper by
-- its estimate. Then it would read and sort all records of a target: 0.9 to 24 s among ten million records, in place of
-- 2 to 50 ms (27 November 2026, docs/decisions/audit-reading.md).
CREATE TYPE gateway.audit_found AS (record gateway.audit, place bigint, matches boolean);

DO $do$
DECLARE
  source record;
BEGIN
  FOR source IN
    SELECT s.name, s.conditions, s.blocks, s.named, o.*
      FROM (VALUES
        ('organization', ARRAY['a.organization_id = p_organization'],
         'gateway.audit_block b WHERE b.organization_id = p_organization', 'true'),
        ('credential', ARRAY['a.credential_id = p_credential'],
         'gateway.audit_block b WHERE b.credential_id = p_credential', 'true'),
        ('person', ARRAY['a.person_id = p_person'], 'gateway.audit_block b WHERE b.person_id = p_person', 'true'),
        ('target', ARRAY['a.targets[1] = p_target AND a.credential_id = p_credential',
                         'a.targets[2] = p_target AND a.credential_id = p_credential',
                         'a.targets[3] = p_target AND a.credential_id = p_credential'],
         'gateway.audit_target t JOIN gateway.audit_block b ON b.credential_id = t.credential_id AND b.time = t.time
             AND b.id = t.block WHERE t.target = p_target AND t.credential_id = p_credential', 'p_target = ANY (e.targets)'),
        -- Of pages and of the command line. They are in no block.
        ('bare_target', ARRAY['a.targets[1] = p_target AND a.credential_id IS NULL',
                              'a.targets[2] = p_target AND a.credential_id IS NULL',
                              'a.targets[3] = p_target AND a.credential_id IS NULL'],
         'gateway.audit_block b WHERE false', 'true')) s (name, conditions, blocks, named)
     CROSS JOIN (VALUES
        ('newest', 'DESC', '<', 'least(p_at, p_to)', 'max(s.time) FILTER (WHERE s.before >= bound) + interval ''1 second''',
         'min(s.time)', 'greatest', '>=', '-infinity'),
        ('oldest', 'ASC', '>', 'greatest(p_at, p_from)', 'min(s.time) FILTER (WHERE s.before >= bound)',
         'max(s.time) + interval ''1 second''', 'least', '<', 'infinity'))
        o (way, direction, behind, start, unread, uncounted, nearer, within, none)
  LOOP
    EXECUTE format($sql$
      CREATE FUNCTION gateway.audit_by_%1$s_%2$s(
        p_organization text, p_app text, p_credential text, p_person text, p_surface text, p_operation text, p_target text,
        p_outcome text, p_from timestamptz, p_to timestamptz, p_at timestamptz, p_id uuid, p_limit integer
      ) RETURNS SETOF gateway.audit_found LANGUAGE plpgsql STABLE
      SET enable_sort = off SET enable_seqscan = off SET enable_bitmapscan = off
      SET max_parallel_workers_per_gather = 0 SET plan_cache_mode = force_generic_plan AS $$
      #variable_conflict use_column
      DECLARE
        -- The second in which this page starts. Its blocks are read anyway, because the page before may have had them all.
        start CONSTANT timestamptz := date_trunc('second', %6$s, 'UTC');
        bound integer;
        answer gateway.audit_found[];
      BEGIN
        FOREACH bound IN ARRAY ARRAY[500, 10000] LOOP
          WITH candidates AS (
            SELECT b.time, b.id, b.credential_id, 0 AS calls FROM %5$s AND %14$s.time = start
            UNION ALL
            (SELECT b.time, b.id, b.credential_id, b.calls FROM %5$s AND %14$s.time %4$s start
                AND %14$s.time >= date_trunc('second', p_from, 'UTC') AND %14$s.time < p_to
              ORDER BY %14$s.time %3$s FETCH FIRST (bound / 4) ROWS WITH TIES)
          ), s AS MATERIALIZED (
            SELECT c.*, coalesce(sum(c.calls) OVER (ORDER BY c.time %3$s GROUPS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS before
              FROM candidates c
          ), h AS MATERIALIZED (
            SELECT %9$s(%7$s, CASE WHEN count(*) FILTER (WHERE s.calls > 0) >= bound / 4 THEN %8$s END) AS horizon FROM s
          ), u AS (
            SELECT r.* FROM (%12$s) r
            UNION ALL
            SELECT e, e.time, e.id FROM s
              JOIN gateway.audit_block b ON b.credential_id = s.credential_id AND b.time = s.time AND b.id = s.id
             CROSS JOIN LATERAL gateway.audit_expand(b) e
             WHERE s.before < bound AND e.time >= p_from AND e.time < p_to AND e.time %4$s= p_at
               AND (e.time, e.id) %4$s (p_at, p_id) AND %13$s
          ), l AS (
            SELECT u.* FROM u WHERE u.time %10$s coalesce((SELECT h.horizon FROM h), '%11$s') ORDER BY u.time %3$s, u.id %3$s LIMIT bound
          ), m AS (
            SELECT l.record, row_number() OVER (ORDER BY l.time %3$s, l.id %3$s) AS place, count(*) OVER () AS looked, coalesce(
                     (p_organization IS NULL OR (l.record).organization_id = p_organization)
                     AND (p_app IS NULL OR (l.record).app_id = p_app)
                     AND (p_credential IS NULL OR (l.record).credential_id = p_credential)
                     AND (p_person IS NULL OR (l.record).person_id = p_person)
                     AND (p_surface IS NULL OR (l.record).surface = p_surface)
                     AND (p_operation IS NULL OR (l.record).operation = p_operation)
                     AND (p_outcome IS NULL OR (l.record).outcome = p_outcome)
                     AND (p_target IS NULL OR p_target = ANY ((l.record).targets) OR (
                       p_target = (l.record).website_id AND (l.record).count IS NOT NULL AND (l.record).targets = '{}')), false) AS matches
              FROM l
          ), f AS (
            SELECT m.record, m.matches, m.place,
                   m.place = m.looked AND (m.looked >= bound OR (SELECT h.horizon FROM h) IS NOT NULL) AS more FROM m
          )
          SELECT array_agg((f.record, CASE WHEN f.more THEN 10000 ELSE f.place END, f.matches)::gateway.audit_found ORDER BY f.place)
            INTO answer
            FROM (SELECT f.* FROM f WHERE f.matches OR f.more ORDER BY f.place LIMIT p_limit) f;
          EXIT WHEN cardinality(answer) >= p_limit OR answer[cardinality(answer)].place IS DISTINCT FROM 10000;
        END LOOP;
        RETURN QUERY SELECT * FROM unnest(answer);
      END $$ $sql$,
      source.name, source.way, source.direction, source.behind, source.blocks, source.start, source.unread, source.uncounted,
      source.nearer, source.within, source.none,
      (SELECT string_agg(format(
         '(SELECT a AS record, a.time, a.id FROM gateway.audit a WHERE %1$s AND a.time >= p_from AND a.time < p_to
             AND a.time %3$s= p_at AND (a.time, a.id) %3$s (p_at, p_id) ORDER BY a.time %2$s, a.id %2$s LIMIT bound)',
         c, source.direction, source.behind), ' UNION ALL ') FROM unnest(source.conditions) c),
      source.named, CASE source.name WHEN 'target' THEN 't' ELSE 'b' END);
  END LOOP;
END $do$;
