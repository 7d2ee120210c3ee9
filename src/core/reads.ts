import type { SubscriptionReads } from './events.ts';
import type { Fragment } from './sql.ts';
import type { Projection, View } from './view.ts';

/** A parent record of the rows. The whole read fails with `not_found` if the caller cannot see this parent record. */
export interface Within<Name extends string = string, Parent extends string = string> {
  readonly view: View<Name, Parent>;
  /** Public id of the parent record. */
  readonly id: string;
  readonly where?: readonly Fragment[];
}

/**
 * The chain of parent records, which ends with the parent of the rows. If this parent belongs to another record, the
 * chain starts with that other record. The code compiles only if the view of the rows declares in `within` how its
 * records belong to the parent.
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
  /** Sort direction of the page. If `direction` is absent, the page uses the order of the view. */
  readonly direction?: 'asc' | 'desc' | undefined;
  /** Sort key of the page. If `by` is absent, the sort key is the native id. */
  readonly by?: 'id' | 'updated_at';
  /**
   * A search condition that no index supports. The store tests a limited number of rows, on the connections for slow
   * reads. The page can then hold fewer rows than `limit`, or no rows, and still have a cursor.
   */
  readonly search?: Fragment | undefined;
}

export interface Page<Name extends string> {
  readonly rows: Projection<Name>[];
  readonly next_cursor: string | null;
}

/** Bytes of a stored file that start at `offset`, and the metadata of that file. */
export interface FileBytes {
  readonly bytes: Uint8Array;
  readonly offset: number;
  readonly size: number;
  readonly version: string;
  readonly sha256: string | null;
  readonly name: string;
}

/**
 * The reads that a handler can request from the store. The call supplies the website, restrictions and grants, so a
 * handler cannot choose them. Every method is one guarded statement. If the statement finds that the authority no
 * longer holds, the corridor runs the call again.
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
  /** Reads at most `length` bytes of a file, starting at `offset`. */
  fileBytes(file: string, options: { includeInternal: boolean; offset: number; length: number }): Promise<FileBytes>;
  /** Returns the granted websites, sorted by id. */
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
  /** The time of the health check on the clock of the store, in Unix milliseconds. */
  readonly checkedAt: number;
  /** Time of the last receipt for each event family, in Unix milliseconds. */
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

/** The `data` member of an AI conversation summary. src/views/report.ts declares the shape. */
export type ReportReading = Projection<'Report'>;
