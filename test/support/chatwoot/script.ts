import type postgres from 'postgres';

/**
 * The SQL of one Rails transaction. The simple query protocol runs several statements as one implicit transaction. So a
 * lost connection never leaves half of it, and the driver has no transaction to resume.
 */
export type Script = string;

type Value = string | number | boolean | null;

export const cw = (parts: TemplateStringsArray, ...values: readonly Value[]): Script =>
  parts.reduce((text, part, i) => text + literal(values[i - 1] ?? null) + part);

export const together = (...scripts: readonly (Script | undefined)[]): Script =>
  scripts.filter((one) => one !== undefined).join(';\n');

/** Keeps the transaction open here for some seconds. */
export const held = (seconds: number): Script => `SELECT pg_sleep(${seconds})`;

/** content_attributes as Rails writes it: encoded twice, so the column holds a JSON string. Others write the object. */
export const attributes = (value: object, twice = true): string =>
  twice ? JSON.stringify(JSON.stringify(value)) : JSON.stringify(value);

/** UTC, with microseconds. */
export function railsTime(ms: number, micros = 0): string {
  return `${new Date(ms).toISOString().slice(0, 23).replace('T', ' ')}${String(micros % 1000).padStart(3, '0')}`;
}

/** Runs the script as one transaction. Returns the rows of the last statement that has rows. */
export async function run<Row extends object>(sql: postgres.Sql, script: Script): Promise<readonly Row[]> {
  const results: unknown = await sql.unsafe(script).simple();
  const lists = Array.isArray(results) && results.some(Array.isArray) ? results : [results];
  const last = lists.filter((one) => Array.isArray(one) && one.length > 0).at(-1);
  return (last ?? []) as readonly Row[]; // the caller knows the columns of its own statement
}

/** True if the server or the connection is gone, so that the outcome is unknown. */
export function isLost(error: unknown): boolean {
  const code = codeOf(error);
  return /^(08|57P0|53300|CONN|CONNECTION_|ECONN|EPIPE|ENOENT|ETIMEDOUT)/.test(code);
}

/** True if PostgreSQL refused the transaction, which Rails can see too: a deadlock or a duplicate. */
export const isRefused = (error: unknown): boolean => /^(40001|40P01|23505|55P03|57014)$/.test(codeOf(error));

function codeOf(error: unknown): string {
  return typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : '';
}

function literal(value: Value): string {
  if (value === null) return 'NULL';
  if (typeof value === 'string') return `'${value.replaceAll("'", "''")}'`;
  return String(value);
}
