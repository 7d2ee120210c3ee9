import { setTimeout as pause } from 'node:timers/promises';
import PQueue from 'p-queue';
import type { Keyring } from '../auth/keys.ts';
import type { Ending, RemoteCommand, RemoteWriter } from '../core/writes.ts';
import {
  forgetWriteBack,
  type PreparedWrite,
  prepareWriteBack,
  sentWriteBack,
  storeSentDisposition,
  storeSentNote,
  type WriteBackSource,
} from '../store/calls/write-back.ts';
import type { Database } from '../store/driver/postgres.ts';
import { type Helpdesk, NotPerformed, refused } from './helpdesk.ts';
import { isSourceKind, SOURCE_KINDS } from './kinds.ts';

export interface WriteBackOptions {
  readonly db: Database;
  readonly keys: Pick<Keyring, 'open'>;
  /** For the operator's log. The error holds no token and no data of customers. */
  readonly onError: (error: unknown, source: string | undefined) => void;
  /** Milliseconds that a write may take in the helpdesk, with its wait for a turn. The default is SENDING. */
  readonly sending?: number;
}

export interface WriteBack extends RemoteWriter {
  close(): Promise<void>;
}

const SENDING = 4_000;
/** Milliseconds of one question about an outcome. */
const ASKING = 2_500;
/** The number of calls that run at the same time for one source, and the number of calls that wait for their turn. */
const AT_ONCE = 4;
const WAITING = 64;
/** Milliseconds between two looks whether a conversation is free. */
const LOOK = 50;

interface Opened {
  readonly helpdesk: Helpdesk;
  readonly turns: PQueue;
  /** The address and the token with which the helpdesk was opened. They are sealed. */
  readonly with: string;
}

/**
 * Sends notes and dispositions to the helpdesks of live sources. Each source has its own turns, so a slow helpdesk delays
 * only its own writes. A write is sent once. If its outcome is unknown, the gateway looks for the mark of the write in the
 * helpdesk. A mark that is not there proves nothing, because the helpdesk can still be working on the write.
 */
export function openWriteBack({ db, keys, onError, sending = SENDING }: WriteBackOptions): WriteBack {
  const opened = new Map<string, Opened>();

  function open(row: WriteBackSource): Opened {
    const given = `${row.address} ${row.api_url} ${row.api_token}`;
    const before = opened.get(row.source);
    if (before?.with === given) return before;
    if (!isSourceKind(row.kind)) throw refused('this version of the gateway does not know the helpdesk');
    const [address, token] = [row.address, row.api_token].map((sealed) => keys.open('source', sealed));
    if (address === undefined || token === undefined)
      throw refused('the address or the token of the source cannot be decrypted');
    const helpdesk = SOURCE_KINDS[row.kind].api({ address, account: row.account, apiUrl: row.api_url, token });
    const now = { helpdesk, turns: new PQueue({ concurrency: AT_ONCE }), with: given };
    opened.set(row.source, now);
    if (before) {
      const closed = before.turns.onIdle().then(() => before.helpdesk.close());
      closed.catch((error: unknown) => onError(error, row.source));
    }
    return now;
  }

  /** Waits for a turn and runs `work`. Before its turn, nothing was sent. */
  async function inTurn<T>(
    row: WriteBackSource,
    signal: AbortSignal,
    work: (desk: Helpdesk) => Promise<T>,
  ): Promise<T> {
    const { helpdesk, turns } = open(row);
    if (turns.size >= WAITING) throw refused('too many writes wait for the helpdesk');
    return new Promise<T>((resolve, reject) => {
      let begun = false;
      const late = (): void => {
        if (!begun) reject(refused('the helpdesk is busy'));
      };
      signal.addEventListener('abort', late, { once: true });
      if (signal.aborted) late();
      void turns.add(async () => {
        if (signal.aborted) return;
        begun = true;
        await work(helpdesk).then(resolve, reject);
      });
    });
  }

  async function send(
    write: PreparedWrite,
    { operationId, command }: RemoteCommand,
    signal: AbortSignal,
  ): Promise<Ending> {
    const place = { operationId, target: write.target };
    if (command.operation === 'visitor_note_add') {
      const note = { text: String(command['text']), author: write.author };
      const sent = await inTurn(write, signal, (desk) => desk.addNote(place, note, signal));
      return { done: await storeSentNote(db, operationId, { ...sent, text: note.text }) };
    }
    const value = String(command['disposition']);
    const now = await inTurn(write, signal, (desk) => desk.setDisposition(place, value, signal));
    return { done: await storeSentDisposition(db, operationId, now) };
  }

  return {
    onlySources: true,
    perform: async (work, outer) => {
      const signal = AbortSignal.any([outer, AbortSignal.timeout(sending)]);
      let write: Awaited<ReturnType<typeof prepareWriteBack>>;
      for (;;) {
        write = await prepareWriteBack(db, work).catch((error: unknown) => {
          onError(error, undefined);
          return { refused: 'native_unavailable' as const };
        });
        if (!('busy' in write)) break;
        if (signal.aborted) return { refused: 'native_unavailable' };
        await pause(LOOK);
      }
      if ('refused' in write || 'rejected' in write) return write;
      try {
        return await send(write, work, signal);
      } catch (error) {
        onError(error, write.source);
        if (!(error instanceof NotPerformed)) throw error;
        await forgetWriteBack(db, work.operationId).catch((also: unknown) => onError(also, write.source));
        return error.ending;
      }
    },
    find: async (operationId) => {
      const row = await sentWriteBack(db, operationId);
      if (!row) return undefined;
      const signal = AbortSignal.timeout(ASKING);
      const place = { operationId, target: row.target };
      try {
        if (row.operation === 'visitor_note_add') {
          const note = await inTurn(row, signal, (desk) => desk.findNote(place, signal));
          return note && { done: await storeSentNote(db, operationId, note) };
        }
        const value = await inTurn(row, signal, (desk) => desk.findDisposition(place, signal));
        return value === undefined ? undefined : { done: await storeSentDisposition(db, operationId, value) };
      } catch (error) {
        onError(error, row.source);
        return undefined;
      }
    },
    close: async () => {
      await Promise.all([...opened.values()].map(({ helpdesk }) => helpdesk.close()));
    },
  };
}
