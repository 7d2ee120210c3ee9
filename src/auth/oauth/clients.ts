import type { Database } from '../../store/driver/postgres.ts';
import { type Client, loadClient } from '../../store/sign-in/oauth.ts';
import { networkOf } from '../network.ts';

/** Whether the text has the form of a credential's id. */
export const isCredentialId = (id: string): boolean => /^crd_[a-f0-9]{32}$/.test(id);

const REMEMBERED = 10_000;

/**
 * A cache of clients by credential id. It only saves a round trip. Every statement for a client verifies its revision
 * and secret again, so a stale entry cannot authorize anything.
 */
export interface Clients {
  /** The cached client. `undefined`: the cache has no such client. */
  remembered(id: string): Client | undefined;
  /**
   * Reads the client from the store, for a request from that address. `undefined`: no active credential has that id.
   */
  fresh(id: string, from: string): Promise<Client | undefined>;
}

export function openClients(db: Database): Clients {
  // Insertion order is order of use: the first key is the least recently used.
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
      // The cached entry stays during the read. Otherwise anyone who knows a client id could evict that client.
      const client = await loadClient(db, id, networkOf(from));
      if (client) keep(client);
      else known.delete(id);
      return client;
    },
  };
}
