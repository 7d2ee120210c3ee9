import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { type WebSocket, WebSocketServer } from 'ws';
import { Failure } from '../../core/failures.ts';
import { PROTOCOL } from '../../core/realtime-session.ts';
import type { Admitted, Realtime } from '../../events/realtime/realtime.ts';
import type { Wire } from '../../events/realtime/wire.ts';
import { asFailure } from '../../gateway/call.ts';
import { BUDGETS, Budget } from '../http/budget.ts';
import { ConnectionLimit } from '../http/connection-limit.ts';
import { parseJson } from '../http/json.ts';
import { noteActor, type RequestRecord } from '../http/records.ts';
import { refuseAmbiguous, refuseOrigins, refuseQuery } from '../http/request.ts';
import { SOCKET, type UpgradeHandler } from '../http/upgrade.ts';

const SESSION = /^rts_[a-f0-9]{32}$/;
/** 32 bytes in base64url. The unused bits in the last character are 0, so that a ticket has only one spelling. */
const TICKET = /^ticket\.([A-Za-z0-9_-]{42}[AEIMQUYcgkosw048])$/;
const KEY = /^[+/0-9A-Za-z]{22}==$/;

/** Limits of one client (check WS-04): bytes of a message, and milliseconds for the answer to a close frame. */
const LIMITS = {
  maxPayload: 16 * 1024,
  maxFragments: 64,
  maxBufferedChunks: 256,
  maxPendingAutoPongs: 128,
  closeTimeout: 2_000,
};
/** Upgrade checks at the same time, in total and for each network. One takes up to three SQL statements. */
const UPGRADES = { inAll: 64, perNetwork: 32 };

/** Sockets of a process. Each takes a file descriptor and about 50 KB. */
const SOCKETS = 10_000;

/**
 * Opens WebSockets for realtime sessions. All checks run before the handshake, so a refusal is an HTTP reply and does
 * not use up the ticket.
 */
export function realtimeSurface(realtime: Realtime): UpgradeHandler {
  const server = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    handleProtocols: () => PROTOCOL,
    ...LIMITS,
  });
  let upgrading = 0;
  const networks = new ConnectionLimit(UPGRADES.perNetwork);

  const admitted = async (
    request: IncomingMessage,
    session: string,
    record: RequestRecord,
    from: string,
  ): Promise<Admitted> => {
    const { origin, ticket } = readHandshake(request, record);
    const full = upgrading >= UPGRADES.inAll || realtime.size >= SOCKETS;
    const leave = full ? undefined : networks.enter(from);
    if (!leave) throw new Failure('service_unavailable', { retryAfter: 1 });
    upgrading++;
    try {
      const digest = createHash('sha256').update(ticket).digest();
      const found = SESSION.test(session) ? await realtime.admit({ session, origin, ticket: digest }, from) : undefined;
      // One answer for a wrong session, ticket or origin. The caller must not learn which of them is right.
      if (!found) {
        record.does = 'authentication';
        throw new Failure('not_found');
      }
      return found;
    } finally {
      upgrading--;
      leave();
    }
  };

  return (request, socket, head, { refuse, accepted, record, from }) => {
    const [, session = '', query = ''] = SOCKET.exec(request.url ?? '') ?? [];
    const open = async (): Promise<void> => {
      refuseQuery(query);
      const found = await admitted(request, session, record, from);
      noteActor(record, found.authority);
      // After a disconnect, handleUpgrade ends without a callback, so nothing would be logged.
      if (!socket.readable || !socket.writable) throw new Failure('invalid_request');
      server.handleUpgrade(request, socket, head, (opened) =>
        serve(realtime, found, { opened, socket, closed: accepted() }),
      );
    };
    open().catch((error: unknown) => refuse(asFailure(error)));
  };
}

/**
 * The origin and the ticket of a handshake. Throws `upgrade_required` for another WebSocket version, `invalid_request`
 * for a malformed handshake, and `not_found` for a malformed ticket.
 */
function readHandshake(request: IncomingMessage, record: RequestRecord): { origin: string; ticket: string } {
  const { headers } = request;
  if (headers['sec-websocket-version'] !== '13') throw new Failure('upgrade_required');
  refuseOrigins(request);
  refuseAmbiguous(request);
  const offered = (headers['sec-websocket-protocol'] ?? '')
    .split(',')
    .map((one) => one.replace(/^[ \t]+|[ \t]+$/g, ''));
  const tickets = offered.filter((one) => one.startsWith('ticket.'));
  const [, ticket] = TICKET.exec(tickets[0] ?? '') ?? [];
  const { origin } = headers;
  if (origin === undefined || !KEY.test(headers['sec-websocket-key'] ?? '') || !offered.includes(PROTOCOL))
    throw new Failure('invalid_request');
  if (offered.length !== 2 || tickets.length !== 1) throw new Failure('invalid_request');
  if (ticket === undefined) {
    record.does = 'authentication';
    throw new Failure('not_found');
  }
  return { origin, ticket };
}

interface OpenSocket {
  readonly opened: WebSocket;
  readonly socket: Duplex;
  readonly closed: (end: { code: number; cause: string }) => void;
}

const waiting = new Budget({ limits: BUDGETS.sockets, code: 'answers_unread' });

function serve(realtime: Realtime, found: Admitted, { opened, socket, closed }: OpenSocket): void {
  const share = found.authority.appId;
  let counted = 0;
  let over = false;
  const count = (bytes: number): void => {
    if (bytes < counted) waiting.release(share, counted - bytes);
    else if (bytes > counted) {
      try {
        waiting.hold(share, bytes - counted);
      } catch (error) {
        if (!(error instanceof Failure)) throw error;
        over = true; // from now on `buffered` is infinite, so the realtime connection ends
        return;
      }
    }
    counted = bytes;
  };
  const wire: Wire = {
    send: (text) => {
      opened.send(text, () => over || count(opened.bufferedAmount));
      count(opened.bufferedAmount);
    },
    ping: () => opened.ping(),
    get buffered() {
      return over ? Number.POSITIVE_INFINITY : opened.bufferedAmount;
    },
    close: (code, reason) => opened.close(code, reason),
    deafen: () => opened.pause(),
    cut: () => opened.terminate(),
  };
  const connection = realtime.connect(found, wire);
  opened.on('message', (bytes, isBinary) => {
    const unread = connection.ended !== undefined || isBinary || !Buffer.isBuffer(bytes);
    const value = unread ? undefined : parseJson(bytes);
    connection.receive(value?.value);
  });
  opened.on('ping', () => connection.heard('ping'));
  opened.on('pong', () => connection.heard('pong'));
  opened.on('close', (code) => {
    count(0);
    over = true;
    connection.end('client');
    closed({ code, cause: connection.ended ?? '' });
  });
  // The client has closed its half. The package ws sends the remaining data before it closes the other half. If the
  // client does not read, ws would wait without limit.
  socket.once('end', () => {
    connection.end('client');
    setTimeout(wire.cut, LIMITS.closeTimeout).unref();
  });
  // A frame from the client breaks the protocol. The package ws answers with the close code of RFC 6455.
  opened.on('error', () => connection.end('protocol'));
}
