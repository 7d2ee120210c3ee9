import { raw, sql } from '../../core/sql.ts';
import type { Remembered } from '../remembered.ts';
import { type Desk, nameOf } from './desk.ts';
import type { Kind } from './kinds.ts';

/**
 * Reads digests of rows: of all columns that their records are made of, and of the files of messages. PostgreSQL computes
 * them, because most rows of a window are unchanged. Reading these rows themselves made a round take 3 s to 6 s beside other
 * load, where 85 rows a second changed (24 November 2026).
 */
async function digestsOf(desk: Desk, kind: Kind, ids: readonly string[]): Promise<Map<string, string>> {
  if (ids.length === 0) return new Map();
  const { key, columns, from, own } = desk.queries[kind];
  const { attachments } = desk.queries;
  const files =
    kind === 'messages'
      ? `(SELECT string_agg(x.id::text, ' ' ORDER BY x.id) FROM ${attachments.from} WHERE ${attachments.own} AND x.message_id = q.id::bigint)`
      : 'NULL';
  const rows = await desk.db.read<{ id: string; digest: string }>(
    sql`SELECT q.id, ${raw(`hashtextextended(concat(q::text, ${files}), 0)::text AS digest
          FROM (SELECT ${key}::text AS id, ${columns} FROM ${from} WHERE ${own} AND ${key}`)} = ANY(${ids}::bigint[])) q`,
  );
  return new Map(rows.map((row) => [row.id, row.digest]));
}

/** Tells which rows are not as polling has told them. `note` remembers those that are told, and those that are unchanged. */
export async function unknownOf(
  desk: Desk,
  kind: Kind,
  ids: readonly string[],
  known: Remembered,
): Promise<{ readonly fresh: readonly string[]; note(told: readonly string[]): void }> {
  const digests = await digestsOf(desk, kind, ids);
  const isKnown = (id: string): boolean => digests.has(id) && known.of(nameOf(kind, id)) === digests.get(id);
  const same = ids.filter(isKnown);
  return {
    fresh: ids.filter((id) => !isKnown(id)),
    note: (told) => {
      for (const id of [...same, ...told]) {
        const digest = digests.get(id);
        if (digest !== undefined) known.note(nameOf(kind, id), digest);
      }
    },
  };
}
