import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { Exchange, type Serving } from './exchange.ts';

/**
 * How many requests may wait on a connection while another request runs. A client that pipelines more is disconnected.
 */
const PIPELINED = 8;

/**
 * One client connection. The connection runs its requests one at a time, because Node alone would start all pipelined
 * requests at once. The exchange of a request ends when the reply ends or when the socket ends. The code must also
 * check the end of the socket, because Node 20 and 24 emit no `close` for a response that waits behind another
 * response. A request that still waits when the socket closes never starts.
 */
export class Connection {
  readonly #socket: Duplex;
  readonly #serving: Serving;
  readonly #waiting: (readonly [IncomingMessage, ServerResponse])[] = [];
  #current: Exchange | undefined;
  #last: IncomingMessage | undefined;

  constructor(socket: Duplex, serving: Serving) {
    this.#socket = socket;
    this.#serving = serving;
    socket.once('close', () => {
      this.#waiting.splice(0);
      if (this.#current) this.#ended(this.#current);
    });
  }

  /** The running exchange. `undefined` when no request runs or waits. */
  get current(): Exchange | undefined {
    return this.#current;
  }

  /**
   * True when the last request was answered before its whole body had arrived. If the client then sends bytes that are
   * not valid HTTP, these bytes belong to the rest of the body.
   */
  get answered(): boolean {
    return this.#current === undefined && this.#last?.complete === false;
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  add(request: IncomingMessage, response: ServerResponse): void {
    // After the connection is cut, Node can still emit requests that it has already read.
    if (this.#socket.destroyed) return;
    if (!this.#current) this.#begin(request, response);
    else if (this.#waiting.length < PIPELINED) this.#waiting.push([request, response]);
    else this.cut('too many requests pipelined');
  }

  /** Disconnects the client at once and frees everything that the connection holds. `reason` is for the log. */
  cut(reason?: string): void {
    if (this.#current) this.#current.reason = reason;
    this.#socket.destroy();
    this.#waiting.splice(0);
    if (this.#current) this.#ended(this.#current);
  }

  /**
   * Disconnects a client that leaves a complete reply unread for too long. A reply that was complete before the time
   * `since` must have been read by now. `since` and `now` are times of performance.now() in milliseconds.
   */
  check(since: number, now: number): void {
    const current = this.#current;
    if (!current?.response.writableEnded) return;
    current.repliedAt ??= now;
    if (current.repliedAt < since) this.cut('reply not taken');
  }

  #begin(request: IncomingMessage, response: ServerResponse): void {
    const exchange = new Exchange(this.#serving, request, response);
    this.#current = exchange;
    this.#last = request;
    response.once('close', () => this.#ended(exchange));
    exchange.run();
  }

  #ended(exchange: Exchange): void {
    if (this.#current !== exchange) return;
    this.#current = undefined;
    exchange.end();
    // After a reply with `Connection: close`, the socket can send no further reply.
    const next = this.#socket.writable ? this.#waiting.shift() : undefined;
    if (next) this.#begin(...next);
  }
}
