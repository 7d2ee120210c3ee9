import { openGivenKeys } from '../auth/key-file.js';
import { senderOptions } from '../outbound/sender.js';
/** What the commands give to the functions that they share with the console. */
export const webhookDoor = (db, config) => ({
    db,
    keys: () => openGivenKeys(config),
    sender: senderOptions(config.webhooks.allowed, config.baseUrl),
});
//# sourceMappingURL=webhook-door.js.map