import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { packageRoot, packageVersion } from '../../../src/config/package.ts';
import { conditionName } from '../../../src/core/conditions.ts';
import { FAILURE_CODES, statusOf, titleOf } from '../../../src/core/failures.ts';
import { GUIDE_NAMES } from '../../../src/core/guides.ts';
import { jsonSchema } from '../../../src/core/json-schema.ts';
import { DATA_ACCESS, SCOPES } from '../../../src/core/scopes.ts';
import { shownOutput } from '../../../src/gateway/examples.ts';
import { readGuides } from '../../../src/gateway/guides.ts';
import { loadPrompts, loadResources, loadSkills, loadTools } from '../../../src/gateway/load.ts';
import { llms } from '../../../src/surfaces/llms/llms.ts';
import { serverJson } from '../../../src/surfaces/mcp/server-json.ts';
import { openapi } from '../../../src/surfaces/openapi/openapi.ts';
import { referred } from '../../support/openapi.ts';

const BASE = 'https://support.example:9443';
const registry = await loadTools();
const guides = readGuides();
const resources = await loadResources();
const skills = await loadSkills(registry);
const prompts = await loadPrompts();
const textsAt = (baseUrl: string) => llms({ registry, guides, baseUrl, resources, prompts, skills });
const { index, full } = textsAt(BASE);
const preamble = await readFile(new URL('llms/preamble.md', packageRoot), 'utf8');
const tools = registry.tools.map((tool) => [tool.name, tool] as const);

function proseOf(text: string): string[] {
  let fenced = false;
  return text.split('\n').filter((line) => {
    const fence = line.trimStart().startsWith('```');
    if (fence) fenced = !fenced;
    return !fence && !fenced;
  });
}

function section(heading: string): string {
  const level = heading.indexOf(' ');
  const begin = full.indexOf(`\n${heading}\n`);
  if (begin === -1) return '';
  const rest = full.slice(begin + heading.length + 2);
  const end = rest.search(new RegExp(`^#{1,${level}} `, 'm'));
  return end === -1 ? rest : rest.slice(0, end);
}

describe('llms.txt', () => {
  it('has the form of llmstxt.org', () => {
    const [opening = '', ...lists] = index.split(/^## /m);
    const blocks = opening.trim().split(/\n{2,}/);
    expect(blocks[0]).toMatch(/^# \S.*$/);
    expect(blocks[1]).toMatch(/^> \S[^\n]*$/);
    expect(blocks.length).toBeGreaterThan(3);
    for (const block of blocks.slice(1)) expect(block).not.toMatch(/^#/m);
    for (const block of blocks.slice(2)) expect(block).not.toMatch(/^>/);
    expect(index.match(/^# /gm)?.length).toBe(1);
    expect(index).not.toMatch(/^#{3,} /m);
    expect(lists.length).toBeGreaterThan(2);
    for (const list of lists) {
      const [heading = '', empty, ...items] = list.trimEnd().split('\n');
      expect(heading).toMatch(/^\S/);
      expect(empty).toBe('');
      expect(items.length).toBeGreaterThan(0);
      for (const item of items) expect(item).toMatch(/^- \[[^\]]+\]\([^()\s]+\): \S.*$/);
    }
    expect(lists.at(-1)).toMatch(/^Optional\n/);
  });

  it('links only to what is served, and to each document of the gateway', () => {
    // Written by hand: all addresses that need no token, and the two endpoints that need one.
    const served = [
      '/llms-full.txt',
      '/api/v1/openapi.json',
      '/docs',
      '/docs/clients',
      '/docs/reference',
      '/docs/errors',
      '/changelog.json',
      ...GUIDE_NAMES.map((name) => `/docs/guides/${name}`),
      '/mcp',
      '/api/v1/context',
    ];
    const targets = [...index.matchAll(/\]\(([^)]+)\)/g)].map(([, target = '']) => target);
    expect(targets.filter((target) => !target.startsWith(`${BASE}/`))).toEqual([]);
    expect(targets.map((target) => target.slice(BASE.length)).sort()).toEqual([...served].sort());
  });

  it('tells by itself how to authenticate, and what to call first', () => {
    for (const words of [BASE, 'Authorization: Bearer', 'gateway_context', 'next_cursor'])
      expect(index).toContain(words);
    expect(Buffer.byteLength(index)).toBeLessThan(6_000);
  });
});

describe('llms-full.txt', () => {
  it('fits, with room for the operations to come', () => {
    expect(Buffer.byteLength(full)).toBeLessThanOrEqual(262_144);
    const long = `https://${'h'.repeat(40)}.example.com:8443`;
    expect(Buffer.byteLength(textsAt(long).full)).toBeLessThanOrEqual(262_144);
    expect(Buffer.byteLength(full) / registry.tools.length).toBeLessThan(5_500);
    expect(Buffer.byteLength(full)).toBeGreaterThan(100_000);
  });

  it.each(tools)('describes %s', (name, tool) => {
    const text = section(`#### ${name}`);
    expect(text).toContain(tool.title);
    expect(text).toContain(tool.summary);
    expect(text).toContain(`\`${tool.method} ${tool.path}\``);
    expect(text).toContain(`${tool.cost} quota`);
    const [, scopes, flags] = /^- Scopes: (.*)\. Data access: (.*)\.$/m.exec(text) ?? [];
    const listed = (names: readonly string[]): string => names.map((one) => `\`${one}\``).join(', ') || 'none';
    expect(scopes).toBe(listed(tool.required.scopes));
    expect(flags).toBe(listed(tool.required.dataAccess));
    expect(text.includes('refused (`not_permitted`)')).toBe(tool.restrictions === 'refused');
    for (const { scopes: more, dataAccess, ...condition } of tool.when) {
      const verb = condition.leftOut ? 'The answer leaves out' : 'With';
      const calls = `- ${verb} \`${conditionName({ ...condition, scopes: more, dataAccess })}\``;
      const line = text.split('\n').find((one) => one.startsWith(calls)) ?? '';
      for (const grant of [...more, ...dataAccess]) expect(line).toContain(`\`${grant}\``);
    }
    for (const code of tool.errors) expect(text).toContain(`\`${code}\` (${statusOf(code)})`);
    for (const pointer of tool.untrusted) expect(text).toContain(`\`${pointer}\``);
    for (const { name: parameter, in: place, required, schema } of tool.parameters) {
      const line = text.split('\n').find((one) => one.startsWith(`- \`${parameter}\` (`)) ?? '';
      expect(line).toMatch(new RegExp(`^- \`${parameter}\` \\(${place}${required ? ', required' : ''}\\): \\S`));
      const standard = jsonSchema(schema, 'input')['default'];
      if (standard !== undefined) expect(line).toContain(`default \`${String(standard)}\``);
    }
  });

  it.each(tools)('names every member that %s answers', (name, tool) => {
    const text = section(`#### ${name}`).replace(/^Answer, in `data`:$/m, '- `data`: object.');
    const records = [...text.matchAll(/: (?:array \([^)]*\) of )?([A-Z]\w+)(?: or null)?\. /g)].map(([, record = '']) =>
      section(`### ${record}`),
    );
    expect(records).not.toContain('');
    const shown = new Set(
      [text, ...records].flatMap((part) => [...part.matchAll(/^ *- `(\w+)`\??: /gm)].map(([, member = '']) => member)),
    );
    const members = [...membersOf(jsonSchema(tool.output, 'output'))];
    expect(members.length > 0).toBe(tool.status !== 204);
    expect(members.filter((member) => !shown.has(member))).toEqual([]);
  });

  it.each(tools)('shows a call of %s that its schema accepts, the same over REST and MCP', (name, tool) => {
    const text = section(`#### ${name}`);
    const [, example = '{}'] = /^- MCP example: `(.*)`$/m.exec(text) ?? [];
    const call = z.strictObject({ name: z.string(), arguments: z.record(z.string(), z.unknown()) });
    const { name: called, arguments: given } = call.parse(JSON.parse(example));
    const { idempotency_key: key, if_match: revision, ...values } = given;
    expect(called).toBe(name);
    if (tool.idempotency === 'required') expect(key).toMatch(/^[!-~]{1,128}$/);
    else expect(key).toBeUndefined();
    expect(revision).toBe(tool.ifMatch ? 1 : undefined);
    expect(tool.input.safeParse(values).error?.issues).toBeUndefined();
    const line =
      /^- REST example: `(\S+) ([^\s`]+)(?: If-Match: "(\d+)")?(?: Idempotency-Key: (\S+))?(?: (\{.*\}))?`$/m;
    const [, method, address = '', tag, header, body = '{}'] = line.exec(text) ?? [];
    expect(header).toBe(key);
    expect(tag).toBe(tool.ifMatch ? '1' : undefined);
    expect(method).toBe(tool.method);
    const url = new URL(address, BASE);
    const pattern = new RegExp(`^${tool.path.replace(/\{(\w+)\}/g, '(?<$1>[^/]+)')}$`);
    const path = pattern.exec(url.pathname);
    expect(path, address).not.toBeNull();
    const sent = { ...path?.groups, ...Object.fromEntries(url.searchParams), ...JSON.parse(body) };
    const inBody = tool.parameters.filter((one) => one.in === 'body').map((one) => one.name);
    expect(Object.keys(JSON.parse(body)).sort()).toEqual(inBody.sort());
    expect(sent).toEqual(
      Object.fromEntries(
        Object.entries(values).map(([member, value]) => [member, inBody.includes(member) ? value : String(value)]),
      ),
    );
  });

  it('says what each failure code, scope and flag means', () => {
    const errors = section('## Errors');
    for (const code of FAILURE_CODES)
      expect(errors).toContain(`| \`${code}\` | ${statusOf(code)} | ${titleOf(code)} |`);
    const grants = section('## Scopes and data access');
    for (const grant of [...SCOPES, ...DATA_ACCESS]) {
      const line = grants.split('\n').find((one) => one.startsWith(`- \`${grant}\`: `));
      const asking = registry.tools.filter(({ required, when }) =>
        [required, ...when].some(({ scopes, dataAccess }) => [...scopes, ...dataAccess].some((one) => one === grant)),
      );
      expect(line, grant).toBeDefined();
      const named = [...(line ?? '').matchAll(/`(\w+)`/g)].map(([, word = '']) => word).slice(1);
      expect(named.filter((word) => registry.get(word)).sort()).toEqual(asking.map((tool) => tool.name).sort());
    }
  });

  it('names every code that the OpenAPI document names for an operation', () => {
    const everywhere = /^Any operation can answer .*$/m.exec(section('## Errors'))?.[0] ?? '';
    const document = openapi(registry, BASE);
    const { paths } = z
      .object({
        paths: z.record(
          z.string(),
          z.record(
            z.string(),
            z.object({ responses: z.record(z.string(), z.object({ $ref: z.string().optional() })) }),
          ),
        ),
      })
      .parse(document);
    for (const { name, path, method } of registry.tools) {
      const responses = Object.entries(paths[path]?.[method.toLowerCase()]?.responses ?? {});
      const refusals = JSON.stringify(
        responses.flatMap(([status, { $ref = '' }]) => (Number(status) >= 400 ? [referred(document, $ref)] : [])),
      );
      const codes = FAILURE_CODES.filter((code) => refusals.includes(`"${code}"`));
      expect(codes.length).toBeGreaterThan(8);
      const own = /^- Error codes of its own: .*$/m.exec(section(`#### ${name}`))?.[0] ?? '';
      expect(codes.filter((code) => !everywhere.includes(`\`${code}\``) && !own.includes(`\`${code}\``))).toEqual([]);
    }
  });

  it('says of the bodies what the registry says', () => {
    const [, sentence = ''] = /^- Most answers have the form .*?\. (.*) answer without `data`\.$/m.exec(full) ?? [];
    const named = [...sentence.matchAll(/`(\w+)`/g)].map(([, name]) => name);
    const bare = registry.tools.filter((tool) => !/"properties":\{"data":/.test(JSON.stringify(outputOf(tool))));
    expect(named.sort()).toEqual(bare.map((tool) => tool.name).sort());
  });

  it('holds the guides whole', () => {
    expect(guides.size).toBe(GUIDE_NAMES.length);
    const lines = new Set(section('## Guides').split('\n'));
    for (const [name, guide] of guides) {
      const missing = guide.split('\n').filter((line) => {
        const absolute = line.replaceAll('](/', `](${BASE}/`);
        return line !== '' && !lines.has(absolute) && !lines.has(`##${absolute}`);
      });
      expect(missing, name).toEqual([]);
    }
  });

  it('lists every A2A skill with its arguments, and every code', () => {
    const a2a = section('## A2A');
    expect(skills.all.length).toBe(8);
    for (const { skill, required } of skills.all) {
      const [, block = ''] = a2a.split(`- \`${skill.name}\` (runs `);
      const own = block.split('\n- ', 1)[0] ?? '';
      for (const name of Object.keys(skill.input.shape)) expect(own, skill.name).toContain(`  - \`${name}\``);
      for (const grant of [...skill.tools, ...required.scopes, ...required.dataAccess]) expect(own).toContain(grant);
    }
    for (const code of ['-32001', '-32002', '-32003', '-32004', '-32005', '-32009', 'task_limit', 'not_permitted'])
      expect(a2a).toContain(code);
  });

  it('lists the resources and prompts that can be used', () => {
    const mcp = section('## MCP');
    for (const { uri } of resources) expect(mcp).toContain(`\`${uri}\``);
    for (const { name, tools: asked } of prompts) {
      expect(mcp.includes(`- \`${name}\``), name).toBe(asked.every((tool) => registry.get(tool) !== undefined));
    }
  });
});

describe.each([
  ['llms.txt', index],
  ['llms-full.txt', full],
])('%s', (_, text) => {
  it('is tidy Markdown', () => {
    const prose = proseOf(text);
    expect(prose.filter((line) => /^# /.test(line))).toEqual(['# Installation Gateway']);
    const levels = prose.flatMap((line) => /^(#+) \S/.exec(line)?.[1]?.length ?? []);
    expect(levels.filter((level, at) => at > 0 && level > (levels[at - 1] ?? 0) + 1)).toEqual([]);
    expect(Math.max(...levels)).toBeLessThanOrEqual(5);
    expect(text.split('\n').filter((line) => line.trimStart().startsWith('```')).length % 2).toBe(0);
    expect(text.split('\n').filter((line) => line.length > 2_000 || /\s$/.test(line))).toEqual([]);
    expect(/\n{4,}/.test(text)).toBe(false);
    expect(text.endsWith('\n') && !text.endsWith('\n\n')).toBe(true);
  });

  it('holds nothing that was not filled in', () => {
    const waste = [/undefined/, /\[object /, /\bNaN\b/, /\{\{\w+\}\}/, /\{base_url\}/, /<!--/, /127\.0\.0\.1:8420/];
    expect(waste.flatMap((pattern) => pattern.exec(text)?.[0] ?? [])).toEqual([]);
    expect(text.includes(`${BASE}/api/v1/`) && !text.includes(`${BASE}//`)).toBe(true);
  });
});

describe('llms/preamble.md', () => {
  it('says of nothing that it is missing: all four parts are served', () => {
    expect(preamble.split('\n').filter((line) => /not served|not yet|later version of|lacks/i.test(line))).toEqual([]);
    for (const guide of guides.values()) expect(guide).not.toMatch(/not served by this version|this version lacks/i);
  });

  it('tells of every write, its key, and all that can become of it', () => {
    const writing = section('## Writes');
    for (const { name } of registry.tools.filter((tool) => tool.effect === 'write'))
      expect(writing).toContain(`\`${name}\``);
    for (const said of ['Idempotency-Key', 'idempotency_key', '24 hours', 'Idempotency-Replayed: true', 'tombstone'])
      expect(writing).toContain(said);
    for (const said of ['X-Gateway-Operation-Id', 'operation_id', 'operation_get', 'enrollment_unavailable'])
      expect(writing).toContain(said);
    for (const code of ['operation_in_progress', 'idempotency_conflict', 'operation_conflict', 'outcome_unknown'])
      expect(writing).toContain(`- 409 \`${code}\`: `);
    expect(/^- 409 `outcome_unknown`.*$/m.exec(writing)?.[0]).toContain('Never send it under a new key');
  });
});

describe('server.json', () => {
  // The registry's documentation requires these fields for a remote server (schema of 2025-12-11).
  const Input = z.strictObject({
    description: z.string().min(1),
    isRequired: z.boolean(),
    isSecret: z.boolean().optional(),
    placeholder: z.string().optional(),
  });
  const Variables = z.record(z.string(), Input);
  const Document = z.strictObject({
    $schema: z.literal('https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json'),
    name: z
      .string()
      .min(3)
      .max(200)
      .regex(/^[a-zA-Z0-9.-]+\/[a-zA-Z0-9._-]+$/),
    title: z.string().min(1).max(100),
    description: z.string().min(1).max(100),
    version: z.string().regex(/^\d+\.\d+\.\d+(-[\w.]+)?$/),
    remotes: z
      .array(
        z.strictObject({
          type: z.literal('streamable-http'),
          url: z.string().regex(/^https:\/\/[^\s]+\/mcp$/),
          variables: Variables,
          headers: z.array(Input.extend({ name: z.string(), value: z.string(), variables: Variables })).min(1),
        }),
      )
      .length(1),
  });

  it('has the name that package.json has as mcpName, with which the registry proves the owner of the package', async () => {
    const { mcpName } = JSON.parse(await readFile(new URL('package.json', packageRoot), 'utf8'));
    expect(mcpName).toBe(Document.parse(serverJson(packageVersion)).name);
  });

  it('is what the MCP registry accepts', () => {
    const document = Document.parse(serverJson(packageVersion));
    expect(document.version).toBe(packageVersion);
    const [remote] = document.remotes;
    const namesIn = (template = ''): string[] => [...template.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name);
    expect(namesIn(remote?.url)).toEqual(Object.keys(remote?.variables ?? {}));
    const address = remote?.url.replace(/\{\w+\}/, 'gateway.example.com') ?? '';
    expect(new URL(address).pathname).toBe('/mcp');
    expect(remote?.headers.map((header) => header.name)).toEqual(['Authorization']);
    for (const header of remote?.headers ?? []) {
      expect(header).toMatchObject({ isRequired: true, isSecret: true, value: 'Bearer {token}' });
      expect(namesIn(header.value)).toEqual(Object.keys(header.variables));
      expect(Object.values(header.variables).every((variable) => variable.isSecret)).toBe(true);
    }
  });
});

it('all documents share one conversion of an answer', () => {
  for (const [, tool] of tools) {
    expect(shownOutput(tool)).toBe(shownOutput(tool));
    expect(outputOf(tool)).toBe(outputOf(tool));
  }
});

const outputOf = (tool: (typeof registry.tools)[number]): object => jsonSchema(tool.output, 'output');

function membersOf(node: unknown, found = new Set<string>()): Set<string> {
  if (typeof node !== 'object' || node === null) return found;
  for (const [key, value] of Object.entries(node)) {
    if (key === 'properties') for (const name of Object.keys(value ?? {})) found.add(name);
    membersOf(value, found);
  }
  return found;
}
