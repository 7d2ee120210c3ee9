import type { DeskTools } from '../../../src/gateway/console/desk.ts';
import { consoleTools } from '../../../src/process/console-tools.ts';
import { KEYS } from '../keys.ts';

/** What the console of a test gateway needs to change webhooks and sources. Sources can be on this machine. */
export const testTools = (baseUrl: string, receivers: ReadonlySet<string> = new Set()): DeskTools =>
  consoleTools({ config: { webhooks: { allowed: receivers }, sourceHosts: ['127.0.0.1'] }, keys: KEYS }, baseUrl);
