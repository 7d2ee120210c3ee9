import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { COLUMNS } from '../../../src/surfaces/console/columns.ts';
import type { Answer } from '../../support/answer.ts';
import {
  addRival,
  asksToSignIn,
  forged,
  look,
  RIVAL,
  type SignedInPerson,
  signedInAs,
  submit,
  tokenIn,
} from '../../support/console/console.ts';
import { eventually } from '../../support/eventually.ts';
import { openTestGateway, type TestGateway } from '../../support/gateway.ts';
import {
  consented,
  cookieOf,
  doorFrom,
  newClient,
  newPerson,
  PASSWORD,
  post,
  SAME,
  type TestClient,
  token,
} from '../../support/oauth/oauth.ts';
import { rpc } from '../../support/surfaces/mcp.ts';
import { textOf } from '../../support/surfaces/pages.ts';

/** What an owner sees and does in the console. */
const HOSTILE = `<img src=x onerror="alert(1)"><script>zqx9</script>&amp;' "=1+1`;

let gateway: TestGateway;
let owner: SignedInPerson;
let client: TestClient;
let consent: string;

beforeAll(async () => {
  gateway = await openTestGateway();
  await addRival(gateway);
  owner = await signedInAs(gateway);
  client = await newClient(gateway, {
    scopes: ['website_read', 'conversation_read', 'contact_read', 'contact_read_pii'],
    dataAccess: ['message_content'],
    websites: ['web_1_1'],
    channels: ['chn_1_1_1'],
  });
  const { email } = await consented(gateway, client);
  const { sql } = gateway.database;
  const [given] = await sql<{ id: string }[]>`
    SELECT c.id FROM gateway.consent c JOIN gateway.person p ON p.id = c.person_id WHERE p.email = ${email}`;
  consent = given?.id ?? '';
});
afterAll(() => gateway.close());

/** The words of a page, with one space between them. */
const words = ({ text }: Answer): string => textOf(text.replaceAll('<', ' <')).replace(/\s+/g, ' ');
const page = async (path: string, by = owner): Promise<string> => words(await look(gateway, path, by.cookie));
const names = (text: string, pattern: RegExp): string[] => [...new Set(text.match(pattern) ?? [])];

describe('entering', () => {
  it('by password, on to the page that was asked for, and out again', async () => {
    const person = await newPerson(gateway, 'admin');
    const asked = await look(gateway, '/console/people');
    expect([asked.status, asksToSignIn(asked)]).toEqual([200, true]);
    expect(asked.text).toContain('action="/console/sign-in?to=%2Fconsole%2Fpeople"');
    expect(asked.text).toContain('Only owners and admins of an organization can use the console.');
    const door = doorFrom(gateway.port, '127.0.0.9');
    const fields = { email: person.email, password: PASSWORD, organization: '' };
    const entered = await post(door, '/console/sign-in?to=%2Fconsole%2Fpeople', fields, SAME);
    expect([entered.status, entered.headers.location]).toEqual([303, '/console/people']);
    const cookie = cookieOf(entered);
    expect((await look(gateway, '/console/people', cookie)).text).toContain(person.email);
    const left = await post(gateway, '/console/sign-out', {}, { ...SAME, cookie });
    expect([left.status, left.headers.location]).toEqual([303, '/console']);
    expect(asksToSignIn(await look(gateway, '/console/people', cookie))).toBe(true);
  });

  it.each([
    'https://evil.example',
    '//evil.example',
    '/console/../x',
    '/c/cnv_1_1_1',
    '/console?x=1',
    '/console//evil',
    '',
  ])('goes to the overview instead of %j', async (to) => {
    const person = await newPerson(gateway);
    const door = doorFrom(gateway.port, '127.0.0.10');
    const path = `/console/sign-in?to=${encodeURIComponent(to)}`;
    const entered = await post(door, path, { email: person.email, password: PASSWORD }, SAME);
    expect([entered.status, entered.headers.location]).toEqual([303, '/console']);
  });

  it('asks a person of two organizations for one of them', async () => {
    const person = await newPerson(gateway);
    const { sql } = gateway.database;
    await sql`INSERT INTO gateway.person (id, tenant, email, role, password)
      SELECT ${`prs_${'e'.repeat(32)}`}, ${RIVAL}, email, 'admin', password FROM gateway.person WHERE id = ${person.id}`;
    const door = doorFrom(gateway.port, '127.0.0.11');
    const half = await post(door, '/console/sign-in', { email: person.email, password: PASSWORD }, SAME);
    const cookie = cookieOf(half);
    const { text } = await look(gateway, '/console', cookie);
    expect(text).toContain('<h1>Choose an organization</h1>');
    const [, choose = ''] = /value="([^"]+)"><bdi>Rival</.exec(text) ?? [];
    const entered = await post(door, '/console/sign-in', { choose }, { ...SAME, cookie });
    expect((await look(gateway, '/console', cookieOf(entered))).text).toContain('Rival');
  });
});

describe('apps', () => {
  it('says in words what each credential may see', async () => {
    const text = await page(`/console/apps/${client.app}`);
    for (const said of [
      ...['Larkspur Outfitters US', 'Message text', 'Only conversations of 1 channel', client.credential],
      ...['Conversations · Contacts, without names', 'Names and addresses (masked: no personal data)'],
    ])
      expect(text, said).toContain(said);
    expect(text).not.toContain('Larkspur Outfitters Europe');
  });

  it('shows every credential in pages, those with access first, although newer ones have ended', async () => {
    const { app, credential } = await gateway.issue({ scopes: ['website_read'] });
    const { sql } = gateway.database;
    // As after a month in which a credential was issued and revoked each day.
    await sql`INSERT INTO gateway.credential SELECT m.* FROM generate_series(1, 30) g
      JOIN gateway.credential c ON c.id = ${credential}
      CROSS JOIN LATERAL jsonb_populate_record(c, jsonb_build_object('id', 'crd_' || lpad(g::text, 32, '0'),
        'created_at', now() + g * interval '1 second', 'revoked_at', now())) m`;
    const path = `/console/apps/${app}`;
    const cards = async (query: string): Promise<string[]> =>
      [...(await look(gateway, `${path}${query}`, owner.cookie)).text.matchAll(/<h3 id="(crd_\w+)"/g)].map(
        ([, id = '']) => id,
      );
    const [first, second] = [await cards(''), await cards('?page=2')];
    expect([first.length, second.length, new Set([...first, ...second]).size, first[0]]).toEqual([
      25,
      6,
      31,
      credential,
    ]);
    expect(await cards('?state=active')).toEqual([credential]);
    expect(await page(`${path}?state=expired`)).toContain('No credential matches');
    const file = await look(gateway, `${path}?state=revoked&format=ndjson`, owner.cookie);
    expect(
      file.text
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line).state),
    ).toEqual(Array(30).fill('revoked'));
  });

  it('shows a client by URL by its host, and disconnects it at once', async () => {
    const hosted = await newClient(gateway);
    const { sql } = gateway.database;
    await sql`UPDATE gateway.credential SET hosted_client = 'https://client.example/x.json', hosted_host = 'client.example',
      hosted_person = ${owner.id} WHERE id = ${hosted.credential}`;
    expect(await page('/console/apps?kind=by_url')).toMatch(
      /client\.example calls itself test Connected by a person 1 active/,
    );
    expect((await gateway.ask('/api/v1/websites', { token: hosted.token })).status).toBe(200);
    const action = `/console/credentials/${hosted.credential}/revoke`;
    const done = await submit(gateway, owner, { page: `/console/apps/${hosted.app}`, action });
    expect(done.headers.location).toBe(`/console/apps/${hosted.app}?done=credential_revoked`);
    expect((await gateway.ask('/api/v1/websites', { token: hosted.token })).status).toBe(401);
    expect(await page(done.headers.location ?? '')).toContain('The credential is revoked.');
    expect(await page(`/console/apps/${hosted.app}`)).not.toContain('Disconnect');
    expect(await page('/console/apps?access=none')).toContain('client.example');
  });
});

describe('operations', () => {
  it('are switched off for an app at once over every interface, and on again', async () => {
    const app = await gateway.issue();
    const path = `/console/apps/${app.app}/operations`;
    const rest = async (): Promise<number> => (await gateway.ask('/api/v1/websites', { token: app.token })).status;
    const listed = async (): Promise<boolean> => {
      const { body } = await rpc(gateway.port, app.token, 'tools/list');
      return JSON.stringify(body).includes('"websites_list"');
    };
    expect([await rest(), await listed()]).toEqual([200, true]);
    const off = await submit(gateway, owner, { page: `${path}?q=websites_list`, action: `${path}/websites_list/off` });
    expect(off.headers.location).toBe(`${path}?done=switched_off`);
    expect([await rest(), await listed()]).toEqual([404, false]);
    expect(await page(`${path}?state=off`)).toMatch(/websites_list .* off Switch on .*1 operation /);
    expect(await page(`/console/apps/${app.app}`)).toContain('Operations 1 switched off');
    await submit(gateway, owner, { page: `${path}?state=off`, action: `${path}/websites_list/on` });
    expect([await rest(), await listed()]).toEqual([200, true]);
    const { operations } = gateway.corridor.registry;
    expect(await page(path)).toContain(`1–25 of ${operations.length} operations`);
    const file = await look(gateway, `${path}?format=ndjson&kind=write`, owner.cookie);
    expect(file.text.trimEnd().split('\n')).toHaveLength(operations.filter(({ effect }) => effect === 'write').length);
  });

  it('that do not exist are not switched', async () => {
    const path = `/console/apps/${client.app}/operations`;
    const strange = { page: `${path}?q=websites_list`, action: `${path}/no_such_operation/off` };
    expect((await submit(gateway, owner, strange)).status).toBe(400);
  });
});

describe('consents', () => {
  it('shows who permitted what, and ends its tokens at once', async () => {
    const given = await consented(gateway, client);
    const tokens = await token(gateway, client, given.exchange);
    const access = tokens.body.access_token;
    expect((await gateway.ask('/api/v1/websites', { token: access })).status).toBe(200);
    const list = await page(`/console/consents?q=${given.email}`);
    expect(list).toContain('2 permissions, message text REST, 1 website');
    expect(list).toContain('1 consent ');
    const { text } = await look(gateway, `/console/consents?q=${given.email}`, owner.cookie);
    const [, id = ''] = /\/console\/consents\/(cns_[a-f0-9]{32})/.exec(text) ?? [];
    const done = await submit(gateway, owner, {
      page: `/console/consents/${id}`,
      action: `/console/consents/${id}/revoke`,
    });
    expect(done.status).toBe(303);
    expect((await gateway.ask('/api/v1/websites', { token: access })).status).toBe(401);
    expect(await page(done.headers.location ?? '')).toMatch(/The consent is revoked\..*revoked by an administrator/);
  });

  it('says why a consent has ended, and does not revoke one whose time is over', async () => {
    const { sql } = gateway.database;
    const { email } = await consented(gateway, client);
    const [given] = await sql<{ id: string }[]>`
      SELECT c.id FROM gateway.consent c JOIN gateway.person p ON p.id = c.person_id WHERE p.email = ${email}`;
    const path = `/console/consents/${given?.id}`;
    const form = { csrf: tokenIn(await look(gateway, path, owner.cookie), `${path}/revoke`) };
    await sql`UPDATE gateway.consent SET expires_at = now() WHERE id = ${given?.id ?? ''}`;
    const late = await post(gateway, `${path}/revoke`, form, { ...SAME, cookie: owner.cookie });
    expect([late.status, late.text.includes('<h1>Nothing was changed</h1>')]).toEqual([409, true]);
    expect(await page(path)).toContain('expired because its time is over');
    for (const [because, said] of [
      ['code_misused', 'because its code was used twice or wrongly'],
      ['person', 'because the person was disabled or lost the role'],
    ] as const) {
      await sql`UPDATE gateway.consent SET revoked_at = now(), revoked_because = ${because} WHERE id = ${given?.id ?? ''}`;
      expect(await page(path)).toContain(said);
    }
  });

  it('an address that names another notice shows none', async () => {
    for (const done of ['zqx9', '<b>', 'constructor', '__proto__'])
      expect(
        (await look(gateway, `/console/consents/${consent}?done=${encodeURIComponent(done)}`, owner.cookie)).text,
      ).not.toContain('role="status"');
    const status = async (path: string) =>
      (await look(gateway, `${path}?done=consent_revoked`, owner.cookie)).text.includes('role="status"');
    expect(await status(`/console/consents/${consent}`)).toBe(true);
    for (const other of ['/console', '/console/consents', '/console/people', `/console/apps/${client.app}`])
      expect(await status(other), other).toBe(false);
  });
});

describe('people', () => {
  it('are added, get another role, are disabled and enabled, as by the command line', async () => {
    const email = 'newcomer@example.com';
    const fields = { email: ' Newcomer@Example.com ', role: 'admin' };
    const added = await submit(gateway, owner, {
      page: '/console/people/add',
      action: '/console/people/add/send',
      fields,
    });
    const [, id = ''] = /(prs_[a-f0-9]{32})/.exec(added.headers.location ?? '') ?? [];
    const person = `/console/people/${id}`;
    expect(await page(person)).toContain(email);
    const again = await submit(gateway, owner, {
      page: '/console/people/add',
      action: '/console/people/add/send',
      fields,
    });
    expect([again.status, again.text.includes('already has a person')]).toEqual([400, true]);
    const { sql } = gateway.database;
    await sql`INSERT INTO gateway.session (digest, person_id, expires_at) VALUES (sha256('x'), ${id}, now() + interval '1 hour')`;
    await submit(gateway, owner, { page: person, action: `${person}/role`, fields: { role: 'owner' } });
    const sessions = async (): Promise<number> =>
      (await sql`SELECT FROM gateway.session WHERE person_id = ${id}`).length;
    expect(await sessions()).toBe(1);
    await submit(gateway, owner, { page: person, action: `${person}/disable` });
    expect([await sessions(), (await page(person)).includes('State disabled')]).toEqual([0, true]);
    await submit(gateway, owner, { page: person, action: `${person}/enable` });
    const [row] = await sql`SELECT role, disabled_at, password FROM gateway.person WHERE id = ${id}`;
    expect(row).toEqual({ role: 'owner', disabled_at: null, password: null });
  });

  it('are named by id in commands, so that no address is an option of the operator', async () => {
    const trap = `--email=${owner.email}`;
    const action = '/console/people/add/send';
    const fields = { email: trap, role: 'admin' };
    expect((await submit(gateway, owner, { page: '/console/people/add', action, fields })).status).toBe(400);
    // As an older version has stored it.
    const { id } = await newPerson(gateway, 'admin');
    await gateway.database.sql`UPDATE gateway.person SET email = ${trap} WHERE id = ${id}`;
    const { text } = await look(gateway, `/console/people/${id}`, owner.cookie);
    const shown = [...text.matchAll(/<pre class="command"[^>]*><code>([^<]*)<\/code>/g)].map(([, line]) => line);
    expect(shown).toEqual(['unlock', 'password', 'sign-in-link'].map((name) => `gateway person ${name} ${id}`));
  });

  it('tells an administrator what only others can change', async () => {
    const admin = await signedInAs(gateway, 'admin');
    expect(await page(`/console/people/${admin.id}`, admin)).toContain('This is you. Another owner or admin can');
    expect(await page(`/console/people/${owner.id}`)).toContain('This is you. Another owner can');
    expect(await page(`/console/people/${owner.id}`, admin)).toContain('Only an owner can change an owner.');
    const { text } = await look(gateway, '/console/people/add', admin.cookie);
    expect(names(text, /<option value="\w+"/g)).toEqual(['<option value="admin"', '<option value="operator"']);
  });
});

it('nobody reads that a person who cannot come in signs in', async () => {
  const [operator, admin] = [await newPerson(gateway, 'operator'), await newPerson(gateway, 'admin')];
  await gateway.database.sql`UPDATE gateway.person SET password = NULL WHERE id IN (${operator.id}, ${admin.id})`;
  expect(await page(`/console/people/${operator.id}`)).toContain('Signs in by – ');
  expect(await page(`/console/people/${admin.id}`)).toContain('Signs in by one-time link');
  expect(await page(`/console/people?q=${operator.email}`)).not.toContain('one-time link');
});

it('an address that cannot be read is not called a form', async () => {
  // A person of its own, because a person can ask for so many pages a minute. The next test has the same one.
  owner = await signedInAs(gateway);
  for (const query of ['q=%ff', 'q=%00', '=x']) {
    const { status, text } = await look(gateway, `/console/apps?${query}`, owner.cookie);
    expect([status, text.includes('The address has a part that cannot be read.')], query).toEqual([400, true]);
    expect(text, query).not.toContain('The form did not come');
  }
});

it('an address that a browser sends again has a page, and a trailing slash leads to the console', async () => {
  for (const door of ['sign-in?to=/console/people', 'sign-out', 'enter/use']) {
    const answer = await gateway.ask(`/console/${door}`, { unchecked: true, headers: { cookie: owner.cookie } });
    expect([answer.status, answer.headers['content-type'], answer.headers['allow']], door).toEqual([
      405,
      'text/html; charset=utf-8',
      'POST',
    ]);
    expect(answer.text).toContain('<a href="/console">Back to the page</a>');
  }
  const { status, headers } = await look(gateway, '/console/', owner.cookie);
  expect([status, headers['location']]).toEqual([303, '/console']);
});

describe('lists', () => {
  beforeAll(async () => {
    owner = await signedInAs(gateway);
    await gateway.database.sql`INSERT INTO gateway.person (id, tenant, email, role)
      SELECT 'prs_' || md5(n::text), 1, 'many' || n || '@example.com', CASE WHEN n % 2 = 0 THEN 'admin' ELSE 'operator' END
        FROM generate_series(1, 60) n`;
  });
  const found = async (query: string): Promise<string[]> =>
    names((await look(gateway, `/console/people?${query}`, owner.cookie)).text, /many\d+@example\.com/g);

  it('are walked to the end, each row once', async () => {
    const seen: string[] = [];
    let next: string | undefined = '/console/people?q=MANY';
    for (let n = 0; next !== undefined; n++) {
      expect(n).toBeLessThan(3);
      const { text }: Answer = await look(gateway, next, owner.cookie);
      seen.push(...names(text, /many\d+@example\.com/g));
      expect(textOf(text).replace(/\s+/g, ' ')).toContain(
        ['1–25 of 60 people', '26–50 of 60 people', '51–60 of 60 people'][n],
      );
      next = /rel="next" href="([^"]+)"/.exec(text)?.[1]?.replaceAll('&amp;', '&');
    }
    expect([seen.length, new Set(seen).size]).toEqual([60, 60]);
  });

  it('filter, and keep the filter in pages and files', async () => {
    expect(await found('q=many12@')).toEqual(['many12@example.com']);
    const { text } = await look(gateway, '/console/people?q=many&role=operator&page=2', owner.cookie);
    expect(names(text, /many\d+@/g)).toHaveLength(5);
    expect(text).toContain('/console/people?q=many&amp;role=operator&amp;page=1');
    expect(text).toContain('<option value="operator" selected>');
    for (const strange of ['page=0', 'page=-1', 'page=x', `q=${'x'.repeat(300)}`, 'page=1&page=2'])
      expect((await look(gateway, `/console/people?${strange}`, owner.cookie)).status, strange).toBe(200);
    for (const bad of ['%zz', 'q=%00', 'role=root', 'state=xx', 'role=xx&format=csv', 'format=xlsx'])
      expect((await look(gateway, `/console/people?${bad}`, owner.cookie)).status, bad).toBe(400);
    expect(await page('/console/people?q=nobody-like-this')).toContain('No person matches Show all people');
    expect(await page('/console/people?page=900')).toContain('There is no such page');
  });

  it('are files, as CSV and as NDJSON, with an audit entry', async () => {
    gateway.log.splice(0);
    const csv = await look(gateway, '/console/people?q=many&format=csv', owner.cookie);
    expect([csv.headers['content-type'], csv.headers['content-disposition']]).toEqual([
      'text/csv; charset=utf-8',
      'attachment; filename="people.csv"',
    ]);
    expect(csv.text.startsWith('\ufeff')).toBe(true);
    const lines = csv.text.slice(1).trimEnd().split('\r\n');
    expect([lines.length, lines[0]]).toEqual([
      61,
      'person_id,email,role,state,password,identity,disabled_at,created_at,approver',
    ]);
    const ndjson = await look(gateway, '/console/people?q=many&role=admin&format=ndjson', owner.cookie);
    const rows = ndjson.text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect([rows.length, rows[0]]).toEqual([30, expect.objectContaining({ role: 'admin', state: 'active' })]);
    const audited = (): Record<string, unknown>[] =>
      gateway.log.map((line) => JSON.parse(line)).filter(({ audit }) => audit === 'view');
    await eventually(() => expect(audited()).toHaveLength(2));
    expect(audited()[0]).toMatchObject({ operation: 'console_people', person: owner.id, exported: 'people.csv' });
  });

  it('of every kind have files, and no cell of a CSV is a formula', async () => {
    const { sql } = gateway.database;
    await sql`UPDATE gateway.app SET name = '=HYPERLINK("http://evil.example")' WHERE id = ${client.app}`;
    for (const path of ['/console/apps', '/console/consents']) {
      const { text } = await look(gateway, `${path}?format=csv`, owner.cookie);
      expect(text).toContain(`"'=HYPERLINK(""http://evil.example"")"`);
      expect((await look(gateway, `${path}?format=ndjson`, owner.cookie)).text).toContain(
        '=HYPERLINK(\\"http://evil.example\\")',
      );
    }
  });

  it.each(['people', 'apps', 'consents', 'approvals', 'audit', 'webhooks', 'sources', 'usage'] as const)(
    '%s have the same columns with rows and without',
    async (name) => {
      const path = `/console/${name}`;
      const header = `\ufeff${COLUMNS[name].join(',')}\r\n`;
      const none = { usage: 'app=app_none', audit: 'operation=none' }[String(name)] ?? 'q=nobody-like-this';
      const empty = await look(gateway, `${path}?${none}&format=csv`, owner.cookie);
      expect([empty.status, empty.text]).toEqual([200, header]);
      expect((await look(gateway, `${path}?format=csv`, owner.cookie)).text.startsWith(header)).toBe(true);
      const { text } = await look(gateway, `${path}?format=ndjson`, owner.cookie);
      // An audit record as JSON leaves out what it does not have, and its client is an object.
      if (name === 'audit' || text === '') return;
      expect(Object.keys(JSON.parse(text.split('\n')[0] ?? ''))).toEqual(COLUMNS[name]);
    },
  );

  it('of one app have the columns of their files', async () => {
    for (const [path, columns] of [
      [`/console/apps/${client.app}`, COLUMNS.credentials],
      [`/console/apps/${client.app}/operations`, COLUMNS.operations],
    ] as const) {
      const csv = await look(gateway, `${path}?format=csv`, owner.cookie);
      expect(csv.text.startsWith(`\ufeff${columns.join(',')}\r\n`), path).toBe(true);
      const { text } = await look(gateway, `${path}?format=ndjson`, owner.cookie);
      expect(Object.keys(JSON.parse(text.split('\n')[0] ?? '')), path).toEqual(columns);
    }
  });

  it('a file of too many rows is refused, with what to do', async () => {
    await gateway.database.sql`INSERT INTO gateway.person (id, tenant, email, role)
      SELECT 'prs_' || md5('m' || n), 1, 'mass' || n || '@example.com', 'operator' FROM generate_series(1, 5001) n`;
    const answer = await look(gateway, '/console/people?q=mass&format=csv', owner.cookie);
    expect([answer.status, answer.text.includes('Too many rows')]).toEqual([400, true]);
    expect(await page('/console/people?q=mass')).toContain(
      'Filter the list to export it: a file has at most 5,000 people',
    );
    await gateway.database.sql`DELETE FROM gateway.person WHERE email LIKE 'mass%'`;
  });

  it('say what to do when they are empty', async () => {
    const rival = await signedInAs(gateway, 'owner', { tenant: RIVAL });
    expect(await page('/console/apps', rival)).toContain('No app is connected yet');
    expect(await page('/console/consents', rival)).toContain('Nobody has approved an app yet');
    expect(await page('/console', rival)).toMatch(/Apps with access 0 .*No consent is active/);
  });
});

describe('every name that is shown', () => {
  it('is text, never HTML', async () => {
    const { sql } = gateway.database;
    await sql`UPDATE gateway.app SET name = ${HOSTILE} WHERE id = ${client.app}`;
    const hosted = await newClient(gateway);
    await sql`UPDATE gateway.credential SET hosted_client = 'https://x', hosted_host = ${HOSTILE}, hosted_person = ${owner.id}
      WHERE id = ${hosted.credential}`;
    await sql`UPDATE platform.website SET name = ${HOSTILE} WHERE tenant = 1`;
    const [before] = await sql`SELECT name FROM platform.organization WHERE tenant = 1`;
    await sql`UPDATE platform.organization SET name = ${HOSTILE} WHERE tenant = 1`;
    const hostile = await signedInAs(gateway);
    await sql`UPDATE gateway.person SET email = ${`${HOSTILE.toLowerCase()}@example.com`} WHERE id = ${hostile.id}`;
    let shown = 0;
    for (const path of [
      ...[
        '/console',
        '/console/apps',
        `/console/apps/${client.app}`,
        `/console/apps/${hosted.app}`,
        '/console/consents',
      ],
      ...[`/console/consents/${consent}`, '/console/people', `/console/people/${hostile.id}`, '/console/people/add'],
      ...[`/console/apps?q=${encodeURIComponent(HOSTILE)}`, `/console/consents?app=${encodeURIComponent(HOSTILE)}`],
    ]) {
      const { text } = await look(gateway, path, hostile.cookie);
      expect(text, path).not.toMatch(/<(img|script)|onerror="|alert\(1\)">/);
      shown += textOf(text).split('onerror="alert(1)"').length - 1;
    }
    expect(shown).toBeGreaterThan(20);
    await sql`UPDATE platform.organization SET name = ${before?.['name']} WHERE tenant = 1`;
  });
});

it('a change after 15 minutes says how a person without a password comes in again', async () => {
  const old = await signedInAs(gateway, 'owner', { age: 1_000 });
  const action = `/console/people/${old.id}/disable`;
  const answer = await post(gateway, action, { csrf: 'x' }, { ...SAME, cookie: old.cookie });
  // Nothing stands behind the command that somebody would copy with it.
  expect([answer.status, answer.text.includes(`<code>gateway person sign-in-link ${old.id}</code></p>`)]).toEqual([
    403,
    true,
  ]);
});

it('a form that changes nothing says so, although its person has just opened all pages of a minute', async () => {
  const busy = await signedInAs(gateway);
  const path = '/console/people?q=zqx';
  while ((await look(gateway, path, busy.cookie)).status === 200);
  const action = `/console/apps/app_${'0'.repeat(32)}/operations/search/off`;
  const send = () => post(gateway, action, { csrf: forged(busy, action) }, { ...SAME, cookie: busy.cookie });
  let answer = await send();
  while (answer.status === 429) answer = await send();
  expect([answer.status, asksToSignIn(answer)]).toEqual([409, false]);
});

it('another loopback name leads to the base URL, because its forms would be refused', async () => {
  const at = async (host: string) => {
    const { status, headers } = await gateway.ask('/console?to=x', { unchecked: true, headers: { host } });
    return [status, headers.location];
  };
  expect(await at('localhost:8420')).toEqual([303, 'http://127.0.0.1:8420/console?to=x']);
  for (const host of ['127.0.0.1:8420', 'localhost:3000', 'evil.example:8420'])
    expect(await at(host)).toEqual([200, undefined]);
});
