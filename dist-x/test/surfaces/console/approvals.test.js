import { afterAll, beforeAll, describe, expect, it, test } from 'vitest';
import { decide } from '../../../src/gateway/approvals.js';
import { auditOf, brief } from '../../support/audit.js';
import { addRival, asksToSignIn, forged, look, RIVAL, signedInAs, submit, tokenIn, } from '../../support/console/console.js';
import { openTestGateway } from '../../support/gateway.js';
import { asked, asker, effectsOf, freshKey, send, statusOf } from '../../support/ledger/approvals.js';
import { assignment, BY_POLICY, detection, disposition, note, reply, SITE, status, VISITOR, } from '../../support/ledger/commands.js';
import { LOG_EFFECTS } from '../../support/ledger/effects.js';
import { helpdeskWriter, openHelpdesk } from '../../support/ledger/helpdesk.js';
import { consented, newClient, post, SAME, token } from '../../support/oauth/oauth.js';
import { DESKTOP, openBrowser, openVisit, PHONE, violations } from '../../support/surfaces/browser.js';
/** The pages on which an owner or admin decides about writes that wait. */
let gateway;
let owner;
let by;
beforeAll(async () => {
    gateway = await openTestGateway('demo', undefined, undefined, {}, undefined, undefined, true);
    await addRival(gateway);
    await gateway.database.sql.unsafe(LOG_EFFECTS);
    owner = await signedInAs(gateway);
    by = await asker(gateway);
});
afterAll(() => gateway.close());
const pageOf = (id) => `/console/approvals/${id}`;
const press = (id, leg, person = owner) => submit(gateway, person, { page: pageOf(id), action: `${pageOf(id)}/${leg}` });
const recorded = async (id) => (await auditOf(gateway.database, { operation_id: id })).map(brief);
describe('the page of a write', () => {
    it('is where the answer of the write leads, and shows all of it', async () => {
        const { answer, id } = await send(gateway, by, note('First line\n\nSecond <b>line</b>'));
        const { text, status } = await look(gateway, String(answer.headers['location']), owner.cookie);
        expect(status).toBe(200);
        for (const part of ['visitor_note_add', VISITOR, 'First line\n\nSecond &lt;b&gt;line&lt;/b&gt;', id, by.credential])
            expect(text).toContain(part);
        expect(text).toContain('<dt>Interface</dt><dd>REST</dd>');
        expect(text).toContain(`href="/console/apps/${by.app}"`);
        expect([text.split('<form class="act"').length - 1, text.includes('<script')]).toEqual([2, false]);
    });
    it('shows what nobody could see as marks, and emoji as they are', async () => {
        const family = '\u{1f468}\u200d\u{1f469}\u200d\u{1f467}\ufe0f';
        const id = await asked(gateway, by, note(`\u001b[2Jpay\u202eexe\u2066x\u200b\u200b\u200b a\u200db می\u200cخواهم e${'\u0301'.repeat(7)} ${family}\ttab`));
        const { text } = await look(gateway, pageOf(id), owner.cookie);
        const mark = (code) => `<b class="hidden-character">${code}</b>`;
        expect(text).toContain(`${mark('U+001B')}[2Jpay${mark('U+202E')}exe${mark('U+2066')}x${mark('U+200B × 3')} a${mark('U+200D')}b می\u200cخواهم ` +
            `e${'\u0301'.repeat(4)}${mark('U+0301 × 3')} ${family}\ttab`);
        expect(text.replaceAll(family, '').replaceAll('می\u200cخواهم', '')).not.toMatch(/[\u200b-\u200f\u202a-\u202e\u2066-\u2069]/);
    });
    it('shows a joiner between letters that do not join as a mark, and what hides a note beside a word', async () => {
        const mark = (code) => `<b class="hidden-character">${code}</b>`;
        for (const [text, shown] of [
            ['你\u200c好\u200d吗', `你${mark('U+200C')}好${mark('U+200D')}吗`],
            ['가\u200d나', `가${mark('U+200D')}나`],
            ['א\u200cב', `א${mark('U+200C')}ב`],
            ['あ\u200dい', `あ${mark('U+200D')}い`],
            ['م\u200da', `م${mark('U+200D')}a`],
            ['a\ufff9b\ufffac\ufffb', `a${mark('U+FFF9')}b${mark('U+FFFA')}c${mark('U+FFFB')}`],
            ['क्\u200dष می\u200cخواهم', 'क्\u200dष می\u200cخواهم'],
        ])
            expect((await look(gateway, pageOf(await asked(gateway, by, note(text))), owner.cookie)).text).toContain(shown);
    });
    it('approves with one form, whose record is in the statement of the effect', async () => {
        const key = freshKey();
        const id = await asked(gateway, by, note('Approved on the page'), key);
        const before = await effectsOf(gateway.database, 'Approved on the page');
        const answer = await press(id, 'approve');
        expect([answer.status, answer.headers.location]).toEqual([303, `${pageOf(id)}?done=write_approved`]);
        expect(await effectsOf(gateway.database, 'Approved on the page')).toEqual({
            notes: 1,
            receipts: before.receipts + 1,
        });
        expect(await recorded(id)).toMatchObject([
            { surface: 'rest', operation: 'visitor_note_add', status: 202 },
            {
                ...{ surface: 'page', operation: 'approval_approve', outcome: 'ok', person_id: owner.id },
                ...{ targets: [VISITOR], website_id: SITE },
            },
        ]);
        const again = await send(gateway, by, note('Approved on the page'), key);
        expect([again.status, again.replayed]).toEqual([200, true]);
        const { text } = await look(gateway, pageOf(id), owner.cookie);
        expect(text).toContain(owner.email);
        // AI feature 4 has a name, and visitor 4 has none.
        expect(text).toContain(`<dt>Concerns</dt><dd><code>${VISITOR}</code></dd>`);
        expect(text).toContain('The text is not kept after the decision.');
        expect([text.includes('Approved on the page'), text.includes('class="act"')]).toEqual([false, false]);
    });
    it('rejects, and says so to the app', async () => {
        const key = freshKey();
        const id = await asked(gateway, by, note('Rejected on the page'), key);
        expect((await press(id, 'reject')).headers.location).toBe(`${pageOf(id)}?done=write_rejected`);
        expect((await send(gateway, by, note('Rejected on the page'), key)).code).toBe('approval_rejected');
        expect((await effectsOf(gateway.database, 'Rejected on the page')).notes).toBe(0);
        expect((await recorded(id))[1]).toMatchObject({ surface: 'page', operation: 'approval_reject', outcome: 'ok' });
    });
    it('is told on the page of the app', async () => {
        const { text } = await look(gateway, `/console/apps/${by.app}`, owner.cookie);
        expect(text).toContain('<dt>Waits for approval</dt><dd><code>visitor_note_add, conversation_disposition_set');
    });
    it('tells that the data did not allow an approved write, in the books, too', async () => {
        const id = await asked(gateway, by, disposition('nobody configured this'));
        expect((await press(id, 'approve')).headers.location).toBe(`${pageOf(id)}?done=write_refused`);
        expect((await recorded(id))[1]).toMatchObject({
            operation: 'approval_approve',
            outcome: 'operation_conflict',
            status: 409,
        });
    });
    it('keeps a write that cannot begin now, and says why', async () => {
        const lost = await asker(gateway);
        const id = await asked(gateway, lost, note('Without an author'));
        await gateway.database.sql `DELETE FROM gateway.native_author WHERE credential_id = ${lost.credential}`;
        const answer = await press(id, 'approve');
        expect([answer.status, answer.text.includes('The write still waits')]).toEqual([409, true]);
        expect(tokenIn(answer, `${pageOf(id)}/approve`)).not.toBe('');
        expect(await statusOf(gateway, lost, id)).toBe('pending');
        expect((await recorded(id)).filter(({ outcome, surface }) => surface === 'page' && outcome === 'ok')).toEqual([]);
    });
});
describe('a form that comes late', () => {
    it.each([
        ['approved', 'approve'],
        ['rejected', 'reject'],
    ])('after the write was %s changes nothing, and shows that', async (state, first) => {
        const id = await asked(gateway, by, note(`Late ${state}`));
        const action = `${pageOf(id)}/${first === 'approve' ? 'reject' : 'approve'}`;
        const csrf = tokenIn(await look(gateway, pageOf(id), owner.cookie), action);
        expect((await press(id, first)).status).toBe(303);
        const late = await post(gateway, action, { csrf }, { ...SAME, cookie: owner.cookie });
        expect([late.status, late.text.includes(`The write is ${state} now.`)]).toEqual([409, true]);
        expect(late.text).toContain(owner.email);
        expect((await effectsOf(gateway.database, `Late ${state}`)).notes).toBe(first === 'approve' ? 1 : 0);
    });
    it('after the credential has changed changes nothing, and shows that the write has lapsed', async () => {
        const narrowed = await asker(gateway);
        const id = await asked(gateway, narrowed, note('Narrowed'));
        const action = `${pageOf(id)}/approve`;
        const csrf = tokenIn(await look(gateway, pageOf(id), owner.cookie), action);
        await gateway.database.sql `UPDATE gateway.credential SET data_access = '{pii}' WHERE id = ${narrowed.credential}`;
        const late = await post(gateway, action, { csrf }, { ...SAME, cookie: owner.cookie });
        expect([late.status, late.text.includes('The write is lapsed now.')]).toEqual([409, true]);
        expect((await effectsOf(gateway.database, 'Narrowed')).notes).toBe(0);
    });
});
describe('the approver', () => {
    it('of another organization finds nothing, as for a write that does not exist', async () => {
        const id = await asked(gateway, by, note('Not for rivals'));
        const rival = await signedInAs(gateway, 'owner', { tenant: RIVAL });
        const none = `op_${'0'.repeat(64)}`;
        const answers = await Promise.all([id, none].map(async (one) => {
            const seen = await look(gateway, pageOf(one), rival.cookie);
            const action = `${pageOf(one)}/approve`;
            const tried = await post(gateway, action, { csrf: forged(rival, action) }, { ...SAME, cookie: rival.cookie });
            return [seen.status, seen.text, tried.status, tried.text];
        }));
        expect(answers[0]).toEqual(answers[1]);
        expect(answers[0]?.[0]).toBe(404);
        expect((await look(gateway, '/console/approvals', rival.cookie)).text).toContain('No write has waited yet');
        expect(await statusOf(gateway, by, id)).toBe('pending');
    });
    it('must have signed in within the last 15 minutes', async () => {
        const late = await signedInAs(gateway, 'admin', { age: 901 });
        const id = await asked(gateway, by, note('Signed in long ago'));
        const answer = await press(id, 'approve', late);
        expect([answer.status, asksToSignIn(answer), await statusOf(gateway, by, id)]).toEqual([403, true, 'pending']);
    });
    it('cannot approve the request of their own agent where the credential forbids it', async () => {
        const agent = await asker(gateway);
        const { sql } = gateway.database;
        await sql `UPDATE gateway.credential SET hosted_client = 'https://agent.example/x', hosted_host = 'agent.example',
      hosted_person = ${owner.id} WHERE id = ${agent.credential}`;
        const free = await asked(gateway, agent, note('Own agent, anyone'));
        expect((await press(free, 'approve')).status).toBe(303);
        await sql `UPDATE gateway.credential SET approval_by = 'others' WHERE id = ${agent.credential}`;
        const id = await asked(gateway, agent, note('Own agent, others'));
        const seen = await look(gateway, pageOf(id), owner.cookie);
        expect(seen.text).toContain('wants another person');
        expect(tokenIn(seen, `${pageOf(id)}/approve`)).toBe('');
        const action = `${pageOf(id)}/approve`;
        const tried = await post(gateway, action, { csrf: forged(owner, action) }, { ...SAME, cookie: owner.cookie });
        expect([tried.status, tried.text.includes('Another person must approve it.')]).toEqual([409, true]);
        expect((await effectsOf(gateway.database, 'Own agent, others')).notes).toBe(0);
        const colleague = await signedInAs(gateway, 'admin');
        expect((await press(id, 'approve', colleague)).status).toBe(303);
        expect((await effectsOf(gateway.database, 'Own agent, others')).notes).toBe(1);
        const own = await asked(gateway, agent, note('Own agent, rejected'));
        expect((await press(own, 'reject')).headers.location).toContain('write_rejected');
    });
    it('cannot approve what is asked under their own consent either', async () => {
        const client = await newClient(gateway, { authors: ['opr_1_1_1'] });
        await gateway.database
            .sql `UPDATE gateway.credential SET approve = '{visitor_note_add}', approval_by = 'others' WHERE id = ${client.credential}`;
        const scope = ['conversation_read', 'visitor_notes_write', 'message_content_read', 'contact_read_pii'];
        const given = await consented(gateway, client, {
            ...{ email: owner.email, choice: { scope }, changes: { scope: scope.join(' ') } },
        });
        const { body } = await token(gateway, client, given.exchange);
        const id = await asked(gateway, { ...client, token: body.access_token }, note('Under a consent'));
        expect((await look(gateway, pageOf(id), owner.cookie)).text).toContain(`<dt>For</dt><dd><bdi>${owner.email}</bdi>`);
        const action = `${pageOf(id)}/approve`;
        const tried = await post(gateway, action, { csrf: forged(owner, action) }, { ...SAME, cookie: owner.cookie });
        expect([tried.status, (await effectsOf(gateway.database, 'Under a consent')).notes]).toEqual([409, 0]);
        expect((await press(id, 'approve', await signedInAs(gateway, 'admin'))).status).toBe(303);
    });
    it('races with the command line, and one decision wins', async () => {
        const desk = { db: gateway.database.db, registry: gateway.corridor.registry };
        for (let n = 0; n < 20; n++) {
            const approver = await signedInAs(gateway, 'admin');
            const text = `Page or command ${n}`;
            const id = await asked(gateway, by, note(text));
            const leg = n % 2 === 0 ? 'approve' : 'reject';
            const [page, command] = await Promise.all([press(id, leg, approver), decide(desk, id, true, () => undefined)]);
            const won = [page.status === 303, command.state === 'performed'];
            expect(won.filter(Boolean), `${n} ${page.status} ${command.state}`).toHaveLength(1);
            const approved = leg === 'approve' || won[1] === true;
            expect((await effectsOf(gateway.database, text)).notes).toBe(approved ? 1 : 0);
        }
    });
    const RACES = [
        ['a note', (n) => note(`Two people ${n}`)],
        ['a reply', (n) => reply(`Two people ${n}`)],
        ['a status', status],
        ['an assignment', assignment],
    ];
    it.each(RACES)('races with another person about %s, and the slower one reads who decided', async (_, command) => {
        const { sql } = gateway.database;
        const agent = await asker(gateway, ['visitor_note_add', ...BY_POLICY], { write: BY_POLICY });
        const effects = async () => (await sql `SELECT FROM public.effect`).length;
        for (let n = 0; n < 12; n++) {
            // Each person may send only so many forms a minute.
            const people = await Promise.all([signedInAs(gateway), signedInAs(gateway, 'admin')]);
            const [id, before] = [await asked(gateway, agent, command(n)), await effects()];
            const legs = n % 2 === 0 ? ['approve', 'approve'] : ['reject', 'approve'];
            // The people have the page open, so both presses arrive together.
            const pressed = people.map((person, i) => {
                const action = `${pageOf(id)}/${legs[i]}`;
                return post(gateway, action, { csrf: forged(person, action) }, { ...SAME, cookie: person.cookie });
            });
            const answers = await Promise.all(pressed);
            expect(answers.map(({ status }) => status).sort(), `${n}`).toEqual([303, 409]);
            const won = answers.findIndex(({ status }) => status === 303);
            const state = legs[won] === 'approve' ? 'approved' : 'rejected';
            const { text = '' } = answers[1 - won] ?? {};
            expect(text).toContain(`The write is ${state} now.`);
            expect(text).toMatch(new RegExp(`<dt>Decided</dt><dd>.*by <bdi>${people[won]?.email}</bdi>`));
            expect((await effects()) - before).toBe(state === 'approved' ? 1 : 0);
        }
    });
});
describe('the queue', () => {
    it('has the waiting writes first, filters, and a number beside its name', async () => {
        const queue = await openTestGateway();
        const person = await signedInAs(queue, 'admin');
        const many = await asker(queue);
        const show = async (query = '') => (await look(queue, `/console/approvals${query}`, person.cookie)).text;
        expect(await show()).toContain('No write has waited yet');
        const ids = [];
        for (let n = 0; n < 27; n++)
            ids.push(await asked(queue, many, detection(`Sentence ${n}`)));
        const noted = await asked(queue, many, note('Looked for'));
        await submit(queue, person, { page: pageOf(ids[26] ?? ''), action: `${pageOf(ids[26] ?? '')}/reject` });
        const rows = (text) => [...text.matchAll(/approvals\/(op_[a-f0-9]{64})"/g)].map(([, id = '']) => id);
        expect(rows(await show())).toEqual([noted, ...ids.slice(2, 26).reverse()]);
        expect(rows(await show('?page=2'))).toEqual([ids[1], ids[0], ids[26]]);
        expect(rows(await show('?state=rejected'))).toEqual([ids[26]]);
        expect(rows(await show('?operation=visitor_note_add'))).toEqual([noted]);
        expect(await show('?q=no%20such%20app')).toContain('No write matches');
        expect(await show()).toContain('Approvals <span class="count">27</span>');
        const csv = await look(queue, '/console/approvals?format=csv', person.cookie);
        expect([csv.text.split('\r\n').length, csv.text.includes('Looked for')]).toEqual([30, false]);
        await queue.close();
    });
});
describe('a write to a helpdesk', () => {
    let helpdesk;
    let followed;
    beforeAll(async () => {
        helpdesk = await openHelpdesk();
        followed = await openTestGateway('demo', undefined, undefined, {}, undefined, helpdeskWriter(helpdesk));
    });
    afterAll(async () => {
        await helpdesk.close();
        await followed.close();
    });
    it('goes there from the page, once, and an answer that was lost is told', async () => {
        const person = await signedInAs(followed);
        const app = await asker(followed);
        for (const [mood, notice] of [
            ['perform', 'write_approved'],
            ['perform and lose', 'write_unknown'],
        ]) {
            helpdesk.mood(mood);
            const id = await asked(followed, app, note(`To the helpdesk: ${mood}`));
            const done = await submit(followed, person, { page: pageOf(id), action: `${pageOf(id)}/approve` });
            expect(done.headers.location).toBe(`${pageOf(id)}?done=${notice}`);
            expect(helpdesk.effects.filter(({ operationId }) => operationId === id)).toHaveLength(1);
        }
    });
});
describe('in a browser', () => {
    let browser;
    beforeAll(async () => {
        browser = await openBrowser();
    });
    afterAll(() => browser.close());
    test.each([
        ['a desktop in light', { ...DESKTOP, scheme: 'light' }],
        ['a phone in dark', { ...PHONE, scheme: 'dark' }],
    ])('%s: reads 4,000 characters, approves with the keyboard, and axe-core finds nothing', async (_, view) => {
        const text = `Evil \u202e \u200b\u200b ${'\u{1f600}'.repeat(1_980)}\nمرحبا`;
        const id = await asked(gateway, by, note(text));
        const origin = `http://127.0.0.1:${gateway.port}`;
        const { page, complaints, foreign, close } = await openVisit(browser, origin, view);
        const [name = '', value = ''] = owner.cookie.split('=');
        await page.context().addCookies([{ name, value, url: origin }]);
        const sound = async () => {
            expect(await violations(page)).toEqual([]);
            expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(view.width);
            expect(await page.locator('img, script, iframe, [style]').count()).toBe(0);
        };
        await page.goto(`${origin}/console/approvals`);
        await sound();
        await page.goto(origin + pageOf(id));
        await sound();
        const said = page.locator('dd.said').first();
        expect((await said.textContent())?.split('\u{1f600}').length).toBe(1_981);
        expect(await said.locator('b').allTextContents()).toEqual(['U+202E', 'U+200B × 2']);
        const focused = page.locator(':focus');
        for (let n = 0; n < 40 && (n === 0 || (await focused.textContent()) !== 'Approve'); n++)
            await page.keyboard.press('Tab');
        await page.keyboard.press('Enter');
        await page.getByText('The write is approved, and has taken effect.').waitFor();
        await sound();
        expect((await effectsOf(gateway.database, text)).notes).toBeGreaterThan(0);
        expect([foreign, complaints]).toEqual([[], []]);
        await close();
    });
});
//# sourceMappingURL=approvals.test.js.map