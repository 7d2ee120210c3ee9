import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { metadataDocuments } from '../../../src/auth/oauth/metadata.ts';
import { FAILURE_CODES, statusOf, titleOf } from '../../../src/core/failures.ts';
import { changelogFeed } from '../../../src/surfaces/docs/changelog.ts';
import { clientsText } from '../../../src/surfaces/docs/clients.ts';
import { PAGE_CSP } from '../../../src/surfaces/docs/page.ts';
import { DESKTOP, openBrowser, PHONE, violations, violationsInSchemes } from '../../support/surfaces/browser.ts';
import { type Pages, servePages, textOf } from '../../support/surfaces/pages.ts';
import { raw } from '../../support/surfaces/wire.ts';

const TYPES: Readonly<Record<string, string>> = {
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  json: 'application/json',
  woff2: 'font/woff2',
};
const ASSETS = [
  ...['docs.css', 'theme.js', 'docs.js', 'search.js', 'try.js'],
  ...['search.json', 'text.woff2', 'mono.woff2'],
].map((one) => `/docs/assets/${one}`);
const READ = '/docs/reference/conversations_list';
const WRITE = '/docs/reference/visitor_note_add';
/** One page of each kind. */
const KINDS = [
  ...[
    '/docs',
    '/docs/clients',
    '/docs/errors',
    '/docs/scopes',
    '/docs/limits',
    '/docs/guides/overview',
    '/docs/reference',
    READ,
  ],
  WRITE,
];
const HTML = { headers: { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' } };

let pages: Pages;
let browser: Browser;
let get: Pages['get'];

beforeAll(async () => {
  pages = await servePages();
  get = pages.get;
  browser = await openBrowser();
});
afterAll(async () => {
  await browser.close();
  await pages.close();
});

it('the changelog is a JSON Feed, with one item for each version', async () => {
  const answer = await get('/changelog.json');
  expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'application/feed+json']);
  const { version, feed_url: address, items } = JSON.parse(await answer.text());
  expect(version).toBe('https://jsonfeed.org/version/1.1');
  expect(new URL(address).pathname).toBe('/changelog.json');
  expect(items[0]).toMatchObject({ id: `${address}#0.1.0`, title: expect.stringMatching(/^0\.1\.0 - /) });
  expect(items[0].content_text).toContain('### Added');
  const page = await (await get('/docs')).text();
  expect(page).toContain(
    '<link rel="alternate" type="application/feed+json" title="Changelog" href="/changelog.json">',
  );
  const told = changelogFeed(
    '# Changes\n\n## 0.3.0 - unreleased\n\nnew\n\n## 0.2.0 - 2026-12-01\n\n- old\n',
    'https://g.test',
  );
  expect(told).toMatchObject({
    items: [
      { id: 'https://g.test/changelog.json#0.3.0', title: '0.3.0 - unreleased', content_text: 'new' },
      { title: '0.2.0 - 2026-12-01', content_text: '- old', date_published: '2026-12-01T00:00:00Z' },
    ],
  });
});

describe('documents', () => {
  it('every page and asset: type, policy, cache, entity tag, HEAD, no stored copy sent twice', async () => {
    expect(pages.paths.length).toBeGreaterThan(55);
    for (const path of [...pages.paths, ...ASSETS]) {
      const answer = await get(path);
      const bytes = Buffer.from(await answer.arrayBuffer());
      const of = (name: string): string | null => answer.headers.get(name);
      const asset = ASSETS.includes(path);
      expect(answer.status, path).toBe(200);
      expect(of('content-type'), path).toBe(asset ? TYPES[path.split('.')[1] ?? ''] : 'text/html; charset=utf-8');
      expect(of('cache-control'), path).toBe(`public, max-age=${asset ? 3600 : 300}`);
      expect(of('x-request-id'), path).toMatch(/^req_[a-f0-9]{32}$/);
      expect(of('x-content-type-options'), path).toBe('nosniff');
      expect(of('content-encoding'), path).toBe('gzip');
      expect(of('vary'), path).toBe('Accept-Encoding');
      if (!asset) expect(of('content-security-policy'), path).toBe(PAGE_CSP);
      const etag = of('etag') ?? '';
      const plain = await get(path, { headers: { 'accept-encoding': 'identity' } });
      expect(plain.headers.get('content-encoding'), path).toBeNull();
      expect(bytes.equals(Buffer.from(await plain.arrayBuffer())), path).toBe(true);
      expect(plain.headers.get('etag'), path).not.toBe(etag);
      const head = await get(path, { method: 'HEAD', headers: { 'accept-encoding': 'identity' } });
      expect([head.status, head.headers.get('content-length'), await head.text()], path).toEqual([
        200,
        String(bytes.byteLength),
        '',
      ]);
      const again = await get(path, { headers: { 'if-none-match': `"other", W/${etag}` } });
      expect([again.status, again.headers.get('etag'), await again.text()], path).toEqual([304, etag, '']);
    }
  });

  it('the policy allows no inline script or style, no evaluation and no other host', () => {
    expect(PAGE_CSP).toContain("default-src 'none'");
    expect(PAGE_CSP).not.toMatch(/unsafe|https?:|\*|sha256/);
  });

  it('pages hold no script, style or handler of their own text', async () => {
    for (const path of pages.paths) {
      const text = await (await get(path)).text();
      expect(text, path).not.toMatch(/<style|\sstyle=|\son\w+=|javascript:|<script(?![^>]* src="\/docs\/assets\/)/);
    }
  });

  it('the first paint of each kind of page takes less than 100 KB: page, styles and fonts, as sent', async () => {
    const sizeOf = async (path: string): Promise<number> =>
      Number((await get(path, { method: 'HEAD' })).headers.get('content-length'));
    const fixed = await Promise.all(
      ['docs.css', 'text.woff2', 'mono.woff2'].map((one) => sizeOf(`/docs/assets/${one}`)),
    );
    const sizes = await Promise.all(pages.paths.map(sizeOf));
    expect(Math.min(...fixed, ...sizes)).toBeGreaterThan(2_000);
    expect(Math.max(...sizes) + fixed.reduce((sum, one) => sum + one, 0)).toBeLessThan(100_000);
  });

  it('other methods, paths and requests are refused as elsewhere', async () => {
    for (const path of ['/docs', READ, ...ASSETS, '/problems/not_found', '/llms.txt']) {
      for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS']) {
        const answer = await get(path, { method });
        expect([answer.status, answer.headers.get('allow')], `${method} ${path}`).toEqual([405, 'GET, HEAD']);
      }
    }
    const unknown = ['/docs//', '/Docs', '/docs/x', '/docs/guides', '/docs/guides/none', '/docs/guides/%6fverview'];
    const assets = ['/docs/assets/', '/docs/assets/../errors.ts', '/docs/assets/..%2fdocs.ts', '/docs/assets/docs.ts'];
    for (const path of [...unknown, ...assets, '/docs/reference/toString', '/problems/nothing', '/problems/toString']) {
      const text = (await raw(pages.port, `GET ${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`)).text;
      expect(text, path).toMatch(/^HTTP\/1\.1 404 /);
      expect(text, path).toContain('application/problem+json');
    }
    const bodied = await raw(pages.port, 'GET /docs HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi');
    expect(bodied.text).toMatch(/^HTTP\/1\.1 400 .*"code":"invalid_request"/s);
    const twice = await raw(
      pages.port,
      'GET /docs HTTP/1.1\r\nHost: a\r\nRange: a\r\nRange: b\r\nConnection: close\r\n\r\n',
    );
    expect(twice.text).toMatch(/^HTTP\/1\.1 400 .*"code":"duplicate_parameter"/s);
    expect((await get('/docs?utm=1')).status).toBe(200);
    for (const path of ['/docs', READ]) {
      const answer = await get(`${path}/`);
      expect([answer.status, answer.headers.get('location')]).toEqual([302, path]);
    }
  });

  it('a browser gets a page for an unknown address, and a program gets a problem', async () => {
    for (const path of ['/x', '/docs/x', '/docs/reference/none', '/problems/x', '/docs/<script>']) {
      const page = await get(path, HTML);
      expect([page.status, page.headers.get('content-type')], path).toEqual([404, 'text/html; charset=utf-8']);
      expect(page.headers.get('content-security-policy'), path).toBe(PAGE_CSP);
      expect(page.headers.get('cache-control'), path).toBe('no-store');
      const text = await page.text();
      expect(text).toContain('This page does not exist');
      expect(text).not.toContain('docs/x');
      expect((await get(path, { method: 'HEAD', ...HTML })).headers.get('content-length')).toBe(
        String(Buffer.byteLength(text)),
      );
      for (const accept of ['*/*', 'application/json', 'application/json, text/html;q=0.9']) {
        const problem = await get(path, { headers: { accept } });
        expect([problem.status, problem.headers.get('content-type')]).toEqual([404, 'application/problem+json']);
      }
    }
    for (const path of ['/api/v1/none', '/api', '/mcp/x', '/oauth/x', '/.well-known/x', '/metrics']) {
      const problem = await get(path, HTML);
      expect([problem.status, problem.headers.get('content-type')], path).toEqual([404, 'application/problem+json']);
    }
    expect((await get('/x', { method: 'POST', ...HTML })).headers.get('content-type')).toBe('application/problem+json');
  });

  it('the page of the clients is docs/clients.md with the address of this gateway', async () => {
    const text = clientsText('https://gateway.example');
    expect(text).toContain('claude mcp add --transport http installation-gateway https://gateway.example/mcp');
    expect(text).toContain('codex mcp add installation-gateway --url https://gateway.example/mcp');
    expect(text).not.toContain('127.0.0.1');
    const page = textOf(await (await get('/docs/clients')).text());
    for (const [, title = ''] of text.matchAll(/^#+ (.+)$/gm)) expect(page).toContain(title);
    // Each client has at most three steps.
    const clients = text.split(/^## /m).filter((section) => /^(Claude|ChatGPT|Codex|VS Code|Cursor)/.test(section));
    expect(clients.map((section) => section.match(/^\d\. /gm)?.length)).toEqual(clients.map(() => 3));
    expect(clients).toHaveLength(6);
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
  const textsOf = async (): Promise<Map<string, string>> =>
    new Map(await Promise.all(pages.paths.map(async (path) => [path, await (await get(path)).text()] as const)));

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

  it('every link and anchor of every page and of the search resolves, within the gateway', async () => {
    const texts = await textsOf();
    const metadata = metadataDocuments('http://127.0.0.1:8420', { skillScopes: [], byUrl: true });
    const found: { url: string }[] = await (await get('/docs/assets/search.json')).json();
    texts.set('/search', found.map(({ url }) => `<a href="${url}">`).join(''));
    const statuses = new Map<string, number>();
    let seen = 0;
    for (const [path, text] of texts) {
      expect(idsOf(text).size, `${path}: an id twice`).toBe([...text.matchAll(/\sid="/g)].length);
      for (const [, href = ''] of text.matchAll(/<(?:a|link|script)[^>]*? (?:href|src|data-index)="([^"]+)"/g)) {
        if (href.startsWith('data:')) continue;
        seen += 1;
        const { origin: host, pathname, hash } = new URL(href.replaceAll('&amp;', '&'), pages.origin + path);
        expect(host, `${path}: ${href}`).toBe(pages.origin);
        if (hash) expect(idsOf(texts.get(pathname) ?? ''), `${path}: ${href}`).toContain(hash.slice(1));
        // The metadata of the authorization server is JSON and not a page, so check only that its address is in the
        // list.
        else if (pathname.startsWith('/.well-known/')) expect(metadata.has(pathname), href).toBe(true);
        else {
          if (!statuses.has(pathname)) statuses.set(pathname, (await get(pathname, { method: 'HEAD' })).status);
          expect(statuses.get(pathname), `${path}: ${href}`).toBe(200);
        }
      }
    }
    expect(found.length).toBeGreaterThan(150);
    expect(seen).toBeGreaterThan(5_000);
  });

  it('guides link the guides, tools and codes that they name', async () => {
    const text = await (await get('/docs/guides/investigation')).text();
    expect(text).toContain('<a href="/docs/guides/overview"><code>overview</code></a>');
    expect(text).toContain('<a href="/docs/reference/conversations_list"><code>conversations_list</code></a>');
    expect(text).toMatch(/<a href="\/docs\/errors#\w+"><code>/);
  });
});

const OVERFLOW = 'document.documentElement.scrollWidth - document.documentElement.clientWidth';

const focused = "[document.activeElement?.className ?? '', document.activeElement?.id ?? ''].join(' ')";

describe('in Chromium', () => {
  // axe-core takes a second a page, so it judges both colour schemes on the desktop, and a phone in one scheme.
  it.each([
    ['desktop', DESKTOP, violationsInSchemes],
    ['wide, light', { width: 1920, height: 1080, scheme: 'light' }, undefined],
    ['tablet, dark', { width: 768, height: 1024, scheme: 'dark' }, undefined],
    ['phone, light', { ...PHONE, scheme: 'light' }, violations],
  ] as const)('the kinds of pages at %s: axe-core, policy, requests, width', async (_name, view, judge) => {
    await pages.visit(browser, view, '/docs', async ({ page, foreign, complaints }) => {
      for (const path of KINDS) {
        await page.goto(pages.origin + path);
        expect(await judge?.(page), path).toEqual(judge && []);
        expect(await page.evaluate(OVERFLOW), `${path}: too wide`).toBe(0);
        expect(complaints, path).toEqual([]);
        expect(foreign, path).toEqual([]);
      }
    });
  });

  it('no page is wider than a small phone, complains or asks another host', async () => {
    await pages.visit(browser, PHONE, '/docs', async ({ page, foreign, complaints }) => {
      await page.setViewportSize({ width: 360, height: 740 });
      for (const path of pages.paths) {
        await page.goto(pages.origin + path);
        expect(await page.evaluate(OVERFLOW), `${path}: too wide at 360`).toBe(0);
        expect([complaints, foreign], path).toEqual([[], []]);
      }
    });
  });

  it('operations of other shapes: axe-core', async () => {
    const names = ['realtime_socket', 'subscription_delete', 'subscription_create', 'file_content'];
    for (const name of [...names, 'ai_conversation_summary']) {
      await pages.visit(browser, DESKTOP, `/docs/reference/${name}`, async ({ page }) => {
        expect(await violations(page), name).toEqual([]);
      });
    }
  });

  it('the browser enforces the policy, and these tests notice', async () => {
    const plant = `for (const [name, text] of [['script', 'window.ran = true'], ['style', 'body{display:none}']]) {
      const one = document.createElement(name); one.textContent = text; document.head.append(one);
    }
    new Image().src = 'http://127.0.0.2:9/x.png';
    [window.ran, getComputedStyle(document.body).display === 'none']`;
    for (const path of ['/docs', READ]) {
      await pages.visit(browser, DESKTOP, path, async ({ page, foreign, complaints }) => {
        expect(await page.evaluate(plant), path).toEqual([undefined, false]);
        await expect.poll(() => complaints.filter((one) => one.includes('Content Security Policy')).length).toBe(3);
        expect(foreign, path).toEqual(['http://127.0.0.2:9/x.png']);
      });
    }
  });

  it('the page of an unknown address: axe-core and width', async () => {
    for (const view of [DESKTOP, PHONE]) {
      await pages.visit(browser, view, '/docs/none', async ({ page }) => {
        expect(await page.locator('h1').innerText()).toBe('This page does not exist');
        expect(await violations(page)).toEqual([]);
        expect(await page.evaluate(OVERFLOW)).toBe(0);
      });
    }
  });

  it('a keyboard meets the skip link first, and it leads to the content', async () => {
    await pages.visit(browser, DESKTOP, '/docs', async ({ page }) => {
      for (const path of KINDS) {
        await page.goto(pages.origin + path);
        await page.keyboard.press('Tab');
        expect(`${path} ${await page.evaluate(focused)}`).toBe(`${path} skip `);
        expect(await page.locator('.skip').boundingBox(), path).toMatchObject({
          y: expect.toSatisfy((y: number) => y >= 0),
        });
        await page.keyboard.press('Enter');
        expect(await page.evaluate<string>(focused), path).toContain('content');
      }
    });
  });
});
