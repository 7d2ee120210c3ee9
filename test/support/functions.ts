import type postgres from 'postgres';
import { expect } from 'vitest';

export const replaced = async (sql: postgres.Sql, name: string, from: RegExp | string, to: string): Promise<void> => {
  const [row] = await sql<{ text: string }[]>`SELECT pg_get_functiondef(${name}::regproc) AS text`;
  const text = row?.text ?? '';
  const other = text.replace(from, to);
  expect(other).not.toBe(text);
  await sql.unsafe(other);
};
