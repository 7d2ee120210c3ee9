import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Config } from '../config/config.ts';
import { leadsTo } from '../store/open/server.ts';
import { Refused } from './output.ts';

/**
 * Returns the address of the store without its password, to show the operator which store a command changes. Throws
 * Refused if the embedded store does not exist. A command that opens the keys first calls this before, so that no key file
 * is made in an empty folder.
 */
export function existingStore({ databaseUrl, directUrl, dataDir }: Config): string {
  const address = directUrl ?? databaseUrl;
  if (address === undefined) {
    const folder = resolve(dataDir);
    if (!existsSync(join(folder, 'postgres', 'PG_VERSION'))) {
      throw new Refused(
        `There is no store in ${folder}. Set GATEWAY_DATA_DIR to the folder of the store, or DATABASE_URL to its server.`,
      );
    }
    return `the embedded store in ${folder}`;
  }
  return `${leadsTo(address)} (${directUrl === undefined ? 'DATABASE_URL' : 'DATABASE_DIRECT_URL'})`;
}
