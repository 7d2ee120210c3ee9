import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Authority } from '../../../src/core/authority.ts';
import { Failure } from '../../../src/core/failures.ts';
import { compile } from '../../../src/core/sql.ts';
import { Caller } from '../../../src/store/calls/caller.ts';
import { StaleAuthority } from '../../../src/store/calls/guard.ts';
import { openReads } from '../../../src/store/calls/reads.ts';
import { reportJoin } from '../../../src/store/calls/report-sql.ts';
import tool from '../../../tools/reporting/ai-conversation-summary.ts';
import { expectedReport } from '../../support/report/oracle.ts';
import { EVERYTHING, openReports, type Reports, SCOPES, ZONES } from '../../support/report/report.ts';

let store: Reports;
const site: Reports['site'] = (n) => store.site(n);
const report: Reports['report'] = (input, grants) => store.report(input, grants);

beforeAll(async () => {
  store = await openReports();
});
afterAll(() => store.close());

const refused = async (input: Record<string, unknown>): Promise<unknown> => {
  const error = await report({ website_id: site(1), ...input }).catch((thrown: unknown) => thrown);
  return error instanceof Failure ? { code: error.code, errors: error.details.errors } : error;
};

const nullsOf = (value: unknown, path = ''): string[] => {
  if (value === null) return [path.slice(1)];
  if (typeof value !== 'object') return [];
  return Object.entries(value).flatMap(([name, inner]) => nullsOf(inner, `${path}.${name}`));
};

describe('figures', () => {
  it('equal an independent computation, whatever the grants, restrictions, range and zone', async () => {
    const ids = (prefix: string, n: number) =>
      fc.subarray([`${prefix}_${store.tenant}_99_1`, ...[1, 2, 3].map((id) => `${prefix}_${store.tenant}_${n}_${id}`)]);
    const scenario = fc.integer({ min: 1, max: ZONES.length }).chain((n) =>
      fc.record({
        n: fc.constant(n),
        now: fc.constantFrom(
          '2026-03-30T10:00:00Z',
          '2026-03-29T22:30:00Z',
          '2026-10-26T00:30:00Z',
          '2026-11-02T04:30:00Z',
        ),
        range: fc.constantFrom(
          {},
          { range: 'today' },
          { range: 'last-7-days' },
          { range: 'last-month' },
          { range: 'date', start: '2026-03-29', end: '2026-03-29' },
          { start: '2026-10-20', end: '2026-11-02' },
        ),
        timezone: fc.option(fc.constantFrom('UTC', 'America/Los_Angeles', 'Pacific/Auckland', 'MET'), {
          nil: undefined,
        }),
        scopes: fc.subarray([...EVERYTHING.scopes]).map((some) => [...SCOPES, ...some]),
        dataAccess: fc.subarray([...EVERYTHING.dataAccess]),
        restrictions: fc.oneof(
          fc.constant({}),
          fc.record({ channel_ids: ids('chn', n) }),
          fc.record(
            { channel_ids: ids('chn', n), team_ids: ids('tem', n), subsite_ids: ids('sst', n) },
            { requiredKeys: [] },
          ),
        ),
      }),
    );
    let counted = 0;
    await fc.assert(
      fc.asyncProperty(scenario, async ({ n, now, range, timezone, ...grants }) => {
        await store.setClock(now);
        const zone = ZONES[n - 1] ?? '';
        const input = { website_id: site(n), ...range, ...(timezone !== undefined && { timezone }) };
        const actual = await report(input, grants);
        const own = store.conversations.filter((c) => c.site === String(n));
        const mine = store.results.filter((r) => r.site === String(n));
        const wanted = expectedReport({ conversations: own, results: mine, now, zone, timezone, range, ...grants });
        const { withheld, website, ...meta } = actual.meta;
        expect({ ...actual, meta }).toEqual(wanted);
        expect(website).toEqual({ id: site(n), name: `Site ${n}` });
        expect(withheld.map(({ path }) => path).sort()).toEqual(nullsOf({ summary: actual.summary }).sort());
        counted += actual.headline.ai_conversations;
      }),
      { numRuns: 150 },
    );
    expect(counted).toBeGreaterThan(1000);
  });

  it('cut a series at 100 labels and say so', async () => {
    await store.setClock('2026-06-15T12:00:00Z');
    const { meta, summary } = await report({ website_id: site(5), timezone: 'UTC', range: 'today' });
    expect(meta.truncated).toBe(true);
    expect(summary.series.topics).toHaveLength(100);
    expect(summary.series.topics?.[0]).toEqual(['topic 000', 2]);
    expect(summary.series.topics?.[99]).toEqual(['topic 099', 1]);
    const { meta: without } = await report(
      { website_id: site(5), timezone: 'UTC', range: 'today' },
      { dataAccess: [] },
    );
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
    [
      '2026-01-01T02:00:00Z',
      { timezone: 'america/new_york' },
      ['last-7-days', '2025-12-25', '2025-12-31', 'America/New_York'],
    ],
    ['2025-12-31T23:30:00Z', { range: 'today' }, ['today', '2026-01-01', '2026-01-01', 'Europe/Berlin']],
    [
      '2026-01-15T12:00:00Z',
      { start: '0001-01-01', end: '0001-01-31' },
      ['date', '0001-01-01', '0001-01-31', 'Europe/Berlin'],
    ],
    [
      '2026-01-15T12:00:00Z',
      { start: '9999-12-31', end: '9999-12-31' },
      ['date', '9999-12-31', '9999-12-31', 'Europe/Berlin'],
    ],
  ])('at %s, %j', async (now, input, wanted) => {
    await store.setClock(now);
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
    await store.setClock('2020-01-01T00:00:00Z');
    const { headline, summary, meta } = await report({ website_id: site(1) }, { scopes: SCOPES, dataAccess: [] });
    expect(Object.values(headline)).toEqual([0, 0, 0, 0, 0]);
    expect(summary.series.volume).toHaveLength(7);
    expect(summary.metrics).toMatchObject({ message_count: 0, classified_count: null, duration_seconds: null });
    const reasons = Object.fromEntries(meta.withheld.map(({ path, reason }) => [path, reason]));
    expect(reasons).toEqual({
      ...Object.fromEntries(
        `series.topics series.sentiment series.resolution ratings outcomes
         metrics.classified_count metrics.resolved_count
         metrics.first_contact_count metrics.first_contact_resolved metrics.sentiment_average metrics.confidence_average
         metrics.confidence_count`
          .split(/\s+/)
          .map((path) => [`summary.${path}`, 'message_content']),
      ),
      ...Object.fromEntries(
        ['first_response', 'speed_response', 'average_response', 'duration'].map((name) => [
          `summary.metrics.${name}_seconds`,
          'no_data',
        ]),
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
    const website = store.full.websites.get(site(1)) ?? expect.fail('not granted');
    const text = (grants: Partial<Authority>) =>
      compile(
        reportJoin(
          { ...store.full, scopes: new Set(), dataAccess: new Set(), ...grants },
          website,
          { range: 'today' },
          undefined,
        ),
      ).text;
    const words = (from: string) =>
      ['platform.ai_result', 'rating_label', 'language', 'operator_id', 'platform.operator'].filter((word) =>
        from.includes(word),
      );
    expect(words(text({}))).toEqual([]);
    expect(words(text({ scopes: store.full.scopes }))).toEqual([]);
    expect(words(text({ scopes: new Set(['contact_read_pii']), dataAccess: new Set(['pii']) }))).toEqual(['language']);
    expect(words(text(store.full))).toHaveLength(5);
  });

  it('is not read under a stale authority', async () => {
    const stale = { ...store.full, revision: store.full.revision + 1 };
    const website = store.full.websites.get(site(1)) ?? expect.fail('not granted');
    const caller = new Caller(stale);
    const read = openReads(caller, { db: store.db, authority: stale, website }, store.db);
    await expect(read.report({})).rejects.toBeInstanceOf(StaleAuthority);
    expect(caller.proved).toBe(false);
  });
});

describe('refusals', () => {
  const expected = expect.stringMatching(/^(a date such as |no day|a day from start|an IANA time zone such as )/);
  const wrong = (...parameters: string[]) =>
    parameters.map((parameter) => ({ parameter, code: 'invalid_parameter', expected }));
  const missing = (...parameters: string[]) =>
    parameters.map((parameter) => ({ parameter, code: 'missing', expected }));

  it.each<[Record<string, unknown>, unknown[]]>([
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
    ...[
      'Mars/Base',
      'Etc/Unknown',
      '+01',
      '+0100',
      'GMT+5',
      'EST5EDT4',
      'AST',
      'CEST',
      'SystemV/EST5',
      'localtime',
      'Factory',
      '/',
      '-',
    ].map((timezone): [Record<string, unknown>, unknown[]] => [{ timezone }, wrong('timezone')]),
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
    for (const timezone of [
      ...Intl.supportedValuesOf('timeZone'),
      'UTC',
      'GMT',
      'Europe/Kyiv',
      'US/Pacific',
      'Zulu',
      'EST',
    ]) {
      const outcome = await refused({ timezone });
      if (outcome instanceof Error) expect.fail(`${timezone}: ${outcome.message}`);
    }
  });

  it('asks for a time zone where PostgreSQL does not know the website’s own', async () => {
    expect(await refused({ website_id: site(7) })).toEqual({ code: 'invalid_parameter', errors: missing('timezone') });
    expect((await report({ website_id: site(7), timezone: 'UTC' })).meta.time_zone).toBe('Mars/Base');
  });
});
