import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DESKTOP, openBrowser, PHONE, violations } from '../../support/surfaces/browser.js';
import { servePages } from '../../support/surfaces/pages.js';
const READ = '/docs/reference/conversations_list';
let pages;
let browser;
beforeAll(async () => {
    pages = await servePages();
    browser = await openBrowser();
});
afterAll(async () => {
    await browser.close();
    await pages.close();
});
const desktop = (path, act) => pages.visit(browser, DESKTOP, path, ({ page }) => act(page));
const backgroundOf = (page) => page.evaluate('getComputedStyle(document.body).backgroundColor');
describe('the search', () => {
    const input = 'dialog.search input';
    const options = 'dialog.search [role=option]';
    it('opens with a slash, moves with arrows, opens the chosen page with Enter, and closes with Escape', async () => {
        await desktop('/docs', async (page) => {
            await page.keyboard.press('/');
            await page.locator(input).waitFor();
            expect(await page.locator(input).inputValue()).toBe('');
            await page.keyboard.type('disposition');
            await page.locator(options).nth(1).waitFor();
            expect(await page.locator(input).getAttribute('aria-expanded')).toBe('true');
            const chosen = page.locator('dialog.search [aria-selected=true]');
            expect(await page.locator(input).getAttribute('aria-activedescendant')).toBe('found-0');
            expect(await chosen.getAttribute('id')).toBe('found-0');
            await page.keyboard.press('ArrowDown');
            expect(await chosen.getAttribute('id')).toBe('found-1');
            await page.keyboard.press('ArrowUp');
            await page.keyboard.press('ArrowUp');
            expect(await chosen.getAttribute('id')).toBe(`found-${(await page.locator(options).count()) - 1}`);
            expect(await violations(page)).toEqual([]);
            await page.keyboard.press('Escape');
            expect(await page.locator('dialog.search').isVisible()).toBe(false);
            await page.keyboard.press('Control+k');
            await page.locator(input).fill('conversations_list');
            await page.locator(options).first().waitFor();
            await page.keyboard.press('Enter');
            await page.waitForURL(`**${READ}`);
        });
    });
    it('finds names, questions and words that the documents write in another way', async () => {
        await desktop('/docs', async (page) => {
            const index = await (await pages.get('/docs/assets/search.json')).json();
            await page.locator('button.find').click();
            for (const [text, kind, url] of [
                ['not_found', 'Error', '/docs/errors#not_found'],
                ['list conversations', 'Operation', READ],
                ['GET /api/v1/conversations', 'Operation', READ],
                ['contact_read_pii', 'Scope', '/docs/scopes#contact_read_pii'],
                ['status', 'Operation', '/docs/reference/'],
                ['timezone', 'Operation', '/docs/reference/'],
                ['pagination', 'Guide', '/docs/guides/overview#job-page-through-a-list'],
                ['How do I page?', 'Guide', '/docs/guides/overview#job-page-through-a-list'],
                ['quota', 'Guide', '/docs/guides/'],
            ]) {
                await page.locator(input).fill(text);
                const found = page.locator(options).filter({ has: page.locator('.kind', { hasText: kind }) });
                const title = await found.first().locator('.title').innerText();
                expect(index.find((one) => one.kind === kind && one.title === title)?.url, text).toContain(url);
            }
        });
    });
    it('says when nothing is found', async () => {
        await desktop('/docs', async (page) => {
            await page.keyboard.press('/');
            await page.locator(input).fill('zzzz');
            await page.locator('dialog.search .state', { hasText: 'Nothing found.' }).waitFor();
            expect(await page.locator(options).count()).toBe(0);
        });
    });
});
describe('the theme switch', () => {
    it('goes from auto to light to dark, and the next page keeps the theme from its first paint', async () => {
        await desktop('/docs', async (page) => {
            const white = await backgroundOf(page);
            await page.emulateMedia({ colorScheme: 'dark' });
            const dark = await backgroundOf(page);
            expect(dark).not.toBe(white);
            const button = page.locator('button.theme');
            expect(await button.getAttribute('aria-label')).toBe('Theme: auto. Change to light.');
            await button.click();
            expect(await backgroundOf(page)).toBe(white);
            await page.goto(`${pages.origin}/docs/errors`);
            expect(await backgroundOf(page)).toBe(white);
            await page.emulateMedia({ colorScheme: 'light' });
            await button.click();
            expect(await backgroundOf(page)).toBe(dark);
            await button.click();
            expect(await backgroundOf(page)).toBe(white);
        });
    });
});
describe('tabs', () => {
    it('change with the arrow keys, and the next operation opens with the same tab', async () => {
        await desktop(READ, async (page) => {
            await page.locator('.tabs input').first().focus();
            await page.keyboard.press('ArrowRight');
            expect(await page.locator('.panel:visible').innerText()).toContain('await fetch(');
            await page.goto(`${pages.origin}/docs/reference/contact_get`);
            expect(await page.locator('.panel:visible').innerText()).toContain('await fetch(');
        });
    });
    it('a copy button copies the text of its block', async () => {
        await desktop(READ, async (page) => {
            await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
            await page.locator('.panel:visible .copy').click();
            await page.locator('.panel:visible .copy', { hasText: 'Copied' }).waitFor();
            expect(await page.evaluate('navigator.clipboard.readText()')).toMatch(/^curl "http:.*\n.*Bearer \$TOKEN"$/);
        });
    });
});
describe('without scripts', () => {
    it('texts, tabs and the menu of a phone work, and nothing is shown that cannot work', async () => {
        const context = await browser.newContext({ javaScriptEnabled: false, viewport: PHONE });
        const page = await context.newPage();
        await page.goto(pages.origin + READ);
        expect(await page.locator('.panel:visible').innerText()).toContain('curl');
        await page.locator('.tabs label', { hasText: 'MCP' }).click();
        expect(await page.locator('.panel:visible').innerText()).toContain('tools/call');
        expect(await page.locator('.parameters > li:visible').count()).toBeGreaterThan(10);
        for (const part of ['.try', 'button.find', 'button.theme', '.copy']) {
            expect(await page.locator(`${part}:visible`).count(), part).toBe(0);
        }
        expect(await page.locator('#side').isVisible()).toBe(false);
        await page.locator('button.menu').click();
        await page.locator('#side a', { hasText: 'Read a contact' }).click();
        expect(await page.locator('h1').innerText()).toBe('Read a contact');
        await context.close();
    });
    it('the overview lists every operation', async () => {
        const context = await browser.newContext({ javaScriptEnabled: false });
        const page = await context.newPage();
        await page.goto(`${pages.origin}/docs/reference`);
        expect(await page.locator('main .catalogue a').count()).toBe(pages.registry.operations.length);
        await context.close();
    });
});
describe('on a phone', () => {
    it('the menu opens over the page and passes axe-core', async () => {
        await pages.visit(browser, PHONE, READ, async ({ page }) => {
            await page.locator('button.menu').click();
            expect(await page.locator('#side a', { hasText: 'Errors' }).first().isVisible()).toBe(true);
            expect(await violations(page)).toEqual([]);
            await page.keyboard.press('Escape');
            expect(await page.locator('#side').isVisible()).toBe(false);
        });
    });
});
//# sourceMappingURL=script.test.js.map