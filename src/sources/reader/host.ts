import type { MessagePort } from 'node:worker_threads';
import { UNREADABLE } from '../engine/parse-record.ts';
import { prepareChange } from '../engine/prepare.ts';
import { mayRead, watchRows } from '../engine/underway.ts';
import type { Change, Source } from '../source.ts';
import { type Call, type Opening, Pulse, type Reply, sent } from './protocol.ts';
import { Repeats } from './repeats.ts';

/** Milliseconds between two signs of life. */
const BEAT = 500;

/** Answers the calls of the other thread with this source. Records are checked and converted here. */
export function host(source: Source, port: MessagePort, opening: Omit<Opening, 'kind'>): void {
  const pulse = new Pulse(opening.memory);
  const skipped = new Set(opening.skipped);
  const secrets = secretsOf(opening.settings.address);
  const repeats = new Repeats();
  const walks = new Map<unknown, AsyncIterator<readonly Change[]>>();
  let unlisten: (() => Promise<void>) | undefined;
  setInterval(() => pulse.beat(), BEAT);
  watchRows((row) => {
    pulse.begin(row);
    return !skipped.has(row);
  });
  const post = (reply: Reply): void => port.postMessage(reply);

  const answer = async ({ method, args }: Call): Promise<unknown> => {
    const [first] = args;
    switch (method) {
      case 'listen':
        unlisten = source.listen(() => post({ changed: true }));
        return undefined;
      case 'unlisten':
        return unlisten?.();
      case 'reread':
        repeats.forget(args[1] as readonly string[]); // as below
        // The other thread sends what the interface of Source says.
        walks.set(first, source.reread(args[1] as readonly string[])[Symbol.asyncIterator]());
        return undefined;
      case 'next': {
        const page = await walks.get(first)?.next();
        return page === undefined || page.done === true ? undefined : prepared(page.value);
      }
      case 'end': {
        const walk = walks.get(first);
        walks.delete(first);
        return walk?.return?.().then(() => undefined);
      }
      case 'load':
      case 'changes': {
        // As above.
        const page = await source[method](first as never);
        if (method === 'load') repeats.forget();
        const polled = method === 'changes' && opening.settings.mode === 'poll';
        const changes = polled ? repeats.without(page.changes) : page.changes;
        if (polled && !page.more) repeats.endRound();
        return { ...page, changes: prepared(changes) };
      }
      default:
        // As above.
        return (source[method] as (...given: readonly unknown[]) => Promise<unknown>)(...args);
    }
  };
  port.on('message', (call: Call) => {
    answer(call).then(
      (value) => post({ id: call.id, answer: value }),
      (error: unknown) => post({ id: call.id, error: sent(error, secrets) }),
    );
  });
}

const prepared = (changes: readonly Change[]): Change[] =>
  changes.map((change) => {
    if ('only' in change || 'gone' in change) return change;
    const { from } = change;
    return { from, prepared: mayRead(from) ? prepareChange(change) : { refused: UNREADABLE, type: '' } };
  });

/** The password as it stands in the address, and as the server gets it. */
function secretsOf(address: string): string[] {
  if (!URL.canParse(address)) return [address];
  const { password } = new URL(address);
  return password === '' ? [] : [password, decodeURIComponent(password)];
}
