import type { SourceRecord } from '../store/administration/sources.ts';
import type { Prepared } from './engine/prepare.ts';
import type { RecordType } from './engine/records.ts';

/** A place in a source. The gateway stores it as JSON and understands nothing of it. */
export type Position = Readonly<Record<string, unknown>>;

/** A finding of a check. `refused`: the source cannot be read. `degraded`: a part of the mapping is missing. */
export interface Finding {
  readonly level: 'refused' | 'degraded' | 'warning';
  /** What the finding is about, for example `messages.content`. */
  readonly about: string;
  readonly text: string;
}

/** What an operator is told of a stored source. */
export const findingsOf = ({
  findings,
  compare_error: text,
}: Pick<SourceRecord, 'findings' | 'compare_error'>): SourceRecord['findings'] =>
  text === null ? findings : [...findings, { level: 'degraded', about: 'comparison', text } satisfies Finding];

/** What the source says about one of its rows. `from` names the row, for example `messages/17`. */
export type Change = { readonly from: string } & (
  | { readonly record: Readonly<Record<string, unknown>> }
  /** A record that is checked and converted already, or a row that cannot be read. */
  | { readonly prepared: Prepared }
  | { readonly gone: { readonly of: RecordType; readonly external_id: string } }
  /** The stored records of this type whose external ids begin with the prefix, of this owner if given, are exactly `keep`. */
  | {
      readonly only: { readonly of: RecordType; readonly prefix: string; readonly owner?: string };
      readonly keep: readonly string[];
    }
);

export interface Page {
  readonly changes: readonly Change[];
  /** The place of the next page. Null after the last page of a load. */
  readonly after: Position | null;
  /** True if the source has more changes now. */
  readonly more: boolean;
}

/** Digests of values by which a helpdesk differs from every other one. They never change, also not by a restore. */
export interface Installation {
  readonly account: string;
  /** Undefined if the role may not read the helpdesk's own identifier. */
  readonly identifier?: string | undefined;
}

/** What a helpdesk provides to be a source. All times come from the clock of the source. */
export interface Source {
  /** Looks at the schema, the rights and the address. */
  check(): Promise<readonly Finding[]>;
  /**
   * Tells which helpdesk this is. From then on, every page that comes from another helpdesk throws OtherInstallation, for
   * example when the address leads elsewhere.
   */
  installation(): Promise<Installation>;
  /** The place to follow from. It is taken before the load, so that no change during the load is lost. */
  begin(): Promise<Position>;
  /** One page of all records: each type after the types to which it refers, messages in their order. */
  load(after: Position | null): Promise<Page>;
  /** The next page of changes, in any order. A change may be told twice. Throws PositionLost if changes are lost. */
  changes(after: Position): Promise<Page>;
  /** The rows as they are now, named as in `Change.from`, in pages. */
  reread(from: readonly string[]): AsyncIterable<readonly Change[]>;
  /** Those of the records that the source does not have any more. */
  missing(of: RecordType, externalIds: readonly string[]): Promise<readonly string[]>;
  /** How far this place is behind the source: seconds, and changes that wait (null if nobody can count them). */
  behind(after: Position): Promise<{ readonly seconds: number; readonly changes: number | null }>;
  /** The number of values that have no place in the gateway, by kind. */
  unmapped(): Promise<Readonly<Record<string, number>>>;
  /** Calls back soon after a change. Returns a function that ends this. A source that cannot tell does not call. */
  listen(changed: () => void): () => Promise<void>;
  /** Removes what the source keeps in the helpdesk for this reader. */
  forget(): Promise<void>;
  close(): Promise<void>;
}
