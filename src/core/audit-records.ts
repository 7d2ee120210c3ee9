import type { AuditSurface } from './audit.ts';

export const AUDIT_SURFACES = ['rest', 'mcp', 'a2a', 'page', 'cli'] as const satisfies readonly AuditSurface[];

/** The filters that an app has on its own records. Times are in RFC 3339. `from` is included, `to` is not. */
export interface OwnAuditFilter {
  readonly operation?: string | undefined;
  readonly target?: string | undefined;
  readonly outcome?: string | undefined;
  readonly from?: string | undefined;
  readonly to?: string | undefined;
}

/** The filters that operators and owners have. The ids are public ids. */
export interface AuditFilter extends OwnAuditFilter {
  readonly organization?: string | undefined;
  readonly app?: string | undefined;
  readonly credential?: string | undefined;
  readonly person?: string | undefined;
  readonly surface?: AuditSurface | undefined;
}

/** One call, one page that a person opened, or one change by the command line. It has no content. */
export interface AuditRecordDocument {
  readonly audit_id: string;
  readonly time: string;
  readonly organization_id: string;
  readonly website_id?: string | undefined;
  /** Null on the surfaces `page` and `cli`, like `credential_id`. */
  readonly installation_id: string | null;
  readonly credential_id: string | null;
  readonly person_id?: string | undefined;
  readonly client?: { readonly name: string | null; readonly version: string | null } | undefined;
  readonly address: string | null;
  readonly surface: AuditSurface;
  readonly operation: string;
  readonly targets: readonly string[];
  readonly count?: number | undefined;
  readonly outcome: string;
  readonly status: number;
  readonly units: number;
  readonly duration_ms: number;
  readonly request_id: string | null;
  readonly trace_id?: string | undefined;
  readonly operation_id?: string | undefined;
  /** Present beside `operation_id`. */
  readonly replayed?: boolean | undefined;
}

export interface AuditPage {
  readonly records: readonly AuditRecordDocument[];
  readonly next_cursor: string | null;
}
