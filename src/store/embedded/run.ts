import { spawn } from 'node:child_process';

import type { Account } from './identity.ts';

/** The folder in which programs start. `/` exists for every user. */
export const anywhere = '/';

/**
 * Returns the environment of the programs. The environment holds only variables of the loader and of libfaketime.
 * Secrets are left out. PG* variables are left out too, because they would redirect PostgreSQL. Messages are in
 * English, because the gateway reads some of them.
 */
export function programEnvironment(): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(([name]) => /^(PATH|LD_|FAKETIME|DONT_FAKE|NO_FAKE)/.test(name));
  return { ...Object.fromEntries(kept), LC_ALL: 'C', TZ: 'UTC' };
}

export interface Outcome {
  /** The exit status of the program. Undefined when the program could not start or was killed. */
  readonly status: number | undefined;
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * Runs a program to its end, as `account` if given. The file descriptors in `inherit` become 3, 4 and so on in the
 * program.
 */
export function run(
  program: string,
  args: readonly string[],
  { account, inherit = [] }: { account?: Account | undefined; inherit?: readonly number[] } = {},
): Promise<Outcome> {
  return new Promise((resolve) => {
    let stdout = '';
    let stderr = '';
    const failed = (error: unknown) => resolve({ status: undefined, stdout, stderr: String(error) });
    try {
      const child = spawn(program, args, {
        cwd: anywhere,
        env: programEnvironment(),
        stdio: ['ignore', 'pipe', 'pipe', ...inherit],
        ...(account && { uid: account.uid, gid: account.gid }),
      });
      child.stdout?.on('data', (chunk: Buffer) => {
        stdout += chunk.toString();
      });
      child.stderr?.on('data', (chunk: Buffer) => {
        stderr += chunk.toString();
      });
      child.once('error', failed);
      child.once('close', (status) => resolve({ status: status ?? undefined, stdout, stderr }));
    } catch (error) {
      // Node throws when it cannot switch to the account. For example, a user namespace can have only one user.
      failed(error);
    }
  });
}
