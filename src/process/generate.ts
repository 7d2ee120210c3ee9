import { createHash } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { packageRoot, packageVersion } from '../config/package.ts';
import { jsonSchema } from '../core/json-schema.ts';
import type { Tool } from '../core/tool.ts';
import { readGuides } from '../gateway/guides.ts';
import { loadPrompts, loadResources, loadSkills, loadTools } from '../gateway/load.ts';
import type { Registry } from '../gateway/registry.ts';
import { factsOf } from '../gateway/registry.ts';
import { migrations } from '../store/open/migrate.ts';
import { agentCard } from '../surfaces/a2a/card.ts';
import { llms } from '../surfaces/llms/llms.ts';
import { serverJson } from '../surfaces/mcp/server-json.ts';
import { openapi } from '../surfaces/openapi/openapi.ts';

/** The address of the gateway in generated documents. */
const BASE_URL = 'http://127.0.0.1:8787';

/** The file with the SHA-256 digest and the name of each migration. */
const DIGESTS = 'test/golden/migrations.txt';

// Load resources, prompts and skills once at import, so that `generated` stays a plain function of the registry.
const resources = await loadResources();
const prompts = await loadPrompts();
const skills = await loadSkills(await loadTools());
const digests = await addDigests();

/** Returns every generated file of the project: its path and its text. */
export function generated(registry: Registry): Map<string, string> {
  const { index, full } = llms({ registry, guides: readGuides(), baseUrl: BASE_URL, resources, prompts, skills });
  return new Map([
    ['llms/llms.txt', index],
    ['llms/llms-full.txt', full],
    ['llms/openapi.json', json(openapi(registry, BASE_URL))],
    ['server.json', json(serverJson(packageVersion))],
    [DIGESTS, digests],
    ['test/golden/agent-card.json', json(agentCard({ skills, baseUrl: BASE_URL }))],
    ...registry.tools.map((tool): [string, string] => [`test/golden/tools/${tool.name}.json`, json(golden(tool))]),
  ]);
}

/** Returns the public contract of a tool for its golden file. A change of this file is a change of the contract. */
const golden = (tool: Tool): object => ({
  ...factsOf(tool),
  title: tool.title,
  summary: tool.summary,
  when: tool.when,
  quota_cost: tool.cost,
  errors: tool.errors,
  untrusted: tool.untrusted,
  input: jsonSchema(tool.input, 'input'),
  output: jsonSchema(tool.output, 'output'),
});

/**
 * Adds a line for each new migration. Existing lines stay, so this command cannot hide a changed migration from the
 * test.
 */
async function addDigests(): Promise<string> {
  const before = await readFile(new URL(DIGESTS, packageRoot), 'utf8').catch(() => '');
  const added = (await migrations()).slice(before.split('\n').length - 1);
  return (
    before + added.map(({ name, text }) => `${createHash('sha256').update(text).digest('hex')}  ${name}\n`).join('')
  );
}

const json = (value: object): string => `${JSON.stringify(value, null, 2)}\n`;

/** Writes the generated files. With `check`, writes nothing. Returns the paths of the files that differ. */
export async function generate(registry: Registry, { check }: { check: boolean }): Promise<string[]> {
  const differing: string[] = [];
  for (const [path, text] of generated(registry)) {
    const file = new URL(path, packageRoot);
    const before = await readFile(file, 'utf8').catch(() => undefined);
    if (before === text) continue;
    differing.push(path);
    if (!check) await writeFile(file, text);
  }
  return differing;
}
