import { createHash, randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Authority } from '../../src/core/authority.ts';
import { Failure } from '../../src/core/failures.ts';
import type { DataAccess, Scope } from '../../src/core/scopes.ts';
import { compile, sql } from '../../src/core/sql.ts';
import { loadAuthority } from '../../src/store/credentials.ts';
import { StaleAuthority } from '../../src/store/guard.ts';
import { migrate } from '../../src/store/migrate.ts';
import { type Database, openDatabase } from '../../src/store/postgres.ts';
import { openReads } from '../../src/store/reads.ts';
import { reportStatement } from '../../src/store/report-sql.ts';
import type { Report } from '../../src/views/report.ts';
import tool from '../../tools/reporting/ai-conversation-summary.ts';
import { type Conversation, expectedReport, type Result } from './report.oracle.ts';
import { seed } from './report.rows.ts';

const SERVER = 'postgres://postgres@127.0.0.1:55432/';
const open = (target: string, name = 'report-test'): Database =>
  openDatabase({ target, connections: 2, statementTimeout: 30_000, name });

/** A migrated store whose now() is a table's: the function stands before pg_catalog's own in the search path. */
async function testStore(): Promise<{ db: Database; drop(): Promise<void> }> {
  const given = process.env['TEST_DATABASE_URL'];
  const name = `report_${randomUUID().slice(0, 8)}`;
  const server = given === undefined ? open(`${SERVER}postgres`) : undefined;
  await server?.script(`CREATE DATABASE ${name}`);
  const url = new URL(given ?? SERVER + name);
  const plain = open(url.href);
  await migrate(plain);
  await plain.script(`DROP SCHEMA IF EXISTS test_clock CASCADE; CREATE SCHEMA test_clock;
    CREATE TABLE test_clock.clock AS SELECT pg_catalog.now() AS at;
    CREATE FUNCTION test_clock.now() RETURNS timestamptz STABLE LANGUAGE sql AS 'SELECT at FROM test_clock.clock'`);
  await plain.close();
  url.searchParams.set('search_path', 'test_clock,pg_catalog');
  const db = open(url.href);
  return {
    db,
    async drop() {
      await db.script('DROP SCHEMA test_clock CASCADE');
      await db.close();
      await server?.script(`DROP DATABASE ${name}`);
      await server?.close();
    },
  };
}

const ZONES = ['Europe/Berlin', 'America/New_York', 'Asia/Kathmandu', 'CET'] as const;
const SCOPES: readonly Scope[] = ['reports_read', 'conversation_read'];
const EVERYTHING = {
  scopes: [...SCOPES, 'message_content_read', 'contact_read_pii', 'directory_read'] as readonly Scope[],
  dataAccess: ['message_content', 'pii'] as readonly DataAccess[],
  restrictions: {} as Authority['restrictions'],
};
type Grants = typeof EVERYTHING;

let store: Awaited<ReturnType<typeof testStore>>;
let full: Authority;
let tenant: string;
let conversations: Conversation[];
let results: Result[];
const site = (n: number): string => `web_${tenant}_${n}`;
const at = (moment: string) => store.db.query(sql`UPDATE test_clock.clock SET at = ${moment}::text::timestamptz`);

beforeAll(async () => {
  store = await testStore();
  const digest = createHash('sha256').update(randomUUID()).digest();
  tenant = await seed(store.db, digest, ZONES);
  full = (await loadAuthority(store.db, digest))?.authority ?? expect.fail('no authority');
  conversations = await store.db.query<Conversation>(sql`SELECT c.*, o.name AS operator FROM platform.conversation c
    LEFT JOIN platform.operator o ON o.tenant = c.tenant AND o.site = c.site AND o.id = c.operator_id
    WHERE c.tenant = ${tenant}`);
  results = await store.db.query<Result>(sql`SELECT * FROM platform.ai_result WHERE tenant = ${tenant}`);
}, 60_000);

afterAll(() => store.drop());

/** The call as the corridor makes it: input and output held to the declaration, `slow` apart from the session's pool. */
async function report(input: Record<string, unknown>, grants: Partial<Grants> = {}): Promise<Report> {
  const { scopes, dataAccess, restrictions } = { ...EVERYTHING, ...grants };
  const authority = { ...full, scopes: new Set(scopes), dataAccess: new Set(dataAccess), restrictions };
  const website = authority.websites.get(String(input['website_id'])) ?? expect.fail('not granted');
  const closed: Database = { query: unused, script: unused, close: unused };
  const session = { db: closed, authority, website, verified: false };
  const gateway = { operations: () => [], guides: () => [], guide: () => null };
  const body = await tool.handle({
    input: tool.input.parse(input),
    authority,
    read: openReads(session, store.db),
    gateway,
  });
  expect(session.verified).toBe(true);
  const { data } = tool.output.parse(body) as { data: Report }; // what the schema has just accepted
  return data;
}

const unused = (): never => expect.fail('the fast pool was used');

const refused = async (input: Record<string, unknown>): Promise<unknown> => {
  const error = await report({ website_id: site(1), ...input }).catch((thrown: unknown) => thrown);
  return error instanceof Failure ? { code: error.code, errors: error.details.errors } : error;
};

const nullsOf = (value: unknown, path = ''): string[] =>
  value === null
    ? [path.slice(1)]
    : typeof value === 'object'
      ? Object.entries(value).flatMap(([name, inner]) => nullsOf(inner, `${path}.${name}`))
      : [];

describe('figures', () => {
  it('equal an independent computation over the same rows, whatever the grants, restrictions, range and zone', async () => {
    const ids = (prefix: string, n: number) =>
      fc.subarray([1, 2, 3].map((id) => `${prefix}_${tenant}_${n}_${id}`).concat(`${prefix}_${tenant}_99_1`));
    const scenario = fc.integer({ min: 1, max: ZONES.length }).chain((n) =>
      fc.record({
        n: fc.constant(n),
        now: fc.constantFrom('2026-03-30T10:00:00Z', '2026-03-29T22:30:00Z', '2026-10-26T00:30:00Z', '2026-11-02T04:30:00Z'),
        range: fc.constantFrom(
          {},
          { range: 'today' },
          { range: 'last-7-days' },
          { range: 'last-month' },
          { range: 'date', start: '2026-03-29', end: '2026-03-29' },
          { start: '2026-10-20', end: '2026-11-02' },
        ),
        timezone: fc.option(fc.constantFrom('UTC', 'America/Los_Angeles', 'Pacific/Auckland', 'MET'), { nil: undefined }),
        scopes: fc.subarray([...EVERYTHING.scopes]).map((some) => [...SCOPES, ...some]),
        dataAccess: fc.subarray([...EVERYTHING.dataAccess]),
        restrictions: fc.record(
          { channel_ids: ids('chn', n), team_ids: ids('tem', n), subsite_ids: ids('sst', n) },
          { requiredKeys: [] },
        ),
      }),
    );
    let counted = 0;
    await fc.assert(
      fc.asyncProperty(scenario, async ({ n, now, range, timezone, ...grants }) => {
        await at(now);
        const zone = ZONES[n - 1] ?? '';
        const input = { website_id: site(n), ...range, ...(timezone !== undefined && { timezone }) };
        const actual = await report(input, grants);
        const own = conversations.filter((c) => c.site === String(n));
        const mine = results.filter((r) => r.site === String(n));
        const wanted = expectedReport({ conversations: own, results: mine, now, zone, timezone, range, ...grants });
        const { withheld, website, ...meta } = actual.meta;
        expect({ ...actual, meta }).toEqual(wanted);
        expect(website).toEqual({ id: site(n), name: `Site ${n}` });
        expect(withheld.map(({ path }) => path).sort()).toEqual(nullsOf({ summary: actual.summary }).sort());
        counted += actual.headline.ai_conversations;
      }),
      { numRuns: 200 },
    );
    expect(counted).toBeGreaterThan(1000);
  }, 60_000);

  it('cut a series at 100 labels and say so', async () => {
    await at('2026-06-15T12:00:00Z');
    const { meta, summary } = await report({ website_id: site(5), timezone: 'UTC', range: 'today' });
    expect(meta.truncated).toBe(true);
    expect(summary.series.topics).toHaveLength(100);
    expect(summary.series.topics?.[0]).toEqual(['topic 000', 2]);
    expect(summary.series.topics?.[99]).toEqual(['topic 099', 1]);
    const { meta: without } = await report({ website_id: site(5), timezone: 'UTC', range: 'today' }, { dataAccess: [] });
    expect(without.truncated).toBe(false);
  });
});

describe('days', () => {
  const bounds = async (input: Record<string, unknown>) => {
    const { meta } = await report({ website_id: site(1), ...input });
    return [meta.range, meta.start, meta.end, meta.bucket_time_zone];
  };

  it.each([
    ['2026-01-15T12:00:00Z', { range: 'last-month' }, ['last-month', '2025-12-01', '2025-12-31', 'Europe/Berlin']],
    ['2026-03-31T22:30:00Z', { range: 'last-month' }, ['last-month', '2026-03-01', '2026-03-31', 'Europe/Berlin']],
    ['2028-03-05T12:00:00Z', { range: 'last-month' }, ['last-month', '2028-02-01', '2028-02-29', 'Europe/Berlin']],
    ['2026-01-01T02:00:00Z', { timezone: 'america/new_york' }, ['last-7-days', '2025-12-25', '2025-12-31', 'America/New_York']],
    ['2025-12-31T23:30:00Z', { range: 'today' }, ['today', '2026-01-01', '2026-01-01', 'Europe/Berlin']],
    ['2026-01-15T12:00:00Z', { start: '0001-01-01', end: '0001-01-31' }, ['date', '0001-01-01', '0001-01-31', 'Europe/Berlin']],
    ['2026-01-15T12:00:00Z', { start: '9999-12-31', end: '9999-12-31' }, ['date', '9999-12-31', '9999-12-31', 'Europe/Berlin']],
  ])('at %s, %j', async (now, input, wanted) => {
    await at(now);
    expect(await bounds(input)).toEqual(wanted);
  });

  // Site 6 has one AI conversation at every full and half hour around each change of clocks.
  it.each([
    ['2026-03-29', 'Europe/Berlin', 46, { '01': 2, '02': 0, '03': 2 }],
    ['2026-10-25', 'Europe/Berlin', 50, { '01': 2, '02': 4, '03': 2 }],
    ['2026-03-29', 'CET', 46, { '02': 0 }],
    ['2026-03-08', 'America/New_York', 46, { '02': 0 }],
    ['2026-11-01', 'America/New_York', 50, { '01': 4 }],
    ['2026-11-01', 'America/Havana', 50, { '00': 4 }],
    ['2026-04-24', 'Africa/Cairo', 46, { '00': 0 }],
  ])('%s in %s has %i half hours', async (day, timezone, halves, hours) => {
    const { headline, summary } = await report({ website_id: site(6), start: day, end: day, timezone });
    expect(headline.ai_conversations).toBe(halves);
    expect(summary.series.volume).toEqual([[day, halves]]);
    expect(Object.fromEntries(summary.series.volume_hourly)).toMatchObject(hours);
  });
});

describe('what may not be seen', () => {
  it('is null with its reason, and an accessible nothing is zero or no_data', async () => {
    await at('2020-01-01T00:00:00Z');
    const { headline, summary, meta } = await report({ website_id: site(1) }, { scopes: SCOPES, dataAccess: [] });
    expect(Object.values(headline)).toEqual([0, 0, 0, 0, 0]);
    expect(summary.series.volume).toHaveLength(7);
    expect(summary.metrics).toMatchObject({ message_count: 0, classified_count: null, duration_seconds: null });
    const reasons = Object.fromEntries(meta.withheld.map(({ path, reason }) => [path, reason]));
    expect(reasons).toEqual({
      ...Object.fromEntries(
        `series.topics series.sentiment series.resolution ratings outcomes metrics.classified_count metrics.resolved_count
         metrics.first_contact_count metrics.first_contact_resolved metrics.sentiment_average metrics.confidence_average
         metrics.confidence_count`
          .split(/\s+/)
          .map((path) => [`summary.${path}`, 'message_content']),
      ),
      ...Object.fromEntries(
        ['first_response', 'speed_response', 'average_response', 'duration'].map((name) => [`summary.metrics.${name}_seconds`, 'no_data']),
      ),
      'summary.series.language': 'pii',
      'summary.series.operators': 'directory',
    });
    const seen = await report({ website_id: site(1) });
    expect(seen.summary.metrics).toMatchObject({ classified_count: 0, confidence_count: 0, sentiment_average: null });
    expect(seen.summary.ratings).toEqual([]);
    expect(seen.meta.withheld.find(({ path }) => path.endsWith('sentiment_average'))?.reason).toBe('no_data');
    const half = await report({ website_id: site(1) }, { dataAccess: ['message_content'] });
    expect(half.meta.withheld).toContainEqual({ path: 'summary.series.operators', reason: 'pii' });
  });

  it('is not named by the statement', () => {
    const website = full.websites.get(site(1)) ?? expect.fail('not granted');
    const text = (grants: Partial<Authority>) =>
      compile(reportStatement({ ...full, scopes: new Set(), dataAccess: new Set(), ...grants }, website, { range: 'today' }, undefined)).text;
    const words = (from: string) =>
      ['platform.ai_result', 'rating_label', 'language', 'operator_id', 'platform.operator'].filter((word) => from.includes(word));
    expect(words(text({}))).toEqual([]);
    expect(words(text({ scopes: full.scopes }))).toEqual([]);
    expect(words(text({ scopes: new Set(['contact_read_pii']), dataAccess: new Set(['pii']) }))).toEqual(['language']);
    expect(words(text(full))).toHaveLength(5);
  });

  it('is not read under a stale authority', async () => {
    const stale = { ...full, revision: full.revision + 1 };
    const website = full.websites.get(site(1)) ?? expect.fail('not granted');
    const session = { db: store.db, authority: stale, website, verified: false };
    await expect(openReads(session, store.db).report({})).rejects.toBeInstanceOf(StaleAuthority);
    expect(session.verified).toBe(false);
  });
});

describe('refusals', () => {
  const wrong = (...parameters: string[]) => parameters.map((parameter) => ({ parameter, code: 'invalid_parameter' }));
  const missing = (...parameters: string[]) => parameters.map((parameter) => ({ parameter, code: 'missing' }));

  it.each([
    [{ range: 'date' }, missing('start', 'end')],
    [{ range: 'date', start: '2026-01-01' }, missing('end')],
    [{ end: '2026-01-01' }, missing('start')],
    [{ start: '2026-02-30', end: '2026-13-01' }, wrong('start', 'end')],
    [{ start: '0000-01-01', end: '0000-01-02' }, wrong('start', 'end')],
    [{ start: '2025-02-29', end: '2025-03-01' }, wrong('start')],
    [{ start: '2026-01-02', end: '2026-01-01' }, wrong('end')],
    [{ start: '2026-01-01', end: '2026-02-01' }, wrong('end')],
    [{ range: 'today', start: '2026-01-01', end: '2026-01-01' }, wrong('start', 'end')],
    [{ range: 'last-7-days', end: '2026-01-01' }, wrong('end')],
    ...['Mars/Base', 'Etc/Unknown', '+01', '+0100', 'GMT+5', 'EST5EDT4', 'AST', 'CEST', 'SystemV/EST5', 'localtime', 'Factory', '/', '-'].map(
      (timezone) => [{ timezone }, wrong('timezone')] as const,
    ),
  ])('%j is 400', async (input, errors) => {
    expect(await refused(input)).toEqual({ code: 'invalid_parameter', errors });
  });

  it.each([
    { range: 'year' },
    { start: '2026-1-1' },
    { timezone: '' },
    { timezone: 'Europe/Berlin;' },
    { timezone: 'A'.repeat(101) },
    { zone: 'UTC' },
  ])('%j is refused by the declaration', (input) => {
    expect(tool.input.safeParse({ website_id: site(1), ...input }).success).toBe(false);
  });

  it('answers in every zone that this engine lists, or says 400', async () => {
    for (const timezone of [...Intl.supportedValuesOf('timeZone'), 'UTC', 'GMT', 'Europe/Kyiv', 'US/Pacific', 'Zulu', 'EST']) {
      const outcome = await refused({ timezone });
      if (outcome instanceof Error) expect.fail(`${timezone}: ${outcome.message}`);
    }
  }, 30_000);

  it('asks for a time zone where PostgreSQL does not know the website’s own', async () => {
    expect(await refused({ website_id: site(7) })).toEqual({ code: 'invalid_parameter', errors: missing('timezone') });
    expect((await report({ website_id: site(7), timezone: 'UTC' })).meta.time_zone).toBe('Mars/Base');
  });
});
