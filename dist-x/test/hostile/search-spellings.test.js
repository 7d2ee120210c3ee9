import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ALL_FLAGS, ALL_SCOPES } from '../support/authority/grants.js';
import { openTestGateway } from '../support/gateway.js';
/**
 * Check TN-04 for misspelt words: spellings, and the work to find them, depend only on texts that the caller may see. Each
 * case asks, adds hidden texts with nearer spellings, and asks again.
 */
let gateway;
let everything;
beforeAll(async () => {
    gateway = await openTestGateway('empty');
    const { sql } = gateway.database;
    await sql `INSERT INTO platform.organization (tenant, external_id, name) VALUES (1, 'one', 'One'), (2, 'two', 'Two')`;
    for (const [tenant, site] of [
        [1, 1],
        [1, 2],
        [2, 1],
    ]) {
        await sql `INSERT INTO platform.website (tenant, site, external_id, name, time_zone) VALUES (${tenant}, ${site}, ${`w${site}`}, 'W', 'UTC')`;
        await sql `INSERT INTO platform.team (tenant, site, id, external_id, name) SELECT ${tenant}, ${site}, t, ${`${site} t`} || t, 'T' FROM generate_series(1, 2) t`;
        await sql `INSERT INTO platform.visitor (tenant, site, id, external_id, created_at) VALUES (${tenant}, ${site}, 1, ${`v${site}`}, now())`;
    }
    ({ token: everything } = await gateway.issue({ websites: ['web_1_1'] }));
});
afterAll(() => gateway.close());
let last = 0;
/** Stores a conversation with one message. */
async function say(text, at = {}) {
    const { tenant = 1, site = 1, team = 1, visibility = 'public', subject = null } = at;
    const { sql } = gateway.database;
    last++;
    await sql `INSERT INTO platform.conversation (tenant, site, id, external_id, team_id, status, platform, subject, created_at, updated_at)
    VALUES (${tenant}, ${site}, ${last}, ${`c${last}`}, ${team}, 'closed', 'chat', ${subject}, now(), now())`;
    await sql `INSERT INTO platform.message (tenant, site, id, external_id, conversation_id, author_type, visibility, kind, text, created_at)
    VALUES (${tenant}, ${site}, ${last}, ${`m${last}`}, ${last}, 'visitor', ${visibility}, 'text', ${text}, now())`;
    return last;
}
async function note(text) {
    last++;
    await gateway.database.sql `INSERT INTO platform.note (tenant, site, id, external_id, visitor_id, text, created_at)
    VALUES (1, 1, ${last}, ${`n${last}`}, 1, ${text}, now())`;
}
async function contact(name) {
    last++;
    await gateway.database.sql `INSERT INTO platform.contact (tenant, site, id, external_id, name, created_at)
    VALUES (1, 1, ${last}, ${`p${last}`}, ${name}, now())`;
}
const ask = (query, token = everything, more = {}) => gateway.ask(`/api/v1/search?${new URLSearchParams({ query, ...more })}`, { token });
/** Letters that make words which no other case uses. */
const unique = (n) => `zq${String.fromCharCode(98 + n)}x`;
/** `w` + "ammer" is what the caller sees. "hammr" finds it, and the hidden words are as near or nearer. */
const hidden = [
    ['another website', (words) => say(words, { site: 2 })],
    ['another organization', (words) => say(words, { tenant: 2 })],
    ['an internal message', (words) => say(words, { visibility: 'internal' })],
    ['a redacted message', async (words) => redact(await say(words))],
    ['a message that was changed', async (words) => change(await say(words))],
    ['a message that was removed', async (words) => remove(await say(words))],
    ['a deleted contact', async (words) => forgetContact(words)],
    ['a note without the scope', note, () => without('visitor_notes_read')],
    ['a name without the scope', contact, () => without('contact_read')],
    ['a subject without the scope', (words) => say('x', { subject: words }), () => without('conversation_read')],
];
async function without(scope) {
    const scopes = ALL_SCOPES.filter((one) => one !== scope);
    return (await gateway.issue({ websites: ['web_1_1'], scopes, dataAccess: ALL_FLAGS })).token;
}
async function redact(id) {
    await gateway.database.sql `UPDATE platform.message SET redacted = true WHERE tenant = 1 AND site = 1 AND id = ${id}`;
}
async function change(id) {
    await gateway.database.sql `UPDATE platform.message SET text = 'gone' WHERE tenant = 1 AND site = 1 AND id = ${id}`;
}
async function remove(id) {
    await gateway.database.sql `DELETE FROM platform.message WHERE tenant = 1 AND site = 1 AND id = ${id}`;
}
async function forgetContact(words) {
    await contact(words);
    await gateway.database.sql `UPDATE platform.contact SET deleted = true WHERE tenant = 1 AND site = 1 AND id = ${last}`;
}
/** The rows of spellings that a look-up of these words reads. The caller sees public messages of website 1. */
async function rowsRead(query) {
    const groups = JSON.stringify([query.split(' ').map((text) => ({ text, not: false, quoted: false }))]);
    return gateway.database.sql.begin(async (sql) => {
        const read = async () => {
            const [row] = await sql `
        SELECT pg_stat_get_xact_tuples_returned('platform.spelling_pkey'::regclass)::integer AS n`;
            return row?.n ?? 0;
        };
        await sql `SET LOCAL enable_seqscan = off`;
        const before = await read();
        await sql `SELECT platform.respelled(
      ARRAY[(1, 1, 'message', false, NULL, NULL, NULL, NULL, NULL, 'infinity', 0)::platform.searched], ${groups}::text::jsonb, NULL)`;
        return (await read()) - before;
    });
}
/** Fails if an answer or its work changes when hidden texts have nearer spellings. Returns how many answers were compared. */
async function interferes(n, hide, token) {
    const stem = unique(n);
    const sees = (await ask(`${stem}seen`, token)).status === 200;
    // The caller sees "…hammer" in a contact, if it may not see messages.
    await (token === everything ? say(`the ${stem}hammer is here`) : say('x'));
    const queries = [`${stem}hammr`, `${stem}hammers`, `the ${stem}hmamer`, `${stem}wrneck`];
    const answers = async () => {
        const all = [];
        for (const query of queries) {
            const { text, status } = await ask(query, token);
            expect(status, text).toBe(200);
            all.push(text);
        }
        return all;
    };
    const work = () => rowsRead(queries.join(' '));
    const [before, read] = [await answers(), await work()];
    if (token === everything)
        expect(read).toBeGreaterThan(2);
    // Words that are nearer, and words that the caller has misspelt: known words are not corrected.
    await hide(`${stem}hammrr ${stem}hammr ${stem}hammor ${stem}hamr ${stem}hammerss ${stem}hammers ${stem}wreneck`);
    expect(await answers()).toEqual(before);
    // PostgreSQL reads the entries of removed rows until it cleans them. The caller could see these texts before.
    await gateway.database.sql `VACUUM platform.spelling`;
    expect(await work()).toBe(read);
    if (token === everything)
        expect(before[0]).toContain(`"corrected":[{"word":"${stem}hammr","used":["${stem}hammer"]}]`);
    expect(before[3]).not.toContain('corrected');
    expect(sees).toBe(true);
    return before.length;
}
describe('TN-04 spellings', () => {
    it.each(hidden.map(([name, hide, token], n) => [name, hide, token, n]))('TN-04 %s changes no spelling, no answer and no work', async (_, hide, token, n) => {
        expect(await interferes(n, hide, (await token?.()) ?? everything)).toBe(4);
    });
    it('TN-04 a restricted credential gets no spellings, whatever its conversations say', async () => {
        const { token } = await gateway.issue({ websites: ['web_1_1'], teams: ['tem_1_1_1'] });
        await say('zqnarrow hammock', { team: 1 });
        const before = (await ask('zqnarow', token)).text;
        await say('zqnarow zqnarrows', { team: 2 });
        expect((await ask('zqnarow', token)).text).toBe(before);
        expect(before).not.toContain('corrected');
        expect(JSON.parse((await ask('zqnarrow', token)).text).results).toHaveLength(1);
    });
    it('TN-04 the cases find a look-up that reads the words of all kinds, or of all websites', async () => {
        const { sql } = gateway.database;
        const [row] = await sql `
      SELECT pg_get_functiondef('platform.respelled'::regproc) AS body`;
        const body = row?.body ?? '';
        const planted = [
            ['AND o.site = k.site AND o.kind = k.kind AND o.key = y.key', 'AND o.site = k.site AND o.key = y.key', 2],
            ['AND o.site = k.site AND o.kind = k.kind AND o.key = y.key', 'AND o.kind = k.kind AND o.key = y.key', 0],
            ['AND o.kind = k.kind\n', '\n', 2],
        ];
        try {
            for (const [i, [right, wrong, at]] of planted.entries()) {
                expect(body.includes(right), right).toBe(true);
                await sql.unsafe(body.replace(right, wrong));
                const hide = hidden[at]?.[1] ?? expect.fail('no case');
                await expect(interferes(15 + i, hide, everything), wrong).rejects.toThrow(/to deeply equal|to be/);
            }
        }
        finally {
            await sql.unsafe(body);
        }
    });
});
describe('bounds', () => {
    it('corrects at most three words of a query, each by at most three spellings, and finds no list of words', async () => {
        await say(['a', 'e', 'i', 'o', 'u'].map((vowel) => `zqlist${vowel}x`).join(' '));
        await say('zqalpha zqbravo zqdelta zqgamma');
        const { body } = await ask('zqlistyx', everything, { order: 'newest' });
        expect(body.corrected).toHaveLength(1);
        expect(body.corrected[0].used).toHaveLength(3);
        const four = await ask('zqalpa or zqbavo or zqdeta or zqgama');
        expect(four.body.corrected).toHaveLength(3);
    });
    it('one message of an outsider does not make a look-up read without a bound', async () => {
        const letters = Array.from({ length: 180 }, (_, n) => `zqdense${String.fromCharCode(0x430 + (n % 32), 0x430 + (n >> 5))}`);
        for (let i = 0; i < 5; i++)
            await say(letters.map((word) => `${word}${i}`).join(' '));
        expect(await rowsRead('zqdense')).toBeLessThan(64 * 9);
        const long = await say(`${'x'.repeat(2_000)} zqbehind`);
        expect(await gateway.database.sql `SELECT FROM platform.spelling WHERE id = ${long} AND word = 'zqbehind'`).toHaveLength(0);
        expect((await ask('zqbehind')).body.results).toHaveLength(1);
    });
    it('numbers are never another number', async () => {
        await say('order 100234 and #1042 and zqab12 are paid');
        for (const query of ['order 100243', 'order 1024', 'zqab21', 'zqab13'])
            expect((await ask(query)).body.results, query).toEqual([]);
        expect((await ask('zqba12')).body.corrected).toEqual([{ word: 'zqba12', used: ['zqab12'] }]);
    });
});
//# sourceMappingURL=search-spellings.test.js.map