import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { rotateCredential } from '../../src/auth/issue.ts';
import { newSecret } from '../../src/auth/tokens.ts';
import type { Answer } from '../support/answer.ts';
import {
  ALL_FLAGS,
  ALL_SCOPES,
  DIMENSIONS,
  FULL,
  type Grants,
  givesGuide,
  granted,
  holdsAll,
  NOT_FOUND,
  nameOf,
  OPERATIONS,
  type Operation,
  pathOf,
  type Refusal,
  type Restricted,
  refusalOf,
  valuesAt,
} from '../support/authority/expected.ts';
import { SUBSCRIPTION_WRITES, WRITES } from '../support/authority/expected-writes.ts';
import { plantReceipt, receiptId, World, webId } from '../support/authority/world.ts';
import type { Issued } from '../support/credentials.ts';
import { times } from '../support/form.ts';
import { BASE_URL, openTestGateway, type TestGateway } from '../support/gateway.ts';

/** Checks TN-01 and MC-10: every read under every missing grant, restriction, website and credential state. */
let gateway: TestGateway;
let cells = 0;
const WEB = webId(1, 1);

beforeAll(async () => {
  gateway = await openTestGateway('empty');
  await new World(gateway.database.sql).whole();
});
afterAll(() => gateway.close());

interface Holder extends Issued {
  readonly grants: Grants;
  readonly restricted: Restricted | undefined;
}

const PREFIX = { channel_ids: 'chn', team_ids: 'tem', subsite_ids: 'sst' } as const;
const GRANT = { channel_ids: 'channels', team_ids: 'teams', subsite_ids: 'subsites' } as const;

async function hold(grants: Grants, restricted?: Restricted, websites?: string[]): Promise<Holder> {
  const issued = await gateway.issue({
    scopes: grants.scopes,
    dataAccess: grants.flags,
    ...(websites && { websites }),
    ...(restricted && {
      [GRANT[restricted.dimension]]: restricted.ids.map((id) => `${PREFIX[restricted.dimension]}_1_1_${id}`),
    }),
  });
  await plantReceipt(gateway.database.sql, issued.credential);
  return { ...issued, grants, restricted };
}

const ask = (operation: Operation, { token, credential }: Pick<Holder, 'token' | 'credential'>, website = WEB) =>
  gateway.ask(pathOf(operation, website, receiptId(credential)), { token });

function refused(answer: Answer, refusal: Refusal, where: string): void {
  const { status, body } = answer;
  expect([status, body.code], `${where}: ${answer.text}`).toEqual([refusal.status, refusal.code]);
  const inOrder = (required: Refusal['required']) =>
    required && { ...required, scopes: [...required.scopes].sort(), data_access: [...required.data_access].sort() };
  expect(inOrder(body.required), where).toEqual(inOrder(refusal.required));
  expect(Object.keys(body).sort(), where).toEqual(
    ['type', 'title', 'status', 'code', 'request_id', ...(refusal.required ? ['required'] : [])].sort(),
  );
  expect(body.type, where).toBe(`${BASE_URL}/problems/${refusal.code}`);
  cells++;
}

function allowed(operation: Operation, answer: Answer, { grants, restricted }: Holder, where: string): void {
  expect(answer.status, `${where}: ${answer.text}`).toBe(200);
  for (const [pointer, members] of Object.entries(operation.members)) {
    const objects = valuesAt(answer.body, pointer);
    if (!operation.list || !pointer.includes('*')) expect(objects.length, `${where} ${pointer}`).toBeGreaterThan(0);
    for (const object of objects) {
      expect(Object.keys(Object(object)).sort(), `${where} ${pointer}`).toEqual(granted(members, grants, restricted));
    }
    if (!pointer.endsWith('.access')) continue;
    const access = {
      pii: holdsAll(grants, ['contact_read_pii', 'pii']),
      message_content: holdsAll(grants, ['message_content_read', 'message_content']),
    };
    for (const object of objects) expect(access, where).toMatchObject(Object(object));
  }
  if (operation.list) {
    const [pointer, member, rows] = operation.list;
    const ids = valuesAt(answer.body, `${pointer}.*.${member}`).map((id) => Number(String(id).split('_').at(-1)));
    expect(ids, where).toEqual(rows(restricted));
  }
  for (const [pointer, needs] of Object.entries(operation.nulls ?? {})) {
    const [value] = valuesAt(answer.body, pointer);
    if (!holdsAll(grants, needs)) expect(value, `${where} ${pointer}`).toBeNull();
    else if (!restricted || restricted.ids.includes(1)) expect(value, `${where} ${pointer}`).not.toBeNull();
  }
  cells++;
}

async function judge(operation: Operation, holder: Holder, name: string): Promise<void> {
  const where = `${nameOf(operation)} ${name}`;
  const refusal = refusalOf(operation, holder.grants, holder.restricted);
  const answer = await ask(operation, holder);
  if (refusal) refused(answer, refusal, where);
  else allowed(operation, answer, holder, where);
}

describe('TN-01 every read, by what a credential holds', () => {
  it('TN-01 every missing scope and flag: refused with what is missing, or the members that are left', async () => {
    const variants: [string, Grants][] = [
      ['with everything', FULL],
      ['with nothing', { scopes: [], flags: [] }],
      ['with scopes only', { scopes: ALL_SCOPES, flags: [] }],
      ['with flags only', { scopes: [], flags: ALL_FLAGS }],
      ...ALL_SCOPES.map((missing): [string, Grants] => [
        `without ${missing}`,
        { ...FULL, scopes: ALL_SCOPES.filter((scope) => scope !== missing) },
      ]),
      ...ALL_FLAGS.map((missing): [string, Grants] => [
        `without the ${missing} flag`,
        { ...FULL, flags: ALL_FLAGS.filter((flag) => flag !== missing) },
      ]),
    ];
    for (const [name, grants] of variants) {
      const holder = await hold(grants);
      for (const operation of OPERATIONS) await judge(operation, holder, name);
    }
  }, 120_000);

  it('TN-01 the operations’ bare necessities are enough, and show nothing that was not asked for', async () => {
    for (const operation of OPERATIONS) {
      const { scopes, flags, given, hidden } = operation;
      const bare = {
        scopes: [...new Set([...scopes, ...(given?.scopes ?? []), ...(hidden?.scopes ?? [])])],
        flags: [...new Set([...flags, ...(given?.flags ?? [])])],
      };
      await judge(operation, await hold(bare), 'with its bare necessities');
    }
  });

  it('TN-01 each restriction: refused where the policy must be unrestricted, elsewhere only rows inside', async () => {
    for (const dimension of DIMENSIONS) {
      for (const ids of [[1], [2, 1], [2], [9], []]) {
        const holder = await hold(FULL, { dimension, ids });
        for (const operation of OPERATIONS) {
          // Skip the lists of a caller who may see only place 2 (a channel, team or subsite). The interference tests
          // check these lists.
          if (ids.includes(2) && operation.list) continue;
          await judge(operation, holder, `restricted to ${dimension} ${ids}`);
        }
      }
    }
  }, 120_000);

  it('TN-01 a website that is not granted, foreign or not there: one and the same refusal', async () => {
    const holder = await hold(FULL, undefined, [WEB]);
    const both = await hold(FULL);
    const masked = (answer: Answer) => answer.text.replace(/req_[a-f0-9]{32}/, '');
    for (const operation of OPERATIONS.filter(({ website }) => website !== 'none')) {
      const where = nameOf(operation);
      const bodies = new Set<string>();
      for (const website of [webId(1, 2), webId(2, 1), webId(1, 9), webId(9, 1), `web_1_${'9'.repeat(19)}`]) {
        const answer = await ask(operation, holder, website);
        refused(answer, NOT_FOUND, `${where} of ${website}`);
        bodies.add(masked(answer));
      }
      const absent = operation.path.replace(/\{([a-z]{3}):\d+\}(?!.*\{[a-z]{3}:)/, '{$1:77}');
      if (operation.website !== 'required') {
        const answer = await ask({ ...operation, path: absent }, holder);
        refused(answer, NOT_FOUND, `${where} not there`);
        bodies.add(masked(answer));
      }
      expect(bodies.size, where).toBe(1);
      if (operation.website !== 'optional') continue;
      const mark = operation.path.includes('?') ? '&' : '?';
      const own = pathOf(operation, WEB);
      const matching = await gateway.ask(`${own}${mark}website_id=${WEB}`, { token: holder.token });
      allowed(operation, matching, holder, `${where} with its website`);
      for (const other of [webId(1, 2), webId(2, 1)]) {
        const answer = await gateway.ask(`${own}${mark}website_id=${other}`, { token: both.token });
        refused(answer, NOT_FOUND, `${where} with website ${other}`);
      }
    }
  });

  it('TN-01 only granted websites are listed', async () => {
    for (const websites of [[WEB], [webId(1, 2)], [WEB, webId(1, 2)], []]) {
      const { token } = await hold(FULL, undefined, websites);
      const { body } = await gateway.ask('/api/v1/websites', { token });
      expect(body.websites.map((site: { website_id: string }) => site.website_id)).toEqual(websites);
      expect((await gateway.ask('/api/v1/context', { token })).body.website_ids).toEqual(websites);
      cells += 2;
    }
    // These ids name another organization. The credential still gets only websites of its own organization.
    const foreign = await gateway.issue({ websites: ['web_1_1', 'web_1_7'] }, 2);
    const { body } = await gateway.ask('/api/v1/websites', { token: foreign.token });
    expect(body.websites.map((site: { website_id: string }) => site.website_id)).toEqual([webId(2, 1)]);
    cells++;
  });

  it('TN-01 context and guides tell exactly what is granted', async () => {
    for (const missing of [undefined, ...ALL_SCOPES]) {
      for (const restricted of [undefined, { dimension: 'team_ids', ids: [1] } as const]) {
        const grants = { ...FULL, scopes: ALL_SCOPES.filter((scope) => scope !== missing) };
        const { token } = await hold(grants, restricted);
        const context = (await gateway.ask('/api/v1/context', { token })).body;
        expect(context.scopes).toEqual(grants.scopes);
        expect(context.restrictions).toEqual(restricted ? { team_ids: ['tem_1_1_1'] } : {});
        const guides = OPERATIONS.filter(({ tool }) => tool === 'guide_read').map(({ variant = '' }) => variant);
        expect([...context.guides].sort()).toEqual(guides.filter((name) => givesGuide(name, grants)).sort());
        cells++;
      }
    }
  });

  /**
   * Generates large sets of grants most of the time. Otherwise, operations with many required grants would almost never
   * succeed.
   */
  const some = <T>(all: readonly T[]): fc.Arbitrary<T[]> =>
    fc.oneof(
      fc.subarray([...all]),
      fc.subarray([...all], { maxLength: 4 }).map((lacking) => all.filter((one) => !lacking.includes(one))),
    );
  const credentials = fc.record({
    scopes: some(ALL_SCOPES),
    flags: fc.oneof(fc.constant([...ALL_FLAGS]), fc.subarray([...ALL_FLAGS])),
    restricted: fc.option(fc.record({ dimension: fc.constantFrom(...DIMENSIONS), ids: fc.subarray([1, 2, 9]) }), {
      nil: undefined,
      freq: 2,
    }),
    websites: fc.subarray([WEB, webId(1, 2)], { minLength: 1 }),
  });

  it('MC-10 for random credentials: capabilities list exactly the operations whose call is not denied', async () => {
    const listedOnce = new Set<string>();
    const deniedOnce = new Set<string>();
    for (const drawn of fc.sample(credentials, { numRuns: times(16, 40), seed: 20_261_121 })) {
      const { scopes, flags, restricted, websites } = drawn;
      const holder = await hold({ scopes, flags }, restricted, websites);
      for (const website of websites) {
        const where = `${website} ${JSON.stringify(drawn)}`;
        const { status, body, text } = await gateway.ask(`/api/v1/capabilities?website_id=${website}`, holder);
        expect(status, `${where}: ${text}`).toBe(200);
        const listed: string[] = body.data.operations.map((one: { operation: string }) => one.operation);
        const answered = new Set<string>();
        const granted = new Set<string>();
        // The list of capabilities ignores grants that only a parameter of an operation needs.
        for (const operation of OPERATIONS.filter(({ given }) => given === undefined)) {
          const answer = await ask(operation, holder, website);
          expect([200, 404], `${where} ${nameOf(operation)}: ${answer.text}`).toContain(answer.status);
          const denied = answer.body.code === 'not_permitted';
          (denied ? deniedOnce : answered).add(operation.tool);
          // The list of capabilities and the calls could contain the same mistake, so compare both with the contract.
          if (refusalOf(operation, holder.grants, restricted)?.code !== 'not_permitted') granted.add(operation.tool);
          cells++;
        }
        for (const write of WRITES) {
          const sent = { body: write.body(website), headers: { 'idempotency-key': `k${cells}` } };
          const answer = await gateway.ask(pathOf(write, website), { ...sent, token: holder.token });
          expect([200, 404, 503], `${where} ${nameOf(write)}: ${answer.text}`).toContain(answer.status);
          (answer.body.code === 'not_permitted' ? deniedOnce : answered).add(write.tool);
          if (refusalOf(write, holder.grants, restricted)?.code !== 'not_permitted') granted.add(write.tool);
          cells++;
        }
        for (const write of SUBSCRIPTION_WRITES) {
          const answer = await gateway.ask(pathOf(write, website, receiptId(holder.credential)), {
            ...{ token: holder.token, method: write.method },
            ...(write.body && { body: write.body(website) }),
            ...(write.revision && { headers: { 'if-match': '77' } }),
          });
          expect([201, 404, 409], `${where} ${nameOf(write)}: ${answer.text}`).toContain(answer.status);
          (answer.body.code === 'not_permitted' ? deniedOnce : answered).add(write.tool);
          if (refusalOf(write, holder.grants, restricted)?.code !== 'not_permitted') granted.add(write.tool);
          cells++;
        }
        expect(listed, `listed, not as answered: ${where}`).toEqual([...answered].sort());
        expect(listed, `listed, not as granted: ${where}`).toEqual([...granted].sort());
        for (const tool of listed) listedOnce.add(tool);
      }
    }
    const all: readonly Operation[] = [...OPERATIONS, ...WRITES, ...SUBSCRIPTION_WRITES];
    const needy = all.filter(({ scopes, unrestricted }) => scopes.length > 0 || unrestricted);
    expect([...listedOnce].sort()).toEqual([...new Set(all.map(({ tool }) => tool))].sort());
    expect([...deniedOnce].sort()).toEqual([...new Set(needy.map(({ tool }) => tool))].sort());
  }, 60_000);
});

describe('TN-01 every read, by the state of its credential', () => {
  const states: [name: string, code: string | undefined, make: () => Promise<string | undefined>][] = [
    ['none', 'unauthenticated', async () => undefined],
    ['malformed', 'unauthenticated', async () => 'nonsense'],
    ['a wrong checksum', 'unauthenticated', async () => newSecret('installation_test').replace(/.$/, lastChanged)],
    ['unknown', 'unauthenticated', async () => newSecret('installation_test')],
    ['a secret', 'unauthenticated', async () => newSecret('secret')],
    ['expired', 'token_expired', async () => (await gateway.issue({ expires: '-1 second' })).token],
    ['an expired token', 'token_expired', () => changed('token', 'expires_at')],
    ['revoked', 'token_revoked', () => changed('credential', 'revoked_at')],
    ['a revoked token', 'token_revoked', () => changed('token', 'revoked_at')],
    ['rotated away', 'token_revoked', () => rotated(0)],
    ['rotated, in the overlap', undefined, () => rotated(600)],
  ];
  const lastChanged = (digit: string): string => (digit === 'a' ? 'b' : 'a');

  async function changed(table: 'token' | 'credential', column: string): Promise<string> {
    const { sql } = gateway.database;
    const { token, credential } = await gateway.issue();
    await sql`UPDATE gateway.${sql(table)} SET ${sql(column)} = now() - interval '1 second'
      WHERE ${sql(table === 'token' ? 'credential_id' : 'id')} = ${credential}`;
    return token;
  }

  async function rotated(overlap: number): Promise<string> {
    const { token, credential } = await gateway.issue();
    expect(await rotateCredential(gateway.database.db, credential, overlap)).toBeDefined();
    return token;
  }

  it.each(states)('TN-01 %s', async (name, code, make) => {
    const token = await make();
    for (const operation of OPERATIONS) {
      const mark = operation.path.includes('?') ? '&' : '?';
      const own = pathOf(operation, WEB);
      for (const path of [own, `${own}${mark}nonsense=1`, pathOf(operation, webId(2, 1))]) {
        const answer = await gateway.ask(path, { token });
        cells++;
        if (code === undefined) {
          expect([401, 500], name).not.toContain(answer.status);
          continue;
        }
        expect([answer.status, answer.body.code], `${name} ${path}`).toEqual([401, code]);
        expect(answer.headers['www-authenticate']).toBe(
          `Bearer ${token === undefined ? '' : 'error="invalid_token", '}resource_metadata="${BASE_URL}/.well-known/oauth-protected-resource"`,
        );
        expect(answer.headers['ratelimit']).toBeUndefined();
      }
    }
  });
});

describe('TN-01 the writes of subscriptions', () => {
  it('TN-01 every missing scope, flag and restriction: refused with what is missing, or done', async () => {
    const variants: [string, Grants, Restricted?][] = [
      ['with everything', FULL],
      ['with nothing', { scopes: [], flags: [] }],
      ['with its bare necessities', { scopes: ['website_read', 'event_read'], flags: [] }],
      ...ALL_SCOPES.map((missing): [string, Grants] => [
        `without ${missing}`,
        { ...FULL, scopes: ALL_SCOPES.filter((scope) => scope !== missing) },
      ]),
      ...ALL_FLAGS.map((missing): [string, Grants] => [
        `without the ${missing} flag`,
        { ...FULL, flags: ALL_FLAGS.filter((flag) => flag !== missing) },
      ]),
      ...DIMENSIONS.flatMap((dimension) =>
        [[1], []].map((ids): [string, Grants, Restricted] => [`${dimension} ${ids}`, FULL, { dimension, ids }]),
      ),
    ];
    const rows = async () =>
      (await gateway.database.sql`SELECT id, revision, updated_at FROM gateway.subscription ORDER BY id`).map((row) =>
        JSON.stringify(row),
      );
    for (const [name, grants, restricted] of variants) {
      const holder = await hold(grants, restricted);
      const before = await rows();
      for (const [i, write] of SUBSCRIPTION_WRITES.entries()) {
        const where = `${nameOf(write)} ${name}`;
        const answer = await gateway.ask(pathOf(write, WEB, receiptId(holder.credential)), {
          ...{ token: holder.token, method: write.method },
          ...(write.body && { body: write.body(WEB) }),
          ...(write.revision && { headers: { 'if-match': String(i) } }),
        });
        const refusal = refusalOf(write, grants, restricted);
        if (refusal) {
          refused(answer, refusal, where);
          expect(await rows(), where).toEqual(before);
          continue;
        }
        expect(answer.status, `${where}: ${answer.text}`).toBe(write.status);
        for (const [pointer, members] of Object.entries(write.members))
          for (const object of valuesAt(answer.body, pointer))
            expect(Object.keys(Object(object)).sort(), `${where} ${pointer}`).toEqual(
              granted(members, grants, restricted),
            );
        cells++;
      }
    }
  }, 60_000);
});

it('TN-01 every operation of the contract was judged, in as many cells as there should be', () => {
  const reads = gateway.corridor.registry.tools.filter(({ effect }) => effect === 'read');
  const served = reads.map(({ name }) => name);
  expect([...new Set(OPERATIONS.map(({ tool }) => tool))].sort()).toEqual(served);
  console.info(`TN-01: ${OPERATIONS.length} cases of ${served.length} operations, ${cells} cells`);
  expect(cells).toBeGreaterThan(4_000);
});
