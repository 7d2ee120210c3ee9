import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Answer } from '../support/answer.ts';
import {
  ALL_FLAGS,
  ALL_SCOPES,
  FULL,
  type Grants,
  grantsOf,
  holdsAll,
  type Members,
  MSG,
  type Need,
  PII,
} from '../support/authority/grants.ts';
import { nameOf, OPERATIONS, type Operation, pathOf, refusalOf } from '../support/authority/operations.ts';
import { CANARY, type Canary, plantReceipt, receiptId, World, webId } from '../support/authority/world.ts';
import type { Issued } from '../support/credentials.ts';
import { everyOnce, inTurn, itOnce, times } from '../support/form.ts';
import { openTestGateway, type TestGateway } from '../support/gateway.ts';

/** Checks TN-02 and TN-03: which stored text appears in which answer, for every relevant subset of the grants. */
let gateway: TestGateway;
let world: World;
let holder: Issued;
const WEB = webId(1, 1);

beforeAll(async () => {
  gateway = await openTestGateway('empty');
  world = await new World(gateway.database.sql).whole();
  holder = await gateway.issue({ websites: [WEB] });
});
afterAll(() => gateway.close());

/** Text columns that cannot hold a canary (a unique planted text): enumerations, codes and digests. */
const OTHER_TEXT = [
  ...['organization.public_id', 'organization.host', 'organization.moved_to', 'website.time_zone', 'contact.country'],
  ...['saved_response.language', 'file.version'],
  ...['channel.platform', 'operator.role', 'conversation.status', 'conversation.platform', 'ai_feature.type'],
  ...['message.author_type', 'message.visibility', 'message.kind', 'message.delivery_status', 'file.sha256'],
  ...['file.disposition', 'saved_response.scope', 'saved_link.kind', 'saved_link.scope', 'offer.type', 'offer.status'],
  ...['native_id.kind', 'said_block.kind', 'spelling.kind', 'spelling.key', 'spelling.word'],
];

function expectedCanaries(operation: Operation, grants: Grants): string[] {
  if (refusalOf(operation, grants, undefined)) return [];
  const { shows = [] } = operation;
  const isShown = ({ tenant, site, table, column, row }: Canary): boolean =>
    tenant === 1 &&
    site === 1 &&
    shows.some(([of, rows, needs]) => {
      const need = of === table && rows.includes(row) ? needs[column] : undefined;
      return need !== undefined && holdsAll(grants, need);
    });
  return world.canaries.filter(isShown).map(({ text }) => text);
}

/** Every canary (a unique planted text) in an answer: in the body, in decoded file content and in headers. */
function canariesIn({ text, headers, body }: Answer): string[] {
  const content = body?.data?.content;
  const decoded = typeof content === 'string' ? Buffer.from(content, 'base64').toString('latin1') : '';
  return [...new Set(`${text}${decoded}${JSON.stringify(headers)}`.match(CANARY) ?? [])];
}

const named = (texts: readonly string[]): string[] =>
  texts
    .map((text) => world.canaries.find((one) => one.text === text))
    .map((one) => (one ? `${one.tenant}/${one.site} ${one.table} ${one.row} ${one.column}` : 'no canary of this world'))
    .sort();

async function hold({ scopes, flags }: Grants): Promise<void> {
  await gateway.database.sql`UPDATE gateway.credential SET scopes = ${[...scopes]}, data_access = ${[...flags]}
    WHERE id = ${holder.credential}`;
}

const ask = (path: string, headers = {}) => gateway.ask(path, { token: holder.token, headers });

function relevant({ scopes, flags, given, hidden, members, nulls, shows = [] }: Operation): {
  asked: Need[];
  shows: Need[];
} {
  const tables: Members[] = [...Object.values(members), nulls ?? {}, ...shows.map(([, , columns]) => columns)];
  const more = [...(given?.scopes ?? []), ...(given?.flags ?? []), ...(hidden?.oneOf[0] ?? [])];
  const asked = new Set<Need>([...scopes, ...flags, ...more]);
  const needs = tables
    .flatMap((table) => Object.values(table).flat())
    .filter((need) => need !== 'unrestricted')
    .map((need) => (need === '!ai_execute' ? 'ai_execute' : need));
  return { asked: [...asked], shows: [...new Set(needs)].filter((need) => !asked.has(need)) };
}

const powerSet = <T>(all: readonly T[]): T[][] =>
  Array.from({ length: 2 ** all.length }, (_, bits) => all.filter((_, i) => (bits >> i) % 2 === 1));

/**
 * The subsets of the grants to try. With up to six grants, these are all subsets. With more grants, these are all
 * subsets that have every required grant, and the full set without one or two required grants. The quick form tries
 * every twelfth subset, and each form the last one, which has all grants.
 */
const subsets = (operation: Operation): Need[][] =>
  allSubsets(operation).filter((_, i, all) => inTurn(i, 12) || i === all.length - 1);

function allSubsets(operation: Operation): Need[][] {
  const { asked, shows } = relevant(operation);
  if (asked.length + shows.length <= 6) return powerSet([...asked, ...shows]);
  return powerSet(shows).flatMap((some, i) =>
    powerSet(asked)
      .filter(
        (held) => held.length === asked.length || (i === 2 ** shows.length - 1 && held.length >= asked.length - 2),
      )
      .map((held) => [...held, ...some]),
  );
}

/**
 * The paths of the members in an answer. A list counts as one member. Members that are null or named `withheld` or
 * `left_out` do not count.
 */
function membersOf(value: unknown, path = ''): string[] {
  if (Array.isArray(value)) return value.flatMap((one) => membersOf(one, `${path}.*`));
  if (value === null || typeof value !== 'object') return value === null ? [] : [path];
  return Object.entries(value).flatMap(([name, inner]) =>
    ['withheld', 'left_out'].includes(name) ? [] : membersOf(inner, `${path}.${name}`),
  );
}

describe('TN-02 TN-03 stored text', () => {
  itOnce('TN-03 is a canary in every column that can hold one', async () => {
    const rows = await gateway.database.sql<{ name: string }[]>`
      SELECT table_name || '.' || column_name AS name FROM information_schema.columns JOIN information_schema.tables USING (table_schema, table_name)
       WHERE table_type = 'BASE TABLE' AND table_schema = 'platform' AND data_type IN ('text', 'ARRAY', 'bytea', 'character varying', 'json', 'jsonb')
         AND (data_type <> 'ARRAY' OR udt_name = '_text')`;
    const planted = new Set(world.canaries.map(({ table, column }) => `${table}.${column}`));
    expect(
      rows
        .map(({ name }) => name)
        .filter((name) => !planted.has(name))
        .sort(),
    ).toEqual([...OTHER_TEXT].sort());
    expect(new Set(world.canaries.map(({ text }) => text)).size).toBe(world.canaries.length);
    expect(world.canaries.length).toBeGreaterThan(500);
  });

  it('TN-02 TN-03 appears where it is granted and nowhere else, for every subset of the grants; more grants never show less', async () => {
    let asked = 0;
    let found = 0;
    for (const operation of OPERATIONS) {
      const seen: { held: Need[]; members: Set<string> }[] = [];
      for (const held of subsets(operation)) {
        const grants = grantsOf(held);
        await hold(grants);
        if (operation.tool === 'operation_get') await replant();
        const answer = await ask(pathOf(operation, WEB, receiptId(holder.credential)));
        const where = `${nameOf(operation)} with ${held.join(' ')}`;
        const refusal = refusalOf(operation, grants, undefined);
        expect(answer.status, where).toBe(refusal?.status ?? 200);
        expect(named(canariesIn(answer)), where).toEqual(named(expectedCanaries(operation, grants)));
        seen.push({ held, members: new Set(refusal ? [] : membersOf(answer.body)) });
        asked++;
        found += canariesIn(answer).length;
      }
      for (const less of seen) {
        for (const more of seen) {
          if (less.held.some((need) => !more.held.includes(need))) continue;
          const lost = [...less.members].filter((member) => !more.members.has(member));
          expect(lost, `${nameOf(operation)}: ${more.held} shows less than ${less.held}`).toEqual([]);
        }
      }
    }
    console.info(`TN-02/03: ${asked} subsets of grants, ${world.canaries.length} canaries, ${found} times shown`);
    expect(asked).toBeGreaterThan(times(1_000, 1_000, 100));
    expect(found).toBeGreaterThan(times(800, 800, 200));
  });

  const replant = async (): Promise<void> => {
    await gateway.database.sql`DELETE FROM gateway.operation WHERE credential_id = ${holder.credential}`;
    await plantReceipt(gateway.database.sql, holder.credential);
  };

  itOnce(
    'TN-03 everything granted shows all of it; each column has an answer that shows it, or none ever does',
    async () => {
      await hold(FULL);
      const shown = new Set<string>();
      for (const operation of OPERATIONS) {
        const answer = await ask(pathOf(operation, WEB));
        for (const one of named(canariesIn(answer))) shown.add(one.replace(/^.* (\w+) \d+ (\w+)$/, '$1.$2'));
      }
      const never = [...new Set(world.canaries.map(({ table, column }) => `${table}.${column}`))]
        .filter((column) => !shown.has(column) && !column.endsWith('.external_id'))
        .sort();
      expect(never).toEqual(['organization.name', 'subsite.name']);
    },
  );

  itOnce('TN-03 raw bytes carry the file’s name and content to whom they are granted', async () => {
    const accept = 'application/octet-stream';
    for (const [id, query] of [
      [1, ''],
      [2, '?include_internal=true'],
    ] as const) {
      const path = `/api/v1/files/fil_1_1_${id}/content${query}`;
      await hold(FULL);
      expect(named(canariesIn(await ask(path, { accept })))).toEqual([
        `1/1 file ${id} name`,
        `1/1 file_chunk ${id} bytes`,
      ]);
      const held: Need[] = ['file_read', 'conversation_read', ...MSG, ...PII, 'internal_notes', 'internal_notes_read'];
      for (const gone of held.slice(0, id === 1 ? 6 : 8)) {
        await hold(grantsOf(held.filter((need) => need !== gone)));
        const answer = await ask(path, { accept });
        expect([answer.status, canariesIn(answer)], `${path} without ${gone}`).toEqual([404, []]);
      }
    }
    await hold(FULL);
    expect((await ask('/api/v1/files/fil_1_1_2/content', { accept })).status).toBe(404);
  });

  it('TN-03 is not repeated by errors, whoever sent it', async () => {
    await hold(FULL);
    const sent = world.canaries[100]?.text ?? '';
    for (const operation of everyOnce(OPERATIONS, 6)) {
      const mark = operation.path.includes('?') ? '&' : '?';
      for (const name of ['website_id', 'limit', 'cursor', 'query_field', 'order', 'path', 'language', 'nonsense']) {
        const answer = await ask(`${pathOf(operation, WEB)}${mark}${name}=${sent}$`);
        if (answer.status !== 200) expect(canariesIn(answer), `${nameOf(operation)} ${name}`).toEqual([]);
      }
    }
    const written = gateway.log.join('\n').match(CANARY) ?? [];
    expect(gateway.log.length).toBeGreaterThan(times(1_000, 1_000, 300));
    expect(written).toEqual([]);
  });

  itOnce('TN-02 every scope and flag mattered to some answer of these tests', () => {
    const mattered = new Set(OPERATIONS.flatMap((one) => Object.values(relevant(one)).flat()));
    const untouched = [...ALL_SCOPES, ...ALL_FLAGS].filter((need) => !mattered.has(need)).sort();
    expect(untouched).toEqual(['conversation_update', 'visitor_notes_write']);
  });
});
