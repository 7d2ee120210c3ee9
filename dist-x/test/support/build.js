import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { packageRoot } from '../../src/config/package.js';
/**
 * Builds dist/, which tests start as processes and threads. Types are not checked: that takes eight seconds, and
 * `npm run check` does it.
 */
export async function build() {
    const root = fileURLToPath(packageRoot);
    const child = spawn(process.execPath, [`${root}node_modules/typescript/bin/tsc`, '--build', '--noCheck'], {
        cwd: root,
    });
    let written = '';
    child.stdout.on('data', (part) => {
        written += part.toString();
    });
    await new Promise((resolve, reject) => child.once('close', resolve).once('error', reject));
    if (!existsSync(`${root}dist/src/main.js`))
        throw new Error(`the compiler wrote no main.js: ${written}`);
}
//# sourceMappingURL=build.js.map