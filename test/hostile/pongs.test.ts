import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connected, frame, handshake, holder, openSession, plantWebsites, Raw } from '../support/events/realtime.ts';
import { openTestGateway, type TestGateway } from '../support/gateway.ts';

// A client may send a hundred frames at once, and twenty frames each second. In this test, the gateway sends a ping
// every 10 ms.
const TIMINGS = { heartbeat: 10, check: 10, silence: 1_000 };
const PONG = frame(0x8a, Buffer.alloc(0));
const PING = frame(0x89, Buffer.alloc(0));

let gateway: TestGateway;
let calm: TestGateway;
let token: string;
beforeAll(async () => {
  gateway = await openTestGateway('empty', undefined, undefined, TIMINGS);
  calm = await openTestGateway('empty', gateway.database, undefined, { check: 50, silence: 800 });
  await plantWebsites(gateway.database.sql, 1);
  ({ token } = await holder(gateway));
});
afterAll(async () => {
  await calm.realtime.stop();
  await gateway.close();
});

async function opened(door: TestGateway): Promise<Raw> {
  const raw = new Raw(door.port);
  expect(await raw.upgrade(handshake(await openSession(door, token)))).toBe(101);
  return raw;
}

async function writesUntilClosed(raw: Raw, bytes: Buffer, most: number): Promise<number> {
  for (let n = 1; n <= most; n++) {
    raw.socket.write(bytes);
    await pause(1);
    if (raw.received.includes('too many frames')) return n;
  }
  return most;
}

/**
 * A separate process sends a handshake and then repeats these bytes without end. When the gateway cuts the connection, it
 * prints how many bytes it could send.
 */
const FLOOD = `
  const [port, hello, bytes] = process.argv.slice(1);
  const socket = require('node:net').connect(Number(port), '127.0.0.1');
  const block = Buffer.concat(Array.from({ length: 4096 }, () => Buffer.from(bytes, 'base64')));
  const send = () => { while (!socket.destroyed && socket.write(block)); };
  socket.on('error', () => undefined).on('close', () => console.log(socket.bytesWritten - socket.writableLength)).on('drain', send).resume();
  socket.write(Buffer.from(hello, 'base64'));
  socket.once('data', send);`;

describe.concurrent('WS-04 pongs', () => {
  it.each([
    ['nobody asked for', PONG],
    ['nobody asked for, of 125 bytes', frame(0x8a, Buffer.alloc(125, 'x'))],
  ])('a flood of pongs that %s ends like one of pings', async (_, bytes) => {
    const raw = await opened(calm);
    expect(await writesUntilClosed(raw, bytes, 1_000)).toBeLessThan(300);
    expect(await raw.closeCode()).toBe(1008);
  });

  it('who answers every ping lives on, though they are more than its allowance', async () => {
    const client = await connected(gateway, token);
    let pings = 0;
    client.socket.on('ping', () => pings++);
    const began = performance.now();
    const unpaid = (): number => pings - ((performance.now() - began) / 1_000) * 20;
    await expect.poll(unpaid).toBeGreaterThan(110);
    await pause(100);
    expect(client.socket.readyState).toBe(client.socket.OPEN);
    client.end();
  });

  it('who answers every ping three times has two to pay for', async () => {
    const client = await connected(gateway, token);
    client.socket.on('ping', () => {
      client.socket.pong();
      client.socket.pong();
    });
    expect(await Promise.race([client.closed, pause(5_000, 'open')])).toBe(1008);
  });

  it('RFC 6455, section 5.5.3: a pong now and then keeps a socket alive', async () => {
    const raw = await opened(calm);
    for (let i = 0; i < 10; i++) {
      raw.socket.write(PONG);
      await pause(200);
    }
    expect(raw.socket.destroyed).toBe(false);
    const deaf = await opened(calm);
    await deaf.ended; // this client sends no pongs, so the gateway cuts its socket
    raw.socket.destroy();
  });
});

describe('WS-04 who goes on after the close', () => {
  it('is not listened to, whatever it sends', async () => {
    const floods = [
      PONG,
      PING,
      frame(0x81, Buffer.from('{"type":"ping","id":1}')),
      Buffer.concat([frame(0x81, Buffer.from('no frame')), PONG]),
      Buffer.concat([frame(0xc1, Buffer.from('a reserved bit')), PONG]),
      Buffer.concat([frame(0x88, Buffer.from([3, 232])), PONG]),
    ];
    const hellos: string[] = [];
    for (const _ of floods) hellos.push(handshake(await openSession(calm, token)));
    const ends = await Promise.all(
      floods.map(async (bytes, i) => {
        const argv = [String(calm.port), Buffer.from(hellos[i] ?? '').toString('base64'), bytes.toString('base64')];
        const child = spawn(process.execPath, ['-e', FLOOD, ...argv], { stdio: ['ignore', 'pipe', 'inherit'] });
        const sent = text(child.stdout);
        const timer = setTimeout(() => child.kill(), 8_000);
        const [code] = await once(child, 'exit');
        clearTimeout(timer);
        return [code, Number(await sent)] as const;
      }),
    );
    expect(ends.map(([code]) => code)).toEqual(floods.map(() => 0));
    // A socket that nobody reads takes what the buffers of the kernel hold.
    expect(Math.max(...ends.map(([, sent]) => sent))).toBeLessThan(16 * 1_048_576);
  });
});
