import type { Prepared } from './engine/prepare.ts';
import type { RecordType } from './engine/records.ts';

/** A position in a source. The gateway stores it as JSON and never interprets it. */
export type Position = Readonly<Record<string, unknown>>;

/** A finding of a check. `refused`: the source cannot be read. `degraded`: a part of the mapping is missing. */
export interface Finding {
  readonly level: 'refused' | 'degraded' | 'warning';
  /** What the finding is about, for example `messages.content`. */
  readonly about: string;
  readonly text: string;
}

/**
 * What a finding is about if the API of a source leads to another helpdesk than its database. The source is read all the
 * same, but nobody can add such a source.
 */
export const OTHER_API = 'api.account';

/** A change that the source reports for one of its rows. `from` names the row, for example `messages/17`. */
export type Change = { readonly from: string } & (
  | { readonly record: Readonly<Record<string, unknown>> }
  /** A record that is already checked and converted, or a row that cannot be read. */
  | { readonly prepared: Prepared }
  | { readonly gone: { readonly of: RecordType; readonly external_id: string } }
  /** Only `keep` still exist of the stored records with this type, external id prefix and owner (if given). */
  | {
      readonly only: { readonly of: RecordType; readonly prefix: string; readonly owner?: string };
      readonly keep: readonly string[];
    }
);

export interface SourcePage {
  readonly changes: readonly Change[];
  /** The position of the next page. Null after the last page of a load. */
  readonly after: Position | null;
  /** True if the source has more changes now. */
  readonly more: boolean;
}

/** Digests of values that distinguish a helpdesk from every other one. Even a restore does not change these values. */
export interface Installation {
  readonly account: string;
  /** Undefined if the role may not read the helpdesk's own identifier. */
  readonly identifier?: string | undefined;
}

/** What a helpdesk must provide to be a source. All times come from the clock of the source. */
export interface Source {
  /** Checks the schema, the rights and the address. */
  check(): Promise<readonly Finding[]>;
  /** Identifies the helpdesk. Later pages throw OtherInstallation if the address leads to another one. */
  installation(): Promise<Installation>;
  /** Where to follow the source from. Call this before the load, so that no change during the load is lost. */
  begin(): Promise<Position>;
  /** One page of all records: each type after the types to which it refers, messages in their order. */
  load(after: Position | null): Promise<SourcePage>;
  /** The next page of changes, in any order. A change may be told twice. Throws PositionLost if changes are lost. */
  changes(after: Position): Promise<SourcePage>;
  /** The rows as they are now, named as in `Change.from`, in pages. */
  reread(from: readonly string[]): AsyncIterable<readonly Change[]>;
  /** Returns the records that the source no longer has. */
  missing(of: RecordType, externalIds: readonly string[]): Promise<readonly string[]>;
  /** How far this position is behind the source, in seconds and in pending changes (null if they cannot be counted). */
  behind(after: Position): Promise<{ readonly seconds: number; readonly changes: number | null }>;
  /** Counts the values that have no place in the gateway, by kind. */
  unmapped(): Promise<Readonly<Record<string, number>>>;
  /** Calls back soon after a change, if the source can do so. Returns a function that ends the calls. */
  listen(changed: () => void): () => Promise<void>;
  /** Removes the state that the helpdesk keeps for this reader. */
  forget(): Promise<void>;
  close(): Promise<void>;
}

/** The source cannot say what has changed since a position. The reader must start again and compare all records. */
export class PositionLost extends Error {
  override readonly name = 'PositionLost';
}

/** The address now leads to another helpdesk than before. No record of that helpdesk may be written. */
export class OtherInstallation extends Error {
  override readonly name = 'OtherInstallation';
}
