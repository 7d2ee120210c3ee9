import { expect } from 'vitest';
import { PASSWORD } from './oauth.js';
/**
 * Does what a person does in a browser: opens the authorization request, signs in if necessary, ticks and approves.
 * Returns the parameters that the browser carries to the client.
 */
export async function approve(context, url, email, { host, redirect, scopes }) {
    const page = await context.newPage();
    page.setDefaultTimeout(10_000);
    await page.goto(String(url));
    if ((await page.getByLabel('Password').count()) > 0) {
        await page.getByLabel('E-mail').fill(email);
        await page.getByLabel('Password').fill(PASSWORD);
        await Promise.all([page.waitForURL('**/oauth/authorize?*'), page.getByRole('button', { name: 'Sign in' }).click()]);
    }
    expect(await page.getByRole('heading', { level: 1 }).textContent()).toBe(`Approve access for ${host}?`);
    expect(await page.locator('input:checked').count()).toBe(0);
    for (const one of scopes)
        await page.check(`[name=scope][value=${one}]`);
    await page.check('[name=website_id][value=web_1_1]');
    await page.check('[name=data_access][value=pii]');
    await page.check('[name=duration][value="30d"]');
    const told = context.waitForEvent('request', (one) => one.url().startsWith(`${redirect}?`));
    await page.getByRole('button', { name: 'Approve' }).click();
    const answer = new URL((await told).url()).searchParams;
    await page.close();
    return answer;
}
//# sourceMappingURL=approve.js.map