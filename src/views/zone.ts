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

/** IANA time zones without a slash. JavaScript engines also accept other names, such as AST for Anchorage. */
const PLAIN = new Set(
  `CET CST6CDT CUBA EET EGYPT EIRE EST EST5EDT GB GB-EIRE GMT GMT+0 GMT-0 GMT0 GREENWICH HONGKONG HST ICELAND IRAN
   ISRAEL JAMAICA JAPAN KWAJALEIN LIBYA MET MST MST7MDT NAVAJO NZ NZ-CHAT POLAND PORTUGAL PRC PST8PDT ROC ROK SINGAPORE
   TURKEY UCT UNIVERSAL UTC W-SU WET ZULU`.split(/\s+/),
);

/** The name of an IANA time zone in its usual letter case. Undefined for every other name. */
export function ianaZone(name: string): string | undefined {
  const iana = name.includes('/') ? /^[A-Z]/i.test(name) && !/^SystemV/i.test(name) : PLAIN.has(name.toUpperCase());
  if (!iana) return undefined;
  try {
    const { timeZone } = new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions();
    return timeZone.toLowerCase() === name.toLowerCase() ? timeZone : name;
  } catch {
    return undefined;
  }
}
