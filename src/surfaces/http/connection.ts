import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { Exchange, type Serving } from './exchange.ts';

/** Requests that may wait behind the one under way. Clients that pipeline deeper than this are disconnected. */
const PIPELINED = 8;

/**
 * One connection and everything on it. Requests are served one at a time. Node itself would begin all pipelined requests at
 * once, and emits no `close` for the responses that wait behind another one when the socket dies (Node 20 and 24). So
 * the end of an exchange is the end of its reply or of the socket, whichever comes first, and a request that waits when the
 * socket dies has never begun.
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

  /** The exchange under way; `undefined`: none, and none waits. */
  get current(): Exchange | undefined {
    return this.#current;
  }

  /** Bytes that cannot be read belong to a request whose reply was sent before its body had come. */
  get answered(): boolean {
    return this.#current === undefined && this.#last?.complete === false;
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  add(request: IncomingMessage, response: ServerResponse): void {
    // The rest of what was read before the connection was cut.
    if (this.#socket.destroyed) return;
    if (!this.#current) this.#begin(request, response);
    else if (this.#waiting.length < PIPELINED) this.#waiting.push([request, response]);
    else this.cut('too many requests pipelined');
  }

  /** Disconnects the client at once. What the connection holds is given back before this returns. `reason` is for the log. */
  cut(reason?: string): void {
    if (this.#current) this.#current.reason = reason;
    this.#socket.destroy();
    this.#waiting.splice(0);
    if (this.#current) this.#ended(this.#current);
  }

  /** Disconnects a client whose whole reply was ready before `since` and has not been taken. Both are performance.now(). */
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
    // A socket that has been ended (Connection: close) sends nothing more.
    const next = this.#socket.writable ? this.#waiting.shift() : undefined;
    if (next) this.#begin(...next);
  }
}
