import { networkOf } from '../../../flow/network.ts';
import { keepNewest } from '../../../flow/newest.ts';
import type { Database } from '../../../store/driver/postgres.ts';
import { type InstalledClient, loadInstalled } from '../../../store/sign-in/clients.ts';

export const isCredentialId = (id: string): boolean => /^crd_[a-f0-9]{32}$/.test(id);

const REMEMBERED = 10_000;

/**
 * A cache of installed clients by credential id. Every statement for a client verifies the client's revision and secret
 * again. So an outdated client in the cache cannot authorize anything.
 */
export interface InstalledClients {
  remembered(id: string): InstalledClient | undefined;
  /**
   * Reads the client from the store. `from` is the IP address of the request. Returns `undefined` if no active
   * credential has this id.
   */
  fresh(id: string, from: string): Promise<InstalledClient | undefined>;
}

export function openInstalled(db: Database): InstalledClients {
  const known = new Map<string, InstalledClient>();
  const keep = (client: InstalledClient): void => keepNewest(known, client.id, client, REMEMBERED);
  return {
    remembered(id) {
      const client = known.get(id);
      if (client) keep(client);
      return client;
    },
    async fresh(id, from) {
      if (!isCredentialId(id)) return undefined;
      // The client stays in the cache during this read. Otherwise anyone who knows a client id could remove that client
      // from the cache.
      const client = await loadInstalled(db, id, networkOf(from));
      if (client?.movedTo === null) keep(client);
      else known.delete(id);
      return client;
    },
  };
}
