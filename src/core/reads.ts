import type { AuditPage, OwnAuditFilter } from './audit-records.ts';
import type { Demand } from './authority.ts';
import type { SubscriptionReads } from './events.ts';
import type { WebsiteKey } from './ids.ts';
import type { Correction, Said, Term } from './search.ts';
import type { Fragment } from './sql.ts';
import type { Projection, View } from './view.ts';

/** The parent record whose rows are read. If the caller cannot see this record, the read fails with `not_found`. */
export interface Within<Name extends string = string, Parent extends string = string> {
  readonly view: View<Name, Parent>;
  readonly id: string;
  readonly where?: readonly Fragment[];
}

/** The parent of the rows, or grandparent and parent. The view of the rows names the allowed parents in `within`. */
type ParentChain<Parent extends string, Grand extends string> =
  | readonly [Within<Parent>]
  | readonly [Within<Grand>, Within<Parent, Grand>];

interface RowSelection<Parent extends string, Grand extends string> {
  readonly within?: ParentChain<Parent, Grand>;
  readonly where?: readonly Fragment[];
}

export interface PageRequest<Parent extends string = string, Grand extends string = string>
  extends RowSelection<Parent, Grand> {
  readonly cursor?: string | undefined;
  readonly limit: number;
  /** The default is the view's order. */
  readonly direction?: 'asc' | 'desc' | undefined;
  /** The order of the rows. The default is the native id. */
  readonly by?: 'id' | 'updated_at';
  /**
   * A search condition that no index supports. The store tests a limited number of rows for each page, on the
   * connections for slow reads. So a page can be short or empty although the list has more pages.
   */
  readonly search?: Fragment | undefined;
  /** True if PostgreSQL must know the values of the conditions to plan the read well. Then it shares no statement. */
  readonly alone?: boolean;
  /** True if a condition names the time zone of the caller. */
  readonly zoned?: boolean;
}

export interface Page<Name extends string> {
  readonly rows: Projection<Name>[];
  readonly next_cursor: string | null;
}

export interface FileBytes {
  readonly bytes: Uint8Array;
  readonly offset: number;
  readonly size: number;
  readonly version: string;
  readonly sha256: string | null;
  readonly name: string;
}

/**
 * The reads that a handler can ask of the store. Website, restrictions and grants come from the call, so a handler
 * cannot choose them. Each method runs one SQL statement, which also checks the caller's authority. If the authority
 * has changed, the corridor runs the call again.
 */
export interface Reads extends SubscriptionReads {
  one<Name extends string, Parent extends string, Grand extends string>(
    view: View<Name, Parent>,
    id: string,
    options?: RowSelection<NoInfer<Parent>, Grand>,
  ): Promise<Projection<Name>>;
  page<Name extends string, Parent extends string, Grand extends string>(
    view: View<Name, Parent>,
    request: PageRequest<NoInfer<Parent>, Grand>,
  ): Promise<Page<Name>>;
  fileBytes(file: string, options: { includeInternal: boolean; offset: number; length: number }): Promise<FileBytes>;
  websites(): Promise<GrantedWebsite[]>;
  /** Ids of the granted websites on which the credential has an enabled author. */
  authored(): Promise<string[]>;
  /** Reads the receipt of a write, by its id or by the key that this credential sent. */
  operation(named: { readonly id: string } | { readonly key: string }): Promise<Receipt>;
  health(): Promise<HealthReading>;
  report(range: ReportRange): Promise<ReportReading>;
  counts(request: CountRequest): Promise<CountReading>;
  search(request: SearchRequest): Promise<SearchPage>;
  customers(request: CustomerRequest): Promise<CustomerPage>;
  /** The audit records of the caller's own credential. */
  audit(
    filter: OwnAuditFilter,
    page: { readonly limit: number; readonly cursor: string | undefined },
  ): Promise<AuditPage>;
}

export interface GrantedWebsite {
  readonly website_id: string;
  readonly name: string;
  readonly time_zone: string;
  /** The time of the read, in Unix milliseconds by the clock of the store. */
  readonly now: number;
}

export interface SearchRequest {
  readonly groups: readonly (readonly Term[])[];
  readonly kinds: readonly Said[];
  readonly websites: readonly WebsiteKey[];
  readonly includeInternal: boolean;
  /** The kinds of authors whose messages may match. Only messages have them. */
  readonly authors: readonly string[] | undefined;
  /** True if each message is a hit. Otherwise a conversation is one hit for all its messages. */
  readonly each: boolean;
  readonly from: string | undefined;
  readonly to: string | undefined;
  readonly order: 'best' | 'newest';
  /** True if the caller may see the contacts of conversations. */
  readonly people: boolean;
  readonly limit: number;
  readonly cursor: string | undefined;
}

/** A text that matches the search. `id` is the native id of the message, conversation, note or contact. */
export interface SearchHit {
  readonly kind: Said;
  readonly website: WebsiteKey;
  readonly id: string;
  readonly conversation_id: string | null;
  readonly visitor_id: string | null;
  readonly created_at: string;
  /** The conversation's subject. For a note, the visitor's nickname. */
  readonly subject: string | null;
  readonly snippet: string | null;
  /** The status of the conversation. Null for a note and a contact. */
  readonly status: string | null;
  /** Null if the text is not a message. */
  readonly author_type: string | null;
  /** How many messages of the conversation match. Null if the text is not a message, or if nobody counted. */
  readonly matches: number | null;
  /** The contact of the conversation with the lowest id. Null if there is none or it is not granted. */
  readonly customer: readonly [id: string, name: string | null] | null;
}

export interface SearchPage {
  readonly hits: readonly SearchHit[];
  /** Spellings that stand in the hits of this page. */
  readonly corrected: readonly Correction[];
  readonly next_cursor: string | null;
}

export interface CustomerRequest {
  /**
   * How to find the contacts, which must meet every given key. `phone` lists the numbers that the caller can mean.
   * `digits` has all digits of a number. `e164` is null if the number cannot be read.
   */
  readonly by: {
    readonly email?: string | undefined;
    readonly phone?: readonly { readonly digits: string; readonly e164: string | null }[] | undefined;
    readonly name?: string | undefined;
    readonly external_id?: string | undefined;
  };
  readonly websites: readonly WebsiteKey[];
  /** True if the caller may see visitors and conversations. */
  readonly conversations: boolean;
  readonly limit: number;
  readonly cursor: string | undefined;
}

/** A contact. The ids of the contact, the visitors and the conversation are native ids. */
export interface Customer {
  readonly website: WebsiteKey;
  readonly id: string;
  readonly name: string | null;
  readonly email: string | null;
  readonly phone: string | null;
  /** Other contacts with the same number in E.164 form, and with the same name, at most 100. Null: there is no such value. */
  readonly same: { readonly number: number | null; readonly name: number | null };
  /** Null if the caller may not see visitors and conversations. */
  readonly history: {
    readonly visitors: readonly string[];
    readonly conversations: number;
    /** The newest five, the newest first. */
    readonly last: readonly {
      readonly id: string;
      readonly created_at: string;
      readonly status: string;
      readonly platform: string;
      readonly disposition: string | null;
      readonly subject: string | null;
    }[];
  } | null;
}

export interface CustomerPage {
  readonly customers: readonly Customer[];
  readonly next_cursor: string | null;
}

export interface Receipt {
  readonly operation_id: string;
  readonly operation: string;
  readonly status: 'pending' | 'acknowledged' | 'outcome_unknown' | 'rejected' | 'lapsed';
}

export interface HealthReading {
  /** `lost`: audit records of the organization that are lost. `stuck`: records cannot be written now. */
  readonly audit: { readonly lost: number; readonly stuck: boolean };
  /** Unix milliseconds, by the clock of the store. */
  readonly checkedAt: number;
  /** By event family: the time of the last event in Unix milliseconds. */
  readonly lastEventAt: ReadonlyMap<string, number>;
  readonly held: ReadonlySet<string>;
  readonly source:
    | {
        readonly state: 'loading' | 'following' | 'paused' | 'failing';
        /** Seconds by which the store is behind the source. Null before the end of the first load. */
        readonly lagSeconds: number | null;
      }
    | undefined;
}

export interface ReportRange {
  readonly range?: 'today' | 'last-7-days' | 'last-month' | 'date' | undefined;
  readonly start?: string | undefined;
  readonly end?: string | undefined;
  readonly timezone?: string | undefined;
}

export type ReportReading = Projection<'Report'>;

export type NamedTable = 'team' | 'operator' | 'channel' | 'contact' | 'website';

/** `c` is the alias of platform.conversation. */
export interface Grouping {
  /** The name of this value in a group's `key`. */
  readonly member: string;
  /** The column with the value, or `day` for the local day on which the conversation was created. */
  readonly column: Fragment | 'day';
  /**
   * SQL that joins at most one row with the value to each conversation. For a table alias, `within` returns the
   * condition that limits the table to the counted websites.
   */
  readonly join?: (within: (alias: string) => Fragment) => Fragment;
  /** `website`: the value is an id, so equal values on two websites are two groups. */
  readonly within?: 'website';
  /** The table with the names of the values, and what a caller needs to see them. */
  readonly name?: { readonly table: NamedTable; readonly needs: Demand };
  /** The value as the API shows it. Null if the conversation has no value. */
  public(value: string | null, website: WebsiteKey): string | null;
}

export interface CountRequest {
  readonly where: readonly Fragment[];
  /** The first and the last local day, as YYYY-MM-DD. Undefined means no limit. */
  readonly from: string | undefined;
  readonly to: string | undefined;
  /** The time zone of the days. Undefined: each website's own time zone. */
  readonly timezone: string | undefined;
  readonly by: readonly Grouping[];
  /** The largest number of groups, at most 100. */
  readonly limit: number;
}

export interface CountReading {
  readonly total: number;
  readonly groups: {
    readonly key: Readonly<Record<string, string | null>>;
    readonly count: number;
    /** Of each grouping with `name`, the name of its value. */
    readonly names: readonly (string | null)[];
  }[];
  readonly timezone: string | null;
}
