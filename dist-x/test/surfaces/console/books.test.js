import { expect, it } from 'vitest';
import { look, signedInAs, submit } from '../../support/console/console.js';
import { MANAGED_NAMES, managedActs, managedState, openManaged } from '../../support/console/managed.js';
import { eventually } from '../../support/eventually.js';
import { openTestGateway } from '../../support/gateway.js';
import { post, SAME } from '../../support/oauth/oauth.js';
it('the books have one record of each change, of each page and of each refused change, without what a form holds', async () => {
    const gateway = await openTestGateway('demo', undefined, undefined, {}, undefined, undefined, true);
    const world = await openManaged(gateway);
    const managed = await world.plant();
    const owner = await signedInAs(gateway);
    const act = (name, fields = {}) => {
        const attempt = managedActs(managed)[name];
        if (!attempt)
            throw new Error(`no act ${name}`);
        return submit(gateway, owner, { ...attempt, fields: { ...attempt.fields, ...fields } });
    };
    const { sql } = gateway.database;
    const [row] = await sql `SELECT public_id AS id FROM platform.organization WHERE tenant = 1`;
    const organization = row?.id ?? '';
    await act('webhook_disable');
    await act('webhook_create', { url: 'http://zqx9.example/' });
    await sql `UPDATE gateway.session SET created_at = now() - interval '15 minutes' WHERE person_id = ${owner.id}`;
    await act('source_pause');
    const of = () => sql `SELECT operation, targets, outcome, status, surface, organization_id, units, credential_id FROM gateway.audit
    WHERE person_id = ${owner.id} ORDER BY time, id`;
    await eventually(async () => expect(await of()).toHaveLength(6));
    const same = { surface: 'page', organization_id: organization, units: 0, credential_id: null };
    expect([...(await of())]).toEqual([
        { operation: 'console_webhook', targets: [managed.webhook], outcome: 'ok', status: 200, ...same },
        { operation: 'webhook_disable', targets: [managed.webhook], outcome: 'ok', status: 303, ...same },
        { operation: 'console_webhook_new', targets: [], outcome: 'ok', status: 200, ...same },
        { operation: 'webhook_create', targets: [], outcome: 'invalid_request', status: 400, ...same },
        { operation: 'console_source', targets: [managed.source], outcome: 'ok', status: 200, ...same },
        { operation: 'source_pause', targets: [managed.source], outcome: 'not_permitted', status: 403, ...same },
    ]);
    expect(JSON.stringify(await sql `SELECT * FROM gateway.audit`)).not.toContain('zqx9');
    await sql `UPDATE gateway.session SET created_at = now() WHERE person_id = ${owner.id}`;
    const enabled = async () => [...(await sql `SELECT * FROM gateway.webhook_endpoint WHERE id = ${managed.disabled}`)];
    const before = await enabled();
    await sql `ALTER TABLE gateway.audit RENAME TO audit_away`;
    await look(gateway, '/console/webhooks', owner.cookie);
    await eventually(() => expect(gateway.trail?.stuck).toBe(true));
    const { status, headers, text } = await act('webhook_enable');
    expect([status, headers['retry-after'], text.includes('Nothing was changed.')]).toEqual([503, '5', true]);
    expect(await enabled()).toEqual(before);
    await sql `ALTER TABLE gateway.audit_away RENAME TO audit`;
    await eventually(() => expect(gateway.trail?.stuck).toBe(false));
    expect((await act('webhook_enable')).status).toBe(303);
    await world.close();
    await gateway.close();
});
it('the books have failed pages, wrong tokens, exports and the way out, and the parts of a target singly', async () => {
    const gateway = await openTestGateway('demo', undefined, undefined, {}, undefined, undefined, true);
    const { app } = await gateway.issue({ scopes: ['website_read'] });
    const owner = await signedInAs(gateway);
    const { sql } = gateway.database;
    const page = `/console/apps/${app}/operations`;
    await submit(gateway, owner, { page: `${page}?q=contact_get`, action: `${page}/contact_get/off` });
    await post(gateway, `${page}/contact_get/on`, { csrf: 'wrong' }, { ...SAME, cookie: owner.cookie });
    await look(gateway, '/console/people?format=csv', owner.cookie);
    await sql `ALTER TABLE gateway.webhook_endpoint RENAME TO away`;
    expect((await look(gateway, '/console/webhooks', owner.cookie)).status).toBeGreaterThanOrEqual(500);
    await sql `ALTER TABLE gateway.away RENAME TO webhook_endpoint`;
    await post(gateway, '/console/sign-out', {}, { ...SAME, cookie: owner.cookie });
    const of = () => sql `SELECT operation, targets, outcome FROM gateway.audit
    WHERE person_id = ${owner.id} ORDER BY time, id`;
    await eventually(async () => expect(await of()).toHaveLength(6));
    expect([...(await of())]).toEqual([
        { operation: 'console_operations', targets: [app], outcome: 'ok' },
        { operation: 'operation_switch_off', targets: [app, 'contact_get'], outcome: 'ok' },
        { operation: 'operation_switch_on', targets: [app, 'contact_get'], outcome: 'invalid_request' },
        { operation: 'console_people_export', targets: [], outcome: 'ok' },
        { operation: 'console_webhooks', targets: [], outcome: expect.not.stringMatching(/^ok$/) },
        { operation: 'console_sign_out', targets: [], outcome: 'ok' },
    ]);
    await gateway.close();
});
/** These send something, and change no right. Their record follows. */
const AFTERWARDS = ['webhook_test', 'webhook_replay'];
it('a change of the console whose record cannot be written does not happen', async () => {
    const gateway = await openTestGateway('demo', undefined, undefined, {}, undefined, undefined, true);
    const world = await openManaged(gateway);
    const { sql } = gateway.database;
    const colleague = await signedInAs(gateway, 'admin');
    const { app, credential } = await gateway.issue({ scopes: ['website_read'] });
    const operations = `/console/apps/${app}/operations`;
    const person = `/console/people/${colleague.id}`;
    const others = {
        operation_switch_off: { page: `${operations}?q=contact_get`, action: `${operations}/contact_get/off` },
        operation_switch_on: { page: `${operations}?q=contact_get`, action: `${operations}/contact_get/on` },
        person_add: {
            page: '/console/people/add',
            action: '/console/people/add/send',
            fields: { email: 'zqx8@example.com', role: 'admin' },
        },
        person_role: { page: person, action: `${person}/role`, fields: { role: 'owner', was: 'admin' } },
        person_disable: { page: person, action: `${person}/disable` },
        person_enable: { page: person, action: `${person}/enable` },
        credential_revoke: { page: `/console/apps/${app}`, action: `/console/credentials/${credential}/revoke` },
    };
    const names = [...MANAGED_NAMES.filter((name) => !AFTERWARDS.includes(name)), ...Object.keys(others)];
    expect(names.length).toBeGreaterThan(18);
    const state = async () => JSON.stringify([
        ...(await managedState(gateway)),
        await sql `SELECT * FROM gateway.app ORDER BY id`,
        await sql `SELECT * FROM gateway.credential ORDER BY id`,
        await sql `SELECT * FROM gateway.person ORDER BY id`,
    ]);
    for (const name of names) {
        const managed = await world.plant();
        // A person may ask for 60 pages at once, so each change has an owner of its own.
        const owner = await signedInAs(gateway);
        const attempt = others[name] ?? managedActs(managed)[name] ?? expect.fail(name);
        const before = await state();
        await sql.unsafe(`ALTER TABLE gateway.audit ADD CONSTRAINT away CHECK (outcome <> 'ok' OR operation <> '${name}')`);
        const refused = await submit(gateway, owner, attempt);
        expect([name, refused.status, await state()]).toEqual([name, 503, before]);
        await sql `ALTER TABLE gateway.audit DROP CONSTRAINT away`;
        expect([name, (await submit(gateway, owner, attempt)).status < 400]).toEqual([name, true]);
        expect(await state(), name).not.toBe(before);
        // It is there with the change, before the process seals anything.
        const kept = await sql `SELECT targets, surface, person_id FROM gateway.audit WHERE operation = ${name} AND outcome = 'ok'`;
        expect([name, ...kept]).toEqual([
            name,
            {
                surface: 'page',
                person_id: owner.id,
                targets: [expect.stringMatching(/^(app|crd|prs|whk|src)_[0-9a-f]{32}$/)].concat(name.startsWith('operation') ? ['contact_get'] : []),
            },
        ]);
    }
    await eventually(async () => {
        const [left] = await sql `SELECT count(*)::integer AS n FROM gateway.audit WHERE seq IS NULL`;
        expect(left).toEqual({ n: 0 });
    });
    await world.close();
    await gateway.close();
});
//# sourceMappingURL=books.test.js.map