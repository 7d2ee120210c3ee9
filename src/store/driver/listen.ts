import { setTimeout as pause } from 'node:timers/promises';
import type postgres from 'postgres';

/** What the driver tells of a connection: its own `listen` is made of these two options, which its types lack in part. */
export interface Heard {
  onnotify(channel: string, payload: string): void;
  onclose(): void;
}

export interface Listening {
  close(): Promise<void>;
}

/** Milliseconds between attempts, and after a connection was lost. */
const BACKOFF = 250;
/** Milliseconds between questions to the server: one that has vanished says nothing for ever. */
const STILL_THERE = 10_000;

interface ListenOptions {
  readonly connect: (events: Heard) => postgres.Sql;
  readonly channel: string;
  readonly heard: (payload: string) => void;
  /** Milliseconds to wait for an answer. */
  readonly patience: number;
}

/**
 * Listens until `close`. The driver's own `listen` gives up where the server refuses the first attempt after a loss, and
 * hands the lost connection's state on to the next one: here each connection is of a pool of its own.
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
      // Not waited for: with a server that has vanished it would take its whole time.
      pool.end({ timeout: 1 }).catch(() => undefined); // it has nothing left to say
    }
  };
  const ended = (async () => {
    while (!stop.signal.aborted) {
      // Lost, refused or closed by us: in each case there is nothing to tell, and another attempt is the answer.
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
