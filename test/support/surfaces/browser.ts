import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import chromium from '@sparticuz/chromium';
import { type Browser, type Page, chromium as playwright } from 'playwright-core';

/** Default switches that make the browser less strict than a reader's, or put all pages into one process. */
const UNWANTED = ['--disable-web-security', '--allow-running-insecure-content', '--single-process', '--no-zygote'];

/** A real Chromium, whose binary comes with its npm package. */
export async function openBrowser(): Promise<Browser> {
  return playwright.launch({
    executablePath: await chromium.executablePath(),
    args: chromium.args.filter((arg) => !UNWANTED.includes(arg)),
    headless: true,
  });
}

export interface View {
  readonly width: number;
  readonly height: number;
  readonly scheme?: 'light' | 'dark';
}
export const DESKTOP = { width: 1280, height: 900 };
export const PHONE = { width: 390, height: 844 };

export interface Visit {
  readonly page: Page;
  readonly foreign: string[];
  /** Console errors and warnings, violations of the content security policy, and failed requests. */
  readonly complaints: string[];
  close(): Promise<void>;
}

export async function openVisit(browser: Browser, origin: string, view: View): Promise<Visit> {
  const context = await browser.newContext({
    viewport: { width: view.width, height: view.height },
    colorScheme: view.scheme ?? 'light',
    reducedMotion: 'reduce',
    bypassCSP: false,
  });
  const page = await context.newPage();
  page.setDefaultTimeout(8_000);
  const foreign: string[] = [];
  const complaints: string[] = [];
  page.on('request', (request) => {
    const url = request.url();
    if (!url.startsWith(`${origin}/`) && !url.startsWith('data:')) foreign.push(url);
  });
  page.on('response', (response) => {
    if (response.status() >= 400) complaints.push(`${response.status()} ${response.url()}`);
  });
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(String(error)));
  return { page, foreign, complaints, close: () => context.close() };
}

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** The rules of axe-core that judge colours. Only these rules can find more after a change of the colour scheme. */
const COLOURS = ['color-contrast', 'link-in-text-block'];

/** One line for each finding of axe-core, with all rules or the named ones, also inside shadow roots. */
export async function violations(page: Page, rules: readonly string[] = []): Promise<string[]> {
  const runOnly = rules.length > 0 ? { runOnly: { type: 'rule', values: rules } } : {};
  if ((await page.evaluate('typeof axe')) === 'undefined') await page.evaluate(`${AXE};0`);
  const found = await page.evaluate(`
    axe.run(document, ${JSON.stringify({ resultTypes: ['violations'], ...runOnly })}).then(({ violations }) =>
      violations.flatMap(({ id, nodes }) => nodes.map(({ target, failureSummary }) =>
        id + ' ' + JSON.stringify(target) + ' ' + failureSummary)))`);
  if (!Array.isArray(found)) throw new Error('axe-core gave no list');
  return found.map(String);
}

/** The findings of `violations` in light and in dark. `shown` is called in each scheme. */
export async function violationsInSchemes(
  page: Page,
  shown?: (scheme: 'light' | 'dark') => Promise<unknown>,
): Promise<string[]> {
  const found: string[] = [];
  for (const scheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme: scheme });
    for (const one of await violations(page, scheme === 'light' ? [] : COLOURS)) found.push(`${scheme}: ${one}`);
    await shown?.(scheme);
  }
  return found;
}
