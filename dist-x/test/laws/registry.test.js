import { readdir, readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { packageRoot } from '../../src/config/package.js';
import { conditionName, isAlternative } from '../../src/core/conditions.js';
import { jsonSchema } from '../../src/core/json-schema.js';
import { SCOPES } from '../../src/core/scopes.js';
import { textsOf } from '../../src/core/texts.js';
import { loadTools } from '../../src/gateway/load.js';
import { generated } from '../../src/process/generate.js';
import { ROWS } from '../support/authority/operations.js';
import { CONTRACT, CONTRACT_REALTIME } from '../support/contract.js';
const registry = await loadTools();
const files = (await readdir(new URL('tools/', packageRoot), { recursive: true })).filter((name) => name.endsWith('.ts'));
/** The paths of all properties, at any depth, that have no description. */
function undescribed(node, path) {
    const { properties = {}, items, additionalProperties: rest } = node;
    // This function does not follow references, so it reports every reference.
    if (node.$ref !== undefined)
        return [`${path} -> ${node.$ref}`];
    const values = typeof rest === 'object' && rest !== null ? [rest] : [];
    const inside = [...(node.prefixItems ?? []), ...(node.anyOf ?? []), ...(node.allOf ?? []), ...(node.oneOf ?? [])];
    return [
        ...Object.entries(properties).flatMap(([name, property]) => [
            ...(property.description ? [] : [`${path}.${name}`]),
            ...undescribed(property, `${path}.${name}`),
        ]),
        ...[...inside, ...values, ...(items ? [items] : [])].flatMap((one) => undescribed(one, path)),
    ];
}
describe('every tool', () => {
    it('has one row in a file of its name, and no row is without a tool', () => {
        expect([...files].sort(), 'tools/ on the left, test/tools/ on the right').toEqual(ROWS);
        expect(ROWS.length).toBeGreaterThan(44);
    });
    it('is one of the contract’s operations, and every one of them is served', () => {
        const served = registry.tools.map(({ name }) => name).sort();
        expect(served, 'tools/ on the left, the rows of test/tools/ on the right').toEqual(Object.keys(CONTRACT).sort());
    });
    it.each(registry.tools.map((tool) => [tool.name, tool]))('%s is declared as the contract says', (name, tool) => {
        const { outsiders, configured: _, ...contract } = CONTRACT[name] ?? expect.fail(`${name} has no row in test/tools/`);
        const { required, when, parameters } = tool;
        expect({
            method: tool.method,
            path: tool.path,
            scopes: [...required.scopes].sort(),
            dataAccess: [...required.dataAccess].sort(),
            unrestricted: tool.restrictions === 'refused',
            consent: tool.consent,
            author: tool.author,
            key: tool.idempotency,
            revision: tool.ifMatch,
            status: tool.status,
            body: parameters.flatMap((one) => (one.in === 'body' ? [one.name] : [])).sort(),
            when: when
                .map(({ is, ...needed }) => [
                `${isAlternative(needed) ? conditionName(needed) : needed.given}${needed.unrestricted ? ' unrestricted' : ''}`,
                isAlternative(needed) ? undefined : (needed.has ?? is),
                [...needed.scopes].sort(),
                [...needed.dataAccess].sort(),
            ])
                .sort(),
            paged: tool.paged !== undefined,
        }).toEqual(contract);
        expect([...tool.untrusted].sort(), `${name}: texts that outsiders write`).toEqual([...outsiders].sort());
    });
    it.each(registry.operations.map((tool) => [tool.name, tool]))('%s says who writes its texts', (name, tool) => {
        const silent = textsOf(tool.output).filter(({ writer }) => writer === undefined);
        expect(silent.map(({ pointer }) => pointer), `${name}: say who writes these texts, with writtenBy('outsiders' or 'service', …) of src/core/texts.ts`).toEqual([]);
    });
    it('of those without an MCP tool, there are the four of the realtime socket', () => {
        const others = registry.operations.filter(({ name }) => !registry.get(name));
        expect(Object.fromEntries(others.map(({ name, method, path, status, body }) => [name, { method, path, status, body }]))).toEqual(CONTRACT_REALTIME);
        for (const tool of others) {
            const { scopes, dataAccess } = tool.required;
            expect([[...scopes].sort(), dataAccess, tool.when], tool.name).toEqual([['event_read', 'website_read'], [], []]);
            expect([tool.restrictions, tool.consent, tool.origin, tool.idempotency], tool.name).toEqual([
                'refused',
                'refused',
                true,
                'none',
            ]);
            expect(tool.summary.length, tool.name).toBeLessThanOrEqual(140);
            expect(files.some((file) => file.endsWith(`/${tool.name.replaceAll('_', '-')}.ts`))).toBe(true);
            if (tool.status === 201)
                expect(undescribed(jsonSchema(tool.output, 'output'), tool.name)).toEqual([]);
        }
    });
    it.each(registry.tools.map((tool) => [tool.name, tool]))('%s has a file of its name', (name) => {
        expect(files.some((file) => file.endsWith(`/${name.replaceAll('_', '-')}.ts`))).toBe(true);
    });
    const answering = registry.tools.filter(({ status }) => status !== 204);
    it('says something, but for the one that answers 204', () => {
        expect(answering.length).toBe(registry.tools.length - 1);
    });
    it.each(registry.tools.map((tool) => [tool.name, tool]))('%s describes itself and its input', (_, tool) => {
        expect(tool.title.length, `${tool.name}: a title of 6 characters or more`).toBeGreaterThan(5);
        expect(tool.summary.length, `${tool.name}: a summary of 21 to 140 characters`).toBeGreaterThan(20);
        expect(tool.summary.length, `${tool.name}: a summary of 21 to 140 characters`).toBeLessThanOrEqual(140);
        for (const scope of tool.required.scopes)
            expect(SCOPES).toContain(scope);
        const input = jsonSchema(tool.input, 'input');
        expect(input.type).toBe('object');
        expect(input.additionalProperties).toBe(false);
        for (const [property, schema] of Object.entries(input.properties ?? {})) {
            expect(schema.description, `${tool.name}: describe the parameter ${property}`).toBeTruthy();
        }
    });
    it.each(answering.map((tool) => [tool.name, tool]))('%s describes its output', (name, tool) => {
        const output = jsonSchema(tool.output, 'output');
        expect(JSON.stringify(output).length).toBeGreaterThan(150);
        expect(JSON.stringify(output)).not.toContain('"$ref":"#"');
        expect(Object.keys(output.properties ?? {}).length).toBeGreaterThan(0);
        expect(undescribed(output, name), `${name}: describe these members of the output`).toEqual([]);
    });
});
describe('files', () => {
    it('hold one tool each', () => {
        expect(files.length).toBe(registry.all.length);
    });
    it.each([
        ['tools', 120],
        ['src/store', 300],
        ['src', 320],
    ])('of %s stay under %i lines', async (folder, ceiling) => {
        const names = (await readdir(new URL(`${folder}/`, packageRoot), { recursive: true })).filter((name) => name.endsWith('.ts'));
        expect(names.length).toBeGreaterThan(10);
        for (const name of names) {
            const text = await readFile(new URL(`${folder}/${name}`, packageRoot), 'utf8');
            expect(text.split('\n').length, `${folder}/${name}`).toBeLessThanOrEqual(ceiling);
        }
    });
    it('hold no FILL_IN of a skeleton', async () => {
        const left = [];
        let read = 0;
        for (const folder of ['tools', 'test/tools', 'test/support/authority']) {
            const names = await readdir(new URL(`${folder}/`, packageRoot), { recursive: true });
            for (const name of names.filter((one) => one.endsWith('.ts'))) {
                const lines = (await readFile(new URL(`${folder}/${name}`, packageRoot), 'utf8')).split('\n');
                for (const [i, line] of lines.entries())
                    if (line.includes('FILL_IN'))
                        left.push(`${folder}/${name}:${i + 1} ${line.trim()}`);
                read++;
            }
        }
        expect(left, 'replace each FILL_IN; docs/adding-an-operation.md says with what').toEqual([]);
        expect(read).toBeGreaterThan(Object.keys(CONTRACT).length);
    });
    it('do what the rules of the house forbid nowhere', async () => {
        const forbidden = [
            [
                /\b(sql|driver|used|pg)\.(begin|reserve|savepoint)\(|\bCOPY\s+\w+[\w.]*\s+FROM\s+STDIN/i,
                'a transaction, reserved connection or COPY through the driver',
            ],
            [
                /process\.env/,
                'reads the environment',
                /src\/(config|store\/embedded\/|surfaces\/docs\/(clients|reference\/samples))/,
            ],
            [/\bTODO\b|\bFIXME\b|ts-ignore|ts-expect-error|\bas any\b/, 'unfinished or unchecked'],
            [/catch\s*(\(\w+\))?\s*\{\s*\}/, 'swallows an error'],
            [/z\.toJSONSchema/, 'converts schemas', /src\/core\/json-schema|src\/sources\/engine\/records/],
            [/Math\.random/, 'unsafe randomness'],
            [
                /^\s*[\w#.?[\]]+[.\]][#\w]* (\?\?)?= (async )?(\(.*\)(: .*)? =>|\w+ =>|function)/m,
                'makes a closure that V8 keeps, in code that runs with each request (docs/decisions/performance.md)',
                /^(?!src\/(core|gateway|store\/(calls|driver)|surfaces\/(http|jsonrpc|mcp|rest))\/)|^src\/surfaces\/mcp\/rpc/,
            ],
        ];
        let read = 0;
        for (const folder of ['src', 'tools']) {
            const names = (await readdir(new URL(`${folder}/`, packageRoot), { recursive: true })).filter((name) => name.endsWith('.ts'));
            for (const name of names) {
                const path = `${folder}/${name}`;
                const text = await readFile(new URL(path, packageRoot), 'utf8');
                read++;
                for (const [pattern, what, except] of forbidden) {
                    if (except?.test(path))
                        continue;
                    expect(pattern.exec(text)?.[0], `${path}: ${what}`).toBeUndefined();
                }
            }
        }
        expect(read).toBeGreaterThan(100);
    });
    it('are what `npm run generate` writes', async () => {
        const all = generated(registry);
        expect([...all.keys()].sort()).toEqual([
            ...['llms/llms-full.txt', 'llms/llms.txt', 'llms/openapi.json', 'server.json'],
            ...['test/golden/agent-card.json', 'test/golden/migrations.txt'],
        ]);
        for (const [path, text] of all) {
            const committed = await readFile(new URL(path, packageRoot), 'utf8').catch(() => '(missing)');
            expect(committed === text, `${path} differs: npm run generate`).toBe(true);
        }
    });
});
//# sourceMappingURL=registry.test.js.map