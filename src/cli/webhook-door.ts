import { openGivenKeys } from '../auth/key-file.ts';
import type { Config } from '../config/config.ts';
import type { WebhookDoor } from '../events/webhooks/administration.ts';
import { senderOptions } from '../outbound/sender.ts';
import type { Database } from '../store/driver/postgres.ts';

/** What the commands give to the functions that they share with the console. */
export const webhookDoor = (db: Database, config: Config): WebhookDoor => ({
  db,
  keys: () => openGivenKeys(config),
  sender: senderOptions(config.webhooks.allowed, config.baseUrl),
});
