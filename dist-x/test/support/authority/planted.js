import { writeCursor } from '../../../src/events/cursors.js';
import { KEYS } from '../keys.js';
const websites = new Map();
export const noteSubscription = (credential, website) => void websites.set(credential, website);
export const subscriptionId = (credential) => `sub_${credential.slice(4)}`;
export const cursorOf = (credential) => writeCursor(KEYS, {
    subscription: subscriptionId(credential),
    revision: 1,
    credential,
    environment: 'test',
    positions: new Map([[websites.get(credential) ?? 'web_1_1', 0]]),
});
//# sourceMappingURL=planted.js.map