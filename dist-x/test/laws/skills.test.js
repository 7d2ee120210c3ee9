import { readdir, readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { packageRoot } from '../../src/config/package.js';
import { jsonSchema } from '../../src/core/json-schema.js';
import { defineSkill } from '../../src/core/skill.js';
import { loadSkills, loadTools } from '../../src/gateway/load.js';
import { argumentsOf, Skills } from '../../src/gateway/skills.js';
import { CONTRACT_SKILLS } from '../support/contract.js';
const registry = await loadTools();
const skills = await loadSkills(registry);
const folder = new URL('skills/', packageRoot);
const files = (await readdir(folder)).filter((name) => name.endsWith('.ts'));
const each = skills.all.map((one) => [one.skill.name, one]);
const words = (text) => (text ?? '').split(' ').filter(Boolean).sort();
describe('every skill', () => {
    it('is one of the specification’s, and every one of them is offered', () => {
        expect(skills.all.map(({ skill }) => skill.name)).toEqual(Object.keys(CONTRACT_SKILLS).sort());
        expect(skills.all.length).toBe(8);
    });
    it.each(each)('%s requires what the contract says, derived from what it composes', (name, { required, skill }) => {
        const contract = CONTRACT_SKILLS[name];
        expect({
            runs: [...skill.tools],
            scopes: [...required.scopes].sort(),
            flags: [...required.dataAccess].sort(),
        }).toEqual({ runs: words(contract?.runs), scopes: words(contract?.scopes), flags: words(contract?.dataAccess) });
    });
    it.each(each)('%s takes the contract’s arguments and no others', (name, { skill }) => {
        const input = jsonSchema(skill.input, 'input');
        expect(Object.keys(input.properties ?? {}).sort()).toEqual(words(CONTRACT_SKILLS[name]?.arguments));
        expect([...(input.required ?? [])].sort()).toEqual(words(CONTRACT_SKILLS[name]?.required));
        expect(input.additionalProperties).toBe(false);
        for (const [argument, node] of Object.entries(input.properties ?? {})) {
            expect(node.description, `${name}.${argument}`).toBeTruthy();
        }
    });
    it.each(each)('%s says of an argument what its operation says of the parameter', (_name, { skill, tools }) => {
        const own = jsonSchema(skill.input, 'input');
        const theirs = tools.flatMap((tool) => Object.entries(jsonSchema(tool.input, 'input').properties ?? {}));
        const plain = ({ description: _, ...rest }) => rest;
        for (const [argument, node] of Object.entries(own.properties ?? {})) {
            const found = theirs.find(([parameter]) => parameter === argument)?.[1];
            expect(found && plain(found), argument).toEqual(plain(node));
        }
    });
    it.each(each)('%s describes itself, with examples that it takes', (_name, offered) => {
        const { title, description, tags, examples } = offered.skill;
        expect(title.length).toBeGreaterThan(5);
        expect(description.length).toBeGreaterThan(20);
        expect(description.length).toBeLessThanOrEqual(140);
        expect(tags.length).toBeGreaterThan(0);
        expect(examples.length).toBeGreaterThan(0);
        for (const example of examples)
            expect(argumentsOf(offered, example)).toMatchObject(example);
    });
    it.each(each)('%s has a file of its name, which names no scope', async (name) => {
        const file = `${name.replaceAll('_', '-')}.ts`;
        expect(files).toContain(file);
        const text = await readFile(new URL(file, folder), 'utf8');
        expect(text).not.toMatch(/scopes|dataAccess/);
    });
    it('is alone in its file', () => {
        expect(files.length).toBe(skills.all.length);
    });
});
describe('the registry of skills', () => {
    const skill = (name, tools) => defineSkill({
        name,
        title: 'A skill of a test',
        description: 'It is here to be refused.',
        tags: ['test'],
        tools,
        input: z.strictObject({}),
        examples: [{}],
        run: async () => ({}),
    });
    it('adds up what several operations need', () => {
        const [one] = new Skills([skill('both', ['contact_get', 'conversation_messages'])], registry).all;
        expect(one?.required).toEqual({
            scopes: ['contact_read', 'conversation_read', 'message_content_read', 'contact_read_pii'],
            dataAccess: ['message_content', 'pii'],
        });
        expect(one?.unrestricted).toBe(true);
    });
    it('refuses an operation that is none, and a name that is taken', () => {
        expect(() => new Skills([skill('one', ['nothing'])], registry)).toThrow('nothing');
        expect(() => new Skills([skill('one', []), skill('one', [])], registry)).toThrow('same name');
    });
});
//# sourceMappingURL=skills.test.js.map