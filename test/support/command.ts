import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { packageRoot } from '../../src/config/package.ts';
import type { Ran } from './cli.ts';
import type { TestDatabase } from './database.ts';
import { built } from './replica.ts';

export const checkout = fileURLToPath(packageRoot);
export const main = join(checkout, 'dist/src/main.js');

/** The environment of a person's shell: nothing of the test run, of PostgreSQL or of npm. */
export const shellEnvironment = (env: Readonly<Record<string, string>> = {}): NodeJS.ProcessEnv => ({
  ...Object.fromEntries(
    Object.entries(process.env).filter(
      ([name]) => !/^(GATEWAY_|PG|VITEST|NODE_|npm_|DATABASE_URL|LOG_|PORT$)/i.test(name),
    ),
  ),
  ...env,
});

export const urlOf = ({ host, port, name }: TestDatabase): string =>
  `postgres://postgres@${encodeURIComponent(host)}:${port}/${name}`;

/** Runs the command line in a process of its own. With `input`, the command has a terminal on which this text is typed. */
export async function command(database: TestDatabase, argv: readonly string[], input?: string): Promise<Ran> {
  await built();
  const words = [process.execPath, main, ...argv];
  const [program = '', ...args] =
    input === undefined ? words : ['script', '-qefc', words.map((word) => `'${word}'`).join(' '), '/dev/null'];
  const child = spawn(program, args, {
    cwd: checkout,
    env: shellEnvironment({ DATABASE_URL: urlOf(database), TERM: 'dumb' }),
    stdio: [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
  });
  const written = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const)
    child[name]?.on('data', (part: Buffer) => {
      written[name] += part.toString();
      // Type only after the question, because a terminal drops what is typed before.
      if (input !== undefined && /\[y\/N\] $/.test(written[name])) child.stdin?.write(input);
    });
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
  return { code: code ?? -1, ...written };
}
