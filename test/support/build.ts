import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { packageRoot } from '../../src/config/package.ts';

/**
 * Builds dist/, which tests start as processes and threads. Type errors are ignored, because somebody may be editing a
 * file. `npm run check` reports them.
 */
export async function build(): Promise<void> {
  const root = fileURLToPath(packageRoot);
  const child = spawn(process.execPath, [`${root}node_modules/typescript/bin/tsc`, '--build'], { cwd: root });
  let written = '';
  child.stdout.on('data', (part: Buffer) => {
    written += part.toString();
  });
  await new Promise((resolve, reject) => child.once('close', resolve).once('error', reject));
  if (!existsSync(`${root}dist/src/main.js`)) throw new Error(`tsc --build wrote no main.js: ${written}`);
}
