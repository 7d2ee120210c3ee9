import type { SubscriptionReads } from './events.ts';
import type { Fragment } from './sql.ts';
import type { Projection, View } from './view.ts';

/** A record that what is read must belong to; missing or out of authority means `not_found` for the whole read. */
export interface Within {
  readonly view: View;
  /** Public id. */
  readonly id: string;
  readonly where?: readonly Fragment[];
}

export interface PageRequest {
  readonly within?: readonly Within[];
  readonly where?: readonly Fragment[];
  readonly cursor?: string | undefined;
  readonly limit: number;
  /** `id`: by native id, in the view's order unless `direction` turns it; `updated_asc`: oldest change first. */
  readonly direction?: 'asc' | 'desc' | undefined;
  readonly by?: 'id' | 'updated_at';
  /**
   * A condition that no index answers. It is asked of a bounded number of rows, not among the fast reads: the page may hold
   * fewer rows than `limit`, even none, and have a cursor.
   */
  readonly search?: Fragment | undefined;
}

export interface Page<Name extends string> {
  readonly rows: Projection<Name>[];
  readonly next_cursor: string | null;
}

/** Bytes of a stored file from `offset` on, and what they are a part of. */
export interface FileBytes {
  readonly bytes: Uint8Array;
  readonly offset: number;
  readonly size: number;
  readonly version: string;
  readonly sha256: string | null;
  readonly name: string;
}

/**
 * What a handler may ask of the store. Website, restrictions and grants are the call's own and cannot be passed.
 * Every method is one guarded statement; a stale authority makes the corridor run the call again.
 */
export interface Reads extends SubscriptionReads {
  one<Name extends string>(
    view: View<Name>,
    id: string,
    options?: { within?: readonly Within[]; where?: readonly Fragment[] },
  ): Promise<Projection<Name>>;
  page<Name extends string>(view: View<Name>, request: PageRequest): Promise<Page<Name>>;
  /** At most `length` bytes from `offset`; `chunk`s are read by the same method. */
  fileBytes(file: string, options: { includeInternal: boolean; offset: number; length: number }): Promise<FileBytes>;
  /** Granted websites, by id. */
  websites(): Promise<{ website_id: string; name: string; time_zone: string }[]>;
  operation(operationId: string): Promise<Receipt>;
  health(): Promise<HealthReading>;
  report(range: ReportRange): Promise<ReportReading>;
}

export interface Receipt {
  readonly operation: string;
  readonly status: 'pending' | 'acknowledged' | 'outcome_unknown';
}

export interface HealthReading {
  /** Unix milliseconds of the store's clock. */
  readonly checkedAt: number;
  /** Unix milliseconds of the last receipt, by event family. */
  readonly lastEventAt: ReadonlyMap<string, number>;
  /** Event families whose receipts are held back. */
  readonly held: ReadonlySet<string>;
}

export interface ReportRange {
  readonly range?: 'today' | 'last-7-days' | 'last-month' | 'date' | undefined;
  readonly start?: string | undefined;
  readonly end?: string | undefined;
  readonly timezone?: string | undefined;
}

/** The `data` of an AI conversation summary. Its shape is the view's, src/views/report.ts. */
export type ReportReading = Projection<'Report'>;
