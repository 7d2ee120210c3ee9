import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { eventually } from '../../support/eventually.js';
import { BASE_URL, openTestGateway } from '../../support/gateway.js';
import { openBrowserProxy } from '../../support/oauth/browser-proxy.js';
import { CALLBACK, csrfOf, formOf, newClient, newPerson, PASSWORD, pkce, post, RESOURCE, request, SAME, signedIn, token, } from '../../support/oauth/oauth.js';
import { DESKTOP, openBrowser, PHONE, violations } from '../../support/surfaces/browser.js';
/**
 * The origins of two foreign pages. The first page is on another site. The second page is on the gateway's own site, so
 * browsers send SameSite=Lax cookies with the forms of this page.
 */
const STRANGERS = ['http://stranger.example', 'http://127.0.0.1:8790'];
let gateway;
let client;
let browser;
let proxy;
let strange = '';
beforeAll(async () => {
    gateway = await openTestGateway();
    client = await newClient(gateway);
    proxy = await openBrowserProxy(gateway, ({ origin, pathname }) => origin === BASE_URL ? undefined : pathname === '/' ? strange : '');
    browser = await openBrowser();
});
afterAll(async () => {
    await browser.close();
    await proxy.close();
    await gateway.close();
});
let context;
let page;
let proof;
let query;
let person;
/** The callback addresses that the browser visited, each with the result of a consent. Nobody answers there. */
let told;
beforeEach(async () => {
    person = await newPerson(gateway);
    proof = pkce();
    query = formOf(request(client, proof));
    await open();
});
afterEach(() => context.close());
async function open(options = {}) {
    context = await browser.newContext({
        javaScriptEnabled: options.scripts ?? false,
        viewport: options.phone ? PHONE : DESKTOP,
        reducedMotion: 'reduce',
        proxy: { server: proxy.server },
    });
    told = [];
    proxy.tunnels.length = 0;
    context.on('request', (one) => {
        if (one.url().startsWith(CALLBACK))
            told.push(new URL(one.url()));
    });
    page = await tab();
}
async function tab() {
    const one = await context.newPage();
    one.setDefaultTimeout(8_000);
    return one;
}
const authorize = (to = page) => to.goto(`${BASE_URL}/oauth/authorize?${query}`);
async function signIn(to = page) {
    await authorize(to);
    await to.getByLabel('E-mail').fill(person.email);
    await to.getByLabel('Password').fill(PASSWORD);
    await Promise.all([to.waitForURL('**/oauth/authorize?*'), to.getByRole('button', { name: 'Sign in' }).click()]);
    await to.getByRole('heading', { name: 'Decision' }).waitFor();
}
async function tick(to = page, scopes = ['website_read'], websites = ['web_1_1']) {
    for (const scope of scopes)
        await to.check(`[name=scope][value=${scope}]`);
    for (const website of websites)
        await to.check(`[name=website_id][value=${website}]`);
}
async function press(name, to = page) {
    const [answer] = await Promise.all([
        to.waitForResponse((one) => one.request().method() === 'POST' && one.url().includes('/oauth/consent?')),
        to.getByRole('button', { name }).click(),
    ]);
    return answer.status();
}
async function callback() {
    await expect.poll(() => [told.length, proxy.tunnels.includes('app.example:443')]).toEqual([1, true]);
    return told[0]?.searchParams ?? new URLSearchParams();
}
const consents = async () => gateway.database.sql `
    SELECT scopes, sites::text[], renewable FROM gateway.consent WHERE person_id = ${person.id}`;
const exchange = (code) => token(gateway, client, {
    grant_type: 'authorization_code',
    code,
    redirect_uri: CALLBACK,
    code_verifier: proof.verifier,
    resource: RESOURCE.rest,
});
async function shown() {
    const cookie = await signedIn(gateway, query, person.email);
    const answer = await gateway.ask(`/oauth/authorize?${query}`, { unchecked: true, headers: { cookie } });
    return { cookie, csrf: csrfOf(answer) };
}
const submit = (cookie, fields) => post(gateway, `/oauth/consent?${query}`, { scope: ['website_read'], website_id: ['web_1_1'], decision: 'approve', ...fields }, { ...SAME, cookie });
describe('CP-01: forms that are not the page’s own', () => {
    it.each(STRANGERS)('a form on %s, with the right token, is refused', async (origin) => {
        await signIn();
        const csrf = (await page.getAttribute('[name=csrf]', 'value')) ?? '';
        expect(csrf).toMatch(/^[1-9]\d*\.[\w-]{43}$/);
        const fields = { csrf, scope: 'website_read', website_id: 'web_1_1', decision: 'approve' };
        const inputs = Object.entries(fields).map(([name, value]) => `<input name="${name}" value="${value}">`);
        for (const target of ['', ' target="_blank"', ' referrerpolicy="no-referrer"']) {
            strange = `<form method="post" action="${BASE_URL}/oauth/consent?${query.replaceAll('&', '&amp;')}"${target}>${inputs.join('')}<button>Win</button></form>`;
            const trap = await tab();
            await trap.goto(`${origin}/`);
            const [answer] = await Promise.all([context.waitForEvent('response', isConsent), trap.click('button')]);
            expect(answer.status(), target).toBe(400);
            const sent = await answer.request().allHeaders();
            // The browser sends the session cookie with a form on the gateway's own site. The browser sends no session cookie
            // with a form on another site.
            expect(sent['cookie'] === undefined, target).toBe(origin === STRANGERS[0]);
            expect(sent['sec-fetch-site'], target).toBe(origin === STRANGERS[0] ? 'cross-site' : 'same-site');
            await trap.close();
        }
        expect([await consents(), told]).toEqual([[], []]);
        await tick();
        expect(await press('Approve')).toBe(303);
    });
    it.each(STRANGERS)('nobody is signed in or out by a form on %s', async (origin) => {
        await signIn();
        for (const [path, fields] of [
            ['sign-out', ''],
            ['sign-in', `<input name="email" value="${person.email}"><input name="password" value="${PASSWORD}">`],
        ]) {
            strange = `<form method="post" action="${BASE_URL}/oauth/${path}?${query.replaceAll('&', '&amp;')}">${fields}<button>Win</button></form>`;
            const trap = await tab();
            await trap.goto(`${origin}/`);
            const [answer] = await Promise.all([trap.waitForResponse(`**/oauth/${path}?*`), trap.click('button')]);
            expect([answer.status(), await answer.headerValue('set-cookie')], path).toEqual([400, null]);
        }
        await authorize();
        expect(await page.getByText(person.email).count()).toBe(1);
    });
});
const isConsent = (answer) => answer.url().includes('/oauth/consent?');
describe('CP-02: headers and frames', () => {
    it('every page has them, and those with a form name the one callback', async () => {
        const signInAnswer = await authorize();
        await signIn();
        const consentAnswer = await authorize();
        const errorAnswer = await page.goto(`${BASE_URL}/oauth/authorize?client_id=crd_none`);
        const answers = { signIn: signInAnswer, consent: consentAnswer, error: errorAnswer };
        for (const [name, answer] of Object.entries(answers)) {
            const headers = (await answer?.allHeaders()) ?? {};
            const callbackOrigin = name !== 'error' ? ' https://app.example' : '';
            expect(headers, name).toMatchObject({
                'content-security-policy': `default-src 'none'; style-src 'self'; form-action 'self'${callbackOrigin}; frame-ancestors 'none'; base-uri 'none'`,
                'x-frame-options': 'DENY',
                'referrer-policy': 'no-referrer',
                'cross-origin-opener-policy': 'same-origin',
                'cache-control': 'no-store',
                'x-content-type-options': 'nosniff',
                'content-type': 'text/html; charset=utf-8',
            });
        }
        expect(Object.values(answers).map((answer) => answer?.status())).toEqual([200, 200, 400]);
    });
    it.each(STRANGERS)('a frame on %s stays empty', async (origin) => {
        await signIn();
        for (const path of [`/oauth/authorize?${query}`, '/oauth/authorize?client_id=crd_none']) {
            strange = `<iframe src="${BASE_URL}${path.replaceAll('&', '&amp;')}"></iframe>`;
            const trap = await tab();
            await Promise.all([trap.waitForResponse(`${BASE_URL}/oauth/authorize?*`), trap.goto(`${origin}/`)]);
            const frame = trap.frames()[1];
            await expect.poll(() => frame?.url()).toBe('chrome-error://chromewebdata/');
            expect(await frame?.locator('form, h1:has-text("access"), h1:has-text("request")').count()).toBe(0);
            await trap.close();
        }
    });
    it('the pages have no script, no inline style, and load their styles alone', async () => {
        await context.close();
        await open({ scripts: true });
        const complaints = [];
        const asked = new Set();
        page.on('console', (message) => complaints.push(message.text()));
        page.on('request', (one) => asked.add(new URL(one.url()).pathname));
        await signIn();
        await page.waitForLoadState();
        expect(complaints).toEqual([]);
        expect([...asked].toSorted()).toEqual(['/oauth/authorize', '/oauth/oauth.css', '/oauth/sign-in']);
        expect(await page.evaluate(`getComputedStyle(document.querySelector('.main')).backgroundColor`)).toBe('rgb(11, 93, 107)');
    });
});
describe('CP-03: what is ticked is what is given', () => {
    it('nothing is ticked; approving gives exactly what was ticked; without renewal there is no refresh token', async () => {
        await signIn();
        expect(await page.locator(':checked').count()).toBe(0);
        expect(await page.locator('[name=scope]').count()).toBe(2);
        await tick(page, ['conversation_read'], ['web_1_2']);
        expect(await press('Approve')).toBe(303);
        const params = await callback();
        expect([...params.keys()]).toEqual(['code', 'state', 'iss']);
        expect(params.get('state')).toBe(new URLSearchParams(query).get('state'));
        expect(params.get('iss')).toBe(BASE_URL);
        const { status, body } = await exchange(params.get('code') ?? '');
        expect([status, body.scope, body.expires_in, 'refresh_token' in body]).toEqual([
            200,
            'conversation_read',
            900,
            false,
        ]);
        const own = await gateway.ask('/api/v1/context', { token: body.access_token });
        expect(own.body).toMatchObject({ scopes: ['conversation_read'], website_ids: ['web_1_2'] });
    });
    it('approving without a permission or a website is no approval, and keeps what was ticked', async () => {
        await signIn();
        for (const [scopes, websites, link] of [
            [[], [], 'Go to the permissions'],
            [['website_read'], [], 'Go to the websites'],
            [[], ['web_1_1'], 'Go to the permissions'],
        ]) {
            await authorize();
            await tick(page, [...scopes], [...websites]);
            expect(await press('Approve')).toBe(400);
            expect(await page.getByRole('alert').isVisible()).toBe(true);
            expect(await page.getByRole('alert').getByRole('link', { name: link }).count()).toBe(1);
            const ticked = await page.locator(':checked').all();
            expect(await Promise.all(ticked.map((box) => box.getAttribute('value')))).toEqual([...scopes, ...websites]);
        }
        expect([await consents(), told]).toEqual([[], []]);
        await tick();
        expect(await press('Approve')).toBe(303);
        expect((await callback()).has('code')).toBe(true);
    });
    it('a button ticks and unticks a whole group or all websites, decides nothing and ticks nothing else', async () => {
        const wide = await newClient(gateway, { websites: ['web_1_1', 'web_1_2'] });
        query = formOf(request(wide, proof, { scope: 'website_read config_read live_read conversation_read' }));
        await signIn();
        const ticked = async () => Promise.all((await page.locator(':checked').all()).map((box) => box.getAttribute('value')));
        const hit = async (name) => {
            const button = page.getByRole('button', { name, exact: true });
            await Promise.all([page.waitForResponse(isConsent), button.click()]);
        };
        await page.check('[name=renewal]');
        await hit('Tick all 3 in Service and settings');
        expect(await ticked()).toEqual(['website_read', 'config_read', 'live_read', 'yes']);
        expect(new URL(page.url()).hash).toBe('#group-0');
        expect(await page.getByRole('alert').count()).toBe(0);
        await page.uncheck('[value=live_read]');
        await hit('Tick all 2 in Websites');
        expect(await ticked()).toEqual(['website_read', 'config_read', 'web_1_1', 'web_1_2', 'yes']);
        // A part with one box has no button. Of two buttons, only the button that has an effect is seen.
        expect(await page.getByRole('button', { name: /in Conversations/ }).count()).toBe(0);
        const seen = page.locator('.all button').filter({ visible: true });
        expect(await seen.allInnerTexts()).toEqual(['Tick all 3', 'Untick all 2']);
        await hit('Untick all 2 in Websites');
        expect(await ticked()).toEqual(['website_read', 'config_read', 'yes']);
        expect([await consents(), told]).toEqual([[], []]);
        await page.check('[value=web_1_2]');
        expect(await press('Approve')).toBe(303);
        expect((await callback()).has('code')).toBe(true);
        expect(await consents()).toMatchObject([{ scopes: ['website_read', 'config_read'], renewable: true }]);
    });
    it('a link cannot tick, and a button that is not on the page is refused', async () => {
        const { cookie, csrf } = await shown();
        for (const decision of ['tick-', 'tick-everything', 'untick-group-10', 'tick-group-0 ', 'approve-websites']) {
            expect((await submit(cookie, { csrf, decision })).status, decision).toBe(400);
        }
        expect((await submit(cookie, { csrf: '', decision: 'tick-websites' })).status).toBe(400);
        // A group that nobody asked for adds nothing.
        const none = await submit(cookie, { csrf, decision: 'tick-group-2' });
        expect([none.status, none.text.match(/ checked>/g)?.length]).toEqual([200, 2]);
        const link = `/oauth/authorize?${query}&decision=tick-websites&website_id=web_1_1`;
        expect((await gateway.ask(link, { unchecked: true, headers: { cookie } })).text).not.toContain('checked');
        expect(await consents()).toEqual([]);
    });
});
describe('CP-04: one code at most', () => {
    it('twenty submissions of one page at once', async () => {
        const { cookie, csrf } = await shown();
        const answers = await Promise.all(Array.from({ length: 20 }, () => submit(cookie, { csrf })));
        const codes = answers.filter(({ headers }) => headers.location?.includes('code='));
        expect([codes.length, answers.filter(({ status }) => status === 409).length]).toEqual([1, 19]);
        expect((await consents()).length).toBe(1);
    });
    it('a double click', async () => {
        await signIn();
        await tick();
        await page.getByRole('button', { name: 'Approve' }).dblclick();
        await expect.poll(async () => (await consents()).length).toBe(1);
        await page.waitForTimeout(300);
        expect([(await consents()).length, told.length <= 1]).toEqual([1, true]);
    });
    it('the back button', async () => {
        await signIn();
        await tick();
        await press('Approve');
        await callback();
        // Nobody answers the callback, so the browser shows its own error page. Go back until the browser has left this
        // page.
        await eventually(() => page.goBack());
        await page.getByRole('button', { name: 'Approve' }).waitFor();
        expect(await page.locator(':checked').count()).toBe(0);
        await tick(page, ['website_read', 'conversation_read']);
        expect(await press('Approve')).toBe(409);
        expect(await page.getByRole('heading').innerText()).toBe('This request is no longer open');
        expect(await consents()).toMatchObject([{ scopes: ['website_read'] }]);
        expect(told.length).toBe(1);
    });
    it('two tabs', async () => {
        await signIn();
        const second = await tab();
        await authorize(second);
        await tick();
        await tick(second, ['conversation_read']);
        expect([await press('Approve'), await press('Approve', second)]).toEqual([303, 409]);
        expect(await consents()).toMatchObject([{ scopes: ['website_read'] }]);
    });
    it.each([
        ['lost role', (id) => gateway.database.sql `UPDATE gateway.person SET role = 'operator' WHERE id = ${id}`],
        [
            'is disabled',
            (id) => gateway.database.sql `UPDATE gateway.person SET disabled_at = now() WHERE id = ${id}`,
        ],
        ['has signed out', (id) => gateway.database.sql `DELETE FROM gateway.session WHERE person_id = ${id}`],
    ])('a page of somebody who %s', async (_what, end) => {
        await signIn();
        await tick();
        await end(person.id);
        expect(await press('Approve')).toBe(200);
        expect(await page.getByLabel('Password').isVisible()).toBe(true);
        expect([await consents(), told]).toEqual([[], []]);
    });
    it('the page of somebody else who has signed in meanwhile', async () => {
        await signIn();
        await tick();
        const second = await tab();
        await authorize(second);
        await second.getByRole('button', { name: 'Sign out' }).click();
        await second.getByLabel('Password').waitFor();
        person = await newPerson(gateway, 'admin');
        await signIn(second);
        expect(await press('Approve')).toBe(400);
        expect([await consents(), told]).toEqual([[], []]);
    });
});
describe('CP-05: names from the store', () => {
    it('are text, isolated and cut; the host of the callback is shown', async () => {
        const { sql } = gateway.database;
        const name = '\u202egnp.exe\u2066<script>document.title="owned"</script>"><img src=x>';
        await sql `UPDATE gateway.app SET name = ${name} WHERE id = ${client.app}`;
        await sql `UPDATE platform.website SET name = ${`${name}${'x'.repeat(10_000)}`} WHERE tenant = 1 AND site = 1`;
        try {
            await context.close();
            await open({ scripts: true, phone: true });
            await authorize();
            for (const signed of [false, true]) {
                if (signed)
                    await signIn();
                expect(await page.title()).toBe(`${signed ? 'Approve access' : 'Sign in'} · Installation Gateway`);
                expect(await page.evaluate('[document.scripts.length, document.images.length]')).toEqual([0, 0]);
                const app = 'gnp.exe<script>document.title="owned"</script>"><img src=x>';
                expect(await page.locator('bdi').first().innerText()).toBe(app);
                expect(await page.locator('.host').first().innerText()).toBe('app.example');
                expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(PHONE.width);
                expect(await violations(page)).toEqual([]);
            }
            const website = await page.locator('label[for=website-web_1_1] bdi').innerText();
            expect([[...website].length, website.startsWith('gnp.exe<script>'), website.endsWith('xx…')]).toEqual([
                120,
                true,
                true,
            ]);
        }
        finally {
            await sql `UPDATE gateway.app SET name = 'test' WHERE id = ${client.app}`;
            await sql `UPDATE platform.website SET name = 'northwind.example' WHERE tenant = 1 AND site = 1`;
        }
    });
});
describe('CP-06: from sign-in to approval', () => {
    it('by keyboard alone, without scripts', async () => {
        await authorize();
        const write = async (text) => {
            await page.keyboard.press('Tab');
            await page.keyboard.type(text);
        };
        await write(person.email);
        await write('not the password');
        await Promise.all([page.waitForResponse('**/oauth/sign-in?*'), page.keyboard.press('Enter')]);
        await page.getByRole('alert').waitFor();
        expect(await page.getByLabel('E-mail').inputValue()).toBe(person.email);
        // Two Tab keys lead from the link in the error message to the password field. The e-mail field still has its value.
        for (const key of ['Tab', 'Tab'])
            await page.keyboard.press(key);
        await write(PASSWORD);
        await Promise.all([page.waitForURL('**/oauth/authorize?*'), page.keyboard.press('Enter')]);
        await page.getByRole('heading', { name: 'Decision' }).waitFor();
        const websites = await page.locator('[name=website_id]').count();
        const boxes = 2 + websites;
        // The Tab key first reaches the sign-out button and four links, and then the boxes. The last box allows renewal.
        for (let at = 0; at < 5; at++)
            await page.keyboard.press('Tab');
        for (let at = 0; at <= boxes; at++) {
            // The button that ticks all websites stands before their boxes.
            for (const key of at === 2 ? ['Tab', 'Tab', 'Space'] : ['Tab', 'Space'])
                await page.keyboard.press(key);
        }
        // While a checkbox has the focus, the Enter key does not submit the form.
        for (const key of ['Enter', 'Tab'])
            await page.keyboard.press(key);
        expect(await page.locator('[type=checkbox]:not(:checked)').count()).toBe(0);
        await page.keyboard.press('Enter');
        expect((await callback()).has('code')).toBe(true);
        const [consent, ...others] = await consents();
        expect([consent?.scopes.length, consent?.sites.length, consent?.renewable, others]).toEqual([
            2,
            websites,
            true,
            [],
        ]);
    });
});
//# sourceMappingURL=consent-flow.test.js.map