import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { join } from 'node:path';
import fc from 'fast-check';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { packageRoot } from '../../../src/config/package.ts';
import { GROUPS, SCOPE_TEXTS } from '../../../src/core/scope-texts.ts';
import {
  DATA_ACCESS,
  type DataAccess,
  INT,
  MSG,
  PII,
  SCOPES,
  type Scope,
  WRITE_SCOPES,
} from '../../../src/core/scopes.ts';
import { loadTools } from '../../../src/gateway/load.ts';
import { errorPage, organizationsPage, type SignInView, signInPage } from '../../../src/surfaces/http/pages/views.ts';
import { type ConsentView, consentPage } from '../../../src/surfaces/oauth/pages/consent.ts';
import {
  DESKTOP,
  openBrowser,
  openVisit,
  PHONE,
  type Visit,
  violationsInSchemes,
} from '../../support/surfaces/browser.ts';

const HOSTILE =
  '\u202emoc.live\u202c<script>document.title="owned"</script>"\'><img src=x onerror=alert(1)>\u0000\u2066';
const REQUEST_ID = `req_${'0a'.repeat(16)}`;

const site = (n: number, name = `Shop ${n}`): ConsentView['websites'][number] => ({
  id: `web_1_${n}`,
  name,
  timeZone: n % 2 ? 'Europe/Berlin' : 'America/Argentina/Buenos_Aires',
});

const signIn: SignInView = {
  action: '/oauth/sign-in?client_id=crd_1&state=a%20b',
  organization: 'Northwind Outfitters',
  app: 'Helpdesk Insights',
  redirectHost: 'insights.app.example',
  email: '',
};
const consent: ConsentView = {
  action: '/oauth/consent?client_id=crd_1&state=a%20b',
  signOut: '/oauth/sign-out?client_id=crd_1',
  csrf: 'the-token',
  organization: 'Northwind Outfitters',
  app: 'Helpdesk Insights',
  environment: 'live',
  redirectHost: 'insights.app.example',
  person: 'maria.lindqvist@northwind.example',
  resource: 'mcp',
  hours: 8,
  minutes: 15,
  scopes: ['website_read', 'conversation_read', 'contact_read_pii', 'message_content_read', 'conversation_update'],
  dataAccess: DATA_ACCESS,
  restricted: false,
  websites: [site(1, 'northwind.example'), site(2, 'northwind.example/outlet'), site(3, 'Lager & Söhne')],
};
const largest: ConsentView = {
  ...consent,
  environment: 'test',
  scopes: SCOPES,
  dataAccess: ['message_content'],
  restricted: true,
  websites: Array.from({ length: 50 }, (_, i) =>
    site(i + 1, i % 7 ? `shop-${i + 1}.northwind.example` : `Northwind ${i}`),
  ),
};

/**
 * The pages that the test's own server shows, by path. The server sends the Content-Security-Policy that CP-02
 * requires.
 */
const PAGES: Readonly<Record<string, string>> = {
  '/sign-in': signInPage(signIn),
  '/sign-in-again': signInPage({
    ...signIn,
    email: 'maria.lindqvist@northwind.example',
    problem: 'E-mail and password do not belong together, or this person may not decide.',
    identity: { action: '/oauth/identity?client_id=crd_1', name: 'Northwind Single Sign-On' },
  }),
  '/consent': consentPage(consent),
  '/consent-largest': consentPage(largest),
  '/consent-again': consentPage({
    ...consent,
    problem: 'Nothing was approved: no website was ticked.',
    chosen: { scopes: ['conversation_read', 'website_read'], websites: [], renewal: true },
  }),
  '/consent-hostile': consentPage({
    ...consent,
    app: HOSTILE,
    organization: HOSTILE,
    person: HOSTILE,
    websites: [
      site(1, HOSTILE),
      site(2, 'x'.repeat(10_000)),
      site(3, `Z${'\u0301'.repeat(10_000)}`),
      site(4, '\u3164\u200b'),
    ],
    problem: HOSTILE,
  }),
  '/organizations': organizationsPage({
    action: '/oauth/sign-in?client_id=crd_1',
    signOut: '/oauth/sign-out?client_id=crd_1',
    client: { host: 'claude.ai', name: HOSTILE },
    organizations: [HOSTILE, 'Northwind Outfitters', 'x'.repeat(10_000)].map((name, n) => ({
      id: `org_${'0a'.repeat(16)}`,
      name,
      token: `t${n}`,
    })),
  }),
  '/error': errorPage({
    title: 'This request cannot be answered',
    sentence: 'The app is not known here, or it asked to be answered at an address that is not registered for it.',
    requestId: REQUEST_ID,
  }),
};
const CSP =
  "default-src 'none'; style-src 'self'; form-action 'self' https://insights.app.example; frame-ancestors 'none'; base-uri 'none'";

let server: Server;
let browser: Browser;
let origin: string;
/** The submitted forms, each as `path?query body`. */
const posted: string[] = [];

beforeAll(async () => {
  const css = readFileSync(new URL('src/surfaces/oauth/oauth.css', packageRoot));
  server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '', 'http://gateway');
    const page = PAGES[pathname];
    response.setHeader('Content-Security-Policy', CSP);
    if (request.method === 'POST') {
      let body = '';
      request.on('data', (part: Buffer) => (body += part.toString()));
      request.on('end', () => {
        posted.push(`${request.url} ${body}`);
        response.setHeader('Content-Type', 'text/html').end('<!doctype html><title>Done</title>');
      });
    } else if (pathname === '/oauth/oauth.css') response.setHeader('Content-Type', 'text/css').end(css);
    else if (page !== undefined) response.setHeader('Content-Type', 'text/html; charset=utf-8').end(page);
    else response.writeHead(404).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  origin = `http://127.0.0.1:${typeof address === 'object' && address ? address.port : 0}`;
  browser = await openBrowser();
});
afterAll(async () => {
  await browser.close();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

async function visit<T>(
  view: Parameters<typeof openVisit>[2],
  path: string,
  act: (visit: Visit) => Promise<T>,
): Promise<T> {
  const one = await openVisit(browser, origin, view);
  try {
    await one.page.goto(origin + path);
    return await act(one);
  } finally {
    await one.close();
  }
}

/** Matches a tag of a page. In a page, each `<` must be the start of such a tag. */
const TAG = /<(?:!doctype html|\/?[a-z][a-z0-9]*(?:\s+[a-z-]+(?:="[^"<>]*")?)*)>/g;
const skeleton = (page: string): string[] => (page.match(TAG) ?? []).map((tag) => tag.replaceAll(/="[^"]*"/g, ''));

const UNWANTED = /(?!\n)[\p{Cc}\u061c\u200b\u200e\u200f\u202a-\u202e\u2066-\u2069\p{Cs}]/u;

/** The pages, with `text` in every place that shows a text. The texts may not change the structure of a page. */
const pagesWith = (text: (member: string) => string): string[] => [
  signInPage({
    action: text('action'),
    organization: text('organization'),
    app: text('app'),
    redirectHost: text('host'),
    email: text('email'),
    problem: text('problem'),
    identity: { action: text('identity action'), name: text('identity name') },
  }),
  consentPage({
    ...largest,
    action: text('action'),
    signOut: text('sign out'),
    csrf: text('csrf'),
    organization: text('organization'),
    app: text('app'),
    redirectHost: text('host'),
    person: text('person'),
    problem: text('problem'),
    websites: [{ id: text('website'), name: text('website name'), timeZone: text('time zone') }],
  }),
  organizationsPage({
    action: text('action'),
    signOut: text('sign out'),
    client: { host: text('host'), name: text('name') },
    organizations: [{ id: text('organization id'), name: text('organization'), token: text('token') }],
  }),
  errorPage({ title: text('title'), sentence: text('sentence'), requestId: text('request') }),
];
const withoutActions = (page: string): string =>
  page
    .replaceAll(/ (?:(?:form)?action|href|value|id|for|aria-[a-z]+)="[^"]*"/g, '')
    .replaceAll(/<code>.*?<\/code>/gs, '');

describe('what the pages say', () => {
  it('every scope stands in one group and has a title and a sentence of its own', () => {
    expect(GROUPS.flatMap(({ scopes }) => scopes).toSorted()).toEqual(SCOPES.toSorted());
    const texts = SCOPES.map((scope) => SCOPE_TEXTS[scope]);
    expect(new Set(texts.map(({ title }) => title)).size).toBe(SCOPES.length);
    expect(new Set(texts.map(({ sentence }) => sentence)).size).toBe(SCOPES.length);
    for (const { sentence } of texts) expect(sentence).toMatch(/^[A-Z].{15,200}\.$/);
    const page = consentPage({ ...consent, scopes: SCOPES });
    for (const { sentence } of texts) expect(page.split(sentence).length, sentence).toBe(2);
  });

  it('what a scope needs beside itself is what every operation asks for that asks for it', async () => {
    const { tools } = await loadTools();
    // Leave out tools that refuse tokens of a consent. The consent page need not show what these tools require.
    const open = tools.filter(({ consent }) => consent !== 'refused');
    const asked = open.flatMap((tool) => [
      { scopes: tool.required.scopes, dataAccess: tool.required.dataAccess },
      ...tool.when.map(({ scopes, dataAccess }) => ({
        scopes: [...tool.required.scopes, ...scopes],
        dataAccess: [...tool.required.dataAccess, ...dataAccess],
      })),
    ]);
    const common = <T>(lists: readonly (readonly T[])[]): T[] =>
      [...new Set(lists[0] ?? [])].filter((one) => lists.every((list) => list.includes(one)));
    // Each pair consists of scopes and data-access flags. Some members of a view are visible only with all scopes and
    // all flags of a pair.
    const pairs: readonly { scopes: readonly Scope[]; dataAccess: readonly DataAccess[] }[] = [PII, MSG, INT];
    let compared = 0;
    for (const scope of SCOPES) {
      const by = asked.filter(({ scopes }) => scopes.includes(scope));
      const pair = pairs.find(({ scopes }) => scopes.includes(scope));
      const scopes = common(by.map((one) => one.scopes)).filter((one) => one !== scope);
      const flags = new Set([...common(by.map((one) => one.dataAccess)), ...(pair?.dataAccess ?? [])]);
      expect(SCOPE_TEXTS[scope].together.toSorted(), scope).toEqual(scopes.toSorted());
      expect(SCOPE_TEXTS[scope].flags.toSorted(), scope).toEqual([...flags].toSorted());
      compared += by.length;
    }
    expect(compared).toBeGreaterThan(60);
  });

  it('in words: what shows personal data, message text or internal notes, what writes, what is refused or masked', () => {
    const marks = (page: string, scope: Scope): string[] => {
      const [, about = ''] = new RegExp(`id="about-${scope}">(.*?)<code>`, 's').exec(page) ?? [];
      return [...about.matchAll(/<li[^>]*>(.*?)<\/li>|<strong>(.*?)<\/strong>/g)].map(([, a, b]) => a ?? b ?? '');
    };
    const all = consentPage({ ...consent, scopes: SCOPES, dataAccess: DATA_ACCESS });
    const none = consentPage({ ...consent, scopes: SCOPES, dataAccess: [] });
    for (const scope of SCOPES) {
      const { acts, reveals, flags } = SCOPE_TEXTS[scope];
      expect(acts !== undefined, scope).toBe(WRITE_SCOPES.includes(scope));
      // A read scope with flags must say what the flags reveal. A write scope reveals nothing, even when it needs a
      // flag.
      expect(acts === undefined && flags.length > 0, scope).toBe(reveals.length > 0);
      expect(flags, scope).toEqual(expect.arrayContaining([...reveals]));
      const said = [
        ...(acts === 'writes' ? ['Writes'] : acts === 'runs' ? ['Runs, changes no data'] : []),
        ...reveals.map(
          (one) =>
            ({
              pii: 'Shows personal data',
              message_content: 'Shows message text',
              internal_notes: 'Shows internal notes',
            })[one],
        ),
      ];
      expect(marks(all, scope), scope).toEqual(said);
      const withheld = flags.length === 0 ? [] : [acts ? 'Refused:' : 'Masked:'];
      expect(marks(none, scope), scope).toEqual([...said, ...withheld]);
    }
    expect(marks(all, 'visitor_notes_read')).toEqual(['Shows internal notes', 'Shows personal data']);
    expect(marks(all, 'conversation_update')).toEqual(['Writes']);
  });

  it('shows only what was asked for, and says which of it opens nothing', () => {
    const page = consentPage({ ...consent, scopes: ['file_read', 'conversation_read'] });
    expect([...page.matchAll(/name="scope" value="(\w+)"/g)].map(([, scope]) => scope).toSorted()).toEqual([
      'conversation_read',
      'file_read',
    ]);
    expect(page).toContain(
      'Works only together with: Conversations, Names and addresses (not asked for), Messages (not asked for).',
    );
    expect(page).not.toContain('Changes and actions');
  });

  it('who asks, for whom, where it leads, in which environment, over which interface, for how long', () => {
    const page = consentPage({ ...consent, hours: 7, minutes: 14 });
    for (const text of ['Helpdesk Insights', 'Northwind Outfitters', 'insights.app.example', consent.person, '>MCP '])
      expect(page).toContain(text);
    expect(page).toMatch(/<dt>Environment<\/dt><dd>Live<\/dd>/);
    expect(consentPage({ ...consent, environment: 'test' })).toMatch(/<dt>Environment<\/dt><dd><strong>Test<\/strong>/);
    expect(page).toContain('for up to 7 hours');
    expect(page).toContain('after 14 minutes');
    expect(page).not.toMatch(/\b(?:8 hours|15 minutes)/);
    expect(page).toContain('<code>gateway consent revoke</code>');
    expect(page).toContain('You, and every owner or admin, can end the access in the console under Consents.');
    expect(page).toContain('If you did not come from there, close this page.');
    expect(page).not.toContain('limited to some channels');
    expect(consentPage({ ...consent, restricted: true })).toContain('limited to some channels');
  });

  it('CP-03: nothing is ticked at first; what was ticked stays so, and nothing that was not offered', () => {
    for (const view of [consent, largest]) expect(consentPage(view)).not.toMatch(/\schecked/);
    const again = consentPage({
      ...consent,
      problem: 'Again.',
      chosen: { scopes: ['conversation_read', 'ai_execute'], websites: ['web_1_3', 'web_9_9'], renewal: true },
    });
    const ticked = [...again.matchAll(/name="(\w+)" value="(\w+)"[^>]* checked>/g)].map(([, name, value]) => [
      name,
      value,
    ]);
    expect(ticked).toEqual([
      ['scope', 'conversation_read'],
      ['website_id', 'web_1_3'],
      ['renewal', 'yes'],
    ]);
    expect(again).not.toMatch(/ai_execute|web_9_9|Nothing was ticked/);
  });

  it('a problem leads to what has to be mended', () => {
    const links = (chosen: ConsentView['chosen']): string[] => {
      const page = consentPage({ ...consent, problem: 'A problem.', ...(chosen && { chosen }) });
      const [, alert = ''] = /role="alert">(.*?)<\/div>/s.exec(page) ?? [];
      expect(page.indexOf('role="alert"')).toBeLessThan(page.indexOf('<dl'));
      return [...alert.matchAll(/href="#([^"]+)"/g)].map(([, id = '']) => {
        expect(page).toContain(` id="${id}"`);
        return id;
      });
    };
    expect(links({ scopes: [], websites: [], renewal: false })).toEqual(['permissions', 'websites']);
    expect(links({ scopes: [], websites: ['web_1_1'], renewal: false })).toEqual(['permissions']);
    expect(links({ scopes: ['website_read'], websites: [], renewal: false })).toEqual(['websites']);
    expect(links(undefined)).toEqual(['permissions']);
  });

  it('the colours are those of the developer pages', () => {
    const css = (path: string): string => readFileSync(new URL(`src/surfaces/${path}`, packageRoot), 'utf8');
    const shared = /--(?:page|surface|line|text|muted|accent|note)[a-z-]*: /.source;
    const docs = [...css('docs/base.css').matchAll(new RegExp(`(${shared})light-dark\\((#\\w+), (#\\w+)\\)`, 'g'))];
    const own = [...css('oauth/oauth.css').matchAll(new RegExp(`${shared}#\\w+`, 'g'))].map(([line]) => line);
    expect(docs.length).toBe(9);
    expect(own).toEqual([
      ...docs.map(([, name, light]) => `${name}${light}`),
      ...docs.map(([, name, , dark]) => `${name}${dark}`),
    ]);
  });

  it('no script, no style of its own, no handler, nothing from elsewhere', () => {
    expect(readFileSync(new URL('src/surfaces/oauth/oauth.css', packageRoot), 'utf8')).not.toMatch(
      /url\(|@import|https?:/,
    );
    for (const [path, page] of Object.entries(PAGES)) {
      expect(page, path).not.toMatch(
        /<script|<style|\sstyle="|<[^>]*\son\w+=|javascript:|<(?:img|svg|iframe|object|base)\b/,
      );
      expect(
        [...page.matchAll(/<link [^>]*href="([^"]*)"/g)].map(([, href]) => href),
        path,
      ).toEqual(['/oauth/oauth.css']);
    }
  });
});

describe('CP-05: names', () => {
  const piece = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 20 }),
    fc.constantFrom(
      '<script>',
      '"',
      "'",
      '>',
      '<',
      '&',
      '<!--',
      ']]>',
      '</form>',
      '\u202e',
      '\u2066',
      '\u200f',
      '\0',
      '\ud800',
      '\u0301'.repeat(50),
    ),
  );
  const text = fc.array(piece, { maxLength: 8 }).map((pieces) => pieces.join(''));

  it('whatever they are, the tags of the pages stay the same', () => {
    const expected = pagesWith(() => 'x').map(skeleton);
    expect(expected.every((tags) => tags.length > 15)).toBe(true);
    fc.assert(
      fc.property(text, (hostile) => {
        pagesWith(() => hostile).forEach((page, i) => {
          expect(skeleton(page)).toEqual(expected[i]);
          expect(page.split('<').length - 1).toBe(expected[i]?.length);
          expect(page.split('>').length - 1).toBe(expected[i]?.length);
        });
      }),
    );
  });

  it('nothing that turns or hides text comes through, and every name is isolated', () => {
    fc.assert(
      fc.property(text, (hostile) => {
        for (const page of pagesWith(() => hostile)) expect(withoutActions(page)).not.toMatch(UNWANTED);
      }),
    );
    const [sign = '', page = ''] = pagesWith((member) => `[${member}]`);
    for (const name of ['organization', 'app', 'host', 'identity name'])
      expect(sign.split(`[${name}]`).length, name).toBe(sign.split(new RegExp(`<bdi[^>]*>\\[${name}\\]</bdi>`)).length);
    for (const name of ['organization', 'app', 'host', 'person', 'website name', 'time zone']) {
      expect(page.split(`[${name}]`).length, name).toBe(page.split(new RegExp(`<bdi[^>]*>\\[${name}\\]</bdi>`)).length);
      expect(page, name).toContain(`[${name}]`);
    }
  });

  it('they are cut to 120 characters, keep the end of a host, and are never empty', () => {
    const shown = (name: string, host = 'a.example'): string[] =>
      [...consentPage({ ...consent, app: name, redirectHost: host }).matchAll(/<dd[^>]*><bdi[^>]*>(.*?)<\/bdi>/gs)].map(
        ([, inner = '']) => inner,
      );
    expect(shown('\u{1f980}'.repeat(10_000))[0]).toBe(`${'\u{1f980}'.repeat(119)}…`);
    expect(shown('x'.repeat(120))[0]).toBe('x'.repeat(120));
    expect(shown('x'.repeat(121))[0]).toBe(`${'x'.repeat(119)}…`);
    expect(shown(`Z${'\u0301'.repeat(10_000)}`)[0]).toBe(`Z${'\u0301'.repeat(4)}`);
    for (const empty of ['', ' \n\t', '\u200b\u202e', '\u3164\u2800', '\u200d\ufe0f', '\u0301']) {
      expect(shown(empty)[0], JSON.stringify(empty)).toBe('(no name)');
    }
    expect(shown('a\nb\u2028c\u00a0 d')[0]).toBe('a b c d');
    expect(shown('می\u200cخواهم \u{1f468}\u200d\u{1f469}')[0]).toBe('می\u200cخواهم \u{1f468}\u200d\u{1f469}');
    const host = `${'good.example.'.repeat(800)}evil.example`;
    expect(shown('x', host)[2]).toMatch(/^….{200,}\.evil\.example$/);
    expect(shown('x', `${'a'.repeat(60)}.example:8443`)[2]).toBe(`${'a'.repeat(60)}.example:8443`);
  });

  it('in Chromium they are text', async () => {
    await visit(DESKTOP, '/consent-hostile', async ({ page, complaints }) => {
      expect(await page.title()).toBe('Problem: Approve access · Installation Gateway');
      expect(await page.evaluate('[document.scripts.length, document.images.length]')).toEqual([0, 0]);
      expect(await page.locator('h1').innerText()).toContain('moc.live<script>document.title="owned"</script>');
      expect(await page.locator('.host').first().innerText()).toBe('insights.app.example');
      expect(await page.evaluate(OVERFLOW)).toBe(0);
      expect(complaints).toEqual([]);
    });
  });
});

const OVERFLOW = 'document.documentElement.scrollWidth - document.documentElement.clientWidth';
const VIEWS = [
  ['desktop', DESKTOP],
  ['phone', PHONE],
] as const;
/** The folder for screenshots of all pages. Undefined: the test takes no screenshots. */
const SHOTS = process.env['CONSENT_SHOTS'];

describe('CP-06: in Chromium', () => {
  const visits = VIEWS.flatMap(([name, view]) => Object.keys(PAGES).map((path) => [path, name, view] as const));

  it.each(visits)('%s on a %s: axe-core in both colour schemes, policy, requests, width', async (path, name, view) => {
    await visit(view, path, async ({ page, foreign, complaints }) => {
      const judge = async (what: string): Promise<void> => {
        const shoot = (scheme: string) =>
          SHOTS !== undefined &&
          page.screenshot({ path: join(SHOTS, `${path.slice(1)}-${name}-${scheme}-${what}.png`), fullPage: true });
        expect(await violationsInSchemes(page, async (scheme) => shoot(scheme)), what).toEqual([]);
      };
      await judge('as served');
      expect(await page.evaluate(OVERFLOW), 'too wide').toBe(0);
      if ((await page.locator('[type=checkbox]').count()) > 0) {
        await page.evaluate(`for (const box of document.querySelectorAll('[type=checkbox]')) box.checked = true`);
        await judge('ticked');
      }
      await page.setViewportSize({ width: 320, height: 700 });
      expect(await page.evaluate(OVERFLOW), 'too wide at 320').toBe(0);
      expect(complaints).toEqual([]);
      expect(foreign).toEqual([]);
    });
  });

  it('every control has a visible label and an id of its own', async () => {
    for (const [path, text] of Object.entries(PAGES)) {
      const ids = [...text.matchAll(/\sid="([^"]*)"/g)].map(([, id]) => id);
      expect(new Set(ids).size, path).toBe(ids.length);
      for (const [, refs = ''] of text.matchAll(/\s(?:for|aria-describedby|aria-labelledby)="([^"]*)"/g))
        for (const ref of refs.split(' ')) expect(ids, `${path}: ${ref}`).toContain(ref);
    }
    await visit(DESKTOP, '/consent-largest', async ({ page }) => {
      for (const scope of SCOPES) {
        const box = page.getByLabel(SCOPE_TEXTS[scope].title, { exact: true });
        expect([await box.getAttribute('name'), await box.getAttribute('value')], scope).toEqual(['scope', scope]);
        expect(await page.locator(`label[for="scope-${scope}"]`).isVisible(), scope).toBe(true);
      }
      expect(await page.locator('[name=website_id]').count()).toBe(50);
      for (const label of await page.locator('label').all()) expect(await label.isVisible()).toBe(true);
    });
  });

  it('the boxes that are ticked are counted without a script; a tap anywhere on a card ticks it', async () => {
    const context = await browser.newContext({ viewport: PHONE, javaScriptEnabled: false });
    const page = await context.newPage();
    await page.goto(`${origin}/consent-largest`);
    const tree = await context.newCDPSession(page);
    const counted = async (): Promise<string> => {
      const { nodes } = await tree.send('Accessibility.getFullAXTree');
      const first = nodes.find(
        ({ role, name }) => role?.value === 'StaticText' && name?.value === 'Permissions ticked: ',
      );
      const pieces = nodes.filter(({ role, parentId }) => role?.value === 'StaticText' && parentId === first?.parentId);
      return pieces.map(({ name }) => String(name?.value).trim()).join(' ');
    };
    expect(await counted()).toBe('Permissions ticked: 0 . Websites ticked: 0 .');
    for (const text of [SCOPE_TEXTS.contact_read_pii.sentence, SCOPE_TEXTS.event_read.sentence, 'web_1_50']) {
      const place = page.getByText(text, { exact: true });
      await place.scrollIntoViewIfNeeded();
      const { x = 0, y = 0, height = 0 } = (await place.boundingBox()) ?? {};
      await page.mouse.click(x + 2, y + height / 2);
    }
    expect(await counted()).toBe('Permissions ticked: 2 . Websites ticked: 1 .');
    for (const id of ['#scope-contact_read_pii', '#scope-event_read', '#website-web_1_50'])
      expect(await page.isChecked(id), id).toBe(true);
    await page.uncheck('#scope-event_read');
    expect(await counted()).toBe('Permissions ticked: 1 . Websites ticked: 1 .');
    await context.close();
  });
});

describe('the decision', () => {
  const WINDOWS = [PHONE, DESKTOP, { width: 320, height: 500 }];

  it.each(WINDOWS)('stays in sight at $width × $height, without a script', async (view) => {
    const context = await browser.newContext({ viewport: view, javaScriptEnabled: false });
    const page = await context.newPage();
    for (const part of ['', '#group-2', '#websites', '#website-web_1_50', '#decision']) {
      await page.goto(`${origin}/consent-largest${part}`);
      for (const name of ['Approve', 'Deny']) {
        const {
          x = -1,
          y = -1,
          width = 0,
          height = 0,
        } = (await page.getByRole('button', { name, exact: true }).boundingBox()) ?? {};
        expect([x >= 0, y >= 0, x + width <= view.width, y + height <= view.height], `${name} at ${part}`).toEqual(
          Array(4).fill(true),
        );
      }
      // The bar takes at most a quarter of the window.
      const { height = 0 } = (await page.locator('.decide').boundingBox()) ?? {};
      expect(height).toBeLessThan(view.height / 4);
    }
    await context.close();
  });

  it('never covers the control that has the focus', async () => {
    await visit(PHONE, '/consent-largest', async ({ page }) => {
      let looked = 0;
      for (let i = 0; i < 90; i++) {
        await page.keyboard.press('Tab');
        const hidden = await page.evaluate<string>(`(() => { const at = document.activeElement;
          if (at.closest('.decide') || at === document.body) return '';
          return at.getBoundingClientRect().bottom <= document.querySelector('.decide').getBoundingClientRect().top
            ? 'seen' : at.id || at.value; })()`);
        if (hidden === '') break;
        expect(hidden).toBe('seen');
        looked += 1;
      }
      expect(looked).toBeGreaterThan(70);
    });
  });

  it('is no bar on a low window', async () => {
    await visit({ width: 800, height: 320 }, '/consent-largest', async ({ page }) => {
      const approve = page.getByRole('button', { name: 'Approve', exact: true });
      expect(((await approve.boundingBox())?.y ?? 0) > 320).toBe(true);
    });
  });
});

describe('CP-06: keyboard only', () => {
  const active = (page: Page): Promise<string> =>
    page.evaluate<string>(`(() => { const at = document.activeElement;
      return at.id || at.value || at.textContent.trim() || at.tagName; })()`);

  it('reaches every control in the order of the page, ticks and approves', async () => {
    await visit(DESKTOP, '/consent', async ({ page }) => {
      const order: string[] = [];
      for (let i = 0; i < 20; i++) {
        await page.keyboard.press('Tab');
        const at = await active(page);
        if (at === 'BODY') break;
        order.push(at);
        expect(await page.evaluate(`getComputedStyle(document.activeElement).outlineStyle`), at).toBe('solid');
        if (['scope-conversation_read', 'website-web_1_2', 'renewal'].includes(at)) await page.keyboard.press('Space');
        if (at === 'approve') break;
      }
      expect(order).toEqual([
        'Sign out',
        ...['Permissions (5)', 'Websites (3)', 'For how long', 'Decision'],
        ...['website_read', 'conversation_read', 'contact_read_pii', 'message_content_read', 'conversation_update'].map(
          (scope) => `scope-${scope}`,
        ),
        'tick-websites',
        'website-web_1_1',
        'website-web_1_2',
        'website-web_1_3',
        'renewal',
        'approve',
      ]);
      posted.length = 0;
      await Promise.all([page.waitForURL('**/oauth/consent?*'), page.keyboard.press('Enter')]);
      expect(posted).toEqual([
        `${consent.action} csrf=the-token&scope=conversation_read&website_id=web_1_2&renewal=yes&decision=approve`,
      ]);
    });
  });

  it('Enter on a box decides nothing; deny works with nothing ticked', async () => {
    await visit(DESKTOP, '/consent', async ({ page }) => {
      posted.length = 0;
      for (const id of ['#scope-website_read', '#website-web_1_1', '#renewal']) await page.press(id, 'Enter');
      // If Enter had submitted the form, the browser would now show another page without this checkbox.
      await page.press('#scope-website_read', 'Space');
      expect([page.url(), posted, await page.isChecked('#scope-website_read')]).toEqual([
        `${origin}/consent`,
        [],
        true,
      ]);
      await page.press('#scope-website_read', 'Space');
      await page.focus('[value=deny]');
      await Promise.all([page.waitForURL('**/oauth/consent?*'), page.keyboard.press('Enter')]);
      expect(posted).toEqual([`${consent.action} csrf=the-token&decision=deny`]);
    });
  });

  it('from the problem to what has to be mended', async () => {
    await visit(DESKTOP, '/consent-again', async ({ page }) => {
      await page.keyboard.press('Tab');
      expect(await active(page)).toBe('Go to the websites');
      await page.keyboard.press('Enter');
      for (const at of ['tick-websites', 'website-web_1_1']) {
        await page.keyboard.press('Tab');
        expect(await active(page)).toBe(at);
      }
      expect(await page.locator(':checked').count()).toBe(3);
    });
  });

  it('signs in, signs out, or goes to the identity provider', async () => {
    await visit(PHONE, '/sign-in-again', async ({ page }) => {
      await page.keyboard.press('Tab');
      expect(await active(page)).toBe('Check e-mail and password');
      await page.keyboard.press('Enter');
      expect(await active(page)).toBe('email');
      await page.keyboard.press('Tab');
      await page.keyboard.type('a long password');
      posted.length = 0;
      await Promise.all([page.waitForURL('**/oauth/sign-in?*'), page.keyboard.press('Enter')]);
      expect(posted).toEqual([`${signIn.action} email=maria.lindqvist%40northwind.example&password=a+long+password`]);
    });
    await visit(PHONE, '/sign-in-again', async ({ page }) => {
      const link = page.getByRole('link', { name: 'Sign in with Northwind Single Sign-On' });
      expect(await link.getAttribute('href')).toBe('/oauth/identity?client_id=crd_1');
      for (const [id, use] of [
        ['email', 'username'],
        ['password', 'current-password'],
      ])
        expect(await page.getAttribute(`#${id}`, 'autocomplete')).toBe(use);
    });
    await visit(DESKTOP, '/consent', async ({ page }) => {
      posted.length = 0;
      await page.keyboard.press('Tab');
      await Promise.all([page.waitForURL('**/oauth/sign-out?*'), page.keyboard.press('Enter')]);
      expect(posted).toEqual([`${consent.signOut} `]);
    });
  });
});
