import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { packageRoot } from '../../src/config/package.js';
/**
 * The long form of writes.test.ts. The long form injects a fault before and after every message, repeats every fault
 * more often, and ends with all faults at the same time. Run it with `npm run build && node
 * dist/test/faults/writes-long.js --seed 1 --minutes 10`. Each part prints one summary line. The last line has the
 * totals. Exit code 0 means that no write was lost or done twice, and that all totals of the ledger agree.
 */
const { values } = parseArgs({
    options: { seed: { type: 'string', default: '1' }, minutes: { type: 'string', default: '10' } },
});
const root = fileURLToPath(packageRoot);
const child = spawn(process.execPath, [join(root, 'node_modules/vitest/vitest.mjs'), 'run', 'test/faults/writes.test.ts', '--reporter=verbose'], {
    cwd: root,
    stdio: 'inherit',
    env: { ...process.env, TEST_FORM: 'long', WRITES_SEED: values.seed, WRITES_MINUTES: values.minutes },
});
child.once('exit', (code) => {
    process.exitCode = code ?? 1;
});
//# sourceMappingURL=writes-long.js.map