import { createHash } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { packageRoot, packageVersion } from '../config/package.ts';
import { readGuides } from '../gateway/guides.ts';
import { loadPrompts, loadResources, loadSkills, loadTools } from '../gateway/load.ts';
import type { Registry } from '../gateway/registry.ts';
import { type Migration, migrations, schemaFiles } from '../store/open/migrate.ts';
import { agentCard } from '../surfaces/a2a/card.ts';
import { llms } from '../surfaces/llms/llms.ts';
import { serverJson } from '../surfaces/mcp/server-json.ts';
import { openapi } from '../surfaces/openapi/openapi.ts';

const BASE_URL = 'http://127.0.0.1:8420';

const DIGESTS = 'test/golden/migrations.txt';

// Load the resources, prompts and skills once at import, so that `generated` needs only the registry and no `await`.
const resources = await loadResources();
const prompts = await loadPrompts();
const skills = await loadSkills(await loadTools());
const digests = await addDigests();

export function generated(registry: Registry): Map<string, string> {
  const { index, full } = llms({ registry, guides: readGuides(), baseUrl: BASE_URL, resources, prompts, skills });
  return new Map([
    ['llms/llms.txt', index],
    ['llms/llms-full.txt', full],
    ['llms/openapi.json', `${inLines(openapi(registry, BASE_URL))}\n`],
    ['server.json', json(serverJson(packageVersion))],
    [DIGESTS, digests],
    ['test/golden/agent-card.json', json(agentCard({ skills, baseUrl: BASE_URL }))],
  ]);
}

/** The files of the schema, and the migrations after it. */
async function sqlFiles(): Promise<Migration[]> {
  return [...(await schemaFiles()), ...(await migrations()).slice(1)];
}

/** Adds a line for each new file. Existing lines are never changed, so the test still finds a changed file. */
async function addDigests(): Promise<string> {
  const before = await readFile(new URL(DIGESTS, packageRoot), 'utf8').catch(() => '');
  const added = (await sqlFiles()).slice(before.split('\n').length - 1);
  return (
    before + added.map(({ name, text }) => `${createHash('sha256').update(text).digest('hex')}  ${name}\n`).join('')
  );
}

const json = (value: object): string => `${JSON.stringify(value, null, 2)}\n`;

/** The longest value that stands in one line, in characters. */
const LINE = 300;

/** JSON with one member a line and no other white space. A short value stands in one line. So a diff is readable. */
function inLines(value: unknown): string {
  const line = JSON.stringify(value);
  if (typeof value !== 'object' || value === null || line.length <= LINE) return line;
  if (Array.isArray(value)) return `[\n${value.map(inLines).join(',\n')}\n]`;
  return `{\n${Object.entries(value)
    .map(([name, one]) => `${JSON.stringify(name)}:${inLines(one)}`)
    .join(',\n')}\n}`;
}

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
