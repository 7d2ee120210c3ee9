import { readFile } from 'node:fs/promises';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { packageRoot } from '../../src/config/package.js';
import { addresses, welcome } from '../../src/process/welcome.js';
import { BASE_URL, openTestGateway } from '../support/gateway.js';
let gateway;
let token;
beforeAll(async () => {
    gateway = await openTestGateway();
    ({ token } = await gateway.issue());
});
afterAll(() => gateway.close());
/** The client configurations in a text: JSON objects with `mcpServers`, or with `servers` after `inputs`. */
const configurations = (text) => [...text.matchAll(/\{\s*"(?:mcpServers|servers|inputs)":/g)].flatMap(({ index }) => {
    const { mcpServers, servers } = JSON.parse(text.slice(index, closing(text, index)));
    return Object.values(mcpServers ?? servers);
});
/** The position after the brace that closes the brace at `from`. No string of the configurations has a single brace. */
function closing(text, from) {
    let depth = 0;
    for (let at = from; at < text.length; at++) {
        if (text[at] === '{')
            depth++;
        else if (text[at] === '}' && --depth === 0)
            return at + 1;
    }
    return -1;
}
describe('what the first start prints', () => {
    it('is a configuration with which a client connects, and a request that answers', async () => {
        const text = welcome(BASE_URL, { token, website: 'web_1_1' });
        const [entry, ...others] = configurations(text);
        expect(others).toEqual([]);
        expect(entry).toEqual({ type: 'http', url: `${BASE_URL}/mcp`, headers: { Authorization: `Bearer ${token}` } });
        const url = new URL(String(entry?.url).replace(BASE_URL, `http://127.0.0.1:${gateway.port}`));
        const client = new Client({ name: 'newcomer', version: '1.0.0' });
        const transport = new StreamableHTTPClientTransport(url, { requestInit: { headers: { ...entry?.headers } } });
        // The SDK's class and the SDK's interface disagree under exactOptionalPropertyTypes.
        await client.connect(transport);
        expect((await client.listTools()).tools.length).toBe(gateway.corridor.registry.tools.length);
        await client.close();
        const [, path = ''] = /curl .*'http:\/\/[^/]+(\/[^']+)'/.exec(text) ?? [];
        expect((await gateway.ask(path, { token })).status).toBe(200);
        expect(text).toContain(`${BASE_URL}/docs`);
    });
    it('shows the address to paste alone in its line, in one column with the other addresses', () => {
        for (const text of [
            welcome(BASE_URL, { token, website: 'web_1_1' }, `${BASE_URL}/console/enter?link=x`),
            addresses(BASE_URL, '.data/demo-token.json', `${BASE_URL}/console/enter?link=x`),
        ]) {
            expect(text.split('\n')[3]).toBe(`  ${BASE_URL}/mcp`);
            expect(text).toContain(`${BASE_URL}/docs/clients\n`);
            expect(text).toContain(`Console         ${BASE_URL}/console/enter?link=x\n`);
            const rows = text.split('\n').filter((line) => /^[A-Z][\w ]+ {3}/.test(line));
            expect(rows.map((line) => line.search(/(?<= {3})\S/))).toEqual(rows.map(() => 16));
            expect(rows.length).toBeGreaterThan(2);
            expect(text.split('\n').length).toBeLessThan(20);
        }
    });
    it('is said without the token at later starts, with where it lies', () => {
        const text = addresses(BASE_URL, '.data/demo-token.json');
        expect(configurations(text)).toMatchObject([
            { url: `${BASE_URL}/mcp`, headers: { Authorization: 'Bearer YOUR_TOKEN' } },
        ]);
        expect(text).toContain('.data/demo-token.json');
        expect(addresses(BASE_URL, undefined)).not.toMatch(/Demo token|Console/);
    });
});
describe('set-up of clients elsewhere', () => {
    it('the README has the same configuration', async () => {
        const readme = await readFile(new URL('README.md', packageRoot), 'utf8');
        expect(configurations(readme)).toEqual([
            { type: 'http', url: `${BASE_URL}/mcp`, headers: { Authorization: 'Bearer YOUR_TOKEN' } },
        ]);
        expect(readme).toContain(`claude mcp add --transport http installation-gateway ${BASE_URL}/mcp --header`);
    });
    it('/docs shows configurations of this gateway', async () => {
        const { text } = await gateway.ask('/docs', { unchecked: true });
        const plain = text
            .replaceAll('&quot;', '"')
            .replaceAll('&#34;', '"')
            .replaceAll(/<\/?(span|wbr)\b[^>]*>/g, '')
            .replaceAll(/<[^>]+>/g, '\n');
        const entries = configurations(plain);
        const http = entries.filter(({ url }) => url !== undefined);
        expect(http.length).toBeGreaterThanOrEqual(2);
        for (const { url, headers } of http) {
            expect(url).toBe(`${BASE_URL}/mcp`);
            expect(headers.Authorization).toMatch(/^Bearer \S/);
        }
    });
});
//# sourceMappingURL=welcome.test.js.map