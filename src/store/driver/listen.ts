import { setTimeout as pause } from 'node:timers/promises';
import type postgres from 'postgres';

/** The two driver options that its own `listen` uses. The driver's types lack part of them. */
export interface Heard {
  onnotify(channel: string, payload: string): void;
  onclose(): void;
}

export interface Listening {
  close(): Promise<void>;
}

/** Milliseconds between attempts, and after a lost connection. */
const BACKOFF = 250;
/**
 * Milliseconds between questions to the server. A server that has vanished sends nothing, so only a question detects
 * it.
 */
const STILL_THERE = 10_000;

interface ListenOptions {
  readonly connect: (events: Heard) => postgres.Sql;
  readonly channel: string;
  readonly heard: (payload: string) => void;
  /** Milliseconds to wait for an answer. */
  readonly patience: number;
}

/**
 * Listens until `close`. The driver's own `listen` gives up when the server refuses the first attempt after a loss. It
 * also hands the lost connection's state to the next one. Here each connection belongs to a pool of its own.
 */
export function listenOn({ connect, channel, heard, patience }: ListenOptions): Listening {
  const stop = new AbortController();
  const once = async (): Promise<void> => {
    const lost = new AbortController();
    const pool = connect({
      onnotify: (name, payload) => {
        if (name === channel && !stop.signal.aborted) heard(payload);
      },
      onclose: () => lost.abort(),
    });
    const either = AbortSignal.any([stop.signal, lost.signal]);
    const answered = (text: string): Promise<unknown> =>
      Promise.race([
        pool.unsafe(text),
        pause(patience, undefined, { ref: false }).then(() => Promise.reject(new Error('no answer in time'))),
      ]);
    try {
      await answered(`LISTEN "${channel.replaceAll('"', '""')}"`);
      if (!either.aborted) heard('');
      while (!either.aborted) {
        await pause(STILL_THERE, undefined, { signal: either, ref: false });
        await answered('SELECT 1');
      }
    } finally {
      // Not awaited: with a server that has vanished, closing would take the whole time-out.
      pool.end({ timeout: 1 }).catch(() => undefined); // the connection is not used again
    }
  };
  const ended = (async () => {
    while (!stop.signal.aborted) {
      // Lost, refused or closed by us: the next attempt is the answer to each, so the error is dropped.
      await once().catch(() => undefined);
      await pause(BACKOFF, undefined, { signal: stop.signal, ref: false }).catch(() => undefined); // closed
    }
  })();
  return {
    close: async () => {
      stop.abort();
      await ended;
    },
  };
}
