import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { servedGateway } from './gateway.ts';

const gateway = servedGateway();
const PACKAGES = fileURLToPath(new URL('node_modules', import.meta.url));
const bin = (name: string): string => join(PACKAGES, '.bin', name);
let folder: string;

/** A program that reads the report with the generated types, which have the names of the records. */
const program = (range: string): string => `
import createClient from 'openapi-fetch';
import type { components, paths } from './gateway.js';

const headers = { Authorization: process.env['TOKEN'] };
const gateway = createClient<paths>({ baseUrl: process.env['GATEWAY'] ?? '', headers });
const query = { website_id: 'web_1_1', range: '${range}' } as const;
const { data, error } = await gateway.GET('/api/v1/analytics/ai-conversations/summary', { params: { query } });
const coverageOf = ({ coverage }: components['schemas']['Report']['meta']): string => coverage;
export const status: components['schemas']['Conversation']['status'] = 'assigned';
console.log(data ? coverageOf(data.data.meta) : error?.errors?.[0]?.expected);
`;

/** Runs a compiled program. Returns what the program prints. */
const run = (name: string): string =>
  execFileSync(process.execPath, [join(folder, `${name}.mjs`)], {
    env: { ...process.env, GATEWAY: gateway.url, TOKEN: gateway.headers.Authorization },
    encoding: 'utf8',
  });

beforeAll(() => {
  // A program finds its packages in a folder above its own.
  folder = mkdtempSync(join(PACKAGES, '.program-'));
  writeFileSync(join(folder, 'right.mts'), program('today'));
  writeFileSync(join(folder, 'wrong.mts'), program('yesterday'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

it('openapi-typescript and openapi-fetch: the compiler and the gateway both name the values of an argument', () => {
  const types = ['-o', join(folder, 'gateway.d.ts')];
  execFileSync(bin('openapi-typescript'), [`${gateway.url}/api/v1/openapi.json`, ...types], { stdio: 'ignore' });
  const options = ['--strict', '--target', 'es2022', '--module', 'nodenext', '--skipLibCheck'];
  const compiled = spawnSync(bin('tsc'), [...options, 'right.mts', 'wrong.mts'], { cwd: folder, encoding: 'utf8' });
  expect(compiled.stdout.match(/^\w+\.mts.*error TS\d+/gm)).toEqual([expect.stringMatching(/^wrong\.mts.*TS2322$/)]);
  expect(compiled.stdout).toContain(`'"yesterday"' is not assignable to type '"today" | "last-7-days" | "last-month"`);
  expect(run('right')).toBe('ai_evidenced_conversations\n');
  expect(run('wrong')).toBe('one of today, last-7-days, last-month, date\n');
});
