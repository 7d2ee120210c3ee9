import { scrypt as derive } from 'node:crypto';
import fc from 'fast-check';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { newId } from '../../src/auth/issue.ts';
import { hashPassword, isPassword, verifyPassword } from '../../src/auth/passwords.ts';
import { emailOf, type SignedIn, signIn, signInWith, signOut } from '../../src/auth/sign-in.ts';
import { digestOf, newSecret, wellFormed } from '../../src/auth/tokens.ts';
import { Failure } from '../../src/core/failures.ts';
import {
  disablePerson,
  enablePerson,
  insertPerson,
  type Role,
  setPassword,
  setRole,
} from '../../src/store/administration/people.ts';
import { type Database, openDatabase } from '../../src/store/driver/postgres.ts';
import { createSession, personOf } from '../../src/store/sign-in/sessions.ts';
import { purgeOAuth } from '../../src/store/sign-in/upkeep.ts';
import { counting, freshDatabase, type TestDatabase } from '../support/database.ts';
import { replaceScrypt } from '../support/oauth/scrypt.ts';

/**
 * Records every password derivation with its cost parameters. `cheap` makes derivations almost free, for tests that do
 * not measure the cost. Derivations wait for `until` before they end.
 */
const work = { costs: [] as string[], running: 0, most: 0, cheap: false, until: Promise.resolve() };

replaceScrypt((scrypt) => (password, salt, length, options, callback?: unknown) => {
  const done = callback as (error: Error | null, key: Buffer) => void; // the gateway uses the overload with a callback
  const { N, r, p } = options as { N: number; r: number; p: number }; // the gateway always passes these options
  work.costs.push(`${N} ${r} ${p} ${length}`);
  work.most = Math.max(work.most, ++work.running);
  const { cheap, until } = work;
  scrypt(password, salt, length, { N: cheap ? 16 : N, r, p, maxmem: 2 ** 27 }, (error, key) => {
    void until.then(() => {
      work.running--;
      done(error, key);
    });
  });
});

const RIGHT = 'correct horse battery';
const WRONG = 'incorrect horse battery';
const COST = '32768 8 3 32';

let database: TestDatabase;
let other: Database;
let statements: number;
let db: Database;
let hash: string;
let slowHash: string;
let cheapHash: string;

function cheaply(): void {
  beforeAll(() => {
    work.cheap = true;
    hash = cheapHash;
  });
  afterAll(() => {
    work.cheap = false;
    hash = slowHash;
  });
}

beforeAll(async () => {
  database = await freshDatabase('demo');
  const { host, port, name } = database;
  other = openDatabase({
    target: { host, port, database: name, username: 'postgres' },
    connections: 4,
    statementTimeout: 5_000,
    name: 'test-replica',
  });
  ({ db } = counting(database, () => statements++));
  work.cheap = true;
  cheapHash = await hashPassword(RIGHT);
  work.cheap = false;
  slowHash = await hashPassword(RIGHT);
  hash = slowHash;
});
afterAll(async () => {
  await other.close();
  await database.close();
});
beforeEach(() => {
  Object.assign(work, { costs: [], running: 0, most: 0 });
  statements = 0;
});
afterEach(async () => {
  await database.sql`DELETE FROM gateway.person`;
  await database.sql`DELETE FROM gateway.sign_in_failure`;
});

async function person(email: string, role: Role = 'admin', password: string | null = hash): Promise<string> {
  const made = await insertPerson(database.db, { id: newId('prs'), tenant: '1', email, role, password });
  if (!made) throw new Error('there already');
  return made.id;
}

const attempt = (email: string, password: string, source = '192.0.2.1', at: Database = db): Promise<SignedIn> =>
  signIn(at, { tenant: '1', email, password, source });

const failures = async (): Promise<number> =>
  (await database.sql`SELECT count(*)::integer AS n FROM gateway.sign_in_failure`)[0]?.['n'];
const refused = { refused: 'credentials' };

describe('passwords', () => {
  test('are kept as PHC strings of scrypt, each with a salt of its own', async () => {
    const again = await hashPassword(RIGHT);
    for (const phc of [hash, again]) {
      expect(phc).toMatch(/^\$scrypt\$ln=15,r=8,p=3\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/);
      expect(await verifyPassword(RIGHT, phc)).toBe(true);
      expect(await verifyPassword(WRONG, phc)).toBe(false);
    }
    expect(again).not.toBe(hash);
    expect(work.costs).toEqual(Array.from({ length: 5 }, () => COST));
  });

  test('are as another implementation of the PHC string reads them', async () => {
    const [, , , salt = '', key = ''] = hash.split('$');
    const made = await new Promise<Buffer>((resolve, reject) => {
      const options = { N: 2 ** 15, r: 8, p: 3 };
      derive(RIGHT, Buffer.from(salt, 'base64'), 32, options, (error, bytes) =>
        error ? reject(error) : resolve(bytes),
      );
    });
    expect(made.toString('base64').replace('=', '')).toBe(key);
  });

  test.each([
    ['', false],
    ['x'.repeat(11), false],
    ['x'.repeat(12), true],
    ['x'.repeat(256), true],
    ['x'.repeat(257), false],
    ['🐎'.repeat(11), false],
    ['🐎'.repeat(12), true],
    ['🐎'.repeat(256), true],
    ['ﬁ'.repeat(128), true],
    ['ﬁ'.repeat(129), false],
    ['            ', true],
    [`\ud800${'x'.repeat(12)}`, false],
  ])('%j may be one: %s', (password, may) => {
    expect(isPassword(password)).toBe(may);
  });
});

describe('passwords, at any cost', () => {
  cheaply();

  test('are the same however their characters were composed', async () => {
    const composed = await hashPassword('pässwörter überall ﬁn');
    expect(await verifyPassword('pässwörter überall ﬁn'.normalize('NFD'), composed)).toBe(true);
    expect(await verifyPassword('pässwörter überall fin', composed)).toBe(true);
    expect(await verifyPassword('passworter uberall fin', composed)).toBe(false);
  });

  test.each([
    ['nothing', null],
    ['the empty text', ''],
    ['another function', '$argon2id$v=19$m=19456,t=2,p=1$c2FsdHNhbHRzYWx0c2FsdA$aGFzaA'],
    ['a cut hash', '$scrypt$ln=15,r=8,p=3$AAAAAAAAAAAAAAAAAAAAAA$AAAA'],
    ['a cost that nobody could pay', `$scrypt$ln=31,r=8,p=3$AAAAAAAAAAAAAAAAAAAAAA$${'A'.repeat(43)}`],
  ])('%s in their place: never right, and the same work', async (_, phc) => {
    expect(await verifyPassword(RIGHT, phc)).toBe(false);
    expect(work.costs).toEqual([COST]);
  });

  test('the hash that stands for nobody’s is never right', async () => {
    expect(await verifyPassword('nobody', null)).toBe(false);
  });
});

describe('passwords of many at once', () => {
  cheaply();

  test('at most two at a time are worked on, and those who would wait too long come again', async () => {
    const all = await Promise.allSettled(Array.from({ length: 25 }, () => verifyPassword(WRONG, hash)));
    const turnedAway = all.filter((one) => one.status === 'rejected').map((one) => one.reason);
    expect(turnedAway).toHaveLength(25 - 18);
    for (const reason of turnedAway) {
      expect(reason).toBeInstanceOf(Failure);
      expect(reason).toMatchObject({ code: 'service_unavailable', details: { retryAfter: expect.any(Number) } });
    }
    expect(work).toMatchObject({ most: 2, running: 0 });
    expect(work.costs).toHaveLength(18);
    expect(await verifyPassword(RIGHT, hash)).toBe(true);
  });
});

describe('sign-in', () => {
  cheaply();

  test.each(['owner', 'admin'] as const)('an %s gets a session that is kept as a digest for an hour', async (role) => {
    const id = await person('ada@example.org', role);
    const done = await attempt(' Ada@Example.ORG ', RIGHT);
    if (!('session' in done)) throw new Error('refused');
    expect(done.session).toMatch(/^igwp_/);
    expect(wellFormed(done.session)).toBe(true);
    expect(await personOf(db, digestOf(done.session))).toEqual({
      ...{ id, tenant: '1', email: 'ada@example.org', role },
      organization_id: expect.stringMatching(/^org_/),
    });
    const rows = await database.sql`
      SELECT digest, person_id, expires_at - created_at AS life FROM gateway.session`;
    expect(rows).toEqual([{ digest: digestOf(done.session), person_id: id, life: '01:00:00' }]);
    expect(await failures()).toBe(0);
    await signOut(db, done.session);
    await signOut(db, done.session);
    expect(await personOf(db, digestOf(done.session))).toBeUndefined();
  });

  test('one answer and the same work for whoever may not: by hashes, their cost, and statements', async () => {
    await person('ada@example.org');
    await person('disabled@example.org');
    await database.sql`UPDATE gateway.person SET disabled_at = now() WHERE email LIKE 'disabled%'`;
    await person('operator@example.org', 'operator');
    await person('elsewhere@example.org', 'owner', null);
    const tries: [string, string, string][] = [
      ['a wrong password', 'ada@example.org', WRONG],
      ['nobody’s e-mail address', 'nobody@example.org', RIGHT],
      ['a disabled person', 'disabled@example.org', RIGHT],
      ['a disabled person and a wrong password', 'disabled@example.org', WRONG],
      ['an operator', 'operator@example.org', RIGHT],
      ['one without a password', 'elsewhere@example.org', RIGHT],
      ['one without a password, and the word for nobody', 'elsewhere@example.org', 'nobody'],
      ['no address', 'ada', RIGHT],
      ['a character that PostgreSQL does not take', 'ada@example.org\0', RIGHT],
      ['an endless one', `${'a'.repeat(400)}@example.org`, RIGHT],
      ['half a character', 'ada\ud800@example.org', RIGHT],
      ['no password', 'ada@example.org', ''],
      ['an endless password', 'ada@example.org', 'x'.repeat(60_000)],
    ];
    let source = 0;
    for (const [name, email, password] of tries) {
      Object.assign(work, { costs: [] });
      statements = 0;
      expect(await attempt(email, password, `192.0.2.${++source}`), name).toEqual(refused);
      expect({ name, costs: work.costs, statements }).toEqual({ name, costs: [COST], statements: 2 });
    }
    expect(await failures()).toBe(tries.length);
    expect(await database.sql`SELECT FROM gateway.session`).toHaveLength(0);
  });

  test('a person signs in to the own organization only', async () => {
    await person('ada@example.org');
    await database.sql`INSERT INTO platform.organization (tenant, external_id, name) VALUES (7, 'rival', 'Rival')
      ON CONFLICT DO NOTHING`;
    expect(await signIn(db, { tenant: '7', email: 'ada@example.org', password: RIGHT, source: 's' })).toEqual(refused);
  });

  test('a password that is changed while the old one is verified opens no session', async () => {
    const id = await person('ada@example.org');
    const slow: Database = {
      ...db,
      query: async (statement) => {
        if (work.costs.length === 1)
          await setPassword(database.db, id, `${hash.slice(0, -1)}${hash.endsWith('A') ? 'E' : 'A'}`);
        return db.query(statement);
      },
    };
    expect(await attempt('ada@example.org', RIGHT, 's', slow)).toEqual(refused);
    expect(work.costs).toHaveLength(1);
    expect(await database.sql`SELECT FROM gateway.session`).toHaveLength(0);
  });

  test('an attempt of which nothing became for want of time, or of the store, does not count', async () => {
    await person('ada@example.org');
    let release: () => void = () => undefined;
    work.until = new Promise((resolve) => {
      release = resolve;
    });
    // Each attempt has its own source address. Attempts from one source would evict each other from the queue of
    // password checks.
    const busy = Array.from({ length: 18 }, (_, n) => verifyPassword(WRONG, null, `198.51.100.${n}`));
    const turnedAway = attempt('ada@example.org', RIGHT);
    await expect
      .soft(Promise.race([turnedAway, new Promise((resolve) => setTimeout(resolve, 5_000, 'waits'))]))
      .rejects.toMatchObject({ code: 'service_unavailable' });
    release();
    await Promise.all([...busy, turnedAway.catch(() => undefined)]);
    expect(await failures()).toBe(0);
    const lost: Database = { ...db, read: () => Promise.reject(new Error('lost')), query: db.query };
    await expect(attempt('ada@example.org', RIGHT, 's', lost)).rejects.toThrow('lost');
    expect(await failures()).toBe(0);
  });
});

describe('RL-03 throttle of failed sign-ins', () => {
  cheaply();

  test('a wrong password counts, also where the checks of the other people did not begin in time', async () => {
    await person('ada@example.org');
    Object.assign(work, { costs: [] });
    const named: unknown[] = [];
    const now = performance.now.bind(performance);
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => now() + (work.costs.length > 0 ? 10_001 : 0));
    try {
      const asked = { tenant: null, email: 'ada@example.org', password: WRONG, source: 's' };
      await expect(
        signIn(database.db, { ...asked, refused: (people) => void named.push(...people) }),
      ).rejects.toMatchObject({ code: 'service_unavailable' });
    } finally {
      clock.mockRestore();
    }
    expect(work.costs).toHaveLength(1);
    expect(await failures()).toBe(1);
    expect(named).toHaveLength(1);
  });

  test('a check that has waited for ten seconds is refused in words, and hashes nothing', async () => {
    Object.assign(work, { costs: [] });
    let release: () => void = () => undefined;
    work.until = new Promise((resolve) => {
      release = resolve;
    });
    const running = ['a', 'b'].map((source) => verifyPassword(WRONG, null, source));
    const waiting = ['c', 'd'].map((source) => verifyPassword(WRONG, null, source).catch((error: unknown) => error));
    const later = performance.now() + 10_001;
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => later);
    try {
      release();
      expect(await Promise.all(running)).toEqual([false, false]);
      const refusal = { code: 'service_unavailable', details: { retryAfter: 3 } };
      expect(await Promise.all(waiting)).toMatchObject([refusal, refusal]);
      expect(work.costs).toHaveLength(2);
    } finally {
      clock.mockRestore();
    }
  });

  /** Makes the recorded failures older by this many seconds. */
  const pass = (seconds: number) =>
    database.sql`UPDATE gateway.sign_in_failure SET at = at - make_interval(secs => ${seconds})`;

  test('five of one account from one source; then not even the right password, for as long as is said', async () => {
    await person('ada@example.org');
    for (let i = 0; i < 5; i++) {
      expect(await attempt('ada@example.org', WRONG)).toEqual(refused);
      await pass(60);
    }
    const hashes = work.costs.length;
    const throttled = await attempt('ada@example.org', RIGHT);
    expect(throttled).toEqual({ refused: 'throttled', retryAfter: expect.any(Number) });
    // The first of the five failures is five minutes old. The wait is therefore shorter than the whole window.
    const wait = 'retryAfter' in throttled ? throttled.retryAfter : 0;
    expect(wait).toBeGreaterThan(580);
    expect(wait).toBeLessThanOrEqual(600);
    expect(work.costs).toHaveLength(hashes);
    expect(await failures()).toBe(5);
    await pass(wait - 20);
    expect(await attempt('ada@example.org', RIGHT)).toMatchObject({ refused: 'throttled' });
    await pass(20);
    expect(await attempt('ada@example.org', RIGHT)).toHaveProperty('session');
  });

  test('the rightful person at another source, and other people at this one, are not locked out', async () => {
    await person('ada@example.org');
    await person('grace@example.org');
    for (let i = 0; i < 6; i++) await attempt('ada@example.org', WRONG);
    expect(await attempt('ada@example.org', RIGHT)).toMatchObject({ refused: 'throttled' });
    expect(await attempt('ada@example.org', RIGHT, '192.0.2.2')).toHaveProperty('session');
    expect(await attempt('grace@example.org', RIGHT)).toHaveProperty('session');
    // A successful sign-in from another source address does not lift the limit at this source.
    expect(await attempt('ada@example.org', RIGHT)).toMatchObject({ refused: 'throttled' });
  });

  test('an account that nobody has is throttled alike', async () => {
    for (let i = 0; i < 5; i++) expect(await attempt('nobody@example.org', WRONG)).toEqual(refused);
    expect(await attempt('nobody@example.org', WRONG)).toMatchObject({ refused: 'throttled' });
    expect(await attempt(' NOBODY@example.org', WRONG)).toMatchObject({ refused: 'throttled' });
  });

  test('twenty of all accounts from one source', async () => {
    await person('ada@example.org');
    await database.sql`
      INSERT INTO gateway.sign_in_failure (source, account)
      SELECT '192.0.2.1', sha256(n::text::bytea) FROM generate_series(1, 19) AS n`;
    expect(await attempt('someone@example.org', WRONG)).toEqual(refused);
    expect(await attempt('ada@example.org', RIGHT)).toMatchObject({ refused: 'throttled' });
    expect(await attempt('ada@example.org', RIGHT, '192.0.2.2')).toHaveProperty('session');
  });

  test('success forgets the failures of the account at the source, and no others', async () => {
    await person('ada@example.org');
    for (let i = 0; i < 4; i++) await attempt('ada@example.org', WRONG);
    await attempt('ada@example.org', WRONG, '192.0.2.2');
    await attempt('grace@example.org', WRONG);
    expect(await attempt('ada@example.org', RIGHT)).toHaveProperty('session');
    expect(await failures()).toBe(2);
    for (let i = 0; i < 4; i++) expect(await attempt('ada@example.org', WRONG)).toEqual(refused);
    expect(await attempt('ada@example.org', RIGHT)).toHaveProperty('session');
  });

  test('fifty at once on two replicas: as many passwords are tried as in turn', async () => {
    await person('ada@example.org');
    const all = await Promise.all(
      Array.from({ length: 50 }, (_, i) => attempt('ada@example.org', WRONG, 's', i % 2 === 0 ? db : other)),
    );
    expect(all.filter((one) => 'refused' in one && one.refused === 'credentials')).toHaveLength(5);
    expect(all.filter((one) => 'refused' in one && one.refused === 'throttled')).toHaveLength(45);
    expect(work.costs).toHaveLength(5);
  });

  test('fifty at once for fifty accounts: twenty at most', async () => {
    const all = await Promise.allSettled(
      Array.from({ length: 50 }, (_, i) => attempt(`p${i}@example.org`, WRONG, 's', i % 2 === 0 ? db : other)),
    );
    const throttled = all.filter((one) => one.status === 'fulfilled' && 'retryAfter' in one.value);
    expect(throttled.length).toBeGreaterThanOrEqual(30);
    expect(work.costs.length).toBeLessThanOrEqual(20);
    expect(work.costs.length).toBeGreaterThanOrEqual(18);
  });

  test.each([
    ['2001:db8:1:2::1', '2001:db8:1:2:ffff::', true],
    ['2001:db8:1:2::1', '2001:DB8:1:2:0:0:0:7', true],
    ['2001:db8:1:2::1', '2001:db8:1:3::1', false],
    ['::ffff:192.0.2.9', '192.0.2.9', true],
    ['::ffff:192.0.2.9', '::ffff:c000:209', true],
    ['::ffff:192.0.2.9', '::ffff:192.0.2.8', false],
    ['fe80::1%eth0', 'fe80::2%eth1', true],
    ['::1', '::2', true],
    ['192.0.2.9', '192.0.2.8', false],
  ])('%s and %s are one source: %s', async (one, two, same) => {
    await attempt('nobody@example.org', WRONG, one);
    await attempt('nobody@example.org', WRONG, two);
    const sources = await database.sql`SELECT DISTINCT source FROM gateway.sign_in_failure`;
    expect(sources).toHaveLength(same ? 1 : 2);
  });

  test('accounts are kept as digests, and what counts no more is cleared away', async () => {
    await database.sql`
      INSERT INTO gateway.sign_in_failure (source, account, at)
      SELECT 'old', sha256(n::text::bytea), now() - interval '16 minutes' FROM generate_series(1, 6) AS n`;
    for (let i = 0; i < 3; i++) await attempt('ada@example.org', WRONG, `192.0.2.${i}`);
    const rows =
      await database.sql`SELECT source, octet_length(account) AS n, s::text AS row FROM gateway.sign_in_failure s`;
    expect(rows).toHaveLength(3);
    for (const { n, row } of rows) {
      expect(n).toBe(32);
      expect(row).not.toContain('ada@');
      expect(row).not.toContain(Buffer.from('ada@').toString('hex'));
    }
  });
});

describe('sessions', () => {
  async function session(email = 'ada@example.org'): Promise<{ id: string; digest: Buffer }> {
    const id = await person(email);
    const digest = digestOf(newSecret('session'));
    expect(await createSession(db, { digest, person: id, seconds: 3600 })).toMatch(/^org_/);
    return { id, digest };
  }

  test.each([
    [
      'it has expired',
      (id: string) => database.sql`UPDATE gateway.session SET expires_at = now() WHERE person_id = ${id}`,
    ],
    ['the person is disabled', (id: string) => disablePerson(database.db, id)],
    ['the role is lost', (id: string) => setRole(database.db, id, 'operator')],
    ['the password is changed', (id: string) => setPassword(database.db, id, null)],
    ['the person is removed', (id: string) => database.sql`DELETE FROM gateway.person WHERE id = ${id}`],
  ])('a session ends when %s', async (_, end) => {
    const { id, digest } = await session();
    const beside = await session('grace@example.org');
    expect(await personOf(db, digest)).toMatchObject({ id });
    await end(id);
    expect(await personOf(db, digest)).toBeUndefined();
    await enablePerson(database.db, id);
    await setRole(database.db, id, 'owner');
    expect(await personOf(db, digest)).toBeUndefined();
    expect(await personOf(db, beside.digest)).toMatchObject({ id: beside.id });
  });

  test('whoever is disabled while a session is made has none', async () => {
    const id = await person('ada@example.org');
    const digest = digestOf(newSecret('session'));
    let made: ReturnType<typeof createSession> | undefined;
    await database.sql.begin(async (sql) => {
      await sql`UPDATE gateway.person SET disabled_at = now() WHERE id = ${id}`;
      made = createSession(db, { digest, person: id, seconds: 3600 });
      await expect
        .poll(
          () =>
            database.sql`SELECT FROM pg_stat_activity WHERE datname = ${database.name} AND wait_event_type = 'Lock'`,
          { timeout: 5_000 },
        )
        .toHaveLength(1);
    });
    expect(await made).toBeUndefined();
    expect(await database.sql`SELECT FROM gateway.session`).toHaveLength(0);
  });

  test('two sessions of one person are independent, and lapsed ones are cleared away', async () => {
    const { id, digest } = await session();
    const second = digestOf(newSecret('session'));
    await createSession(db, { digest: second, person: id, seconds: 3600 });
    await database.sql`UPDATE gateway.session SET expires_at = now() WHERE digest = ${digest}`;
    const third = digestOf(newSecret('session'));
    await createSession(db, { digest: third, person: id, seconds: 3600 });
    await purgeOAuth(db, 10);
    expect(await database.sql`SELECT FROM gateway.session`).toHaveLength(2);
    expect(await personOf(db, second)).toMatchObject({ id });
  });
});

describe('sign-in by what the identity provider says', () => {
  const by = (subject: string, email?: string) => signInWith(db, { tenant: '1', subject, email });
  const bound = async () =>
    (await database.sql<{ subject: string | null }[]>`SELECT subject FROM gateway.person ORDER BY email`).map(
      ({ subject }) => subject,
    );

  test('a verified e-mail address binds once; from then on the subject counts alone', async () => {
    const id = await person('ada@example.org', 'owner', null);
    await person('grace@example.org', 'admin', null);
    const first = await by('https://id.example 1', 'Ada@example.org');
    if (!('session' in first)) throw new Error('refused');
    expect(await personOf(db, digestOf(first.session))).toMatchObject({ id });
    expect(await bound()).toEqual(['https://id.example 1', null]);
    // After the first sign-in, the gateway ignores the e-mail address from the provider. The address can even belong to
    // another person.
    for (const email of [undefined, 'new@example.org', 'grace@example.org']) {
      const again = await by('https://id.example 1', email);
      if (!('session' in again)) throw new Error('refused');
      expect(await personOf(db, digestOf(again.session))).toMatchObject({ id });
    }
    // The provider now gives this address to a second account, so the gateway refuses the sign-in.
    expect(await by('https://id.example 2', 'ada@example.org')).toEqual(refused);
    expect(await bound()).toEqual(['https://id.example 1', null]);
  });

  test('a bound person who is disabled, or an operator by now, is refused', async () => {
    const id = await person('ada@example.org');
    expect(await by('s', 'ada@example.org')).toHaveProperty('session');
    await disablePerson(database.db, id);
    expect(await by('s', 'ada@example.org')).toEqual(refused);
    await enablePerson(database.db, id);
    await setRole(database.db, id, 'operator');
    expect(await by('s', 'ada@example.org')).toEqual(refused);
    await setRole(database.db, id, 'admin');
    expect(await by('s')).toHaveProperty('session');
  });

  test('twenty at once bind one', async () => {
    await person('ada@example.org');
    const all = await Promise.all(Array.from({ length: 20 }, (_, i) => by(`subject ${i}`, 'ada@example.org')));
    expect(all.filter((one) => 'session' in one)).toHaveLength(1);
  });
});

test('property: an address is stored as one, whatever its case and the spaces around it, or not at all', () => {
  fc.assert(
    fc.property(fc.oneof(fc.emailAddress(), fc.string({ unit: 'binary' })), (given) => {
      const email = emailOf(given);
      expect(emailOf(email)).toBe(email);
      if (email !== '')
        expect(emailOf(` ${given.trim().toUpperCase()}\t`).toLowerCase()).toBe(emailOf(given.toUpperCase()));
      expect(email).toBe(email.toLowerCase());
    }),
    { seed: Date.now() % 2 ** 31, numRuns: 2_000, verbose: true },
  );
});
