import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { digestOf } from '../../../src/auth/tokens.js';
import { decide, listApprovals } from '../../../src/gateway/approvals.js';
import { upkeep } from '../../../src/gateway/upkeep.js';
import { erase } from '../../../src/privacy/erase.js';
import { eraseOutcomes } from '../../../src/store/calls/ledger.js';
import { stuckOperations } from '../../../src/store/doctor/doctor.js';
import { addRival, RIVAL, signedInAs } from '../../support/console/console.js';
import { openTestGateway } from '../../support/gateway.js';
import { KEYS } from '../../support/keys.js';
import { asked, asker, effectsOf, freshKey, send, statusOf, visitorOf, } from '../../support/ledger/approvals.js';
import { disposition, note, SITE } from '../../support/ledger/commands.js';
/** A write runs only under the authority of the moment in which it is approved. */
let gateway;
beforeAll(async () => {
    gateway = await openTestGateway();
});
afterAll(() => gateway.close());
const approve = (id) => decide({ db: gateway.database.db, registry: gateway.corridor.registry }, id, true, () => undefined);
const stateOf = async (id) => {
    const [one] = await listApprovals({ db: gateway.database.db, registry: gateway.corridor.registry }, { id });
    return one && [one.state, one.lapsed_because, one.command];
};
describe('a pending write is void', () => {
    const CHANGES = [
        [
            'fewer scopes',
            (by) => gateway.database.sql `UPDATE gateway.credential SET scopes = '{website_read}' WHERE id = ${by.credential}`,
        ],
        [
            'more scopes',
            (by) => gateway.database.sql `UPDATE gateway.credential SET data_access = '{pii}' WHERE id = ${by.credential}`,
        ],
        [
            'no website',
            (by) => gateway.database.sql `UPDATE gateway.credential SET sites = '{2}' WHERE id = ${by.credential}`,
        ],
        [
            'revocation',
            (by) => gateway.database.sql `UPDATE gateway.credential SET revoked_at = now() WHERE id = ${by.credential}`,
        ],
        [
            'expiry',
            (by) => gateway.database.sql `UPDATE gateway.credential SET expires_at = now() WHERE id = ${by.credential}`,
        ],
        [
            'no approval any more',
            (by) => gateway.database.sql `UPDATE gateway.credential SET approve = '{}' WHERE id = ${by.credential}`,
        ],
        [
            'the tool switched off',
            (by) => gateway.database.sql `UPDATE gateway.app SET switched_off = '{visitor_note_add}' WHERE id = ${by.app}`,
        ],
        ['deletion', (by) => gateway.database.sql `DELETE FROM gateway.credential WHERE id = ${by.credential}`],
    ];
    it.each(CHANGES)('after a change of its credential: %s', async (what, change) => {
        const by = await asker(gateway);
        const [first, second] = [
            await asked(gateway, by, note(`Void ${what}`)),
            await asked(gateway, by, note(`Void too ${what}`)),
        ];
        await change(by);
        expect(await stateOf(first)).toMatchObject(['lapsed', null, { text: `Void ${what}` }]);
        expect(await approve(first)).toEqual({ state: 'lapsed' });
        expect(await stateOf(first)).toEqual(['lapsed', 'authority', null]);
        // Upkeep ends the others, and their texts go.
        await upkeep({ db: gateway.database.db, registry: gateway.corridor.registry });
        expect(await stateOf(second)).toEqual(['lapsed', 'authority', null]);
        for (const text of [`Void ${what}`, `Void too ${what}`])
            expect((await effectsOf(gateway.database, text)).notes).toBe(0);
    });
    it('after the end of the consent that it was asked under', async () => {
        const by = await asker(gateway);
        const id = await asked(gateway, by, note('Consent gone'));
        await gateway.database
            .sql `UPDATE gateway.approval SET consent_id = ${`cns_${'0'.repeat(32)}`} WHERE operation_id = ${id}`;
        expect(await approve(id)).toEqual({ state: 'lapsed' });
        expect((await effectsOf(gateway.database, 'Consent gone')).notes).toBe(0);
    });
    it('and does not count among the 100 of the new revision', async () => {
        const by = await asker(gateway);
        for (let i = 0; i < 100; i++)
            await asked(gateway, by, disposition('resolved'));
        expect((await send(gateway, by, disposition('resolved'))).code).toBe('approval_limit');
        await gateway.database
            .sql `UPDATE gateway.credential SET updated_at = clock_timestamp() WHERE id = ${by.credential}`;
        expect((await send(gateway, by, disposition('resolved'))).status).toBe(202);
    });
});
describe('at the approval', () => {
    it('without an author, the write waits until there is one again', async () => {
        const by = await asker(gateway);
        const id = await asked(gateway, by, note('No author'));
        await gateway.database.sql `DELETE FROM gateway.native_author WHERE credential_id = ${by.credential}`;
        expect(await approve(id)).toEqual({ state: 'refused', code: 'enrollment_unavailable' });
        expect((await effectsOf(gateway.database, 'No author')).notes).toBe(0);
        await gateway.database.sql `INSERT INTO gateway.native_author (credential_id, tenant, site, operator_id)
      VALUES (${by.credential}, 1, 1, 2)`;
        expect(await approve(id)).toMatchObject({ state: 'performed' });
        const [row] = await gateway.database.sql `SELECT operator_id FROM platform.note WHERE text = 'No author'`;
        expect(row?.['operator_id']).toBe('2');
    });
    it('a record that has left the restrictions of the credential is not found', async () => {
        const [row] = await gateway.database.sql `
      SELECT id, channel_id FROM platform.conversation WHERE (tenant, site) = (1, 1) AND channel_id IS NOT NULL ORDER BY id LIMIT 1`;
        const { id: record = '', channel_id: channel = '' } = row ?? {};
        const by = await asker(gateway, ['conversation_disposition_set'], { channels: [`chn_1_1_${channel}`] });
        const id = await asked(gateway, by, disposition('spam', `cnv_1_1_${record}`));
        await gateway.database
            .sql `UPDATE platform.conversation SET channel_id = NULL WHERE (tenant, site, id) = (1, 1, ${record})`;
        expect(await approve(id)).toEqual({ state: 'refused', code: 'not_found' });
        const [after] = await gateway.database
            .sql `SELECT disposition FROM platform.conversation WHERE (tenant, site, id) = (1, 1, ${record})`;
        expect(after?.['disposition']).not.toBe('spam');
    });
    it('a request without an author never waits', async () => {
        const by = await asker(gateway, undefined, { authors: [] });
        expect((await send(gateway, by, note('Nobody writes'))).code).toBe('enrollment_unavailable');
    });
});
describe('an owner or admin', () => {
    const decideAs = async (id, role, at = {}) => {
        const person = await signedInAs(gateway, role, at);
        const secret = person.cookie.replace('igw_session=', '');
        const by = { digest: digestOf(secret), personId: person.id, tenant: String(at.tenant ?? 1) };
        const desk = { db: gateway.database.db, registry: gateway.corridor.registry, by };
        return decide(desk, id, true, () => undefined);
    };
    it('decides only in the own organization, in the role, and soon after the sign-in', async () => {
        await addRival(gateway);
        const by = await asker(gateway);
        const id = await asked(gateway, by, note('Decided by a person'));
        expect(await decideAs(id, 'owner', { tenant: RIVAL })).toEqual({ state: 'gone' });
        expect(await decideAs(id, 'operator')).toEqual({ state: 'gone' });
        expect(await decideAs(id, 'admin', { age: 901 })).toEqual({ state: 'gone' });
        expect((await effectsOf(gateway.database, 'Decided by a person')).notes).toBe(0);
        expect(await decideAs(id, 'admin', { age: 890 })).toMatchObject({ state: 'performed' });
        const [approval] = await listApprovals({ db: gateway.database.db, registry: gateway.corridor.registry }, { id });
        expect([approval?.state, approval?.decided_by]).toEqual(['approved', expect.stringContaining('@')]);
        expect((await effectsOf(gateway.database, 'Decided by a person')).notes).toBe(1);
    });
});
describe('what the store keeps', () => {
    it('goes with the decision, and with the erasure of the person', async () => {
        const by = await asker(gateway);
        const [secret, erased] = ['Text of a decided write', 'Text about an erased person'];
        const done = await asked(gateway, by, note(secret));
        expect(await approve(done)).toMatchObject({ state: 'performed' });
        const visitor = await visitorOf(gateway.database);
        const key = freshKey();
        const id = await asked(gateway, by, note(erased, visitor), key);
        await erase(gateway.database.db, KEYS, { kind: 'visitor', id: visitor, reason: 'test', dryRun: false });
        expect(await stateOf(id)).toEqual(['lapsed', 'erased', null]);
        expect(await statusOf(gateway, by, id)).toBe('lapsed');
        expect(await approve(id)).toEqual({ state: 'decided', approval: 'lapsed' });
        const rows = await gateway.database
            .sql `SELECT a::text AS row FROM gateway.approval a WHERE operation_id IN ${gateway.database.sql([done, id])}`;
        expect(rows).toHaveLength(2);
        for (const text of [secret, erased])
            expect(JSON.stringify(rows)).not.toContain(text);
    });
    /** Waits until a statement waits for a lock, or until `work` ends. */
    const blocked = async (work) => {
        let done = false;
        const over = () => {
            done = true;
        };
        void work.then(over, over);
        const { sql } = gateway.database;
        while (!done) {
            const waits = await sql `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
            if (waits.length > 0)
                return;
        }
    };
    it('is no text that comes while the person is erased', async () => {
        const by = await asker(gateway);
        const visitor = await visitorOf(gateway.database);
        const native = visitor.split('_').at(-1) ?? '';
        let sent;
        await gateway.database.sql.begin(async (sql) => {
            await sql `UPDATE platform.visitor SET external_id = 'erased:race' WHERE (tenant, site, id) = (1, 1, ${native})`;
            sent = send(gateway, by, note('Comes while erased', visitor));
            await blocked(sent);
        });
        expect(await sent).toMatchObject({ status: 404, code: 'not_found' });
        const rows = await gateway.database
            .sql `SELECT FROM gateway.approval WHERE command ->> 'text' = 'Comes while erased'`;
        expect(rows).toHaveLength(0);
    });
    it('lapses with an erasure that comes during the decision, and neither deadlocks', async () => {
        const by = await asker(gateway);
        const [row] = await gateway.database.sql `SELECT id FROM platform.conversation
      WHERE (tenant, site) = (1, 1) AND visitor_id IS NOT NULL ORDER BY id DESC LIMIT 1`;
        const id = await asked(gateway, by, disposition('spam', `cnv_1_1_${row?.id}`));
        let deciding;
        await gateway.database.sql.begin(async (sql) => {
            await sql `SELECT FROM platform.conversation WHERE (tenant, site, id) = (1, 1, ${row?.id ?? ''}) FOR UPDATE`;
            deciding = approve(id);
            await blocked(deciding);
            // In a deadlock, PostgreSQL would now end the erasure and not the decision, which has looked for one before.
            await sql `SELECT pg_sleep(1.5)`;
            await sql `UPDATE platform.conversation SET external_id = 'erased:decided' WHERE (tenant, site, id) = (1, 1, ${row?.id ?? ''})`;
        });
        expect(await deciding).toEqual({ state: 'decided', approval: 'lapsed' });
        expect(await stateOf(id)).toEqual(['lapsed', 'erased', null]);
    });
    it('tells that it has lapsed, also if another process forgets old outcomes first', async () => {
        const by = await asker(gateway);
        const key = freshKey();
        const id = await asked(gateway, by, note('Old and waiting'), key);
        const { sql, db } = gateway.database;
        await sql `UPDATE gateway.approval SET requested_at = requested_at - interval '25 hours' WHERE operation_id = ${id}`;
        await sql `UPDATE gateway.operation SET created_at = created_at - interval '25 hours' WHERE operation_id = ${id}`;
        await eraseOutcomes(db, 1_000);
        expect((await send(gateway, by, note('Old and waiting'), key)).code).toBe('approval_lapsed');
        await upkeep({ db, registry: gateway.corridor.registry });
        expect(await statusOf(gateway, by, id)).toBe('lapsed');
    });
    it('is no stuck write for the doctor, however long it waits', async () => {
        const by = await asker(gateway);
        const id = await asked(gateway, by, note('Waits for long'));
        await gateway.database
            .sql `UPDATE gateway.operation SET created_at = created_at - interval '1 hour' WHERE operation_id = ${id}`;
        expect(await stuckOperations(gateway.database.db)).toBe(0);
        await gateway.database
            .sql `UPDATE gateway.approval SET state = 'approved', decided_at = now() WHERE operation_id = ${id}`;
        expect(await stuckOperations(gateway.database.db)).toBe(1);
        await gateway.database.sql `DELETE FROM gateway.operation WHERE operation_id = ${id}`;
    });
    it('is seen by no other credential', async () => {
        const [by, other] = [await asker(gateway), await asker(gateway)];
        const key = freshKey();
        const id = await asked(gateway, by, note('Mine'), key);
        expect(await statusOf(gateway, other, id)).toBe('404');
        const theirs = await send(gateway, other, note('Mine'), key);
        expect([theirs.status, theirs.id === id]).toEqual([202, false]);
        const found = await gateway.ask(`/api/v1/operations?website_id=${SITE}&idempotency_key=${key}`, {
            token: by.token,
        });
        expect(found.body.data).toMatchObject({ operation_id: id, status: 'pending' });
    });
});
//# sourceMappingURL=hostile.test.js.map