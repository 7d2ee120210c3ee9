import { execFileSync } from 'node:child_process';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { exportAudit } from '../../../src/store/administration/audit-records.ts';
import type { AuditPlace } from '../../../src/store/calls/audit-records.ts';
import type { Answer } from '../../support/answer.ts';
import { look, type SignedInPerson, signedInAs } from '../../support/console/console.ts';
import { openTestGateway, type TestGateway } from '../../support/gateway.ts';
import { plantAudit } from '../../support/planted-audit.ts';
import { openBrowser, openVisit, PHONE, violations } from '../../support/surfaces/browser.ts';
import { textOf } from '../../support/surfaces/pages.ts';

/** Files of the audit: everything that matches, however rare, and in parts if it is too much for one file. */
const NOISE = 55_000;
const MANY = 5_003;

let gateway: TestGateway;
let owner: SignedInPerson;
let organization: string;
let rare: string[];

/** Noon of yesterday, so that all records are of one day. */
const noon = new Date(Math.floor(Date.now() / 86_400_000) * 86_400_000 - 43_200_000);
const before = (milliseconds: number): string => new Date(noon.getTime() - milliseconds).toISOString();

beforeAll(async () => {
  gateway = await openTestGateway();
  owner = await signedInAs(gateway);
  const { sql } = gateway.database;
  const [row] = await sql<{ id: string }[]>`SELECT public_id AS id FROM platform.organization WHERE tenant = 1`;
  organization = row?.id ?? '';
  rare = await plantAudit(
    gateway.database,
    [1, 2, 3].map((n) => ({ organization_id: organization, operation: 'rare', time: before(NOISE + n) })),
  );
  // Two records have the same time, also at the end of a part.
  const copies = (operation: string, n: number) => sql`
    INSERT INTO gateway.audit SELECT r.* FROM generate_series(1, ${n}::integer) g
      CROSS JOIN (SELECT to_jsonb(a) AS one FROM gateway.audit a WHERE a.operation = 'rare' LIMIT 1) a
      CROSS JOIN LATERAL jsonb_populate_record(NULL::gateway.audit, a.one || jsonb_build_object('id', gen_random_uuid(),
        'operation', ${operation}::text, 'time', ${noon.toISOString()}::timestamptz - (g / 2) * interval '1 millisecond')) r`;
  await copies('noise', NOISE);
  await copies('many', MANY);
});
afterAll(() => gateway.close());

const ids = ({ text }: Answer): string[] =>
  text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line).audit_id);
const get = (path: string): Promise<Answer> => look(gateway, path, owner.cookie);
const linkIn = ({ text }: Answer, words: RegExp): string =>
  [...text.matchAll(/<a [^>]*href="([^"]+)"[^>]*>([^<]+)</g)]
    .find(([, , said = '']) => words.test(said))?.[1]
    ?.replaceAll('&amp;', '&') ?? '';

it.each(['ndjson', 'csv', 'ocsf'])('an export as %s has the few records that match among many', async (format) => {
  const answer = await get(`/console/audit?operation=rare&format=${format}`);
  expect([answer.status, answer.headers['content-disposition']]).toEqual([
    200,
    expect.stringMatching(/^attachment; filename="audit/),
  ]);
  if (format === 'ndjson') expect(ids(answer)).toEqual(rare);
  else expect(answer.text.trim().split('\n')).toHaveLength(format === 'csv' ? 4 : 3);
});

it('more records than a file has come in parts, each record once, and none that is made meanwhile', async () => {
  const offer = await get('/console/audit?operation=many&format=ndjson');
  expect([offer.status, offer.text.includes('<h1>Export in parts</h1>')]).toEqual([200, true]);
  expect(offer.text).toContain(`gateway audit export --organization=${organization} --from=2000-01-01T00:00:00Z`);
  await plantAudit(gateway.database, [
    { organization_id: organization, operation: 'many', time: new Date(noon.getTime() + 5_000).toISOString() },
  ]);
  const first = ids(await get(linkIn(offer, /Download these 5000 records/)));
  const second = ids(await get(linkIn(offer, /Go on with older records/)));
  expect([first.length, second.length]).toEqual([5_000, MANY - 5_000]);
  expect(new Set([...first, ...second]).size).toBe(MANY);
});

it('shows a command in which no filter is an option or a program of its own', async () => {
  const many = { organization_id: organization, time: noon.toISOString() };
  await plantAudit(
    gateway.database,
    Array.from({ length: 5_002 }, () => ({ ...many, operation: "--to=x' $(id) `id`" })),
  );
  const query = new URLSearchParams({ operation: "--to=x' $(id) `id`", format: 'csv' });
  const offer = await get(`/console/audit?${query}`);
  const [, command = ''] = /<code>(gateway audit export [^<]*)<\/code>/.exec(offer.text) ?? [];
  const shown = `set -- ${textOf(command)}; printf '%s\\n' "$@"`;
  const words = execFileSync('/bin/sh', ['-c', shown], { encoding: 'utf8' }).trim().split('\n');
  expect(words).toHaveLength(7);
  expect(words).toContain("--operation=--to=x' $(id) `id`");
  expect(textOf(offer.text)).toContain('This command\nwrites NDJSON');
});

it('says from where to where a part goes', async () => {
  const newest = await get('/console/audit?operation=noise&format=csv');
  const older = await get(linkIn(newest, /Go on with older records/));
  const [, back = ''] = /match from now back to (<time [^>]+>[^<]+<\/time>), UTC/.exec(newest.text) ?? [];
  expect(back).not.toBe('');
  expect(older.text).toContain(`match from ${back} back to <time`);
});

it('the offer of parts has no finding of axe-core on a phone', async () => {
  const browser = await openBrowser();
  const origin = `http://127.0.0.1:${gateway.port}`;
  const { page, close } = await openVisit(browser, origin, PHONE);
  const [name = '', value = ''] = owner.cookie.split('=');
  await page.context().addCookies([{ name, value, url: origin }]);
  await page.goto(`${origin}/console/audit?operation=many&format=csv`);
  expect(await violations(page)).toEqual([]);
  expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(PHONE.width);
  const download = page.waitForEvent('download');
  await page.getByRole('link', { name: 'Download these 5000 records' }).click();
  expect((await download).suggestedFilename()).toBe('audit.csv');
  await close();
  await browser.close();
});

it('a search that takes too long says where it goes on, and loses nothing', async () => {
  let rounds = 0;
  const found: string[] = [];
  let after: AuditPlace | undefined;
  do {
    const part = await exportAudit(
      gateway.database.db,
      { organization, operation: 'rare' },
      { limit: 5_000, after, until: undefined, within: 0 },
    );
    found.push(...part.rows.map(({ id }) => `aud_${id.replaceAll('-', '')}`));
    after = part.next;
    rounds += 1;
  } while (after);
  expect([found, rounds > 1]).toEqual([rare, true]);
});

it('a person waits for one file at a time', async () => {
  const { sql } = gateway.database;
  const holding = await sql.reserve();
  await holding`BEGIN`;
  await holding`LOCK TABLE gateway.audit`;
  const first = get('/console/audit?operation=rare&format=csv');
  await expect.poll(async () => (await sql`SELECT FROM pg_locks WHERE NOT granted`).length).toBeGreaterThan(0);
  const second = await get('/console/audit?operation=rare&format=csv');
  expect([second.status, second.text.includes('Another search of yours is still running. Try again in ten')]).toEqual([
    409,
    true,
  ]);
  await holding`COMMIT`;
  holding.release();
  expect((await first).status).toBe(200);
  expect((await get('/console/audit?operation=rare&format=csv')).status).toBe(200);
});

it('a person who loses the role while the search runs gets nothing of what it finds', async () => {
  const { sql } = gateway.database;
  for (const path of ['?operation=rare&format=csv', '?operation=rare']) {
    const admin = await signedInAs(gateway, 'admin');
    const holding = await sql.reserve();
    await holding`BEGIN`;
    await holding`LOCK TABLE gateway.audit`;
    const file = look(gateway, `/console/audit${path}`, admin.cookie);
    await expect.poll(async () => (await sql`SELECT FROM pg_locks WHERE NOT granted`).length).toBeGreaterThan(0);
    await sql`UPDATE gateway.person SET role = 'operator' WHERE id = ${admin.id}`;
    await holding`COMMIT`;
    holding.release();
    const { status, text } = await file;
    expect([path, status, text.includes('rare')]).toEqual([path, 404, false]);
  }
});

it('places that nobody has given do no harm', async () => {
  for (const place of ['999999999999999', '0', '253402300799999'])
    for (const name of ['after', 'until']) {
      const path = `/console/audit?operation=rare&format=csv&${name}=${place}.00000000-0000-0000-0000-000000000000`;
      expect((await get(path)).status, path).toBe(200);
    }
});
