import type { ClientRequest } from 'node:http';
import { before, within } from './before.ts';
import { type Receiver, receiverOf } from './receivers.ts';
import { partWeight, requestTo, responseTo } from './request.ts';
import { AddressRefused, checkedAddresses, type Resolve, resolveName } from './resolve.ts';
import { signatures } from './signature.ts';

/** What a request tells a receiver. */
export interface OutboundMessage {
  /** The header `webhook-id`. */
  readonly id: string;
  /** JSON text. */
  readonly body: string;
  /** Headers beside those of Standard Webhooks. */
  readonly headers: Readonly<Record<string, string | number>>;
}

export interface DeliveryAttempt {
  /** The start of the attempt, in Unix milliseconds. */
  readonly at: number;
  readonly url: string;
  /** In clear text. During a rotation, the old and the new secret. */
  readonly secrets: readonly string[];
  readonly message: OutboundMessage;
  /** True: the outcome has the body of the response. */
  readonly reads?: boolean;
}

export type SendError =
  | 'receiver_refused'
  | 'address_refused'
  | 'name_not_resolved'
  | 'connection_failed'
  | 'tls_failed'
  | 'response_broken'
  | 'timeout'
  | 'interrupted';

export type DeliveryOutcome =
  | { readonly status: number; readonly retryAfter: number | undefined; readonly body?: Buffer }
  | { readonly error: SendError; readonly status?: number };

export interface SenderOptions {
  readonly allowed: ReadonlySet<string>;
  readonly userAgent: string;
  readonly resolve: Resolve;
  /** Timeout of the whole attempt in milliseconds, from the DNS look-up to the end of the response. */
  readonly deadline?: number;
}

export const userAgent = (baseUrl: string): string => `installation-gateway/1 (+${baseUrl}/docs)`;

export const senderOptions = (allowed: ReadonlySet<string>, baseUrl: string): SenderOptions => ({
  allowed,
  userAgent: userAgent(baseUrl),
  resolve: resolveName,
});

const DEADLINE = 10_000;
/** The gateway reads a response up to this weight. */
const RESPONSE_MAX = 65_536;

/**
 * Makes one attempt: a POST over a new connection to a checked address, without redirects. The status counts when the
 * response is complete or 64 KiB of it have arrived. Never rejects: every error is an outcome.
 */
export async function send(
  attempt: DeliveryAttempt,
  options: SenderOptions,
  stop?: AbortSignal,
): Promise<DeliveryOutcome> {
  const receiver = receiverOf(attempt.url, options.allowed);
  if ('refused' in receiver) return { error: 'receiver_refused' };
  return within(options.deadline ?? DEADLINE, stop, (signal) => {
    const ended = (error: SendError): SendError => {
      if (!signal.aborted) return error;
      return signal.reason === stop?.reason ? 'interrupted' : 'timeout';
    };
    return post(attempt, receiver, options, signal, ended);
  });
}

async function post(
  attempt: DeliveryAttempt,
  { url, exempt }: Exclude<Receiver, { refused: string }>,
  options: SenderOptions,
  signal: AbortSignal,
  ended: (error: SendError) => SendError,
): Promise<DeliveryOutcome> {
  let addresses: readonly string[];
  try {
    addresses = await before(signal, checkedAddresses(url, exempt, options.resolve));
  } catch (error) {
    return { error: error instanceof AddressRefused ? 'address_refused' : ended('name_not_resolved') };
  }
  const { id, body, headers } = attempt.message;
  const timestamp = Math.floor(attempt.at / 1000);
  const request = requestTo(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
      'user-agent': options.userAgent,
      'webhook-id': id,
      'webhook-timestamp': timestamp,
      'webhook-signature': signatures(attempt.secrets, id, timestamp, body),
      ...headers,
    },
    addresses,
    signal,
  });
  return exchange(request, attempt, ended);
}

const TLS = /^(ERR_TLS|ERR_SSL|CERT_|UNABLE_TO|DEPTH_ZERO|SELF_SIGNED|HOSTNAME_|ERR_OSSL|EPROTO)/;

async function exchange(
  request: ClientRequest,
  { at, message, reads = false }: DeliveryAttempt,
  ended: (error: SendError) => SendError,
): Promise<DeliveryOutcome> {
  let status: number | undefined;
  try {
    const coming = responseTo(request);
    request.end(message.body);
    const response = await coming;
    status = response.statusCode ?? 0;
    const parts: Buffer[] = [];
    let read = 0;
    // The response 101 asks to change the protocol, so nothing more comes.
    if (status !== 101)
      for await (const part of response) {
        const bytes: Buffer = part; // a response without an encoding gives Buffers
        read += partWeight(bytes);
        if (reads) parts.push(bytes);
        if (read > RESPONSE_MAX) break;
      }
    const retryAfter = retryAfterOf(response.headers['retry-after'], at);
    return { status, retryAfter, ...(reads && { body: Buffer.concat(parts) }) };
  } catch (error) {
    if (status !== undefined) return { error: ended('response_broken'), status };
    const code = error instanceof Error && 'code' in error ? String(error.code) : '';
    return { error: ended(TLS.test(code) ? 'tls_failed' : 'connection_failed') };
  } finally {
    request.destroy();
  }
}

/**
 * Parses the header Retry-After, which has seconds or a date (RFC 9110, section 10.2.3). Returns the seconds from `now`
 * (Unix milliseconds), or `undefined` for an invalid header.
 */
export function retryAfterOf(header: string | undefined, now: number): number | undefined {
  const text = header?.trim() ?? '';
  if (/^\d+$/.test(text)) return Number(text);
  if (!/^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} [\d:]{8} GMT$/.test(text)) return undefined;
  const at = Date.parse(text);
  return Number.isNaN(at) ? undefined : Math.max(0, (at - now) / 1000);
}
