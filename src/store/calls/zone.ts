import { type Fragment, sql } from '../../core/sql.ts';

/**
 * SQL for the name of an IANA time zone as PostgreSQL must read the name. The IANA time zones CET, MET, EET and WET have
 * summer time. PostgreSQL would read these names as abbreviations, which have no summer time.
 */
export const zoneName = (name: Fragment): Fragment => sql`CASE upper(${name})
  WHEN 'CET' THEN 'Europe/Brussels' WHEN 'MET' THEN 'Europe/Brussels'
  WHEN 'EET' THEN 'Europe/Athens' WHEN 'WET' THEN 'Europe/Lisbon' ELSE ${name} END`;
