import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newSecret } from '../../src/auth/tokens.ts';
import type { Database } from '../../src/store/driver/postgres.ts';
import type { Answer } from '../support/answer.ts';
import { freshDatabase, type TestDatabase } from '../support/database.ts';
import { openTestGateway, type TestGateway } from '../support/gateway.ts';
import {
  basic,
  consented,
  doorFrom,
  expectRefused,
  type Fields,
  newClient,
  newSession,
  post,
  RESOURCE,
  token,
} from '../support/oauth/oauth.ts';

const CREDENTIALS = { grant_type: 'client_credentials', resource: RESOURCE.rest } as const;
/**
 * Limits for a burst of requests. ADDRESS is the number of failed client look-ups for each network address. PROCESS is
 * the number of further look-ups for all addresses together.
 */
const ADDRESS = 60;
const PROCESS = 60;

/** A random client id with a secret of the right format. A stranger has nothing better to try. */
const stranger = (): string =>
  basic({ credential: `crd_${randomBytes(16).toString('hex')}`, secret: newSecret('secret') });

describe('RL-03 failed client authentication by ids that the caller makes up', () => {
  let database: TestDatabase;
  let gateway: TestGateway;
  let statements = 0;
  /** The milliseconds by which the test delays each look-up. */
  let slow = 0;

  /** Starts a new gateway. The limits are kept in memory, so each test starts with full limits. */
  const fresh = async (): Promise<TestGateway> => {
    const count: Pick<Database, 'query' | 'read'> = {
      query: (statement) => {
        if (!/purge|journal|lease|task/.test(JSON.stringify(statement))) statements++;
        return database.db.query(statement);
      },
      read: async (statement) => {
        if (/gateway\.credential c/.test(JSON.stringify(statement))) statements++;
        if (slow > 0) await pause(slow);
        return database.db.read(statement);
      },
    };
    await gateway?.close();
    gateway = await openTestGateway('demo', {
      ...database,
      close: async () => undefined,
      db: { ...database.db, ...count },
    });
    return gateway;
  };
  beforeAll(async () => {
    database = await freshDatabase('demo');
  });
  afterAll(async () => {
    await gateway.close();
    await database.close();
  });

  const flood = async (port: number, addresses: readonly string[], header: () => string, n: number) => {
    const codes = new Map<string, number>();
    const began = performance.now();
    for (let at = 0; at < n; at++) {
      const door = doorFrom(port, addresses[at % addresses.length]);
      const { body } = await post(door, '/oauth/token', CREDENTIALS, { authorization: header() });
      codes.set(body.error, (codes.get(body.error) ?? 0) + 1);
    }
    return {
      looked: codes.get('invalid_client') ?? 0,
      slow: codes.get('slow_down') ?? 0,
      seconds: (performance.now() - began) / 1_000,
    };
  };

  it('RL-03 600 random ids of one address: its bucket and the one of the process, and then refused', async () => {
    const { port } = await fresh();
    statements = 0;
    const { looked, slow, seconds } = await flood(port, ['127.0.0.1'], stranger, 600);
    expect(looked + slow).toBe(600);
    // Each second permits six more look-ups: one for the address and five for the whole process.
    expect(looked).toBeLessThanOrEqual(ADDRESS + PROCESS + Math.ceil(seconds * 6));
    expect(statements).toBe(looked);
  });

  it('RL-03 three hundred at once are looked up no more than three hundred in turn', async () => {
    const { port } = await fresh();
    const began = performance.now();
    slow = 1_000;
    const each = await Promise.all(Array.from({ length: 300 }, () => flood(port, ['127.0.0.7'], stranger, 1)));
    slow = 0;
    const looked = each.reduce((sum, one) => sum + one.looked, 0);
    expect(looked).toBeLessThanOrEqual(ADDRESS + PROCESS + Math.ceil(((performance.now() - began) / 1_000) * 6));
    expect(looked + each.reduce((sum, one) => sum + one.slow, 0)).toBe(300);
  });

  it('RL-03 the look-ups beyond the buckets of addresses are one budget, however many addresses use it', async () => {
    const { port } = await fresh();
    const addresses = ['127.0.0.2', '127.0.0.3', '127.0.0.4'];
    // The bucket of the first address fills while the others are emptied.
    const began = performance.now();
    for (const address of addresses) await flood(port, [address], () => 'Basic x', ADDRESS + 1);
    const { looked, slow } = await flood(port, addresses, stranger, 300);
    const seconds = (performance.now() - began) / 1_000;
    expect(looked + slow).toBe(300);
    expect(looked).toBeGreaterThanOrEqual(PROCESS);
    expect(looked).toBeLessThanOrEqual(PROCESS + Math.ceil(seconds * (5 + addresses.length)));
  });

  it('RL-03 what has not the form of an id and a secret costs no look-up, counts for its address, and uses up nothing else', async () => {
    const { port } = await fresh();
    const client = await newClient(gateway);
    const secret = newSecret('secret');
    const malformed = [
      () => basic({ credential: randomBytes(5_000).toString('hex'), secret }),
      () => basic({ credential: `crd_${randomBytes(16).toString('hex').toUpperCase()}`, secret }),
      () => basic({ credential: `crd_${randomBytes(5_000).toString('hex')}`, secret }),
      () => basic({ credential: '', secret }),
      () =>
        basic({ credential: client.credential, secret: `${secret.slice(0, -1)}${secret.endsWith('0') ? '1' : '0'}` }),
      () => basic({ credential: client.credential, secret: randomBytes(5_000).toString('hex') }),
    ];
    let at = 0;
    statements = 0;
    const { looked, slow, seconds } = await flood(
      port,
      ['127.0.0.5'],
      () => malformed[at++ % malformed.length]?.() ?? '',
      300,
    );
    expect(statements).toBe(0);
    expect(looked).toBeGreaterThanOrEqual(ADDRESS);
    expect(looked).toBeLessThanOrEqual(ADDRESS + Math.ceil(seconds));
    expect(looked + slow).toBe(300);
    // The address has used up its own look-ups. A client that the gateway does not know yet can still use a look-up of
    // the whole process.
    expect((await token(doorFrom(port, '127.0.0.5'), client, CREDENTIALS)).status).toBe(200);
  });

  it('RL-03 nobody is locked out: who is remembered gets in during a flood, and who is not gets in after a few tries', async () => {
    const { port } = await fresh();
    const here = doorFrom(port, '127.0.0.6');
    const [known, late] = [await newClient(gateway), await newClient(gateway)];
    expect((await token(here, known, CREDENTIALS)).status).toBe(200);
    await flood(port, ['127.0.0.6'], stranger, 300);
    let flooding = true;
    const others = (async () => {
      while (flooding) await flood(port, ['127.0.0.6'], stranger, 5);
    })();
    const began = performance.now();
    let tries = 0;
    let answer: Answer;
    do {
      expect((await post(here, '/oauth/revoke', { token: 'x' }, { authorization: basic(known) })).status).toBe(200);
      answer = await post(here, '/oauth/revoke', { token: 'x' }, { authorization: basic(late) });
      tries++;
    } while (answer.status === 429 && performance.now() - began < 20_000);
    expect(answer.status, `after ${tries} tries`).toBe(200);
    for (let at = 0; at < 5; at++)
      expect((await post(here, '/oauth/revoke', { token: 'x' }, { authorization: basic(late) })).status).toBe(200);
    flooding = false;
    await others;
  });
});

describe('RL-02 tokens that a client mints', () => {
  let gateways: TestGateway[];
  const RATE = 60;
  const first = (): TestGateway => gateways[0] ?? expect.fail('there are two');

  beforeAll(async () => {
    const database = await freshDatabase('demo');
    gateways = [
      await openTestGateway('demo', { ...database, close: async () => undefined }),
      await openTestGateway('demo', database),
    ];
  });
  afterAll(async () => {
    for (const gateway of gateways) await gateway.close();
  });

  const pass = async (seconds: number): Promise<void> => {
    const { sql } = first().database;
    await sql`UPDATE gateway.token SET created_at = created_at - make_interval(secs => ${seconds})`;
    await sql`UPDATE gateway.refresh_token SET created_at = created_at - make_interval(secs => ${seconds})`;
  };
  /**
   * Expects a refusal because the client asked for too many tokens. Returns the seconds after which the client may try
   * again.
   */
  function expectTooMany({ status, headers, body }: Answer): number {
    expect([status, body.error]).toEqual([429, 'too_many_tokens']);
    expect(body.error_description).toContain('60 tokens');
    expect(body.error_description).not.toContain('failed');
    expect(headers['cache-control']).toBe('no-store');
    expect(headers['retry-after']).toMatch(/^[1-9][0-9]*$/);
    expect(Number(headers['retry-after'])).toBeLessThanOrEqual(60);
    return Number(headers['retry-after']);
  }

  it('RL-02 client_credentials: sixty a minute of a credential over two replicas, then 429 until Retry-After', async () => {
    const [busy, other] = [await newClient(first()), await newClient(first())];
    const statuses: number[] = [];
    for (let at = 0; at < RATE + 12; at++)
      statuses.push((await token(gateways[at % 2] ?? first(), busy, CREDENTIALS)).status);
    expect(statuses).toEqual([...Array(RATE).fill(200), ...Array(12).fill(429)]);
    const wait = expectTooMany(await token(first(), busy, CREDENTIALS));
    expect((await token(first(), other, CREDENTIALS)).status).toBe(200);
    await pass(wait - 5);
    expectTooMany(await token(first(), busy, CREDENTIALS));
    await pass(5);
    expect((await token(first(), busy, CREDENTIALS)).status).toBe(200);
  });

  it('RL-02 two hundred at once on two replicas: sixty, and no more than are under way at that moment', async () => {
    const busy = await newClient(first());
    const all = await Promise.all(
      Array.from({ length: 200 }, (_, at) => token(gateways[at % 2] ?? first(), busy, CREDENTIALS)),
    );
    const given = all.filter(({ status }) => status === 200).length;
    expect(given).toBeGreaterThanOrEqual(RATE);
    // The pools have eight connections, so eight requests can pass the check at the same time. The gateway may
    // therefore issue up to eight tokens more than the limit.
    expect(given).toBeLessThanOrEqual(RATE + 8);
    expect(all.filter(({ status }) => status === 429)).toHaveLength(200 - given);
  });

  it('RL-02 a refresh: sixty a minute of a consent; the refused token is neither used up nor counted as reused', async () => {
    const client = await newClient(first());
    const session = await newSession(first(), client);
    const consent = async (): Promise<Answer> => {
      const { exchange } = await consented(first(), client, { session, choice: { renewal: 'yes' } });
      return token(first(), client, exchange);
    };
    const refreshing = (refresh: string): Fields => ({
      grant_type: 'refresh_token',
      refresh_token: refresh,
      resource: RESOURCE.rest,
    });
    const [one, two] = [await consent(), await consent()];
    let { refresh_token: refresh, access_token: access } = one.body;
    let used = '';
    // A consent may make sixty requests a minute. The exchange of the code was the first of these requests.
    for (let at = 1; at < RATE; at++) {
      used = refresh;
      const answer = await token(gateways[at % 2] ?? first(), client, refreshing(refresh));
      expect(answer.status, answer.text).toBe(200);
      ({ refresh_token: refresh, access_token: access } = answer.body);
    }
    const wait = expectTooMany(await token(first(), client, refreshing(refresh)));
    for (const gateway of gateways) expectTooMany(await token(gateway, client, refreshing(refresh)));
    expect((await first().ask('/api/v1/websites', { token: access })).status).toBe(200);
    // Each consent has its own limit, because one app can have the consents of many people.
    expect((await token(first(), client, refreshing(two.body.refresh_token))).status).toBe(200);
    await pass(wait);
    const again = await token(first(), client, refreshing(refresh));
    expect(again.status, again.text).toBe(200);
    // A refresh token that is used twice ends the consent, even when the limit is reached.
    expectRefused(await token(first(), client, refreshing(used)), 'invalid_grant', 'reused');
    expectRefused(await token(first(), client, refreshing(again.body.refresh_token)), 'invalid_grant', 'ended');
  });
});
