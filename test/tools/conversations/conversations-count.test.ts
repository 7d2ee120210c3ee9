import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Grant } from '../../support/credentials.ts';
import { openTestGateway, type TestGateway } from '../../support/gateway.ts';
import { generator, pickFrom } from '../../support/random.ts';

/** The counts are compared with counts that the test makes from the planted conversations. */
interface Planted {
  readonly site: number;
  readonly id: number;
  readonly status: string;
  readonly disposition: string | null;
  readonly language: string | null;
  readonly team_id: number | null;
  readonly operator_id: number | null;
  readonly channel_id: number | null;
  readonly contacts: readonly number[];
  readonly created_at: Date;
}

const ZONES = ['Europe/Berlin', 'America/Havana', 'CET'];
/** The contact 5 is deleted, so no group has the contact 5. */
const DELETED = 5;
let gateway: TestGateway;
let planted: Planted[];

beforeAll(async () => {
  gateway = await openTestGateway('empty');
  const { sql } = gateway.database;
  const draw = generator(20);
  const maybe = (most: number): number | null => (draw() < 0.2 ? null : 1 + Math.floor(draw() * most));
  planted = ZONES.flatMap((_, i) =>
    Array.from({ length: 400 }, (_unused, n): Planted => {
      const contacts = [maybe(6), maybe(6)].filter((one) => one !== null);
      return {
        site: i + 1,
        id: n + 1,
        status: pickFrom(['closed', 'assigned', 'pending', 'unassigned'], draw),
        disposition: pickFrom(['sold', 'refund', 'ä', null], draw),
        language: pickFrom(['de', 'en', null], draw),
        ...{ team_id: maybe(3), operator_id: maybe(4), channel_id: maybe(2), contacts: [...new Set(contacts)] },
        // 150 days around the change to winter time, with many conversations close to midnight.
        created_at: new Date(
          Date.UTC(2026, 8, 1) + Math.floor(draw() * 150 * 24) * 3_600_000 + pickFrom([0, 59, 3_599], draw) * 1_000,
        ),
      };
    }),
  );
  await sql`INSERT INTO platform.organization (tenant, external_id, name) VALUES (1, 'o', 'o')`;
  for (const [i, zone] of ZONES.entries()) {
    const own = { tenant: 1, site: i + 1 };
    const named = (id: number) => ({ ...own, id, external_id: `${i}-${id}`, name: `n${i + 1}-${id}` });
    await sql`INSERT INTO platform.website ${sql({ ...own, external_id: zone, name: zone, time_zone: zone })}`;
    await sql`INSERT INTO platform.team ${sql([1, 2, 3].map(named))}`;
    await sql`INSERT INTO platform.channel ${sql([1, 2].map((id) => ({ ...named(id), platform: 'chat' })))}`;
    await sql`INSERT INTO platform.operator ${sql([1, 2, 3, 4].map((id) => ({ ...named(id), role: 'operator' })))}`;
    await sql`INSERT INTO platform.contact ${sql([1, 2, 3, 4, 5, 6].map((id) => ({ ...named(id), deleted: id === DELETED, created_at: new Date() })))}`;
  }
  for (const { contacts, ...row } of planted) {
    const { site, id, created_at } = row;
    const more = { tenant: 1, external_id: `${site}-${id}`, platform: 'chat', updated_at: created_at };
    await sql`INSERT INTO platform.conversation ${sql({ ...row, ...more })}`;
    for (const contact_id of contacts)
      await sql`INSERT INTO platform.conversation_contact ${sql({ tenant: 1, site, conversation_id: id, contact_id })}`;
  }
});
afterAll(() => gateway.close());

const zoneOf = (row: Planted, timezone?: string): string => timezone ?? ZONES[row.site - 1] ?? '';
const formats = new Map<string, Intl.DateTimeFormat>();
function dayOf(row: Planted, timezone?: string): string {
  const zone = zoneOf(row, timezone);
  const format = formats.get(zone) ?? new Intl.DateTimeFormat('sv-SE', { timeZone: zone, dateStyle: 'short' });
  formats.set(zone, format);
  return format.format(row.created_at);
}

const idOf = (prefix: string, { site }: Planted, id: number | null | undefined): string | null =>
  id === null || id === undefined ? null : `${prefix}_1_${site}_${id}`;
const KEYS: Readonly<Record<string, (row: Planted, timezone?: string) => readonly [string, string | null]>> = {
  status: ({ status }) => ['status', status],
  disposition: ({ disposition }) => ['disposition', disposition],
  language: ({ language }) => ['language', language],
  team: (row) => ['team_id', idOf('tem', row, row.team_id)],
  operator: (row) => ['operator_id', idOf('opr', row, row.operator_id)],
  channel: (row) => ['channel_id', idOf('chn', row, row.channel_id)],
  contact: (row) => ['contact_id', idOf('ctc', row, row.contacts.filter((one) => one !== DELETED).sort()[0])],
  day: (row, timezone) => ['day', dayOf(row, timezone)],
  website: ({ site }) => ['website_id', `web_1_${site}`],
};
const GROUPS = Object.keys(KEYS);

interface Counted {
  readonly total: number;
  readonly groups: readonly {
    readonly key: Readonly<Record<string, string | null>>;
    readonly count: number;
    readonly name?: string | null;
  }[];
  readonly other: number;
  readonly timezone: string | null;
}

async function count(query: string, grant: Grant = {}): Promise<Counted> {
  const { token } = await gateway.issue(grant);
  const { status, body, text } = await gateway.ask(`/api/v1/conversations/count${query}`, { token });
  expect(status, text).toBe(200);
  return body.data;
}

const text = (key: Readonly<Record<string, string | null>>): string =>
  JSON.stringify(Object.entries(key).sort(([a], [b]) => (a < b ? -1 : 1)));

const NAMED = /^(?:tem|opr|chn|ctc)_1_(\d)_(\d)$/;
/** The names that the keys of a group must have, in the order of the groups in the answer. */
function nameOf(key: Readonly<Record<string, string | null>>): string | null {
  const names = Object.values(key).flatMap((id) => {
    const [, site, number] = NAMED.exec(id ?? '') ?? [];
    if (site !== undefined) return [`n${site}-${number}`];
    const [, website] = /^web_1_(\d)$/.exec(id ?? '') ?? [];
    return website === undefined ? [] : [ZONES[Number(website) - 1]];
  });
  return names.join(' / ') || null;
}

/** Checks an answer with groups. The order of groups with equal counts is not checked. */
function same(answer: Counted, rows: readonly Planted[], by: readonly string[], timezone?: string): void {
  const expected = new Map<string, number>();
  for (const row of rows) {
    const key = text(Object.fromEntries(by.map((name) => KEYS[name]?.(row, timezone) ?? expect.fail(name))));
    expected.set(key, (expected.get(key) ?? 0) + 1);
  }
  const { total, groups, other } = answer;
  expect(total).toBe(rows.length);
  expect(groups).toHaveLength(Math.min(100, expected.size));
  expect(new Set(groups.map(({ key }) => text(key))).size).toBe(groups.length);
  for (const { key, count: n, name } of groups) {
    expect(n, text(key)).toBe(expected.get(text(key)));
    const isNamed = Object.keys(key).some((member) => member.endsWith('_id'));
    expect(name, text(key)).toBe(isNamed ? nameOf(key) : undefined);
  }
  expect(groups.reduce((sum, one) => sum + one.count, other)).toBe(total);
  const counts = groups.map((one) => one.count);
  if (by.includes('day')) {
    const days = groups.map(({ key }) => key['day'] ?? '');
    expect(days).toEqual([...days].sort());
  } else {
    expect(counts).toEqual([...counts].sort((a, b) => b - a));
    expect(Math.min(...counts)).toBeGreaterThanOrEqual(
      [...expected.values()].sort((a, b) => b - a)[counts.length - 1] ?? 0,
    );
  }
}

describe('conversations_count', () => {
  it('every group and every pair of groups, on one website and on all granted websites', async () => {
    const pairs = GROUPS.flatMap((one, i) => [[one], ...GROUPS.slice(i + 1).map((other) => [other, one])]);
    for (const by of pairs) {
      const on = await count(`?website_id=web_1_2&group_by=${by}`);
      same(
        on,
        planted.filter(({ site }) => site === 2),
        by,
      );
      expect(on.timezone).toBe('America/Havana');
      const all = await count(`?group_by=${by}`, { websites: ['web_1_1', 'web_1_3'] });
      same(
        all,
        planted.filter(({ site }) => site !== 2),
        by,
      );
      expect(all.timezone).toBeNull();
    }
    expect(pairs).toHaveLength(45);
  });

  it('filters select as in conversations_list, and an id names its website', async () => {
    const at = '2026-10-20T00:00:00Z';
    const filters: [string, (row: Planted) => boolean][] = [
      ['status=closed,pending', ({ status }) => ['closed', 'pending'].includes(status)],
      ['disposition=%C3%A4', ({ disposition }) => disposition === 'ä'],
      ['platform=email', () => false],
      ['team_id=tem_1_2_1', ({ site, team_id }) => site === 2 && team_id === 1],
      ['operator_id=opr_1_2_1', ({ site, operator_id }) => site === 2 && operator_id === 1],
      ['operator_id=none', ({ operator_id }) => operator_id === null],
      ['team_id=none&status=closed', (row) => row.team_id === null && row.status === 'closed'],
      ['website_id=web_1_3&team_id=none&operator_id=none', (row) => row.site === 3 && !row.team_id && !row.operator_id],
      ['created_from=2026-11-01&timezone=America/Havana', (row) => dayOf(row, 'America/Havana') >= '2026-11-01'],
      ['created_to=2026-11-01&timezone=Pacific/Auckland', (row) => dayOf(row, 'Pacific/Auckland') <= '2026-11-01'],
      ['created_from=2026-10-25&created_to=2026-10-25&timezone=cet', (row) => dayOf(row, 'CET') === '2026-10-25'],
      [
        'channel_id=chn_1_2_1&status=closed',
        (row) => row.site === 2 && row.channel_id === 1 && row.status === 'closed',
      ],
      ['contact_id=ctc_1_2_1', ({ site, contacts }) => site === 2 && contacts.includes(1)],
      [`created_from=${at}`, ({ created_at }) => created_at >= new Date(at)],
      [
        `created_to=${at}&updated_since=2026-10-01T00:00:00Z`,
        ({ created_at }) => created_at < new Date(at) && created_at >= new Date('2026-10-01'),
      ],
    ];
    for (const [query, holds] of filters) {
      const answer = await count(`?${query}`);
      const total = planted.filter(holds).length;
      expect(answer, query).toMatchObject({ total, groups: [], other: total });
    }
    const of = await count('?contact_id=ctc_1_2_1&group_by=contact');
    expect(of.groups).toEqual([{ key: { contact_id: 'ctc_1_2_1' }, name: 'n2-1', count: of.total }]);
    expect((await count('?team_id=tem_1_2_1')).timezone).toBe('America/Havana');
  });

  it('local days by each website’s own time zone, or by the given one', async () => {
    for (const [from, to] of [
      ['2026-10-25', '2026-10-25'],
      ['2026-11-01', '2026-11-01'],
      ['2026-10-01', '2026-10-31'],
    ] as const) {
      for (const timezone of [undefined, 'UTC', 'America/Havana', 'cet', 'Pacific/Auckland']) {
        const query = `?from=${from}&to=${to}&group_by=day,status${timezone === undefined ? '' : `&timezone=${timezone}`}`;
        const inside = (row: Planted): boolean => dayOf(row, timezone) >= from && dayOf(row, timezone) <= to;
        const answer = await count(query);
        same(answer, planted.filter(inside), ['day', 'status'], timezone);
        expect(answer.timezone?.toLowerCase()).toBe(timezone?.toLowerCase());
      }
    }
    const open = planted.filter((row) => dayOf(row) >= '2026-12-01').length;
    expect((await count('?from=2026-12-01')).total).toBe(open);
    expect((await count('?to=2026-11-30')).total).toBe(planted.length - open);
    expect((await count('?from=0001-01-01&to=9999-12-31')).total).toBe(planted.length);
  });

  it('more than 100 groups: the largest, or the first days; other is the rest', async () => {
    const days = await count('?website_id=web_1_1&group_by=day');
    const first = [...new Set(planted.filter(({ site }) => site === 1).map((row) => dayOf(row)))].sort().slice(0, 100);
    expect(days.groups.map(({ key }) => key['day'])).toEqual(first);
    expect(days.other).toBeGreaterThan(0);
    const three = await count('?group_by=operator&limit=3');
    const all = await count('?group_by=operator');
    expect(three.groups).toEqual(all.groups.slice(0, 3));
    expect(three.total).toBe(all.total);
    expect(three.other).toBe(all.total - three.groups.reduce((sum, one) => sum + one.count, 0));
  });

  it('restrictions hide conversations before they are counted, on each website its own', async () => {
    const cases: [Grant, (row: Planted) => boolean][] = [
      [
        { teams: ['tem_1_1_1', 'tem_1_2_3'] },
        ({ site, team_id }) => (site === 1 && team_id === 1) || (site === 2 && team_id === 3),
      ],
      [
        { channels: ['chn_1_3_1'], teams: ['tem_1_3_1', 'tem_1_3_2'] },
        (row) => row.site === 3 && row.channel_id === 1 && [1, 2].includes(row.team_id ?? 0),
      ],
      [{ channels: [] }, () => false],
      [{ websites: [] }, () => false],
    ];
    for (const [grant, holds] of cases) {
      for (const by of [['status'], ['team', 'operator'], ['contact', 'day'], ['website']])
        same(await count(`?group_by=${by}`, grant), planted.filter(holds), by);
      const some = planted.filter((row) => row.site === 2 && holds(row));
      if (grant.websites === undefined) expect((await count('?website_id=web_1_2', grant)).total).toBe(some.length);
    }
  });

  it('costs 2 units, and 5 with group_by', async () => {
    const { token } = await gateway.issue({ perMinute: 1, burst: 100 });
    const left = async (query: string): Promise<number> => {
      const { headers } = await gateway.ask(`/api/v1/conversations/count${query}`, { token });
      return Number(/r=(\d+)/.exec(String(headers['ratelimit']))?.[1]);
    };
    const before = await left('');
    const plain = await left('');
    const grouped = await left('?group_by=status');
    const refused = await left('?group_by=nonsense');
    expect([before - plain, plain - grouped, grouped - refused]).toEqual([2, 5, 5]);
  });

  it('bad values are 400 and say what is accepted', async () => {
    const { token } = await gateway.issue();
    for (const query of [
      ...[
        'group_by=',
        'group_by=status,status',
        'group_by=status,team,day',
        'group_by=status,',
        'group_by=Status',
        'group_by=subject',
      ],
      ...[
        'from=2026-02-30',
        'to=2026-13-01',
        'from=2026-11-02&to=2026-11-01',
        'timezone=Mars/Base',
        'timezone=AST',
        'from=0000-01-01',
      ],
      ...[
        'disposition=',
        'limit=0',
        'limit=101',
        'query=x',
        'team_id=None',
        'operator_id=',
        'created_from=2026-02-30',
        'created_from=2026-02-28',
      ],
    ]) {
      const { status, body } = await gateway.ask(`/api/v1/conversations/count?${query}`, { token });
      expect([status, body.errors?.length], query).toEqual([400, 1]);
      expect(body.errors[0].expected.length, query).toBeGreaterThan(5);
    }
  });
});
