import { raw, sql } from '../../core/sql.js';
import { existing } from './desk.js';
import { filter, MAX, RECORDS } from './kinds.js';
import { noteIdOf, refTo } from './map.js';
import { DISPOSITION, OPERATIONS } from './mark.js';
import { parsedId } from './together.js';
/** How many rows of a table a count reads, newest first. */
const ROWS = 200_000;
/**
 * SQL: 1 for a text with more UTF-16 units than the limit, else 0. A character above U+FFFF has two units, and only a
 * UTF8 database can search for such characters.
 */
const long = (text, limit) => `(CASE WHEN octet_length(${text}) <= ${limit} OR ${text} IS NULL THEN 0
     WHEN length(${text}) > ${limit} THEN 1
     WHEN getdatabaseencoding() <> 'UTF8' THEN 0
     WHEN length(${text}) + length(regexp_replace(${text}, '[^\\U00010000-\\U0010FFFF]', '', 'g')) > ${limit} THEN 1 ELSE 0 END)`;
/** Writes SQL that gives a text, or NULL for a text that is empty or blank. */
const given = (text) => `CASE WHEN ${text} ~ '\\S' THEN ${text} END`;
/**
 * SQL that counts the texts which the mapping shortens or leaves out. File names do not count: the import shortens
 * them.
 */
function longTexts(desk, newest) {
    const sum = (texts, from) => `coalesce((SELECT sum(${texts.map(([text, limit]) => long(text, limit)).join(' + ')}) FROM ${from}), 0)`;
    const few = (kind, texts) => {
        const { from, own } = desk.queries[kind];
        return sum(texts, `${from} WHERE ${own}`);
    };
    const last = given('r.last_name');
    return [
        few('accounts', [['a.name', MAX.name]]),
        few('inboxes', [['i.name', MAX.name]]),
        few('teams', [['g.name', MAX.name]]),
        few('users', [[`coalesce(nullif(btrim(u.display_name), ''), u.name)`, MAX.operator]]),
        few('agent_bots', [['b.name', MAX.operator]]),
        few('captain_assistants', [['b.name', MAX.operator]]),
        few('canned_responses', [
            ['r.short_code', MAX.label],
            ['r.short_code', MAX.shortcut],
        ]),
        sum([
            [`concat_ws(' ', ${given('r.name')}, ${last})`, MAX.name],
            [`CASE WHEN ${last} IS NOT NULL THEN r.name END`, MAX.namePart],
            [last, MAX.namePart],
            ['r.email', MAX.email],
            ['r.phone_number', MAX.phone],
            [`(r.additional_attributes ->> 'company_name')`, MAX.company],
        ], `${newest('contacts')} r`),
        sum([[`(r.additional_attributes ->> 'mail_subject')`, MAX.subject]], `${newest('conversations')} r`),
        sum([['s.feedback_message', MAX.rating]], `${newest('conversations')} r JOIN ${desk.table('csat_survey_responses')} s ON s.conversation_id = r.id`),
    ].join(' + ');
}
/** Counts the values that have no place in the gateway. In a large Chatwoot, counts only the newest rows. */
export async function unmapped(desk) {
    const { account } = desk.names;
    const t = (name) => desk.table(name);
    const newest = (name) => `(SELECT * FROM ${t(name)} r WHERE r.account_id = ${account} ORDER BY r.id DESC LIMIT ${ROWS})`;
    const labels = (name, type) => `(SELECT count(*) FROM ${newest(name)} r JOIN ${t('taggings')} g
        ON g.taggable_id = r.id AND g.taggable_type = '${type}' AND g.context = 'labels')`;
    const attributes = (name) => `(SELECT count(*) FROM ${newest(name)} r CROSS JOIN LATERAL
        jsonb_object_keys(CASE WHEN jsonb_typeof(r.custom_attributes) = 'object' THEN r.custom_attributes ELSE '{}' END) AS key
        WHERE key NOT IN ('${DISPOSITION}', '${OPERATIONS}'))`;
    const [row] = await desk.db.read(sql `SELECT ${raw(`(${labels('conversations', 'Conversation')} + ${labels('contacts', 'Contact')})::text AS labels,
      (${attributes('conversations')} + ${attributes('contacts')})::text AS attributes,
      (${longTexts(desk, newest)})::text AS long`)}`);
    return {
        labels: Number(row?.labels ?? 0),
        custom_attributes: Number(row?.attributes ?? 0),
        shortened_texts: Number(row?.long ?? 0),
    };
}
/** Returns the ids of the notes that Chatwoot still has for these visitors. */
async function presentNotes(desk, ids) {
    const { from, own, key } = desk.queries.notes;
    const rows = await desk.db.read(sql `SELECT ${raw(`n.id::text AS id, v.id::text AS visitor FROM ${from}
      JOIN ${desk.table('contact_inboxes')} v ON v.contact_id = n.contact_id WHERE ${filter(own)} AND ${key}`)} = ANY(${ids}::bigint[])`);
    return new Set(rows.map(({ id, visitor }) => noteIdOf(desk.names, id, visitor)));
}
/** Returns the records that Chatwoot no longer has. Skips ids of another origin. */
export async function missing(desk, of, externalIds) {
    const asked = new Map();
    for (const externalId of externalIds) {
        const [kind, id] = parsedId(desk.names.account, externalId) ?? [];
        if (kind !== undefined && id !== undefined && RECORDS[kind].of === of)
            asked.set(kind, [...(asked.get(kind) ?? []), id]);
    }
    const present = new Set();
    for (const [kind, ids] of asked) {
        const found = kind === 'notes' ? await presentNotes(desk, ids) : await existing(desk, kind, ids);
        for (const id of found)
            present.add(kind === 'notes' ? id : refTo(desk.names, kind, id));
    }
    return externalIds.filter((externalId) => {
        const [kind] = parsedId(desk.names.account, externalId) ?? [];
        return kind !== undefined && RECORDS[kind].of === of && !present.has(externalId);
    });
}
//# sourceMappingURL=counts.js.map