import { type OutgoingHttpHeaders, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';

/** Milliseconds that a client has to read a reply, after Node's HTTP server has handed over the connection. */
const LINGER = 2_000;

/**
 * Writes a problem reply directly to a socket and ends the connection. This function is for invalid HTTP and for
 * upgrades, because Node creates no response object for them.
 */
export function replyRaw(socket: Duplex, body: Readonly<Record<string, unknown>>, headers: OutgoingHttpHeaders): void {
  const text = JSON.stringify(body);
  const all = {
    'X-Request-Id': String(body['request_id']),
    'Content-Type': 'application/problem+json',
    'Content-Length': Buffer.byteLength(text),
    Connection: 'close',
    ...headers,
  };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  const status = Number(body['status']);
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n${lines.join('')}\r\n${text}`);
  // Node's own timeouts can be off for this socket. So cut a client that neither reads nor closes.
  socket.resume();
  const end = setTimeout(() => socket.destroy(), LINGER).unref();
  socket.once('close', () => clearTimeout(end));
}
