import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openDigest } from '../../src/privacy/digests.js';
import { erase } from '../../src/privacy/erase.js';
import { listErasures, repeatErasures } from '../../src/privacy/erasures.js';
import { importRecords } from '../../src/sources/files/import.js';
import { freshDatabase } from '../support/database.js';
import { desk } from '../support/import.js';
import { keys } from '../support/sources.js';
const at = '2026-02-01T00:00:00Z';
const contact = (external_id, more = {}) => ({
    ...{ type: 'contact', external_id, website: 'w0', created_at: at },
    ...more,
});
const visitor = (external_id, contacts) => ({
    ...{ type: 'visitor', external_id, website: 'w0', contacts, created_at: at },
});
const conversation = (external_id, by, contacts, subject = 'A') => ({
    ...{ type: 'conversation', external_id, website: 'w0', contacts, subject, status: 'closed', platform: 'chat' },
    ...(by !== undefined && { visitor: by }),
    created_at: at,
});
const message = (external_id, of, author, text) => ({
    ...{ type: 'message', external_id, conversation: of, author_type: 'visitor', author, visibility: 'public' },
    ...{ kind: 'text', text, created_at: at },
});
let store;
beforeAll(async () => {
    store = await started();
});
afterAll(() => store.close());
/** A store with a small desk, in which one person was erased. So all imports have digests. An older one has all people. */
async function started(older = false) {
    const fresh = await freshDatabase('empty');
    // The people of the desk share one telephone, so each gets a number of its own.
    const own = desk(4).map((one) => 'mobile' in one ? { ...one, mobile: `030 9018${one.external_id.slice(3).padStart(4, '0')}` } : one);
    await importRecords(fresh.db, own);
    if (!older)
        await erased('con1', { to: fresh });
    return fresh;
}
async function idOf(kind, external, from = store) {
    const [row] = await from.sql.unsafe(`SELECT '${kind === 'contact' ? 'ctc' : 'vis'}_' || tenant || '_' || site || '_' || id AS id FROM platform.${kind}
      WHERE external_id = '${external}'`);
    return row?.id ?? '';
}
async function erased(external, { to = store, db } = {}) {
    return erase(db ?? to.db, keys, { kind: 'contact', id: await idOf('contact', external, to), reason: 'asked' });
}
const load = async (records, to = store, db = to.db) => importRecords(db, records, { digest: await openDigest(to.db, async () => keys) });
const texts = async (text, from = store) => (await from.sql `SELECT FROM platform.message WHERE text = ${text}`).length;
const subjects = async (subject) => (await store.sql `SELECT FROM platform.conversation WHERE subject = ${subject}`).length;
/** A database that calls `act` once, before the first statement that contains `text`. */
function interrupted(db, text, act) {
    let acted = false;
    const query = async (statement) => {
        if (!acted && statement.texts.join('').includes(text)) {
            acted = true;
            await act();
        }
        return db.query(statement);
    };
    return { ...db, query };
}
/** A database that fails from the first statement that contains `text` on, as if the process was killed. */
function dying(db, text) {
    let dead = false;
    const query = async (statement) => {
        dead ||= statement.texts.join('').includes(text);
        if (dead)
            throw new Error('killed');
        return db.query(statement);
    };
    return { ...db, query };
}
const STEPS = ['erasure_unstage(', 'erase_notes(', 'erase_conversations(', 'erase_messages(', 'erasure_end('];
describe('while an import runs between two steps of an erasure', () => {
    it.each(STEPS)('before %s, the conversations without a visitor go all the same', async (step) => {
        const n = STEPS.indexOf(step);
        const mail = (subject) => conversation(`mail${n}`, undefined, [`a${n}`], subject);
        await load([contact(`a${n}`), contact(`b${n}`), visitor(`v${n}`, [`a${n}`, `b${n}`]), mail(`MAIL${n}`)]);
        await load([message(`m${n}`, `mail${n}`, `v${n}`, `WORDS${n}`)]);
        const changed = [visitor(`v${n}`, [`a${n}`, `b${n}`]), mail(`CHANGED${n}`)];
        let during;
        const db = interrupted(store.db, step, async () => {
            during = await load(changed);
        });
        expect((await erased(`a${n}`, { db }))?.counts).toMatchObject({ conversations: 1, messages: 1, visitors: 1 });
        expect([await texts(`WORDS${n}`), await subjects(`MAIL${n}`), await subjects(`CHANGED${n}`)]).toEqual([0, 0, 0]);
        // Nobody could read the new subject in between, either.
        expect(during).toMatchObject({ written: 0, suppressed: 2, rejected: 0 });
        expect(await store.sql `SELECT FROM platform.visitor WHERE external_id = ${`v${n}`}`).toEqual([]);
        expect(await load([contact(`b${n}`), ...changed])).toMatchObject({ written: 0, suppressed: 2, rejected: 0 });
    });
    it.each(STEPS)('before %s, what the person wrote elsewhere goes', async (step) => {
        const n = STEPS.indexOf(step);
        const other = (subject) => conversation(`ok${n}`, `ow${n}`, [`ob${n}`, `oa${n}`], subject);
        await load([contact(`oa${n}`), contact(`ob${n}`), visitor(`ov${n}`, [`oa${n}`]), visitor(`ow${n}`, [`ob${n}`])]);
        await load([conversation(`own${n}`, `ov${n}`, []), other('X'), message(`om${n}`, `ok${n}`, `ov${n}`, `THERE${n}`)]);
        await load([message(`on${n}`, `ok${n}`, `ow${n}`, `OTHER${n}`)]);
        const db = interrupted(store.db, step, () => load([other(`STAYS${n}`)]));
        await erased(`oa${n}`, { db });
        expect([await texts(`THERE${n}`), await texts(`OTHER${n}`), await subjects(`STAYS${n}`)]).toEqual([0, 1, 1]);
    });
});
it('leaves out nobody else whose records an import has read', async () => {
    await load([contact('ia', { email: 'shared@example.com' }), contact('ib', { phone: '030 777666555' })]);
    await load([visitor('iv', ['ib']), conversation('ik', 'iv', ['ib'])]);
    // A visitor that has been linked to the person is erased with the person.
    const next = (step) => [
        contact('ib', { phone: '030 777666555', email: 'shared@example.com' }),
        visitor('iv', step.includes('conversation') ? ['ib'] : ['ib', 'ia']),
        conversation('ik', 'iv', ['ib', 'ia'], 'NEXT'),
        message('im', 'ik', 'iv', 'INNOCENT'),
    ];
    for (const step of ["'write contact", "'plan visitor'", "'write visitor", "'write conversation"]) {
        const own = await started();
        try {
            await load([contact('ia', { email: 'shared@example.com' }), contact('ib', { phone: '030 777666555' })], own);
            await load([visitor('iv', ['ib']), conversation('ik', 'iv', ['ib'])], own);
            const db = interrupted(own.db, step, () => erased('ia', { to: own }));
            expect(await load(next(step), own, db), step).toMatchObject({ rejected: 0, suppressed: 0 });
            expect(await texts('INNOCENT', own), step).toBe(1);
            expect(await idOf('contact', 'ia', own), step).toBe('');
            expect(await load(next(step), own), step).toMatchObject({ rejected: 0, suppressed: 0, unchanged: 4 });
        }
        finally {
            await own.close();
        }
    }
});
it('keeps the ids of shells for itself', async () => {
    await load([contact('sa'), visitor('sv', ['sa']), conversation('sk', 'sv', ['sa'])]);
    const native = (await idOf('contact', 'sa')).split('_')[3] ?? '';
    const forged = [`erased:1:${native}`, 'erased:1:1'].map((one) => contact(one, { name: 'Forged' }));
    expect(await load([...forged, { type: 'delete', of: 'contact', external_id: 'erased:1:1' }])).toMatchObject({
        ...{ written: 0, rejected: 3 },
    });
    expect((await erased('sa'))?.counts).toMatchObject({ contacts: 1, conversations: 1 });
    const shells = await store.sql `SELECT external_id AS id FROM platform.conversation WHERE external_id ~ '^erased:'`;
    for (const { id } of shells)
        expect(id).toMatch(/^erased:[a-f0-9-]{36}$/);
});
it('leaves out a new conversation that names only erased contacts, whoever its visitor is', async () => {
    await load([contact('na'), contact('nb'), visitor('nv', [])]);
    await erased('na');
    const next = [conversation('nk', 'nv', ['na'], 'ONLY'), conversation('nl', 'nv', ['na', 'nb'], 'BOTH')];
    expect(await load([...next, message('nm', 'nk', 'nv', 'ONLYWORDS')])).toMatchObject({ written: 1, suppressed: 2 });
    expect([await subjects('ONLY'), await subjects('BOTH'), await texts('ONLYWORDS')]).toEqual([0, 1, 0]);
});
describe('an address of an erased person', () => {
    const spellings = {
        phone: [
            '(415) 555-0199',
            '415.555.0199',
            '+1 (0)415 555 0199',
            '001 415 555 0199',
            '٤١٥٥٥٥٠١٩٩',
            '４１５５５５０１９９',
        ],
        email: [
            'Zo\u0065\u0301.Li@example.com',
            'zo\u00e9.li@example.com.',
            '<Zo\u00e9.Li@example.com>',
            'Z <ZO\u00c9.LI@EXAMPLE.COM>',
        ],
    };
    it('is known in other spellings', async () => {
        await load([contact('pa', { phone: '+1 415 555 0199', email: 'zo\u00e9.li@example.com' })]);
        await erased('pa');
        const next = Object.entries(spellings).flatMap(([member, values]) => values.map((value, i) => contact(`${member}${i}`, { [member]: value })));
        expect(await load(next)).toMatchObject({ written: 0, rejected: 0, suppressed: 10 });
        expect(await load([contact('pb', { phone: '+1 415 555 0198', email: 'zoe.li@example.com' })])).toMatchObject({
            ...{ written: 1, suppressed: 0 },
        });
    });
    it('is given to no stored contact, which keeps an address that it shares', async () => {
        await load([
            contact('qa', { email: 'qa@example.com', mobile: '030 444555666' }),
            contact('qb', { phone: '030 444555666' }),
        ]);
        await erased('qa');
        await load([contact('qc', { name: 'QC', email: 'qc@example.com' })]);
        const next = ['qb', 'qc'].map((one) => contact(one, { name: 'Next', email: 'QA@example.com', mobile: '030444555666', phone: '030 444555666' }));
        for (const written of [2, 0])
            expect(await load(next)).toMatchObject({ written, rejected: 0, suppressed: 0 });
        expect(await store.sql `SELECT external_id AS id, name, email, mobile, phone FROM platform.contact WHERE external_id IN ('qb', 'qc') ORDER BY 1`).toEqual([
            { id: 'qb', name: 'Next', email: null, mobile: null, phone: '030 444555666' },
            { id: 'qc', name: 'Next', email: 'qc@example.com', mobile: null, phone: null },
        ]);
    });
});
it('waits for no import of other organizations, and only 2 s at a time for its own', async () => {
    await load([contact('ta'), visitor('tv', ['ta'])]);
    await store.sql `UPDATE gateway.import_run SET scope = '{999}' WHERE slot = 5`;
    await store.sql.begin(async (other) => {
        await other `SELECT FROM gateway.import_run WHERE slot = 5 FOR UPDATE`;
        let waited = Promise.resolve();
        const own = store.sql.begin(async (run) => {
            await run `SELECT FROM gateway.import_run WHERE slot = 6 FOR UPDATE`;
            waited = erased('ta');
            await run `SELECT pg_sleep(2.5)`;
        });
        await own;
        expect(await waited).toMatchObject({ counts: { contacts: 1, visitors: 1 } });
    });
});
describe('what a visitor wrote in conversations of others', () => {
    it('goes with the visitor', async () => {
        await load([contact('wa'), contact('wb'), visitor('wva', ['wa']), visitor('wvb', ['wb'])]);
        await load([conversation('wk', 'wvb', ['wb', 'wa']), message('wm', 'wk', 'wva', 'GUEST')]);
        const request = { kind: 'visitor', id: await idOf('visitor', 'wva'), reason: 'x' }; // one of the kinds
        const dry = await erase(store.db, keys, { ...request, dryRun: true });
        expect(dry?.counts).toEqual({ visitors: 1, messages: 1 });
        expect((await erase(store.db, keys, request))?.counts).toEqual({ visitors: 1, messages: 1 });
        expect(await texts('GUEST')).toBe(0);
    });
    it('goes with the contact that is not linked there', async () => {
        await load([contact('xa'), contact('xb'), visitor('xva', ['xa']), visitor('xvb', ['xb'])]);
        await load([conversation('xk', 'xvb', ['xb']), message('xm', 'xk', 'xva', 'UNLINKED')]);
        await erased('xa');
        expect(await texts('UNLINKED')).toBe(0);
    });
});
describe('after a restore', () => {
    it('nobody gets the id of an erased person, and a certificate never stands for somebody else', async () => {
        const own = await started();
        const older = await started(true);
        try {
            const [organization] = await own.sql `SELECT public_id FROM platform.organization`;
            await older.sql `UPDATE platform.organization SET public_id = ${organization?.['public_id']}`;
            await load([contact('ra')], own);
            const before = await idOf('contact', 'ra', own);
            await erased('ra', { to: own });
            const list = await listErasures(own.db);
            await repeatErasures(older.db, keys, list);
            await load([contact('rb', { name: 'RB' })], older);
            expect(await idOf('contact', 'rb', older)).not.toBe(before);
            // An operator who restored without the list.
            const id = before.split('_')[3] ?? '';
            await older.sql `UPDATE platform.contact SET id = ${id} WHERE external_id = 'rb'`;
            expect(await erased('rb', { to: older })).toMatchObject({ counts: { contacts: 1 } });
            expect(await older.sql `SELECT FROM platform.contact WHERE name = 'RB'`).toEqual([]);
        }
        finally {
            await own.close();
            await older.close();
        }
    });
    it.each(STEPS)('an erasure of which the backup has a part is finished: killed before %s', async (step) => {
        const own = await started();
        try {
            await load([contact('ha'), visitor('hv', ['ha']), conversation('hk', 'hv', ['ha'])], own);
            await load([message('hm', 'hk', 'hv', 'HALF')], own);
            const id = await idOf('contact', 'ha', own);
            const request = { kind: 'contact', id, reason: 'x' }; // one of the kinds
            await expect(erase(dying(own.db, step), keys, request)).rejects.toThrow('killed');
            const list = await listErasures(own.db);
            expect(list.erasures.at(-1)).toMatchObject({ subject: id, finished: false });
            const later = { ...list, erasures: list.erasures.map((one) => ({ ...one, finished: true })) };
            expect(await repeatErasures(own.db, keys, later)).toMatchObject({ erased: [{ kind: 'contact' }], others: [] });
            expect(await texts('HALF', own)).toBe(0);
            expect(await own.sql `SELECT FROM gateway.erasure WHERE finished_at IS NULL`).toEqual([]);
            expect(await own.sql `SELECT FROM platform.contact WHERE deleted`).toEqual([]);
        }
        finally {
            await own.close();
        }
    });
});
//# sourceMappingURL=erasure-races.test.js.map