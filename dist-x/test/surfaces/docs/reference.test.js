import { execFileSync } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { example } from '../../../src/core/example.js';
import { FAILURE_CODES } from '../../../src/core/failures.js';
import { jsonSchema, nodeOf } from '../../../src/core/json-schema.js';
import { exampleAnswer, exampleCall, exampleToolArguments } from '../../../src/gateway/examples.js';
import { failuresOf, headersOf } from '../../../src/gateway/operation-wire.js';
import { curl, typescript } from '../../../src/surfaces/docs/reference/samples.js';
import { addressOf } from '../../../src/surfaces/docs/reference/words.js';
import { ContactView } from '../../../src/views/contact.js';
import { servePages, textOf } from '../../support/surfaces/pages.js';
let pages;
beforeAll(async () => {
    pages = await servePages();
});
afterAll(() => pages.close());
const pageOf = async (tool) => (await pages.get(addressOf(tool))).text();
/** Every text that a reader must see of a schema: names, values, defaults, limits and descriptions. */
function textsOf(node, inside = false) {
    // An alternative describes the same id as its member. The page shows only the form of the id for an alternative.
    const form = /\w+_\{\w+\}[\w{}]*/.exec(node.description ?? '')?.[0] ?? '';
    return [
        ...(node.enum ?? []).map(String),
        ...(node.const === undefined ? [] : [String(node.const)]),
        ...(node.default === undefined ? [] : [String(node.default)]),
        // The form of an id says more than its length.
        ...[node.minimum, node.maximum, node.pattern ? undefined : node.maxLength, node.maxItems].flatMap((limit) => limit === undefined ? [] : [limit.toLocaleString('en-US')]),
        ...(node.description === undefined ? [] : [inside ? form : node.description]),
        ...Object.entries(node.properties ?? {}).flatMap(([name, member]) => [name, ...textsOf(member)]),
        ...[...(node.anyOf ?? []), ...(node.oneOf ?? [])].flatMap((one) => textsOf(one, true)),
        ...(node.items ? textsOf(node.items, node.items.properties !== undefined) : []),
    ];
}
describe('the page of an operation', () => {
    it('shows every name, value, default, limit and description of the registry, letter by letter', async () => {
        let seen = 0;
        for (const tool of pages.registry.operations) {
            const text = textOf(await pageOf(tool));
            const wanted = [
                ...[tool.name, tool.title, tool.summary, tool.method, tool.path].filter((one) => tool.mcp || one !== tool.name),
                ...[...tool.required.scopes, ...tool.required.dataAccess, ...tool.emits, ...tool.untrusted],
                ...tool.when.flatMap(({ given, scopes, dataAccess }) => [given, ...scopes, ...dataAccess]),
                ...tool.parameters.flatMap(({ name, schema }) => {
                    const node = nodeOf(jsonSchema(schema, 'input'));
                    return [
                        name,
                        ...textsOf(node),
                        ...(node.default === undefined ? [] : [`default ${node.default}`]),
                        ...(node.enum ? [`One of ${node.enum.join(' ')}`] : []),
                    ];
                }),
                ...headersOf(tool).flatMap(({ name, description }) => [name, description]),
                ...failuresOf(tool),
                // The answers with status 101 and 204 have no body.
                ...([101, 204].includes(tool.status) ? [] : textsOf(nodeOf(jsonSchema(tool.output, 'output')))),
            ];
            seen += wanted.length;
            for (const one of wanted)
                if (!text.includes(one))
                    expect.fail(`${tool.name} does not show: ${one}`);
        }
        expect(seen).toBeGreaterThan(3_500);
    });
    it('marks a required parameter, and says which grants show a member', async () => {
        const note = await pageOf(toolOf('visitor_note_add'));
        expect(textOf(note)).toMatch(/visitor_id\s+string\s*required/);
        const contact = await pageOf(toolOf('contact_get'));
        for (const [name, { needs }] of Object.entries(ContactView.fields)) {
            const member = contact.split(`<li><p class="name"><code>${name}</code>`).slice(1);
            expect(member.length, name).toBeGreaterThan(0);
            const shown = /Shown only with (.*?)<\/p>/s.exec((member[0] ?? '').split('<li><p')[0] ?? '')?.[1] ?? '';
            expect(textOf(shown).split(/\s+/).filter(Boolean), name).toEqual([
                ...(needs?.scopes ?? []),
                ...(needs?.dataAccess ?? []),
            ]);
        }
    });
    it('lists the failures of the operation and no others', async () => {
        const page = await pageOf(toolOf('gateway_context'));
        const listed = FAILURE_CODES.filter((code) => page.includes(`<a href="/docs/errors#${code}"><code>${code}</code></a>`));
        expect(listed.sort()).toEqual([...new Set(failuresOf(toolOf('gateway_context')))].sort());
    });
});
function toolOf(name) {
    const tool = pages.registry.operations.find((one) => one.name === name);
    if (!tool)
        throw new Error(`no operation ${name}`);
    return tool;
}
describe('examples', () => {
    it('an example answer fits the schema of its operation', () => {
        for (const tool of pages.registry.operations) {
            const { error } = tool.output.safeParse(exampleAnswer(tool));
            expect(error?.issues ?? [], tool.name).toEqual([]);
        }
    });
    it('a text without an example is refused by its path', () => {
        const tool = { ...toolOf('contact_get'), output: z.strictObject({ data: z.strictObject({ motto: z.string() }) }) };
        expect(() => exampleAnswer(tool)).toThrow('contact_get.data.motto has no example');
        const shown = z.strictObject({ data: z.strictObject({ motto: example('Ad astra', z.string()).optional() }) });
        expect(exampleAnswer({ ...tool, output: shown })).toEqual({ data: { motto: 'Ad astra' } });
    });
    it('the sample for curl sends the example, as a shell reads the sample', () => {
        const tools = pages.registry.operations.filter(({ status }) => status !== 101);
        const script = tools.map((tool) => curl(tool, exampleCall(tool), 'http://gateway')).join('\nprintf "\\0\\0"\n');
        const program = `curl() { for one in "$@"; do printf '%s\\0' "$one"; done; }\nTOKEN=t\n${script}`;
        const printed = execFileSync('sh', ['-c', program], { encoding: 'utf8' }).split('\0\0\0');
        expect(printed.length).toBe(tools.length);
        for (const [i, tool] of tools.entries()) {
            const { address, headers, body } = exampleCall(tool);
            const words = (printed[i] ?? '').split('\0').filter(Boolean);
            expect(words, tool.name).toContain(`http://gateway${address}`);
            expect(words).toContain('Authorization: Bearer t');
            for (const [name, value] of Object.entries(headers))
                expect(words).toContain(`${name}: ${value}`);
            if (tool.method !== 'GET')
                expect(words.slice(0, 2)).toEqual(['-X', tool.method]);
            if (body)
                expect(JSON.parse(words[words.indexOf('-d') + 1] ?? '')).toEqual(body);
        }
    });
    it('the sample for TypeScript sends the example', async () => {
        for (const tool of pages.registry.operations.filter(({ status }) => status !== 101)) {
            const { address, headers, body } = exampleCall(tool);
            const sent = [];
            const fetch = async (url, init) => {
                sent.push(url, init);
                return { ok: true, json: async () => ({}) };
            };
            const sample = typescript(tool, exampleCall(tool), 'http://gateway');
            await new Function('fetch', 'process', `return (async () => {${sample}})()`)(fetch, { env: { TOKEN: 't' } });
            expect(sent, tool.name).toMatchObject([
                `http://gateway${address}`,
                { headers: { Authorization: 'Bearer t', ...headers }, ...(body && { body: JSON.stringify(body) }) },
            ]);
        }
    });
    it('the sample for MCP has arguments that the tool accepts', () => {
        for (const tool of pages.registry.tools) {
            const { if_match: _, idempotency_key: __, ...input } = exampleToolArguments(tool);
            expect(tool.input.safeParse(input).error?.issues ?? [], tool.name).toEqual([]);
        }
    });
});
//# sourceMappingURL=reference.test.js.map