import { spawn } from 'node:child_process';

import type { Account } from './identity.ts';

/** Programs start in `/`, which exists for every user. */
export const anywhere = '/';

/**
 * What PostgreSQL may see of our environment: the variables of the loader and of libfaketime. It gets no secrets, and
 * no PG*, which would redirect it. Messages are in English, because the gateway reads some of them.
 */
export function programEnvironment(): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(([name]) => /^(PATH|LD_|FAKETIME|DONT_FAKE|NO_FAKE)/.test(name));
  return { ...Object.fromEntries(kept), LC_ALL: 'C', TZ: 'UTC' };
}

export interface Outcome {
  /** Exit status; undefined when the program could not be started or was killed. */
  readonly status: number | undefined;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a program to its end, as `account` if given. `inherit` become its descriptors 3, 4, … */
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
      // Node throws when it cannot switch to the account: a user namespace may have one user only.
      failed(error);
    }
  });
}
