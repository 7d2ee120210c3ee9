import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { exampleCall, inventedArguments } from '../../../src/gateway/examples.js';
import { openTestGateway } from '../../support/gateway.js';
import { DESKTOP, openBrowser, openVisit } from '../../support/surfaces/browser.js';
let gateway;
let browser;
let token;
let origin;
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
async function visit(path, act) {
    const one = await openVisit(browser, origin, DESKTOP);
    try {
        await one.page.goto(origin + path);
        await act(one);
    }
    finally {
        await one.close();
    }
}
async function paste(page) {
    await page.locator('.try > summary').click();
    await page.locator('#token').fill(`Bearer ${token}`);
    await page.locator('#token').blur();
}
const send = (page) => page.locator('.send button').click();
const outcome = async (page) => {
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
            await page.locator('.try > summary').click();
            await send(page);
            expect(await outcome(page)).toMatch(/^401/);
            expect(await page.locator('.outcome a').getAttribute('href')).toBe('/docs/errors#unauthenticated');
        });
    });
    it('asks before a write, sends nothing after Cancel, and sends an idempotency key of its own', async () => {
        await visit('/docs/reference/config_plan', async ({ page }) => {
            const keys = [];
            page.on('request', (request) => {
                if (request.method() === 'POST')
                    keys.push(request.headers()['idempotency-key']);
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
            for (const key of keys)
                expect(key).toMatch(/^[0-9a-f]{32}$/);
        });
    });
    it('a write whose answer was lost is sent again with the same key, and a changed write has another key', async () => {
        await visit('/docs/reference/config_plan', async ({ page }) => {
            const keys = [];
            await page.route('**/api/v1/settings/plans?*', async (route) => {
                keys.push(route.request().headers()['idempotency-key']);
                if (keys.length < 3)
                    await route.abort();
                else
                    await route.continue();
            });
            await paste(page);
            const body = page.locator('#try-body');
            for (const [status, change] of [
                [/^No answer/, ''],
                [/^No answer/, ''],
                [/^200/, ' '],
            ]) {
                await body.fill((await body.inputValue()) + change);
                await send(page);
                await page.locator('.confirm .yes').click();
                await expect.poll(() => page.locator('.outcome').innerText()).toMatch(status);
            }
            expect(keys[1]).toBe(keys[0]);
            expect(keys[2]).toMatch(/^[0-9a-f]{32}$/);
            expect(keys[2]).not.toBe(keys[0]);
        });
    });
    it('refuses a part of a path that a browser removes, keeps the token on other pages, and says when a page is missing', async () => {
        await visit('/docs/reference/conversation', async ({ page }) => {
            await paste(page);
            await page.locator('#try-conversation_id').fill('..');
            await send(page);
            expect(await outcome(page)).toMatch(/^Nothing was sent/);
            await page.route('**/docs/errors', (route) => route.abort());
            await page.locator('.tops a', { hasText: 'Errors' }).click();
            await expect.poll(() => page.locator('.outcome').innerText()).toMatch(/^The page could not be loaded/);
            await page.unroute('**/docs/errors');
            await page.locator('main a[href="/docs/errors#not_found"]').first().click();
            await page.locator('h1', { hasText: 'Errors' }).waitFor();
            expect(new URL(page.url()).hash).toBe('#not_found');
            expect((await page.locator('#not_found').boundingBox())?.y).toBeLessThan(DESKTOP.height);
            await page.goBack();
            await send(page);
            expect(await outcome(page)).toMatch(/^200/);
        });
    });
});
describe('examples', () => {
    it('every example answers in the demo, except where the page says that a value is invented or an origin is needed', async () => {
        const writer = await gateway.issue({ authors: ['opr_1_1_3'] });
        const refused = [];
        const tools = gateway.corridor.registry.operations.filter(({ status }) => status !== 101);
        for (const tool of tools) {
            const { address, headers, body } = exampleCall(tool);
            const { status } = await gateway.ask(address, { token: writer.token, method: tool.method, headers, body });
            if (status !== tool.status)
                refused.push(tool.name);
        }
        expect(refused).toEqual(tools.filter((tool) => tool.origin || inventedArguments(tool).length > 0).map(({ name }) => name));
        expect(refused).toHaveLength(8);
        for (const name of refused) {
            const page = (await gateway.ask(`/docs/reference/${name}`, { unchecked: true })).text;
            expect(page, name).toMatch(/is invented\. Send a value of your own|has allowed for the credential/);
        }
    });
});
//# sourceMappingURL=try-out.test.js.map