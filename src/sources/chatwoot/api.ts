import type { ClientRequest, IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { before } from '../../core/before.ts';
import { readUpTo, requestTo } from '../../events/outbound.ts';
import { isPublic } from '../../events/webhooks/addresses.ts';
import { hostOf } from '../../events/webhooks/receivers.ts';
import { resolveName } from '../../events/webhooks/resolve.ts';
import { NotPerformed, refused } from '../helpdesk.ts';

export interface ApiSettings {
  /** The address of Chatwoot, for example `https://support.example.com`. */
  readonly apiUrl: string;
  readonly token: string;
}

export interface ApiRequest {
  readonly method: 'GET' | 'POST';
  /** The path after the address of Chatwoot. */
  readonly path: string;
  readonly body?: object;
  /** The largest number of bytes of an answer. The default is BYTES. */
  readonly bytes?: number;
}

const BYTES = 1024 * 1024;
/**
 * The most marks of JSON in an answer. Nothing interrupts JSON.parse, and V8 ends the process, not the thread, if a full
 * thread needs 16 MiB more. A nested array takes 56 bytes. 500,000 of them did so in a thread of 128 MiB, and 150,000
 * beside a text of 8 MiB, when the thread held 82 to 100 MiB already (25 November 2026).
 */
const MARKS = 100_000;

/** Statuses by which Chatwoot, or a proxy before it, says that it did not begin. A redirect is never followed. */
const NOT_BEGUN: readonly number[] = [301, 307, 308, 400, 401, 402, 403, 405, 406, 407, 410, 411, 415, 421, 426, 429];

/**
 * Asks Chatwoot once and returns the JSON of its answer. Throws NotPerformed if the request had no effect. After any other
 * error, the effect is unknown. No error holds the token, the request or the answer.
 */
export async function ask({ apiUrl, token }: ApiSettings, asked: ApiRequest, signal: AbortSignal): Promise<unknown> {
  const { method, path, body, bytes = BYTES } = asked;
  const url = new URL(`${apiUrl}${path}`);
  const addresses = await before(signal, addressesOf(url)).catch((error: unknown) => {
    throw error instanceof NotPerformed ? error : refused('the address of the API was not found', undefined, error);
  });
  const text = body === undefined ? undefined : JSON.stringify(body);
  // A new connection shows whether the request was sent. A kept connection can end unseen.
  const request = requestTo(url, {
    method,
    headers: {
      api_access_token: token,
      accept: 'application/json',
      'accept-encoding': 'identity',
      'user-agent': 'installation-gateway/1',
      ...(text !== undefined && { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }),
    },
    addresses,
    signal,
  });
  try {
    const response = await connected(request, text);
    const read = await bodyOf(response, bytes);
    return judged(response.statusCode ?? 0, read);
  } finally {
    request.destroy();
  }
}

/** The addresses of the API. Plain http would show the token to the internet, so http is only for private addresses. */
async function addressesOf(url: URL): Promise<readonly string[]> {
  const addresses = await resolveName(hostOf(url), true);
  if (url.protocol === 'http:' && addresses.some(isPublic))
    throw refused('the address of the API is public, so the API needs https');
  return addresses;
}

/** Sends the request after the connection stands. So an earlier error says that nothing was sent. */
async function connected(request: ClientRequest, text: string | undefined): Promise<IncomingMessage> {
  const answer = new Promise<IncomingMessage>((done, fail) => {
    request.on('error', fail);
    request.on('response', done);
    // The gateway never changes the protocol.
    request.on('upgrade', (_response, socket) => {
      socket.destroy();
      fail(new Error('the API asked for another protocol'));
    });
  });
  // Without a handler here, an error before the connection stands would end the process.
  answer.catch(() => undefined);
  const ready = new Promise<void>((done, fail) => {
    request.on('error', fail);
    request.on('socket', (socket: Socket) => socket.once(isSecure(socket) ? 'secureConnect' : 'connect', () => done()));
  });
  await ready.catch((error: unknown) => {
    throw refused('no connection to the API', undefined, error);
  });
  request.end(text);
  return answer;
}

const isSecure = (socket: Socket): boolean => 'encrypted' in socket && socket.encrypted === true;

/** The text of an answer. Undefined if the answer is too long, is compressed, or has too many marks. */
async function bodyOf(response: IncomingMessage, limit: number): Promise<string | undefined> {
  if ((response.headers['content-encoding'] ?? 'identity') !== 'identity') return undefined;
  const bytes = await readUpTo(response, limit);
  return bytes === undefined || hasTooManyMarks(bytes) ? undefined : bytes.toString('utf8');
}

/** Marks are commas, colons and opening brackets outside texts. The notes of a contact can hold logs. */
export function hasTooManyMarks(bytes: Buffer): boolean {
  let marks = 0;
  let inText = false;
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i];
    if (byte === 0x22) inText = !inText;
    else if (inText && byte === 0x5c) i++;
    else if (!inText && (byte === 0x2c || byte === 0x3a || byte === 0x5b || byte === 0x7b)) marks++;
  }
  return marks > MARKS;
}

function judged(status: number, text: string | undefined): unknown {
  const json = parsed(text);
  if (status >= 200 && status < 300) {
    if (json === undefined) throw new Error('the answer of the API is not JSON or is too long');
    return json;
  }
  const ending = endingOf(status, json);
  const message = `the API answered ${status}`;
  throw ending ? new NotPerformed(ending, message, {}, status) : new Error(message);
}

/** What a status says about a write that had no effect. Undefined if the write can have had an effect. */
function endingOf(status: number, json: unknown): NotPerformed['ending'] | undefined {
  // A proxy can answer 404 too. Only Chatwoot itself tells an error as JSON.
  if (status === 404) return { refused: isError(json) ? 'not_found' : 'native_unavailable' };
  if (status === 422 || status === 413) return { rejected: 'operation_conflict' };
  return NOT_BEGUN.includes(status) ? { refused: 'native_unavailable' } : undefined;
}

function parsed(text: string | undefined): unknown {
  try {
    return text === undefined ? undefined : JSON.parse(text);
  } catch {
    return undefined; // the caller decides what a text without JSON means
  }
}

const isError = (json: unknown): boolean => typeof json === 'object' && json !== null && 'error' in json;
