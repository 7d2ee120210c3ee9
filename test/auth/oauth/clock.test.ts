import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import postgres from 'postgres';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { revokeCredential, rotateCredential } from '../../../src/auth/issue.ts';
import { RESOURCES } from '../../../src/core/authority.ts';
import { demoRecords } from '../../../src/sources/files/demo.ts';
import { importRecords } from '../../../src/sources/files/import.ts';
import { revokeConsent } from '../../../src/store/administration/consents.ts';
import { disablePerson, setRole } from '../../../src/store/administration/people.ts';
import { openDatabase } from '../../../src/store/driver/postgres.ts';
import { openEmbedded } from '../../../src/store/embedded/embedded.ts';
import { migrate } from '../../../src/store/open/migrate.ts';
import { freshDatabase, type TestDatabase } from '../../support/database.ts';
import { openTestGateway, type TestGateway } from '../../support/gateway.ts';
import {
  because,
  family,
  own,
  pending,
  readAt,
  refreshing,
  refusal,
  session,
  startProcess,
  tokenAt,
  worth,
} from '../../support/oauth/ends.ts';
import {
  basic,
  csrfOf,
  formOf,
  newClient,
  newPerson,
  pkce,
  post,
  RESOURCE,
  request,
  signedIn,
  type TestClient,
  token,
} from '../../support/oauth/oauth.ts';
import { DEMO_NOW } from '../../support/postgres.ts';
import type { Replica } from '../../support/replica.ts';

const MINUTE = 60;
const HOUR = 60 * MINUTE;

/** A store whose clock the test sets. Every decision of the gateway uses the clock of PostgreSQL. */
interface Clocked {
  readonly database: TestDatabase;
  advance(seconds: number): Promise<void>;
  close(): Promise<void>;
}

/**
 * Opens a store whose clock is a row of a table. The search path names the test's now() and clock_timestamp() before
 * those of pg_catalog. Only the test changes the row, so a slow machine does not change the result.
 */
async function substitute(): Promise<Clocked> {
  const database = await freshDatabase('demo');
  const { host, port, name } = database;
  const setup = postgres({ host, port, database: name, username: 'postgres', max: 1, onnotice: () => undefined });
  await setup.unsafe(`CREATE SCHEMA test_clock; CREATE TABLE test_clock.clock AS SELECT pg_catalog.now() AS at;
    CREATE FUNCTION test_clock.now() RETURNS timestamptz STABLE LANGUAGE sql AS 'SELECT at FROM test_clock.clock';
    CREATE FUNCTION test_clock.clock_timestamp() RETURNS timestamptz LANGUAGE sql AS 'SELECT at FROM test_clock.clock';
    ALTER DATABASE ${name} SET search_path = test_clock, pg_catalog`);
  await setup.end();
  return {
    database,
    advance: async (seconds) =>
      void (await database.sql`UPDATE test_clock.clock SET at = at + make_interval(secs => ${seconds})`),
    close: () => database.close(),
  };
}

const library = [
  process.env['FAKETIME_LIBRARY'] ?? '',
  ...['/usr/lib/x86_64-linux-gnu', '/usr/lib/aarch64-linux-gnu', '/usr/lib64', '/usr/local/lib'].map(
    (folder) => `${folder}/faketime/libfaketime.so.1`,
  ),
].find((path) => path !== '' && existsSync(path));

const faked = (preload: string): Record<string, string> => ({
  LD_PRELOAD: preload,
  FAKETIME_NO_CACHE: '1',
  // Keep the monotonic clock real, because these tests do not examine timers and timeouts.
  FAKETIME_DONT_FAKE_MONOTONIC: '1',
  DONT_FAKE_MONOTONIC: '1',
});

async function faketime(preload: string): Promise<Clocked> {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-clock-'));
  // PostgreSQL runs as another user and must be able to read this folder.
  chmodSync(folder, 0o755);
  const file = join(folder, 'clock');
  let offset = 0;
  const set = (): void => writeFileSync(file, `${offset >= 0 ? '+' : ''}${offset}\n`);
  set();
  const dataDir = join(folder, 'data');
  mkdirSync(dataDir);
  const variables = { ...faked(preload), FAKETIME_TIMESTAMP_FILE: file };
  Object.assign(process.env, variables);
  const store = await openEmbedded({ dataDir, log: () => undefined }).finally(() => {
    for (const name of Object.keys(variables)) delete process.env[name];
  });
  const target = { host: store.host, port: store.port, database: store.database, username: 'postgres' };
  const db = openDatabase({ target, connections: 4, statementTimeout: 60_000, name: 'test-clock' });
  await migrate(db);
  await importRecords(db, demoRecords(new Date(DEMO_NOW)), {});
  const sql = postgres({ ...target, max: 3, onnotice: () => undefined });
  const close = async (): Promise<void> => {
    await Promise.all([db.close(), sql.end()]);
    await store.stop();
    rmSync(folder, { recursive: true, force: true });
  };
  return {
    database: { name: store.database, host: store.host, port: store.port, db, sql, close: async () => undefined },
    async advance(seconds) {
      offset += seconds;
      set();
    },
    close,
  };
}

const CLOCKS: readonly { name: string; open: () => Promise<Clocked> }[] = [
  { name: 'a substitute for now()', open: substitute },
  ...(library === undefined ? [] : [{ name: 'libfaketime', open: () => faketime(library) }]),
];

describe.each(CLOCKS)('F-15 ends in time, by $name', ({ open }) => {
  let clock: Clocked;
  let a: TestGateway;
  let gateways: TestGateway[];
  let client: TestClient;

  beforeAll(async () => {
    clock = await open();
    const shared = { ...clock.database, close: async () => undefined };
    gateways = [await openTestGateway('demo', shared), await openTestGateway('demo', shared)];
    a = gateways[0] ?? expect.fail('no gateway');
    client = await newClient(a, { expires: '10 years' });
  });
  afterAll(async () => {
    for (const gateway of gateways) await gateway.close();
    await clock.close();
  });

  it('the clock moves', async () => {
    const read = async (): Promise<number> => {
      const [row] = await a.database.sql<{ at: Date }[]>`SELECT now() AS at`;
      return row?.at.getTime() ?? 0;
    };
    const before = await read();
    await clock.advance(HOUR);
    expect((await read()) - before).toBeGreaterThanOrEqual(HOUR * 1000);
    expect((await read()) - before).toBeLessThan((HOUR + MINUTE) * 1000);
  });

  it('OT-07 a code is good for 60 s', async () => {
    const [early, late] = [await pending(a, client), await pending(a, client)];
    await clock.advance(59);
    expect((await token(a, client, early.exchange)).status).toBe(200);
    await clock.advance(2);
    expect(await refusal(a, client, late.exchange)).toBe('invalid_grant');
    expect(await because(a, early.consent)).toBeNull();
  });

  it('OT-11 access tokens are good for 900 s, on each interface', async () => {
    const tokens = [];
    for (const resource of RESOURCES) {
      tokens.push({ resource, bearer: await own(a, client, resource) });
      tokens.push({ resource, bearer: (await family(a, client, { resource })).access });
    }
    for (const { bearer, resource } of tokens) expect(await worth(gateways, bearer, resource)).toEqual([200]);
    // The test advances the clock by 895 s and not by 899 s. The reason is that libfaketime does not stop the clock, so
    // the first tokens are already some seconds old.
    await clock.advance(895);
    for (const { bearer, resource } of tokens) expect(await worth(gateways, bearer, resource)).toEqual([200]);
    await clock.advance(6);
    for (const { bearer, resource } of tokens) expect(await worth(gateways, bearer, resource)).toEqual([401]);
    expect((await a.ask('/api/v1/context', { token: tokens[0]?.bearer })).body.code).toBe('token_expired');
  });

  it('OT-11 to the second', async () => {
    const bearer = await own(a, client);
    await clock.advance(899);
    expect((await a.ask('/api/v1/context', { token: bearer })).status).toBe(200);
    await clock.advance(2);
    expect(await worth(gateways, bearer)).toEqual([401]);
  });

  it('OT-16 a family that is idle for an hour is dead', async () => {
    const [used, idle] = [await family(a, client), await family(a, client)];
    await clock.advance(HOUR - 2);
    const next = await token(a, client, refreshing(used.refresh));
    expect([next.status, next.body.refresh_expires_in]).toEqual([200, HOUR]);
    await clock.advance(3);
    expect(await refusal(a, client, refreshing(idle.refresh))).toBe('invalid_grant');
    // The client refreshed its token too late but did nothing wrong, so its consent stays valid.
    expect(await because(a, idle.consent)).toBeNull();
    expect((await token(a, client, refreshing(next.body.refresh_token))).status).toBe(200);
  });

  it('OT-16 a consent is dead after eight hours, also one that is refreshed every half hour', async () => {
    let { refresh, consent } = await family(a, client);
    const refreshed = async () => {
      const { status, text, body } = await token(a, client, refreshing(refresh));
      expect(status, text).toBe(200);
      refresh = body.refresh_token;
      return body;
    };
    for (let i = 0; i < 15; i++) {
      await clock.advance(30 * MINUTE);
      await refreshed();
    }
    await clock.advance(30 * MINUTE - 10);
    const last = await refreshed();
    for (const seconds of [last.expires_in, last.refresh_expires_in]) expect(seconds).toBeLessThanOrEqual(10);
    expect(await worth(gateways, last.access_token)).toEqual([200]);
    await clock.advance(11);
    expect(await worth(gateways, last.access_token)).toEqual([401]);
    expect(await refusal(a, client, refreshing(refresh))).toBe('invalid_grant');
    expect(await because(a, consent)).toBeNull();
  });

  it('a session lasts an hour', async () => {
    const { email } = await newPerson(a);
    const query = formOf(request(client, pkce()));
    const cookie = await signedIn(a, query, email);
    const page = () => a.ask(`/oauth/authorize?${query}`, { unchecked: true, headers: { cookie } });
    await clock.advance(HOUR - 2);
    const before = await page();
    const csrf = csrfOf(before);
    expect(csrf).not.toBe('');
    await clock.advance(3);
    expect((await page()).text).toContain('name="password"');
    const form = { csrf, scope: 'website_read', website_id: 'web_1_1', decision: 'approve' };
    const headers = { 'sec-fetch-site': 'same-origin', origin: 'null', cookie };
    const answer = await post(a, `/oauth/consent?${query}`, form, headers);
    expect(answer.status).toBe(200);
    expect(answer.text).toContain('name="password"');
  });

  it('OT-11 no token outlives its credential', async () => {
    const short = await newClient(a, { expires: '5 minutes' });
    const fields = { grant_type: 'client_credentials', resource: RESOURCE.rest };
    const { exchange } = await pending(a, short);
    const given = [await token(a, short, fields), await token(a, short, exchange)].map(({ body }) => body);
    for (const { expires_in } of given) expect(expires_in).toBeLessThanOrEqual(300);
    expect(given[1].refresh_expires_in).toBeLessThanOrEqual(300);
    await clock.advance(295);
    for (const { access_token } of given) expect(await worth(gateways, access_token)).toEqual([200]);
    await clock.advance(6);
    for (const { access_token } of given) expect(await worth(gateways, access_token)).toEqual([401]);
    for (const gateway of gateways) {
      expect(await refusal(gateway, short, fields)).toBe('invalid_client');
      expect(await refusal(gateway, short, refreshing(given[1].refresh_token))).toBe('invalid_client');
    }
  });

  it('OT-17 the old secret is good until its overlap ends, also where it is remembered', async () => {
    const rotated = await newClient(a);
    const fresh = await rotateCredential(a.database.db, rotated.credential, HOUR);
    const renewed = { ...rotated, secret: fresh?.secret ?? '' };
    await clock.advance(HOUR - 2);
    for (const gateway of gateways) {
      for (const one of [rotated, renewed]) expect(await worth(gateways, await own(gateway, one))).toEqual([200]);
    }
    await clock.advance(3);
    for (const gateway of gateways) {
      expect(await refusal(gateway, rotated, { grant_type: 'client_credentials', resource: RESOURCE.rest })).toBe(
        'invalid_client',
      );
      expect(await worth(gateways, await own(gateway, renewed))).toEqual([200]);
    }
  });

  it('a clock that is set back an hour resurrects nothing that was ended', async () => {
    const { db } = a.database;
    const revoke = (of: TestClient, secret: string) =>
      post(a, '/oauth/revoke', { token: secret }, { authorization: basic(of) });
    const living = await family(a, client);
    const mine = await own(a, client);
    await revoke(client, mine);
    const ended = [];
    for (const end of [
      (one: Awaited<ReturnType<typeof family>>) => revoke(client, one.refresh),
      (one) => token(a, client, one.exchange),
      async (one) => {
        await token(a, client, refreshing(one.refresh));
        await token(a, client, refreshing(one.refresh));
      },
      (one) => setRole(db, one.person, 'operator'),
      (one) => disablePerson(db, one.person),
      (one) => revokeConsent(db, one.consent),
    ] satisfies readonly ((one: Awaited<ReturnType<typeof family>>) => Promise<unknown>)[]) {
      const one = await family(a, client);
      expect(await worth(gateways, one.access)).toEqual([200]);
      await end(one);
      ended.push({ of: client, ...one });
    }
    for (const end of [rotateCredential, (on: typeof db, id: string) => revokeCredential(on, id)]) {
      const of = await newClient(a);
      const one = await family(a, of);
      const installation = of.token;
      expect(await worth(gateways, installation)).toEqual([200]);
      await end(db, of.credential, 0);
      ended.push({ of, ...one });
      ended.push({ of, ...one, access: installation });
    }
    const { id: leaver } = await newPerson(a);
    const cookie = await session(a, leaver);
    await disablePerson(db, leaver);
    for (const step of [0, 2 * HOUR, -3 * HOUR]) {
      await clock.advance(step);
      expect(await worth(gateways, mine)).toEqual([401]);
      for (const { of, access, refresh, exchange } of ended) {
        expect(await worth(gateways, access)).toEqual([401]);
        for (const fields of [refreshing(refresh), exchange]) {
          expect(await refusal(a, of, fields)).toMatch(/^invalid_(grant|client)$/);
        }
      }
      const page = await a.ask(`/oauth/authorize?${formOf(request(client, pkce()))}`, {
        unchecked: true,
        headers: { cookie },
      });
      expect(page.text).toContain('name="password"');
    }
    // Setting the clock back does not end a valid token.
    expect(await worth(gateways, living.access)).toEqual([200]);
    await clock.advance(HOUR);
  });

  it('a code that was shown too late is used up, whatever the clock says then', async () => {
    const { exchange } = await pending(a, client);
    await clock.advance(61);
    expect(await refusal(a, client, exchange)).toBe('invalid_grant');
    await clock.advance(-30);
    expect(await refusal(a, client, exchange)).toBe('invalid_grant');
  });
});

/**
 * Two ways to shift the clock of a Node process: in JavaScript on every machine, or for the whole process with
 * libfaketime.
 */
const SHIFTS: readonly { name: string; shift: (seconds: number) => Record<string, string> }[] = [
  {
    name: 'a substitute for Date',
    shift: (seconds) => {
      const code = `const R=Date,by=${seconds * 1000};globalThis.Date=class extends R{constructor(...a){
        if(a.length)super(...a);else super(R.now()+by)}static now(){return R.now()+by}}`;
      return { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(code)}` };
    },
  },
  ...(library === undefined
    ? []
    : [
        {
          name: 'libfaketime',
          shift: (seconds: number) => ({ ...faked(library), FAKETIME: `${seconds >= 0 ? '+' : ''}${seconds}` }),
        },
      ]),
];

describe.each(SHIFTS)('F-14 the clocks of the replicas, by $name', ({ shift }) => {
  let gateway: TestGateway;
  let replicas: Replica[];
  let urls: string[];

  beforeAll(async () => {
    gateway = await openTestGateway();
    const { host, port, name } = gateway.database;
    const databaseUrl = `postgres://postgres@${encodeURIComponent(host)}:${port}/${name}`;
    const options = [shift(10 * MINUTE), shift(-10 * MINUTE)].map((env) => ({ databaseUrl, env }));
    replicas = await Promise.all(options.map(startProcess));
    urls = [`http://127.0.0.1:${gateway.port}`, ...replicas.map(({ url }) => url)];
  });
  afterAll(async () => {
    await Promise.all(replicas.map((one) => one.end()));
    await gateway.close();
  });

  it('F-14 the shift is one', () => {
    for (const by of [600, -600]) {
      const { stdout } = spawnSync(process.execPath, ['-p', 'Date.now()'], { env: { ...process.env, ...shift(by) } });
      expect(Math.abs(Number(stdout) - Date.now() - by * 1000)).toBeLessThan(30_000);
    }
  });

  /**
   * Each function makes one kind of credential expire in `left` seconds. Returns true when the gateway at `url` still
   * accepts the credential.
   */
  const TIMED: Readonly<Record<string, (url: string, left: number) => Promise<boolean>>> = {
    'access token': async (url, left) => {
      const bearer = await own(gateway, await newClient(gateway));
      await gateway.database.sql`UPDATE gateway.token SET expires_at = now() + make_interval(secs => ${left})
        WHERE kind = 'access'`;
      return (await readAt(url, bearer)) === 200;
    },
    'installation token': async (url, left) => {
      const { token: bearer, credential } = await newClient(gateway);
      await gateway.database.sql`UPDATE gateway.token SET expires_at = now() + make_interval(secs => ${left})
        WHERE credential_id = ${credential}`;
      return (await readAt(url, bearer)) === 200;
    },
    credential: async (url, left) => {
      const { token: bearer, credential } = await newClient(gateway);
      await gateway.database.sql`UPDATE gateway.credential SET expires_at = now() + make_interval(secs => ${left})
        WHERE id = ${credential}`;
      return (await readAt(url, bearer)) === 200;
    },
    'client of a credential': async (url, left) => {
      const client = await newClient(gateway);
      await gateway.database.sql`UPDATE gateway.credential SET expires_at = now() + make_interval(secs => ${left})
        WHERE id = ${client.credential}`;
      const fields = { grant_type: 'client_credentials', resource: RESOURCE.rest };
      return (await tokenAt(url, client, fields)).status === 200;
    },
    'old secret': async (url, left) => {
      const client = await newClient(gateway);
      await rotateCredential(gateway.database.db, client.credential, HOUR);
      await gateway.database.sql`UPDATE gateway.credential SET old_secret_until = now() + make_interval(secs => ${left})
        WHERE id = ${client.credential}`;
      const fields = { grant_type: 'client_credentials', resource: RESOURCE.rest };
      return (await tokenAt(url, client, fields)).status === 200;
    },
    code: async (url, left) => {
      const client = await newClient(gateway);
      const { exchange, consent } = await pending(gateway, client);
      await gateway.database.sql`UPDATE gateway.consent SET code_expires_at = now() + make_interval(secs => ${left})
        WHERE id = ${consent}`;
      return (await tokenAt(url, client, exchange)).status === 200;
    },
    'refresh token': async (url, left) => {
      const client = await newClient(gateway);
      const { refresh, consent } = await family(gateway, client);
      await gateway.database.sql`UPDATE gateway.refresh_token SET expires_at = now() + make_interval(secs => ${left})
        WHERE consent_id = ${consent}`;
      return (await tokenAt(url, client, refreshing(refresh))).status === 200;
    },
    consent: async (url, left) => {
      const client = await newClient(gateway);
      const { refresh, consent } = await family(gateway, client);
      await gateway.database.sql`UPDATE gateway.consent SET expires_at = now() + make_interval(secs => ${left})
        WHERE id = ${consent}`;
      return (await tokenAt(url, client, refreshing(refresh))).status === 200;
    },
    session: async (url, left) => {
      const client = await newClient(gateway);
      const { id } = await newPerson(gateway);
      const cookie = await session(gateway, id);
      await gateway.database.sql`UPDATE gateway.session SET expires_at = now() + make_interval(secs => ${left})
        WHERE person_id = ${id}`;
      const page = await fetch(`${url}/oauth/authorize?${formOf(request(client, pkce()))}`, { headers: { cookie } });
      expect(page.status).toBe(200);
      return (await page.text()).includes('name="csrf"');
    },
  };

  it.each(Object.entries(TIMED))('F-14 ten minutes fast or slow changes no decision: %s', async (_name, decide) => {
    for (const url of urls) {
      for (const [left, good] of [
        [5 * MINUTE, true],
        [-5 * MINUTE, false],
        [20, true],
        [-1, false],
      ] as const) {
        expect(await decide(url, left), `${left} s left, replica ${urls.indexOf(url)}`).toBe(good);
      }
    }
  });

  it('F-14 lives are of the same length', async () => {
    const client = await newClient(gateway);
    for (const url of urls) {
      const { exchange } = await pending(gateway, client);
      const { body } = await tokenAt(url, client, exchange);
      expect([body.expires_in, body.refresh_expires_in]).toEqual([900, HOUR]);
    }
  });
});
