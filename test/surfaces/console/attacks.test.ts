import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { makeSignInLink } from '../../../src/auth/sign-in-links.ts';
import { digestOf } from '../../../src/auth/tokens.ts';
import { ACTS } from '../../../src/surfaces/console/pages.ts';
import type { Answer } from '../../support/answer.ts';
import {
  addRival,
  asksToSignIn,
  forged,
  look,
  ORIGIN,
  RIVAL,
  type SignedInPerson,
  signedInAs,
  submit,
  tokenIn,
} from '../../support/console/console.ts';
import {
  type Attempt,
  MANAGED_NAMES,
  type Managed,
  managedActs,
  managedState,
  openManaged,
  SHOW_SECRET,
} from '../../support/console/managed.ts';
import type { Issued } from '../../support/credentials.ts';
import { eventually } from '../../support/eventually.ts';
import { everyOnce, itOnce } from '../../support/form.ts';
import { openTestGateway, type TestGateway } from '../../support/gateway.ts';
import { asked, asker } from '../../support/ledger/approvals.ts';
import { note } from '../../support/ledger/commands.ts';
import { consented, type Fields, newClient, newPerson, PAGE_POLICY, post, SAME } from '../../support/oauth/oauth.ts';

/** The attack table of the console: who tries what, and that nothing changes. */
let gateway: TestGateway;
let owner: SignedInPerson;
let issued: Issued;
let consent: string;
let waiting: string;
let world: Awaited<ReturnType<typeof openManaged>>;
let managed: Managed;
let other: { id: string; email: string };
let barred: { id: string };

beforeAll(async () => {
  gateway = await openTestGateway();
  await addRival(gateway);
  world = await openManaged(gateway);
});
afterAll(async () => {
  await world.close();
  await gateway.close();
});
/** Plants what the changes of the console are about. The tests that change none of it share it. */
async function plant(): Promise<void> {
  managed = await world.plant();
  const client = await newClient(gateway);
  issued = client;
  await gateway.database.sql`UPDATE gateway.app SET switched_off = '{search}' WHERE id = ${issued.app}`;
  const given = await consented(gateway, client);
  const [row] = await gateway.database.sql<{ id: string }[]>`
    SELECT c.id FROM gateway.consent c JOIN gateway.person p ON p.id = c.person_id WHERE p.email = ${given.email}`;
  consent = row?.id ?? '';
  waiting = await asked(gateway, await asker(gateway), note('Waits for a person'));
  other = await newPerson(gateway, 'admin');
  barred = await newPerson(gateway, 'admin');
  await gateway.database.sql`UPDATE gateway.person SET disabled_at = now() WHERE id = ${barred.id}`;
}
// A person may open only so many pages a minute.
beforeEach(async () => {
  owner = await signedInAs(gateway);
});

/** Every change of the console, with the page that has its form. */
const acts = (): Record<string, Attempt> => ({
  credential_revoke: {
    page: `/console/apps/${issued.app}`,
    action: `/console/credentials/${issued.credential}/revoke`,
  },
  consent_revoke: { page: `/console/consents/${consent}`, action: `/console/consents/${consent}/revoke` },
  approval_approve: { page: `/console/approvals/${waiting}`, action: `/console/approvals/${waiting}/approve` },
  approval_reject: { page: `/console/approvals/${waiting}`, action: `/console/approvals/${waiting}/reject` },
  operation_switch_off: {
    page: `/console/apps/${issued.app}/operations?q=contact_get`,
    action: `/console/apps/${issued.app}/operations/contact_get/off`,
  },
  operation_switch_on: {
    page: `/console/apps/${issued.app}/operations?q=search`,
    action: `/console/apps/${issued.app}/operations/search/on`,
  },
  person_add: {
    page: '/console/people/add',
    action: '/console/people/add/send',
    fields: { email: `new-${other.id.slice(4, 12)}@example.com`, role: 'admin' },
  },
  person_role: {
    page: `/console/people/${other.id}`,
    action: `/console/people/${other.id}/role`,
    fields: { role: 'operator', was: 'admin' },
  },
  person_disable: { page: `/console/people/${other.id}`, action: `/console/people/${other.id}/disable` },
  person_enable: { page: `/console/people/${barred.id}`, action: `/console/people/${barred.id}/enable` },
  ...managedActs(managed, { was: managed.changedAt }),
});
const NAMES = [
  ...[
    'credential_revoke',
    'consent_revoke',
    'approval_approve',
    'approval_reject',
    'operation_switch_off',
    'operation_switch_on',
  ],
  ...['person_add', 'person_role', 'person_disable', 'person_enable'],
  ...MANAGED_NAMES,
];
/** The status of a change that was made. */
const made = (name: string): number => (SHOW_SECRET.includes(name) ? 200 : 303);
const act = (name: string): Attempt => acts()[name] ?? { page: '', action: '' };

itOnce('the table has every change of the console', () => {
  expect(ACTS.map(({ operation }) => operation).sort()).toEqual([...NAMES].sort());
});

/** Everything that a change of the console could change, but for the record of the person who tries. */
async function state(): Promise<string> {
  const { sql } = gateway.database;
  return JSON.stringify([
    await sql`SELECT id, revoked_at FROM gateway.credential ORDER BY id`,
    await sql`SELECT id, switched_off FROM gateway.app ORDER BY id`,
    await sql`SELECT id, revoked_at FROM gateway.consent ORDER BY id`,
    await sql`SELECT id, role, email, disabled_at FROM gateway.person WHERE id <> ${owner.id} ORDER BY id`,
    await sql`SELECT operation_id, state FROM gateway.approval ORDER BY operation_id`,
    await sql`SELECT count(*) FROM platform.note WHERE text = 'Waits for a person'`,
    await sql`SELECT digest FROM gateway.token WHERE revoked_at IS NULL ORDER BY digest`,
    ...(await managedState(gateway)),
  ]);
}

const send = (attempt: Attempt, csrf: string, headers: Record<string, string>): Promise<Answer> =>
  post(gateway, attempt.action, { csrf, ...attempt.fields }, headers);

const tokenOf = async (attempt: Attempt, { cookie }: SignedInPerson): Promise<string> =>
  tokenIn(await look(gateway, attempt.page, cookie), attempt.action);

const DONE = /^\/console\/[a-z0-9_/]+\?done=[a-z_]+$/;

describe.each(everyOnce(NAMES, 3))('%s', (name) => {
  beforeAll(plant);

  it('changes nothing without the token of this form in this session', async () => {
    const attempt = act(name);
    const colleague = await signedInAs(gateway);
    const again = await signedInAs(gateway);
    await gateway.database.sql`UPDATE gateway.session SET person_id = ${owner.id} WHERE person_id = ${again.id}`;
    const elsewhere = NAMES.filter((one) => one !== name).map(act);
    const tokens = [
      '',
      'x'.repeat(43),
      await tokenOf(attempt, colleague),
      await tokenOf(attempt, again),
      ...elsewhere.map(({ action }) => forged(owner, action)),
    ];
    expect(tokens.filter((one) => one !== '')).toHaveLength(tokens.length - 1);
    const before = await state();
    for (const csrf of tokens) expect((await send(attempt, csrf, { ...SAME, cookie: owner.cookie })).status).toBe(400);
    const good = await tokenOf(attempt, owner);
    expect(good).toBe(forged(owner, attempt.action));
    for (const fields of [{ csrf: [good, good] }, { csrf: good, more: 'x' }] as Fields[])
      expect(
        (await post(gateway, attempt.action, { ...attempt.fields, ...fields }, { ...SAME, cookie: owner.cookie }))
          .status,
      ).toBe(400);
    expect(await state()).toBe(before);
  });

  it('changes nothing by GET or HEAD', async () => {
    const attempt = act(name);
    const before = await state();
    for (const method of ['GET', 'HEAD', 'PUT', 'DELETE']) {
      const answer = await gateway.ask(attempt.action, { unchecked: true, method, headers: { cookie: owner.cookie } });
      expect(answer.status, method).toBe(405);
      if (method !== 'GET') continue;
      // As after a page that answered the form: the browser still shows its address.
      const groups = ACTS.map(({ path, from }) => ({ from, found: path.exec(attempt.action) })).find(
        (one) => one.found,
      );
      expect([answer.headers['content-type'], answer.headers['allow']]).toEqual(['text/html; charset=utf-8', 'POST']);
      expect(answer.text).toContain(`<a href="${groups?.from(groups.found?.slice(1) ?? [])}">Back to the page</a>`);
    }
    expect(await state()).toBe(before);
  });

  it.each([
    [
      'became an operator',
      (id: string) => gateway.database.sql`UPDATE gateway.person SET role = 'operator' WHERE id = ${id}`,
    ],
    [
      'became an operator but kept a session',
      async (id: string) => {
        const { sql } = gateway.database;
        const kept = await sql`SELECT * FROM gateway.session WHERE person_id = ${id}`;
        await sql`UPDATE gateway.person SET role = 'operator' WHERE id = ${id}`;
        await sql`INSERT INTO gateway.session ${sql(kept)} ON CONFLICT DO NOTHING`;
      },
    ],
    [
      'was disabled',
      (id: string) => gateway.database.sql`UPDATE gateway.person SET disabled_at = now() WHERE id = ${id}`,
    ],
    ['signed out', (id: string) => gateway.database.sql`DELETE FROM gateway.session WHERE person_id = ${id}`],
  ])('shows the sign-in to an owner who %s, even between the check and the statement', async (_, lose) => {
    const attempt = act(name);
    const csrf = await tokenOf(attempt, owner);
    const strike = async (when: 'before' | 'between'): Promise<Answer> => {
      if (when === 'before') await lose(owner.id);
      const { db } = gateway.database;
      const read = db.read.bind(db);
      let seen = 0;
      const spy = vi.spyOn(db, 'read').mockImplementation(async (statement) => {
        const rows = await read(statement);
        // The first statement of a request finds the administrator of the session.
        if (when === 'between' && ++seen === 1) await lose(owner.id);
        return rows as never; // the mock passes on what it got
      });
      const answer = await send(attempt, csrf, { ...SAME, cookie: owner.cookie });
      spy.mockRestore();
      return answer;
    };
    const kept = await gateway.database.sql`SELECT * FROM gateway.session WHERE person_id = ${owner.id}`;
    for (const when of ['between', 'before'] as const) {
      await gateway.database.sql`UPDATE gateway.person SET role = 'owner', disabled_at = NULL WHERE id = ${owner.id}`;
      await gateway.database.sql`INSERT INTO gateway.session ${gateway.database.sql(kept)} ON CONFLICT DO NOTHING`;
      const before = await state();
      const answer = await strike(when);
      expect([answer.status, asksToSignIn(answer)], when).toEqual([403, true]);
      expect(await state(), when).toBe(before);
    }
  });

  it('is refused for an owner of another organization, with the answer for what does not exist', async () => {
    const rival = await signedInAs(gateway, 'owner', { tenant: RIVAL });
    const attempt = act(name);
    if (name === 'person_add') {
      await submit(gateway, rival, attempt);
      const added = await gateway.database
        .sql`SELECT tenant::integer FROM gateway.person WHERE email = ${String(attempt.fields?.['email'])}`;
      expect([...added]).toEqual([{ tenant: RIVAL }]);
      return;
    }
    if (name === 'source_add') {
      expect((await submit(gateway, rival, attempt)).status).toBe(303);
      const added = await gateway.database.sql`SELECT tenant::integer FROM gateway.source WHERE account = '7'`;
      expect([...added]).toEqual([{ tenant: RIVAL }]);
      return;
    }
    if (name === 'webhook_create') {
      const before = await state();
      const csrf = forged(rival, attempt.action);
      const answer = await send(attempt, csrf, { ...SAME, cookie: rival.cookie });
      expect([answer.status, await state()]).toEqual([400, before]);
      expect((await look(gateway, attempt.page, rival.cookie)).text).not.toContain(managed.credential);
      return;
    }
    expect((await look(gateway, attempt.page, rival.cookie)).status).toBe(404);
    const before = await state();
    // The rival makes the right token, because the token is bound to the session and the action only.
    const csrf = forged(rival, attempt.action);
    const answer = await send(attempt, csrf, { ...SAME, cookie: rival.cookie });
    const none = attempt.action.replace(/_[a-f0-9]{32}/, `_${'0'.repeat(32)}`);
    const missing = await send({ ...attempt, action: none }, forged(rival, none), {
      ...SAME,
      cookie: rival.cookie,
    });
    expect([answer.status, missing.status, await state()]).toEqual([409, 409, before]);
    expect(answer.text).toBe(missing.text);
  });

  it('is refused for an approver of another credential, with the answer for what does not exist', async () => {
    const approver = await anApprover();
    const attempt = act(name);
    expect((await look(gateway, attempt.page, approver.cookie)).status).toBe(404);
    const before = await state();
    const answer = await send(attempt, forged(approver, attempt.action), { ...SAME, cookie: approver.cookie });
    const none = `/console/approvals/op_${'0'.repeat(64)}/approve`;
    const missing = await post(gateway, none, { csrf: forged(approver, none) }, { ...SAME, cookie: approver.cookie });
    expect([answer.status, missing.status, await state()]).toEqual([409, 409, before]);
    const [said, nothing] = [answer, missing].map(({ text }) => text.replace(' aria-current="page"', ''));
    expect(said).toBe(nothing);
  });

  describe('made', () => {
    beforeEach(plant);

    it('is done for an owner with the form of the page, exactly once in the audit', async () => {
      const before = await state();
      gateway.log.splice(0);
      const done = await submit(gateway, owner, act(name));
      expect(done.status).toBe(made(name));
      if (SHOW_SECRET.includes(name)) expect(done.text).toMatch(/<code>whsec_[A-Za-z0-9+/=]{44}<\/code>/);
      else expect([done.text, done.headers.location]).toEqual(['', expect.stringMatching(DONE)]);
      expect(await state()).not.toBe(before);
      const audited = (): Record<string, unknown>[] =>
        gateway.log.map((line) => JSON.parse(line)).filter((line) => line.audit === 'administration');
      await eventually(() => expect(audited()).toHaveLength(1));
      expect(audited()[0]).toMatchObject({
        operation: name,
        action: name,
        person: owner.id,
        decision: 'allowed',
        target: expect.stringMatching(/^(crd|cns|prs|app|whk|src|op)_[a-f0-9]{32,64}( [a-z_]+)?$/),
      });
    });

    it('changes nothing for a form of another site, another origin or no page', async () => {
      const attempt = act(name);
      const csrf = await tokenOf(attempt, owner);
      const before = await state();
      for (const headers of [
        { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' },
        { 'sec-fetch-site': 'same-site', origin: 'https://evil.example' },
        { 'sec-fetch-site': 'none', origin: 'null' },
        { 'sec-fetch-site': 'same-origin', origin: 'https://evil.example' },
        { origin: 'null' },
        {},
      ] as Record<string, string>[]) {
        const answer = await send(attempt, csrf, { ...headers, cookie: owner.cookie });
        expect([answer.status, answer.headers.location], JSON.stringify(headers)).toEqual([400, undefined]);
      }
      expect(await state()).toBe(before);
      expect((await send(attempt, csrf, { origin: ORIGIN, cookie: owner.cookie })).status).toBe(made(name));
    });

    it('shows the sign-in 15 minutes after the sign-in, and changes nothing', async () => {
      const attempt = act(name);
      const fields = await tokenOf(attempt, owner);
      await gateway.database
        .sql`UPDATE gateway.session SET created_at = now() - interval '15 minutes' WHERE person_id = ${owner.id}`;
      const before = await state();
      const answer = await send(attempt, fields, { ...SAME, cookie: owner.cookie });
      expect([answer.status, asksToSignIn(answer), await state()]).toEqual([403, true, before]);
      expect(answer.text).toContain('Nothing was changed.');
      // The person can still look.
      expect((await look(gateway, attempt.page, owner.cookie)).status).toBe(200);
      await gateway.database
        .sql`UPDATE gateway.session SET created_at = now() - interval '14 minutes' WHERE person_id = ${owner.id}`;
      expect((await send(attempt, fields, { ...SAME, cookie: owner.cookie })).status).toBe(made(name));
    });
  });
});

/** A person with the role operator, whom a credential names that has no write. */
async function anApprover(): Promise<SignedInPerson> {
  const approver = await signedInAs(gateway, 'operator');
  const { credential } = await asker(gateway);
  await gateway.database.sql`UPDATE gateway.credential SET approvers = ${[approver.id]} WHERE id = ${credential}`;
  return approver;
}

describe('people among themselves', () => {
  beforeEach(plant);

  const change = async (by: SignedInPerson, id: string, leg: string, fields: Fields = {}): Promise<number> => {
    const action = `/console/people/${id}/${leg}`;
    const csrf = forged(by, action);
    return (await post(gateway, action, { csrf, ...fields }, { ...SAME, cookie: by.cookie })).status;
  };

  itOnce('an admin cannot make, change or disable an owner', async () => {
    const admin = await signedInAs(gateway, 'admin');
    const before = await state();
    for (const [leg, fields] of [
      ['role', { role: 'operator', was: 'owner' }],
      ['disable', {}],
    ] as const)
      expect(await change(admin, owner.id, leg, fields)).toBe(409);
    expect(await change(admin, other.id, 'role', { role: 'owner', was: 'admin' })).toBe(409);
    expect(await state()).toBe(before);
    const added = await post(
      gateway,
      '/console/people/add/send',
      { csrf: forged(admin, '/console/people/add/send'), email: 'x@example.com', role: 'owner' },
      { ...SAME, cookie: admin.cookie },
    );
    expect([added.status, await state()]).toEqual([409, before]);
    expect(await change(admin, other.id, 'role', { role: 'operator', was: 'admin' })).toBe(303);
  });

  itOnce('nobody changes the own role or disables themselves', async () => {
    const before = await state();
    expect(await change(owner, owner.id, 'role', { role: 'admin', was: 'owner' })).toBe(409);
    expect(await change(owner, owner.id, 'disable')).toBe(409);
    expect(await state()).toBe(before);
  });

  itOnce('of two owners who disable each other at the same time, one stays and one reads the sign-in', async () => {
    const { sql, name } = gateway.database;
    const [one, two] = await Promise.all([signedInAs(gateway), signedInAs(gateway)]);
    let both: Promise<number[]> | undefined;
    await sql.begin(async (holding) => {
      // Each statement locks its own person and then waits for the other person. Without this lock, one can be faster.
      await holding`SELECT FROM gateway.person WHERE id IN (${one.id}, ${two.id}) FOR SHARE`;
      both = Promise.all([change(one, two.id, 'disable'), change(two, one.id, 'disable')]);
      await eventually(async () =>
        expect(
          await sql`SELECT FROM pg_stat_activity WHERE datname = ${name} AND wait_event_type = 'Lock'`,
        ).toHaveLength(2),
      );
    });
    expect((await both)?.sort()).toEqual([303, 403]);
    const left = await sql`SELECT id FROM gateway.person WHERE id IN (${one.id}, ${two.id}) AND disabled_at IS NULL`;
    expect(left).toHaveLength(1);
  });

  itOnce('refuses a role that does not exist, and a malformed address', async () => {
    const before = await state();
    expect(await change(owner, other.id, 'role', { role: 'root', was: 'admin' })).toBe(409);
    const answer = await submit(gateway, owner, { ...act('person_add'), fields: { email: '<b>', role: 'admin' } });
    expect([answer.status, answer.text.includes('value="&lt;b&gt;"')]).toEqual([400, true]);
    expect(await state()).toBe(before);
  });
});

describe('who sees the console', () => {
  beforeAll(plant);

  const pages = (): string[] => [
    '/console',
    '/console/apps',
    `/console/apps/${issued.app}`,
    `/console/apps/${issued.app}/operations`,
    '/console/consents',
    `/console/consents/${consent}`,
    '/console/approvals',
    `/console/approvals/${waiting}`,
    '/console/approvals?format=csv',
    '/console/people',
    `/console/people/${other.id}`,
    '/console/people/add',
    '/console/people?format=csv',
    '/console/apps?format=ndjson',
    '/console/consents?format=csv',
    '/console/nothing',
  ];

  itOnce('nobody without a session, with an ended session or with a session of an operator', async () => {
    const operator = await signedInAs(gateway, 'operator');
    const ended = await signedInAs(gateway);
    await gateway.database.sql`UPDATE gateway.session SET expires_at = now() WHERE person_id = ${ended.id}`;
    for (const cookie of [
      undefined,
      operator.cookie,
      ended.cookie,
      'igw_session=x',
      `igw_session=igwp_${'0'.repeat(49)}`,
    ])
      for (const path of pages()) {
        const answer = await look(gateway, path, cookie);
        expect([answer.status, asksToSignIn(answer)], `${path} ${cookie}`).toEqual([200, true]);
        expect(answer.text).not.toContain(owner.email);
      }
  });

  itOnce('an approver sees the queue, and every other page as one that does not exist', async () => {
    const approver = await anApprover();
    const { text: nothing } = await look(gateway, '/console/nothing', approver.cookie);
    for (const path of pages()) {
      const { status, text } = await look(gateway, path, approver.cookie);
      const queue = path.startsWith('/console/approvals') && !path.includes(waiting);
      expect(status, path).toBe(path === '/console' ? 303 : queue ? 200 : 404);
      if (status === 404 && !path.includes(waiting)) expect(text, path).toBe(nothing);
      for (const id of [issued.app, issued.credential, consent, waiting, other.id])
        expect(text.replaceAll(path, ''), path).not.toContain(id);
    }
  });

  itOnce('every page has the headers that stop frames, scripts, caches and referrers', async () => {
    for (const path of pages()) {
      const { headers, status } = await look(gateway, path, owner.cookie);
      expect(status, path).toBe(path.endsWith('nothing') ? 404 : 200);
      expect(headers, path).toMatchObject({
        ...(!path.includes('format') && {
          'content-security-policy': PAGE_POLICY,
          'x-frame-options': 'DENY',
          'cross-origin-opener-policy': 'same-origin',
        }),
        'cache-control': 'no-store',
        'referrer-policy': 'no-referrer',
        'x-content-type-options': 'nosniff',
      });
      expect(headers['content-security-policy'], path).toContain("frame-ancestors 'none'");
    }
  });

  itOnce('an owner of another organization sees nothing of this one', async () => {
    const rival = await signedInAs(gateway, 'owner', { tenant: RIVAL });
    await gateway.database.sql`UPDATE gateway.app SET name = 'zqx9secret' WHERE id = ${issued.app}`;
    for (const path of pages()) {
      const { text } = await look(gateway, path, rival.cookie);
      expect(text, path).not.toMatch(new RegExp(`zqx9secret|${owner.email}|${other.email}|Larkspur`));
      for (const id of [issued.app, issued.credential, consent, waiting, other.id])
        expect(text.replaceAll(path, ''), path).not.toContain(id);
    }
    for (const path of [`/console/consents?app=${issued.app}`, `/console/consents?person=${other.id}`])
      expect((await look(gateway, path, rival.cookie)).text).toContain('No consent matches');
  });

  itOnce('asks a person who opens too many pages to wait', async () => {
    const answers = await Promise.all(
      Array.from({ length: 90 }, () => look(gateway, '/console/nothing', owner.cookie)),
    );
    const refused = answers.filter(({ status }) => status === 429);
    expect(refused.length).toBeGreaterThan(20);
    expect(Number(refused[0]?.headers['retry-after'])).toBeGreaterThan(0);
  });
});

describe('a one-time link', () => {
  const link = async (): Promise<string> => {
    return (await makeSignInLink(gateway.database.db, { person: owner.id, baseUrl: '' }))?.url ?? '';
  };
  const secretOf = (url: string): string => url.split('=')[1] ?? '';
  const use = (url: string, headers: Record<string, string> = SAME): Promise<Answer> =>
    post(gateway, '/console/enter/use', { link: secretOf(url) }, headers);

  itOnce('signs in once, and a GET does not use it up', async () => {
    const url = await link();
    for (let n = 0; n < 3; n++) {
      const page = await look(gateway, url);
      expect([page.status, page.headers['set-cookie'], page.text.includes(owner.email)]).toEqual([
        200,
        undefined,
        true,
      ]);
    }
    const entered = await use(url);
    expect([entered.status, entered.headers.location]).toEqual([303, '/console']);
    const cookie = [entered.headers['set-cookie'] ?? []].flat()[0]?.split(';')[0];
    expect((await look(gateway, '/console', cookie)).text).toContain('<h1>Overview</h1>');
    for (const answer of [await use(url), await look(gateway, url)])
      expect([answer.status, answer.headers['set-cookie'], answer.text.includes('This link has ended')]).toEqual([
        403,
        undefined,
        true,
      ]);
  });

  itOnce('gives one session to ten browsers that use it at the same time', async () => {
    const url = await link();
    const answers = await Promise.all(Array.from({ length: 10 }, () => use(url)));
    expect(answers.map(({ status }) => status).sort()).toEqual([303, ...Array(9).fill(403)]);
  });

  itOnce('ends after 15 minutes, with the role, with a new password, and with the person', async () => {
    const { sql } = gateway.database;
    const kill = [
      () => sql`UPDATE gateway.sign_in_link SET expires_at = now() WHERE person_id = ${owner.id}`,
      () => sql`UPDATE gateway.person SET role = 'operator' WHERE id = ${owner.id}`,
      () => sql`UPDATE gateway.person SET password = 'x' WHERE id = ${owner.id}`,
      () => sql`UPDATE gateway.person SET disabled_at = now() WHERE id = ${owner.id}`,
    ];
    for (const end of kill) {
      const url = await link();
      const [row] =
        await sql`SELECT expires_at - created_at = interval '15 minutes' AS quarter, digest = ${digestOf(secretOf(url))} AS digest
        FROM gateway.sign_in_link WHERE person_id = ${owner.id} ORDER BY created_at DESC LIMIT 1`;
      expect(row?.['digest']).toBe(true);
      await end();
      expect((await use(url)).status).toBe(403);
      await sql`UPDATE gateway.person SET role = 'owner', disabled_at = NULL WHERE id = ${owner.id}`;
      expect((await use(url)).status).toBe(403);
    }
  });

  itOnce('is refused from another site and in a malformed form, and stands in no log', async () => {
    const url = await link();
    const secret = secretOf(url);
    await look(gateway, url);
    expect((await use(url, { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' })).status).toBe(400);
    expect((await post(gateway, '/console/enter/use', { link: secret, more: 'x' }, SAME)).status).toBe(400);
    const other = secret.slice(0, -1) + (secret.endsWith('0') ? '1' : '0');
    for (const bad of ['', 'x', other, `${secret}0`, 'igwl_'.padEnd(54, '0')])
      expect((await post(gateway, '/console/enter/use', { link: bad }, SAME)).status, bad).toBe(403);
    expect((await use(url)).status).toBe(303);
    await eventually(() => expect(gateway.log.join('\n')).toContain('"by":"link"'));
    expect(gateway.log.join('\n')).not.toContain('igwl_');
    const stored = await gateway.database.sql`SELECT * FROM gateway.sign_in_link`;
    expect(JSON.stringify(stored)).not.toContain(secret);
  });

  itOnce('of an operator or a disabled person is not made', async () => {
    const operator = await newPerson(gateway, 'operator');
    expect(await makeSignInLink(gateway.database.db, { person: operator.id, baseUrl: '' })).toBeUndefined();
  });
});
