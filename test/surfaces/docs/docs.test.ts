import pino from 'pino';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { metadataDocuments } from '../../../src/auth/oauth/metadata.ts';
import { FAILURE_CODES, statusOf, titleOf } from '../../../src/core/failures.ts';
import { GUIDE_NAMES } from '../../../src/core/guides.ts';
import { readGuides } from '../../../src/gateway/guides.ts';
import { loadSkills, loadTools } from '../../../src/gateway/load.ts';
import type { Registry } from '../../../src/gateway/registry.ts';
import { docsPages } from '../../../src/surfaces/docs/docs.ts';
import { PAGE_CSP } from '../../../src/surfaces/docs/page.ts';
import { addressOf, REFERENCE_CSP } from '../../../src/surfaces/docs/reference.ts';
import { publicApp } from '../../../src/surfaces/http/app.ts';
import { type RunningServer, startServer } from '../../../src/surfaces/http/server.ts';
import { openapi } from '../../../src/surfaces/openapi/openapi.ts';
import { DESKTOP, openBrowser, openVisit, PHONE, type Visit, violations } from '../../support/surfaces/browser.ts';
import { raw } from '../../support/surfaces/wire.ts';

const BASE_URL = 'http://127.0.0.1:8787';
const PAGES = ['/docs', '/docs/errors', ...GUIDE_NAMES.map((name) => `/docs/guides/${name}`), '/docs/reference'];
const ASSETS = ['docs.css', 'reference.css', 'reference.js', 'openapi-explorer.js'].map((one) => `/docs/assets/${one}`);

let registry: Registry;
let server: RunningServer;
let browser: Browser;
let origin: string;

beforeAll(async () => {
  registry = await loadTools();
  server = await startServer({
    host: '127.0.0.1',
    baseUrl: BASE_URL,
    port: 0,
    tls: undefined,
    log: pino({ level: 'silent' }),
    handlers: [],
    otherwise: publicApp({
      baseUrl: BASE_URL,
      openapi: openapi(registry, BASE_URL),
      llms: { index: '# index', full: '# full' },
      docs: docsPages({
        baseUrl: BASE_URL,
        registry,
        skills: await loadSkills(registry),
        guides: readGuides(),
        version: '1.2.3',
      }),
      ready: async () => true,
    }),
  });
  origin = `http://127.0.0.1:${server.port}`;
  browser = await openBrowser();
});
afterAll(async () => {
  await browser.close();
  await server.close();
});

const METADATA = metadataDocuments(BASE_URL, []);
const get = (path: string, init: RequestInit = {}): Promise<Response> =>
  fetch(origin + path, { redirect: 'manual', ...init });

async function visit<T>(
  view: Parameters<typeof openVisit>[2],
  path: string,
  act: (visit: Visit) => Promise<T>,
): Promise<T> {
  const one = await openVisit(browser, origin, view);
  try {
    await one.page.goto(origin + path);
    if (path.startsWith('/docs/reference')) await one.page.locator('gateway-reference h1:visible').first().waitFor();
    return await act(one);
  } finally {
    await one.close();
  }
}

describe('documents', () => {
  it('every page and asset: type, policy, cache, entity tag, HEAD, no stored copy sent twice', async () => {
    for (const path of [...PAGES, ...ASSETS]) {
      const answer = await get(path);
      const text = await answer.text();
      const of = (name: string): string | null => answer.headers.get(name);
      const page = PAGES.includes(path);
      expect(answer.status, path).toBe(200);
      expect(of('content-type'), path).toMatch(
        page ? /^text\/html; charset=utf-8$/ : /^text\/(css|javascript); charset=utf-8$/,
      );
      expect(of('cache-control'), path).toBe(`public, max-age=${page ? 300 : 3600}`);
      expect(of('x-request-id'), path).toMatch(/^req_[a-f0-9]{32}$/);
      expect(of('x-content-type-options'), path).toBe('nosniff');
      expect(of('content-encoding'), path).toBe('gzip');
      expect(of('vary'), path).toBe('Accept-Encoding');
      if (page) expect(of('content-security-policy'), path).toBe(path === '/docs/reference' ? REFERENCE_CSP : PAGE_CSP);
      const etag = of('etag') ?? '';
      const plain = await get(path, { headers: { 'accept-encoding': 'identity' } });
      expect(plain.headers.get('content-encoding'), path).toBeNull();
      expect(await plain.text(), path).toBe(text);
      expect(plain.headers.get('etag'), path).not.toBe(etag);
      const head = await get(path, { method: 'HEAD', headers: { 'accept-encoding': 'identity' } });
      expect([head.status, head.headers.get('content-length'), await head.text()], path).toEqual([
        200,
        String(Buffer.byteLength(text)),
        '',
      ]);
      const again = await get(path, { headers: { 'if-none-match': `"other", W/${etag}` } });
      expect([again.status, again.headers.get('etag'), await again.text()], path).toEqual([304, etag, '']);
    }
  });

  it('the policies allow no inline script and no evaluation, and name no other host', () => {
    for (const policy of [PAGE_CSP, REFERENCE_CSP]) {
      expect(policy).toContain("default-src 'none'");
      expect(policy).not.toMatch(/unsafe-eval|script-src[^;]*unsafe-inline|https?:|\*/);
    }
    expect(PAGE_CSP).not.toContain('unsafe');
  });

  it('pages hold no script, style or handler of their own text', async () => {
    for (const path of PAGES) {
      const text = await (await get(path)).text();
      expect(text, path).not.toMatch(/<style|\sstyle=|\son\w+=|javascript:|<script(?![^>]* src="\/docs\/assets\/)/);
    }
  });

  it('other methods, paths and requests are refused as elsewhere', async () => {
    for (const path of [...PAGES, ...ASSETS, '/problems/not_found', '/llms.txt']) {
      for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS']) {
        const answer = await get(path, { method });
        expect([answer.status, answer.headers.get('allow')], `${method} ${path}`).toEqual([405, 'GET, HEAD']);
      }
    }
    const unknown = ['/docs/', '/Docs', '/docs/x', '/docs/guides', '/docs/guides/none', '/docs/guides/%6fverview'];
    const assets = ['/docs/assets/', '/docs/assets/../errors.ts', '/docs/assets/..%2fdocs.ts', '/docs/assets/docs.ts'];
    for (const path of [...unknown, ...assets, '/problems/', '/problems/nothing', '/problems/toString']) {
      const text = (await raw(server.port, `GET ${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`)).text;
      expect(text, path).toMatch(/^HTTP\/1\.1 404 /);
      expect(text, path).toContain('application/problem+json');
    }
    const bodied = await raw(server.port, 'GET /docs HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi');
    expect(bodied.text).toMatch(/^HTTP\/1\.1 400 .*"code":"invalid_request"/s);
    const twice = await raw(
      server.port,
      'GET /docs HTTP/1.1\r\nHost: a\r\nRange: a\r\nRange: b\r\nConnection: close\r\n\r\n',
    );
    expect(twice.text).toMatch(/^HTTP\/1\.1 400 .*"code":"duplicate_parameter"/s);
    expect((await get('/docs?utm=1')).status).toBe(200);
  });

  it('the texts for models are plain text', async () => {
    for (const [path, text] of [
      ['/llms.txt', '# index'],
      ['/llms-full.txt', '# full'],
    ] as const) {
      const answer = await get(path);
      expect(answer.headers.get('content-type')).toBe('text/plain; charset=utf-8');
      expect(answer.headers.get('cache-control')).toBe('public, max-age=300');
      expect(await answer.text()).toBe(text);
    }
  });
});

describe('links', () => {
  const idsOf = (text: string): Set<string> => new Set([...text.matchAll(/\sid="([^"]+)"/g)].map(([, id = '']) => id));

  it('the type of every problem document leads to the entry of its code', async () => {
    const page = await (await get('/docs/errors')).text();
    expect(FAILURE_CODES.length).toBeGreaterThan(40);
    for (const code of FAILURE_CODES) {
      const answer = await get(`/problems/${code}`);
      expect([answer.status, answer.headers.get('location')], code).toEqual([302, `/docs/errors#${code}`]);
      const row = new RegExp(`<tr id="${code}">.*?</tr>`, 's').exec(page)?.[0] ?? '';
      expect(row, code).toContain(`>${statusOf(code)}<`);
      expect(row, code).toContain(titleOf(code));
    }
  });

  it('every link and anchor of every page resolves, within the gateway', async () => {
    const texts = new Map(
      await Promise.all(PAGES.map(async (path) => [path, await (await get(path)).text()] as const)),
    );
    const routes = new Set(registry.operations.map((tool) => addressOf(tool)));
    let seen = 0;
    for (const [path, text] of texts) {
      expect(idsOf(text).size, `${path}: an id twice`).toBe([...text.matchAll(/\sid="/g)].length);
      for (const [, href = ''] of text.matchAll(/<(?:a|link)[^>]*? href="([^"]+)"/g)) {
        if (href.startsWith('data:')) continue;
        seen += 1;
        const { origin: host, pathname, hash } = new URL(href.replaceAll('&amp;', '&'), origin + path);
        expect(host, `${path}: ${href}`).toBe(origin);
        if (hash.startsWith('#?route=')) expect(routes, `${path}: ${href}`).toContain(pathname + hash);
        else if (hash) expect(idsOf(texts.get(pathname) ?? ''), `${path}: ${href}`).toContain(hash.slice(1));
        // The metadata of the authorization server is JSON and not a page, so check only that its address is in the
        // list.
        else if (pathname.startsWith('/.well-known/')) expect(METADATA.has(pathname), href).toBe(true);
        else expect((await get(pathname)).status, `${path}: ${href}`).toBe(200);
      }
    }
    expect(seen).toBeGreaterThan(300);
  });

  it('guides link the guides, tools and codes that they name', async () => {
    const text = await (await get('/docs/guides/investigation')).text();
    expect(text).toContain('<a href="/docs/guides/overview"><code>overview</code></a>');
    expect(text).toContain(
      '<a href="/docs/reference#?route=get-/api/v1/conversations"><code>conversations_list</code></a>',
    );
    expect(text).toMatch(/<a href="\/docs\/errors#\w+"><code>/);
  });
});

const OVERFLOW = 'document.documentElement.scrollWidth - document.documentElement.clientWidth';
const ADDRESS = '/docs/reference#?route=get-/api/v1/conversations';

const focused = `(() => {
  let at = document.activeElement;
  while (at?.shadowRoot?.activeElement) at = at.shadowRoot.activeElement;
  return [at?.className ?? '', at?.id ?? ''];
})()`;

describe('in Chromium', () => {
  it.each([
    ['desktop, light', { ...DESKTOP, scheme: 'light' }],
    ['phone, dark', { ...PHONE, scheme: 'dark' }],
  ] as const)('every page at %s: axe-core, policy, requests, width', async (_name, view) => {
    for (const path of [...PAGES, ADDRESS]) {
      await visit(view, path, async ({ page, foreign, complaints }) => {
        expect(await violations(page), path).toEqual([]);
        expect(await page.evaluate(OVERFLOW), `${path}: too wide`).toBe(0);
        if (view.width === PHONE.width) await page.setViewportSize({ width: 360, height: 740 });
        expect(await page.evaluate(OVERFLOW), `${path}: too wide at 360`).toBe(0);
        expect(complaints, path).toEqual([]);
        expect(foreign, path).toEqual([]);
      });
    }
  });

  it.each([
    ['desktop, dark', { ...DESKTOP, scheme: 'dark' }],
    ['phone, light', { ...PHONE, scheme: 'light' }],
  ] as const)('the kinds of pages at %s', async (_name, view) => {
    for (const path of ['/docs', '/docs/errors', '/docs/guides/overview', '/docs/reference', ADDRESS]) {
      await visit(view, path, async ({ page, complaints }) => {
        expect(await violations(page), path).toEqual([]);
        expect(await page.evaluate(OVERFLOW), path).toBe(0);
        expect(complaints, path).toEqual([]);
      });
    }
  });

  it('the browser enforces the policies, and these tests notice', async () => {
    const plant = `for (const [name, text] of [['script', 'window.ran = true'], ['style', 'body{display:none}']]) {
      const one = document.createElement(name); one.textContent = text; document.head.append(one);
    }
    new Image().src = 'http://127.0.0.2:9/x.png';
    [window.ran, getComputedStyle(document.body).display === 'none']`;
    for (const path of ['/docs', '/docs/reference']) {
      await visit(DESKTOP, path, async ({ page, foreign, complaints }) => {
        expect(await page.evaluate(plant), path).toEqual([undefined, false]);
        await expect.poll(() => complaints.filter((one) => one.includes('Content Security Policy')).length).toBe(3);
        expect(foreign, path).toEqual(['http://127.0.0.2:9/x.png']);
      });
    }
  });

  it('the reference shows every operation of the registry, in its list and on its page', async () => {
    await visit(DESKTOP, '/docs/reference', async ({ page, complaints }) => {
      for (const tool of registry.operations) {
        const [, fragment = ''] = addressOf(tool).split('#');
        const listed = page.locator(`[id="link-${fragment.replace('?route=', '')}"]`);
        expect((await listed.innerText()).trim(), tool.name).toBe(tool.title);
        await page.evaluate(`location.hash = ${JSON.stringify(fragment)}`);
        const shown = page.locator('[part="label-operation-path"]', {
          hasText: new RegExp(`^${tool.path.replace(/[{}]/g, '\\$&')}$`),
        });
        await shown.waitFor({ timeout: 5_000 });
        expect(await page.locator('gateway-reference .operations-root h2').innerText(), tool.name).toContain(
          tool.title,
        );
      }
      expect([complaints, registry.tools.length > 30]).toEqual([[], true]);
    });
  });

  it('the reference on a phone says what a parameter means; going back shows the overview', async () => {
    await visit(PHONE, '/docs/reference', async ({ page }) => {
      await page.locator('.operations a', { hasText: /^List conversations$/ }).click();
      await page.getByText('Only conversations with this contact.').waitFor();
      expect(await page.getByText('Only conversations with this contact.').isVisible()).toBe(true);
      await page.goBack();
      await page.locator('gateway-reference h1:visible', { hasText: 'Reference' }).waitFor();
    });
  });

  it('the reference without scripts is an index of all operations', async () => {
    const context = await browser.newContext({ javaScriptEnabled: false });
    const page = await context.newPage();
    await page.goto(`${origin}/docs/reference`);
    expect(await page.locator('main .operations a').count()).toBe(registry.operations.length);
    expect(await page.locator('main .operations a').last().isVisible()).toBe(true);
    await context.close();
  });

  it('a keyboard meets the skip link first, and it leads to the content', async () => {
    for (const path of ['/docs', '/docs/errors', '/docs/guides/contacts', '/docs/reference', ADDRESS]) {
      await visit(DESKTOP, path, async ({ page }) => {
        await page.keyboard.press('Tab');
        expect((await page.evaluate<string[]>(focused))[0], path).toBe('skip');
        expect(await page.locator('.skip').boundingBox(), path).toMatchObject({
          y: expect.toSatisfy((y: number) => y >= 0),
        });
        const url = page.url();
        await page.keyboard.press('Enter');
        const reference = path.startsWith('/docs/reference');
        expect((await page.evaluate<string[]>(focused)).join(' '), path).toContain(
          reference ? 'main-content' : 'content',
        );
        if (reference) expect(page.url(), path).toBe(url);
      });
    }
  });

  it('a keyboard opens an operation from the list of the reference', async () => {
    await visit(DESKTOP, '/docs/reference', async ({ page }) => {
      const reached = async (): Promise<boolean> =>
        (await page.evaluate<string[]>(focused))[1]?.startsWith('link-get-') ?? false;
      for (let i = 0; i < 30 && !(await reached()); i++) await page.keyboard.press('Tab');
      await page.keyboard.press('Enter');
      await page.locator('gateway-reference .operations-root h2', { hasText: 'List AI features' }).waitFor();
    });
  });
});
