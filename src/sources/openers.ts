import { openChatwoot } from './chatwoot/chatwoot.ts';
import { chatwootGrants } from './chatwoot/grants.ts';
import type { SourceKind, SourceSettings } from './kinds.ts';
import type { Source } from './source.ts';

interface SourceOpener {
  open(settings: SourceSettings): Source;
  /** SQL that grants the gateway only the rights that it needs in the helpdesk's database. */
  grants(options: { readonly mode: 'poll' | 'live'; readonly role?: string }): string;
  /** The row name of an account, as in `Change.from`, and the external_id of its website. */
  website(account: string): { readonly row: string; readonly external_id: string };
}

/** How each helpdesk is read. */
export const SOURCE_KINDS: Readonly<Record<SourceKind, SourceOpener>> = {
  chatwoot: {
    open: openChatwoot,
    grants: chatwootGrants,
    website: (account) => ({ row: `accounts/${account}`, external_id: `cw:${account}:website:${account}` }),
  },
};
