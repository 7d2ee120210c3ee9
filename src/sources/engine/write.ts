import { empty, raw, sql } from '../../core/sql.ts';
import { lease, progress, type Step } from './steps.ts';
import type { Table } from './tables.ts';

/** Plan rows in one statement: enough to make its overhead small, few enough to release its locks soon. */
const ROWS = 8000;
/** How many file rows one statement writes. Few, because these rows come with the content of the files. */
const FILES = 200;

/** Writes planned rows with links and chunks, a batch in one statement. Does not touch a stored row without changes. */
export function writeStep(table: Table, lane: number): Step {
  const { name, links, columns, keys, kept } = table;
  const step = `write ${name} ${lane}`;
  const own = [...Object.keys(keys), ...Object.keys(columns)];
  const list = own.join(', ');
  const of = (alias: string, columns: readonly string[]): string =>
    columns.map((column) => `${alias}.${column}`).join(', ');
  const typed = Object.entries(columns).map(([column, type]) => `${column} ${type}`);
  const same = (a: string, b: string, id = 'id'): string =>
    `${a}.tenant = ${b}.tenant AND ${a}.site = ${b}.site AND ${a}.${id} = ${b}.id`;
  const parts = ['added', 'altered', ...(links === undefined ? [] : ['linked', 'unlinked'])];
  return {
    name: step,
    types: [name],
    batch: { type: name, lane, rows: name === 'file' ? FILES : ROWS },
    statement: (bounds) => {
      const { place } = bounds;
      // A source does not know the values that only the gateway sets.
      const changed = place.live ? own.filter((column) => !(kept ?? []).includes(column)) : own;
      // The last batch must leave only a short list of pending words to searches, so only the others count as bulk.
      const bulk =
        name === 'message' ? sql`, bulk AS MATERIALIZED (SELECT gateway.import_bulk(NOT ${bounds.last}))` : empty;
      return sql`WITH ${lease(bounds)}${bulk}, batch AS MATERIALIZED (
  SELECT p.tenant, p.site, p.id, p.fresh, p.links, p.seq, s.external_id, ${raw(
    [
      ...Object.entries(keys).map(([column, from]) => `${from} AS ${column}`),
      ...Object.keys(columns).map((c) => (name === 'message' ? retained(c) : `d.${c}`)),
      ...(name === 'file' ? [TOO_OLD] : []),
    ].join(', '),
  )}
    FROM lease${name === 'message' ? raw(' CROSS JOIN bulk') : empty} CROSS JOIN ${raw(place.plan)} p
    JOIN ${raw(place.stage)} s ON s.type = ${raw(`'${name}'`)} AND s.seq = p.seq
    CROSS JOIN LATERAL json_to_record(s.data) AS d (${raw(typed.join(', '))})
    ${raw(name === 'message' || name === 'file' ? RETENTION : '')}
   WHERE p.type = ${raw(`'${name}'`)} AND p.lane = ${raw(String(lane))} AND p.ord > ${bounds.low} AND p.ord <= ${bounds.high}
   ORDER BY p.ord
), ${raw(`added AS (
  INSERT INTO platform.${name} (tenant, site, id, external_id, ${list})
  SELECT tenant, site, id, external_id, ${list} FROM batch WHERE fresh${name === 'file' ? ' AND NOT too_old' : ''}
  RETURNING tenant, site, id
), altered AS (
  UPDATE platform.${name} t SET ${changed.map((column) => `${column} = b.${column}`).join(', ')}
    FROM batch b WHERE NOT b.fresh AND ${same('t', 'b')} AND (${of('t', changed)}) IS DISTINCT FROM (${of('b', changed)})
    ${place.live && name === 'conversation' ? newest(place.since) : ''}
  RETURNING t.tenant, t.site, t.id${name === 'message' ? ', t.conversation_id' : ''}
)${links === undefined ? '' : pairs(links.table, links.column)}${name === 'file' ? chunks(place.chunk) : ''}${name === 'message' ? FOLLOW : ''}
, touched AS MATERIALIZED (${parts.map((part) => `SELECT tenant, site, id FROM ${part}`).join(' UNION ')}
)`)}
${progress(bounds, step, name, {
  written: 'SELECT count(*) FROM touched',
  unchanged: '(SELECT count(*) FROM batch) - (SELECT count(*) FROM touched)',
})}`;
    },
  };
}

/**
 * A record that was read before a write of the gateway can be written after it. Then it would undo the write here, until
 * the next page. Both times are the helpdesk's. No record of the run was read before `since`.
 */
const newest = (since: string): string => `AND NOT EXISTS (SELECT FROM gateway.write_back w
       WHERE w.tenant = b.tenant AND w.site = b.site AND w.record = b.id AND w.seen_at IS NOT NULL
         AND w.at > ${since} AND b.updated_at < date_trunc('milliseconds', w.seen_at))`;

/** Since when an organization keeps texts and files (gateway.clear_old_messages). Older ones must not come back. */
const RETENTION = `JOIN (SELECT o.tenant, coalesce(now() - make_interval(days => o.keep_messages_days), '-infinity') AS since
            FROM platform.organization o) r ON r.tenant = p.tenant`;
const TOO_OLD = `EXISTS (SELECT FROM platform.message m
     WHERE m.tenant = p.tenant AND m.site = p.site AND m.id = p.owner_id AND m.created_at < r.since) AS too_old`;
const RETAINED: Readonly<Record<string, string>> = {
  text: 'CASE WHEN d.created_at >= r.since THEN d.text END AS text',
  // A message whose only content was a file has no text, and keeps the mark of the file that retention has removed.
  redacted: `d.redacted OR (d.created_at < r.since AND (d.text IS NOT NULL OR EXISTS (SELECT FROM platform.message m
     WHERE m.tenant = p.tenant AND m.site = p.site AND m.id = p.id AND m.redacted))) AS redacted`,
};
const retained = (column: string): string => RETAINED[column] ?? `d.${column}`;

/** Returns the step that refuses planned rows which PostgreSQL cannot write. `step` writes them. */
export function refuseStep({ name, types }: Step, { type, lane }: NonNullable<Step['batch']>): Step {
  return {
    name,
    types,
    statement: (bounds) => sql`WITH ${lease(bounds)}, refused AS (
  INSERT INTO ${raw(bounds.place.reject)} (seq, place, file, line, origin, code, pointer)
  SELECT s.seq, 0, s.file, s.line, s.origin, 'unwritable', ''
    FROM lease CROSS JOIN ${raw(bounds.place.plan)} p JOIN ${raw(bounds.place.stage)} s ON s.type = p.type AND s.seq = p.seq
   WHERE p.type = ${type} AND p.lane = ${lane} AND p.ord > ${bounds.low} AND p.ord <= ${bounds.high}
  RETURNING seq
) ${progress(bounds, name, type, { rejected: 'SELECT count(*) FROM refused' })}`,
  };
}

const pairs = (table: string, column: string): string => `, linked AS (
  INSERT INTO platform.${table} (tenant, site, ${column}, contact_id)
  SELECT tenant, site, id, unnest(links) FROM batch
  ON CONFLICT DO NOTHING RETURNING tenant, site, ${column} AS id
), unlinked AS (
  DELETE FROM platform.${table} t USING batch b
   WHERE NOT b.fresh AND t.tenant = b.tenant AND t.site = b.site AND t.${column} = b.id AND t.contact_id <> ALL (b.links)
  RETURNING t.tenant, t.site, t.${column} AS id
)`;

// The size gives the number of chunks. Chunks beyond it come from a longer, older version and are removed.
const chunks = (chunk: string): string => `, stored AS (
  INSERT INTO platform.file_chunk AS t (tenant, site, file_id, chunk, bytes)
  SELECT b.tenant, b.site, b.id, c.chunk, c.bytes FROM batch b
    JOIN (SELECT tenant, site, id FROM added UNION ALL SELECT tenant, site, id FROM altered) w
      ON w.tenant = b.tenant AND w.site = b.site AND w.id = b.id
    JOIN ${chunk} c ON c.seq = b.seq AND c.chunk < (b.size + 65535) / 65536
  ON CONFLICT (tenant, site, file_id, chunk) DO UPDATE SET bytes = excluded.bytes WHERE t.bytes <> excluded.bytes
), shortened AS (
  DELETE FROM platform.file_chunk t USING batch b
   WHERE NOT b.fresh AND t.tenant = b.tenant AND t.site = b.site AND t.file_id = b.id AND t.chunk >= (b.size + 65535) / 65536
)`;

// When a message moves to another conversation, its files move too.
const FOLLOW = `, followed AS (
  UPDATE platform.file f SET conversation_id = a.conversation_id
    FROM altered a
   WHERE f.tenant = a.tenant AND f.site = a.site AND f.message_id = a.id AND f.conversation_id <> a.conversation_id
)`;
