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

/** Tables in which polling also looks for new ids: an import into Chatwoot writes rows with times of the past. */
export const NUMBERED = [...KINDS_BY_TIME, 'csat_survey_responses', 'reporting_events'] as const;

/** An id of each table. */
export const idsShape = z.record(z.enum(NUMBERED), z.number());
export type Ids = z.infer<typeof idsShape>;

/** How many new rows of a table one round reports. The next round looks at changed rows first, and then continues. */
const SPAN = 50_000;
/** How far below the newest id a new row can appear after the first round, because its transaction was still open. */
const SLACK = 10_000;

/** Parses the ids that a statement of this file returns. A helpdesk's database sends JSON as text. */
export const idsOf = (text = 'null'): Ids => idsShape.parse(JSON.parse(text));

const each = (of: (name: (typeof NUMBERED)[number]) => number): Ids =>
  idsShape.parse(Object.fromEntries(NUMBERED.map((name) => [name, of(name)])));

/** SQL for the newest ids as a JSON object, over all accounts, because one sequence serves them all. */
export const newest = (desk: Desk): string =>
  `json_build_object(${NUMBERED.map(
    (name) => `'${name}', coalesce((SELECT max(x.id) FROM ${desk.table(name)} x WHERE x.id <= ${ID_MAX}), 0)::float8`,
  ).join(', ')})`;

export const withSlack = (first: Ids): Ids => each((name) => Math.max(0, first[name] - SLACK));

export const least = (one: Ids, other: Ids): Ids => each((name) => Math.min(one[name], other[name]));

/** The ids up to which a round reports rows, if earlier rounds reached `from`. ID_MAX where no row is left. */
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
