import { openChatwoot } from './chatwoot/chatwoot.js';
import { chatwootGrants } from './chatwoot/grants.js';
/** How each helpdesk is read. */
export const SOURCE_KINDS = {
    chatwoot: {
        open: ({ account, storage, ...settings }) => openChatwoot({ ...settings, account: Number(account), ...(storage !== null && { storage }) }),
        grants: chatwootGrants,
        website: (account) => ({ row: `accounts/${account}`, external_id: `cw:${account}:website:${account}` }),
    },
};
//# sourceMappingURL=openers.js.map