import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { Exchange, type Serving } from './exchange.ts';

/** Requests that may wait while another one runs. A client that pipelines more is disconnected. */
const PIPELINED = 8;

/**
 * A client's connection. It runs its requests one at a time, because Node would start all pipelined requests at once. A
 * request's exchange ends with its reply or with the socket. Node 20 and 24 emit no `close` for a response that waits
 * behind another one, so the end of the socket is checked too. A request that waits when the socket closes never
 * starts.
 */
export class Connection {
  readonly #socket: Socket;
  readonly #serving: Serving;
  readonly #idle: number | undefined;
  readonly #waiting: (readonly [IncomingMessage, ServerResponse])[] = [];
  #current: Exchange | undefined;
  #last: IncomingMessage | undefined;

  /** `idle`: milliseconds until an idle connection is closed, if other than the server's. */
  constructor(socket: Socket, serving: Serving, idle?: number) {
    this.#socket = socket;
    this.#serving = serving;
    this.#idle = idle;
    socket.once('close', () => {
      this.#waiting.splice(0);
      if (this.#current) this.#ended(this.#current);
    });
  }

  /** Undefined while no request runs or waits. */
  get current(): Exchange | undefined {
    return this.#current;
  }

  /**
   * True if the last request was answered before its body was complete. Invalid HTTP after it is the rest of the body.
   */
  get answered(): boolean {
    return this.#current === undefined && this.#last?.complete === false;
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  add(request: IncomingMessage, response: ServerResponse): void {
    // Node can still emit requests that it had read before the connection was cut.
    if (this.#socket.destroyed) return;
    if (!this.#current) this.#begin(request, response);
    else if (this.#waiting.length < PIPELINED) this.#waiting.push([request, response]);
    else this.cut('too many requests pipelined');
  }

  /** Disconnects the client at once and frees all that the connection holds. `reason` is for the log. */
  cut(reason?: string): void {
    if (this.#current) this.#current.reason = reason;
    this.#socket.destroy();
    this.#waiting.splice(0);
    if (this.#current) this.#ended(this.#current);
  }

  /** Disconnects a client that has not read a reply completed before `since` (milliseconds of performance.now()). */
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
    // Node has just set its own timeout. This one replaces it until the next request.
    else if (this.#idle !== undefined) this.#socket.setTimeout(this.#idle);
  }
}
