import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';

export interface Started {
  readonly process: ChildProcess;
  /** Milliseconds from spawn to the line that announces readiness. */
  readonly ready: number;
  /** Resident memory in MB, now. */
  rss(): number;
  stop(): Promise<void>;
}

/** Starts a Node program and waits until its standard error says `ready`. */
export function start(script: string, args: readonly string[], env: NodeJS.ProcessEnv): Promise<Started> {
  const began = performance.now();
  const child = spawn(process.execPath, [script, ...args], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  return new Promise((resolve, reject) => {
    let text = '';
    child.stderr.on('data', (part: Buffer) => {
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
