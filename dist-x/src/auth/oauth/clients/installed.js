import { networkOf } from '../../../flow/network.js';
import { loadInstalled } from '../../../store/sign-in/clients.js';
export const isCredentialId = (id) => /^crd_[a-f0-9]{32}$/.test(id);
const REMEMBERED = 10_000;
export function openInstalled(db) {
    const known = new Map();
    const keep = (client) => {
        known.delete(client.id);
        known.set(client.id, client);
        if (known.size > REMEMBERED)
            known.delete(known.keys().next().value ?? '');
    };
    return {
        remembered(id) {
            const client = known.get(id);
            if (client)
                keep(client);
            return client;
        },
        async fresh(id, from) {
            if (!isCredentialId(id))
                return undefined;
            // The client stays in the cache during this read. Otherwise anyone who knows a client id could remove that client
            // from the cache.
            const client = await loadInstalled(db, id, networkOf(from));
            if (client)
                keep(client);
            else
                known.delete(id);
            return client;
        },
    };
}
//# sourceMappingURL=installed.js.map