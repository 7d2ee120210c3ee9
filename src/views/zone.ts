import { type Fragment, sql } from '../core/sql.ts';

/**
 * SQL for a time zone name as PostgreSQL must read it. CET, MET, EET and WET are IANA zones with summer time, but
 * abbreviations without it in PostgreSQL.
 */
export const zoneName = (name: Fragment): Fragment => sql`CASE upper(${name})
  WHEN 'CET' THEN 'Europe/Brussels' WHEN 'MET' THEN 'Europe/Brussels'
  WHEN 'EET' THEN 'Europe/Athens' WHEN 'WET' THEN 'Europe/Lisbon' ELSE ${name} END`;

/**
 * SQL conditions for conversations created from or until a local day. `day` is SQL for the local day of a conversation.
 * Every time zone is less than a day away from UTC. So the time zone matters only for conversations that are less than a
 * day away from midnight UTC of the day. For them, the condition on the local day decides. So a midnight that occurs
 * twice or never needs no special case.
 */
export const fromDay = (at: string, day: Fragment): Fragment =>
  sql`c.created_at >= ${at}::date - 1 AND (c.created_at >= ${at}::date + 1 OR ${day} >= ${at}::date)`;
export const untilDay = (at: string, day: Fragment): Fragment =>
  sql`c.created_at < ${at}::date + 2 AND (c.created_at < ${at}::date OR ${day} <= ${at}::date)`;
