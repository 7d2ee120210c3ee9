import type { Command } from 'commander';
import type { Config } from '../config/config.ts';
import type { Store, StoreOptions } from '../store/open/open.ts';
import type { Output } from './output.ts';

/** What a command is given: its output and, on demand, the store, closed when the command ends. */
export interface CommandContext {
  readonly out: Output;
  readonly config: Config;
  /** At the current schema; with `migrates: false` it is refused where it is at another one. */
  store(options?: Pick<StoreOptions, 'migrates'>): Promise<Store>;
}

/** Registers an action that gets a context; `--json` is an option of every command. */
export type Run = (command: Command, action: (context: CommandContext, ...args: unknown[]) => Promise<void>) => void;
