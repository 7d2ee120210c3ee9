import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { ClientFactory } from '@a2a-js/sdk/client';
import pino from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadSkills } from '../../../src/gateway/load.ts';
import { a2aSurface } from '../../../src/surfaces/a2a/a2a.ts';
import { agentCard } from '../../../src/surfaces/a2a/card.ts';
import { Streams, type StreamTimings } from '../../../src/surfaces/a2a/streams.ts';
import type { RequestHandler } from '../../../src/surfaces/http/records.ts';
import { startServer } from '../../../src/surfaces/http/server.ts';
import { openTasks, type Tasks } from '../../../src/tasks/tasks.ts';
import type { Answer } from '../../support/answer.ts';
import { BASE_URL, openTestGateway, type TestGateway } from '../../support/gateway.ts';
import { messageId, rpc, work } from '../../support/surfaces/a2a.ts';
import { type OpenStream, openStream } from '../../support/surfaces/a2a-stream.ts';
import { WEB } from '../../support/surfaces/wire.ts';

setFlagsFromString('--expose-gc');
// The cast is correct, because the flag defines gc in each new context.
const gc = runInNewContext('gc') as () => void;

let gateway: TestGateway;
let token: string;
let contact: string;

beforeAll(async () => {
  gateway = await openTestGateway();
  ({ token } = await gateway.issue({ perMinute: 1_000_000, burst: 1_000_000 }));
  contact = (await gateway.ask(`/api/v1/contacts?website_id=${WEB}`, { token })).body.data.data[0].id;
});
afterAll(() => gateway.close());

const call = (method: string, params?: unknown, by = token): Promise<Answer> => rpc(gateway.port, by, method, params);
const stream = (method: string, params: unknown, by = token, port = gateway.port): Promise<OpenStream> =>
  openStream(port, by, method, params);
const inspect = (message: object = {}): ReturnType<typeof work> =>
  work('contact_inspection', { contact_id: contact }, message);
const sending = (params: unknown = inspect(), by = token, port = gateway.port): Promise<OpenStream> =>
  stream('SendStreamingMessage', params, by, port);
const until = (what: () => boolean): Promise<void> => expect.poll(what, { timeout: 5_000, interval: 5 }).toBe(true);
/** The kind and the state of each event. */
const course = ({ events }: OpenStream): string[] =>
  events.map(({ result, error }) => {
    if (error) return `error ${error.code}`;
    const [[kind, value]] = Object.entries<{ status?: { state: string } }>(result) as [
      [string, { status?: { state: string } }],
    ]; // an event has one member
    return `${kind} ${value.status?.state.replace('TASK_STATE_', '') ?? ''}`.trim();
  });

/** Runs `act` while no task can end, because no contact can be read. */
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

/** Another replica on the same store. */
async function replica(
  streamTimings: Partial<StreamTimings> = {},
  through: (surface: RequestHandler) => RequestHandler = (surface) => surface,
) {
  const skills = await loadSkills(gateway.corridor.registry);
  const { db } = gateway.database;
  const onError = (error: unknown): void => void gateway.log.push(`DEFECT ${error}`);
  const tasks: Tasks = openTasks({ db, corridor: gateway.corridor, onError });
  const server = await startServer({
    host: '127.0.0.1',
    baseUrl: BASE_URL,
    port: 0,
    tls: undefined,
    log: pino({ level: 'silent' }),
    handlers: [
      through(
        a2aSurface(gateway.corridor, {
          baseUrl: BASE_URL,
          tasks,
          skills,
          streams: new Streams(gateway.corridor, streamTimings),
        }),
      ),
    ],
    otherwise: (_, response) => response.writeHead(404).end(),
  });
  return { port: server.port, tasks, close: () => Promise.all([server.close(), tasks.stop()]) };
}

describe('SendStreamingMessage', () => {
  it('sends the task, then its artifact and its end, and closes', async () => {
    const open = await sending();
    expect(open.status).toBe(200);
    expect(open.headers).toMatchObject({
      'content-type': 'text/event-stream',
      'cache-control': 'no-store, no-transform',
      'x-accel-buffering': 'no',
      'x-content-type-options': 'nosniff',
      ratelimit: expect.any(String),
    });
    expect(await open.ended).toBe(true);
    const steps = course(open).filter((one) => one !== 'statusUpdate WORKING');
    expect(steps).toEqual(['task SUBMITTED', 'artifactUpdate', 'statusUpdate COMPLETED']);
    for (const event of open.events) expect(event).toMatchObject({ jsonrpc: '2.0', id: 7 });
    const { task } = open.events[0].result;
    const [{ artifactUpdate }, { statusUpdate }] = open.events.slice(-2).map(({ result }) => result);
    const whole = (await call('GetTask', { id: task.id })).body.result;
    expect(artifactUpdate).toEqual({
      taskId: task.id,
      contextId: task.contextId,
      artifact: whole.artifacts[0],
      lastChunk: true,
    });
    expect(statusUpdate).toEqual({
      taskId: task.id,
      contextId: task.contextId,
      status: whole.status,
      metadata: whole.metadata,
    });
  });

  it('tells a failure, and that a text asks for a skill, and then closes', async () => {
    const failed = await sending(work('contact_inspection', { contact_id: 'ctc_1_1_999999' }));
    await failed.ended;
    expect(course(failed).at(-1)).toBe('statusUpdate FAILED');
    expect(failed.events.at(-1).result.statusUpdate.status.message.parts[0].data.code).toBe('not_found');
    const asked = await sending({ message: { messageId: messageId(), role: 'ROLE_USER', parts: [{ text: 'Who?' }] } });
    expect(await asked.ended).toBe(true);
    expect(course(asked)).toEqual(['task INPUT_REQUIRED']);
    const { id } = asked.events[0].result.task;
    const again = await stream('SubscribeToTask', { id });
    await again.ended;
    expect(again.events[0].result).toEqual(asked.events[0].result);
    expect(course(again)).toEqual(['task INPUT_REQUIRED']);
    const answered = await sending(inspect({ taskId: id }));
    await answered.ended;
    expect(course(answered).at(-1)).toBe('statusUpdate COMPLETED');
    expect(answered.events[0].result.task.id).toBe(id);
  });

  it('answers the same message with the same task, and whoever takes only text/plain with a text', async () => {
    const params = { ...inspect(), configuration: { acceptedOutputModes: ['text/plain'] } };
    const [first, second] = [await sending(params), await sending(params)];
    await Promise.all([first.ended, second.ended]);
    expect(second.events[0].result.task.id).toBe(first.events[0].result.task.id);
    const { parts } = first.events.at(-2).result.artifactUpdate.artifact;
    expect(JSON.parse(parts[0].text).data.contact.id).toBe(contact);
    const ended = await sending(params);
    await ended.ended;
    expect(course(ended)).toEqual(['task COMPLETED']);
  });

  it('refuses before the first event as SendMessage does', async () => {
    const cases: readonly (readonly [code: number, params: unknown])[] = [
      [-32_602, {}],
      [-32_602, work('nothing', {})],
      [-32_602, work('contact_inspection', {})],
      [-32_005, { message: { messageId: messageId(), role: 'ROLE_USER', parts: [{ raw: 'AAAA' }] } }],
      [-32_001, inspect({ taskId: 'task_0123456789abcdef0123456789abcdef' })],
    ];
    for (const [code, params] of cases) {
      const open = await sending(params);
      await open.ended;
      expect([open.status, open.headers['content-type']], open.text()).toEqual([200, 'application/json']);
      expect(JSON.parse(open.text()).error.code).toBe(code);
    }
    const poor = await gateway.issue({ scopes: ['config_read'], dataAccess: [] });
    expect((await sending(inspect(), poor.token)).status).toBe(404);
    expect((await sending(inspect(), 'igw_test_x')).status).toBe(401);
  });

  it('gives its first event within 50 ms of the acceptance of its task', async () => {
    // A message that returns at once tells how long an acceptance takes, also on a loaded machine.
    const timed = async (what: () => Promise<unknown>): Promise<number> => {
      const began = performance.now();
      await what();
      return performance.now() - began;
    };
    const [accepted, first]: [number[], number[]] = [[], []];
    for (let i = 0; i < 20; i++) {
      const now = { ...inspect(), configuration: { returnImmediately: true } };
      accepted.push(await timed(() => call('SendMessage', now)));
      let open: OpenStream | undefined;
      first.push(
        await timed(async () => {
          open = await sending();
          await until(() => (open?.events.length ?? 0) > 0);
        }),
      );
      await open?.ended;
    }
    const middle = (times: number[]): number => times.sort((a, b) => a - b)[10] ?? 0;
    expect(middle(first) - middle(accepted), `${accepted} ${first}`).toBeLessThan(50);
  });
});

describe('SubscribeToTask', () => {
  it('follows a task that works, at any replica, from its state of now to its end', async () => {
    const other = await replica();
    const open = await whileContactsWait(async () => {
      const first = await sending();
      await until(() => first.events.length > 0);
      const { id } = first.events[0].result.task;
      const [here, there] = [
        await stream('SubscribeToTask', { id }),
        await stream('SubscribeToTask', { id }, token, other.port),
      ];
      await until(() => here.events.length > 0 && there.events.length > 0);
      expect([course(here)[0], course(there)[0]]).not.toContain('task COMPLETED');
      await until(() => course(first).includes('statusUpdate WORKING'));
      return [first, here, there];
    });
    for (const one of open) {
      expect(await one.ended).toBe(true);
      expect(course(one).slice(-2)).toEqual(['artifactUpdate', 'statusUpdate COMPLETED']);
    }
    await other.close();
  });

  it('is logged with its task, also when it is refused', async () => {
    const issued = await gateway.issue();
    const { id } = (await call('SendMessage', inspect(), issued.token)).body.result.task;
    const refused = 'task_0123456789abcdef0123456789abcdef';
    await call('SubscribeToTask', { id }, issued.token);
    await call('SubscribeToTask', { id: refused }, issued.token);
    await call('SubscribeToTask', { id: 'words of a caller' }, issued.token);
    const open = await whileContactsWait(async () => {
      const now = { ...inspect(), configuration: { returnImmediately: true } };
      const working = (await call('SendMessage', now, issued.token)).body.result.task;
      const one = await stream('SubscribeToTask', { id: working.id }, issued.token);
      await until(() => one.events.length > 0);
      return { one, id: working.id };
    });
    await open.one.ended;
    const lines = (): { task?: string; code?: string }[] =>
      gateway.log
        .filter((line) => line.includes(issued.credential) && line.includes('task_subscribe'))
        .map((line) => JSON.parse(line));
    await expect.poll(() => lines().length).toBe(4);
    expect(lines().map(({ task, code }) => [task, code])).toEqual([
      [id, '-32004'],
      [refused, '-32001'],
      [undefined, '-32001'],
      [open.id, undefined],
    ]);
  });

  it('ends when the task is canceled', async () => {
    await whileContactsWait(async () => {
      const open = await sending();
      await until(() => open.events.length > 0);
      await call('CancelTask', { id: open.events[0].result.task.id });
      expect(await open.ended).toBe(true);
      expect(course(open).at(-1)).toBe('statusUpdate CANCELED');
    });
  });

  it('is -32004 for a task that has ended, and -32001 for a foreign or unknown one', async () => {
    const { id } = (await call('SendMessage', inspect())).body.result.task;
    const { token: stranger } = await gateway.issue();
    const [ended, foreign, never] = await Promise.all([
      call('SubscribeToTask', { id }),
      call('SubscribeToTask', { id }, stranger),
      call('SubscribeToTask', { id: 'task_0123456789abcdef0123456789abcdef' }, stranger),
    ]);
    expect(ended.body.error.code).toBe(-32_004);
    expect(never.body.error.code).toBe(-32_001);
    expect(foreign.text).toBe(never.text);
    expect((await call('SubscribeToTask', {})).body.error.code).toBe(-32_602);
  });
});

describe('while a stream lasts', () => {
  it.each([
    ['token', 'token_revoked'],
    ['credential', 'token_revoked'],
  ])('its authority is checked again: a revoked %s ends it within 2 s', async (what, code) => {
    const { sql } = gateway.database;
    const issued = await gateway.issue();
    await whileContactsWait(async () => {
      const open = await sending(inspect(), issued.token);
      await until(() => open.events.length > 0);
      await pause(1_200);
      expect(course(open).at(-1)).not.toMatch(/error/);
      const began = performance.now();
      if (what === 'token')
        await sql`UPDATE gateway.token SET revoked_at = now() WHERE credential_id = ${issued.credential}`;
      else await sql`UPDATE gateway.credential SET revoked_at = now() WHERE id = ${issued.credential}`;
      expect(await open.ended).toBe(true);
      expect(performance.now() - began).toBeLessThan(2_000);
      expect(open.events.at(-1)).toEqual({
        jsonrpc: '2.0',
        id: 7,
        error: {
          code: -32_000,
          message: expect.any(String),
          data: [
            {
              '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
              reason: 'AUTHORITY_LAPSED',
              domain: 'a2a-protocol.org',
              metadata: {},
            },
          ],
        },
      });
    });
    await expect.poll(() => gateway.log.filter((line) => line.includes(code)).length).toBeGreaterThan(0);
  });

  it('no event follows a lapsed authority, also when the task ends first', async () => {
    const { sql } = gateway.database;
    const issued = await gateway.issue();
    const open = await whileContactsWait(async () => {
      const one = await sending(inspect(), issued.token);
      await until(() => one.events.length > 0);
      await sql`UPDATE gateway.token SET revoked_at = now() WHERE credential_id = ${issued.credential}`;
      return one;
    });
    await open.ended;
    expect(course(open).at(-1)).toBe('error -32000');
    expect(open.text()).not.toContain('artifactUpdate');
  });

  it('comments keep it awake', async () => {
    const other = await replica({ check: 20, comment: 100 });
    await whileContactsWait(async () => {
      const open = await sending(inspect(), token, other.port);
      await pause(600);
      expect(open.comments()).toBeGreaterThan(2);
      expect(open.comments()).toBeLessThan(10);
      open.close();
    });
    await other.close();
  });

  it('a stop ends it in order, and SubscribeToTask at another replica goes on', async () => {
    const stopping = await replica();
    const issued = await gateway.issue();
    await whileContactsWait(async () => {
      const { id } = (
        await call('SendMessage', { ...inspect(), configuration: { returnImmediately: true } }, issued.token)
      ).body.result.task;
      const open = await stream('SubscribeToTask', { id }, issued.token, stopping.port);
      await until(() => open.events.length > 0);
      const began = performance.now();
      await stopping.close();
      expect(performance.now() - began).toBeLessThan(5_000);
      expect(await open.ended).toBe(true);
      const next = await stream('SubscribeToTask', { id }, issued.token);
      await until(() => next.events.length > 0);
      expect(next.events[0].result.task.id).toBe(id);
      next.close();
    });
  });
});

describe('bounds of streams', () => {
  const left = (): number => gateway.streams();

  it('twenty for a credential, and one more is 429 until one is closed', async () => {
    const issued = await gateway.issue({ perMinute: 10_000, burst: 10_000 });
    await whileContactsWait(async () => {
      const { id } = (
        await call('SendMessage', { ...inspect(), configuration: { returnImmediately: true } }, issued.token)
      ).body.result.task;
      const subscribe = (): Promise<OpenStream> => stream('SubscribeToTask', { id }, issued.token);
      const open = await Promise.all(Array.from({ length: 20 }, subscribe));
      expect(open.map(({ status }) => status)).toEqual(Array(20).fill(200));
      const refused = await subscribe();
      await refused.ended;
      expect([refused.status, JSON.parse(refused.text()).code]).toEqual([429, 'stream_limit']);
      expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
      const other = await sending();
      expect(other.status).toBe(200);
      other.close();
      open[0]?.close();
      await expect.poll(async () => (await subscribe()).status).toBe(200);
      for (const one of open) one.close();
    });
    await expect.poll(left).toBe(0);
  });

  it('a client that leaves right after its last byte frees its place while the task works', async () => {
    // The connection ends before the gateway goes on with the complete body.
    const other = await replica({}, (surface) => (request, response, context) => {
      request.once('end', () => response.emit('close'));
      return surface(request, response, context);
    });
    await whileContactsWait(async () => {
      const now = { ...inspect(), configuration: { returnImmediately: true } };
      const { id } = (await call('SendMessage', now)).body.result.task;
      for (let i = 0; i < 25; i++) {
        const open = await stream('SubscribeToTask', { id }, token, other.port);
        expect(open.status).toBe(200);
        await open.ended;
      }
      expect(other.tasks.followed).toBe(0);
    });
    await other.close();
  });

  it('opened and dropped many times: the books agree, and memory stays flat', async () => {
    const issued = await gateway.issue({ perMinute: 1_000_000, burst: 1_000_000 });
    await whileContactsWait(async () => {
      const { id } = (
        await call('SendMessage', { ...inspect(), configuration: { returnImmediately: true } }, issued.token)
      ).body.result.task;
      const drop = async (n: number): Promise<void> => {
        for (let i = 0; i < n; i += 10)
          await Promise.all(
            Array.from({ length: 10 }, async () => {
              const open = await stream('SubscribeToTask', { id }, issued.token);
              // The place of a dropped stream can still be taken when the next one comes.
              expect([200, 429]).toContain(open.status);
              open.close();
            }),
          );
      };
      await drop(300);
      gc();
      const before = process.memoryUsage().heapUsed;
      await drop(1_500);
      await expect.poll(left).toBe(0);
      gc();
      expect(process.memoryUsage().heapUsed - before).toBeLessThan(10e6);
      const open = await Promise.all(Array.from({ length: 20 }, () => stream('SubscribeToTask', { id }, issued.token)));
      expect(open.map(({ status }) => status)).toEqual(Array(20).fill(200));
      for (const one of open) one.close();
    });
    await expect.poll(left).toBe(0);
  });
});

describe('a reader that takes nothing', () => {
  it('keeps its place no longer than its task works', async () => {
    const issued = await gateway.issue();
    const open = await whileContactsWait(async () => {
      const { id } = (
        await call('SendMessage', { ...inspect(), configuration: { returnImmediately: true } }, issued.token)
      ).body.result.task;
      const readers = await Promise.all(
        Array.from({ length: 20 }, async () => {
          const one = await stream('SubscribeToTask', { id }, issued.token);
          one.pause();
          return one;
        }),
      );
      expect(gateway.streams()).toBe(20);
      return readers;
    });
    await expect.poll(() => gateway.streams()).toBe(0);
    expect((await sending(inspect(), issued.token)).status).toBe(200);
    for (const one of open) one.close();
  });

  it('is cut after its time, and gets no comments meanwhile', async () => {
    const streams = new Streams(gateway.corridor, { check: 10, comment: 0, unread: 200 });
    // A socket that never takes a byte.
    const socket = Object.assign(new Socket(), { _write: () => undefined, _writev: () => undefined });
    const response = new ServerResponse(new IncomingMessage(socket));
    response.assignSocket(socket);
    const gone = new AbortController();
    response.once('close', () => gone.abort());
    const stream = streams.enter(
      { credentialId: 'crd_test', appId: 'app_test' },
      { bearer: token, from: undefined },
      gone,
    );
    stream.begin(response.req, response, {});
    const began = performance.now();
    await stream.write('x'.repeat(200_000));
    expect(response.destroyed).toBe(true);
    expect(performance.now() - began).toBeGreaterThan(190);
    expect(performance.now() - began).toBeLessThan(1_000);
    expect(response.writableLength).toBeLessThan(201_000);
    stream.close();
  });
});

describe('the client of the SDK', () => {
  it('streams a message and subscribes', async () => {
    const skills = await loadSkills(gateway.corridor.registry);
    const own = agentCard({ skills, baseUrl: `http://127.0.0.1:${gateway.port}` });
    const fetchImpl: typeof fetch = (url, init) => {
      const headers = new Headers(init?.headers);
      headers.set('authorization', `Bearer ${token}`);
      return fetch(url, { ...init, headers });
    };
    const { AgentCard, SendMessageRequest } = await import('@a2a-js/sdk');
    const { JsonRpcTransportFactory } = await import('@a2a-js/sdk/client');
    const client = await new ClientFactory({
      transports: [new JsonRpcTransportFactory({ fetchImpl })],
    }).createFromAgentCard(AgentCard.fromJSON(own));
    const kinds: string[] = [];
    for await (const { payload } of client.sendMessageStream(SendMessageRequest.fromJSON(inspect())))
      kinds.push(payload?.$case ?? 'none');
    expect(kinds.filter((one, i) => kinds.indexOf(one) === i)).toEqual(
      expect.arrayContaining(['task', 'artifactUpdate', 'statusUpdate']),
    );
    const steps: string[] = [];
    await whileContactsWait(async () => {
      const { id } = (await call('SendMessage', { ...inspect(), configuration: { returnImmediately: true } })).body
        .result.task;
      for await (const { payload } of client.resubscribeTask({ tenant: '', id })) {
        steps.push(payload?.$case ?? 'none');
        if (steps.length === 1) await call('CancelTask', { id });
      }
    });
    expect(steps[0]).toBe('task');
    expect(steps.at(-1)).toBe('statusUpdate');
  });
});
