import type { Command } from 'commander';
import type { Config } from '../config/config.ts';
import type { Store, StoreOptions } from '../store/open/open.ts';
import type { Output } from './output.ts';

/** The input of a command. The store opens when the command first uses it, and closes when the command ends. */
export interface CommandContext {
  readonly out: Output;
  readonly config: Config;
  /**
   * Opens the store and migrates it to the current schema. With `migrates: false`, throws if the schema is another one.
   */
  store(options?: Pick<StoreOptions, 'migrates'>): Promise<Store>;
}

/** Registers the action of a command, and adds the option `--json` to the command. */
export type Run = (command: Command, action: (context: CommandContext, ...args: unknown[]) => Promise<void>) => void;
