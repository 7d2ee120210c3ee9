import type { Database } from '../../store/driver/postgres.ts';
import { type Client, loadClient } from '../../store/sign-in/oauth.ts';
import { networkOf } from '../network.ts';

/** True when the text has the form of a credential's id. */
export const isCredentialId = (id: string): boolean => /^crd_[a-f0-9]{32}$/.test(id);

const REMEMBERED = 10_000;

/**
 * A cache of OAuth clients by credential id. The cache only saves a round trip. Every statement for a client verifies
 * the client's revision and secret again. So an outdated client in the cache cannot authorize anything.
 */
export interface Clients {
  /** Returns the cached client. Returns `undefined` if the cache has no client with this id. */
  remembered(id: string): Client | undefined;
  /**
   * Reads the client from the store. `from` is the request's address. Returns `undefined` if no active credential has
   * this id.
   */
  fresh(id: string, from: string): Promise<Client | undefined>;
}

export function openClients(db: Database): Clients {
  // The Map keeps clients in the order of their last use. Its first key is the least recently used client.
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
      // Keep the cached client during the read. Otherwise anyone who knows a client id could evict that client.
      const client = await loadClient(db, id, networkOf(from));
      if (client) keep(client);
      else known.delete(id);
      return client;
    },
  };
}
