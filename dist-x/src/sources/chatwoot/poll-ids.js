import { z } from 'zod';
import { raw, sql } from '../../core/sql.js';
import { ID_MAX } from './kinds.js';
/** The kinds with many rows, in the order of a round. */
export const KINDS_BY_TIME = [
    'contacts',
    'contact_inboxes',
    'conversations',
    'messages',
    'attachments',
    'notes',
];
/** Tables in which polling also looks for new ids: an import into Chatwoot writes rows with times of the past. */
export const NUMBERED = [...KINDS_BY_TIME, 'csat_survey_responses', 'reporting_events'];
/** An id of each table. */
export const idsShape = z.record(z.enum(NUMBERED), z.number());
/** How many new rows of a table one round reports. The next round looks at changed rows first, and then continues. */
const SPAN = 50_000;
/** How far below the newest id a new row can appear after the first round, because its transaction was still open. */
const SLACK = 10_000;
/** Parses the ids that a statement of this file returns. A helpdesk's database sends JSON as text. */
export const idsOf = (text = 'null') => idsShape.parse(JSON.parse(text));
const each = (of) => ({
    contacts: of('contacts'),
    contact_inboxes: of('contact_inboxes'),
    conversations: of('conversations'),
    messages: of('messages'),
    attachments: of('attachments'),
    notes: of('notes'),
    csat_survey_responses: of('csat_survey_responses'),
    reporting_events: of('reporting_events'),
});
/** SQL for the newest ids as a JSON object, over all accounts, because one sequence serves them all. */
export const newest = (desk) => `json_build_object(${NUMBERED.map((name) => `'${name}', coalesce((SELECT max(x.id) FROM ${desk.table(name)} x WHERE x.id <= ${ID_MAX}), 0)::float8`).join(', ')})`;
export const withSlack = (first) => each((name) => Math.max(0, first[name] - SLACK));
export const least = (one, other) => each((name) => Math.min(one[name], other[name]));
/** The ids up to which a round reports rows, if earlier rounds reached `from`. ID_MAX where no row is left. */
export async function limits(desk, from) {
    const ends = NUMBERED.map((name) => `'${name}', coalesce((SELECT x.id FROM ${desk.table(name)} x WHERE x.id > (f.ids ->> '${name}')::bigint
        ORDER BY x.id OFFSET ${SPAN} LIMIT 1), ${ID_MAX})::float8`);
    const [row] = await desk.db.read(sql `SELECT ${raw(`json_build_object(${ends.join(', ')}) AS ends`)} FROM (SELECT ${JSON.stringify(from)}::text::jsonb AS ids) f`);
    return idsOf(row?.ends);
}
/** True if rows are left for the next round. */
export const isCut = (to) => NUMBERED.some((name) => to[name] < ID_MAX);
//# sourceMappingURL=poll-ids.js.map