import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

export interface Started {
  readonly process: ChildProcess;
  /** Milliseconds from the start of the process until it says `ready`. */
  readonly ready: number;
  /** The current resident memory of the process in MB. */
  rss(): number;
  stop(): Promise<void>;
}

/** `log`: 'pipe' if the caller reads the standard output of the process. */
export function start(
  script: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  log: 'ignore' | 'pipe' = 'ignore',
): Promise<Started> {
  const began = performance.now();
  const child = spawn(process.execPath, [script, ...args], {
    env: { ...process.env, ...env },
    stdio: ['ignore', log, 'pipe'],
  });
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  return new Promise((resolve, reject) => {
    let text = '';
    child.stderr?.on('data', (part: Buffer) => {
      text += part.toString();
      if (!/\bready\b/.test(text)) return;
      resolve({
        process: child,
        ready: performance.now() - began,
        rss: () => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1]) / 1024,
        stop: async () => {
          child.kill('SIGTERM');
          await ended;
        },
      });
    });
    child.once('exit', (code) => reject(new Error(`${script} ended with ${code}: ${text}`)));
  });
}

/** Writes a script that runs `main` and collects garbage at SIGUSR2. Returns its path. */
export function collecting(main: string, folder: string): string {
  const script = join(folder, 'collecting.mjs');
  writeFileSync(
    script,
    `import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
setFlagsFromString('--expose-gc');
process.on('SIGUSR2', runInNewContext('() => gc()'));
await import(${JSON.stringify(main)});
`,
  );
  return script;
}

/**
 * Resident memory of the process in MB, measured after a garbage collection. Without the collection, the figure would
 * depend on the elapsed time.
 */
export async function held({ process, rss }: Started): Promise<number> {
  for (let i = 0; i < 3; i++) {
    process.kill('SIGUSR2');
    await pause(200);
  }
  return rss();
}
