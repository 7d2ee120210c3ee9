import type { Keyring } from '../auth/keys.ts';
import type { Config } from '../config/config.ts';
import type { DeskTools } from '../gateway/console/desk.ts';
import { senderOptions } from '../outbound/sender.ts';

interface ConsoleSettings {
  readonly config: { readonly webhooks: Pick<Config['webhooks'], 'allowed'> } & Pick<Config, 'sourceHosts'>;
  readonly keys: Keyring;
  /** Milliseconds within which a new source must have answered a check. */
  readonly patience?: number | undefined;
}

/** Milliseconds for which a request deletes records of a removed source. Upkeep deletes the rest. */
const DELETING = 1_000;

/** What the console needs to change webhooks and sources. The code of sources is loaded when it is first needed. */
export function consoleTools(settings: ConsoleSettings, baseUrl: string): DeskTools {
  const { config, keys: ring } = settings;
  const keys = async (): Promise<Keyring> => ring;
  return {
    webhooks: { keys, sender: senderOptions(config.webhooks.allowed, baseUrl) },
    sources: {
      hosts: config.sourceHosts,
      add: async ({ db, by }, form) => {
        const { addTypedSource } = await import('../sources/from-form.ts');
        return addTypedSource({ db, by, keys, patience: settings.patience }, config.sourceHosts, form);
      },
      remove: async ({ db, by }, record, withData) => {
        const { removeSource } = await import('../sources/administration.ts');
        return removeSource({ db, by, keys }, record, { withData, within: DELETING });
      },
      grants: async (mode) => {
        const { SOURCE_KINDS } = await import('../sources/openers.ts');
        return SOURCE_KINDS.chatwoot.grants({ mode });
      },
    },
  };
}
