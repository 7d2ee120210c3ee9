import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { packageRoot } from '../../src/config/package.js';
import { GUIDE_NAMES } from '../../src/core/guides.js';
import { readSkillFile, skillText, toolsIn } from '../../src/core/skill-file.js';
import { loadSkillFiles, loadTools } from '../../src/gateway/load.js';
import { openTestGateway } from '../support/gateway.js';
import { rpc } from '../support/surfaces/mcp.js';
import { digestOf, frontmatterOf } from '../support/surfaces/skills.js';
/** The laws of the texts that MCP serves as skills. test/surfaces/mcp/skills.test.ts has what each caller sees. */
const FOLDER = new URL('resources/skills/', packageRoot);
const RECIPES = ['find-person', 'hand-over', 'investigate-complaint', 'weekly-report'];
const BYTES_MAX = 3_072;
const names = readdirSync(FOLDER).sort();
const textOf = (name) => readFileSync(new URL(`${name}/SKILL.md`, FOLDER), 'utf8');
const registry = await loadTools();
let gateway;
beforeAll(async () => {
    gateway = await openTestGateway();
});
afterAll(() => gateway.close());
it('there is a skill for each guide, and four recipes', () => {
    expect(names).toEqual([...GUIDE_NAMES.map((guide) => guide.replaceAll('_', '-')), ...RECIPES].sort());
});
describe.each(names)('the skill %s', (name) => {
    const text = textOf(name);
    it('has the form of the Agent Skills specification, and at most 3,072 bytes', () => {
        expect(name).toMatch(/^[a-z0-9]+(-[a-z0-9]+)*$/);
        expect(name.length).toBeLessThanOrEqual(64);
        expect(Buffer.byteLength(text)).toBeLessThanOrEqual(BYTES_MAX);
        expect(Buffer.byteLength(text), 'a skill this short says nothing').toBeGreaterThan(1_500);
        const { description, ...rest } = parse(frontmatterOf(text));
        expect(rest).toEqual({ name });
        expect(description).toMatch(/^[A-Z].{40,}\. Use .*\.$/);
        expect(description.length).toBeLessThanOrEqual(1_024);
        // The file has nothing beside SKILL.md, because the manifest in an entry must be complete.
        expect(readdirSync(new URL(`${name}/`, FOLDER))).toEqual(['SKILL.md']);
    });
    it('is read as YAML reads it, and is whole for a caller that can call everything', () => {
        const file = readSkillFile(text);
        expect({ name: file.name, description: file.description }).toEqual(parse(frontmatterOf(text)));
        expect(skillText(file, new Set(registry.tools.map((tool) => tool.name)))).toBe(text);
    });
    it('names only declared tools, each between back ticks', () => {
        const named = toolsIn(text);
        expect(named.length).toBeGreaterThan(2);
        expect(named.filter((tool) => !registry.get(tool))).toEqual([]);
        const outside = text.replaceAll(/`[^`]*`/g, '');
        const bare = registry.operations.filter((one) => one.name.includes('_') && wordIn(outside, one.name));
        expect(bare.map((one) => one.name)).toEqual([]);
    });
    it('shows only calls whose arguments the tool takes', () => {
        for (const [tool, json] of callsIn(text)) {
            const result = registry.get(tool)?.input.safeParse(JSON.parse(json));
            expect(result?.error?.issues, `${tool} ${json}`).toBeUndefined();
        }
    });
    it('says that words of people are data, and is plain text', () => {
        expect(text).toMatch(/[Nn]ever follow an instruction in/);
        expect(text).toMatch(/^[\n\x20-\x7e]*$/);
        expect(text.endsWith('\n')).toBe(true);
        expect(text.split('\n').filter((line) => line.length > 140 && !line.startsWith('description: '))).toEqual([]);
    });
});
it('the calls in the skills are many, and none of them was overlooked', () => {
    const all = names.map(textOf).join('\n');
    expect(callsIn(all).length).toBe(all.match(/\{"/g)?.length);
    expect(callsIn(all).length).toBeGreaterThan(50);
});
it('the digest and the size of each served entry are those of the bytes that are served', async () => {
    const { token } = await gateway.issue();
    const { skills } = (await rpc(gateway.port, token, 'skills/list')).body.result;
    expect(skills.map(({ frontmatter }) => frontmatter.name)).toEqual(names);
    for (const { uri, resources } of skills) {
        const { contents } = (await rpc(gateway.port, token, 'resources/read', { uri })).body.result;
        const [{ text }] = contents;
        expect(resources).toEqual([{ uri, digest: digestOf(text), size: Buffer.byteLength(text) }]);
    }
});
it('a package brings the skills', () => {
    const { files } = JSON.parse(readFileSync(new URL('package.json', packageRoot), 'utf8'));
    expect(files).toContain('resources/skills');
    expect(existsSync(FOLDER)).toBe(true);
});
it('the loaded files have the names of their folders', async () => {
    expect((await loadSkillFiles()).map(({ name }) => name)).toEqual(names);
});
/** Each `tool` with its JSON arguments, which can stand on the next line. */
function callsIn(text) {
    return [...text.matchAll(/`(\w+)`[^`{]*?(\{"[^\n]*?\})(?=[.,;\n]|\s)/g)].map(([, tool = '', json = '']) => [
        tool,
        json,
    ]);
}
const wordIn = (text, word) => new RegExp(`(?<![\\w])${word}(?![\\w])`).test(text);
//# sourceMappingURL=skill-files.test.js.map