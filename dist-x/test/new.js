import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { packageRoot } from '../src/config/package.js';
const USAGE = 'Say which operation: npm run new -- tool FOLDER/NAME, for example contacts/contact-conversations.';
export class Wrong extends Error {
}
export function newTool(argument, root) {
    const [, folder, kebab] = /^([a-z]+)\/([a-z][a-z0-9]*(?:-[a-z0-9]+)*)$/.exec(argument) ?? [];
    if (folder === undefined || kebab === undefined) {
        throw new Wrong(`${argument} is not FOLDER/NAME in lower case with hyphens. ${USAGE}`);
    }
    const folders = readdirSync(new URL('tools/', root)).sort();
    if (!folders.includes(folder)) {
        throw new Wrong(`tools/${folder} is not there. The folders are ${folders.join(', ')}. Make a new one by hand.`);
    }
    const file = `${folder}/${kebab}.ts`;
    const taken = [...folders.map((one) => `tools/${one}/${kebab}.ts`), `test/tools/${file}`].find((path) => existsSync(new URL(path, root)));
    if (taken !== undefined)
        throw new Wrong(`${taken} is there already. Choose another name, or edit that file.`);
    const name = kebab.replaceAll('-', '_');
    const written = [`tools/${file}`, `test/tools/${file}`];
    mkdirSync(new URL(`test/tools/${folder}/`, root), { recursive: true });
    writeFileSync(new URL(`tools/${file}`, root), declaration(name, tagOf(folder, root)));
    writeFileSync(new URL(`test/tools/${file}`, root), ROW);
    return written;
}
/** The new operation gets the documentation group of the first operation in its folder. */
function tagOf(folder, root) {
    const [neighbour = ''] = readdirSync(new URL(`tools/${folder}/`, root)).sort();
    return /tag: '(.*)'/.exec(readFileSync(new URL(`tools/${folder}/${neighbour}`, root), 'utf8'))?.[1] ?? 'Discovery';
}
const declaration = (name, tag) => `import { coverage, data, defineTool, inWebsite } from '../../src/core/tool.ts';

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
const ROW = `import { plain, reads } from '../../support/authority/row.ts';

export default reads({
  path: '/FILL_IN?website_id={web}',
  unrestricted: true,
  members: { data: plain('coverage') },
});
`;
const next = (files) => `Wrote ${files.join(', ')}.

Next:
  1. Replace each FILL_IN. docs/adding-an-operation.md has the steps with an example.
  2. npm run generate
  3. npx vitest run test/laws/registry.test.ts
`;
function main([kind, argument, ...more]) {
    try {
        if (kind !== 'tool' || argument === undefined || more.length > 0)
            throw new Wrong(USAGE);
        process.stdout.write(next(newTool(argument, packageRoot)));
        return 0;
    }
    catch (error) {
        if (!(error instanceof Wrong))
            throw error;
        process.stderr.write(`${error.message}\n`);
        return 2;
    }
}
if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href)
    process.exitCode = main(process.argv.slice(2));
//# sourceMappingURL=new.js.map