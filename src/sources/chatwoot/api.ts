import type { ClientRequest, IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { jsonOf } from '../../core/json.ts';
import { isPublic } from '../../outbound/addresses.ts';
import { before } from '../../outbound/before.ts';
import { hostOf } from '../../outbound/receivers.ts';
import { readUpTo, requestTo, responseTo } from '../../outbound/request.ts';
import { resolveName } from '../../outbound/resolve.ts';
import { NotPerformed, refused } from '../helpdesk.ts';
import type { ApiOfSource } from '../kinds.ts';

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
 * The largest number of marks in an answer (see `hasTooManyMarks`). Nothing can interrupt JSON.parse. If the heap of a
 * thread is full and needs 16 MiB more, V8 ends the whole process. A nested array takes 56 bytes. In a thread of 128
 * MiB that held 82 to 100 MiB, 500,000 nested arrays ended the process. Beside a text of 8 MiB, 150,000 did (25
 * November 2026).
 */
const MARKS = 100_000;

/** With these statuses, Chatwoot or a proxy says that the request had no effect. Redirects are never followed. */
const NOT_BEGUN: readonly number[] = [301, 307, 308, 400, 401, 402, 403, 405, 406, 407, 410, 411, 415, 421, 426, 429];

/**
 * Asks Chatwoot once and returns the JSON of its answer. Throws NotPerformed if the request had no effect. After any
 * other error, the effect is unknown. No error contains the token, the request or the answer.
 */
export async function ask(
  { apiUrl, token }: Pick<ApiOfSource, 'apiUrl' | 'token'>,
  asked: ApiRequest,
  signal: AbortSignal,
): Promise<unknown> {
  const { method, path, body, bytes = BYTES } = asked;
  const url = new URL(`${apiUrl}${path}`);
  const addresses = await before(signal, addressesOf(url)).catch((error: unknown) => {
    throw error instanceof NotPerformed ? error : refused('the address of the API was not found', undefined, error);
  });
  const text = body === undefined ? undefined : JSON.stringify(body);
  // A new connection each time, so that an error shows whether the request was sent. A kept one can end unnoticed.
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

/** Resolves the host of the API. Http would show the token to the internet, so only private addresses may use it. */
async function addressesOf(url: URL): Promise<readonly string[]> {
  const addresses = await resolveName(hostOf(url), true);
  if (url.protocol === 'http:' && addresses.some(isPublic))
    throw refused('the address of the API is public, so the API needs https');
  return addresses;
}

/** Sends the request only when the connection is open. So an error before that means that nothing was sent. */
async function connected(request: ClientRequest, text: string | undefined): Promise<IncomingMessage> {
  const answer = responseTo(request);
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

/** Counts commas, colons and opening brackets outside strings. Logs in the notes of a contact do not count. */
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
  const json = text === undefined ? undefined : jsonOf(text);
  if (status >= 200 && status < 300) {
    if (json === undefined) throw new Error('the answer of the API is not JSON or is too long');
    return json;
  }
  const ending = endingOf(status, json);
  const message = `the API answered ${status}`;
  throw ending ? new NotPerformed(ending, message, {}, status) : new Error(message);
}

/** What a status says about a write that had no effect. Undefined if the write may have had an effect. */
function endingOf(status: number, json: unknown): NotPerformed['ending'] | undefined {
  // A proxy can also answer 404. An error in JSON shows that Chatwoot itself answered.
  if (status === 404) return { refused: isError(json) ? 'not_found' : 'native_unavailable' };
  if (status === 422 || status === 413) return { rejected: 'operation_conflict' };
  return NOT_BEGUN.includes(status) ? { refused: 'native_unavailable' } : undefined;
}

const isError = (json: unknown): boolean => typeof json === 'object' && json !== null && 'error' in json;
