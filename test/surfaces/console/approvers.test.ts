import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, describe, expect, it, test, vi } from 'vitest';
import { makeSignInLink } from '../../../src/auth/sign-in-links.ts';
import type { Answer } from '../../support/answer.ts';
import { auditOf, brief } from '../../support/audit.ts';
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
import type { Issued } from '../../support/credentials.ts';
import { openTestGateway, type TestGateway } from '../../support/gateway.ts';
import { asked, asker, effectsOf, statusOf } from '../../support/ledger/approvals.ts';
import { note, VISITOR } from '../../support/ledger/commands.ts';
import {
  csrfOf,
  formOf,
  newClient,
  newPerson,
  PASSWORD,
  pkce,
  post,
  request,
  SAME,
} from '../../support/oauth/oauth.ts';
import { DESKTOP, openBrowser, openVisit, PHONE, violations } from '../../support/surfaces/browser.ts';

/** People whom a credential names as its approvers. They have the role operator, which opens nothing else. */
let gateway: TestGateway;
let owner: SignedInPerson;
let approver: SignedInPerson;
/** The credential that names the approver, and one that does not. */
let by: Issued;
let other: Issued;
beforeAll(async () => {
  gateway = await openTestGateway('demo', undefined, undefined, {}, undefined, undefined, true);
  await addRival(gateway);
  other = await asker(gateway);
});
afterAll(() => gateway.close());
beforeEach(async () => {
  owner = await signedInAs(gateway);
  by = await asker(gateway);
  approver = await named(by);
});

const name = async ({ credential }: Issued, ...people: string[]): Promise<void> => {
  await gateway.database.sql`UPDATE gateway.credential SET approvers = ${people} WHERE id = ${credential}`;
};
/** A new approver of the credential, with a session. */
async function named(on: Issued, session: Parameters<typeof signedInAs>[2] = {}): Promise<SignedInPerson> {
  const person = await signedInAs(gateway, 'operator', session);
  await name(on, person.id);
  return person;
}

const QUEUE = '/console/approvals';
const pageOf = (id: string): string => `${QUEUE}/${id}`;
const press = (id: string, leg: 'approve' | 'reject', person = approver): Promise<Answer> =>
  submit(gateway, person, { page: pageOf(id), action: `${pageOf(id)}/${leg}` });
/** Sends the form with the token that the session's own secret makes, whatever the page shows. */
const force = (id: string, leg: 'approve' | 'reject', person = approver): Promise<Answer> => {
  const action = `${pageOf(id)}/${leg}`;
  return post(gateway, action, { csrf: forged(person, action) }, { ...SAME, cookie: person.cookie });
};
const signIn = ({ email }: { email: string }, path = '/console/sign-in'): Promise<Answer> =>
  post(gateway, path, { email, password: PASSWORD }, SAME);
const cookieOf = ({ headers }: Answer): string => String([headers['set-cookie'] ?? []].flat()[0]).split(';')[0] ?? '';
const sessionsOf = async ({ id }: { id: string }): Promise<unknown> =>
  (await gateway.database.sql`SELECT count(*)::integer AS n FROM gateway.session WHERE person_id = ${id}`)[0]?.['n'];
const isEnded = (answer: Answer): boolean => answer.status === 403 && asksToSignIn(answer);
const notes = async (text: string): Promise<number> => (await effectsOf(gateway.database, text)).notes;

describe('an approver', () => {
  it('signs in with a password, finds only the writes of the credential that names them, and approves', async () => {
    const id = await asked(gateway, by, note('For the approver'));
    const foreign = await asked(gateway, other, note('Not for the approver'));
    const entered = await signIn(approver);
    expect([entered.status, entered.headers.location]).toEqual([303, '/console']);
    const person = { ...approver, cookie: cookieOf(entered) };
    const first = await look(gateway, '/console', person.cookie);
    expect([first.status, first.headers.location]).toEqual([303, QUEUE]);
    const { text: queue } = await look(gateway, QUEUE, person.cookie);
    expect([queue.includes(id), queue.includes(foreign)]).toEqual([true, false]);
    expect(queue).toContain('Approvals <span class="count">1</span>');
    expect([...queue.matchAll(/<li><a href="(\/console[a-z/]*)"/g)].map(([, href]) => href)).toEqual([QUEUE]);
    const { text } = await look(gateway, pageOf(id), person.cookie);
    for (const part of ['visitor_note_add', VISITOR, 'For the approver', 'Larkspur', by.credential])
      expect(text).toContain(part);
    expect(text).not.toContain(`/console/apps/`);
    const csv = await look(gateway, `${QUEUE}?format=csv`, person.cookie);
    expect([csv.text.includes(id), csv.text.includes(foreign)]).toEqual([true, false]);
    expect((await press(id, 'approve', person)).headers.location).toBe(`${pageOf(id)}?done=write_approved`);
    expect(await notes('For the approver')).toBe(1);
    expect((await look(gateway, pageOf(id), person.cookie)).text).toContain(approver.email);
    expect(await statusOf(gateway, other, foreign)).toBe('pending');
  });

  it('stands in the books with the credential whose list is the right, and an owner without', async () => {
    const [mine, theirs] = [await asked(gateway, by, note('By list')), await asked(gateway, by, note('By role'))];
    expect([(await press(mine, 'reject')).status, (await press(theirs, 'reject', owner)).status]).toEqual([303, 303]);
    const record = async (id: string) => (await auditOf(gateway.database, { operation_id: id })).map(brief)[1];
    const page = { surface: 'page', operation: 'approval_reject', outcome: 'ok' };
    expect(await record(mine)).toMatchObject({ ...page, person_id: approver.id, targets: [VISITOR, by.credential] });
    expect(await record(theirs)).toMatchObject({ ...page, person_id: owner.id, targets: [VISITOR] });
  });

  it('signs in by a link of the operator, too', async () => {
    const link = await makeSignInLink(gateway.database.db, { person: approver.id, baseUrl: '' });
    const secret = link?.url.split('=')[1] ?? '';
    expect((await post(gateway, '/console/enter/use', { link: secret }, SAME)).status).toBe(303);
  });

  it('gets no session on the pages of consents and records, and a session opens none', async () => {
    const record = '/c/cnv_1_1_1';
    expect((await signIn(approver, `${record}/sign-in`)).status).not.toBe(303);
    for (const path of [record, '/c/ctc_1_1_1']) {
      const { text } = await look(gateway, path, approver.cookie);
      expect(text, path).not.toContain(approver.email);
    }
  });

  it('consents to no app, even with a form that the person saw as an admin', async () => {
    const { sql } = gateway.database;
    const admin = await signedInAs(gateway, 'admin');
    await name(by, admin.id);
    const client = await newClient(gateway);
    const query = formOf(request(client, pkce()));
    const csrf = csrfOf(await look(gateway, `/oauth/authorize?${query}`, admin.cookie));
    expect(csrf).not.toBe('');
    const kept = await sql`SELECT * FROM gateway.session WHERE person_id = ${admin.id}`;
    await sql`UPDATE gateway.person SET role = 'operator' WHERE id = ${admin.id}`;
    await sql`INSERT INTO gateway.session ${sql(kept)}`;
    expect((await look(gateway, QUEUE, admin.cookie)).text).toContain('· approver');
    expect(asksToSignIn(await look(gateway, `/oauth/authorize?${query}`, admin.cookie))).toBe(true);
    const fields = { csrf, scope: 'website_read', website_id: 'web_1_1', decision: 'approve' };
    const sent = await post(gateway, `/oauth/consent?${query}`, fields, { ...SAME, cookie: admin.cookie });
    expect([sent.status, sent.headers.location]).not.toEqual([303, expect.stringContaining('code=')]);
    expect((await signIn(admin, `/oauth/sign-in?${query}`)).status).toBe(403);
    expect(await sql`SELECT FROM gateway.consent WHERE person_id = ${admin.id}`).toHaveLength(0);
  });

  it('reads text and name only while the write waits, and an owner later, too', async () => {
    const { sql } = gateway.database;
    const rejected = await asked(gateway, by, note('Rejected text'));
    const lapsed = await asked(gateway, by, note('Lapsed text'));
    expect((await press(rejected, 'reject')).status).toBe(303);
    await sql`UPDATE platform.visitor SET nickname = 'Zqx7 later' WHERE tenant = 1 AND 'vis_1_' || site || '_' || id = ${VISITOR}`;
    expect((await look(gateway, pageOf(lapsed), approver.cookie)).text).toContain('Zqx7 later');
    // The credential loses all websites, so the write that waits is void.
    await sql`UPDATE gateway.credential SET sites = '{}' WHERE id = ${by.credential}`;
    for (const path of [QUEUE, pageOf(rejected), pageOf(lapsed)]) {
      const { status, text } = await look(gateway, path, approver.cookie);
      expect([status, /Zqx7 later|Lapsed text/.test(text)], path).toEqual([200, false]);
      expect((await look(gateway, path, owner.cookie)).text, path).toContain('Zqx7 later');
    }
  });

  it('is shown as such to owners', async () => {
    const { text } = await look(gateway, `/console/people/${approver.id}`, owner.cookie);
    expect(text).toContain('decides here about writes of the credentials that name the person');
    expect(text).toContain(`person sign-in-link ${approver.id}`);
    expect((await look(gateway, `/console/people?q=${approver.email}`, owner.cookie)).text).toContain(
      'operator, approver',
    );
  });

  it('must have signed in within the last 15 minutes', async () => {
    const late = await named(by, { age: 901 });
    const id = await asked(gateway, by, note('Long ago'));
    expect([isEnded(await press(id, 'approve', late)), await statusOf(gateway, by, id)]).toEqual([true, 'pending']);
  });

  it('loses nothing that an owner or admin has', async () => {
    const admin = await signedInAs(gateway, 'admin');
    await name(by, admin.id);
    expect((await look(gateway, '/console/people', admin.cookie)).status).toBe(200);
    await name(by);
    expect((await look(gateway, '/console/people', admin.cookie)).status).toBe(200);
  });
});

describe('the attack table', () => {
  it('another credential, another organization: the answer for what does not exist', async () => {
    const none = `op_${'0'.repeat(64)}`;
    const rival = await signedInAs(gateway, 'operator', { tenant: RIVAL });
    // A list that names a person of another organization, as no command writes it.
    await name(other, rival.id);
    const foreign = await asked(gateway, other, note('Another credential'));
    const [seen, missing] = await Promise.all([foreign, none].map((id) => look(gateway, pageOf(id), approver.cookie)));
    expect([seen?.status, seen?.text]).toEqual([404, missing?.text]);
    for (const leg of ['approve', 'reject'] as const) {
      const [tried, nothing] = await Promise.all([foreign, none].map((id) => force(id, leg)));
      expect([tried?.status, tried?.text]).toEqual([409, nothing?.text]);
      expect(isEnded(await force(foreign, leg, rival))).toBe(true);
    }
    expect((await signIn(rival)).status).toBe(403);
    expect(asksToSignIn(await look(gateway, QUEUE, rival.cookie))).toBe(true);
    expect([await statusOf(gateway, other, foreign), await notes('Another credential')]).toEqual(['pending', 0]);
  });

  const sql = () => gateway.database.sql;
  const KEPT = 'and keeps a session';
  /** Puts the session back that an end has deleted, as if it had been made at the same moment. */
  const keeping = (end: () => Promise<unknown>) => async (): Promise<void> => {
    const kept = await sql()`SELECT * FROM gateway.session WHERE person_id = ${approver.id}`;
    await end();
    await sql()`INSERT INTO gateway.session ${sql()(kept)} ON CONFLICT DO NOTHING`;
  };
  const ENDS: readonly (readonly [string, () => Promise<unknown>])[] = [
    ['is removed from the list', () => name(by)],
    ['is disabled', async () => sql()`UPDATE gateway.person SET disabled_at = now() WHERE id = ${approver.id}`],
    [
      'has left for another organization',
      async () => sql()`UPDATE gateway.person SET tenant = ${RIVAL} WHERE id = ${approver.id}`,
    ],
    ['is gone', async () => sql()`DELETE FROM gateway.person WHERE id = ${approver.id}`],
    [
      'had a credential that is revoked',
      async () => sql()`UPDATE gateway.credential SET revoked_at = now() WHERE id = ${by.credential}`,
    ],
  ];
  it.each([
    ...ENDS.map(([who, end]) => [who, '', end] as const),
    ...ENDS.filter(([who]) => who !== 'is gone').map(([who, end]) => [who, KEPT, keeping(end)] as const),
  ])('a person who %s %s between page and form is refused, even after the first check', async (_, __, end) => {
    for (const when of ['before', 'between'] as const) {
      by = await asker(gateway);
      approver = await named(by);
      const id = await asked(gateway, by, note(`Ended ${when}`));
      const action = `${pageOf(id)}/approve`;
      const csrf = tokenIn(await look(gateway, pageOf(id), approver.cookie), action);
      expect(csrf).not.toBe('');
      if (when === 'before') await end();
      const { db } = gateway.database;
      const read = db.read.bind(db);
      let reads = 0;
      const spy = vi.spyOn(db, 'read').mockImplementation(async (statement) => {
        const rows = await read(statement);
        // The first statement of a request finds the person of the session. A read of upkeep can come before it.
        const finds = statement.texts.some((text) => text.includes('gateway.session'));
        if (when === 'between' && finds && ++reads === 1) await end();
        return rows as never; // the mock passes on what it got
      });
      const answer = await post(gateway, action, { csrf }, { ...SAME, cookie: approver.cookie });
      spy.mockRestore();
      expect([isEnded(answer), await notes(`Ended ${when}`)], when).toEqual([true, 0]);
      expect((await look(gateway, QUEUE, approver.cookie)).text, when).not.toContain(id);
      // Twenty refused sign-ins from one address would lock it.
      if (when === 'before') expect((await signIn(approver)).status).toBe(403);
      const [row] = await sql()`SELECT state FROM gateway.approval WHERE operation_id = ${id}`;
      expect(row?.['state'], when).not.toBe('approved');
    }
  });

  it('ends session and link of a person whom no other credential names', async () => {
    const two = await asker(gateway);
    await name(two, approver.id);
    await makeSignInLink(gateway.database.db, { person: approver.id, baseUrl: '' });
    const rows = async (): Promise<unknown> =>
      (
        await sql()`SELECT (SELECT count(*)::integer FROM gateway.session WHERE person_id = ${approver.id}) AS sessions,
          (SELECT count(*)::integer FROM gateway.sign_in_link WHERE person_id = ${approver.id}) AS links`
      )[0];
    await name(by);
    expect(await rows()).toEqual({ sessions: 1, links: 1 });
    await sql()`UPDATE gateway.credential SET revoked_at = now() WHERE id = ${two.credential}`;
    expect(await rows()).toEqual({ sessions: 0, links: 0 });
  });

  it('an admin who becomes an operator must sign in again, and is then only an approver', async () => {
    const admin = await signedInAs(gateway, 'admin');
    await name(by, admin.id);
    await sql()`UPDATE gateway.person SET role = 'operator' WHERE id = ${admin.id}`;
    const id = await asked(gateway, by, note('Role lowered'));
    const foreign = await asked(gateway, other, note('Role lowered, another'));
    expect(isEnded(await force(id, 'approve', admin))).toBe(true);
    const again = { ...admin, cookie: cookieOf(await signIn(admin)) };
    expect((await look(gateway, '/console/people', again.cookie)).status).toBe(404);
    expect((await force(foreign, 'approve', again)).status).toBe(409);
    expect((await force(id, 'approve', again)).status).toBe(303);
    expect([await notes('Role lowered'), await notes('Role lowered, another')]).toEqual([1, 0]);
  });

  it('a session and a link of an approver are none of an owner', async () => {
    const link = await makeSignInLink(gateway.database.db, { person: approver.id, baseUrl: '' });
    await sql()`UPDATE gateway.person SET role = 'owner' WHERE id = ${approver.id}`;
    expect(asksToSignIn(await look(gateway, '/console/people', approver.cookie))).toBe(true);
    const used = await post(gateway, '/console/enter/use', { link: link?.url.split('=')[1] ?? '' }, SAME);
    expect([used.status, await sessionsOf(approver)]).toEqual([403, 0]);
  });

  it('a sign-in while the removal commits', async () => {
    await sql()`DELETE FROM gateway.session WHERE person_id = ${approver.id}`;
    const waiting = async (): Promise<number> =>
      (
        await sql()`SELECT FROM pg_stat_activity
          WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%gateway.session%'`
      ).length;
    const signing = await sql().begin(async (tx) => {
      await tx`UPDATE gateway.credential SET approvers = '{}' WHERE id = ${by.credential}`;
      const sent = signIn(approver);
      await expect.poll(waiting).toBe(1);
      return { sent };
    });
    expect([(await signing.sent).status, await sessionsOf(approver)]).toEqual([403, 0]);
  });

  it('a form of another site, of another form and without a token', async () => {
    const id = await asked(gateway, by, note('Forged'));
    const action = `${pageOf(id)}/approve`;
    const page = await look(gateway, pageOf(id), approver.cookie);
    const csrf = tokenIn(page, action);
    const evil = { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' };
    const send = (token: string, headers: Record<string, string> = SAME): Promise<Answer> =>
      post(gateway, action, { csrf: token }, { ...headers, cookie: approver.cookie });
    const answers = [
      await send(csrf, evil),
      await send(''),
      await send(tokenIn(page, `${pageOf(id)}/reject`)),
      await send(forged(owner, action)),
    ];
    expect(answers.map(({ status }) => status)).toEqual([400, 400, 400, 400]);
    expect(await statusOf(gateway, by, id)).toBe('pending');
    expect((await send(csrf)).status).toBe(303);
  });

  it('the write of the own agent, where another person must approve', async () => {
    await sql()`UPDATE gateway.credential SET hosted_client = ${`https://agent.example/${by.credential}`},
      hosted_host = 'agent.example', hosted_person = ${approver.id}, approval_by = 'others' WHERE id = ${by.credential}`;
    const id = await asked(gateway, by, note('Own agent of an approver'));
    const tried = await force(id, 'approve');
    expect([tried.status, tried.text.includes('Another person must approve it.')]).toEqual([409, true]);
    expect(await notes('Own agent of an approver')).toBe(0);
    expect((await press(id, 'approve', owner)).status).toBe(303);
  });

  it('a page that is stale: an owner was faster, or the list has changed', async () => {
    const id = await asked(gateway, by, note('Stale'));
    expect((await press(id, 'reject', owner)).status).toBe(303);
    const late = await force(id, 'approve');
    expect([late.status, late.text.includes('The write is rejected now.'), await notes('Stale')]).toEqual([
      409,
      true,
      0,
    ]);
    const next = await asked(gateway, by, note('Stale list'));
    const colleague = await newPerson(gateway, 'operator');
    await name(by, approver.id, colleague.id);
    const changed = await force(next, 'approve');
    expect([changed.status, changed.text.includes('The write is lapsed now.')]).toEqual([409, true]);
    expect(await notes('Stale list')).toBe(0);
  });

  it('a removal and an approval at the same time: approved before the removal, or not at all', async () => {
    for (let n = 0; n < 20; n++) {
      const text = `Removed at the same time ${n}`;
      by = await asker(gateway);
      approver = await named(by);
      const id = await asked(gateway, by, note(text));
      const [answer] = await Promise.all([force(id, 'approve'), name(by)]);
      const [row] = await sql()`SELECT state FROM gateway.approval WHERE operation_id = ${id}`;
      const approved = row?.['state'] === 'approved';
      expect([await notes(text), answer.status === 303], `${n} ${answer.status}`).toEqual([approved ? 1 : 0, approved]);
      expect(asksToSignIn(await look(gateway, QUEUE, approver.cookie))).toBe(true);
    }
  });
});

describe('in a browser', () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await openBrowser();
  });
  afterAll(() => browser.close());

  test.each([
    ['a desktop in light', { ...DESKTOP, scheme: 'light' }],
    ['a phone in dark', { ...PHONE, scheme: 'dark' }],
  ] as const)('%s: signs in, reads, approves, and axe-core finds nothing', async (shape, view) => {
    const id = await asked(gateway, by, note(`Approved on ${shape}`));
    const origin = `http://127.0.0.1:${gateway.port}`;
    const { page, complaints, foreign, close } = await openVisit(browser, origin, view);
    const sound = async (): Promise<void> => {
      expect(await violations(page)).toEqual([]);
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(view.width);
    };
    const [key = '', value = ''] = approver.cookie.split('=');
    await page.context().addCookies([{ name: key, value, url: origin }]);
    await page.goto(`${origin}/console`);
    await page.getByRole('heading', { name: 'Approvals' }).waitFor();
    await sound();
    expect(await page.getByRole('navigation').getByRole('link').count()).toBe(1);
    await page.locator(`a[href="${pageOf(id)}"]`).click();
    await page.getByRole('button', { name: 'Approve' }).waitFor();
    await sound();
    await page.getByRole('button', { name: 'Approve' }).click();
    await page.getByText('The write is approved, and has taken effect.').waitFor();
    await sound();
    expect([await notes(`Approved on ${shape}`), foreign, complaints]).toEqual([1, [], []]);
    await close();
  });
});
