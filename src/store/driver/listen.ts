import { setTimeout as pause } from 'node:timers/promises';
import type postgres from 'postgres';

/** The two driver options that the driver's own `listen` uses. The driver's types lack part of them. */
export interface Heard {
  onnotify(channel: string, payload: string): void;
  onclose(): void;
}

export interface Listening {
  close(): Promise<void>;
}

/** Milliseconds between two attempts to listen, and after a lost connection. */
const BACKOFF = 250;
/**
 * Milliseconds between two test queries to the server. A server that has vanished sends nothing, so only a test query
 * detects the loss.
 */
const STILL_THERE = 10_000;

interface ListenOptions {
  readonly connect: (events: Heard) => postgres.Sql;
  readonly channel: string;
  readonly heard: (payload: string) => void;
  /** Milliseconds to wait for an answer of the server. */
  readonly patience: number;
}

/**
 * Listens on a channel of PostgreSQL until `close`. The driver's own `listen` gives up when the server refuses the
 * first attempt after a lost connection. The driver also gives the state of the lost connection to the next connection.
 * So each connection here belongs to a separate driver pool.
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
      // The end of the pool is not awaited. With a server that has vanished, closing would take the whole time-out. An
      // error of the end is dropped, because nobody uses the connection again.
      pool.end({ timeout: 1 }).catch(() => undefined);
    }
  };
  const ended = (async () => {
    while (!stop.signal.aborted) {
      // The connection can be lost, refused or closed by this process. The answer to each case is the next attempt, so
      // the error is dropped.
      await once().catch(() => undefined);
      // Only `close` aborts the pause, so the error is dropped.
      await pause(BACKOFF, undefined, { signal: stop.signal, ref: false }).catch(() => undefined);
    }
  })();
  return {
    close: async () => {
      stop.abort();
      await ended;
    },
  };
}
