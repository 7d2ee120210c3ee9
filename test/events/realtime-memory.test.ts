import { expect, it } from 'vitest';
import { Connection } from '../../src/events/realtime/connection.ts';
import type { Pages } from '../../src/events/realtime/pages.ts';
import { TIMINGS, type Wire } from '../../src/events/realtime/wire.ts';

/** A socket whose client takes nothing: what was sent stays. */
function deaf() {
  const told = { buffered: 0, cut: 0, closed: 0, ended: 0 };
  const wire: Wire = {
    send: (text) => {
      told.buffered += text.length;
    },
    ping: () => undefined,
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
  const connection = new Connection({
    session: 's',
    epoch: 1,
    expiresAt: 0,
    // None of these is looked at by what is asked here.
    authority: {} as never,
    pages: {} as Pages,
    wire,
    timings: TIMINGS,
    onEnd: () => {
      told.ended++;
    },
  });
  return { told, connection };
}

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
