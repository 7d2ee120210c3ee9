import { randomBytes, randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { WELL_KNOWN } from '../../src/auth/oauth/clients/well-known.ts';
import { digestOf, newSecret } from '../../src/auth/tokens.ts';
import { upkeep } from '../../src/gateway/upkeep.ts';
import type { Database } from '../../src/store/driver/postgres.ts';
import { endStrangeHosts } from '../../src/store/sign-in/upkeep.ts';
import type { Answer } from '../support/answer.ts';
import { freshDatabase, type TestDatabase } from '../support/database.ts';
import { openTestGateway, type TestGateway } from '../support/gateway.ts';
import { KEYS } from '../support/keys.ts';
import { because } from '../support/oauth/ends.ts';
import {
  connect,
  type DocumentServer,
  documentOf,
  type HostedFamily,
  hostedOptions,
  hostedRequest,
  openDocuments,
  refreshHosted,
} from '../support/oauth/hosted.ts';
import { doorFrom, expectRefused, formOf, newPerson, pkce, post, RESOURCE } from '../support/oauth/oauth.ts';
import { rpc } from '../support/surfaces/mcp.ts';

let database: TestDatabase;
let documents: DocumentServer;
let gateway: TestGateway;
/** Milliseconds by which the test has moved the clock of the process. */
let moved = 0;
/** The statements for codes and tokens of hosted clients: in all, now running, and the most that ran at once. */
let statements = { all: 0, running: 0, most: 0 };
/** Milliseconds by which the test delays each of these statements. */
let slow = 0;

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
  slow = 0;
  statements = { all: 0, running: 0, most: 0 };
  vi.spyOn(performance, 'now').mockImplementation(() => clock() + moved);
  const served = hostedOptions(documents, ['127.0.0.1', 'claude.ai', 'chatgpt.com', 'vscode.dev']);
  const query: Database['query'] = async (statement) => {
    if (!/_hosted\(|hosted_client/.test(JSON.stringify(statement))) return database.db.query(statement);
    statements.all++;
    statements.most = Math.max(statements.most, ++statements.running);
    if (slow > 0) await pause(slow);
    return database.db.query<never>(statement).finally(() => statements.running--);
  };
  gateway = await openTestGateway(
    'demo',
    { ...database, close: async () => undefined, db: { ...database.db, query } },
    KEYS,
    {},
    {
      ...served,
      fetch: async (url) =>
        WELL_KNOWN.has(url)
          ? { json: documentOf(url), maxAge: 0 }
          : url.includes('//127.')
            ? served.fetch(url)
            : { broken: 'gone' },
    },
  );
});
/** Stops the clock of the process. */
function stopClock(): void {
  const at = performance.now();
  vi.spyOn(performance, 'now').mockImplementation(() => at);
}
afterEach(async () => {
  vi.restoreAllMocks();
  await gateway.close();
});

const visit = async (client: string, from = '127.0.0.1'): Promise<number> => {
  const query = formOf(hostedRequest(client, pkce()));
  return (await doorFrom(gateway.port, from).ask(`/oauth/authorize?${query}`, {})).status;
};

/** Asks for documents until the limit of the process is used up. It refills while the test runs. */
async function useUp(url: string): Promise<void> {
  for (let at = 0; (await visit(`${url}?more=${at}`, `127.0.4.${at % 50}`)) !== 503; at++)
    expect(at, 'requests within the limit').toBeLessThan(2_000);
}

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
    await useUp('https://claude.ai/x');
    const asked = documents.asked.length;
    expect([await visit(slow), documents.asked.length]).toEqual([200, asked]);
    expect([await visit(brief), documents.asked.length]).toEqual([200, asked + 1]);
    for (const url of WELL_KNOWN) expect(await visit(url, '127.0.1.1'), url).toBe(200);
  });

  it('99 of one address leave its well-known and its valid clients alone', async () => {
    const { url } = changing();
    expect(await visit(url, '127.0.2.1')).toBe(200);
    for (let at = 0; at < 110; at++) await visit(`https://claude.ai/y?${at}`, '127.0.2.1');
    expect(await visit('https://claude.ai/y?new', '127.0.2.1')).toBe(503);
    expect(await visit(url, '127.0.2.1')).toBe(200);
    for (const known of WELL_KNOWN) expect(await visit(known, '127.0.2.1'), known).toBe(200);
  });

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
    await useUp('https://claude.ai/z');
    expect(await visit(url), 'still held, because its use moved it').toBe(200);
  });
});

describe('a document that cannot be fetched', () => {
  it('is replaced by its last valid form for a day, but not after a refusal of its server', async () => {
    const minute = (): void => {
      moved += 61_000;
    };
    for (const [late, broken] of [
      [503, (response: ServerResponse): void => void response.writeHead(500).end()],
      [503, (response: ServerResponse): void => void response.socket?.destroy()],
      [400, (response: ServerResponse): void => void response.writeHead(302, { location: '/' }).end()],
      [
        400,
        (response: ServerResponse): void => void response.writeHead(200, { 'content-type': 'text/html' }).end('<p>'),
      ],
    ] as const) {
      const served = changing();
      expect(await visit(served.url)).toBe(200);
      served.answer = broken;
      expect(await visit(served.url), String(broken)).toBe(200);
      const asked = documents.asked.length;
      expect(await visit(served.url)).toBe(200);
      expect(documents.asked.length, 'the failure is kept for a moment').toBe(asked);
      minute();
      expect(await visit(served.url)).toBe(200);
      expect(documents.asked.length).toBe(asked + 1);
      moved += 86_400_000;
      expect(await visit(served.url), 'after a day').toBe(late);
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
      expect(await visit(served.url), 'the earlier document is forgotten').toBe(503);
    }
  });
});

const family = async (): Promise<HostedFamily> =>
  connect(gateway, documents.serve(`/${randomUUID()}.json`), (await newPerson(gateway)).email);

/** Refreshes with a token that nobody has issued. */
const guess = (from = '127.0.0.1'): Promise<Answer> =>
  post(doorFrom(gateway.port, from), '/oauth/token', {
    grant_type: 'refresh_token',
    client_id: 'https://claude.ai/oauth/mcp-oauth-client-metadata',
    refresh_token: newSecret('refresh_live'),
    resource: RESOURCE.mcp,
  });

const consentOf = async ({ refresh }: HostedFamily): Promise<string> => {
  const [row] = await database.sql<{ id: string }[]>`
    SELECT consent_id AS id FROM gateway.refresh_token WHERE digest = ${digestOf(refresh)}`;
  return row?.id ?? expect.fail('no consent');
};

describe('tokens that are not valid', () => {
  it('stop no valid refresh of their address, neither after 500 nor during a flood', async () => {
    let mine = await family();
    for (let at = 0; at < 500; at++) expectRefused(await guess(), 'invalid_grant', String(at));
    const refresh = async (): Promise<void> => {
      const answer = await refreshHosted(gateway, mine);
      expect(answer.status, answer.text).toBe(200);
      mine = { ...mine, refresh: answer.body.refresh_token };
    };
    await refresh();
    let flooding = true;
    const flood = Array.from({ length: 20 }, async () => {
      while (flooding) expectRefused(await guess(), 'invalid_grant', 'flood');
    });
    for (let at = 0; at < 20; at++) await refresh();
    flooding = false;
    await Promise.all(flood);
  });

  it('of flooded addresses cost one statement at a time, and the addresses take turns', async () => {
    const mine = await family();
    // Each address gets one failure back in each second of the clock, and such a failure does not wait for its turn.
    stopClock();
    for (let at = 0; at < 70; at++) await guess('127.0.5.1');
    for (let at = 0; at < 70; at++) await guess();
    slow = 20;
    statements = { all: 0, running: 0, most: 0 };
    const answers = Array.from({ length: 300 }, () => guess('127.0.5.1'));
    await pause(100);
    const began = Date.now();
    expect((await refreshHosted(gateway, mine)).status, 'another flooded address').toBe(200);
    expect(Date.now() - began, 'did not wait for the whole line').toBeLessThan(2_000);
    const codes = (await Promise.all(answers)).map(({ body }) => body.error);
    expect(statements.most).toBe(1);
    expect(codes.filter((code) => code === 'slow_down').length, 'more than can wait').toBeGreaterThan(50);
    expect(new Set(codes)).toEqual(new Set(['slow_down', 'invalid_grant']));
    expect(statements.all).toBe(1 + codes.filter((code) => code === 'invalid_grant').length);
  });

  it('at /oauth/revoke count as failures, are no audited revocation, and stop no real revocation', async () => {
    const mine = await family();
    const revoke = (token: string): Promise<Answer> =>
      post(gateway, '/oauth/revoke', { token, client_id: mine.client });
    const statuses: number[] = [];
    for (let at = 0; at < 80; at++)
      statuses.push((await revoke(at % 2 === 0 ? newSecret('access_live') : 'malformed')).status);
    expect(statuses.slice(0, 60)).toEqual(Array(60).fill(200));
    expect(statuses.slice(60).filter((status) => status === 429).length).toBeGreaterThan(10);
    expectRefused(await revoke(newSecret('access_live')), 'slow_down', 'the address has failed too often');
    expect((await revoke(mine.refresh)).status).toBe(200);
    expect((await rpc(gateway.port, mine.access, 'tools/list')).status).toBe(401);
    const lines = gateway.log
      .map((line): Record<string, unknown> => JSON.parse(line))
      .filter((line) => line['operation'] === 'oauth_revoke' && line['decision'] === 'allowed');
    expect(lines).toEqual([expect.objectContaining({ audit: 'revocation', ended: 'consent' })]);
  });
});

describe('refresh tokens of one consent', () => {
  /** Moves the refresh tokens of a consent into the past. */
  const pass = (consent: string, seconds: number): Promise<unknown> =>
    database.sql`UPDATE gateway.refresh_token SET created_at = created_at - make_interval(secs => ${seconds})
      WHERE consent_id = ${consent}`;
  const rowsOf = async (consent: string): Promise<number> =>
    (await database.sql`SELECT FROM gateway.refresh_token WHERE consent_id = ${consent}`).length;
  const tidy = (): Promise<number> => upkeep({ db: database.db, registry: gateway.corridor.registry });

  it('are sixty an hour, a repeated refresh does not count, and a replaced token ends the consent at any rate', async () => {
    let mine = await family();
    const consent = await consentOf(mine);
    const first = mine;
    for (let at = 1; at < 60; at++) {
      if (at % 20 === 0) await pass(consent, 120);
      const answer = await refreshHosted(gateway, mine);
      expect(answer.status, answer.text).toBe(200);
      for (let repeated = 0; repeated < 2; repeated++)
        expect((await refreshHosted(gateway, mine)).text).toBe(answer.text);
      mine = { ...mine, refresh: answer.body.refresh_token };
    }
    const refused = await refreshHosted(gateway, mine);
    expect([refused.status, refused.body.error]).toEqual([429, 'too_many_tokens']);
    const wait = Number(refused.headers['retry-after']);
    expect(wait).toBeGreaterThan(3_000);
    expect(wait).toBeLessThanOrEqual(3_600);
    await pass(consent, wait);
    const again = await refreshHosted(gateway, mine);
    expect(again.status, again.text).toBe(200);
    await pass(consent, -wait);
    expectRefused(await refreshHosted(gateway, first), 'invalid_grant', 'replaced long ago');
    expect(await because(gateway, consent)).toBe('refresh_reused');
  });

  it('stay while the consent lives, and go in batches when it is revoked, or an hour after it has expired', async () => {
    const [living, ended, expired] = [await family(), await family(), await family()];
    const consents = await Promise.all([living, ended, expired].map(consentOf));
    const [alive = '', dead = '', late = ''] = consents;
    for (const consent of consents)
      await database.sql`
        INSERT INTO gateway.refresh_token (digest, consent_id, used_at, expires_at, created_at)
        SELECT sha256(convert_to(${consent} || n, 'UTF8')), ${consent}, now(), now() + interval '1 day',
               now() - interval '1 day'
          FROM generate_series(1, 1200) AS n`;
    await database.sql`UPDATE gateway.consent SET revoked_at = now(), revoked_because = 'client' WHERE id = ${dead}`;
    await database.sql`UPDATE gateway.consent SET expires_at = now() - interval '59 minutes' WHERE id = ${late}`;
    await tidy();
    expect([await rowsOf(alive), await rowsOf(dead), await rowsOf(late)]).toEqual([1_201, 0, 1_201]);
    await database.sql`UPDATE gateway.consent SET expires_at = now() - interval '61 minutes' WHERE id = ${late}`;
    await tidy();
    expect([await rowsOf(alive), await rowsOf(late)]).toEqual([1_201, 0]);
    await tidy();
    const purged = await database.sql`SELECT purged FROM gateway.consent WHERE id = ANY (${consents}) ORDER BY purged`;
    expect(purged.map((row) => row['purged'])).toEqual([false, true, true]);
    expectRefused(await refreshHosted(gateway, ended), 'invalid_grant', 'purged');
    expect((await refreshHosted(gateway, living)).status).toBe(200);
  });
});

describe('a host that is taken off the list', () => {
  it('ends its consents in batches, also when two replicas start at once', async () => {
    const mine = await family();
    const consent = await consentOf(mine);
    await database.sql`
      INSERT INTO gateway.consent (id, credential_id, person_id, request, audience, scopes, sites, renewable, idle,
                                   code_digest, code_challenge, code_expires_at, redirect_uri, expires_at)
      SELECT 'cns_' || md5(n || ${randomBytes(4).toString('hex')}), credential_id, person_id,
             sha256(convert_to(${consent} || n, 'UTF8')), audience, scopes, sites, renewable, idle,
             sha256(convert_to(n || ${consent}, 'UTF8')), code_challenge, code_expires_at, redirect_uri, expires_at
        FROM gateway.consent, generate_series(1, 1200) AS n WHERE id = ${consent}`;
    const sizes: number[] = [];
    const query: Database['query'] = async (statement) => {
      const rows = await database.db.query<{ ended: number }>(statement);
      sizes.push(rows[0]?.ended ?? 0);
      return rows as never; // the cast is sound, because the rows are those of the statement
    };
    const db = { ...database.db, query };
    const left = async (): Promise<number> =>
      (
        await database.sql`SELECT FROM gateway.consent WHERE revoked_at IS NULL AND credential_id =
        (SELECT credential_id FROM gateway.consent WHERE id = ${consent})`
      ).length;
    const ended = await Promise.all(
      [1, 2].map(async () => {
        const total = await endStrangeHosts(db, ['claude.ai']);
        expect(await left(), 'each replica waits for all').toBe(0);
        return total;
      }),
    );
    expect((ended[0] ?? 0) + (ended[1] ?? 0)).toBeGreaterThanOrEqual(1_201);
    expect(Math.max(...sizes)).toBe(500);
    expect((await rpc(gateway.port, mine.access, 'tools/list')).status).toBe(401);
  });
});
