/** The helpdesks that can be a source. openers.ts has their adapters, which few processes load. */
export type SourceKind = 'chatwoot';
const KINDS: readonly string[] = ['chatwoot'] satisfies SourceKind[];
export const isSourceKind = (kind: string): kind is SourceKind => KINDS.includes(kind);

export interface SourceSettings {
  /** The address of the helpdesk's database. It can contain a password. */
  readonly address: string;
  readonly account: string;
  readonly mode: 'poll' | 'live';
  /** Seconds between two rounds of polling. */
  readonly period: number;
  /** The IANA time zone of the website. */
  readonly timeZone: string;
  /** The folder of the helpdesk's files. Null if the gateway cannot read the files. */
  readonly storage: string | null;
  /** The external_id of the website's organization. If undefined, the account becomes an organization. */
  readonly organization?: string;
  /** The name under which the helpdesk keeps the state of this reader. */
  readonly reader: string;
  /** The API that gets the writes. A check of the source looks whether the API and the database are one helpdesk. */
  readonly api?: ApiAddress;
}

interface ApiAddress {
  /** The address of the API, for example `https://support.example.com`. */
  readonly apiUrl: string;
  readonly token: string;
}

/** The API of a helpdesk, which gets the writes of the gateway (src/sources/writer). */
export interface ApiOfSource extends Pick<SourceSettings, 'address' | 'account'>, ApiAddress {
  /** The account of the helpdesk whose records the website has, as in `Installation`. Null if it is not known yet. */
  readonly installation: string | null;
}
