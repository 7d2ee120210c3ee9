import { expect, it, vi } from 'vitest';
import { look, signedInAs, submit } from '../../support/console/console.ts';
import { managedActs, openManaged } from '../../support/console/managed.ts';
import { openTestGateway } from '../../support/gateway.ts';
import { type Fields, post, SAME } from '../../support/oauth/oauth.ts';

it('the books have one record of each change, of each page and of each refused change, without what a form holds', async () => {
  const gateway = await openTestGateway('demo', undefined, undefined, {}, undefined, undefined, true);
  const world = await openManaged(gateway);
  const managed = await world.plant();
  const owner = await signedInAs(gateway);
  const act = (name: string, fields: Fields = {}) => {
    const attempt = managedActs(managed)[name];
    if (!attempt) throw new Error(`no act ${name}`);
    return submit(gateway, owner, { ...attempt, fields: { ...attempt.fields, ...fields } });
  };
  const { sql } = gateway.database;
  const [row] = await sql<{ id: string }[]>`SELECT public_id AS id FROM platform.organization WHERE tenant = 1`;
  const organization = row?.id ?? '';
  await act('webhook_disable');
  await act('webhook_create', { url: 'http://zqx9.example/' });
  await sql`UPDATE gateway.session SET created_at = now() - interval '15 minutes' WHERE person_id = ${owner.id}`;
  await act('source_pause');
  const of =
    () => sql`SELECT operation, targets, outcome, status, surface, organization_id, units, credential_id FROM gateway.audit
    WHERE person_id = ${owner.id} ORDER BY time, id`;
  await vi.waitFor(async () => expect(await of()).toHaveLength(6), 3_000);
  const same = { surface: 'page', organization_id: organization, units: 0, credential_id: null };
  expect([...(await of())]).toEqual([
    { operation: 'console_webhook', targets: [managed.webhook], outcome: 'ok', status: 200, ...same },
    { operation: 'webhook_disable', targets: [managed.webhook], outcome: 'ok', status: 303, ...same },
    { operation: 'console_webhook_new', targets: [], outcome: 'ok', status: 200, ...same },
    { operation: 'webhook_create', targets: [], outcome: 'invalid_request', status: 400, ...same },
    { operation: 'console_source', targets: [managed.source], outcome: 'ok', status: 200, ...same },
    { operation: 'source_pause', targets: [managed.source], outcome: 'not_permitted', status: 403, ...same },
  ]);
  expect(JSON.stringify(await sql`SELECT * FROM gateway.audit`)).not.toContain('zqx9');
  await sql`UPDATE gateway.session SET created_at = now() WHERE person_id = ${owner.id}`;
  const enabled = async () => [...(await sql`SELECT * FROM gateway.webhook_endpoint WHERE id = ${managed.disabled}`)];
  const before = await enabled();
  await sql`ALTER TABLE gateway.audit RENAME TO audit_away`;
  await look(gateway, '/console/webhooks', owner.cookie);
  await vi.waitFor(() => expect(gateway.trail?.stuck).toBe(true), 6_000);
  const { status, headers, text } = await act('webhook_enable');
  expect([status, headers['retry-after'], text.includes('Nothing was changed.')]).toEqual([503, '5', true]);
  expect(await enabled()).toEqual(before);
  await sql`ALTER TABLE gateway.audit_away RENAME TO audit`;
  await vi.waitFor(() => expect(gateway.trail?.stuck).toBe(false), 6_000);
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
  await sql`ALTER TABLE gateway.webhook_endpoint RENAME TO away`;
  expect((await look(gateway, '/console/webhooks', owner.cookie)).status).toBeGreaterThanOrEqual(500);
  await sql`ALTER TABLE gateway.away RENAME TO webhook_endpoint`;
  await post(gateway, '/console/sign-out', {}, { ...SAME, cookie: owner.cookie });
  const of = () => sql`SELECT operation, targets, outcome FROM gateway.audit
    WHERE person_id = ${owner.id} ORDER BY time, id`;
  await vi.waitFor(async () => expect(await of()).toHaveLength(6), 3_000);
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
