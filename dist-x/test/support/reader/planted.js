import { parentPort, workerData } from 'node:worker_threads';
import { hostReader } from '../../../src/sources/reader/host.js';
/** A thread whose source hangs, dies or fills its memory, as `settings.account` says. */
const opening = workerData;
const { address } = opening.settings;
const password = URL.canParse(address) ? decodeURIComponent(new URL(address).password) : '';
const contact = (id) => ({
    ...{ type: 'contact', external_id: id, website: 'w', name: id, created_at: '2026-11-01T10:00:00Z' },
});
const hanging = Object.defineProperty({ ...contact('b') }, 'name', {
    enumerable: true,
    get: () => {
        for (;;)
            ;
    },
});
const untouched = Object.defineProperty({ from: '', record: contact('d') }, 'from', {
    enumerable: true,
    get: () => {
        throw new Error('somebody looked at the change');
    },
});
/** 64 million characters in 64 changes. */
const long = () => {
    const text = 'x'.repeat(1_000_000);
    return Array.from({ length: 64 }, (_, n) => ({
        from: `messages/${n}`,
        record: {
            ...{ type: 'message', external_id: `m${n}`, conversation: 'c', author_type: 'visitor', visibility: 'public' },
            ...{ kind: 'text', text, created_at: '2026-11-01T10:00:00Z' },
        },
    }));
};
const page = (changes) => ({ changes, after: null, more: false });
const never = () => {
    throw new Error('not planted');
};
const source = {
    check: async () => [],
    installation: async () => ({ account: 'planted' }),
    begin: async () => ({ n: 1 }),
    load: async () => page([
        { from: 'contacts/1', record: contact('a') },
        { from: 'contacts/2', record: hanging },
        { from: 'contacts/3', record: contact('c') },
    ]),
    changes: (after) => {
        if (after['long'] === true)
            return Promise.resolve(page(long()));
        if (after['many'] === true)
            return Promise.resolve(page(new Array(200_001).fill(untouched)));
        setImmediate(() => {
            throw new Error(`a message with ${address} and ${password}`);
        });
        return new Promise(() => undefined);
    },
    reread: never,
    missing: async () => {
        const kept = [];
        for (;;)
            kept.push(new Array(100_000).fill(Math.random()));
    },
    behind: async () => {
        const cause = new Error(`the password ${password}`);
        throw Object.assign(new Error(`refused for ${address}`, { cause }), { code: '28P01' });
    },
    unmapped: async () => ({}),
    listen: (changed) => {
        changed();
        return async () => undefined;
    },
    forget: async () => undefined,
    close: async () => undefined,
};
if (parentPort)
    hostReader(source, parentPort, opening);
//# sourceMappingURL=planted.js.map