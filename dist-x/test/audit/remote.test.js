import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { upkeep } from '../../src/gateway/upkeep.js';
import { auditOf } from '../support/audit.js';
import { eventually } from '../support/eventually.js';
import { openTestGateway } from '../support/gateway.js';
import { KEYS } from '../support/keys.js';
import { helpdeskWriter, openHelpdesk } from '../support/ledger/helpdesk.js';
import { examples, freshKey, writer } from '../support/surfaces/wire.js';
/** E6: the record of a write that another system performs commits with the outcome, whoever stores it. */
let gateway;
let helpdesk;
let own;
let note;
beforeAll(async () => {
    helpdesk = await openHelpdesk();
    gateway = await openTestGateway('demo', undefined, KEYS, {}, undefined, helpdeskWriter(helpdesk), true);
    own = await writer(gateway);
    note = (await examples(gateway)).find(({ tool }) => tool.name === 'visitor_note_add') ?? expect.fail();
});
beforeEach(() => gateway.database.sql `DELETE FROM gateway.audit`);
afterAll(async () => {
    await gateway.close();
    await helpdesk.close();
});
const add = () => gateway.ask(note.url, {
    token: own.token,
    body: { text: 'zqx7canary' },
    headers: { 'idempotency-key': freshKey(), 'user-agent': 'probe/1.2' },
});
async function records(n) {
    await eventually(async () => expect(await auditOf(gateway.database)).toHaveLength(n));
    return auditOf(gateway.database);
}
it('an effect, a rejection and a refusal leave one record each', async () => {
    await add();
    expect(await records(1)).toMatchObject([
        { operation: 'visitor_note_add', outcome: 'ok', status: 200, client_name: 'probe', credential_id: own.credential },
    ]);
    await gateway.database.sql `DELETE FROM gateway.audit`;
    helpdesk.mood('reject');
    await add();
    expect(await records(1)).toMatchObject([
        { outcome: 'operation_conflict', status: 409, operation_id: expect.anything() },
    ]);
    await gateway.database.sql `DELETE FROM gateway.audit`;
    helpdesk.mood('refuse');
    await add();
    expect(await records(1)).toMatchObject([{ outcome: 'native_unavailable', status: 503 }]);
});
it('an outcome that is found later has its record, with the request that asked for it', async () => {
    helpdesk.mood('perform and lose');
    const lost = await add();
    expect(lost.body.code).toBe('outcome_unknown');
    const [unknown] = await records(1);
    expect(unknown).toMatchObject({ outcome: 'outcome_unknown', status: 409 });
    const { sql, db } = gateway.database;
    await sql `UPDATE gateway.operation SET lease_until = now() - interval '1 second' WHERE status = 'outcome_unknown'`;
    await upkeep({ db, registry: gateway.corridor.registry, remote: helpdeskWriter(helpdesk) });
    const found = (await records(2)).find(({ outcome }) => outcome === 'ok');
    expect(found).toMatchObject({
        ...{ operation_id: unknown?.['operation_id'], request_id: unknown?.['request_id'], client_name: 'probe' },
        status: 200,
    });
    const [left] = await sql `SELECT count(audit)::integer AS drafts FROM gateway.operation`;
    expect(left).toEqual({ drafts: 0 });
});
//# sourceMappingURL=remote.test.js.map