import { createHash } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { beginSignIn } from '../../src/store/sign-in/sessions.ts';
import { purgeOAuth } from '../../src/store/sign-in/upkeep.ts';
import type { Answer } from '../support/answer.ts';
import { command } from '../support/command.ts';
import { openTestGateway, type TestGateway } from '../support/gateway.ts';
import {
  cookieOf,
  doorFrom,
  formOf,
  newClient,
  newPerson,
  PASSWORD,
  pkce,
  post,
  request,
  SAME,
  type TestClient,
} from '../support/oauth/oauth.ts';
import { realScrypt } from '../support/oauth/scrypt.ts';

/**
 * Two attacks on the sign-in. In the first attack, many addresses guess the password of one account. In the second
 * attack, one address sends so many requests that nobody else is served.
 */
const ACCOUNT = 50;
const WRONG = 'incorrect horse battery staple';

let gateway: TestGateway;
let client: TestClient;

beforeAll(async () => {
  gateway = await openTestGateway('demo');
  client = await newClient(gateway);
});
afterAll(() => gateway.close());

const signIn = (email: string, password: string, from: string): Promise<Answer> =>
  post(doorFrom(gateway.port, from), `/oauth/sign-in?${formOf(request(client, pkce()))}`, { email, password }, SAME);

const accountOf = (email: string): Buffer => createHash('sha256').update(`1 ${email}`).digest();

const plant = (email: string, n: number) => gateway.database.sql`
  INSERT INTO gateway.sign_in_failure (source, account, at)
  SELECT '2001:db8:0:' || to_hex(n) || '::/64', ${accountOf(email)}, now() - make_interval(mins => 10) + make_interval(secs => n)
    FROM generate_series(1, ${n}::integer) AS n`;

describe('RL-03 failed sign-ins of one account from many addresses', () => {
  it('RL-03 fifty in all; then only from where the person has signed in before, and there within its own bounds', async () => {
    const { email } = await newPerson(gateway);
    expect((await signIn(email, PASSWORD, '127.0.0.10')).status).toBe(303);
    await plant(email, ACCOUNT - 1);
    const wrong = await signIn(email, WRONG, '127.0.0.11');
    expect([wrong.status, wrong.text]).toEqual([403, expect.stringContaining('Check e-mail and password')]);
    const refused = await signIn(email, PASSWORD, '127.0.0.12');
    expect(refused.status).toBe(429);
    // A failed sign-in counts for fifteen minutes. The oldest failed sign-in is almost ten minutes old, so the wait is
    // about five minutes.
    const wait = Number(refused.headers['retry-after']);
    expect(wait).toBeGreaterThan(270);
    expect(wait).toBeLessThanOrEqual(301);
    expect(refused.text).toContain(`Wait ${Math.ceil(wait / 60)} minutes, then try again.`);
    // The correction of a field does not help now, so the page has no link to a field.
    expect(refused.text).not.toContain('Check e-mail and password');
    expect(refused.headers['set-cookie']).toBeUndefined();
    // The limit for an account does not apply to an address from which the person has signed in before.
    expect((await signIn(email, PASSWORD, '127.0.0.10')).status).toBe(303);
    for (let at = 0; at < 5; at++) expect((await signIn(email, WRONG, '127.0.0.10')).status).toBe(403);
    expect((await signIn(email, PASSWORD, '127.0.0.10')).status).toBe(429);
    // This address was refused for one account. The address can still sign in to other accounts.
    const other = await newPerson(gateway);
    expect((await signIn(other.email, PASSWORD, '127.0.0.12')).status).toBe(303);
    // Five more attempts have failed after the planted failures. Make all failures so old that they no longer count.
    await gateway.database.sql`UPDATE gateway.sign_in_failure SET at = at - make_interval(secs => ${wait + 6})`;
    expect((await signIn(email, PASSWORD, '127.0.0.12')).status).toBe(303);
  });

  it('RL-03 the operator unlocks the account, and nobody waits', async () => {
    const { email } = await newPerson(gateway);
    const other = await newPerson(gateway);
    for (const name of [email, other.email])
      for (let at = 0; at < 5; at++) expect((await signIn(name, WRONG, '127.0.0.30')).status).toBe(403);
    expect((await signIn(email, PASSWORD, '127.0.0.30')).status).toBe(429);
    const { code, stdout, stderr } = await command(gateway.database, ['person', 'unlock', email]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toBe(`5 failed sign-ins are forgotten. ${email} can sign in.\n`);
    expect((await signIn(email, PASSWORD, '127.0.0.30')).status).toBe(303);
    expect((await signIn(other.email, PASSWORD, '127.0.0.30')).status).toBe(429);
  });

  it('RL-03 an account that nobody has is refused alike', async () => {
    await plant('nobody@example.org', ACCOUNT);
    expect((await signIn('nobody@example.org', PASSWORD, '127.0.0.13')).status).toBe(429);
  });

  it('RL-03 those who come at the same moment from many addresses are counted one after the other', async () => {
    const { sql, db } = gateway.database;
    const limits = { window: 900, perAccount: 5, perSource: 20 };
    const email = 'hurried@example.org';
    const account = accountOf(email);
    await plant(email, ACCOUNT - 3);
    let others: ReturnType<typeof beginSignIn>[] = [];
    // Attempts to sign in to one account run one after the other. A waiting attempt must also count the attempts that
    // commit during its wait.
    await sql.begin(async (held) => {
      const [first] = await held`
        SELECT recorded FROM gateway.begin_sign_in('192.0.2.1', ${account}, interval '15 minutes', 5, 20)`;
      expect(first?.['recorded']).toBeInstanceOf(Date);
      others = Array.from({ length: 4 }, (_, n) => beginSignIn(db, { source: `192.0.2.${n + 2}`, account }, limits));
      await pause(300);
    });
    const answers = await Promise.all(others);
    expect(answers.filter((one) => 'recorded' in one)).toHaveLength(2);
    expect(answers.filter((one) => 'wait' in one)).toHaveLength(2);
  });

  it('RL-03 of where somebody has signed in digests are kept, for thirty days', async () => {
    const { sql, db } = gateway.database;
    const { email } = await newPerson(gateway);
    expect((await signIn(email, PASSWORD, '127.0.0.14')).status).toBe(303);
    await plant(email, ACCOUNT);
    expect((await signIn(email, PASSWORD, '127.0.0.14')).status).toBe(303);
    const rows = await sql`SELECT p::text AS row, octet_length(p.place) AS n FROM gateway.sign_in_place p`;
    expect(rows.length).toBeGreaterThan(0);
    for (const { row, n } of rows) {
      expect(n).toBe(32);
      for (const trace of ['127.0.0.14', email]) {
        expect(row).not.toContain(trace);
        expect(row).not.toContain(Buffer.from(trace).toString('hex'));
      }
      expect(row).not.toContain(accountOf(email).toString('hex'));
    }
    await sql`UPDATE gateway.sign_in_place SET seen_at = now() - interval '29 days 23 hours'`;
    expect(await purgeOAuth(db, 1_000)).toBe(0);
    await sql`UPDATE gateway.sign_in_place SET seen_at = now() - interval '30 days 1 second'`;
    expect((await signIn(email, PASSWORD, '127.0.0.14')).status).toBe(429);
    expect(await purgeOAuth(db, 1_000)).toBe(rows.length);
    expect(await sql`SELECT FROM gateway.sign_in_place`).toEqual([]);
  });
});

describe('RL-03 passwords that wait to be checked', () => {
  it('RL-03 one address with twenty at once takes nobody else’s place', async () => {
    realScrypt();
    const [one, two] = [await newPerson(gateway), await newPerson(gateway)];
    const crowd = Promise.all(
      Array.from({ length: 20 }, (_, at) => signIn(`nobody-${at}@example.org`, WRONG, '127.0.0.20')),
    );
    // The gateway works on two attempts of the address at a time. The other attempts wait and are not refused.
    await expect
      .poll(async () => {
        const [row] = await gateway.database.sql`
          SELECT count(*)::integer AS n FROM gateway.sign_in_failure WHERE source = '127.0.0.20'`;
        return row?.['n'];
      })
      .toBeGreaterThan(17);
    const began = performance.now();
    const answers = await Promise.all([
      signIn(one.email, PASSWORD, '127.0.0.21'),
      signIn(two.email, PASSWORD, '127.0.0.22'),
    ]);
    const took = performance.now() - began;
    expect(answers.map(({ status }) => status)).toEqual([303, 303]);
    expect(answers.every((answer) => cookieOf(answer).startsWith('igw_session='))).toBe(true);
    const theirs = (await crowd).map(({ status }) => status);
    const all = performance.now() - began;
    expect(took).toBeLessThan(all * 0.7);
    expect(theirs.filter((status) => status !== 403 && status !== 503)).toEqual([]);
    // On a very busy machine, attempts that have waited for ten seconds are refused with 503.
    expect(theirs.filter((status) => status === 403).length).toBeGreaterThanOrEqual(all < 8_000 ? 14 : 2);
  });
});

describe('sessions of one person', () => {
  it('are twenty at most: the oldest makes room', async () => {
    const { sql } = gateway.database;
    const { id, email } = await newPerson(gateway);
    const other = await newPerson(gateway);
    for (const person of [id, other.id]) {
      await sql`INSERT INTO gateway.session (digest, person_id, expires_at, created_at)
        SELECT sha256((${person}::text || n)::bytea), ${person}, now() + interval '1 hour', now() - make_interval(secs => n)
          FROM generate_series(1, 40) AS n`;
    }
    expect((await signIn(email, PASSWORD, '127.0.0.30')).status).toBe(303);
    const left =
      await sql`SELECT created_at >= now() - interval '21 seconds' AS late FROM gateway.session WHERE person_id = ${id}`;
    expect(left).toHaveLength(20);
    expect(left.every(({ late }) => late)).toBe(true);
    expect(await sql`SELECT FROM gateway.session WHERE person_id = ${other.id}`).toHaveLength(40);
  });
});
