import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { searchAudit } from '../../../src/store/administration/audit-records.ts';
import { readSources } from '../../../src/store/administration/sources.ts';
import type { AuditPlace } from '../../../src/store/calls/audit-records.ts';
import { COLUMNS } from '../../../src/surfaces/console/columns.ts';
import type { Answer } from '../../support/answer.ts';
import {
  addRival,
  forged,
  look,
  RIVAL,
  type SignedInPerson,
  signedInAs,
  submit,
} from '../../support/console/console.ts';
import { type Managed, managedActs, openManaged, openSilent } from '../../support/console/managed.ts';
import { tell, verified } from '../../support/events/webhooks.ts';
import { eventually } from '../../support/eventually.ts';
import { openTestGateway, type TestGateway } from '../../support/gateway.ts';
import { type Fields, post, SAME } from '../../support/oauth/oauth.ts';
import { plantAudit } from '../../support/planted-audit.ts';
import { textOf } from '../../support/surfaces/pages.ts';

/** What an owner sees and changes on the pages of webhooks, sources, the audit and the overview. */
const HOSTILE = `<img src=x onerror="alert(1)"><script>zqx9</script>&amp;' "=1+1`;

let gateway: TestGateway;
let world: Awaited<ReturnType<typeof openManaged>>;
let owner: SignedInPerson;
let rival: SignedInPerson;
let managed: Managed;
let organization: string;

beforeAll(async () => {
  gateway = await openTestGateway();
  await addRival(gateway);
  world = await openManaged(gateway);
  const [row] = await gateway.database.sql<{ id: string }[]>`
    SELECT public_id AS id FROM platform.organization WHERE tenant = 1`;
  organization = row?.id ?? '';
});
afterAll(async () => {
  await world.close();
  await gateway.close();
});
beforeEach(async () => {
  owner = await signedInAs(gateway);
  rival = await signedInAs(gateway, 'owner', { tenant: RIVAL });
  managed = await world.plant();
});

const page = (path: string, by = owner): Promise<Answer> => look(gateway, path, by.cookie);
const words = ({ text }: Pick<Answer, 'text'>): string => textOf(text.replaceAll('<', ' <')).replace(/\s+/g, ' ');
const act = (name: string, fields: Fields = {}): Promise<Answer> => {
  const attempt = managedActs(managed)[name];
  if (!attempt) throw new Error(`no act ${name}`);
  return submit(gateway, owner, { ...attempt, fields: { ...attempt.fields, ...fields } });
};
const endpoint = async (id: string): Promise<Record<string, unknown> | undefined> =>
  (await gateway.database.sql`SELECT * FROM gateway.webhook_endpoint WHERE id = ${id}`)[0];
const endpoints = async (): Promise<number> =>
  (await gateway.database.sql`SELECT FROM gateway.webhook_endpoint`).length;
/** A page has no element that a planted text made. */
function expectInert({ text }: Answer): void {
  expect(text).not.toMatch(/<img|<script|<b>|onerror="alert/);
}

describe('webhooks', () => {
  it('are added with a secret that is shown once, and their receiver accepts a test', async () => {
    const added = await act('webhook_create', { description: HOSTILE });
    expectInert(added);
    const [, id = ''] = /href="\/console\/webhooks\/(whk_[a-f0-9]{32})"/.exec(added.text) ?? [];
    const [, secret = ''] = /<code>(whsec_[^<]+)<\/code>/.exec(added.text) ?? [];
    expect(secret).toMatch(/^whsec_.{44}$/);
    for (const path of ['/console/webhooks', `/console/webhooks/${id}`, `/console/webhooks/${id}/edit`]) {
      const answer = await page(path);
      expectInert(answer);
      expect([answer.status, answer.text.includes(secret), answer.text.includes('&lt;img src=x')]).toEqual([
        200,
        false,
        true,
      ]);
    }
    const tested = await submit(gateway, owner, {
      page: `/console/webhooks/${id}`,
      action: `/console/webhooks/${id}/test`,
    });
    expect(tested.headers.location).toBe(`/console/webhooks/${id}?done=webhook_accepted`);
    expect(words(await page(`/console/webhooks/${id}`))).toMatch(/website\.heartbeat test evt_\S+ delivered 200 1/);
    const got = world.receiver.got.at(-1);
    expect(got && verified(secret, got)).toBe(true);
  });

  it('are made once by a form that is sent twice', async () => {
    const form = await page('/console/webhooks/new');
    const id = /name="id" value="(whk_[a-f0-9]{32})"/.exec(form.text)?.[1] ?? '';
    const before = await endpoints();
    expect((await act('webhook_create', { id })).status).toBe(200);
    const again = await act('webhook_create', { id });
    expect([again.status, words(again).includes('exists already'), await endpoints()]).toEqual([400, true, before + 1]);
  });

  it.each([
    ['http://hooks.example.com/x', 'must be an https URL'],
    ['https://127.0.0.1/x', 'must have a public address'],
    ['https://[::ffff:10.0.0.1]/x', 'must have a public address'],
    ['https://metadata.internal/x', 'must have a public host name'],
    ['https://hooks.example.com:22/x', 'port 443 or 8443'],
    ['https://u:p@hooks.example.com/', 'must not hold a user or password'],
    ['javascript:alert(1)', 'must be an https URL'],
    [HOSTILE, 'must be an https URL'],
    ['', 'Type the https address'],
  ])('are refused with the receiver %s, and the form says why', async (url, problem) => {
    const before = await endpoints();
    // An empty address leaves the receiver of a webhook as it is.
    for (const name of url === '' ? ['webhook_create'] : ['webhook_create', 'webhook_update']) {
      const answer = await act(name, { url });
      expectInert(answer);
      expect([answer.status, words(answer).includes(problem)], name).toEqual([400, true]);
      // The advice for the command line is not for owners.
      expect(answer.text).not.toContain('GATEWAY_WEBHOOK_ALLOW');
    }
    expect([await endpoints(), (await endpoint(managed.webhook))?.['url']]).toEqual([
      before,
      managed.receiver.replace('typed', 'one'),
    ]);
  });

  it.each([
    [{ types: 'conversation.exploded' }, 'Expected an exact event type'],
    [{ all_visitor: '' }, 'Choose at least one kind of event'],
    [{ description: 'x'.repeat(241) }, 'at most 240 printable characters'],
    [{ credential: `crd_${'0'.repeat(32)}` }, 'Choose one of the credentials'],
    [{ website: `web_${RIVAL}_1` }, 'Choose one of the websites'],
    [{ website: 'web_1_99' }, 'Choose one of the websites'],
  ] as [Fields, string][])('are refused with %j', async (fields, problem) => {
    const before = await endpoints();
    const answer = await act('webhook_create', fields);
    expect([answer.status, words(answer).includes(problem), await endpoints()]).toEqual([400, true, before]);
  });

  it('never show the query of an address, and keep it', async () => {
    const { sql } = gateway.database;
    await sql`UPDATE gateway.webhook_endpoint SET url = 'https://hooks.example/in?token=zqx9' WHERE id = ${managed.webhook}`;
    expect((await page(`/console/webhooks/${managed.webhook}/edit`)).text).not.toContain('zqx9');
    const changed = await act('webhook_update', { url: '', description: 'kept' });
    expect([changed.status, await endpoint(managed.webhook)]).toMatchObject([
      303,
      { url: 'https://hooks.example/in?token=zqx9', description: 'kept' },
    ]);
    expect((await page('/console/webhooks?q=token%3Dzqx')).text).not.toContain(managed.webhook);
    expect((await page('/console/webhooks?q=hooks.example')).text).toContain(managed.webhook);
  });

  it('of another organization are not named by a form that has their id', async () => {
    const { sql } = gateway.database;
    await sql`UPDATE gateway.webhook_endpoint SET tenant = ${RIVAL}, site = 1 WHERE id = ${managed.webhook}`;
    const answer = await act('webhook_create', { id: managed.webhook });
    expect([answer.status, words(answer).includes('exists already')]).toEqual([400, false]);
    await sql`DELETE FROM gateway.webhook_endpoint WHERE id = ${managed.webhook}`;
  });

  it('are changed, and a repeated address is not looked up again', async () => {
    const changed = await act('webhook_update', {
      url: managed.receiver.replace('typed', 'one'),
      types: 'conversation.changed',
    });
    expect(changed.headers.location).toBe(`/console/webhooks/${managed.webhook}?done=webhook_changed`);
    expect(await endpoint(managed.webhook)).toMatchObject({
      description: 'typed',
      event_types: ['visitor.*', 'conversation.changed'],
    });
    const form = await page(`/console/webhooks/${managed.webhook}/edit`);
    expect(form.text).toMatch(/name="all_visitor" type="checkbox" value="yes" checked/);
    expect(form.text).not.toMatch(/name="all_conversation" type="checkbox" value="yes" checked/);
    expect(form.text).toContain('value="conversation.changed"');
  });

  it('have a form that is not refused as it is shown, and that never chooses another credential by itself', async () => {
    const { sql } = gateway.database;
    const chosen = ({ text }: Answer, field: string): string => {
      const [, select = ''] = text.split(`<select id="${field}"`);
      const options = select.split('</select>')[0] ?? '';
      return (/value="([^"]+)" selected/.exec(options) ?? /value="([^"]+)"/.exec(options))?.[1] ?? '';
    };
    // A credential with limits cannot have a webhook, although its permissions are enough.
    await gateway.issue({ scopes: ['website_read', 'event_read'], channels: ['chn_1_1_1'] });
    const fresh = await page('/console/webhooks/new');
    const fields = { website: chosen(fresh, 'website'), credential: chosen(fresh, 'credential') };
    expect((await act('webhook_create', fields)).status).toBe(200);
    await sql`UPDATE gateway.credential SET revoked_at = now() WHERE id = ${managed.credential}`;
    expect(chosen(await page(`/console/webhooks/${managed.webhook}/edit`), 'credential')).toBe(managed.credential);
  });

  it('send notices again: one by its delivery, or those of a span of time', async () => {
    await tell(gateway.database, 3);
    // The span counts on the clock of PostgreSQL, also where the clock of this process is wrong.
    const late = Date.now() + 7_200_000;
    const clock = vi.spyOn(Date, 'now').mockImplementation(() => late);
    const again = await act('webhook_replay', { since: '1h' });
    clock.mockRestore();
    expect(again.headers.location).toContain('done=webhook_replayed');
    const { text } = await page(`/console/webhooks/${managed.webhook}?status=pending`);
    expect(text.match(/class="name"/g)?.length).toBeGreaterThan(3);
    const { sql } = gateway.database;
    const replayed = async (event: string) => {
      const one = await act('webhook_replay', { since: '', event });
      return one.headers.location ?? [one.status, /has no delivery of .+ to repeat/.test(words(one))];
    };
    const [one] = await sql<{ event: string }[]>`UPDATE gateway.webhook_delivery SET status = 'failed', ended_at = now()
      WHERE endpoint_id = ${managed.webhook} RETURNING event_id AS event`;
    expect(await replayed(one?.event ?? '')).toContain('done=webhook_replayed');
    // An event that the log does not have would be searched in the whole journal. Only the operator can start this search.
    await sql`DELETE FROM gateway.webhook_delivery WHERE event_id = ${one?.event ?? ''}`;
    await act('webhook_test');
    const [test] = await sql<{ event: string }[]>`
      SELECT event_id AS event FROM gateway.webhook_delivery WHERE endpoint_id = ${managed.webhook} AND test`;
    for (const event of [one?.event, test?.event, `evt_${'0'.repeat(64)}`, 'evt_', "evt_'"])
      expect(await replayed(event ?? ''), event).toEqual([400, true]);
    await act('webhook_disable');
    const off = await submit(gateway, owner, {
      page: `/console/webhooks/${managed.disabled}`,
      action: `/console/webhooks/${managed.disabled}/enable`,
    });
    expect(off.headers.location).toContain('done=webhook_enabled');
  });

  it('of a client of MCP are shown, and can only be ended', async () => {
    const { sql } = gateway.database;
    const subscription = `sub_${managed.webhook.slice(4)}`;
    await sql`INSERT INTO gateway.subscription (id, installation_id, tenant, sites, event_types, start)
      SELECT ${subscription}, installation_id, 1, '{1}', '{visitor.*}', 'retained' FROM gateway.credential WHERE id = ${managed.credential}`;
    await sql`UPDATE gateway.webhook_endpoint SET subscription_id = ${subscription} WHERE id = ${managed.webhook}`;
    const path = `/console/webhooks/${managed.webhook}`;
    const shown = await page(path);
    expect(shown.text).toContain(subscription);
    for (const leg of ['change', 'rotate', 'test', 'replay', 'disable'])
      expect(shown.text, leg).not.toContain(`action="${path}/${leg}"`);
    expect((await page(`${path}/edit`)).status).toBe(404);
    const action = `${path}/disable`;
    const csrf = forged(owner, action);
    const answer = await post(gateway, action, { csrf }, { ...SAME, cookie: owner.cookie });
    expect([answer.status, words(answer).includes('which alone can change it')]).toEqual([400, true]);
    expect((await act('webhook_delete')).headers.location).toBe('/console/webhooks?done=webhook_deleted');
    expect(await sql`SELECT FROM gateway.subscription WHERE id = ${subscription}`).toHaveLength(0);
  });

  it('are listed in pages, filtered and exported without the query of their receiver', async () => {
    const { sql } = gateway.database;
    await sql`UPDATE gateway.webhook_endpoint SET url = 'https://hooks.example.com/a?key=zqx9secret', description = 'needle'
      WHERE id = ${managed.webhook}`;
    const found = await page('/console/webhooks?q=needle');
    expect(found.text).toContain(managed.webhook);
    expect(found.text).not.toContain('zqx9secret');
    expect(found.text).not.toContain(managed.disabled);
    for (const format of ['csv', 'ndjson']) {
      const file = await page(`/console/webhooks?format=${format}`);
      expect(file.headers['content-disposition']).toBe(`attachment; filename="webhooks.${format}"`);
      expect(file.text).toContain(managed.webhook);
      expect(file.text).not.toMatch(/zqx9secret|whsec_|sealed/);
    }
    expect((await page('/console/webhooks?state=disabled')).text).not.toContain(managed.webhook);
    expect((await page('/console/webhooks?q=zzzz')).text).toContain('No webhook matches');
    expect((await page('/console/webhooks', rival)).text).toContain('No webhook yet');
  });
});

describe('sources', () => {
  it('are added from an allowed helpdesk, and neither address nor token is shown again', async () => {
    const added = await act('source_add', { api_url: 'http://127.0.0.1:9/', api_token: 'zqx9token' });
    expect(added.headers.location).toMatch(/^\/console\/sources\/src_[a-f0-9]{32}\?done=source_added$/);
    const path = added.headers.location?.replace(/\?.*/, '') ?? '';
    const [row] = await gateway.database
      .sql`SELECT tenant::integer, account, api_url, address, api_token FROM gateway.source
      WHERE account = '7'`;
    expect(row).toMatchObject({ tenant: 1, account: '7', api_url: 'http://127.0.0.1:9' });
    for (const one of [path, '/console/sources', '/console/sources?format=ndjson']) {
      const { text, status } = await page(one);
      expect([status, /zqx9token|postgres:/.test(text)]).toEqual([200, false]);
    }
    expect(words(await page(path))).toContain('Chatwoot, account 7');
    const [website] = await gateway.database.sql`SELECT name FROM platform.website
      WHERE tenant = 1 AND external_id = 'cw:7:website:7'`;
    expect(website?.['name']).toBe('Typed account');
    const twice = await act('source_add');
    expect([twice.status, words(twice).includes('has a source of this account already')]).toEqual([400, true]);
    expect(twice.text).not.toContain(managed.helpdesk);
  });

  it.each([
    [{ url: 'postgres://u:zqx9@10.0.0.1/chat' }, 'has not allowed the host'],
    [{ url: 'postgres://u:zqx9@localhost/chat' }, 'has not allowed the host'],
    [{ url: 'postgres://u:zqx9@127.0.0.1/chat?host=10.0.0.1' }, 'only parameter'],
    [{ url: 'postgres://u:zqx9@127.0.0.1/chat?sslmode=disable&target_session_attrs=any' }, 'only parameter'],
    [{ url: 'postgres://%2Fvar%2Frun/chat' }, 'has not allowed the host'],
    [{ url: 'postgres:///chat' }, 'has not allowed the host'],
    [{ url: 'postgres://u@10.0.0.1:15999%2Cx:zqx9@127.0.0.1/chat' }, 'Expected the address of a PostgreSQL database'],
    [{ url: 'postgres://u:zqx9@127.0.0.1,10.0.0.1/chat' }, 'Expected the address'],
    [{ url: 'file:///etc/passwd' }, 'Expected the address'],
    [{ url: HOSTILE }, 'Expected the address'],
    [{ account: '0' }, 'whole number'],
    [{ account: HOSTILE }, 'whole number'],
    [{ period: '-1' }, 'whole number of seconds'],
    [{ time_zone: 'Moon/Base' }, 'Expected an IANA time zone'],
    [{ time_zone: 'AET' }, 'Expected an IANA time zone'],
    [{ api_url: 'http://10.0.0.1/', api_token: 'zqx9' }, 'has not allowed the host'],
    [{ api_url: 'http://127.0.0.1/' }, 'need each other'],
    // Another service of an allowed host.
    [{ url: 'postgres://u:zqx9@127.0.0.1:6379/chat' }, 'has not allowed the host "127.0.0.1:6379"'],
    [{ api_url: 'http://127.0.0.1:6379/', api_token: 'zqx9' }, 'has not allowed the host "127.0.0.1:6379"'],
    [{ api_url: 'https://127.0.0.1:5432/', api_token: 'zqx9' }, 'has not allowed the host "127.0.0.1:5432"'],
    [{ account: '98' }, 'cannot be read'],
    [{ url: 'postgres://u:zqx9@127.0.0.1:1/chat' }, 'cannot be reached'],
  ] as [Fields, string][])('are refused with %j, and the form says why', async (fields, problem) => {
    const before = await gateway.database.sql`SELECT FROM gateway.source`;
    const answer = await act('source_add', fields);
    expectInert(answer);
    expect([answer.status, words(answer).includes(problem)], words(answer)).toEqual([400, true]);
    expect(answer.text).not.toMatch(/zqx9@|value="zqx9|--url|gateway source|tries again/);
    expect(await gateway.database.sql`SELECT FROM gateway.source`).toHaveLength(before.length);
  });

  it('may be at the usual port of an allowed host, or at a port that the operator has named', async () => {
    const added = await act('source_add', { api_url: 'https://127.0.0.1/', api_token: 'zqx9token' });
    expect(added.status).toBe(303);
  });

  it.each([
    ['nothing', 0],
    ['only to the sign-in', 1],
  ] as const)('of a helpdesk that answers %s are given up in time, and the next one is added', async (_, answers) => {
    const silent = await openSilent(managed.helpdesk, answers);
    gateway.sources.hosts.push(`127.0.0.1:${silent.port}`);
    gateway.sources.patience = 1_500;
    const started = performance.now();
    const answer = await act('source_add', { url: managed.helpdesk.replace(/:\d+\//, `:${silent.port}/`) });
    gateway.sources.patience = undefined;
    expect([answer.status, performance.now() - started < 10_000]).toEqual([400, true]);
    expect(words(answer)).toContain('has not answered within 1.5 seconds');
    expect(silent.asked()).toBeGreaterThan(0);
    await eventually(() => expect(silent.open()).toBe(0));
    expect((await act('source_add')).status).toBe(303);
    silent.close();
  });

  it('show lag, rejects and findings, inert, and pages of rejects', async () => {
    const { sql } = gateway.database;
    await sql`UPDATE gateway.source SET last_error = ${HOSTILE}, account = ${HOSTILE}, last_success_at = now(),
      findings = ${sql.json([{ level: 'degraded', about: HOSTILE, text: 'The role of --url lacks a right.' }])}
      WHERE id = ${managed.source}`;
    for (let n = 0; n < 27; n++)
      await sql`INSERT INTO gateway.source_reject (source, origin, pointer, code)
        VALUES (${managed.source}, ${`${HOSTILE}/${n}`}, ${HOSTILE}, 'too_long')`;
    const answer = await page(`/console/sources/${managed.source}`);
    expectInert(answer);
    expect(words(answer)).toMatch(/1–25 of 27 rejects/);
    expect(words(answer)).toContain('The role lacks a right.');
    const file = await page(`/console/sources/${managed.source}?format=ndjson`);
    expect(file.text.trim().split('\n')).toHaveLength(27);
    for (const [path, columns] of [
      [`/console/sources/${managed.source}`, COLUMNS.rejects],
      ['/console/sources', COLUMNS.sources],
      ['/console/webhooks', COLUMNS.webhooks],
      [`/console/webhooks/${managed.webhook}`, COLUMNS.deliveries],
    ] as const) {
      const [first = ''] = (await page(`${path}?format=ndjson`)).text.split('\n');
      if (first !== '') expect(Object.keys(JSON.parse(first)), path).toEqual(columns);
      expect((await page(`${path}?format=csv`)).text.startsWith(`\ufeff${columns.join(',')}\r\n`), path).toBe(true);
    }
    const list = await page('/console/sources');
    expectInert(list);
    expect(words(list)).toMatch(/27/);
  });

  it('and deliveries are counted to 10,000, so that no page waits for millions of rows', async () => {
    const { sql } = gateway.database;
    await sql`INSERT INTO gateway.source_reject (source, origin, pointer, code)
      SELECT ${managed.source}, 'messages/' || n, '', 'too_long' FROM generate_series(1, 10001) n`;
    await sql`INSERT INTO platform.team (tenant, site, id, external_id, name)
      SELECT s.tenant, s.site, 500000 + n, 'counted ' || n, 'Team' FROM gateway.source s, generate_series(1, 10001) n WHERE s.id = ${managed.source}`;
    const text = words(await page(`/console/sources/${managed.source}`));
    expect(text).toContain('more than 10,000 teams');
    expect(text).toMatch(/1–25 of more than 10,000 rejects .*A file has at most 5,000 rejects/);
    for (const last of [400, 401, 1_000]) {
      const end = await page(`/console/sources/${managed.source}?page=${last}`);
      expect(words(end)).toContain('9976–10000 of more than 10,000 rejects. The list ends here.');
      expect(end.text).not.toContain('rel="next"');
    }
    expect(words(await page('/console/sources'))).toContain('more than 10,000');
    await sql`INSERT INTO gateway.webhook_delivery (endpoint_id, event_id, tenant, site, position, event_type, occurred_at, recorded_at,
        attempts, attempted_at, due_at, status, response_status, ended_at)
      SELECT ${managed.webhook}, 'evt_' || md5(n::text) || md5(n::text), 1, 1, n, 'conversation.changed', now(), now(),
        1, now(), now(), 'delivered', 200, now() FROM generate_series(1, 10001) n`;
    const webhook = `/console/webhooks/${managed.webhook}`;
    const first = await page(webhook);
    expect(words(first)).toContain('1–25 of more than 10,000 deliveries');
    const labels = first.text.match(/aria-label="Send conversation.changed evt_[0-9a-f]{12} again">Send again</g);
    expect(new Set(labels).size).toBe(25);
    expect(words(await page(`${webhook}?page=400`))).toContain('deliveries. Use the filters to see older ones.');
    // The command line still counts everything.
    expect((await readSources(gateway.database.db, managed.source))[0]?.rejects).toBe(10_001);
  });

  it('are compared, paused, resumed and removed, with or without their records', async () => {
    const { sql } = gateway.database;
    const [row] = await sql`SELECT site::integer FROM gateway.source WHERE id = ${managed.source}`;
    expect((await act('source_check')).headers.location).toContain('done=source_checking');
    expect((await act('source_pause')).headers.location).toContain('done=source_paused');
    expect((await act('source_remove')).headers.location).toBe('/console/sources?done=source_removed');
    expect(await sql`SELECT FROM platform.website WHERE tenant = 1 AND site = ${row?.['site']}`).toHaveLength(1);
    managed = { ...managed, source: managed.paused };
    expect((await act('source_delete')).headers.location).toBe('/console/sources?done=source_deleted');
    expect(await sql`SELECT FROM platform.website WHERE tenant = 1 AND site = ${row?.['site']}`).toHaveLength(0);
  });

  it('of an organization are not in the lists of another one', async () => {
    const answer = await page('/console/sources', rival);
    expect(answer.text).toContain('No source yet');
    for (const path of [`/console/sources/${managed.source}`, `/console/webhooks/${managed.webhook}/edit`])
      expect((await page(path, rival)).status).toBe(404);
    const grants = await page('/console/sources/grants?mode=live');
    expect(grants.text).toContain('CREATE ROLE');
  });
});

describe('the audit', () => {
  const plant = (n: number, more: object = {}) =>
    plantAudit(
      gateway.database,
      Array.from({ length: n }, (_, i) => ({
        time: new Date(Date.now() - i * 60_000).toISOString(),
        organization_id: organization,
        credential_id: managed.credential,
        targets: ['ctc_1_1_89'],
        ...more,
      })),
    );

  beforeEach(async () => {
    await gateway.database.sql`DELETE FROM gateway.audit`;
  });

  it('finds records by each filter, and leads to older ones', async () => {
    const { sql } = gateway.database;
    const [app] = await sql<{ id: string }[]>`SELECT i.app_id AS id FROM gateway.installation i
      JOIN gateway.credential c ON c.installation_id = i.id WHERE c.id = ${managed.credential}`;
    await plant(30, { app_id: app?.id });
    await plant(1, {
      operation: 'visitor_get',
      outcome: 'not_found',
      status: 404,
      surface: 'page',
      person_id: owner.id,
      credential_id: null,
      targets: ['vis_1_1_7'],
    });
    const first = await page('/console/audit');
    expect(first.text.match(/<tr role="row"><td/g)).toHaveLength(25);
    const [, older = ''] = /rel="next" href="([^"]+)"/.exec(first.text) ?? [];
    const second = await page(older.replaceAll('&amp;', '&'));
    expect(second.text.match(/<tr role="row"><td/g)).toHaveLength(6);
    for (const filter of [
      'operation=visitor_get',
      'outcome=not_found',
      'surface=page',
      `person=${owner.id}`,
      'target=vis_1_1_7',
    ]) {
      const { text } = await page(`/console/audit?${filter}`);
      expect(text.match(/<time [^>]*>[^<]*:\d\d:\d\d<\/time>/g), filter).toHaveLength(1);
    }
    const of = await page(`/console/audit?app=${app?.id}`);
    expect(of.text.match(/<tr role="row"><td/g)).toHaveLength(25);
    const today = new Date().toISOString().slice(0, 10);
    expect(words(await page('/console/audit?to=2020-01-01'))).toContain('No record matches');
    expect((await page(`/console/audit?from=${today}&to=${today}&operation=visitor_get`)).text).toContain('vis_1_1_7');
  });

  it('says who read a record, and exports what it finds', async () => {
    await plant(3);
    await plant(1, { outcome: 'not_permitted', status: 403 });
    const shown = words(await page('/console/audit?target=ctc_1_1_89'));
    expect(shown).toMatch(/Who read ctc_1_1_89 in the last 30 days .* 3 1 /);
    expect(words(await page('/console/audit?target=ctc_1_1_90'))).toContain('No call named this record.');
    const lines = (await page('/console/audit?format=ndjson')).text.trim().split('\n');
    expect(lines.map((line) => JSON.parse(line).operation)).toEqual(Array(4).fill('contact_get'));
    const csv = (await page('/console/audit?format=csv')).text.trim().split('\r\n');
    expect([csv.length, csv[0]?.split(',').slice(0, 2)]).toEqual([5, ['audit_id', 'time']]);
    const ocsf = (await page('/console/audit?format=ocsf')).text.trim().split('\n');
    expect(ocsf.map((line) => JSON.parse(line).class_uid)).toEqual(Array(4).fill(6003));
  });

  it('keeps a filter that its form does not list, and lists every outcome that records have', async () => {
    const { text } = await page('/console/audit?app=app_4711&outcome=zqx9&person=prs_1');
    for (const value of ['app_4711', 'zqx9', 'prs_1']) expect(text).toContain(`<option value="${value}" selected>`);
    expect(words({ text })).toContain('Filter: Outcome zqx9, App app_4711, Person prs_1');
    for (const outcome of ['address_refused', 'credentials', 'locked', 'unfinished', 'not_permitted'])
      expect(text).toContain(`<option value="${outcome}">`);
  });

  it('names the first fifty of many readers, and the command that names all', async () => {
    const people = await gateway.database.sql<{ id: string }[]>`
      INSERT INTO gateway.person SELECT m.* FROM generate_series(1, 51) g JOIN gateway.person p ON p.id = ${owner.id}
       CROSS JOIN LATERAL jsonb_populate_record(p, jsonb_build_object('id', 'prs_' || lpad(g::text, 32, '0'),
         'email', 'reader' || g || '@larkspur.example')) m RETURNING id`;
    const records = people.map(({ id }) => ({ person_id: id, organization_id: organization, targets: ['ctc_1_1_93'] }));
    await plantAudit(gateway.database, [...records, { ...records[0], targets: ['ctc_1_1_92'] }]);
    const { text } = await page('/console/audit?target=ctc_1_1_93');
    const [, readers = ''] = text.split('Who read');
    expect(readers.split('</table>')[0]?.match(/<tr role="row"><td/g)).toHaveLength(50);
    expect(words({ text: readers })).toMatch(/The first 50 of 51\. .* gateway audit readers ctc_1_1_93 --days 30/);
    expect(words(await page('/console/audit?target=ctc_1_1_92'))).not.toContain('audit readers');
    await gateway.database.sql`DELETE FROM gateway.person WHERE id = ANY (${people.map(({ id }) => id)})`;
  });

  it('takes no day that the calendar lacks', async () => {
    await plant(1, { time: '2026-03-10T12:00:00Z' });
    for (const day of ['to=2026-02-31', 'from=2026-13-45', 'from=yesterday', 'from=1999-01-01', 'surface=xx'])
      for (const more of ['', '&format=csv'])
        expect((await page(`/console/audit?${day}${more}`)).status, day).toBe(400);
    expect((await page('/console/audit?to=2026-02-28')).text).not.toContain('ctc_1_1_89');
  });

  it('shows a list as its website and a number, and does not say that nobody read a website', async () => {
    await plant(1, { operation: 'contact_list', targets: [], count: 25, website_id: 'web_1_1' });
    expect(words(await page('/console/audit'))).toMatch(/contact_list .* web_1_1 25 records/);
    expect((await page('/console/audit?format=csv')).text).toContain(',web_1_1,25,');
    expect(words(await page('/console/audit?target=web_1_1'))).not.toContain('No call named this record.');
  });

  it('has no cell that a spreadsheet takes as a formula', async () => {
    await plant(1, { operation: '\u200b =1+1' });
    expect((await page('/console/audit?format=csv')).text).toContain(`,'\u200b =1+1,`);
  });

  it('never shows records of another organization, whatever the filter', async () => {
    await plant(4, { operation: 'zqx9secret', person_id: owner.id });
    for (const query of [
      '',
      `?organization=${organization}`,
      `?app=&person=${owner.id}`,
      '?target=ctc_1_1_89',
      '?operation=zqx9secret',
      '?format=ndjson',
      '?format=csv',
      '?format=ocsf',
      '?after=99999999999999.00000000-0000-0000-0000-000000000000',
    ]) {
      const { text, status } = await page(`/console/audit${query}`, rival);
      expect([status, text.includes(managed.credential)], query).toEqual([200, false]);
      if (!query.includes('operation')) expect(text, query).not.toContain('zqx9secret');
    }
    expect(words(await page('/console/audit?target=ctc_1_1_89', rival))).toContain('No call named this record.');
  });

  it('shows hostile names as text, and refuses filters that are no filters', async () => {
    await plant(1, {
      operation: HOSTILE,
      client_name: HOSTILE,
      targets: [HOSTILE],
      outcome: HOSTILE,
      address: HOSTILE,
    });
    const query = new URLSearchParams({ operation: HOSTILE, target: HOSTILE, outcome: HOSTILE });
    for (const path of ['/console/audit', `/console/audit?${query}`]) {
      const answer = await page(path);
      expectInert(answer);
      expect([answer.status, answer.text.includes('&lt;img src=x')]).toEqual([200, true]);
    }
    for (const query of [
      ...['target=%00', 'format=ndjson&target=a%0Db', 'from=2026-99-99', 'surface=x', 'format=pdf'],
      ...['to=9999-12-31', 'from=0000-01-01', `from=${encodeURIComponent(HOSTILE)}`],
    ])
      expect((await page(`/console/audit?${query}`)).status, query).toBe(400);
    for (const query of [...['after=x', 'after=1.2'], ...['from=9998-12-31&to=9998-12-31']])
      expect((await page(`/console/audit?${query}`)).status, query).toBe(200);
  });

  it.each([3, 30])('searches the records of %i callers with few statements, and finds each once', async (callers) => {
    for (let n = 0; n < callers; n++)
      await plant(180 / callers, {
        credential_id: `crd_${n}`,
        time: new Date(Date.now() - n * 1_000).toISOString(),
      });
    const { db } = gateway.database;
    let statements = 0;
    let most = 0;
    const counted: typeof db.query = async (statement, ...more) => {
      statements++;
      const rows = await db.query(statement, ...more);
      most = Math.max(most, rows.length);
      return rows as never[]; // the rows are passed on as they are
    };
    const counting = new Proxy(db, { get: (of, name) => (name === 'query' ? counted : Reflect.get(of, name)) });
    const seen: string[] = [];
    let after: AuditPlace | undefined;
    do {
      statements = 0;
      const found = await searchAudit(counting, { organization, target: 'ctc_1_1_89' }, { limit: 25, after });
      expect(statements).toBeLessThanOrEqual(21);
      seen.push(...found.rows.map(({ at, id }) => `${at.toISOString()} ${id}`));
      after = found.next;
    } while (after);
    expect([seen.length, new Set(seen).size, most <= 31]).toEqual([180, 180, true]);
    expect(seen).toEqual([...seen].sort().reverse());
  });

  it('has a file of at most 5,000 records, and says so', async () => {
    await gateway.database
      .sql`INSERT INTO gateway.audit (time, organization_id, surface, operation, outcome, status, units, duration_ms)
      SELECT date_trunc('milliseconds', now()) - i * interval '1 millisecond', ${organization}, 'rest', 'contact_get', 'ok', 200, 1, 1 FROM generate_series(1, 5001) i`;
    const answer = await page('/console/audit?format=ndjson');
    expect([answer.status, words(answer).includes('A file has at most 5000 records')]).toEqual([200, true]);
  });
});

describe('the overview', () => {
  const add = (of: string, app: string, operation: string, calls: number, outcome = 'ok') =>
    gateway.database.sql`INSERT INTO gateway.audit_hour
      VALUES (${of}, date_trunc('hour', now(), 'UTC'), ${app}, 'rest', ${operation}, ${outcome}, ${calls}, ${calls * 2},
        array_fill(0::bigint, ARRAY[8]) || ${calls}::bigint || array_fill(0::bigint, ARRAY[24]))`;

  beforeEach(() => gateway.database.sql`DELETE FROM gateway.audit_hour`);

  it('draws the calls, and says the same numbers in tables', async () => {
    const { sql } = gateway.database;
    const [app] = await sql<{ id: string }[]>`SELECT i.app_id AS id FROM gateway.installation i
      JOIN gateway.credential c ON c.installation_id = i.id WHERE c.id = ${managed.credential}`;
    await sql`UPDATE gateway.app SET name = ${HOSTILE} WHERE id = ${app?.id ?? ''}`;
    await add(organization, app?.id ?? '', 'contact_get', 1_234);
    await add(organization, app?.id ?? '', 'contact_get', 66, 'not_found');
    await add('org_other', 'app_other', 'zqx9secret', 50_000);
    const answer = await page('/console');
    expectInert(answer);
    const shown = words(answer);
    for (const text of ['Calls 1,300', 'Failures 66 5.1 %', '95 % answered within 16 ms', 'Units used 2,600'])
      expect(shown).toContain(text);
    expect(shown).toMatch(/contact_get 1,300 66 5\.1 % 2,600/);
    expect(answer.text).not.toMatch(/zqx9secret|app_other/);
    expect(answer.text.match(/<svg /g)).toHaveLength(2);
    expect(answer.text).toMatch(/<title>\d\d:00: Answered 1,234, Failed 66<\/title>/);
    expect(shown).toMatch(/\d\d:00 1,234 66 /);
    for (const period of ['week', 'month', 'century'])
      expect(words(await page(`/console?period=${period}`))).toContain('Calls 1,300');
    const usage = await page(`/console/usage?app=${app?.id}&format=csv`);
    expect(usage.text.split('\r\n')[1]).toContain('contact_get,1300,66,2600');
    expect(words(await page('/console', rival))).toContain('No calls in this period');
  });

  it('says what to do when there is no call', async () => {
    const answer = await page('/console');
    expect(words(answer)).toContain('Connect a client');
    expect(answer.text).not.toContain('<svg');
  });
});
