/** The surfaces of audit records. `page`: a person opens a record's page. `cli`: an operator changes something. */
export type AuditSurface = 'rest' | 'mcp' | 'a2a' | 'page' | 'cli';

/** What audit records tell about the request of a call. */
export interface CallOrigin {
  readonly requestId: string;
  readonly surface: AuditSurface;
  /** The client's address. */
  readonly from: string;
  /** The name and version of the client, as it told them. */
  readonly client?: ClientTold | undefined;
  readonly traceId?: string | undefined;
}

export interface ClientTold {
  readonly name: string;
  readonly version?: string | undefined;
}

/** Who calls. A person at a page has no credential. */
export interface CallActor {
  readonly organizationId: string;
  readonly appId?: string;
  readonly installationId?: string;
  readonly credentialId?: string;
  readonly personId?: string | null;
}

/** The report on a call that has ended. It never contains content. */
export interface CallReport {
  readonly actor: CallActor;
  /** The name of the tool, skill, page or command. */
  readonly operation: string;
  readonly websiteId?: string | undefined;
  /** Ids of records that the call names or that it answered singly. */
  readonly targets: readonly string[];
  /** The number of records of a list. */
  readonly count?: number | undefined;
  /** `ok`, or the code of the failure. */
  readonly outcome: string;
  /** The status that REST has for this outcome. */
  readonly status: number;
  readonly units: number;
  /** The arguments. A record holds only their keyed digest. */
  readonly input?: Readonly<Record<string, unknown>> | undefined;
  readonly operationId?: string | undefined;
  readonly replayed?: boolean | undefined;
  /** The id of the record that the write itself has inserted. Undefined: there is none. */
  readonly inserted?: string | undefined;
}

/** The record of a write before its end, for the transaction of the write. `inserted`: the transaction has it. */
export interface AuditDraft {
  readonly id: string;
  readonly members: Readonly<Record<string, unknown>>;
  inserted: boolean;
}

/** Takes reports on calls. Makes a record of each of them soon, and never throws. */
export interface Books {
  add(origin: CallOrigin, report: CallReport, ms: number): void;
  /** The draft of a write's record. Its outcome is `ok` unless the ledger says otherwise. */
  draft(origin: CallOrigin, report: CallReport, ms: number): AuditDraft;
  /** Records of the organization that this process could not keep and has not recorded as lost yet. */
  lost(organizationId: string): number;
  /** True while records cannot be written. */
  readonly stuck: boolean;
}
