import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import chromium from '@sparticuz/chromium';
import { chromium as playwright } from 'playwright-core';
/** Default switches that make the browser less strict than a reader's, or put all pages into one process. */
const UNWANTED = ['--disable-web-security', '--allow-running-insecure-content', '--single-process', '--no-zygote'];
/** A real Chromium, whose binary comes with its npm package. */
export async function openBrowser() {
    return playwright.launch({
        executablePath: await chromium.executablePath(),
        args: chromium.args.filter((arg) => !UNWANTED.includes(arg)),
        headless: true,
    });
}
export const DESKTOP = { width: 1280, height: 900 };
export const PHONE = { width: 390, height: 844 };
export async function openVisit(browser, origin, view) {
    const context = await browser.newContext({
        viewport: { width: view.width, height: view.height },
        colorScheme: view.scheme ?? 'light',
        reducedMotion: 'reduce',
        bypassCSP: false,
    });
    const page = await context.newPage();
    page.setDefaultTimeout(8_000);
    const foreign = [];
    const complaints = [];
    page.on('request', (request) => {
        const url = request.url();
        if (!url.startsWith(`${origin}/`) && !url.startsWith('data:'))
            foreign.push(url);
    });
    page.on('response', (response) => {
        if (response.status() >= 400)
            complaints.push(`${response.status()} ${response.url()}`);
    });
    page.on('console', (message) => {
        if (message.type() === 'error' || message.type() === 'warning')
            complaints.push(message.text());
    });
    page.on('pageerror', (error) => complaints.push(String(error)));
    return { page, foreign, complaints, close: () => context.close() };
}
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
/** The rules of axe-core that judge colours. Only these rules can find more after a change of the colour scheme. */
export const COLOURS = ['color-contrast', 'link-in-text-block'];
/** One line for each finding of axe-core, with all rules or the named ones, also inside shadow roots. */
export async function violations(page, rules = []) {
    const runOnly = rules.length > 0 ? { runOnly: { type: 'rule', values: rules } } : {};
    const found = await page.evaluate(`${AXE};
    axe.run(document, ${JSON.stringify({ resultTypes: ['violations'], ...runOnly })}).then(({ violations }) =>
      violations.flatMap(({ id, nodes }) => nodes.map(({ target, failureSummary }) =>
        id + ' ' + JSON.stringify(target) + ' ' + failureSummary)))`);
    if (!Array.isArray(found))
        throw new Error('axe-core gave no list');
    return found.map(String);
}
//# sourceMappingURL=browser.js.map