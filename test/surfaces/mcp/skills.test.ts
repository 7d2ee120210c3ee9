import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { readSkillFile, skillText } from '../../../src/core/skill-file.ts';
import { drawnCredentials } from '../../support/authority/drawn.ts';
import { ALL_SCOPES, FULL, type Grants, limitsOf, type Restricted } from '../../support/authority/grants.ts';
import { World, webId } from '../../support/authority/world.ts';
import { times } from '../../support/form.ts';
import { openTestGateway, type TestGateway } from '../../support/gateway.ts';
import { modern, rpc } from '../../support/surfaces/mcp.ts';
import { digestOf, frontmatterOf, type ListedSkill } from '../../support/surfaces/skills.ts';

/**
 * Skills over MCP (extension io.modelcontextprotocol/skills): what each caller sees of them, in each version of MCP. The
 * laws of their texts are in test/laws/skill-files.test.ts.
 */
let gateway: TestGateway;
const WEB = webId(1, 1);
const OLDER = ['2025-11-25', '2025-06-18', '2025-03-26'] as const;
const ALL = [
  ...['agent-tasks', 'configuration', 'contacts', 'event-recovery', 'find-person', 'hand-over'],
  ...['investigate-complaint', 'investigation', 'overview', 'reporting', 'weekly-report'],
];

beforeAll(async () => {
  gateway = await openTestGateway('empty');
  await new World(gateway.database.sql).whole();
});
afterAll(() => gateway.close());

const uriOf = (name: string): string => `skill://${name}/SKILL.md`;

async function hold({ scopes, flags }: Grants, restricted?: Restricted) {
  return gateway.issue({ scopes, dataAccess: flags, websites: [WEB], authors: ['opr_1_1_1'], ...limitsOf(restricted) });
}
const without = (...scopes: string[]): Grants => ({
  ...FULL,
  scopes: ALL_SCOPES.filter((scope) => !scopes.includes(scope)),
});

async function ask(token: string, method: string, params: object = {}, path = '/mcp') {
  const { status, body, text } = await rpc(gateway.port, token, method, params, { path });
  expect(status, text).toBe(200);
  return body;
}
const skillsOf = async (token: string, path?: string): Promise<ListedSkill[]> =>
  (await ask(token, 'skills/list', {}, path)).result.skills;
const namesOf = (skills: readonly ListedSkill[]): string[] => skills.map(({ frontmatter }) => frontmatter.name);
const read = async (token: string, uri: string, path?: string): Promise<string> =>
  (await ask(token, 'resources/read', { uri }, path)).result.contents[0].text;
const toolsOf = async (token: string, path?: string): Promise<string[]> =>
  (await ask(token, 'tools/list', {}, path)).result.tools.map(({ name }: { name: string }) => name);
/** The names between back ticks, read apart from the product's code. */
const namedIn = (text: string): string[] => [...new Set(text.split('`').filter((_, at) => at % 2 === 1))];

/** What a host does with a skill before it uses the text (SEP-2640): length, digest, front matter. */
function verify(skill: ListedSkill, text: string): void {
  const [resource] = skill.resources;
  expect(skill.resources).toHaveLength(1);
  expect(resource).toEqual({ uri: skill.uri, digest: digestOf(text), size: Buffer.byteLength(text) });
  expect(resource?.digest).toMatch(/^sha256:[0-9a-f]{64}$/);
  expect(parse(frontmatterOf(text))).toEqual(skill.frontmatter);
  expect(skill.uri).toBe(uriOf(skill.frontmatter.name));
}

describe('skills in each version of MCP', () => {
  it('the extension is declared beside resources, as an object without options', async () => {
    const { token } = await gateway.issue();
    const declared = { 'io.modelcontextprotocol/skills': {} };
    for (const protocolVersion of OLDER) {
      const params = { protocolVersion, capabilities: {}, clientInfo: { name: 'test', version: '1.0.0' } };
      const { capabilities } = (await ask(token, 'initialize', params)).result;
      expect([capabilities.extensions, capabilities.resources], protocolVersion).toEqual([declared, {}]);
    }
    const { capabilities } = (await modern(gateway.port, token, 'server/discover')).body.result;
    expect([capabilities.extensions, capabilities.resources]).toEqual([expect.objectContaining(declared), {}]);
  });

  it('the older versions: the list and the single entry are the same, without members of later versions', async () => {
    const { token } = await gateway.issue();
    for (const version of OLDER) {
      const list = (await rpc(gateway.port, token, 'skills/list', {}, { version })).body.result;
      expect(Object.keys(list), version).toEqual(['skills']);
      expect(namesOf(list.skills)).toEqual(ALL);
      for (const skill of list.skills) {
        const one = (await rpc(gateway.port, token, 'skills/get', { uri: skill.uri }, { version })).body.result;
        expect(one).toEqual({ skill });
      }
    }
  });

  it('2026-07-28: complete, private, and to be kept for 30 s; a read is not to be kept', async () => {
    const { token } = await gateway.issue();
    const cached = { resultType: 'complete', ttlMs: 30_000, cacheScope: 'private' };
    const list = (await modern(gateway.port, token, 'skills/list')).body.result;
    expect(list).toMatchObject(cached);
    expect(namesOf(list.skills)).toEqual(ALL);
    for (const skill of list.skills) {
      const one = (await modern(gateway.port, token, 'skills/get', { uri: skill.uri })).body.result;
      expect(one).toMatchObject({ ...cached, skill });
      expect(one).not.toHaveProperty('nextCursor');
      const got = (await modern(gateway.port, token, 'resources/read', { uri: skill.uri })).body.result;
      expect(got).toMatchObject({ resultType: 'complete', ttlMs: 0, cacheScope: 'private' });
      expect(got.contents).toEqual([{ uri: skill.uri, mimeType: 'text/markdown', text: expect.any(String) }]);
      verify(skill, got.contents[0].text);
    }
  });

  it('resources/list has each skill with its own name and description', async () => {
    const { token } = await gateway.issue();
    const skills = await skillsOf(token);
    const { resources } = (await ask(token, 'resources/list')).result;
    const listed = resources.filter(({ uri }: { uri: string }) => uri.startsWith('skill:'));
    expect(listed).toEqual(
      skills.map(({ uri, frontmatter }) => ({
        uri,
        ...frontmatter,
        title: expect.stringMatching(/^[A-Z][a-z]+( [a-z]+)*$/),
        mimeType: 'text/markdown',
      })),
    );
  });
});

describe('skills and authority', () => {
  /** Written by hand: the skills that a caller loses with a scope, besides those that name its tools in the text only. */
  const LOST: readonly [scope: string, ...names: string[]][] = [
    ['conversation_read', 'hand-over', 'investigate-complaint', 'investigation', 'reporting', 'weekly-report'],
    ['contact_read', 'contacts', 'find-person'],
    ['contact_read_pii', 'find-person', 'investigate-complaint'],
    ['reports_read', 'reporting'],
    ['config_read', 'configuration'],
    ['event_read', 'event-recovery'],
    ['website_read', 'event-recovery'],
    ['health_read'],
    ['visitor_notes_write'],
  ];
  it.each(LOST)('without %s', async (scope, ...lost) => {
    const { token } = await hold(without(scope));
    expect(namesOf(await skillsOf(token))).toEqual(ALL.filter((name) => !lost.includes(name)));
  });

  it('without any grant: the first calls only. agent-tasks needs a task that the caller can run', async () => {
    const { token } = await hold({ scopes: [], flags: [] });
    expect(namesOf(await skillsOf(token))).toEqual(['overview']);
    const inspector = await hold({ scopes: ['contact_read'], flags: [] });
    expect(namesOf(await skillsOf(inspector.token))).toEqual(['agent-tasks', 'contacts', 'overview']);
  });

  it('for random credentials: each text names only tools of tools/list, and what is not listed is not found', async () => {
    const shortened = new Set<string>();
    let [seen, denied] = [0, 0];
    for (const { scopes, flags, restricted } of drawnCredentials(times(12, 24))) {
      const { token } = await hold({ scopes, flags }, restricted);
      const where = JSON.stringify({ scopes, flags, restricted });
      const tools = await toolsOf(token);
      const skills = await skillsOf(token);
      const { resources } = (await ask(token, 'resources/list')).result;
      const inResources = resources.map(({ uri }: { uri: string }) => uri);
      for (const name of ALL) {
        const uri = uriOf(name);
        const skill = skills.find((one) => one.uri === uri);
        expect(inResources.includes(uri), `${name} ${where}`).toBe(skill !== undefined);
        if (!skill) {
          for (const method of ['skills/get', 'resources/read']) {
            const { error } = await ask(token, method, { uri });
            expect([error.code, error.data], `${name} ${where}`).toEqual([-32602, { code: 'not_found' }]);
          }
          denied++;
          continue;
        }
        expect((await ask(token, 'skills/get', { uri })).result).toEqual({ skill });
        const text = await read(token, uri);
        verify(skill, text);
        const foreign = namedIn(text + skill.frontmatter.description).filter((one) => !tools.includes(one));
        expect(foreign, `${name} ${where}`).toEqual([]);
        if (Buffer.byteLength(text) < Buffer.byteLength(await whole(name))) shortened.add(name);
        seen++;
      }
    }
    expect([seen > 40, denied > 40]).toEqual([true, true]);
    expect(shortened.size).toBeGreaterThan(5);
  });

  it('a text loses the steps that name missing tools, and the rest is numbered again', async () => {
    const { token } = await hold(without('health_read', 'website_read'));
    const [got, all] = [await read(token, uriOf('overview')), await whole('overview')];
    for (const tool of ['health', 'websites_list']) {
      expect(all).toContain(`\`${tool}\``);
      expect(got).not.toContain(`\`${tool}\``);
    }
    expect(got.match(/^\d+\. /gm)).toEqual(['1. ', '2. ', '3. ']);
    expect(all.match(/^\d+\. /gm)).toEqual(['1. ', '2. ', '3. ', '4. ', '5. ']);
    // A host that keeps the older entry sees that the text is another one.
    const [skill] = (await skillsOf(token)).filter(({ uri }) => uri === uriOf('overview'));
    expect(skill?.resources[0]?.digest).not.toBe(digestOf(all));
  });

  it.each([
    ['/mcp/only/core', ['overview', 'agent-tasks']],
    ['/mcp/only/find', ['agent-tasks', 'find-person', 'hand-over', 'investigate-complaint', 'investigation']],
    ['/mcp/only/reports', ['agent-tasks', 'overview', 'reporting']],
    ['/mcp/readonly', ALL],
  ])('the address %s lists skills of its own tools', async (path, some) => {
    const { token } = await hold(FULL);
    const skills = await skillsOf(token, path);
    expect(namesOf(skills)).toEqual(expect.arrayContaining(some));
    const tools = await toolsOf(token, path);
    for (const skill of skills) {
      const text = await read(token, skill.uri, path);
      verify(skill, text);
      expect(
        namedIn(text).filter((one) => !tools.includes(one)),
        skill.uri,
      ).toEqual([]);
    }
    for (const name of ALL.filter((one) => !namesOf(skills).includes(one))) {
      const { error } = await ask(token, 'skills/get', { uri: uriOf(name) }, path);
      expect(error.code, name).toBe(-32602);
    }
    if (path !== '/mcp/readonly') expect(skills.length).toBeLessThan(ALL.length);
    if (path === '/mcp/readonly') expect(await read(token, uriOf('hand-over'), path)).not.toContain('visitor_note_add');
  });

  it('a token that ends is a 401', async () => {
    const { token, credential } = await gateway.issue();
    expect((await skillsOf(token)).length).toBe(ALL.length);
    await gateway.database.sql`UPDATE gateway.credential SET revoked_at = now() WHERE id = ${credential}`;
    for (const [method, params] of [
      ['skills/list', {}],
      ['skills/get', { uri: uriOf('overview') }],
      ['resources/read', { uri: uriOf('overview') }],
      ['skills/get', { uri: 7 }],
    ] as const)
      expect((await rpc(gateway.port, token, method, params)).status, method).toBe(401);
  });

  async function whole(name: string): Promise<string> {
    const { token } = await hold(FULL);
    return read(token, uriOf(name));
  }
});

describe('bad input', () => {
  const BAD: readonly [what: string, uri: string][] = [
    ['an unknown name', uriOf('refunds')],
    ['the name of a guide', uriOf('event_recovery')],
    ['a name of 65 characters', uriOf('a'.repeat(65))],
    ['a name of 50,000 characters', uriOf('a'.repeat(50_000))],
    ['traversal', 'skill://overview/../overview/SKILL.md'],
    ['traversal out of the folder', 'skill://overview/../../guides/overview.md'],
    ['traversal to a file of the machine', 'skill://../../../../etc/passwd'],
    ['encoded traversal', 'skill://overview/%2e%2e/overview/SKILL.md'],
    ['an encoded slash', 'skill://overview%2FSKILL.md'],
    ['an encoded letter', 'skill://overvie%77/SKILL.md'],
    ['a back slash', 'skill://overview\\SKILL.md'],
    ['NUL', 'skill://overview\u0000/SKILL.md'],
    ['another case', 'skill://Overview/SKILL.md'],
    ['another case of the file', 'skill://overview/skill.md'],
    ['another case of the scheme', 'SKILL://overview/SKILL.md'],
    ['no file', 'skill://overview'],
    ['a slash at the end', 'skill://overview/SKILL.md/'],
    ['a query', 'skill://overview/SKILL.md?x=1'],
    ['a fragment', 'skill://overview/SKILL.md#x'],
    ['a user', 'skill://user@overview/SKILL.md'],
    ['the index of earlier drafts', 'skill://index.json'],
    ['a member of every object', uriOf('__proto__')],
    ['another scheme', 'file:///etc/passwd'],
    ['nothing', ''],
    ['a resource that is none', 'gateway://overview'],
  ];
  it.each(BAD)('%s: -32602, the same in both versions and both methods', async (_what, uri) => {
    const { token } = await gateway.issue();
    for (const method of ['skills/get', 'resources/read']) {
      const older = (await ask(token, method, { uri })).error;
      expect([older.code, older.data]).toEqual([-32602, { code: 'not_found' }]);
      const headers = { 'mcp-name': `=?base64?${Buffer.from(uri).toString('base64')}?=` };
      const answer = await modern(gateway.port, token, method, { uri }, { headers });
      if (answer.status === 431) continue; // The header of the longest name is refused before the body is read.
      expect([answer.body.error.code, answer.body.error.data]).toEqual([-32602, { code: 'not_found', uri }]);
    }
  });

  it('wrong params: -32602 that names them', async () => {
    const { token } = await gateway.issue();
    for (const [method, params, parameter] of [
      ['skills/get', {}, 'uri'],
      ['skills/get', { uri: 7 }, 'uri'],
      ['skills/get', { uri: null }, 'uri'],
      ['skills/list', { cursor: 'x' }, 'cursor'],
    ] as const) {
      const { error } = await ask(token, method, params);
      expect([error.code, error.data.errors[0].parameter], JSON.stringify(params)).toEqual([-32602, parameter]);
    }
  });

  it('directories are not offered: the method is unknown', async () => {
    const { token } = await gateway.issue();
    const { error } = await ask(token, 'resources/directory/read', { uri: 'skill://overview' });
    expect(error.code).toBe(-32601);
  });

  it('a file without front matter is refused at the start of the gateway', () => {
    for (const text of ['', '# Title\n', '---\nname: x\n---\n\ntext', '---\ndescription: y\nname: x\n---\n\ntext'])
      expect(() => readSkillFile(text)).toThrow('correct its front matter');
  });

  it('a text without any of its tools keeps no heading without a text and no list without items', () => {
    const head = '---\nname: x\ndescription: Y.\n---\n\n';
    const file = readSkillFile(
      `${head}# A\n\nCall them:\n\n- \`one\`\n- \`two\`\n\n# B\n\n1. Call \`one\`,\n   then \`two\`.\n2. Stop.\n\n# C\n\n\`two\`\n`,
    );
    expect(skillText(file, new Set())).toBe(`${head}# B\n\n1. Stop.\n`);
    expect(skillText(file, new Set(['one']))).toBe(`${head}# A\n\nCall them:\n\n- \`one\`\n\n# B\n\n1. Stop.\n`);
  });
});
