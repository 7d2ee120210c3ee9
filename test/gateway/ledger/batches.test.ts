import { randomBytes, randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { Sql } from 'postgres';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { openAuthorities } from '../../../src/auth/authority.ts';
import { digestOf, newSecret } from '../../../src/auth/tokens.ts';
import type { Authority } from '../../../src/core/authority.ts';
import { SCOPES } from '../../../src/core/scopes.ts';
import { compile } from '../../../src/core/sql.ts';
import { type CommandKind, enter, type Keyed, settle } from '../../../src/store/calls/ledger.ts';
import { StoreUnreachable } from '../../../src/store/driver/errors.ts';
import { type Database, openDatabase } from '../../../src/store/driver/postgres.ts';
import { VisitorView } from '../../../src/views/visitor.ts';
import { AddNote } from '../../../src/writes/visitor-note-add.ts';
import type { Issued } from '../../support/credentials.ts';
import { openTestGateway, type TestGateway } from '../../support/gateway.ts';
import { note } from '../../support/ledger/commands.ts';
import { type LedgerWorld, openWorld } from '../../support/ledger/world.ts';

/**
 * Tests commands that enter the ledger in one batch. The ledger decides on each command separately, and no command
 * undoes another.
 */
let world: LedgerWorld;
let writer: Issued;
let authority: Authority;
/**
 * A second gateway on the same store. `sent` has one number for each statement: how many commands the statement
 * contained.
 */
let watched: TestGateway;
const sent: number[] = [];
let db: Database;
let sql: Sql;
let count = 0;
const fresh = (): string => `key-${++count}`;

beforeAll(async () => {
  world = await openWorld();
  sql = world.gateway.database.sql;
  const { host, port, name } = world.gateway.database;
  const target = { host, port, database: name, username: 'postgres' };
  db = openDatabase({ target, connections: 4, statementTimeout: 5_000, name: 'test', keyed: true });
  watched = await openTestGateway('demo', {
    ...world.gateway.database,
    db: {
      ...db,
      query: (statement) => {
        const { text, values } = compile(statement);
        const ids = values.find((value) => Array.isArray(value) && String(value[0]).startsWith('op_'));
        if (text.includes('gateway.write_batch(')) sent.push(Array.isArray(ids) ? ids.length : 0);
        return db.query(statement);
      },
    },
    close: async () => undefined,
  });
});
afterAll(async () => {
  await watched.close();
  await db.close();
  await world.close();
});
beforeEach(async () => {
  writer = await world.writer();
  authority = await authorityOf(writer);
});

const authorityOf = async (one: Issued): Promise<Authority> =>
  (await openAuthorities(world.gateway.database.db).fresh(one.token, 'rest', undefined)).authority;

const KIND: CommandKind = { write: AddNote, authored: true, receipts: ['visitor.changed'], remote: false };

function keyed(text: string, options: { by?: Authority; like?: Keyed; visitor?: string } = {}): Keyed {
  const { by = authority, like, visitor = '4' } = options;
  const website = by.websites.get('web_1_1') ?? expect.fail('no website');
  return {
    by: { authority: by, website },
    operationId: like?.operationId ?? `op_${randomBytes(32).toString('hex')}`,
    attempt: randomUUID(),
    fingerprint: Buffer.alloc(32, text),
    command: { operation: 'visitor_note_add', visitor, text },
    about: { view: VisitorView, id: `vis_1_1_${visitor}` },
  };
}

type Entered = Awaited<ReturnType<typeof enter>>;

const said = (entries: Entered): string[] =>
  entries.map((entry) => {
    if (entry instanceof Error) return entry.name;
    const { answer } = entry;
    if (answer instanceof Error) return answer.name;
    return 'outcome' in answer ? `${answer.state} ${Object.keys(answer.outcome).join()}` : answer.state;
  });

const outcomes = (entries: Entered) =>
  entries.flatMap((one) => ('answer' in one && 'outcome' in one.answer ? [one.answer.outcome] : []));

async function holding(meanwhile: () => Promise<unknown>): Promise<void> {
  await sql`INSERT INTO gateway.journal_head (tenant, site, position) VALUES (1, 1, 0) ON CONFLICT DO NOTHING`;
  await sql.begin(async (transaction) => {
    await transaction`SELECT FROM gateway.journal_head WHERE tenant = 1 AND site = 1 FOR UPDATE`;
    await meanwhile();
  });
}

const deadlocks = async (): Promise<number> => {
  await sql`SELECT pg_stat_force_next_flush()`;
  await pause(1_100); // PostgreSQL updates its statistics once a second
  return Number(
    (await sql`SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()`)[0]?.['deadlocks'],
  );
};

/** A token of this credential for a consent that was given while the credential had only this channel. */
async function consentedTo(channel: string, credential: string): Promise<string> {
  const [person, consent, token] = [
    `prs_${randomBytes(16).toString('hex')}`,
    `cns_${randomBytes(16).toString('hex')}`,
    newSecret('access_test'),
  ];
  await sql`INSERT INTO gateway.person (id, tenant, email, role) VALUES (${person}, 1, ${`${person}@example.com`}, 'owner')`;
  await sql`INSERT INTO gateway.consent (id, credential_id, person_id, request, audience, scopes, sites, renewable,
                                         code_digest, code_challenge, code_expires_at, redirect_uri, expires_at)
            VALUES (${consent}, ${credential}, ${person}, ${randomBytes(32)}, 'rest', ${[...SCOPES]}, '{1}', false,
                    ${randomBytes(32)}, 'challenge', now(), 'https://a.example/', now() + interval '1 hour')`;
  await sql`UPDATE gateway.consent SET channel_ids = ${[channel]} WHERE id = ${consent}`;
  await sql`INSERT INTO gateway.token (digest, credential_id, kind, audience, scopes, sites, consent_id, expires_at)
            VALUES (${digestOf(token)}, ${credential}, 'access', 'rest', ${[...SCOPES]}, '{1}', ${consent}, now() + interval '1 hour')`;
  return token;
}

describe('two tokens of one credential', () => {
  it('TN-01 never judge a write by the restrictions of the other, in whatever order they arrive', async () => {
    const channels = ['chn_1_1_1', 'chn_1_1_2'];
    const wide = await world.writer({ channels });
    const narrow = await consentedTo('chn_1_1_1', wide.credential);
    const [hidden, shown] = await Promise.all(
      ['2', '1'].map(async (channel) => {
        const rows = await sql<{ id: string }[]>`
          SELECT 'cnv_1_1_' || id AS id FROM platform.conversation WHERE tenant = 1 AND site = 1 AND channel_id = ${channel} LIMIT 4`;
        return rows.map(({ id }) => id);
      }),
    );
    const mark = async (conversation: string | undefined, token: string): Promise<number> => {
      const command = {
        tool: 'conversation_disposition_set',
        input: { conversation_id: conversation, disposition: 'spam' },
      } as const;
      return (await world.write('REST', command, { token, key: fresh() })).status;
    };
    const both = [...(hidden ?? []), ...(shown ?? [])];
    expect(both).toHaveLength(8);
    await Promise.all([mark(shown?.[0], narrow), mark(shown?.[0], wide.token)]);
    for (const order of [
      [narrow, wide.token],
      [wide.token, narrow],
    ]) {
      let all: Promise<[string, number][]> | undefined;
      await holding(async () => {
        const first = mark(shown?.[0], wide.token);
        const second = mark(shown?.[0], narrow);
        await pause(300);
        const asked = order.flatMap((token) =>
          both.map(
            async (one): Promise<[string, number]> => [
              `${token === narrow ? 'narrow' : 'wide'} ${hidden?.includes(one) ? 'hidden' : 'shown'}`,
              await mark(one, token),
            ],
          ),
        );
        all = Promise.all(asked).finally(() => Promise.all([first, second]));
        await pause(300);
      });
      expect([...new Set((await all)?.map((one) => one.join(' ')))].sort()).toEqual([
        'narrow hidden 404',
        'narrow shown 200',
        'wide hidden 200',
        'wide shown 200',
      ]);
    }
  });
});

describe('one batch', () => {
  it('holds a stale authority, a conflict, a replay, an unknown visitor and a key twice, and does the rest', async () => {
    const other = await world.writer();
    const write = (text: string, key: string, by = writer, visitor = 'vis_1_1_4') =>
      world.write('REST', note(text, visitor), { token: by.token, key, gateway: watched });
    const [replayed, clashing, twice] = [fresh(), fresh(), fresh()];
    const before = await write('Said before', replayed);
    await write('Another text', clashing);
    await write('To know the authority', fresh(), other);
    const journal = (await world.journal()).length;
    sent.length = 0;
    let all: ReturnType<typeof write>[] = [];
    await holding(async () => {
      const first = write('Holds the lane', fresh());
      await pause(300);
      all = [
        first,
        write('One that is fine', fresh()),
        write('By one without the scope', fresh(), other),
        write('A clash', clashing),
        write('Said before', replayed),
        write('To nobody', fresh(), writer, 'vis_1_1_999999'),
        write('Twice at once', twice),
        write('Twice at once', twice),
      ];
      await pause(300);
      await world.change(other.credential, { scopes: ['conversation_read'] });
    });
    const replies = await Promise.all(all);
    expect(replies.map(({ status, code, replayed: again }) => [status, code, again])).toEqual([
      [200, undefined, false],
      [200, undefined, false],
      [404, 'not_permitted', false],
      [409, 'idempotency_conflict', false],
      [200, undefined, true],
      [404, 'not_found', false],
      [200, undefined, false],
      [200, undefined, true],
    ]);
    expect(replies[4]?.text).toBe(before.text);
    expect(replies[7]?.text).toBe(replies[6]?.text);
    expect(sent).toEqual([1, 7, 1]);
    expect((await world.journal()).length).toBe(journal + 3);
    for (const [text, n] of [
      ['One that is fine', 1],
      ['Twice at once', 1],
      ['Said before', 1],
      ['By one without the scope', 0],
      ['A clash', 0],
    ] as const)
      expect(await world.notes(text), text).toBe(n);
  });

  it('an authority that goes while the journal is waited for fails alone', async () => {
    const other = await world.writer();
    const batch = [keyed('Stays 1'), keyed('Goes', { by: await authorityOf(other) }), keyed('Stays 2')];
    let entries: Promise<Entered> | undefined;
    await holding(async () => {
      entries = enter(db, KIND, batch);
      await pause(300);
      await sql`UPDATE gateway.token SET revoked_at = now() WHERE credential_id = ${other.credential}`;
    });
    const entered = (await entries) ?? [];
    expect(said(entered)).toEqual(['new done', 'StaleAuthority', 'new done']);
    expect([await world.notes('Stays 1'), await world.notes('Goes'), await world.notes('Stays 2')]).toEqual([1, 0, 1]);
    const proved = entered.map((one, i) => 'proof' in one && one.proof.proves(batch[i]?.by.authority ?? authority));
    expect(proved).toEqual([true, false, true]);
  });

  it('an author that goes while the journal is waited for fails alone', async () => {
    const other = await world.writer();
    const batch = [keyed('Has an author'), keyed('Lost its author', { by: await authorityOf(other) })];
    let entries: Promise<Entered> | undefined;
    await holding(async () => {
      entries = enter(db, KIND, batch);
      await pause(300);
      // Delete the author's mapping without a receipt, because a receipt would wait for the locked journal. Both
      // statements run in one transaction, so the setting applies to the deletion.
      await sql.unsafe(`SELECT set_config('gateway.capture', 'off', true);
        DELETE FROM gateway.native_author WHERE credential_id = '${other.credential}'`);
    });
    expect(said((await entries) ?? [])).toEqual(['new done', 'new refused']);
  });

  it('what one command raises fails that one alone', async () => {
    await sql.unsafe(`CREATE FUNCTION public.refuse() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN IF NEW.text = 'Raises' THEN RAISE EXCEPTION 'planted'; END IF; RETURN NEW; END $$;
      CREATE TRIGGER refuse BEFORE INSERT ON platform.note FOR EACH ROW EXECUTE FUNCTION public.refuse()`);
    const entries = await enter(db, KIND, [keyed('Before it'), keyed('Raises'), keyed('After it')]);
    await sql.unsafe('DROP TRIGGER refuse ON platform.note; DROP FUNCTION public.refuse()');
    expect(said(entries)).toEqual(['new done', 'PostgresError', 'new done']);
    expect([await world.notes('Before it'), await world.notes('Raises'), await world.notes('After it')]).toEqual([
      1, 0, 1,
    ]);
  });

  it('gives note ids and positions without a gap, in the order of the batch', async () => {
    const journal = (await world.journal()).length;
    const batch = [keyed('a'), keyed('b', { visitor: '999999' }), keyed('c'), keyed('d')];
    const entries = await enter(db, KIND, batch);
    expect(said(entries)).toEqual(['new done', 'new refused', 'new done', 'new done']);
    const ids = outcomes(entries).flatMap((outcome) => ('done' in outcome ? [outcome.done] : []));
    const numbers = ids.map(({ note_id }) => Number(note_id));
    expect(numbers).toEqual([0, 1, 2].map((n) => (numbers[0] ?? 0) + n));
    expect((await world.journal()).length).toBe(journal + 3);
    const positions = await sql`SELECT position FROM gateway.journal WHERE tenant = 1 AND site = 1 ORDER BY position`;
    expect(positions.map(({ position }) => Number(position))).toEqual(positions.map((_, i) => i + 1));
  });
});

describe('two batches with the same keys in another order', () => {
  it('never wait for each other', async () => {
    const [a, m, b] = [keyed('a'), keyed('m'), keyed('b')];
    const before = await deadlocks();
    let both: Promise<Entered[]> | undefined;
    await sql.begin(async (transaction) => {
      await transaction`SELECT pg_advisory_xact_lock(hashtextextended(${m.operationId}, 0))`;
      // The second batch repeats the commands of the first batch, like callers who retry on another replica.
      const copy = (one: Keyed, text: string): Keyed => ({
        ...one,
        command: { ...one.command, visitor: '4', text },
        attempt: randomUUID(),
      });
      both = Promise.all([enter(db, KIND, [a, m, b]), enter(db, KIND, [copy(b, 'b'), copy(m, 'm'), copy(a, 'a')])]);
      await pause(300);
    });
    const answers = ((await both) ?? []).map(said).sort();
    expect(answers).toEqual([
      ['new done', 'new done', 'new done'],
      ['settled done', 'settled done', 'settled done'],
    ]);
    expect(await deadlocks()).toBe(before);
  });
});

/**
 * A database connection that loses the reply to the first statement with `word` in its text. The statement has
 * committed by then.
 */
function losing(word: string): Database {
  let lost = false;
  return {
    ...db,
    query: async (statement) => {
      const rows = await db.query(statement);
      if (lost || !compile(statement).text.includes(word)) return rows as never; // the caller of `query` chooses the type of a row
      lost = true;
      throw new StoreUnreachable('planted', { cause: Object.assign(new Error(), { code: 'CONNECTION_CLOSED' }) });
    },
  };
}

describe('a reply that is lost', () => {
  it('what the batch itself has done is new, what was done before is replayed', async () => {
    const earlier = keyed('Done by another');
    await enter(db, KIND, [earlier]);
    const replay = keyed('Done by another', { like: earlier });
    const entries = await enter(losing('write_batch'), KIND, [keyed('Mine 1'), replay, keyed('Mine 2')]);
    expect(said(entries)).toEqual(['new done', 'settled done', 'new done']);
    expect([await world.notes('Mine 1'), await world.notes('Mine 2')]).toEqual([1, 1]);
  });

  it('a reservation is recognised by whoever made it, and by nobody else', async () => {
    const mine = keyed('For another system');
    const remote = { ...KIND, remote: true };
    expect(said(await enter(losing('write_batch'), remote, [mine]))).toEqual(['reserved']);
    expect(said(await enter(db, remote, [{ ...mine, attempt: randomUUID() }]))).toEqual(['pending']);
    await sql`UPDATE gateway.operation SET epoch = 2 WHERE operation_id = ${mine.operationId}`;
    expect(said(await enter(db, remote, [mine]))).toEqual(['pending']);
  });

  it.each([
    ['done', { done: { note_id: 1 } }, 'settled', 1],
    ['rejected', { rejected: 'operation_conflict' }, 'settled', 0],
    ['unknown', null, 'unknown', 0],
    ['refused', { refused: 'native_unavailable' }, 'reserved', 0],
  ] as const)('a settlement that is %s is made once', async (_, outcome, after, receipts) => {
    const mine = keyed('Settled');
    const remote = { ...KIND, remote: true };
    const [entry] = await enter(db, remote, [mine]);
    expect(entry).toMatchObject({ answer: { state: 'reserved', epoch: 1 } });
    const journal = (await world.journal()).length;
    const held = { operationId: mine.operationId, epoch: 1, attempt: mine.attempt, receipts: KIND.receipts };
    expect(await settle(losing('settle_operation'), held, outcome)).toBe(true);
    expect((await world.journal()).length).toBe(journal + receipts);
    const [next] = await enter(db, remote, [{ ...mine, attempt: randomUUID() }]);
    expect(next).toMatchObject({ answer: { state: after } });
    if (after === 'reserved') {
      expect(await settle(db, held, outcome)).toBe(true);
      expect(said(await enter(db, remote, [{ ...mine, attempt: randomUUID() }]))).toEqual(['pending']);
    }
  });
});
