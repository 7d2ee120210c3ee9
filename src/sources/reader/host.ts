import type { MessagePort } from 'node:worker_threads';
import { ForeignServerRefused } from '../../store/driver/errors.ts';
import { UNREADABLE } from '../engine/parse-record.ts';
import { prepareChange } from '../engine/prepare.ts';
import { mayRead, watchRows } from '../engine/underway.ts';
import type { Change, Finding, Source, SourcePage } from '../source.ts';
import {
  type Opening,
  type Parted,
  type ReaderMethod,
  secretsIn,
  sent,
  type ThreadCall,
  ThreadPulse,
  type ThreadReply,
} from '../thread/protocol.ts';
import { Repeats } from './repeats.ts';

/** Milliseconds between two messages that something has changed. */
const NOTICE = 100;
/** The most changes and characters in a part of a page. The main thread handles a part in a few milliseconds. */
const PART = { changes: 500, characters: 1024 * 1024 };
/** The most changes and characters in a page. A note of 20,000 characters for 10,000 visitors has 200 million. */
const PAGE = { changes: 200_000, characters: 256 * 1024 * 1024 };
/** The most characters of a position, and of the texts of a finding. A foreign server determines both. */
const PLACE = 1024 * 1024;
const FINDING = { findings: 100, characters: 2_000 };

/** Answers the calls of the main thread from this source. Records are checked and converted in this thread. */
export function hostReader(
  source: Source,
  port: MessagePort,
  { settings, memory, skipped: rows }: Omit<Opening, 'kind'>,
): void {
  const pulse = new ThreadPulse(memory);
  const skipped = new Set(rows);
  const secrets = secretsIn(settings.address, settings.api?.token);
  const repeats = new Repeats();
  const walks = new Map<unknown, AsyncIterator<readonly Change[]>>();
  const parts = new Map<unknown, Change[][]>();
  let unlisten: (() => Promise<void>) | undefined;
  pulse.start();
  watchRows((row) => {
    pulse.begin(row);
    return !skipped.has(row);
  });
  const post = (reply: ThreadReply): void => port.postMessage(reply);
  const notice = atMostEvery(NOTICE, () => post({ changed: true }));
  const paged = <Of extends { readonly changes: readonly Change[] }>(id: number, page: Of): Parted<Of> => {
    const [first = [], ...others] = partsOf(prepared(page.changes));
    // All records are made. If the thread hangs from now on, no row is the cause.
    pulse.begin('');
    if (others.length > 0) parts.set(id, others);
    return { page: { ...page, changes: first }, of: id, left: others.length };
  };

  const answer = async ({ id, method, args }: ThreadCall<ReaderMethod>): Promise<unknown> => {
    const [first] = args;
    switch (method) {
      case 'listen':
        unlisten = source.listen(notice);
        return undefined;
      case 'unlisten':
        return unlisten?.();
      case 'reread':
        // The main thread sends arguments of the types in the interface Source.
        repeats.forget(args[1] as readonly string[]);
        walks.set(first, source.reread(args[1] as readonly string[])[Symbol.asyncIterator]());
        return undefined;
      case 'next': {
        const page = await walks.get(first)?.next();
        if (page === undefined || page.done === true) return undefined;
        requireFew(page.value);
        return paged(id, { changes: page.value });
      }
      case 'end': {
        const walk = walks.get(first);
        walks.delete(first);
        return walk?.return?.().then(() => undefined);
      }
      case 'part': {
        const left = parts.get(first);
        const part = left?.shift();
        if (left?.length === 0) parts.delete(first);
        return part;
      }
      case 'load':
      case 'changes': {
        // As above.
        const page: SourcePage = await source[method](first as never);
        requireFew(page.changes);
        if (method === 'load') repeats.forget();
        const polled = method === 'changes' && settings.mode === 'poll';
        const changes = polled ? repeats.without(page.changes) : page.changes;
        if (polled && !page.more) repeats.endRound();
        if (JSON.stringify(page.after).length > PLACE) throw tooMuch('a place that is too long');
        return paged(id, { ...page, changes });
      }
      case 'check':
        return (await source.check()).slice(0, FINDING.findings).map(shortened);
      default:
        // As above.
        return (source[method as 'begin'] as (...given: readonly unknown[]) => Promise<unknown>)(...args);
    }
  };
  port.on('message', (call: ThreadCall<ReaderMethod>) => {
    answer(call)
      .then((value) => post({ id: call.id, answer: value }))
      .catch((error: unknown) => post({ id: call.id, error: sent(error, secrets) }));
  });
}

/** Calls back at once, and then at most once in this many milliseconds. A call in between is made later. */
function atMostEvery(milliseconds: number, work: () => void): () => void {
  let [resting, again] = [false, false];
  return function hear(): void {
    again = resting;
    if (resting) return;
    resting = true;
    work();
    setTimeout(() => {
      resting = false;
      if (again) hear();
    }, milliseconds);
  };
}

const shortened = ({ level, about, text }: Finding): Finding => ({
  ...{ level, about: about.slice(0, FINDING.characters) },
  text: text.slice(0, FINDING.characters),
});

const prepared = (changes: readonly Change[]): Change[] =>
  changes.map((change) => {
    if ('only' in change || 'gone' in change) return change;
    const { from } = change;
    return { from, prepared: mayRead(from) ? prepareChange(change) : { refused: UNREADABLE, type: '' } };
  });

/** Call this before any other work on the changes. */
function requireFew({ length }: readonly Change[]): void {
  if (length > PAGE.changes) throw tooMuch('more rows than the gateway asked for');
}

function partsOf(changes: readonly Change[]): Change[][] {
  const parts: Change[][] = [];
  let [part, characters, all]: [Change[], number, number] = [[], 0, 0];
  for (const change of changes) {
    const length = lengthOf(change);
    if (part.length > 0 && (part.length === PART.changes || characters + length > PART.characters)) {
      parts.push(part);
      [part, characters] = [[], 0];
    }
    part.push(change);
    characters += length;
    all += length;
    if (all > PAGE.characters) throw tooMuch('more text than the gateway asked for');
  }
  parts.push(part);
  return parts;
}

/** The characters of the long texts of a change. */
function lengthOf(change: Change): number {
  if ('keep' in change) return change.keep.reduce((sum, one) => sum + one.length, 0);
  if (!('prepared' in change && 'row' in change.prepared)) return 0;
  const { data, links = [] } = change.prepared.row;
  const texts = [...Object.values(data), ...links];
  return texts.reduce<number>((sum, one) => sum + (typeof one === 'string' ? one.length : 0), 0);
}

const tooMuch = (what: string): ForeignServerRefused =>
  new ForeignServerRefused(`The server at this address does not speak PostgreSQL as expected: it sends ${what}.`);
