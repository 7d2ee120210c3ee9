import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { ask } from '../../../src/sources/chatwoot/api.ts';
import { NotPerformed } from '../../../src/sources/helpdesk.ts';
import { TOKEN } from '../../support/chatwoot/api.ts';
import { type WriteBackWorld, writeBackWorld } from '../../support/chatwoot/write-back-world.ts';
import { CERTIFICATE, KEY } from '../../support/events/certificate.ts';
import { disposition, note } from '../../support/ledger/commands.ts';
import type { Reply } from '../../support/ledger/world.ts';
import { startReplica } from '../../support/replica.ts';

/** Tests what a write to Chatwoot may cost others, and what happens to a write whose gateway dies. */
let world: WriteBackWorld;
let count = 0;
const fresh = (): string => `key-${++count}`;
let visitor: string;

beforeAll(async () => {
  world = await writeBackWorld();
  visitor = await world.visitor(1);
});
afterEach(() => world.api.heal());
afterAll(() => world.close());

const add = (text: string, key = fresh()): Promise<Reply> => world.write('REST', note(text, visitor), key);
const inChatwoot = async (text: string): Promise<number> =>
  (await world.desk.sql`SELECT 1 FROM notes WHERE starts_with(content, ${text})`).length;
const copies = async (text: string): Promise<string[]> =>
  (
    await world.store.sql<
      { external_id: string }[]
    >`SELECT external_id FROM platform.note WHERE starts_with(text, ${text})`
  ).map(({ external_id }) => external_id);

it('an effect that comes after the first look is found later, and is there once', async () => {
  world.api.fail('POST', '/notes', { kind: 'late', ms: 6_000 });
  const key = fresh();
  const first = await add('Late effect', key);
  expect(first.code).toBe('outcome_unknown');
  // Chatwoot still works on the request, so the absence of the note proves nothing.
  for (let i = 0; i < 3; i++) await world.reconcile(first.operationId);
  expect([await inChatwoot('Late effect'), await world.status(first.operationId)]).toEqual([0, 'outcome_unknown']);
  expect((await add('Late effect', key)).code).toBe('outcome_unknown');
  await expect.poll(() => inChatwoot('Late effect')).toBe(1);
  await world.settled();
  await world.reconcile(first.operationId);
  const again = await add('Late effect', key);
  expect([again.status, again.replayed, await inChatwoot('Late effect')]).toEqual([200, true, 1]);
  expect(await copies('Late effect')).toHaveLength(2);
  const [row] = await world.store.sql`SELECT o.name FROM platform.note n JOIN platform.operator o
    ON o.tenant = n.tenant AND o.site = n.site AND o.id = n.operator_id WHERE n.text = 'Late effect' LIMIT 1`;
  expect(row).toEqual({ name: 'Ada' });
});

it('a note is found among notes whose texts hold many commas and brackets', async () => {
  // Logs and JSON in notes: 1.2 million commas, colons and brackets, in 1.2 MB.
  const log = '{[:,'.repeat(37_500);
  await world.desk.sql`INSERT INTO notes (content, account_id, contact_id, user_id, created_at, updated_at)
    SELECT ${log}, 1, 1, 1, now() AT TIME ZONE 'UTC', now() AT TIME ZONE 'UTC' FROM generate_series(1, 8)`;
  world.api.fail('POST', '/notes', { kind: 'lost' });
  const unknown = await add('Among logs');
  expect(unknown.code).toBe('outcome_unknown');
  await world.reconcile(unknown.operationId);
  expect(await world.status(unknown.operationId)).toBe('acknowledged');
  await world.desk.sql`DELETE FROM notes WHERE content = ${log}`;
  await world.settled();
});

it('a conversation waits after a disposition with an unknown outcome, and takes the next one when it is known', async () => {
  const conversation = await world.conversation(2);
  world.api.fail('POST', '/custom_attributes', { kind: 'lost' });
  const first = await world.write('REST', disposition('solved', conversation), fresh());
  expect(first.code).toBe('outcome_unknown');
  const key = fresh();
  expect((await world.write('REST', disposition('spam', conversation), key)).code).toBe('native_unavailable');
  await world.reconcile(first.operationId);
  expect((await world.write('REST', disposition('spam', conversation), key)).status).toBe(200);
  expect(await world.status(first.operationId)).toBe('acknowledged');
});

it('a paused source takes no writes and is not asked; the key stays usable', async () => {
  const { sql } = world.store;
  world.api.fail('POST', '/notes', { kind: 'lost' });
  const unknown = await add('Before the pause');
  await sql`UPDATE gateway.source SET paused = true`;
  const [key, asked] = [fresh(), world.api.asked.length];
  const refused = await add('Paused', key);
  expect([refused.status, refused.code, refused.retryAfter]).toEqual([503, 'native_unavailable', 5]);
  await world.reconcile(unknown.operationId);
  expect([world.api.asked.length, await copies('Paused')]).toEqual([asked, []]);
  await sql`UPDATE gateway.source SET paused = false`;
  expect((await add('Paused', key)).status).toBe(200);
  await world.reconcile(unknown.operationId);
  expect(await world.status(unknown.operationId)).toBe('acknowledged');
});

it('a website whose source has no API, and a website without a source, write as before', async () => {
  const { sql } = world.store;
  const demo = await world.gateway.issue({ authors: ['opr_1_1_1'] }, 1);
  const asked = world.api.asked.length;
  const elsewhere = await world.write('REST', note('Elsewhere'), fresh(), { token: demo.token });
  expect([elsewhere.status, await copies('Elsewhere')]).toEqual([200, [elsewhere.operationId]]);
  const [kept] = await sql`SELECT api_url, api_token FROM gateway.source`;
  await sql`UPDATE gateway.source SET api_url = NULL, api_token = NULL`;
  const local = await add('Local only');
  await sql`UPDATE gateway.source SET api_url = ${kept?.['api_url']}, api_token = ${kept?.['api_token']}`;
  expect([local.status, await copies('Local only')]).toEqual([200, [local.operationId]]);
  expect([world.api.asked.length, await inChatwoot('Local only')]).toEqual([asked, 0]);
});

it('a slow Chatwoot gets four calls at a time and delays no other website', async () => {
  const demo = await world.gateway.issue({ authors: ['opr_1_1_1'] }, 1);
  world.api.fail('POST', '/notes', { kind: 'slow', ms: 700 }, 100);
  world.api.load.most = 0;
  const slow = Array.from({ length: 48 }, (_, i) => add(`Slow ${i} of many`));
  const times: number[] = [];
  for (let i = 0; i < 20; i++) {
    const began = performance.now();
    expect((await world.write('REST', note(`Quick ${i}`), fresh(), { token: demo.token })).status).toBe(200);
    times.push(performance.now() - began);
  }
  const replies = await Promise.all(slow);
  times.sort((a, b) => a - b);
  console.info(`other website: median ${times[10]?.toFixed(0)} ms, worst ${times.at(-1)?.toFixed(0)} ms`);
  // Each call of Chatwoot takes 700 ms. On a busy machine, single writes take long for other reasons.
  expect(times[10]).toBeLessThan(350);
  expect(world.api.load.most).toBeLessThanOrEqual(4);
  // Two rounds of four fit in the time of a write. The third round can get no answer in time. The others never began.
  const codes = replies.map(({ code }) => code ?? 'done');
  expect(new Set(codes)).toEqual(new Set(['done', 'outcome_unknown', 'native_unavailable']));
  expect(codes.filter((code) => code === 'done').length).toBeGreaterThanOrEqual(4);
  for (const [i, code] of codes.entries())
    if (code === 'native_unavailable') expect(await inChatwoot(`Slow ${i} of many`)).toBe(0);
});

it('a gateway that is killed while Chatwoot works leaves one effect, which another gateway finds', {
  timeout: 120_000,
}, async () => {
  const { host, port, name } = world.store;
  for (const [text, fault, effects] of [
    ['Killed with an effect', { kind: 'slow', ms: 800 }, 1],
    ['Killed without an effect', { kind: 'hang' }, 0],
  ] as const) {
    const one = await startReplica({
      databaseUrl: `postgres://postgres@${encodeURIComponent(host)}:${port}/${name}`,
      env: { GATEWAY_KEYS: `1:${Buffer.alloc(32, 7).toString('base64')}` },
    });
    world.api.fail('POST', '/notes', fault);
    const key = fresh();
    const posts = world.api.asked.length;
    const sent = fetch(`${one.url}/api/v1/visitors/${visitor}/notes`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${world.writer.token}`,
        'content-type': 'application/json',
        'idempotency-key': key,
      },
      body: JSON.stringify({ text }),
    }).catch(() => 'cut');
    await expect.poll(() => world.api.asked.length).toBe(posts + 1);
    await one.kill9();
    expect(await sent).toBe('cut');
    const during = await add(text, key);
    expect(during.code).toBe('operation_in_progress');
    await expect.poll(() => inChatwoot(text)).toBe(effects);
    // On a busy machine, the first look can run out of time. Then a later look settles the operation.
    const outcome = async () => {
      await world.reconcile(during.operationId);
      const again = await add(text, key);
      return [again.status, again.code];
    };
    const expected = effects === 1 ? [200, undefined] : [409, 'outcome_unknown'];
    await expect.poll(outcome, { timeout: 10_000 }).toEqual(expected);
    await world.settled();
    expect([await inChatwoot(text), (await copies(text)).length]).toEqual([effects, effects * 2]);
    expect(world.api.asked.slice(posts).filter((line) => line.startsWith('POST'))).toHaveLength(1);
  }
});

it('never shows the token or a text of a customer in a log', async () => {
  world.api.fail('POST', '/notes', { kind: 'status', status: 500 });
  const reply = await add('Secret words of a customer');
  const seen = [reply.raw, ...world.logged.map(whole), ...world.gateway.log].join('\n');
  expect(world.logged.length).toBeGreaterThan(0);
  expect(seen).not.toContain(TOKEN);
  expect(world.logged.map(whole).join('\n')).not.toContain('Secret words');
});

const whole = (error: unknown): string =>
  error instanceof Error
    ? `${JSON.stringify(error, Object.getOwnPropertyNames(error))}${error.cause === undefined ? '' : whole(error.cause)}`
    : String(error);

it('sends nothing over http to a public address, to a closed port, or to a server that it cannot trust', async () => {
  let requests = 0;
  const server = createTlsServer({ key: KEY, cert: CERTIFICATE }, (_, response) => {
    requests++;
    response.end('{}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo; // the address of a TCP server is an AddressInfo
  for (const apiUrl of ['http://203.0.114.7', 'http://127.0.0.1:1', `https://127.0.0.1:${port}`]) {
    const asked = ask({ apiUrl, token: TOKEN }, { method: 'POST', path: '/x', body: {} }, AbortSignal.timeout(2_000));
    await expect(asked).rejects.toMatchObject({ ending: { refused: 'native_unavailable' } });
    await asked.catch((error: unknown) => expect(error).toBeInstanceOf(NotPerformed));
  }
  expect(requests).toBe(0);
  server.close();
});
