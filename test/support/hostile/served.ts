import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'vitest';
import { addressOf, freshDatabase, type TestDatabase } from '../database.ts';
import { type Replica, startReplica } from '../replica.ts';

export interface Line {
  readonly msg: string;
  readonly request_id: string;
  readonly operation: string;
  readonly status: number;
  readonly audit?: string;
  readonly decision?: string;
  readonly operation_id?: string;
  readonly replayed?: boolean;
  readonly unfinished?: boolean;
}

export interface Held {
  readonly connections: number;
  readonly requests: number;
  readonly waiting: number;
  readonly unread: number;
}

export interface Served {
  readonly database: TestDatabase;
  readonly port: number;
  readonly url: string;
  lines(): Line[];
  metrics(): Promise<string>;
  held(): Promise<Held>;
  /** Resident memory of the server process in MB. */
  rss(): number;
  /** Waits until no other request is in progress. */
  quiet(seconds?: number): Promise<void>;
  close(): Promise<void>;
}

export async function serve(env: Readonly<Record<string, string>> = {}): Promise<Served> {
  const database = await freshDatabase('demo');
  const replica: Replica = await startReplica({
    databaseUrl: addressOf(database),
    env: { LOG_LEVEL: 'info', ...env },
  });
  const metrics = async (): Promise<string> => (await fetch(`${replica.url}/metrics`)).text();
  const held = async (): Promise<Held> => {
    const text = await metrics();
    const value = (name: string): number => Number(new RegExp(`^${name}(?:\\{[^}]*\\})? (\\S+)$`, 'm').exec(text)?.[1]);
    return {
      connections: value('gateway_http_connections'),
      requests: value('gateway_http_requests'),
      waiting: value('gateway_http_requests_waiting'),
      unread: value('gateway_http_unread_bytes'),
    };
  };
  return {
    database,
    port: Number(new URL(replica.url).port),
    url: replica.url,
    lines: () =>
      replica
        .log()
        .split('\n')
        .filter((line) => line.startsWith('{'))
        // The log lines have the members of `Line`. A missing member is undefined.
        .map((line) => JSON.parse(line) as Line),
    metrics,
    held,
    rss: () => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${replica.pid}/status`, 'utf8'))?.[1]) / 1024,
    async quiet(seconds = 40) {
      await expect
        .poll(held, { timeout: seconds * 1000, interval: 100 })
        .toMatchObject({ requests: 1, waiting: 0, unread: 0 });
      await pause(700); // the gateway writes its log lines every half second
    },
    async close() {
      await replica.end();
      await database.close();
    },
  };
}

export class Client {
  readonly socket: Socket;
  received = '';
  readonly closed: Promise<void>;

  constructor(port: number) {
    this.socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    this.socket.on('error', () => undefined); // the server may close with a reset
    this.socket.on('data', (part: Buffer) => {
      this.received += part.toString('latin1');
    });
    this.closed = new Promise((resolve) => this.socket.once('close', () => resolve()));
    this.socket.once('end', () => this.socket.end());
  }

  write(bytes: string): void {
    if (this.socket.writable) this.socket.write(bytes, 'latin1');
  }

  answers(): { status: number; id: string }[] {
    return [...this.received.matchAll(/HTTP\/1\.1 (\d{3}) [^\r]*\r\n((?:[^\r]+\r\n)*)\r\n/g)].flatMap((match) => {
      const id = /^x-request-id: (\S+)/im.exec(match[2] ?? '')?.[1];
      return id === undefined ? [] : [{ status: Number(match[1]), id }];
    });
  }

  /** Sends bytes and waits for the end of the connection, at most `patience` milliseconds. */
  static async send(port: number, bytes: string, patience = 3_000): Promise<Client> {
    const client = new Client(port);
    client.write(bytes);
    await Promise.race([client.closed, pause(patience)]);
    client.socket.destroy();
    return client;
  }
}

export function http(line: string, headers: readonly string[] = [], body?: string): string {
  const own = body === undefined ? [] : [`Content-Length: ${Buffer.byteLength(body)}`];
  return [`${line} HTTP/1.1`, 'Host: 127.0.0.1', ...headers, ...own, '', body ?? ''].join('\r\n');
}

export const bearer = (token: string): string => `Authorization: Bearer ${token}`;

export const mcp = (token: string, name: string, input: object): string =>
  http(
    'POST /mcp',
    [bearer(token), 'Content-Type: application/json', 'Accept: application/json, text/event-stream'],
    JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: input } }),
  );

export const note = (token: string, text: string): string =>
  http(
    'POST /api/v1/visitors/vis_1_1_96/notes',
    [bearer(token), 'Content-Type: application/json', `Idempotency-Key: ${text.replaceAll(' ', '-')}`],
    JSON.stringify({ text }),
  );
