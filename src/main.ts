#!/usr/bin/env node
import { Refused, surviveClosedPipes } from './cli/output.ts';
import { run, unexpected } from './cli/program.ts';
import { handleUncaught } from './process/uncaught.ts';

const tell = (error: unknown): void => void process.stderr.write(`gateway: ${unexpected(error)}\n`);
// Each change of a command is one statement, so an end leaves nothing half done.
handleUncaught({
  rejection: tell,
  exception: (error) => {
    tell(error);
    process.exit(1);
  },
});
surviveClosedPipes();
// `npx installation-gateway` without a command serves.
const given = process.argv.slice(2);
// Load the surfaces only for commands that need them, because loading them takes 0.6 s.
process.exitCode = await run(given.length === 0 ? ['serve'] : given, {
  serve: async (context, options) => (await import('./process/serve.ts')).serve(context, options),
  generate: async ({ out }, { check }) => {
    const [{ generate }, { loadTools }] = await Promise.all([
      import('./process/generate.ts'),
      import('./gateway/load.ts'),
    ]);
    const differing = await generate(await loadTools(), { check });
    if (check && differing.length > 0) {
      throw new Refused(`These files differ from what \`npm run generate\` writes: ${differing.join(', ')}.`);
    }
    out.result({ changed: differing }, differing.join('\n'));
  },
});
