import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { rotateCredential } from '../../src/auth/issue.ts';
import { newSecret } from '../../src/auth/tokens.ts';
import type { Answer } from '../support/answer.ts';
import { drawnCredentials } from '../support/authority/drawn.ts';
import {
  ALL_FLAGS,
  ALL_SCOPES,
  DIMENSIONS,
  FULL,
  type Grants,
  grantsOf,
  holdsAll,
  LACKING,
  limitsOf,
  type Restricted,
} from '../support/authority/grants.ts';
import {
  expectMembers,
  firstOf,
  idsIn,
  inOrder,
  NOT_FOUND,
  nameOf,
  OPERATIONS,
  type Operation,
  pathOf,
  type Refusal,
  refusalOf,
  SUBSCRIPTION_WRITES,
  valuesAt,
  WRITES,
} from '../support/authority/operations.ts';
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

async function hold(grants: Grants, restricted?: Restricted, websites?: string[]): Promise<Holder> {
  const issued = await gateway.issue({
    scopes: grants.scopes,
    dataAccess: grants.flags,
    ...(websites && { websites }),
    ...limitsOf(restricted),
  });
  await plantReceipt(gateway.database.sql, issued.credential);
  return { ...issued, grants, restricted };
}

const ask = (operation: Operation, { token, credential }: Pick<Holder, 'token' | 'credential'>, website = WEB) =>
  gateway.ask(pathOf(operation, website, receiptId(credential)), { token });

function refused(answer: Answer, refusal: Refusal, where: string): void {
  const { status, body } = answer;
  expect([status, body.code], `${where}: ${answer.text}`).toEqual([refusal.status, refusal.code]);
  expect(inOrder(body.required), where).toEqual(inOrder(refusal.required));
  expect(Object.keys(body).sort(), where).toEqual(
    ['type', 'title', 'status', 'code', 'request_id', ...(refusal.required ? ['required'] : [])].sort(),
  );
  expect(body.type, where).toBe(`${BASE_URL}/problems/${refusal.code}`);
  cells++;
}

function allowed(operation: Operation, answer: Answer, { grants, restricted }: Holder, where: string): void {
  expect(answer.status, `${where}: ${answer.text}`).toBe(200);
  expectMembers(operation, answer.body, grants, restricted, where);
  for (const pointer of Object.keys(operation.members)) {
    const objects = valuesAt(answer.body, pointer);
    const canBeEmpty = pointer.includes('*') && (operation.list ?? operation.nulls);
    if (!canBeEmpty) expect(objects.length, `${where} ${pointer}`).toBeGreaterThan(0);
    if (!pointer.endsWith('.access')) continue;
    const access = {
      pii: holdsAll(grants, ['contact_read_pii', 'pii']),
      message_content: holdsAll(grants, ['message_content_read', 'message_content']),
    };
    for (const object of objects) expect(access, where).toMatchObject(Object(object));
  }
  if (operation.list) {
    expect(idsIn(answer.body, operation.list), where).toEqual(operation.list[2](restricted));
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
    ];
    // cells.test.ts judges the first case of each tool without each grant, but neither nulls nor `access`.
    const first = firstOf(OPERATIONS).filter(
      ({ nulls, members }) => !nulls && !Object.keys(members).some((pointer) => pointer.endsWith('.access')),
    );
    const others = OPERATIONS.filter((one) => !first.includes(one));
    for (const [name, grants] of [...variants, ...LACKING]) {
      const holder = await hold(grants);
      for (const operation of LACKING.some(([known]) => known === name) ? others : OPERATIONS)
        await judge(operation, holder, name);
    }
  });

  it('TN-01 the operations’ bare necessities are enough, and show nothing that was not asked for', async () => {
    for (const operation of OPERATIONS) {
      const { scopes, flags, given, hidden } = operation;
      const seen = grantsOf(hidden?.oneOf[0] ?? []);
      const bare = {
        scopes: [...new Set([...scopes, ...(given?.scopes ?? []), ...seen.scopes])],
        flags: [...new Set([...flags, ...(given?.flags ?? []), ...seen.flags])],
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
  });

  it('TN-01 every list in pages of one: the rows of its row, in their order', async () => {
    let pages = 0;
    for (const restricted of [undefined, { dimension: 'channel_ids', ids: [1] }] as const) {
      const { token } = await hold(FULL, restricted);
      for (const operation of OPERATIONS) {
        const { list, cursor, path } = operation;
        if (!list || cursor === undefined || refusalOf(operation, FULL, restricted)) continue;
        const first = `${pathOf(operation, WEB)}${path.includes('?') ? '&' : '?'}limit=1`;
        const ids: number[] = [];
        let next: string | null = '';
        while (next !== null && ids.length < 50) {
          const answer = await gateway.ask(`${first}${next && `&cursor=${next}`}`, { token });
          expect(answer.status, `${first} ${next} ${answer.text}`).toBe(200);
          ids.push(...idsIn(answer.body, list));
          next = (answer.body.data ?? answer.body).next_cursor;
          pages++;
        }
        expect(ids, `${nameOf(operation)} ${restricted?.dimension}`).toEqual(list[2](restricted));
      }
    }
    expect(pages).toBeGreaterThan(100);
  });

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
        const guides = OPERATIONS.filter((one) => one.tool === 'guide_read' && !refusalOf(one, grants, restricted));
        expect([...context.guides].sort()).toEqual(guides.map(({ variant }) => variant).sort());
        cells++;
      }
    }
  });

  it('MC-10 for random credentials: capabilities list exactly the operations whose call is not denied', async () => {
    const listedOnce = new Set<string>();
    const deniedOnce = new Set<string>();
    for (const drawn of drawnCredentials(times(16, 40))) {
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
  });
});

describe('TN-01 every read, by the state of its credential', () => {
  // cells.test.ts judges requests without a token, and tokens that are malformed, expired, revoked or rotated away.
  const states: [name: string, code: string | undefined, make: () => Promise<string>][] = [
    ['a wrong checksum', 'unauthenticated', async () => newSecret('installation_test').replace(/.$/, lastChanged)],
    ['unknown', 'unauthenticated', async () => newSecret('installation_test')],
    ['a secret', 'unauthenticated', async () => newSecret('secret')],
    ['an expired token', 'token_expired', () => changed('expires_at')],
    ['a revoked token', 'token_revoked', () => changed('revoked_at')],
    ['rotated, in the overlap', undefined, rotated],
  ];
  const lastChanged = (digit: string): string => (digit === 'a' ? 'b' : 'a');

  async function changed(column: 'expires_at' | 'revoked_at'): Promise<string> {
    const { sql } = gateway.database;
    const { token, credential } = await gateway.issue();
    await sql`UPDATE gateway.token SET ${sql(column)} = now() - interval '1 second' WHERE credential_id = ${credential}`;
    return token;
  }

  async function rotated(): Promise<string> {
    const { token, credential } = await gateway.issue();
    expect(await rotateCredential(gateway.database.db, credential, 600)).toBeDefined();
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
          `Bearer error="invalid_token", resource_metadata="${BASE_URL}/.well-known/oauth-protected-resource", scope="${ALL_SCOPES.join(' ')}"`,
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
      ...LACKING,
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
        expectMembers(write, answer.body, grants, restricted, where);
        cells++;
      }
    }
  });
});

it('TN-01 every operation of the contract was judged, in as many cells as there should be', () => {
  const reads = gateway.corridor.registry.tools.filter(({ effect }) => effect === 'read');
  const served = reads.map(({ name }) => name);
  expect([...new Set(OPERATIONS.map(({ tool }) => tool))].sort()).toEqual(served);
  console.info(`TN-01: ${OPERATIONS.length} cases of ${served.length} operations, ${cells} cells`);
  expect(cells).toBeGreaterThan(4_000);
});
