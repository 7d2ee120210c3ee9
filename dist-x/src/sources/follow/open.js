import { isSourceKind } from '../kinds.js';
import { SourceRefused } from './explain.js';
export function settingsOf(keys, stored) {
    const { id, kind, account, mode, period, time_zone: timeZone, storage, organization } = stored;
    if (!isSourceKind(kind))
        throw new SourceRefused(`This version of the gateway does not know the helpdesk ${kind}.`);
    const address = keys.open('source', stored.address);
    if (address === undefined)
        throw new SourceRefused('The address of the source cannot be decrypted. GATEWAY_KEYS must hold the key with which the source was added.');
    const more = organization === undefined ? {} : { organization };
    return { kind, settings: { address, account, mode, period, timeZone, storage, reader: id, ...more } };
}
//# sourceMappingURL=open.js.map