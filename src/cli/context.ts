import type { Command } from 'commander';
import type { Config } from '../config/config.ts';
import type { Store, StoreOptions } from '../store/open/open.ts';
import type { Output } from './output.ts';

/** The store opens when a command first calls `store`, and closes when the command ends. */
export interface CommandContext {
  readonly out: Output;
  readonly config: Config;
  /** Opens the store and migrates it. With `migrates: false`, throws instead if the schema is not the current one. */
  store(options?: Pick<StoreOptions, 'migrates'>): Promise<Store>;
}

/** Sets the action of a command, and gives the command the option `--json`. */
export type RunAction = (
  command: Command,
  action: (context: CommandContext, ...args: unknown[]) => Promise<void>,
) => void;
