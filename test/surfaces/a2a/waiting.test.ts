import { once } from 'node:events';
import { Agent, request as httpRequest } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import pino from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadSkills } from '../../../src/gateway/load.ts';
import { a2aSurface } from '../../../src/surfaces/a2a/a2a.ts';
import { Streams } from '../../../src/surfaces/a2a/streams.ts';
import { startServer } from '../../../src/surfaces/http/server.ts';
import { openTasks } from '../../../src/tasks/tasks.ts';
import { BASE_URL, openTestGateway, type TestGateway } from '../../support/gateway.ts';
import { rpc, work } from '../../support/surfaces/a2a.ts';
import { WEB } from '../../support/surfaces/wire.ts';

let gateway: TestGateway;
let token: string;
let contact: string;

beforeAll(async () => {
  gateway = await openTestGateway();
  ({ token } = await gateway.issue());
  const { body } = await gateway.ask(`/api/v1/contacts?website_id=${WEB}&limit=1`, { token });
  contact = body.data.data[0].id;
});
afterAll(() => gateway.close());

const inspect = (): object => work('contact_inspection', { contact_id: contact });

/** A server that uses the store of the gateway and cuts a connection after half a second without traffic. */
async function hasty() {
  const skills = await loadSkills(gateway.corridor.registry);
  const { db } = gateway.database;
  const onError = (error: unknown): void => void gateway.log.push(`DEFECT ${error}`);
  const tasks = openTasks({ db, corridor: gateway.corridor, onError });
  const server = await startServer({
    host: '127.0.0.1',
    baseUrl: BASE_URL,
    port: 0,
    tls: undefined,
    log: pino({ level: 'silent' }),
    handlers: [
      a2aSurface(gateway.corridor, { baseUrl: BASE_URL, tasks, skills, streams: new Streams(gateway.corridor) }),
    ],
    otherwise: (_, response) => response.writeHead(404).end(),
    timeouts: {
      headersTimeout: 10_000,
      requestTimeout: 30_000,
      keepAliveTimeout: 10_000,
      connectionsCheckingInterval: 2_000,
      timeout: 500,
      reply: 30_000,
    },
  });
  return { port: server.port, close: () => Promise.all([server.close(), tasks.stop()]) };
}

async function whileContactsWait<T>(act: () => Promise<T>): Promise<T> {
  const lock = await gateway.database.sql.reserve();
  await lock`BEGIN`;
  try {
    await lock`LOCK TABLE platform.contact IN ACCESS EXCLUSIVE MODE`;
    return await act();
  } finally {
    await lock`ROLLBACK`;
    lock.release();
  }
}

describe('a call that waits for its task', () => {
  it('outlives the time after which a quiet socket is cut, and the socket has its old limit again', async () => {
    const server = await hasty();
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const answer = await whileContactsWait(async () => {
      const waiting = rpc(server.port, token, 'SendMessage', inspect(), { agent });
      const first = await Promise.race([waiting, pause(1_300)]);
      expect(first).toBeUndefined();
      return { waiting };
    });
    const { body } = await answer.waiting;
    expect(body.result.task.status.state).toBe('TASK_STATE_COMPLETED');
    // The answer is sent, so the usual time limit applies to this connection again. The server must cut the next
    // request, whose body does not come.
    const began = performance.now();
    const slow = httpRequest({
      host: '127.0.0.1',
      port: server.port,
      path: '/a2a',
      method: 'POST',
      agent,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', 'content-length': '1000' },
    });
    slow.write('{');
    const [error] = await once(slow, 'error');
    expect(error).toBeInstanceOf(Error);
    expect(slow.reusedSocket).toBe(true);
    expect(performance.now() - began).toBeLessThan(5_000);
    agent.destroy();
    await server.close();
  });

  it('whose client goes leaves a task that ends, and that the client can ask for', async () => {
    const params = inspect();
    await whileContactsWait(async () => {
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SendMessage', params });
      const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json', 'a2a-version': '1.0' };
      const request = httpRequest({ host: '127.0.0.1', port: gateway.port, path: '/a2a', method: 'POST', headers });
      request.on('error', () => undefined);
      request.end(body);
      await pause(300);
      request.destroy();
      await pause(100);
    });
    const { task } = (await rpc(gateway.port, token, 'SendMessage', params)).body.result;
    expect(task.status.state).toBe('TASK_STATE_COMPLETED');
    expect(task.artifacts.length).toBe(1);
  });

  it('is told what helps when its read could not be answered in time', async () => {
    const { body } = await whileContactsWait(() => rpc(gateway.port, token, 'SendMessage', inspect()));
    const { state, message } = body.result.task.status;
    expect([state, message.parts[0].data.code]).toEqual(['TASK_STATE_FAILED', 'service_unavailable']);
    expect(message.parts[0].data.title).toMatch(/Send a read again with a new messageId/);
    expect(message.parts[0].data.title).not.toContain('Retry-After');
  });

  it('is answered when the server stops, well within the time that a stop may take', async () => {
    const server = await hasty();
    await whileContactsWait(async () => {
      const waiting = rpc(server.port, token, 'SendMessage', inspect());
      await pause(300);
      const began = performance.now();
      const closing = server.close();
      const { status, body } = await waiting;
      expect(status).toBe(200);
      // The server stops before the end of the task. The task is then still open, or it has failed because no server
      // will run it.
      expect(body.result.task.status.state).toMatch(/^TASK_STATE_(SUBMITTED|WORKING|FAILED)$/);
      await closing;
      expect(performance.now() - began).toBeLessThan(7_000);
    });
  });
});
