import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { packageRoot } from '../../src/config/package.js';
/**
 * What every start loads, by the imports that are not types. A start pays about a millisecond for each module, so what
 * only some processes need comes by `import()` (docs/decisions/processes.md).
 */
const STARTS = ['main', 'cli/program', 'process/serve', 'process/serve-here'].map((name) => `src/${name}.ts`);
function loaded(from) {
    const seen = new Set();
    const visit = (name) => {
        if (seen.has(name))
            return;
        seen.add(name);
        if (!name.startsWith('src/'))
            return;
        const file = new URL(name, packageRoot);
        const text = readFileSync(file, 'utf8');
        for (const [, to = ''] of text.matchAll(/^(?:import|export)\s(?!type\b)[^;]*?from '([^']+)';/gm))
            visit(to.startsWith('.') ? new URL(to, file).href.slice(packageRoot.href.length) : to);
    };
    from.forEach(visit);
    return seen;
}
it('a start loads no adapter of a helpdesk, no client of an identity provider, and no document', () => {
    const names = [...loaded(STARTS)];
    expect(names.length).toBeGreaterThan(250);
    expect(names.filter((name) => /^src\/(sources\/chatwoot|surfaces\/(a2a|docs|llms|openapi))\//.test(name))).toEqual([]);
    const packages = names.filter((name) => !name.startsWith('src/') && !name.startsWith('node:'));
    expect(packages.sort()).toEqual([
        ...['accepts', 'commander', 'content-disposition', 'express', 'p-queue', 'pino', 'postgres', 'postgres-array'],
        ...['prom-client', 'proxy-addr', 'safe-stable-stringify', 'ws', 'zod'],
    ]);
});
//# sourceMappingURL=loads.test.js.map