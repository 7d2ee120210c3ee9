import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { eventually } from '../../support/eventually.js';
import { openTestGateway } from '../../support/gateway.js';
import { cookieOf, doorFrom, newPerson, PAGE_POLICY, PASSWORD, post, SAME, } from '../../support/oauth/oauth.js';
import { raw } from '../../support/surfaces/wire.js';
/** The page of a record, /c/{id}. Everything that only a signed-in person may see has the mark. */
const MARK = 'zqx9seen';
const HOSTILE = `<img src=x onerror="alert(1)"><script>${MARK}</script>&amp;' style="x`;
const FENCED = `<<<data 0123456789abcdef>>> ${MARK} <<<end 0123456789abcdef>>>`;
const [CONVERSATION, CONTACT, VISITOR] = ['cnv_1_1_900001', 'ctc_1_1_900001', 'vis_1_1_900001'];
const RECORDS = [CONVERSATION, CONTACT, VISITOR];
const FOREIGN = ['cnv_2001_1_900001', 'ctc_2001_1_900001', 'vis_2001_1_900001'];
let gateway;
let person;
let from = 1;
beforeAll(async () => {
    gateway = await openTestGateway();
    const { sql } = gateway.database;
    await sql `INSERT INTO platform.organization (tenant, external_id, name) VALUES (2001, 'rival', 'Rival')`;
    await sql `INSERT INTO platform.website (tenant, site, external_id, name, time_zone) VALUES (2001, 1, 'rival', 'Rival', 'UTC')`;
    for (const tenant of [1, 2001]) {
        await sql `INSERT INTO platform.visitor (tenant, site, id, external_id, nickname, created_at)
      VALUES (${tenant}, 1, 900001, 'p', ${HOSTILE}, now())`;
        await sql `INSERT INTO platform.contact (tenant, site, id, external_id, name, email, company, deleted, created_at)
      VALUES (${tenant}, 1, 900001, 'p', ${HOSTILE}, 'zqx9seen@example.com', 'cnv_1_1_2026-99-99T99:99:99', false, now()),
             (${tenant}, 1, 900002, 'q', ${MARK}, null, null, true, now())`;
        await sql `INSERT INTO platform.visitor_contact VALUES (${tenant}, 1, 900001, 900001)`;
        await sql `INSERT INTO platform.conversation (tenant, site, id, external_id, visitor_id, status, platform, subject,
        rating_label, rating_score, disposition, created_at, updated_at, closed_at)
      VALUES (${tenant}, 1, 900001, 'p', 900001, 'closed', 'chat', ${HOSTILE}, ${HOSTILE}, 2, 'refund given',
        '2026-10-08T10:00:00Z', now(), '2026-10-08T12:30:00Z')`;
        await sql `INSERT INTO platform.conversation_contact VALUES (${tenant}, 1, 900001, 900001)`;
        await sql `INSERT INTO platform.message (tenant, site, id, external_id, conversation_id, author_type, author_id, visibility, kind,
        text, redacted, created_at) VALUES
      (${tenant}, 1, 9000001, 'p1', 900001, 'visitor', 900001, 'public', 'text', ${HOSTILE}, false, now()),
      (${tenant}, 1, 9000002, 'p2', 900001, 'visitor', 900001, 'public', 'text', ${`first line\n\u202eline two\n${FENCED}`}, false, now()),
      (${tenant}, 1, 9000003, 'p3', 900001, 'visitor', 900001, 'public', 'text', 'zqx9redacted', true, now()),
      (${tenant}, 1, 9000004, 'p4', 900001, 'system', null, 'internal', 'text', ${`${MARK} internal words`}, false, now())`;
        await sql `INSERT INTO platform.file (tenant, site, id, external_id, conversation_id, message_id, name, media_type, size, version, created_at)
      VALUES (${tenant}, 1, 900001, 'p', 900001, 9000001, ${HOSTILE}, ${'text/<b>'}, 2048, ${'a'.repeat(32)}, now())`;
        await sql `INSERT INTO platform.note (tenant, site, id, external_id, visitor_id, title, text, created_at)
      VALUES (${tenant}, 1, 900001, 'p', 900001, ${HOSTILE}, ${`${MARK} noted ${HOSTILE}`}, now())`;
    }
});
afterAll(() => gateway.close());
beforeEach(async () => {
    person = await newPerson(gateway);
    from += 1;
});
const view = (id, cookie, method = 'GET') => gateway.ask(`/c/${id}`, { unchecked: true, method, ...(cookie !== undefined && { headers: { cookie } }) });
const send = (path, fields, headers = SAME) => post(doorFrom(gateway.port, `127.0.0.${from}`), path, fields, headers);
const signIn = (id = CONVERSATION, email = person.email, password = PASSWORD) => send(`/c/${id}/sign-in`, { email, password, organization: '' });
const session = async (email = person.email) => cookieOf(await signIn(CONVERSATION, email));
const asksToSignIn = ({ status, text }) => status === 200 && text.includes('<h1>Sign in</h1>') && !text.includes(MARK);
const { stringify } = JSON;
/** Counts the statements that prove a session. Runs `act` before the statement with the number `at`. */
function watch(at = 0, act = async () => undefined) {
    const { db } = gateway.database;
    const read = db.read.bind(db);
    const watched = { count: 0, stop: () => spy.mockRestore() };
    const spy = vi.spyOn(db, 'read').mockImplementation(async (statement) => {
        if (!statement.texts.join('').includes('FROM gateway.session s'))
            return read(statement);
        watched.count += 1;
        if (watched.count === at)
            await act();
        return read(statement);
    });
    return watched;
}
describe('a person who is not signed in', () => {
    it('sees the same form for a record of any organization and for none', async () => {
        const texts = [];
        for (const id of [
            ...RECORDS,
            ...FOREIGN,
            'cnv_1_1_77777777',
            'ctc_9_9_1',
            'cnv_99999999999999999999_9999999999999999999_1',
        ]) {
            const answer = await view(id);
            expect(asksToSignIn(answer), id).toBe(true);
            expect(answer.headers['set-cookie']).toBeUndefined();
            texts.push(answer.text.replaceAll(id, 'ID'));
        }
        expect(new Set(texts).size).toBe(1);
    });
    it('signs in and lands on the record', async () => {
        for (const id of RECORDS) {
            const entered = await signIn(id);
            expect([entered.status, entered.headers.location]).toEqual([303, `/c/${id}`]);
            expect(entered.headers['set-cookie']?.[0]).toMatch(/^igw_session=igwp_\w{49}; Path=\/; Max-Age=3600; HttpOnly; SameSite=Lax$/);
            const page = await view(id, cookieOf(entered));
            expect([page.status, page.text.includes(MARK)], page.text).toEqual([200, true]);
            expect(page.headers).toMatchObject({
                'content-type': 'text/html; charset=utf-8',
                'content-security-policy': PAGE_POLICY,
                'x-frame-options': 'DENY',
                'cross-origin-opener-policy': 'same-origin',
                'referrer-policy': 'no-referrer',
                'cache-control': 'no-store',
                'x-content-type-options': 'nosniff',
            });
        }
    });
    it.each([
        ['wrong password', 'owner', 'incorrect horse battery staple'],
        ['operator', 'operator', PASSWORD],
    ])('is refused with a %s, with the same answer', async (_, role, password) => {
        const other = await newPerson(gateway, role);
        const answer = await signIn(CONVERSATION, other.email, password);
        expect([answer.status, answer.headers['set-cookie']]).toEqual([403, undefined]);
        expect(answer.text).toContain('No owner or admin has this e-mail and password.');
        expect(answer.text).not.toContain(MARK);
    });
    it('is locked out like on the consent page, and failures at several records add up', async () => {
        for (const id of [...RECORDS, ...FOREIGN.slice(0, 2)])
            expect((await signIn(id, person.email, 'incorrect horse battery staple')).status).toBe(403);
        const locked = await signIn('cnv_1_1_1');
        expect([locked.status, Number(locked.headers['retry-after']) > 0]).toEqual([429, true]);
        expect(locked.headers['set-cookie']).toBeUndefined();
    });
    it.each([
        ['another site', { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' }],
        ['another origin of the same site', { 'sec-fetch-site': 'same-site', origin: 'http://127.0.0.1:9' }],
        ['no page', { origin: 'null' }],
    ])('cannot be signed in or out by a form of %s', async (_, headers) => {
        const cookie = await session();
        for (const [path, fields] of [
            [`/c/${CONVERSATION}/sign-in`, { email: person.email, password: PASSWORD }],
            [`/c/${CONVERSATION}/sign-out`, {}],
        ]) {
            const answer = await send(path, fields, { ...headers, cookie });
            expect([answer.status, answer.headers['set-cookie'], answer.headers['content-type']]).toEqual([
                400,
                undefined,
                'text/html; charset=utf-8',
            ]);
        }
        expect((await view(CONVERSATION, cookie)).text).toContain(MARK);
    });
    it('sends no other field, and no field twice', async () => {
        const good = { email: person.email, password: PASSWORD };
        for (const fields of [
            { ...good, next: 'https://evil.example' },
            { ...good, email: [person.email, 'x'] },
        ])
            expect((await send(`/c/${CONVERSATION}/sign-in`, fields)).status).toBe(400);
        expect((await send(`/c/${CONVERSATION}/sign-out`, { a: 'b' })).status).toBe(400);
    });
});
describe('what the page shows', () => {
    it('a conversation: who, when, what was said, notes, and how it ended', async () => {
        const { text } = await view(CONVERSATION, await session());
        for (const words of [
            ...['8 Oct 2026', 'refund given', 'internal words', 'noted', 'zqx9seen@example.com', 'first line\nline two'],
            ...['2 KiB', CONTACT, VISITOR],
        ])
            expect(text, words).toContain(words);
        expect(text).toContain('The text was removed.');
        expect(text).not.toContain('zqx9redacted');
        expect(text.match(/<em>internal<\/em>/g)).toHaveLength(1);
    });
    it.each([
        ['Asia/Kolkata', '18:00', 'Asia/Kolkata'],
        ['US/Pacific', '05:30', 'US/Pacific'],
        ['Europe/Berlin', '14:30', 'Europe/Berlin'],
        ['Mars/Olympus', '12:30', 'UTC'],
    ])('times in the zone %s of the website', async (zone, closed, named) => {
        const { sql } = gateway.database;
        const website = await sql `SELECT time_zone AS zone FROM platform.website WHERE tenant = 1 AND site = 1`;
        await sql `UPDATE platform.website SET time_zone = ${zone} WHERE tenant = 1 AND site = 1`;
        const { text } = await view(CONVERSATION, await session());
        await sql `UPDATE platform.website SET time_zone = ${website[0]?.zone ?? 'UTC'} WHERE tenant = 1 AND site = 1`;
        expect(decoded(text)).toContain(`Times are in ${named}.`);
        expect(text).toMatch(new RegExp(`<time datetime="2026-10-08T12:30:00.000Z">8 Oct 2026, ${closed}</time>`));
    });
    it('everything that the operations answer to an app with all rights', async () => {
        const { token } = await gateway.issue();
        const cookie = await session();
        const { sql } = gateway.database;
        const some = await sql `SELECT id FROM platform.conversation WHERE tenant = 1 AND site = 1 AND id < 1000 ORDER BY id LIMIT 12`;
        let said = 0;
        for (const { id } of some) {
            const cnv = `cnv_1_1_${id}`;
            const { text } = await view(cnv, cookie);
            const list = await gateway.ask(`/api/v1/conversations/${cnv}/messages?limit=100&include_internal=true`, {
                token,
            });
            for (const message of list.body.data.messages) {
                if (!message.text)
                    continue;
                said += 1;
                expect(decoded(text), cnv).toContain(message.text.trim());
            }
            const one = (await gateway.ask(`/api/v1/conversations/${cnv}`, { token })).body.data.conversation;
            for (const fact of [one.subject, one.status, one.disposition, one.visitor_id, one.operator_id])
                if (fact)
                    expect(decoded(text)).toContain(fact);
        }
        expect(said).toBeGreaterThan(20);
    });
    it('no markup of outsiders, no mark that turns the line, and their words without fences', async () => {
        const cookie = await session();
        for (const id of RECORDS) {
            const { text } = await view(id, cookie);
            expect(text).toContain('&lt;img src=x onerror=&quot;alert(1)&quot;&gt;&lt;script&gt;');
            const tags = [...text.matchAll(/<(?:!doctype html|\/?[a-z0-9]+((?: [a-z-]+(?:="[^"<>]*")?)*))>/g)];
            expect(tags.length, 'every < belongs to a tag of the page').toBe(text.split('<').length - 1);
            const attributes = tags.flatMap(([, list = '']) => [...list.matchAll(/ ([a-z-]+)(?:="[^"]*")?/g)].map(([, name]) => name));
            const OURS = [
                ...['action', 'charset', 'class', 'content', 'datetime', 'dir', 'href', 'lang', 'method', 'name', 'rel'],
                'type',
            ];
            expect(OURS).toEqual(expect.arrayContaining([...new Set(attributes)]));
            expect(new Set(tags.map(([tag]) => /[a-z0-9]+/.exec(tag)?.[0]))).not.toContain('script');
            expect(text).not.toContain('\u202e');
            expect(decoded(text).replace(FENCED, '')).not.toMatch(/<<<|Outsiders \(/);
        }
        // What a person wrote about fences stays what the person wrote.
        expect(decoded((await view(CONVERSATION, cookie)).text)).toContain(FENCED);
    });
    it('the newest messages of a long conversation, and says so', async () => {
        await gateway.database
            .sql `INSERT INTO platform.conversation (tenant, site, id, external_id, status, platform, created_at, updated_at)
      VALUES (1, 1, 900003, 'long', 'closed', 'chat', now(), now())`;
        await gateway.database
            .sql `INSERT INTO platform.message (tenant, site, id, external_id, conversation_id, author_type, visibility, kind, text, created_at)
      SELECT 1, 1, 9100000 + i, 'long ' || i, 900003, 'visitor', 'public', 'text', 'word' || i || ' ' || repeat('x', 900), now() FROM generate_series(1, 200) i`;
        const { text, bytes } = await view('cnv_1_1_900003', await session());
        const shown = [...text.matchAll(/word(\d+) /g)].map(([, n]) => Number(n));
        expect(shown.length).toBeGreaterThan(50);
        expect(shown.length).toBeLessThan(80);
        expect(shown).toEqual(Array.from(shown, (_, n) => 200 - shown.length + 1 + n));
        expect(text).toContain('The record is longer than this page.');
        expect(bytes.length).toBeLessThan(262_144);
    });
});
describe('a visitor with many notes', () => {
    it('has a page with the newest notes, which says that there are more', async () => {
        await gateway.database
            .sql `INSERT INTO platform.visitor (tenant, site, id, external_id, created_at) VALUES (1, 1, 900004, 'n', now())`;
        await gateway.database.sql `INSERT INTO platform.note (tenant, site, id, external_id, visitor_id, text, created_at)
      SELECT 1, 1, 910000 + i, 'n' || i, 900004, 'note' || i || ' ' || repeat('x', 30000), now() FROM generate_series(1, 20) i`;
        const { text, bytes } = await view('vis_1_1_900004', await session());
        expect([...text.matchAll(/note(\d+) /g)].map(([, n]) => n)).toEqual(['20']);
        expect(text).toContain('The record is longer than this page.');
        expect(bytes.length).toBeLessThan(65_536);
    });
});
describe('a record that the person may not see', () => {
    it('of another organization, unknown or deleted: the same page after the same statements', async () => {
        const cookie = await session();
        const statements = watch();
        const seen = new Set();
        for (const id of [
            ...[...FOREIGN, 'cnv_1_1_77777777', 'ctc_1_1_900002', 'vis_1_77_1', 'cnv_01_1_900001', 'cnv_2001_99_1'],
            'ctc_99999999999999999999_9999999999999999999_1',
        ]) {
            statements.count = 0;
            const answer = await view(id, cookie);
            expect([answer.status, answer.text.includes(MARK)], id).toEqual([404, false]);
            seen.add(stringify([answer.text.replaceAll(id, 'ID'), statements.count]));
        }
        statements.stop();
        expect(seen.size).toBe(1);
        expect([...seen][0]).toMatch(/,2\]$/);
    });
    it('is seen by a person of the organization that has it, and by nobody else', async () => {
        const rival = await newPerson(gateway, 'admin', 2001);
        const [own, other] = [await session(), await session(rival.email)];
        for (const id of RECORDS)
            expect([(await view(id, own)).status, (await view(id, other)).status]).toEqual([200, 404]);
        for (const id of FOREIGN)
            expect([(await view(id, own)).status, (await view(id, other)).status]).toEqual([404, 200]);
    });
    it('is not asked for with a malformed id', async () => {
        for (const id of [
            ...['x', 'msg_1_1_1', 'cnv_1_1', 'cnv_1_1_0', 'CNV_1_1_1', 'cnv_1_1_1x', 'cnv_1_1_9223372036854775808'],
            ...['cnv%5F1_1_1', '', '%00', '%ff%fe', '%', '..%2f..%2fetc', 'cnv_1_1_1/', 'cnv_1_1_1/x'],
            ...['cnv_1_1_1/sign-in/x', 'cnv_1_1_1/identity'],
        ]) {
            const { status, headers, text } = await view(id);
            const told = [status, headers['content-type'], headers['content-security-policy']];
            expect(told, `${id} ${text}`).toEqual([404, 'text/html; charset=utf-8', PAGE_POLICY]);
        }
    });
    it('has no bytes in its address that break the gateway', async () => {
        expect((await view(`cnv_1_1_${'1'.repeat(4_000)}`)).status).toBe(404);
        const cookie = await session();
        for (let byte = 1; byte < 256; byte++) {
            const parts = [
                'GET /c/cnv_1_1_1',
                [byte],
                `1 HTTP/1.1\r\nHost: x\r\nCookie: ${cookie}\r\nConnection: close\r\n\r\n`,
            ];
            const { text } = await raw(gateway.port, Buffer.concat(parts.map((one) => Buffer.from(one))));
            const status = Number(/^HTTP\/1\.1 (\d+)/.exec(text)?.[1]);
            expect([200, 400, 404, 505], `byte ${byte}`).toContain(status);
        }
    });
});
describe('when access ends', () => {
    const disabled = 'UPDATE gateway.person SET disabled_at = now() WHERE id = $1';
    it.each([
        ['the session expires', 'UPDATE gateway.session SET expires_at = now() WHERE person_id = $1'],
        ['the session is deleted', 'DELETE FROM gateway.session WHERE person_id = $1'],
        ['the person is disabled', disabled],
        ['the person is disabled while the session stays', 'SET LOCAL session_replication_role = replica', disabled],
        ['the person becomes an operator', `UPDATE gateway.person SET role = 'operator' WHERE id = $1`],
        ['the password changes', `UPDATE gateway.person SET password = 'x' WHERE id = $1`],
        ['the person is deleted', 'DELETE FROM gateway.person WHERE id = $1'],
    ])('because %s, the next view asks for a sign-in, and so does the view that runs', async (_, ...statements) => {
        const end = () => gateway.database.sql.begin(async (sql) => {
            for (const text of statements)
                await sql.unsafe(text, text.includes('$1') ? [person.id] : []);
        });
        const cookie = await session();
        expect((await view(CONVERSATION, cookie)).status).toBe(200);
        const watched = watch(3, end);
        const running = await view(CONVERSATION, cookie);
        watched.stop();
        expect(asksToSignIn(running), running.text).toBe(true);
        expect(asksToSignIn(await view(CONVERSATION, cookie))).toBe(true);
    });
    it('because the person moves to another organization, the view that runs shows nothing', async () => {
        const cookie = await session();
        const { sql } = gateway.database;
        const statements = watch(2, () => sql `UPDATE gateway.person SET tenant = 2001 WHERE id = ${person.id}`);
        expect((await view(CONVERSATION, cookie)).text).not.toContain(MARK);
        statements.stop();
        expect((await view(CONVERSATION, cookie)).status).toBe(404);
    });
    it('because the person signs out', async () => {
        const cookie = await session();
        const out = await send(`/c/${CONVERSATION}/sign-out`, {}, { ...SAME, cookie });
        expect([out.status, out.headers.location, out.headers['set-cookie']?.[0]]).toEqual([
            303,
            `/c/${CONVERSATION}`,
            'igw_session=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax',
        ]);
        expect(asksToSignIn(await view(CONVERSATION, cookie))).toBe(true);
    });
    it.each(['igw_session=x', `igw_session=igwp_${'A'.repeat(49)}`, 'igw_session=a; igw_session=b'])('a cookie %j is no session', async (cookie) => expect(asksToSignIn(await view(CONVERSATION, cookie))).toBe(true));
    it('a bearer token of an app opens no page', async () => {
        const { token } = await gateway.issue();
        expect(asksToSignIn(await gateway.ask(`/c/${CONVERSATION}`, { unchecked: true, token }))).toBe(true);
    });
});
describe('a person of several organizations', () => {
    it('chooses one, and sees the records of this one', async () => {
        const second = await newPerson(gateway, 'owner', 2001);
        await gateway.database.sql `UPDATE gateway.person SET email = ${person.email} WHERE id = ${second.id}`;
        const cookie = cookieOf(await signIn());
        const choice = await view(CONVERSATION, cookie);
        expect([choice.status, choice.text.includes(MARK)]).toEqual([200, false]);
        const buttons = [...choice.text.matchAll(/name="choose" value="([^"]+)"><bdi>([^<]+)/g)];
        expect(buttons).toHaveLength(2);
        const [, token = ''] = buttons.find(([, , name]) => name === 'Rival') ?? [];
        const chosen = await send(`/c/${CONVERSATION}/sign-in`, { choose: token }, { ...SAME, cookie });
        expect([chosen.status, chosen.headers.location]).toEqual([303, `/c/${CONVERSATION}`]);
        expect((await view(CONVERSATION, cookieOf(chosen))).status).toBe(404);
        expect((await view(FOREIGN[0] ?? '', cookieOf(chosen))).status).toBe(200);
        expect(asksToSignIn(await view(CONVERSATION, cookie)), 'the choice is spent').toBe(true);
    });
});
describe('methods, parameters and limits', () => {
    it('answers GET and HEAD only, and takes no body', async () => {
        const cookie = await session();
        const head = await view(CONVERSATION, cookie, 'HEAD');
        expect([head.status, head.text, Number(head.headers['content-length']) > 1_000]).toEqual([200, '', true]);
        for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
            const answer = await view(CONVERSATION, cookie, method);
            expect([answer.status, answer.headers.allow], method).toEqual([405, 'GET, HEAD']);
        }
        for (const leg of ['sign-in', 'sign-out'])
            expect((await view(`${CONVERSATION}/${leg}`, cookie)).headers.allow).toBe('POST');
        const body = await gateway.ask(`/c/${CONVERSATION}`, {
            unchecked: true,
            method: 'GET',
            raw: 'x',
            headers: { cookie },
        });
        expect(body.status).toBe(400);
    });
    it('ignores a query, which chats add to links', async () => {
        const cookie = await session();
        for (const query of ['?utm_source=chat', '?', '?id=cnv_1_1_1&id=2&%00'])
            expect((await view(`${CONVERSATION}${query}`, cookie)).text).toContain(MARK);
    });
    it('shows a person 60 records at once and 60 a minute, over all sessions of the person', async () => {
        const cookies = [await session(), await session()];
        const began = performance.now();
        const answers = await Promise.all(Array.from({ length: 120 }, (_, n) => view('cnv_1_1_77777777', cookies[n % 2])));
        const refilled = Math.ceil((performance.now() - began) / 1_000);
        const refused = answers.filter(({ status }) => status === 429);
        expect(answers.length - refused.length).toBeGreaterThanOrEqual(60);
        expect(answers.length - refused.length).toBeLessThanOrEqual(60 + refilled);
        for (const { headers, text } of refused) {
            expect(Number(headers['retry-after'])).toBeGreaterThan(0);
            expect(text).toContain('<h1>Too many records</h1>');
        }
        const other = await newPerson(gateway);
        expect((await view(CONVERSATION, await session(other.email))).status).toBe(200);
    });
});
describe('the log', () => {
    it('has an audit entry for each view, with the person and the record, and no word of the record', async () => {
        const cookie = await session();
        gateway.log.splice(0);
        const shown = await view(CONVERSATION, cookie);
        const missing = await view(FOREIGN[0] ?? '', cookie);
        const stranger = await view(CONVERSATION);
        const of = ({ headers }) => gateway.log.map((line) => JSON.parse(line)).find((line) => line.request_id === headers['x-request-id']);
        await eventually(() => expect(of(stranger)).toBeDefined());
        expect(of(shown)).toMatchObject({
            operation: 'record',
            audit: 'view',
            decision: 'allowed',
            person: person.id,
            record: CONVERSATION,
        });
        expect(of(missing)).toMatchObject({
            operation: 'record',
            audit: 'view',
            decision: 'refused',
            code: 'not_found',
            person: person.id,
        });
        expect(stringify(of(missing))).not.toContain('2001');
        expect(of(stranger)).not.toHaveProperty('audit');
        expect(gateway.log.join('\n')).not.toMatch(new RegExp(`${MARK}|onerror|refund`));
    });
    it('tells who signed in and who was refused', async () => {
        gateway.log.splice(0);
        const entered = await signIn();
        const refused = await signIn(CONVERSATION, `${randomUUID()}@example.com`);
        const lines = () => gateway.log.map((line) => JSON.parse(line)).filter(({ audit }) => audit === 'authentication');
        await eventually(() => expect(lines()).toHaveLength(2));
        expect([entered.status, refused.status]).toEqual([303, 403]);
        expect(lines()).toMatchObject([
            { operation: 'record_sign_in', decision: 'allowed', person: person.id },
            { operation: 'record_sign_in', decision: 'refused', code: 'credentials', source: `127.0.0.${from}` },
        ]);
    });
});
const ENTITIES = { lt: '<', gt: '>', quot: '"', '#39': "'", amp: '&' };
const decoded = (text) => text.replace(/&(lt|gt|quot|#39|amp);/g, (_, name) => ENTITIES[name] ?? '');
//# sourceMappingURL=record.test.js.map