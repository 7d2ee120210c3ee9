import { openChatwoot } from './chatwoot/chatwoot.ts';
import { chatwootGrants } from './chatwoot/grants.ts';
import type { Source } from './source.ts';

export interface SourceSettings {
  /** The address of the helpdesk's database. It can hold a password. */
  readonly address: string;
  readonly account: string;
  readonly mode: 'poll' | 'live';
  /** Seconds between two polls. */
  readonly period: number;
  readonly timeZone: string;
  readonly storage: string | null;
  /** The external_id of the organization to which the website belongs. Undefined: the account is an organization. */
  readonly organization?: string;
  /** Names the reader in the helpdesk. */
  readonly reader: string;
}

/** The API of a helpdesk, to which the writes of the gateway go (src/sources/writer). */
export interface ApiOfSource {
  /** The address of the helpdesk's database. */
  readonly address: string;
  readonly account: string;
  readonly apiUrl: string;
  readonly token: string;
}

interface Kind {
  open(settings: SourceSettings): Source;
  /** SQL that gives the gateway the rights it needs in the helpdesk's database, and no other rights. */
  grants(options: { readonly mode: 'poll' | 'live'; readonly role?: string }): string;
  /** The row of an account, as in `Change.from`, and the external_id of its website. */
  website(account: string): { readonly row: string; readonly external_id: string };
}

/** The helpdesks that can be a source. */
export const SOURCE_KINDS: Readonly<Record<'chatwoot', Kind>> = {
  chatwoot: {
    open: ({ account, storage, ...settings }) =>
      openChatwoot({ ...settings, account: Number(account), ...(storage !== null && { storage }) }),
    grants: chatwootGrants,
    website: (account) => ({ row: `accounts/${account}`, external_id: `cw:${account}:website:${account}` }),
  },
};

export type SourceKind = keyof typeof SOURCE_KINDS;
export const isSourceKind = (kind: string): kind is SourceKind => Object.hasOwn(SOURCE_KINDS, kind);
