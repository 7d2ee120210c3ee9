import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Corridor } from '../../../src/gateway/call.ts';
import { openGateway } from '../../../src/gateway/open.ts';
import { startUpkeep, upkeep } from '../../../src/gateway/upkeep.ts';
import { type Database, openDatabase } from '../../../src/store/driver/postgres.ts';
import { type Issued, issue } from '../../support/credentials.ts';
import { freshDatabase, type TestDatabase } from '../../support/database.ts';
import { itInFull } from '../../support/form.ts';
import { KEYS } from '../../support/keys.ts';
import { type Command, detection, disposition, note, plan, SITE } from '../../support/ledger/commands.ts';
import { type Helpdesk, helpdeskWriter, openHelpdesk } from '../../support/ledger/helpdesk.ts';

/**
 * Tests writers for other systems, with a helpdesk over HTTP as the example. The helpdesk's effect and the gateway's
 * receipt cannot commit together. An outcome is therefore `unknown` until the helpdesk reports the outcome (F-08). The
 * test simulates two replicas on one store.
 */
let database: TestDatabase;
let helpdesk: Helpdesk;
let other: Database;
let a: Corridor;
let b: Corridor;
let writer: Issued;
let count = 0;
const fresh = (): string => `key-${++count}`;

beforeAll(async () => {
  database = await freshDatabase('demo');
  helpdesk = await openHelpdesk();
  const target = { host: database.host, port: database.port, database: database.name, username: 'postgres' };
  other = openDatabase({ target, connections: 4, statementTimeout: 5_000, name: 'test' });
  const open = (db: Database): Promise<Corridor> =>
    openGateway({
      store: { db, slow: db },
      keys: KEYS,
      checkEvery: 1,
      onDefect: (_, error) => expect.fail(String(error)),
      remote: helpdeskWriter(helpdesk),
    });
  [a, b] = [await open(database.db), await open(other)];
  writer = await issue(database.sql, 1, { authors: ['opr_1_1_1'] });
  await database.sql.unsafe(`CREATE TABLE public.move (old text, new text);
    CREATE FUNCTION public.move() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN INSERT INTO public.move VALUES (OLD.status, NEW.status); RETURN NULL; END $$;
    CREATE TRIGGER move AFTER UPDATE OF status ON gateway.operation FOR EACH ROW EXECUTE FUNCTION public.move()`);
});

afterEach(() => {
  helpdesk.mood('perform');
  helpdesk.memory('true');
});

afterAll(async () => {
  await helpdesk.close();
  await other.close();
  await database.close();
});

interface Reply {
  readonly status: number;
  readonly code: string | undefined;
  readonly body: unknown;
  readonly id: string | undefined;
  readonly replayed: boolean | undefined;
  readonly retryAfter: number | undefined;
}

async function write(corridor: Corridor, { tool: name, input }: Command, key: string, by = writer): Promise<Reply> {
  const tool = corridor.registry.get(name);
  if (!tool) throw new Error(`no tool ${name}`);
  const outcome = await corridor.call({ tool, resource: 'rest', bearer: by.token, input, idempotencyKey: key });
  const failure = 'failure' in outcome ? outcome.failure : undefined;
  return {
    status: failure?.status ?? 200,
    code: failure?.code,
    body: 'body' in outcome ? outcome.body : undefined,
    id: outcome.operation?.id,
    replayed: outcome.operation?.replayed,
    retryAfter: failure?.details.retryAfter,
  };
}

async function status(id: string | undefined): Promise<string> {
  const tool = b.registry.get('operation_get');
  if (!tool) throw new Error('no operation_get');
  const input = { operation_id: id, website_id: SITE };
  const outcome = await b.call({ tool, resource: 'rest', bearer: writer.token, input });
  return JSON.stringify('body' in outcome ? outcome.body : outcome).replace(/.*"status":"(\w+)".*/, '$1');
}

const round = (corridor = b): Promise<number> =>
  upkeep({ db: corridor === a ? database.db : other, registry: a.registry, remote: helpdeskWriter(helpdesk) });
const lapse = (id: string | undefined): Promise<unknown> =>
  database.sql`UPDATE gateway.operation SET lease_until = now() - interval '1 second' WHERE operation_id = ${id ?? ''}`;
const effects = (id: string | undefined): number => helpdesk.effects.filter((one) => one.operationId === id).length;
const receipts = async (): Promise<number> =>
  Number((await database.sql<{ n: string }[]>`SELECT count(*) AS n FROM gateway.journal WHERE site = 1`)[0]?.n);
const row = async (id: string | undefined): Promise<string> =>
  (
    await database.sql<
      { row: string }[]
    >`SELECT o::text AS row FROM gateway.operation o WHERE operation_id = ${id ?? ''}`
  )[0]?.row ?? '';
const idOf = async (key: string, command: Command): Promise<string | undefined> => (await write(b, command, key)).id;

describe('a helpdesk that answers', () => {
  it.each([
    ['a note', note('For the helpdesk')],
    ['a disposition', disposition('anything the helpdesk knows')],
  ])('%s: performed once, replayed by any replica, with one receipt', async (_, command) => {
    const [key, before] = [fresh(), await receipts()];
    const done = await write(a, command, key);
    expect([done.status, done.replayed]).toEqual([200, false]);
    for (const corridor of [a, b]) {
      const again = await write(corridor, command, key);
      expect([again.status, again.replayed, again.id]).toEqual([200, true, done.id]);
      expect(JSON.stringify(again.body)).toBe(JSON.stringify(done.body));
    }
    expect([effects(done.id), (await receipts()) - before, await status(done.id)]).toEqual([1, 1, 'acknowledged']);
    const [effect] = helpdesk.effects.filter((one) => one.operationId === done.id);
    expect(effect).toMatchObject({ website: SITE, author: '1', command: { operation: command.tool } });
    const [own] = await database.sql`SELECT 1 FROM platform.note WHERE text = 'For the helpdesk'`;
    expect(own).toBeUndefined();
  });

  it('rejects: stored, replayed, without a receipt', async () => {
    helpdesk.mood('reject');
    const [key, before, command] = [fresh(), await receipts(), disposition('closed')];
    const first = await write(a, command, key);
    helpdesk.mood('perform');
    const again = await write(b, command, key);
    expect([first.status, first.code, first.replayed]).toEqual([409, 'operation_conflict', false]);
    expect([again.status, again.code, again.replayed]).toEqual([409, 'operation_conflict', true]);
    expect([effects(first.id), await receipts(), await status(first.id)]).toEqual([0, before, 'acknowledged']);
  });

  it('refuses: nothing is kept and the key is free', async () => {
    helpdesk.mood('refuse');
    const [key, command] = [fresh(), note('Refused first')];
    const refused = await write(a, command, key);
    expect([refused.status, refused.code, refused.id]).toEqual([503, 'native_unavailable', undefined]);
    helpdesk.mood('perform');
    expect((await write(b, command, key)).status).toBe(200);
  });

  it('is not asked without an author, for unknown records, or for what only computes', async () => {
    const before = helpdesk.asked.length;
    const nobody = await issue(database.sql, 1);
    expect((await write(a, note('Nobody’s'), fresh(), nobody)).code).toBe('enrollment_unavailable');
    expect((await write(a, note('To nobody', 'vis_1_1_99999'), fresh())).code).toBe('not_found');
    expect((await write(a, detection('Text'), fresh())).status).toBe(200);
    expect((await write(a, plan('Plan'), fresh())).status).toBe(200);
    expect(helpdesk.asked.length).toBe(before);
  });
});

describe('while it works', () => {
  it('the same key is told so, another input is a conflict, and the answer comes to the first', async () => {
    helpdesk.mood('wait');
    const [key, command] = [fresh(), note('Slow')];
    const first = write(a, command, key);
    await helpdesk.holding(1);
    for (const corridor of [a, b]) {
      const { status: code, ...reply } = await write(corridor, command, key);
      expect([code, reply.code, reply.retryAfter]).toEqual([409, 'operation_in_progress', 1]);
      expect(await status(reply.id)).toBe('pending');
    }
    expect((await write(b, note('Other'), key)).code).toBe('idempotency_conflict');
    expect(await round()).toBe(0); // the lease of the operation is still valid
    helpdesk.release();
    const done = await first;
    expect([done.status, effects(done.id)]).toEqual([200, 1]);
    expect((await write(b, command, key)).replayed).toBe(true);
  });

  it('50 callers at two replicas cause one effect', async () => {
    const [key, command] = [fresh(), note('Crowd')];
    const all = await Promise.all(Array.from({ length: 50 }, (_, i) => write(i % 2 ? a : b, command, key)));
    expect(all.filter(({ code }) => code !== undefined && code !== 'operation_in_progress')).toEqual([]);
    expect(effects(all[0]?.id)).toBe(1);
  });
});

describe('an outcome that is not known', () => {
  itInFull('is unknown after a time-out and stays so until the helpdesk can tell', async () => {
    helpdesk.mood('hang');
    const [key, command, before] = [fresh(), note('Never answered'), await receipts()];
    const began = Date.now();
    const first = await write(a, command, key);
    expect([first.status, first.code, first.retryAfter]).toEqual([409, 'outcome_unknown', undefined]);
    expect(Date.now() - began).toBeLessThan(9_500);
    helpdesk.mood('perform');
    for (const memory of ['none', 'broken'] as const) {
      helpdesk.memory(memory);
      await lapse(first.id);
      await round();
      const again = await write(b, command, key);
      expect([again.status, again.code, again.id]).toEqual([409, 'outcome_unknown', first.id]);
      expect(await status(first.id)).toBe('outcome_unknown');
    }
    expect(helpdesk.asked.filter((one) => one.operationId === first.id && one.method === 'POST')).toHaveLength(1);
    expect([effects(first.id), await receipts()]).toEqual([0, before]);
  });

  it('is found out by any replica: what was performed is acknowledged and replayed, with one receipt', async () => {
    helpdesk.mood('perform and lose');
    const [key, command, before] = [fresh(), note('Reply lost'), await receipts()];
    const first = await write(a, command, key);
    expect([first.code, await status(first.id)]).toEqual(['outcome_unknown', 'outcome_unknown']);
    expect(await receipts()).toBe(before);
    await lapse(first.id);
    await Promise.all([round(a), round(b), round(a), round(b)]);
    const again = await write(b, command, key);
    expect([again.status, again.replayed, await status(first.id)]).toEqual([200, true, 'acknowledged']);
    expect(JSON.stringify(again.body)).toContain('Reply lost');
    expect([effects(first.id), await receipts()]).toEqual([1, before + 1]);
  });
});

describe('F-08 a replica that comes too late', () => {
  it('finds its command settled by another, and can settle nothing', async () => {
    helpdesk.mood('perform and wait');
    const [key, command, before] = [fresh(), note('Taken over'), await receipts()];
    const late = write(a, command, key);
    await helpdesk.holding(1);
    const id = await idOf(key, command);
    await lapse(id);
    expect(await round()).toBe(1);
    expect(await receipts()).toBe(before + 1);
    helpdesk.release();
    expect((await late).code).toBe('outcome_unknown');
    const again = await write(a, command, key);
    expect([again.status, again.replayed, effects(id), await receipts()]).toEqual([200, true, 1, before + 1]);
  });

  it('cannot settle what is called unknown by now; the next round finds it', async () => {
    helpdesk.mood('wait');
    const [key, command, before] = [fresh(), note('Woke up late'), await receipts()];
    const late = write(a, command, key);
    await helpdesk.holding(1);
    const id = await idOf(key, command);
    await lapse(id);
    await round();
    expect(await status(id)).toBe('outcome_unknown');
    helpdesk.release();
    expect([(await late).code, await status(id)]).toEqual(['outcome_unknown', 'outcome_unknown']);
    expect(await receipts()).toBe(before);
    await lapse(id);
    await round();
    const again = await write(b, command, key);
    expect([again.status, again.replayed, effects(id), await receipts()]).toEqual([200, true, 1, before + 1]);
  });

  it('has its key kept from others while it may still be performing, also where the helpdesk refuses', async () => {
    helpdesk.mood('wait');
    const [key, command, before] = [fresh(), note('Sent late'), await receipts()];
    const late = write(a, command, key);
    await helpdesk.holding(1);
    const id = await idOf(key, command);
    helpdesk.memory('refused');
    await lapse(id);
    await round();
    helpdesk.mood('perform');
    expect((await write(b, command, key)).code).toBe('outcome_unknown');
    helpdesk.release();
    expect((await late).code).toBe('outcome_unknown');
    helpdesk.memory('true');
    await lapse(id);
    await round();
    const again = await write(b, command, key);
    expect([again.status, again.replayed, effects(id), await receipts()]).toEqual([200, true, 1, before + 1]);
  });

  it('after 24 hours: puts nothing back into a tombstone', async () => {
    helpdesk.mood('wait');
    const [key, command, before] = [fresh(), note('A day late'), await receipts()];
    const late = write(a, command, key);
    await helpdesk.holding(1);
    const id = await idOf(key, command);
    await database.sql`UPDATE gateway.operation SET created_at = now() - interval '25 hours' WHERE operation_id = ${id ?? ''}`;
    await round();
    helpdesk.release();
    expect((await late).status).toBe(200);
    expect(await row(id)).not.toMatch(/done|Author/);
    expect((await write(b, command, key)).code).toBe('outcome_unknown');
    expect([effects(id), await receipts()]).toEqual([1, before + 1]);
  });

  it('at its end: starts no further batch, however much is due', async () => {
    const { sql } = database;
    await sql`INSERT INTO gateway.operation (operation_id, credential_id, revision, tenant, site, operation, status, created_at, fingerprint)
      SELECT 'op_' || lpad(n::text, 64, '0'), 'crd_old', 1, 1, 1, 'visitor_note_add', 'acknowledged', now() - interval '25 hours',
             sha256(n::text::bytea) FROM generate_series(1, 1200) n`;
    const due = async (): Promise<number> =>
      Number(
        (
          await sql`SELECT count(*) AS n FROM gateway.operation WHERE credential_id = 'crd_old' AND fingerprint IS NOT NULL`
        )[0]?.['n'],
      );
    const rounds = startUpkeep({ db: other, registry: a.registry, onError: (error) => expect.fail(String(error)) });
    rounds.wake();
    await rounds.stop();
    expect(await due()).toBe(1_200);
    await round();
    expect(await due()).toBe(0);
  });

  itInFull('a helpdesk that does not answer the reconciler stops neither it nor its end', async () => {
    helpdesk.mood('perform and lose');
    const first = await write(a, note('Asked in vain'), fresh());
    helpdesk.memory('hangs');
    await lapse(first.id);
    const rounds = startUpkeep({
      db: other,
      registry: a.registry,
      remote: helpdeskWriter(helpdesk),
      onError: (error) => expect.fail(String(error)),
    });
    const asked = (): boolean => helpdesk.asked.some((one) => one.operationId === first.id && one.method === 'GET');
    await expect.poll(asked).toBe(true);
    const began = Date.now();
    await rounds.stop();
    expect(Date.now() - began).toBeLessThan(10_000);
    helpdesk.memory('true');
    await lapse(first.id);
    await round();
    expect(await status(first.id)).toBe('acknowledged');
  });
});

describe('every receipt', () => {
  it('has only moved as it may', async () => {
    const moves = await database.sql<{ move: string }[]>`SELECT DISTINCT old || ' to ' || new AS move FROM public.move
      WHERE old <> new ORDER BY move`;
    expect(moves.map(({ move }) => move)).toEqual([
      'outcome_unknown to acknowledged',
      'pending to acknowledged',
      'pending to outcome_unknown',
    ]);
  });

  it('has at most one effect behind it', () => {
    const ids = helpdesk.effects.map(({ operationId }) => operationId);
    expect(new Set(ids).size).toBe(ids.length);
  });
});
