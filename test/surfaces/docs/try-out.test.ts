import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { exampleCall } from '../../../src/gateway/examples.ts';
import { openTestGateway, type TestGateway } from '../../support/gateway.ts';
import { DESKTOP, openBrowser, openVisit, type Visit } from '../../support/surfaces/browser.ts';

let gateway: TestGateway;
let browser: Browser;
let token: string;
let origin: string;

beforeAll(async () => {
  gateway = await openTestGateway('demo');
  ({ token } = await gateway.issue());
  origin = `http://127.0.0.1:${gateway.port}`;
  browser = await openBrowser();
});
afterAll(async () => {
  await browser.close();
  await gateway.close();
});

async function visit(path: string, act: (visit: Visit) => Promise<void>): Promise<void> {
  const one = await openVisit(browser, origin, DESKTOP);
  try {
    await one.page.goto(origin + path);
    await act(one);
  } finally {
    await one.close();
  }
}

async function paste(page: Page): Promise<void> {
  await page.locator('.try summary').click();
  await page.locator('#token').fill(`Bearer ${token}`);
  await page.locator('#token').blur();
}

const send = (page: Page): Promise<void> => page.locator('.send button').click();
const outcome = async (page: Page): Promise<string> => {
  await page.locator('.outcome[data-kind=ok], .outcome[data-kind=bad]').waitFor();
  return page.locator('.outcome').innerText();
};

describe('the try-out', () => {
  it('sends a read with the pasted token and shows status, headers and body', async () => {
    await visit('/docs/reference/conversation', async ({ page, foreign, complaints }) => {
      await paste(page);
      await send(page);
      expect(await outcome(page)).toMatch(/^200 OK · \d+ ms/);
      expect(await page.locator('.received').innerText()).toMatch(/x-request-id\s+req_/);
      const body = JSON.parse(await page.locator('.result code').innerText());
      expect(body.data.conversation.id).toBe('cnv_1_1_11');
      expect([foreign, complaints]).toEqual([[], []]);
    });
  });

  it('keeps the token in a variable only: not in the page, not in a storage, not after the page is left', async () => {
    await visit('/docs/reference/conversation', async ({ page }) => {
      await paste(page);
      const everywhere = `JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, location.href,
        document.documentElement.outerHTML, [...document.querySelectorAll('input')].map(({ value }) => value)])`;
      expect(await page.evaluate(everywhere)).not.toContain(token.slice(4, 20));
      expect(await page.evaluate(everywhere)).toContain('Token is in memory');
      // Another operation opens without a new page, so that the token is still there.
      await page.locator('#side a', { hasText: 'Read a contact' }).click();
      await page.locator('h1', { hasText: 'Read a contact' }).waitFor();
      expect(await page.title()).toContain('Read a contact');
      await send(page);
      expect(await outcome(page)).toMatch(/^200/);
      await page.keyboard.press('Control+k');
      await page.locator('dialog.search input').fill('health');
      await page.locator('dialog.search [role=option]').first().waitFor();
      await page.keyboard.press('Enter');
      await page.locator('h1', { hasText: 'Read website readiness' }).waitFor();
      expect(await page.locator('#token').getAttribute('placeholder')).toBe('Token is in memory');
      await page.goBack();
      await page.locator('h1', { hasText: 'Read a contact' }).waitFor();
      await page.goBack();
      await page.locator('h1', { hasText: 'conversation' }).waitFor();
      await page.reload();
      await page.locator('.try summary').click();
      await send(page);
      expect(await outcome(page)).toMatch(/^401/);
      expect(await page.locator('.outcome a').getAttribute('href')).toBe('/docs/errors#unauthenticated');
    });
  });

  it('asks before a write, sends nothing after Cancel, and sends an idempotency key of its own', async () => {
    await visit('/docs/reference/config_plan', async ({ page }) => {
      const keys: (string | undefined)[] = [];
      page.on('request', (request) => {
        if (request.method() === 'POST') keys.push(request.headers()['idempotency-key']);
      });
      await paste(page);
      await send(page);
      expect(await page.locator('.confirm .target').innerText()).toBe('POST /api/v1/settings/plans?website_id=web_1_1');
      await page.locator('.confirm .no').click();
      expect(keys).toEqual([]);
      await send(page);
      await page.keyboard.press('Escape');
      expect(keys).toEqual([]);
      for (const count of [1, 2]) {
        await send(page);
        await page.locator('.confirm .yes').click();
        await expect.poll(() => keys.length).toBe(count);
        expect(await outcome(page)).toMatch(/^200/);
      }
      expect(new Set(keys).size).toBe(2);
      for (const key of keys) expect(key).toMatch(/^[0-9a-f]{32}$/);
    });
  });

  it('a write whose answer was lost is sent again with the same key', async () => {
    await visit('/docs/reference/config_plan', async ({ page }) => {
      const keys: (string | undefined)[] = [];
      await page.route('**/api/v1/settings/plans?*', async (route) => {
        keys.push(route.request().headers()['idempotency-key']);
        if (keys.length === 1) await route.abort();
        else await route.continue();
      });
      await paste(page);
      for (const status of [/^No answer/, /^200/]) {
        await send(page);
        await page.locator('.confirm .yes').click();
        await expect.poll(() => page.locator('.outcome').innerText()).toMatch(status);
      }
      expect([keys.length, new Set(keys).size]).toEqual([2, 1]);
    });
  });
});

describe('examples', () => {
  it('every example of a read answers 200 in the demo', async () => {
    // The demo has no write and no subscription. Their ids and cursors in the examples name nothing.
    const reads = gateway.corridor.registry.operations.filter(
      ({ method, status }) => method === 'GET' && status === 200,
    );
    const refused: string[] = [];
    for (const tool of reads) {
      const { status } = await gateway.ask(exampleCall(tool).address, { token });
      if (status !== 200) refused.push(tool.name);
    }
    expect(refused).toEqual(['events_pull', 'operation_get', 'subscription_get']);
    expect(reads.length).toBeGreaterThan(30);
  });
});
