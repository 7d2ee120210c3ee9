import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { makeSignInLink } from '../../../src/auth/sign-in-links.ts';
import { itOnce as it, rowsOnce } from '../../support/form.ts';
import { openTestGateway, type TestGateway } from '../../support/gateway.ts';
import { consented, newClient, newPerson, PASSWORD, type TestClient } from '../../support/oauth/oauth.ts';
import {
  DESKTOP,
  openBrowser,
  openVisit,
  PHONE,
  violations,
  violationsInSchemes,
} from '../../support/surfaces/browser.ts';

/** The console in a real browser. */
const LONG = `<img src=x onerror="document.title=1"> ${'x'.repeat(90)} مرحبا 東京`;

let gateway: TestGateway;
let browser: Browser;
let origin: string;
let owner: { id: string; email: string };
let colleague: { id: string; email: string };
let client: TestClient;

beforeAll(async () => {
  gateway = await openTestGateway();
  browser = await openBrowser();
  origin = `http://127.0.0.1:${gateway.port}`;
  owner = await newPerson(gateway);
  colleague = await newPerson(gateway, 'admin');
  const { sql } = gateway.database;
  client = await newClient(gateway, { expires: '5 days' });
  await sql`UPDATE gateway.app SET name = ${LONG} WHERE id = ${client.app}`;
  const hosted = await newClient(gateway);
  await sql`UPDATE gateway.credential SET hosted_client = 'https://client.example/x', hosted_host = ${`${'a.'.repeat(120)}example`},
    hosted_person = ${owner.id} WHERE id = ${hosted.credential}`;
  for (let n = 0; n < 27; n++) await newPerson(gateway, 'operator');
});
afterAll(async () => {
  await browser.close();
  await gateway.close();
});

const link = async (): Promise<string> =>
  (await makeSignInLink(gateway.database.db, { person: owner.id, baseUrl: origin }))?.url ?? '';
const newConsent = async (): Promise<string> => {
  const { email } = await consented(gateway, client);
  const [row] = await gateway.database.sql<{ id: string }[]>`
    SELECT c.id FROM gateway.consent c JOIN gateway.person p ON p.id = c.person_id WHERE p.email = ${email}`;
  return row?.id ?? '';
};
const alive = async (consent: string): Promise<boolean> =>
  (await gateway.database.sql`SELECT FROM gateway.consent WHERE id = ${consent} AND revoked_at IS NULL`).length === 1;

const enter = async (page: Page): Promise<void> => {
  await page.goto(await link());
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
};

describe('a person with a browser', () => {
  const views = [
    ['a desktop', DESKTOP],
    ['a phone', PHONE],
  ] as const;
  test.each(rowsOnce(views, 1))('on %s %j reads every page, and axe-core finds nothing', async (_, size) => {
    const consent = await newConsent();
    const { page, foreign, complaints, close } = await openVisit(browser, origin, size);
    const sound = async (heading: string): Promise<void> => {
      expect(await page.getByRole('heading', { level: 1 }).textContent()).toContain(heading);
      expect(await violationsInSchemes(page), heading).toEqual([]);
      expect(await page.evaluate('document.documentElement.scrollWidth'), heading).toBe(size.width);
      expect(await page.locator('img, script, iframe, [style]').count()).toBe(0);
    };
    await page.goto(await link());
    await sound('Sign in to the console');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.waitForURL(`${origin}/console`);
    await sound('Overview');
    for (const [room, heading] of [
      ['Apps', 'Apps'],
      ['Consents', 'Consents'],
      ['People', 'People'],
    ] as const) {
      await page.getByRole('navigation', { name: 'Console' }).getByRole('link', { name: room }).click();
      await sound(heading);
      expect(await page.locator('[aria-current="page"]').textContent()).toBe(room);
    }
    await page.getByRole('link', { name: 'Next' }).click();
    await sound('People');
    await page.getByRole('link', { name: 'Previous' }).click();
    // On a phone the filters are closed, so that the records begin on the first screen.
    const filters = page.locator('details.filters > summary');
    expect(await filters.isVisible()).toBe(size.width === PHONE.width);
    expect(await page.getByRole('button', { name: 'Filter' }).isVisible()).toBe(size.width !== PHONE.width);
    expect((await page.locator('tbody tr').first().boundingBox())?.y).toBeLessThan(size.height / 2);
    if (size.width === PHONE.width) await filters.click();
    await page.getByLabel('E-mail').fill('nobody');
    await page.getByRole('button', { name: 'Filter' }).click();
    await sound('People');
    expect(await filters.textContent()).toBe('Filter: E-mail nobody');
    for (const [path, heading] of [
      [`/console/apps/${client.app}`, '<img src=x'],
      [`/console/apps/${client.app}/operations`, 'Operations'],
      [`/console/consents/${consent}`, 'Consent to'],
      [`/console/people/${colleague.id}`, colleague.email],
      [`/console/people/${owner.id}`, owner.email],
      ['/console/people/add', 'Add a person'],
      ['/console/nothing', 'Not found'],
    ] as const) {
      await page.goto(origin + path);
      await page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })");
      await sound(heading);
    }
    for (const [path, button, command] of [
      ['/console/apps', 'Add an app', /^gateway app create --organization org_\w+ --name "My app"$/],
      [
        `/console/apps/${client.app}`,
        'Issue a credential',
        new RegExp(
          `^gateway credential issue --installation ${client.app} --environment live --website web_1_\\d --scopes read$`,
        ),
      ],
      [
        `/console/people/${colleague.id}`,
        'This person cannot sign in',
        new RegExp(`^gateway person unlock ${colleague.id}$`),
      ],
    ] as const) {
      await page.goto(origin + path);
      const shown = page.locator('pre.command', { hasText: command });
      expect(await shown.isVisible(), button).toBe(false);
      await page.getByText(button, { exact: true }).first().click();
      await shown.waitFor();
      // One click marks the command, and nothing else.
      await shown.click();
      expect(await page.evaluate('getSelection().toString().trim()')).toMatch(command);
    }
    await page.goto(`${origin}/console`);
    await page.getByRole('button', { name: 'Sign out' }).click();
    await sound('Sign in');
    expect(await page.context().cookies()).toEqual([]);
    expect(foreign).toEqual([]);
    expect(complaints.filter((one) => !one.includes('404'))).toEqual([]);
    await close();
  });

  it('revokes a consent with the keyboard alone, without scripts', async () => {
    const consent = await newConsent();
    const context = await browser.newContext({ javaScriptEnabled: false });
    const page = await context.newPage();
    await enter(page);
    await page.goto(`${origin}/console/consents/${consent}`);
    await page.keyboard.press('Tab');
    const focused = page.locator(':focus');
    expect(await focused.textContent()).toBe('Skip to the content');
    expect((await focused.boundingBox())?.x ?? -1).toBeGreaterThanOrEqual(0);
    await page.keyboard.press('Enter');
    const reach = async (text: string): Promise<void> => {
      for (let n = 0; n < 30; n++) {
        await page.keyboard.press('Tab');
        // The ring is drawn by the stylesheet. Playwright's screenshot tests would need a picture for each system.
        const outline = await focused.evaluate((one: unknown) => {
          const style = globalThis as unknown as { getComputedStyle(of: unknown): { outlineStyle: string } }; // runs in the page
          return style.getComputedStyle(one).outlineStyle;
        });
        expect(outline, (await focused.textContent()) ?? '').toBe('solid');
        if ((await focused.textContent()) === text) return;
      }
      throw new Error(`the keyboard does not reach ${text}`);
    };
    await reach('Revoke this consent');
    await page.keyboard.press('Enter');
    await reach('Revoke consent');
    await page.keyboard.press('Enter');
    await page.getByText('The consent is revoked.').waitFor();
    expect(await alive(consent)).toBe(false);
    await context.close();
  });

  it('signs in again 15 minutes later, returns to the page, and then makes the change', async () => {
    const consent = await newConsent();
    const { page, close } = await openVisit(browser, origin, DESKTOP);
    await enter(page);
    await page.goto(`${origin}/console/consents/${consent}`);
    await gateway.database
      .sql`UPDATE gateway.session SET created_at = now() - interval '16 minutes' WHERE person_id = ${owner.id}`;
    const revoke = async (): Promise<void> => {
      await page.getByText('Revoke this consent').click();
      await page.getByRole('button', { name: 'Revoke consent' }).click();
    };
    await revoke();
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    expect(await violations(page)).toEqual([]);
    expect([await page.getByText('Nothing was changed.').count(), await alive(consent)]).toEqual([1, true]);
    await page.getByLabel('E-mail').fill(owner.email);
    await page.getByLabel('Password').fill(PASSWORD);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.waitForURL(`${origin}/console/consents/${consent}`);
    await revoke();
    await page.getByText('The consent is revoked.').waitFor();
    expect(await alive(consent)).toBe(false);
    await close();
  });
});

describe('another site', () => {
  let evil: Server;
  let document = '';
  let site: string;
  beforeAll(async () => {
    evil = createServer((_, response) => response.setHeader('content-type', 'text/html').end(document));
    await new Promise<void>((resolve) => void evil.listen(0, '127.0.0.1', resolve));
    // A listening TCP server has an address with a port.
    site = `http://localhost:${(evil.address() as AddressInfo).port}`;
  });
  afterAll(() => void evil.close());

  it.each(['localhost', '127.0.0.1'])(
    'at %s cannot send the form, even with its token, and cannot show the console in a frame',
    async (host) => {
      const consent = await newConsent();
      const { page, close } = await openVisit(browser, origin, DESKTOP);
      await enter(page);
      await page.goto(`${origin}/console/consents/${consent}`);
      const csrf = await page.locator('form.act [name=csrf]').getAttribute('value');
      document = `<form method="post" action="${origin}/console/consents/${consent}/revoke"><input name="csrf" value="${csrf}"><button>Win</button></form>`;
      await page.goto(site.replace('localhost', host));
      await page.getByRole('button').click();
      await page.getByText('This request cannot be answered').waitFor();
      expect(await alive(consent)).toBe(true);
      document = `<h1>Frame</h1><iframe src="${origin}/console"></iframe>`;
      await page.goto(site.replace('localhost', host));
      await page.waitForTimeout(300);
      for (const frame of page.frames().slice(1))
        expect(await frame.getByRole('heading', { name: 'Overview' }).count()).toBe(0);
      expect(page.frames().length).toBe(2);
      await close();
    },
  );
});
