import { randomInt } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import fc from 'fast-check';
import postgres from 'postgres';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { wanting } from '../../src/core/events.ts';
import { type Mergeable, merge, type Scanned } from '../../src/events/merge.ts';
import { ALL_FAMILIES, append, create, definition, pull, tool } from '../support/events/subscriptions.ts';
import { times } from '../support/form.ts';
import { openTestGateway, type TestGateway } from '../support/gateway.ts';

const TYPES = ALL_FAMILIES.flatMap((family) =>
  ['changed', 'removed', 'snapshot', 'gap', 'heartbeat'].map((kind) => `${family}.${kind}`),
);

interface Receipt {
  readonly event_id: string;
  readonly event_type: string;
  readonly website_id: string;
  readonly cursor: number;
  readonly recorded_at: number;
}

describe('merging', () => {
  const rows = fc
    .array(fc.record({ eventType: fc.constantFrom(...TYPES.slice(0, 6)), recordedAt: fc.nat(20) }), { maxLength: 12 })
    .map((all) => all.map((row, i) => ({ ...row, position: i })));
  const scans = fc.array(fc.tuple(rows, fc.nat(1000)), { maxLength: 6 }).map((all) =>
    all.map(([some, after], i) => ({
      website: `web_1_${i + 1}`,
      after,
      rows: some.map((row) => ({ ...row, position: after + 1 + row.position })),
    })),
  );
  const types = fc.subarray([...TYPES.slice(0, 6), 'conversation.*', 'visitor.*'], { minLength: 1 });

  /**
   * The simplest model of the merge. The model takes one receipt at a time. For each step, it compares the next wanted
   * receipt of every website and takes the receipt that was recorded first.
   */
  function model(scanned: readonly Scanned<Mergeable>[], asked: readonly string[], limit: number) {
    const wanted = (type: string) => asked.includes(type) || asked.includes(`${type.split('.')[0]}.*`);
    const left = scanned.map(({ website, rows: all }) => all.map((row) => ({ website, row })));
    const taken: { website: string; row: Mergeable }[] = [];
    for (;;) {
      for (const queue of left) while (queue[0] && !wanted(queue[0].row.eventType)) queue.shift();
      const heads = left.flatMap((queue) => queue.slice(0, 1));
      const first = heads.reduce<(typeof heads)[number] | undefined>(
        (best, one) => (best === undefined || one.row.recordedAt < best.row.recordedAt ? one : best),
        undefined,
      );
      if (!first || taken.length === limit) break;
      taken.push(first);
      for (const queue of left) if (queue[0] === first) queue.shift();
    }
    const positions = scanned.map(({ website, after, rows: all }, i) => {
      const next = left[i]?.[0]?.row.position;
      return [website, next === undefined ? (all.at(-1)?.position ?? after) : next - 1] as const;
    });
    return { taken, positions: new Map(positions) };
  }

  it('is what a plain model says, and loses nothing', () => {
    let delivered = 0;
    fc.assert(
      fc.property(scans, types, fc.integer({ min: 1, max: 30 }), (scanned, asked, limit) => {
        const merged = merge(scanned, wanting(asked), limit);
        expect(merged).toEqual(model(scanned, asked, limit));
        delivered += merged.taken.length;
        // For each website, the page must hold every wanted receipt up to the new position, and no receipt after this
        // position.
        for (const { website, rows: all } of scanned) {
          const upTo = merged.positions.get(website) ?? 0;
          const got = merged.taken.filter((one) => one.website === website).map(({ row }) => row.position);
          const due = all.filter((row) => wanting(asked)(row.eventType) && row.position <= upTo);
          expect(got).toEqual(due.map(({ position }) => position));
        }
      }),
      { numRuns: 500 },
    );
    expect(delivered).toBeGreaterThan(500);
  });
});

describe('pulling', () => {
  let gateway: TestGateway;
  let other: TestGateway;
  let token: string;
  const WEBSITES = ['web_1_1', 'web_1_2', 'web_1_3'];
  const sql = (): postgres.Sql => gateway.database.sql;

  async function walk(
    id: string,
    from: string,
    limit: number,
    through = gateway,
  ): Promise<[Receipt[], string, number]> {
    const events: Receipt[] = [];
    let after = from;
    for (let pages = 1; ; pages++) {
      const { status, body, text } = await pull(through, token, id, after, limit);
      expect(status, text).toBe(200);
      expect(body.events.length).toBeLessThanOrEqual(limit);
      events.push(...body.events);
      after = body.next_cursor;
      if (!body.has_more) return [events, after, pages];
    }
  }

  const stored = (website: string): Promise<{ position: number; event_type: string }[]> =>
    sql()<{ position: number; event_type: string }[]>`
      SELECT position::integer, event_type FROM gateway.journal WHERE 'web_' || tenant || '_' || site = ${website} ORDER BY position`;

  const told = (events: readonly Receipt[], website: string) =>
    events
      .filter(({ website_id }) => website_id === website)
      .map(({ cursor, event_type }) => ({ position: cursor, event_type }));

  /** Runs `work` with the capture triggers off, so that a journal holds only the receipts that a test appends. */
  const uncaptured = (work: (tx: postgres.TransactionSql) => Promise<unknown>): Promise<unknown> =>
    sql().begin(async (tx) => {
      await tx`SELECT set_config('gateway.capture', 'off', true)`;
      await work(tx);
    });

  beforeAll(async () => {
    gateway = await openTestGateway('empty');
    other = await openTestGateway('empty', gateway.database);
    await uncaptured(async (tx) => {
      await tx`INSERT INTO platform.organization (tenant, external_id, name) VALUES (1, 'one', 'One'), (2, 'two', 'Two')`;
      await tx`INSERT INTO platform.website (tenant, site, external_id, name, time_zone)
        SELECT t, s, 'w' || t || s, 'W', 'UTC' FROM generate_series(1, 2) AS t, generate_series(1, 60) AS s`;
    });
    ({ token } = await gateway.issue());
  });
  afterAll(() => gateway.close());

  let used = 10;
  const fresh = (): string => `web_1_${++used}`;
  const headOf = async (website: string): Promise<number> => (await stored(website)).at(-1)?.position ?? 0;

  it('gives every receipt once, whatever the page size, and has_more until the end', async () => {
    const [a, b] = [fresh(), fresh()];
    for (let i = 0; i < 8; i++) await append(sql(), i % 3 === 0 ? b : a, TYPES.slice(i, i + 20));
    const { id, cursor } = await create(gateway, token, definition([a, b]));
    const seen = new Set<string>();
    for (const limit of [1, 7, 25, 99, 100]) {
      const [events, end, pages] = await walk(id, cursor, limit);
      for (const website of [a, b]) expect(told(events, website)).toEqual(await stored(website));
      expect(new Set(events.map(({ event_id }) => event_id)).size).toBe(160);
      for (const { event_id } of events) seen.add(event_id);
      expect(pages).toBeGreaterThanOrEqual(160 / limit);
      const { body } = await pull(gateway, token, id, end);
      expect([body.events, body.has_more, body.next_cursor]).toEqual([[], false, end]);
    }
    expect(seen.size).toBe(160);
  });

  it('filters by exact types and wildcards; an empty page has more behind it', async () => {
    const website = fresh();
    await append(
      sql(),
      website,
      Array.from({ length: 230 }, () => 'visitor.changed'),
    );
    await append(sql(), website, [
      'privacy.removed',
      'visitor.changed',
      'queue.gap',
      'queue.changed',
      'privacy.changed',
    ]);
    const { id, cursor } = await create(
      gateway,
      token,
      definition([website], { event_types: ['privacy.*', 'queue.gap'] }),
    );
    const first = (await pull(gateway, token, id, cursor)).body;
    expect([first.events, first.has_more]).toEqual([[], true]);
    expect(first.retention).toEqual([{ website_id: website, retained_from: 1, accepted_cursor: 0 }]);
    const second = (await pull(gateway, token, id, first.next_cursor)).body;
    expect([second.events, second.has_more, second.retention[0].accepted_cursor]).toEqual([[], true, 100]);
    const [events, end] = await walk(id, cursor, 25);
    expect(events.map(({ event_type }) => event_type)).toEqual(['privacy.removed', 'queue.gap', 'privacy.changed']);
    // The cursor of the page also skips the unwanted receipts after the last wanted receipt. The reader then gets no
    // empty page.
    await append(sql(), website, ['visitor.changed', 'privacy.gap', 'visitor.changed']);
    expect((await pull(gateway, token, id, end, 1)).body).toMatchObject({
      has_more: false,
      events: [{ event_type: 'privacy.gap' }],
    });
  });

  it('a busy website does not keep quiet ones waiting, and a page scans at most a hundred', async () => {
    const all = Array.from({ length: 50 }, () => fresh()).slice(0, 40);
    const [busy = ''] = all;
    await append(
      sql(),
      busy,
      Array.from({ length: 500 }, () => 'visitor.changed'),
    );
    for (const website of all.slice(1))
      await append(sql(), website, ['queue.changed', 'queue.changed', 'queue.changed']);
    const { id, cursor } = await create(gateway, token, definition(all));
    const { body } = await pull(gateway, token, id, cursor, 100);
    const websites = new Map<string, number>();
    for (const { website_id } of body.events) websites.set(website_id, (websites.get(website_id) ?? 0) + 1);
    expect(websites.size).toBe(40);
    expect([...websites.values()]).toEqual(Array.from({ length: 40 }, () => 2));
    const [events] = await walk(id, cursor, 100);
    expect(events).toHaveLength(500 + 39 * 3);
    used = 10 + 50;
  });

  it('coverage tells the websites whose families were never reported', async () => {
    const [a, b, c] = ['web_1_4', 'web_1_5', 'web_1_6'];
    await append(sql(), a, ['queue.changed']);
    await append(sql(), b, ['visitor.changed']);
    const { id, cursor } = await create(gateway, token, definition([a, b, c], { event_types: ['queue.*'] }));
    expect((await pull(gateway, token, id, cursor)).body.coverage).toEqual([
      { website_id: a, coverage: 'stored_events_only' },
      { website_id: b, coverage: 'unreported' },
      { website_id: c, coverage: 'unreported' },
    ]);
  });

  it('replay_expired where history was trimmed, and the way back: reconcile, replace with retained, go on', async () => {
    const website = 'web_1_7';
    await append(
      sql(),
      website,
      Array.from({ length: 10 }, () => 'conversation.changed'),
    );
    const { id, cursor } = await create(gateway, token, definition([website]));
    const first = (await pull(gateway, token, id, cursor, 4)).body;
    await sql()`DELETE FROM gateway.journal WHERE tenant = 1 AND site = 7 AND position <= 4`;
    await sql()`UPDATE gateway.journal_head SET trimmed = 4 WHERE tenant = 1 AND site = 7`;
    // This reader has already read position 4. The reader therefore loses nothing when the journal is trimmed up to
    // position 4.
    const second = await pull(gateway, token, id, first.next_cursor, 100);
    expect(second.body.events.map((one: Receipt) => one.cursor)).toEqual([5, 6, 7, 8, 9, 10]);
    expect(second.body.retention).toEqual([{ website_id: website, retained_from: 5, accepted_cursor: 4 }]);
    const expired = await pull(gateway, token, id, cursor);
    expect([expired.status, expired.body.code]).toEqual([409, 'replay_expired']);
    expect((await tool(gateway, token, 'events_pull', { subscription_id: id, after: cursor })).code).toBe(
      'replay_expired',
    );
    // `beginning` always means position 0. This is also true for a new subscription whose journal has lost its first
    // receipts to trimming.
    const late = await create(gateway, token, definition([website]));
    expect((await pull(gateway, token, late.id, late.cursor)).body.code).toBe('replay_expired');
    const replaced = await gateway.ask(`/api/v1/subscriptions/${id}`, {
      ...{ token, method: 'PATCH', headers: { 'if-match': '"1"' } },
      body: definition([website], { start: 'retained' }),
    });
    expect(replaced.status, replaced.text).toBe(200);
    expect((await pull(gateway, token, id, first.next_cursor)).body.code).toBe('revision_changed');
    const [events] = await walk(id, replaced.body.cursor, 3);
    expect(events.map((one) => one.cursor)).toEqual([5, 6, 7, 8, 9, 10]);
    // After a restore, the journal goes on at an earlier position. Move the head of the journal back, as a restore
    // does.
    const end = (await pull(gateway, token, id, replaced.body.cursor, 100)).body.next_cursor;
    await sql()`UPDATE gateway.journal_head SET position = 8 WHERE tenant = 1 AND site = 7`;
    expect((await pull(gateway, token, id, end)).body.code).toBe('replay_expired');
  });

  it('a paused family withholds the whole page and consumes no cursor', async () => {
    const [a, b] = ['web_1_8', 'web_1_9'];
    await append(sql(), a, ['visitor.changed', 'conversation.changed']);
    await append(sql(), b, ['visitor.changed']);
    const { id, cursor } = await create(gateway, token, definition([a, b]));
    const visitors = await create(gateway, token, definition([a, b], { event_types: ['visitor.*'] }));
    const elsewhere = await create(gateway, token, definition([b]));
    const before = (await pull(gateway, token, id, cursor)).body;
    await uncaptured((tx) => tx`INSERT INTO gateway.family_hold (tenant, site, family) VALUES (1, 8, 'conversation')`);
    const held = await pull(gateway, token, id, cursor);
    expect([held.status, held.body.code]).toEqual([503, 'event_family_paused']);
    expect(Number(held.headers['retry-after'])).toBeGreaterThanOrEqual(30);
    expect((await tool(gateway, token, 'events_pull', { subscription_id: id, after: cursor })).code).toBe(
      'event_family_paused',
    );
    // While a family is paused, the gateway also refuses a pull that would get an empty page. Otherwise the reader
    // would believe that nothing has happened on the website.
    expect((await pull(gateway, token, id, before.next_cursor)).body.code).toBe('event_family_paused');
    const status = async (one: string): Promise<string> =>
      (await gateway.ask(`/api/v1/subscriptions/${one}`, { token })).body.subscription.status;
    expect([await status(id), await status(visitors.id), await status(elsewhere.id)]).toEqual([
      'paused',
      'active',
      'active',
    ]);
    for (const one of [visitors, elsewhere]) expect((await pull(gateway, token, one.id, one.cursor)).status).toBe(200);
    await append(sql(), a, ['conversation.changed']);
    await uncaptured((tx) => tx`DELETE FROM gateway.family_hold`);
    const after = (await pull(gateway, token, id, cursor)).body;
    expect(after.events.slice(0, before.events.length)).toEqual(before.events);
    expect(after.events).toHaveLength(before.events.length + 1);
    expect(await status(id)).toBe('active');
  });

  it('503 for a subscription that cannot be read and for a journal with a hole', async () => {
    const website = 'web_1_10';
    await append(
      sql(),
      website,
      Array.from({ length: 6 }, () => 'queue.changed'),
    );
    const { id, cursor } = await create(gateway, token, definition([website]));
    const first = (await pull(gateway, token, id, cursor, 2)).body;
    await sql()`DELETE FROM gateway.journal WHERE tenant = 1 AND site = 10 AND position = 4`;
    const holed = await pull(gateway, token, id, first.next_cursor);
    expect([holed.status, holed.body.code, holed.headers['retry-after']]).toEqual([503, 'journal_unavailable', '1']);
    await sql()`UPDATE gateway.subscription SET event_types = '{queue.unheard}' WHERE id = ${id}`;
    for (const path of [`/api/v1/subscriptions/${id}`, '/api/v1/subscriptions']) {
      const answer = await gateway.ask(path, { token });
      expect([answer.status, answer.body.code]).toEqual([503, 'subscription_corrupt']);
    }
    expect((await pull(gateway, token, id, cursor)).body.code).toBe('subscription_corrupt');
    await sql()`DELETE FROM gateway.subscription WHERE id = ${id}`;
  });

  const WRITES = times(30, 60);
  it('F-09 three kinds of readers beside concurrent writers: in order, nothing missed, nothing doubled', async () => {
    const target = { host: gateway.database.host, port: gateway.database.port, database: gateway.database.name };
    const writers = postgres({ ...target, username: 'postgres', max: 8, onnotice: () => undefined });
    const { id: wide, cursor: wideAt } = await create(gateway, token, definition(WEBSITES));
    const some = await create(gateway, token, definition(WEBSITES, { event_types: ['visitor.*', 'queue.changed'] }));
    const single = await Promise.all(WEBSITES.map((website) => create(other, token, definition([website]))));
    let writing = true;
    let rolledBack = 0;
    let committed = 0;
    const write = async (): Promise<void> => {
      for (let i = 0; i < WRITES; i++) {
        const types = Array.from({ length: randomInt(1, 4) }, () => TYPES[randomInt(TYPES.length)] ?? '');
        // Each writer takes the websites in ascending order, as the capture trigger does. In any other order, two
        // writers could wait for each other.
        const sites = [1, 2, 3].filter(() => randomInt(3) > 0);
        await writers
          .begin(async (tx) => {
            for (const site of sites) await tx`SELECT gateway.append_receipts(1, ${site}, ${types})`;
            if (randomInt(4) === 0) await pause(randomInt(4));
            if (randomInt(20) === 0) throw new Error('rolled back');
          })
          .then(
            () => {
              committed++;
            },
            () => {
              rolledBack++;
            },
          );
      }
    };
    const asked = { rest: 0, mcp: 0 };
    const read = async (id: string, cursor: string, limit: number, over: 'rest' | 'mcp', through: TestGateway) => {
      const events: Receipt[] = [];
      let after = cursor;
      for (;;) {
        const last = !writing;
        asked[over]++;
        const body =
          over === 'rest'
            ? (await pull(through, token, id, after, limit)).body
            : (await tool(through, token, 'events_pull', { subscription_id: id, after, limit })).body;
        events.push(...body.events);
        after = body.next_cursor;
        if (last && !body.has_more) return events;
        if (!body.has_more) await pause(10);
      }
    };
    const written = Promise.all(Array.from({ length: 8 }, write)).finally(() => {
      writing = false;
    });
    const [all, filtered, ...singles] = await Promise.all([
      read(wide, wideAt, 100, 'rest', gateway),
      read(some.id, some.cursor, 7, 'mcp', other),
      ...single.map(({ id, cursor }, i) => read(id, cursor, 25, 'rest', i % 2 === 0 ? other : gateway)),
      written,
    ]);
    await writers.end();
    let journal = 0;
    let gaps = 0;
    for (const [i, website] of WEBSITES.entries()) {
      const rows = await stored(website);
      journal += rows.length;
      gaps += rows.filter(({ position }, n) => position !== n + 1).length;
      // The stored rows have each position once and in rising order. Each reader must get exactly its wanted rows, in
      // this order.
      expect(told(all as Receipt[], website)).toEqual(rows);
      expect(told((singles[i] ?? []) as Receipt[], website)).toEqual(rows);
      const wanted = rows.filter(
        ({ event_type }) => event_type.startsWith('visitor.') || event_type === 'queue.changed',
      );
      expect(told(filtered as Receipt[], website)).toEqual(wanted);
    }
    const ids = new Set((all as Receipt[]).map(({ event_id }) => event_id));
    expect([gaps, ids.size]).toEqual([0, journal]);
    expect(Math.min(rolledBack, asked.mcp, asked.rest)).toBeGreaterThan(0);
    console.info(
      `F-09 readers: ${journal} events of ${committed} commits, ${rolledBack} rolled back, ${asked.rest + asked.mcp} pulls; missed 0, gaps ${gaps}, doubled 0`,
    );
  });

  it('F-13 nothing recorded after a revocation is delivered, at any point of a walk of twenty pages', async () => {
    const website = 'web_1_2';
    const ends: [code: string, end: (credential: string) => postgres.PendingQuery<postgres.Row[]>][] = [
      ['token_revoked', (one) => sql()`UPDATE gateway.credential SET revoked_at = now() WHERE id = ${one}`],
      [
        'not_permitted',
        (one) => sql()`UPDATE gateway.credential SET scopes = array_remove(scopes, 'event_read') WHERE id = ${one}`,
      ],
      ['not_found', (one) => sql()`UPDATE gateway.credential SET sites = '{1}' WHERE id = ${one}`],
      ['not_permitted', (one) => sql()`UPDATE gateway.credential SET team_ids = '{}' WHERE id = ${one}`],
    ];
    let pages = 0;
    for (const [code, end] of ends) {
      for (let round = 0; round < 3; round++) {
        const one = await gateway.issue({ websites: ['web_1_1', website] });
        const { id, cursor } = await create(gateway, one.token, definition([website], { start: 'retained' }));
        let revoked = Number.POSITIVE_INFINITY;
        let writing = true;
        const writer = (async () => {
          while (writing) await append(sql(), website, ['conversation.changed']);
        })();
        const revocation = pause(randomInt(5, 60)).then(async () => {
          await end(one.credential);
          // Read the time only after the commit. Receipts get their time from the same clock.
          const [row] = await sql()<{ at: number }[]>`
            SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::float8 AS at`;
          revoked = row?.at ?? 0;
        });
        const delivered: Receipt[] = [];
        let after = cursor;
        let denied: string | undefined;
        for (let page = 0; page < 200 && denied === undefined; page++) {
          const committed = revoked;
          const answer = await pull(round === 1 ? other : gateway, one.token, id, after, 25);
          if (answer.status === 200) {
            pages++;
            expect(committed, code).toBe(Number.POSITIVE_INFINITY);
            delivered.push(...answer.body.events);
            after = answer.body.next_cursor;
          } else denied = answer.body.code;
        }
        await revocation;
        writing = false;
        await writer;
        expect(denied).toBe(code);
        expect(delivered.filter((event) => event.recorded_at > revoked)).toEqual([]);
      }
    }
    expect(pages).toBeGreaterThan(20);
  });

  it('TN-04 what other organizations record changes no answer', async () => {
    const { id, cursor } = await create(gateway, token, definition(['web_1_1', 'web_1_3']));
    const mine = (await pull(gateway, token, id, cursor, 100)).text;
    for (const website of ['web_2_1', 'web_2_3', 'web_2_60']) await append(sql(), website, TYPES);
    await uncaptured(
      (tx) =>
        tx`INSERT INTO gateway.family_hold (tenant, site, family) SELECT 2, s, 'queue' FROM generate_series(1, 3) AS s`,
    );
    expect((await pull(gateway, token, id, cursor, 100)).text).toBe(mine);
    expect(await headOf('web_2_1')).toBe(TYPES.length);
  });
});
