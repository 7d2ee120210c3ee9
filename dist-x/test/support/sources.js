import { newId } from '../../src/auth/issue.js';
import { Keyring } from '../../src/auth/keys.js';
import { writePage } from '../../src/sources/engine/page.js';
import { explainSource } from '../../src/sources/follow/explain.js';
import { settingsOf } from '../../src/sources/follow/open.js';
import { startSources } from '../../src/sources/follow/runner.js';
import { SOURCE_KINDS } from '../../src/sources/openers.js';
import { openStoredReader } from '../../src/sources/reader/reader.js';
import { insertSource, readSources, startSource, takeOrganization, } from '../../src/store/administration/sources.js';
export const keys = new Keyring([{ kid: '1', secret: new Uint8Array(32).fill(7) }]);
/** Node 20 has no Array.fromAsync. */
export async function collected(items) {
    const all = [];
    for await (const item of items)
        all.push(item);
    return all;
}
export async function addSource({ db }, given) {
    const { address, account = 1, mode, period = 1 } = given;
    const organization = given.organization ?? `cw:${account}:organization:${account}`;
    const id = newId('src');
    const settings = { account: String(account), mode, period, timeZone: 'UTC', storage: null };
    const helpdesk = SOURCE_KINDS.chatwoot.open({ ...settings, address, organization, reader: id });
    const { row, external_id } = SOURCE_KINDS.chatwoot.website(String(account));
    const changes = (await collected(helpdesk.reread([row]))).flat();
    await helpdesk.close();
    const [name] = changes.flatMap((change) => ('record' in change ? [String(change.record['name'])] : []));
    const { tenant } = await takeOrganization(db, { external_id: organization, name: name ?? '' });
    const added = await insertSource(db, {
        ...settings,
        id,
        tenant,
        kind: 'chatwoot',
        address: keys.seal('source', address),
        apiUrl: given.api?.url ?? null,
        apiToken: given.api === undefined ? null : keys.seal('source', given.api.token),
    }, 30);
    if (!added)
        throw new Error('the organization has this source');
    await writePage(db, { id, tenant: Number(tenant), epoch: 0 }, changes, null);
    await startSource(db, id, external_id);
    return {
        id,
        tenant: Number(tenant),
        state: async () => {
            const [record] = await readSources(db, id);
            if (!record)
                throw new Error('the source is gone');
            return record;
        },
    };
}
/** Opens a stored source in this thread, for tests that stand between the gateway and the helpdesk. */
export function openStored(stored) {
    const { kind, settings } = settingsOf(keys, stored);
    return SOURCE_KINDS[kind].open(settings);
}
/** Runs a store's sources as a gateway does, each in its own thread. `errors` collects what the gateway would log. */
export function runSources({ db }, checkEvery) {
    const errors = [];
    const running = startSources({
        db,
        writer: db,
        checkEvery,
        open: (row) => openStoredReader(keys, row),
        explain: explainSource,
        onError: (error) => errors.push(error),
    });
    return { errors, stop: () => running.stop() };
}
//# sourceMappingURL=sources.js.map