import { createHash } from 'node:crypto';
import type postgres from 'postgres';
import { sentinelOf } from './as-lines.ts';
import { CORPUS } from './corpus.ts';
import { CATEGORIES, type Poison } from './poison.ts';

/** What became of each item: `stored`, `converted`, `impossible`, or `rejected` with the code. */
export type Outcomes = ReadonlyMap<Poison, string>;

/** A table for the console: for each category, the number of items with each outcome. */
export function tableOf(door: string, outcomes: Outcomes, facts: Readonly<Record<string, unknown>>): string {
  const rows = CATEGORIES.flatMap((category) => {
    const all = [...outcomes].filter(([item]) => item.category === category).map(([, outcome]) => outcome);
    const kinds = [...new Set(all)].sort();
    const told = kinds.map((kind) => `${all.filter((one) => one === kind).length} ${kind}`).join(', ');
    return all.length === 0 ? [] : [`  ${category.padEnd(9)} ${String(all.length).padStart(4)}  ${told}`];
  });
  const about = Object.entries(facts).map(([name, value]) => `${name} ${value}`);
  return [`${door}: ${outcomes.size} items; ${about.join(', ')}`, ...rows].join('\n');
}

export interface Stored {
  readonly table: string;
  readonly column: string;
  readonly id: string;
}

/** Items whose sentinel is not in the organization. */
export async function unfollowed(
  sql: postgres.Sql,
  tenant: number,
  items: readonly Poison[],
): Promise<readonly Poison[]> {
  const rows = await sql<{ text: string }[]>`
    SELECT text FROM platform.message WHERE tenant = ${tenant} AND text LIKE 'sentinel %' AND length(text) < 20`;
  const written = new Set(rows.map(({ text }) => text));
  return items.filter((item) => !written.has(sentinelOf(CORPUS.indexOf(item))));
}

/** `known` tells the outcome of an item that has no stored value. */
export async function outcomesOf(
  sql: postgres.Sql,
  tenant: number,
  items: readonly Poison[],
  placeOf: (n: number, item: Poison) => Stored | undefined,
  known: (item: Poison) => string | undefined,
): Promise<Outcomes> {
  const outcomes = new Map<Poison, string>();
  const digests = new Map<string, ReadonlyMap<string, string | null>>();
  for (const item of items) {
    const place = placeOf(CORPUS.indexOf(item), item);
    const outcome = known(item);
    if (outcome !== undefined) outcomes.set(item, outcome);
    else if (place === undefined) outcomes.set(item, 'taken');
    else {
      const { table, column, id } = place;
      const found = digests.get(`${table} ${column}`) ?? (await digestsOf(sql, table, column, tenant));
      digests.set(`${table} ${column}`, found);
      const own = createHash('md5').update(item.value).digest('hex');
      outcomes.set(item, !found.has(id) ? 'lost' : found.get(id) === own ? 'stored' : 'converted');
    }
  }
  return outcomes;
}

/** The digest of a column in each row of an organization, by external id. */
async function digestsOf(
  sql: postgres.Sql,
  table: string,
  column: string,
  tenant: number,
): Promise<ReadonlyMap<string, string | null>> {
  const rows = await sql.unsafe<{ id: string; digest: string | null }[]>(
    `SELECT external_id AS id, md5(${column}::text) AS digest FROM platform.${table} WHERE tenant = ${tenant}`,
  );
  return new Map(rows.map(({ id, digest }) => [id, digest]));
}
