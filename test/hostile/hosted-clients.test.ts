import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { WELL_KNOWN } from '../../src/auth/oauth/hosted/well-known.ts';
import { freshDatabase, type TestDatabase } from '../support/database.ts';
import { openTestGateway, type TestGateway } from '../support/gateway.ts';
import { KEYS } from '../support/keys.ts';
import {
  type DocumentServer,
  documentOf,
  hostedOptions,
  hostedRequest,
  openDocuments,
} from '../support/oauth/hosted.ts';
import { doorFrom, formOf, pkce } from '../support/oauth/oauth.ts';

let database: TestDatabase;
let documents: DocumentServer;
let gateway: TestGateway;
/** Milliseconds by which the test has moved the clock of the process. */
let moved = 0;

beforeAll(async () => {
  documents = await openDocuments();
  database = await freshDatabase('demo');
});
afterAll(async () => {
  await database.close();
  await documents.close();
});
// The limits are kept in memory, so each test starts a new gateway.
beforeEach(async () => {
  const clock = performance.now.bind(performance);
  moved = 0;
  vi.spyOn(performance, 'now').mockImplementation(() => clock() + moved);
  const served = hostedOptions(documents, ['127.0.0.1', 'claude.ai', 'chatgpt.com', 'vscode.dev']);
  gateway = await openTestGateway(
    'demo',
    { ...database, close: async () => undefined },
    KEYS,
    {},
    {
      ...served,
      fetch: async (url) =>
        WELL_KNOWN.has(url)
          ? { json: documentOf(url), maxAge: 0 }
          : url.includes('//127.')
            ? served.fetch(url)
            : 'gone',
    },
  );
});
afterEach(async () => {
  vi.restoreAllMocks();
  await gateway.close();
});

const visit = async (client: string, from = '127.0.0.1'): Promise<number> => {
  const query = formOf(hostedRequest(client, pkce()));
  return (await doorFrom(gateway.port, from).ask(`/oauth/authorize?${query}`, {})).status;
};

/** Serves a document whose answer the test can change. */
const changing = (): { url: string; answer: (response: ServerResponse) => void } => {
  const path = `/${randomUUID()}.json`;
  const served = {
    url: `${documents.origin}${path}`,
    answer: (response: ServerResponse): void => {
      response.writeHead(200, { 'content-type': 'application/json', 'cache-control': 'max-age=0' });
      response.end(JSON.stringify(documentOf(served.url)));
    },
  };
  documents.serve(path, (_request: unknown, response: ServerResponse) => served.answer(response));
  return served;
};

describe('URLs that a stranger makes up', () => {
  it('neither push out valid documents nor use up their limit, and well-known clients are always reachable', async () => {
    const [brief, slow] = [changing().url, documents.serve(`/${randomUUID()}.json`)];
    expect([await visit(brief), await visit(slow)]).toEqual([200, 200]);
    const statuses = new Map<number, number>();
    for (let at = 0; at < 1_400; at++) {
      // The limit of the process has refilled after half a minute.
      if (at % 350 === 0) moved += 30_000;
      const status = await visit(`https://claude.ai/x?${at}`, `127.0.1.${at % 50}`);
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
    }
    expect(statuses.get(400), 'failures that are kept').toBeGreaterThan(1_000);
    expect(statuses.get(503), 'refused without a request').toBeGreaterThan(0);
    expect(await visit('https://claude.ai/x?new'), 'the limit is used up').toBe(503);
    const asked = documents.asked.length;
    expect([await visit(slow), documents.asked.length]).toEqual([200, asked]);
    expect([await visit(brief), documents.asked.length]).toEqual([200, asked + 1]);
    for (const url of WELL_KNOWN) expect(await visit(url, '127.0.1.1'), url).toBe(200);
  }, 60_000);

  it('99 of one address leave its well-known and its valid clients alone', async () => {
    const { url } = changing();
    expect(await visit(url, '127.0.2.1')).toBe(200);
    for (let at = 0; at < 110; at++) await visit(`https://claude.ai/y?${at}`, '127.0.2.1');
    expect(await visit('https://claude.ai/y?new', '127.0.2.1')).toBe(503);
    expect(await visit(url, '127.0.2.1')).toBe(200);
    for (const known of WELL_KNOWN) expect(await visit(known, '127.0.2.1'), known).toBe(200);
  }, 60_000);

  it('of more than 1,000 valid documents, the gateway forgets the one that was not used for the longest time', async () => {
    const url = documents.serve(`/${randomUUID()}.json`);
    const visits = async (from: number, to: number): Promise<void> => {
      for (let at = from; at < to; at++) {
        if (at % 250 === 0) moved += 30_000;
        expect(await visit(documents.serve(`/${randomUUID()}/${at}`), `127.0.3.${at % 200}`)).toBe(200);
      }
    };
    expect(await visit(url)).toBe(200);
    await visits(0, 600);
    expect(await visit(url)).toBe(200);
    await visits(600, 1_200);
    for (let at = 0; at < 350; at++) await visit(`https://claude.ai/z?${at}`, `127.0.4.${at % 50}`);
    expect(await visit('https://claude.ai/z?new'), 'the limit is used up').toBe(503);
    expect(await visit(url), 'still held, because its use moved it').toBe(200);
  }, 60_000);
});

describe('a document that cannot be fetched', () => {
  it('is replaced by its last valid form for a day, but not after a refusal of its server', async () => {
    const minute = (): void => {
      moved += 61_000;
    };
    for (const broken of [
      (response: ServerResponse): void => void response.writeHead(500).end(),
      (response: ServerResponse): void => void response.socket?.destroy(),
      (response: ServerResponse): void => void response.writeHead(302, { location: '/' }).end(),
      (response: ServerResponse): void => void response.writeHead(200, { 'content-type': 'text/html' }).end('<p>'),
    ]) {
      const served = changing();
      expect(await visit(served.url)).toBe(200);
      served.answer = broken;
      expect(await visit(served.url), String(broken)).toBe(200);
      const asked = documents.asked.length;
      expect(await visit(served.url)).toBe(200);
      expect(documents.asked.length, 'the failure is kept for a minute').toBe(asked);
      minute();
      expect(await visit(served.url)).toBe(200);
      expect(documents.asked.length).toBe(asked + 1);
      moved += 86_400_000;
      expect(await visit(served.url), 'after a day').toBe(400);
    }
    const json = { 'content-type': 'application/json' };
    for (const refusal of [
      (response: ServerResponse): void => void response.writeHead(404).end(),
      (response: ServerResponse): void => void response.writeHead(410).end(),
      (response: ServerResponse): void =>
        void response.writeHead(200, json).end(JSON.stringify(documentOf('https://claude.ai/other'))),
      (response: ServerResponse): void => void response.writeHead(200, json).end('{}'),
    ]) {
      const served = changing();
      expect(await visit(served.url)).toBe(200);
      served.answer = refusal;
      expect(await visit(served.url), String(refusal)).toBe(400);
      served.answer = (response) => void response.writeHead(500).end();
      minute();
      expect(await visit(served.url), 'the earlier document is forgotten').toBe(400);
    }
  }, 60_000);
});
