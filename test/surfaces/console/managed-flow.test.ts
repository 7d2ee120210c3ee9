import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeSignInLink } from '../../../src/auth/sign-in-links.ts';
import { type Managed, openManaged } from '../../support/console/managed.ts';
import { openTestGateway, type TestGateway } from '../../support/gateway.ts';
import { newPerson } from '../../support/oauth/oauth.ts';
import { plantAudit } from '../../support/planted-audit.ts';
import { DESKTOP, openBrowser, openVisit, PHONE, violationsInSchemes } from '../../support/surfaces/browser.ts';

/** The pages of webhooks, sources, the audit and the overview in a real browser. */
const LONG = `<img src=x onerror="document.title=1"> ${'x'.repeat(90)} مرحبا 東京`;

let gateway: TestGateway;
let world: Awaited<ReturnType<typeof openManaged>>;
let managed: Managed;
let browser: Browser;
let origin: string;
let owner: { id: string };

beforeAll(async () => {
  gateway = await openTestGateway();
  world = await openManaged(gateway);
  managed = await world.plant();
  browser = await openBrowser();
  origin = `http://127.0.0.1:${gateway.port}`;
  owner = await newPerson(gateway);
  const { sql } = gateway.database;
  const [row] = await sql<{ app: string; org: string }[]>`
    SELECT i.app_id AS app, o.public_id AS org FROM gateway.installation i JOIN gateway.credential c ON c.installation_id = i.id
      CROSS JOIN platform.organization o WHERE c.id = ${managed.credential} AND o.tenant = 1`;
  await sql`UPDATE gateway.app SET name = ${LONG} WHERE id = ${row?.app ?? ''}`;
  await sql`UPDATE gateway.webhook_endpoint SET description = ${LONG.slice(0, 200)}, url = url || ${`/${'long'.repeat(60)}`}
    WHERE id = ${managed.webhook}`;
  await sql`UPDATE gateway.source SET last_error = ${LONG}, account = ${LONG} WHERE id = ${managed.source}`;
  await sql`INSERT INTO gateway.source_reject (source, origin, pointer, code)
    SELECT ${managed.source}, 'messages/' || n, ${LONG}, 'too_long' FROM generate_series(1, 27) n`;
  await sql`INSERT INTO gateway.audit_hour
    SELECT ${row?.org ?? ''}, date_trunc('hour', now(), 'UTC') - h * interval '1 hour', ${row?.app ?? ''}, 'rest', o.name, o.outcome,
           100000 * (h % 5 + 1) / o.rare, 1, array_fill(0::bigint, ARRAY[10]) || 9::bigint || array_fill(0::bigint, ARRAY[22])
      FROM generate_series(0, 23) h CROSS JOIN (VALUES ('contact_get', 'ok', 1), ('visitor_list', 'not_found', 900)) o (name, outcome, rare)`;
  await plantAudit(
    gateway.database,
    Array.from({ length: 30 }, (_, n) => ({
      organization_id: row?.org ?? '',
      app_id: row?.app ?? '',
      credential_id: managed.credential,
      client_name: LONG,
      targets: ['ctc_1_1_89', 'vis_1_1_7'],
      outcome: n % 3 === 0 ? 'not_permitted' : 'ok',
      time: new Date(Date.now() - n * 1_000).toISOString(),
    })),
  );
});
afterAll(async () => {
  await browser.close();
  await world.close();
  await gateway.close();
});

async function enter(page: Page, person = owner.id): Promise<void> {
  const link = await makeSignInLink(gateway.database.db, { person, baseUrl: origin });
  await page.goto(link?.url ?? '');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
}

describe('a person with a browser', () => {
  const views = [
    ['a desktop', DESKTOP],
    ['a phone', PHONE],
  ] as const;
  it.each(views)('on %s %j reads every page, and axe-core finds nothing', async (_, size) => {
    const { page, foreign, complaints, close } = await openVisit(browser, origin, size);
    await enter(page);
    const paths = [
      '/console',
      '/console?period=month',
      '/console/usage?period=week',
      '/console/webhooks',
      `/console/webhooks/${managed.webhook}`,
      `/console/webhooks/${managed.webhook}/edit`,
      '/console/webhooks/new',
      '/console/sources',
      `/console/sources/${managed.source}`,
      '/console/sources/new',
      '/console/sources/grants?mode=live',
      '/console/audit',
      '/console/audit?target=ctc_1_1_89',
      '/console/audit?operation=nothing',
    ];
    for (const path of paths) {
      await page.goto(origin + path);
      await page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })");
      expect(await violationsInSchemes(page), path).toEqual([]);
      expect(await page.evaluate('document.documentElement.scrollWidth'), path).toBe(size.width);
      expect(await page.locator('img, script, iframe, [style]').count(), path).toBe(0);
    }
    expect([foreign, complaints]).toEqual([[], []]);
    await close();
  });

  it('reads the audit on a tablet and on half of a screen without scrolling aside, and names in one line', async () => {
    const { sql } = gateway.database;
    const reader = await newPerson(gateway);
    await sql`UPDATE gateway.person SET email = 'owner@larkspur.example' WHERE id = ${reader.id}`;
    const [row] = await sql<{ id: string }[]>`SELECT public_id AS id FROM platform.organization WHERE tenant = 1`;
    const organization = row?.id ?? '';
    const failed = { outcome: 'unsupported_parameter', status: 400, operation: 'conversation_message_attachments' };
    await plantAudit(gateway.database, [
      { organization_id: organization, surface: 'page', person_id: reader.id, address: '203.0.113.0/24', ...failed },
      { organization_id: organization, surface: 'cli', targets: [reader.id, managed.credential, 'web_1_1'] },
    ]);
    const { page, close } = await openVisit(browser, origin, DESKTOP);
    await enter(page, reader.id);
    await page.goto(`${origin}/console/audit`);
    const name = page.locator('td.name a', { hasText: 'owner@larkspur.example' }).first();
    for (const width of [641, 768, 833, 900, 1024, 1152, 1153, 1280]) {
      await page.setViewportSize({ width, height: 900 });
      expect([width, await page.evaluate('document.documentElement.scrollWidth')]).toEqual([width, width]);
      // Two lines are 45 pixels high.
      if (width > 1152) expect((await name.boundingBox())?.height, String(width)).toBeLessThan(30);
    }
    await close();
  });

  it('adds, tests and deletes a webhook without scripts', async () => {
    const context = await browser.newContext({ javaScriptEnabled: false });
    const page = await context.newPage();
    await enter(page);
    await page.getByRole('navigation', { name: 'Console' }).getByRole('link', { name: 'Webhooks' }).click();
    await page.getByRole('link', { name: 'Add a webhook' }).click();
    await page.getByLabel('Receiver').fill(managed.receiver);
    await page.getByLabel('Website', { exact: true }).selectOption('web_1_1');
    await page.getByLabel('Credential').selectOption(managed.credential);
    await page.getByLabel('Description').fill('made in a browser');
    await page.keyboard.press('Enter');
    await page.getByText('Copy the signing secret now.').waitFor();
    await page.getByRole('link', { name: 'I have copied it' }).click();
    await page.getByRole('button', { name: 'Send a test' }).click();
    await page.getByText('The receiver accepted the test.').waitFor();
    await page.getByText('Delete this webhook').click();
    await page.getByRole('button', { name: 'Delete webhook' }).click();
    await page.getByText('The webhook is deleted, with its queue and its log.').waitFor();
    expect(await page.getByText('made in a browser').count()).toBe(0);
    await context.close();
  });

  it('follows a record to those who read it', async () => {
    const { page, close } = await openVisit(browser, origin, DESKTOP);
    await enter(page);
    await page.getByRole('link', { name: 'contact_get' }).first().click();
    await page.getByRole('heading', { level: 1, name: 'Audit' }).waitFor();
    expect(await page.getByLabel('Operation').inputValue()).toBe('contact_get');
    await page.getByRole('link', { name: 'ctc_1_1_89' }).first().click();
    await page.getByRole('heading', { name: 'Who read ctc_1_1_89 in the last 30 days' }).waitFor();
    await page.getByRole('link', { name: 'Older' }).click();
    expect(await page.getByRole('link', { name: 'Newest' }).count()).toBe(1);
    await close();
  });
});
