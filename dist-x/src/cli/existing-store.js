import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { leadsTo } from '../store/open/server.js';
import { Refused } from './output.js';
/**
 * Returns the address of the store without its password, to show the operator which store a command changes. Throws
 * Refused if the store does not exist, because the command would otherwise create an embedded store.
 */
export function existingStore({ databaseUrl, directUrl, dataDir }) {
    const address = directUrl ?? databaseUrl;
    if (address === undefined) {
        const folder = resolve(dataDir);
        if (!existsSync(join(folder, 'postgres', 'PG_VERSION'))) {
            throw new Refused(`There is no store in ${folder}. Set GATEWAY_DATA_DIR to the folder of the store, or DATABASE_URL to its server.`);
        }
        return `the embedded store in ${folder}`;
    }
    return `${leadsTo(address)} (${directUrl === undefined ? 'DATABASE_URL' : 'DATABASE_DIRECT_URL'})`;
}
//# sourceMappingURL=existing-store.js.map