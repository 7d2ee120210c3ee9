import type { Command } from 'commander';
import type { Config } from '../config/config.ts';
import type { Store, StoreOptions } from '../store/open/open.ts';
import type { Output } from './output.ts';

/** The input of a command. The store opens on the first use and closes when the command ends. */
export interface CommandContext {
  readonly out: Output;
  readonly config: Config;
  /** Migrates the store to the current schema. With `migrates: false` it throws if the schema is another one. */
  store(options?: Pick<StoreOptions, 'migrates'>): Promise<Store>;
}

/** Registers the action of a command and adds the option `--json`. */
export type Run = (command: Command, action: (context: CommandContext, ...args: unknown[]) => Promise<void>) => void;
