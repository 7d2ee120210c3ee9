import { openChatwoot } from './chatwoot/chatwoot.ts';
import { chatwootGrants } from './chatwoot/grants.ts';
import type { Source } from './source.ts';

export interface SourceSettings {
  /** The address of the helpdesk's database. It can contain a password. */
  readonly address: string;
  readonly account: string;
  readonly mode: 'poll' | 'live';
  /** Seconds between two rounds of polling. */
  readonly period: number;
  /** The IANA time zone of the website. */
  readonly timeZone: string;
  readonly storage: string | null;
  /** The external_id of the website's organization. If undefined, the account becomes an organization. */
  readonly organization?: string;
  /** The name under which the helpdesk keeps the state of this reader. */
  readonly reader: string;
}

/** The API of a helpdesk, which gets the writes of the gateway (src/sources/writer). */
export interface ApiOfSource {
  readonly address: string;
  readonly account: string;
  readonly apiUrl: string;
  readonly token: string;
}

interface SourceOpener {
  open(settings: SourceSettings): Source;
  /** SQL that grants the gateway only the rights that it needs in the helpdesk's database. */
  grants(options: { readonly mode: 'poll' | 'live'; readonly role?: string }): string;
  /** The row name of an account, as in `Change.from`, and the external_id of its website. */
  website(account: string): { readonly row: string; readonly external_id: string };
}

/** The helpdesks that can be a source. */
export const SOURCE_KINDS: Readonly<Record<'chatwoot', SourceOpener>> = {
  chatwoot: {
    open: ({ account, storage, ...settings }) =>
      openChatwoot({ ...settings, account: Number(account), ...(storage !== null && { storage }) }),
    grants: chatwootGrants,
    website: (account) => ({ row: `accounts/${account}`, external_id: `cw:${account}:website:${account}` }),
  },
};

export type SourceKind = keyof typeof SOURCE_KINDS;
export const isSourceKind = (kind: string): kind is SourceKind => Object.hasOwn(SOURCE_KINDS, kind);
