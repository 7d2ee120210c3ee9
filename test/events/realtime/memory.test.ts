import { expect, it } from 'vitest';
import { writeCursor } from '../../../src/events/cursors.ts';
import { RealtimeConnection } from '../../../src/events/realtime/connection.ts';
import type { Pages } from '../../../src/events/realtime/pages.ts';
import { openRealtime } from '../../../src/events/realtime/realtime.ts';
import { TIMINGS, type Wire } from '../../../src/events/realtime/wire.ts';
import { StoreUnreachable } from '../../../src/store/driver/errors.ts';
import { eventually } from '../../support/eventually.ts';
import { KEYS } from '../../support/keys.ts';

/**
 * Makes a socket whose client reads nothing, so all sent bytes stay in the gateway. `pages` replaces some functions of
 * the object that reads pages.
 */
function deaf(pages: Partial<Pages> = {}) {
  const { told, wire } = deafWire();
  const connection = new RealtimeConnection({
    ...ADMITTED,
    pages: pages as Pages,
    wire,
    timings: TIMINGS,
    onEnd: () => {
      told.ended++;
    },
  });
  return { told, connection };
}

const ADMITTED = { session: 's', epoch: 1, expiresAt: 0, authority: {} as never, from: '127.0.0.1' };

function deafWire() {
  const told = { frames: [] as string[], buffered: 0, cut: 0, closed: 0, ended: 0 };
  const wire: Wire = {
    send: (text) => {
      told.buffered += text.length;
      told.frames.push(JSON.parse(text).type);
    },
    ping: () => undefined,
    deafen: () => undefined,
    get buffered() {
      return told.buffered;
    },
    close: () => {
      told.closed++;
    },
    cut: () => {
      told.cut++;
    },
  };
  return { told, wire };
}

it('a socket that its first frame ends is not kept', async () => {
  const released: unknown[] = [];
  const realtime = openRealtime({
    db: { query: async (statement: unknown) => released.push(statement) && [] } as never,
    keys: KEYS,
    eventKey: async () => new Uint8Array(),
    charge: async () => 0,
    refund: () => undefined,
    permitted: () => true,
    onError: (error) => expect.fail(String(error)),
  });
  const { told, wire } = deafWire();
  told.buffered = 1024 * 1024;
  realtime.connect(ADMITTED, wire);
  await eventually(() => expect(released).toHaveLength(1));
  expect([told.cut, realtime.size]).toEqual([1, 0]);
  await realtime.stop();
});

it('WS-06 a client that takes nothing is cut at one mebibyte, once, and no more is sent', () => {
  const { told, connection } = deaf();
  told.buffered = 1024 * 1024 - 40;
  connection.receive({ type: 'ping', id: 'a' });
  expect([told.cut, told.ended]).toEqual([0, 0]);
  connection.receive({ type: 'ping', id: 'b' });
  expect([told.cut, told.ended, told.closed]).toEqual([1, 1, 0]);
  const { buffered } = told;
  for (let i = 0; i < 10; i++) connection.receive({ type: 'ping', id: i });
  connection.close('restart');
  expect([told.buffered, told.cut, told.ended, told.closed]).toEqual([buffered, 1, 1, 0]);
});

it('a page that could not be charged is read again, from where it began', async () => {
  const subscription = `sub_${'0'.repeat(32)}`;
  const at = (position: number): string =>
    writeCursor(KEYS, {
      subscription,
      revision: 1,
      credential: 'c',
      environment: 'test',
      positions: new Map([['web_1_1', position]]),
    });
  const asked: string[] = [];
  let failures = 2;
  const { told, connection } = deaf({
    keys: KEYS,
    onError: () => undefined,
    open: async () => ({ revision: 1, cursor: at(0) }),
    watch: () => () => undefined,
    read: async (_, { after }) => {
      asked.push(after);
      if (failures-- > 0) throw new StoreUnreachable('away');
      const events = [{ cursor: 1 }] as never;
      return {
        subscription_id: '',
        revision: 1,
        events,
        next_cursor: at(1),
        has_more: false,
        retention: [],
        coverage: [],
      };
    },
  });
  connection.receive({ type: 'attach', id: 1, subscription_id: subscription });
  await eventually(() => expect(asked).toHaveLength(1));
  for (let i = 1; i <= 2; i++) {
    await eventually(() => {
      connection.tick(performance.now() + 2_000);
      expect(asked).toHaveLength(1 + i);
    });
  }
  await eventually(() => expect(told.frames.at(-1)).toBe('page'));
  expect(asked).toEqual([at(0), at(0), at(0)]);
});
