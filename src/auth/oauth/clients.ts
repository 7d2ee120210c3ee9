import type { Database } from '../../store/driver/postgres.ts';
import { type Client, loadClient } from '../../store/sign-in/oauth.ts';
import { networkOf } from '../network.ts';

/** Whether the text has the form of a credential's id. */
export const isCredentialId = (id: string): boolean => /^crd_[a-f0-9]{32}$/.test(id);

const REMEMBERED = 10_000;

/**
 * Clients by credential id. What is remembered only spares a round trip: whatever is done for a client is one statement
 * that proves revision and secret again.
 */
export interface Clients {
  /** `undefined`: nothing is remembered of that id. */
  remembered(id: string): Client | undefined;
  /** As the store has it now, for a request from that address; `undefined`: no active credential has that id. */
  fresh(id: string, from: string): Promise<Client | undefined>;
}

export function openClients(db: Database): Clients {
  // Insertion order is age of use: the first key is the one unused longest.
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
      // What is remembered stays meanwhile: whoever asks for a client by its name alone must not make us forget it.
      const client = await loadClient(db, id, networkOf(from));
      if (client) keep(client);
      else known.delete(id);
      return client;
    },
  };
}
