import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/**
 * A proxy in front of PostgreSQL that reads the wire protocol (version 3). A test can cut, hold or lose exactly one
 * message, without a hook in the product. These tests need neither TLS (refused with 'N') nor COPY (not supported).
 *
 * An exchange is everything that a client sends up to its Sync (or one simple Query), and the server's answer up to
 * ReadyForQuery. The SQL text of the Query or of the prepared statement identifies it.
 */
export type Side = 'frontend' | 'backend';

/** A message of an exchange: the side that sends it, and its number, from 1. */
export interface MessagePoint {
  readonly side: Side;
  readonly at: number;
  readonly when: 'before' | 'after';
}

export type Point =
  | MessagePoint
  /** Before the first Bind (or Query): the server has received nothing to execute. */
  | 'before-execute'
  /** Right after the Sync (or Query), which is the implicit COMMIT, without waiting for the server's answer. */
  | 'sync-then-cut'
  /** After the server's answer. The client gets nothing after Bind, so the reply to the COMMIT is lost. */
  | 'after-sync';

export interface Plan {
  readonly match: RegExp;
  readonly at: Point;
  /** `cut` closes both ends, `reset` resets them, `blackhole` keeps the connection silent, `forward` does nothing. */
  readonly action: 'cut' | 'reset' | 'blackhole' | 'forward';
  /** Runs before `action`. The message waits for it, so a test can kill or stop a process here. */
  readonly run?: (seen: Seen) => Promise<unknown>;
  /** In how many exchanges the fault occurs. The default is 1. Infinity: in every exchange. */
  readonly times?: number;
}

export interface Armed {
  hits(): number;
  /** Resolves after the first fault. If `run` rejects, it rejects too, and the proxy cuts the connection. */
  readonly fired: Promise<void>;
}

export interface Seen {
  readonly connection: number;
  /** The exchange's number, over all proxies. 0 for messages that no client asked for. */
  readonly exchange: number;
  readonly direction: Side;
  /** The message's type byte in the protocol, or 'startup'. */
  readonly type: string;
  readonly text: string | undefined;
  forwarded: boolean;
}

/** The type bytes of each side's messages in order, for example PDHBES from the client and 1tn2CZ from the server. */
export type Messages = Readonly<Record<Side, string>>;

export interface WireProxy {
  readonly host: string;
  readonly port: number;
  url(database: string): string;
  connections(): number;
  arm(plan: Plan): Armed;
  disarm(): void;
  /** Stops all traffic on every connection, old or new, without closing an end. The returned function resumes it. */
  blackhole(): () => void;
  /** The latest messages, about ten thousand, in the order of their arrival. */
  log(): readonly Seen[];
  /** The messages of the last finished exchange with this SQL text. A statement's first run also prepares it. */
  messagesOf(match: RegExp): Messages;
  close(): Promise<void>;
}

const SIDES = ['frontend', 'backend'] as const;
const MOMENTS = ['before', 'after'] as const;

/** Every point of such an exchange at which a test can inject a fault. */
export const everyPoint = (messages: Messages): MessagePoint[] =>
  SIDES.flatMap((side) => [...messages[side]].flatMap((_, i) => MOMENTS.map((when) => ({ side, at: i + 1, when }))));

interface Exchange {
  readonly id: number;
  readonly texts: string[];
  frontend: string;
  backend: string;
}

interface Link {
  readonly id: number;
  readonly client: Socket;
  readonly server: Socket;
  readonly statements: Map<string, string>;
  /** Exchanges without ReadyForQuery so far, oldest first. A message of the server belongs to the oldest one. */
  readonly waiting: Exchange[];
  sending: Exchange | undefined;
  state: 'open' | 'silent' | 'dropped';
}

type Message = { readonly type: string; readonly bytes: Buffer };

const KEPT = 10_000;
let linkCount = 0;
let exchangeCount = 0;
const ENCRYPTION = [80_877_103, 80_877_104]; // the codes of SSLRequest and GSSENCRequest
const never = new Promise<never>(() => undefined);
const matches = ({ texts }: Exchange, match: RegExp): boolean => texts.some((text) => text.search(match) >= 0);

function keep<T>(list: T[], entry: T): void {
  if (list.push(entry) >= 2 * KEPT) list.splice(0, KEPT);
}

function place(link: Link, side: Side, type: string, text: string | undefined): Exchange | undefined {
  if (side === 'backend') {
    const [exchange] = link.waiting;
    if (exchange) exchange.backend += type;
    if (type !== 'Z') return exchange;
    link.waiting.shift();
    if (link.sending === exchange) link.sending = undefined; // the start-up exchange has no Sync
    return exchange;
  }
  if (!link.sending) {
    link.sending = { id: ++exchangeCount, texts: [], frontend: '', backend: '' };
    link.waiting.push(link.sending);
  }
  const exchange = link.sending;
  exchange.frontend += type;
  if (text !== undefined) exchange.texts.push(text);
  if (type === 'S' || type === 'Q') link.sending = undefined;
  return exchange;
}

/** Whether a fault at this point comes before or after the message. Undefined: the message is not at this point. */
function moment(at: Point, { direction, type }: Seen, exchange: Exchange): 'before' | 'after' | undefined {
  if (typeof at === 'object') {
    return at.side === direction && at.at === exchange[direction].length ? at.when : undefined;
  }
  if (at === 'after-sync') return direction === 'backend' && type === 'Z' ? 'before' : undefined;
  if (direction === 'backend') return undefined;
  if (at === 'before-execute') return type === 'B' || type === 'Q' ? 'before' : undefined;
  return type === 'S' || type === 'Q' ? 'after' : undefined;
}

/** Splits the stream into protocol messages. Only a client's first messages have no type byte. */
async function* messagesFrom(socket: Socket, untyped: boolean): AsyncGenerator<Message> {
  let rest = Buffer.alloc(0);
  let head = untyped ? 0 : 1;
  // A client that has sent everything can still read, so the end of one direction must not close the socket.
  for await (const part of socket.iterator({ destroyOnReturn: false })) {
    rest = Buffer.concat([rest, part]);
    while (rest.length >= head + 4) {
      const size = head + rest.readUInt32BE(head);
      if (rest.length < size) break;
      const bytes = rest.subarray(0, size);
      rest = rest.subarray(size);
      const code = head === 0 ? bytes.readUInt32BE(4) : 0;
      if (ENCRYPTION.includes(code)) {
        socket.write('N');
        continue;
      }
      yield { type: head === 0 ? 'startup' : String.fromCharCode(bytes[0] ?? 0), bytes };
      head = 1;
    }
  }
}

function textOf({ statements }: Link, { type, bytes }: Message): string | undefined {
  if (!/^[QPB]$/.test(type)) return undefined;
  const end = bytes.indexOf(0, 5);
  const first = bytes.toString('utf8', 5, end);
  if (type === 'Q') return first;
  const second = bytes.toString('utf8', end + 1, bytes.indexOf(0, end + 1));
  if (type === 'P') statements.set(first, second);
  return type === 'P' ? second : statements.get(second);
}

interface Trap {
  readonly plan: Plan;
  readonly taken: Set<number>;
  readonly struck: Set<number>;
  done(): void;
  failed(error: unknown): void;
}

function drop(link: Link, reset = false): void {
  link.state = 'dropped';
  link.server.destroy(); // a Unix socket cannot be reset
  if (reset) link.client.resetAndDestroy();
  else link.client.destroy();
}

async function strike({ plan, taken, struck, done, failed }: Trap, link: Link, seen: Seen): Promise<void> {
  taken.add(seen.exchange);
  struck.add(seen.exchange);
  try {
    await plan.run?.(seen);
  } catch (error) {
    drop(link);
    return failed(error);
  }
  if (plan.action === 'blackhole') link.state = 'silent';
  else if (plan.action !== 'forward') drop(link, plan.action === 'reset');
  done();
}

export async function openProxy(target: { host: string; port: number }): Promise<WireProxy> {
  const links = new Set<Link>();
  const clients = new Set<Socket>();
  const log: Seen[] = [];
  const finished: Exchange[] = [];
  const traps: Trap[] = [];
  let gate: Promise<void> = Promise.resolve();

  const open = (link: Link): Promise<void> => (link.state === 'silent' ? never : gate);

  async function pass(link: Link, side: Side, message: Message, to: Socket): Promise<void> {
    const { type, bytes } = message;
    const text = side === 'frontend' ? textOf(link, message) : undefined;
    const exchange = place(link, side, type, text);
    const id = exchange?.id ?? 0;
    const seen: Seen = { connection: link.id, exchange: id, direction: side, type, text, forwarded: false };
    keep(log, seen);
    if (exchange && side === 'backend' && type === 'Z') keep(finished, exchange);
    const struck: Record<'before' | 'after', Trap[]> = { before: [], after: [] };
    let lost = false;
    for (const trap of traps) {
      const { plan, taken } = trap;
      if (!exchange || trap.struck.has(id) || !matches(exchange, plan.match)) continue;
      if (!taken.has(id) && taken.size >= (plan.times ?? 1)) continue;
      const when = moment(plan.at, seen, exchange);
      if (when) struck[when].push(trap);
      if (plan.at !== 'after-sync' || plan.action === 'forward' || side === 'frontend') continue;
      if (!/[BQ]/.test(exchange.frontend)) continue;
      // The client loses the whole answer. Another plan can still inject a fault into the same exchange.
      taken.add(id);
      lost = true;
    }
    for (const trap of struck.before) await strike(trap, link, seen);
    await open(link);
    if (lost || link.state === 'dropped') return;
    // The kernel has the bytes, or the receiving socket has closed. So a later cut does not lose them.
    await new Promise<void>((resolve) => to.write(bytes, () => resolve()));
    seen.forwarded = true;
    for (const trap of struck.after) await strike(trap, link, seen);
  }

  async function pump(link: Link, side: Side, from: Socket, to: Socket): Promise<void> {
    try {
      for await (const message of messagesFrom(from, side === 'frontend')) {
        await open(link);
        await pass(link, side, message, to);
      }
      await open(link);
      to.end();
    } catch {
      await open(link);
      drop(link); // one end was reset or destroyed, so drop the other end too
    }
  }

  const listener = createServer({ noDelay: true, allowHalfOpen: true }, async (client) => {
    clients.add(client);
    client.once('close', () => clients.delete(client));
    client.on('error', () => undefined); // the loop that forwards this socket's messages notices its end
    await gate;
    const { host, port } = target;
    const server = host.startsWith('/') ? connect(`${host}/.s.PGSQL.${port}`) : connect({ host, port, noDelay: true });
    server.on('error', () => undefined);
    const state = { statements: new Map<string, string>(), waiting: [], sending: undefined, state: 'open' as const };
    const link: Link = { id: ++linkCount, client, server, ...state };
    links.add(link);
    await Promise.all([pump(link, 'frontend', client, server), pump(link, 'backend', server, client)]);
    links.delete(link);
  });
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
  const { port } = listener.address() as AddressInfo; // the cast is sound, because the address of a TCP server is an AddressInfo

  return {
    host: '127.0.0.1',
    port,
    url: (database) => `postgres://postgres@127.0.0.1:${port}/${database}`,
    connections: () => clients.size,
    arm(plan) {
      const struck = new Set<number>();
      const fired = new Promise<void>((done, failed) => {
        traps.push({ plan, taken: new Set(), struck, done, failed });
      });
      fired.catch(() => undefined); // a test can ignore this promise, because it also notices the cut connection
      return { hits: () => struck.size, fired };
    },
    disarm: () => void traps.splice(0),
    blackhole() {
      let heal = (): void => undefined;
      gate = new Promise((resolve) => {
        heal = resolve;
      });
      return () => heal();
    },
    log: () => log,
    messagesOf(match) {
      const last = finished.findLast((exchange) => matches(exchange, match));
      if (!last) throw new Error(`no finished exchange matches ${match}`);
      return { frontend: last.frontend, backend: last.backend };
    },
    async close() {
      for (const client of clients) client.destroy();
      for (const link of links) drop(link);
      await new Promise((resolve) => listener.close(resolve));
    },
  };
}
