/**
 * The measured figures that docs/scale.md and `npm run bench -- --only cells` calculate with. Each one names its source.
 * Change a figure here and there together.
 */

/** Processor time of one request in microseconds: of the gateway with its driver, and of the primary PostgreSQL. */
interface Cost {
  readonly gateway: number;
  readonly store: number;
  /** How many of 100 requests are of this kind. An assumption: agents mostly read by id, and write little. */
  readonly share: number;
}

/** docs/one-request.md, 27 November 2026. Search and count: `npm run bench -- --only replica`, 28 November 2026. */
export const COSTS: Readonly<Record<string, Cost>> = {
  'contact by id, over MCP': { gateway: 180, store: 71, share: 50 },
  'page of conversations': { gateway: 346, store: 121, share: 15 },
  'page of messages': { gateway: 419, store: 230, share: 20 },
  'search in a million messages': { gateway: 2_000, store: 13_720, share: 5 },
  'count in 100,000 conversations': { gateway: 800, store: 42_960, share: 2 },
  'keyed note': { gateway: 556, store: 684, share: 8 },
};

/** Bytes. `npm run bench -- --only sizes`, 28 November 2026, the log with `wal_level` logical, which a move needs. */
export const BYTES = {
  /** Of the database for one message of 63 bytes, with a tenth of a conversation, contact and visitor. */
  message: 733,
  /** Of the log for one message that an import or a followed source writes, with its share of the other records. */
  messageLog: 5_562,
  /** Of the database and of the log for one keyed note: the note, its ledger entry, receipt and audit record. */
  note: 3_080,
  noteLog: 4_837,
  /** Of the database and of the log for the audit record of a read: a caller with one read a second. */
  read: 1_229,
  readLog: 1_971,
} as const;

/** docs/operations.md#scale: a process with `GATEWAY_DB_CONNECTIONS=8`. */
export const CONNECTIONS = 22;

/** Days for which audit records are kept (`GATEWAY_AUDIT_DAYS`). */
export const AUDIT_DAYS = 90;

/**
 * Assumptions, not measured. A processor is planned for at most this share of its time, so that a failover or a slow
 * hour finds room. The busiest second has `peak` times the requests of the mean second.
 */
export const PLAN = { gatewayLoad: 0.6, storeLoad: 0.5, peak: 3, freeDisk: 1.3 } as const;

/**
 * Assumptions: what one cell's primary may become. A backup of 2 TB takes three hours to restore at 200 MB a second, and
 * 400 connections are what a PostgreSQL serves without a pooler.
 */
export const CELL = { cores: 16, disk: 2e12, connections: 400 } as const;
