import { setTimeout as pause } from 'node:timers/promises';
import { explainSource } from '../../../src/sources/follow/explain.js';
import { startSources } from '../../../src/sources/follow/runner.js';
import { freshDatabase } from '../database.js';
import { addSource, openStored } from '../sources.js';
import { message, put, seed } from './source-rows.js';
import { chatwootWorld } from './source-world.js';
export async function slowWorld(options) {
    const { answer, ...bounds } = options;
    const store = await freshDatabase();
    const desk = await chatwootWorld();
    await desk.grant('poll');
    await seed(desk.sql);
    for (const id of [1, 2, 3])
        await message(desk.sql, id);
    await put(desk.sql, 'contacts', { id: 2, account_id: 2, name: 'Ada' });
    const slow = new Set();
    const asked = new Map();
    const gateways = [];
    const start = () => {
        const gateway = startSources({
            ...bounds,
            db: store.db,
            writer: store.db,
            open: (row) => {
                const source = openStored(row);
                return {
                    ...source,
                    load: async (after) => {
                        asked.set(row.id, [...(asked.get(row.id) ?? []), after]);
                        if (slow.has(row.organization))
                            await pause(answer);
                        return source.load(after);
                    },
                };
            },
            explain: explainSource,
            onError: () => undefined,
        });
        gateways.push(gateway);
    };
    const stop = async () => {
        await Promise.all(gateways.map((gateway) => gateway.stop()));
    };
    start();
    return {
        store,
        desk,
        slow,
        asked,
        add: (organization, account = 1) => addSource(store, { address: desk.address(), mode: 'poll', organization, account }),
        start,
        stop,
        close: async () => {
            await stop();
            await store.close();
            await desk.close();
        },
    };
}
//# sourceMappingURL=slow-world.js.map