import { afterAll, beforeAll, expect, it } from 'vitest';
import { makeSignInLink } from '../../../src/auth/sign-in-links.js';
import { forged, look, signedInAs, submit } from '../../support/console/console.js';
import { managedActs, openManaged } from '../../support/console/managed.js';
import { openTestGateway } from '../../support/gateway.js';
import { newClient, newPerson, post, SAME } from '../../support/oauth/oauth.js';
import { openBrowser, PHONE, violations } from '../../support/surfaces/browser.js';
/** Two tabs show the same thing. The one that is sent last knows nothing of the other's change, and must not undo it. */
let gateway;
let world;
let managed;
let browser;
let owner;
let origin;
beforeAll(async () => {
    gateway = await openTestGateway();
    world = await openManaged(gateway);
    managed = await world.plant();
    browser = await openBrowser();
    owner = await signedInAs(gateway);
    origin = `http://127.0.0.1:${gateway.port}`;
});
afterAll(async () => {
    await browser.close();
    await world.close();
    await gateway.close();
});
const withCookie = () => ({ ...SAME, cookie: owner.cookie });
/** Two tabs of a phone's browser, both at the same page. */
async function tabs(path) {
    const context = await browser.newContext({ viewport: PHONE });
    const page = async () => {
        const one = await context.newPage();
        one.setDefaultTimeout(8_000);
        return one;
    };
    const [first, second] = [await page(), await page()];
    const link = await makeSignInLink(gateway.database.db, { person: owner.id, baseUrl: origin });
    await first.goto(link?.url ?? '');
    await first.getByRole('button', { name: 'Sign in' }).click();
    await first.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
    await first.goto(origin + path);
    await second.goto(origin + path);
    return [first, second, () => context.close()];
}
it('a webhook that was changed meanwhile stays, and the form says what is stored now', async () => {
    const { sql } = gateway.database;
    const stored = async () => (await sql `SELECT url, description, event_types FROM gateway.webhook_endpoint WHERE id = ${managed.webhook}`)[0];
    await sql `UPDATE gateway.webhook_endpoint SET event_types = '{visitor.*,capture.*}' WHERE id = ${managed.webhook}`;
    const [first, second, close] = await tabs(`/console/webhooks/${managed.webhook}/edit`);
    await first.getByLabel('Description').fill('of the first tab');
    await first.getByLabel('capture').uncheck();
    await first.getByRole('button', { name: 'Save' }).click();
    await first.getByText('The webhook is changed.').waitFor();
    const before = await stored();
    await second.getByLabel('Description').fill('of the second tab');
    const answered = second.waitForResponse((answer) => answer.request().method() === 'POST');
    await second.getByRole('button', { name: 'Save' }).click();
    expect((await answered).status()).toBe(409);
    await second.getByText('It was changed after this page was shown.').waitFor();
    expect(await stored()).toEqual(before);
    expect(await violations(second)).toEqual([]);
    const now = await second.locator('main dl').innerText();
    expect(now).toMatch(/Events now/i);
    expect([now.includes('of the first tab'), now.includes('capture')]).toEqual([true, false]);
    // Whoever has read it may save the same form again.
    expect(await second.getByLabel('Description').inputValue()).toBe('of the second tab');
    await second.getByRole('button', { name: 'Save' }).click();
    await second.getByText('The webhook is changed.').waitFor();
    expect(await stored()).toMatchObject({ description: 'of the second tab' });
    await close();
});
it('a role that was changed meanwhile stays, and the page shows it', async () => {
    const person = await newPerson(gateway, 'operator');
    const [first, second, close] = await tabs(`/console/people/${person.id}`);
    await first.getByLabel('New role').selectOption('owner');
    await first.getByRole('button', { name: 'Change role' }).click();
    await first.getByText('The role is changed.').waitFor();
    await second.getByLabel('New role').selectOption('admin');
    const answered = second.waitForResponse((answer) => answer.request().method() === 'POST');
    await second.getByRole('button', { name: 'Change role' }).click();
    expect((await answered).status()).toBe(409);
    await second.getByText('The role is owner now.').waitFor();
    expect(await violations(second)).toEqual([]);
    const [row] = await gateway.database.sql `SELECT role FROM gateway.person WHERE id = ${person.id}`;
    expect(row).toEqual({ role: 'owner' });
    expect(await second.getByLabel('New role').inputValue()).toBe('owner');
    await close();
});
it('an operation that another tab or a double click has switched stays so, and the page says what was asked', async () => {
    const { app } = await newClient(gateway);
    const [first, second, close] = await tabs(`/console/apps/${app}/operations?q=websites_list`);
    for (const tab of [first, second])
        await tab.getByRole('button', { name: 'Switch off websites_list' }).click();
    await first.getByText('The operation is switched off').waitFor();
    await second.getByText('The operation is switched off').waitFor();
    const records = await gateway.database.sql `SELECT switched_off FROM gateway.app WHERE id = ${app}`;
    expect(records).toEqual([{ switched_off: ['websites_list'] }]);
    await close();
    const twice = [`/console/apps/${app}/operations/websites_list/off`, `/console/apps/${app}/operations/no_such/on`];
    const answers = twice.map((action) => post(gateway, action, { csrf: forged(owner, action) }, withCookie()));
    expect((await Promise.all(answers)).map(({ status }) => status)).toEqual([303, 409]);
});
it('two forms that are sent at once make one change', async () => {
    const attempt = managedActs(managed)['webhook_update'];
    if (!attempt)
        throw new Error('no such change');
    const send = (n) => submit(gateway, owner, { ...attempt, fields: { ...attempt.fields, description: `at once ${n}` } });
    const { sql } = gateway.database;
    // Both have passed every check of the gateway, and wait for the row.
    const holding = await sql.reserve();
    await holding `BEGIN`;
    await holding `SELECT FROM gateway.webhook_endpoint WHERE id = ${managed.webhook} FOR UPDATE`;
    const both = Promise.all([send(1), send(2)]);
    await expect.poll(async () => (await sql `SELECT FROM pg_locks WHERE NOT granted`).length).toBeGreaterThan(1);
    await holding `COMMIT`;
    holding.release();
    expect((await both).map(({ status }) => status).sort()).toEqual([303, 409]);
});
it('a form without what it has shown, or with nonsense, changes nothing', async () => {
    const person = await newPerson(gateway, 'operator');
    const path = `/console/people/${person.id}`;
    for (const was of ['', 'root', "x' OR 1"]) {
        const answer = await submit(gateway, owner, { page: path, action: `${path}/role`, fields: { role: 'admin', was } });
        expect(answer.status, was).toBe(409);
        const edit = managedActs(managed)['webhook_update'];
        if (!edit)
            throw new Error('no such change');
        const kept = await submit(gateway, owner, { ...edit, fields: { ...edit.fields, was } });
        expect([kept.status, kept.text.includes('It was changed after this page was shown.')], was).toEqual([409, true]);
    }
    expect((await look(gateway, path, owner.cookie)).text).toContain('<option value="operator" selected>');
});
//# sourceMappingURL=two-tabs.test.js.map