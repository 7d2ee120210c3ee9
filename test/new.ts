import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { packageRoot } from '../src/config/package.ts';

const LIST = 'test/support/authority/expected.ts';
const USAGE = 'Say which operation: npm run new -- tool FOLDER/NAME, for example contacts/contact-conversations.';

export class Wrong extends Error {}

export function newTool(argument: string, root: URL): string[] {
  const [, folder, kebab] = /^([a-z]+)\/([a-z][a-z0-9]*(?:-[a-z0-9]+)*)$/.exec(argument) ?? [];
  if (folder === undefined || kebab === undefined) {
    throw new Wrong(`${argument} is not FOLDER/NAME in lower case with hyphens. ${USAGE}`);
  }
  const folders = readdirSync(new URL('tools/', root)).sort();
  if (!folders.includes(folder)) {
    throw new Wrong(`tools/${folder} is not there. The folders are ${folders.join(', ')}. Make a new one by hand.`);
  }
  const tool = `tools/${folder}/${kebab}.ts`;
  const test = `test/tools/${kebab}.test.ts`;
  const taken = [...folders.map((one) => `tools/${one}/${kebab}.ts`), test].find((path) =>
    existsSync(new URL(path, root)),
  );
  if (taken !== undefined) throw new Wrong(`${taken} is there already. Choose another name, or edit that file.`);

  const name = kebab.replaceAll('-', '_');
  const list = readFileSync(new URL(LIST, root), 'utf8');
  const end = list.indexOf('\n];\n', list.indexOf('export const OPERATIONS'));
  if (end === -1) throw new Error(`${LIST} has no list OPERATIONS`);
  writeFileSync(new URL(tool, root), declaration(name, tagOf(folder, root)));
  writeFileSync(new URL(test, root), testOf(name));
  writeFileSync(new URL(LIST, root), `${list.slice(0, end)}\n${row(name)}${list.slice(end)}`);
  return [tool, test, LIST];
}

/** The new operation gets the documentation group of the first operation in its folder. */
function tagOf(folder: string, root: URL): string {
  const [neighbour = ''] = readdirSync(new URL(`tools/${folder}/`, root)).sort();
  return /tag: '(.*)'/.exec(readFileSync(new URL(`tools/${folder}/${neighbour}`, root), 'utf8'))?.[1] ?? 'Discovery';
}

const declaration = (
  name: string,
  tag: string,
): string => `import { coverage, data, defineTool, inWebsite } from '../../src/core/tool.ts';

// docs/adding-an-operation.md explains each member. The laws fail until the last FILL_IN is gone.
export default defineTool({
  name: '${name}',
  title: 'FILL_IN: a verb and a noun',
  summary: 'FILL_IN: what the answer holds and in which order, at most 140 characters.',
  rest: 'GET /api/v1/FILL_IN',
  effect: 'read',
  tag: '${tag}',
  scopes: [],
  restrictions: 'refused',
  input: { query: inWebsite },
  output: data({
    coverage: coverage('FILL_IN'),
  }),
  async handle() {
    return { data: { coverage: 'FILL_IN' } };
  },
});
`;

const row = (name: string): string => `  {
    tool: '${name}',
    path: '/FILL_IN?website_id={web}',
    ...none,
    unrestricted: true,
    website: 'required',
    members: { '': plain('data'), data: plain('coverage') },
  },`;

const testOf = (name: string): string => `import { afterAll, beforeAll, expect, it } from 'vitest';
import { World } from '../support/authority/world.ts';
import { openTestGateway, type TestGateway } from '../support/gateway.ts';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await openTestGateway('empty');
  await new World(gateway.database.sql).whole();
});
afterAll(() => gateway.close());

it('${name}: FILL_IN, what no other test holds', async () => {
  const { token } = await gateway.issue();
  const { status, text, body } = await gateway.ask('/api/v1/FILL_IN?website_id=web_1_1', { token });
  expect(status, text).toBe(200);
  expect(body).toEqual({ data: { coverage: 'FILL_IN' } });
});
`;

const next = (files: readonly string[]): string => `Wrote ${files.join(', ')}.

Next:
  1. Replace each FILL_IN. docs/adding-an-operation.md has the steps with an example.
  2. npm run generate
  3. npx vitest run ${files[1]} test/laws/registry.test.ts
`;

function main([kind, argument, ...more]: readonly string[]): number {
  try {
    if (kind !== 'tool' || argument === undefined || more.length > 0) throw new Wrong(USAGE);
    process.stdout.write(next(newTool(argument, packageRoot)));
    return 0;
  } catch (error) {
    if (!(error instanceof Wrong)) throw error;
    process.stderr.write(`${error.message}\n`);
    return 2;
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) process.exitCode = main(process.argv.slice(2));
