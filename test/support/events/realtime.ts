import { randomBytes } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { connect as connectTls } from 'node:tls';
import type postgres from 'postgres';
import { expect } from 'vitest';
import { WebSocket } from 'ws';
import type { Answer } from '../answer.ts';
import type { Grant, Issued } from '../credentials.ts';
import type { AskOptions, TestGateway } from '../gateway.ts';

export const ORIGIN = 'https://app.example';

// biome-ignore lint/suspicious/noExplicitAny: a test reads members of a frame whose type it has checked
export type Frame = any;

/** The server of a session's requests: a gateway in this process, or a replica. */
export interface Door {
  readonly port: number;
  ask(path: string, options?: AskOptions): Promise<Pick<Answer, 'status' | 'body' | 'text'>>;
}

export function doorOf({ url }: { readonly url: string }): Door {
  return {
    port: Number(new URL(url).port),
    ask: async (path, { token, method, body, headers = {} } = {}) => {
      const response = await fetch(`${url}${path}`, {
        method: method ?? (body === undefined ? 'GET' : 'POST'),
        headers: {
          authorization: `Bearer ${token}`,
          ...(body !== undefined && { 'content-type': 'application/json' }),
          ...Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)])),
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
      const text = await response.text();
      return { status: response.status, text, body: text === '' ? undefined : JSON.parse(text) };
    },
  };
}

export const holder = (gateway: TestGateway, grant: Grant = {}): Promise<Issued> =>
  gateway.issue({ origins: [ORIGIN], ...grant });

export interface Session {
  readonly session_id: string;
  readonly ticket: string;
}

export async function openSession(door: Door, token: string, body: object = {}, origin = ORIGIN): Promise<Session> {
  const answer = await door.ask('/api/v1/realtime/sessions', { token, body, headers: { origin } });
  expect(answer.status, answer.text).toBe(201);
  return answer.body;
}

export async function newTicket(door: Door, token: string, session: string, origin = ORIGIN): Promise<string> {
  const path = `/api/v1/realtime/sessions/${session}/tickets`;
  const answer = await door.ask(path, { token, body: {}, headers: { origin } });
  expect(answer.status, answer.text).toBe(201);
  return answer.body.ticket;
}

/** A client of the realtime socket. It keeps every frame, and acknowledges a page only when the test asks. */
export class Client {
  readonly socket: WebSocket;
  readonly frames: Frame[] = [];
  readonly closed: Promise<number>;
  #woken: (() => void)[] = [];
  #taken = 0;

  constructor(port: number, { session_id, ticket }: Session, origin = ORIGIN, headers = {}) {
    this.socket = new WebSocket(
      `ws://127.0.0.1:${port}/api/v1/realtime/sessions/${session_id}/socket`,
      ['igw.realtime.v1', `ticket.${ticket}`],
      { origin, headers, perMessageDeflate: false },
    );
    this.socket.on('message', (bytes) => {
      this.frames.push(JSON.parse(String(bytes)));
      for (const wake of this.#woken.splice(0)) wake();
    });
    this.socket.on('error', () => undefined); // the close event reports the error to the test
    this.closed = new Promise((resolve) =>
      this.socket.on('close', (code) => {
        resolve(code);
        for (const wake of this.#woken.splice(0)) wake();
      }),
    );
  }

  send(frame: object): void {
    this.socket.send(JSON.stringify(frame));
  }

  /** The next unread frame of this type. Drops the frames before it. Waits at most `within` milliseconds. */
  async next(type: string, within = 20_000): Promise<Frame> {
    const until = performance.now() + within;
    for (;;) {
      while (this.#taken < this.frames.length) {
        const frame = this.frames[this.#taken++];
        if (frame.type === type) return frame;
      }
      if (this.socket.readyState >= WebSocket.CLOSING || performance.now() > until)
        throw new Error(`no ${type} came: ${JSON.stringify(this.frames).slice(0, 2_000)}`);
      await Promise.race([
        new Promise<void>((resolve) => this.#woken.push(resolve)),
        pause(Math.max(1, until - performance.now()), undefined, { ref: false }),
      ]);
    }
  }

  async attach(subscription: string, after?: string): Promise<Frame> {
    this.send({ type: 'attach', id: 'a', subscription_id: subscription, ...(after !== undefined && { after }) });
    return this.next('attached');
  }

  ack(page: Frame): void {
    this.send({ type: 'ack', subscription_id: page.subscription_id, cursor: page.next_cursor });
  }

  end(): void {
    this.socket.terminate();
  }
}

export async function connected(door: Door, token: string, body: object = {}): Promise<Client> {
  const session = await openSession(door, token, body);
  const client = new Client(door.port, session);
  await client.next('ready');
  return client;
}

/** The bytes of a WebSocket handshake. A given member replaces a default header, and null removes it. */
export function handshake(
  { session_id, ticket }: Session,
  change: Readonly<Record<string, string | readonly string[] | null>> = {},
  query = '',
): string {
  const headers: Record<string, string | readonly string[] | null> = {
    Host: '127.0.0.1',
    Connection: 'Upgrade',
    Upgrade: 'websocket',
    'Sec-WebSocket-Version': '13',
    'Sec-WebSocket-Key': randomBytes(16).toString('base64'),
    'Sec-WebSocket-Protocol': `igw.realtime.v1, ticket.${ticket}`,
    Origin: ORIGIN,
    ...change,
  };
  const lines = Object.entries(headers).flatMap(([name, value]) =>
    value === null ? [] : [value].flat().map((one) => `${name}: ${one}\r\n`),
  );
  return `GET /api/v1/realtime/sessions/${session_id}/socket${query} HTTP/1.1\r\n${lines.join('')}\r\n`;
}

/** A raw socket, for bytes that no client library sends. */
export class Raw {
  readonly socket: Socket;
  received = Buffer.alloc(0);
  readonly ended: Promise<void>;

  constructor(port: number, { secure = false } = {}) {
    const at = { port, host: '127.0.0.1' };
    this.socket = secure ? connectTls({ ...at, rejectUnauthorized: false }) : connect(at);
    this.socket.on('data', (part: Buffer) => {
      this.received = Buffer.concat([this.received, part]);
    });
    this.socket.on('error', () => undefined); // the end event reports the error to the test
    this.ended = new Promise((resolve) => this.socket.on('close', () => resolve()));
  }

  async upgrade(bytes: string): Promise<number> {
    this.socket.write(bytes);
    const until = performance.now() + 20_000;
    while (!this.received.includes('\r\n\r\n')) {
      if (performance.now() > until) throw new Error('no answer to the handshake');
      await pause(2);
    }
    const [, status = '0'] = /^HTTP\/1\.1 (\d+)/.exec(this.received.toString('latin1')) ?? [];
    return Number(status);
  }

  /** Waits for the end of the socket. Returns the code of the close frame. Undefined if none has arrived. */
  async closeCode(): Promise<number | undefined> {
    await Promise.race([this.ended, pause(10_000, undefined, { ref: false })]);
    let at = this.received.indexOf('\r\n\r\n') + 4;
    while (at + 2 <= this.received.length) {
      const opcode = (this.received[at] ?? 0) & 15;
      const short = (this.received[at + 1] ?? 0) & 127;
      const [size, head] =
        short === 126
          ? [this.received.readUInt16BE(at + 2), 4]
          : short === 127
            ? [Number(this.received.readBigUInt64BE(at + 2)), 10]
            : [short, 2];
      if (opcode === 8) return size >= 2 ? this.received.readUInt16BE(at + head) : undefined;
      at += head + size;
    }
    return undefined;
  }
}

/** A client's WebSocket frame with this first byte, masked by default. */
export function frame(first: number, payload: Buffer, masked = true): Buffer {
  const size = payload.length;
  const length =
    size < 126
      ? Buffer.from([(masked ? 128 : 0) | size])
      : Buffer.concat([Buffer.from([(masked ? 128 : 0) | 126]), Buffer.from([size >> 8, size & 255])]);
  if (!masked) return Buffer.concat([Buffer.from([first]), length, payload]);
  const mask = randomBytes(4);
  const hidden = Buffer.from(payload.map((byte, i) => byte ^ (mask[i % 4] ?? 0)));
  return Buffer.concat([Buffer.from([first]), length, mask, hidden]);
}

export async function plantWebsites(sql: postgres.Sql, count: number): Promise<void> {
  await sql.begin(async (tx) => {
    await tx`SELECT set_config('gateway.capture', 'off', true)`;
    await tx`INSERT INTO platform.organization (tenant, external_id, name) VALUES (1, 'one', 'One')`;
    await tx`INSERT INTO platform.website (tenant, site, external_id, name, time_zone)
      SELECT 1, s, 'w' || s, 'W', 'UTC' FROM generate_series(1, ${count}) AS s`;
  });
}
