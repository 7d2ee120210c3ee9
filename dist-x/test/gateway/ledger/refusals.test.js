import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CRM_CONVERSATION, detection, disposition, note, plan } from '../../support/ledger/commands.js';
import { openWorld, SURFACES } from '../../support/ledger/world.js';
/**
 * Tests what a failed write leaves behind. A refused write leaves nothing. A write that fails after its start leaves
 * its outcome.
 */
let world;
let writer;
let count = 0;
const fresh = () => `key-${++count}`;
beforeAll(async () => {
    world = await openWorld();
    writer = await world.writer();
});
afterAll(() => world.close());
describe('ID-06 what is refused consumes nothing', () => {
    it.each(SURFACES)('%s: an input that does not fit', async (surface) => {
        for (const [bad, good] of [
            [note('x'.repeat(4001)), note(`Fits ${surface}`)],
            [note(' \u00a0\u2003'), note(`Not blank ${surface}`)],
            [disposition(''), disposition('resolved')],
            [detection('x', 0), detection(`Version ${surface}`)],
            [plan('x'.repeat(201)), plan(`Plan ${surface}`)],
        ]) {
            const [key, rows] = [fresh(), await world.rows()];
            const refused = await world.write(surface, bad, { ...writer, key });
            expect([refused.status, refused.operationId]).toEqual([400, undefined]);
            expect(await world.rows()).toBe(rows);
            const done = await world.write(surface, good, { ...writer, key });
            expect([done.status, done.replayed]).toEqual([200, false]);
        }
    });
    it.each(SURFACES)('%s: 404, until the record is there', async (surface) => {
        const { sql } = world.gateway.database;
        const key = fresh();
        for (const unknown of [
            note('x', 'vis_1_1_999999'),
            disposition('resolved', 'cnv_1_1_999999'),
            detection('x', 1, 'aif_1_1_999'),
        ]) {
            const rows = await world.rows();
            const refused = await world.write(surface, unknown, { ...writer, key });
            expect([refused.status, refused.code, refused.operationId]).toEqual([404, 'not_found', undefined]);
            expect(await world.rows()).toBe(rows);
        }
        const id = surface === 'REST' ? 90_001 : 90_002;
        await sql `INSERT INTO platform.visitor SELECT (jsonb_populate_record(v, ${sql.json({ id, external_id: `v${id}` })})).*
      FROM platform.visitor v WHERE tenant = 1 AND site = 1 LIMIT 1`;
        const command = note(`To ${id}`, `vis_1_1_${id}`);
        expect((await world.write(surface, command, { ...writer, key })).status).toBe(404);
        await sql `UPDATE platform.conversation SET visitor_id = ${id} WHERE tenant = 1 AND site = 1
      AND id = ${surface === 'REST' ? 12 : 8}`;
        const done = await world.write(surface, command, { ...writer, key });
        expect([done.status, done.replayed]).toEqual([200, false]);
    });
    it.each(SURFACES)('%s: 422 of a feature that cannot be executed, until it can', async (surface) => {
        const { sql } = world.gateway.database;
        const [key, rows] = [fresh(), await world.rows()];
        const command = detection('Text', 1, surface === 'REST' ? 'aif_1_1_7' : 'aif_1_1_15');
        const refused = await world.write(surface, command, { ...writer, key });
        expect([refused.status, refused.code, refused.operationId]).toEqual([422, 'adapter_not_available', undefined]);
        expect(await world.rows()).toBe(rows);
        await sql `UPDATE platform.ai_feature SET type = 'language_detection' WHERE tenant = 1 AND site = 1
      AND id = ${surface === 'REST' ? 7 : 15}`;
        expect((await world.write(surface, command, { ...writer, key })).status).toBe(200);
    });
});
describe('what the native state rejects is an outcome', () => {
    const rejected = [
        [
            'an unknown disposition',
            disposition('brand-new'),
            `UPDATE platform.disposition SET value = 'brand-new' WHERE site = 1 AND value = 'spam'`,
        ],
        ['a disabled disposition', disposition('callback-2023'), 'UPDATE platform.disposition SET enabled = true'],
        [
            'a website under a CRM',
            disposition('resolved', CRM_CONVERSATION),
            'UPDATE platform.website SET crm_integrated = false',
        ],
        [
            'a version to come',
            detection('Text', 9, 'aif_1_2_3'),
            `UPDATE platform.ai_feature SET versions = versions || 9, active_version = 9 WHERE site = 2 AND id = 3`,
        ],
        [
            'a plan of a version to come',
            plan('New', 9, 'aif_1_2_1'),
            `UPDATE platform.ai_feature SET versions = versions || 9, active_version = 9 WHERE site = 2 AND id = 1`,
        ],
        [
            'a feature that is off',
            detection('Text', 1, 'aif_1_1_11'),
            `UPDATE platform.ai_feature SET type = 'language_detection', enabled = true WHERE site = 1 AND id = 11`,
        ],
    ];
    it.each(rejected)('%s: stored, and replayed when the state would allow it', async (what, command, allow) => {
        const { sql } = world.gateway.database;
        if (what === 'a feature that is off') {
            await sql `UPDATE platform.ai_feature SET type = 'language_detection' WHERE tenant = 1 AND site = 1 AND id = 11`;
        }
        const key = fresh();
        const first = await world.write('REST', command, { ...writer, key });
        expect([first.status, first.code, first.replayed]).toEqual([409, 'operation_conflict', false]);
        expect(first.operationId).toMatch(/^op_/);
        await sql.unsafe(allow);
        const journal = [await world.journal(1), await world.journal(2)];
        for (const surface of SURFACES) {
            const again = await world.write(surface, command, { ...writer, key });
            expect([again.status, again.code, again.operationId]).toEqual([409, 'operation_conflict', first.operationId]);
            expect(again.replayed).toBe(surface === 'REST');
        }
        expect([await world.journal(1), await world.journal(2)]).toEqual(journal);
        const anew = await world.write('REST', command, { ...writer, key: fresh() });
        expect(anew.status).toBe(200);
    });
});
//# sourceMappingURL=refusals.test.js.map