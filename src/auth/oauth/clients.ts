import type { Database } from '../../store/driver/postgres.ts';
import { type Client, loadClient } from '../../store/sign-in/oauth.ts';
import { networkOf } from '../network.ts';

export const isCredentialId = (id: string): boolean => /^crd_[a-f0-9]{32}$/.test(id);

const REMEMBERED = 10_000;

/**
 * A cache of OAuth clients by credential id. Every statement for a client verifies the client's revision and secret
 * again. So an outdated client in the cache cannot authorize anything.
 */
export interface Clients {
  remembered(id: string): Client | undefined;
  /**
   * Reads the client from the store. `from` is the IP address of the request. Returns `undefined` if no active
   * credential has this id.
   */
  fresh(id: string, from: string): Promise<Client | undefined>;
}

export function openClients(db: Database): Clients {
  const known = new Map<string, Client>();
  const keep = (client: Client): void => {
    known.delete(client.id);
    known.set(client.id, client);
    if (known.size > REMEMBERED) known.delete(known.keys().next().value ?? '');
  };
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
      const client = await loadClient(db, id, networkOf(from));
      if (client) keep(client);
      else known.delete(id);
      return client;
    },
  };
}
