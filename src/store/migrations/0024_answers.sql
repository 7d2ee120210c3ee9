-- What answers tell since E8: a subscription can start now, and a set disposition tells when the conversation changed.

ALTER TABLE gateway.subscription DROP CONSTRAINT subscription_start_check;
ALTER TABLE gateway.subscription ADD CONSTRAINT subscription_start_check CHECK (start IN ('beginning', 'retained', 'now'));

-- As in 0012, with the start `now`: the first pull begins behind the newest receipt.
CREATE OR REPLACE FUNCTION gateway.subscription_state(s gateway.subscription) RETURNS json LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN json_build_object(
    'id', s.id, 'revision', s.revision, 'sites', s.sites::text[], 'event_types', s.event_types, 'start', s.start,
    'created_at', floor(extract(epoch FROM s.created_at) * 1000), 'updated_at', floor(extract(epoch FROM s.updated_at) * 1000),
    'paused', EXISTS (SELECT FROM gateway.family_hold f
                       WHERE f.tenant = s.tenant AND f.site = ANY (s.sites) AND f.family = ANY (gateway.families_of(s.event_types))),
    'positions', (SELECT json_agg(CASE s.start
                      WHEN 'retained' THEN gateway.retained_position(s.tenant, w.site)
                      WHEN 'now' THEN coalesce((SELECT h.position FROM gateway.journal_head h
                                                 WHERE h.tenant = s.tenant AND h.site = w.site), 0)
                      ELSE 0 END ORDER BY w.n)
                    FROM unnest(s.sites) WITH ORDINALITY AS w (site, n)));
END $$;

-- As in 0009. The answer tells the time of the change.
CREATE OR REPLACE FUNCTION platform.set_dispositions(
  p_tenant bigint, p_site bigint, p_ids text[], p_authors platform.operator[], p_commands jsonb[]
) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
  command jsonb;
  n integer;
  changed timestamptz;
  answers text[] := '{}';
BEGIN
  -- The commands run in the order of their conversation ids, so that two batches do not deadlock.
  FOR command, n IN
    SELECT t.command, t.n FROM unnest(p_commands) WITH ORDINALITY AS t (command, n)
     ORDER BY (t.command ->> 'conversation')::bigint, t.n
  LOOP
    IF (p_authors[n]).id IS NULL THEN
      answers[n] := '{"refused": "enrollment_unavailable"}';
    ELSIF EXISTS (SELECT 1 FROM platform.website w WHERE w.tenant = p_tenant AND w.site = p_site AND w.crm_integrated)
       OR NOT EXISTS (SELECT 1 FROM platform.disposition d WHERE d.tenant = p_tenant AND d.site = p_site
                       AND d.value = command ->> 'disposition' AND d.enabled) THEN
      answers[n] := '{"rejected": "operation_conflict"}';
    ELSE
      UPDATE platform.conversation c
         SET disposition = command ->> 'disposition', updated_at = greatest(c.updated_at, date_trunc('milliseconds', now()))
       WHERE c.tenant = p_tenant AND c.site = p_site AND c.id = (command ->> 'conversation')::bigint
      RETURNING c.updated_at INTO changed;
      answers[n] := CASE WHEN FOUND
        THEN json_build_object('done', json_build_object('updated_at', changed::text))::text
        ELSE '{"refused": "not_found"}' END;
    END IF;
  END LOOP;
  RETURN answers;
END $$;
