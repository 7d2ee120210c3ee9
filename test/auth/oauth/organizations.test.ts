import { randomUUID, type scrypt } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { hashPassword } from '../../../src/auth/passwords.ts';
import { unlock } from '../../../src/auth/sign-in.ts';
import { digestOf } from '../../../src/auth/tokens.ts';
import type { Answer } from '../../support/answer.ts';
import { openTestGateway, type TestGateway } from '../../support/gateway.ts';
import { KEYS } from '../../support/keys.ts';
import {
  answerPage,
  type DocumentServer,
  hostedOptions,
  hostedRequest,
  openDocuments,
} from '../../support/oauth/hosted.ts';
import {
  cookieOf,
  csrfOf,
  doorFrom,
  expectPage,
  type Fields,
  formOf,
  newPerson,
  PASSWORD,
  pkce,
  post,
  SAME,
} from '../../support/oauth/oauth.ts';

/** A person with one e-mail address in several organizations, and a client that belongs to none. */
const work = vi.hoisted(() => ({ hashes: 0 }));

vi.mock('node:crypto', async (original) => {
  const crypto = await original<typeof import('node:crypto')>();
  const counted = (...given: Parameters<typeof scrypt>): void => {
    work.hashes += 1;
    crypto.scrypt(...given);
  };
  return { ...crypto, scrypt: counted };
});

const OTHER = 'another horse battery staple';
const WRONG = 'incorrect horse battery staple';

let gateway: TestGateway;
let documents: DocumentServer;
let query: string;
let email: string;
let otherHash: string;
let from = 1;

beforeAll(async () => {
  documents = await openDocuments();
  gateway = await openTestGateway('demo', undefined, KEYS, {}, hostedOptions(documents));
  otherHash = await hashPassword(OTHER);
});
afterAll(async () => {
  await gateway.close();
  await documents.close();
});
beforeEach(async () => {
  query = formOf(hostedRequest(documents.serve(`/${randomUUID()}.json`), pkce()));
  ({ email } = await newPerson(gateway));
  from += 1;
});

/** Adds the person to a new organization. Returns the organization's name. */
async function join(password: 'same' | 'other'): Promise<{ name: string; id: string; tenant: string }> {
  const { sql } = gateway.database;
  const name = `Acme Support ${randomUUID()}`;
  const id = `acme-${randomUUID()}`;
  const [made] = await sql<{ tenant: number }[]>`
    INSERT INTO platform.organization (external_id, name) VALUES (${id}, ${name}) RETURNING tenant::integer`;
  const record = await newPerson(gateway, 'owner', made?.tenant);
  await sql`UPDATE gateway.person SET email = ${email} WHERE id = ${record.id}`;
  if (password === 'other') await sql`UPDATE gateway.person SET password = ${otherHash} WHERE id = ${record.id}`;
  return { name, id, tenant: String(made?.tenant) };
}

const send = (fields: Fields, cookie?: string): Promise<Answer> =>
  post(doorFrom(gateway.port, `127.0.0.${from}`), `/oauth/sign-in?${query}`, fields, {
    ...SAME,
    ...(cookie !== undefined && { cookie }),
  });
const signIn = (password: string, organization = ''): Promise<Answer> => send({ email, password, organization });

const authorize = (cookie: string): Promise<Answer> =>
  gateway.ask(`/oauth/authorize?${query}`, { unchecked: true, headers: { cookie } });
const organizationOn = ({ text }: Answer): string | undefined =>
  /<dt>Organization<\/dt><dd class="name"><bdi>([^<]+)/.exec(text)?.[1];
const buttons = ({ text }: Answer): (readonly [name: string, token: string])[] =>
  [...text.matchAll(/name="choose" value="([^"]+)"><bdi>([^<]+)/g)].map(([, token = '', name = '']) => [name, token]);

describe('passwords that differ', () => {
  it('the password decides the organization, and a right password leaves no failure behind', async () => {
    const second = await join('other');
    const own = organizationOn(await authorize(cookieOf(await signIn(PASSWORD))));
    for (let n = 0; n < 8; n++) {
      const answer = await signIn(OTHER);
      expect(answer.status, `sign-in ${n}`).toBe(303);
      expect(organizationOn(await authorize(cookieOf(answer)))).toBe(second.name);
    }
    const elder = await signIn(PASSWORD);
    expect([elder.status, organizationOn(await authorize(cookieOf(elder)))]).toEqual([303, own]);
    expect(
      await gateway.database.sql`SELECT 1 FROM gateway.sign_in_failure WHERE source = ${`127.0.0.${from}`}`,
    ).toEqual([]);
  }, 60_000);

  it('a wrong password counts once, and the right password of one organization buys no guess at another', async () => {
    const { tenant } = await join('other');
    for (let n = 0; n < 4; n++) expect((await signIn(WRONG)).status).toBe(403);
    expect((await signIn(PASSWORD)).status).toBe(303);
    expect((await signIn(WRONG)).status).toBe(403);
    expect((await signIn(OTHER)).status).toBe(429);
    expect(await unlock(gateway.database.db, { tenant, email })).toBe(5);
    expect((await signIn(OTHER)).status).toBe(303);
  }, 60_000);

  it('a refusal takes the same work for every number of organizations, and whether one is named or not', async () => {
    const costs: number[] = [];
    const cost = async (fields: Fields): Promise<void> => {
      const before = work.hashes;
      from += 1;
      expect((await send(fields)).status).toBe(403);
      costs.push(work.hashes - before);
    };
    await cost({ email: `${randomUUID()}@example.com`, password: WRONG });
    for (let n = 1; n <= 4; n++) {
      await cost({ email, password: WRONG });
      const { name } = await join('other');
      await cost({ email, password: WRONG, organization: name });
      await cost({ email, password: WRONG, organization: 'nowhere' });
    }
    expect(new Set(costs)).toEqual(new Set([3]));
  }, 60_000);

  it('the name that the pages show chooses the organization, and so do its ids', async () => {
    const second = await join('other');
    for (const organization of [second.name, second.name.toUpperCase(), ` ${second.name} `, second.id]) {
      const answer = await signIn(OTHER, organization);
      expect(answer.status, organization).toBe(303);
      expect(organizationOn(await authorize(cookieOf(answer)))).toBe(second.name);
    }
    expect((await signIn(PASSWORD, second.name)).status).toBe(403);
    expect((await signIn(OTHER, 'nowhere')).status).toBe(403);
  }, 60_000);
});

describe('one password for several organizations', () => {
  it('the person chooses by name, once, and is then in this organization only', async () => {
    const second = await join('same');
    const cookie = cookieOf(await signIn(PASSWORD));
    const page = await authorize(cookie);
    expect(page.status).toBe(200);
    expect(page.text).not.toContain('name="scope"');
    expect(buttons(page).map(([name]) => name)).toEqual([expect.any(String), second.name]);
    for (const [name, token] of [...buttons(page)].reverse()) {
      const again = cookieOf(await signIn(PASSWORD));
      const [, mine = ''] = buttons(await authorize(again)).find(([one]) => one === name) ?? [];
      expect((await send({ choose: token }, again)).status, 'the button of another sign-in').toBe(403);
      const chosen = await send({ choose: mine }, again);
      expect(chosen.status).toBe(303);
      expect(organizationOn(await authorize(cookieOf(chosen)))).toBe(name);
      expect((await authorize(again)).text, 'the choice is spent').toContain('<h1>Sign in</h1>');
      expect((await send({ choose: mine }, again)).status, 'a second press').toBe(403);
      const approved = await answerPage(gateway, query, cookieOf(chosen), {
        website_id: [],
        decision: 'deny',
      });
      expect(approved.status).toBe(303);
    }
  }, 60_000);

  it('before the choice there is no session: nothing can be approved, and other sites can press nothing', async () => {
    await join('same');
    const cookie = cookieOf(await signIn(PASSWORD));
    const page = await authorize(cookie);
    const [[, token] = ['', '']] = buttons(page);
    expect(csrfOf(page)).toBe('');
    const form = { csrf: '1.x', decision: 'approve', scope: 'website_read', website_id: 'web_1_1', duration: '8h' };
    const consent = await post(gateway, `/oauth/consent?${query}`, form, { ...SAME, cookie });
    expect([consent.status, consent.text.includes('Choose an organization')]).toEqual([200, true]);
    const foreign = { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example', cookie };
    expectPage(await post(gateway, `/oauth/sign-in?${query}`, { choose: token }, foreign), 'another site');
    expect((await send({ choose: 'x' }, cookie)).status).toBe(403);
    expect((await send({ choose: token })).status, 'no cookie').toBe(403);
    await post(gateway, `/oauth/sign-out?${query}`, {}, { ...SAME, cookie });
    expect((await send({ choose: token }, cookie)).status, 'after signing out').toBe(403);
  });

  it('a person who loses an organization before the choice cannot choose it', async () => {
    const { tenant } = await join('same');
    const cookie = cookieOf(await signIn(PASSWORD));
    const both = buttons(await authorize(cookie));
    await gateway.database
      .sql`UPDATE gateway.person SET password = ${otherHash} WHERE tenant = ${tenant} AND email = ${email}`;
    expect(buttons(await authorize(cookie)).length).toBe(1);
    expect((await send({ choose: both[1]?.[1] ?? '' }, cookie)).status).toBe(403);
    const secret = cookie.split('=')[1] ?? '';
    const rows = await gateway.database.sql`SELECT 1 FROM gateway.session WHERE digest = ${digestOf(secret)}`;
    expect(rows.length, 'the secret itself is no session').toBe(0);
  });
});
