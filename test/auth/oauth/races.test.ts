import { setTimeout as pause } from 'node:timers/promises';
import type postgres from 'postgres';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { revokeCredential, rotateCredential } from '../../../src/auth/issue.ts';
import { compile, sql } from '../../../src/core/sql.ts';
import { revokeConsent } from '../../../src/store/administration/consents.ts';
import { disablePerson, setPassword, setRole } from '../../../src/store/administration/people.ts';
import { type Database, openDatabase } from '../../../src/store/driver/postgres.ts';
import type { Answer } from '../../support/answer.ts';
import { freshDatabase, type TestDatabase } from '../../support/database.ts';
import { everyOnce, repeats, times } from '../../support/form.ts';
import { BASE_URL, openTestGateway, type TestGateway } from '../../support/gateway.ts';
import {
  because,
  codeOf,
  exchangeOf,
  family,
  liveRefreshTokens,
  orphans,
  own,
  pending,
  readAt,
  refreshing,
  session,
  startProcess,
  tokenAt,
  worth,
} from '../../support/oauth/ends.ts';
import {
  csrfOf,
  formOf,
  newClient,
  newPerson,
  pkce,
  post,
  request,
  type TestClient,
  token,
} from '../../support/oauth/oauth.ts';
import { everyPoint, openProxy, type WireProxy } from '../../support/pgwire.ts';
import type { Replica } from '../../support/replica.ts';

let database: TestDatabase;
let proxy: WireProxy;
/**
 * A gateway in this process. The gateway's only connection to the store goes through a proxy that can inject faults.
 */
let gateway: TestGateway;
let direct: Database;
/** Two gateway processes on the same store, through the same proxy. */
let replicas: readonly [Replica, Replica];

beforeAll(async () => {
  database = await freshDatabase('demo');
  proxy = await openProxy(database);
  direct = database.db;
  const target = { host: proxy.host, port: proxy.port, database: database.name, username: 'postgres' };
  const db = openDatabase({ target, connections: 1, statementTimeout: 20_000, name: 'test-held' });
  gateway = await openTestGateway('demo', { ...database, db, close: () => db.close() });
  const options = { databaseUrl: proxy.url(database.name) };
  replicas = await Promise.all([startProcess(options), startProcess(options)]);
});
afterEach(() => proxy.disarm());
afterAll(async () => {
  await gateway.close();
  await proxy.close();
  await database.close();
});

const codes = (answers: readonly Answer[]): Record<string, number> => {
  const counts: Record<string, number> = {};
  for (const { status, body } of answers) {
    const key = `${status} ${body.error ?? 'token'}`;
    counts[key] = (counts[key] ?? 0) + 1;
  }
  return counts;
};

describe('on two replicas at the same moment', () => {
  const ROUNDS = repeats(3, 5, 1);
  const url = (i: number): string => (i % 2 === 0 ? replicas[0].url : replicas[1].url);

  it('OT-10 twenty exchanges of one code: one has tokens at most, and they are dead', async () => {
    const client = await newClient(gateway);
    for (let round = 0; round < ROUNDS; round++) {
      const { exchange, consent } = await pending(gateway, client);
      const answers = await Promise.all(Array.from({ length: 20 }, (_, i) => tokenAt(url(i), client, exchange)));
      expect(codes(answers)).toEqual({ '200 token': 1, '400 invalid_grant': 19 });
      const given = answers.find(({ status }) => status === 200)?.body;
      for (const i of [0, 1]) expect(await readAt(url(i), given.access_token)).toBe(401);
      expect(await worth([gateway], given.access_token)).toEqual([401]);
      expect(codes([await tokenAt(url(round), client, refreshing(given.refresh_token))])).toEqual({
        '400 invalid_grant': 1,
      });
      expect(await because(gateway, consent)).toBe('code_misused');
    }
  });

  it('OT-14 ten refreshes with one token: one has tokens at most, and no family lives', async () => {
    const client = await newClient(gateway);
    for (let round = 0; round < ROUNDS; round++) {
      const one = await family(gateway, client);
      const answers = await Promise.all(
        Array.from({ length: 10 }, (_, i) => tokenAt(url(i), client, refreshing(one.refresh))),
      );
      expect(codes(answers)).toEqual({ '200 token': 1, '400 invalid_grant': 9 });
      const given = answers.find(({ status }) => status === 200)?.body;
      for (const bearer of [one.access, given.access_token]) {
        for (const i of [0, 1]) expect(await readAt(url(i), bearer)).toBe(401);
      }
      expect(await liveRefreshTokens(gateway, one.consent)).toBe(0);
      expect(await because(gateway, one.consent)).toBe('refresh_reused');
    }
  });

  it.each([
    ['rotation', (id: string) => rotateCredential(direct, id, 0)],
    ['revocation', (id: string) => revokeCredential(direct, id)],
  ])('no token of the old secret outlives a %s that comes in the middle of many requests', async (_name, end) => {
    for (let round = 0; round < ROUNDS; round++) {
      const client = await newClient(gateway);
      const one = await family(gateway, client);
      const given: string[] = [];
      let refused = 0;
      const ask = async (i: number): Promise<void> => {
        while (refused < 8) {
          const { status, body } = await tokenAt(url(i), client, {
            grant_type: 'client_credentials',
            resource: BASE_URL,
          });
          if (status === 200) given.push(body.access_token);
          else refused++;
        }
      };
      const askers = Array.from({ length: 6 }, (_, i) => ask(i));
      await until(async () => given.length > round * 4);
      await end(client.credential);
      await Promise.all(askers);
      for (const [i, bearer] of [one.access, ...given].entries()) expect(await readAt(url(i), bearer)).toBe(401);
    }
  });
});

async function until(so: () => Promise<boolean>): Promise<void> {
  for (let i = 0; i < 1_000; i++) {
    if (await so()) return;
    await pause(5);
  }
  expect.fail('it never came to be so');
}

const count = async (where: postgres.PendingQuery<postgres.Row[]>): Promise<number> => {
  const [row] = await database.sql<{ n: number }[]>`
    SELECT count(*)::integer AS n FROM pg_stat_activity WHERE datname = ${database.name} AND ${where}`;
  return row?.n ?? 0;
};
/** True when a statement has finished all its work except the commit. */
const executed = (): Promise<boolean> =>
  count(database.sql`wait_event = 'ClientRead' AND state = 'active' AND backend_xid IS NOT NULL`).then((n) => n > 0);
const blocked = (): Promise<boolean> => count(database.sql`wait_event_type = 'Lock'`).then((n) => n > 0);

interface Subject {
  readonly client: TestClient;
  readonly person: string;
  /** The id of the consent. Empty when the tested request itself creates the consent. */
  readonly consent: string;
}

interface Issuing {
  readonly name: 'client credentials' | 'code' | 'refresh' | 'approval';
  readonly statement: RegExp;
  prepare(client: TestClient, person: string): Promise<{ consent: string; run: () => Promise<Given> }>;
}

interface Given {
  readonly status: number;
  readonly error: unknown;
  /**
   * Returns the access token of the answer. If the answer has a code, redeems the code first. Undefined when the client
   * got nothing.
   */
  bearer(secret: string): Promise<string | undefined>;
}

const given = ({ status, body }: Answer): Given => ({
  status,
  error: body.error,
  bearer: async () => body.access_token,
});

const ISSUING: readonly Issuing[] = [
  {
    name: 'client credentials',
    statement: /INSERT INTO gateway\.token \(digest, credential_id, kind, audience/,
    async prepare(client) {
      await own(gateway, client); // the gateway now remembers the client, so the next request needs only one statement
      const fields = { grant_type: 'client_credentials', resource: BASE_URL };
      return { consent: '', run: () => token(gateway, client, fields).then(given) };
    },
  },
  {
    name: 'code',
    statement: /gateway\.redeem_code/,
    async prepare(client, person) {
      await own(gateway, client);
      const { exchange, consent } = await pending(gateway, client, { person });
      return { consent, run: () => token(gateway, client, exchange).then(given) };
    },
  },
  {
    name: 'refresh',
    statement: /gateway\.rotate_refresh/,
    async prepare(client, person) {
      const { refresh, consent } = await family(gateway, client, { person });
      return { consent, run: () => token(gateway, client, refreshing(refresh)).then(given) };
    },
  },
  {
    name: 'approval',
    statement: /INSERT INTO gateway\.consent/,
    async prepare(client, person) {
      const proof = pkce();
      const query = formOf(request(client, proof));
      const cookie = await session(gateway, person);
      const page = await gateway.ask(`/oauth/authorize?${query}`, { unchecked: true, headers: { cookie } });
      const form = { csrf: csrfOf(page), scope: 'website_read', website_id: 'web_1_1', decision: 'approve' };
      const headers = { 'sec-fetch-site': 'same-origin', origin: 'null', cookie };
      return {
        consent: '',
        async run() {
          const answer = await post(gateway, `/oauth/consent?${query}`, form, headers);
          return {
            status: answer.status,
            error: undefined,
            async bearer(secret) {
              if (answer.status !== 303) return undefined;
              const exchange = exchangeOf(client, codeOf(answer), proof);
              return (await token(gateway, { ...client, secret }, exchange)).body.access_token;
            },
          };
        },
      };
    },
  },
];

/** One way to end tokens, by a statement of the product. `run` returns the client secret that is valid afterwards. */
interface End {
  readonly name: string;
  readonly of: 'credential' | 'person' | 'consent' | 'session';
  run(db: Database, subject: Subject): Promise<string | undefined>;
}

const ENDS: readonly End[] = [
  {
    name: 'rotation without overlap',
    of: 'credential',
    run: async (db, { client }) => (await rotateCredential(db, client.credential, 0))?.secret,
  },
  {
    name: 'rotation with overlap',
    of: 'credential',
    run: async (db, { client }) => (await rotateCredential(db, client.credential, 3_600))?.secret,
  },
  {
    name: 'revocation of the credential',
    of: 'credential',
    run: async (db, { client }) => (await revokeCredential(db, client.credential)) && client.secret,
  },
  {
    name: 'loss of the role',
    of: 'person',
    run: async (db, { client, person }) => (await setRole(db, person, 'operator')) && client.secret,
  },
  {
    name: 'end of the person',
    of: 'person',
    run: async (db, { client, person }) => (await disablePerson(db, person)) && client.secret,
  },
  {
    name: 'deletion of the person',
    of: 'person',
    run: async (db, { client, person }) =>
      (await db.query(sql`DELETE FROM gateway.person WHERE id = ${person}`)) && client.secret,
  },
  {
    name: 'deletion of the credential',
    of: 'credential',
    run: async (db, { client }) =>
      (await db.query(sql`DELETE FROM gateway.credential WHERE id = ${client.credential}`)) && client.secret,
  },
  {
    name: 'another password',
    of: 'session',
    run: async (db, { client, person }) => (await setPassword(db, person, '$scrypt$other')) && client.secret,
  },
  {
    name: 'revocation of the consent',
    of: 'consent',
    run: async (db, { client, consent }) => (await revokeConsent(db, consent)) && client.secret,
  },
];

const RACES = ENDS.flatMap((end) => ISSUING.map((issuing) => ({ end, issuing })))
  .filter(({ end, issuing }) => end.of === 'credential' || issuing.name !== 'client credentials')
  .filter(({ end, issuing }) => end.of !== 'consent' || issuing.name !== 'approval')
  .filter(({ end, issuing }) => end.of !== 'session' || issuing.name === 'approval')
  .map((race) => [`${race.end.name}, ${race.issuing.name}`, race] as const);

const after = ({ end, issuing }: { end: End; issuing: Issuing }): [status: number, error: unknown] => {
  if (issuing.name === 'approval') return [409, undefined];
  if (end.of !== 'credential') return [400, 'invalid_grant'];
  if (end.name !== 'rotation with overlap') return [401, 'invalid_client'];
  return issuing.name === 'client credentials' ? [200, undefined] : [400, 'invalid_grant'];
};

async function subject(issuing: Issuing) {
  const client = await newClient(gateway);
  const { id: person } = await newPerson(gateway);
  return { client, person, ...(await issuing.prepare(client, person)) };
}

const syncs = new Map<Issuing, number>();

/** Returns the place of the Sync message, which commits, among the messages of the statement. */
async function syncOf(issuing: Issuing): Promise<number> {
  // The first two runs also prepare the statement on the connection. All later runs exchange the same sequence of
  // messages.
  for (let run = 0; run < 2 && !syncs.has(issuing); run++) await (await subject(issuing)).run();
  const at = syncs.get(issuing) ?? proxy.messagesOf(issuing.statement).frontend.indexOf('S') + 1;
  syncs.set(issuing, at);
  return at;
}

/** Runs the statement in a transaction that the caller commits or rolls back. */
const over = (transaction: postgres.TransactionSql): Database => {
  const query: Database['query'] = async (statement) => {
    const { text, values } = compile(statement);
    // The types may differ here, because these statements have no lists as parameters and both drivers return equal
    // rows.
    return transaction.unsafe(text, values as postgres.ParameterOrJSON<never>[]) as never;
  };
  return { ...direct, query, read: query };
};

const SOME = everyOnce(RACES, 7);

describe('an end, and what is given at the same moment', () => {
  // A password change ends the sessions of a person. The consents that the person gave in these sessions stay valid.
  it.each(SOME.filter(([, { end }]) => end.of !== 'session'))(
    'what was given before the commit of the end is dead after it: %s',
    async (_title, { end, issuing }) => {
      const sync = await syncOf(issuing);
      const made = await subject(issuing);
      let release = (): void => undefined;
      const held = new Promise<void>((resolve) => {
        release = resolve;
      });
      const at = { side: 'frontend', at: sync, when: 'before' } as const;
      const armed = proxy.arm({ match: issuing.statement, at, action: 'forward', run: () => held });
      const answer = made.run();
      await until(executed);
      let ended = false;
      const ending = end.run(direct, made).finally(() => {
        ended = true;
      });
      // The statement that ends tokens must wait for the request that is issuing a token.
      await until(async () => ended || (await blocked()));
      release();
      const secret = (await ending) ?? expect.fail('no end');
      const { status, bearer } = await answer;
      expect(armed.hits()).toBe(1);
      expect(status).toBe(issuing.name === 'approval' ? 303 : 200);
      const got = await bearer(secret);
      if (issuing.name === 'approval') expect(got).toBeUndefined();
      else expect(await worth([gateway], got ?? '')).toEqual([401]);
    },
  );

  it.each(SOME)('what is asked for before the commit of the end waits for it: %s', async (_title, { end, issuing }) => {
    const made = await subject(issuing);
    let answered = false;
    const { answer, secret } = await database.sql
      .begin(async (transaction) => {
        const secret = (await end.run(over(transaction), made)) ?? expect.fail('no end');
        const answer = made.run().finally(() => {
          answered = true;
        });
        await until(async () => answered || (await blocked()));
        return { answer: answer.then((one) => [one]), secret };
      })
      .then(async ({ answer, secret }) => ({ answer: await answer, secret }));
    const [one = expect.fail('no answer')] = answer;
    const expected = after({ end, issuing });
    expect([one.status, one.error]).toEqual(expected);
    const bearer = await one.bearer(secret);
    expect(bearer === undefined).toBe(expected[0] !== 200);
    if (bearer !== undefined) expect(await worth([gateway], bearer)).toEqual([200]);
  });
});

describe('F-22 a kill during a refresh', () => {
  it('F-22 at its messages: never two live families, and nobody else’s is touched', async () => {
    const away = await openProxy(database);
    const options = { databaseUrl: away.url(database.name) };
    const [steady] = replicas;
    let replica = await startProcess(options);
    const client = await newClient(gateway);
    const bystanders = [await family(gateway, client), await family(gateway, await newClient(gateway))];
    const first = await family(gateway, client);
    expect((await tokenAt(replica.url, client, refreshing(first.refresh))).status).toBe(200);
    const statement = /gateway\.rotate_refresh/;
    // The moment after a message is the same as the moment before the next message. It is therefore enough to inject a
    // fault before each message.
    const before = everyPoint(away.messagesOf(statement)).filter(({ when }) => when === 'before');
    // Each kill needs a new Node process, which takes time. The short form therefore injects a fault only at every
    // fifth message, and the quick form only at the first. All forms also inject a fault after the server has answered.
    // The other forms inject one right after the commit is sent.
    const struck = before.filter((_, at) => at % times(5, 1, before.length) === 0);
    const points = [...struck, ...(['sync-then-cut', 'after-sync'] as const).slice(times(0, 0, 1))];
    // When a check fails, the cleanup also kills the spare replica, which may still be starting. The failed start must
    // not count as a second failure.
    const another = (): Promise<Replica> => {
      const starting = startProcess(options);
      starting.catch(() => undefined);
      return starting;
    };
    const outcomes = { committed: 0, lost: 0 };
    for (const [n, at] of points.entries()) {
      const spare = n + 1 < points.length ? another() : undefined;
      const one = await family(gateway, client);
      const victim = replica;
      const armed = away.arm({ match: statement, at, action: 'cut', run: () => victim.kill9() });
      const lost = await tokenAt(victim.url, client, refreshing(one.refresh)).catch(() => undefined);
      await victim.exited;
      expect(armed.hits(), JSON.stringify(at)).toBe(1);
      expect(lost, JSON.stringify(at)).toBeUndefined();
      away.disarm();
      await until(async () => !(await executed()));
      const live = await liveRefreshTokens(gateway, one.consent);
      const again = await tokenAt(steady.url, client, refreshing(one.refresh));
      if (again.status === 200) {
        outcomes.lost++;
        expect(live).toBe(1);
        expect(await liveRefreshTokens(gateway, one.consent)).toBe(1);
        expect(await readAt(steady.url, one.access)).toBe(200);
      } else {
        outcomes.committed++;
        expect(again.body.error).toBe('invalid_grant');
        expect(await liveRefreshTokens(gateway, one.consent)).toBe(0);
        expect(await because(gateway, one.consent)).toBe('refresh_reused');
        expect(await readAt(steady.url, one.access)).toBe(401);
      }
      replica = (await spare) ?? replica;
    }
    expect(outcomes.lost).toBeGreaterThan(0);
    expect(outcomes.committed).toBeGreaterThan(0);
    for (const { access, refresh } of bystanders) {
      expect(await readAt(steady.url, access)).toBe(200);
      expect(refresh).not.toBe('');
    }
    for (const { consent } of bystanders) expect(await liveRefreshTokens(gateway, consent)).toBe(1);
    await away.close();
  });
});

it('in the end no token of a dead consent lives', async () => {
  expect(await orphans(database)).toEqual([]);
});
