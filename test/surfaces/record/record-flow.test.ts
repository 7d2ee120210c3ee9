import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { rowsOnce } from '../../support/form.ts';
import { openTestGateway, type TestGateway } from '../../support/gateway.ts';
import { newPerson, PASSWORD } from '../../support/oauth/oauth.ts';
import { DESKTOP, openBrowser, openVisit, PHONE, violationsInSchemes } from '../../support/surfaces/browser.ts';

/** The page of a record in a real browser. */
const HOSTILE = '<img src=x onerror="document.title=1"><script>document.title=2</script>';
const LONG = 'x'.repeat(300);

let gateway: TestGateway;
let browser: Browser;
let origin: string;
let email: string;

beforeAll(async () => {
  gateway = await openTestGateway();
  browser = await openBrowser();
  origin = `http://127.0.0.1:${gateway.port}`;
  ({ email } = await newPerson(gateway));
  const { sql } = gateway.database;
  await sql`INSERT INTO platform.contact (tenant, site, id, external_id, name, email, company, created_at)
    VALUES (1, 1, 900001, 'p', ${`${HOSTILE} ${LONG}`.slice(0, 240)}, ${`${LONG}@example.com`}, ${HOSTILE}, now())`;
  await sql`INSERT INTO platform.conversation (tenant, site, id, external_id, status, platform, subject, created_at, updated_at, closed_at)
    VALUES (1, 1, 900001, 'p', 'closed', 'email', ${`${HOSTILE} مرحبا ${LONG}`}, now(), now(), now())`;
  await sql`INSERT INTO platform.conversation_contact VALUES (1, 1, 900001, 900001)`;
  await sql`INSERT INTO platform.message (tenant, site, id, external_id, conversation_id, author_type, visibility, kind, text, created_at) VALUES
    (1, 1, 9000001, 'p1', 900001, 'visitor', 'public', 'text', ${`${HOSTILE}\n${LONG}`}, now()),
    (1, 1, 9000002, 'p2', 900001, 'operator', 'internal', 'text', 'مرحبا 東京', now())`;
});
afterAll(async () => {
  await browser.close();
  await gateway.close();
});

describe('a person with a browser', () => {
  const views = [
    ['a desktop', DESKTOP],
    ['a phone', PHONE],
  ] as const;
  it.each(rowsOnce(views, 1))('on %s %j signs in, reads the record, follows a link and signs out', async (_, size) => {
    const { page, foreign, complaints, close } = await openVisit(browser, origin, size);
    const sound = async (heading: string): Promise<void> => {
      expect(await page.getByRole('heading', { level: 1 }).textContent()).toContain(heading);
      expect(await violationsInSchemes(page)).toEqual([]);
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(size.width);
    };
    const answer = await page.goto(`${origin}/c/cnv_1_1_900001`);
    expect(answer?.status()).toBe(200);
    await sound('Sign in');
    await page.getByLabel('E-mail').fill(email);
    await page.getByLabel('Password').fill(PASSWORD);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('heading', { name: 'Messages' }).waitFor();
    expect(page.url()).toBe(`${origin}/c/cnv_1_1_900001`);
    await sound('<img src=x');
    expect(await page.title()).toBe('Conversation cnv_1_1_900001 · Installation Gateway');
    expect(await page.getByText('document.title=2').count()).toBeGreaterThan(1);
    expect(await page.locator('img, script, iframe, [style]').count()).toBe(0);
    await page.locator('section:has-text("Contacts") a').click();
    await page.waitForURL('**/c/ctc_1_1_900001');
    await sound('<img src=x');
    await page.goto(`${origin}/c/vis_1_1_77777777`);
    await sound('No such record');
    await page.goBack();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    expect(await page.context().cookies()).toEqual([]);
    await page.goBack();
    await sound('Sign in');
    expect(foreign).toEqual([]);
    expect(complaints.filter((one) => !one.includes('404'))).toEqual([]);
    await close();
  });
});
