import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { vi } from 'vitest';
import { run } from '../../../src/cli/program.ts';
import { packageRoot } from '../../../src/config/package.ts';
import { LONG } from '../form.ts';

export interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Lives for the whole test, so that later commands see the variables of earlier ones. */
export interface Shell {
  run(command: string): Promise<Ran>;
  close(): Promise<void>;
}

const CLAUDE = fileURLToPath(new URL('test/support/documents/claude.mjs', packageRoot));

/**
 * How this shell differs from a reader's. curl prints the status of each answer on standard error. A script stands in
 * for Claude Code. In the short form, `npm run --silent gateway --` runs in the test's process, because a new process
 * takes ten times as long.
 */
const PRELUDE = `
claude() { node '${CLAUDE}' "$@"; }
curl() { command curl -w '%{stderr}HTTP %{http_code}\\n' "$@"; }
npm() {
  if [ -z "$DOOR" ] || [ "$1 $2 $3 $4" != "run --silent gateway --" ]; then command npm "$@"; return; fi
  shift 4
  printf '%s\\0' "$DATABASE_URL" "$@" | command curl -s --unix-socket "$DOOR" --data-binary @- http://door/
  cat "$DOOR.stderr" >&2
  return "$(cat "$DOOR.code")"
}
`;
const PATIENCE = 90_000;
const MARK = '--- the command has ended:';

export async function openShell(folder: string, env: Readonly<Record<string, string>>): Promise<Shell> {
  const door = LONG ? undefined : await openDoor(folder, env);
  const inherited = Object.entries(process.env).filter(
    ([name]) => !/^(GATEWAY_|PG|VITEST|NODE_|DATABASE_URL)/.test(name),
  );
  const shell = spawn('bash', ['--noprofile', '--norc'], {
    cwd: folder,
    env: { ...Object.fromEntries(inherited), ...env, DOOR: door?.path ?? '' },
    stdio: ['pipe', 'pipe', 'pipe'],
    // Background commands end with the process group.
    detached: true,
  });
  let [stdout, stderr] = ['', ''];
  let heard = (): void => undefined;
  shell.stdout.setEncoding('utf8').on('data', (part: string) => {
    stdout += part;
    heard();
  });
  shell.stderr.setEncoding('utf8').on('data', (part: string) => {
    stderr += part;
    heard();
  });
  const ended = new Promise<void>((resolve) => shell.once('close', () => resolve()));
  shell.stdin.write(PRELUDE);
  return {
    async run(command) {
      [stdout, stderr] = ['', ''];
      // Otherwise, the command would read the next commands as its input.
      shell.stdin.write(`{\n${command}\n} </dev/null; code=$?; echo "${MARK} $code"; echo "${MARK}" >&2\n`);
      const both = (): boolean => [stdout, stderr].every((text) => text.includes(MARK));
      await new Promise<void>((resolve, reject) => {
        const late = setTimeout(() => reject(new Error(`no end of ${command}: ${stdout}${stderr}`)), PATIENCE);
        heard = () => {
          if (!both()) return;
          clearTimeout(late);
          resolve();
        };
      });
      const code = Number(stdout.slice(stdout.indexOf(MARK) + MARK.length).split('\n')[0]);
      return { code, stdout: stdout.slice(0, stdout.indexOf(MARK)), stderr: stderr.slice(0, stderr.indexOf(MARK)) };
    },
    async close() {
      if (shell.pid !== undefined) process.kill(-shell.pid, 'SIGKILL');
      await ended;
      await door?.close();
    },
  };
}

/**
 * Runs command lines from a socket in this process, one at a time, in `folder`. A line starts with the database
 * address.
 */
async function openDoor(folder: string, env: Readonly<Record<string, string>>) {
  const path = join(folder, '.door');
  const before = process.cwd();
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', async () => {
      const [database = '', ...argv] = Buffer.concat(parts).toString('utf8').split('\0').slice(0, -1);
      const ran = await inProcess(argv, database);
      writeFileSync(`${path}.stderr`, ran.stderr);
      writeFileSync(`${path}.code`, String(ran.code));
      response.end(ran.stdout);
    });
  });
  await new Promise<void>((resolve) => server.listen(path, resolve));
  const inProcess = async (argv: readonly string[], database: string): Promise<Ran> => {
    const written = { stdout: '', stderr: '' };
    const spies = (['stdout', 'stderr'] as const).map((name) =>
      vi.spyOn(process[name], 'write').mockImplementation((chunk: string | Uint8Array): boolean => {
        written[name] += Buffer.from(chunk).toString();
        return true;
      }),
    );
    process.chdir(folder);
    for (const [name, value] of Object.entries({ ...env, DATABASE_URL: database })) vi.stubEnv(name, value);
    try {
      const never = (): Promise<never> => Promise.reject(new Error('this command is main.ts’s'));
      const code = await run(argv, { serve: never, generate: never });
      return { code, ...written };
    } finally {
      for (const spy of spies) spy.mockRestore();
      vi.unstubAllEnvs();
      process.chdir(before);
      process.exitCode = undefined;
    }
  };
  return {
    path,
    close: () => new Promise<void>((resolve) => void server.close(() => resolve())),
  };
}
