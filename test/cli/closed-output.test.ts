import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { auditOf, brief } from '../support/audit.ts';
import { checkout, main, shellEnvironment, urlOf } from '../support/command.ts';
import { freshDatabase } from '../support/database.ts';
import { scratch } from '../support/scratch.ts';

/** A reader of the output leaves before the command has ended, as `| true` does. */
const base = scratch('closed-output');
afterAll(() => rmSync(base, { recursive: true, force: true }));

const KEYS = { GATEWAY_KEYS: `1:${Buffer.alloc(32, 7).toString('base64')}` };

async function unread(argv: readonly string[], env: Record<string, string>): Promise<{ code: number; stderr: string }> {
  const child = spawn(process.execPath, [main, ...argv], {
    cwd: checkout,
    env: shellEnvironment({ ...KEYS, ...env }),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  child.stdout.destroy();
  let stderr = '';
  child.stderr.on('data', (part: Buffer) => {
    stderr += part.toString();
  });
  const [code] = await once(child, 'close');
  return { code: Number(code), stderr };
}

it('an erasure that nobody reads is still done and recorded', async () => {
  const database = await freshDatabase('demo');
  const [contact] = await database.sql<{ id: string }[]>`
    SELECT 'ctc_1_1_' || min(id) AS id FROM platform.contact WHERE tenant = 1 AND site = 1`;
  const id = contact?.id ?? '';
  const erase = ['erase', 'contact', id, '--reason', 'asked', '--yes'];
  const ran = await unread(erase, { DATABASE_URL: urlOf(database) });
  expect(ran).toEqual({ code: 1, stderr: expect.not.stringContaining('unexpectedly') });
  expect((await auditOf(database)).map(brief)).toMatchObject([
    { operation: 'erase contact', targets: [expect.stringMatching(/^era_/), id], outcome: 'ok' },
  ]);
  await database.close();
});

it('a command that nobody reads closes the embedded PostgreSQL', async () => {
  const data = join(base, 'data');
  const ran = await unread(['migrate', '--json'], { GATEWAY_DATA_DIR: data });
  expect(ran).toEqual({ code: 1, stderr: expect.not.stringContaining('unexpectedly') });
  expect([existsSync(join(data, 'postgres/PG_VERSION')), existsSync(join(data, 'postgres/postmaster.pid'))]).toEqual([
    true,
    false,
  ]);
});
