#!/usr/bin/env node
import { Refused } from './cli/output.js';
import { run, unexpected } from './cli/program.js';
import { handleUncaught } from './process/uncaught.js';
const tell = (error) => void process.stderr.write(`gateway: ${unexpected(error)}\n`);
// Each change of a command is one statement, so an end leaves nothing half done.
handleUncaught({
    rejection: tell,
    exception: (error) => {
        tell(error);
        process.exit(1);
    },
});
// `npx installation-gateway` without a command serves.
const given = process.argv.slice(2);
// Load the surfaces only for commands that need them, because loading them takes 0.6 s.
process.exitCode = await run(given.length === 0 ? ['serve'] : given, {
    serve: async (context, options) => (await import('./process/serve.js')).serve(context, options),
    generate: async ({ out }, { check }) => {
        const [{ generate }, { loadTools }] = await Promise.all([
            import('./process/generate.js'),
            import('./gateway/load.js'),
        ]);
        const differing = await generate(await loadTools(), { check });
        if (check && differing.length > 0) {
            throw new Refused(`These files differ from what \`npm run generate\` writes: ${differing.join(', ')}.`);
        }
        out.result({ changed: differing }, differing.join('\n'));
    },
});
//# sourceMappingURL=main.js.map