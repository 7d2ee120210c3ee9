import type { DeskTools } from '../../../src/gateway/console/desk.ts';
import { consoleTools } from '../../../src/process/console-tools.ts';
import { KEYS } from '../keys.ts';

/** What a test says about sources of the console, also later. */
export interface TestSources {
  /** Hosts that owners may add, with ports. */
  readonly hosts: string[];
  /** Milliseconds within which a new source must have answered. */
  patience?: number | undefined;
}

/** Sources can be on this machine. Nothing listens at port 1 and port 9. */
export const testSources = (): TestSources => ({ hosts: ['127.0.0.1', '127.0.0.1:1', '127.0.0.1:9'] });

/** What the console of a test gateway needs to change webhooks and sources. */
export const testTools = (
  baseUrl: string,
  receivers: ReadonlySet<string> = new Set(),
  sources = testSources(),
): DeskTools =>
  consoleTools(
    {
      config: { webhooks: { allowed: receivers }, sourceHosts: sources.hosts },
      keys: KEYS,
      get patience() {
        return sources.patience;
      },
    },
    baseUrl,
  );
