import type { Command } from 'commander';
import type { Config } from '../config/config.ts';
import type { Store, StoreOptions } from '../store/open/open.ts';
import type { Output } from './output.ts';

/** The store opens when a command first calls `store`, and closes when the command ends. */
export interface CommandContext {
  readonly out: Output;
  readonly config: Config;
  /**
   * Opens the store. Throws if it does not exist or has another schema: in the wrong place, a command would otherwise make
   * an empty store and report that. With `migrates: true`, makes or migrates it.
   */
  store(options?: Pick<StoreOptions, 'migrates'>): Promise<Store>;
}

/** Sets the action of a command, and gives the command the option `--json`. */
export type RunAction = (
  command: Command,
  action: (context: CommandContext, ...args: unknown[]) => Promise<void>,
) => void;
