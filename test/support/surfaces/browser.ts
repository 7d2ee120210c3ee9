import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import chromium from '@sparticuz/chromium';
import { type Browser, type Page, chromium as playwright } from 'playwright-core';

/**
 * Switches of the package that would make the browser less strict than the one of a reader, or tie all pages to one
 * process.
 */
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

/** One page in a context of its own, with what it asked of others and what the browser had to say about it. */
export interface Visit {
  readonly page: Page;
  /** Addresses outside the gateway that were asked for. */
  readonly foreign: string[];
  /** Errors and warnings of the console, violations of the policy among them, and failed requests. */
  readonly complaints: string[];
  close(): Promise<void>;
}

export async function openVisit(browser: Browser, origin: string, view: View): Promise<Visit> {
  const context = await browser.newContext({
    viewport: { width: view.width, height: view.height },
    colorScheme: view.scheme ?? 'light',
    reducedMotion: 'reduce',
    // The policy of the pages holds in the tests as it does for readers.
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

/** What axe-core finds wrong, all its rules on, also inside shadow roots: one line each. */
export async function violations(page: Page): Promise<string[]> {
  const found = await page.evaluate(`${AXE};
    axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) =>
      violations.flatMap(({ id, nodes }) => nodes.map(({ target, failureSummary }) =>
        id + ' ' + JSON.stringify(target) + ' ' + failureSummary)))`);
  if (!Array.isArray(found)) throw new Error('axe-core gave no list');
  return found.map(String);
}
