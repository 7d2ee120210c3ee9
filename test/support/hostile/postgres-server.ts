import { createHash, createHmac, pbkdf2Sync, randomBytes } from 'node:crypto';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { generator, pickFrom } from '../random.ts';

/**
 * An attacker's PostgreSQL server. It speaks the protocol (version 3) correctly up to one stage, and there sends
 * something else. The database in the client's first message names the case.
 */
export interface HostileServer {
  readonly port: number;
  connections(name: string): number;
  close(): Promise<void>;
}

/**
 * What the server sends in each stage. `ssl`: the answer to the request for TLS. `early`: before the client's first
 * message, inside TLS if there is TLS. `row`: the columns. `rows`: the data.
 */
export const STAGES = ['ssl', 'early', 'auth', 'first', 'final', 'settings', 'row', 'rows', 'simple', 'idle'] as const;
export type Stage = (typeof STAGES)[number];

type Message = Buffer;
export interface Case {
  readonly stage: Stage;
  readonly auth: 'trust' | 'md5' | 'password' | 'scram';
  readonly change: (honest: readonly Message[], random: () => number) => Sending;
  readonly statement?: { readonly parameters: number; readonly columns: readonly string[] };
}
/** `pace`: milliseconds between two bytes. 0: all bytes at once. */
export interface Sending {
  readonly bytes: Buffer;
  readonly pace?: number;
  readonly endless?: boolean;
  readonly after?: 'close' | 'reset' | 'silence' | 'go on';
}

export const PASSWORD = 'correct-horse';
const int32 = (n: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(n >>> 0);
  return bytes;
};
const int16 = (n: number): Buffer => int32(n).subarray(2);
const text = (value: string): Buffer => Buffer.from(`${value}\0`);
export const message = (type: string, ...parts: readonly (Buffer | string)[]): Message => {
  const body = Buffer.concat(parts.map((part) => Buffer.from(part)));
  return Buffer.concat([Buffer.from(type), int32(body.length + 4), body]);
};

const READY = message('Z', 'I');
export const columns = (...names: readonly string[]): Message =>
  message(
    'T',
    int16(names.length),
    ...names.flatMap((name) => [text(name), int32(0), int16(0), int32(25), int16(0xffff), int32(0), int16(0)]),
  );
export const row = (...values: readonly (string | null)[]): Message =>
  message(
    'D',
    int16(values.length),
    ...values.flatMap((value) => (value === null ? [int32(-1)] : [int32(Buffer.byteLength(value)), value])),
  );
const complete = (words: string): Message => message('C', text(words));
const ROWS = [row('1', 'one'), row('2', null), row('3', 'drei')];
export const noticeOf = (type: 'E' | 'N', code: string): Message =>
  message(type, 'S', text('ERROR'), 'V', text('ERROR'), 'C', text(code), 'M', text('planted'), Buffer.alloc(1));

const hmac = (key: Buffer, data: string): Buffer => createHmac('sha256', key).update(data).digest();

/** What an honest server sends in each stage. */
class Honest {
  readonly #auth: Case['auth'];
  #first = '';
  #bare = '';
  #salted = Buffer.alloc(0);
  constructor(auth: Case['auth']) {
    this.#auth = auth;
  }

  auth(): Message[] {
    if (this.#auth === 'trust') return [message('R', int32(0)), ...this.settings()];
    if (this.#auth === 'md5') return [message('R', int32(5), Buffer.from('salt'))];
    if (this.#auth === 'password') return [message('R', int32(3))];
    return [message('R', int32(10), text('SCRAM-SHA-256'), Buffer.alloc(1))];
  }

  /** The answer to a message with a password or of SCRAM. The last answer also has the settings. */
  answer(password: Buffer): { stage: Stage; messages: Message[] } {
    const said = password.toString('latin1');
    const [, bare = ''] = /n,,(n=[^,]*,r=[^,]+)$/.exec(said) ?? [];
    if (bare !== '') {
      const salt = randomBytes(16);
      this.#bare = bare;
      this.#salted = pbkdf2Sync(PASSWORD, salt, 4_096, 32, 'sha256');
      this.#first = `r=${bare.slice(bare.indexOf('r=') + 2)}abcdef,s=${salt.toString('base64')},i=4096`;
      return { stage: 'first', messages: [message('R', int32(11), this.#first)] };
    }
    const settings = [message('R', int32(0)), ...this.settings()];
    if (this.#auth !== 'scram') return { stage: 'final', messages: settings };
    const [, final = ''] = /(c=biws,r=[^,]+),p=/.exec(said) ?? [];
    const signature = hmac(hmac(this.#salted, 'Server Key'), `${this.#bare},${this.#first},${final}`);
    return { stage: 'final', messages: [message('R', int32(12), `v=${signature.toString('base64')}`), ...settings] };
  }

  settings(): Message[] {
    const status = Object.entries({ server_version: '18.4', client_encoding: 'UTF8', TimeZone: 'UTC' });
    return [
      ...status.map(([name, value]) => message('S', text(name), text(value))),
      message('K', int32(7), int32(9)),
      READY,
    ];
  }
}

const described = ({ parameters, columns: names } = { parameters: 1, columns: ['a', 'b'] as readonly string[] }) => [
  message('1'),
  message('t', int16(parameters), ...Array.from({ length: parameters }, () => int32(23))),
  columns(...names),
];
const executed = (): Message[] => [message('2'), ...ROWS, complete('SELECT 3'), READY];
const simple = (): Message[] => [columns('a', 'b'), ...ROWS, complete('SELECT 3'), READY];

/** With `tls`, the server accepts the request for TLS, and all its cases use TLS. */
export async function hostileServer(
  caseOf: (name: string) => Case,
  tls?: { readonly key: string; readonly cert: string },
): Promise<HostileServer> {
  const sockets = new Set<Socket>();
  const seen = new Map<string, number>();

  const serve = async (socket: Socket): Promise<void> => {
    let one: Case | undefined;
    let name = '';
    let honest = new Honest('trust');
    let done = false;
    const random = (): (() => number) => generator(Number.parseInt(createHash('md5').update(name).digest('hex'), 16));
    const send = async (stage: Stage, messages: readonly Message[]): Promise<void> => {
      if (!one || done || stage !== one.stage) {
        socket.write(Buffer.concat(messages));
        return;
      }
      done = true;
      await deliver(socket, one.change(messages, random()));
    };
    // A case is known only after the client's first message. So all cases of a server begin alike.
    one = caseOf('ssl');
    if (!tls || socket instanceof TLSSocket) await send('early', []);
    for await (const part of clientMessages(socket)) {
      if (part.type === 'ssl') {
        await send('ssl', [Buffer.from(tls ? 'S' : 'N')]);
        if (tls && !done) {
          const secure = new TLSSocket(socket, { isServer: true, ...tls });
          secure.on('error', () => undefined);
          return serve(secure);
        }
      } else if (part.type === 'startup') {
        name = /\0database\0([^\0]+)/.exec(part.bytes.toString('latin1'))?.[1] ?? '';
        seen.set(name, (seen.get(name) ?? 0) + 1);
        one = caseOf(name);
        honest = new Honest(one.auth);
        const messages = honest.auth();
        await send(one.auth === 'trust' && one.stage === 'settings' ? 'settings' : 'auth', messages);
      } else if (part.type === 'p') {
        const { stage, messages } = honest.answer(part.bytes.subarray(5));
        await send(stage === 'final' && one?.stage === 'settings' ? 'settings' : stage, messages);
      } else if (part.type === 'H') await send('row', described(one?.statement));
      else if (part.type === 'S') await send('rows', executed());
      else if (part.type === 'Q') await send('simple', simple());
      else if (part.type === 'X') socket.end();
      if ((part.type === 'S' || part.type === 'Q') && one?.stage === 'idle') await send('idle', []);
    }
  };

  const listener = createServer({ noDelay: true }, (socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
    serve(socket).catch(() => socket.destroy());
  });
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
  const { port } = listener.address() as AddressInfo; // the cast is sound, because the address of a TCP server is an AddressInfo
  return {
    port,
    connections: (of) => seen.get(of) ?? 0,
    close: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => listener.close(resolve));
    },
  };
}

async function* clientMessages(socket: Socket): AsyncGenerator<{ type: string; bytes: Buffer }> {
  let rest = Buffer.alloc(0);
  let head = 0;
  for await (const part of socket.iterator({ destroyOnReturn: false })) {
    rest = Buffer.concat([rest, part]);
    while (rest.length >= head + 4) {
      const size = head + rest.readUInt32BE(head);
      if (rest.length < size) break;
      const bytes = rest.subarray(0, size);
      rest = rest.subarray(size);
      if (head === 0 && bytes.readUInt32BE(4) === 80_877_103) yield { type: 'ssl', bytes };
      else {
        yield { type: head === 0 ? 'startup' : String.fromCharCode(bytes[0] ?? 0), bytes };
        head = 1;
      }
    }
  }
}

const written = (socket: Socket, bytes: Buffer): Promise<void> =>
  new Promise((resolve) => {
    if (socket.destroyed) resolve();
    else socket.write(bytes, () => resolve());
  });

async function deliver(socket: Socket, { bytes, pace, endless = false, after = 'go on' }: Sending): Promise<void> {
  do {
    if (pace === undefined) await written(socket, bytes);
    else
      for (let at = 0; at < bytes.length && !socket.destroyed; at++) {
        await written(socket, bytes.subarray(at, at + 1));
        if (pace > 0) await new Promise((resolve) => setTimeout(resolve, pace));
      }
  } while (endless && !socket.destroyed);
  if (after === 'close') socket.end();
  else if (after === 'reset') socket.resetAndDestroy();
  else if (after === 'silence') await new Promise(() => undefined);
}

const TYPES = 'RSKANEZCtTD12nIsGHWdcVv3X';

/** Changes at random what the honest server would send. */
export function mutate(honest: readonly Message[], random: () => number): Sending {
  const list = [...honest];
  const at = (length: number): number => Math.floor(random() * length);
  const bytes = Buffer.concat(list);
  const changed = (change: (copy: Buffer) => void): Buffer => {
    const copy = Buffer.from(bytes);
    if (copy.length > 0) change(copy);
    return copy;
  };
  const any = (): Message => message(pickFrom([...TYPES], random), randomBytes(at(40)));
  const after = pickFrom(['close', 'reset', 'go on', 'go on', 'go on'] as const, random);
  const [one = any()] = list.slice(at(list.length));
  const choices: readonly (() => Sending)[] = [
    () => ({ bytes: bytes.subarray(0, at(bytes.length + 1)), after: pickFrom(['close', 'reset'] as const, random) }),
    () => ({ bytes: bytes.subarray(0, at(bytes.length + 1)), after: random() < 0.1 ? 'silence' : 'close' }),
    () => ({ bytes: changed((copy) => copy.writeUInt8(at(256), at(copy.length))), after }),
    () => ({
      bytes: changed((copy) => {
        for (let i = at(8); i >= 0; i--) copy.writeUInt8(at(256), at(copy.length));
      }),
      after,
    }),
    // The length of one message is wrong.
    () => {
      const false_ = Buffer.from(one);
      if (false_.length >= 5) false_.writeUInt32BE(pickFrom([0, 1, 3, 5, 0x7fffffff, 0xffffffff, at(300)], random), 1);
      return { bytes: Buffer.concat(list.map((kept) => (kept === one ? false_ : kept))), after };
    },
    () => ({ bytes: Buffer.concat(list.filter((kept) => kept !== one)), after: random() < 0.1 ? 'silence' : 'close' }),
    () => ({ bytes: Buffer.concat([...list, one, ...list]), after }),
    () => ({ bytes: Buffer.concat(list.toReversed()), after }),
    () => ({
      bytes: Buffer.concat([...list.slice(0, at(list.length + 1)), any(), ...list.slice(at(list.length + 1))]),
      after,
    }),
    () => ({ bytes: Buffer.concat([any(), ...list]), after }),
    () => ({ bytes: randomBytes(1 + at(2_000)), after }),
    () => ({ bytes, pace: 0 }),
    ...(random() < 0.2 ? [(): Sending => ({ bytes, pace: 40 })] : []),
    ...(random() < 0.3 ? [(): Sending => ({ bytes: Buffer.concat([one, one, one]), endless: true })] : []),
    ...(random() < 0.3 ? [(): Sending => ({ bytes: any(), endless: true })] : []),
    () => ({
      bytes: Buffer.concat([
        noticeOf(random() < 0.5 ? 'E' : 'N', pickFrom(['28P01', '57P03', '53300', 'x'], random)),
        ...list,
      ]),
      after,
    }),
  ];
  return pickFrom(choices, random)();
}
