/**
 * The tables of the schemas `platform` and `gateway` whose rows move. test/store/cells/tables.test.ts lists the others,
 * and fails for a table in no list or in two, and for a replicated one whose replica identity lacks the tenant.
 */

const PLATFORM = [
  ...['website', 'team', 'channel', 'subsite', 'operator', 'contact', 'visitor', 'visitor_contact', 'ai_feature'],
  ...['conversation', 'conversation_contact', 'message', 'ai_result', 'note', 'file', 'file_chunk', 'disposition'],
  ...['offer', 'saved_link', 'saved_response', 'native_id', 'said_block', 'spelling'],
] as const;
const GATEWAY = [
  ...['app', 'person', 'subscription', 'source', 'source_installation', 'webhook_endpoint', 'webhook_delivery'],
  ...['operation', 'approval', 'write_back', 'native_author', 'family_hold', 'journal', 'journal_head'],
  ...['suppression', 'erasure', 'erasure_work', 'retention_round'],
] as const;

/**
 * Tables that PostgreSQL replicates, with the filter `tenant = N`: their replica identity has the column `tenant`. Parents
 * come before their children.
 */
export const REPLICATED: readonly string[] = [
  ...PLATFORM.map((name) => `platform.${name}`),
  ...GATEWAY.map((name) => `gateway.${name}`),
];

interface CopiedTable {
  readonly name: string;
  /** The kind and the column of what a row belongs to (gateway.tenant_of in 33_moves.sql). */
  readonly kind: 'app' | 'installation' | 'credential' | 'consent' | 'source';
  readonly column: string;
  /** False: the gateway writes these rows by itself, so the hold does not refuse it. A change within the hold can get lost. */
  readonly guarded: boolean;
}

/** Tables without a column `tenant`. Their rows are copied within the hold. Parents come before their children. */
export const COPIED: readonly CopiedTable[] = [
  { name: 'gateway.installation', kind: 'app', column: 'app_id', guarded: true },
  { name: 'gateway.credential', kind: 'installation', column: 'installation_id', guarded: true },
  { name: 'gateway.consent', kind: 'credential', column: 'credential_id', guarded: true },
  { name: 'gateway.token', kind: 'credential', column: 'credential_id', guarded: true },
  { name: 'gateway.refresh_token', kind: 'consent', column: 'consent_id', guarded: true },
  { name: 'gateway.mcp_subscription', kind: 'credential', column: 'credential_id', guarded: true },
  { name: 'gateway.task', kind: 'installation', column: 'installation_id', guarded: true },
  { name: 'gateway.source_reject', kind: 'source', column: 'source', guarded: false },
  { name: 'gateway.realtime_session', kind: 'credential', column: 'credential_id', guarded: false },
  { name: 'gateway.realtime_ack', kind: 'credential', column: 'session_id', guarded: false },
];

/** The organization itself. Its row at the target is the mark of the arrival, so it is no part of the publication. */
export const ORGANIZATION = 'platform.organization';

/** The number of an organization, as SQL. It comes from the store, and only digits pass. */
export function number(tenant: string): string {
  if (!/^\d{1,18}$/.test(tenant)) throw new Error('not the number of an organization');
  return tenant;
}

const OWN: Readonly<Record<CopiedTable['kind'], (n: string) => string>> = {
  app: (n) => `SELECT a.id FROM gateway.app a WHERE a.tenant = ${n}`,
  installation: (n) => `SELECT i.id FROM gateway.installation i WHERE i.app_id IN (${OWN.app(n)})`,
  credential: (n) => `SELECT c.id FROM gateway.credential c WHERE c.installation_id IN (${OWN.installation(n)})`,
  consent: (n) => `SELECT s.id FROM gateway.consent s WHERE s.credential_id IN (${OWN.credential(n)})`,
  source: (n) => `SELECT w.id FROM gateway.source w WHERE w.tenant = ${n}`,
};

/** The condition that finds an organization's rows of a copied table `t`. */
function belongs({ kind, column }: CopiedTable, n: string): string {
  const own = `t.${column} IN (${OWN[kind](n)})`;
  return column === 'session_id'
    ? `t.session_id IN (SELECT r.id FROM gateway.realtime_session r WHERE r.credential_id IN (${OWN[kind](n)}))`
    : own;
}

export interface MovingTable {
  readonly name: string;
  /** The condition that finds the organization's rows. The table's name in it is `t`. */
  readonly where: string;
  readonly copied: boolean;
}

/** All tables whose rows move, with the condition that finds the rows of one organization. Parents come first. */
export const partsOf = (tenant: string): readonly MovingTable[] => [
  ...REPLICATED.map((name) => ({ name, where: `t.tenant = ${number(tenant)}`, copied: false })),
  ...COPIED.map((one) => ({ name: one.name, where: belongs(one, number(tenant)), copied: true })),
];

/** What belongs to a credential, or to an operation, and would else go with it in one statement. */
const FIRST = [
  ...['webhook_delivery', 'webhook_endpoint', 'mcp_subscription', 'subscription', 'native_author', 'write_back'],
  ...['approval', 'operation'],
].map((name) => `gateway.${name}`);

/** The order in which rows are deleted: children first, and the journal after what writes to it. */
export function deletionOrder(tenant: string): readonly MovingTable[] {
  const parts = partsOf(tenant);
  const journals = parts.filter(({ name }) => name.startsWith('gateway.journal'));
  const first = FIRST.flatMap((name) => parts.filter((one) => one.name === name));
  const rest = parts.filter((one) => !first.includes(one) && !journals.includes(one));
  const copied = rest.filter((one) => one.copied).reverse();
  return [...first, ...copied, ...rest.filter((one) => !one.copied).reverse(), ...journals];
}
