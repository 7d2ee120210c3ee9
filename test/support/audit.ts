import { expect, vi } from 'vitest';
import type { TestDatabase } from './database.ts';

export type Kept = Readonly<Record<string, unknown>>;

/** Every audit record, the oldest first. The members without a value are left out, and bytes are a flag. */
export async function auditOf({ sql }: TestDatabase, where: Kept = {}): Promise<Kept[]> {
  const rows = await sql<Kept[]>`SELECT * FROM gateway.audit ORDER BY time, id`;
  const wanted = Object.entries(where);
  return rows
    .filter((row) => wanted.every(([name, value]) => row[name] === value))
    .map((row) => Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null)));
}

/** Waits at most a second until there are `n` such records, and returns them. */
export async function awaitAudit(database: TestDatabase, n: number, where: Kept = {}): Promise<Kept[]> {
  await vi.waitFor(async () => expect(await auditOf(database, where)).toHaveLength(n), {
    timeout: 1_000,
    interval: 50,
  });
  return auditOf(database, where);
}

const ALWAYS = ['time', 'id', 'duration_ms', 'writer', 'seq', 'kid', 'previous', 'digest', 'address', 'input_digest'];

/** Without the members that each record has anyhow. */
export const brief = (record: Kept | undefined): Kept =>
  Object.fromEntries(Object.entries(record ?? {}).filter(([name]) => !ALWAYS.includes(name)));
