import { randomBytes } from 'node:crypto';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { Webhook } from 'standardwebhooks';
import { startWebhooks, type WebhooksOptions } from '../../../src/events/webhooks/dispatcher.ts';
import { type SenderOptions, senderOptions } from '../../../src/outbound/sender.ts';
import { newWebhookSecret } from '../../../src/outbound/signature.ts';
import { insertEndpoint } from '../../../src/store/administration/endpoints.ts';
import { openLedgerKey } from '../../../src/store/calls/ledger.ts';
import type { TestDatabase } from '../database.ts';
import { KEYS } from '../keys.ts';

export interface Got {
  readonly at: number;
  readonly path: string;
  readonly method: string;
  readonly headers: IncomingHttpHeaders;
  readonly bytes: Buffer;
  readonly id: string;
  readonly attempt: number;
}

export type Reply = (request: IncomingMessage, response: ServerResponse, got: Got) => void;

export interface Receiver {
  readonly url: string;
  readonly origin: string;
  readonly got: Got[];
  connections(): number;
  reply(next: Reply): void;
  close(): Promise<void>;
}

export const answer =
  (status: number, headers: Readonly<Record<string, string>> = {}): Reply =>
  (_request, response) =>
    void response.writeHead(status, headers).end('ok');

export async function openReceiver(first: Reply = answer(200)): Promise<Receiver> {
  const got: Got[] = [];
  let [connections, reply] = [0, first];
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    const at = performance.now();
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('error', () => undefined); // the sender may cut this request
    request.on('end', () => {
      const { headers, method = '', url: path = '' } = request;
      const one = {
        at,
        path,
        method,
        headers,
        bytes: Buffer.concat(parts),
        id: String(headers['webhook-id']),
        attempt: Number(headers['x-gateway-attempt']),
      };
      got.push(one);
      reply(request, response, one);
    });
  });
  server.on('connection', () => {
    connections++;
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo; // the cast is sound, because the address of a TCP server is an AddressInfo
  return {
    url: `http://127.0.0.1:${port}/hook`,
    origin: `http://127.0.0.1:${port}`,
    got,
    connections: () => connections,
    reply: (next) => {
      reply = next;
    },
    close: () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

export interface Endpoint {
  readonly id: string;
  readonly secret: string;
}

export async function addEndpoint(
  { db }: Pick<TestDatabase, 'db'>,
  credential: string,
  url: string,
  more: { readonly site?: string; readonly eventTypes?: readonly string[]; readonly secret?: string } = {},
): Promise<Endpoint> {
  const { secret = newWebhookSecret() } = more;
  const made = await insertEndpoint(db, {
    id: `whk_${randomBytes(16).toString('hex')}`,
    credential,
    tenant: '1',
    site: more.site ?? '1',
    url,
    eventTypes: more.eventTypes ?? ['conversation.*', 'visitor.*'],
    description: '',
    secret: KEYS.seal('webhook secret', secret),
  });
  if (!made) throw new Error('the credential may not be told');
  return { id: made.id, secret };
}

export interface Running {
  readonly errors: unknown[];
  stop(): Promise<void>;
}

export function run(
  { db }: TestDatabase,
  receivers: readonly Pick<Receiver, 'origin'>[],
  more: Partial<WebhooksOptions> & { readonly sending?: Partial<SenderOptions> } = {},
): Running {
  const errors: unknown[] = [];
  const { sending, ...options } = more;
  const { stop } = startWebhooks({
    db,
    eventKey: openLedgerKey(db),
    keys: KEYS,
    sender: {
      ...senderOptions(new Set(receivers.map(({ origin }) => origin)), 'http://127.0.0.1:8420'),
      ...sending,
    },
    schedule: [0, 0.1, 0.1, 0.1, 0.1],
    onError: (error) => errors.push(error),
    ...options,
  });
  return { errors, stop };
}

/** Appends `n` receipts to the journal of a website of tenant 1, each in its own transaction. */
export async function tell({ sql }: TestDatabase, n: number, type = 'visitor.changed', site = '1'): Promise<void> {
  await sql`SELECT count(*) FROM generate_series(1, ${n}::integer) AS i CROSS JOIN LATERAL (SELECT gateway.append_receipts(1, ${site}, ARRAY[${type}]::text[]), i) a`;
}

export async function until(met: () => boolean | Promise<boolean>, milliseconds = 60_000): Promise<void> {
  for (const end = performance.now() + milliseconds; !(await met()); await pause(25)) {
    if (performance.now() > end) throw new Error('nothing came of it');
  }
}

export function verified(secret: string, { bytes, headers }: Pick<Got, 'bytes' | 'headers'>): boolean {
  try {
    new Webhook(secret).verify(bytes, {
      'webhook-id': String(headers['webhook-id']),
      'webhook-timestamp': String(headers['webhook-timestamp']),
      'webhook-signature': String(headers['webhook-signature']),
    });
    return true;
  } catch {
    return false; // the verifier throws for a wrong signature
  }
}

export interface Logged {
  readonly event_id: string;
  readonly status: string;
  readonly attempts: number;
  readonly response_status: number | null;
  readonly error: string | null;
  readonly due_in: number;
}

/** The deliveries of an endpoint by position. `due_in` is in seconds. */
export const log = ({ sql }: TestDatabase, endpoint: string): Promise<Logged[]> =>
  sql<
    Logged[]
  >`SELECT event_id, status, attempts, response_status, error, extract(epoch FROM due_at - now())::double precision AS due_in
    FROM gateway.webhook_delivery WHERE endpoint_id = ${endpoint} ORDER BY position, created_at`;

export async function queued({ sql }: TestDatabase): Promise<number> {
  const [row] = await sql<
    { n: number }[]
  >`SELECT count(*)::integer AS n FROM gateway.webhook_delivery WHERE status = 'pending'`;
  return row?.n ?? 0;
}
