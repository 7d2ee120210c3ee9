import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Config } from '../config/config.ts';
import { leadsTo } from '../store/open/server.ts';
import { Refused } from './output.ts';

/**
 * Names the store of the settings, without its password, for commands whose operator has to know which one they meet.
 * Throws Refused where an embedded one would be made.
 */
export function existingStore({ databaseUrl, directUrl, dataDir }: Config): string {
  const address = directUrl ?? databaseUrl;
  if (address === undefined) {
    const folder = resolve(dataDir);
    if (!existsSync(join(folder, 'postgres', 'PG_VERSION'))) {
      throw new Refused(
        `There is no store in ${folder}: name its folder in GATEWAY_DATA_DIR, or its server in DATABASE_URL.`,
      );
    }
    return `the embedded one in ${folder}`;
  }
  return `${leadsTo(address)} (${directUrl === undefined ? 'DATABASE_URL' : 'DATABASE_DIRECT_URL'})`;
}
