import { sql } from '../core/sql.js';
/**
 * SQL for a time zone name as PostgreSQL must read it. CET, MET, EET and WET are IANA zones with summer time, but
 * abbreviations without it in PostgreSQL.
 */
export const zoneName = (name) => sql `CASE upper(${name})
  WHEN 'CET' THEN 'Europe/Brussels' WHEN 'MET' THEN 'Europe/Brussels'
  WHEN 'EET' THEN 'Europe/Athens' WHEN 'WET' THEN 'Europe/Lisbon' ELSE ${name} END`;
//# sourceMappingURL=zone.js.map