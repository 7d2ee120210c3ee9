import type { EventArguments, EventFamily } from '../../core/event-arguments.ts';
import { sql } from '../../core/sql.ts';
import { type Access, guardedCall, type Proved } from '../calls/guard.ts';

/** Subscriptions of MCP clients with delivery by webhook (24_mcp_subscriptions.sql). */

export interface NewMcpSubscription {
  readonly id: string;
  readonly url: string;
  readonly name: EventFamily;
  readonly arguments: EventArguments;
  readonly tenant: string;
  readonly sites: readonly string[];
  readonly event_types: readonly string[];
  /** The encrypted signing secret. */
  readonly secret: string;
  /** An HMAC of the secret in hexadecimal. It says whether a refresh brings another secret. */
  readonly secret_tag: string;
  /** Seconds. */
  readonly ttl: number;
  /** By site: the position up to which the client has everything. A site that is missing starts now. */
  readonly positions: Readonly<Record<string, number>>;
  /** True if the client gave a cursor. A site that its positions lack has then lost receipts. */
  readonly resumes: boolean;
  /** Receipts that are older are left out. Seconds. */
  readonly max_age: number | null;
  /** True if the receiver has just confirmed that it wants deliveries. */
  readonly verified: boolean;
}

/** How deliveries went before a refresh. Times are Unix milliseconds. */
export interface McpDeliveryStatus {
  readonly active: boolean;
  readonly failing_since: number | null;
  readonly last_delivery_at: number | null;
  readonly error: string | null;
  readonly status: number | null;
}

export type McpSubscribed =
  | { readonly refused: 'inventory_limit' }
  /** The receiver must first confirm that it wants deliveries. `at`: PostgreSQL's time in Unix milliseconds. */
  | { readonly state: 'unverified'; readonly at: number }
  | {
      readonly state: 'done';
      readonly truncated: boolean;
      /** By website id: the position up to which every receipt was accepted or given up. */
      readonly positions: Readonly<Record<string, number>>;
      readonly expires_at: number;
      /** Null for a new subscription. */
      readonly status: McpDeliveryStatus | null;
    };

/** Makes or refreshes a subscription. A lost answer may be repeated: the second call refreshes. */
export async function subscribeMcp(
  access: Access,
  { tenant, ...subscription }: NewMcpSubscription,
): Promise<Proved<McpSubscribed>> {
  const { digest, revision, installationId, credentialId, consentId } = access.authority;
  const command = { ...subscription, credential: credentialId, consent: consentId };
  return guardedCall(
    access,
    sql`gateway.subscribe_mcp(${digest}, ${revision}, ${installationId}, ${tenant}, ${JSON.stringify(command)}::text::jsonb)`,
  );
}

/** Ends a subscription. False if there is none. */
export const unsubscribeMcp = (access: Access, id: string): Promise<Proved<boolean>> =>
  guardedCall(access, sql`gateway.unsubscribe_mcp(${id})`);
