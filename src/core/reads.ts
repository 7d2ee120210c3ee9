import type { SubscriptionReads } from './events.ts';
import type { Fragment } from './sql.ts';
import type { Projection, View } from './view.ts';

/**
 * A record that the rows must belong to. If it is missing or outside the authority, the whole read fails with
 * `not_found`.
 */
export interface Within<Name extends string = string, Parent extends string = string> {
  readonly view: View<Name, Parent>;
  /** Public id. */
  readonly id: string;
  readonly where?: readonly Fragment[];
}

/**
 * The record that the rows belong to, or that record after the record that it belongs to itself. A view that does not
 * say how its records belong to the other view (`within` of the view) does not compile.
 */
type Chain<Parent extends string, Grand extends string> =
  | readonly [Within<Parent>]
  | readonly [Within<Grand>, Within<Parent, Grand>];

interface Selection<Parent extends string, Grand extends string> {
  readonly within?: Chain<Parent, Grand>;
  readonly where?: readonly Fragment[];
}

export interface PageRequest<Parent extends string = string, Grand extends string = string>
  extends Selection<Parent, Grand> {
  readonly cursor?: string | undefined;
  readonly limit: number;
  /** Absent: the order of the view. */
  readonly direction?: 'asc' | 'desc' | undefined;
  /** Sort key. Absent: the native id. */
  readonly by?: 'id' | 'updated_at';
  /**
   * A condition that no index serves. The store tests a bounded number of rows, on the connections for slow reads. The
   * page may then hold fewer rows than `limit`, or none, and still have a cursor.
   */
  readonly search?: Fragment | undefined;
}

export interface Page<Name extends string> {
  readonly rows: Projection<Name>[];
  readonly next_cursor: string | null;
}

/** Bytes of a stored file from `offset` on, and the file that they belong to. */
export interface FileBytes {
  readonly bytes: Uint8Array;
  readonly offset: number;
  readonly size: number;
  readonly version: string;
  readonly sha256: string | null;
  readonly name: string;
}

/**
 * The reads that a handler may ask the store for. Website, restrictions and grants come from the call; a handler cannot
 * pass them. Every method is one guarded statement. If the statement finds the authority stale, the corridor runs the
 * call again.
 */
export interface Reads extends SubscriptionReads {
  one<Name extends string, Parent extends string, Grand extends string>(
    view: View<Name, Parent>,
    id: string,
    options?: Selection<NoInfer<Parent>, Grand>,
  ): Promise<Projection<Name>>;
  page<Name extends string, Parent extends string, Grand extends string>(
    view: View<Name, Parent>,
    request: PageRequest<NoInfer<Parent>, Grand>,
  ): Promise<Page<Name>>;
  /** Reads at most `length` bytes from `offset`. */
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
  /** Clock of the store, in Unix milliseconds. */
  readonly checkedAt: number;
  /** Time of the last receipt by event family, in Unix milliseconds. */
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

/** The `data` of an AI conversation summary. src/views/report.ts declares its shape. */
export type ReportReading = Projection<'Report'>;
