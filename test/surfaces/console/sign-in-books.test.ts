import { afterAll, beforeAll, expect, it } from 'vitest';
import { makeSignInLink } from '../../../src/auth/sign-in-links.ts';
import { compile, type Fragment } from '../../../src/core/sql.ts';
import { StoreUnreachable } from '../../../src/store/driver/errors.ts';
import type { Answer } from '../../support/answer.ts';
import { addRival, RIVAL, signedInAs } from '../../support/console/console.ts';
import { freshDatabase, type TestDatabase } from '../../support/database.ts';
import { eventually } from '../../support/eventually.ts';
import { BASE_URL, openTestGateway, type TestGateway } from '../../support/gateway.ts';
import {
  consented,
  decide,
  formOf,
  newClient,
  newPerson,
  PASSWORD,
  pkce,
  post,
  request,
  SAME,
  signedIn,
} from '../../support/oauth/oauth.ts';

/** E6: the books have the ways in and out of people, whether they succeed or fail. */
let gateway: TestGateway;
let organization: string;
/** A page gets no answer from the store after this statement. */
let last: RegExp | undefined;
let away = false;
const ending = (own: TestDatabase): TestDatabase => {
  const { db } = own;
  const run =
    (how: 'query' | 'read') =>
    async <Row extends object>(statement: Fragment): Promise<Row[]> => {
      if (away && statement.app === '127.0.0.1') throw new StoreUnreachable('zqx7 away');
      const rows = await db[how]<Row>(statement);
      away ||= last?.test(compile(statement).text) === true;
      return rows;
    };
  return { ...own, db: { ...db, query: run('query'), read: run('read') } };
};
beforeAll(async () => {
  const database = ending(await freshDatabase('demo'));
  gateway = await openTestGateway('demo', database, undefined, {}, undefined, undefined, true);
  await addRival(gateway);
  const [row] = await gateway.database.sql<{ id: string }[]>`
    SELECT public_id AS id FROM platform.organization WHERE tenant = 1`;
  organization = row?.id ?? '';
});
afterAll(() => gateway.close());

const enter = (email: string, password = PASSWORD) => post(gateway, '/console/sign-in', { email, password }, SAME);
const told = (id: string) => gateway.database.sql`
  SELECT operation, outcome, status, surface, organization_id, person_id, targets, credential_id FROM gateway.audit
   WHERE person_id = ${id} OR ${id} = ANY (targets) ORDER BY time, id`;
const same = () => ({ surface: 'page', organization_id: organization, credential_id: null });

it('a sign-in, a failed one and one to a locked account, which is told once', async () => {
  const { id, email } = await newPerson(gateway);
  expect((await enter(email)).status).toBe(303);
  for (let n = 0; n < 5; n++) expect((await enter(email, 'zqx7wrong')).status).toBe(403);
  for (let n = 0; n < 4; n++) expect((await enter(email, 'zqx7wrong')).status).toBe(429);
  expect((await enter('nobody@zqx7.example')).status).toBe(403);
  await eventually(async () => expect(await told(id)).toHaveLength(7));
  const failed = { operation: 'console_sign_in', person_id: null, targets: [id], ...same() };
  expect([...(await told(id))]).toEqual([
    { operation: 'console_sign_in', outcome: 'ok', status: 303, person_id: id, targets: [], ...same() },
    ...Array.from({ length: 5 }, () => ({ ...failed, outcome: 'credentials', status: 403 })),
    { ...failed, outcome: 'locked', status: 429 },
  ]);
  const all = JSON.stringify(await gateway.database.sql`SELECT * FROM gateway.audit`);
  expect([all.includes('zqx7'), all.includes(email)]).toEqual([false, false]);
});

it('a person of several organizations is told in the one that the person chooses', async () => {
  const { id, email } = await newPerson(gateway);
  const rival = await newPerson(gateway, 'owner', RIVAL);
  await gateway.database.sql`UPDATE gateway.person SET email = ${email} WHERE id = ${rival.id}`;
  const half = await enter(email);
  const cookie = String(half.headers['set-cookie']).split(';')[0] ?? '';
  const page = await gateway.ask('/console', { unchecked: true, headers: { cookie } });
  const choose = /name="choose" value="([^"]+)"[^>]*><bdi>Rival/.exec(page.text)?.[1] ?? expect.fail(page.text);
  expect((await post(gateway, '/console/sign-in', { choose }, { ...SAME, cookie })).status).toBe(303);
  await eventually(async () => expect(await told(rival.id)).toHaveLength(1));
  expect([(await told(rival.id))[0]?.['outcome'], [...(await told(id))]]).toEqual(['ok', []]);
});

it('a one-time link, and one that has ended', async () => {
  const { id } = await newPerson(gateway);
  const linkOf = async () => {
    const made = await makeSignInLink(gateway.database.db, { person: id, baseUrl: BASE_URL });
    return new URL(made?.url ?? '').searchParams.get('link') ?? '';
  };
  const use = (link: string) => post(gateway, '/console/enter/use', { link }, SAME);
  expect((await use(await linkOf())).status).toBe(303);
  const late = await linkOf();
  await gateway.database.sql`UPDATE gateway.sign_in_link SET expires_at = now() WHERE person_id = ${id}`;
  // The second use finds nothing, so a flood with one link leaves one record.
  for (let n = 0; n < 3; n++) expect((await use(late)).status).toBe(403);
  await eventually(async () => expect(await told(id)).toHaveLength(2));
  expect([...(await told(id))]).toEqual([
    { operation: 'console_link', outcome: 'ok', status: 303, person_id: id, targets: [], ...same() },
    { operation: 'console_link', outcome: 'credentials', status: 403, person_id: null, targets: [id], ...same() },
  ]);
});

it('a consent that a person gives, and one that the person denies', async () => {
  const { id, email } = await newPerson(gateway);
  const client = await newClient(gateway);
  await consented(gateway, client, { email });
  const query = formOf(request(client, pkce()));
  const cookie = await signedIn(gateway, query, email);
  expect((await decide(gateway, query, cookie, { decision: 'deny' })).headers.location).toContain('access_denied');
  const consents = async () => (await told(id)).filter(({ operation }) => operation === 'oauth_consent');
  await eventually(async () => expect(await consents()).toHaveLength(2));
  const [given] = await gateway.database.sql`SELECT id FROM gateway.consent WHERE person_id = ${id}`;
  const about = { operation: 'oauth_consent', status: 303, person_id: id, ...same() };
  expect(await consents()).toEqual([
    { ...about, outcome: 'ok', targets: [given?.['id'], client.credential, client.app] },
    { ...about, outcome: 'access_denied', targets: [] },
  ]);
});

it('E6 a way in or out is told also if the store is away right after it', async () => {
  const { id, email } = await newPerson(gateway);
  const client = await newClient(gateway);
  const query = formOf(request(client, pkce()));
  const cookie = await signedIn(gateway, query, email);
  const made = await makeSignInLink(gateway.database.db, { person: id, baseUrl: BASE_URL });
  const link = new URL(made?.url ?? '').searchParams.get('link') ?? '';
  await eventually(async () => expect(await told(id)).toHaveLength(1));
  const ways: [RegExp, () => Promise<Answer>, string][] = [
    [/INSERT INTO gateway\.sign_in_place/, () => enter(email), 'console_sign_in'],
    [/INSERT INTO gateway\.session/, () => post(gateway, '/console/enter/use', { link }, SAME), 'console_link'],
    [/INSERT INTO gateway\.consent/, () => decide(gateway, query, cookie), 'oauth_consent'],
    [
      /DELETE FROM gateway\.session s/,
      () => post(gateway, '/console/sign-out', {}, { ...SAME, cookie }),
      'console_sign_out',
    ],
  ];
  for (const [statement, way] of ways) {
    last = statement;
    expect((await way()).status, String(statement)).toBe(303);
    expect(away, String(statement)).toBe(true);
    [last, away] = [undefined, false];
  }
  await eventually(async () => expect(await told(id)).toHaveLength(5));
  const [consent] = await gateway.database.sql`SELECT id FROM gateway.consent WHERE person_id = ${id}`;
  expect((await told(id)).slice(1)).toEqual(
    ways.map(([, , operation]) => ({
      ...{ operation, outcome: 'ok', status: 303, person_id: id, ...same() },
      targets: operation === 'oauth_consent' ? [consent?.['id']] : [],
    })),
  );
});

it('a form of another site in the session of a person', async () => {
  const { app } = await gateway.issue({ scopes: ['website_read'] });
  const owner = await signedInAs(gateway);
  const path = `/console/apps/${app}/operations/search/off`;
  const foreign = { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' };
  expect((await post(gateway, path, { csrf: 'x' }, { ...foreign, cookie: owner.cookie })).status).toBe(400);
  expect((await post(gateway, path, { csrf: 'x' }, foreign)).status).toBe(400);
  await eventually(async () => expect(await told(owner.id)).toHaveLength(1));
  expect([...(await told(owner.id))]).toMatchObject([
    { operation: 'operation_switch_off', outcome: 'invalid_request', status: 400, targets: [app, 'search'] },
  ]);
});

it('the sign-in of the record’s page and the sign-out of the console', async () => {
  const { id, email } = await newPerson(gateway);
  const entered = await post(gateway, '/c/ctc_1_1_89/sign-in', { email, password: PASSWORD }, SAME);
  const cookie = String(entered.headers['set-cookie']).split(';')[0] ?? '';
  await post(gateway, '/console/sign-out', {}, { ...SAME, cookie });
  await eventually(async () => expect(await told(id)).toHaveLength(2));
  expect((await told(id)).map(({ operation, outcome }) => [operation, outcome])).toEqual([
    ['record_sign_in', 'ok'],
    ['console_sign_out', 'ok'],
  ]);
});
