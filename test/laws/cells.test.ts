import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { rotateCredential } from '../../src/auth/issue.ts';
import type { Resource } from '../../src/core/authority.ts';
import { switchTools } from '../../src/gateway/switches.ts';
import type { Answer } from '../support/answer.ts';
import {
  ALL_SCOPES,
  DIMENSIONS,
  FULL,
  type Grants,
  LACKING,
  limitsOf,
  type Restricted,
} from '../support/authority/grants.ts';
import {
  expectMembers,
  firstOf,
  inOrder,
  NOT_FOUND,
  OPERATIONS,
  type Operation,
  pathOf,
  REALTIME,
  type Refusal,
  refusalOf,
  SUBSCRIPTION_WRITES,
  WRITES,
} from '../support/authority/operations.ts';
import { events } from '../support/authority/records.ts';
import { CANARY, plantReceipt, receiptId, World, webId } from '../support/authority/world.ts';
import { addDispositions } from '../support/authority/writes.ts';
import { CONTRACT_SKILLS } from '../support/contract.ts';
import type { Grant } from '../support/credentials.ts';
import { ORIGIN } from '../support/events/realtime.ts';
import { times } from '../support/form.ts';
import { openTestGateway, type TestGateway } from '../support/gateway.ts';
import {
  consented,
  newClient,
  newSession,
  RESOURCE,
  type TestClient,
  token as tokenOf,
} from '../support/oauth/oauth.ts';
import { rpc as a2a, work } from '../support/surfaces/a2a.ts';
import { argumentsOf, rpc as mcp } from '../support/surfaces/mcp.ts';

/**
 * Check TN-01 for every REST operation, MCP tool and A2A skill. The callers lack a scope or a flag, have a restriction,
 * cannot reach the website, or have an invalid credential. Each test case compares one call with the hand-written
 * tables. Other tests in this folder check more cases, rows and effects.
 */
const WEB = webId(1, 1);
let gateway: TestGateway;
let world: World;
let client: TestClient;
let session: string;
let cells = 0;

beforeAll(async () => {
  gateway = await openTestGateway('empty');
  world = await new World(gateway.database.sql).whole();
  await addDispositions(gateway.database.sql);
  client = await newClient(gateway, { websites: [WEB], authors: ['opr_1_1_1'], origins: [ORIGIN] });
  session = await newSession(gateway, client);
});
afterAll(() => gateway.close());

interface Case {
  readonly name: string;
  readonly surface: Resource;
  readonly operation: Operation;
  readonly method?: string;
  readonly body?: ((website: string) => Readonly<Record<string, unknown>>) | undefined;
  readonly headers?: Readonly<Record<string, string>>;
  readonly status: number;
  readonly keyed?: boolean;
  readonly skill?: string;
  /** True when the contract forbids OAuth tokens from a person's consent. */
  readonly ownTokens?: boolean;
}

const READS: readonly Case[] = firstOf(OPERATIONS).map((operation) => ({
  ...{ name: operation.tool, surface: 'rest', operation, status: 200, ownTokens: operation.noConsent === true },
}));
const COMMANDS: readonly Case[] = WRITES.map((operation) => ({
  ...{ name: operation.tool, surface: 'rest', operation, status: 200, method: 'POST', keyed: true },
  body: operation.body,
}));
/** The writes on the planted subscription. The replacement expects revision 1, and the deletion expects revision 2. */
const SUBSCRIBING: readonly Case[] = SUBSCRIPTION_WRITES.map((operation, i) => ({
  ...{ name: operation.tool, surface: 'rest', operation, status: operation.status, method: operation.method },
  ...{ body: operation.body, ownTokens: true, headers: operation.revision ? { 'if-match': `${i}` } : {} },
}));
/**
 * The realtime operations, in the order in which a session uses them. A socket request without a WebSocket upgrade gets
 * 426.
 */
const SESSION: readonly Case[] = ['session_create', 'ticket_create', 'socket', 'session_close'].map((part) => {
  const name = `realtime_${part}`;
  const { method, path, status, body } = REALTIME[name] ?? expect.fail(name);
  const operation: Operation = { ...events, tool: name, path, flags: [], website: 'none', members: {} };
  return {
    ...{ name, surface: 'rest', operation, method, ownTokens: true, headers: { origin: ORIGIN } },
    ...{ status: status === 101 ? 426 : status, body: body ? () => ({}) : undefined },
  };
});
const REST: readonly Case[] = [...READS, ...COMMANDS, ...SUBSCRIBING, ...SESSION];
const TOOLS: readonly Case[] = [...READS, ...COMMANDS, ...SUBSCRIBING].map((one) => ({ ...one, surface: 'mcp' }));
/**
 * A case of an operation fits its skill if the skill takes the case's arguments. `customer_lookup` takes no website and
 * `conversation_search` no kinds, so test/surfaces/a2a/parity.test.ts compares these two with REST under every grant.
 */
const SKILLS: readonly Case[] = Object.entries(CONTRACT_SKILLS)
  .filter(([skill]) => skill !== 'customer_lookup' && skill !== 'conversation_search')
  .map(([skill, { runs }]) => {
    const known = [...READS, ...COMMANDS].find(({ name }) => name === runs) ?? expect.fail(runs);
    return { ...known, name: skill, surface: 'a2a', skill };
  });
const CASES: readonly Case[] = [...REST, ...TOOLS, ...SKILLS];

interface Holder {
  readonly name: string;
  readonly token: string | undefined;
  readonly credential: string;
  readonly grants: Grants;
  readonly restricted?: Restricted;
  readonly website: string;
  /** The reason why the surface refuses this credential for every request. */
  readonly refusal?: string | undefined;
  readonly consent?: boolean;
  /** True if an owner has switched every operation off for the app. */
  readonly switchedOff?: boolean;
}
type Variant = readonly [name: string, make: (surface: Resource) => Promise<Holder>];

async function issued(name: string, grants = FULL, more: Partial<Holder> & { grant?: Grant } = {}): Promise<Holder> {
  const { restricted, website = WEB, grant } = more;
  const { token, credential } = await gateway.issue({
    ...{ scopes: grants.scopes, dataAccess: grants.flags, websites: [WEB] },
    ...{ authors: ['opr_1_1_1'], origins: [ORIGIN] },
    ...grant,
  });
  return { name, token, credential, grants, website, ...(restricted && { restricted }) };
}

const ALL: readonly Resource[] = ['rest', 'mcp', 'a2a'];

async function past(name: string, column: 'revoked_at' | 'expires_at', refusal: string): Promise<Holder> {
  const { sql } = gateway.database;
  const holder = await issued(name);
  await sql`UPDATE gateway.credential SET ${sql(column)} = now() - interval '1 second' WHERE id = ${holder.credential}`;
  return { ...holder, refusal };
}

async function rotatedAway(): Promise<Holder> {
  const holder = await issued('rotated away');
  expect(await rotateCredential(gateway.database.db, holder.credential, 0)).toBeDefined();
  return { ...holder, refusal: 'token_revoked' };
}

/** A credential that may be used from other addresses than that of the test. */
async function outside(): Promise<Holder> {
  const holder = await issued('from an address outside');
  await gateway.database
    .sql`UPDATE gateway.credential SET allow_ip = '{203.0.113.0/24,::/0}' WHERE id = ${holder.credential}`;
  return { ...holder, refusal: 'unauthenticated' };
}

async function switchedOff(): Promise<Holder> {
  const { app, ...holder } = await gateway.issue({ websites: [WEB], authors: ['opr_1_1_1'], origins: [ORIGIN] });
  const { registry } = gateway.corridor;
  const off = registry.operations.map(({ name }) => name);
  expect(await switchTools(gateway.database.db, registry, { id: app, tenant: '1' }, { off, on: [] })).toHaveLength(
    off.length,
  );
  return { ...holder, name: 'with every operation switched off', grants: FULL, website: WEB, switchedOff: true };
}

async function elsewhere(resource: Resource): Promise<Holder> {
  const fields = { grant_type: 'client_credentials', resource: RESOURCE[resource] };
  const { access_token: token } = (await tokenOf(gateway, client, fields)).body;
  const { credential } = client;
  return { name: `for ${resource}`, token, credential, grants: FULL, website: WEB, refusal: 'wrong_resource' };
}

async function ofConsent(resource: Resource): Promise<Holder> {
  const { exchange } = await consented(gateway, client, {
    session,
    choice: { scope: ALL_SCOPES },
    changes: { resource: RESOURCE[resource], scope: ALL_SCOPES.join(' ') },
  });
  const { body, text } = await tokenOf(gateway, client, exchange);
  expect(body.access_token, text).toBeDefined();
  const { credential } = client;
  return { name: 'of a consent', token: body.access_token, credential, grants: FULL, website: WEB, consent: true };
}

/** Of an organization that lives in another cell. */
async function moved(): Promise<Holder> {
  const holder = await gateway.issue({ websites: [webId(2, 1)], origins: [ORIGIN] }, 2);
  await gateway.database.sql`UPDATE platform.organization SET moved_to = 'https://b.example' WHERE tenant = 2`;
  return {
    ...{ ...holder, name: 'of a moved organization', grants: FULL, website: webId(2, 1) },
    refusal: 'organization_moved',
  };
}

const kept = (holder: Holder) => async (): Promise<Holder> => holder;

async function variants(): Promise<Variant[]> {
  const all: Variant[] = [];
  const add = (holder: Holder): void => void all.push([holder.name, kept(holder)]);
  for (const [name, grants] of LACKING) add(await issued(name, grants));
  for (const dimension of DIMENSIONS) {
    const restricted = { dimension, ids: [1] };
    add(await issued(`restricted in ${dimension}`, FULL, { grant: limitsOf(restricted), restricted }));
  }
  for (const [name, website] of [
    ['a website that is not granted', webId(1, 2)],
    ['a website of another organization', webId(2, 1)],
    ['a website that is not there', webId(1, 9)],
  ] as const)
    add(await issued(name, FULL, { website }));
  const nobody = await issued('no token');
  add({ ...nobody, token: undefined, refusal: 'unauthenticated' });
  add({ ...nobody, name: 'malformed', token: 'nonsense', refusal: 'unauthenticated' });
  add(await past('expired', 'expires_at', 'token_expired'));
  add(await past('revoked', 'revoked_at', 'token_revoked'));
  add(await rotatedAway());
  const tokens = new Map(await Promise.all(ALL.map(async (one) => [one, await elsewhere(one)] as const)));
  for (const step of [1, 2])
    all.push([
      `for another interface ${step}`,
      async (surface) => tokens.get(ALL[(ALL.indexOf(surface) + step) % ALL.length] ?? 'rest') ?? expect.fail(surface),
    ]);
  const consents = new Map<Resource, Holder>();
  for (const surface of ALL) consents.set(surface, await ofConsent(surface));
  all.push(['of a consent', async (surface) => consents.get(surface) ?? expect.fail(surface)]);
  add(await outside());
  add(await switchedOff());
  add(await moved());
  return all;
}

const DENIED = { scopes: [], data_access: [], unrestricted: false };

function expected({ operation, ownTokens, body, name }: Case, holder: Holder): Refusal | undefined {
  if (holder.refusal === 'organization_moved') return { status: 421, code: holder.refusal };
  if (holder.refusal !== undefined) return { status: 401, code: holder.refusal };
  if (holder.switchedOff) return { status: 404, code: 'not_permitted' };
  const denied = refusalOf(operation, holder.grants, holder.restricted);
  if (denied) return denied;
  if (holder.consent && ownTokens) return { status: 404, code: 'not_permitted', required: DENIED };
  const named = operation.website !== 'none' || (name.startsWith('subscription_') && body !== undefined);
  return named && holder.website !== WEB ? NOT_FOUND : undefined;
}

interface Said {
  readonly status: number;
  readonly code?: string;
  readonly required?: Refusal['required'];
  readonly data?: unknown;
  readonly text: string;
}
const refused = ({ status, body, text }: Answer): Said => ({ status, code: body.code, required: body.required, text });

let keys = 0;
let open = `rts_${'0'.repeat(32)}`;

const ASK: Readonly<Record<Resource, (one: Case, url: string, holder: Holder) => Promise<Said>>> = {
  async rest({ method, body, headers, keyed, status, name }, url, { token, website }) {
    const answer = await gateway.ask(url.replace('{session_id}', open), {
      ...{ token, ...(method !== undefined && { method }), ...(body && { body: body(website) }) },
      headers: { ...headers, ...(keyed && { 'idempotency-key': `cell-${++keys}` }) },
    });
    if (answer.status !== status) return refused(answer);
    if (name === 'realtime_session_create') open = answer.body.session_id;
    return { status, data: answer.body, text: answer.text };
  },
  async mcp({ name, body, headers = {}, keyed, status }, url, { token, website }) {
    const tool = gateway.corridor.registry.get(name) ?? expect.fail(name);
    const input = {
      ...argumentsOf(tool, url),
      ...body?.(website),
      ...(keyed && { idempotency_key: `cell-${++keys}` }),
      ...('if-match' in headers && { if_match: Number(headers['if-match']) }),
    };
    const answer = await mcp(gateway.port, token, 'tools/call', { name, arguments: input });
    const { text } = answer;
    if (answer.status !== 200) return refused(answer);
    const { error, result } = answer.body;
    if (error) return { status: 404, code: error.data.code, required: error.data.required, text };
    const { data, error: failure } = result.structuredContent;
    return failure ? { status: failure.status, code: failure.code, text } : { status, data, text };
  },
  async a2a({ skill = '', operation, body, status }, url, { token, website }) {
    const tool = gateway.corridor.registry.get(operation.tool) ?? expect.fail(skill);
    const known = CONTRACT_SKILLS[skill]?.arguments.split(' ') ?? [];
    const all = Object.entries({ ...argumentsOf(tool, url), ...body?.(website) });
    const input = Object.fromEntries(all.filter(([member]) => known.includes(member)));
    const answer = await a2a(gateway.port, token, 'SendMessage', work(skill, input));
    const { text } = answer;
    if (answer.status !== 200) return refused(answer);
    const task = answer.body.result?.task ?? expect.fail(`${skill} ${text}`);
    if (task.artifacts) return { status, data: task.artifacts[0].parts[0].data, text };
    const { code } = task.status.message.parts[0].data;
    return { status: 404, code, text };
  },
};

/**
 * Texts that no caller of this test may see. The texts belong to another organization, or to websites that no caller
 * holds.
 */
let foreign: ReadonlySet<string>;

async function judge(one: Case, holder: Holder, where: string): Promise<void> {
  const { operation, surface, headers = {} } = one;
  const url = pathOf(operation, holder.website, receiptId(holder.credential));
  // On a website out of reach, the gateway refuses the replacement, so the subscription stays at revision 1. The
  // deletion must therefore name revision 1.
  const revised = 'if-match' in headers && holder.website !== WEB ? { ...headers, 'if-match': '1' } : headers;
  const said = await ASK[surface]({ ...one, headers: revised }, url, holder);
  const refusal = expected(one, holder);
  // A refusal lists the required grants. Only an MCP result has no such list, and names the grants in words.
  if (refusal) {
    expect([said.status, said.code], `${where} ${said.text}`).toEqual([refusal.status, refusal.code]);
    if (surface === 'rest' && refusal.required === DENIED)
      expect(said.text, where).toContain('Use an installation token.');
    if (surface === 'rest' && holder.switchedOff) expect(said.text, where).toContain('switched this operation off');
    // A tool with several kinds of ids is listed for one kind, so the refusal of another kind is a result.
    const inWords = surface === 'mcp' && operation.kind !== undefined && said.required === undefined;
    if (!inWords) expect(inOrder(said.required), `${where} ${said.text}`).toEqual(inOrder(refusal.required));
  } else {
    expect([said.status, said.code], `${where} ${said.text}`).toEqual([one.status, undefined]);
    if (one.status < 204) expectMembers(operation, said.data, holder.grants, holder.restricted, where);
  }
  for (const canary of said.text.match(CANARY) ?? []) {
    expect(refusal, `${where} shows ${canary}`).toBeUndefined();
    expect(foreign.has(canary), `${where} shows ${canary}`).toBe(false);
  }
  cells++;
}

it('TN-01 every surface under every variant of authority answers as the tables say, and shows nothing foreign', async ({
  task,
}) => {
  const { sql } = gateway.database;
  foreign = new Set(world.canaries.filter(({ tenant, site }) => tenant !== 1 || site > 1).map(({ text }) => text));
  const known = await variants();
  // The quick form takes every fifth variant of TN-01, and the last three.
  const rows = known.filter((_, i) => i % times(1, 1, 5) === 0 || i >= 36);
  const surfaces = new Map<Resource, number>();
  for (const [name, make] of rows) {
    for (const surface of ALL) {
      const holder = await make(surface);
      open = `rts_${'0'.repeat(32)}`;
      await sql`DELETE FROM gateway.subscription`;
      await sql`DELETE FROM gateway.operation WHERE operation = 'config_plan'`;
      await plantReceipt(sql, holder.credential);
      const mine = CASES.filter((one) => one.surface === surface);
      for (const one of mine) await judge(one, holder, `${surface} ${one.name} ${name}`);
      surfaces.set(surface, (surfaces.get(surface) ?? 0) + mine.length);
    }
  }
  // The cases of this test must name every operation and every tool of the registry. They must also use every surface
  // and every variant.
  const { operations, tools } = gateway.corridor.registry;
  expect(REST.map(({ name }) => name).sort()).toEqual(operations.map(({ name }) => name).sort());
  expect(TOOLS.map(({ name }) => name).sort()).toEqual(tools.map(({ name }) => name).sort());
  expect([surfaces.size, known.length]).toEqual([3, 39]);
  const all = CASES.length * rows.length;
  console.info(`TN: cells ${cells}/${all} (${[...surfaces].map(([surface, n]) => `${surface} ${n}`).join(', ')})`);
  task.meta.shown = { cells: [cells, all] };
  expect(cells).toBe(all);
});

it.each(ALL)(
  'TN-01 has power: it finds a scope that a tool has forgotten, over %s',
  {
    meta: { shown: { planted: 1 } },
  },
  async (surface) => {
    const one = CASES.find((known) => known.surface === surface && known.operation.tool === 'contact_get');
    const tool = gateway.corridor.registry.get('contact_get');
    if (!one || !tool) throw new Error('no contact_get');
    const holder = await issued('without contact_read', {
      ...FULL,
      scopes: ALL_SCOPES.filter((scope) => scope !== 'contact_read'),
    });
    await judge(one, holder, one.name);
    const had = vi.spyOn(tool, 'required', 'get');
    had.mockReturnValue({ ...tool.required, scopes: [] });
    await expect(judge(one, holder, one.name)).rejects.toThrow();
    had.mockRestore();
    await judge(one, holder, one.name);
  },
);
