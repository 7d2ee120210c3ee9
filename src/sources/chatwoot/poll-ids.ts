import { z } from 'zod';
import { raw, sql } from '../../core/sql.ts';
import type { Desk } from './desk.ts';
import { ID_MAX } from './kinds.ts';

/** The kinds with many rows, in the order of a round. */
export const KINDS_BY_TIME = [
  'contacts',
  'contact_inboxes',
  'conversations',
  'messages',
  'attachments',
  'notes',
] as const;

/**
 * The tables whose rows polling finds by their ids too. An import into Chatwoot writes times of the past, so a window of
 * time does not find its rows.
 */
export const NUMBERED = [...KINDS_BY_TIME, 'csat_survey_responses', 'reporting_events'] as const;

/** An id of each table. */
export const idsShape = z.record(z.enum(NUMBERED), z.number());
export type Ids = z.infer<typeof idsShape>;

/** The number of new rows of a table that one round tells. The next round goes on, and looks at changed rows first. */
const SPAN = 50_000;
/** Transactions that are open at the first look can hold so many ids below the newest id. */
const SLACK = 10_000;

/** Reads the JSON object that a statement of this file gives. A helpdesk's database sends JSON as text. */
export const idsOf = (text = 'null'): Ids => idsShape.parse(JSON.parse(text));

const each = (of: (name: (typeof NUMBERED)[number]) => number): Ids => ({
  contacts: of('contacts'),
  contact_inboxes: of('contact_inboxes'),
  conversations: of('conversations'),
  messages: of('messages'),
  attachments: of('attachments'),
  notes: of('notes'),
  csat_survey_responses: of('csat_survey_responses'),
  reporting_events: of('reporting_events'),
});

/** Writes the newest ids as a JSON object. Rows of other accounts count, because one sequence serves all accounts. */
export const newest = (desk: Desk): string =>
  `json_build_object(${NUMBERED.map(
    (name) => `'${name}', coalesce((SELECT max(x.id) FROM ${desk.table(name)} x WHERE x.id <= ${ID_MAX}), 0)::float8`,
  ).join(', ')})`;

export const withSlack = (first: Ids): Ids => each((name) => Math.max(0, first[name] - SLACK));

export const least = (one: Ids, other: Ids): Ids => each((name) => Math.min(one[name], other[name]));

/** The ids up to which a round tells rows, if earlier rounds told rows up to `from`. ID_MAX where no row is left. */
export async function limits(desk: Desk, from: Ids): Promise<Ids> {
  const ends = NUMBERED.map(
    (name) =>
      `'${name}', coalesce((SELECT x.id FROM ${desk.table(name)} x WHERE x.id > (f.ids ->> '${name}')::bigint
        ORDER BY x.id OFFSET ${SPAN} LIMIT 1), ${ID_MAX})::float8`,
  );
  const [row] = await desk.db.read<{ ends: string }>(
    sql`SELECT ${raw(`json_build_object(${ends.join(', ')}) AS ends`)} FROM (SELECT ${JSON.stringify(from)}::text::jsonb AS ids) f`,
  );
  return idsOf(row?.ends);
}

/** True if rows are left for the next round. */
export const isCut = (to: Ids): boolean => NUMBERED.some((name) => to[name] < ID_MAX);
