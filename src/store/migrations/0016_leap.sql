-- After a backup was put back (`gateway restored`): what the time that was lost has given out must not be given out again.
-- Receivers know receipts by an id that is made of website and position, and callers know records by their numbers.

-- Numbers of organizations. Who is adding one is waited for: the next one's is behind the leap.
CREATE FUNCTION gateway.leap_tenants(p_leap bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  numbers text := pg_get_serial_sequence('platform.organization', 'tenant');
BEGIN
  LOCK TABLE platform.organization IN SHARE MODE;
  PERFORM setval(numbers, nextval(numbers) + p_leap);
END $$;

-- Numbers and journals of an organization; its websites tell p_types anew. Returns how many websites it has. Each step is a
-- statement of its own, which sees what those have committed whom the step before has waited for.
CREATE FUNCTION gateway.leap_organization(p_tenant bigint, p_leap bigint, p_kinds text[], p_types text[]) RETURNS integer
LANGUAGE plpgsql AS $$
DECLARE
  h record;
  last bigint;
  websites integer := 0;
BEGIN
  -- First the organization's own: a website that is added from now on has a number that no lost one had.
  INSERT INTO platform.native_id AS n (tenant, site, kind, last)
  SELECT p_tenant, 0, k, p_leap FROM unnest(ARRAY['operator', 'website']) AS k
  ON CONFLICT (tenant, site, kind) DO UPDATE SET last = n.last + excluded.last;
  INSERT INTO gateway.journal_head (tenant, site, position)
  SELECT w.tenant, w.site, 0 FROM platform.website w
   WHERE w.tenant = p_tenant AND NOT EXISTS (SELECT FROM gateway.journal_head x WHERE x.tenant = w.tenant AND x.site = w.site)
  ON CONFLICT DO NOTHING;
  INSERT INTO platform.native_id AS n (tenant, site, kind, last)
  SELECT w.tenant, w.site, k, p_leap
    FROM gateway.journal_head x JOIN platform.website w ON w.tenant = x.tenant AND w.site = x.site CROSS JOIN unnest(p_kinds) AS k
   WHERE x.tenant = p_tenant
  ON CONFLICT (tenant, site, kind) DO UPDATE SET last = n.last + excluded.last;
  -- In the order in which every writer locks heads. Of a website that was removed the head is left, and receipts may be.
  FOR h IN SELECT x.site, w.site IS NOT NULL AS stands
             FROM gateway.journal_head x LEFT JOIN platform.website w ON w.tenant = x.tenant AND w.site = x.site
            WHERE x.tenant = p_tenant ORDER BY x.site LOOP
    UPDATE gateway.journal_head x SET position = x.position + p_leap, trimmed = x.position + p_leap
     WHERE x.tenant = p_tenant AND x.site = h.site RETURNING x.position INTO last;
    DELETE FROM gateway.journal j WHERE j.tenant = p_tenant AND j.site = h.site AND j.position <= last;
    IF h.stands THEN
      PERFORM gateway.append_receipts(p_tenant, h.site, p_types);
      websites := websites + 1;
    END IF;
  END LOOP;
  RETURN websites;
END $$;
