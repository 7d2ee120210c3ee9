import { afterAll, beforeAll, expect, it } from 'vitest';
import { openTestGateway } from '../support/gateway.js';
/** A credential outlives its only website. `source remove --with-data` deletes a website with all its records. */
let gateway;
let token;
beforeAll(async () => {
    gateway = await openTestGateway();
    ({ token } = await gateway.issue({ websites: ['web_1_2'] }));
    await gateway.database.sql `DELETE FROM platform.website WHERE tenant = 1 AND site = 2`;
});
afterAll(() => gateway.close());
it.each([
    'context',
    'websites',
    'search?query=order',
    'customers?name=jane',
    'customers?email=jane@example.com',
    'conversations/count',
])('without a website, %s answers with nothing', async (path) => {
    const { status, text } = await gateway.ask(`/api/v1/${path}`, { token });
    expect(status, text).toBe(200);
});
it.each([
    'conversations?website_id=web_1_2',
    'conversations/cnv_1_2_1',
    'fetch?id=cnv_1_2_1',
    'health?website_id=web_1_2',
])('without a website, %s answers with 404', async (path) => {
    const { status, body } = await gateway.ask(`/api/v1/${path}`, { token });
    expect([status, body.code]).toEqual([404, 'not_found']);
});
//# sourceMappingURL=deleted-website.test.js.map