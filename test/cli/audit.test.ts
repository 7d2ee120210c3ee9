import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest';
import { cliDatabase, type Document, demoApp, document, gateway, issue, parse, refused, text } from '../support/cli.ts';
import { main, shellEnvironment, urlOf } from '../support/command.ts';
import type { TestDatabase } from '../support/database.ts';
import { PLANTED_DIGEST, type PlantedRecord, plantAudit } from '../support/planted-audit.ts';

let database: TestDatabase;
let organization: string;
let own: { app: string; credential: string };
let person: string;
let ids: string[];

const DAY = 86_400_000;
const at = (ms: number): string => new Date(Math.floor(Date.now() / DAY) * DAY - DAY + ms).toISOString();
const RANGE = ['--from', at(0), '--to', at(DAY)];
const ELSEWHERE = `org_${'e'.repeat(32)}`;

beforeAll(async () => {
  database = await cliDatabase('demo');
  const { app, installation } = await demoApp();
  own = { app, credential: text(await issue(installation), 'credential_id') };
  const [org] = await database.sql<
    { public_id: string }[]
  >`SELECT public_id FROM platform.organization WHERE tenant = 1`;
  organization = org?.public_id ?? '';
  const [made] = await database.sql<{ id: string }[]>`
    INSERT INTO gateway.person (id, tenant, email, role) VALUES (${`prs_${'a'.repeat(32)}`}, 1, 'ada@example.com', 'owner') RETURNING id`;
  person = made?.id ?? '';
  const by = { app_id: own.app, credential_id: own.credential, organization_id: organization };
  const planted: readonly PlantedRecord[] = [
    {
      ...by,
      time: at(9_000),
      targets: ['ctc_1_1_89'],
      address: '203.0.113.0/24',
      request_id: 'r-0',
      client_name: 'd\u202ek',
    },
    { ...by, time: at(8_000), targets: ['ctc_1_1_89'], outcome: 'not_found', status: 404, address: '2001:db8::1' },
    {
      ...by,
      time: at(7_000),
      operation: 'visitor_note_add',
      targets: ['vis_1_1_96', 'ctc_1_1_89'],
      operation_id: 'op_1',
    },
    { time: at(6_000), organization_id: organization, surface: 'page', person_id: person, targets: ['ctc_1_1_89'] },
    {
      time: at(5_000),
      organization_id: organization,
      surface: 'cli',
      operation: 'credential revoke',
      targets: ['crd_1'],
    },
    {
      time: at(4_000),
      organization_id: ELSEWHERE,
      credential_id: `crd_${'b'.repeat(32)}`,
      website_id: 'web_9_1',
      count: 3,
    },
    { ...by, time: at(3_000), operation: 'conversations_list', website_id: 'web_1_1', count: 25 },
    {
      time: at(2_000),
      organization_id: organization,
      operation: 'lost',
      count: 7,
      outcome: 'service_unavailable',
      status: 503,
    },
  ];
  ids = await plantAudit(database, planted);
});
afterAll(() => database.close());

const found = async (...argv: string[]): Promise<unknown[]> => {
  const { records } = await document('audit', 'list', ...RANGE, ...argv);
  if (!Array.isArray(records)) throw new Error('no records');
  return records.map(({ audit_id }) => audit_id);
};
const lines = async (...argv: string[]): Promise<Document[]> => {
  const { code, stdout, stderr } = await gateway('audit', 'export', ...RANGE, ...argv);
  expect([code, stderr]).toEqual([0, '']);
  return stdout.split('\n').filter(Boolean).map(parse);
};

describe('audit list', () => {
  it('lists the records of all organizations, newest first', async () => {
    expect(await found()).toEqual(ids);
    expect(await found('--limit', '2')).toEqual(ids.slice(0, 2));
  });

  it.each<[name: string, argv: () => string[], expected: number[]]>([
    ['organization', () => ['--organization', 'larkspur'], [0, 1, 2, 3, 4, 6, 7]],
    ['app', () => ['--app', own.app], [0, 1, 2, 6]],
    ['credential', () => ['--credential', own.credential, '--outcome', 'ok'], [0, 2, 6]],
    ['person', () => ['--person', 'ada@example.com'], [3]],
    ['operation', () => ['--operation', 'lost'], [7]],
    ['target', () => ['--target', 'ctc_1_1_89'], [0, 1, 2, 3]],
    ['target and credential', () => ['--target', 'ctc_1_1_89', '--credential', own.credential], [0, 1, 2]],
    ['website as target', () => ['--target', 'web_9_1'], [5]],
    ['target of a command', () => ['--target', 'crd_1'], [4]],
    ['outcome', () => ['--outcome', 'not_found'], [1]],
    ['surface', () => ['--surface', 'page'], [3]],
    ['from and to', () => ['--from', at(3_000), '--to', at(5_000)], [5, 6]],
    ['nothing that there is', () => ['--operation', 'none_such', '--target', 'ctc_1_1_89'], []],
  ])('filters by %s', async (_, argv, expected) => {
    expect(await found(...argv())).toEqual(expected.map((i) => ids[i]));
  });

  it('shows a table without control characters', async () => {
    const { stdout } = await gateway('audit', 'list', ...RANGE, '--limit', '1');
    expect(stdout).toMatch(/^TIME +ORGANIZATION +WHO +SURFACE +OPERATION +TARGETS +OUTCOME +ADDRESS\n/);
    expect(stdout).toContain(`${own.credential}  rest     contact_get  ctc_1_1_89  ok 200   203.0.113.0/24`);
    expect(await gateway('audit', 'list', ...RANGE, '--operation', 'none_such')).toMatchObject({
      stdout: 'There is no such record.\n',
    });
  });

  it('refuses what it does not know', async () => {
    expect(await gateway('audit', 'list', '--organization', 'nowhere')).toEqual(refused('no organization "nowhere"'));
    expect(await gateway('audit', 'list', '--surface', 'fax')).toEqual(refused('rest, mcp, a2a, page, cli', 2));
    expect(await gateway('audit', 'list', '--target', "x' OR 1=1")).toEqual(refused('such as contact_get or', 2));
    expect(await gateway('audit', 'list', '--from', 'yesterday')).toEqual(refused('RFC 3339', 2));
    expect(await gateway('audit', 'list', '--limit', '0')).toEqual(refused('from 1 to 1000000', 2));
  });
});

/** The attributes that schema 1.8.0 of OCSF requires, by the path of their object. From its files, as docs/audit.md says. */
const REQUIRED: Readonly<Record<string, readonly string[]>> = {
  '': [
    ...['activity_id', 'category_uid', 'class_uid', 'metadata', 'severity_id', 'time', 'type_uid'],
    ...['actor', 'api', 'src_endpoint'],
  ],
  metadata: ['product', 'version'],
  api: ['operation'],
  'api.request': ['uid'],
  http_response: ['code'],
};
/** Of these attributes each object needs one. */
const ONE_OF: Readonly<Record<string, readonly string[]>> = {
  actor: ['process', 'user', 'invoked_by', 'session', 'app_name', 'app_uid'],
  'actor.user': ['account', 'name', 'uid'],
  src_endpoint: [
    'ip',
    'uid',
    'name',
    'hostname',
    'svc_name',
    'instance_uid',
    'interface_uid',
    'interface_name',
    'domain',
  ],
  'metadata.product': ['name', 'uid'],
  'resources.0': ['name', 'uid'],
};

const inside = (event: unknown, path: string): unknown =>
  path === '' ? event : path.split('.').reduce<unknown>((from, step) => Object(from)[step], event);

/** What an event of API Activity lacks. */
function lacking(event: Document): string[] {
  const missing = Object.entries(REQUIRED).flatMap(([path, names]) => {
    const object = inside(event, path);
    if (object === undefined) return [];
    return names.filter((name) => Object(object)[name] === undefined).map((name) => `${path} ${name}`);
  });
  const none = Object.entries(ONE_OF).filter(([path, names]) => {
    const object = inside(event, path);
    return object !== undefined && !names.some((name) => Object(object)[name] !== undefined);
  });
  return [...missing, ...none.map(([path]) => path)];
}

describe('audit export', () => {
  it('writes what audit_list has, oldest first for each organization', async () => {
    const exported = await lines();
    const before = [7, 6, 4, 3, 2, 1, 0].map((i) => ids[i]);
    const groups = [before, [ids[5]]];
    if (ELSEWHERE < organization) groups.reverse();
    expect(exported.map(({ audit_id }) => audit_id)).toEqual(groups.flat());
    const { records } = await document('audit', 'list', ...RANGE);
    expect(exported).toEqual(expect.arrayContaining(Array.isArray(records) ? records : []));
    expect(JSON.stringify(exported)).not.toContain(PLANTED_DIGEST.toString('hex'));
    expect((await lines('--app', own.app, '--outcome', 'not_found')).map(({ audit_id }) => audit_id)).toEqual([ids[1]]);
  });

  it('writes events of API Activity with every attribute that the schema requires', async () => {
    const events = await lines('--format', 'ocsf');
    expect(events).toHaveLength(ids.length);
    for (const event of events) {
      expect(lacking(event)).toEqual([]);
      expect(event).toMatchObject({ category_uid: 6, class_uid: 6003, severity_id: 1 });
      expect(event['type_uid']).toBe(600_300 + Number(event['activity_id']));
      expect(Number.isInteger(event['time'])).toBe(true);
    }
    const of = (i: number) => events.find((event) => inside(event, 'metadata.uid') === ids[i]);
    expect(of(0)).toMatchObject({
      ...{ activity_id: 2, time: Date.parse(at(9_000)), status_id: 1, status_code: 'ok' },
      metadata: { version: '1.8.0', tenant_uid: organization, correlation_uid: 'r-0' },
      ...{ actor: { app_uid: own.credential }, api: { operation: 'contact_get', request: { uid: 'r-0' } } },
      ...{ src_endpoint: { name: '203.0.113.0/24' }, http_response: { code: 200 } },
      resources: [{ uid: 'ctc_1_1_89', type: 'ctc' }],
    });
    expect(of(1)).toMatchObject({ status_id: 2, status_code: 'not_found', src_endpoint: { ip: '2001:db8::1' } });
    expect(of(2)).toMatchObject({ activity_id: 1, unmapped: { operation_id: 'op_1', replayed: false } });
    expect(of(3)).toMatchObject({ actor: { user: { uid: person } }, unmapped: { surface: 'page' } });
    expect(of(4)).toMatchObject({ activity_id: 4 });
    expect(of(7)).toMatchObject({ activity_id: 99, activity_name: 'Other' });
    const { actor: _, ...broken } = events[0] ?? {};
    expect(lacking({ ...broken, src_endpoint: {} })).toEqual([' actor', 'src_endpoint']);
  });

  it('needs a range', async () => {
    expect(await gateway('audit', 'export', '--from', at(0))).toEqual(refused('--to <TIME>', 2));
    for (const name of ['export', 'list'])
      expect(await gateway('audit', name, '--from', at(9_000), '--to', at(0))).toEqual(
        refused('must be after that of'),
      );
    expect(await gateway('audit', 'export', ...RANGE, '--format', 'csv')).toEqual(refused('ndjson, ocsf', 2));
  });
});

describe('audit readers', () => {
  it('names the apps and people whose calls named the record, and what they could not read', async () => {
    const { readers } = await document('audit', 'readers', 'ctc_1_1_89');
    expect(readers).toEqual([
      {
        ...{ organization_id: organization, app_id: own.app, app_name: 'Test agent', credential_id: own.credential },
        ...{ person_id: null, email: null, calls: 2, failed: 1, first_at: at(7_000), last_at: at(9_000) },
      },
      {
        ...{ organization_id: organization, app_id: null, app_name: null, credential_id: null },
        ...{
          person_id: person,
          email: 'ada@example.com',
          calls: 1,
          failed: 0,
          first_at: at(6_000),
          last_at: at(6_000),
        },
      },
    ]);
    const { stdout } = await gateway('audit', 'readers', 'ctc_1_1_89', '--organization', 'larkspur');
    expect(stdout).toMatch(/Test agent +crd_\w+ +2 +1 /);
    expect(stdout).toMatch(/ada@example.com +1 +0 /);
    expect((await gateway('audit', 'readers', 'crd_1')).stdout).toMatch(/the command line +1 +0 /);
    expect((await gateway('audit', 'readers', 'ctc_1_1_4711')).stdout).toBe('No call named this record.\n');
  });

  it('counts only the days that were asked for', async () => {
    await plantAudit(database, [
      { time: new Date(Date.now() - 9 * DAY).toISOString(), credential_id: own.credential, targets: ['cnv_1_1_5'] },
    ]);
    const calls = async (...argv: string[]) => (await document('audit', 'readers', 'cnv_1_1_5', ...argv))['readers'];
    expect(await calls()).toMatchObject([{ calls: 1 }]);
    expect(await calls('--days', '8')).toEqual([]);
    expect(await gateway('audit', 'readers', 'cnv_1_1_5', '--days', '0')).toEqual(refused('whole number', 2));
  });
});

test('an export of more than a page has each record once, and ends quietly when nobody reads it', async () => {
  const many = Array.from({ length: 12_000 }, (_, i) => ({
    ...{ organization_id: ELSEWHERE, operation: 'search', time: at(10_000 + Math.floor(i / 3)) },
  }));
  const planted = await plantAudit(database, many);
  const exported = await lines('--operation', 'search');
  expect(exported.map(({ audit_id }) => audit_id).sort()).toEqual([...planted].sort());
  expect(exported.every(({ time }, i) => String(exported[i - 1]?.['time'] ?? '') <= String(time))).toBe(true);
  const child = spawn(process.execPath, [main, 'audit', 'export', ...RANGE], {
    env: shellEnvironment({ DATABASE_URL: urlOf(database) }),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let complaint = '';
  child.stderr.on('data', (chunk: Buffer) => {
    complaint += chunk.toString();
  });
  await once(child.stdout, 'data');
  child.stdout.destroy();
  const [code] = await once(child, 'close');
  expect([code, complaint]).toEqual([0, '']);
});
