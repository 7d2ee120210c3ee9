import { senderOptions } from '../outbound/sender.js';
/** What the console needs to change webhooks and sources. The code of sources is loaded when it is first needed. */
export function consoleTools(settings, baseUrl) {
    const { config, keys: ring } = settings;
    const keys = async () => ring;
    return {
        webhooks: { keys, sender: senderOptions(config.webhooks.allowed, baseUrl) },
        sources: {
            hosts: config.sourceHosts,
            add: async ({ db, by }, form) => {
                const { addTypedSource } = await import('../sources/from-form.js');
                return addTypedSource({ db, by, keys, patience: settings.patience }, config.sourceHosts, form);
            },
            remove: async ({ db, by }, record, withData) => {
                const { removeSource } = await import('../sources/administration.js');
                return removeSource({ db, by, keys }, record, withData);
            },
            grants: async (mode) => {
                const { SOURCE_KINDS } = await import('../sources/openers.js');
                return SOURCE_KINDS.chatwoot.grants({ mode });
            },
        },
    };
}
//# sourceMappingURL=console-tools.js.map