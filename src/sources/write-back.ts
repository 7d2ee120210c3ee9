import { setTimeout as pause } from 'node:timers/promises';
import PQueue from 'p-queue';
import type { Keyring } from '../auth/keys.ts';
import type { Command, Ending, RemoteCommand, RemoteWriter } from '../core/writes.ts';
import { before, within } from '../outbound/before.ts';
import {
  forgetWriteBack,
  type PreparedWrite,
  prepareWriteBack,
  type SentWrite,
  sentWriteBack,
  storeSentChange,
  storeSentDisposition,
  storeSentNote,
  storeSentReply,
  type WriteBackSource,
} from '../store/calls/write-back.ts';
import type { Database } from '../store/driver/postgres.ts';
import { type ConversationChange, type Helpdesk, NotPerformed, refused } from './helpdesk.ts';
import { isSourceKind } from './kinds.ts';
import { openWriter, type Writer, type WriterOptions } from './writer/writer.ts';

export interface WriteBackOptions {
  readonly db: Database;
  readonly keys: Pick<Keyring, 'open'>;
  /** For the operator's log. The error contains no token and no customer data. */
  readonly onError: (error: unknown, source: string | undefined) => void;
  /** How long (ms) a write may take in the helpdesk, including the wait for its turn. Default: SENDING. */
  readonly sending?: number;
  /** The most threads at the same time. Default: MOST. */
  readonly most?: number | undefined;
  /** Options for the thread of each helpdesk. */
  readonly writer?: WriterOptions | undefined;
}

export interface WriteBack extends RemoteWriter {
  close(): Promise<void>;
}

const SENDING = 4_000;
/**
 * How long (ms) a write waits for the start of its thread. The time SENDING starts after that. Both together are
 * shorter than the time in the ledger (gateway/writes.ts). A start took 0.2 to 0.8 s beside much other work (24
 * November 2026).
 */
const STARTING = 3_000;
/** Timeout (ms) for asking the helpdesk how a write ended. */
const ASKING = 2_500;
/** How many calls of one source run at the same time, and how many wait for their turn. */
const AT_ONCE = 4;
const WAITING = 64;
/** How many helpdesks a process writes to at the same time. Each helpdesk has a thread. */
const MOST = 8;
/** Milliseconds between two checks whether another write still changes the conversation. */
const LOOK = 50;

const CHANGES: readonly string[] = ['conversation_status_set', 'conversation_assign'];

function changeOf({ operation, status, until, team }: Command, { given }: PreparedWrite): ConversationChange {
  if (operation === 'conversation_status_set')
    return { status: String(status), until: until === undefined ? undefined : String(until) };
  return team === undefined || given === null ? { operator: given } : { team: given };
}

interface Limit {
  readonly ms: number;
  readonly outer?: AbortSignal;
}

interface OpenWriter {
  readonly source: string;
  readonly helpdesk: Writer;
  readonly turns: PQueue;
  /** Resolves when the thread that had to make room has ended. */
  readonly free: Promise<unknown>;
  /** The addresses and the token with which the helpdesk was opened, partly encrypted, and its account. */
  readonly with: string;
  /** `waiting`: how many writes wait for the thread or for their turn. `uses`: how many wait or run. */
  waiting: number;
  uses: number;
  /** True if the source now has another address or token. The writes that already use this thread continue. */
  replaced: boolean;
}

/**
 * Sends writes to the helpdesks of live sources. Each source has its own thread and its own turns. So a hostile
 * helpdesk can end only its own thread, and a slow one delays only its own writes.
 *
 * A write is sent once. If its outcome is unknown, the gateway looks for the mark of the write in the helpdesk. A
 * missing mark proves nothing, because the helpdesk can still be processing the write.
 */
export function openWriteBack(options: WriteBackOptions): WriteBack {
  const { db, keys, onError, sending = SENDING, most = MOST, writer } = options;
  /** In the order of their last use. */
  const opened = new Set<OpenWriter>();
  let closed = false;

  const end = (desk: OpenWriter): Promise<unknown> =>
    Promise.all([desk.free, desk.helpdesk.close()]).catch((error: unknown) => onError(error, desk.source));

  /** Makes room for one more thread by ending an idle one, if necessary. Resolves when the idle thread has ended. */
  function makeRoom(last: OpenWriter | undefined): Promise<unknown> {
    if (last) last.replaced = true;
    const isFull = opened.size >= most;
    const idle = last?.uses === 0 ? last : [...opened].find(({ uses, replaced }) => isFull && uses === 0 && !replaced);
    if (idle === undefined && isFull) throw refused('all threads for writes to helpdesks work');
    if (idle === undefined) return Promise.resolve();
    opened.delete(idle);
    return end(idle);
  }

  function open(row: WriteBackSource): OpenWriter {
    const given = `${row.address} ${row.api_url} ${row.api_token} ${row.installation}`;
    if (closed) throw refused('the gateway stops');
    const last = [...opened].find(({ source, replaced }) => source === row.source && !replaced);
    if (last?.with === given) {
      opened.delete(last);
      opened.add(last);
      return last;
    }
    if (!isSourceKind(row.kind)) throw refused('this version of the gateway does not know the helpdesk');
    const [address, token] = [row.address, row.api_token].map((sealed) => keys.open('source', sealed));
    if (address === undefined || token === undefined)
      throw refused('the address or the token of the source cannot be decrypted');
    const { account, api_url: apiUrl, installation } = row;
    const helpdesk = openWriter(row.kind, { address, account, apiUrl, token, installation }, writer);
    const now = {
      ...{ source: row.source, helpdesk, turns: new PQueue({ concurrency: AT_ONCE }), free: makeRoom(last) },
      ...{ with: given, waiting: 0, uses: 0, replaced: false },
    };
    opened.add(now);
    return now;
  }

  /**
   * Waits for the start of the thread, which does not count in `ms`, and for its turn. Then runs `work`. Nothing is
   * sent before the turn.
   */
  async function inTurn<T>(
    row: WriteBackSource,
    { ms, outer }: Limit,
    work: (desk: Helpdesk, signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const desk = open(row);
    if (desk.waiting >= WAITING) throw refused('too many writes wait for the helpdesk');
    desk.waiting++;
    desk.uses++;
    let begun = false;
    const begin = (): void => {
      if (!begun) desk.waiting--;
      begun = true;
    };
    const turn = async (signal: AbortSignal, resolve: (done: T) => void, reject: (error: unknown) => void) => {
      if (signal.aborted) return;
      begin();
      // Another call can have ended the thread meanwhile, so check again that it is ready.
      await desk.helpdesk
        .ready(signal)
        .then(() => work(desk.helpdesk, signal))
        .then(resolve, reject);
    };
    try {
      await within(STARTING, outer, async (signal) => {
        await before(signal, desk.free).catch((error: unknown) => {
          throw refused('another thread for writes has not ended', undefined, error);
        });
        await desk.helpdesk.ready(signal);
      });
      return await within(
        ms,
        outer,
        (signal) =>
          new Promise<T>((resolve, reject) => {
            const late = (): void => {
              if (!begun) reject(refused('the helpdesk is busy'));
            };
            signal.addEventListener('abort', late, { once: true });
            if (signal.aborted) late();
            void desk.turns.add(() => turn(signal, resolve, reject));
          }),
      );
    } finally {
      begin();
      desk.uses--;
      if (desk.replaced && desk.uses === 0) void end(desk).finally(() => opened.delete(desk));
    }
  }

  async function send(write: PreparedWrite, { operationId, command }: RemoteCommand, limit: Limit): Promise<Ending> {
    const place = { operationId, target: write.target };
    if (command.operation === 'visitor_note_add') {
      const note = { text: String(command['text']), author: write.author };
      const sent = await inTurn(write, limit, (desk, signal) => desk.addNote(place, note, signal));
      return { done: await storeSentNote(db, operationId, { ...sent, text: note.text }) };
    }
    if (command.operation === 'conversation_reply') {
      const reply = { text: String(command['text']), internal: command['visibility'] === 'internal' };
      const sent = await inTurn(write, limit, (desk, signal) => desk.addReply(place, reply, signal));
      return { done: await storeSentReply(db, operationId, sent) };
    }
    if (CHANGES.includes(command.operation)) {
      const change = changeOf(command, write);
      const sent = await inTurn(write, limit, (desk, signal) => desk.changeConversation(place, change, signal));
      return { done: await storeSentChange(db, operationId, sent) };
    }
    const value = String(command['disposition']);
    const now = await inTurn(write, limit, (desk, signal) => desk.setDisposition(place, value, signal));
    return { done: await storeSentDisposition(db, operationId, now) };
  }

  /** Waits while another write changes the same conversation. */
  async function prepare(
    work: RemoteCommand,
    signal: AbortSignal,
  ): Promise<PreparedWrite | Exclude<Ending, { done: unknown }>> {
    for (;;) {
      const write = await prepareWriteBack(db, work).catch((error: unknown) => {
        onError(error, undefined);
        return { refused: 'native_unavailable' as const };
      });
      if (!('busy' in write)) return write;
      if (signal.aborted) return { refused: 'native_unavailable' };
      await pause(LOOK);
    }
  }

  async function perform(work: RemoteCommand, outer: AbortSignal): Promise<Ending> {
    const began = performance.now();
    const write = await within(sending, outer, (signal) => prepare(work, signal));
    if ('refused' in write || 'rejected' in write) return write;
    const { source } = write;
    try {
      return await send(write, work, { ms: sending - (performance.now() - began), outer });
    } catch (error) {
      onError(error, source);
      if (!(error instanceof NotPerformed)) throw error;
      await forgetWriteBack(db, work.operationId).catch((also: unknown) => onError(also, source));
      return error.ending;
    }
  }

  async function find(row: SentWrite, operationId: string): Promise<Ending | undefined> {
    const place = { operationId, target: row.target };
    try {
      if (row.operation === 'visitor_note_add') {
        const note = await inTurn(row, { ms: ASKING }, (desk, signal) => desk.findNote(place, signal));
        return note && { done: await storeSentNote(db, operationId, note) };
      }
      if (row.operation === 'conversation_reply') {
        const reply = await inTurn(row, { ms: ASKING }, (desk, signal) => desk.findReply(place, signal));
        return reply && { done: await storeSentReply(db, operationId, reply) };
      }
      if (CHANGES.includes(row.operation)) {
        const change = await inTurn(row, { ms: ASKING }, (desk, signal) => desk.findChange(place, signal));
        return change && { done: await storeSentChange(db, operationId, change) };
      }
      const value = await inTurn(row, { ms: ASKING }, (desk, signal) => desk.findDisposition(place, signal));
      return value === undefined ? undefined : { done: await storeSentDisposition(db, operationId, value) };
    } catch (error) {
      onError(error, row.source);
      return undefined;
    }
  }

  return {
    onlySources: true,
    perform,
    find: async (operationId) => {
      const row = await sentWriteBack(db, operationId);
      return row && find(row, operationId);
    },
    close: async () => {
      closed = true;
      await Promise.all([...opened].map(end));
    },
  };
}
