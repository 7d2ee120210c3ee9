#!/usr/bin/env node
import { Refused } from './cli/output.ts';
import { run } from './cli/program.ts';
import { loadTools } from './gateway/load.ts';
import { generate } from './generate.ts';
import { serve } from './serve.ts';

process.exitCode = await run(process.argv.slice(2), {
  serve,
  generate: async ({ out }, { check }) => {
    const differing = await generate(await loadTools(), { check });
    if (check && differing.length > 0) {
      throw new Refused(`These files differ from what \`npm run generate\` writes: ${differing.join(', ')}.`);
    }
    out.result({ changed: differing }, differing.join('\n'));
  },
});
