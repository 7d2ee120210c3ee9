import pino from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type RunningServer, startServer } from '../../src/surfaces/http/server.ts';
import { realtimeSurface } from '../../src/surfaces/realtime/realtime.ts';
import { openTestGateway, type TestGateway } from '../support/gateway.ts';
import { CERTIFICATE, KEY } from './certificate.ts';
import { handshake, holder, openSession, plantWebsites, Raw } from './realtime.support.ts';

let gateway: TestGateway;
let token: string;
const servers: RunningServer[] = [];

beforeAll(async () => {
  gateway = await openTestGateway('empty');
  await plantWebsites(gateway.database.sql, 2);
  ({ token } = await holder(gateway));
});
afterAll(async () => {
  await gateway.realtime.stop();
  await Promise.all(servers.map((server) => server.close()));
  await gateway.close();
});

/** The gateway's sockets behind a server of its own, which answers nothing else but 200 with the path. */
async function serverWith({ secure = false } = {}): Promise<RunningServer> {
  const server = await startServer({
    host: '127.0.0.1',
    port: 0,
    tls: secure ? { key: Buffer.from(KEY), cert: Buffer.from(CERTIFICATE) } : undefined,
    log: pino({ level: 'silent' }),
    handlers: [],
    otherwise: (request, response) => void response.end(`path ${request.url}`),
    upgrade: realtimeSurface(gateway.realtime),
  });
  servers.push(server);
  return server;
}

describe('an offer to upgrade', () => {
  it.each([false, true])('is ignored, refused and accepted, over TLS: %s', async (secure) => {
    const { port } = await serverWith({ secure });
    const raw = new Raw(port, { secure });
    for (const path of ['/one', '/two']) {
      raw.received = Buffer.alloc(0);
      const offer = 'Host: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n';
      expect(await raw.upgrade(`GET ${path} HTTP/1.1\r\n${offer}\r\n`)).toBe(200);
      expect(raw.received.toString()).toMatch(new RegExp(`\r\n\r\npath ${path}$`));
    }
    const session = await openSession(gateway, token);
    raw.received = Buffer.alloc(0);
    expect(await raw.upgrade(handshake(session, { 'Sec-WebSocket-Version': '8' }))).toBe(426);
    await raw.ended;
    const accepted = new Raw(port, { secure });
    expect(await accepted.upgrade(handshake(session))).toBe(101);
    accepted.socket.destroy();
  });
});
